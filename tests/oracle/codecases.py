"""The packages of ``codecases.toml`` and ``packagestyles.toml``, which say what is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.support.tables import read_table

HEAD = "import ctypes, os, sys\nHERE = os.path.dirname(os.path.abspath(__file__))\n"


@dataclass(frozen=True)
class CodeCase:
    """One package: its Python files, its DLLs with what each imports, and the files to try it without."""

    code: str
    """``__init__.py``, after ``HEAD``."""
    dlls: Mapping[str, Sequence[str]] = field(default_factory=dict)
    without: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """More files of the package."""
    foreign: Sequence[str] = ()
    """DLLs that are for another machine in one more variant."""


SETS = {
    name: {case: CodeCase(**row) for case, row in rows.items()}
    for table in ("codecases.toml", "packagestyles.toml")
    for name, rows in read_table(__file__, table).items()
}
"""The sets of packages in the order in which they were written."""

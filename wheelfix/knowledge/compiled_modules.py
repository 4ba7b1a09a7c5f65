"""Which modules of packages are compiled, so that a package without their files is known to be incomplete."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wheelfix.knowledge.tables import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = "compiled_modules.txt"
HEADER = """\
# Compiled modules of packages for Windows: a top-level package in a line, with the names of what is compiled below it.
# source: the members of wheels on PyPI, {date}
# made by `python -m tools.make_compiled_modules`; do not edit by hand
"""
_BY_CONVENTION = frozenset({"_C", "_ext", "_C_flashattention", "_moe_C", "_C_stable_libtorch"})
"""Names that torch's build helpers and their users give to compiled modules, and to nothing else."""
_SUFFIX = "_cuda"


def parse_compiled_modules(text: str) -> dict[str, frozenset[str]]:
    """Turn the table's text into packages with the names below them."""
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {top: frozenset(names) for top, *names in rows}


@functools.lru_cache(maxsize=1)
def compiled_modules() -> Mapping[str, frozenset[str]]:
    """Return the table of this package."""
    return parse_compiled_modules(read_text(TABLE))


def is_compiled(module: str) -> bool:
    """Whether a module, by its dotted name, is a compiled part of a package; modules at the top never are.

    A module at the top that is not found is a package that is not installed, compiled or not.
    """
    top, _, rest = module.partition(".")
    if not rest:
        return False
    last = rest.rpartition(".")[2]
    return rest in compiled_modules().get(top, ()) or last in _BY_CONVENTION or last.endswith(_SUFFIX)

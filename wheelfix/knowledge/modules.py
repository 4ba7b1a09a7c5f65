"""Which distribution on PyPI has a top-level module; a module's name is not a distribution's name."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wheelfix.knowledge.tables import read_text
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADER = """\
# Top-level modules and the distributions that have them, one module in a line.
# source: the members of wheels on PyPI, {date}
# made by `python -m tools.make_provider_index`; do not edit by hand
"""


def parse_modules(text: str) -> dict[str, tuple[str, ...]]:
    """Turn the table's text into modules with their distributions."""
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {module: tuple(owners) for module, *owners in rows}


@functools.lru_cache(maxsize=1)
def module_owners() -> Mapping[str, tuple[str, ...]]:
    """Return every module of the table with the distributions that have it."""
    return {**_OF_EARLIER_RELEASES, **parse_modules(read_text("modules.txt"))}


_OF_EARLIER_RELEASES = {"pkg_resources": ("setuptools",)}
"""Modules that the newest releases, of which the table is made, no longer have (setuptools before 82)."""


def distribution_of_module(module: str) -> str:
    """Return the distribution that has a top-level module and its name too; empty where that is not certain.

    The table holds what was seen. cv2, cupy and others come from several distributions, of which one more may exist:
    only a distribution of the module's own name is certain to be the one that is meant.
    """
    top = module.partition(".")[0]
    owners = module_owners().get(top, ())
    return owners[0] if owners == (canonical(top),) else ""

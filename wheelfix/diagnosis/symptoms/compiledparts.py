"""Imports of compiled modules that Python did not find: the package is there, its compiled part is not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.diagnosis.symptoms.messages import KIND
from wheelfix.diagnosis.symptoms.symptom import Symptom
from wheelfix.knowledge.providers import is_compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

TRIGGERS = ("no module named", "cannot import name")
CAUSE = "compiled-part-missing"
_NOT_FOUND = re.compile(r"No module named \\?['\"]?(?P<module>[A-Za-z_][\w.]{2,200})", re.IGNORECASE)
_NOT_IN = re.compile(
    r"cannot import name \\?['\"](?P<name>\w{1,100})\\?['\"] from (?:partially initialized module )?"
    r"\\?['\"](?P<package>[\w.]{1,200})\\?['\"]",
    re.IGNORECASE,
)
_VARIANTS = ("avx", "sse", "sve", "generic")
"""Builds for one kind of processor, of which a package tries one after the other."""
_EXCERPT = 400


def read_compiled_parts(line: str) -> Iterator[Symptom]:
    """Yield the compiled module that a line says was not found, if it is one."""
    found = [match["module"].rstrip(".") for match in _NOT_FOUND.finditer(line)]
    found += [f"{match['package']}.{match['name']}" for match in _NOT_IN.finditer(line)]
    for module in found[:4]:
        if is_compiled(module) and not module.rpartition("_")[2].startswith(_VARIANTS):
            excerpt = " ".join(line.split())[:_EXCERPT]
            yield Symptom(KIND, module=module, excerpt=excerpt, details={"cause": CAUSE})
            return

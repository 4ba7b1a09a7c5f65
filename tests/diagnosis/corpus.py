"""The texts of fixtures/errors, what the table beside them says about them, and the answer to each, found once."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import tomli

import wheelfix
from wheelfix.base.options import RootOptions, ScanOptions

CORPUS = Path(__file__).parents[2] / "fixtures" / "errors"
EXPECTED: list[dict[str, Any]] = tomli.loads((CORPUS / "expected.toml").read_text(encoding="utf-8"))["text"]
HERMETIC = ScanOptions(roots=RootOptions(discover=False))


@functools.cache
def answer_to(file: str) -> wheelfix.Diagnosis:
    """The diagnosis of a text, for all tests of a process: all of them take five seconds."""
    return wheelfix.diagnose((CORPUS / file).read_bytes(), options=HERMETIC)

"""The host's own Python in the place of a Windows one: quick, and enough for packages without DLLs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from wheelfix.base.programs import Finished, run_program
from wheelfix.model import Machine
from wheelfix.trial.model import Interpreter, PythonFacts


class HostPython(Interpreter):
    """An environment in a folder; ``err`` is what a loader's log would add."""

    def __init__(self, work: Path, *, wine: bool = False, err: str = "") -> None:
        facts = PythonFacts((3, 11), Machine.AMD64, "Python 3.11 (amd64), a test", wine)
        super().__init__(facts, work / "environment", work / "exchange")
        self.err = err
        self.site.mkdir(parents=True)
        self.exchange.mkdir()

    def run(self, arguments: Sequence[str], *, timeout: float) -> Finished:
        done = run_program([sys.executable, *arguments], timeout=timeout, within=self.exchange)
        return Finished(done.code, done.out, done.err + self.err)

    def install(self, **files: str) -> None:
        """Put modules into site-packages without an installer."""
        for name, text in files.items():
            (self.site / f"{name}.py").write_text(text)

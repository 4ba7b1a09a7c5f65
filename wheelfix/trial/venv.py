"""On Windows: a virtual environment of the running Python, or of one that is named."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.parsing import parse_json
from wheelfix.base.programs import Finished, run_program
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.model import Machine
from wheelfix.trial.model import PythonFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

ASK = (
    "import json, platform, sys, sysconfig; "
    "print(json.dumps([sys.version_info[:3], sysconfig.get_platform(), platform.python_implementation()]))"
)
MACHINES = {"win-amd64": Machine.AMD64, "win32": Machine.X86, "win-arm64": Machine.ARM64}
HINT = "name the python.exe of a CPython with --python"
KEPT = ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS")
"""Variables without which Windows programs do not start; PATH becomes that of Windows alone."""
_START = 180.0
_MOST_OUTPUT = 4 << 20


class VenvPython:
    """A virtual environment without pip, in a work folder."""

    def __init__(self, work: Path, python: Path | None = None) -> None:
        base = Path(sys.executable if python is None else python).absolute()
        if not base.is_file():
            raise UsageError(f"--python {base}", because="there is no such file", hint=HINT)
        version, platform, implementation = self._ask(base, work)
        machine = MACHINES.get(platform)
        if machine is None or implementation != "CPython":
            raise UsageError(f"--python {base}", because=f"it is {implementation} for {platform}", hint=HINT)
        self._work = work
        label = f"Python {'.'.join(map(str, version))} ({machine}), Windows"
        self._facts = PythonFacts((version[0], version[1]), machine, label)
        done = run_program(
            [str(base), "-I", "-m", "venv", "--without-pip", str(self.prefix)], timeout=_START, within=work
        )
        if done.code:
            last = (done.text.strip() or "no message").splitlines()[-1]
            raise EnvironmentFailure(f"{base} cannot make a virtual environment", because=last, hint=HINT)
        self.exchange.mkdir(exist_ok=True)

    @staticmethod
    def _ask(base: Path, work: Path) -> tuple[list[int], str, str]:
        done = run_program([str(base), "-I", "-c", ASK], timeout=_START, within=work)
        try:
            version, platform, implementation = parse_json(done.out)
        except ValueError as error:
            last = (done.text.strip() or f"exit code {done.code}").splitlines()[-1]
            raise EnvironmentFailure(f"{base} does not run", because=last, hint=HINT) from error
        return version, platform, implementation

    @property
    def facts(self) -> PythonFacts:
        """What is known about it."""
        return self._facts

    @property
    def prefix(self) -> Path:
        """The environment."""
        return self._work / "environment"

    @property
    def site(self) -> Path:
        """Where packages are installed."""
        return self.prefix / "Lib" / "site-packages"

    @property
    def exchange(self) -> Path:
        """A folder for requests and results."""
        return self._work / "exchange"

    def path(self, path: Path) -> str:
        """Return the path: there is only one side."""
        return str(path)

    def run(self, arguments: Sequence[str], *, timeout: float) -> Finished:
        """Run the environment's python.exe without the user's variables: no PATH, no PYTHON…, no proxies."""
        system = os.environ.get("SYSTEMROOT", r"C:\Windows")
        variables = {name: os.environ[name] for name in KEPT if name in os.environ}
        variables["PATH"] = os.pathsep.join([rf"{system}\System32", system])
        program = str(self.prefix / "Scripts" / "python.exe")
        return run_program(
            [program, *arguments], timeout=timeout, environ=variables, max_output=_MOST_OUTPUT, within=self._work
        )

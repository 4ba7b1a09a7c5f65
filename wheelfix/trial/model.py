"""What is tried, what was expected of it, and what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import field, frozen
from wheelfix.model import Word

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from wheelfix.base.programs import Finished
    from wheelfix.model import Machine, ScanReport


Note: TypeAlias = "Callable[[str], object]"
"""Takes a line about what is being done."""


def silent(_line: str) -> None:
    """Pass over such a line."""


@frozen
class TrialOptions:
    """How wheels are tried."""

    beside: tuple[Path, ...] = ()
    """Wheels that are installed too, and folders of wheels that requirements are taken from."""
    find_links: tuple[Path, ...] = ()
    """More folders that requirements are taken from."""
    index_url: str = ""
    """The package index that requirements are taken from; none if empty."""
    requirements: bool = True
    """False installs the wheel without what it requires."""
    modules: tuple[str, ...] = ()
    """The modules to import; by default the top-level modules and every extension module."""
    python_home: Path | None = None
    """A Windows Python for Wine: a folder, or the zip of python.org or nuget.org."""
    wine: Path | None = None
    python: Path | None = None
    """On Windows: the Python to make the environment of."""
    timeout: float = 120.0
    """Seconds for each import."""
    allow_root: bool = False
    note: Note = silent
    """Is told what takes a while."""


class ImportAnswer(Word):
    """What is expected of an import."""

    WORKS = "works"
    FAILS = "fails"
    UNSURE = "unsure"
    """What decides it could not be read."""


@frozen
class Expected:
    """What the model predicts for the import of one module."""

    answer: ImportAnswer
    error: str = ""
    """The class of the exception; empty where any will do."""
    code: int = 0
    """The Windows error code; 0 for errors of Python."""
    message: str = ""
    missing: str = ""
    """The DLL at the end of the chain: the missing one, or the one that does not fit."""
    named: str = ""
    """The extension module or file that the error names."""
    because: str = ""
    caught: frozenset[int] = frozenset()
    """Codes of loads that fail, and with which the package does without."""


@frozen
class RaisedError:
    """One exception of those that an import ended with."""

    error: str
    message: str
    code: int = 0
    bases: tuple[str, ...] = ()
    name: str = ""
    """``ImportError.name``."""
    frames: tuple[str, ...] = ()


@frozen
class LoadedFile:
    """A file that was in the process at the end."""

    path: str
    """Relative to site-packages for the files of packages, else as Windows has it."""
    where: str
    """``package``, ``python``, ``windows`` or ``elsewhere``."""


@frozen
class Observed:
    """How an import ended."""

    outcome: str
    """``imported``, ``raised``, ``crashed`` (no answer, with the exit code) or ``timeout``."""
    errors: tuple[RaisedError, ...] = ()
    """The exception and its causes, the last one raised first."""
    traceback: str = ""
    loaded: tuple[LoadedFile, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    """The DLLs that a loader's log reports as not found, each with the file that asked for it."""
    deviations: tuple[str, ...] = ()
    """Rows of ``knowledge/wine_deviations.toml`` that the log shows."""
    exit_code: int = 0
    output: str = ""
    """What the process wrote, for a process that gave no answer."""
    seconds: float = 0.0
    """To a thousandth."""

    @property
    def works(self) -> bool:
        """Whether the module was imported."""
        return self.outcome == "imported"

    @property
    def cause(self) -> RaisedError | None:
        """The exception that says most: the first in the chain with a Windows error code, else the first raised."""
        return next((error for error in self.errors if error.code), self.errors[-1] if self.errors else None)


class Agreement(Word):
    """How expectation and observation compare."""

    AGREES = "agrees"
    DIFFERS = "differs"
    CANNOT_TELL = "cannot-tell"
    """Wine does something else than Windows here."""
    NOT_PREDICTED = "not-predicted"
    """The model was unsure, or the error has nothing to do with DLLs."""


@frozen
class ModuleTrial:
    """One import: expected, observed, compared."""

    module: str
    expected: Expected
    observed: Observed
    agreement: Agreement
    why: str = ""


@frozen
class Trial:
    """What came of one wheel."""

    path: str
    name: str
    version: str
    interpreter: str
    """Where it was imported: ``Python 3.11.9 for Windows (amd64), Wine 8.0``."""
    modules: tuple[ModuleTrial, ...]
    report: ScanReport
    """The prediction, made for exactly what was installed."""
    installed: tuple[str, ...] = ()
    """The distributions in the environment, as ``name==version``."""
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """``differs``, ``fails`` (and Wine is not the reason), ``cannot-tell`` for all imports, or ``imports``."""
        agreements = {one.agreement for one in self.modules}
        if Agreement.DIFFERS in agreements:
            return "differs"
        if any(not one.observed.works and one.agreement is not Agreement.CANNOT_TELL for one in self.modules):
            return "fails"
        return "cannot-tell" if agreements <= {Agreement.CANNOT_TELL} else "imports"


@frozen
class PythonFacts:
    """The Python that imports."""

    version: tuple[int, int]
    machine: Machine
    label: str
    """``Python 3.11 for Windows (amd64), Wine 8.0``."""
    wine: bool = False
    notes: tuple[str, ...] = field(default=())
    """What the user should know about this run: no network isolation, for example."""


class Interpreter:
    """A Python in an environment of its own, on Windows or under Wine."""

    def __init__(self, facts: PythonFacts, prefix: Path, exchange: Path) -> None:
        self.facts = facts
        self.prefix = prefix
        """The folder of the environment, with python.exe under Wine, as the scan reads it."""
        self.exchange = exchange
        """A folder that both sides can read and write."""

    @property
    def site(self) -> Path:
        """The folder that packages are installed into."""
        return self.prefix / "Lib" / "site-packages"

    def run(self, arguments: Sequence[str], *, timeout: float) -> Finished:
        """Run the Python with these arguments."""
        raise NotImplementedError

    def path(self, path: Path) -> str:
        """Return the name under which it sees a file."""
        return str(path)

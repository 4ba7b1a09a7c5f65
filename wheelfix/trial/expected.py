"""What the model predicts for the import of each module, made for exactly what is installed."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from wheelfix.base.options import RootOptions, ScanOptions, all_cores
from wheelfix.exam.sets import open_parts, open_set
from wheelfix.exam.wheel import WheelScan
from wheelfix.loader.extensionmodules import extension_modules, has_entry
from wheelfix.loader.loadcall import MOD_NOT_FOUND
from wheelfix.loader.packageloading import loading_of
from wheelfix.loader.predict import absent_folder_code, error_line, shown_path
from wheelfix.loader.view import base_name, parent
from wheelfix.model import LoadEvent, LoadOutcome, Severity, dll_key
from wheelfix.pycode.importend import import_end
from wheelfix.rules.codeloads import unsure_code_loads
from wheelfix.rules.failures import depends_on_import_order
from wheelfix.rules.otherdistributions import unknown_provider
from wheelfix.rules.registry import found_by
from wheelfix.streams.pool import WorkerPool
from wheelfix.trial.model import Expected, ImportAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wheelfix.exam.examination import Examination
    from wheelfix.loader.view import FileView
    from wheelfix.model import Prediction
    from wheelfix.pycode.importend import ImportEnd

UNSURE = (depends_on_import_order, unsure_code_loads, unknown_provider)
"""Rules whose findings say that what decides an import could not be read."""
SHORTEST_NAME = 4
"""Letters of a module's name; shorter names may be in a file by chance, and do not count."""
MAX_MODULE = 32 << 20
"""Bytes of an extension module in which the names of others are looked for."""

BY_WINDOWS = (
    "FileNotFoundError: Could not find module '",
    "FileNotFoundError: [WinError ",
    "ImportError: DLL load failed",
    "OSError: [WinError ",
    "OSError: cannot load library '",
)
"""How errors begin that have a code of Windows; packages raise others by themselves."""


@contextlib.contextmanager
def expectations(
    wheel: Path, prefix: Path, python: tuple[int, int] | None = None, *, bare: bool = False
) -> Iterator[Expectations]:
    """Examine a wheel within the environment that it was installed into, for the Python that imports it.

    ``bare`` says that the machine has nothing else, no CUDA toolkit for example, as under Wine.
    """
    options = ScanOptions(beside=(prefix,), roots=RootOptions(discover=False), jobs=all_cores())
    with (
        open_set(options, [wheel]) as beside,
        open_parts([wheel], options) as parts,
        WorkerPool(options.jobs) as pool,
    ):
        archive = parts[0].archive
        assert archive is not None
        view = beside.around(parts).focused(parts[0].distribution.paths)
        yield Expectations(WheelScan(archive, options, pool, None, view).examine(python=python), bare=bare)


class Expectations:
    """The predictions for one wheel, by module."""

    def __init__(self, examination: Examination, *, bare: bool = False) -> None:
        self.examination = examination
        self._bare = bare
        self.report = examination.report
        self.subject = examination.subject
        self._view = self.subject.view
        outcomes = self.subject.outcomes
        self._failing = {outcome.event.path for outcome in outcomes if outcome.code}
        loading = loading_of(self._view)
        self._starts_with_loads = loading is not None and loading.startup is not None
        self._unsure = next(
            (item for item in self.report.findings if item.severity is Severity.UNSURE or found_by(item, *UNSURE)), None
        )

    def _is_stub(self, path: str) -> bool:
        """Whether a file with the name of an extension module is not one."""
        return path.endswith(".pyd") and path in self._view and not has_entry(self._view, path)

    def of(self, module: str) -> Expected:
        """Return what is expected of ``import module`` in a fresh process."""
        first = self.report.first_failure
        if first is not None and self._starts_with_loads:
            return expected_failure(first)
        end = import_end(self._view, self.subject.profile, module, complete=True, bare=self._bare)
        if end.error and (end.decided or self._is_missing(end)):
            return expected_end(self._view, end)
        more = self._may_load_more(end)
        if end.decided and more:
            return Expected(
                ImportAnswer.UNSURE, because=f"compiled code names {base_name(more)}, which cannot be imported"
            )
        if end.decided:
            return expected_end(self._view, end)
        if end.error or self._failing:
            return Expected(ImportAnswer.UNSURE, because=end.reason)
        if self._unsure is not None:
            return Expected(ImportAnswer.UNSURE, because=self._unsure.message)
        return Expected(ImportAnswer.WORKS, caught=end.caught)

    def _is_missing(self, end: ImportEnd) -> bool:
        """Whether a load fails for a DLL that is nowhere: then code that was not followed cannot help."""
        failure = end.fault.failure if end.fault is not None else None
        if failure is None or failure.code != MOD_NOT_FOUND:
            return False
        return not self._view.named(dll_key(base_name(failure.chain[-1])))

    def _may_load_more(self, end: ImportEnd) -> str:
        """A module that fails and is named by one that was loaded: what compiled code imports is not read."""
        loaded = [path for path in end.ran if path.endswith(".pyd")]
        own = (
            [path for path in extension_modules(self._view, self.subject.profile) if path not in end.ran]
            if loaded
            else []
        )
        failing = [path for path in own if path in self._failing or self._is_stub(path)]
        names = {path: base_name(path).split(".")[0].encode() for path in failing}
        names = {path: name for path, name in names.items() if len(name) >= SHORTEST_NAME}
        for path in loaded if names else ():
            data = self._view.source(path).read_at(0, min(self._view.file(path).size, MAX_MODULE))
            found = next((other for other, name in names.items() if name in data), "")
            if found:
                return found
        return ""


def expected_end(view: FileView, end: ImportEnd) -> Expected:
    """Return how a followed import ends, as the values that are compared with a real import."""
    if not end.error:
        return Expected(ImportAnswer.WORKS, caught=end.caught)
    fault, failure = end.fault, end.fault.failure if end.fault is not None else None
    if fault is None or fault.cause in ("symbol", "name"):
        because = (
            f": raised by the package because {base_name(_blamed(end.missed))} cannot be loaded" if end.missed else ""
        )
        text = f"{end.error}: {end.message}" if end.message and not because else f"{end.error}{because}"
        return Expected(ImportAnswer.FAILS, end.error, message=text)
    if fault.cause == "module":
        return _without_module(fault.target)
    if fault.cause == "entry":
        return _without_entry(fault.target)
    cause = {"load": "code"}.get(fault.cause, fault.cause)
    code = (
        failure.code
        if failure is not None
        else {"folder": absent_folder_code(view, fault.target), "listing": 3}[fault.cause]
    )
    chain = tuple(base_name(step) for step in failure.chain) if failure is not None else (base_name(fault.target),)
    stem = base_name(fault.target).split(".")[0]
    event = LoadEvent(fault.target, cause, base_name(parent(fault.target)) if stem == "__init__" else stem)
    outcome = LoadOutcome(event, code, chain, failure.detail if failure is not None else "")
    named = base_name(fault.spelled)
    shown = shown_path(view, fault.target)
    message = error_line(outcome, shown[: len(shown) - len(base_name(fault.target))] + named)
    return Expected(ImportAnswer.FAILS, end.error, code, message, chain[-1], named)


def _blamed(missed: tuple[str, ...]) -> str:
    """Of several DLLs that were looked for, the first that should be in the package."""
    own = [name for name in missed if "/" in name and name.lower().endswith(".dll")]
    return own[0] if own else missed[-1]


def _without_module(name: str) -> Expected:
    """Return what is expected where a package imports a module of its own that the wheel does not have."""
    message = f"ModuleNotFoundError: No module named '{name}'"
    return Expected(ImportAnswer.FAILS, "ModuleNotFoundError", message=message, named=name)


def _without_entry(path: str) -> Expected:
    """Return what is expected of a file that can be loaded, but is not a module."""
    name = base_name(path).split(".")[0]
    message = f"ImportError: dynamic module does not define module export function (PyInit_{name})"
    return Expected(ImportAnswer.FAILS, "ImportError", message=message, named=base_name(path))


def expected_failure(prediction: Prediction) -> Expected:
    """Return a prediction as the values that are compared with a real import."""
    error = prediction.message.partition(":")[0]
    by_python = not prediction.message.startswith(BY_WINDOWS)
    named = base_name(prediction.path.replace("\\", "/"))
    missing = prediction.chain[-1] if prediction.chain else ""
    return Expected(
        ImportAnswer.FAILS,
        error,
        0 if by_python else prediction.code,
        prediction.message,
        missing,
        named,
        prediction.explanation,
    )

"""What the model predicts for the import of each module, made for exactly what is installed."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from wheelfix.base.options import RootOptions, ScanOptions, all_cores
from wheelfix.exam.sets import open_parts, open_set
from wheelfix.exam.wheel import WheelScan
from wheelfix.loader.extensionmodules import extension_modules, has_entry
from wheelfix.loader.imports.importorder import ImportOrder
from wheelfix.loader.loadcall import MOD_NOT_FOUND
from wheelfix.loader.packagecode import package_loads
from wheelfix.loader.packageloading import loading_of
from wheelfix.loader.predict import absent_folder_code, error_line, predict, predict_absent, shown_path
from wheelfix.loader.view import SITE_PACKAGES, base_name, parent
from wheelfix.model import LoadEvent, LoadOutcome, Severity
from wheelfix.pycode.budget import separate_budget
from wheelfix.pycode.importend import import_end
from wheelfix.rules.codeloads import unsure_code_loads
from wheelfix.rules.loadorder import depends_on_import_order
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
        self._order = ImportOrder(self._view, self.subject.profile.python, separate_budget(self._view))
        self._failing = self._failures_by_file()
        loading = loading_of(self._view)
        faults = self.subject.resolution.code_faults
        outside = [fault for fault in faults if not any("/" in name for name in fault.names) or fault.cause == "unread"]
        self._doubts = {fault.root: fault for fault in outside if fault.reached and not fault.sure}
        self._starts_with_loads = loading is not None and loading.startup is not None
        self._unsure = next(
            (item for item in self.report.findings if item.severity is Severity.UNSURE or found_by(item, *UNSURE)), None
        )

    def _failures_by_file(self) -> dict[str, Prediction]:
        """The predicted failures by the file whose import raises them: an extension module, or a Python file."""
        found: dict[str, Prediction] = {}
        resolution = self.subject.resolution
        for absent in resolution.absent_modules:
            found.setdefault(absent.file, predict_absent(self._view, absent))
        outcomes = [outcome for outcome in resolution.outcomes if outcome.code]
        roots = {fault.names[0]: fault.root for fault in resolution.code_faults if fault.sure}
        loading: dict[str, str] = {}
        if any(outcome.event.cause in ("code", "cffi") for outcome in outcomes):
            for file in package_loads(self._view, self.subject.profile).files:
                now = [event for event in file.events if not event.guarded and event.path not in file.late]
                loading.update({event.path: file.path for event in now})
        for outcome in outcomes:
            where = self._raising_file(outcome, roots, loading)
            prediction = predict(self._view, resolution, outcome)
            if where and prediction is not None:
                found.setdefault(where, prediction)
        return found

    @staticmethod
    def _raising_file(outcome: LoadOutcome, roots: dict[str, str], loading: dict[str, str]) -> str:
        event = outcome.event
        if event.cause in ("extension", "module"):
            return event.path
        return roots.get(event.path) or loading.get(event.path, "")

    def _is_stub(self, path: str) -> bool:
        """Whether a file with the name of an extension module is not one."""
        return path.endswith(".pyd") and path in self._view and not has_entry(self._view, path)

    def of(self, module: str) -> Expected:
        """Return what is expected of ``import module`` in a fresh process."""
        first = self.report.first_failure
        if first is not None and self._starts_with_loads:
            return expected_failure(first)
        known = self._interpreted(module)
        if known is not None:
            return known
        path = self._order.file_of(module)
        if path is None:
            return Expected(ImportAnswer.UNSURE, because=f"{module} is not a file of the wheel")
        followed = True
        for step, complete in self._order.steps(path):
            if step.absent and step.certain and not step.guarded:
                if self._changes_path(step.absent):
                    return Expected(ImportAnswer.UNSURE, because=f"where {step.absent} is looked for depends on code")
                return _without_module(step.absent)
            failure = self._failing.get(step.path)
            doubt = self._doubts.get(step.path)
            if failure is None and doubt is not None and step.certain and not step.guarded:
                return Expected(ImportAnswer.UNSURE, because=f"whether {doubt.names[0]} is there is not known")
            if failure is not None and (not step.guarded or step.path == path):
                if failure.code == MOD_NOT_FOUND and self.subject.unread_code:
                    return Expected(ImportAnswer.UNSURE, because="a folder that its code adds could not be read")
                if step.certain:
                    return expected_failure(failure)
                return Expected(ImportAnswer.UNSURE, because=f"a condition decides whether {step.path} is imported")
            if step.certain and (not step.guarded or step.path == path) and self._is_stub(step.path):
                return _without_entry(step.path)
            followed &= complete
        if self._unsure is not None:
            return Expected(ImportAnswer.UNSURE, because=self._unsure.message)
        if self._failing and not followed:
            return Expected(ImportAnswer.UNSURE, because="its import statements cannot be followed to the end")
        alone = next((one for one in self.subject.resolution.outcomes if one.event.path == path and one.alone), None)
        if alone is not None:
            return Expected(ImportAnswer.UNSURE, because="it loads only after other imports of the package")
        guarded = {one.code for one in self.subject.resolution.outcomes if one.code and one.event.guarded}
        return Expected(ImportAnswer.WORKS, caught=frozenset(guarded))

    def _changes_path(self, module: str) -> bool:
        """Whether code of a package changes where its modules are looked for (``__path__``)."""
        folder = f"{SITE_PACKAGES}/{module.partition('.')[0]}/"
        own = [file for file in self._view.files if file.path.startswith(folder) and file.path.endswith(".py")]
        return any("__path__" in (self._view.read_text(file.path) or "") for file in own)

    def _interpreted(self, module: str) -> Expected | None:
        """What interpreting the import gives; None where that does not decide it."""
        end = import_end(self._view, self.subject.profile, module, complete=True, bare=self._bare)
        if not end.decided:
            return None
        more = self._may_load_more(end) if not end.error else ""
        if more:
            return Expected(
                ImportAnswer.UNSURE, because=f"compiled code names {base_name(more)}, which cannot be imported"
            )
        return expected_end(self._view, end)

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
    """Return how an interpreted import ends, as the values that are compared with a real import."""
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

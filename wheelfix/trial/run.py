"""The whole trial of wheels: which modules, the installation, every import in a fresh process, the comparison.

What the model predicts for the import of each module is made for exactly what is installed.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from typing import TYPE_CHECKING

from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.names import FileName, installed_path
from wheelfix.archive.reader import Archive
from wheelfix.base.options import RootOptions, ScanOptions, all_cores
from wheelfix.base.programs import python_command, run_program
from wheelfix.base.values import dataclass, field
from wheelfix.errors import EnvironmentFailure, InputError, UsageError, failure_of
from wheelfix.exam.sets import open_parts, open_set
from wheelfix.exam.wheel import WheelScan
from wheelfix.loader.loadcall import MOD_NOT_FOUND
from wheelfix.loader.packageloading import extension_modules, has_entry, loading_of, module_name
from wheelfix.loader.predict import absent_folder_code, error_line, shown_path
from wheelfix.loader.profile import Profile
from wheelfix.loader.requirements import holds_on_target, parse_requirement
from wheelfix.loader.view import SITE_PACKAGES, base_name, parent
from wheelfix.model import LoadEvent, LoadOutcome, Severity, canonical, dll_key
from wheelfix.pycode.importer import import_end
from wheelfix.rules.codeloads import unsure_code_loads
from wheelfix.rules.failures import depends_on_import_order
from wheelfix.rules.otherdistributions import unknown_provider
from wheelfix.rules.registry import found_by
from wheelfix.streams.output import WorkFolder
from wheelfix.streams.pool import WorkerPool
from wheelfix.trial.model import Expected, ImportAnswer, ModuleTrial, Trial, TrialOptions
from wheelfix.trial.observe import compare, observe
from wheelfix.trial.wine import refuse_root, wine_python
from wheelfix.trial.winpython import VenvPython

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from wheelfix.errors import WheelfixError
    from wheelfix.exam.examination import Examination
    from wheelfix.loader.view import FileView
    from wheelfix.model import Prediction
    from wheelfix.pycode.importer import ImportEnd
    from wheelfix.trial.model import Interpreter, PythonFacts


ASIDE = {"test", "tests", "testing", "example", "examples", "docs", "doc", "setup", "conftest"}
"""Top-level names that wheels have by mistake, and that nobody imports."""


def modules_to_try(view: FileView, profile: Profile, asked: Sequence[str] = (), name: str = "") -> tuple[str, ...]:
    """Return the dotted names of the modules to import, the top-level ones first."""
    if asked:
        for module in asked:
            if not _is_name(module):
                raise UsageError(
                    f"--module {module}", because="that is not the name of a module", hint="pkg or pkg._ext"
                )
        return tuple(dict.fromkeys(asked))
    extensions = [module_name(path) for path in extension_modules(view, profile)]
    tops = list(_top_level(view))
    found = dict.fromkeys([*tops, *(module for module in extensions if _is_name(module))])
    if not found:
        raise InputError(f"{name} has no module to import", hint="name one with --module")
    return tuple(found)


def _is_name(module: str) -> bool:
    return all(part.isidentifier() for part in module.split("."))


def _top_level(view: FileView) -> Iterator[str]:
    """Packages and modules that no other package contains; a folder without ``__init__.py`` is looked into."""
    own = [file.path for file in view.own_files]
    inside = sorted(path[len(SITE_PACKAGES) + 1 :] for path in own if path.startswith(SITE_PACKAGES + "/"))
    packages = {parent(path) for path in inside if path.endswith("/__init__.py")}
    single = {path.removesuffix(".py") for path in inside if path.endswith(".py") and "/" not in path}
    single |= {path.split(".")[0] for path in inside if path.lower().endswith(".pyd") and "/" not in path}
    outer = {package for package in packages if not _parents(package) & packages}
    for name in sorted(outer | single):
        dotted = name.replace("/", ".")
        if _is_name(dotted) and not ASIDE & set(dotted.lower().split(".")) and not dotted.startswith("__"):
            yield dotted


def _parents(package: str) -> set[str]:
    parts = package.split("/")
    return {"/".join(parts[:count]) for count in range(1, len(parts))}


ROUNDS = 20
"""Levels of requirements that are followed."""
_LONG = 900.0


def install(wheel: Path, target: Interpreter, options: TrialOptions, work: Path) -> tuple[str, ...]:
    """Install a wheel into an environment that is empty; return what is there then, as ``name==version``."""
    extra = [path for path in options.beside if path.is_file()]
    wheels = [wheel, *extra]
    folder = work / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if options.requirements:
        wheels += _Requirements(target.facts, options, folder).of(wheels)
    command = ["install", "--no-deps", "--no-compile", "--no-index", "--isolated", "--target", str(target.site)]
    # pip runs in the work folder, so that a relative path would mean another file.
    _pip([*command, *_target(target.facts), *(str(path.absolute()) for path in wheels)], wheel, target.facts, work)
    for path in wheels:
        _place_data(path, target)
    return tuple(f"{name.name}=={name.version}" for name in map(FileName.parse, wheels))


def empty(target: Interpreter, baseline: frozenset[str]) -> None:
    """Remove from an environment what the trial before has installed; ``baseline`` is what it had when it was made."""
    added = [path for path in target.prefix.iterdir() if path.name not in baseline]
    for old in [*target.site.iterdir(), *added]:
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()


def _target(facts: PythonFacts) -> list[str]:
    version = ".".join(map(str, facts.version))
    platform = ["--platform", facts.machine.platform, "--python-version", version]
    return [*platform, "--implementation", "cp", "--only-binary", ":all:"]


def _pip(arguments: Sequence[str], wheel: Path, facts: PythonFacts, work: Path) -> None:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-color"]
    done = run_program(python_command("pip", [arguments[0], *quiet, *arguments[1:]]), timeout=_LONG, within=work)
    if not done.code:
        return
    lines = [line.removeprefix("ERROR: ").strip() for line in done.err.splitlines() if line.strip()]
    last = next((line for line in lines if "not a supported wheel" in line), lines[-1] if lines else "no message")
    if "No module named pip" in done.err:
        raise EnvironmentFailure(
            "wheelfix try installs with pip, which is not there", because=last, hint="python -m ensurepip"
        )
    if "not a supported wheel" in done.err:
        version = ".".join(map(str, facts.version))
        raise InputError(
            f"{wheel.name} cannot be installed for {facts.label}",
            because=last,
            hint=f"it was tried with Python {version} for {facts.machine}; give the right one with --python-home "
            "(under Wine) or --python (on Windows)",
        )
    raise EnvironmentFailure(f"{wheel.name} cannot be installed", because=last, hint=_hint(done.err))


def _hint(text: str) -> str:
    if "No matching distribution" in text or "Could not find a version" in text:
        return (
            "requirements come from --with and --find-links only: add a folder that has them, ask for an index with "
            "--index-url, or leave them out with --no-deps"
        )
    return ""


def _place_data(path: Path, target: Interpreter) -> None:
    """Put the files of ``.data/data`` where a prefix has them: ``Library/bin`` and the like.

    pip's --target leaves them in site-packages, or leaves them out: what is below ``lib`` it takes for its own folder.
    """
    with Archive.open(path) as archive:
        info = WheelInfo.from_archive(archive)
        data = f"{info.data}/data/"
        for member in archive.members:
            if member.name.startswith(data) and member.name[-1:] != "/":
                new = _without_case(target.prefix, installed_path(member.name, info.data))
                old = target.site / member.name.removeprefix(data)
                if old != new and old.is_file():
                    old.unlink()
                new.parent.mkdir(parents=True, exist_ok=True)
                with new.open("wb") as file:
                    file.writelines(archive.chunks(member))


def _without_case(folder: Path, name: str) -> Path:
    """Return a path below a folder, by the names that are there: for Windows, ``lib`` is ``Lib``."""
    for part in name.split("/"):
        names = {path.name.lower(): path.name for path in folder.iterdir()} if folder.is_dir() else {}
        folder /= names.get(part.lower(), part)
    return folder


# ------------------------------------------------------------------------------------------------- the requirements


@dataclass
class _Requirements:
    """The distributions that some wheels require on the target, and theirs."""

    facts: PythonFacts
    options: TrialOptions
    folder: Path
    specifiers: dict[str, set[str]] = field(default_factory=dict)
    extras: dict[str, set[str]] = field(default_factory=dict)

    def of(self, wheels: Sequence[Path]) -> list[Path]:
        """Return the wheels to install besides some wheels; each requirement is met by one file."""
        given = {canonical(FileName.parse(path).name): path for path in wheels}
        pending = list(wheels)
        for _ in range(ROUNDS):
            changed = self._collect(pending)
            wanted = sorted(changed - given.keys())
            again = [given[name] for name in changed & given.keys() if self.extras.get(name)]
            if not wanted and not again:
                break
            for name in wanted:
                for old in self._files(name):
                    old.unlink()
            if wanted:
                self._download(wanted, wheels[0])
            pending = [*again, *(path for name in wanted for path in self._files(name))]
        return [path for name in sorted(self.specifiers.keys() - given.keys()) for path in self._files(name)]

    def _collect(self, wheels: Iterable[Path]) -> set[str]:
        """Take the requirements of some wheels; return the names about which there is something new."""
        changed = set()
        for path in wheels:
            name = canonical(FileName.parse(path).name)
            for text in requirements_of(path, self.facts, self.extras.get(name, set())):
                requirement = parse_requirement(text)
                if requirement is None:
                    raise InputError(f"{path.name} requires {text!r}", because="that is not a valid requirement")
                key = canonical(requirement.name)
                specifiers = self.specifiers.setdefault(key, set())
                extras = self.extras.setdefault(key, set())
                if str(requirement.specifier) not in specifiers or requirement.extras - extras:
                    specifiers.add(str(requirement.specifier))
                    extras |= requirement.extras
                    changed.add(key)
        return changed

    def _files(self, name: str) -> list[Path]:
        return [path for path in self.folder.glob("*.whl") if canonical(FileName.parse(path).name) == name]

    def _download(self, names: Sequence[str], wheel: Path) -> None:
        command = ["download", "--no-deps", "--dest", str(self.folder), *_target(self.facts)]
        folders = [*(path for path in self.options.beside if path.is_dir()), *self.options.find_links]
        command += [word for folder in folders for word in ("--find-links", str(folder.absolute()))]
        command += ["--index-url", self.options.index_url] if self.options.index_url else ["--no-index", "--isolated"]
        specifiers = [name + ",".join(sorted(filter(None, self.specifiers[name]))) for name in names]
        _pip([*command, *specifiers], wheel, self.facts, self.folder.parent)


def requirements_of(path: Path, facts: PythonFacts, extras: Iterable[str] = ()) -> Iterator[str]:
    """Give the requirements of a wheel that hold on the target, without those of extras that were not asked for."""
    with Archive.open(path) as archive:
        requires = WheelInfo.from_archive(archive).metadata.requires_dist
    profile = Profile(facts.machine, facts.version)
    for text in requires:
        requirement = parse_requirement(text)
        if requirement is None or any(holds_on_target(requirement, profile, extra) for extra in ("", *extras)):
            yield text


@dataclass(frozen=True, slots=True)
class TrialFailure:
    """A wheel that could not be tried, and why; the others are tried all the same."""

    path: str
    error: WheelfixError


def try_all(
    paths: Iterable[Path], options: TrialOptions, note: Callable[[str], None] | None = None
) -> Iterator[Trial | TrialFailure]:
    """Try wheels, each by itself in an environment that is emptied before it. This runs the code of the wheels."""
    refuse_root(options.allow_root)
    with WorkFolder() as work, open_interpreter(work, options, note) as target:
        yield from try_with(target, paths, options, work, note)


def try_with(
    target: Interpreter,
    paths: Iterable[Path],
    options: TrialOptions,
    work: Path,
    note: Callable[[str], None] | None = None,
) -> Iterator[Trial | TrialFailure]:
    """Try wheels with a Python that is ready."""
    baseline = frozenset(path.name for path in target.prefix.iterdir())
    for path in paths:
        try:
            empty(target, baseline)
            yield try_one(target, path, options, work, note)
        except Exception as error:  # whatever it is, it costs this wheel only
            yield TrialFailure(str(path), failure_of(error, path))


def try_one(
    target: Interpreter, path: Path, options: TrialOptions, work: Path, note: Callable[[str], None] | None = None
) -> Trial:
    """Install one wheel, predict, import and compare."""
    installed = install(path, target, options, work)
    with expectations(path, target.prefix, target.facts.version, bare=target.facts.wine) as expected:
        subject, report = expected.subject, expected.report
        names = modules_to_try(subject.view, subject.profile, options.modules, path.name)
        predictions = {name: expected.of(name) for name in names}
    found = []
    for name, prediction in predictions.items():
        if note is not None:
            note(f"{path.name}: import {name}")
        seen = observe(name, target, options.timeout)
        agreement, why = compare(prediction, seen, wine=target.facts.wine, machine=target.facts.machine)
        found.append(ModuleTrial(name, prediction, seen, agreement, why))
    return Trial(
        path=str(path),
        name=report.name,
        version=report.version,
        interpreter=target.facts.label,
        modules=tuple(found),
        report=report,
        installed=installed,
        notes=target.facts.notes,
    )


def open_interpreter(
    work: Path, options: TrialOptions, note: Callable[[str], None] | None = None
) -> contextlib.AbstractContextManager[Interpreter]:
    """Return a Python in an environment of its own: a virtual environment on Windows, Wine elsewhere."""
    if sys.platform == "win32":
        return contextlib.nullcontext(VenvPython(work, options.python))
    return wine_python(work, options.python_home, options.wine, note)


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
        if end.error and (end.certain or self._is_missing(end)):
            return expected_end(self._view, end)
        more = self._may_load_more(end)
        if end.certain and more:
            return Expected(
                ImportAnswer.UNSURE, because=f"compiled code names {base_name(more)}, which cannot be imported"
            )
        if end.certain:
            return expected_end(self._view, end)
        if end.fault is not None or end.missed or self._failing:
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
        return Expected(
            ImportAnswer.FAILS, "ImportError", message=f"ImportError: {end.message}", named=base_name(fault.target)
        )
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

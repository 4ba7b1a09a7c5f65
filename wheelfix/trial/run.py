"""The whole trial of wheels: which modules, the installation, every import in a fresh process, the comparison.

What the model predicts for the import of each module is made for exactly what is installed.
"""

from __future__ import annotations

import ast
import contextlib
import re
import shutil
import sys
import time
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.names import FileName, installed_path
from wheelfix.archive.reader import Archive
from wheelfix.base.options import RootOptions, ScanOptions, all_cores
from wheelfix.base.programs import Finished, python_command, run_program
from wheelfix.base.values import distinct
from wheelfix.errors import EnvironmentFailure, InputError, UsageError, failure_of
from wheelfix.exam.examination import Examination, FailedInput
from wheelfix.exam.sets import examine_set
from wheelfix.knowledge.system import classify, runtime_file
from wheelfix.knowledge.winerrors import NOT_FOUND, deviation, shown_by
from wheelfix.loader.followed import followed_imports, top_level
from wheelfix.loader.loading import MOD_NOT_FOUND
from wheelfix.loader.packageloading import extension_modules, has_entry, loading_of, module_name
from wheelfix.loader.predict import absent_folder_code, error_line, predict_absent, shown_path
from wheelfix.loader.profile import Profile
from wheelfix.loader.requirements import held_requirements
from wheelfix.loader.view import SITE_PACKAGES, FileView, base_name, is_pyd, key_of, parent
from wheelfix.model import LoadEvent, LoadOutcome, Machine, Prediction, Severity, canonical, dll_key
from wheelfix.rules.codeloads import unsure_code_loads
from wheelfix.rules.failures import depends_on_import_order
from wheelfix.rules.otherdistributions import unknown_provider
from wheelfix.rules.registry import found_by
from wheelfix.rules.wording import dotted, last_part
from wheelfix.streams.output import WorkFolder
from wheelfix.trial.model import (
    Agreement,
    Expected,
    ImportAnswer,
    Interpreter,
    LoadedFile,
    ModuleTrial,
    Observed,
    PythonFacts,
    RaisedError,
    Trial,
    TrialOptions,
)
from wheelfix.trial.pythons import VenvPython, refuse_root, wine_python

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from packaging.requirements import Requirement

    from wheelfix.pycode.importer import ImportEnd


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
        return distinct(asked)
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
    single |= {path.split(".")[0] for path in inside if is_pyd(path) and "/" not in path}
    outer = {package for package in packages if packages.isdisjoint(map(str, PurePosixPath(package).parents))}
    for name in sorted(outer | single):
        dotted = name.replace("/", ".")
        if _is_name(dotted) and not ASIDE & set(dotted.lower().split(".")) and not dotted.startswith("__"):
            yield dotted


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
        wheels += _requirements(wheels, target.facts, options, folder)
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
    platform = ["--platform", facts.machine.platform, "--python-version", dotted(facts.version)]
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
        raise InputError(
            f"{wheel.name} cannot be installed for {facts.label}",
            because=last,
            hint=f"it was tried with Python {dotted(facts.version)} for {facts.machine}; give the right one with "
            "--python-home (under Wine) or --python (on Windows)",
        )
    nowhere = "No matching distribution" in done.err or "Could not find a version" in done.err
    hint = (
        "requirements come from --with and --find-links only: add a folder that has them, ask for an index with "
        "--index-url, or leave them out with --no-deps"
    )
    raise EnvironmentFailure(f"{wheel.name} cannot be installed", because=last, hint=hint if nowhere else "")


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


def _requirements(wheels: Sequence[Path], facts: PythonFacts, options: TrialOptions, folder: Path) -> list[Path]:
    """Download what some wheels require on the target, and what that requires; each requirement is met by one file."""
    given = set(map(_distribution, wheels))
    asked: dict[str, dict[str, Requirement]] = {}  # of each distribution all that is required, by its text
    for _ in range(ROUNDS):
        known = {name: len(lines) for name, lines in asked.items()}
        for path in (*wheels, *folder.glob("*.whl")):
            own = asked.get(_distribution(path), {}).values()
            for one in requirements_of(path, facts, {extra for line in own for extra in line.extras}):
                asked.setdefault(canonical(one.name), {})[str(one)] = one
        new = [name for name, lines in asked.items() if len(lines) > known.get(name, 0)]
        if not new:
            break
        for path in folder.glob("*.whl"):
            if _distribution(path) in new:
                path.unlink()
        if wanted := sorted({*new} - given):
            specifiers = {name: {str(one.specifier) for one in asked[name].values()} for name in wanted}
            _download(
                [name + ",".join(filter(None, specifiers[name])) for name in wanted], wheels[0], facts, options, folder
            )
    return sorted(folder.glob("*.whl"))


def _distribution(path: Path) -> str:
    return canonical(FileName.parse(path).name)


def _download(wanted: Sequence[str], wheel: Path, facts: PythonFacts, options: TrialOptions, folder: Path) -> None:
    command = ["download", "--no-deps", "--dest", str(folder), *_target(facts)]
    folders = [*(path for path in options.beside if path.is_dir()), *options.find_links]
    command += [word for place in folders for word in ("--find-links", str(place.absolute()))]
    command += ["--index-url", options.index_url] if options.index_url else ["--no-index", "--isolated"]
    _pip([*command, *wanted], wheel, facts, folder.parent)


def requirements_of(path: Path, facts: PythonFacts, extras: Iterable[str] = ()) -> Iterator[Requirement]:
    """Return the requirements of a wheel that hold on the target, without those of extras that were not asked for."""
    with Archive.open(path) as archive:
        requires = WheelInfo.from_archive(archive).metadata.requires_dist
    return held_requirements(requires, Profile(facts.machine, facts.version), extras)


def try_all(paths: Iterable[Path], options: TrialOptions) -> Iterator[Trial | FailedInput]:
    """Try wheels, each by itself in an environment that is emptied before it. This runs the code of the wheels."""
    refuse_root(options.allow_root)
    with WorkFolder() as work, open_interpreter(work, options) as target:
        baseline = frozenset(path.name for path in target.prefix.iterdir())
        for path in paths:
            try:
                empty(target, baseline)
                yield try_one(target, path, options, work)
            except Exception as error:  # whatever it is, it costs this wheel only
                yield FailedInput(str(path), failure_of(error, path), "try")


def try_one(target: Interpreter, path: Path, options: TrialOptions, work: Path) -> Trial:
    """Install one wheel, predict, import and compare."""
    installed = install(path, target, options, work)
    with expectations(path, target.prefix, target.facts.version, bare=target.facts.wine) as expected:
        subject, report = expected.subject, expected.report
        names = modules_to_try(subject.view, subject.profile, options.modules, path.name)
        predictions = {name: expected.of(name) for name in names}
    found = []
    for name, prediction in predictions.items():
        options.note(f"{path.name}: import {name}")
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


def open_interpreter(work: Path, options: TrialOptions) -> contextlib.AbstractContextManager[Interpreter]:
    """Return a Python in an environment of its own: a virtual environment on Windows, Wine elsewhere."""
    if sys.platform == "win32":
        return contextlib.nullcontext(VenvPython(work, options.python))
    return wine_python(work, options.python_home, options.wine, options.note)


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
    options = ScanOptions(bare=bare, beside=(prefix,), roots=RootOptions(discover=False), jobs=all_cores())
    with contextlib.ExitStack() as stack:
        ((_, examination),) = examine_set([wheel], options, None, stack, python)
        yield Expectations(examination)


class Expectations:
    """The predictions for one wheel, by module."""

    def __init__(self, examination: Examination) -> None:
        self.report = examination.report
        self.subject = examination.subject
        self._view = self.subject.view
        self.followed = followed_imports(self._view, self.subject.profile)
        """The imports that the scan follows, on a machine with nothing else, as the one that they are tried on."""
        outcomes = self.subject.outcomes
        self._failing = {outcome.event.path for outcome in outcomes if outcome.code}
        self._starts_with_loads = loading_of(self._view).startup is not None
        self._unsure = next(
            (item for item in self.report.findings if item.severity is Severity.UNSURE or found_by(item, *UNSURE)), None
        )

    def _fails(self, path: str) -> bool:
        """Whether an extension module cannot be loaded, or is not one although it has the name of one."""
        return path in self._failing or (path in self._view and not has_entry(self._view, path))

    def of(self, module: str) -> Expected:
        """Return what is expected of ``import module`` in a fresh process."""
        first = self.report.first_failure
        if first is not None and self._starts_with_loads:
            return expected_failure(first)
        end = self.followed.of(module)
        if end.error and (end.certain or self._is_missing(end)):
            return expected_end(self._view, end)
        more = self._may_load_more(end)
        if end.certain and more:
            return Expected(
                ImportAnswer.UNSURE, because=f"compiled code names {base_name(more)}, which cannot be imported"
            )
        if end.certain:
            return expected_end(self._view, end)
        for absent in self.subject.resolution.absent_modules:
            own = absent.sure and not absent.distribution and not absent.below
            if own and top_level(absent.file) == module.partition(".")[0]:
                return expected_failure(predict_absent(self._view, absent))
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
        return not self._view.named(key_of(failure.chain[-1]))

    def _may_load_more(self, end: ImportEnd) -> str:
        """A module that fails and is named by one that was loaded: what compiled code imports is not read."""
        loaded = [path for path in end.ran if path.endswith(".pyd")]
        own = extension_modules(self._view, self.subject.profile) if loaded else ()
        failing = [path for path in own if path not in end.ran and self._fails(path)]
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
        message = f"ModuleNotFoundError: No module named '{fault.target}'"
        return Expected(ImportAnswer.FAILS, "ModuleNotFoundError", message=message, named=fault.target)
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


# ---------------------------------------------------------------------------------------------------- what was observed

CHILD = Path(__file__).with_name("child.py")
MOST = 4 << 20
"""Bytes of an answer that are read."""
TAIL = 2000
"""Characters of a process's output that are kept if it gave no answer."""
_LOG = re.compile(r"^[0-9a-f]{4}:(?:err|warn|fixme|trace):")
_LOADED = re.compile(r':loaddll:\S{1,60} (?P<word>Loaded|Unloaded) (?:module )?L"(?P<path>[^"\n]{0,1000})"')
_NO_SYMBOL = re.compile(r'import_dll No implementation for (.{1,300})\.[^.\s]{1,300} imported from L?"')


def observe(module: str, target: Interpreter, timeout: float) -> Observed:
    """Import a module with a Python."""
    exchange = target.exchange
    script, result = exchange / "child.py", exchange / "result"
    shutil.copyfile(CHILD, script)
    result.unlink(missing_ok=True)
    how = "log" if target.facts.wine else "list"
    asked = [module, target.path(target.site), how, target.path(result)]
    arguments = ["-I", "-X", "utf8", target.path(script), *asked]
    started = time.monotonic()
    try:
        done = target.run(arguments, timeout=timeout)
    except EnvironmentFailure as error:
        if "took more than" not in error.because:
            raise
        return Observed("timeout", seconds=round(time.monotonic() - started, 3))
    seconds = round(time.monotonic() - started, 3)
    try:
        return observed_from(_parse(result), done, target, seconds)
    except (OSError, ValueError, SyntaxError, MemoryError, RecursionError, TypeError, LookupError, AttributeError):
        return observed_from({}, done, target, seconds)


def _parse(result: Path) -> dict[str, Any]:
    """Read what the child wrote; the code of a wheel ran in it, so that it may be anything."""
    if result.stat().st_size > MOST:
        raise ValueError("too long")
    answer = ast.literal_eval(result.read_text(encoding="ascii"))
    if not isinstance(answer, dict) or answer.get("outcome") not in ("imported", "raised"):
        raise ValueError("not an answer")
    return answer


def observed_from(answer: dict[str, Any], done: Finished, target: Interpreter, seconds: float) -> Observed:
    """Return how an import ended; without an answer of the child, its process did not come to its end."""
    log = done.err.splitlines()
    loaded = tuple(_placed(path, target) for path in answer.get("loaded") or loaded_by(log))
    own = {last_part(file.path).lower() for file in loaded if file.where != "windows"}
    said = "\n".join([done.out.strip(), *(line for line in log if not _LOG.match(line))]).strip()
    return Observed(
        outcome=str(answer.get("outcome", "crashed")),
        errors=tuple(_error(error, target) for error in answer.get("errors", ())),
        traceback=str(answer.get("traceback", "")),
        loaded=loaded,
        missing=tuple(_missing(log)),
        deviations=tuple(row.id for row in shown_by(_about_files(log, own))),
        exit_code=done.code,
        output="" if answer else said[-TAIL:],
        seconds=seconds,
    )


def loaded_by(log: Iterable[str]) -> list[str]:
    """Return the files that are in the process after what Wine's log shows, in the order of loading."""
    found: dict[str, None] = {}
    for match in filter(None, map(_LOADED.search, log)):
        path = match["path"].replace("\\\\", "\\")
        if match["word"] == "Loaded":
            found[path] = None
        else:
            found.pop(path, None)
    return list(found)


def _about_files(log: Iterable[str], own: set[str]) -> Iterable[str]:
    """The lines of a log without those about functions that Wine's own DLLs do not have: Windows has them."""
    for line in log:
        found = _NO_SYMBOL.search(line)
        if found is None or last_part(found[1].replace("\\\\", "\\")).lower() in own:
            yield line


def _missing(log: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Give each DLL that a log reports as not found, with the file that asked for it."""
    matches = filter(None, map(NOT_FOUND.search, log))
    return dict.fromkeys((match["dll"], last_part(match["by"].replace("\\\\", "\\"))) for match in matches)


def _error(error: dict[str, Any], target: Interpreter) -> RaisedError:
    site, code = target.path(target.site), error.get("code")
    frames = (str(frame).replace(site, "").lstrip("\\/").replace("\\", "/") for frame in error.get("frames", ()))
    return RaisedError(
        error=str(error["class"]),
        message=str(error["message"]),
        code=code if isinstance(code, int) else 0,
        bases=tuple(map(str, error.get("bases", ()))),
        name=str(error.get("name", "")),
        frames=tuple(frames),
    )


def _placed(path: str, target: Interpreter) -> LoadedFile:
    """Say where a loaded file is, by its name in Windows."""
    plain = path.removeprefix("\\\\?\\")
    for folder, where in ((target.path(target.site), "package"), (target.path(target.prefix), "python")):
        if plain.lower().startswith(folder.lower() + "\\"):
            return LoadedFile(plain[len(folder) + 1 :].replace("\\", "/"), where)
    windows = re.match(r"[a-z]:\\windows\\", plain, re.IGNORECASE)
    name = last_part(plain).lower()
    if not windows and re.fullmatch(r"python3?\d*t?\.dll|python\.exe|vcruntime140(_1)?\.dll", name):
        return LoadedFile(plain, "python")  # a virtual environment runs the Python that it was made from
    return LoadedFile(plain, "windows" if windows else "elsewhere")


WINSOCK = range(10000, 12000)
"""Codes of the network, which is switched off; the loader gives none of them."""
PASSED_OVER = ("foreign-dependency-32",)
"""Faults of mapping with which a load still succeeds under Wine."""


def compare(expected: Expected, observed: Observed, *, wine: bool, machine: Machine) -> tuple[Agreement, str]:
    """Return how an expectation and an observation compare, and why in one sentence."""
    if wine:
        reason = wine_cannot_tell(expected, observed, machine)
        if reason:
            return Agreement.CANNOT_TELL, reason
    refused = wine and windows_codes(observed) - {0}
    if observed.outcome in ("crashed", "timeout") and not refused:
        return Agreement.NOT_PREDICTED, "the process ended without an answer, which wheelfix does not predict"
    codes = windows_codes(observed) if wine else {_code(observed)}
    works = observed.works and codes <= {0}
    if expected.answer is ImportAnswer.UNSURE:
        return Agreement.NOT_PREDICTED, f"wheelfix could not tell beforehand: {expected.because}"
    if expected.answer is ImportAnswer.WORKS:
        if works or (observed.works and codes - {0} <= expected.caught):
            return Agreement.AGREES, ""
        if not any(codes):
            return Agreement.NOT_PREDICTED, "no DLL is involved in this error, and wheelfix predicts no others"
        return Agreement.DIFFERS, f"predicted to work, it fails with {_codes(codes)}"
    if works:
        return Agreement.DIFFERS, f"predicted to fail ({expected.message}), it works"
    return _compare_failures(expected, observed, codes)


def _compare_failures(expected: Expected, observed: Observed, codes: set[int]) -> tuple[Agreement, str]:
    if not observed.errors and not expected.code:  # the package would catch what Wine passes over
        return Agreement.CANNOT_TELL, f"Wine loads what Windows refuses with {_codes(codes)}"
    if not observed.errors and expected.code in codes:  # Wine only logs what makes Windows refuse the load
        return Agreement.AGREES, "Wine loads it and logs the fault for which Windows refuses it"
    if not observed.errors:
        return Agreement.DIFFERS, f"predicted {expected.code}, Windows would give {_codes(codes)}"
    if expected.code and expected.code not in codes:
        return Agreement.DIFFERS, f"predicted {expected.code}, it fails with {_codes(codes)}"
    matching = [error for error in observed.errors if _is_class(error, expected.error)]
    if expected.error and not matching:
        raised = observed.errors[0].error if observed.errors else "nothing"
        return Agreement.DIFFERS, f"predicted {expected.error}, it raises {raised}"
    if expected.code and not _names_same(expected, observed):
        cause = observed.cause
        return Agreement.DIFFERS, f"predicted for {expected.named}, it is about {cause.message if cause else '?'}"
    missing = {dll_key(name) for name, _ in observed.missing}
    if expected.code == MOD_NOT_FOUND and missing and dll_key(expected.missing) not in missing:
        names = ", ".join(dict.fromkeys(name for name, _ in observed.missing))
        return Agreement.DIFFERS, f"predicted that {expected.missing} is missing, it is {names}"
    return Agreement.AGREES, ""


def _is_class(error: RaisedError, name: str) -> bool:
    if name == "ModuleNotFoundError" and error.error == "ImportError":
        return "cannot import name" in error.message  # what "from . import module" says for "import pkg.module"
    return not name or name == error.error or name in error.bases


def _names_same(expected: Expected, observed: Observed) -> bool:
    """Whether the error is about the same module or file; only messages that name one are compared."""
    wanted = last_part(expected.named).lower()
    stem = wanted.split(".")[0]
    for error in observed.errors:
        if "DLL load failed while importing " in error.message:
            said = error.message.partition("while importing ")[2].partition(":")[0].strip().lower()
            return said == stem or stem == "__init__" if wanted.endswith(".pyd") else True
        if "Could not find module '" in error.message:
            path = error.message.partition("Could not find module '")[2].partition("'")[0]
            return last_part(path).lower() == wanted
    return True


def _code(observed: Observed) -> int:
    cause = observed.cause
    return cause.code if cause is not None and cause.code not in WINSOCK else 0


def _codes(codes: set[int]) -> str:
    words = [f"error {code}" if code > 0 else "an error of the loader" for code in sorted(codes) if code]
    return " or ".join(words) or "an error of Python"


def windows_codes(observed: Observed) -> set[int]:
    """The codes that Windows gives for what Wine's log shows: it maps everything before it binds anything."""
    rows = [row for row in map(deviation, observed.deviations) if row.windows]
    if observed.works:
        # A load that failed under Wine too was caught by the package; what Wine passes over or binds to a stub was not.
        rows = [row for row in rows if row.phase != "map" or row.id in PASSED_OVER]
    mapping, binding = ({row.windows or 0 for row in rows if row.phase == phase} for phase in ("map", "bind"))
    code = _code(observed)
    if not observed.works and code:
        return mapping | ({code} if code != MOD_NOT_FOUND or not mapping else set())
    return mapping or binding or {code}


def wine_cannot_tell(expected: Expected, observed: Observed, machine: Machine) -> str:
    """Return why Wine's answer says nothing about Windows here; empty if it does."""
    if observed.outcome in ("crashed", "timeout"):
        if observed.outcome == "crashed" and windows_codes(observed) - {0}:
            return ""  # Windows would have refused the load before
        name = "unimplemented-function" if "unimplemented-function" in observed.deviations else "crash"
        return _sentence(name)
    if not observed.works and "unimplemented-function" in observed.deviations and _code(observed) <= 0:
        return _sentence("unimplemented-function")
    if expected.answer is ImportAnswer.FAILS and dll_key(expected.missing) in _answered_by_wine(observed):
        return _sentence("builtin-dll", expected.missing)
    if not observed.works and _code(observed) == MOD_NOT_FOUND and not _is_missing(expected, observed):
        absent = [name for name, _ in observed.missing if _of_windows(name, machine)]
        if absent:
            return _sentence("absent-system-dll", absent[0])
    return ""


def _answered_by_wine(observed: Observed) -> set[str]:
    """The DLLs that Wine has itself; it takes its own C++ runtime also where the package has a file of that name."""
    names = [last_part(file.path) for file in observed.loaded]
    own = {dll_key(last_part(file.path)) for file in observed.loaded if file.where == "windows"}
    return own | {dll_key(name) for name in names if runtime_file(name) is not None}


def _is_missing(expected: Expected, observed: Observed) -> bool:
    """Whether the DLL is missing that was expected to be."""
    wanted = dll_key(expected.missing)
    return expected.answer is ImportAnswer.FAILS and wanted in {dll_key(name) for name, _ in observed.missing}


def _of_windows(name: str, machine: Machine) -> bool:
    """Whether Windows has a DLL, or the Visual C++ runtime, which is assumed to be installed."""
    return classify(name, machine).kind in ("system", "ucrt", "api-set") or runtime_file(name) is not None


def _sentence(name: str, about: str = "") -> str:
    row = deviation(name)
    return f"Wine cannot tell ({row.id}{f', {about}' if about else ''}): {row.what}; Wine {row.wine}"

"""From an error text, an environment or a wheel, in any combination, to the cause and what to do about it."""

from __future__ import annotations

import io
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path, PureWindowsPath
from typing import IO, TYPE_CHECKING, cast

from wheelfix.archive.reader import Archive
from wheelfix.base.options import PYTHONS, RemoteOptions, ScanOptions
from wheelfix.base.parsing import regex
from wheelfix.base.values import replace
from wheelfix.diagnosis.conclusions import conclude
from wheelfix.diagnosis.confirm import situation
from wheelfix.diagnosis.model import SHOWN, DiagnoseRequest, Diagnosis, Evidence, GatheredEvidence, ScannedPackage
from wheelfix.diagnosis.recorded import describe
from wheelfix.diagnosis.symptoms.facts import read_facts, read_machine, state_facts
from wheelfix.diagnosis.symptoms.model import Log, Symptom, TextLimits, environment_prefix
from wheelfix.diagnosis.symptoms.reader import read_log
from wheelfix.diagnosis.symptoms.recordings import PML_MAGIC, read_pml, read_recordings, windows_report
from wheelfix.errors import InputError, UsageError
from wheelfix.exam.scan import chosen_distributions, examine_installed
from wheelfix.exam.sets import examine_set
from wheelfix.exam.wheel import examine_wheel
from wheelfix.knowledge.cards import nvidia_capability
from wheelfix.knowledge.fit import contradictions
from wheelfix.knowledge.providers import owner_of_package, package_with
from wheelfix.knowledge.system import classify
from wheelfix.loader.places import Environment, open_environment
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import canonical, fold
from wheelfix.remote.client import Client, parsed
from wheelfix.roots.index import open_index
from wheelfix.rules.wording import dotted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from packaging.version import Version

    from wheelfix.diagnosis.symptoms.stream import Text
    from wheelfix.loader.places import Distribution


def diagnose(
    text: Text | None = None,
    *,
    environment: str | Path | None = None,
    wheel: str | Path | Sequence[str | Path] | None = None,
    package: str = "",
    options: ScanOptions | None = None,
) -> Diagnosis:
    """Return the cause of a failed import, the chain that leads to it, and what to do.

    ``text`` is an error text, a whole log or recorded loads, as string, bytes or an open file; ``environment`` a
    Python prefix (or a copy of one), ``wheel`` the wheel in question, a folder of wheels, or several of them. Each
    alone is enough; together they give a more exact answer.
    """
    wheels = () if wheel is None else (wheel,) if isinstance(wheel, (str, Path)) else tuple(wheel)
    request = DiagnoseRequest(
        text=text,
        environment=Path(environment) if environment is not None else None,
        wheels=tuple(Path(one) for one in wheels),
        package=package,
        options=options or ScanOptions(),
    )
    return answer(request)


def answer(request: DiagnoseRequest) -> Diagnosis:
    """Gather the evidence, compare the symptoms with the files, and put the diagnosis together."""
    if request == replace(request, text=None, environment=None, wheels=(), active=None):
        raise UsageError(
            "there is nothing to diagnose",
            hint="give a file with the error text, - for the standard input, --env PREFIX or --wheel W; "
            "or activate an environment",
        )
    gathered = GatheredEvidence()
    with ExitStack() as stack:
        if request.text is not None:
            _read_text(request, request.text, gathered, stack)
            _ask_index(request.options.remote, gathered)
        if request.environment is None and not request.wheels:
            request, gathered.how = find_environment(request, gathered.symptoms)
        if request.environment is not None or request.wheels:
            examine_files(request, gathered, stack)
        return conclude(gathered, request.options.roots.trusted_roots)


# ------------------------------------------------------------------------------------------------------------ the text


_PYTHON = regex(r"(?i)^python 3\.(\d{1,2})(?:\.\d{1,3}\w{0,5})?$")
"""A fact of a text that names one release of Python."""
_SHORT = 4096
"""Characters of a text that may be nothing but white space."""


def _read_text(request: DiagnoseRequest, text: Text, gathered: GatheredEvidence, stack: ExitStack) -> None:
    """Add the symptoms and recordings of the text to the evidence."""
    file = _rereadable(text, stack)
    if isinstance(file.read(0), bytes) and (report := windows_report(cast("IO[bytes]", file), request.text_source)):
        file = io.StringIO(report)
    is_pml = file.read(len(PML_MAGIC)) == PML_MAGIC
    file.seek(0)
    if is_pml:
        recording = read_pml(cast("IO[bytes]", file), request.text_source)
        gathered.recordings = (recording,) if recording is not None else ()
        gathered.log = Log()
    else:
        gathered.recordings = read_recordings(file)
        file.seek(0)
        log = read_log(file)
        machine, said = read_machine(log.tail), read_facts(log.tail)
        gathered.notes += contradictions(machine)
        # The loader prints a status in every line, and Wine's drivers do; alone it says nothing more.
        statuses = any(recording.tool in ("loader snaps", "Wine") for recording in gathered.recordings)
        shown = {load.line for recording in gathered.recordings for load in recording.failed if not recording.static}
        kept = (one for one in log.symptoms if one.line not in shown and not (statuses and one.kind == "exit-code"))
        facts = state_facts(log.tail, machine, said, [symptom.package for symptom in log.symptoms])
        # Several releases of torch, or Pythons, in one text are a matter of what it says.
        known = {"torch": machine["torch"][0]} if len(machine["torch"]) == 1 else {}
        pythons = {one for fact in facts for one in _PYTHON.findall(fact)}
        known |= {"python": pythons.pop()} if len(pythons) == 1 else {}
        known |= {name: said[name] for name in ("host", "manager") if name in said}
        known |= {"environment": "conda"} if "channels" in said else {}
        symptoms = tuple(
            replace(
                one,
                details={
                    **known,
                    **_of_bundle(one, said),
                    **_card(one, machine["card"]),
                    **_own_release(one, facts),
                    **one.details,
                },
            )
            for one in kept
        )
        symptoms = (_of_only_dll(symptoms[0], log),) if len(symptoms) == 1 else symptoms
        gathered.log = replace(log, symptoms=symptoms, facts=facts, said={**known, **said, "shown": ", ".join(facts)})
    for recording in gathered.recordings:
        gathered.evidence.append(Evidence("record", request.text_source, describe(recording)))
        if recording.stopped:
            gathered.notes.append(f"Not all of the record was used: {recording.stopped}.")
    if gathered.recordings and not gathered.symptoms:
        return
    file.seek(0)
    if not gathered.log.size or (gathered.log.size <= _SHORT and not file.read(_SHORT + 1).strip()):
        gathered.log = replace(gathered.log, size=0)
        gathered.evidence.append(Evidence("text", request.text_source, "it is empty"))
        return
    gathered.evidence.append(Evidence("text", request.text_source, ""))
    if gathered.log.stopped:
        gathered.notes.append(f"Not all of the text was used: {gathered.log.stopped}.")


def _of_bundle(symptom: Symptom, said: Mapping[str, str]) -> dict[str, str]:
    """Whose modules a program has, wherever the text says that it was made by a packager; not for what it looks for."""
    is_module = bool(symptom.module) or symptom.file.lower().endswith(".pyd")
    return {"bundle": said["bundle"]} if is_module and "bundle" in said else {}


_RELEASE = regex(r"([A-Za-z][\w.-]{1,40}) v?(\d[\w.]{0,20})")


def _own_release(symptom: Symptom, facts: Sequence[str]) -> dict[str, str]:
    """The release of the package that an error is about, where the text shows one."""
    package = symptom.package or package_with(symptom.module) or symptom.module.partition(".")[0]
    own = {canonical(name) for name in (package, owner_of_package(package)) if name}
    shown = map(_RELEASE.fullmatch, facts)
    release = next((found[2] for found in shown if found and canonical(found[1]) in own), "")
    return {"release": release} if release else {}


def _of_only_dll(symptom: Symptom, log: Log) -> Symptom:
    """Give a sentence without any name the DLL that the text is about, where it names a single one."""
    named = [name for name in log.named if classify(name).kind not in ("system", "python")]
    bare = not (symptom.path or symptom.module or symptom.package or symptom.dlls)
    return replace(symptom, path=named[0]) if bare and symptom.kind == "sentence" and len(named) == 1 else symptom


def _card(symptom: Symptom, cards: list[str]) -> dict[str, str]:
    """The only card that a text names, for an error that is about the card."""
    known = nvidia_capability(cards[0]) if len(cards) == 1 and symptom.kind == "no-kernel-image" else None
    return {"card": cards[0], "capability": f"sm_{known[0]}{known[1]}"} if known else {}


def _rereadable(text: Text, stack: ExitStack) -> IO[bytes] | IO[str]:
    """Return a text as a file that can be read twice; what comes from a pipe is kept in a temporary file first."""
    if isinstance(text, str):
        return io.StringIO(text, newline="")
    if isinstance(text, bytes):
        return io.BytesIO(text)
    if text.seekable():
        return text
    kept = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # the stack closes it
    left = TextLimits().max_bytes + 1
    while left > 0 and (piece := text.read(min(1 << 20, left))):
        data = piece.encode("utf-8", "surrogateescape") if isinstance(piece, str) else piece
        kept.write(data)
        left -= len(data)
    kept.seek(0)
    return kept


_NO_WHEEL = (" The index does not have a project of that name.", " The index has no wheel of it for Windows.")


def _told_by_index(found: tuple[tuple[int, int], Version]) -> dict[str, str]:
    """What the newest Python with a wheel, and the version of that wheel, add to a symptom."""
    python = dotted(found[0])
    newer = "and for newer ones" if found[0] == PYTHONS[0] else "and for no newer one"
    return {"index": f" The index has a wheel of {found[1]} for Python {python}, {newer}.", "wheel_python": python}


def _ask_index(remote: RemoteOptions, gathered: GatheredEvidence) -> None:
    """With ``--fetch``: add for which Python the index has a wheel of what pip did not find, or built."""
    wanted = {symptom.details.get("building", "") for symptom in gathered.symptoms} - {""} if remote.fetch else set()
    if gathered.log is None or not wanted:
        return
    from wheelfix.remote.packageindex import newest_python

    answers: dict[str, dict[str, str]] = {}
    with Client(remote) as client:
        for word in wanted:
            requirement = parsed(word)
            files = client.index.files(requirement.name)
            found = newest_python(files, requirement.specifier, remote.target.platform)
            answers[word] = _told_by_index(found) if found else {"index": _NO_WHEEL[bool(files)]}
    symptoms = (
        replace(one, details={**one.details, **answers.get(one.details.get("building", ""), {})})
        for one in gathered.symptoms
    )
    gathered.log = replace(gathered.log, symptoms=tuple(symptoms))


# ----------------------------------------------------------------------------------------------------------- the files


def active_environment(environ: Mapping[str, str]) -> Path | None:
    """Return the environment that is active, as its variables say, or None."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        value = environ.get(name, "").strip()
        if value and Path(value).is_dir():
            return Path(value)
    return None


def find_environment(request: DiagnoseRequest, symptoms: tuple[Symptom, ...]) -> tuple[DiagnoseRequest, str]:
    """Return the request with the environment that it is about, if it is on this machine, and how that is known."""
    prefixes = [prefix for symptom in symptoms if (prefix := environment_prefix(symptom.path or ""))]
    for prefix in prefixes:
        # A drive letter means nothing elsewhere: a folder named so would be a coincidence.
        if _on_windows() and Path(prefix).is_dir():
            return replace(request, environment=Path(prefix)), "named in the text; "
    on_its_own = request.text is None or (_on_windows() and symptoms and not prefixes)
    if request.active is not None and on_its_own:
        return replace(request, environment=request.active), "the active environment; "
    return request, ""


def _on_windows() -> bool:
    return os.name == "nt"


def examine_files(request: DiagnoseRequest, gathered: GatheredEvidence, stack: ExitStack) -> None:
    """Add the examined packages to the evidence; the stack closes what was opened for them."""
    options = request.options
    index = stack.enter_context(open_index(options.roots))
    wheels = _wheel_files(request.wheels)
    if len(wheels) == 1 and request.environment is None:
        archive = stack.enter_context(Archive.open(wheels[0], options.limits))
        examined = [(wheels[0], examine_wheel(archive, options, index))]
    else:
        # Several are one installation; with an environment, wheels are examined as if installed there.
        beside = () if request.environment is None else (request.environment,)
        examined = [*examine_set(wheels, replace(options, beside=beside), index, stack)] if wheels else []
    for wheel, exam in examined:
        gathered.cases.append(ScannedPackage(exam, "", str(wheel), options=options))
        gathered.evidence.append(Evidence("wheel", str(wheel), f"{exam.report.name} {exam.report.version}"))
    if request.environment is not None:
        environment = open_environment(request.environment)
        gathered.environment = environment
        chosen = _packages_in_question(environment, request.package, gathered.symptoms)
        if gathered.log is not None:
            gathered.log = replace(
                gathered.log, symptoms=tuple(_situated(one, environment) for one in gathered.symptoms)
            )

        def examine(distribution: Distribution) -> ScannedPackage:
            exam = examine_installed(environment, distribution, options, index)
            return ScannedPackage(exam, str(request.environment), known=situation(environment), options=options)

        def examine_other(name: str) -> ScannedPackage | None:
            return next((examine(one) for one in environment.distributions if canonical(one.name) == name), None)

        gathered.cases += [examine(distribution) for distribution in chosen]
        gathered.examine_other = examine_other
        text = gathered.how + ", ".join(f"{one.name} {one.version}" for one in chosen[:SHOWN]) or "no package with DLLs"
        more = f" and {len(chosen) - SHOWN} more" if len(chosen) > SHOWN else ""
        gathered.evidence.append(Evidence("environment", str(request.environment), text + more))


def _situated(symptom: Symptom, environment: Environment) -> Symptom:
    """Add what the environment knows about a symptom: whose files it is about, which torch there is, what it is."""
    owners = _owners(environment, symptom)
    details = {**symptom.details, **situation(environment)}
    if len(owners) == 1:
        details.update(distribution=canonical(owners[0].name), version=owners[0].version)
    return replace(symptom, details=details)


def _wheel_files(paths: tuple[Path, ...]) -> list[Path]:
    """The wheels to look at: those named, and those in the folders named, each once."""
    found: dict[Path, None] = {}
    for path in paths:
        inside = sorted(path.glob("*.whl")) if path.is_dir() else [path]
        if not inside:
            raise InputError(str(path), because="there is no wheel in this folder", hint="name a wheel (.whl)")
        found.update(dict.fromkeys(inside))
    return list(found)


def _packages_in_question(environment: Environment, package: str, symptoms: tuple[Symptom, ...]) -> list[Distribution]:
    """The distributions to look at: the one asked for, else those that the text is about, else all that have DLLs."""
    if package:
        return chosen_distributions(environment, (package,))
    found: dict[str, Distribution] = {}
    for symptom in symptoms:
        for distribution in _owners(environment, symptom):
            found[distribution.dist_info] = distribution
    if not found and symptoms:
        found = {one.dist_info: one for one in environment.distributions if canonical(one.name) == "torch"}
    return list(found.values()) or chosen_distributions(environment, ())


def _owners(environment: Environment, symptom: Symptom) -> list[Distribution]:
    """The distributions that have the file, the module or the package of a symptom."""
    inside = fold(_inside(symptom.path or ""))
    folder = f"{SITE_PACKAGES}/{symptom.package}/" if symptom.package else ""
    module = symptom.module.rpartition(".")[2]
    by_folder, by_module = [], []
    for distribution in environment.distributions:
        paths = distribution.paths
        if inside and any(fold(path) == inside for path in paths):
            return [distribution]
        if folder and any(path.startswith(folder) for path in paths):
            by_folder.append(distribution)
        elif module and any(
            path.rpartition("/")[2].partition(".")[0] == module and path.endswith(".pyd") for path in paths
        ):
            by_module.append(distribution)
    return by_folder or by_module


def _inside(path: str) -> str:
    """A Windows path as a path of the view: what follows the prefix."""
    parts = PureWindowsPath(path).parts
    lowered = [part.lower() for part in parts]
    if "site-packages" not in lowered:
        return ""
    return "/".join([SITE_PACKAGES, *parts[lowered.index("site-packages") + 1 :]])

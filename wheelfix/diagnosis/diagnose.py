"""From an error text, an environment or a wheel, in any combination, to the true cause and the way out."""

from __future__ import annotations

import io
import os
import re
import tempfile
from contextlib import ExitStack
from pathlib import Path, PureWindowsPath
from typing import IO, TYPE_CHECKING, cast

from wheelfix.archive.reader import Archive
from wheelfix.diagnosis.answer import Diagnosis, Evidence, Explained
from wheelfix.diagnosis.case import ScannedPackage
from wheelfix.diagnosis.confirm import confirm, faults, matching_outcome, situation
from wheelfix.diagnosis.origin import doubtful_dlls
from wheelfix.diagnosis.pairs import mismatched_edges, pair_of_edge
from wheelfix.diagnosis.recorded import describe, differences, explain_recording, provided_by_record
from wheelfix.diagnosis.reinstall import is_gone, reinstall, remark
from wheelfix.diagnosis.remedies import ranked, remedies_for
from wheelfix.diagnosis.symptoms import Confidence, explain_symptom, read_log
from wheelfix.diagnosis.symptoms.causes import environment_prefix
from wheelfix.diagnosis.symptoms.recordings import read_recordings
from wheelfix.diagnosis.symptoms.recordings.pml import MAGIC as PML_MAGIC
from wheelfix.diagnosis.symptoms.recordings.pml import read_pml
from wheelfix.diagnosis.symptoms.symptom import Log, TextLimits
from wheelfix.diagnosis.symptoms.triage import contradictions, read_machine
from wheelfix.errors import InputError, UsageError
from wheelfix.exam.scan import chosen_distributions, examine_installed
from wheelfix.exam.sets import examine_set
from wheelfix.exam.wheel import examine_wheel
from wheelfix.loader.places import open_environment
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import Severity, canonical, dll_key, fold
from wheelfix.options import ScanOptions
from wheelfix.roots.gather import open_index
from wheelfix.values import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wheelfix.diagnosis.symptoms import Symptom
    from wheelfix.diagnosis.symptoms.recordings import Recording
    from wheelfix.diagnosis.symptoms.stream import Text
    from wheelfix.exam.examination import Examination
    from wheelfix.loader.places import Distribution, Environment
    from wheelfix.model import Finding
    from wheelfix.roots.rootfile import Candidates

_SHOWN = 6
_NEEDS_A_WHEEL = re.compile(r"wheelfix (?:scan|repair)(?: --[\w-]+(?: \w+)?)? dist\\")
"""Commands about the wheel of a package, wherever it is."""
_SHORT = 4096
"""Characters of a text that may be nothing but white space."""


@dataclass(frozen=True, slots=True)
class DiagnoseRequest:
    """What there is to go by."""

    text: Text | None = None
    """An error text: decoded, as bytes, or an open file."""
    text_source: str = "the text"
    """How to name it: a file, ``stdin``, ``--text``."""
    environment: Path | None = None
    wheels: tuple[Path, ...] = ()
    package: str = ""
    active: Path | None = None
    """The environment that is active where we run; used when nothing better is known."""
    options: ScanOptions = field(default_factory=ScanOptions)


@dataclass
class _DiagnosisState:
    """What has been put together so far."""

    log: Log | None = None
    recordings: tuple[Recording, ...] = ()
    environment: Environment | None = None
    how: str = ""
    """How the environment came to be known, when the user did not name it."""
    cases: list[ScannedPackage] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    examine_other: Callable[[str], ScannedPackage | None] = lambda name: None
    """Examines another distribution of the environment, by its name."""

    def case_of(self, explained: Explained, case: ScannedPackage) -> ScannedPackage:
        """The case of the distribution that a cause is in, which need not be the one that the text names."""
        wanted = canonical(explained.package)
        if canonical(case.exam.identity.name) == wanted:
            return case
        for other in self.cases:
            if canonical(other.exam.identity.name) == wanted and bool(other.wheel) == bool(case.wheel):
                return other
        return self.examine_other(wanted) or case

    @property
    def symptoms(self) -> tuple[Symptom, ...]:
        return self.log.symptoms if self.log else ()


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
    alone is enough; together they tell more.
    """
    wheels = () if wheel is None else (wheel,) if isinstance(wheel, (str, Path)) else tuple(wheel)
    question = DiagnoseRequest(
        text=text,
        environment=Path(environment) if environment is not None else None,
        wheels=tuple(Path(one) for one in wheels),
        package=package,
        options=options or ScanOptions(),
    )
    return answer(question)


def answer(question: DiagnoseRequest) -> Diagnosis:
    """Gather the evidence, compare the symptoms with the files, and put the diagnosis together."""
    if question == replace(question, text=None, environment=None, wheels=(), active=None):
        raise UsageError(
            "there is nothing to diagnose",
            hint="give a file with the error text, --env PREFIX or --wheel W; or activate an environment",
        )
    state = _DiagnosisState()
    with ExitStack() as stack:
        if question.text is not None:
            _read_text(question, state, stack)
        if question.environment is None and not question.wheels:
            question, state.how = _find_environment(question, state.symptoms)
        if question.environment is not None or question.wheels:
            _examine(question, state, stack)
        return _conclude(state, question.options.roots.trusted_roots)


# ---------------------------------------------------------------------------------------------------------- evidence


def _read_text(question: DiagnoseRequest, state: _DiagnosisState, stack: ExitStack) -> None:
    assert question.text is not None
    text = _rereadable(question.text, stack)
    if not isinstance(text, str) and _starts_with(text, PML_MAGIC):
        file = io.BytesIO(text) if isinstance(text, bytes) else text
        recording = read_pml(cast("IO[bytes]", file), question.text_source)
        state.recordings = (recording,) if recording is not None else ()
        state.log = Log()
    else:
        state.recordings = read_recordings(text)
        _rewind(text)
        state.notes += contradictions(read_machine(text))
        _rewind(text)
        state.log = read_log(text)
        if any(recording.tool == "loader snaps" for recording in state.recordings):
            # The loader prints a status in every line; alone it says nothing that the recording does not.
            kept = tuple(symptom for symptom in state.log.symptoms if symptom.kind != "exit-code")
            state.log = replace(state.log, symptoms=kept)
    for recording in state.recordings:
        state.evidence.append(Evidence("record", question.text_source, describe(recording)))
        if recording.stopped:
            state.notes.append(f"Not all of the record was used: {recording.stopped}.")
    if state.recordings and not state.symptoms:
        return
    if not state.log.size or _is_blank(text, state.log.size):
        state.log = replace(state.log, size=0)
        state.evidence.append(Evidence("text", question.text_source, "it is empty"))
        return
    kinds = ", ".join(dict.fromkeys(_in_short(symptom) for symptom in state.symptoms[:_SHOWN]))
    state.evidence.append(Evidence("text", question.text_source, kinds or "nothing about DLLs in it"))
    if state.log.stopped:
        state.notes.append(f"Not all of the text was used: {state.log.stopped}.")


def _rereadable(text: Text, stack: ExitStack) -> Text:
    """Return a text that can be read twice; what comes from a pipe is kept in a temporary file first."""
    if isinstance(text, (str, bytes)) or text.seekable():
        return text
    kept = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # the stack closes it
    left = TextLimits().max_bytes + 1
    while left > 0 and (piece := text.read(min(1 << 20, left))):
        data = piece.encode("utf-8", "surrogateescape") if isinstance(piece, str) else piece
        kept.write(data)
        left -= len(data)
    kept.seek(0)
    return kept


def _starts_with(text: bytes | IO[bytes] | IO[str], magic: bytes) -> bool:
    if isinstance(text, bytes):
        return text.startswith(magic)
    head = text.read(len(magic))
    _rewind(text)
    return head == magic


def _is_blank(text: Text, size: int) -> bool:
    """Whether a short text has nothing but white space."""
    if size > _SHORT:
        return False
    _rewind(text)
    content = text if isinstance(text, (str, bytes)) else text.read(_SHORT + 1)
    return not content.strip()


def _rewind(text: Text) -> None:
    if not isinstance(text, (str, bytes)):
        text.seek(0)


def _in_short(symptom: Symptom) -> str:
    code = "" if symptom.code is None else f" {symptom.code}" if symptom.code <= 0xFFFF else f" 0x{symptom.code:08X}"
    about = symptom.file or symptom.module or ", ".join(symptom.dlls[:2])
    return f"line {symptom.line}: {symptom.kind}{code}{f' ({about})' if about else ''}"


def _examine(question: DiagnoseRequest, state: _DiagnosisState, stack: ExitStack) -> None:
    options = question.options
    index = stack.enter_context(open_index(options.roots))
    for wheel, exam in _examined_wheels(question, index, stack):
        state.cases.append(ScannedPackage(exam, "", str(wheel), options=options))
        identity = exam.identity
        state.evidence.append(Evidence("wheel", str(wheel), f"{identity.name} {identity.version}"))
    if question.environment is not None:
        environment = open_environment(question.environment)
        state.environment = environment
        chosen = _packages_in_question(environment, question.package, state.symptoms)
        if state.log is not None:
            state.log = replace(state.log, symptoms=tuple(_situated(one, environment) for one in state.symptoms))

        def examine(distribution: Distribution) -> ScannedPackage:
            exam = examine_installed(environment, distribution, options, index)
            return ScannedPackage(exam, str(question.environment), known=situation(environment), options=options)

        def examine_other(name: str) -> ScannedPackage | None:
            return next((examine(one) for one in environment.distributions if canonical(one.name) == name), None)

        state.cases += [examine(distribution) for distribution in chosen]
        state.examine_other = examine_other
        text = state.how + ", ".join(f"{one.name} {one.version}" for one in chosen[:_SHOWN]) or "no package with DLLs"
        more = f" and {len(chosen) - _SHOWN} more" if len(chosen) > _SHOWN else ""
        state.evidence.append(Evidence("environment", str(question.environment), text + more))


def _examined_wheels(
    question: DiagnoseRequest, index: Candidates, stack: ExitStack
) -> Iterator[tuple[Path, Examination]]:
    """Examine the wheels: one by itself, several as one installation, with an environment as if installed there."""
    wheels, options = _wheel_files(question.wheels), question.options
    if len(wheels) == 1 and question.environment is None:
        archive = stack.enter_context(Archive.open(wheels[0], options.limits))
        yield wheels[0], examine_wheel(archive, options, index)
    elif wheels:
        beside = () if question.environment is None else (question.environment,)
        yield from examine_set(wheels, replace(options, beside=beside), index, stack)


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
    """The distributions to look at: the one asked for, else those the text speaks of, else all that have DLLs."""
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


# -------------------------------------------------------------------------------------------------------- conclusions


def _conclude(state: _DiagnosisState, trusted_roots: Path | None) -> Diagnosis:
    explained: list[tuple[Explained, ScannedPackage | None]] = []
    for recording in state.recordings:
        for one in explain_recording(recording, state.cases):
            case = next((case for case in state.cases if case.exam.identity.name == one.package), None)
            explained.append((one, case))
    recorded = len(explained)
    for symptom in state.symptoms:
        explained += _explain(symptom, state)
    shown = {one.cause.likely_missing + one.chain for one, case in explained if case is not None}
    for case in state.cases:
        for fault in faults(case):
            if _loaded_in_record(fault, state):
                continue
            if fault.cause.likely_missing + fault.chain not in shown and not _is_explained(fault, explained):
                explained.append((fault, state.case_of(fault, case)))
    # What a record shows comes first, then what the files prove, then what the text suggests, guesses last.
    order = list(Confidence)
    rest = sorted(explained[recorded:], key=lambda pair: (pair[1] is None, order.index(pair[0].cause.confidence)))
    kept = _unique([*explained[:recorded], *rest])
    warnings = doubtful_dlls(state.environment, trusted_roots) if state.environment else ()
    steps = [reinstall(case) for symptom in state.symptoms for case in state.cases if is_gone(symptom, case)]
    steps += [step for one, case in kept for step in remedies_for(one, case)]
    if state.environment is not None:
        steps = [step for step in steps if not step.command.startswith("wheelfix diagnose")]
    if state.cases:
        # The files were looked at: advice to look at a wheel somewhere, or to repair it, leads nowhere new.
        steps = [step for step in steps if not _NEEDS_A_WHEEL.match(step.command)]
    return Diagnosis(
        evidence=tuple(state.evidence),
        symptoms=state.symptoms,
        explained=tuple(one for one, _ in kept),
        others=tuple(_others(state, kept)),
        remedies=ranked(steps),
        warnings=warnings,
        notes=tuple(dict.fromkeys([*state.notes, *_remarks(state, kept)])),
        sound=bool(state.cases) and not any(_broken(case) for case in state.cases),
    )


def _explain(symptom: Symptom, state: _DiagnosisState) -> list[tuple[Explained, ScannedPackage | None]]:
    """What is behind one symptom: as the files show it, else as the text and the tables tell."""
    for case in state.cases:
        found = confirm(symptom, case)
        if found is not None:
            return [(found, state.case_of(found, case))]
    cause = explain_symptom(symptom)
    return [(Explained(cause, symptom, explanation=cause.what_is_known), None)] if cause else []


def _is_explained(fault: Explained, explained: list[tuple[Explained, ScannedPackage | None]]) -> bool:
    """Whether the same DLL was already found to be missing."""
    missing = {dll_key(name) for one, case in explained if case is not None for name in one.cause.likely_missing}
    return bool(fault.cause.likely_missing) and {dll_key(name) for name in fault.cause.likely_missing} <= missing


def _loaded_in_record(fault: Explained, state: _DiagnosisState) -> bool:
    """Whether a record shows that the process found what these files do not have."""
    missing = fault.cause.likely_missing
    return bool(missing) and all(
        any(provided_by_record(recording, name) for recording in state.recordings) for name in missing
    )


def _unique(explained: list[tuple[Explained, ScannedPackage | None]]) -> list[tuple[Explained, ScannedPackage | None]]:
    seen: dict[str, tuple[Explained, ScannedPackage | None]] = {}
    for one, case in explained:
        seen.setdefault(one.cause.summary, (one, case))
    return list(seen.values())


def _broken(case: ScannedPackage) -> bool:
    return case.exam.report.first_failure is not None or any(
        finding.severity is Severity.ERROR for finding in case.exam.report.findings
    )


def _others(state: _DiagnosisState, kept: list[tuple[Explained, ScannedPackage | None]]) -> list[str]:
    """Further faults of the files: errors about anything that no cause is about."""
    about = {dll_key(name) for one, _ in kept for name in (*one.cause.likely_missing, *one.chain[-1:])}
    for case in state.cases:
        about |= _files_of_pairs(case, {one.cause.summary for one, _ in kept})
    text = " ".join(one.cause.summary for one, _ in kept)
    found = []
    for case in state.cases:
        for finding in case.exam.report.findings:
            if finding.severity is Severity.ERROR and not _is_about(finding, about) and finding.message not in text:
                found.append(f"{finding.message} ({finding.code})")
    return list(dict.fromkeys(found))


def _files_of_pairs(case: ScannedPackage, summaries: set[str]) -> set[str]:
    """The DLLs of distributions that were said not to fit: more functions that they do not have are the same fault."""
    pairs = (pair_of_edge(case, edge) for edge in mismatched_edges(case))
    return {dll_key(pair.chain[1]) for pair in pairs if pair.summary in summaries}


def _is_about(finding: Finding, names: set[str]) -> bool:
    return dll_key(PureWindowsPath(finding.subject).name) in names


def _remarks(state: _DiagnosisState, kept: list[tuple[Explained, ScannedPackage | None]]) -> list[str]:
    """Where text and files disagree, and what was not at hand."""
    remarks = []
    if state.log is not None and not state.symptoms and not state.recordings:
        empty = "The text is empty." if not state.log.size else ""
        remarks.append(empty or "The text says nothing that has to do with loading DLLs, as far as is known here.")
    for recording in state.recordings:
        for case in state.cases:
            remarks += differences(recording, case)
        if recording.imports:
            remarks.append(
                f"{recording.tool} lists imports; it does not say which of them are missing. With --env PREFIX or "
                "--wheel W the files tell."
            )
    for symptom in state.symptoms:
        for case in state.cases:
            outcome = matching_outcome(symptom, case)
            if is_gone(symptom, case):
                remarks.append(remark(symptom, case))
            elif outcome is not None and not outcome.code and symptom.code is not None and symptom.code <= 0xFFFF:
                remarks.append(
                    f"{symptom.file or symptom.module} loads in the model of these files: the machine that printed the "
                    "text differs from what is assumed, or the files were changed since."
                )
            elif outcome is not None and symptom.code not in (None, outcome.code):
                remarks.append(
                    f"The text has error {symptom.code}, these files give {outcome.code}: they are not the ones that "
                    "the text is from, or another fault comes first there."
                )
    if state.environment is not None and not any(case.exam.report.images for case in state.cases):
        remarks.append(f"{state.environment.prefix} has no Windows DLLs to look at.")
    if not state.cases and state.environment is None and kept:
        remarks.append("This is from the text alone; --env PREFIX or --wheel W finds the true cause in the files.")
    return remarks


# ------------------------------------------------------------------------------------------- which environment to use


def active_environment(environ: Mapping[str, str]) -> Path | None:
    """Return the environment that is active, as its variables tell, or None."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        value = environ.get(name, "").strip()
        if value and Path(value).is_dir():
            return Path(value)
    return None


def _find_environment(question: DiagnoseRequest, symptoms: tuple[Symptom, ...]) -> tuple[DiagnoseRequest, str]:
    """Return the question with the environment that it is about, if it is on this machine, and how that is known."""
    prefixes = [prefix for symptom in symptoms if (prefix := environment_prefix(symptom.path or ""))]
    for prefix in prefixes:
        # A drive letter means nothing elsewhere: a folder named so would be a coincidence.
        if _on_windows() and Path(prefix).is_dir():
            return replace(question, environment=Path(prefix)), "named in the text; "
    on_its_own = question.text is None or (_on_windows() and symptoms and not prefixes)
    if question.active is not None and on_its_own:
        return replace(question, environment=question.active), "the active environment; "
    return question, ""


def _on_windows() -> bool:
    return os.name == "nt"

"""Puts the diagnosis together: causes in the order of their proof, what else is wrong, what to do, and doubts."""

from __future__ import annotations

import re
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.diagnosis.confirm import confirm, faults, matching_outcome, mismatched_edges, pair_of_edge
from wheelfix.diagnosis.model import Diagnosis, Explained
from wheelfix.diagnosis.recorded import differences, explain_recording, provided_by_record
from wheelfix.diagnosis.remedies import ranked, remedies_for
from wheelfix.diagnosis.symptoms.causes import explain_symptom
from wheelfix.diagnosis.symptoms.model import Confidence, Remedy
from wheelfix.knowledge.families import family_of
from wheelfix.loader.view import SITE_PACKAGES, base_name, parent
from wheelfix.model import Image, Severity, dll_key
from wheelfix.pe.signature import read_signature
from wheelfix.plan.sbom import FILE_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.diagnosis.model import GatheredEvidence, ScannedPackage
    from wheelfix.diagnosis.symptoms.model import Symptom
    from wheelfix.knowledge.families import FamilyMember
    from wheelfix.loader.places import Environment
    from wheelfix.model import Finding

_NEEDS_A_WHEEL = re.compile(r"wheelfix (?:scan|repair)(?: --[\w-]+(?: \w+)?)? dist\\")
"""Commands about the wheel of a package, wherever it is."""


def conclude(gathered: GatheredEvidence, trusted_roots: Path | None) -> Diagnosis:
    """Return what the evidence shows."""
    explained: list[tuple[Explained, ScannedPackage | None]] = []
    for recording in gathered.recordings:
        for one in explain_recording(recording, gathered.cases):
            case = next((case for case in gathered.cases if case.exam.identity.name == one.package), None)
            explained.append((one, case))
    recorded = len(explained)
    for symptom in gathered.symptoms:
        explained += _explain(symptom, gathered)
    shown = {one.cause.likely_missing + one.chain for one, case in explained if case is not None}
    for case in gathered.cases:
        for fault in faults(case):
            if _loaded_in_record(fault, gathered):
                continue
            if fault.cause.likely_missing + fault.chain not in shown and not _is_explained(fault, explained):
                explained.append((fault, gathered.case_of(fault, case)))
    # What a record shows comes first, then what the files prove, then what the text suggests, guesses last.
    order = list(Confidence)
    rest = sorted(explained[recorded:], key=lambda pair: (pair[1] is None, order.index(pair[0].cause.confidence)))
    kept = _unique([*explained[:recorded], *rest])
    warnings = doubtful_dlls(gathered.environment, trusted_roots) if gathered.environment else ()
    steps = [reinstall(case) for symptom in gathered.symptoms for case in gathered.cases if is_gone(symptom, case)]
    steps += [step for one, case in kept for step in remedies_for(one, case)]
    if gathered.environment is not None:
        steps = [step for step in steps if not step.command.startswith("wheelfix diagnose")]
    if gathered.cases:
        # The files were looked at: advice to look at a wheel somewhere, or to repair it, leads nowhere new.
        steps = [step for step in steps if not _NEEDS_A_WHEEL.match(step.command)]
    return Diagnosis(
        evidence=tuple(gathered.evidence),
        symptoms=gathered.symptoms,
        explained=tuple(one for one, _ in kept),
        others=tuple(_others(gathered, kept)),
        remedies=ranked(steps),
        warnings=warnings,
        notes=tuple(dict.fromkeys([*gathered.notes, *_remarks(gathered, kept)])),
        sound=bool(gathered.cases) and not any(_broken(case) or _doubts(case) for case in gathered.cases),
    )


def _explain(symptom: Symptom, gathered: GatheredEvidence) -> list[tuple[Explained, ScannedPackage | None]]:
    """What is behind one symptom: as the files show it, else as the text and the tables say."""
    for case in gathered.cases:
        found = confirm(symptom, case)
        if found is not None:
            return [(found, gathered.case_of(found, case))]
    cause = explain_symptom(symptom)
    return [(Explained(cause, symptom, explanation=cause.what_is_known), None)] if cause else []


def _is_explained(fault: Explained, explained: list[tuple[Explained, ScannedPackage | None]]) -> bool:
    """Whether the same DLL was already found to be missing."""
    missing = {dll_key(name) for one, case in explained if case is not None for name in one.cause.likely_missing}
    return bool(fault.cause.likely_missing) and {dll_key(name) for name in fault.cause.likely_missing} <= missing


def _loaded_in_record(fault: Explained, gathered: GatheredEvidence) -> bool:
    """Whether a record shows that the process found what these files do not have."""
    missing = fault.cause.likely_missing
    return bool(missing) and all(
        any(provided_by_record(recording, name) for recording in gathered.recordings) for name in missing
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


def _doubts(case: ScannedPackage) -> list[str]:
    """What the files cannot tell, each with what would settle it."""
    unsure = (finding for finding in case.exam.report.findings if finding.severity is Severity.UNSURE)
    return [f"{finding.message}; {finding.hint}" if finding.hint else finding.message for finding in unsure]


def _others(gathered: GatheredEvidence, kept: list[tuple[Explained, ScannedPackage | None]]) -> list[str]:
    """Further faults of the files: errors about anything that no cause is about."""
    about = {dll_key(name) for one, _ in kept for name in (*one.cause.likely_missing, *one.chain[-1:])}
    for case in gathered.cases:
        about |= _files_of_pairs(case, {one.cause.summary for one, _ in kept})
    text = " ".join(one.cause.summary for one, _ in kept)
    found = []
    for case in gathered.cases:
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


def _remarks(gathered: GatheredEvidence, kept: list[tuple[Explained, ScannedPackage | None]]) -> list[str]:
    """Where text and files disagree, and what was not there to be looked at."""
    remarks = []
    if gathered.log is not None and not gathered.symptoms and not gathered.recordings:
        empty = "The text is empty." if not gathered.log.size else ""
        remarks.append(empty or "The text says nothing that has to do with loading DLLs, as far as is known here.")
    for recording in gathered.recordings:
        for case in gathered.cases:
            remarks += differences(recording, case)
        if recording.imports:
            remarks.append(
                f"{recording.tool} lists imports; it does not say which of them are missing. With --env PREFIX or "
                "--wheel W the files show it."
            )
    for symptom in gathered.symptoms:
        for case in gathered.cases:
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
    if gathered.environment is not None and not any(case.exam.report.images for case in gathered.cases):
        remarks.append(f"{gathered.environment.prefix} has no Windows DLLs to look at.")
    remarks += [doubt for case in gathered.cases if not kept for doubt in _doubts(case)]
    if not gathered.cases and gathered.environment is None and kept:
        remarks.append("This is from the text alone; --env PREFIX or --wheel W finds the true cause in the files.")
    return remarks


# ---------------------------------------------------------------------------------- an error text from before a repair


_LOADING = frozenset({126, 127, 182, 193})
"""What the loader says; other codes have causes that no file shows."""


def is_gone(symptom: Symptom, case: ScannedPackage) -> bool:
    """Whether a wheel no longer has the fault of a text: what the text names loads, or is not in it any more."""
    if not case.wheel or symptom.code not in _LOADING or case.exam.report.first_failure is not None:
        return False
    outcome = matching_outcome(symptom, case)
    if outcome is not None:
        return not outcome.code
    view = case.exam.subject.view
    folder = f"{SITE_PACKAGES}/{symptom.package}/"
    in_it = bool(symptom.package) and any(file.path.startswith(folder) for file in view.files)
    return in_it and bool(symptom.file) and not view.named(symptom.file)


def remark(symptom: Symptom, case: ScannedPackage) -> str:
    """Say that this wheel is not what the text is from."""
    name = symptom.file or symptom.module
    there = f"{name} loads with its files" if matching_outcome(symptom, case) is not None else f"{name} is not in it"
    if was_repaired(case):
        return (
            f"This wheel no longer has that fault: it was repaired, and {there}. The installed one has it: reinstall."
        )
    return (
        f"This wheel does not have that fault: {there}. The text is from another build of it, which is still "
        "installed there: reinstall; or from a machine that differs from what is assumed here."
    )


def was_repaired(case: ScannedPackage) -> bool:
    """Whether wheelfix has added DLLs to this wheel, as its bill of materials shows."""
    return bool(case.exam.subject.view.named(FILE_NAME))


def reinstall(case: ScannedPackage) -> Remedy:
    """Return the step that puts this wheel in the place of the installed one."""
    return Remedy(
        "Install this wheel over the one that is installed",
        f'python -m pip install --force-reinstall --no-deps "{case.wheel}"',
        "pip keeps what is installed when name and version are the same",
    )


# ---------------------------------------------------------------------------------------------- DLLs of unknown origin


_MOST = 20
# Vendors who sign every release of these; CUDA's own DLLs before 13 are often unsigned, so they prove nothing.
_SIGNED = {
    "mkl": "Intel",
    "openmp-intel": "Intel",
    "tbb": "Intel",
    "cudnn": "NVIDIA",
}
# conda-forge rebuilds these itself and signs nothing.
_REBUILT = frozenset({"openmp-intel", "tbb"})


def doubtful_dlls(environment: Environment, trusted_roots: Path | None = None) -> tuple[str, ...]:
    """Return a warning for each vendor DLL of unknown origin and each one without its vendor's signature."""
    owned = {path for distribution in environment.distributions for path in distribution.paths}
    strangers, unsigned = [], []
    for file in environment.view.files:
        name = base_name(file.path)
        member = family_of(name) if name.lower().endswith(".dll") else None
        if member is None or not file.path.startswith(SITE_PACKAGES + "/"):
            continue
        if environment.distributions and file.path not in owned:
            strangers.append((file.path, member))
        elif _without_signature(environment, file.path, member):
            unsigned.append((file.path, member))
    warnings = [_stranger(environment, path, trusted_roots) for path, _ in strangers[:_MOST]]
    warnings += [
        f"{_where(path)} is not signed, although {_SIGNED[member.family.id]} signs its releases."
        for path, member in unsigned[:_MOST]
    ]
    return tuple(warnings)


def _without_signature(environment: Environment, path: str, member: FamilyMember) -> bool:
    if member.family.id not in _SIGNED or (member.family.id == "cudnn" and (member.major or 0) < 9):
        return False
    if member.family.id in _REBUILT and "/Library/" in f"/{path}":
        return False
    facts = environment.view.image(path)
    return isinstance(facts, Image) and not facts.signed


def _stranger(environment: Environment, path: str, trusted_roots: Path | None) -> str:
    """A file that belongs to no package: its signature is the only evidence of where it is from."""
    signature = read_signature(environment.view.source(path), trusted_roots)
    signed = "it is not signed" if signature.status == "unsigned" else f"signature {signature}"
    return f"{_where(path)} does not belong to any installed package: it was put there by hand; {signed}."


def _where(path: str) -> str:
    return f"{base_name(path)} in {parent(path).removeprefix(SITE_PACKAGES + '/')}"

"""Puts the diagnosis together: causes in the order of their proof, what else is wrong, what to do, and doubts."""

from __future__ import annotations

import re
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.parsing import regex
from wheelfix.base.values import replace
from wheelfix.diagnosis.confirm import confirm, faults, matching_outcome, mismatched_edges, pair_of_edge
from wheelfix.diagnosis.model import Diagnosis, Explained, GatheredEvidence, ScannedPackage
from wheelfix.diagnosis.recorded import differences, explain_recording
from wheelfix.diagnosis.symptoms.causes import (
    WITH_PYTHON,
    explain_error,
    explain_symptom,
    in_circumstances,
    of_environment,
)
from wheelfix.diagnosis.symptoms.model import Cause, Confidence, Log, Remedy, Symptom
from wheelfix.diagnosis.symptoms.pairs import read_pair
from wheelfix.diagnosis.symptoms.quotes import Quote, cut, decisive_lines
from wheelfix.knowledge.builds import may_replace_a_build, requirement_name
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.providers import conda_requirements, owners_of, pip_packages
from wheelfix.knowledge.system import classify
from wheelfix.loader.view import SITE_PACKAGES, base_name, parent
from wheelfix.model import EdgeKind, Image, InView, MissingDll, Severity, dll_key
from wheelfix.pe.signature import read_signature
from wheelfix.plan.sbom import FILE_NAME
from wheelfix.rules.policy import test_artifacts_shipped
from wheelfix.rules.registry import found_by, matches_any
from wheelfix.rules.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from wheelfix.base.options import ScanOptions
    from wheelfix.loader.places import Environment

_LAST = ("KMP_DUPLICATE_LIB_OK",)


def remedies_for(explained: Explained, case: ScannedPackage | None) -> tuple[Remedy, ...]:
    """Return what to do, best first: for these files, then what the table knows about such causes."""
    table = explained.cause.next_steps
    if case is None:
        return table
    own = [*_repairs(explained, case), *_vendor_packages(explained, case), *_test_artefacts(case)]
    # The table's advice to look at the files, and to repair them, was followed or is given better above.
    rest = [step for step in table if not step.command.startswith("wheelfix ")]
    if any("pip install" in step.command for step in own):
        rest = [step for step in rest if step.title != "Install the vendor's package that has it"]
    urgent = [step for step in rest if "torch==2.4.1" in step.command]
    return ranked([*urgent, *own, *(step for step in rest if step not in urgent)])


def ranked(steps: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Return the steps without repetitions, the last resorts at the end, numbered."""
    seen: dict[tuple[str, str], Remedy] = {}
    for step in steps:
        seen.setdefault((step.command or step.title, step.danger), step)
    ordered = sorted(seen.values(), key=lambda step: any(word in step.command for word in _LAST))
    return tuple(replace(step, rank=rank) for rank, step in enumerate(ordered, start=1))


def _items(explained: Explained, case: ScannedPackage) -> list[MissingDll]:
    """The missing DLLs that a wheel could carry: those of the cause, and then all others that a load needs.

    Repairing the first alone would only move the error to the next.
    """
    if not explained.cause.likely_missing:
        return []
    names = [dll_key(name) for name in explained.cause.likely_missing]
    names += [key for key, item in case.missing.items() if item.required]
    items = []
    for key in dict.fromkeys(names):
        kind = classify(key, case.exam.report.machine).kind
        # Not what Windows, Python, drivers and the C++ runtime bring, nor what may not be redistributed.
        if key in case.missing and kind in ("vendor", "unknown") and family_of(key).redistribute:
            items.append(case.missing[key])
    return items


def target(case: ScannedPackage) -> str:
    """The arguments that make ``wheelfix repair`` work on these files."""
    if case.wheel:
        return f'"{case.wheel}"'
    return f'--env "{case.prefix}" --package {case.name}'


def carried(options: ScanOptions, *, discover: bool = False) -> str:
    """What the user said about the target and about roots, as options of ``wheelfix repair``.

    With ``discover`` roots are looked for even if the user named all of them: something new was installed.
    """
    roots = options.roots
    named = {
        "--root": roots.roots,
        "--cuda": roots.cuda,
        "--cudnn": roots.cudnn,
        "--oneapi": roots.oneapi,
        "--conda": roots.conda,
        "--python": filter(None, [options.python]),
        "--trusted-roots": filter(None, [roots.trusted_roots]),
    }
    words = [f"--assume {word}" for word in options.assume] + [f"--no-assume {word}" for word in options.no_assume]
    words += [f'{option} "{path}"' for option, paths in named.items() for path in paths]
    words += ["--no-discover"] if not roots.discover and not discover else []
    words += ["--search-path"] if roots.search_path else []
    return "".join(f" {word}" for word in words)


def _repairs(explained: Explained, case: ScannedPackage) -> Iterator[Remedy]:
    """Repair with what was found on this machine, if that is enough: a repair that would stop is not a remedy."""
    items = _items(explained, case)
    here = [item for item in items if item.candidates]
    absent = [item for item in items if not item.candidates]
    if not here or any(_packages(item, case) for item in absent):
        return  # the repair after the installation of these packages does all of it
    found = [f"{item.candidates[0].path} ({item.candidates[0].version or 'version unknown'})" for item in here]
    imported = [item.name for item in absent if item.kind is not EdgeKind.COMPANION]
    more = _accepted(absent) + (" --root FOLDER" if imported else "")
    yield Remedy(
        f"Repair the {'wheel' if case.wheel else 'installed package'} with what is on this machine",
        f"wheelfix repair {target(case)}{carried(case.options)}{more}",
        f"found: {'; '.join(found)}",
        when=f"you have a FOLDER with {', '.join(imported)}, which nothing here has" if imported else "",
    )


def _accepted(absent: Sequence[MissingDll]) -> str:
    """The options that let DLLs be missing which are loaded by name, and which neither a root nor PyPI has."""
    names = [item.name for item in absent if item.kind is EdgeKind.COMPANION]
    return "".join(f" --allow-missing {name}" for name in names)


def _packages(item: MissingDll, case: ScannedPackage) -> list[str]:
    """The requirements of distributions that have a DLL, and that replace no build of the user's."""
    found = pip_packages(item.name, cuda=case.exam.subject.cuda.text or None)
    return [one for one in found if not may_replace_a_build(one)]


def _vendor_packages(explained: Explained, case: ScannedPackage) -> Iterator[Remedy]:
    """Install the vendor's package; where its folder is not searched, take the DLL from there."""
    direct: dict[str, list[str]] = {}
    detour: dict[str, list[str]] = {}
    conda: dict[str, list[str]] = {}
    absent = [item for item in _items(explained, case) if not item.candidates]
    for item in absent:
        for package in _packages(item, case)[:1]:
            searched = _folder_of(package, item.name) == "Library/bin" and not case.wheel
            (direct if searched else detour).setdefault(quoted(package), []).append(item.name)
        for requirement in conda_requirements(item.name):
            conda.setdefault(quoted(requirement), []).append(item.name)
    if direct:
        yield Remedy(
            "Install the vendor's package that has it",
            f"python -m pip install {' '.join(direct)}",
            f"it puts {_names(direct)} into Library\\bin, which torch searches",
        )
    if detour:
        again = carried(case.options, discover=True) + _accepted([one for one in absent if not _packages(one, case)])
        yield Remedy(
            "Install the vendor's package and take the DLL from there",
            f"python -m pip install {' '.join(detour)}",
            f"the package has {_names(detour)} in a folder that is not searched: do the next step too",
        )
        yield Remedy(
            "Then repair with the DLL of that package",
            f"wheelfix repair {target(case)}{again}",
            f"it puts {_names(detour)} beside the DLL that needs it",
            when="the package of the step before is installed",
        )
    if conda and not direct and not case.wheel:
        yield Remedy(
            "In a conda environment: install the package that has it",
            f"conda install -c conda-forge {' '.join(conda)}",
            f"it puts {_names(conda)} into Library\\bin",
        )


def _folder_of(requirement: str, name: str) -> str:
    """Where a distribution puts a DLL, below the prefix."""
    distribution = requirement_name(requirement)
    return next((owner.folder for owner in owners_of(name) if owner.distribution == distribution), "")


def _names(packages: dict[str, list[str]]) -> str:
    return ", ".join(dict.fromkeys(name for names in packages.values() for name in names))


def _test_artefacts(case: ScannedPackage) -> Iterator[Remedy]:
    found = [one for one in case.findings if found_by(one, test_artifacts_shipped)]
    if found:
        yield Remedy(
            "Drop the test artefacts that were packed by accident",
            f"wheelfix repair --drop-test-artifacts {target(case)}{carried(case.options)}",
            found[0].message,
        )


_Proof: TypeAlias = "tuple[Explained, ScannedPackage | None]"
"""A cause, and the package whose files prove it."""
_NEEDS_A_WHEEL = regex(r"wheelfix (?:scan|repair)(?: --[\w-]+(?: \w+)?)? dist\\")
"""Commands about the wheel of a package, wherever it is."""


def conclude(gathered: GatheredEvidence, trusted_roots: Path | None) -> Diagnosis:
    """Return what the evidence shows."""
    cases, log = gathered.cases, gathered.log or Log()
    recorded = [
        (one, next((case for case in cases if case.name == one.package), None))
        for recording in gathered.recordings
        for one in explain_recording(recording, cases)
    ]
    ended, survived = by_end(gathered.log)
    rest = sorted(_proofs(recorded, ended, gathered), key=lambda proof: _order(proof, gathered.log))
    unique, seen = list[_Proof](), set[str]()
    for one, where in [*recorded, *rest]:
        here = one if where else _in_circumstances(one, gathered.log)
        same = {one.cause.summary, here.cause.summary}
        if not same & seen and not (where is None and _is_one_more(here, unique)):
            unique.append((here, where))
        seen |= same
    unique[:1] = [(one if case else _with_pair(one, log), case) for one, case in unique[:1]]
    causes = tuple(one for one, _ in unique)
    steps = [_reinstall(case) for symptom in gathered.symptoms for case in cases if _is_gone(symptom, case)]
    steps += [step for one, case in unique for step in remedies_for(one, case)]
    if gathered.environment is not None:
        steps = [step for step in steps if not step.command.startswith("wheelfix diagnose")]
    if cases:
        # The files were looked at: advice to look at a wheel somewhere, or to repair it, leads nowhere new.
        steps = [step for step in steps if not _NEEDS_A_WHEEL.match(step.command)]
    steps, done = _sensible(steps, log)
    quotes = _quotes(log, ended, causes)
    error = f"line {quotes[0].line}: {quotes[0].text}" if quotes else "no line in it looks like an error"
    said = " ".join(one.text for one in quotes)
    failing = any(case.exam.report.first_failure is not None for case in cases)
    severities = {finding.severity for case in cases for finding in case.findings}
    return Diagnosis(
        evidence=tuple(
            replace(one, told=error) if one.kind == "text" and not one.told else one for one in gathered.evidence
        ),
        quotes=quotes,
        facts=tuple(fact for fact in log.facts if fact not in said),
        symptoms=gathered.symptoms,
        explained=causes,
        others=tuple(_others(gathered, causes)),
        harmless=tuple(_harmless(survived)),
        remedies=ranked(steps),
        warnings=doubtful_dlls(gathered.environment, trusted_roots) if gathered.environment else (),
        notes=tuple(dict.fromkeys([*gathered.notes, *done, *_remarks(gathered, causes)])),
        sound=bool(cases) and not failing and not severities & {Severity.ERROR, Severity.UNSURE},
    )


def _proofs(recorded: Sequence[_Proof], ended: Sequence[Symptom], gathered: GatheredEvidence) -> list[_Proof]:
    """Return what is behind the errors of the text, and the faults of the files, besides what a recording shows."""
    explained = [proof for symptom in ended for proof in _explain(symptom, gathered)]
    # A line that only says that a load failed, where another one says why or what.
    telling = [proof for proof in explained if not _says_only_that_it_failed(proof[0])]
    if any(one.cause.confidence is not Confidence.GUESS for one, _ in (*recorded, *telling)):
        explained = telling
    # A driver that refuses what a toolkit compiled shows that the toolkit was found at last.
    refused = max(
        (one.symptom.line for one, _ in explained if one.symptom and one.cause.id == "driver-too-old"), default=0
    )
    explained = [
        proof
        for proof in explained
        if not (proof[0].symptom and proof[0].symptom.line < refused and proof[0].cause.id in _TOOLKIT)
    ]
    causes = [one.cause for one, _ in (*recorded, *explained)]
    # What is known about the text, and refuted by the files, is not answered with the text again.
    if (causes or not ended) and (general := _explain_error(gathered, causes)):
        explained = [(general, None), *(proof for proof in explained if proof[0].cause.id not in (*_VAGUE, "no-wheel"))]
    shown = {one.cause.likely_missing + one.chain for one, case in (*recorded, *explained) if case is not None}
    for case in gathered.cases:
        for fault in faults(case):
            known = fault.cause.likely_missing + fault.chain in shown
            if not (known or _is_explained(fault, (*recorded, *explained)) or _loaded_in_record(fault, gathered)):
                explained.append((fault, gathered.case_of(fault, case)))
    return explained


def _is_one_more(explained: Explained, unique: list[_Proof]) -> bool:
    """Whether a text only names one more file with the cause of another one, to which it is then added."""
    cause = explained.cause
    for at, (other, case) in enumerate(unique):
        if case is None and other.cause.id == cause.id and cause.likely_missing and other.cause.likely_missing:
            more = tuple(name for name in cause.likely_missing if name not in other.cause.likely_missing)
            both = replace(
                other.cause,
                likely_missing=(*other.cause.likely_missing, *more),
                next_steps=(*other.cause.next_steps, *cause.next_steps),
            )
            unique[at] = replace(other, cause=both), case
            return True
    return False


_ABOVE, _BELOW = 8, 8
"""Lines around an error in which its message can name two releases."""
_LONGEST = 600
_SAYS_NO_MORE = frozenset(
    "requirements-conflict program-error unexplained-error module-missing said-to-fail warning-only package-missing "
    "source-too-old load-failed".split()
)
"""Causes that say less than two releases which do not go together."""
_ONE_RELEASE = regex(r"([A-Za-z][\w. -]{1,40}?) v?(\d[\w.+]{0,30})")


def _with_pair(explained: Explained, log: Log) -> Explained:
    """Return a cause with the two releases that its message says do not go together, and how to change either."""
    at = explained.symptom.line if explained.symptom else log.error.line if log.error else 0
    near = log.tail[max(at - log.tail_start - _ABOVE, 0) : at - log.tail_start + _BELOW] if at else ()
    versions = {found[1].lower(): found[2] for fact in log.facts if (found := _ONE_RELEASE.fullmatch(fact))}
    pair = read_pair("\n".join(line[:_LONGEST] for line in near), versions)
    if pair is None or not pair.differs:
        return explained
    cause = explained.cause
    symptom = explained.symptom or Symptom("", details=log.said)
    steps = tuple(of_environment(step, symptom) for step in pair.remedies())
    sentence = f"{pair.sentence if pair.asker else f'A{pair.sentence[1:]}'}."
    if cause.id in _SAYS_NO_MORE:
        rest = tuple(step for step in cause.next_steps if step.command)
        cause = replace(cause, summary=sentence, confidence=Confidence.SURE, next_steps=(*steps, *rest))
    else:
        summary = cause.summary if pair.is_in(cause.summary) else f"{cause.summary.rstrip('.')}: {pair.sentence}."
        ready = any(step.command for step in steps)
        rest = tuple(step for step in cause.next_steps if step.command or not ready)
        cause = replace(cause, summary=summary, next_steps=(*(steps if ready else ()), *rest))
    return replace(explained, cause=cause)


def _in_circumstances(explained: Explained, log: Log | None) -> Explained:
    """Return what is known of an error together with what its text says about the machine."""
    cause = in_circumstances(explained.cause, log.said if log else {}, explained.symptom)
    return explained if cause is explained.cause else replace(explained, cause=cause, explanation=cause.what_is_known)


_VARIANT = regex(r"(?i)\b([a-z][\w-]*?)[-_](?:gpu|cpu|cuda\w*|cu\d+|directml|headless|rocm)(?= \d)")


def _of_installed(step: Remedy, facts: Iterable[str]) -> Remedy:
    """Name the variant of a package that the text shows: the plain one would overwrite its files."""
    for found in filter(None, map(_VARIANT.match, facts)):
        plain, installed = rf"(pip install |PyPI: ){found[1]}(?![\w-])", rf"\g<1>{found[0]}"
        step = replace(step, command=re.sub(plain, installed, step.command), why=re.sub(plain, installed, step.why))
    return step


_FOR_NVIDIA = regex(r"/whl/cu\d|\bcuda|cudnn|nvidia|-cu1\d\b")
_OTHER_CARDS = ("amd", "intel", "directml")
_DONE = regex(r"^(?:\S+ -m )?(?=(?:pip|conda|winget|uv) )|[\"']")


def _sensible(steps: Sequence[Remedy], log: Log) -> tuple[list[Remedy], list[str]]:
    """Return the steps that the text neither contradicts nor shows to have been tried, and notes about the latter.

    What replaces a build for another vendor's card by one for CUDA does harm, whatever cause it is meant for.
    """
    vendors = {one.details.get("vendor") for one in log.symptoms}
    text = " ".join(" ".join(log.tail).replace('"', "").replace("'", "").lower().split())
    kept, notes = list[Remedy](), list[str]()
    for step in steps:
        step = _of_installed(step, log.facts)
        wanted = _DONE.sub("", step.command).lower()
        if step.command == "wheelfix diagnose" and ("bundle" in log.said or log.said.get("host") in WITH_PYTHON):
            continue  # the active environment is another one
        for_nvidia = vendors & {*_OTHER_CARDS} and _FOR_NVIDIA.search(step.command)
        if for_nvidia or (step.against and re.search(step.against, text)):
            continue
        again = " install " in wanted and re.search(rf"{re.escape(wanted)}(?![\w.<>=-])", text)
        if again or (step.tried and re.search(step.tried, text)):
            notes.append(f"The text shows that this was tried: {step.command or step.title}")
        else:
            kept.append(step)
    return kept, notes


def _quotes(log: Log, ended: Sequence[Symptom], causes: Sequence[Explained]) -> tuple[Quote, ...]:
    """Return the lines that decide: the error of the first cause, then the others in the order of the text."""
    symptoms = [one.symptom for one in causes if one.symptom is not None] if causes else list(ended)
    anchors = [symptom.line for symptom in symptoms]
    error = log.error.line if log.error else log.ending.line if log.ending else 0
    if error and (not anchors or (causes and causes[0].symptom is None)):
        anchors.insert(0, error)
    elif error:
        anchors.append(error)
    far = [Quote(one.line, cut(one.excerpt)) for one in symptoms[:2] if one.line < log.tail_start or not log.tail]
    return (*far, *decisive_lines(log.tail, log.tail_start, anchors))


def _says_only_that_it_failed(explained: Explained) -> bool:
    """Whether there is no file, module or package in the line, only Windows' sentence."""
    one = explained.symptom
    bare = one is not None and one.kind == "sentence" and not (one.path or one.module or one.package or one.dlls)
    return bare or explained.cause.id == "load-failed"


def _without_headlines(symptoms: Sequence[Symptom]) -> list[Symptom]:
    """Return symptoms without those that only repeat the message of another one, of which the module is known."""
    whole = {(one.kind, one.code, one.excerpt) for one in symptoms if one.module or one.package}
    bare = (one for one in symptoms if not (one.module or one.package or one.path or one.dlls))
    repeated = [one for one in bare if (one.kind, one.code, one.excerpt) in whole]
    return [one for one in symptoms if one not in repeated]


def by_end(log: Log | None) -> tuple[list[Symptom], list[Symptom]]:
    """Return the symptoms that can have ended the program, and those that it survived.

    A warning counts where the text has no error, where the exception at its end can follow from it, and where it says
    which torch is wanted by an extension that then cannot be loaded: xFormers says so.
    """
    symptoms = _without_headlines(log.symptoms if log else ())
    fatal = [cause.id for one in symptoms if not one.survived and (cause := explain_symptom(one))]
    explains = "torch-without-cuda" if "torch-extension-unresolved" in fatal else ""
    survived = [symptom for symptom in symptoms if symptom.survived and symptom.kind != explains]
    ended = [symptom for symptom in symptoms if symptom not in survived]
    ending = log.ending if log else None
    if not ended and ending is not None:
        ended = [symptom for symptom in survived if ending.has(symptom) or ending.is_about(symptom)]
        return ended, [symptom for symptom in survived if symptom not in ended]
    # Of warnings alone, those about a load say more than those about a part that programs do without.
    firm = [symptom for symptom in survived if "instead" not in symptom.details]
    ended = ended or [symptom for symptom in firm if symptom.code is not None] or firm
    # A build that takes another program is as good as before; a program that takes the CPU is slower.
    ended = ended or [symptom for symptom in survived if symptom.kind != "program"]
    return ended, [symptom for symptom in survived if symptom not in ended]


def _order(proof: _Proof, log: Log | None) -> tuple[bool, bool, bool, int]:
    """Sort what the files prove before what the text suggests, then what ended the program, guesses last.

    An exception of an earlier traceback was caught, and what was printed before the last one was survived, where the
    exception that ends the text is known as well.
    """
    explained, case = proof
    confidence, symptom = explained.cause.confidence, explained.symptom
    ending = log.ending if log else None
    told = [one for one in log.symptoms if ending.has(one)] if log and ending else []
    before = symptom is not None and symptom not in told
    raised = bool(told) and symptom is not None and (symptom.raised or any(one.raised for one in told))
    caught = before and raised and symptom is not None and not symptom.survived
    return case is None, caught, confidence is Confidence.GUESS, list(Confidence).index(confidence)


_VAGUE = frozenset({"build-script", "compile-failed", "link-unresolved"})
"""Causes that the line with the error itself says better."""
_TOOLKIT = frozenset({"numba-nvvm", "library-by-name", "cuda-library-missing", "cuda-home"})
_NOT_REACHED = frozenset({"certificate", "network", "refused-by-server"})
"""Errors after which pip finds nothing, whatever the index has."""


def _explain_error(gathered: GatheredEvidence, known: list[Cause]) -> Explained | None:
    """What the line that ended the program says, where nothing that is known explains it."""
    error = gathered.log.error if gathered.log else None
    if error is None or not all(cause.id in (*_VAGUE, "no-wheel") for cause in known):
        return None
    cause = explain_error(error)
    if cause.id not in _NOT_REACHED and any(one.id == "no-wheel" for one in known):
        return None
    if known and cause.confidence is Confidence.GUESS and cause.id != known[0].id:
        if known[0].id != "build-script":
            return None
        cause = known[0]
    return Explained(cause, explanation=cause.what_is_known)


def _harmless(survived: Iterable[Symptom]) -> Iterator[str]:
    """Yield what the warnings say that did not end the program."""
    for symptom in survived:
        cause = explain_symptom(symptom)
        yield f"line {symptom.line}: {cause.summary if cause else symptom.excerpt}"


def _explain(symptom: Symptom, gathered: GatheredEvidence) -> list[_Proof]:
    """What is behind one symptom: as the files show it, else as the text and the tables say."""
    for case in gathered.cases:
        found = confirm(symptom, case)
        if found is not None:
            return [(found, gathered.case_of(found, case))]
    cause = explain_symptom(symptom)
    if cause is None or any(_refutes(case, cause, symptom) for case in gathered.cases):
        return []
    return [(Explained(cause, symptom, explanation=cause.what_is_known), None)]


def _refutes(case: ScannedPackage, cause: Cause, symptom: Symptom) -> bool:
    """Whether files show that a guess is wrong: what the text names loads, and nothing in them needs from outside
    what is said to be missing.
    """
    outcome = matching_outcome(symptom, case)
    if cause.confidence is Confidence.SURE or not cause.likely_missing or outcome is None or outcome.code:
        return False
    wanted = {dll_key(edge.name) for edge in case.resolution.edges if not isinstance(edge.provider, InView)}
    return not any(matches_any(name, cause.likely_missing) for name in wanted)


def _is_explained(fault: Explained, explained: Sequence[_Proof]) -> bool:
    """Whether the same DLL was already found to be missing."""
    known = {dll_key(name) for one, case in explained if case is not None for name in one.cause.likely_missing}
    return bool(fault.cause.likely_missing) and {dll_key(name) for name in fault.cause.likely_missing} <= known


def _loaded_in_record(fault: Explained, gathered: GatheredEvidence) -> bool:
    """Whether a record shows that the process found what these files do not have."""
    loaded = {load.key for recording in gathered.recordings for load in recording.loaded if load.path}
    missing = fault.cause.likely_missing
    return bool(missing) and all(dll_key(name) in loaded for name in missing)


def _others(gathered: GatheredEvidence, causes: Sequence[Explained]) -> list[str]:
    """Further faults of the files: errors about anything that no cause is about."""
    about = {dll_key(name) for one in causes for name in (*one.cause.likely_missing, *one.chain[-1:])}
    summaries = {one.cause.summary for one in causes}
    for case in gathered.cases:
        # More functions that a distribution does not have are the same fault, where it was said not to fit.
        pairs = (pair_of_edge(case, edge) for edge in mismatched_edges(case))
        about |= {dll_key(pair.chain[1]) for pair in pairs if pair.summary in summaries}
    text = " ".join(one.cause.summary for one in causes)
    found = [
        f"{finding.message} ({finding.code})"
        for case in gathered.cases
        for finding in case.findings
        if finding.severity is Severity.ERROR
        and dll_key(PureWindowsPath(finding.subject).name) not in about
        and finding.message not in text
    ]
    return list(dict.fromkeys(found))


def _remarks(gathered: GatheredEvidence, causes: Sequence[Explained]) -> Iterator[str]:
    """Where text and files disagree, and what was not there to be looked at."""
    a_load = any(one.symptom and one.symptom.code and one.cause.id != "user-site-mixed" for one in causes)
    text = gathered.log or Log()
    if len(text.prefixes) > 1 and (a_load or (text.error and text.error.part == "cut")):
        mixed = " and ".join(text.prefixes)
        yield f"The traceback goes through packages of several installations, {mixed}: they need not fit together."
    absent = {dll_key(name): name for one in causes for name in one.cause.likely_missing}
    there = [name for name in text.named if dll_key(name) not in absent]
    for name in filter(family_of, absent.values()):
        family, version = family_of(name), family_of(name).version(name)
        others = (one for one in there if family_of(one) == family and family.version(one) not in ("", version))
        if version and (other := next(others, None)):
            yield f"The text names {other} as well: take the release of the package that was built for that one."
    for recording in gathered.recordings:
        for case in gathered.cases:
            yield from differences(recording, case)
        if recording.imports:
            yield (
                f"{recording.tool} lists imports; it does not say which of them are missing. With --env PREFIX or "
                "--wheel W the files show it."
            )
    for symptom in gathered.symptoms:
        for case in gathered.cases:
            yield from _disagreement(symptom, case)
    if gathered.environment is not None and not any(case.exam.report.images for case in gathered.cases):
        yield f"{gathered.environment.prefix} has no Windows DLLs to look at."
    for finding in (finding for case in gathered.cases if not causes for finding in case.findings):
        if finding.severity is Severity.UNSURE:
            yield f"{finding.message}; {finding.hint}" if finding.hint else finding.message


def _disagreement(symptom: Symptom, case: ScannedPackage) -> Iterator[str]:
    """Yield where a text and these files disagree about one load."""
    outcome, name = matching_outcome(symptom, case), symptom.file or symptom.module
    if _is_gone(symptom, case):
        there = f"{name} loads with its files" if outcome is not None else f"{name} is not in it"
        if case.exam.subject.view.named(FILE_NAME):  # our bill of materials
            yield (
                f"This wheel no longer has that fault: it was repaired, and {there}. The installed one has it: "
                "reinstall."
            )
        else:
            yield (
                f"This wheel does not have that fault: {there}. The text is from another build of it, which is still "
                "installed there: reinstall; or from a machine that differs from what is assumed here."
            )
    elif outcome is not None and not outcome.code and symptom.code is not None and symptom.code <= 0xFFFF:
        yield (
            f"{name} loads in the model of these files: the machine that printed the "
            "text differs from what is assumed, or the files were changed since."
        )
    elif outcome is not None and symptom.code not in (None, outcome.code):
        yield (
            f"The text has error {symptom.code}, these files give {outcome.code}: they are not the ones that "
            "the text is from, or another fault comes first there."
        )


def _is_gone(symptom: Symptom, case: ScannedPackage) -> bool:
    """Whether a wheel no longer has the fault of a text: what the text names loads, or is not in it any more."""
    # What the loader says; other codes have causes that no file shows.
    if not case.wheel or symptom.code not in (126, 127, 182, 193) or case.exam.report.first_failure is not None:
        return False
    outcome = matching_outcome(symptom, case)
    if outcome is not None:
        return not outcome.code
    view = case.exam.subject.view
    folder = f"{SITE_PACKAGES}/{symptom.package}/"
    in_it = bool(symptom.package) and any(file.path.startswith(folder) for file in view.files)
    return in_it and bool(symptom.file) and not view.named(symptom.file)


def _reinstall(case: ScannedPackage) -> Remedy:
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
    strangers: list[str] = []
    unsigned: list[str] = []
    for file in environment.view.files:
        name = base_name(file.path)
        family = family_of(name)
        if not (family and name.lower().endswith(".dll")) or not file.path.startswith(SITE_PACKAGES + "/"):
            continue
        where = f"{name} in {parent(file.path).removeprefix(SITE_PACKAGES + '/')}"
        if not environment.distributions or file.path in owned:
            if _without_signature(environment, file.path):
                signer = _SIGNED[family.id]
                unsigned.append(f"{where} is not signed, although {signer} signs its releases.")
        elif len(strangers) < _MOST:
            # It belongs to no package: its signature is the only evidence of where it is from.
            signature = read_signature(environment.view.source(file.path), trusted_roots)
            signed = "it is not signed" if signature.status == "unsigned" else f"signature {signature}"
            strangers.append(f"{where} does not belong to any installed package: it was put there by hand; {signed}.")
    return (*strangers, *unsigned[:_MOST])


def _without_signature(environment: Environment, path: str) -> bool:
    family = family_of(base_name(path))
    if family.id not in _SIGNED or (family.id == "cudnn" and (family.major(base_name(path)) or 0) < 9):
        return False
    if family.id in _REBUILT and "/Library/" in f"/{path}":
        return False
    facts = environment.view.image(path)
    return isinstance(facts, Image) and not facts.signed

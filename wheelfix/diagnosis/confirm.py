"""Compares a symptom with the files: does the loader model show the same failure, and what is behind it there?"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from wheelfix.base.values import frozen, replace
from wheelfix.diagnosis.model import Explained, ScannedPackage
from wheelfix.diagnosis.symptoms.causes import cause_by_id, explain_symptom
from wheelfix.diagnosis.symptoms.model import Cause, Confidence, Remedy, Symptom
from wheelfix.knowledge.builds import may_replace_a_build
from wheelfix.knowledge.cuda import FAMILY, TorchBuild
from wheelfix.knowledge.families import family_of, is_openmp
from wheelfix.knowledge.provider_index import provider_index
from wheelfix.knowledge.system import classify
from wheelfix.loader.predict import explain
from wheelfix.loader.requirements import fits, newest_fitting, requirements
from wheelfix.loader.resolve import resolve
from wheelfix.loader.view import SITE_PACKAGES, FileView, base_name, parent
from wheelfix.model import (
    Edge,
    EdgeKind,
    Finding,
    InView,
    LoadEvent,
    LoadOutcome,
    MissingDll,
    Severity,
    canonical,
    dll_key,
)
from wheelfix.rules.abi import numpy_abi, python_abi
from wheelfix.rules.coherence import mixed_cudnn, mixed_mkl, openmp_too_old, several_openmp
from wheelfix.rules.cuda import mixed_cuda_majors
from wheelfix.rules.dependencies import broken_forwarders, unexported
from wheelfix.rules.gpu import driver_too_old, gpu_code
from wheelfix.rules.gpufit import in_order
from wheelfix.rules.pe import unreadable_images, wrong_machine
from wheelfix.rules.registry import Check, found_by, run_checks
from wheelfix.rules.vcruntime import vc_runtime_too_old
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.places import Environment

_SHOWN_BY: dict[str, tuple[Check, ...]] = {
    "numpy-abi": (numpy_abi,),
    "python-abi-mismatch": (python_abi,),
    "cudnn-mixed": (mixed_cudnn, unexported),
    "cudnn-part-missing": (mixed_cudnn,),
    "wrong-version": (unexported, broken_forwarders, mixed_cuda_majors, mixed_cudnn, mixed_mkl),
    "ordinal-clash": (unexported,),
    "start-wrong-version": (unexported, broken_forwarders),
    "delay-load-symbol": (unexported, openmp_too_old),
    "torch-extension-mismatch": (unexported,),
    "wrong-machine": (unreadable_images, wrong_machine),
    "machine-mismatch": (wrong_machine,),
    "zlibwapi-wrong-machine": (wrong_machine,),
    "init-failed": (vc_runtime_too_old, several_openmp),
    "vc-runtime-too-old": (vc_runtime_too_old,),
    "driver-too-old": (driver_too_old,),
}
"""Rules whose findings show what a cause says, by the cause's id."""
# Causes in which the text cannot name what is missing, and any missing DLL of the package explains it.
_ANY_MISSING = frozenset({"delay-load-missing", "start-missing-dll", "missing-dependency", "load-failed"})
_OTHER_VERSION = frozenset({127, 182})


def confirm(symptom: Symptom, case: ScannedPackage) -> Explained | None:
    """Return what is behind a symptom in these files; None when they do not show it."""
    outcome = matching_outcome(symptom, case)
    if outcome is not None and outcome.code:
        return from_outcome(outcome, case, symptom)
    return (
        _from_names(symptom, case)
        or _two_openmp(symptom, case)
        or _no_gpu_code(symptom, case)
        or _from_findings(symptom, case)
        or (_without_assumption(symptom, outcome, case) if outcome is not None else None)
        or _any_missing(symptom, case)
    )


# --------------------------------------------------------------------------------------------------- the load itself


def matching_outcome(symptom: Symptom, case: ScannedPackage) -> LoadOutcome | None:
    """The load of the model that the symptom is about: found by the file it names, else by the module."""
    file, module = symptom.file.lower(), symptom.module
    found: LoadOutcome | None = None
    for outcome in case.resolution.outcomes:
        event = outcome.event
        if file:
            fits = base_name(event.path).lower() == file
        else:
            fits = bool(module) and (event.module == module or event.module.endswith("." + module))
        if fits and (found is None or (outcome.code and not found.code)):
            found = outcome
    return found


def from_outcome(outcome: LoadOutcome, case: ScannedPackage, symptom: Symptom | None = None) -> Explained:
    """Return a failing load as a cause, in the model's own words."""
    table = _table_cause(outcome, case, symptom)
    if outcome.code in _OTHER_VERSION and len(outcome.chain) > 1:
        pair = find_pair(case, outcome.chain[-2], outcome.chain[-1])
        if pair is not None:
            return _from_pair(pair, table, symptom, outcome.chain)
    cause, needer = outcome.chain[-1], outcome.chain[-2] if len(outcome.chain) > 1 else ""
    owner = _owner_of(needer, cause, case) if needer else ""
    beside = case.exam.subject.view.beside
    version = beside[owner].version if owner and beside is not None else ""
    whose = f" of {owner} {version}".rstrip() if owner else ""
    missing = outcome.code == 126
    if missing and needer:
        summary = f"{cause} is missing, which {needer}{whose} imports."
    elif needer:
        summary = f"{cause}, which {needer}{whose} imports, cannot be used: {outcome.detail}."
    else:
        summary = f"{cause} cannot be loaded: {outcome.detail}."
    item = case.missing.get(dll_key(cause))
    names = (item.name if item else cause,) if missing else ()
    proven = replace(table, summary=summary, likely_missing=names, confidence=Confidence.SURE)
    return Explained(proven, symptom, outcome.chain, explain(outcome, case.resolution), owner or case.name)


def _owner_of(needer: str, cause: str, case: ScannedPackage) -> str:
    """The other distribution of the set whose file asks for a DLL; empty for a file of the case itself."""
    for edge in case.resolution.edges:
        if dll_key(edge.name) == dll_key(cause) and dll_key(base_name(edge.importer)) == dll_key(needer):
            return case.exam.subject.owner(edge.importer)
    return ""


def _from_pair(pair: Pair, table: Cause, symptom: Symptom | None, chain: tuple[str, ...]) -> Explained:
    """Two distributions that do not fit each other, as a cause."""
    steps = pair_remedies(pair)
    cause = replace(table, summary=pair.summary, likely_missing=(), confidence=Confidence.SURE, next_steps=steps)
    return Explained(cause, symptom, chain, pair.explanation, pair.user)


def _table_cause(outcome: LoadOutcome, case: ScannedPackage, symptom: Symptom | None) -> Cause:
    """The table's cause for a failing load; the load's code counts, because the text may be from another day."""
    own = _symptom_of(outcome.event, outcome.code, case)
    if symptom is not None:
        own = replace(symptom, code=outcome.code, package=symptom.package or own.package)
    cause = outcome.chain[-1]
    if outcome.code != 126:
        return explain_symptom(own) or cause_by_id("missing-dependency", own)
    kind = classify(cause, case.exam.report.machine).kind
    if kind == "vcredist":
        return cause_by_id("vc-runtime-missing", own, (cause,))
    if kind == "driver":
        return cause_by_id("driver-missing", replace(own, dlls=(cause,)), (cause,))
    found = explain_symptom(own) or cause_by_id("missing-dependency", own, (cause,))
    suspects = [pattern.lower() for pattern in found.likely_missing]
    if suspects and not any(fnmatchcase(dll_key(cause), pattern) for pattern in suspects):
        # The table suspects other DLLs than the one that the files show to be missing: its explanation does not apply.
        return cause_by_id("missing-dependency", replace(own, dlls=(cause,)), (cause,))
    return found


def _symptom_of(event: LoadEvent, code: int, case: ScannedPackage) -> Symptom:
    """The symptom that a failing load will have, for a diagnosis without a text."""
    kinds = {"extension": "dll-load-failed", "cffi": "load-library"}
    kind = f"{event.package}-load" if event.package else kinds.get(event.cause, "ctypes-not-found")
    path = "\\".join(filter(None, [case.prefix, event.path.replace("/", "\\")]))
    package = event.path.removeprefix(SITE_PACKAGES + "/").partition("/")[0]
    name, version = canonical(case.name), case.exam.report.version
    details = {**case.known, "distribution": name, "version": version}
    if name == "torch":
        details["torch"] = torch_version(version, case.exam.subject.view)
    return Symptom(kind, code, path, module=event.module.rpartition(".")[2], package=package, details=details)


def situation(environment: Environment) -> dict[str, str]:
    """Return what an environment says about remedies: its kind (``venv``, ``conda``, ``python``) and its torch."""
    prefix = environment.prefix
    kind = "conda" if (prefix / "conda-meta").is_dir() else "venv" if (prefix / "pyvenv.cfg").is_file() else "python"
    torch = next((one.version for one in environment.distributions if canonical(one.name) == "torch"), "")
    return {"environment": kind, "torch": torch_version(torch, environment.view)}


# ------------------------------------------------------------------------------------------------ what the text names


def _from_names(symptom: Symptom, case: ScannedPackage) -> Explained | None:
    """A DLL that the text names and that is missing from the files: companions, delay loads, bare names."""
    names = symptom.dlls or ((symptom.path,) if symptom.path and "\\" not in symptom.path else ())
    items = [case.missing[dll_key(name)] for name in names if dll_key(name) in case.missing]
    if not items and symptom.kind == "cudnn-sublibrary":
        items = [item for item in case.missing.values() if family_of(item.name).id == "cudnn"]
    if not items or (symptom.code not in (None, 126)):
        return None
    return _missing_item(items[0], tuple(item.name for item in items), symptom, case)


def _missing_item(item: MissingDll, names: tuple[str, ...], symptom: Symptom, case: ScannedPackage) -> Explained:
    table = explain_symptom(symptom) or cause_by_id("named-file-missing", symptom, names)
    needer = base_name(item.needed_by[0].replace("\\", "/")) if item.needed_by else ""
    ways = {"companion": "loads by name at run time", "delay": "loads when it first uses it"}
    how = f", which {needer} {ways.get(item.kind.value, 'imports')}" if needer else ""
    cause = replace(table, summary=f"{item.name} is missing{how}.", likely_missing=names, confidence=Confidence.SURE)
    return Explained(cause, symptom, item.chain, table.what_is_known, case.name)


def _any_missing(symptom: Symptom, case: ScannedPackage) -> Explained | None:
    """A required DLL that is missing, where the text could not name any."""
    table = explain_symptom(symptom)
    if table is None or table.id not in _ANY_MISSING or symptom.file or symptom.module:
        return None
    wanted = "delay" if table.id == "delay-load-missing" else ""
    items = [item for item in case.missing.values() if item.required and (not wanted or item.kind.value == wanted)]
    if not items:
        return None
    found = _missing_item(items[0], (items[0].name,), symptom, case)
    return replace(found, cause=replace(found.cause, confidence=Confidence.LIKELY))


# ------------------------------------------------------------------------------------------------------- other proofs


def _two_openmp(symptom: Symptom, case: ScannedPackage) -> Explained | None:
    """The OpenMP runtimes that a process can come to load: those that the text names, else all of them."""
    if symptom.kind != "omp-duplicate":
        return None
    files = {}
    for file in case.exam.subject.view.files:
        name = base_name(file.path).lower()
        if is_openmp(name) and name.endswith(".dll") and "stubs" not in name:
            files[file.path] = file
    named = {name.lower() for name in symptom.dlls}
    chosen = [path for path in files if base_name(path).lower() in named]
    chosen = chosen if len(chosen) > 1 else [*files]
    if len(chosen) < 2:
        return None
    places = [f"{base_name(path)} in {parent(path) or 'the prefix'} ({files[path].size} bytes)" for path in chosen]
    cause = cause_by_id("two-openmp", symptom)
    summary = f"{len(chosen)} OpenMP runtimes can meet in one process: {'; '.join(places)}."
    confirmed = replace(cause, summary=summary, confidence=Confidence.SURE)
    return Explained(confirmed, symptom, tuple(chosen), cause.what_is_known, case.name)


def _no_gpu_code(symptom: Symptom, case: ScannedPackage) -> Explained | None:
    """Check the GPU code for the card that the text names, else say which cards it is for; reads whole DLLs."""
    capability = symptom.details.get("capability", "")
    if symptom.kind != "no-kernel-image":
        return None
    options = replace(case.exam.subject.options, gpu=capability)
    found = run_checks(replace(case.exam.subject, options=options), gpu_code) if capability else ()
    return _from_finding(found[0], symptom, case) if found else _gpu_code_there_is(symptom, case, capability)


def _gpu_code_there_is(symptom: Symptom, case: ScannedPackage, capability: str) -> Explained | None:
    """Say for which architectures the files have code, where the text names no card or one that they have code for."""
    subject, table = case.exam.subject, explain_symptom(symptom)
    codes = {path: code.archs for path in subject.images if (code := subject.gpu_code(path)) and code.archs}
    if not codes or table is None:
        return None
    each = "; ".join(f"{base_name(path)}: {listing(in_order(archs), 14)}" for path, archs in codes.items())
    known = f"The GPU code of {case.name} is for these architectures: {each}."
    if capability:
        known += f" It runs on {capability}: the text is from other files, or the kernel belongs to another package."
    else:
        known += " The text does not name the card; `nvidia-smi --query-gpu=compute_cap --format=csv` does."
    every = {arch for archs in codes.values() for arch in archs}
    summary = f"{table.summary} {case.name} has code for {listing(in_order(every), 20)}."
    likely = replace(table, summary=summary, confidence=Confidence.GUESS if capability else table.confidence)
    return Explained(likely, symptom, (), known, case.name)


def _from_findings(symptom: Symptom, case: ScannedPackage) -> Explained | None:
    table = explain_symptom(symptom)
    rules = _SHOWN_BY.get(table.id, ()) if table else ()
    names_no_file = not (symptom.file or symptom.module)
    pair = find_pair(case) if unexported in rules and names_no_file else None
    if pair is not None and table is not None:
        return _from_pair(pair, table, symptom, pair.chain)
    found = [one for one in case.findings if found_by(one, *rules) and one.severity is not Severity.INFO]
    return _from_finding(found[0], symptom, case) if found else None


def _from_finding(finding: Finding, symptom: Symptom, case: ScannedPackage) -> Explained | None:
    table = explain_symptom(symptom)
    if table is None:
        return None
    cause = replace(table, summary=f"{_sentence(finding.message)} ({finding.code})", confidence=Confidence.SURE)
    return Explained(cause, symptom, (), finding.hint, case.name)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _without_assumption(symptom: Symptom, outcome: LoadOutcome, case: ScannedPackage) -> Explained | None:
    """Would the load fail as the text says if the machine did not have what is assumed to be there?"""
    if symptom.code != 126:
        return None
    subject = case.exam.subject
    for word, name in (("vcredist", "vc-runtime-missing"), ("nvidia-driver", "driver-missing")):
        profile = replace(subject.profile, assume=subject.profile.assume - {word})
        again = resolve(subject.view, profile, subject.distribution.requires)
        for other in again.outcomes:
            if other.event == outcome.event and other.code == 126:
                missing = (other.chain[-1],)
                cause = cause_by_id(name, replace(symptom, dlls=missing), missing)
                known = f"The files are whole; the text fits a machine without {missing[0]}. {cause.what_is_known}"
                likely = replace(cause, likely_missing=missing, confidence=Confidence.LIKELY)
                return Explained(likely, symptom, other.chain, known, case.name)
    return None


def faults(case: ScannedPackage) -> Iterator[Explained]:
    """Yield the first load that fails in these files, for a diagnosis without a text; else an environment's errors."""
    report, failure = case.exam.report, case.exam.report.first_failure
    for outcome in case.resolution.outcomes if failure is not None else ():
        if failure is not None and outcome.code == failure.code and outcome.chain == failure.chain:
            yield from_outcome(outcome, case)
            return
    for item in report.findings if case.exam.subject.installed else ():
        if item.severity is Severity.ERROR:
            commands = re.findall(r"'(python -m pip install [^']+)'", item.hint)
            why = ("Install what this environment needs", "with the environment's own Python")
            steps = (Remedy(why[0], commands[0], why[1]),) if commands else ()
            cause = Cause(item.name, f"{_sentence(item.message)} ({item.code})", "", (), Confidence.SURE, steps)
            yield Explained(cause, None, (), "" if commands else item.hint, case.name)


# ------------------------------------------------------------------------ two distributions that do not fit each other


_LONGEST_SYMBOL = 60


@frozen
class Pair:
    """A distribution that was built for another version of a second one than the one beside it."""

    user: str
    user_version: str
    provider: str
    provider_version: str
    requirement: str
    """The versions of the provider that the user's metadata asks for; empty when it names none."""
    edge: Edge
    provider_build: str = ""
    """The provider's version with a label where its files are not those of PyPI's build."""

    @property
    def requirement_holds(self) -> bool:
        """Whether the provider is one that the user's metadata asks for."""
        return fits(self.provider_version, self.requirement)

    @property
    def summary(self) -> str:
        """The cause in one sentence, the same for every file of the pair."""
        text = f"{self.user} {self.user_version} does not fit {self.provider} {self.provider_version}"
        if self.requirement and not self.requirement_holds:
            return f"{text}: it requires {self.provider}{self.requirement}."
        return f"{text}: it was built for another version or another kind of build."

    @property
    def chain(self) -> tuple[str, str]:
        """The two files, by their names."""
        assert isinstance(self.edge.provider, InView)
        return base_name(self.edge.importer), base_name(self.edge.provider.path)

    @property
    def explanation(self) -> str:
        """Which file imports what, and from where."""
        importer, provider = self.chain
        symbol = self.edge.unexported[0]
        name = f"ordinal {symbol}" if isinstance(symbol, int) else symbol
        name = name if len(name) <= _LONGEST_SYMBOL else f"{name[:_LONGEST_SYMBOL]}…"
        rest = len(self.edge.unexported) - 1
        more = f" and {rest} more" if rest else ""
        return (
            f"{importer} of {self.user} imports {name}{more} from {provider}, and the {provider} of {self.provider} "
            f"{self.provider_version} does not export {'them' if rest else 'it'}. No file is missing, and neither "
            "file is damaged."
        )


def mismatched_edges(case: ScannedPackage) -> Iterator[Edge]:
    """Yield the imports across two distributions that the DLL of the other does not answer."""
    subject = case.exam.subject
    for edge in case.resolution.edges:
        if edge.kind is EdgeKind.IMPORT and edge.unexported and isinstance(edge.provider, InView):
            provider = subject.owner(edge.provider.path)
            if provider and provider != subject.owner(edge.importer):
                yield edge


def find_pair(case: ScannedPackage, importer: str = "", provider: str = "") -> Pair | None:
    """Return the two distributions behind an import that fails with 127 or 182, or None if both files are of one."""
    for edge in mismatched_edges(case):
        assert isinstance(edge.provider, InView)
        if (not importer or dll_key(base_name(edge.importer)) == dll_key(importer)) and (
            not provider or dll_key(base_name(edge.provider.path)) == dll_key(provider)
        ):
            return pair_of_edge(case, edge)
    return None


def pair_of_edge(case: ScannedPackage, edge: Edge) -> Pair:
    """Return the two distributions of an import that crosses them."""
    subject = case.exam.subject
    beside = subject.view.beside
    assert beside is not None
    assert isinstance(edge.provider, InView)
    user, provider = subject.owner(edge.importer), subject.owner(edge.provider.path)
    requires = beside[user].requires if user else subject.distribution.requires
    asked = requirements(requires, subject.profile).direct
    requirement = next((one.specifier for one in asked if one.name == provider), "")
    name, version = (user, beside[user].version) if user else (canonical(subject.name), subject.distribution.version)
    installed = beside[provider].version
    build = torch_version(installed, subject.view) if provider == "torch" else installed
    return Pair(name, version, provider, installed, requirement, edge, build)


_GPU_PARTS = ("torch_cuda.dll", "torch_cuda_cpp.dll", "c10_cuda.dll", "c10_hip.dll", "torch_xpu.dll", "c10_xpu.dll")


def torch_version(version: str, view: FileView) -> str:
    """Return torch's version, marked where it has no label and its files are a build for a GPU.

    PyPI has builds without a label and without GPU code only: what has GPU code and no label is on no known index.
    """
    if version and "+" not in version and any(view.named(name) for name in _GPU_PARTS):
        return f"{version}+unknown"
    return version


# ----------------------------------------------------------------------------------------------------------- remedies


def pair_remedies(pair: Pair) -> tuple[Remedy, ...]:
    """Return the ways to make two distributions fit: another user of the same provider, or another provider."""
    user, provider = pair.user, f"{pair.provider} {pair.provider_version}"
    wanted = _user_for(pair)
    if not wanted:
        title, command = f"Install the {user} that was built for {provider}", ""
        why = f"the page of {user} lists which release belongs to which {pair.provider}"
    else:
        title = f"Install the {user} that was built for {provider}: {wanted}"
        command = _install(f"{user}=={wanted}", pair)
        why = f"{user} {wanted} requires {pair.provider} in that version"
    if wanted and wanted == pair.user_version.partition("+")[0]:
        title = f"Install {user} {wanted} again, as the same kind of build as {pair.provider}"
        command = _install(f"{user}=={wanted}", pair, " --force-reinstall --no-deps")
    steps = [Remedy(title, command, why)]
    if pair.requirement and not pair.requirement_holds:
        steps.append(_other_provider(pair))
    return tuple(steps)


def _other_provider(pair: Pair) -> Remedy:
    command = _install(f"{pair.provider}{pair.requirement}", pair)
    why = f"it replaces {pair.provider} {pair.provider_version}"
    label = TorchBuild.parse(pair.provider_build).label
    if pair.provider == "torch" and label:
        wanted = TorchBuild(pair.requirement.removeprefix("=="), label)
        if not wanted.is_published:
            command = ""
            why += f"; PyTorch's index is not known to have a build of it for {label}"
    return Remedy(
        f"Or install the {pair.provider} that {pair.user} {pair.user_version} requires: "
        f"{pair.provider}{pair.requirement}",
        command,
        why,
        danger=f"other packages that were built for {pair.provider} {pair.provider_version} stop working",
    )


def _user_for(pair: Pair) -> str:
    """The newest release of the user whose metadata asks for the provider that is there; empty if none is known."""
    index = provider_index()
    found = []
    for wheel in index.looked_at(pair.user):
        required = index.requirements(pair.user, wheel.version) or ()
        own = [one.specifier for one in required if one.name == pair.provider]
        # A specifier that admits any version says nothing about the version that it was built for.
        if any("==" in specifier and fits(pair.provider_version, specifier) for specifier in own):
            found.append(wheel.version)
    return newest_fitting(found, "")


def _install(requirement: str, pair: Pair, options: str = "") -> str:
    """The command, or nothing where it could replace a build for a GPU by one without."""
    command = f'python -m pip install{options} "{requirement}"'
    if pair.provider == "torch" and pair.user in FAMILY:
        build = TorchBuild.parse(pair.provider_build)
        return command + build.index_option if build.is_published else ""
    return "" if may_replace_a_build(requirement) or "+" in pair.provider_build else command

"""WF3xx: DLLs without a provider, or that lie where the loader does not look.

The loader model has answered every need with a provider; here the needs without an answer are gathered per DLL,
because one file that is absent is one thing to fix however many ask for it.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from typing import TYPE_CHECKING

from wheelfix.exam.needs import Need, gather
from wheelfix.knowledge.distributions import owners_of
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.providers import who_ships
from wheelfix.knowledge.system import is_debug_python
from wheelfix.loader.packagecode import module_name
from wheelfix.loader.requirements import Required
from wheelfix.loader.search import runs_on
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import (
    Edge,
    EdgeKind,
    Finding,
    Image,
    Json,
    Missing,
    OwnedBy,
    Repairable,
    Severity,
    VcRedist,
    dll_key,
    fold,
)
from wheelfix.rules.context import Subject, base, folder
from wheelfix.rules.hints import repair_command, where_from
from wheelfix.rules.pe import is_debug_crt
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import arrow, listing, strings
from wheelfix.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def needs(subject: Subject, edges: Iterable[Edge]) -> tuple[Need, ...]:
    """Gather edges of the subject's own files, and of missing DLLs, by the DLL they ask for."""
    own = (edge for edge in edges if subject.concerns(edge.importer) or is_absent(subject, edge.importer))
    return gather(own, functools.partial(_counts, subject))


def is_absent(subject: Subject, importer: str) -> bool:
    """Whether an edge starts at a DLL that is itself missing: it has a name then, and no place in the view."""
    return "/" not in importer and importer not in subject.view


def _counts(subject: Subject, edge: Edge) -> bool:
    """Whether the package itself gets to the need: its importer is loaded, or would be if it were there."""
    if not is_absent(subject, edge.importer):
        return subject.reached(edge.importer)
    return dll_key(edge.importer) in subject.wanted


def missing(subject: Subject, kind: EdgeKind, *, required: bool | None = None) -> tuple[Need, ...]:
    """Return the unmet needs of one kind."""
    return needs(
        subject,
        (
            edge
            for edge in subject.resolution.edges
            if edge.kind is kind
            and isinstance(edge.provider, Missing)
            and (required is None or edge.required is required)
        ),
    )


@dataclass(frozen=True, slots=True)
class Excuse:
    """Why the package works although DLLs fail to load."""

    text: str
    """What happens instead, as the end of a sentence."""
    complete: bool = True
    """Whether nothing is lost but what the DLL itself does; False where something may be expected to work."""


def excuse_of(subject: Subject, need: Need) -> Excuse | None:
    """Return why the package works without those who ask for a DLL, or None if that is not known."""
    loaded = [edge for edge in need.edges if subject.reached(edge.importer)]
    if loaded:
        return (
            _backend_excuse(subject, loaded)
            or _nobody_imports(subject, need, loaded)
            or _imported_by_name(subject, loaded)
        )
    if all(edge.importer in subject.caught for edge in need.edges):
        return Excuse("the package's code catches the error and continues")
    if all(_is_qt_plugin(subject, edge.importer) for edge in need.edges):
        return Excuse("Qt skips plugins that cannot be loaded")
    parents = [_optional_for(subject, edge.importer) for edge in need.edges]
    if all(parents):
        return Excuse(f"{parents[0]} loads {need.importer_names[0]} only if it can")
    return None


def _backend_excuse(subject: Subject, loaded: Sequence[Edge]) -> Excuse | None:
    """Return that other files do the same work as those that fail, if there are such files."""
    if not all(subject.backends.has_other(edge) for edge in loaded):
        return None
    failed = {base(outcome.event.path) for outcome in subject.failures}
    others = [name for name in subject.backends.others(loaded[0]) if name not in failed]
    if others:
        return Excuse(f"it is for one of several backends, and {others[0]} loads")
    return Excuse("it is for one of several backends, of which none loads", complete=False)


def _nobody_imports(subject: Subject, need: Need, loaded: Sequence[Edge]) -> Excuse | None:
    """Return that modules which no Python file names need a package that is not required, if that is so.

    Such a module is for people who have that package: NVIDIA's cuda.core has one for torch, daal4py one for MPI.
    A public one counts only if the package's code imports others of its modules: else users import them by name.
    """
    modules = [edge.importer for edge in loaded]
    names = {base(path).partition(".")[0] for path in modules if path.endswith(".pyd")}
    owners = owners_of(need.name) if len(names) == len({*map(base, modules)}) else ()
    if not owners or any(_is_named(subject, name) for name in names):
        return None
    others = {base(path).partition(".")[0] for path in subject.images if path.endswith(".pyd")} - names
    private = all(name.startswith("_") for name in names) and any(owner.preloads for owner in owners)
    if not private and not any(_is_named(subject, name) for name in others):
        return None
    shippers = [owner.distribution for owner in owners]
    return Excuse(f"no Python file of the package imports it, and {shippers[0]}, which has it, is not required", False)


def _imported_by_name(subject: Subject, loaded: Sequence[Edge]) -> Excuse | None:
    """Return that the package's code imports these modules by names that it computes, and does without them."""
    modules = {module_name(edge.importer) for edge in loaded if edge.importer.endswith(".pyd")}
    if len(modules) < len({edge.importer for edge in loaded}) or modules - subject.caught_by_name:
        return None
    return Excuse("the package's code imports its modules by computed names, and goes on without one that fails", False)


def _is_named(subject: Subject, module: str) -> bool:
    """Whether some Python file of the subject has the name of a module as a word."""
    spelled = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(module)}(?![A-Za-z0-9_])")
    return any(module in source and spelled.search(source) for source in subject.sources)


def _names_folder(sources: Iterable[str], paths: Iterable[str]) -> bool:
    """Whether code spells the name of the folder of one of these files."""
    names = {base(folder(path)) for path in paths}
    # Between the quotes and slashes of a source stand the parts of its paths; its first and last part are outside.
    return any(not names.isdisjoint(re.split(r"""['"/\\]""", source)[1:-1]) for source in sources)


def _is_qt_plugin(subject: Subject, path: str) -> bool:
    """Whether a DLL lies where Qt looks for plugins, in a package that brings Qt."""
    folders = path.lower().split("/")[:-1]
    return subject.has_qt and ("plugins" in folders or "qml" in folders)


def _optional_for(subject: Subject, path: str) -> str:
    """Return the DLL that loads this one by name if it can, according to the table of companions."""
    for glob, parent in subject.optional_companions.items():
        if fnmatch.fnmatchcase(dll_key(base(path)), glob):
            return parent
    return ""


@rule(
    "WF301",
    "missing-dependency",
    Severity.ERROR,
    Repairable.SOMETIMES,
    "A DLL that is imported is neither in the wheel nor provided by anyone else.",
)
@rule(
    "WF305",
    "outside-search-path",
    Severity.ERROR,
    Repairable.SOMETIMES,
    "A DLL is in the wheel, but where the loader does not look for it.",
)
def missing_imports(subject: Subject) -> Iterator[Finding]:
    """Find imports that nothing answers: error 126."""
    for need in missing(subject, EdgeKind.IMPORT):
        if (is_debug_crt(need.name) or is_debug_python(need.name)) and not need.reached:
            continue  # WF205 says it better: the debug twin of a DLL, which nothing loads
        excuse = excuse_of(subject, need)
        severity = _severity(need, excuse)
        consequence = excuse.text if excuse is not None else _consequence(subject, need)
        usable = [path for path in need.present_at if _is_usable(subject, need, path)]
        if usable:
            if need.reached and excuse is None and subject.unread_code:
                named = _names_folder(subject.unread_code, usable)
                severity = Severity.INFO if named else Severity.UNSURE
                consequence += "; unless the package's code adds that folder, which could not be read from it"
            target = _where_it_belongs(subject, need)
            where = "in the wheel" if usable[0] in subject.images else f"at {subject.origin(usable[0])}"
            yield finding(
                "WF305",
                subject.origin(usable[0]),
                f"{need.name} is {where}, but {listing(need.importer_names)} will not find it there; {consequence}",
                hint=(
                    f"{repair_command(subject)} puts a copy beside {need.importer_names[0]}, into {target}; "
                    "or add the folder with os.add_dll_directory before the import"
                ),
                evidence=_evidence(subject, need),
                severity=severity,
                repairable=Repairable.ALWAYS,
            )
        else:
            consequence = "; ".join([consequence, *need.objections[:3]])
            elsewhere = unless(subject, need)
            if severity is Severity.ERROR and (elsewhere or subject.unread_code):
                severity = Severity.UNSURE  # the machine decides, or code that could not be read
                consequence += elsewhere or (
                    "; unless a folder that the package's code adds has it, which could not be read"
                )
            copies = [
                f"{subject.origin(path)} ({why})"
                for path in need.present_at
                if (why := _objection(subject, need, path))
            ]
            yield finding(
                "WF301",
                need.name,
                f"{need.name}, imported by {listing(need.importer_names)}, is missing; {consequence}"
                + (f"; of no use: {listing(copies)}" if copies else ""),
                hint=where_from(need.name, subject),
                evidence={**_evidence(subject, need), "consequence": consequence},
                severity=severity,
            )


def _severity(need: Need, excuse: Excuse | None) -> Severity:
    if excuse is not None:
        return Severity.INFO if excuse.complete else Severity.WARNING
    return Severity.ERROR if need.reached else Severity.WARNING


def is_required(subject: Subject, edges: Sequence[Edge]) -> bool:
    """Whether something fails without a DLL that these edges ask for, as far as is known."""
    required = [edge for edge in edges if edge.required]
    others = [edge for edge in required if edge.kind is not EdgeKind.IMPORT]
    if others:
        return not _is_for_excused(subject, others)
    excuses = [excuse_of(subject, need) for need in needs(subject, required)]
    return any(excuse is None or not excuse.complete for excuse in excuses) if excuses else bool(required)


def _is_for_excused(subject: Subject, edges: Sequence[Edge]) -> bool:
    """Whether all who ask are DLLs that are missing themselves, and that the package works without."""
    if not all(is_absent(subject, edge.importer) for edge in edges):
        return False
    names = {dll_key(edge.importer) for edge in edges}
    askers = [
        edge
        for edge in subject.resolution.edges
        if edge.kind is EdgeKind.IMPORT and isinstance(edge.provider, Missing) and dll_key(edge.name) in names
    ]
    return bool(askers) and not is_required(subject, askers)


def _where_it_belongs(subject: Subject, need: Need) -> str:
    """The folder in which the loader looks for it: that of the package's startup, or that of the first who asks."""
    place = folder(need.first.importer)
    if subject.startup is not None and place.startswith(folder(subject.startup.lib)):
        place = subject.startup.lib
    return place.removeprefix(SITE_PACKAGES + "/")


def _is_usable(subject: Subject, need: Need, path: str) -> bool:
    return not _objection(subject, need, path)


def _objection(subject: Subject, need: Need, path: str) -> str:
    """Why a file of the right name would not do even in the right place, or nothing."""
    image = subject.view.image(path)
    if not isinstance(image, Image):
        return "not a valid DLL"
    if not image.managed and not runs_on(image.machine, subject.machine):
        return f"built for {image.machine}"
    asked = {
        symbol
        for edge in need.edges
        if (importer := subject.images.get(edge.importer)) is not None
        for item in importer.imports
        if dll_key(item.dll) == dll_key(need.name)
        for symbol in item.symbols
    }
    absent = [symbol for symbol in asked if not image.exports.offers(symbol)]
    return f"without {listing(sorted(map(str, absent)), 1)}" if absent else ""


@rule(
    "WF302",
    "missing-required-companion",
    Severity.ERROR,
    Repairable.SOMETIMES,
    "A DLL that another one loads by name at run time, and cannot do without, is missing.",
)
@rule(
    "WF303",
    "missing-optional-companion",
    Severity.INFO,
    Repairable.SOMETIMES,
    "A DLL that another one loads by name if it is there is missing.",
)
def missing_companions(subject: Subject) -> Iterator[Finding]:
    """Find DLLs that no import table shows and that are wanted all the same."""
    grouped: dict[tuple[bool, Severity, tuple[str, ...]], list[Need]] = {}
    for need in missing(subject, EdgeKind.COMPANION):
        edges = [edge for edge in need.edges if edge.required] or [*need.edges]
        required = edges[0].required
        loaded = any(_counts(subject, edge) for edge in edges)
        needless = not required or _is_for_excused(subject, edges)
        severity = Severity.INFO if needless else Severity.ERROR if loaded else Severity.WARNING
        if severity is Severity.ERROR and subject.loading is not None and subject.loading.works_on_cpu:
            severity = Severity.WARNING
        if severity is Severity.ERROR and subject.unread_code and all(is_absent(subject, e.importer) for e in edges):
            severity = Severity.UNSURE  # whether those who load it are missing is not certain either
        parents = tuple(dict.fromkeys(_parent(subject, edge) for edge in edges))
        # What many miss is reported one by one; what one DLL that is itself absent would miss is one thing to know.
        together = not required or all(is_absent(subject, edge.importer) for edge in edges)
        key = (required, severity, parents if together else (*parents, need.name))
        grouped.setdefault(key, []).append(replace(need, edges=tuple(edges)))
    for (required, severity, _), needs_of_one in grouped.items():
        yield _companion_finding(subject, needs_of_one, required, severity)


def _companion_finding(subject: Subject, group: list[Need], required: bool, severity: Severity) -> Finding:
    first = group[0]
    names = [need.name for need in group]
    parents = tuple(dict.fromkeys(_parent(subject, edge) for edge in first.edges))
    verb, are = ("loads" if len(parents) == 1 else "load"), ("is" if len(group) == 1 else "are")
    how = "at run time" if required else f"if {'it is' if len(group) == 1 else 'they are'} there"
    place = f"; a copy lies at {subject.origin(first.present_at[0])}, where it is not found" if first.present_at else ""
    reason = first.first.because
    # What the parent merely looks for is added on request only.
    by_default = any(edge.strength != "optional" for need in group for edge in need.edges)
    hint = where_from(first.name, subject, "" if required or by_default else "--companions all")
    return finding(
        "WF302" if required else "WF303",
        first.name,
        f"{listing(names, 20)}, which {listing(parents)} {verb} {how}, {are} missing{place}"
        + (f": {reason}" if reason else ""),
        hint=hint,
        evidence={
            **_evidence(subject, first),
            "names": strings(names),
            "reason": reason,
            "consequence": reason,
            "source": first.first.source,
        },
        severity=severity,
    )


def _parent(subject: Subject, edge: Edge) -> str:
    return f"{edge.importer} (itself missing)" if is_absent(subject, edge.importer) else base(edge.importer)


@rule(
    "WF304",
    "missing-delay-load",
    Severity.WARNING,
    Repairable.SOMETIMES,
    "A DLL that is loaded at the first call into it is missing.",
)
def missing_delay_loads(subject: Subject) -> Iterator[Finding]:
    """Find delay-loaded DLLs that nothing answers: the load succeeds, the first call does not."""
    imported = {dll_key(need.name) for need in missing(subject, EdgeKind.IMPORT)}
    for need in missing(subject, EdgeKind.DELAY):
        if dll_key(need.name) in imported or (is_debug_crt(need.name) and not need.reached):
            continue
        wanted = any(edge.required and subject.reached(edge.importer) for edge in need.edges)
        consequence = "loading succeeds; the first call into it ends the process with 0xC06D007E" + (
            ", and ordinary use makes that call" if wanted else ", unless the program handles that"
        )
        yield finding(
            "WF304",
            need.name,
            f"{need.name}, delay-loaded by {listing(need.importer_names)}, is missing; {consequence}",
            hint=where_from(need.name, subject),
            evidence={**_evidence(subject, need), "consequence": consequence},
            severity=Severity.ERROR if wanted else Severity.WARNING,
        )


@rule(
    "WF306",
    "needs-vc-runtime",
    Severity.INFO,
    Repairable.SOMETIMES,
    "The wheel relies on the Visual C++ runtime being installed on the machine.",
)
def needs_vc_runtime(subject: Subject) -> Iterator[Finding]:
    """Say once per wheel which runtime DLLs have to be on the machine."""
    relied = [edge for edge in subject.resolution.edges if isinstance(edge.provider, VcRedist)]
    required = Required(subject.wheel.metadata.requires_dist if subject.wheel is not None else (), subject.profile)
    imports = [
        edge for edge in relied if edge.kind is EdgeKind.IMPORT and not _has_own_runtime(subject, edge, required)
    ]
    own = needs(subject, imports)
    if not own:
        return
    names = [need.name.lower() for need in own]
    importers = sorted({subject.origin(edge.importer) for need in own for edge in need.edges})
    who = base(importers[0]) if len(importers) == 1 else f"{len(importers)} files"
    yield finding(
        "WF306",
        names[0],
        f"{who} {'needs' if len(importers) == 1 else 'need'} {listing(names, 6)} of the Visual C++ redistributable, "
        "which must be installed on the machine",
        hint=(
            f"users get it from {_redistributable(names[0], subject)}; "
            f"{repair_command(subject, '--with-vcredist --root FOLDER')} adds the DLLs"
        ),
        evidence={"names": [*names], "needed_by": [*importers]},
    )


def _has_own_runtime(subject: Subject, edge: Edge, required: Required) -> bool:
    """Whether a requirement brings a runtime DLL, or the wheel itself does for a file that is loaded after it."""
    if subject.wheel is not None and any(owner.distribution in required for owner in owners_of(edge.name)):
        return True
    # What nothing in the package loads by itself, such as a plugin, meets the copy that its loader brought in.
    key = dll_key(edge.name)
    return not subject.reached(edge.importer) and any(fold(base(path)) == key for path in subject.images)


def _redistributable(name: str, subject: Subject) -> str:
    shipper = next(iter(who_ships(name, machine=subject.machine)), "")
    return shipper.rpartition(", ")[2] or "Microsoft"


@rule(
    "WF307",
    "owner-not-reachable",
    Severity.ERROR,
    Repairable.SOMETIMES,
    "Another distribution brings the DLL, but its folder is not searched when the load happens.",
)
def owner_not_reachable(subject: Subject) -> Iterator[Finding]:
    """Find DLLs that a required distribution has and the loader will not find."""
    for need in needs(subject, (edge for edge in subject.resolution.edges if _is_out_of_reach(edge))):
        owner = need.first.provider
        if not isinstance(owner, OwnedBy):
            continue
        hard = any(edge.kind is EdgeKind.IMPORT and subject.reached(edge.importer) for edge in need.edges)
        yield finding(
            "WF307",
            need.name,
            f"{need.name}, needed by {listing(need.importer_names)}, is in {owner.distribution}, but out of reach: "
            f"{owner.because}",
            hint=(
                f"import {owner.distribution} first if it adds its own folder, or call os.add_dll_directory with the "
                f"folder of {need.name} before the import"
            ),
            evidence={**_evidence(subject, need), "distribution": owner.distribution, "because": owner.because},
            severity=Severity.ERROR if hard else Severity.WARNING if need.reached else Severity.INFO,
        )


def _is_out_of_reach(edge: Edge) -> bool:
    return isinstance(edge.provider, OwnedBy) and not edge.provider.reachable and edge.required


def _evidence(subject: Subject, need: Need) -> dict[str, Json]:
    return {
        "needed_by": strings(dict.fromkeys(subject.origin(edge.importer) for edge in need.edges)),
        "chain": strings(subject.chain(need.first.importer, need.name)),
        "searched": strings(need.searched),
        "present_at": strings(subject.origin(path) for path in need.present_at),
        "loaded": need.reached,
    }


def _consequence(subject: Subject, need: Need) -> str:
    if not need.reached:
        them = "that file" if len(need.importer_names) == 1 else "those files"
        when = [known for path in need.importers if (known := subject.loaded_later.get(path))]
        if when and len(when) == len(need.importers):
            consequence = f"the package loads {them} {listing([*dict.fromkeys(when)])}, which fails with error 126"
            return consequence + unless(subject, need)
        return f"nothing in the wheel is known to load {them}; a load fails with error 126"
    chain: Sequence[str] = subject.chain(need.first.importer, need.name)
    way = f" ({arrow(chain)})" if len(chain) > 2 else ""
    return f"loading {chain[0]} fails with error 126{way}"


def unless(subject: Subject, need: Need) -> str:
    """Return what else makes a CUDA DLL available, as the package's own code has it, or nothing."""
    member = family_of(need.name)
    if subject.loading is None or member is None or member.family.group not in ("cuda", "cudnn"):
        return ""
    return f"; unless {subject.loading.unless}" if subject.loading.unless else ""


def says_out_of_reach(item: Finding) -> bool:
    """Whether a finding says that a DLL of the wheel lies where the loader does not look."""
    return item.code == "WF305"

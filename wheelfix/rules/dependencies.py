"""WF301 to WF305: DLLs without a provider, or that lie where the loader does not look."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.system import is_debug_python, python_of
from wheelfix.loader.extensionmodules import folder_python, module_name
from wheelfix.loader.loadcall import runs_on
from wheelfix.loader.requirements import Requirements
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import Edge, EdgeKind, Finding, Image, Repairable, Severity, canonical, dll_key
from wheelfix.rules.context import Subject, base, folder
from wheelfix.rules.hints import repair_command, where_from
from wheelfix.rules.pe import is_debug_crt
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.unmet import Excuse, counts, evidence_of, excuse_of, is_absent, is_for_excused, is_named, missing
from wheelfix.rules.wording import arrow, listing, strings
from wheelfix.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wheelfix.exam.needs import Need


def _names_folder(sources: Iterable[str], paths: Iterable[str]) -> bool:
    """Whether code spells the name of the folder of one of these files."""
    names = {base(folder(path)) for path in paths}
    # Between the quotes and slashes of a source stand the parts of its paths; its first and last part are outside.
    return any(not names.isdisjoint(re.split(r"""['"/\\]""", source)[1:-1]) for source in sources)


def _is_for_several_pythons(need: Need) -> bool:
    """Whether an interpreter is asked for by modules in folders that are named after it."""
    python = python_of(need.name)
    return python is not None and all(folder_python(edge.importer) == python[:2] for edge in need.edges)


def _folder_owner(subject: Subject, paths: Iterable[str]) -> str:
    """Return the required distribution whose ``.libs`` folder has one of these files; empty if its code is here.

    A wheel that was repaired together with another has DLLs in the folder that the code of the other adds.
    """
    folders = (base(folder(path)) for path in paths)
    owners = [canonical(name.removesuffix(".libs")) for name in folders if name.endswith(".libs")]
    required = Requirements(subject.wheel.metadata.requires_dist if subject.wheel is not None else (), subject.profile)
    beside = subject.view.beside
    return next((name for name in owners if name in required and (beside is None or name not in beside)), "")


def _is_for_others(subject: Subject, paths: Iterable[str]) -> bool:
    """Whether these are DLLs of another distribution, and this one has only modules in private folders, never named.

    The wheels superdex_robotics_fp64 and superdex_physics_fp64 have only files that the code of superdex-physics loads.
    """
    if any(path in subject.images for path in paths):
        return False
    modules = [path for path in subject.images if path.endswith(".pyd") and subject.reached(path)]
    private = all(any(part.startswith("_") for part in module_name(path).split(".")[:-1]) for path in modules)
    return bool(modules) and private and not any(is_named(subject, base(path).partition(".")[0]) for path in modules)


@rule(
    "WF301",
    "missing-dependency",
    Severity.ERROR,
    Repairable.SOMETIMES,
    "A DLL that is imported is not in the wheel and has no other provider.",
)
@rule(
    "WF305",
    "outside-search-path",
    Severity.ERROR,
    Repairable.SOMETIMES,
    "A DLL is there, but in a folder where the loader does not look for it.",
)
def missing_imports(subject: Subject) -> Iterator[Finding]:
    """Find imports without a provider: error 126."""
    for need in missing(subject, EdgeKind.IMPORT):
        if (is_debug_crt(need.name) or is_debug_python(need.name)) and not need.reached:
            continue  # WF205 says it better: the debug twin of a DLL, which nothing loads
        if not need.reached and _is_for_several_pythons(need):
            continue
        excuse = excuse_of(subject, need)
        severity = _severity(need, excuse)
        consequence = excuse.text if excuse is not None else _consequence(subject, need)
        usable = [path for path in need.present_at if _is_usable(subject, need, path)]
        if usable:
            if need.reached and excuse is None and subject.unread_code:
                named = _names_folder(subject.unread_code, usable)
                severity = Severity.INFO if named else Severity.UNSURE
                whose = subject.whose_code(adding=True)
                consequence += f"; unless {whose} adds that folder, which could not be determined"
            elif need.reached and excuse is None and (other := _folder_owner(subject, usable)):
                severity = Severity.UNSURE
                consequence += f"; unless the code of {other}, which is required and not here, adds that folder"
            elif need.reached and excuse is None and _is_for_others(subject, usable):
                severity = Severity.UNSURE
                consequence += "; unless the code of another distribution, which imports it, adds that folder"
            elif need.reached and excuse is None and subject.loads_unread:
                severity = Severity.UNSURE
                whose = subject.whose_code(adding=False)
                consequence += f"; unless {whose} loads it first, which could not be determined"
            own = usable[0] in subject.images
            where = "in the wheel" if own else f"at {subject.origin(usable[0])}"
            yield finding(
                "WF305",
                subject.origin(usable[0]),
                f"{need.name} is {where}, but {listing(need.importer_names)} will not find it there; {consequence}",
                hint=(
                    f"{_copying(subject, need, own=own)} puts a copy beside {need.importer_names[0]}, into "
                    f"{_where_it_belongs(subject, need)}; or add the folder with os.add_dll_directory before the import"
                ),
                evidence=evidence_of(subject, need),
                severity=severity,
                repairable=Repairable.ALWAYS if own else Repairable.SOMETIMES,
            )
        else:
            consequence = "; ".join([consequence, *need.objections[:3]])
            elsewhere = unless(subject, need)
            if severity is Severity.ERROR and (elsewhere or subject.unread_code):
                severity = Severity.UNSURE  # the machine decides, or code that could not be read
                consequence += elsewhere or (
                    f"; unless a folder that {subject.whose_code(adding=True)} adds has it, which is not known"
                )
            elif severity is Severity.ERROR and need.optional and not need.absent:
                severity = Severity.UNSURE  # a part that works with an extra, which was not asked for
                consequence += "; unless nothing uses that part of the package, which is optional"
            if severity is Severity.WARNING and excuse is None and need.absent:
                severity = Severity.UNSURE  # the package does not load it, but a package that does fails
            copies = [
                f"{subject.origin(path)} ({why})"
                for path in need.present_at
                if (why := _objection(subject, need, path))
            ]
            yield finding(
                "WF301",
                need.name,
                f"{need.name}, imported by {listing(need.importer_names)}, is missing; {consequence}"
                + (f"; not usable: {listing(copies)}" if copies else ""),
                hint=where_from(need.name, subject),
                evidence={**evidence_of(subject, need), "consequence": consequence},
                severity=severity,
            )


def _severity(need: Need, excuse: Excuse | None) -> Severity:
    if excuse is not None:
        return Severity.INFO if excuse.complete else Severity.WARNING
    return Severity.ERROR if need.reached else Severity.WARNING


def _copying(subject: Subject, need: Need, *, own: bool) -> str:
    """The command that copies a DLL to its place; a repair of a wheel does not see the wheels that were beside it."""
    if own or subject.wheel is None:
        return repair_command(subject)
    return f"{repair_command(subject, f'--include {need.name} --root FILE')} with the wheel that has it"


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
    "A DLL that another one loads by name at run time, and needs, is missing.",
)
@rule(
    "WF303",
    "missing-optional-companion",
    Severity.INFO,
    Repairable.SOMETIMES,
    "A DLL that another one loads by name if it is there is missing.",
)
def missing_companions(subject: Subject) -> Iterator[Finding]:
    """Find missing DLLs that others load by name, so that no import table shows them."""
    grouped: dict[tuple[bool, Severity, tuple[str, ...]], list[Need]] = {}
    for need in missing(subject, EdgeKind.COMPANION):
        edges = [edge for edge in need.edges if edge.required] or [*need.edges]
        required = edges[0].required
        loaded = any(counts(subject, edge) for edge in edges)
        needless = not required or is_for_excused(subject, edges)
        severity = Severity.INFO if needless else Severity.ERROR if loaded else Severity.WARNING
        if severity is Severity.ERROR and subject.loading is not None and subject.loading.works_on_cpu:
            severity = Severity.WARNING
        open_question = bool(subject.unread_code or unless(subject, need))
        if severity is Severity.ERROR and open_question and all(is_absent(subject, edge.importer) for edge in edges):
            severity = Severity.UNSURE  # whether those who load it are missing is not certain either
        parents = tuple(dict.fromkeys(_parent(subject, edge) for edge in edges))
        # A DLL that files of the wheel need gets its own finding; all that a missing DLL would need goes into one.
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
    reason = "; ".join([*dict.fromkeys(filter(None, (need.first.because for need in group)))][:3])
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
            **evidence_of(subject, first),
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
    """Find delay-loaded DLLs without a provider: the load succeeds, the first call does not."""
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
            evidence={**evidence_of(subject, need), "consequence": consequence},
            severity=Severity.ERROR if wanted else Severity.WARNING,
        )


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

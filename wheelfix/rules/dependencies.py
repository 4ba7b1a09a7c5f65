"""WF301 to WF305: DLLs without a provider, or that lie where the loader does not look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.knowledge.system import is_debug_python, python_of
from wheelfix.loader.extensionmodules import folder_python
from wheelfix.loader.loadcall import runs_on
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import Edge, EdgeKind, Finding, Image, Repairable, Severity, dll_key
from wheelfix.rules.abi import for_another_python
from wheelfix.rules.context import Subject, base, folder
from wheelfix.rules.hints import repair_command, where_from
from wheelfix.rules.pe import is_debug_crt
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.unmet import (
    Judgement,
    counts,
    evidence_of,
    is_absent,
    is_for_excused,
    judge,
    missing,
    toolkit_searched,
)
from wheelfix.rules.wording import listing, strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.exam.needs import Need


def _is_for_several_pythons(need: Need) -> bool:
    """Whether an interpreter is asked for by modules in folders that are named after it."""
    python = python_of(need.name)
    return python is not None and all(folder_python(edge.importer) == python[:2] for edge in need.edges)


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
        if python_of(need.name) is not None and for_another_python(subject):
            continue  # WF401 says that of the whole distribution
        usable = [path for path in need.present_at if not _objection(subject, need, path)]
        judged = judge(subject, need, usable)
        yield _out_of_reach(subject, need, judged, usable[0]) if usable else _missing_import(subject, need, judged)


def _out_of_reach(subject: Subject, need: Need, judged: Judgement, path: str) -> Finding:
    own = path in subject.images
    where = "in the wheel" if own else f"at {subject.origin(path)}"
    return finding(
        "WF305",
        subject.origin(path),
        f"{need.name} is {where}, but {listing(need.importer_names)} will not find it there; {judged.text}",
        hint=(
            f"{_copying(subject, need, own=own)} puts a copy beside {need.importer_names[0]}, into "
            f"{_where_it_belongs(subject, need)}{_or_added(need)}"
        ),
        evidence=evidence_of(subject, need),
        severity=judged.severity,
        repairable=Repairable.ALWAYS if own else Repairable.SOMETIMES,
    )


def _or_added(need: Need) -> str:
    """The other way to make a DLL found, which helps modules and not programs: these are processes of their own."""
    if all(path.lower().endswith(".exe") for path in need.importers):
        return ""
    return "; or add the folder with os.add_dll_directory before the import"


def _missing_import(subject: Subject, need: Need, judged: Judgement) -> Finding:
    text = "; ".join([judged.text, *need.objections[:3]])
    copies = [f"{subject.origin(path)} ({_objection(subject, need, path)})" for path in need.present_at]
    return finding(
        "WF301",
        need.name,
        f"{need.name}, imported by {listing(need.importer_names)}, is missing; {text}"
        + (f"; not usable: {listing(copies)}" if copies else ""),
        hint=where_from(need.name, subject, deleted=need.deleted),
        evidence={**evidence_of(subject, need), "consequence": text},
        severity=judged.severity,
    )


def _copying(subject: Subject, need: Need, *, own: bool) -> str:
    """The command that copies a DLL to its place; a repair of a wheel does not see the wheels that were beside it."""
    if own or subject.installed:
        return repair_command(subject)
    return f"{repair_command(subject, f'--include {need.name} --root FILE')} with the wheel that has it"


def _where_it_belongs(subject: Subject, need: Need) -> str:
    """The folder in which the loader looks for it: that of the package's startup, or that of the first who asks."""
    place = folder(need.first.importer)
    if subject.startup is not None and place.startswith(folder(subject.startup.lib)):
        place = subject.startup.lib
    return place.removeprefix(SITE_PACKAGES + "/")


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
        open_question = bool(toolkit_searched(subject, need))
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


def says_out_of_reach(item: Finding) -> bool:
    """Whether a finding says that a DLL of the wheel lies where the loader does not look."""
    return item.code == "WF305"

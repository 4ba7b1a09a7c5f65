"""WF321 and WF322: of several DLLs of one name in a process the first that is loaded serves everyone.

In one process an import by name gets the module of that name that is there already, whichever distribution loaded it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.system import runtime_file
from wheelfix.loader.search import runs_on
from wheelfix.loader.view import BASE
from wheelfix.model import (
    EdgeKind,
    Finding,
    Image,
    InView,
    LoadOutcome,
    Repairable,
    Severity,
    VcRedist,
    canonical,
    dll_key,
)
from wheelfix.rules.context import base, folder
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.vcruntime import CONSTEXPR_MUTEX, locks_unconstructed_mutex
from wheelfix.rules.wording import listing
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.model import Edge, Symbol
    from wheelfix.rules.context import Subject


@dataclass(frozen=True, slots=True)
class Clash:
    """A DLL that serves an importer badly, if it is in the process first."""

    edge: Edge
    path: str
    """The DLL that comes first."""
    reason: str
    symbols: tuple[Symbol, ...] = ()


@rule(
    "WF321",
    "older-runtime-first",
    Severity.ERROR,
    Repairable.NEVER,
    "An older msvcp140.dll is found first and serves a DLL that was built for a newer one.",
)
def older_runtime_first(subject: Subject) -> Iterator[Finding]:
    """Find a runtime beside python.exe, or in the search before the right one, that crashes its user."""
    grouped: dict[str, list[Clash]] = {}
    for edge in subject.resolution.edges:
        path = edge.provider.path if isinstance(edge.provider, InView) else ""
        if path and path not in subject.images and subject.reached(edge.importer):
            clash = _old_runtime(subject, edge, path)
            if clash is not None:
                grouped.setdefault(path, []).append(clash)
    for path, clashes in sorted(grouped.items()):
        where = "beside python.exe" if folder(path) in ("", BASE) else f"in {folder(path)}"
        yield finding(
            "WF321",
            subject.origin(path),
            f"{base(path)} {where} is found first, and {clashes[0].reason}",
            hint="install the current Visual C++ redistributable, and replace or remove that older copy",
            evidence={
                "needed_by": [*dict.fromkeys(subject.origin(clash.edge.importer) for clash in clashes)],
                "runtime": str(subject.version(path)),
                "code": 1114,
            },
        )


@rule(
    "WF322",
    "import-order-of-distributions",
    Severity.WARNING,
    Repairable.NEVER,
    "It works or fails depending on which of two distributions is imported first.",
)
def import_order(subject: Subject) -> Iterator[Finding]:
    """Find DLLs of other distributions that have the name of one that is needed, and cannot stand in for it."""
    beside = subject.view.beside
    if beside is None:
        return
    grouped: dict[str, list[Clash]] = {}
    for edge in subject.resolution.edges:
        if edge.kind is EdgeKind.IMPORT and subject.reached(edge.importer):
            for clash in _clashes(subject, edge):
                grouped.setdefault(clash.path, []).append(clash)
    for path, clashes in sorted(grouped.items()):
        other = subject.owner(path)
        fails = _is_first(subject, other)
        if fails is False:
            continue
        users = list(dict.fromkeys(base(clash.edge.importer) for clash in clashes))
        name = subject.name or "this package"
        yield finding(
            "WF322",
            subject.origin(path),
            f"importing {other} before {name} fails, importing {name} before {other} works: {base(path)} of "
            f"{other} then serves {listing(users)}, and {clashes[0].reason}",
            hint=f"import {name} first, or make both use one {base(path)}",
            evidence={
                "fails": [other, name],
                "works": [name, other],
                "importer": subject.origin(clashes[0].edge.importer),
                "needed_by": [*dict.fromkeys(subject.origin(clash.edge.importer) for clash in clashes)],
                "symbols": [*clashes[0].symbols],
                "code": 127 if clashes[0].symbols else 1114,
            },
            severity=Severity.ERROR if fails else Severity.WARNING,
        )


def _clashes(subject: Subject, edge: Edge) -> Iterator[Clash]:
    """The files of that name which another distribution loads, and with which the importer fails."""
    own = edge.provider.path if isinstance(edge.provider, InView) else ""
    if not own and not isinstance(edge.provider, VcRedist):
        return
    for path in subject.view.named(dll_key(edge.name)):
        other = subject.owner(path)
        if path == own or not other or other == subject.owner(own) or not _is_loaded_by_its_owner(subject, path):
            continue
        old = _old_runtime(subject, edge, path)
        if old is not None:
            yield old
            continue
        twin, importer = subject.view.image(path), subject.view.image(edge.importer)
        if isinstance(twin, Image) and isinstance(importer, Image) and runs_on(twin.machine, subject.machine):
            asked = (item for item in importer.imports if dll_key(item.dll) == dll_key(edge.name))
            absent = tuple(symbol for item in asked for symbol in item.symbols if not twin.exports.offers(symbol))
            if absent:
                shown = listing([str(symbol) for symbol in absent])
                yield Clash(edge, path, f"it does not export {shown}: error 127", absent)


def _is_loaded_by_its_owner(subject: Subject, path: str) -> bool:
    """Whether something beside a DLL imports it by name, so that importing its distribution loads it."""
    key = dll_key(base(path))
    for other in subject.view.in_folder(folder(path)):
        image = subject.view.image(other) if other.lower().endswith((".dll", ".pyd")) and other != path else None
        if isinstance(image, Image) and any(dll_key(item.dll) == key for item in image.imports):
            return True
    return False


def _old_runtime(subject: Subject, edge: Edge, path: str) -> Clash | None:
    """An msvcp140.dll without the mutex that a DLL was compiled for."""
    importer = subject.view.image(edge.importer)
    if dll_key(base(path)) != "msvcp140.dll" or not isinstance(importer, Image):
        return None
    if not locks_unconstructed_mutex(importer) or runtime_file(dll_key(base(edge.importer))) is not None:
        return None
    version = subject.version(path)
    if version is None or version.file[:2] >= CONSTEXPR_MUTEX or version.file[0] != CONSTEXPR_MUTEX[0]:
        return None
    own, wanted = (".".join(map(str, pair)) for pair in (version.file[:2], CONSTEXPR_MUTEX))
    crash = "error 1114" if subject.startup is not None else "the process crashes when it locks a std::mutex"
    return Clash(edge, path, f"it is {own}, while {base(edge.importer)} needs {wanted} or later: {crash}")


def _is_first(subject: Subject, other: str) -> bool | None:
    """Whether the order that was asked about has another distribution before this one; None where it says nothing."""
    beside, order = subject.view.beside, [canonical(name) for name in subject.import_order]
    if beside is None or not order:
        return None
    places: dict[str, int] = {}
    for number, name in enumerate(order):
        for one in (name, *beside.related((name,), (name.replace("-", "_"),), subject.profile)):
            places.setdefault(one, number)
    mine = places.get(canonical(subject.name))
    theirs = places.get(other)
    return None if mine is None or theirs is None or mine == theirs else theirs < mine


def crash_at_startup(subject: Subject, findings: Iterable[Finding]) -> LoadOutcome | None:
    """The load at the package's startup that an older runtime makes fail, where an error says so."""
    if subject.startup is None:
        return None
    for item in findings:
        if item.severity is Severity.ERROR and item.code in ("WF321", "WF322") and item.evidence.get("code") == 1114:
            users = item.evidence.get("needed_by")
            for outcome in subject.resolution.outcomes:
                if isinstance(users, list) and subject.origin(outcome.event.path) in users:
                    chain = (base(outcome.event.path), base(item.subject.replace("\\", "/")))
                    return LoadOutcome(outcome.event, 1114, chain, item.message)
    return None

"""WF308, WF309, WF321, WF322, WF327: loads that fail alone, or after other imports, and which findings explain which.

A failure is predicted only where an error explains it. In one process an import by name gets the module of that name
that is there already, whichever distribution loaded it: of several DLLs of one name the first serves everyone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import distinct, frozen, grouped
from wheelfix.knowledge.system import runtime_file
from wheelfix.loader.loading import BAD_EXE_FORMAT, INVALID_ORDINAL, MOD_NOT_FOUND, PROC_NOT_FOUND, runs_on
from wheelfix.loader.resolve import ImportOrders, orders_of
from wheelfix.loader.view import BASE, is_pyd
from wheelfix.model import Edge, EdgeKind, Finding, Image, LoadOutcome, Severity, Symbol, VcRedist, canonical, dll_key
from wheelfix.rules.abi import python_abi, unimportable
from wheelfix.rules.codeloads import missing_code_folders, missing_code_loads, raised_by_code
from wheelfix.rules.context import Subject, base, folder, key_of
from wheelfix.rules.dependencies import broken_forwarders, missing_imports, unexported
from wheelfix.rules.otherdistributions import owner_not_reachable
from wheelfix.rules.pe import debug_crt, unreadable_images, wrong_machine
from wheelfix.rules.registry import Findings, finding, found_by, rule, run_checks
from wheelfix.rules.vcruntime import CONSTEXPR_MUTEX, locks_unconstructed_mutex
from wheelfix.rules.wording import arrow, dotted, last_part, listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.loader.places import InstalledSet


_NO_IMAGE = (unreadable_images, wrong_machine)
_OTHER_SYMBOLS = (unexported, broken_forwarders)
_EXPLAINING = (
    *_NO_IMAGE,
    *_OTHER_SYMBOLS,
    debug_crt,
    missing_imports,
    owner_not_reachable,
    missing_code_loads,
    missing_code_folders,
    raised_by_code,
    unimportable,
    python_abi,
)
"""Rules about what makes a load fail."""


@rule("WF309")
def load_fails(subject: Subject) -> Findings:
    """Find failed loads that no other rule has an explanation for."""
    failed = [outcome for outcome in subject.failures if outcome.chain and not outcome.event.guarded]
    if not failed:
        return
    names = explained_names(run_checks(subject, *_EXPLAINING))
    for outcome in failed:
        if not _causes(outcome) & names:
            yield finding(
                "WF309",
                subject.origin(outcome.event.path),
                f"loading {base(outcome.event.path)} fails with error {outcome.code} ({arrow(outcome.chain)})"
                + (f": {outcome.detail}" if outcome.detail else ""),
                hint="'wheelfix scan -v' shows who loads what; if the package works, please report it",
                evidence={"code": outcome.code, "chain": outcome.chain, "detail": outcome.detail},
            )


def explained_names(findings: Iterable[Finding]) -> frozenset[str]:
    """The folded names of the files that findings about failed loads are about."""
    return frozenset(dll_key(last_part(path)) for item in findings for path in (item.subject, *item.texts("paths")))


def visible_failure(subject: Subject, findings: Iterable[Finding]) -> LoadOutcome | None:
    """The first failed load that an error among the findings stands for; None if there is no such error.

    A load may have several faults. Where the finding about the first is only a warning, is filtered out or was allowed,
    the load fails because of the next one: prediction, findings and verdict say the same.
    """
    rules = (*_EXPLAINING, load_fails)
    errors = [item for item in findings if item.severity is Severity.ERROR and found_by(item, *rules)]
    names = explained_names(errors)
    for outcome in subject.failures if errors else ():
        if outcome.event.guarded:
            continue
        if _causes(outcome) & names:
            return outcome
        other = _other_cause(subject, outcome, errors)
        if other is not None:
            return other
    return None


def _other_cause(subject: Subject, outcome: LoadOutcome, errors: list[Finding]) -> LoadOutcome | None:
    """The same load with another of its faults as the cause: missing files before missing symbols."""
    through = _ways(subject, outcome.event.path)
    found = []
    for item in errors:
        for origin in _importers(item):
            way = through.get(origin) or _part_of(outcome.chain, origin)
            if way:
                chain = way if found_by(item, broken_forwarders) else (*way, last_part(item.subject))
                found.append(LoadOutcome(outcome.event, _code(item), chain, item.message))
    return min(found, key=lambda other: other.code in (127, 182), default=None)


def _part_of(chain: tuple[str, ...], origin: str) -> tuple[str, ...]:
    """The beginning of a chain up to a file, or nothing: one process may get further than another."""
    keys, key = [dll_key(name) for name in chain], dll_key(last_part(origin))
    return chain[: keys.index(key) + 1] if key in keys else ()


def _ways(subject: Subject, start: str) -> dict[str, tuple[str, ...]]:
    """For each file that a load maps, by the path that reports show: the chain that leads to it, as base names."""
    ways: dict[str, tuple[str, ...]] = {}
    at_load = (EdgeKind.IMPORT, EdgeKind.FORWARDER)
    for path, importer in subject.walk([start], lambda edge: edge.kind in at_load).items():
        ways[path] = (*ways.get(importer, ()), base(path))
    return {subject.origin(path): way for path, way in ways.items()}


def _importers(item: Finding) -> list[str]:
    """The files whose load fails because of what a finding says."""
    if found_by(item, debug_crt, broken_forwarders):
        return [item.subject]
    importer = item.evidence.get("importer")
    return [str(importer)] if importer else item.texts("needed_by")


def _code(item: Finding) -> int:
    if found_by(item, *_OTHER_SYMBOLS):
        symbols = item.evidence.get("symbols")
        return (
            INVALID_ORDINAL if isinstance(symbols, list) and symbols and isinstance(symbols[0], int) else PROC_NOT_FOUND
        )
    return BAD_EXE_FORMAT if found_by(item, *_NO_IMAGE) else MOD_NOT_FOUND


def _causes(outcome: LoadOutcome) -> frozenset[str]:
    """The file at which a load fails, and the one that asks for it: a finding is about one of the two."""
    return frozenset(dll_key(name) for name in outcome.chain[-2:])


@rule("WF308")
def depends_on_import_order(subject: Subject) -> Findings:
    """Find modules that fail in a fresh process and load once something else of the package is loaded."""
    failing = ((alone, outcome.event) for outcome in subject.outcomes if (alone := outcome.alone) and not alone.after)
    causes = grouped(((dll_key(alone.chain[-1]), alone.sure), (alone, event)) for alone, event in failing)
    for (_, sure), members in sorted(causes.items()):
        alone, first = members[0]
        names = [base(event.path) for _, event in members]
        cause, verb = alone.chain[-1], "it fails" if len(names) == 1 else "they fail"
        yield finding(
            "WF308",
            subject.origin(first.path),
            f"{listing(names)} {'loads' if len(names) == 1 else 'load'} only after other modules of the package: in a "
            f"fresh process {verb} with error {alone.code} ({arrow(alone.chain)}); "
            + (
                "the package's own code imports those first"
                if sure
                else "whether the package's code always imports those first could not be determined"
            ),
            hint=(
                f"add the folder of {cause} with os.add_dll_directory in the package's __init__.py, or put a copy of "
                f"{cause} beside {names[0]}"
            ),
            evidence={
                "modules": [event.module or base(event.path) for _, event in members],
                "code": alone.code,
                "chain": alone.chain,
                "certain": sure,
            },
            # Importing it is what loads a module: pywin32's axdebug needs axscript. A DLL needs code that is followed.
            severity=Severity.INFO if sure or is_pyd(cause) else Severity.UNSURE,
        )


@rule("WF327")
def imported_after_another_package(subject: Subject) -> Findings:
    """Find top-level packages that fail on their own, and load where another one of the wheel imports them."""
    for outcome in subject.outcomes:
        alone = outcome.alone
        if alone is None or not alone.after:
            continue
        package = (outcome.event.module or base(outcome.event.path)).partition(".")[0]
        yield finding(
            "WF327",
            subject.origin(outcome.event.path),
            f"'import {package}' fails with error {alone.code} ({arrow(alone.chain)}) unless {alone.after} was "
            f"imported before; {alone.after} prepares that, and imports {package} itself",
            hint=f"import {alone.after} first; or let {package} add the folder of {alone.chain[-1]} by itself",
            evidence={
                "module": outcome.event.module,
                "package": package,
                "after": alone.after,
                "code": alone.code,
                "chain": alone.chain,
            },
        )


CRASH = 1114
"""The error of a DLL whose initialisation fails."""


@frozen
class Clash:
    """A DLL with which an importer fails, if it is in the process first."""

    edge: Edge
    path: str
    """The DLL that comes first."""
    reason: str
    symbols: tuple[Symbol, ...] = ()


@rule("WF321")
def older_runtime_first(subject: Subject) -> Findings:
    """Find a runtime beside python.exe, or in the search before the right one, that crashes its user."""
    foreign = (edge for edge in subject.edges if edge.file in subject.foreign and subject.reached(edge.importer))
    clashes_by_path = grouped(
        (edge.file, clash) for edge in foreign if (clash := _old_runtime(subject, edge, edge.file))
    )
    for path, clashes in sorted(clashes_by_path.items()):
        where = "beside python.exe" if folder(path) in ("", BASE) else f"in {folder(path)}"
        yield finding(
            "WF321",
            subject.origin(path),
            f"{base(path)} {where} is found first, and {clashes[0].reason}",
            hint="install the current Visual C++ redistributable, and replace or remove that older copy",
            evidence={
                "needed_by": subject.origins(clash.edge.importer for clash in clashes),
                "runtime": str(subject.version(path)),
                "code": CRASH,
            },
        )


@rule("WF322")
def import_order(subject: Subject) -> Findings:
    """Import other distributions before this one in the model, where a DLL of theirs cannot stand in for its own."""
    beside = subject.view.beside
    if beside is None or canonical(subject.name) not in beside:
        return
    imports = (edge for edge in subject.edges if edge.is_import and subject.reached(edge.importer))
    twins = grouped((clash.path, clash) for edge in imports for clash in _clashes(subject, edge))
    if not twins:
        return
    orders = orders_of(beside, subject.profile)
    before = _asked_before(subject, beside)
    severity = Severity.WARNING if before is None else Severity.ERROR
    for path, clashes in sorted(twins.items()):
        alone = ((other,) for other in _importers_of(subject, beside, path))
        tried = alone if before is None else (before[: number + 1] for number in range(len(before)))
        states = ((names, orders.state(names)) for names in tried)
        first = next((names for names, state in states if state is not None and path in state.modules), None)
        failure = _failure_after(subject, orders, before or first, clashes) if first is not None else None
        if first is not None and failure is not None:
            yield _order_finding(subject, orders, first[-1], failure, severity)


_OrderFailure: TypeAlias = "tuple[tuple[Clash, ...], int, str, tuple[str, ...]]"
"""Why a distribution fails after others: what its loads get, the error, and the file whose load fails and its chain.

Without a file the process crashes later.
"""


def _failure_after(
    subject: Subject, orders: ImportOrders, before: tuple[str, ...], clashes: list[Clash]
) -> _OrderFailure | None:
    """How the subject fails after others because of some DLLs of theirs; None if it works."""
    tried = orders.after(before, canonical(subject.name))
    got = {(edge.importer, edge.file) for edge in tried.edges if edge.file}
    met = tuple(clash for clash in clashes if (clash.edge.importer, clash.path) in got)
    paths = {clash.path for clash in met}
    for loaded in tried.failed:
        if loaded.failure is not None and paths.intersection(loaded.failure.chain):
            chain = tuple(map(base, loaded.failure.chain))
            chain = chain if chain[0] == base(loaded.event.path) else (base(loaded.event.path), *chain)
            return met, loaded.failure.code, loaded.event.path, chain
    crashes = tuple(clash for clash in met if not clash.symbols)
    return (crashes, CRASH, "", ()) if crashes else None


def _order_finding(
    subject: Subject, orders: ImportOrders, other: str, failure: _OrderFailure, severity: Severity
) -> Finding:
    clashes, code, load, chain = failure
    name, clash = subject.name or "this package", clashes[0]
    owner, file = subject.owner(clash.path), base(clash.path)
    users = distinct(base(one.edge.importer) for one in clashes)
    works = not orders.after((canonical(name),), other).failed
    text = f"importing {other} before {name} fails"
    text += f", importing {name} before {other} works" if works else f", and so does {other} after {name}"
    text += f": {file} of {owner} is then used by {listing(users)}, and {clash.reason}"
    return finding(
        "WF322",
        subject.origin(clash.path),
        text,
        hint=f"import {name} first, or make both use one {file}" if works else f"make both use one {file}",
        evidence={
            "fails": [other, name],
            "works": [name, other] if works else [],
            "importer": subject.origin(clash.edge.importer),
            "needed_by": subject.origins(one.edge.importer for one in clashes),
            "symbols": clash.symbols,
            "code": code,
            "load": subject.origin(load) if load else "",
            "chain": chain,
        },
        severity=severity,
    )


def _importers_of(subject: Subject, beside: InstalledSet, path: str) -> list[str]:
    """The distributions whose import may load a DLL of the set: its own, and those that require it."""
    owner, own = subject.owner(path), canonical(subject.name)
    requiring = [name for name in beside if owner in beside.required_by(name, subject.profile)]
    return [name for name in dict.fromkeys([owner, *sorted(requiring)]) if name not in ("", own)]


def _asked_before(subject: Subject, beside: InstalledSet) -> tuple[str, ...] | None:
    """The distributions before this one in the order that was asked about; None where it does not name this one."""
    order = []
    for name in subject.options.import_order:
        known = canonical(name) in beside
        order.append(canonical(name) if known else beside.owner_of_module(name.replace("-", "_")))
    own = canonical(subject.name)
    return tuple(name for name in order[: order.index(own)] if name) if own in order else None


def _clashes(subject: Subject, edge: Edge) -> Iterator[Clash]:
    """The files of that name which another distribution loads, and with which the importer fails."""
    own = edge.file
    if not own and not isinstance(edge.provider, VcRedist):
        return
    for path in subject.view.named(dll_key(edge.name)):
        other = subject.owner(path)
        if path == own or not other or other == subject.owner(own):
            continue
        old = _old_runtime(subject, edge, path)
        if old is not None:
            yield old
            continue
        twin, importer = subject.view.image(path), subject.view.image(edge.importer)
        if isinstance(twin, Image) and isinstance(importer, Image) and runs_on(twin.machine, subject.machine):
            absent = tuple(symbol for symbol in importer.symbols_from(edge.name) if not twin.exports.offers(symbol))
            if absent:
                shown = listing([str(symbol) for symbol in absent])
                yield Clash(edge, path, f"it does not export {shown}: error 127", absent)


def _old_runtime(subject: Subject, edge: Edge, path: str) -> Clash | None:
    """An msvcp140.dll without the mutex that a DLL was compiled for."""
    importer = subject.view.image(edge.importer)
    if key_of(path) != "msvcp140.dll" or not isinstance(importer, Image):
        return None
    if not locks_unconstructed_mutex(importer) or runtime_file(key_of(edge.importer)) is not None:
        return None
    version = subject.version(path)
    if version is None or version.file[:2] >= CONSTEXPR_MUTEX or version.file[0] != CONSTEXPR_MUTEX[0]:
        return None
    own, wanted = dotted(version.file[:2]), dotted(CONSTEXPR_MUTEX)
    crash = "error 1114" if subject.startup is not None else "the process crashes when it locks a std::mutex"
    return Clash(edge, path, f"it is {own}, while {base(edge.importer)} needs {wanted} or later: {crash}")


def failure_of_order(subject: Subject, findings: Iterable[Finding]) -> LoadOutcome | None:
    """The load that fails because of what is in the process before it, where an error says so."""
    for item in findings:
        if item.severity is not Severity.ERROR or not found_by(item, older_runtime_first, import_order):
            continue
        code, load = item.evidence.get("code"), item.evidence.get("load")
        crashed = item.texts("needed_by") if code == CRASH and subject.startup is not None else ()
        for outcome in subject.outcomes:
            origin = subject.origin(outcome.event.path)
            if load and origin == load and isinstance(code, int):
                return LoadOutcome(outcome.event, code, tuple(item.texts("chain")), item.message)
            if origin in crashed:
                steps = (base(outcome.event.path), base(item.subject.replace("\\", "/")))
                return LoadOutcome(outcome.event, CRASH, steps, item.message)
    return None

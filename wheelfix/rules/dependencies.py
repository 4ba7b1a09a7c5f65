"""WF301 to WF305, WF310 and WF311: DLLs without a provider, out of reach, or without what is wanted from them.

Needs are gathered by the DLL they ask for: one file that is absent is one thing to fix, however many files need it.
:func:`judge` is the last step of the decision that ``loader/evidence.py`` describes: a missing DLL is an error if an
import that nothing catches reaches it.
"""

from __future__ import annotations

import fnmatch
import functools
from typing import TYPE_CHECKING

from wheelfix.base.values import distinct, frozen, grouped, replace
from wheelfix.knowledge.families import family_of, is_mangled
from wheelfix.knowledge.providers import owners_of
from wheelfix.knowledge.system import is_debug_python, python_of
from wheelfix.loader.followed import followed_imports
from wheelfix.loader.loading import runs_on
from wheelfix.loader.packagecode import toolkit_code
from wheelfix.loader.packageloading import module_name
from wheelfix.loader.requirements import requirements
from wheelfix.loader.view import is_pyd
from wheelfix.model import (
    Edge,
    EdgeKind,
    Finding,
    Image,
    Missing,
    PythonRuntime,
    Repairable,
    Severity,
    canonical,
    dll_key,
    spelled,
)
from wheelfix.rules.abi import for_another_python, newer_stable_abi
from wheelfix.rules.context import Subject, base, folder, inside, key_of
from wheelfix.rules.hints import repair_command, where_from
from wheelfix.rules.pe import is_debug_crt
from wheelfix.rules.registry import Findings, error_if, finding, rule
from wheelfix.rules.wording import arrow, listing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


_STRONGEST_FIRST = {EdgeKind.IMPORT: 0, EdgeKind.FORWARDER: 1, EdgeKind.DELAY: 2, EdgeKind.COMPANION: 3}


@frozen
class Need:
    """One DLL, with everyone who asks for it."""

    name: str
    """As spelled by the first who asks."""
    edges: tuple[Edge, ...] = ()
    """The strongest kind of need first, then those that count, then by importer."""
    reached: bool = True
    """Whether a file that asks for it is loaded by the package itself."""
    other_names: tuple[str, ...] = ()
    """Further DLLs that would do, the best first."""
    patterns: tuple[str, ...] = ()
    """Patterns of names that would do."""

    @property
    def names(self) -> tuple[str, ...]:
        """The DLLs that would do, the best first; empty where only patterns of names are known."""
        return () if self.name in self.patterns else (self.name, *self.other_names)

    @property
    def first(self) -> Edge:
        """The edge that stands for all."""
        return self.edges[0]

    @property
    def kind(self) -> EdgeKind:
        """The strongest way in which it is asked for."""
        return self.first.kind

    @property
    def importers(self) -> tuple[str, ...]:
        """View paths of those who ask."""
        return distinct(edge.importer for edge in self.edges)

    @property
    def importer_names(self) -> tuple[str, ...]:
        """Base names of those who ask."""
        return distinct(base(edge.importer) for edge in self.edges)

    @property
    def missing(self) -> Missing:
        """What all edges without a provider say about that; the places are those that were searched for the first."""
        found = [edge.provider for edge in self.edges if isinstance(edge.provider, Missing)] or [Missing()]
        fields = ("present_at", "required", "absent", "optional")
        texts = {name: dict.fromkeys(text for one in found for text in getattr(one, name)) for name in fields}
        deleted = next((one.deleted for one in found if one.deleted), "")
        return replace(found[0], deleted=deleted, **{name: tuple(known) for name, known in texts.items()})

    @property
    def present_at(self) -> tuple[str, ...]:
        """Files of that name where the loader does not look."""
        return self.missing.present_at


def gather(edges: Iterable[Edge], counts: Callable[[Edge], bool]) -> tuple[Need, ...]:
    """Group edges by the DLL that they ask for; among edges of one kind those that count come first."""
    needs = []
    for _, group in sorted(grouped((dll_key(edge.name), edge) for edge in edges).items()):
        group.sort(key=lambda edge: (_STRONGEST_FIRST[edge.kind], not counts(edge), edge.importer))
        needs.append(Need(group[0].name, tuple(group), any(map(counts, group))))
    return tuple(needs)


def needs(subject: Subject, edges: Iterable[Edge]) -> tuple[Need, ...]:
    """Gather edges of the subject's own files, and of missing DLLs, by the DLL they ask for."""
    own = (edge for edge in edges if subject.concerns(edge.importer) or is_absent(subject, edge.importer))
    return gather(own, functools.partial(counts, subject))


def missing(subject: Subject, kind: EdgeKind) -> tuple[Need, ...]:
    """Return the unmet needs of one kind."""
    return needs(subject, (edge for edge in subject.edges if edge.kind is kind and edge.is_missing))


def is_absent(subject: Subject, importer: str) -> bool:
    """Whether an edge starts at a DLL that is itself missing: it has a name then, and no place in the view."""
    return "/" not in importer and importer not in subject.view


def counts(subject: Subject, edge: Edge) -> bool:
    """Whether the package itself gets to the need: its importer is loaded, or would be if it were there."""
    if not is_absent(subject, edge.importer):
        return subject.reached(edge.importer)
    return dll_key(edge.importer) in subject.wanted


@frozen
class Judgement:
    """How bad it is that a DLL is missing, or why the package works although DLLs fail to load."""

    text: str
    """What happens, as the end of a sentence."""
    severity: Severity = Severity.INFO
    """A warning where users may expect something to work that does not."""


def judge(subject: Subject, need: Need, usable: Sequence[str]) -> Judgement:
    """Say what a missing DLL means; ``usable`` are files of that name where the loader does not look."""
    if deleted := need.missing.deleted:
        text = f"RECORD lists {deleted}, and the wheel does not have it"
        return Judgement(f"{text}; {consequence(subject, need)}" if need.reached else text, Severity.ERROR)
    excuse = excuse_of(subject, need)
    if (excuse is not None or not need.reached) and not usable and is_mangled(need.name):
        return Judgement("delvewheel made this name for the wheel, so that nothing else has the file", Severity.ERROR)
    if excuse is not None:
        return excuse
    text = consequence(subject, need)
    if not need.reached:
        return Judgement(text, Severity.WARNING)
    doubt = _doubt_about_place(subject, usable) if usable else _doubt_about_absence(subject, need)
    return Judgement(f"{text}; unless {doubt}", Severity.UNSURE) if doubt else Judgement(text, Severity.ERROR)


def _doubt_about_place(subject: Subject, usable: Sequence[str]) -> str:
    """What may make the loader look where a DLL is: only code that was seen and could not be read to the end."""
    if code := subject.unread_code(adding=True):
        return f"{code} adds that folder, which could not be determined"
    if code := subject.unread_code(adding=False):
        return f"{code} loads it first, which could not be determined"
    module = next((path for path in usable if is_pyd(path) and subject.owner(path)), "")
    if module:  # clingo's own code imports the module that clingo-lpx needs, in the handler of a failed import
        return f"the code of {subject.owner(module)} imports it first, which could not be determined"
    owner = _folder_owner(subject, usable)
    return f"the code of {owner}, which is required and not here, adds that folder" if owner else ""


def _doubt_about_absence(subject: Subject, need: Need) -> str:
    """Who may provide a DLL that no file of the view has."""
    if toolkit := toolkit_searched(subject, need):
        return toolkit
    if need.missing.optional and not need.missing.absent:
        return "nothing uses that part of the package, which is optional"
    return ""


def toolkit_searched(subject: Subject, need: Need) -> str:
    """What makes a DLL of CUDA available on a machine that has the toolkit, as the package's own code has it."""
    if subject.profile.bare or family_of(need.name).group not in ("cuda", "cudnn"):
        return ""
    if subject.loading.package:
        return subject.loading.unless
    if code := subject.unread_code(adding=True):
        return f"a folder that {code} adds has it, which is not known"
    followed = followed_imports(subject.view, subject.profile)
    adds = any(followed.runs(path) for path in toolkit_code(subject.view))
    return "an installed toolkit has it, whose folder the package's code adds to the search" if adds else ""


def _folder_owner(subject: Subject, paths: Iterable[str]) -> str:
    """Return the required distribution whose ``.libs`` folder has one of these files; empty if its code is here.

    A wheel that was repaired together with another has DLLs in the folder that the code of the other adds.
    """
    folders = (base(folder(path)) for path in paths)
    owners = [canonical(name.removesuffix(".libs")) for name in folders if name.endswith(".libs")]
    required = requirements(subject.distribution.requires, subject.profile)
    beside = subject.view.beside
    return next((name for name in owners if name in required and (beside is None or name not in beside)), "")


def consequence(subject: Subject, need: Need) -> str:
    """Return what fails without a DLL."""
    if not need.reached:
        them = "that file" if len(need.importer_names) == 1 else "those files"
        later = dict(subject.loading.later)
        when = [known for path in need.importers if (known := later.get(path))]
        if when and len(when) == len(need.importers):
            toolkit = toolkit_searched(subject, need)
            text = f"the package loads {them} {listing(distinct(when))}, which fails with error 126"
            return f"{text}; unless {toolkit}" if toolkit else text
        return f"nothing in the wheel is known to load {them}; a load fails with error 126"
    chain: Sequence[str] = subject.chain(need.first.importer, need.name)
    way = f" ({arrow(chain)})" if len(chain) > 2 else ""
    return f"loading {chain[0]} fails with error 126{way}"


def excuse_of(subject: Subject, need: Need) -> Judgement | None:
    """Return why the package works without those who ask for a DLL, or None if that is not known."""
    loaded = [edge for edge in need.edges if subject.reached(edge.importer)]
    if loaded:
        return (
            _backend_excuse(subject, loaded)
            or _not_imported(subject, need, loaded)
            or _imported_by_name(subject, loaded)
        )
    if all(edge.importer in subject.caught for edge in need.edges):
        text = "the package's code catches the error and continues"
        if _some_module_loads(subject):
            return Judgement(text)
        return Judgement(f"{text}, without any of its extension modules", Severity.WARNING)
    if all(_is_qt_plugin(subject, edge.importer) for edge in need.edges):
        # PySide6 has plugins for parts of Qt in other wheels, and drivers of databases whose clients users install.
        drivers = all("/sqldrivers/" in path.lower() for path in need.importers)
        by_design = drivers or dll_key(need.name).startswith("qt")
        severity = Severity.INFO if by_design else Severity.WARNING
        return Judgement("Qt skips plugins that cannot be loaded", severity)
    parents = [_optional_for(subject, edge.importer) for edge in need.edges]
    if all(parents):
        return Judgement(f"{parents[0]} loads {need.importer_names[0]} only if it can")
    return None


def _some_module_loads(subject: Subject) -> bool:
    """Whether not every extension module fails; pymongoarrow has one, and only warns where that does."""
    modules = [outcome for outcome in subject.outcomes if outcome.event.cause == "extension"]
    return not modules or any(not outcome.code for outcome in modules)


def _backend_excuse(subject: Subject, loaded: Sequence[Edge]) -> Judgement | None:
    """Return that other files do the same work as those that fail, if there are such files."""
    if not all(map(subject.other_backends, loaded)):
        return None
    failed = {base(outcome.event.path) for outcome in subject.failures}
    working = next((name for name in subject.other_backends(loaded[0]) if name not in failed), "")
    if working:
        return Judgement(f"it is for one of several backends, and {working} loads")
    return Judgement("it is for one of several backends, of which none loads", Severity.WARNING)


def _not_imported(subject: Subject, need: Need, loaded: Sequence[Edge]) -> Judgement | None:
    """Return that modules which no Python file names need a package that is not required, if that is so.

    Such a module is for people who have that package: NVIDIA's cuda.core has one for torch, daal4py one for MPI.
    A public one counts only if the package's code imports others of its modules: else users import them by name.
    """
    modules = [edge.importer for edge in loaded]
    names = {base(path).partition(".")[0] for path in modules if path.endswith(".pyd")}
    owners = owners_of(need.name) if len(names) == len({*map(base, modules)}) else ()
    if not owners or names & subject.words:
        return None
    others = {base(path).partition(".")[0] for path in subject.images if path.endswith(".pyd")} - names
    private = all(name.startswith("_") for name in names) and any(owner.preloads for owner in owners)
    if not private and not others & subject.words:
        return None
    shipper = owners[0].distribution
    text = f"no Python file of the package imports it, and {shipper}, which has it, is not required"
    return Judgement(text, Severity.WARNING)


def _imported_by_name(subject: Subject, loaded: Sequence[Edge]) -> Judgement | None:
    """Return that the package's code imports these modules by names that it computes, and does without them."""
    modules = {module_name(edge.importer) for edge in loaded if edge.importer.endswith(".pyd")}
    if len(modules) < len({edge.importer for edge in loaded}) or modules - subject.caught_by_name:
        return None
    text = "the package's code imports its modules by computed names, and continues without one that fails"
    return Judgement(text, Severity.WARNING)


def _is_qt_plugin(subject: Subject, path: str) -> bool:
    """Whether a DLL lies where Qt looks for plugins, in a package that brings Qt."""
    folders = path.lower().split("/")[:-1]
    return subject.has_qt and ("plugins" in folders or "qml" in folders)


def _optional_for(subject: Subject, path: str) -> str:
    """Return the DLL that loads this one by name if it can, according to the table of companions."""
    for glob, parent in subject.optional_companions.items():
        if fnmatch.fnmatchcase(key_of(path), glob):
            return parent
    return ""


def is_required(subject: Subject, edges: Sequence[Edge]) -> bool:
    """Whether something fails without a DLL that these edges ask for, as far as is known."""
    required = [edge for edge in edges if edge.required]
    others = [edge for edge in required if not edge.is_import]
    if others:
        return not is_for_excused(subject, others)
    excuses = [excuse_of(subject, need) for need in needs(subject, required)]
    return (
        any(excuse is None or excuse.severity is Severity.WARNING for excuse in excuses) if excuses else bool(required)
    )


def is_for_excused(subject: Subject, edges: Sequence[Edge]) -> bool:
    """Whether all who ask are DLLs that are missing themselves, and that the package works without."""
    if not all(is_absent(subject, edge.importer) for edge in edges):
        return False
    names = {dll_key(edge.importer) for edge in edges}
    askers = [edge for edge in subject.edges if edge.is_import and edge.is_missing and dll_key(edge.name) in names]
    return bool(askers) and not is_required(subject, askers)


def evidence_of(subject: Subject, need: Need) -> dict[str, object]:
    """Return what every finding about an unmet need has as evidence."""
    return {
        "needed_by": subject.origins(edge.importer for edge in need.edges),
        "chain": subject.chain(need.first.importer, need.name),
        "searched": need.missing.searched,
        "present_at": subject.origins(need.present_at),
        "loaded": need.reached,
        "step": "record" if need.missing.deleted else "missing",
    }


# ------------------------------------------------------------------------------------------------------- the rules


@rule("WF301", "WF305")
def missing_imports(subject: Subject) -> Findings:
    """Find imports without a provider: error 126."""
    for need in missing(subject, EdgeKind.IMPORT):
        if (is_debug_crt(need.name) or is_debug_python(need.name)) and not need.reached:
            continue  # WF205 says it better: the debug twin of a DLL, which nothing loads
        if python_of(need.name) is not None and for_another_python(subject):
            continue  # WF401 says that of the whole distribution
        usable = [path for path in need.present_at if not _objection(subject, need, path)]
        judged = judge(subject, need, usable)
        yield _out_of_reach(subject, need, judged, usable[0]) if usable else _missing_import(subject, need, judged)


def _out_of_reach(subject: Subject, need: Need, judged: Judgement, path: str) -> Finding:
    own = path in subject.images
    where = "in the wheel" if own else f"at {subject.origin(path)}"
    copying, place = repair_command(subject), folder(need.first.importer)
    if not own and not subject.installed:  # a repair of a wheel does not see the wheels that were beside it
        copying = f"{repair_command(subject, f'--include {need.name} --root FILE')} with the wheel that has it"
    if subject.startup is not None and place.startswith(folder(subject.startup.lib)):
        place = subject.startup.lib
    # A repair copies only what is needed for certain: a second copy of a DLL that is found would be loaded beside it.
    unread = subject.unread_code(adding=True)
    copied = not own or (need.reached and (judged.severity is Severity.ERROR or not unread))
    does = f"{copying} puts" if copied else "put"
    hint = f"{does} a copy beside {need.importer_names[0]}, into {inside(place)}"
    if not all(importer.lower().endswith(".exe") for importer in need.importers):  # these are processes of their own
        hint += "; or add the folder with os.add_dll_directory before the import"
    return finding(
        "WF305",
        subject.origin(path),
        f"{need.name} is {where}, but {listing(need.importer_names)} will not find it there; {judged.text}",
        hint=hint,
        evidence=evidence_of(subject, need),
        severity=judged.severity,
        repairable=Repairable.SOMETIMES if not own else Repairable.ALWAYS if copied else Repairable.NEVER,
    )


def _missing_import(subject: Subject, need: Need, judged: Judgement) -> Finding:
    text = "; ".join([judged.text, *need.missing.required[:3]])
    copies = [f"{subject.origin(path)} ({_objection(subject, need, path)})" for path in need.present_at]
    return finding(
        "WF301",
        need.name,
        f"{need.name}, imported by {listing(need.importer_names)}, is missing; {text}"
        + (f"; not usable: {listing(copies)}" if copies else ""),
        hint=where_from(need.name, subject, deleted=need.missing.deleted),
        evidence={**evidence_of(subject, need), "consequence": text},
        severity=judged.severity,
    )


def _objection(subject: Subject, need: Need, path: str) -> str:
    """Why a file of the right name would not do even in the right place, or nothing."""
    image = subject.view.image(path)
    if not isinstance(image, Image):
        return "not a valid DLL"
    if not image.managed and not runs_on(image.machine, subject.machine):
        return f"built for {image.machine}"
    importers = (subject.images[path] for path in need.importers if path in subject.images)
    asked = {symbol for importer in importers for symbol in importer.symbols_from(need.name)}
    absent = [symbol for symbol in asked if not image.exports.offers(symbol)]
    return f"without {listing(sorted(map(str, absent)), 1)}" if absent else ""


@rule("WF302", "WF303")
def missing_companions(subject: Subject) -> Findings:
    """Find missing DLLs that others load by name, so that no import table shows them."""
    groups: dict[tuple[bool, Severity, tuple[str, ...]], list[Need]] = {}
    for need in missing(subject, EdgeKind.COMPANION):
        edges = [edge for edge in need.edges if edge.required] or [*need.edges]
        required, absent = edges[0].required, all(is_absent(subject, edge.importer) for edge in edges)
        severity = Severity.INFO if not required or is_for_excused(subject, edges) else Severity.ERROR
        if severity is Severity.ERROR and (
            subject.loading.works_on_cpu or not any(counts(subject, edge) for edge in edges)
        ):
            severity = Severity.WARNING
        if severity is Severity.ERROR and absent and toolkit_searched(subject, need):
            severity = Severity.UNSURE  # whether those who load it are missing is not certain either
        parents = distinct(_parent(subject, edge) for edge in edges)
        # A DLL that files of the wheel need gets its own finding; all that a missing DLL would need goes into one.
        together = not required or absent
        key = (required, severity, parents if together else (*parents, need.name))
        groups.setdefault(key, []).append(replace(need, edges=tuple(edges)))
    for (required, severity, _), needs_of_one in groups.items():
        yield _companion_finding(subject, needs_of_one, required, severity)


def _companion_finding(subject: Subject, group: list[Need], required: bool, severity: Severity) -> Finding:
    first = group[0]
    names = [need.name for need in group]
    parents = distinct(_parent(subject, edge) for edge in first.edges)
    verb, are = ("loads" if len(parents) == 1 else "load"), ("is" if len(group) == 1 else "are")
    how = "at run time" if required else f"if {'it is' if len(group) == 1 else 'they are'} there"
    place = f"; a copy lies at {subject.origin(first.present_at[0])}, where it is not found" if first.present_at else ""
    reason = "; ".join(distinct(filter(None, (need.first.because for need in group)))[:3])
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
            "names": names,
            "reason": reason,
            "consequence": reason,
            "source": first.first.source,
        },
        severity=severity,
    )


def _parent(subject: Subject, edge: Edge) -> str:
    return f"{edge.importer} (itself missing)" if is_absent(subject, edge.importer) else base(edge.importer)


@rule("WF304")
def missing_delay_loads(subject: Subject) -> Findings:
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
            severity=error_if(wanted),
        )


@rule("WF310")
def unexported(subject: Subject) -> Findings:
    """Find imports whose DLL is there and does not export what is wanted: error 127 or 182."""
    for edge in subject.edges:
        if edge.kind is not EdgeKind.IMPORT or not edge.unexported or not subject.concerns(edge.importer):
            continue
        loaded, own = subject.reached(edge.importer), edge.file
        importer, provider = base(edge.importer), base(own) or edge.name
        consequence = f"loading {importer} fails with error {182 if isinstance(edge.unexported[0], int) else 127}"
        unknown = newer_stable_abi(subject) if isinstance(edge.provider, PythonRuntime) else ""
        if unknown:
            consequence = f"could not tell: {unknown}"
        yield finding(
            "WF310",
            subject.origin(own) if own else edge.name,
            f"{importer} imports {listing([*map(spelled, edge.unexported)])} from {provider}, which does not export "
            f"{'it' if len(edge.unexported) == 1 else 'them'}; {consequence}",
            hint=(
                f"they are of different versions: take {provider} from the build that {importer} was linked against"
                if own
                else f"build {importer} with the headers of the Python that the wheel is tagged for"
            ),
            evidence={
                "importer": subject.origin(edge.importer),
                "symbols": edge.unexported,
                "kind": edge.kind.value,
                "loaded": loaded,
            },
            severity=Severity.UNSURE if loaded and unknown else error_if(loaded),
        )


@rule("WF311")
def broken_forwarders(subject: Subject) -> Findings:
    """Find stubs without the DLL they stand for."""
    for edge in subject.edges:
        if edge.kind is not EdgeKind.FORWARDER or not subject.concerns(edge.importer) or not edge.broken:
            continue
        stub = base(edge.importer)
        loaded = subject.reached(edge.importer)
        absent = not edge.file
        fault = "which is missing" if absent else f"which does not export {listing([*map(spelled, edge.unexported)])}"
        yield finding(
            "WF311",
            subject.origin(edge.importer),
            f"{stub} is a stub that forwards calls to {edge.name}, {fault}; a file that imports them from {stub} "
            "fails with error 127",
            hint=where_from(edge.name, subject) if absent else f"take {stub} and {edge.name} from the same release",
            evidence={
                "target": edge.name,
                "forwarder": edge.because,
                "symbols": edge.unexported,
                "searched": [*edge.provider.searched] if isinstance(edge.provider, Missing) else [],
                "loaded": loaded,
            },
            severity=error_if(loaded),
        )

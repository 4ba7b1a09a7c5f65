"""The unmet needs of a subject, gathered by the DLL they ask for, and how bad each is.

One file that is absent is one thing to fix, however many files need it. :func:`judge` is the last step of the decision
that ``loader/evidence.py`` describes: a missing DLL is an error if an import that nothing catches reaches it.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.exam.needs import Need, gather
from wheelfix.knowledge.families import family_of, is_mangled
from wheelfix.knowledge.providers import owners_of
from wheelfix.loader.extensionmodules import module_name
from wheelfix.loader.requirements import Requirements
from wheelfix.model import Edge, EdgeKind, Json, Missing, Severity, canonical, dll_key
from wheelfix.rules.context import Subject, base, folder
from wheelfix.rules.wording import arrow, listing, strings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def needs(subject: Subject, edges: Iterable[Edge]) -> tuple[Need, ...]:
    """Gather edges of the subject's own files, and of missing DLLs, by the DLL they ask for."""
    own = (edge for edge in edges if subject.concerns(edge.importer) or is_absent(subject, edge.importer))
    return gather(own, functools.partial(counts, subject))


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


def is_absent(subject: Subject, importer: str) -> bool:
    """Whether an edge starts at a DLL that is itself missing: it has a name then, and no place in the view."""
    return "/" not in importer and importer not in subject.view


def counts(subject: Subject, edge: Edge) -> bool:
    """Whether the package itself gets to the need: its importer is loaded, or would be if it were there."""
    if not is_absent(subject, edge.importer):
        return subject.reached(edge.importer)
    return dll_key(edge.importer) in subject.wanted


@dataclass(frozen=True, slots=True)
class Judgement:
    """How bad it is that a DLL is missing."""

    severity: Severity
    text: str
    """What happens, as the end of a sentence."""


def judge(subject: Subject, need: Need, usable: Sequence[str]) -> Judgement:
    """Say what a missing DLL means; ``usable`` are files of that name where the loader does not look."""
    if need.deleted:
        text = f"RECORD lists {need.deleted}, and the wheel does not have it"
        return Judgement(Severity.ERROR, f"{text}; {consequence(subject, need)}" if need.reached else text)
    excuse = excuse_of(subject, need)
    if (excuse is not None or not need.reached) and not usable and is_mangled(need.name):
        return Judgement(Severity.ERROR, "delvewheel made this name for the wheel, so that nothing else has the file")
    if excuse is not None:
        return Judgement(Severity.INFO if excuse.complete else Severity.WARNING, excuse.text)
    text = consequence(subject, need)
    if not need.reached:
        return Judgement(Severity.WARNING, text)
    if usable and _names_folder(subject.unread_code, usable):
        return Judgement(
            Severity.INFO, f"{text}; unless {subject.whose_code(adding=True)} adds that folder, which it names"
        )
    doubt = _doubt_about_place(subject, usable) if usable else _doubt_about_absence(subject, need)
    return Judgement(Severity.UNSURE if doubt else Severity.ERROR, f"{text}; unless {doubt}" if doubt else text)


def _names_folder(sources: Iterable[str], paths: Iterable[str]) -> bool:
    """Whether code spells the name of the folder of one of these files."""
    names = {base(folder(path)) for path in paths}
    # Between the quotes and slashes of a source stand the parts of its paths; its first and last part are outside.
    return any(not names.isdisjoint(re.split(r"""['"/\\]""", source)[1:-1]) for source in sources)


def _doubt_about_place(subject: Subject, usable: Sequence[str]) -> str:
    """What may make the loader look where a DLL is: only code that was seen and could not be read to the end."""
    if subject.unread_code:
        return f"{subject.whose_code(adding=True)} adds that folder, which could not be determined"
    if subject.loads_unread:
        return f"{subject.whose_code(adding=False)} loads it first, which could not be determined"
    module = next((path for path in usable if path.lower().endswith(".pyd") and subject.owner(path)), "")
    if module:  # clingo's own code imports the module that clingo-lpx needs, in the handler of a failed import
        return f"the code of {subject.owner(module)} imports it first, which could not be determined"
    owner = _folder_owner(subject, usable)
    return f"the code of {owner}, which is required and not here, adds that folder" if owner else ""


def _doubt_about_absence(subject: Subject, need: Need) -> str:
    """Who may provide a DLL that no file of the view has."""
    if toolkit := toolkit_searched(subject, need):
        return toolkit
    if need.optional and not need.absent:
        return "nothing uses that part of the package, which is optional"
    return ""


def toolkit_searched(subject: Subject, need: Need) -> str:
    """What makes a DLL of CUDA available on a machine that has the toolkit, as the package's own code has it."""
    member = family_of(need.name)
    if member is None or member.family.group not in ("cuda", "cudnn"):
        return ""
    if subject.loading is None and subject.unread_code:
        return f"a folder that {subject.whose_code(adding=True)} adds has it, which is not known"
    return subject.loading.unless if subject.loading is not None else ""


def _folder_owner(subject: Subject, paths: Iterable[str]) -> str:
    """Return the required distribution whose ``.libs`` folder has one of these files; empty if its code is here.

    A wheel that was repaired together with another has DLLs in the folder that the code of the other adds.
    """
    folders = (base(folder(path)) for path in paths)
    owners = [canonical(name.removesuffix(".libs")) for name in folders if name.endswith(".libs")]
    required = Requirements(subject.distribution.requires, subject.profile)
    beside = subject.view.beside
    return next((name for name in owners if name in required and (beside is None or name not in beside)), "")


def consequence(subject: Subject, need: Need) -> str:
    """Return what fails without a DLL."""
    if not need.reached:
        them = "that file" if len(need.importer_names) == 1 else "those files"
        when = [known for path in need.importers if (known := subject.loaded_later.get(path))]
        if when and len(when) == len(need.importers):
            toolkit = toolkit_searched(subject, need)
            text = f"the package loads {them} {listing([*dict.fromkeys(when)])}, which fails with error 126"
            return f"{text}; unless {toolkit}" if toolkit else text
        return f"nothing in the wheel is known to load {them}; a load fails with error 126"
    chain: Sequence[str] = subject.chain(need.first.importer, need.name)
    way = f" ({arrow(chain)})" if len(chain) > 2 else ""
    return f"loading {chain[0]} fails with error 126{way}"


@dataclass(frozen=True, slots=True)
class Excuse:
    """Why the package works although DLLs fail to load."""

    text: str
    """What happens instead, as the end of a sentence."""
    complete: bool = True
    """Whether only what the DLL itself does is lost; False where users may expect something to work that does not."""


def excuse_of(subject: Subject, need: Need) -> Excuse | None:
    """Return why the package works without those who ask for a DLL, or None if that is not known."""
    loaded = [edge for edge in need.edges if subject.reached(edge.importer)]
    if loaded:
        return (
            _backend_excuse(subject, loaded)
            or _not_imported(subject, need, loaded)
            or _imported_by_name(subject, loaded)
        )
    if all(edge.importer in subject.caught for edge in need.edges):
        without = "" if _some_module_loads(subject) else ", without any of its extension modules"
        return Excuse(f"the package's code catches the error and continues{without}", complete=not without)
    if all(_is_qt_plugin(subject, edge.importer) for edge in need.edges):
        return Excuse("Qt skips plugins that cannot be loaded")
    parents = [_optional_for(subject, edge.importer) for edge in need.edges]
    if all(parents):
        return Excuse(f"{parents[0]} loads {need.importer_names[0]} only if it can")
    return None


def _some_module_loads(subject: Subject) -> bool:
    """Whether not every extension module fails; pymongoarrow has one, and only warns where that does."""
    modules = [outcome for outcome in subject.resolution.outcomes if outcome.event.cause == "extension"]
    return not modules or any(not outcome.code for outcome in modules)


def _backend_excuse(subject: Subject, loaded: Sequence[Edge]) -> Excuse | None:
    """Return that other files do the same work as those that fail, if there are such files."""
    if not all(subject.backends.has_other(edge) for edge in loaded):
        return None
    failed = {base(outcome.event.path) for outcome in subject.failures}
    others = [name for name in subject.backends.others(loaded[0]) if name not in failed]
    if others:
        return Excuse(f"it is for one of several backends, and {others[0]} loads")
    return Excuse("it is for one of several backends, of which none loads", complete=False)


def _not_imported(subject: Subject, need: Need, loaded: Sequence[Edge]) -> Excuse | None:
    """Return that modules which no Python file names need a package that is not required, if that is so.

    Such a module is for people who have that package: NVIDIA's cuda.core has one for torch, daal4py one for MPI.
    A public one counts only if the package's code imports others of its modules: else users import them by name.
    """
    modules = [edge.importer for edge in loaded]
    names = {base(path).partition(".")[0] for path in modules if path.endswith(".pyd")}
    owners = owners_of(need.name) if len(names) == len({*map(base, modules)}) else ()
    if not owners or any(is_named(subject, name) for name in names):
        return None
    others = {base(path).partition(".")[0] for path in subject.images if path.endswith(".pyd")} - names
    private = all(name.startswith("_") for name in names) and any(owner.preloads for owner in owners)
    if not private and not any(is_named(subject, name) for name in others):
        return None
    shippers = [owner.distribution for owner in owners]
    return Excuse(f"no Python file of the package imports it, and {shippers[0]}, which has it, is not required", False)


def _imported_by_name(subject: Subject, loaded: Sequence[Edge]) -> Excuse | None:
    """Return that the package's code imports these modules by names that it computes, and does without them."""
    modules = {module_name(edge.importer) for edge in loaded if edge.importer.endswith(".pyd")}
    if len(modules) < len({edge.importer for edge in loaded}) or modules - subject.caught_by_name:
        return None
    return Excuse(
        "the package's code imports its modules by computed names, and continues without one that fails", False
    )


def is_named(subject: Subject, module: str) -> bool:
    """Whether some Python file of the subject has the name of a module as a word."""
    spelled = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(module)}(?![A-Za-z0-9_])")
    return any(module in source and spelled.search(source) for source in subject.sources)


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


def is_required(subject: Subject, edges: Sequence[Edge]) -> bool:
    """Whether something fails without a DLL that these edges ask for, as far as is known."""
    required = [edge for edge in edges if edge.required]
    others = [edge for edge in required if edge.kind is not EdgeKind.IMPORT]
    if others:
        return not is_for_excused(subject, others)
    excuses = [excuse_of(subject, need) for need in needs(subject, required)]
    return any(excuse is None or not excuse.complete for excuse in excuses) if excuses else bool(required)


def is_for_excused(subject: Subject, edges: Sequence[Edge]) -> bool:
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


def evidence_of(subject: Subject, need: Need) -> dict[str, Json]:
    """Return what every finding about an unmet need has as evidence."""
    return {
        "needed_by": strings(dict.fromkeys(subject.origin(edge.importer) for edge in need.edges)),
        "chain": strings(subject.chain(need.first.importer, need.name)),
        "searched": strings(need.searched),
        "present_at": strings(subject.origin(path) for path in need.present_at),
        "loaded": need.reached,
        "step": "record" if need.deleted else "missing",
    }

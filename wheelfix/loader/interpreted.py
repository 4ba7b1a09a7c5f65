"""What interpreting the import of a package says about what was read from its files one by one.

The files of a package are read each for itself, which finds what may be loaded, by whom, and when. Where the whole
import can be interpreted, its result replaces what that reading could only suppose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.providers import owners_of
from wheelfix.loader.imports.importorder import packages_above
from wheelfix.loader.loadcall import MOD_NOT_FOUND
from wheelfix.loader.loaded import load_in
from wheelfix.loader.packagecode import imported_modules
from wheelfix.loader.view import SITE_PACKAGES, Layer, base_name
from wheelfix.model import CodeFault, dll_key
from wheelfix.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.loader.loaded import Loaded
    from wheelfix.loader.loading import Loader
    from wheelfix.loader.packagecode import PackageLoads
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.model import UnreadCall
    from wheelfix.pycode.importend import ImportEnd

MAX_STEPS = 60_000
"""Steps of one import; most packages that load DLLs with their own code take fewer than ten thousand."""
MAX_PACKAGES = 4
"""Top-level packages of one wheel whose imports are interpreted."""


@dataclass(frozen=True, slots=True)
class InterpretedImports:
    """The imports of a wheel's packages that could be interpreted to their end."""

    ends: tuple[tuple[str, ImportEnd], ...] = ()
    """Each with the file that is imported."""

    @classmethod
    def of(cls, view: FileView, profile: Profile, loads: PackageLoads) -> InterpretedImports:
        """Interpret the imports of those packages whose code loads DLLs by itself."""
        found = []
        modules = list(_modules(view, loads))[:MAX_PACKAGES]
        if modules:
            from wheelfix.pycode.importend import import_end  # 28 modules; most packages need none of them
        for module, file in modules:
            end = import_end(view, profile, module, complete=view.beside is not None, steps=MAX_STEPS)
            if end.decided and (not end.error or _is_own(end)):
                found.append((file, end))
        return cls(tuple(found))

    def extensions(self, found: list[Loaded], view: FileView, profile: Profile) -> list[Loaded]:
        """Loads with what importing the package does when an extension module fails: it goes on, or raises later."""
        failed = {one.event.path: one.event.module for one in found if one.failure and one.event.cause == "extension"}
        ends = dict(self.ends)
        tops = dict.fromkeys(module.partition(".")[0] for module in failed.values())
        files = {f"{SITE_PACKAGES}/{top}/__init__.py": top for top in tops}
        answers: dict[str, tuple[bool, str]] = {}
        for file, top in [(file, top) for file, top in files.items() if file in view][:MAX_PACKAGES]:
            from wheelfix.pycode.importend import import_end

            complete = view.beside is not None
            end = ends.get(file) or import_end(view, profile, top, complete=complete, steps=MAX_STEPS)
            if end.decided and end.error and end.refused:
                own = end.fault is not None and end.fault.cause == "extension"
                blamed = end.fault.target if end.fault is not None and own else end.refused[-1]
                answers[blamed] = False, "" if own else f"{end.error}: {end.message}".partition("\n")[0].rstrip(": ")
            elif end.decided and not end.error:
                modules = {path: failed[path] for path in end.refused if path in failed}
                elsewhere = imported_modules(view, modules.values(), but=frozenset(end.ran))
                answers |= {path: (True, "") for path, module in modules.items() if elsewhere.get(module, True)}
        return [
            replace(one, event=replace(one.event, guarded=answers[one.event.path][0], text=answers[one.event.path][1]))
            if one.failure and one.event.path in answers
            else one
            for one in found
        ]

    @property
    def ran(self) -> frozenset[str]:
        """Every file that these imports have run."""
        return frozenset(path for _, end in self.ends for path in end.ran)

    @property
    def loaded(self) -> frozenset[str]:
        """Every file that these imports have loaded; not modules of packages that are imported by their own names."""
        own = (path for file, end in self.ends for path in end.loaded if _belongs(path, file))
        return frozenset(own)

    def faults(self, view: FileView, faults: tuple[CodeFault, ...]) -> tuple[CodeFault, ...]:
        """The faults of the code: those that an import meets, and those of files that no import has run."""
        ran = self.ran
        others = tuple(fault for fault in faults if fault.root not in ran and fault.file not in ran)
        texts = {(fault.file, fault.line): fault.text for fault in faults if fault.text}
        own = (_fault(view, file, end, texts.get(end.place, "")) for file, end in self.ends if end.error)
        return (*(fault for fault in own if fault is not None), *others)

    def calls(self, calls: tuple[UnreadCall, ...]) -> tuple[UnreadCall, ...]:
        """Calls that could not be read; where the file was interpreted, importing the package does without them."""
        ran = self.ran
        return tuple(replace(call, reached=False) if call.file in ran else call for call in calls)

    def loads(self, found: list[Loaded], loads: PackageLoads, blank: Loader) -> list[Loaded]:
        """Loads with what became of them in these imports; ``blank`` is a process in which nothing has happened."""
        if not self.ends:
            return found
        ran = frozenset(path for _, end in self.ends if not end.error for path in end.ran)
        of_file = {event.path for file in loads.files if file.path in ran for event in file.events} - {
            path for file in loads.files for path in file.late
        }
        loading = {file.path for file in loads.files}
        return [self._below(self._known(one, of_file), loading, blank) for one in found]

    def _below(self, one: Loaded, loading: set[str], blank: Loader) -> Loaded:
        """Load a module that fails by itself once more, in the process that importing the package above it leaves.

        Not where a package between them loads DLLs when it is imported in its turn.
        """
        above = packages_above(one.event.path)
        end = next((end for file, end in self.ends if file == above[0]), None)
        if one.failure is None or one.event.cause != "extension" or end is None or end.process is None:
            return one
        if any(file in loading and file not in end.ran for file in above):
            return one
        tried = load_in(blank.after(end.process), one.event)
        return tried if tried.failure is None else one

    def _known(self, one: Loaded, of_file: set[str]) -> Loaded:
        event, path = one.event, one.event.path
        if one.failure is None and one.alone is None:
            return one
        for file, end in self.ends:
            if path in end.loaded and _belongs(path, file):
                edges = {key: end.edges.get(key, edge) for key, edge in one.edges.items()}
                return replace(one, failure=None, alone=None, edges=edges)
        failing = {end.fault.target for _, end in self.ends if end.fault is not None}
        if event.cause in ("code", "cffi") and path in of_file and path not in failing:
            return replace(one, event=replace(event, guarded=True))
        return one


def _modules(view: FileView, loads: PackageLoads) -> Iterable[tuple[str, str]]:
    """The top-level modules of the subject with code that loads DLLs by itself, each with its file."""
    seen: set[str] = set()
    for code in loads.coded:
        top = code.removeprefix(f"{SITE_PACKAGES}/").partition("/")[0].removesuffix(".py")
        for path in (f"{SITE_PACKAGES}/{top}/__init__.py", f"{SITE_PACKAGES}/{top}.py"):
            if path in view and view.layer(path) is not Layer.ENVIRONMENT and top not in seen:
                seen.add(top)
                yield top, path


def _belongs(path: str, file: str) -> bool:
    """Whether what an import has loaded is no module of another package of the wheel."""
    return not path.lower().endswith(".pyd") or _top(path) == _top(file)


def _top(path: str) -> str:
    return path.removeprefix(f"{SITE_PACKAGES}/").partition("/")[0].partition(".")[0]


def _is_own(end: ImportEnd) -> bool:
    """Whether an import fails by the package itself, and not for a module of others or a program that is not there."""
    if end.fault is not None and end.fault.cause in ("module", "name", "entry"):
        return end.fault.cause == "name" and bool(end.missed)
    return end.fault is not None or bool(end.missed) or not end.asked


def _may_be_loaded_before(view: FileView, target: str) -> bool:
    """Whether code loads a DLL of CUDA or cuDNN by its bare name, which torch or others may have loaded before.

    Not in an environment in which nothing has such a file: NVIDIA's installers put their folders on PATH, where such
    a load does not look.
    """
    member = family_of(target) if "/" not in target else None
    if member is None or member.family.group not in ("cuda", "cudnn"):
        return False
    beside = view.beside
    return beside is None or not beside.complete or bool(beside.absent) or bool(view.named(dll_key(target)))


def _fault(view: FileView, root: str, end: ImportEnd, text: str) -> CodeFault | None:
    """The fault that an import meets; None for a file that is there and cannot be loaded in any process."""
    fault, (file, line) = end.fault, end.place
    if fault is not None and fault.cause == "extension":
        return None
    if fault is not None and fault.cause in ("load", "cffi", "folder", "listing"):
        failure = fault.failure
        chain = tuple(base_name(step) for step in failure.chain) if failure is not None else ()
        if failure is None or (failure.code == MOD_NOT_FOUND and len(chain) == 1):
            sure = not fault.along_path and not _may_be_loaded_before(view, fault.target)
            return CodeFault(fault.cause, root, file, line, (fault.target,), end.error, sure=sure, reached=True)
        if failure.code == MOD_NOT_FOUND and view.named(chain[-1].lower()):
            return CodeFault(
                "order", root, file, line, (fault.target,), end.error, sure=True, reached=True, chain=chain
            )
        return None
    if not end.missed:
        names = (fault.target,) if fault is not None else (root,)
        text = shown_message(end) or "…"
        return CodeFault("end", root, file, line, names, end.error, sure=True, reached=True, text=text)
    inside = any("/" in name or view.named(name.lower()) for name in end.missed)
    # A wheel without DLLs of its own, such as python-magic, leaves them to the user.
    bundles = any(view.layer(path) is Layer.SUBJECT for path in view.image_paths)
    known = any(family_of(name) or any(True for _ in owners_of(name)) for name in end.missed)
    sure = inside or (bundles and not known)
    made = CodeFault("raise", root, file, line, end.missed, end.error, sure=sure, reached=True)
    return replace(made, chain=end.chain, text=text or shown_message(end))


def shown_message(end: ImportEnd) -> str:
    """The first line of the text of an exception."""
    from wheelfix.pycode.windows import SITE

    return end.message.partition("\n")[0].replace(SITE, "…")

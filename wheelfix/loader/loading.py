"""How one process of Windows loads files: calls of LoadLibraryEx, where they look, assemblies, which need fails."""

from __future__ import annotations

import copy
import functools
import posixpath
from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number
from wheelfix.base.values import dataclass, distinct, field, frozen, replace
from wheelfix.errors import InputError
from wheelfix.knowledge.system import (
    STABLE_ABI_DLLS,
    classify,
    driver_file,
    is_debug_python,
    missing_from_python,
    python_of,
    runtime_file,
)
from wheelfix.loader.view import ABI3T_FOLDER, BASE, FileView, base_name, key_of, parent
from wheelfix.model import (
    Driver,
    Edge,
    EdgeKind,
    Edges,
    Image,
    Import,
    InView,
    Machine,
    Malformed,
    MayComeFrom,
    Missing,
    Provider,
    PythonRuntime,
    Symbol,
    System,
    UnreadCall,
    VcRedist,
    dll_key,
    is_unmet,
    spelled,
)
from wheelfix.pe.version import MANIFEST, read_resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from xml.etree.ElementTree import Element

    from wheelfix.loader.profile import Profile

DLL_LOAD_DIR = 0x100
APPLICATION_DIR = 0x200
USER_DIRS = 0x400
SYSTEM32 = 0x800
DEFAULT_DIRS = 0x1000
ALTERED_SEARCH_PATH = 0x8
SEARCH_FLAGS = DLL_LOAD_DIR | APPLICATION_DIR | USER_DIRS | SYSTEM32 | DEFAULT_DIRS
AS_PYTHON_DOES = DEFAULT_DIRS | DLL_LOAD_DIR
"""What CPython uses for extension modules and ctypes, and torch for its own DLLs."""

FILE_NOT_FOUND = 2
PATH_NOT_FOUND = 3
MOD_NOT_FOUND = 126
PROC_NOT_FOUND = 127
INVALID_ORDINAL = 182
BAD_EXE_FORMAT = 193


@frozen
class Failure:
    """Why a load fails: the code, and the way from the module that was asked for to the true cause."""

    code: int
    chain: tuple[str, ...]
    """View paths of the modules passed through; the last is the cause, a plain DLL name if it is missing."""
    detail: str = ""
    mapped: tuple[str, ...] = field(default=(), compare=False)
    """View paths of everything that the load had mapped when it gave up."""


def runs_on(image: Machine, process: Machine) -> bool:
    """Whether an image of one machine type can be mapped into a process of another."""
    return image is process or (process is Machine.AMD64 and image is Machine.ARM64EC)


def split_forwarder(target: str) -> tuple[str, Symbol]:
    """Take ``libomp.dll.KMP_CALLOC`` or ``NTDLL.#12`` apart: the module, with its ``.dll``, and the symbol."""
    module, _, symbol = target.rpartition(".")
    name = module if "." in module else module + ".dll"
    ordinal = whole_number(symbol[1:]) if symbol[:1] == "#" else None
    return name, symbol if ordinal is None else ordinal


# ------------------------------------------------------------------------------------------------------- assemblies

OF_A_DLL = 2
"""The identifier of the manifest that a DLL is loaded with."""
MAX_TEXT = 64 << 10
MAX_NAMES = 100
"""Assemblies, files and folders of one manifest that are looked at; Windows allows nine folders."""


def find_in_assembly(view: FileView, path: str, name: str) -> str | None:
    """Return the file that a manifest of the DLL ``path`` gives for the DLL ``name``."""
    for assembly in _assemblies(view, path):
        for folder in _folders(view, path, assembly):
            found = _file_of(view, folder, assembly, name)
            if found is not None:
                return found
    return None


def _assemblies(view: FileView, path: str) -> list[str]:
    """Return the assemblies that the manifest of a DLL names.

    It lies near the end of the file, so that all of it is inflated: once, however many DLLs are missing for it.
    """
    known: dict[str, list[str]] = view.notes.setdefault("assemblies", {})
    if path not in known:
        manifest = _parsed(read_resource(view.source(path), MANIFEST, OF_A_DLL))
        known[path] = _named(manifest, "dependency", "assemblyIdentity")
    return known[path]


def _folders(view: FileView, path: str, assembly: str) -> Iterator[str]:
    """Give the folders in which a private assembly may lie."""
    own = parent(path)
    settings = _parsed((view.read_text(f"{path}.{OF_A_DLL}.config", MAX_TEXT) or "").encode())
    listed = [text for one in _all(settings, "probing") for text in one.get("privatePath", "").split(";")]
    for below in ("", *listed[:MAX_NAMES]):
        folder = _joined(own, below)
        if folder is not None:
            yield folder
            yield f"{folder}/{assembly}"


def _file_of(view: FileView, folder: str, assembly: str, name: str) -> str | None:
    """Return a file of an assembly that lies in a folder."""
    described = view.find(folder, f"{assembly}.dll")
    text = read_resource(view.source(described), MANIFEST) if described else b""
    if not text:
        text = (view.read_text(f"{folder}/{assembly}.manifest", MAX_TEXT) or "").encode()
    manifest = _parsed(text)
    if any(dll_key(one) == dll_key(name) for one in _named(manifest, "file")):
        return view.find(folder, name)
    return None


def _parsed(text: bytes) -> Element | None:
    """Return a manifest; None if the text is not one, or declares entities, which Windows refuses as well."""
    if not text or b"<!" in text.replace(b"<!--", b""):
        return None
    import xml.etree.ElementTree as ET  # 4 ms, which few wheels need

    try:
        return ET.fromstring(text.strip(b"\0 \r\n\t"))
    except ET.ParseError:
        return None


def _all(root: Element | None, tag: str) -> list[Element]:
    """Return the elements of a name, in whatever namespace."""
    found = root.iter() if root is not None else iter(())
    return [one for one in found if one.tag.rpartition("}")[2] == tag][:MAX_NAMES]


def _named(root: Element | None, *tags: str) -> list[str]:
    """Return the names of the elements below others."""
    found = [root]
    for tag in tags:
        found = [one for above in found for one in _all(above, tag)]
    return [one.get("name", "") for one in found if one is not None and one.get("name")][:MAX_NAMES]


def _joined(folder: str, below: str) -> str | None:
    """Return the folder that a relative path leads to; None if it leads out of the installation."""
    path = posixpath.normpath(f"./{folder}/{below}".replace("\\", "/"))
    return None if path.split("/")[0] == ".." else path.removeprefix(".") if path == "." else path


# ------------------------------------------------------------------------------------------- a machine, a process

MAX_LOOKUPS = 300_000
"""Imports that all loads of a package may look up together; vtk, with 368 images, needs ten thousand."""
_PYTHON, _SYSTEM = "<folder of python.exe>", "<System32>"
KNOWN_PER_LOOKUP = 8
"""Imports that take as long as one lookup when the answer is known from an earlier load."""
SYMBOLS_PER_LOOKUP = 50
"""Symbols that take as long to bind as it takes to look up one import."""


def _is_python(key: str) -> bool:
    return key in STABLE_ABI_DLLS or python_of(key) is not None


def runtime_of_python(python: tuple[int, int] | None) -> str:
    """The C runtime that ``python3XY.dll`` imports: it is in every process before an extension module is loaded.

    https://wiki.python.org/moin/WindowsCompilers: Visual C++ 2008 up to Python 3.2, 2010 for 3.3 and 3.4, 14.x since.
    """
    if python is None or python >= (3, 5):
        return "vcruntime140.dll"
    return "msvcr100.dll" if python >= (3, 3) else "msvcr90.dll"


class Target:
    """A Windows machine with a CPython, as a profile describes it."""

    def __init__(
        self, profile: Profile, elsewhere: Callable[[str, tuple[str, ...]], Provider | None] = lambda *_: None
    ) -> None:
        """``elsewhere`` is asked last: what is assumed, or what another distribution has where a load looks."""
        self.profile, self._elsewhere = profile, elsewhere
        self.asked = False
        """Whether ``elsewhere`` was asked: then what was loaded may depend on what other distributions have."""

    def elsewhere(self, name: str, steps: tuple[str, ...]) -> Provider | None:
        """Who provides a DLL that is not in the view and that Windows does not have."""
        self.asked = True
        return self._elsewhere(name, steps)

    def redirected(self, name: str) -> Provider | None:
        """API sets and KnownDLLs: found before any folder is searched."""
        own = classify(name, self.profile.machine)
        if (own.kind == "api-set" and own.known) or own.known_dll:
            return System(name)
        return None

    def resident(self, name: str) -> Provider | None:
        """The interpreter itself and what it imports."""
        interpreter = python_of(name)
        if interpreter is not None and is_debug_python(name):
            return None  # only those who build Python themselves have it
        if interpreter is not None:
            wanted = self.profile.python
            return PythonRuntime(name) if wanted is None or wanted == interpreter[:2] else None
        return PythonRuntime(name) if dll_key(name) == runtime_of_python(self.profile.python) else None

    def beside_python(self, name: str) -> Provider | None:
        """CPython's own DLLs beside ``python.exe``; those in its ``DLLs`` folder are not searched for others."""
        own = classify(name, self.profile.machine)
        if own.kind == "python" and not own.folder and python_of(name) is None:
            return PythonRuntime(name)
        return None

    def in_system32(self, name: str) -> Provider | None:
        """Windows' own files, drivers and the VC++ runtime, as far as the profile assumes them."""
        own = classify(name, self.profile.machine)
        if own.kind in ("system", "ucrt"):
            return System(name)
        if own.kind == "driver":
            driver = driver_file(name)
            nvidia = driver is not None and driver.vendor == "NVIDIA"
            return Driver(name) if not nvidia or "nvidia-driver" in self.profile.assume else None
        runtime = runtime_file(name)
        if runtime is not None and not runtime.debug and self._assumes_runtime(runtime.toolset.id):
            return VcRedist(name)
        return None

    def _assumes_runtime(self, toolset: str) -> bool:
        """Whether the VC++ runtime of that generation is on the machine: each has a redistributable of its own."""
        return (f"vcredist-{toolset}" if toolset != "14" else "vcredist") in self.profile.assume


@dataclass
class _Attempt:
    """One call of LoadLibrary: what it mapped so far and the first fault it met."""

    steps: tuple[str, ...]
    mapped: dict[str, str] = field(default_factory=dict)
    order: dict[str, None] = field(default_factory=dict)
    above: dict[str, str] = field(default_factory=dict)
    """For each module the one on whose behalf it is mapped; the first of a walk has none."""
    via: tuple[str, ...] = ()
    """What stands before the first of the walk: the module whose forwarder leads there."""
    failure: Failure | None = None

    def fail(self, failure: Failure) -> None:
        """Note a fault; the first one decides the code, the walk goes on for the report's sake."""
        if self.failure is None:
            self.failure = failure

    def fail_at(self, path: str, code: int, *more: str, detail: str = "") -> None:
        """Note a fault of a module that is being mapped, with the way to it."""
        if self.failure is None:
            chain = [path]
            while chain[-1] in self.above:
                chain.append(self.above[chain[-1]])
            self.failure = Failure(code, (*self.via, *reversed(chain), *more), detail)


class Loader:
    """A process that loads DLLs: the folders that it searches, what it has loaded, and what was asked on the way."""

    def __init__(self, view: FileView, target: Target) -> None:
        self.view, self.target = view, target
        self.machine = target.profile.machine
        # A venv runs the python.exe that it was made from.
        self.application_dir = BASE if view.find(BASE, "python.exe") else ""
        self.user_dirs = [*(view.beside.searched if view.beside is not None else ())]
        """Folders given to AddDllDirectory, in order."""
        self.path_dirs: list[str] = []
        """Folders on PATH; used only by loads without search flags."""
        self.loaded: dict[str, str] = {}
        """Base name → path of the module that an import of that name will get."""
        self.modules: dict[str, None] = {}
        """Paths of all loaded modules, in order."""
        self.ran: set[str] = set()
        """Python files whose code has run: importing them again does nothing."""
        self.unread: dict[UnreadCall, None] = {}
        """Loads and folders in the code of other distributions that has run, and that could not be read from it."""
        self.touched: dict[str, None] = {}
        """Paths that some load mapped, also those of loads that failed in the end."""
        self.edges: Edges = {}
        """Every need that was met or not, by importer, name and kind."""
        self._spent = [0]
        """Lookups so far, counted together with those of every process that was forked from this one."""
        self._searched: dict[tuple[str, tuple[str, ...]], Provider] = {}
        """What searching for a name in some steps finds, shared by all forks: the files of a view never change."""
        self._unmet: dict[tuple[str, int, str], tuple[Symbol, ...]] = {}
        """The symbols that an entry of a file's import table does not find in another file; shared as well."""

    def search_steps(self, path: str, flags: int) -> tuple[str, ...]:
        """The places (folders, System32, python.exe's folder) in which a load looks for dependencies, in order."""
        if flags & DEFAULT_DIRS:
            flags |= APPLICATION_DIR | USER_DIRS | SYSTEM32
        own = parent(path)
        if flags & SEARCH_FLAGS:
            steps = [own] if flags & DLL_LOAD_DIR else []
            steps += [_PYTHON] if flags & APPLICATION_DIR else []
            # The documentation leaves the order open; the loader puts each new folder in front of the others.
            steps += reversed(self.user_dirs) if flags & USER_DIRS else []
            steps += [_SYSTEM] if flags & SYSTEM32 else []
        else:
            steps = [own if flags & ALTERED_SEARCH_PATH else _PYTHON, _SYSTEM, *self.path_dirs]
        return distinct(steps)

    def find(self, name: str, steps: tuple[str, ...], mapped: dict[str, str] | None = None) -> Provider:
        """The provider of a DLL name in this process, where the given steps are searched."""
        key = dll_key(name)
        found = self.target.redirected(name)
        if found is not None:
            return found
        if key in self.loaded:
            return InView(self.loaded[key])
        if mapped and key in mapped:
            return InView(mapped[key])
        known = self._searched.get((name, steps))
        if known is None:
            self.spend(1)
            known = self._searched[name, steps] = self._search(name, key, steps)
        return known

    def _search(self, name: str, key: str, steps: tuple[str, ...]) -> Provider:
        """The provider of a name that no module in the process has."""
        if key in self._pythons:  # its file says what it exports, whatever a table says
            return InView(self._pythons[key])
        found = None if self._absent_from_prefix(key) else self.target.resident(name)
        if found is not None:
            return found
        for step in steps:
            found = self._look(step, name, key)
            if found is not None:
                return found
        present = self.view.named(key)
        found = self.target.elsewhere(name, steps)
        if present and found is not None and (isinstance(found, MayComeFrom) or is_unmet(found)):
            found = None
        if found is not None and not isinstance(found, Missing):
            return found
        searched = tuple(step or "<prefix>" for step in steps)
        return replace(found or Missing(), searched=searched, present_at=present)

    def _look(self, step: str, name: str, key: str) -> Provider | None:
        if step == _SYSTEM:
            return self.target.in_system32(name)
        if step == _PYTHON:
            path = self.view.find(self.application_dir, key)
            return InView(path) if path else None if self._absent_from_prefix(key) else self.target.beside_python(name)
        path = self.view.find(step, key)
        return InView(path) if path else None

    @functools.cached_property
    def _pythons(self) -> dict[str, str]:
        """The DLLs of Python itself beside a ``python.exe``, by key; none where no interpreter's is readable."""
        files = self.view.in_folder(self.application_dir) if self.view.find(self.application_dir, "python.exe") else ()
        own = {key_of(path): path for path in files if _is_python(key_of(path))}
        folder = f"{self.application_dir}/{ABI3T_FOLDER}".lstrip("/")
        if own and (compatible := self.view.find(folder, "python3t.dll")):
            own.setdefault("python3t.dll", compatible)
        return own if any(python_of(key) and isinstance(self.view.image(own[key]), Image) for key in own) else {}

    def _absent_from_prefix(self, key: str) -> bool:
        """Whether a DLL of Python itself is not in a real prefix: conda's 3.15 has no ``python3t.dll``."""
        return bool(self._pythons) and key not in self._pythons and _is_python(key)

    def spend(self, lookups: int) -> None:
        """Count the work; InputError if the DLLs were made to need more of it than any package does."""
        self._spent[0] += lookups
        if self._spent[0] > MAX_LOOKUPS:
            raise InputError(
                "the DLLs ask for too much",
                because=f"loading them takes more than {MAX_LOOKUPS} lookups; they import each other in circles",
                hint="this looks like an attack; if it is none, please report it",
            )

    def note(self, edge: Edge) -> None:
        """Keep the first positive answer to each need, and what later binding learned about its symbols."""
        key = (edge.importer, dll_key(edge.name), edge.kind)
        known = self.edges.get(key)
        # A later load may find what an earlier one missed, because it is in the process by then.
        if known is None or edge.unexported or (isinstance(known.provider, Missing) and not known.unexported):
            self.edges[key] = edge

    def fork(self) -> Loader:
        """Another process in the state of this one; what is loaded in one of them later is not in the other."""
        other = copy.copy(self)
        other.user_dirs, other.path_dirs = [*self.user_dirs], [*self.path_dirs]
        other.loaded, other.modules, other.ran = {**self.loaded}, {**self.modules}, {*self.ran}
        other.unread, other.touched, other.edges = {**self.unread}, {}, {}
        return other

    def add_folders(self, folders: Iterable[str]) -> None:
        """Give folders to AddDllDirectory, none of them twice."""
        self.user_dirs = [*dict.fromkeys([*self.user_dirs, *folders])]

    def after(self, first: Loader) -> Loader:
        """A process like this one in which everything of another one has happened before; its work is counted apart."""
        other = self.fork()
        other._spent = [0]
        other.user_dirs = [*first.user_dirs]
        other.add_folders(self.user_dirs)
        other.loaded, other.modules, other.ran = {**first.loaded}, {**first.modules}, set(first.ran)
        other.unread = {**first.unread}
        return other

    def load(self, path: str, flags: int = AS_PYTHON_DOES) -> Failure | None:
        """Load a file by its full path, as ``LoadLibraryExW(path, NULL, flags)`` would; None is success."""
        if path in self.modules:
            return None
        attempt = _Attempt(self.search_steps(path, flags))
        self._map(path, attempt)
        self._bind(attempt)  # also where a file is missing, so that one report has all faults
        self.touched.update(dict.fromkeys(attempt.order))
        if attempt.failure is None:
            for mapped in attempt.order:
                self.modules[mapped] = None
            for key, mapped in attempt.mapped.items():
                self.loaded.setdefault(key, mapped)
            return None
        return replace(attempt.failure, mapped=tuple(attempt.order))

    def load_by_name(self, name: str, flags: int = DEFAULT_DIRS) -> Failure | None:
        """Load by base name, as ``ctypes.CDLL("msvcp140.dll")`` does."""
        provider = self.find(name, self.search_steps("", flags & ~DLL_LOAD_DIR))
        if isinstance(provider, InView):
            return self.load(provider.path, flags)
        return Failure(MOD_NOT_FOUND, (name,)) if isinstance(provider, Missing) else None

    # --------------------------------------------------------------------------------------------- the two phases

    def _map(self, path: str, attempt: _Attempt, via: tuple[str, ...] = ()) -> None:
        """Map a module and, depth first in table order, everything it imports."""
        attempt.via = via
        attempt.above.pop(path, None)
        # A stack of our own: a wheel may hold a chain of DLLs that is longer than Python's.
        pending = [self._mapping(path, attempt)]
        while pending:
            deeper = next(pending[-1], None)
            if deeper is None:
                pending.pop()
            else:
                pending.append(self._mapping(deeper, attempt))

    def _mapping(self, path: str, attempt: _Attempt) -> Iterator[str]:
        """Map one module; give each of its imports that has to be mapped next."""
        image = self.view.image(path)
        if isinstance(image, Malformed):
            attempt.fail_at(path, BAD_EXE_FORMAT, detail=image.reason)
            return
        if image is None:
            attempt.fail_at(path, MOD_NOT_FOUND, detail="the file does not exist")
            return
        if not runs_on(image.machine, self.machine):
            attempt.fail_at(path, BAD_EXE_FORMAT, detail=f"it is for {image.machine}, the process is {self.machine}")
            return
        attempt.mapped.setdefault(key_of(path), path)
        attempt.order[path] = None
        if image.managed:
            return
        self.spend(1 + len(image.imports) // KNOWN_PER_LOOKUP)
        steps = self._steps_for(path, image, attempt.steps)
        for needed in image.imports:
            provider = self.find(needed.dll, steps, attempt.mapped)
            if isinstance(provider, Missing) and provider.present_at:
                redirected = find_in_assembly(self.view, path, needed.dll)
                provider = InView(redirected) if redirected else provider
            self.note(Edge(path, needed.dll, EdgeKind.IMPORT, provider))
            if is_unmet(provider):
                attempt.fail_at(path, MOD_NOT_FOUND, needed.dll)
            elif isinstance(provider, InView) and not self._is_in(provider.path, attempt):
                attempt.above[provider.path] = path
                yield provider.path
        for needed in image.delay_imports:
            self.note(Edge(path, needed.dll, EdgeKind.DELAY, self.find(needed.dll, steps, attempt.mapped), False))

    def _steps_for(self, path: str, image: Image, steps: tuple[str, ...]) -> tuple[str, ...]:
        flags = image.dependent_load_flags & (SEARCH_FLAGS | ALTERED_SEARCH_PATH)
        return self.search_steps(path, flags) if flags else steps

    def _is_in(self, path: str, attempt: _Attempt) -> bool:
        return path in self.modules or path in attempt.order

    def _bind(self, attempt: _Attempt) -> None:
        """Bind the imports of everything that was mapped, dependencies first."""
        done = 0
        while done < len(attempt.order):  # forwarders may map more modules while we bind
            batch, done = list(attempt.order)[done:], len(attempt.order)
            for path in reversed(batch):
                self._bind_module(path, attempt)

    def _bind_module(self, path: str, attempt: _Attempt) -> None:
        image = self.view.image(path)
        if not isinstance(image, Image) or image.managed:
            return
        self.spend(1)
        steps = self._steps_for(path, image, attempt.steps)
        for number, needed in enumerate(image.imports):
            provider = self.find(needed.dll, steps, attempt.mapped)
            unexported: tuple[Symbol, ...] = ()
            if isinstance(provider, PythonRuntime):
                unexported = missing_from_python(needed.dll, needed.symbols)
            elif isinstance(provider, InView):
                key = (path, number, provider.path)
                if key not in self._unmet:  # many loads bind the same files
                    self.spend(1 + len(needed.symbols) // SYMBOLS_PER_LOOKUP)
                    self._unmet[key] = self.symbols_missing_from(needed, provider.path)
                unexported = self._unmet[key]
            if unexported:
                edge = Edge(path, needed.dll, EdgeKind.IMPORT, provider, unexported=unexported)
                self._miss_symbol(edge, unexported[0], attempt)
            if isinstance(provider, InView):
                self._follow(needed, provider.path, attempt, steps)

    def _miss_symbol(self, edge: Edge, asked: Symbol, attempt: _Attempt) -> None:
        """Note that a DLL does not have a symbol; importing from one without any export table has a code of its own."""
        self.note(edge)
        path = edge.provider.path if isinstance(edge.provider, InView) else edge.name
        image, chain = self.view.image(path), (edge.importer, path)
        exports = isinstance(image, Image) and edge.is_import and image.exports
        if exports and not exports.names and not exports.ordinals:
            attempt.fail(Failure(BAD_EXE_FORMAT, chain, f"{base_name(path)} exports nothing at all"))
        else:
            attempt.fail(Failure(_code_for(asked), chain, f"{base_name(path)} has no {spelled(edge.unexported[0])}"))

    def symbols_missing_from(self, needed: Import, path: str) -> tuple[Symbol, ...]:
        """The imported symbols that a file of the view does not export."""
        image = self.view.image(path)
        if not isinstance(image, Image) or not runs_on(image.machine, self.machine):
            return ()  # of another machine it is not even mapped: error 193
        if image.exports.names.issuperset(needed.symbols):
            return ()
        return tuple(symbol for symbol in needed.symbols if not image.exports.offers(symbol))

    def _follow(self, needed: Import, path: str, attempt: _Attempt, steps: tuple[str, ...]) -> None:
        """Follow the forwarders among the symbols that are really imported."""
        first = self.view.image(path)
        if not isinstance(first, Image) or not first.exports.forwarders:
            return
        trail: set[tuple[str, Symbol]] = set()
        pending = [(path, symbol, symbol) for symbol in needed.symbols]
        while pending:
            where, symbol, asked = pending.pop()
            image = self.view.image(where)
            if not isinstance(image, Image) or (where, symbol) in trail:
                continue
            trail.add((where, symbol))
            target = image.exports.forwarders.get(symbol)
            if target is None:
                continue
            module, wanted = split_forwarder(target)
            provider = self.find(module, steps, attempt.mapped)
            edge = Edge(where, module, EdgeKind.FORWARDER, provider, because=target)
            self.note(edge)
            if is_unmet(provider):
                detail = f"{base_name(where)} forwards {spelled(symbol)} to {target}"
                attempt.fail(Failure(_code_for(asked), (where, module), detail))
            elif isinstance(provider, InView):
                if not self._is_in(provider.path, attempt):
                    self._map(provider.path, attempt, (where,))
                found = self.view.image(provider.path)
                if isinstance(found, Image) and not found.exports.offers(wanted):
                    self._miss_symbol(replace(edge, unexported=(wanted,)), asked, attempt)
                pending.append((provider.path, wanted, asked))


def _code_for(asked: Symbol) -> int:
    """The code for a symbol that cannot be had, by the way in which the importer asks for it."""
    return INVALID_ORDINAL if isinstance(asked, int) else PROC_NOT_FOUND

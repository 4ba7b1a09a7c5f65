"""The Windows machine on which code runs: its files, variables, folders, and the process that loads DLLs."""

from __future__ import annotations

import fnmatch
import functools
import ntpath
import posixpath
import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.providers import module_owners, owners_of
from wheelfix.knowledge.system import classify, runtime_file, system_dlls
from wheelfix.loader.loading import AS_PYTHON_DOES, DEFAULT_DIRS, MOD_NOT_FOUND, Failure, Loader, Target
from wheelfix.loader.view import SITE_PACKAGES, VENV_SETTINGS, FileView, base_name, parent
from wheelfix.model import (
    Edge,
    EdgeKind,
    Image,
    InView,
    Machine,
    MayComeFrom,
    Missing,
    OwnedBy,
    Provider,
    dll_key,
    fold,
)
from wheelfix.pycode.budget import MAX_TEXT
from wheelfix.pycode.run import (
    UNKNOWN,
    BasePrefix,
    CodeModule,
    Instance,
    LoadedDll,
    LoadFault,
    Managed,
    Native,
    PyValue,
    Thrown,
    Undecided,
    error,
)
from wheelfix.pycode.sourcecode import is_standard, python_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.profile import Profile

START_FILES = (3, 15)
"""The first Python that reads ``.start`` files (PEP 829); with one of the same name, it skips imports of a ``.pth``."""


def _site_files(view: FileView, suffix: str) -> Iterator[str]:
    for file in view.own_files:
        if file.path.endswith(suffix) and parent(file.path) == SITE_PACKAGES:
            yield file.path


def _lines(view: FileView, path: str) -> list[str]:
    return [line.strip() for line in (view.read_text(path, 1 << 16) or "").lstrip("\ufeff").splitlines()]


def imported_by_path_files(view: FileView, python: tuple[int, int] | None) -> Iterator[str]:
    """The modules that ``.pth`` files import."""
    starts = set(_site_files(view, ".start")) if python is not None and python >= START_FILES else set()
    for path in _site_files(view, ".pth"):
        if f"{path.removesuffix('.pth')}.start" not in starts:
            yield from (name for line in _lines(view, path) for name in _imported_by_line(line))


def imported_by_start_files(view: FileView, python: tuple[int, int] | None) -> Iterator[str]:
    """The modules of the entry points in ``.start`` files; an older Python does not read them."""
    if python is not None and python < START_FILES:
        return
    for path in _site_files(view, ".start"):
        for line in _lines(view, path):
            entry = re.fullmatch(r"([A-Za-z_][\w.]*):[A-Za-z_][\w.]*", line)
            if entry is not None:
                yield entry[1]


def roots_of_path_files(view: FileView) -> list[str]:
    """The folders that ``.pth`` files put on ``sys.path``, also those of others: pywin32 has its modules in such."""
    paths = (path for path in view.in_folder(SITE_PACKAGES) if path.endswith(".pth"))
    every = (line for path in paths for line in _lines(view, path))
    lines = (line.replace("\\", "/") for line in every if line and not line.startswith(("#", "import ")))
    return [posixpath.normpath(f"{SITE_PACKAGES}/{line}") for line in lines if ":" not in line]


def _imported_by_line(line: str) -> list[str]:
    """The modules that a line of a ``.pth`` file imports."""
    match = re.match(r"import\s+([\w.]+(?:\s*,\s*[\w.]+)*)", line)
    return [name.strip() for name in match[1].split(",")] if match else []


MAX_SOURCE = 256 << 10
"""Bytes of a Python file in which they are looked for."""
MAX_SEARCHED = 8 << 20
"""Bytes of Python code of a package in which assignments to environment variables are looked for."""
MAX_DEPTH = 100
"""Folders above a file; a deeper one is left out, because every folder above it is remembered by its whole path."""
WINDOWS = ("c:/windows", "c:/windows/system32")
_PYTHON_FOLDERS = frozenset({"Lib", "lib", "DLLs", "Scripts", SITE_PACKAGES})
_SHARED = frozenset({"nvidia"})
"""Folders in site-packages to which several distributions add."""
_MODELLED = frozenset({"cffi"})
"""Other distributions whose functions are known by name: ``FFI.dlopen`` loads in compiled code, after Python code that
parses C."""


class ViewFiles:
    """The files of a view, on a Windows machine on which nothing else is installed."""

    def __init__(self, view: FileView, profile: Profile, *, blind: bool = False) -> None:
        self.view = view
        self.blind = blind
        """Whether files are not looked at: for what code would do if they were there."""
        self.profile = profile
        self._variables: dict[str, bool] = {}
        self._imported: set[str] = set()
        self._found_modules: dict[str, str | None] = {}
        self._roots = [SITE_PACKAGES, *roots_of_path_files(view)]
        if "children" not in view.notes:
            view.notes["children"] = _children_of(view)
        self._children: dict[str, dict[str, None]] = view.notes["children"]
        inside = (file.path for file in view.own_files if file.path.startswith(SITE_PACKAGES + "/"))
        own = {_top(path) for path in inside if path.count("/") <= MAX_DEPTH}
        # A name in site-packages belongs to one distribution unless it is a namespace that several share.
        top = self._children.get(fold(SITE_PACKAGES), {})
        modules = {name.partition(".")[0] for name in top if "." in name}
        self._own = {name for name in own if name in modules or self._has_init(name)}
        infos = [name for name in own if name.endswith(".dist-info")]
        self._named = {name.partition("-")[0] for name in infos}
        self._others = _SHARED.union(*(self._required(name) for name in infos))

    def _required(self, info: str) -> frozenset[str]:
        """What the folders of required distributions may begin with, whatever extra they are required for."""
        text = self.view.read_text(f"{SITE_PACKAGES}/{info}/METADATA", 1 << 18) or ""
        names = re.findall(r"^Requires-Dist:[ \t]*([A-Za-z0-9]+)", text, re.MULTILINE | re.IGNORECASE)
        return frozenset(name.lower() for name in names)

    def requires(self, module: str) -> bool:
        """Whether a distribution is required, for whatever extra, that is known to have a module, or begins like it."""
        names = (module, *module_owners().get(module, ()))
        return any(re.split(r"[-_.]", name.lower())[0] in self._others for name in names)

    def _has_init(self, top: str) -> bool:
        return "__init__.py" in self._children.get(fold(f"{SITE_PACKAGES}/{top}"), {})

    def sets_variable(self, name: str) -> bool:
        """Whether the package's own code gives a value to an environment variable: usd-core does, with its folder."""
        if name not in self._variables:
            quoted = rf"\s*['\"]{re.escape(name)}['\"]\s*"
            spelled = re.compile(rf"environ\s*\[{quoted}\]\s*=[^=]|(?:setdefault|putenv)\s*\({quoted},")
            self._variables[name] = any(name in text and spelled.search(text) for text in self._with_variables)
        return self._variables[name]

    @functools.cached_property
    def _with_variables(self) -> tuple[str, ...]:
        """The Python files of the subject that set environment variables, as far as they are of ordinary size."""
        own = (file for file in self.view.own_files if file.path.endswith(".py"))
        small = [file for file in own if file.size <= MAX_SOURCE]
        if sum(file.size for file in small) > MAX_SEARCHED:
            return ()
        data = (python_source(self.view, file.path) for file in small)
        return tuple(text.decode("utf-8", "replace") for text in data if b"environ" in text or b"putenv" in text)

    def spelled(self, path: str) -> str:
        """A path of a file in the spelling of the view."""
        return self.view.find(parent(path), base_name(path)) or path

    def is_own(self, path: str) -> bool:
        """Whether the path lies in a regular package of the subject, or in its folder of DLLs."""
        if not path.startswith(SITE_PACKAGES + "/"):
            return False
        top = _top(path)
        stem = top.removesuffix(".libs")
        return top in self._own or (stem != top and (stem in self._own or stem in self._named))

    def exists(self, path: str, *, folder: bool | None = None) -> bool | None:
        """Whether there is such a file or folder; what other distributions may bring is not known."""
        if self.blind:
            return None
        key = fold(path)
        if key.startswith("@base") and key not in self._children:
            path, key = path[6:] or ".", key[6:]
        if path[1:2] == ":":
            return self._exists_in_windows(key, folder)
        if path.startswith("/"):
            return False
        if path == "." or key in self._children:
            return folder is not False
        if self.view.find(parent(path), base_name(path)):
            return folder is not True
        return self._exists_elsewhere(path, folder)

    def _exists_elsewhere(self, path: str, folder: bool | None) -> bool | None:
        """Whether another distribution, or Python itself, may have a file or folder."""
        if path.startswith(SITE_PACKAGES + "/"):
            top = _top(path)
            shared = re.split(r"[-_.]", top.lower())[0] in self._others or top in self._imported
            return None if shared and not self.is_own(path) else False
        if path in _PYTHON_FOLDERS:
            return folder is not False
        if folder is True or "." not in base_name(path):
            return None
        return None if any(True for _ in owners_of(base_name(path))) else False

    def _exists_in_windows(self, key: str, folder: bool | None) -> bool | None:
        if key in WINDOWS:
            return folder is not False
        if parent(key) == WINDOWS[1]:
            return classify(base_name(key), self.profile.machine).kind in ("system", "ucrt")
        return False

    def names(self, folder: str) -> tuple[str, ...] | None:
        """What lies in a folder; None for one that is not there but may be filled by others."""
        if self.blind:
            return None
        found = self._children.get(fold(folder))
        if found is None:
            return () if self.is_own(folder) else None
        return tuple(sorted(found, key=str.upper))

    def module(self, name: str) -> str | None:
        """The file of a module: a Python file, an extension module, or the folder of a package without code."""
        if name not in self._found_modules:
            self._found_modules[name] = self._find_module(name)
        return self._found_modules[name]

    def _find_module(self, name: str) -> str | None:
        top = name.partition(".")[0]
        if is_standard(top) or (top in _MODELLED and top not in self._own):
            return None
        path = f"{SITE_PACKAGES}/{name.replace('.', '/')}"
        for start in self._roots:
            found = self.module_in(start, name)
            if found:
                return found
        if self.is_own(path):
            return ""
        self._imported.add(top)
        return None

    def is_shared(self, top: str) -> bool:
        """Whether other distributions may have modules in a package: it has no ``__init__``."""
        return fold(f"{SITE_PACKAGES}/{top}") in self._children and not self._has_init(top)

    def module_in(self, root: str, name: str) -> str:
        """The file of a module below a folder that is on ``sys.path``; empty if there is none."""
        path = f"{root}/{name.replace('.', '/')}"
        for start in (f"{path}/__init__", path):  # as Python does: packages first, compiled modules before others
            compiled = self._compiled(start)
            if compiled or f"{start}.py" in self.view:
                return compiled or f"{start}.py"
        is_folder = fold(path) in self._children and base_name(path) in self._children.get(fold(parent(path)), {})
        return path if is_folder else ""

    def _compiled(self, start: str) -> str:
        """The extension module of a name that the Python of the target imports; empty if there is none."""
        python = self.profile.python
        tag = f".cp{python[0]}{python[1]}" if python is not None else ".cp"
        own = (f"{tag}-", f"{tag}t-") if python is not None else (tag,)  # 313t: free-threaded
        for path in sorted(self.view.extensions(start), key=len, reverse=True):
            rest = path[len(start) :].lower()
            if rest == ".pyd" or rest.startswith(own):
                return path
        return ""

    def finds(self, name: str) -> bool | None:
        """Whether a bare name is found: in Windows, the Visual C++ runtime, or beside Python."""
        key = dll_key(name)
        known = classify(key, self.profile.machine)
        if known.on_every_machine or known.kind in ("driver", "api-set") or runtime_file(key) is not None:
            return True
        if self.view.find("", key):
            return True
        # One that lies elsewhere may be found by means that were not read.
        return None if self.view.named(key) else False


def _children_of(view: FileView) -> dict[str, dict[str, None]]:
    """The names in each folder, files and folders."""
    children: dict[str, dict[str, None]] = {}
    for file in view.files:
        if file.path.count("/") > MAX_DEPTH:
            continue
        folder, name = parent(file.path), base_name(file.path)
        while True:
            known = children.setdefault(fold(folder), {})
            if name in known:
                break
            known[name] = None
            if not folder:
                break
            folder, name = parent(folder), base_name(folder)
    return children


def _top(path: str) -> str:
    """The first part of a path in site-packages, without the suffix that a module has."""
    name = path[len(SITE_PACKAGES) + 1 :]
    first, slash, _ = name.partition("/")
    return first if slash else first.split(".")[0]


ROOT = "C:\\Python"
"""Where Python is; the prefix of the environment, too."""
SITE = f"{ROOT}\\Lib\\site-packages"
SYSTEM32 = "C:\\Windows\\system32"
HOME = "C:\\Users\\user"
FIRST_FOLDER = f"{HOME}\\work"
"""The current folder, before code changes it."""
FIRST_PATH = f"{SYSTEM32};C:\\Windows"
"""PATH, before code changes it."""
HOME_FOLDER = f"{HOME}/work".replace("\\", "/").lower()
FOLDERS = frozenset({HOME_FOLDER, "c:/", "c:", "c:/program files", "c:/program files (x86)"})
IMAGES = (".dll", ".pyd", ".drv", ".ocx")
_MAGIC = regex(r"[*?\[]")
"""What makes a path a pattern."""
TOOLKITS = {
    "NVIDIA": ("CUDA", "CUDNN", "NVTOOLSEXT", "TENSORRT"),
    "AMD": ("HIP_", "ROCM"),
    "Intel": ("ONEAPI", "MKLROOT", "CMPLR_ROOT", "INTEL_"),
}
"""How the names of variables begin that say where a vendor's toolkit is installed."""
COMPILERS = {"nvcc": "CUDA_PATH", "hipcc": "HIP_PATH", "icx": "ONEAPI_ROOT"}
"""Programs of toolkits; looking for one on PATH is another way to look for its toolkit."""
USUAL_PYTHON = (3, 11)
WITH_PATH_NAMES = (3, 12)
"""The first Python whose ctypes takes ``Path`` objects."""


def windows_path(path: str) -> str:
    """The full path of a file of the view."""
    return f"{ROOT}\\{path}".replace("/", "\\")


def module_of(path: str) -> str:
    """The dotted name of the module that a Python file is."""
    return path.removeprefix(f"{SITE_PACKAGES}/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def folder_of_file(path: str) -> str:
    """The folder of a file, or a folder itself."""
    return windows_path(parent(path) if path.endswith((".py", ".pyd")) else path)


def new_module(path: str, name: str = "") -> CodeModule:
    """A module of a file, with the names that Python gives it."""
    name = name or module_of(path)
    is_file = path.endswith((".py", ".pyd"))
    is_package = path.endswith("/__init__.py") or not is_file
    package = name if is_package else name.rpartition(".")[0]
    spec = {"name": name, "parent": package, "origin": windows_path(path)}
    names = {
        "__name__": name,
        "__package__": package,
        "__doc__": None,
        "__spec__": Instance(Native("importlib.ModuleSpec"), spec),
        "__builtins__": UNKNOWN,
        "__annotations__": {},
        "__file__": windows_path(path) if is_file else None,
        "__debug__": True,
    }
    return CodeModule(name, path, names | {"__path__": [folder_of_file(path)]} if is_package else names)


def _owners_of_name(name: str, _: tuple[str, ...]) -> Provider | None:
    """The distributions that ship a DLL; which of them are installed is not known here."""
    owners = tuple(dict.fromkeys(owner.distribution for owner in owners_of(name)))
    return MayComeFrom(name, owners, "it may be installed") if owners else None


def first_process(view: FileView, profile: Profile, *, complete: bool = False) -> Loader:
    """A process in which nothing of the view has been loaded; in a ``complete`` one nothing else is installed."""
    return Loader(view, Target(profile) if complete else Target(profile, _owners_of_name))


class WindowsMachine:
    """A machine with nothing but Windows, Python and the files of a view."""

    def __init__(
        self,
        files: ViewFiles,
        *,
        complete: bool = True,
        venv: bool = False,
        process: Loader | None = None,
    ) -> None:
        """``process`` is one in which nothing has happened, and that knows more about other distributions."""
        self.files = files
        self.venv = venv
        self.base = BasePrefix(f"{ROOT} Base" if venv else ROOT)
        """The folder of the Python that the environment was made from."""
        self.asked_base = False
        """Whether the code has asked if this is a virtual environment."""
        self.view = files.view
        self.complete = complete
        """Whether everything that is installed is in the view."""
        self.toolkits: set[str] = set()
        """The vendors whose toolkits the code has looked for."""
        self.profile = profile = files.profile
        self.processor = {Machine.X86: "x86", Machine.ARM64: "ARM64"}.get(profile.machine, "AMD64")
        self.bits = 32 if profile.machine is Machine.X86 else 64
        self.python: tuple[int, int] = profile.python or USUAL_PYTHON
        self.folder: str = FIRST_FOLDER
        """The current folder."""
        self.variables: dict[str, PyValue] = {
            "PATH": FIRST_PATH,
            "SYSTEMROOT": "C:\\Windows",
            "WINDIR": "C:\\Windows",
            "SYSTEMDRIVE": "C:",
            "PATHEXT": ".COM;.EXE;.BAT;.CMD",
            "OS": "Windows_NT",
            "PROGRAMFILES": "C:\\Program Files",
            "PROGRAMFILES(X86)": "C:\\Program Files (x86)",
            "PROGRAMDATA": "C:\\ProgramData",
            "COMSPEC": f"{SYSTEM32}\\cmd.exe",
            "TEMP": f"{HOME}\\AppData\\Local\\Temp",
            "TMP": f"{HOME}\\AppData\\Local\\Temp",
            "USERPROFILE": HOME,
            "APPDATA": f"{HOME}\\AppData\\Roaming",
            "LOCALAPPDATA": f"{HOME}\\AppData\\Local",
            "PROCESSOR_ARCHITECTURE": self.processor,
        }
        nothing_else = complete and _nothing_else(files.view, profile)
        self.process = process or first_process(files.view, profile, complete=nothing_else)
        self.done: dict[str, tuple[dict[tuple[str, str, EdgeKind], Edge], dict[str, None]]] = {}
        """The files that were loaded by themselves, with their needs and everything that came with them."""
        self.others: dict[str, str] = {}
        """Files of other distributions that were not followed to the end, each with what it may do by its first
        unclear statement: ``CDLL`` or ``add_dll_directory``. An empty name stands for one that is not in the view."""
        self.missed: dict[str, tuple[str, ...]] = {}
        """DLLs that the code looked for in vain, since the last that it found; for one that is there, the way from it
        to the DLL that is not found, as base names."""
        self.asked = False
        """Whether the code has asked for a variable or program that is not there, and may be on another machine."""
        self.own_absent = False
        """Whether the code has asked for a file or folder of the package that is not there."""
        self.lenient = False
        """Whether what is not known is passed over: where a file is read."""
        self.codes: set[int] = set()
        """The codes of all loads that failed."""
        self.refused: dict[str, tuple[Failure, dict[tuple[str, str, EdgeKind], Edge], dict[str, None]]] = {}
        """The files that could not be loaded, with why, their needs, and what was mapped for them."""

    def variable(self, name: str, default: PyValue = None) -> PyValue:
        """A variable of the environment; that code has looked for a toolkit is remembered."""
        vendor = next((vendor for vendor, starts in TOOLKITS.items() if name.upper().startswith(starts)), "")
        if vendor:
            self.toolkits.add(vendor)
        if self.lenient and name.upper() not in self.variables and self.files.sets_variable(name):
            return UNKNOWN  # other files of the package set it
        self.asked |= name.upper() not in self.variables
        return self.variables.get(name.upper(), default)

    # ------------------------------------------------------------------------------------------------- files

    def view_path(self, text: str) -> str:
        """A path as the view spells it; one outside of Python's folder with its drive."""
        path = ntpath.normpath(ntpath.join(self.folder, text))
        if path.lower() == ROOT.lower():
            return "."
        if path.lower().startswith(ROOT.lower() + "\\"):
            return path[len(ROOT) + 1 :].replace("\\", "/")
        return path.replace("\\", "/").lower()

    def exists(self, text: str, folder: bool | None = None) -> PyValue:
        """Whether there is a file or folder; unknown if another distribution may have it."""
        path = self.view_path(text)
        found = self._is_there(path, folder)
        own = self.files.is_own(path)
        self.asked |= found is False and not own
        self.own_absent |= found is False and own
        if path.lower().endswith(IMAGES) and not folder:  # opencv asks of every file whether it is a folder
            if found:
                self.missed.clear()
            elif found is False and self.files.is_own(path):
                self.missed[path] = ()
        return UNKNOWN if found is None else found

    def _is_there(self, path: str, folder: bool | None) -> bool | None:
        """Whether the view or Windows has a file; None for what another distribution may have."""
        if path in FOLDERS or HOME_FOLDER.startswith(f"{path}/"):
            return folder is not False
        if path == VENV_SETTINGS and self.venv:
            return not folder
        found = self.files.exists(path, folder=folder)
        if self.lenient:
            return found
        if found is None and folder is not False and path.count("/") == SITE_PACKAGES.count("/") + 1:
            found = self.files.requires(base_name(path)) or None  # the package of a required distribution
        outside = not path.startswith(f"{SITE_PACKAGES}/")  # only conda and the wheel itself put something there
        return False if found is None and (outside or self.complete) else found

    def names(self, text: str) -> list[str]:
        """The names in a folder."""
        path = self.view_path(text)
        if path in WINDOWS:
            self.asked = True  # programs put their own files there, too
            return sorted(system_dlls(self.profile.machine)) if path == WINDOWS[1] else []
        found = self.files.names(path)
        if found is None:
            raise Undecided(f"what is in the folder {text} is not known")
        return list(found)

    def is_folder(self, text: str) -> bool:
        """Whether there is such a folder."""
        found = self.exists(text, folder=True)
        if found is UNKNOWN and self.lenient:
            return True
        if found is UNKNOWN:
            raise Undecided(f"whether the folder {text} is there is not known")
        return bool(found)

    def below(self, text: str) -> list[str]:
        """Every file and folder below a folder, each as a path."""
        found = []
        for path in (ntpath.join(text, name) for name in self.names(text)):
            found.append(path)
            if self.exists(path, folder=True) is True:
                found += self.below(path)
        return found

    def matching(self, pattern: str, *, recursive: bool = False) -> list[str]:
        """What ``glob.glob`` gives for a pattern."""
        start, parts = pattern, list[str]()
        while _MAGIC.search(start):
            start, last = ntpath.split(start)
            if not last:  # no folder is above ``\\?\``
                raise Undecided(f"what {pattern} stands for is not known")
            parts.insert(0, last)
        if not parts:
            return [pattern] if self.exists(pattern) is True else []
        found = [start] if self.exists(start or ".", folder=True) is not False else []
        for at, part in enumerate(parts):
            if part == "**" and recursive:
                below = [path for folder in found for path in (ntpath.join(folder, ""), *self.below(folder))]
                found = below if at == len(parts) - 1 else [one for one in below if self.exists(one, True) is True]
                continue
            folders = found if not at else [one for one in found if self.exists(one, True) is True]
            hidden = part.startswith(".")
            found = [
                ntpath.join(folder, name)
                for folder in folders
                for name in self.names(folder)
                if fnmatch.fnmatchcase(name.lower(), part.lower()) and (hidden or not name.startswith("."))
            ]
        path = self.view_path(pattern)
        if not found and path.lower().endswith((".dll", ".pyd")) and self.files.is_own(path):
            self.missed[path] = ()
        return found

    def text(self, path: str) -> str:
        """What is in a small text file of the view."""
        where = self.view_path(path)
        if where in self.view and self.view.file(where).size <= MAX_TEXT:
            found = self.view.read_text(where, MAX_TEXT)
            if found is not None:
                return found
        if self.exists(path, folder=False) is False and not self.lenient:
            raise os_error("FileNotFoundError", 2, path)
        raise Undecided(f"the content of {path} is not read")

    def open_file(self, text: str, mode: PyValue) -> PyValue:
        """``open``: a small text file of the package, for reading."""
        if not isinstance(mode, str) or not mode.startswith("r") or "+" in mode:
            return UNKNOWN
        return Managed("file", self.text(text))

    # ------------------------------------------------------------------------------------------------- loads

    def close_folder(self, folder: str) -> None:
        """Remove a folder from the search again."""
        if folder in self.process.user_dirs:
            self.process.user_dirs.remove(folder)

    def add_folder(self, text: str) -> str:
        """``os.add_dll_directory``."""
        if not ntpath.isabs(text):
            raise os_error("OSError", 87, text)
        path = self.view_path(text)
        there = self.exists(text, folder=True)
        if not there and not self.complete and not self.files.is_own(path):
            there = UNKNOWN  # another distribution may fill it
        if there is False:
            raise os_error("FileNotFoundError", 2, text, LoadFault("folder", path, None))
        if there is UNKNOWN:
            raise Undecided(f"whether the folder {text} is there is not known")
        self.process.user_dirs.append(path)
        return path

    def load(self, name: str, flags: int | None, *, cffi: bool = False) -> LoadedDll:
        """Load a DLL as ctypes or cffi does, or throw what they throw."""
        has_folder = "/" in name or "\\" in name
        flags = default_flags(name, cffi=cffi) if flags is None else flags
        self.process.path_dirs = [self.view_path(self.folder), *self._path_folders()]
        self.process.edges, self.process.touched = {}, {}
        path, failure = self._load_file(name, flags) if has_folder else self._load_name(name, flags)
        if failure is None:
            self.missed.clear()
            return LoadedDll(name, path)
        self._check(failure)
        self.codes.add(failure.code)
        if path in self.view:
            self.refused[path] = failure, self.process.edges, self.process.touched
        chain = tuple(base_name(step) for step in failure.chain)
        own = path if "/" in path else base_name(failure.chain[0])
        if path in self.view or self.files.is_own(path) or (name and not has_folder):  # qutip loads "" and goes on
            self.missed[own] = chain if len(chain) > 1 else ()
        fault = LoadFault("cffi" if cffi else "load", own, failure, ntpath.basename(name))
        inside = any(map(self.files.is_own, self._path_folders()))  # the code itself has put them there
        fault.along_path = not has_folder and flags == 0 and not self.view.named(own.lower()) and not inside
        full = ntpath.abspath(ntpath.join(self.folder, name)) if has_folder else name
        raise load_error(full, failure, cffi, fault)

    def load_module(self, path: str) -> Failure | None:
        """Load an extension module of the view."""
        self.process.edges, self.process.touched = {}, {}
        failure = self.process.load(path)
        if failure is not None:
            self._check(failure)
            self.codes.add(failure.code)
            self.refused[path] = failure, self.process.edges, self.process.touched
        else:
            self._check_needs(path)
        return failure

    def _path_folders(self) -> list[str]:
        return [self.view_path(part) for part in str(self.variables.get("PATH", "")).split(";") if part]

    def _load_file(self, name: str, flags: int) -> tuple[str, Failure | None]:
        path = self.view_path(name)
        if "." not in base_name(path):
            path += ".dll"
        found = self.files.exists(path, folder=False)
        if found is None:
            raise Undecided(f"whether {path} is there is not known")
        if not found:
            return path, Failure(MOD_NOT_FOUND, (path,))
        if path[1:2] == ":":
            return "", None
        spelled = self.files.spelled(path)
        failure = self.process.load(spelled, flags)
        if failure is None:
            self._check_needs(spelled)
        return spelled, failure

    def _load_name(self, name: str, flags: int) -> tuple[str, Failure | None]:
        full = name if "." in name else name + ".dll"
        provider = self.process.find(full, self.process.search_steps("", flags & ~0x100))
        self._check_provider(full, provider)
        if isinstance(provider, InView):
            failure = self.process.load(provider.path, flags)
            if failure is None:
                self._check_needs(provider.path)
            return provider.path, failure
        if not isinstance(provider, Missing):
            return "", None
        self._ask_others(full)
        return full, Failure(MOD_NOT_FOUND, (full,))

    def _check(self, failure: Failure) -> None:
        """Raise Undecided for a failure that a toolkit of the machine, or code of other packages, may prevent."""
        name = base_name(failure.chain[-1])
        vendor = family_of(name).vendor if self.toolkits and not self.profile.bare else ""
        if failure.code == MOD_NOT_FOUND and vendor in self.toolkits:
            raise Undecided(f"a toolkit of {vendor} may have {name}, and its code looks for one")
        if failure.code == MOD_NOT_FOUND:
            self._ask_others(base_name(failure.chain[-1]))

    def _ask_others(self, name: str) -> None:
        """Raise Undecided for a DLL of another distribution that code which was not followed may load or make found."""
        beside = self.view.beside
        if beside is not None and next(beside.knowing(name, self.others, self.profile), None) is not None:
            raise Undecided(f"whether {name} is found depends on code of other packages")

    def _check_needs(self, path: str) -> None:
        """After a load that succeeded: nothing of it may depend on what others may have installed."""
        self.done.setdefault(path, (self.process.edges, self.process.touched))
        for edge in self.process.edges.values():
            if edge.required:
                self._check_provider(edge.name, edge.provider)

    @staticmethod
    def _check_provider(name: str, provider: Provider) -> None:
        if isinstance(provider, MayComeFrom) or (isinstance(provider, OwnedBy) and not provider.reachable):
            raise Undecided(f"whether {name} is installed is not known")

    def exports(self, library: LoadedDll) -> frozenset[str] | None:
        """The names that a loaded DLL exports; None if they are not known."""
        image = self.view.image(library.path) if library.path else None
        return image.exports.names if isinstance(image, Image) else None


def _nothing_else(view: FileView, profile: Profile) -> bool:
    """Whether the files of the view are all that can be found: the set is complete, and nothing else is assumed."""
    beside = view.beside
    assumed = profile.cuda or profile.toolkit or profile.nvtx or "conda" in profile.assume
    return beside is not None and beside.complete and not beside.absent and not assumed


def default_flags(name: str, *, cffi: bool) -> int:
    """The flags with which ctypes or cffi loads a DLL: cffi as programs do, if there is no folder in its name."""
    if "/" in name or "\\" in name:
        return 8 if cffi else AS_PYTHON_DOES
    return 0 if cffi else DEFAULT_DIRS


def os_error(kind: str, code: int, path: str = "", fault: LoadFault | None = None) -> Thrown:
    """An exception of Windows."""
    thrown = error(kind, code, "", path, failure=fault)
    known = {"winerror": code, "errno": 2 if code in (2, 3) else 22, "filename": path, "strerror": UNKNOWN}
    thrown.error.attributes.update(known)
    return thrown


def load_error(name: str, failure: Failure, cffi: bool, fault: LoadFault | None = None) -> Thrown:
    """The exception that a failed load raises."""
    if failure.code != MOD_NOT_FOUND and not cffi:
        return os_error("OSError", failure.code, "", fault)
    text = (
        f"Could not find module '{name}' (or one of its dependencies). Try using the full path with constructor syntax."
    )
    thrown = error("OSError", UNKNOWN) if cffi else error("FileNotFoundError", text)
    thrown.error.attributes.update(winerror=None, errno=None)
    thrown.error.failure = fault
    return thrown

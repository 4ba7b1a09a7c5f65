"""The Windows machine on which code is interpreted: its files, its variables, one process that loads DLLs."""

from __future__ import annotations

import fnmatch
import ntpath
from typing import TYPE_CHECKING

from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.providers import owners_of
from wheelfix.loader.loadcall import AS_PYTHON_DOES, DEFAULT_DIRS, MOD_NOT_FOUND, Failure
from wheelfix.loader.loading import Loader
from wheelfix.loader.target import NoProviders, Target
from wheelfix.loader.view import BASE, SITE_PACKAGES, base_name
from wheelfix.model import Image, InView, Machine, MayComeFrom, Missing, OwnedBy
from wheelfix.pycode.budget import MAX_TEXT
from wheelfix.pycode.objects import (
    UNKNOWN,
    BasePrefix,
    Instance,
    LoadedDll,
    LoadFault,
    Managed,
    Native,
    PyValue,
    SomeOf,
    Thrown,
    Undecided,
)

if TYPE_CHECKING:
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.model import Edge, EdgeKind, Provider
    from wheelfix.pycode.codefiles import ViewFiles

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


class _OwnersOfNames:
    """What the process finds outside of the view: DLLs that some distribution is known to ship may be there."""

    def provide(self, name: str, steps: tuple[str, ...]) -> Provider | None:
        """The distributions that ship a DLL; which of them are installed is not known here."""
        owners = tuple(dict.fromkeys(owner.distribution for owner in owners_of(name)))
        return MayComeFrom(name, owners, "it may be installed") if owners else None


def first_process(view: FileView, profile: Profile, *, complete: bool = False) -> Loader:
    """A process in which nothing of the view has been loaded; in a ``complete`` one nothing else is installed."""
    base = BASE if view.find(BASE, "python.exe") else ""
    searched = view.beside.searched if view.beside is not None else ()
    system = Target(profile, NoProviders() if complete else _OwnersOfNames())
    return Loader(view, system, profile.machine, application_dir=base, user_dirs=searched)


class WindowsMachine:
    """A machine with nothing but Windows, Python and the files of a view."""

    def __init__(
        self,
        files: ViewFiles,
        profile: Profile,
        *,
        complete: bool = True,
        bare: bool = False,
        venv: bool = False,
        process: Loader | None = None,
    ) -> None:
        """``process`` is one in which nothing has happened, and that knows more about other distributions."""
        self.files = files
        self.base = BasePrefix(f"{ROOT} Base" if venv else ROOT)
        """The folder of the Python that the environment was made from."""
        self.asked_base = False
        """Whether the code has asked if this is a virtual environment."""
        self.view = files.view
        self.complete = complete
        """Whether everything that is installed is in the view."""
        self.bare = bare
        """Whether no vendor's toolkit is installed either; else a variable that names one may be set."""
        self.toolkits: set[str] = set()
        """The vendors whose toolkits the code has looked for."""
        self.profile = profile
        self.machine: Machine = profile.machine
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
            "PROCESSOR_ARCHITECTURE": {Machine.X86: "x86", Machine.ARM64: "ARM64"}.get(self.machine, "AMD64"),
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
        self.last_chain: tuple[str, ...] = ()
        """The way from the last DLL that could not be loaded to the cause, as base names."""

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
        if path.lower().endswith(IMAGES):
            if found:
                self.missed.clear()
            elif found is False and self.files.is_own(path):
                self.missed[path] = ()
        return UNKNOWN if found is None else found

    def _is_there(self, path: str, folder: bool | None) -> bool | None:
        """Whether the view or Windows has a file; None for what another distribution may have."""
        if self.files.blind:
            return None
        if path in FOLDERS or HOME_FOLDER.startswith(f"{path}/"):
            return folder is not False
        found = self.files.exists(path, folder=folder)
        if self.lenient:
            return found
        if found is None and folder is not False and path.count("/") == SITE_PACKAGES.count("/") + 1:
            found = self.files.requires(base_name(path)) or None  # the package of a required distribution
        outside = not path.startswith(f"{SITE_PACKAGES}/")  # only conda and the wheel itself put something there
        return False if found is None and (outside or self.complete) else found

    def names(self, text: str) -> list[str]:
        """The names in a folder."""
        found = self.files.names(self.view_path(text))
        if found is None and self.lenient:
            return SomeOf()
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
        for name in self.names(text) if self.is_folder(text) else ():
            path = ntpath.join(text, name)
            found.append(path)
            if self.exists(path, folder=True) is True:
                found += self.below(path)
        return found

    def matching(self, pattern: str, *, recursive: bool = False) -> list[str]:
        """What ``glob.glob`` gives for a pattern."""
        folder, name = ntpath.split(pattern)
        if not any(mark in folder for mark in "*?["):
            return self._matching_in(folder, name, recursive)
        start = folder
        if any(mark in ntpath.splitdrive(folder)[0] for mark in "*?["):  # ``\\?\``: no folder is above it
            raise Undecided(f"what {pattern} stands for is not known")
        while any(mark in start for mark in "*?["):
            start = ntpath.dirname(start)
        wanted = pattern.replace("\\", "/").lower()
        deep = recursive and "**" in wanted
        found = []
        for path in self.below(start):
            text = path.replace("\\", "/").lower()
            plain = wanted.replace("/**/", "/*/") if deep else wanted
            direct = deep and fnmatch.fnmatchcase(text, wanted.replace("/**/", "/"))
            if (fnmatch.fnmatchcase(text, plain) and (deep or text.count("/") == wanted.count("/"))) or direct:
                found.append(path)
        self._note_pattern(pattern, found)
        return found

    def _matching_in(self, folder: str, name: str, recursive: bool) -> list[str]:
        pattern = ntpath.join(folder, name)
        if not any(mark in name for mark in "*?["):
            return [pattern] if self.exists(pattern) is True else []
        if name == "**" and recursive:
            return [folder + "\\", *self.below(folder)]
        names = self.names(folder) if self.exists(folder or ".", folder=True) is not False else []
        unclear = isinstance(names, SomeOf)
        found = [other for other in names if fnmatch.fnmatchcase(other.lower(), name.lower())]
        hidden = [other for other in found if not other.startswith(".") or name.startswith(".")]
        paths = [ntpath.join(folder, other) for other in hidden]
        if unclear:
            return SomeOf(paths)
        self._note_pattern(pattern, paths)
        return paths

    def _note_pattern(self, pattern: str, found: list[str]) -> None:
        path = self.view_path(pattern)
        if not found and path.lower().endswith((".dll", ".pyd")) and self.files.is_own(path):
            self.missed[path] = ()

    def text(self, path: str) -> str:
        """What is in a small text file of the view."""
        where = self.view_path(path)
        if where in self.view and self.view.file(where).size <= MAX_TEXT:
            found = self.view.read_text(where, MAX_TEXT)
            if found is not None:
                return found
        if self.exists(path, folder=False) is False:
            raise Thrown(os_error("FileNotFoundError", 2, path))
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
            raise Thrown(os_error("OSError", 87, text))
        path = self.view_path(text)
        there = self.exists(text, folder=True)
        if not there and not self.complete and not self.files.is_own(path):
            there = UNKNOWN  # another distribution may fill it
        if there is False:
            error = os_error("FileNotFoundError", 2, text)
            error.failure = LoadFault("folder", path, None)
            raise Thrown(error)
        if there is UNKNOWN:
            raise Undecided(f"whether the folder {text} is there is not known")
        self.process.user_dirs.append(path)
        return path

    def load(self, name: str, flags: int | None, *, cffi: bool = False) -> LoadedDll:
        """Load a DLL as ctypes or cffi does, or throw what they throw."""
        has_folder = "/" in name or "\\" in name
        if flags is None:
            flags = DEFAULT_DIRS if not has_folder else AS_PYTHON_DOES
            flags = 0 if cffi and not has_folder else 8 if cffi else flags
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
        self.last_chain = tuple(base_name(step) for step in failure.chain)
        own = path if "/" in path else base_name(failure.chain[0])
        if path in self.view or self.files.is_own(path) or not has_folder:
            self.missed[own] = self.last_chain if len(failure.chain) > 1 else ()
        error = load_error(name if not has_folder else ntpath.abspath(ntpath.join(self.folder, name)), failure, cffi)
        error.failure = LoadFault("cffi" if cffi else "load", own, failure, ntpath.basename(name))
        inside = any(map(self.files.is_own, self._path_folders()))  # the code itself has put them there
        error.failure.along_path = not has_folder and flags == 0 and not self.view.named(own.lower()) and not inside
        raise Thrown(error)

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
        member = family_of(base_name(failure.chain[-1])) if self.toolkits and not self.bare else None
        if failure.code == MOD_NOT_FOUND and member is not None and member.family.vendor in self.toolkits:
            raise Undecided(f"a toolkit of {member.family.vendor} may have {member.name}, and its code looks for one")
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


def os_error(kind: str, code: int, path: str = "") -> Instance:
    """An exception of Windows."""
    error = Instance(Native(kind), {"args": (code, "", path), "winerror": code, "errno": 2 if code in (2, 3) else 22})
    error.attributes["filename"] = path
    error.attributes["strerror"] = UNKNOWN
    return error


def load_error(name: str, failure: Failure, cffi: bool) -> Instance:
    """The exception that a failed load raises."""
    if cffi:
        return Instance(Native("OSError"), {"args": (UNKNOWN,), "winerror": None, "errno": None})
    if failure.code == MOD_NOT_FOUND:
        text = (
            f"Could not find module '{name}' (or one of its dependencies). "
            "Try using the full path with constructor syntax."
        )
        return Instance(Native("FileNotFoundError"), {"args": (text,), "winerror": None, "errno": None})
    return os_error("OSError", failure.code)

"""What the Python code of a package finds when it asks for files, folders, modules, DLLs by bare name."""

from __future__ import annotations

import fnmatch
import functools
import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.providers import module_owners, owners_of
from wheelfix.knowledge.system import classify, runtime_file
from wheelfix.loader.packageloading import startup_at
from wheelfix.loader.sitefiles import roots_of_path_files
from wheelfix.loader.view import SITE_PACKAGES, Layer, base_name, parent
from wheelfix.model import dll_key, fold
from wheelfix.pycode.budget import MAX_TEXT
from wheelfix.pycode.pythonsource import python_source
from wheelfix.pycode.standard import is_standard

if TYPE_CHECKING:
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.pycode.objects import CodeModule

MAX_SOURCE = 256 << 10
"""Bytes of a Python file that is read because another one imports it; larger ones are not."""
MAX_SEARCHED = 8 << 20
"""Bytes of Python code of a package in which assignments to environment variables are looked for."""
MAX_DEPTH = 100
"""Folders above a file; a deeper one is left out, because every folder above it is remembered by its whole path."""
MAX_IMPORTS = 200
"""Files that importing one file runs and that are looked at."""
_OF_INTEREST = (
    *(b"add_dll_directory", b"CDLL", b"WinDLL", b"LoadLibrary", b"load_library", b"dlopen", b"cdll", b"windll"),
    *(b".dll", b"__file__", b"__path__", b"environ[", b"environ.", b"sys.prefix", b"resources"),
)
"""Code that loads DLLs, or tells others where files are, contains one of these. What else a package takes from
other distributions (decorators of attrs, functions of NumPy) is as unknown as if they were not there."""
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
        self.machine = profile.machine
        self.python = profile.python
        self.code_modules: dict[str, CodeModule] = {}
        """Modules of the package by name, with the names that reading one file after the other has found out."""
        self._variables: dict[str, bool] = {}
        self._imported: set[str] = set()
        self._found_modules: dict[str, str | None] = {}
        self._roots = [SITE_PACKAGES, *roots_of_path_files(view)]
        if "children" not in view.notes:
            view.notes["children"] = _children_of(view)
        self._children: dict[str, dict[str, None]] = view.notes["children"]
        self.loading: frozenset[str] = frozenset()
        """The Python files of the subject that have code about DLLs."""
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

    def has_module(self, top: str) -> bool:
        """Whether a top-level module is installed in the view, whoever has it."""
        path = f"{SITE_PACKAGES}/{top}"
        return f"{path}.py" in self.view or fold(path) in self._children or bool(self._compiled(path))

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

    def named(self, name: str) -> bool:
        """Whether there is a DLL of that name somewhere in the view."""
        return bool(self.view.named(dll_key(name)))

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
            return classify(base_name(key), self.machine).kind in ("system", "ucrt")
        return False

    def below(self, folder: str, pattern: str) -> tuple[str, ...] | None:
        """The files anywhere below a folder whose names fit a pattern."""
        if fold(folder) not in self._children:
            return self.names(folder)
        start = fold(folder) + "/"
        paths = (file.path for file in self.view.files if fold(file.path).startswith(start))
        return tuple(path for path in paths if fnmatch.fnmatchcase(fold(base_name(path)), fold(pattern)))

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
            found = self._module_in(start, name)
            if found:
                return found
        if self.is_own(path):
            return ""
        self._imported.add(top)
        return None

    def is_shared(self, top: str) -> bool:
        """Whether other distributions may have modules in a package: it has no ``__init__``."""
        return fold(f"{SITE_PACKAGES}/{top}") in self._children and not self._has_init(top)

    def _module_in(self, root: str, name: str) -> str:
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
        stem = base_name(start)
        names = [name for name in self._children.get(fold(parent(start)), {}) if name.startswith(f"{stem}.")]
        tag = f".cp{self.python[0]}{self.python[1]}-" if self.python is not None else ".cp"
        for name in sorted(names, key=len, reverse=True):
            rest = name[len(stem) :].lower()
            if rest == ".pyd" or (rest.startswith((tag, ".abi3")) and rest.endswith(".pyd")):
                return f"{parent(start)}/{name}"
        return ""

    def source(self, path: str) -> str | None:
        """The source of a Python file of the view; of other distributions only what may say where files are."""
        if path not in self.view or not path.endswith(".py") or self.view.file(path).size > MAX_SOURCE:
            return None
        if self.view.layer(path) is Layer.ENVIRONMENT and not self._may_say_where_files_are(path):
            return None
        return python_source(self.view, path).decode("utf-8", "replace")

    def _may_say_where_files_are(self, path: str) -> bool:
        """Whether a file of another distribution is worth following; an import that is modelled is not."""
        known: dict[str, bool] = self.view.notes.setdefault("says where files are", {})
        if path not in known:
            if base_name(path) == "__init__.py":
                known[path] = startup_at(self.view, path) is None
            else:
                data = python_source(self.view, path)
                known[path] = any(word in data for word in _OF_INTEREST)
        return known[path]

    def text(self, path: str) -> str | None:
        """The content of a small text file of the view."""
        if path not in self.view or self.view.file(path).size > MAX_TEXT:
            return None
        return self.view.read_text(path, MAX_TEXT)

    def finds(self, name: str, folders: tuple[str, ...]) -> bool | None:
        """Whether a bare name is found: in Windows, the Visual C++ runtime, beside Python, or in some folders."""
        key = dll_key(name)
        known = classify(key, self.machine)
        if known.on_every_machine or known.kind in ("driver", "api-set") or runtime_file(key) is not None:
            return True
        if any(self.view.find(folder, key) for folder in ("", *folders)):
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

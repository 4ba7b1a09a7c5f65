"""Functions and constants of Python's library, as they are on the machine that the code is followed for."""

from __future__ import annotations

import ntpath
from typing import TYPE_CHECKING

from wheelfix.model import Machine
from wheelfix.pycode import methods
from wheelfix.pycode.budget import MAX_TEXT
from wheelfix.pycode.builtincalls import BUILTINS, next_of
from wheelfix.pycode.librarycalls import LIBRARY
from wheelfix.pycode.loadcalls import LOADS, OF_UNKNOWN, attribute_of_windows
from wheelfix.pycode.machinecalls import MACHINE
from wheelfix.pycode.metadatacalls import METADATA, NOT_FOUND
from wheelfix.pycode.modulecalls import MODULES
from wheelfix.pycode.objects import (
    UNKNOWN,
    Alternatives,
    CodeClass,
    Instance,
    LoadedDll,
    Managed,
    MarkedFunction,
    Native,
    PyValue,
    Thrown,
    UnknownValue,
    VersionInfo,
    WindowsPathValue,
    error,
    is_error,
    is_kind,
)
from wheelfix.pycode.patterncalls import PATTERNS, matched
from wheelfix.pycode.run import attempt
from wheelfix.pycode.standard import is_standard
from wheelfix.pycode.trace import LATER
from wheelfix.pycode.windows import HOME, ROOT, SITE

if TYPE_CHECKING:
    from wheelfix.pycode.run import PythonRun


_CONSTANTS: dict[str, PyValue] = {
    "os.name": "nt",
    "os.sep": "\\",
    "os.altsep": "/",
    "os.extsep": ".",
    "os.pathsep": ";",
    "os.pardir": "..",
    "os.curdir": ".",
    "os.linesep": "\r\n",
    "os.devnull": "nul",
    "sys.platform": "win32",
    "sys.byteorder": "little",
    "sys.prefix": ROOT,
    "sys.exec_prefix": ROOT,
    "sys.executable": f"{ROOT}\\python.exe",
    "sys.dont_write_bytecode": False,
    "site.ENABLE_USER_SITE": True,
    "ctypes.RTLD_GLOBAL": 0,
    "ctypes.RTLD_LOCAL": 0,
    "ctypes.DEFAULT_MODE": 0,
    "typing.TYPE_CHECKING": False,
    "importlib.metadata.PackageNotFoundError": NOT_FOUND,
    "string.ascii_lowercase": "abcdefghijklmnopqrstuvwxyz",
}
_ABSENT = frozenset(
    "sys.frozen sys._MEIPASS sys.real_prefix sys.getandroidapilevel os.fork os.uname os.geteuid os.getuid sys.abiflags"
    " os.RTLD_GLOBAL os.RTLD_NOW os.RTLD_LAZY os.RTLD_LOCAL os.RTLD_DEEPBIND sys.setdlopenflags sys.getdlopenflags"
    " os.sched_getaffinity os.confstr sys.pypy_version_info os.pathconf os.statvfs"
    " ctypes.pythonapi.Anaconda_GetVersion".split()
)
"""What Python does not have on Windows."""
_PASSING = frozenset(
    "contextlib.closing inspect.unwrap textwrap.dedent typing.no_type_check functools.total_ordering"
    " functools.update_wrapper abc.abstractmethod enum.unique typing.final typing.overload"
    " typing.runtime_checkable ctypes.wintypes.LPCWSTR ctypes.c_wchar_p ctypes.c_char_p"
    " importlib.resources.as_file os.fsencode os.fsdecode copy.copy copy.deepcopy ctypes.create_unicode_buffer"
    " sys.intern atexit.register os.path.expandvars".split()
)
"""Functions that return their argument, as far as paths are concerned."""
_OF_MACHINE = ("winreg.", "subprocess.", "distutils.spawn.", "os.system", "os.popen", "socket.", "urllib.")
"""Functions that ask what else is on the machine, or somewhere else."""
_NOTHING = frozenset({"warnings.warn", "warnings.filterwarnings", "warnings.simplefilter", "print", "time.sleep"})


class PythonLibrary:
    """What Python's library does, as far as it concerns paths, loads and the flow of code."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run
        run.of_native = self.of_native
        run.item_of_native = self.item_of_native
        run.call_native = self.call_native
        run.is_load = self.is_load

    # ---------------------------------------------------------------------------------------------- attributes

    def of_native(self, owner: str, name: str) -> PyValue:
        """An attribute of something of Python's library."""
        full = f"{_canonical(owner)}.{name}"
        if self.run.reading is not None and name in ("__file__", "__path__") and not is_standard(owner):
            folder = f"{SITE}\\{owner.replace('.', chr(92))}"
            return [folder] if name == "__path__" else Alternatives((f"{folder}\\__init__.py", UNKNOWN))
        if full in _CONSTANTS:
            return _CONSTANTS[full]
        if full in _ABSENT:
            raise error("AttributeError", f"module '{owner}' has no attribute '{name}'")
        major, minor = self.run.machine.python
        special = {
            "sys.base_prefix": self.run.machine.base,
            "sys.base_exec_prefix": self.run.machine.base,
            "sys.maxsize": 2**31 - 1 if self.run.machine.machine is Machine.X86 else 2**63 - 1,
            "sys.version_info": VersionInfo((major, minor, 9, "final", 0)),
            "sys.hexversion": (major << 24) + (minor << 16) + 0x9F0,
            "sys.version": f"{major}.{minor}.9 (main) [MSC v.1938 64 bit (AMD64)]",
            "sys.path": [f"{ROOT}\\DLLs", f"{ROOT}\\Lib", ROOT, SITE],
            "sys.winver": f"{major}.{minor}",
            "importlib.machinery.EXTENSION_SUFFIXES": [
                ".cp{}{}-win_amd64.pyd".format(*self.run.machine.python),
                ".pyd",
            ],
        }
        if full in special:
            return special[full]
        if owner == "sys.version_info" or full == "sys.getwindowsversion().major":
            return 10
        if full.startswith("os.path.") and full[3:] in ("path.sep", "path.pathsep", "path.pardir", "path.curdir"):
            return _CONSTANTS[f"os.{name}"]
        loaded = attribute_of_windows(self.run, _canonical(owner), name)
        return loaded if loaded is not None else Native(full)

    def item_of_native(self, name: str, key: PyValue) -> PyValue:
        """An item of something of Python's library."""
        if name == "os.environ":
            if not isinstance(key, str):
                return UNKNOWN
            found = self.run.machine.variable(key)
            if found is None and self.run.reading is not None and self.run.reading.level == LATER:
                return UNKNOWN  # with the variable set, the code gets here
            if found is None:
                raise error("KeyError", key)
            return found
        if name == "sys.modules":
            return self.run.module_named(key) if isinstance(key, str) else UNKNOWN
        loaded = attribute_of_windows(self.run, _canonical(name), key) if isinstance(key, str) else None
        return loaded if loaded is not None else UNKNOWN

    # ---------------------------------------------------------------------------------------------- the calls

    def is_load(self, name: str) -> bool:
        """Whether something of Python's library loads DLLs or changes the search for them."""
        return _canonical(name) in LOADS or _canonical(name).startswith(("os.environ", "os.chdir", "importlib"))

    def call_native(self, name: str, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        """Call something of Python's library."""
        if any(isinstance(one, Alternatives) for one in args) and not _takes_alternatives(name, args):
            return self.run.combined(lambda *given: self.call_native(name, list(given), keywords), *args)
        if name.startswith("<"):
            return self._call_method(name, args, keywords)
        name = _canonical(name)
        for table in (LOADS, _FUNCTIONS):
            if name in table:
                return table[name](self.run, args, keywords)
        if self.run.reading is not None and not is_standard(name) and name.rpartition(".")[2] in OF_UNKNOWN:
            return OF_UNKNOWN[name.rpartition(".")[2]](self.run, args, keywords)
        if name.startswith(_OF_MACHINE):
            self.run.machine.asked = True
        if name in _NOTHING:
            return None
        if name in _PASSING:
            return args[0] if args else UNKNOWN
        if is_error(Native(name)):
            return Instance(Native(name), {"args": tuple(args), **keywords})
        if name.startswith("os.path.") and hasattr(ntpath, name[8:]):
            return self._path_function(name[8:], args)
        return self.run.call_unknown(args, keywords)

    def _call_method(self, name: str, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        group, _, last = name[1:].partition(">.")
        owner: PyValue = args[0] if args else UNKNOWN
        rest = args[1:]
        if group == "method":
            return methods.method(self.run, owner, last, rest, keywords)
        if group == "path":
            return methods.path_method(self.run, owner, last, rest, keywords)
        if group == "property":
            owner.kept[last] = rest[0]
            return owner
        if group == "FolderHandle":
            if last in ("close", "__exit__"):
                self.run.close_folder(owner.folder)
            return owner if last == "__enter__" else None
        if group == "Managed":
            return self._of_stack(owner, last, rest)
        if group == "new":
            return Instance(owner) if isinstance(owner, CodeClass) else UNKNOWN
        if group == "make":
            return self.run.make(owner, rest, keywords) if isinstance(owner, CodeClass) else UNKNOWN
        if group == "match":
            return matched(self.run, owner, last, rest)
        if group == "mark":
            return MarkedFunction(last, owner)
        if group == "Iteration" and last in ("__next__", "send"):
            return next_of(self.run, [owner], {})
        if group == "windows" and f"windows.{last}" in LOADS:
            return LOADS[f"windows.{last}"](self.run, args, keywords)
        return UNKNOWN

    def _of_stack(self, owner: Managed, name: str, args: list[PyValue]) -> PyValue:
        if owner.kind == "file":
            return owner.value if name == "read" else owner.value.splitlines(True) if name == "readlines" else None
        if owner.kind != "stack":
            return UNKNOWN
        if name in ("enter_context", "push") and args:
            found = self.run.enter(args[0])
            owner.value.append(args[0])
            return found
        if name in ("close", "__exit__"):
            self.run.leave(owner, None)
            owner.value.clear()
        return owner if name == "__enter__" else UNKNOWN

    def _path_function(self, name: str, args: list[PyValue]) -> PyValue:
        """A function of ``os.path``."""
        texts = [one.text if isinstance(one, WindowsPathValue) else one for one in args]
        if any(one is None for one in texts):
            if name in ("exists", "isfile", "isdir", "islink"):
                raise error("TypeError", "stat: path should be string, bytes, os.PathLike or integer, not NoneType")
            raise error("TypeError", "expected str, bytes or os.PathLike object, not NoneType")
        if name in ("commonprefix", "commonpath") or not texts or not all(isinstance(one, str) for one in texts):
            return UNKNOWN
        if sum(map(len, texts)) > MAX_TEXT:
            return UNKNOWN
        if name in ("exists", "isfile", "isdir", "lexists", "islink", "ismount"):
            wanted = {"isfile": False, "isdir": True}.get(name)
            return False if name in ("islink", "ismount") or not texts[0] else self.run.machine.exists(texts[0], wanted)
        if name in ("abspath", "realpath"):
            return ntpath.normpath(ntpath.join(self.run.machine.folder, texts[0]))
        if name == "expanduser":
            return texts[0].replace("~", HOME, 1) if texts[0].startswith("~") else texts[0]
        if name == "relpath":
            start = texts[1] if len(texts) > 1 else self.run.machine.folder
            if not ntpath.splitdrive(texts[0])[0] or not ntpath.splitdrive(start)[0]:
                return UNKNOWN
            return attempt(ntpath.relpath, ntpath.join(self.run.machine.folder, texts[0]), start)
        if name in ("getsize", "getmtime", "samefile"):
            return UNKNOWN
        if name in ("join", "dirname", "basename", "split", "splitext", "normpath", "normcase", "isabs", "splitdrive"):
            return attempt(getattr(ntpath, name), *texts)
        return UNKNOWN


def _canonical(name: str) -> str:
    """A name of the library as the tables have it."""
    for alias, real in (
        ("ntpath.", "os.path."),
        ("posixpath.", "os.path."),
        ("importlib_resources.", "importlib.resources."),
        ("importlib_metadata.", "importlib.metadata."),
    ):
        if name.startswith(alias):
            return real + name[len(alias) :]
    return {"ntpath": "os.path", "posixpath": "os.path"}.get(name, name)


def _takes_alternatives(name: str, args: list[PyValue]) -> bool:
    """Whether a call is given a value of several alternatives as it is: what loads, and what keeps values."""
    if name.startswith("<method>"):
        return isinstance(args[0], list | dict | set)
    if name == "ctypes.util.find_library":
        return False
    if "." in name and not is_standard(name) and not name.startswith("<"):
        return name.rpartition(".")[2] in OF_UNKNOWN
    keeping = ("functools.partial", "setattr", "dict", "print")
    return name.startswith("<") or _canonical(name) in LOADS or name in keeping


def _has_attribute(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    owner, name = args[0], args[1]
    if not isinstance(name, str) or isinstance(owner, UnknownValue):
        return UNKNOWN
    if isinstance(owner, Native) and not _is_known_attribute(f"{owner.name}.{name}"):
        return False if f"{_canonical(owner.name)}.{name}" in _ABSENT else UNKNOWN
    try:
        found = run.attribute(owner, name)
    except Thrown as thrown:
        if is_kind(thrown.error.kind, Native("AttributeError")):
            return False
        raise
    return True if not isinstance(found, UnknownValue) or isinstance(owner, LoadedDll) else UNKNOWN


def _is_known_attribute(name: str) -> bool:
    known = ("os.add_dll_directory", "ctypes.windll", "ctypes.WinDLL", "sys.getwindowsversion", "ctypes.WinError")
    return name in known or _canonical(name) in _FUNCTIONS or _canonical(name) in _CONSTANTS


_FUNCTIONS = {**MACHINE, **BUILTINS, **LIBRARY, **METADATA, **MODULES, **PATTERNS, "hasattr": _has_attribute}

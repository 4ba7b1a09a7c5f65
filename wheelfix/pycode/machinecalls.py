"""Functions that ask or change the machine: files, folders, variables, DLLs."""

from __future__ import annotations

import ntpath
from pathlib import PurePath, PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.base.parsing import parse_json
from wheelfix.loader.loadcall import AS_PYTHON_DOES, MOD_NOT_FOUND
from wheelfix.model import Machine
from wheelfix.pycode.budget import MAX_TEXT
from wheelfix.pycode.builtintypes import listed
from wheelfix.pycode.objects import (
    UNKNOWN,
    FolderHandle,
    Instance,
    Iteration,
    LoadedDll,
    Managed,
    Method,
    Native,
    PyValue,
    Thrown,
    Undecided,
    UnknownValue,
    path_text,
)
from wheelfix.pycode.sourcecode import CLASSES, LISTS, OF_WINDOWS
from wheelfix.pycode.windows import COMPILERS, HOME, ROOT, SITE, WITH_PATH_NAMES, os_error

if TYPE_CHECKING:
    from wheelfix.pycode.run import Call, LibraryFunction, PythonRun

_MACHINES = {Machine.X86: "x86", Machine.ARM64: "ARM64"}
_PLATFORMS = {Machine.X86: "win32", Machine.ARM64: "win-arm64"}


def _environment(call: Call) -> PyValue:
    name = call.get(0)
    return call.run.machine.variable(name, call.get(1, "default", None)) if isinstance(name, str) else UNKNOWN


def _set_environment(call: Call) -> PyValue:
    if not isinstance(call.get(0), str):
        raise Undecided("an environment variable is not known")
    name, variables = call.get(0).upper(), call.run.machine.variables
    if name not in variables:
        call.run.store(variables, name, call.get(1))
    return variables[name]


def _list_folder(call: Call) -> PyValue:
    folder = call.text(0, default=".")
    return listed(call.run, folder) if isinstance(folder, str) else UNKNOWN


def _scan_folder(call: Call) -> PyValue:
    names = _list_folder(call)
    if isinstance(names, UnknownValue):
        return UNKNOWN
    entries = []
    for name in names:
        path = PureWindowsPath(ntpath.join(call.text(0, default="."), name))
        known = {"name": name, "path": str(path), "is_file": Method(path, "is_file"), "is_dir": Method(path, "is_dir")}
        entries.append(Instance(Native("os.DirEntry"), known))
    return entries


def _walk(call: Call) -> PyValue:
    folder, machine = call.text(0), call.run.machine
    if not isinstance(folder, str):
        return UNKNOWN
    rows: list[PyValue] = []
    pending = [folder] if machine.is_folder(folder) else []
    while pending:
        here = pending.pop(0)
        names = machine.names(here)
        inside = [name for name in names if machine.exists(ntpath.join(here, name), True) is True]
        rows.append((here, inside, [name for name in names if name not in inside]))
        pending = [ntpath.join(here, name) for name in inside] + pending
    return rows


def _chdir(call: Call) -> PyValue:
    folder, machine = call.text(0), call.run.machine
    if not isinstance(folder, str):
        raise Undecided("the current folder is not known")
    if not machine.is_folder(folder):
        raise Thrown(os_error("FileNotFoundError", 2, folder))
    machine.folder = ntpath.normpath(ntpath.join(machine.folder, folder))


def _glob(call: Call) -> PyValue:
    pattern = call.get(0, "pathname")
    if not isinstance(pattern, str):
        return UNKNOWN
    recursive = call.run.truth(call.words.get("recursive")) is True
    return call.run.machine.matching(pattern.replace("/", "\\"), recursive=recursive)


def _path(call: Call) -> PyValue:
    texts = call.texts()
    if texts is None or sum(map(len, texts)) > MAX_TEXT:
        return UNKNOWN
    return PureWindowsPath(*texts)


def _fspath(call: Call) -> PyValue:
    found = call.text(0)
    return found if isinstance(found, str | bytes) else UNKNOWN


def _json(call: Call) -> PyValue:
    given = call.get(0)
    text = given.value if isinstance(given, Managed) and given.kind == "file" else given
    try:
        return parse_json(text) if isinstance(text, str) else UNKNOWN
    except ValueError:
        return UNKNOWN


def _which(call: Call) -> PyValue:
    """A program on PATH: there is none besides Python and those of Windows."""
    name = call.get(0)
    if not isinstance(name, str) or name in ("python", "cmd"):
        return UNKNOWN
    call.run.machine.asked = True
    call.run.machine.variable(COMPILERS.get(name.removesuffix(".exe"), ""))
    return None


def _bits(run: PythonRun) -> int:
    return 32 if run.machine.machine is Machine.X86 else 64


def _open(call: Call) -> PyValue:
    path = call.text(0)
    return call.run.machine.open_file(path, call.get(1, "mode", "r")) if isinstance(path, str) else UNKNOWN


def _glob_lazily(call: Call) -> PyValue:
    found = _glob(call)
    return Iteration(iter(found)) if isinstance(found, list) else found


MACHINE: dict[str, LibraryFunction] = {
    "os.environ.get": _environment,
    "os.getenv": _environment,
    "os.environ.setdefault": _set_environment,
    "os.environ.copy": lambda call: dict(call.run.machine.variables),
    "os.environ.pop": lambda call: call.run.machine.variables.pop(str(call.get(0)).upper(), call.get(1, default=None)),
    "os.putenv": lambda call: None,
    "os.listdir": _list_folder,
    "os.scandir": _scan_folder,
    "os.walk": _walk,
    "os.getcwd": lambda call: call.run.machine.folder,
    "os.chdir": _chdir,
    "os.fspath": _fspath,
    "os.access": lambda call: call.run.machine.exists(path) if isinstance(path := call.get(0), str) else UNKNOWN,
    "glob.glob": _glob,
    "glob.iglob": _glob_lazily,
    **dict.fromkeys(
        [f"pathlib.{name}" for name in ("Path", "PurePath", "WindowsPath", "PureWindowsPath", "PurePosixPath")], _path
    ),
    "pathlib.Path.cwd": lambda call: PureWindowsPath(call.run.machine.folder),
    "pathlib.Path.home": lambda call: PureWindowsPath(HOME),
    "open": _open,
    "io.open": _open,
    "json.load": _json,
    "json.loads": _json,
    "struct.calcsize": lambda call: _bits(call.run) // 8 if call.get(0) in ("P", "N", "n") else UNKNOWN,
    "platform.system": lambda call: "Windows",
    "platform.machine": lambda call: _MACHINES.get(call.run.machine.machine, "AMD64"),
    "platform.architecture": lambda call: (f"{_bits(call.run)}bit", "WindowsPE"),
    "platform.python_implementation": lambda call: "CPython",
    "platform.python_version": lambda call: "{}.{}.9".format(*call.run.machine.python),
    "platform.release": lambda call: "10",
    "sysconfig.get_platform": lambda call: _PLATFORMS.get(call.run.machine.machine, "win-amd64"),
    "sysconfig.get_path": lambda call: SITE if call.get(0) in ("platlib", "purelib") else UNKNOWN,
    "sysconfig.get_config_var": lambda call: (
        f"{HOME}\\AppData\\Roaming\\Python" if call.get(0) == "userbase" else UNKNOWN
    ),
    "site.getsitepackages": lambda call: [ROOT, SITE],
    "shutil.which": _which,
    "sys.getwindowsversion": lambda call: Instance(
        Native("sys.getwindowsversion()"), {"major": 10, "minor": 0, "build": 19045, "platform": 2}
    ),
}


_LISTS = frozenset(f"ctypes.{name}" for name in LISTS)
_POINTERS = frozenset({"c_void_p", "c_size_t", "c_ssize_t", "py_object", "c_char_p"})
_LAST_ERROR = "<last error>"


def load(run: PythonRun, function: str, value: PyValue, flags: PyValue = None) -> PyValue:
    """Load a DLL, or note that a file that is read may load it; ``flags`` is None where Python chooses them."""
    if run.reading is not None:
        return run.reading.load(function, value, flags)
    name = path_text(value)
    if not isinstance(name, str) or isinstance(flags, UnknownValue | Native):
        raise Undecided("what is loaded is not known")
    return run.machine.load(name, flags, cffi=function == "dlopen")


def attribute_of_windows(run: PythonRun, owner: str, name: str) -> PyValue:
    """A DLL that is loaded by being named: ``ctypes.windll.kernel32``; None for other attributes."""
    if owner not in _LISTS or name == "LoadLibrary" or name.startswith("_"):
        return None
    if run.reading is not None and run.machine.files.finds(f"{name}.dll", ()):
        return LoadedDll(name, "")
    return load(run, "LoadLibrary", name)


def _load(call: Call) -> PyValue:
    """``ctypes.CDLL`` and its kin."""
    run, name, mode = call.run, call.get(0, "name"), call.get(5, "winmode", None)
    if call.words.get("handle") is not None:
        return UNKNOWN
    if run.reading is None and mode is None:
        early = isinstance(name, PurePath) and run.machine.python < WITH_PATH_NAMES
        if early or name is None:
            kind = "NoneType" if name is None else "WindowsPath"
            raise Thrown(Instance(Native("TypeError"), {"args": (f"argument of type '{kind}' is not iterable",)}))
    return load(run, "CDLL", name, 0 if isinstance(mode, Native) and "RTLD" in mode.name else mode)


def _load_library(call: Call) -> PyValue:
    return load(call.run, "CDLL", call.get(0))


def _dlopen(call: Call) -> PyValue:
    """``ffi.dlopen`` of cffi."""
    loaded = load(call.run, "dlopen", call.get(0))
    return Instance(Native("cffi.Library"), {"<library>": loaded}) if isinstance(loaded, LoadedDll) else loaded


def _load_with_numpy(call: Call) -> PyValue:
    """``numpy.ctypeslib.load_library``: a name, with or without its suffix, in a folder or beside a file."""
    machine, name, folder, path = call.run.machine, call.text(0), call.text(1, default=""), UNKNOWN
    if isinstance(name, str) and isinstance(folder, str):
        folder = ntpath.dirname(folder) if machine.exists(folder, True) is False else folder
        path = ntpath.join(folder, name if ntpath.splitext(name)[1] else f"{name}.dll")
    if call.run.reading is None and isinstance(path, str) and machine.exists(path, False) is False:
        raise Thrown(Instance(Native("OSError"), {"args": ("no file with expected extension",)}))
    return load(call.run, "load_library", path)


def _quietly(function: str) -> LibraryFunction:
    """A function of Windows that loads, and returns 0 where that fails."""

    def made(call: Call) -> PyValue:
        flags = call.get(2, default=0) if function.startswith("LoadLibraryEx") else 0
        variables, code = call.run.machine.variables, 0
        call.run.guards.append(Managed("suppress", Native("OSError")))
        try:
            loaded = load(call.run, function, call.get(0), flags)
        except Thrown as thrown:
            fault = thrown.error.failure
            loaded, code = None, fault.failure.code if fault and fault.failure else MOD_NOT_FOUND
        finally:
            call.run.guards.pop()
        variables[_LAST_ERROR] = code
        return loaded

    return made


def _last_error(call: Call) -> PyValue:
    return call.run.machine.variables.get(_LAST_ERROR, 0)


def _win_error(call: Call) -> PyValue:
    code = call.get(0, default=None) or _last_error(call)
    kind = "FileNotFoundError" if code in (2, 3) else "OSError"
    return Instance(Native(kind), {"args": (UNKNOWN, ""), "winerror": code, "strerror": ""})


def _find_library(call: Call) -> PyValue:
    """``ctypes.util.find_library``: along PATH."""
    name, machine = call.get(0), call.run.machine
    if not isinstance(name, str):
        return UNKNOWN
    if call.run.reading is not None and machine.files.finds(_with_suffix(name), ()):
        return _with_suffix(name)
    path = machine.variables.get("PATH", "")
    if not isinstance(path, str):
        return UNKNOWN
    for folder in path.split(";"):
        for candidate in dict.fromkeys((name, _with_suffix(name))):
            file = ntpath.join(folder, candidate)
            if machine.exists(file, False) is True:
                return file
    machine.missed[_with_suffix(name)] = ()
    return None


def _with_suffix(name: str) -> str:
    return name if name.lower().endswith(".dll") else f"{name}.dll"


def _add_folder(call: Call) -> PyValue:
    """``os.add_dll_directory``."""
    if call.run.reading is not None:
        return call.run.reading.add_folder(call.get(0, "path"))
    text = call.text(0, "path")
    if not isinstance(text, str):
        raise Undecided("a folder that is added is not known")
    return FolderHandle(call.run.machine.add_folder(text))


def _size(call: Call) -> PyValue:
    kind = call.get(0)
    is_pointer = isinstance(kind, Native) and kind.name.rpartition(".")[2] in _POINTERS
    return _bits(call.run) // 8 if is_pointer else UNKNOWN


def _load_extended(call: Call) -> PyValue:
    """``LoadLibraryEx`` of pywin32, which raises an exception."""
    flags = call.get(2)
    return load(call.run, "LoadLibraryEx", call.get(0), flags if isinstance(flags, int) else AS_PYTHON_DOES)


_OF_KERNEL32 = {name: _quietly(name) for name in OF_WINDOWS}
OF_UNKNOWN: dict[str, LibraryFunction] = {
    **dict.fromkeys(CLASSES, _load),
    **_OF_KERNEL32,
    "LoadLibrary": _load_library,
    "LoadLibraryEx": _load_extended,
    "load_library": _load_with_numpy,
    "dlopen": _dlopen,
    "add_dll_directory": _add_folder,
}
"""What loads by the last part of its name, where a file is read and it is not known of what it is a method."""
LOADS: dict[str, LibraryFunction] = {
    **{f"ctypes.{name}": _load for name in CLASSES},
    **{f"{owner}.LoadLibrary": _load_library for owner in _LISTS},
    "ctypes.LibraryLoader": lambda call: UNKNOWN,
    "ctypes.WinError": _win_error,
    "ctypes.GetLastError": _last_error,
    "ctypes.get_last_error": _last_error,
    "ctypes.FormatError": lambda call: "The specified module could not be found.",
    "ctypes.sizeof": _size,
    "ctypes.util.find_library": _find_library,
    "ctypes.util.find_msvcrt": lambda call: None,
    "os.add_dll_directory": _add_folder,
    "cffi.FFI": lambda call: Native("cffi.FFI()"),
    "_cffi_backend.FFI": lambda call: Native("cffi.FFI()"),
    "cffi.FFI().dlopen": _dlopen,
    "numpy.ctypeslib.load_library": _load_with_numpy,
    **{f"<windows>.{name}": function for name, function in _OF_KERNEL32.items()},
    "win32api.LoadLibrary": _load_library,
    "win32api.LoadLibraryEx": _load_extended,
}

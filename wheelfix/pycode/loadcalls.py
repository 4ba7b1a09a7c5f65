"""Calls that load DLLs or change where they are looked for: ctypes, cffi, NumPy's helper, Windows' own functions."""

from __future__ import annotations

import ntpath
from typing import TYPE_CHECKING

from wheelfix.loader.loadcall import AS_PYTHON_DOES
from wheelfix.model import Machine, dll_key
from wheelfix.pycode.objects import (
    UNKNOWN,
    Alternatives,
    FolderHandle,
    Instance,
    LoadedDll,
    Native,
    PyValue,
    Thrown,
    Undecided,
    UnknownValue,
    WindowsPathValue,
    error,
)
from wheelfix.pycode.windows import WITH_PATH_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.pycode.run import PythonRun

_LISTS = frozenset({"ctypes.cdll", "ctypes.windll", "ctypes.oledll", "ctypes.pydll"})
_POINTERS = frozenset({"c_void_p", "c_size_t", "c_ssize_t", "py_object", "c_char_p"})
_EXTENDED = 3
"""Arguments of ``LoadLibraryEx``."""


def attribute_of_windows(run: PythonRun, owner: str, name: str) -> PyValue:
    """A DLL that is loaded by being named: ``ctypes.windll.kernel32``; None for other attributes."""
    if owner not in _LISTS or name == "LoadLibrary" or name.startswith("_"):
        return None
    if run.reading is not None:
        system = run.machine.files.finds(f"{name}.dll", ())
        return LoadedDll(name, "") if system else run.reading.load("LoadLibrary", name)
    return run.machine.load(name, None)


def _load(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    """``ctypes.CDLL`` and its kin."""
    name = args[0] if args else keywords.get("name", UNKNOWN)
    mode = keywords.get("winmode", args[5] if len(args) > 5 else None)
    if "handle" in keywords and keywords["handle"] is not None:
        return UNKNOWN
    if isinstance(mode, Native) and mode.name.rpartition(".")[2] in ("RTLD_GLOBAL", "RTLD_LOCAL"):
        mode = 0
    if run.reading is not None:
        rtld = isinstance(mode, Native) and "RTLD" in mode.name
        return run.reading.load("CDLL", name, 0 if rtld else mode)
    if isinstance(name, WindowsPathValue):
        if run.machine.python < WITH_PATH_NAMES and mode is None:
            raise Thrown(Instance(Native("TypeError"), {"args": ("argument of type 'WindowsPath' is not iterable",)}))
        name = name.text
    if name is None and mode is None:
        raise Thrown(Instance(Native("TypeError"), {"args": ("argument of type 'NoneType' is not iterable",)}))
    if not isinstance(name, str) or isinstance(mode, UnknownValue | Native):
        raise Undecided("what is loaded is not known")
    return run.machine.load(name, mode if isinstance(mode, int) else None)


def _load_library(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    return _load(run, args[:1], {})


def _dlopen(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    """``ffi.dlopen`` of cffi."""
    if run.reading is not None:
        return run.reading.load("dlopen", args[0] if args else UNKNOWN)
    name = args[0].text if args and isinstance(args[0], WindowsPathValue) else args[0] if args else None
    if name is None:
        raise Thrown(Instance(Native("OSError"), {"args": ("dlopen(None) cannot work on Windows",)}))
    if not isinstance(name, str):
        raise Undecided("what is loaded is not known")
    # cffi passes a path with its slashes as they are; Windows takes both.
    loaded = run.machine.load(name, None, cffi=True)
    return Instance(Native("cffi.Library"), {"<library>": loaded})


def _load_with_numpy(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    """``numpy.ctypeslib.load_library``: a name, with or without its suffix, in a folder."""
    if run.reading is not None:
        value = run.combined(_in_folder, *args[:2]) if len(args) > 1 else args[0] if args else UNKNOWN
        return run.reading.load("load_library", value)
    texts = [one.text if isinstance(one, WindowsPathValue) else one for one in args[:2]]
    if len(texts) < 2 or not all(isinstance(one, str) for one in texts):
        raise Undecided("what is loaded is not known")
    name, folder = texts
    folder = ntpath.dirname(folder) if run.machine.exists(folder, True) is not True else folder
    full = name if ntpath.splitext(name)[1] else f"{name}.dll"
    path = ntpath.join(folder, full)
    if run.machine.exists(path, False) is False:
        raise Thrown(Instance(Native("OSError"), {"args": ("no file with expected extension",)}))
    return run.machine.load(path, None)


def _in_folder(name: PyValue, folder: PyValue) -> PyValue:
    texts = [one.text if isinstance(one, WindowsPathValue) else one for one in (folder, name)]
    if not all(isinstance(one, str) for one in texts):
        return UNKNOWN
    made = ntpath.join(*texts)
    return made if made.lower().endswith(".dll") else f"{made}.dll"


def _quietly(function: str) -> Callable[[PythonRun, list[PyValue], dict[str, PyValue]], PyValue]:
    """A function of Windows that loads, and returns 0 where that fails."""

    def made(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        if run.reading is not None:
            extended = function.startswith("LoadLibraryEx")
            flags = (args[2] if len(args) > 2 and isinstance(args[2], int) else UNKNOWN) if extended else 0
            return run.reading.load(function, args[0] if args else UNKNOWN, flags)
        return _load_quietly(run, args, keywords)

    return made


def _load_quietly(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    """``LoadLibraryExW`` and its kin, which return 0 where a load fails."""
    name = args[0].text if args and isinstance(args[0], WindowsPathValue) else args[0] if args else UNKNOWN
    flags = args[2] if len(args) == _EXTENDED else 0
    if not isinstance(name, str) or not isinstance(flags, int):
        raise Undecided("what is loaded is not known")
    try:
        run.machine.load(name, flags)
    except Thrown as thrown:
        fault = thrown.error.failure
        run.machine.variables["<last error>"] = str(fault.failure.code if fault and fault.failure else 126)
        return None
    run.machine.variables["<last error>"] = "0"
    return 1


def _module_handle(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    """``GetModuleHandleW``: whether a DLL is in the process."""
    name = args[0] if args else UNKNOWN
    if not isinstance(name, str) or run.machine.others:
        return UNKNOWN
    full = name if "." in ntpath.basename(name) else f"{name}.dll"
    is_loaded = dll_key(ntpath.basename(full)) in run.machine.process.loaded
    return 1 if is_loaded else UNKNOWN if run.machine.process.system.resident(full) is not None else None


def _last_error(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    return int(run.machine.variables.get("<last error>", "0"))


def _win_error(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    code = args[0] if args else _last_error(run, [], {})
    made = Instance(Native("OSError"), {"args": (UNKNOWN, ""), "winerror": code, "strerror": ""})
    return made if code not in (2, 3) else Instance(Native("FileNotFoundError"), made.attributes)


def _find_library(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    """``ctypes.util.find_library``: along PATH."""
    name = args[0] if args else UNKNOWN
    if isinstance(name, str) and run.reading is not None and run.machine.files.finds(_with_suffix(name), ()):
        return _with_suffix(name)
    if not isinstance(name, str):
        if name is None:
            raise error("TypeError", "expected str, bytes or os.PathLike object, not NoneType")
        return UNKNOWN
    path = run.machine.variables.get("PATH", "")
    if not isinstance(path, str):
        return Alternatives((None, UNKNOWN))
    for folder in path.split(";"):
        for candidate in (name, f"{name}.dll") if not name.lower().endswith(".dll") else (name,):
            file = ntpath.join(folder, candidate)
            if run.machine.exists(file, False) is True:
                return file
    run.machine.missed[_with_suffix(name)] = ()
    return None


def _with_suffix(name: str) -> str:
    return name if name.lower().endswith(".dll") else f"{name}.dll"


def _add_folder(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    """``os.add_dll_directory``."""
    value = args[0] if args else keywords.get("path", UNKNOWN)
    if run.reading is not None:
        return run.reading.add_folder(value)
    text = value.text if isinstance(value, WindowsPathValue) else value
    if text is None:
        raise error("TypeError", "add_dll_directory: path should be string, bytes or os.PathLike, not NoneType")
    if not isinstance(text, str):
        raise Undecided("a folder that is added is not known")
    return FolderHandle(run.machine.add_folder(text))


def _size(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    if args and isinstance(args[0], Native) and args[0].name.rpartition(".")[2] in _POINTERS:
        return 4 if run.machine.machine is Machine.X86 else 8
    return UNKNOWN


def _ffi(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    return Native("cffi.FFI()")


def _load_extended(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    """``LoadLibraryEx`` of pywin32, which raises an exception."""
    flags = args[2] if len(args) == _EXTENDED and isinstance(args[2], int) else AS_PYTHON_DOES
    if run.reading is not None:
        return run.reading.load("LoadLibraryEx", args[0] if args else UNKNOWN, flags)
    return run.machine.load(args[0], flags)


OF_UNKNOWN: dict[str, Callable[[PythonRun, list[PyValue], dict[str, PyValue]], PyValue]] = {
    **dict.fromkeys(("CDLL", "WinDLL", "OleDLL", "PyDLL"), _load),
    **{name: _quietly(name) for name in ("LoadLibraryExW", "LoadLibraryExA", "LoadLibraryW", "LoadLibraryA")},
    "LoadLibrary": _load_library,
    "LoadLibraryEx": _load_extended,
    "load_library": _load_with_numpy,
    "dlopen": _dlopen,
    "add_dll_directory": _add_folder,
}
"""What loads by the last part of its name, where a file is read and it is not known of what it is a method."""
LOADS: dict[str, Callable[[PythonRun, list[PyValue], dict[str, PyValue]], PyValue]] = {
    **{f"ctypes.{name}": _load for name in ("CDLL", "WinDLL", "OleDLL", "PyDLL")},
    **{f"{owner}.LoadLibrary": _load_library for owner in _LISTS},
    "ctypes.LibraryLoader": lambda run, args, keywords: UNKNOWN,
    "ctypes.WinError": _win_error,
    "ctypes.GetLastError": _last_error,
    "ctypes.get_last_error": _last_error,
    "ctypes.FormatError": lambda run, args, keywords: "The specified module could not be found.",
    "ctypes.sizeof": _size,
    "ctypes.util.find_library": _find_library,
    "ctypes.util.find_msvcrt": lambda run, args, keywords: None,
    "os.add_dll_directory": _add_folder,
    "cffi.FFI": _ffi,
    "_cffi_backend.FFI": _ffi,
    "cffi.FFI().dlopen": _dlopen,
    "numpy.ctypeslib.load_library": _load_with_numpy,
    "windows.GetModuleHandleW": _module_handle,
    "windows.GetModuleHandleA": _module_handle,
    "windows.LoadLibraryExW": _quietly("LoadLibraryExW"),
    "windows.LoadLibraryExA": _quietly("LoadLibraryExA"),
    "windows.LoadLibraryW": _quietly("LoadLibraryW"),
    "windows.LoadLibraryA": _quietly("LoadLibraryA"),
    "win32api.LoadLibrary": _load_library,
    "win32api.LoadLibraryEx": _load_extended,
}

"""Functions that ask or change the machine: files, folders, variables, DLLs."""

from __future__ import annotations

import configparser
import ntpath
from typing import TYPE_CHECKING

from wheelfix.base.parsing import parse_json
from wheelfix.loader.loadcall import AS_PYTHON_DOES
from wheelfix.model import Machine, dll_key
from wheelfix.pycode.budget import MAX_TEXT
from wheelfix.pycode.builtintypes import listed
from wheelfix.pycode.objects import (
    UNKNOWN,
    Alternatives,
    Bound,
    FolderHandle,
    Instance,
    Iteration,
    LoadedDll,
    Managed,
    Native,
    PyValue,
    SomeOf,
    Thrown,
    Undecided,
    UnknownValue,
    WindowsPathValue,
    error,
)
from wheelfix.pycode.windows import COMPILERS, HOME, ROOT, SITE, WITH_PATH_NAMES, os_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.pycode.run import PythonRun

Words = dict[str, PyValue]
_MACHINES = {Machine.X86: "x86", Machine.ARM64: "ARM64"}
USER_SITE = f"{HOME}\\AppData\\Roaming\\Python\\Python{{}}{{}}\\site-packages"
_PLATFORMS = {Machine.X86: "win32", Machine.ARM64: "win-arm64"}


def _text(value: PyValue) -> PyValue:
    return value.text if isinstance(value, WindowsPathValue) else value


def _environment(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if not args or not isinstance(args[0], str):
        return UNKNOWN
    default = args[1] if len(args) > 1 else keywords.get("default")
    return run.machine.variable(args[0], default)


def _set_environment(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if not isinstance(args[0], str):
        raise Undecided("an environment variable is not known")
    if args[0].upper() not in run.machine.variables:
        run.store(run.machine.variables, args[0].upper(), args[1])
    return run.machine.variables[args[0].upper()]


def _list_folder(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    folder = _text(args[0]) if args else "."
    if not isinstance(folder, str):
        return UNKNOWN
    return listed(run, folder)


def _scan_folder(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    names = _list_folder(run, args, keywords)
    if isinstance(names, UnknownValue):
        return UNKNOWN
    entries = []
    for name in names:
        path = ntpath.join(_text(args[0]), name)
        kind = Native("os.DirEntry")
        inner = (
            Bound(Native("<path>.is_file"), [WindowsPathValue(path)]),
            Bound(Native("<path>.is_dir"), [WindowsPathValue(path)]),
        )
        entries.append(Instance(kind, {"name": name, "path": path, "is_file": inner[0], "is_dir": inner[1]}))
    return SomeOf(entries) if isinstance(names, SomeOf) else entries


def _walk(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    folder = _text(args[0]) if args else UNKNOWN
    if not isinstance(folder, str):
        return UNKNOWN
    rows: list[PyValue] = []
    pending = [folder] if run.machine.is_folder(folder) else []
    while pending:
        here = pending.pop(0)
        names = run.machine.names(here)
        inside = [name for name in names if run.machine.exists(ntpath.join(here, name), True) is True]
        rows.append((here, inside, [name for name in names if name not in inside]))
        pending = [ntpath.join(here, name) for name in inside] + pending
    return rows


def _chdir(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    folder = _text(args[0])
    if not isinstance(folder, str):
        raise Undecided("the current folder is not known")
    if not run.machine.is_folder(folder):
        raise Thrown(os_error("FileNotFoundError", 2, folder))
    run.machine.folder = ntpath.normpath(ntpath.join(run.machine.folder, folder))
    return None


def _glob(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    pattern = args[0] if args else keywords.get("pathname", UNKNOWN)
    if not isinstance(pattern, str):
        return UNKNOWN
    return run.machine.matching(pattern.replace("/", "\\"), recursive=run.truth(keywords.get("recursive")) is True)


def _path(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    texts = [_text(one) for one in args]
    if any(one is None for one in texts):
        raise error("TypeError", "expected str, bytes or os.PathLike object, not NoneType")
    if not all(isinstance(one, str) for one in texts):
        return UNKNOWN
    if sum(map(len, texts)) > MAX_TEXT:
        return UNKNOWN
    joined = ntpath.join(*texts) if texts else ""
    return WindowsPathValue(ntpath.normpath(joined) if ".." not in joined and joined else joined.replace("/", "\\"))


def _fspath(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    found = _text(args[0])
    if isinstance(found, str | bytes | UnknownValue):
        return found
    if isinstance(found, Native):
        return UNKNOWN
    raise error("TypeError", "expected str, bytes or os.PathLike object")


def _json(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    text = args[0].value if isinstance(args[0], Managed) and args[0].kind == "file" else args[0]
    if not isinstance(text, str):
        return UNKNOWN
    try:
        return parse_json(text)
    except ValueError:
        return UNKNOWN


def _config(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``configparser.ConfigParser``: its sections are a dictionary of dictionaries."""
    made = Instance(Native("configparser.ConfigParser"), {"<items>": {}})
    for name in ("read", "read_string", "get"):
        made.attributes[name] = Bound(Native(f"configparser.ConfigParser.{name}"), [made])
    return made


def _read_config(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``read`` leaves out a file that is not there."""
    path = _text(args[1]) if len(args) > 1 else UNKNOWN
    if not isinstance(path, str):
        raise Undecided("which file of settings is read is not known")
    return _parse_config(run, [args[0], run.machine.text(path)], {}) if run.machine.exists(path, False) is True else []


def _parse_config(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    parser = configparser.ConfigParser(interpolation=None)
    if not isinstance(args[1], str):
        raise Undecided("what is in a file of settings is not known")
    try:
        parser.read_string(args[1])
    except configparser.Error:
        raise error("configparser.Error") from None
    args[0].attributes["<items>"].update({name: dict(parser[name]) for name in parser.sections()})
    return [UNKNOWN]


def _config_value(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    section = run.item(args[0], args[1]) if len(args) > 2 else UNKNOWN
    key = args[2].lower() if len(args) > 2 and isinstance(args[2], str) else UNKNOWN
    return section.get(key, keywords.get("fallback", UNKNOWN)) if isinstance(section, dict) else UNKNOWN


def _calcsize(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    return (4 if run.machine.machine is Machine.X86 else 8) if args in (["P"], ["N"], ["n"]) else UNKNOWN


def _which(run: PythonRun, args: list[PyValue]) -> PyValue:
    """A program on PATH: there is none besides Python and those of Windows."""
    if not args or not isinstance(args[0], str) or args[0] in ("python", "cmd"):
        return UNKNOWN
    run.machine.asked = True
    run.machine.variable(COMPILERS.get(args[0].removesuffix(".exe"), ""))
    return None


def _bits(run: PythonRun) -> str:
    return "32bit" if run.machine.machine is Machine.X86 else "64bit"


MACHINE: dict[str, Callable[[PythonRun, list[PyValue], Words], PyValue]] = {
    "os.environ.get": _environment,
    "os.getenv": _environment,
    "os.environ.setdefault": _set_environment,
    "os.environ.copy": lambda run, args, words: dict(run.machine.variables),
    "os.environ.pop": lambda run, args, words: run.machine.variables.pop(
        str(args[0]).upper(), args[1] if len(args) > 1 else None
    ),
    "os.putenv": lambda run, args, words: None,
    "os.listdir": _list_folder,
    "os.scandir": _scan_folder,
    "os.walk": _walk,
    "os.getcwd": lambda run, args, words: run.machine.folder,
    "os.chdir": _chdir,
    "os.fspath": _fspath,
    "os.access": lambda run, args, words: run.machine.exists(args[0]) if isinstance(args[0], str) else UNKNOWN,
    "os.cpu_count": lambda run, args, words: UNKNOWN,
    "glob.glob": _glob,
    "glob.iglob": lambda run, args, words: (
        Iteration(iter(found))
        if isinstance(found := _glob(run, args, words), list) and not isinstance(found, SomeOf)
        else found
    ),
    "pathlib.Path": _path,
    "pathlib.PurePath": _path,
    "pathlib.WindowsPath": _path,
    "pathlib.PureWindowsPath": _path,
    "pathlib.PurePosixPath": _path,
    "pathlib.Path.cwd": lambda run, args, words: WindowsPathValue(run.machine.folder),
    "pathlib.Path.home": lambda run, args, words: WindowsPathValue(HOME),
    "open": lambda run, args, words: (
        run.machine.open_file(_text(args[0]), args[1] if len(args) > 1 else words.get("mode", "r"))
        if args and isinstance(_text(args[0]), str)
        else UNKNOWN
    ),
    "io.open": lambda run, args, words: MACHINE["open"](run, args, words),
    "json.load": _json,
    "json.loads": _json,
    "configparser.ConfigParser": _config,
    "configparser.RawConfigParser": _config,
    "configparser.ConfigParser.read": _read_config,
    "configparser.ConfigParser.read_string": _parse_config,
    "configparser.ConfigParser.get": _config_value,
    "struct.calcsize": _calcsize,
    "platform.system": lambda run, args, words: "Windows",
    "platform.machine": lambda run, args, words: _MACHINES.get(run.machine.machine, "AMD64"),
    "platform.architecture": lambda run, args, words: (_bits(run), "WindowsPE"),
    "platform.python_implementation": lambda run, args, words: "CPython",
    "platform.python_version": lambda run, args, words: "{}.{}.9".format(*run.machine.python),
    "platform.python_version_tuple": lambda run, args, words: (*map(str, run.machine.python), "9"),
    "platform.release": lambda run, args, words: "10",
    "sysconfig.get_platform": lambda run, args, words: _PLATFORMS.get(run.machine.machine, "win-amd64"),
    "sysconfig.get_path": lambda run, args, words: SITE if args[:1] in (["platlib"], ["purelib"]) else UNKNOWN,
    "sysconfig.get_config_var": lambda run, args, words: (
        f"{HOME}\\AppData\\Roaming\\Python" if args == ["userbase"] else UNKNOWN
    ),
    "distutils.sysconfig.get_python_lib": lambda run, args, words: SITE,
    "site.getsitepackages": lambda run, args, words: [ROOT, SITE],
    "site.getusersitepackages": lambda run, args, words: USER_SITE.format(*run.machine.python),
    "shutil.which": lambda run, args, words: _which(run, args),
    "sys.getwindowsversion": lambda run, args, words: Instance(
        Native("sys.getwindowsversion()"), {"major": 10, "minor": 0, "build": 19045, "platform": 2}
    ),
    "time.perf_counter": lambda run, args, words: UNKNOWN,
}


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

"""Functions and constants of Python's library, as they are on the machine that the code is followed for."""

from __future__ import annotations

import itertools
import ntpath
import re
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.loader.loading import AS_PYTHON_DOES, MOD_NOT_FOUND
from wheelfix.loader.view import SITE_PACKAGES, FileView, base_name
from wheelfix.model import canonical
from wheelfix.pycode.budget import MAX_TEXT
from wheelfix.pycode.builtintypes import (
    BUILTINS,
    MACHINE,
    OF_KNOWN,
    PATTERNS,
    dictionary,
    home_of,
    is_function,
    marking,
    matched,
    method,
    of_text,
)
from wheelfix.pycode.run import (
    UNKNOWN,
    Bound,
    Call,
    CodeClass,
    CodeFunction,
    CodeModule,
    Instance,
    Iteration,
    LoadedDll,
    Managed,
    MarkedFunction,
    Method,
    Native,
    PyValue,
    Thrown,
    Undecided,
    VersionInfo,
    attempt,
    error,
    is_error,
    is_vague,
    path_text,
)
from wheelfix.pycode.sourcecode import CLASSES, LISTS, OF_WINDOWS, is_standard
from wheelfix.pycode.windows import ROOT, SITE, WITH_PATH_NAMES, new_module, windows_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wheelfix.pycode.run import LibraryFunction, PythonRun

_LISTS = frozenset(f"ctypes.{name}" for name in LISTS)
_POINTERS = frozenset({"c_void_p", "c_size_t", "c_ssize_t", "py_object", "c_char_p"})
_LAST_ERROR = "<last error>"


def load(run: PythonRun, function: str, value: PyValue, flags: PyValue = None) -> PyValue:
    """Load a DLL, or note that a file that is read may load it; ``flags`` is None where Python chooses them."""
    if run.reading is not None:
        return run.reading.load(function, value, flags)
    name = path_text(value)
    if not isinstance(name, str) or is_vague(flags):
        raise Undecided("what is loaded is not known")
    return run.machine.load(name, flags, cffi=function == "dlopen")


def attribute_of_windows(run: PythonRun, owner: str, name: str) -> PyValue:
    """A DLL that is loaded by being named: ``ctypes.windll.kernel32``; None for other attributes."""
    if owner not in _LISTS or name == "LoadLibrary" or name.startswith("_"):
        return None
    if run.reading is not None and run.machine.files.finds(f"{name}.dll"):
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
            raise error("TypeError", f"argument of type '{kind}' is not iterable", exact=True)
    return load(run, "CDLL", name, 0 if isinstance(mode, Native) and "RTLD" in mode.name else mode)


def _load_library(call: Call) -> PyValue:
    return load(call.run, "CDLL", call.get(0))


def _dlopen(call: Call) -> PyValue:
    """``ffi.dlopen`` of cffi."""
    loaded = load(call.run, "dlopen", call.get(0))
    return Instance(Native("cffi.Library"), {"<library>": loaded}) if isinstance(loaded, LoadedDll) else loaded


def _load_with_numpy(call: Call) -> PyValue:
    """``numpy.ctypeslib.load_library``: a name, with or without its suffix, in a folder or beside a file."""
    machine, name, folder, path = call.machine, call.text(0), call.text(1, default=""), UNKNOWN
    if isinstance(name, str) and isinstance(folder, str):
        folder = ntpath.dirname(folder) if machine.exists(folder, True) is False else folder
        path = ntpath.join(folder, name if ntpath.splitext(name)[1] else f"{name}.dll")
    if call.run.reading is None and isinstance(path, str) and machine.exists(path, False) is False:
        raise error("OSError", "no file with expected extension")
    return load(call.run, "load_library", path)


def _load_with_torch(call: Call) -> PyValue:
    """``torch.ops.load_library``: ``ctypes.CDLL`` of the file's full path."""
    text = path_text(call.get(0, "path"))
    full = ntpath.normpath(ntpath.join(call.machine.folder, text)) if isinstance(text, str) else text
    return load(call.run, "CDLL", full)


def _quietly(function: str) -> LibraryFunction:
    """A function of Windows that loads, and returns 0 where that fails."""

    def made(call: Call) -> PyValue:
        flags = call.get(2, default=0) if function.startswith("LoadLibraryEx") else 0
        variables, code = call.machine.variables, 0
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
    return call.machine.variables.get(_LAST_ERROR, 0)


def _win_error(call: Call) -> PyValue:
    code = call.get(0, default=None) or _last_error(call)
    kind = "FileNotFoundError" if code in (2, 3) else "OSError"
    return Instance(Native(kind), {"args": (UNKNOWN, ""), "winerror": code, "strerror": ""})


def _find_library(call: Call, name: str) -> PyValue:
    """``ctypes.util.find_library``: along PATH."""
    machine = call.machine
    if call.run.reading is not None and machine.files.finds(_with_suffix(name)):
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
    text = call.known(0, "path", "a folder that is added is not known")
    return Managed("folder", call.machine.add_folder(text))


def _size(call: Call) -> PyValue:
    kind = call.get(0)
    is_pointer = isinstance(kind, Native) and kind.name.rpartition(".")[2] in _POINTERS
    return call.machine.bits // 8 if is_pointer else UNKNOWN


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
    "ctypes.WinError": _win_error,
    "ctypes.GetLastError": _last_error,
    "ctypes.get_last_error": _last_error,
    "ctypes.FormatError": lambda call: "The specified module could not be found.",
    "ctypes.sizeof": _size,
    "ctypes.util.find_library": of_text(_find_library),
    "ctypes.util.find_msvcrt": lambda call: None,
    "os.add_dll_directory": _add_folder,
    "cffi.FFI": lambda call: Native("cffi.FFI()"),
    "_cffi_backend.FFI": lambda call: Native("cffi.FFI()"),
    "cffi.FFI().dlopen": _dlopen,
    "numpy.ctypeslib.load_library": _load_with_numpy,
    "torch.ops.load_library": _load_with_torch,
    "torch.classes.load_library": _load_with_torch,
    **{f"<windows>.{name}": function for name, function in _OF_KERNEL32.items()},
    "win32api.LoadLibrary": _load_library,
    "win32api.LoadLibraryEx": _load_extended,
}


def _joined(call: Call, lists: Iterable[PyValue]) -> PyValue:
    return Iteration(itertools.chain.from_iterable(map(call.run.attributes.iterate, lists)))


def _dataclass(call: Call) -> PyValue:
    kind = call.get(0, default=Native("dataclasses.dataclass"))
    if isinstance(kind, CodeClass):
        inherited = [one for base in kind.bases if isinstance(base, CodeClass) for one in base.fields or []]
        kind.fields = list(dict.fromkeys([*inherited, *kind.names.get("<annotated>", [])]))
    return kind


def _field(call: Call) -> PyValue:
    factory = call.words.get("default_factory")
    return Managed("factory", factory) if factory is not None else call.words.get("default", UNKNOWN)


def _named_tuple(call: Call) -> PyValue:
    name, given = call.get(0), call.get(1)
    fields = given.replace(",", " ").split() if isinstance(given, str) else given
    if not isinstance(name, str) or not isinstance(fields, list | tuple) or call.words:
        return UNKNOWN
    made = CodeClass(name, [Native("object")], {})
    made.fields = [one[0] if isinstance(one, tuple) else one for one in fields]
    return made


def _suppress(call: Call) -> PyValue:
    return Managed("suppress", tuple(kind for one in call.args for kind in (one if isinstance(one, tuple) else (one,))))


def _default_dict(call: Call) -> PyValue:
    factory = call.get(0, default=None)
    return Instance(Native("collections.defaultdict"), {"<items>": {}, **({"<factory>": factory} if factory else {})})


LIBRARY: dict[str, LibraryFunction] = {
    "collections.OrderedDict": dictionary,
    "functools.cached_property": lambda call: MarkedFunction("property", call.get(0)),
    "functools.lru_cache": lambda call: call.get(0) if is_function(call.get(0)) else Native("functools.cache"),
    "functools.cache": lambda call: call.get(0),
    "functools.partial": lambda call: Bound(call.args[0], call.args[1:], call.words),
    "functools.wraps": lambda call: Native("typing.no_type_check"),  # called with the inner function, it gives that
    "contextlib.contextmanager": marking("contextmanager"),
    "contextlib.suppress": _suppress,
    "contextlib.ExitStack": lambda call: Managed("stack", []),
    "collections.namedtuple": _named_tuple,
    "collections.defaultdict": _default_dict,
    "typing.cast": lambda call: call.get(1, "val"),
    "threading.local": lambda call: Instance(CodeClass("local", [], {})),
    "threading.Lock": lambda call: Managed("value", None),
    "threading.RLock": lambda call: Managed("value", None),
    "dataclasses.dataclass": _dataclass,
    "dataclasses.field": _field,
    "enum.auto": lambda call: Native("enum.auto()"),
    "itertools.chain": lambda call: _joined(call, call.args),
    "itertools.chain.from_iterable": lambda call: _joined(call, call.items()),
    "getopt.getopt": lambda call: ([], []) if call.get(0) == [] else UNKNOWN,  # Kivy asks for its options
}


NOT_FOUND = CodeClass("PackageNotFoundError", [Native("ModuleNotFoundError")], {})
"""What is raised for a distribution that is not installed."""
_ABOVE = "../" * (SITE_PACKAGES.count("/") + 1)


def _distribution(call: Call) -> Instance:
    """The distribution that code asks about; PackageNotFoundError where it is certain that there is none."""
    asked, machine = call.known(0, "", "which distribution the code asks about is not known"), call.machine
    name, view = canonical(asked), machine.view
    beside = view.beside
    if beside is not None and name in beside and name not in beside.absent:
        return _described(asked, beside[name].version, sorted(beside[name].paths))
    version = _own_version(view, name) if beside is None else None
    if version is not None:
        return _described(asked, version, [file.path for file in view.own_files])
    complete = (
        beside is not None and name not in beside.absent and (beside.complete or not machine.files.requires(name))
    )
    if not complete:
        raise Undecided(f"whether {name} is installed is not known")
    raise Thrown(Instance(NOT_FOUND, {"args": (asked,), "name": asked}))


def _own_version(view: FileView, name: str) -> str | None:
    """The version of the subject, if it has that name."""
    for file in view.own_files:
        folder, _, member = file.path.removeprefix(f"{SITE_PACKAGES}/").partition("/")
        spelled, _, version = folder.removesuffix(".dist-info").partition("-")
        if member == "METADATA" and folder.endswith(".dist-info") and canonical(spelled) == name:
            return version
    return None


def _described(name: str, version: str, paths: list[str]) -> Instance:
    """A distribution with its files as RECORD names them."""
    inside = f"{SITE_PACKAGES}/"
    relative = (path.removeprefix(inside) if path.startswith(inside) else _ABOVE + path for path in paths)
    place = Native("importlib.metadata.Distribution.locate_file")
    known = {"files": [*map(PurePosixPath, relative)], "version": version, "locate_file": place, "name": name}
    return Instance(Native("importlib.metadata.Distribution"), known)


METADATA: dict[str, LibraryFunction] = {
    "importlib.metadata.version": lambda call: _distribution(call).attributes["version"] or UNKNOWN,
    "importlib.metadata.files": lambda call: _distribution(call).attributes["files"],
    "importlib.metadata.metadata": lambda call: _distribution(call) and UNKNOWN,
    "importlib.metadata.distribution": _distribution,
    "importlib.metadata.Distribution.from_name": _distribution,
    "importlib.metadata.Distribution.locate_file": of_text(lambda call, path: PureWindowsPath(SITE, path)),
}


def _import_by_call(call: Call) -> PyValue:
    """``importlib.import_module``."""
    wanted = call.known(0, "name", "a computed module is imported")
    if wanted.startswith("."):
        package = call.get(1, "package", None)
        if not isinstance(package, str):
            raise error("TypeError", "the 'package' argument is required")
        above = package.split(".")
        level = len(wanted) - len(wanted.lstrip("."))
        wanted = ".".join([*above[: len(above) - level + 1], wanted.lstrip(".")]).rstrip(".")
    return call.run.importer.import_module(wanted)


def _import_by_name(call: Call) -> PyValue:
    """``__import__``."""
    wanted = call.known(0, "name", "a computed module is imported")
    if call.get(4, "level", 0) != 0:
        raise Undecided("a computed module is imported")
    found = call.run.importer.import_module(wanted)
    top = wanted.partition(".")[0]
    whole = call.run.modules.get(top, Native(top) if is_standard(top) else UNKNOWN)
    return found if call.get(3, "fromlist", None) else whole


def _folder_of(call: Call) -> PyValue:
    """``importlib.resources.files``."""
    package = call.get(0, default=call.run.environment.globals.get("__package__"))
    if isinstance(package, CodeModule):
        package = package.name
    module = call.run.importer.import_module(package) if isinstance(package, str) else None
    if not isinstance(module, CodeModule):
        return UNKNOWN
    paths = module.names.get("__path__")
    if isinstance(paths, list) and paths and isinstance(paths[0], str):
        return PureWindowsPath(paths[0])
    file = module.names.get("__file__")
    return PureWindowsPath(file).parent if isinstance(file, str) else UNKNOWN


def _file_of_package(call: Call) -> PyValue:
    """``importlib.resources.path``."""
    folder, name = _folder_of(call), call.get(1)
    return folder / name if isinstance(folder, PurePath) and isinstance(name, str) else UNKNOWN


def _text_of_package(call: Call) -> PyValue:
    """``importlib.resources.read_text``."""
    found = _file_of_package(call)
    return call.machine.text(str(found)) if isinstance(found, PurePath) else UNKNOWN


def _find_spec(call: Call, name: str) -> PyValue:
    if name.startswith("."):
        return UNKNOWN
    if is_standard(name):
        return Instance(Native("importlib.ModuleSpec"))
    path = call.machine.files.module(name)
    if not path:
        return None if path == "" or call.machine.complete else UNKNOWN
    return _spec(name, path)


def _spec(name: str, path: str) -> Instance:
    """The spec of a module that has a file."""
    where = windows_path(path)
    folders = [where.rpartition("\\")[0]] if "__init__" in path else None
    loader = Instance(Native("importlib.Loader"), {"exec_module": Native("importlib.Loader.exec_module")})
    spec = {"origin": where, "name": name, "submodule_search_locations": folders, "loader": loader, "<file>": path}
    return Instance(Native("importlib.ModuleSpec"), spec)


def _spec_in(call: Call) -> PyValue:
    """``find_spec`` of what ``pkgutil`` lists the modules of a folder with, as Kivy does."""
    folder, name, machine = call.get(0), call.get(1), call.machine
    path = machine.files.module_in(machine.view_path(folder), name) if isinstance(name, str) else ""
    return _spec(name, path) if path else None


def _spec_of_file(call: Call) -> PyValue:
    """``importlib.util.spec_from_file_location``."""
    name, place, machine = call.get(0), call.text(1, "location"), call.machine
    path = machine.files.spelled(machine.view_path(place)) if isinstance(place, str) else ""
    return _spec(name, path) if isinstance(name, str) and path in machine.view else UNKNOWN


def _module_of_spec(call: Call) -> PyValue:
    """``importlib.util.module_from_spec``, which loads what is compiled."""
    spec = call.args[0].attributes if isinstance(call.get(0), Instance) else {}
    if call.run.reading is not None or "<file>" not in spec:
        return UNKNOWN
    name, file = spec["name"], spec["<file>"]
    if file.endswith(".pyd"):
        same = name.rpartition(".")[2] == base_name(file).partition(".")[0]
        return call.run.importer.import_path(name, file) if same else UNKNOWN
    return new_module(file, name)


def _run_module(call: Call) -> PyValue:
    """``exec_module`` of a loader; the module is not among those that are imported unless code puts it there."""
    module, run = call.get(0), call.run
    if not isinstance(module, CodeModule) or module.is_compiled or run.reading is not None:
        return
    before = run.modules.get(module.name)
    found = run.importer.import_path(module.name, module.file)
    if isinstance(found, CodeModule):
        module.names.update(found.names)
    if before is None:
        run.modules.pop(module.name, None)
    else:
        run.modules[module.name] = before


def _modules_in(call: Call) -> PyValue:
    """``pkgutil.iter_modules``."""
    paths, prefix, machine = call.get(0), call.get(1, "prefix", ""), call.machine
    if not isinstance(paths, list) or not all(isinstance(one, str) for one in (*paths, prefix)):
        raise Undecided("which modules are listed is not known")
    kind = CodeClass("ModuleInfo", [], {})
    kind.fields = ["module_finder", "name", "ispkg"]
    rows = []
    for path in paths:
        for entry in machine.names(path):
            stem, _, rest = entry.partition(".")
            package = not rest and machine.exists(f"{path}\\{entry}\\__init__.py", False) is True
            if (rest == "py" or rest.endswith("pyd") or package) and stem != "__init__":
                find = {"find_spec": Bound(Native("importlib.FileFinder.find_spec"), [path])}
                finder = Instance(Native("importlib.FileFinder"), find)
                rows.append(Instance(kind, {"name": prefix + stem, "ispkg": package, "module_finder": finder}))
    return rows


def _module_or(call: Call, name: str) -> PyValue:
    """``sys.modules.get``."""
    run = call.run
    if name in run.modules or not run.importer.is_own(run.machine.files.module(name)):
        return run.importer.module_named(name)
    return call.get(1, default=None)


def _source_file(call: Call) -> PyValue:
    """``inspect.getfile``: the file of a function or module; unicorn finds its DLL from there."""
    of = call.get(0)
    names = of.environment.globals if isinstance(of, CodeFunction) else of.names if isinstance(of, CodeModule) else {}
    return names.get("__file__", UNKNOWN)


MODULES: dict[str, LibraryFunction] = {
    "importlib.import_module": _import_by_call,
    "__import__": _import_by_name,
    "importlib.resources.files": _folder_of,
    "importlib.resources.path": _file_of_package,
    "importlib.resources.read_text": _text_of_package,
    "pkg_resources.resource_filename": lambda call: path_text(_file_of_package(call)),
    "inspect.getfile": _source_file,
    "pkgutil.get_data": lambda call: text.encode() if isinstance(text := _text_of_package(call), str) else text,
    # Where all that is installed is known, nothing adds to the package.
    "pkgutil.extend_path": lambda call: call.get(0) if call.machine.complete else UNKNOWN,
    "pkgutil.iter_modules": _modules_in,
    "importlib.util.find_spec": of_text(_find_spec),
    "importlib.FileFinder.find_spec": _spec_in,
    "importlib.util.spec_from_file_location": _spec_of_file,
    "importlib.util.module_from_spec": _module_of_spec,
    "importlib.Loader.exec_module": _run_module,
    "sys.modules.get": of_text(_module_or),
}


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
    "ctypes.RTLD_GLOBAL": 0,
    "ctypes.RTLD_LOCAL": 0,
    "ctypes.DEFAULT_MODE": 0,
    "typing.TYPE_CHECKING": False,
    "importlib.metadata.PackageNotFoundError": NOT_FOUND,
    "string.ascii_lowercase": "abcdefghijklmnopqrstuvwxyz",
}
_CONSTANTS.update({f"os.path.{name}": _CONSTANTS[f"os.{name}"] for name in ("sep", "pathsep", "pardir", "curdir")})
_OF_PYTHON: dict[str, Callable[[PythonRun], PyValue]] = {
    "sys.base_prefix": lambda run: run.machine.base,
    "sys.base_exec_prefix": lambda run: run.machine.base,
    "sys.maxsize": lambda run: 2 ** (run.machine.bits - 1) - 1,
    "sys.version_info": lambda run: VersionInfo(*run.machine.python),
    "sys.hexversion": lambda run: (run.machine.python[0] << 24) + (run.machine.python[1] << 16) + 0x9F0,
    "sys.version": lambda run: "{}.{}.9 (main) [MSC v.1938 64 bit (AMD64)]".format(*run.machine.python),
    "sys.path": lambda run: [f"{ROOT}\\DLLs", f"{ROOT}\\Lib", ROOT, SITE],
    "sys.argv": lambda run: ["-c"] if run.reading is None else UNKNOWN,  # python -c "import …"
    "sys.winver": lambda run: "{}.{}".format(*run.machine.python),
    "importlib.machinery.EXTENSION_SUFFIXES": lambda run: [".cp{}{}-win_amd64.pyd".format(*run.machine.python), ".pyd"],
}
"""What depends on the Python that the code is followed for."""
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

    # ---------------------------------------------------------------------------------------------- attributes

    def of_native(self, owner: str, name: str) -> PyValue:
        """An attribute of something of Python's library."""
        full = f"{_canonical(owner)}.{name}"
        if self.run.reading is not None and name in ("__file__", "__path__") and not is_standard(owner):
            folder = f"{SITE}\\{owner.replace('.', chr(92))}"  # of shiboken6, for pyside6-qlementine
            return [folder] if name == "__path__" else f"{folder}\\__init__.py"
        if full in _CONSTANTS:
            return _CONSTANTS[full]
        if full in _ABSENT:
            raise error("AttributeError", f"module '{owner}' has no attribute '{name}'")
        if full in _OF_PYTHON:
            return _OF_PYTHON[full](self.run)
        loaded = attribute_of_windows(self.run, _canonical(owner), name)
        return loaded if loaded is not None else Native(full)

    def item_of_native(self, name: str, key: PyValue) -> PyValue:
        """An item of something of Python's library."""
        if name == "os.environ":
            if not isinstance(key, str):
                return UNKNOWN
            found, reading = self.run.machine.variable(key), self.run.reading
            if found is None and reading is not None and (reading.later or not reading.is_caught("KeyError")):
                return UNKNOWN  # with the variable set, the code gets here
            if found is None:
                raise error("KeyError", key)
            return found
        if name == "sys.modules":
            return self.run.importer.module_named(key) if isinstance(key, str) else UNKNOWN
        loaded = attribute_of_windows(self.run, _canonical(name), key) if isinstance(key, str) else None
        return loaded if loaded is not None else UNKNOWN

    # ---------------------------------------------------------------------------------------------- the calls

    def call_native(self, name: str, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        """Call something of Python's library."""
        name, call = _canonical(name), Call(self.run, args, keywords)
        function = _FUNCTIONS.get(name)
        if function is None and self.run.reading is not None and not is_standard(name):
            function = OF_UNKNOWN.get(name.rpartition(".")[2])
        if name in OF_KNOWN and any(is_vague(one) for one in args):
            return UNKNOWN
        if function is not None:
            return function(call)
        if name.startswith(_OF_MACHINE):
            self.run.machine.asked = True
        if name in _NOTHING:
            return None
        if name in _PASSING:
            return call.get(0)
        if is_error(Native(name)):
            return Instance(Native(name), {"args": tuple(args), **keywords})
        if name.startswith("os.path.") and hasattr(ntpath, name[8:]):
            return self._path_function(name[8:], call)
        return UNKNOWN if name.startswith("<") else self.run.calls.call_unknown(args, keywords)

    def call_method(self, found: Method, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        """Call a method of a value that Python or its library has."""
        owner, name = found.owner, found.name
        call = Call(self.run, args, keywords)
        if isinstance(owner, MarkedFunction):
            owner.setter = call.get(0)
            return owner
        if isinstance(owner, Managed):
            return self._of_stack(owner, name, call)
        if isinstance(owner, re.Pattern | re.Match):
            return matched(call, owner, name)
        return method(call, owner, name)

    def _of_stack(self, owner: Managed, name: str, call: Call) -> PyValue:
        if owner.kind == "file":
            return owner.value if name == "read" else owner.value.splitlines(True) if name == "readlines" else None
        if name in ("enter_context", "push") and owner.kind == "stack":
            found = self.run.statements.enter(call.get(0))
            owner.value.append(call.get(0))
            return found
        if name in ("close", "__exit__"):
            self.run.statements.leave(owner, None)
        return owner if name == "__enter__" else UNKNOWN

    def _path_function(self, name: str, call: Call) -> PyValue:
        """A function of ``os.path``."""
        texts, machine = call.texts(), self.run.machine
        if not texts or sum(map(len, texts)) > MAX_TEXT:
            return UNKNOWN
        if name in ("islink", "ismount"):
            return False
        if name in ("exists", "isfile", "isdir", "lexists"):
            return bool(texts[0]) and machine.exists(texts[0], {"isfile": False, "isdir": True}.get(name))
        if name in ("abspath", "realpath"):
            return ntpath.normpath(ntpath.join(machine.folder, texts[0]))
        if name == "expanduser":
            return home_of(texts[0])
        if name in ("join", "dirname", "basename", "split", "splitext", "normpath", "normcase", "isabs", "splitdrive"):
            return attempt(getattr(ntpath, name), *texts)
        return UNKNOWN


_ALIASES = {
    **dict.fromkeys(("ntpath", "posixpath"), "os.path"),
    **{f"importlib_{name}": f"importlib.{name}" for name in ("resources", "metadata")},
}


def _canonical(name: str) -> str:
    """A name of the library as the tables have it."""
    top, dot, rest = name.partition(".")
    return f"{_ALIASES[top]}{dot}{rest}" if top in _ALIASES else name


def _has_attribute(call: Call) -> PyValue:
    owner, name = call.get(0), call.get(1)
    if not isinstance(name, str) or owner is UNKNOWN:
        return UNKNOWN
    if isinstance(owner, Native) and not _is_known_attribute(f"{owner.name}.{name}"):
        return False if f"{_canonical(owner.name)}.{name}" in _ABSENT else UNKNOWN
    found = call.run.attributes.attribute_or(owner, name, _ABSENT)
    return found is not _ABSENT and (UNKNOWN if found is UNKNOWN and not isinstance(owner, LoadedDll) else True)


def _is_known_attribute(name: str) -> bool:
    known = ("os.add_dll_directory", "ctypes.windll", "ctypes.WinDLL", "sys.getwindowsversion", "ctypes.WinError")
    return name in known or _canonical(name) in _FUNCTIONS or _canonical(name) in _CONSTANTS


_FUNCTIONS: dict[str, LibraryFunction] = {
    **MACHINE, **BUILTINS, **LIBRARY, **METADATA, **MODULES, **PATTERNS, **LOADS,
    "hasattr": _has_attribute,
    "<new>": lambda call: Instance(call.get(0)) if isinstance(call.get(0), CodeClass) else UNKNOWN,
}  # fmt: skip

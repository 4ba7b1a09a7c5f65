"""Functions and constants of Python's library, as they are on the machine that the code is followed for."""

from __future__ import annotations

import itertools
import ntpath
import re
import warnings
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.loader.view import SITE_PACKAGES, base_name
from wheelfix.model import Machine, canonical
from wheelfix.pycode.budget import MAX_MATCHING, MAX_TEXT, matching_work
from wheelfix.pycode.builtintypes import BUILTINS, Words, dictionary, marking, method, next_of, path_method
from wheelfix.pycode.machinecalls import LOADS, MACHINE, OF_UNKNOWN, attribute_of_windows
from wheelfix.pycode.objects import (
    UNKNOWN,
    Alternatives,
    Bound,
    CodeClass,
    CodeFunction,
    CodeModule,
    InstalledPathValue,
    Instance,
    Iteration,
    LoadedDll,
    Managed,
    MarkedFunction,
    Native,
    PyValue,
    Thrown,
    Undecided,
    UnknownValue,
    VersionInfo,
    WindowsPathValue,
    error,
    is_error,
    is_kind,
)
from wheelfix.pycode.run import attempt
from wheelfix.pycode.sourcecode import is_standard
from wheelfix.pycode.windows import HOME, ROOT, SITE

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.loader.view import FileView
    from wheelfix.pycode.run import PythonRun

MAX_FACTORS = 16


def _join_lists(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    return Iteration(itertools.chain.from_iterable(run.iterate(one) for one in args))


def _product(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if len(args) > MAX_FACTORS:
        return UNKNOWN
    return Iteration(itertools.islice(itertools.product(*(list(run.iterate(one)) for one in args)), 4096))


def _wraps(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    return Native("typing.no_type_check")  # called with the inner function, it gives that


def _dataclass(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if not args:
        return Native("dataclasses.dataclass")
    kind = args[0]
    if isinstance(kind, CodeClass):
        inherited = [one for base in kind.bases if isinstance(base, CodeClass) for one in base.fields or []]
        own = [name for name in kind.names.get("<annotated>", []) if not _is_made(kind.names.get(name))]
        kind.fields = list(dict.fromkeys([*inherited, *own]))
    return kind


def _is_made(default: PyValue) -> bool:
    return isinstance(default, Managed) and default.kind == "factory" and default.value is not None and isinstance(
        default.value, Bound
    )  # fmt: skip


def _field(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if "default_factory" in keywords:
        factory = keywords["default_factory"]
        return Managed("factory", Bound(factory, []) if keywords.get("init") is False else factory)
    return keywords.get("default", UNKNOWN)


def _named_tuple(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    names = args[1].replace(",", " ").split() if isinstance(args[1], str) else args[1]
    if not isinstance(args[0], str) or not isinstance(names, list | tuple):
        return UNKNOWN
    rows = [one[0] if isinstance(one, tuple) else one for one in names]
    made = CodeClass(args[0], [Native("object")], {})
    made.fields = list(rows)
    defaults = keywords.get("defaults")
    if isinstance(defaults, list | tuple):
        made.names.update(zip(rows[len(rows) - len(defaults) :], defaults, strict=True))
    return made


LIBRARY: dict[str, Callable[[PythonRun, list[PyValue], Words], PyValue]] = {
    "collections.OrderedDict": dictionary,
    "functools.cached_property": marking("cached_property"),
    "functools.lru_cache": marking("cache"),
    "functools.cache": marking("cache"),
    "functools.partial": lambda run, args, words: Bound(args[0], args[1:], words),
    "functools.wraps": _wraps,
    "functools.reduce": lambda run, args, words: UNKNOWN,
    "contextlib.contextmanager": marking("contextmanager"),
    "contextlib.suppress": lambda run, args, words: Managed(
        "suppress", tuple(itertools.chain.from_iterable(one if isinstance(one, tuple) else (one,) for one in args))
    ),
    "contextlib.ExitStack": lambda run, args, words: Managed("stack", []),
    "contextlib.nullcontext": lambda run, args, words: Managed("value", args[0] if args else None),
    "collections.namedtuple": _named_tuple,
    "collections.defaultdict": lambda run, args, words: Instance(
        Native("collections.defaultdict"), {"<items>": {}, **({"<factory>": args[0]} if args and args[0] else {})}
    ),
    "typing.cast": lambda run, args, words: args[1] if len(args) > 1 else words.get("val", UNKNOWN),
    "threading.local": lambda run, args, words: Instance(CodeClass("local", [], {})),
    "threading.Lock": lambda run, args, words: Managed("value", None),
    "threading.RLock": lambda run, args, words: Managed("value", None),
    "types.SimpleNamespace": lambda run, args, words: Instance(CodeClass("SimpleNamespace", [], {}), dict(words)),
    "dataclasses.dataclass": _dataclass,
    "dataclasses.field": _field,
    "enum.auto": lambda run, args, words: Native("enum.auto()"),
    "itertools.chain": _join_lists,
    "itertools.chain.from_iterable": lambda run, args, words: _join_lists(run, list(run.iterate(args[0])), words),
    "itertools.product": _product,
    "getopt.getopt": lambda run, args, words: ([], []) if args[0] == [] else UNKNOWN,  # Kivy asks for its options
}


MAX_PATTERN = 200
MAX_SUBJECT = 300
_FLAGS = {"I": re.IGNORECASE, "IGNORECASE": re.IGNORECASE, "M": re.MULTILINE, "MULTILINE": re.MULTILINE}
_KINDS = ("match", "search", "fullmatch", "findall", "finditer", "sub", "split")


def _compiled(pattern: PyValue, flags: PyValue = None) -> re.Pattern[str] | None:
    """A pattern that may be matched; None if it is not known or could take long."""
    if isinstance(pattern, Instance):
        found = pattern.attributes.get("<pattern>")
        return found if isinstance(found, re.Pattern) else None
    flag = _FLAGS.get(flags.name.rpartition(".")[2]) if isinstance(flags, Native) else 0 if flags in (None, 0) else None
    if (
        not isinstance(pattern, str)
        or len(pattern) > MAX_PATTERN
        or flag is None
        or matching_work(pattern, 0, search=False) > MAX_MATCHING
    ):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern, flag)
    except (re.error, RecursionError, OverflowError):
        raise error("re.error") from None


def _asked(kind: str) -> Callable[[PythonRun, list[PyValue], dict[str, PyValue]], PyValue]:
    def made(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        last = args[2] if len(args) > 2 and kind not in ("sub", "split") else keywords.get("flags")
        pattern = _compiled(args[0], last)
        texts = args[1:3] if kind == "sub" else args[1:2]
        if pattern is None or not all(isinstance(one, str) and len(one) <= MAX_SUBJECT for one in texts):
            return UNKNOWN
        return _answer(run, pattern, kind, texts)

    return made


def _answer(run: PythonRun, pattern: re.Pattern[str], kind: str, texts: list[str]) -> PyValue:
    work = matching_work(pattern.pattern, len(texts[-1]), search=kind not in ("match", "fullmatch"))
    if work > MAX_MATCHING:
        return UNKNOWN
    run.step(work >> 10)
    if kind == "sub":
        try:
            return pattern.sub(texts[0], texts[1])
        except (re.error, IndexError):
            raise error("re.error") from None
    if kind in ("findall", "split"):
        return list(getattr(pattern, kind)(texts[0]))
    if kind == "finditer":
        return Iteration(_match(one) for one in pattern.finditer(texts[0]))
    found = getattr(pattern, kind)(texts[0])
    return None if found is None else _match(found)


def _match(found: re.Match[str]) -> Instance:
    made = Instance(Native("re.Match"), {"string": found.string})
    for name in ("group", "groups", "groupdict", "start", "end", "span"):
        made.attributes[name] = Bound(Native(f"<match>.{name}"), [found])
    return made


def matched(run: PythonRun, found: PyValue, name: str, args: list[PyValue]) -> PyValue:
    """Call a method of a match, or of a pattern."""
    if isinstance(found, re.Pattern):
        texts = args[:2] if name == "sub" else args[:1]
        known = all(isinstance(one, str) and len(one) <= MAX_SUBJECT for one in texts)
        return _answer(run, found, name, texts) if known and texts else UNKNOWN
    if any(isinstance(one, UnknownValue) for one in args):
        return UNKNOWN
    try:
        return getattr(found, name)(*args)
    except (IndexError, TypeError):
        raise error("IndexError", "no such group") from None


def _compile(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    pattern = _compiled(args[0], args[1] if len(args) > 1 else keywords.get("flags"))
    if pattern is None:
        return UNKNOWN
    made = Instance(Native("re.Pattern"), {"<pattern>": pattern, "pattern": pattern.pattern})
    for name in _KINDS:
        made.attributes[name] = Bound(Native(f"<match>.{name}"), [pattern])
    return made


PATTERNS: dict[str, Callable[[PythonRun, list[PyValue], dict[str, PyValue]], PyValue]] = {
    **{f"re.{name}": _asked(name) for name in _KINDS},
    "re.compile": _compile,
    "re.escape": lambda run, args, keywords: re.escape(args[0]) if isinstance(args[0], str) else UNKNOWN,
}


NOT_FOUND = CodeClass("PackageNotFoundError", [Native("ModuleNotFoundError")], {})
"""What is raised for a distribution that is not installed."""
_ABOVE = "../" * (SITE_PACKAGES.count("/") + 1)


@dataclass(frozen=True, slots=True)
class _Installed:
    """A distribution of the view."""

    version: str
    paths: tuple[str, ...]

    @property
    def files(self) -> list[PyValue]:
        """Its files as RECORD names them."""
        inside = f"{SITE_PACKAGES}/"
        relative = (path.removeprefix(inside) if path.startswith(inside) else _ABOVE + path for path in self.paths)
        return [InstalledPathValue(path) for path in relative]


def _installed(run: PythonRun, args: list[PyValue]) -> _Installed:
    """The distribution that code asks about; PackageNotFoundError where it is certain that there is none."""
    if not args or not isinstance(args[0], str):
        raise Undecided("which distribution the code asks about is not known")
    name, view = canonical(args[0]), run.machine.view
    beside = view.beside
    if beside is not None and name in beside and name not in beside.absent:
        return _Installed(beside.version(name), tuple(sorted(beside.paths(name))))
    own = _own(view, name) if beside is None else None
    if own is not None:
        return own
    complete = (
        beside is not None and name not in beside.absent and (beside.complete or not run.machine.files.requires(name))
    )
    if not complete:
        raise Undecided(f"whether {name} is installed is not known")
    raise Thrown(Instance(NOT_FOUND, {"args": (args[0],), "name": args[0]}))


def _own(view: FileView, name: str) -> _Installed | None:
    """The subject itself, if it has that name."""
    for file in view.own_files:
        folder, _, member = file.path.removeprefix(f"{SITE_PACKAGES}/").partition("/")
        spelled, _, version = folder.removesuffix(".dist-info").partition("-")
        if member == "METADATA" and folder.endswith(".dist-info") and canonical(spelled) == name:
            return _Installed(version, tuple(file.path for file in view.own_files))
    return None


def _distribution(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    found = _installed(run, args)
    place = Bound(Native("importlib.metadata.Distribution.locate_file"), [])
    return Instance(
        Native("importlib.metadata.Distribution"),
        {"files": found.files, "version": found.version, "locate_file": place, "name": args[0]},
    )


def _metadata(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    _installed(run, args)
    return UNKNOWN


def _locate(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    path = args[0].text if args and isinstance(args[0], WindowsPathValue) else args[0] if args else UNKNOWN
    return WindowsPathValue(ntpath.join(SITE, path.replace("/", "\\"))) if isinstance(path, str) else UNKNOWN


METADATA: dict[str, Callable[[PythonRun, list[PyValue], dict[str, PyValue]], PyValue]] = {
    "importlib.metadata.version": lambda run, args, keywords: _installed(run, args).version or UNKNOWN,
    "importlib.metadata.files": lambda run, args, keywords: _installed(run, args).files,
    "importlib.metadata.metadata": _metadata,
    "importlib.metadata.distribution": _distribution,
    "importlib.metadata.Distribution.from_name": _distribution,
    "importlib.metadata.Distribution.locate_file": _locate,
}


def _import_by_call(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``importlib.import_module``."""
    wanted = args[0] if args else keywords.get("name", UNKNOWN)
    if not isinstance(wanted, str):
        raise Undecided("a computed module is imported")
    if wanted.startswith("."):
        package = args[1] if len(args) > 1 else keywords.get("package")
        if not isinstance(package, str):
            raise error("TypeError", "the 'package' argument is required")
        level = len(wanted) - len(wanted.lstrip("."))
        parts = package.split(".")
        base = ".".join(parts[: len(parts) - level + 1])
        wanted = f"{base}.{wanted.lstrip('.')}".rstrip(".")
    return run.import_module(wanted)


def _import_by_name(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``__import__``."""
    wanted = args[0] if args else keywords.get("name", UNKNOWN)
    if not isinstance(wanted, str) or (len(args) > 4 and args[4] != 0) or keywords.get("level", 0) != 0:
        raise Undecided("a computed module is imported")
    found = run.import_module(wanted)
    names = args[3] if len(args) > 3 else keywords.get("fromlist")
    top = wanted.partition(".")[0]
    return found if names else run.modules.get(top, Native(top) if is_standard(top) else UNKNOWN)


def _folder_of(run: PythonRun, package: PyValue) -> PyValue:
    if isinstance(package, CodeModule):
        package = package.name
    if not isinstance(package, str):
        return UNKNOWN
    module = run.import_module(package)
    if not isinstance(module, CodeModule):
        return UNKNOWN
    paths = module.names.get("__path__")
    if isinstance(paths, list) and paths and isinstance(paths[0], str):
        return WindowsPathValue(paths[0])
    file = module.names.get("__file__")
    return WindowsPathValue(file.rpartition("\\")[0]) if isinstance(file, str) else UNKNOWN


def _files(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    return _folder_of(run, args[0] if args else run.environment.globals.get("__package__"))


def _file_of_package(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``importlib.resources.path``."""
    folder = _folder_of(run, args[0])
    if not isinstance(folder, WindowsPathValue) or not isinstance(args[1], str):
        return UNKNOWN
    return WindowsPathValue(f"{folder.text}\\{args[1]}".replace("/", "\\"))


def _resource_name(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``pkg_resources.resource_filename``."""
    found = _file_of_package(run, args, keywords)
    return found.text if isinstance(found, WindowsPathValue) else UNKNOWN


def _text_of_package(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``importlib.resources.read_text``."""
    found = _file_of_package(run, args, keywords)
    return run.machine.text(found.text) if isinstance(found, WindowsPathValue) else UNKNOWN


def _data_of_package(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``pkgutil.get_data``."""
    text = _text_of_package(run, args, keywords)
    return text.encode() if isinstance(text, str) else text


def _find_spec(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    name = args[0] if args else UNKNOWN
    if not isinstance(name, str) or name.startswith("."):
        return UNKNOWN
    if is_standard(name):
        return Instance(Native("importlib.ModuleSpec"))
    path = run.machine.files.module(name)
    if not path:
        return None if path == "" or run.complete else UNKNOWN
    return _spec(name, path)


def _spec(name: str, path: str) -> Instance:
    """The spec of a module that has a file."""
    where = f"{ROOT}\\{path}".replace("/", "\\")
    folders = [where.rpartition("\\")[0]] if "__init__" in path else None
    loader = Instance(Native("importlib.Loader"), {"exec_module": Native("importlib.Loader.exec_module")})
    spec = {"origin": where, "name": name, "submodule_search_locations": folders, "loader": loader, "<file>": path}
    return Instance(Native("importlib.ModuleSpec"), spec)


def _spec_in(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``find_spec`` of what ``pkgutil`` lists the modules of a folder with."""
    folder, name = args[0], args[1]
    path = run.machine.files.module_in(run.machine.view_path(folder), name) if isinstance(name, str) else ""
    return _spec(name, path) if path else None


def _spec_of_file(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``importlib.util.spec_from_file_location``."""
    name, place = [*args, keywords.get("location")][:2]
    text = place.text if isinstance(place, WindowsPathValue) else place
    path = run.machine.files.spelled(run.machine.view_path(text)) if isinstance(text, str) else ""
    return _spec(name, path) if isinstance(name, str) and path in run.machine.view else UNKNOWN


def _module_of_spec(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``importlib.util.module_from_spec``, which loads what is compiled."""
    spec = args[0].attributes if isinstance(args[0], Instance) else {}
    if run.reading is not None or "<file>" not in spec:
        return UNKNOWN
    if spec["<file>"].endswith(".pyd"):
        stem = base_name(spec["<file>"]).partition(".")[0]
        return run.import_path(spec["name"], spec["<file>"]) if spec["name"].rpartition(".")[2] == stem else UNKNOWN
    module = run.new_module(spec["<file>"])
    module.name = module.names["__name__"] = spec["name"]
    return module


def _run_module(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``exec_module`` of a loader; the module is not among those that are imported unless code puts it there."""
    module = args[0]
    if not isinstance(module, CodeModule) or module.is_compiled or run.reading is not None:
        return None
    before = run.modules.get(module.name)
    found = run.import_path(module.name, module.file)
    if isinstance(found, CodeModule):
        module.names.update(found.names)
    if before is None:
        run.modules.pop(module.name, None)
    else:
        run.modules[module.name] = before
    return None


def _modules_in(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``pkgutil.iter_modules``."""
    paths = args[0] if args else None
    if not isinstance(paths, list) or not all(isinstance(one, str) for one in paths):
        raise Undecided("which modules are listed is not known")
    prefix = args[1] if len(args) > 1 and isinstance(args[1], str) else ""
    kind = CodeClass("ModuleInfo", [], {})
    kind.fields = ["module_finder", "name", "ispkg"]
    rows = []
    for path in paths:
        for entry in run.machine.names(path):
            stem, _, rest = entry.partition(".")
            package = not rest and run.machine.exists(f"{path}\\{entry}\\__init__.py", False) is True
            if (rest in ("py",) or rest.endswith("pyd") or package) and stem != "__init__":
                finder = {"find_spec": Bound(Native("importlib.FileFinder.find_spec"), [path])}
                attributes = {"name": prefix + stem, "ispkg": package}
                attributes["module_finder"] = Instance(Native("importlib.FileFinder"), finder)
                rows.append(Instance(kind, attributes))
    return rows


def _module_or(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``sys.modules.get``."""
    name = args[0] if args else UNKNOWN
    if not isinstance(name, str):
        return UNKNOWN
    if name in run.modules or not run.is_own(run.machine.files.module(name)):
        return run.module_named(name)
    return args[1] if len(args) > 1 else None


def _extend_path(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``pkgutil.extend_path``: where all that is installed is known, nothing adds to the package."""
    return args[0] if run.complete and args else UNKNOWN


def _source_file(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``inspect.getfile``: the file of a function or module; unicorn finds its DLL from there."""
    of = args[0] if args else UNKNOWN
    names = of.environment.globals if isinstance(of, CodeFunction) else of.names if isinstance(of, CodeModule) else {}
    return names.get("__file__", UNKNOWN)


MODULES: dict[str, Callable[[PythonRun, list[PyValue], Words], PyValue]] = {
    "importlib.import_module": _import_by_call,
    "__import__": _import_by_name,
    "importlib.resources.files": _files,
    "importlib.resources.path": _file_of_package,
    "importlib.resources.read_text": _text_of_package,
    "pkg_resources.resource_filename": _resource_name,
    "inspect.getfile": _source_file,
    "inspect.getsourcefile": _source_file,
    "pkgutil.get_data": _data_of_package,
    "pkgutil.extend_path": _extend_path,
    "pkgutil.iter_modules": _modules_in,
    "importlib.util.find_spec": _find_spec,
    "importlib.find_loader": _find_spec,
    "importlib.FileFinder.find_spec": _spec_in,
    "importlib.util.spec_from_file_location": _spec_of_file,
    "importlib.util.module_from_spec": _module_of_spec,
    "importlib.Loader.exec_module": _run_module,
    "sys.modules.get": _module_or,
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
            "sys.argv": ["-c"] if self.run.reading is None else UNKNOWN,  # python -c "import …"
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
            if found is None and self.run.reading is not None and self.run.reading.later:
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
            return method(self.run, owner, last, rest, keywords)
        if group == "path":
            return path_method(self.run, owner, last, rest, keywords)
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

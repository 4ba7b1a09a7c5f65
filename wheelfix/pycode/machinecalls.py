"""Functions of os, pathlib, glob, platform and other modules that ask about the machine."""

from __future__ import annotations

import configparser
import ntpath
from typing import TYPE_CHECKING

from wheelfix.base.parsing import parse_json
from wheelfix.model import Machine
from wheelfix.pycode import methods
from wheelfix.pycode.budget import MAX_TEXT
from wheelfix.pycode.objects import (
    UNKNOWN,
    Bound,
    Instance,
    Iteration,
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
from wheelfix.pycode.windows import COMPILERS, HOME, ROOT, SITE, os_error

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
    if not all(isinstance(one, str) for one in args):
        raise Undecided("an environment variable is not known")
    if args[0].upper() not in run.machine.variables:
        run.store(run.machine.variables, args[0].upper(), args[1])
    return run.machine.variables[args[0].upper()]


def _list_folder(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    folder = _text(args[0]) if args else "."
    if not isinstance(folder, str):
        return UNKNOWN
    return methods.listed(run, folder)


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

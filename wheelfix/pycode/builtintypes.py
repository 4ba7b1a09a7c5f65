"""What functions of Python do: built-in ones, methods of texts, lists, dicts and paths, and what asks the machine."""

from __future__ import annotations

import ntpath
import re
import warnings
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.base.parsing import parse_json, regex
from wheelfix.pycode.budget import LINEAR_CODECS, MAX_ITEMS, MAX_MATCHING, MAX_TEXT, MAX_TURNS, matching_work
from wheelfix.pycode.run import (
    PLAIN_CONTAINERS,
    UNKNOWN,
    Bound,
    CodeClass,
    CodeFunction,
    Instance,
    Iteration,
    LoadFault,
    Managed,
    MarkedFunction,
    Method,
    Namespace,
    Native,
    PyValue,
    Undecided,
    attempt,
    error,
    is_error,
    is_kind,
    is_vague,
    path_text,
)
from wheelfix.pycode.sourcecode import any_of
from wheelfix.pycode.windows import COMPILERS, HOME, ROOT, SITE, os_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.pycode.run import Call, LibraryFunction, PythonRun

_ASKING = frozenset("get keys values items copy index count".split())
"""Methods that change nothing."""
_NOT_CALLED = frozenset("center expandtabs ljust maketrans rjust translate zfill format_map fromkeys".split())
"""Methods that make long texts of short ones, or that no package has needed."""
_CHECKS = {"exists": None, "is_file": False, "is_dir": True}


def method(call: Call, owner: PyValue, name: str) -> PyValue:
    """Call a method of one of Python's own values, or of a path."""
    if name.startswith("__"):
        return UNKNOWN  # ``__mul__`` would make long values
    if isinstance(owner, PurePath):
        return _of_path(call, owner, name)
    if isinstance(owner, str):
        return _of_text(call, owner, name)
    if isinstance(owner, bytes):
        return owner.decode("utf-8", "replace") if name == "decode" else UNKNOWN
    if isinstance(owner, list):
        return _of_list(call, owner, name)
    if isinstance(owner, dict):
        return _of_table(call, owner, name)
    if isinstance(owner, set | frozenset):
        return _of_set(call, owner, name)
    return UNKNOWN


def _of_text(call: Call, owner: str, name: str) -> PyValue:
    run, args = call.run, call.args
    if name == "join":
        given = call.get(0)
        items: list[PyValue] = [UNKNOWN] if is_vague(given) else list(run.attributes.iterate(given))
        length = sum(len(one) + len(owner) for one in items if isinstance(one, str))
        return attempt(owner.join, items) if length <= MAX_TEXT and run.is_plain(items) else UNKNOWN
    if name == "format":
        return _formatted(call, owner)
    longest = max((len(one) for one in args if isinstance(one, str)), default=0)
    if name in _NOT_CALLED or not run.is_plain(owner, args, call.words):
        return UNKNOWN
    if name == "replace" and (len(owner) + 1) * (longest + 1) > MAX_TEXT:
        return UNKNOWN
    if name == "encode" and str(call.get(0, "encoding", "utf-8")).lower() not in LINEAR_CODECS:
        return UNKNOWN
    return attempt(getattr(owner, name), *args, **call.words)


_PLAIN_FIELDS = regex(r"(?:[^{}]|\{\{|\}\}|\{\w*\})*")


def _formatted(call: Call, text: str) -> PyValue:
    """``str.format`` for plain fields; attributes, items and widths are not followed."""
    args = list(map(call.run.expressions.text_of, call.args))
    words = {key: call.run.expressions.text_of(value) for key, value in call.words.items()}
    every = [*args, *words.values()]
    if not all(isinstance(one, str) for one in every) or not _PLAIN_FIELDS.fullmatch(text):
        return UNKNOWN
    longest = max(map(len, every), default=0)
    return attempt(text.format, *args, **words) if text.count("{") * longest <= MAX_TEXT else UNKNOWN


def _of_list(call: Call, owner: list[PyValue], name: str) -> PyValue:
    run, first = call.run, call.get(0)
    if len(owner) > MAX_ITEMS:
        return UNKNOWN
    if name not in _ASKING:
        run.changing(owner)
    if name == "extend":
        owner.extend(run.attributes.items_of(first))
        return None
    if name == "sort":
        owner[:] = ordered(run, owner, call.words)
        return None
    by_value, by_place = name in ("remove", "index", "count"), name in ("pop", "insert") and call.args
    run.step(len(owner) if by_value else 0)  # each item is looked at
    if (by_value and not run.is_plain(owner, call.args)) or (by_place and not isinstance(first, int)):
        raise Undecided("the place in a list is not known")
    return attempt(getattr(owner, name), *call.args)


def ordered(run: PythonRun, items: list[PyValue], keywords: dict[str, PyValue]) -> list[PyValue]:
    """What ``sorted`` gives."""
    key = keywords.get("key")
    keys = [run.calls.call(key, [item], {}) if key is not None else item for item in items]
    if not run.is_plain(keys):
        if len(items) < 2:
            return list(items)
        raise Undecided("the order of a list is not known")
    last = run.truth(keywords.get("reverse")) is True
    places = attempt(sorted, range(len(items)), key=lambda at: keys[at], reverse=last)
    return [items[at] for at in places]


def _of_table(call: Call, owner: dict[PyValue, PyValue], name: str) -> PyValue:
    run, args = call.run, call.args
    if name == "update" and owner is run.environment.globals and any(map(is_vague, args)):
        run.importer.note_star("")
    if name in _NOT_CALLED or (args and args[0] is UNKNOWN):
        return UNKNOWN
    if name not in _ASKING:
        run.changing(owner)
    if name == "move_to_end":
        owner[args[0]] = owner.pop(run.key(args[0]))
        return None
    if name in ("keys", "values", "items"):
        return list(getattr(owner, name)())
    if name == "update":
        for one in args:
            pairs = (
                one.items()
                if isinstance(one, dict)
                else [tuple(run.attributes.iterate(pair)) for pair in run.attributes.iterate(one)]
            )
            owner.update({run.key(key): value for key, value in attempt(list, pairs)})
        owner.update(call.words)
        return None
    return attempt(getattr(owner, name), *map(run.key, args[:1]), *args[1:])


def _of_set(call: Call, owner: PyValue, name: str) -> PyValue:
    run, args = call.run, call.args
    if isinstance(owner, set):
        run.changing(owner)
    if name in ("add", "discard", "remove"):
        if not run.is_plain(args):
            raise Undecided("what is in a set is not known")
        return attempt(getattr(owner, name), *map(run.key, args))
    return attempt(getattr(owner, name), *(set(map(run.key, run.attributes.iterate(one))) for one in args))


# --------------------------------------------------------------------------------------------------- paths


def path_attribute(owner: PurePath, name: str) -> PyValue:
    """An attribute of a ``Path``."""
    if not hasattr(Path, name) and name not in _OF_INSTALLED:
        raise error("AttributeError", f"'WindowsPath' object has no attribute '{name}'")
    found = tuple(owner.parents[:MAX_TURNS]) if name == "parents" else getattr(owner, name, None)
    return found if isinstance(found, str | list | tuple | PurePath) else Method(owner, name)


_OF_INSTALLED = ("locate", "read_text", "read_binary")
"""Methods of a file of a distribution as ``importlib.metadata`` names it: with ``/``, relative to site-packages."""


def _of_path(call: Call, owner: PurePath, name: str) -> PyValue:
    machine, text = call.machine, str(owner)
    if isinstance(owner, PurePosixPath) and name in _OF_INSTALLED:
        place = ntpath.join(SITE, text.replace("/", "\\"))
        return PureWindowsPath(place) if name == "locate" else machine.text(place)
    if name in _CHECKS:
        return machine.exists(text, _CHECKS[name])
    if name == "expanduser":
        return PureWindowsPath(home_of(text))
    if name in ("resolve", "absolute"):
        if call.get(0, "strict") is True and machine.exists(text) is False:
            raise error("FileNotFoundError", 2, "", text)
        made = ntpath.join(machine.folder, text)
        return PureWindowsPath(ntpath.normpath(made) if name == "resolve" else made)
    if name == "iterdir":
        names = listed(call.run, text)
        return Iteration(PureWindowsPath(text, one) for one in names)
    if name in ("glob", "rglob"):
        if not isinstance(call.get(0), str):
            return UNKNOWN
        pattern = f"**\\{call.get(0)}" if name == "rglob" else call.get(0).replace("/", "\\")
        return Iteration(map(PureWindowsPath, machine.matching(ntpath.join(text, pattern), recursive=True)))
    if name in ("read_text", "read_bytes"):
        return machine.text(text)
    if name == "open":
        return machine.open_file(text, call.get(0, "mode", "r"))
    given = call.texts()
    if given is None or not hasattr(PurePath, name) or sum(map(len, given), len(text)) > MAX_TEXT:
        return UNKNOWN  # the others ask the machine
    return attempt(getattr(owner, name), *given)


def home_of(text: str) -> str:
    """A path with ``~`` at its start replaced."""
    return text.replace("~", HOME, 1) if text.startswith("~") else text


def listed(run: PythonRun, text: str) -> list[str]:
    """The names in a folder; what listing a folder that is not there raises is raised."""
    if run.machine.is_folder(text):
        return run.machine.names(text)
    if run.reading is not None:
        raise Undecided("what is in a folder is not known")
    path = run.machine.view_path(text)
    fault = LoadFault("listing", path, None) if run.machine.files.is_own(path) else None
    raise os_error("FileNotFoundError", 3, text, fault)


_TYPES: dict[str, type] = {
    **{kind.__name__: kind for kind in (str, int, bool, float, bytes, list, tuple, dict, set)},
    **dict.fromkeys(("pathlib.Path", "pathlib.PurePath", "os.PathLike"), PureWindowsPath),
}


def _get_attribute(call: Call) -> PyValue:
    if not isinstance(call.get(1), str):
        return UNKNOWN
    attributes = call.run.attributes
    return attributes.attribute_or(*call.args) if len(call.args) > 2 else attributes.attribute(*call.args)


def _set_attribute(call: Call) -> PyValue:
    name = call.known(1, "", "the name of an attribute is not known")
    call.run.statements.set_attribute(call.args[0], name, call.args[2])


def known_or_not(answer: bool | None) -> PyValue:
    """An answer as a value of the code."""
    return UNKNOWN if answer is None else answer


def _is_instance(call: Call) -> PyValue:
    value, kinds = call.get(0), call.get(1)
    return known_or_not(any_of(_is_one(value, kind) for kind in (kinds if isinstance(kinds, tuple) else (kinds,))))


def _is_one(value: PyValue, kind: PyValue) -> bool | None:
    if is_vague(value) or kind is UNKNOWN:
        return None
    if isinstance(value, Instance):
        return is_kind(value.kind, kind)
    if isinstance(kind, Native) and kind.name in _TYPES:
        return isinstance(value, _TYPES[kind.name])
    return False if isinstance(kind, CodeClass) or is_error(kind) else None


def _type(call: Call) -> PyValue:
    value = call.get(0)
    if isinstance(value, Instance):
        return value.kind
    found = [name for name, kind in _TYPES.items() if type(value) is kind]
    return Native(found[0]) if found else Native("NoneType") if value is None else UNKNOWN


def _length(call: Call) -> PyValue:
    given = call.get(0)
    value = given.attributes.get("<items>", given) if isinstance(given, Instance) else given
    return len(value) if isinstance(value, PLAIN_CONTAINERS) else UNKNOWN


def _of_items(kind: Callable[[list[PyValue]], PyValue]) -> LibraryFunction:
    """A function of Python that does not look into the items which it is given."""
    return lambda call: kind(list(call.items(default=())))


def _for_real(function: Callable[..., PyValue]) -> LibraryFunction:
    """A function of Python that is called, if its arguments are Python's own and small."""

    def made(call: Call) -> PyValue:
        return attempt(function, *call.args, **call.words) if call.run.is_plain(call.args, call.words) else UNKNOWN

    return made


def dictionary(call: Call) -> PyValue:
    """``dict``."""
    found: dict[PyValue, PyValue] = {}
    known = [one for one in call.args if not is_vague(one)]
    _of_table(call._replace(args=known), found, "update")
    return found if len(known) == len(call.args) else UNKNOWN


def _map(call: Call) -> PyValue:
    function, *lists = call.args
    if any(one is UNKNOWN for one in lists):
        raise Undecided("what map goes through is not known")
    rows = zip(*map(call.run.attributes.iterate, lists), strict=False)
    return Iteration(call.run.calls.call(function, list(row), {}) for row in rows)


def _filter(call: Call) -> PyValue:
    """``filter``, which the code of wheels that were repaired with required distributions uses."""
    run, (function, given) = call.run, call.args
    found = []
    for item in run.attributes.iterate(given):
        holds = run.truth(item if function is None else run.calls.call(function, [item], {}))
        holds = run.choose(_filter) if holds is None else holds
        if holds is None:
            raise Undecided("a condition of filter is not known")
        found += [item] if holds else []
    return Iteration(iter(found))


def _some(call: Call, *, every: bool) -> PyValue:
    unknown = False
    for item in call.items():
        holds = call.run.truth(item)
        if holds is (not every):
            return not every
        unknown |= holds is None
    return UNKNOWN if unknown else every


def _range(call: Call) -> PyValue:
    found = attempt(range, *call.args)
    return found if len(found) <= MAX_ITEMS else UNKNOWN


def _extreme(call: Call, *, last: bool) -> PyValue:
    items = call.args if len(call.args) != 1 else list(call.items())
    found = ordered(call.run, items, {"key": call.words.get("key")})
    return found[-1 if last else 0] if found else call.words.get("default", UNKNOWN)


def _super(call: Call) -> PyValue:
    place: Namespace | None = call.run.environment
    while place is not None and "<super>" not in place.names:
        place = place.above
    return Managed("super", place.names["<super>"]) if place is not None else UNKNOWN


def is_function(value: PyValue) -> bool:
    """Whether a value is code of the package that can be called."""
    return isinstance(value, CodeFunction | MarkedFunction | CodeClass | Bound)


def marking(kind: str) -> LibraryFunction:
    """A decorator that marks what it is given as being of a kind."""
    return lambda call: MarkedFunction(kind, call.get(0)) if is_function(call.get(0)) else UNKNOWN


def _exec(call: Call) -> PyValue:
    source, places = call.get(0), call.args[1:3]
    tree = call.run.parsed(source) if isinstance(source, str) and all(isinstance(one, dict) for one in places) else None
    if tree is None:
        raise Undecided("code is made when the package runs")
    outer = call.run.environment
    module = places[0] if places else outer.globals
    call.run.environment = Namespace(places[-1] if places else outer.names, module, outer.file)
    try:
        call.run.statements.execute(tree.body)
    finally:
        call.run.environment = outer


def _next(call: Call) -> PyValue:
    given = call.get(0)
    if not isinstance(given, Iteration):
        return UNKNOWN
    for item in given.items:
        return item
    if len(call.args) > 1:
        return call.args[1]
    raise error("StopIteration")


def _set(call: Call) -> PyValue:
    return call.run.expressions.as_set(list(call.items(default=())))


def _callable(call: Call) -> PyValue:
    if is_function(call.get(0)) or isinstance(call.get(0), Method):
        return True
    return False if call.run.is_plain(call.get(0)) else UNKNOWN


def _exit(call: Call) -> PyValue:
    raise error("SystemExit")


OF_KNOWN = frozenset("list tuple set frozenset sorted reversed iter zip enumerate any all min max range".split())
"""What gives something unknown for an argument that is unknown."""
BUILTINS: dict[str, LibraryFunction] = {
    "str": lambda call: call.run.expressions.text_of(call.get(0, default="")),
    "repr": _for_real(repr),
    "int": _for_real(int),
    "bool": lambda call: known_or_not(call.run.truth(call.get(0, default=False))),
    "len": _length,
    "list": _of_items(list),
    "tuple": _of_items(tuple),
    "set": _set,
    "frozenset": _set,
    "dict": dictionary,
    "sorted": lambda call: ordered(call.run, list(call.items()), call.words),
    "reversed": _of_items(lambda items: items[::-1]),
    "iter": lambda call: Iteration(call.items()),
    "next": _next,
    "map": _map,
    "filter": _filter,
    "any": lambda call: _some(call, every=False),
    "all": lambda call: _some(call, every=True),
    "zip": lambda call: [*zip(*map(call.run.attributes.iterate, call.args), strict=False)],
    "enumerate": lambda call: Iteration(enumerate(call.items(), call.get(1, "start", 0))),
    "range": _range,
    "min": lambda call: _extreme(call, last=False),
    "max": lambda call: _extreme(call, last=True),
    "isinstance": _is_instance,
    "issubclass": lambda call: known_or_not(is_kind(call.get(0), call.get(1))),
    "callable": _callable,
    "type": _type,
    "getattr": _get_attribute,
    "setattr": _set_attribute,
    "super": _super,
    "object": lambda call: Instance(Native("object")),
    "globals": lambda call: call.run.environment.globals,
    "locals": lambda call: dict(call.run.environment.names),
    "vars": lambda call: UNKNOWN if call.args else call.run.environment.names,
    "exec": _exec,
    "compile": lambda call: call.get(0),
    "sys.exit": _exit,
    "property": lambda call: MarkedFunction("property", call.get(0)),
    "staticmethod": marking("staticmethod"),
    "classmethod": marking("classmethod"),
}


_PLATFORMS = {"x86": "win32", "ARM64": "win-arm64", "AMD64": "win-amd64"}


def of_text(function: Callable[[Call, str], PyValue]) -> LibraryFunction:
    """A function of a text or path; for one that is not known it gives something unknown."""

    def made(call: Call) -> PyValue:
        given = path_text(next(iter((*call.args, *call.words.values())), UNKNOWN))
        return function(call, given) if isinstance(given, str) else UNKNOWN

    return made


def _environment(call: Call, name: str) -> PyValue:
    return call.machine.variable(name, call.get(1, "default", None))


def _set_environment(call: Call) -> PyValue:
    name, variables = call.known(0, "", "an environment variable is not known").upper(), call.machine.variables
    if name not in variables:
        call.run.store(variables, name, call.get(1))
    return variables[name]


def _scan_folder(call: Call, folder: str) -> PyValue:
    entries = []
    for name in listed(call.run, folder):
        path = PureWindowsPath(ntpath.join(folder, name))
        known = {"name": name, "path": str(path), "is_file": Method(path, "is_file"), "is_dir": Method(path, "is_dir")}
        entries.append(Instance(Native("os.DirEntry"), known))
    return entries


def _walk(call: Call, folder: str) -> PyValue:
    machine = call.machine
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
    folder, machine = call.known(0, "", "the current folder is not known"), call.machine
    if not machine.is_folder(folder):
        raise os_error("FileNotFoundError", 2, folder)
    machine.folder = ntpath.normpath(ntpath.join(machine.folder, folder))


def _glob(call: Call, pattern: str) -> list[str]:
    recursive = call.run.truth(call.words.get("recursive")) is True
    return call.machine.matching(pattern.replace("/", "\\"), recursive=recursive)


def _path(call: Call) -> PyValue:
    texts = call.texts()
    if texts is None or sum(map(len, texts)) > MAX_TEXT:
        return UNKNOWN
    return PureWindowsPath(*texts)


def _json(call: Call) -> PyValue:
    given = call.get(0)
    text = given.value if isinstance(given, Managed) and given.kind == "file" else given
    return attempt(parse_json, text) if isinstance(text, str) else UNKNOWN


def _which(call: Call, name: str) -> PyValue:
    """A program on PATH: none is asked for but those of other vendors."""
    call.machine.asked = True
    call.machine.variable(COMPILERS.get(name.removesuffix(".exe"), ""))
    return None


def _open(call: Call, path: str) -> PyValue:
    return call.machine.open_file(path, call.get(1, "mode", "r"))


MACHINE: dict[str, LibraryFunction] = {
    "os.environ.get": of_text(_environment),
    "os.getenv": of_text(_environment),
    "os.environ.setdefault": _set_environment,
    "os.environ.copy": lambda call: dict(call.machine.variables),
    "os.environ.pop": lambda call: call.machine.variables.pop(str(call.get(0)).upper(), call.get(1, default=None)),
    "os.listdir": of_text(lambda call, folder: listed(call.run, folder)),
    "os.scandir": of_text(_scan_folder),
    "os.walk": of_text(_walk),
    "os.getcwd": lambda call: call.machine.folder,
    "os.chdir": _chdir,
    "os.fspath": of_text(lambda call, path: path),
    "os.access": of_text(lambda call, path: call.machine.exists(path)),
    "glob.glob": of_text(_glob),
    "glob.iglob": of_text(lambda call, pattern: Iteration(iter(_glob(call, pattern)))),
    **dict.fromkeys(
        [f"pathlib.{name}" for name in ("Path", "PurePath", "WindowsPath", "PureWindowsPath", "PurePosixPath")], _path
    ),
    "pathlib.Path.cwd": lambda call: PureWindowsPath(call.machine.folder),
    "pathlib.Path.home": lambda call: PureWindowsPath(HOME),
    "open": of_text(_open),
    "io.open": of_text(_open),
    "json.load": _json,
    "json.loads": _json,
    "struct.calcsize": lambda call: call.machine.bits // 8 if call.get(0) in ("P", "N", "n") else UNKNOWN,
    "platform.system": lambda call: "Windows",
    "platform.machine": lambda call: call.machine.processor,
    "platform.architecture": lambda call: (f"{call.machine.bits}bit", "WindowsPE"),
    "platform.python_implementation": lambda call: "CPython",
    "platform.python_version": lambda call: "{}.{}.9".format(*call.machine.python),
    "platform.release": lambda call: "10",
    "sysconfig.get_platform": lambda call: _PLATFORMS[call.machine.processor],
    "sysconfig.get_path": lambda call: SITE if call.get(0) in ("platlib", "purelib") else UNKNOWN,
    "sysconfig.get_config_var": lambda call: (
        f"{HOME}\\AppData\\Roaming\\Python" if call.get(0) == "userbase" else UNKNOWN
    ),
    "site.getsitepackages": lambda call: [ROOT, SITE],
    "shutil.which": of_text(_which),
    "sys.getwindowsversion": lambda call: Instance(
        Native("sys.getwindowsversion()"), {"major": 10, "minor": 0, "build": 19045, "platform": 2}
    ),
}


MAX_PATTERN = 200
MAX_SUBJECT = 300
_FLAGS = {"I": re.IGNORECASE, "IGNORECASE": re.IGNORECASE, "M": re.MULTILINE, "MULTILINE": re.MULTILINE}
_MATCHING = ("match", "search", "fullmatch", "findall")
_OF_MATCH = ("group", "groups", "groupdict", "start", "end", "span")


def _compiled(pattern: PyValue, flags: PyValue) -> re.Pattern[str] | None:
    """A pattern that may be matched; None if it is not known or could take long."""
    flag = _FLAGS.get(flags.name.rpartition(".")[2]) if isinstance(flags, Native) else 0 if flags in (None, 0) else None
    if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN or flag is None:
        return None
    if matching_work(pattern, 0, search=False) > MAX_MATCHING:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern, flag)
    except (re.error, RecursionError, OverflowError):
        raise error("re.error") from None


def _asked(kind: str) -> LibraryFunction:
    def made(call: Call) -> PyValue:
        return matched(call._replace(args=call.args[1:]), _compiled(call.get(0), call.get(2, "flags", None)), kind)

    return made


def matched(call: Call, found: PyValue, kind: str) -> PyValue:
    """Call a method of a pattern, or of a match."""
    if isinstance(found, re.Match):
        if kind not in _OF_MATCH or any(one is UNKNOWN for one in call.args):
            return UNKNOWN
        return attempt(getattr(found, kind), *call.args)
    text = call.get(0)
    known = isinstance(found, re.Pattern) and isinstance(text, str) and len(text) <= MAX_SUBJECT
    if not known or kind not in _MATCHING:
        return UNKNOWN
    work = matching_work(found.pattern, len(text), search=kind not in ("match", "fullmatch"))
    if work > MAX_MATCHING:
        return UNKNOWN
    call.run.step(work >> 10)
    return getattr(found, kind)(text)


def _compile(call: Call) -> PyValue:
    pattern = _compiled(call.get(0), call.get(1, "flags", None))
    return UNKNOWN if pattern is None else pattern


PATTERNS: dict[str, LibraryFunction] = {
    **{f"re.{name}": _asked(name) for name in _MATCHING},
    "re.compile": _compile,
    "re.escape": _for_real(re.escape),
}

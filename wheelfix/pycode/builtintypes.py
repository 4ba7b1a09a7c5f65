"""Built-in functions, and methods of texts, lists, dicts and paths."""

from __future__ import annotations

import ast
import ntpath
import string
import sys
from pathlib import PurePath, PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number
from wheelfix.pycode.budget import LINEAR_CODECS, MAX_ITEMS, MAX_TEXT, MAX_TURNS
from wheelfix.pycode.objects import (
    UNKNOWN,
    Bound,
    CodeClass,
    CodeFunction,
    CodeModule,
    InstalledPathValue,
    Instance,
    Iteration,
    LoadedDll,
    LoadFault,
    Managed,
    MarkedFunction,
    Namespace,
    Native,
    PyValue,
    SomeOf,
    Thrown,
    Undecided,
    UnknownValue,
    WindowsPathValue,
    error,
    is_error,
    is_kind,
    joined,
)
from wheelfix.pycode.run import attempt
from wheelfix.pycode.windows import HOME, SITE, os_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.pycode.run import PythonRun

_TEXT = frozenset(
    "replace startswith endswith lower upper strip lstrip rstrip title casefold removeprefix removesuffix isdigit find"
    " rfind index count split rsplit splitlines partition rpartition isalpha isalnum capitalize swapcase isidentifier"
    " encode decode zfill isspace isupper islower".split()
)
_LONGEST_FILL = 256
_LIST = frozenset("append extend insert pop remove clear index count copy reverse sort".split())
_TABLE = frozenset("move_to_end get keys values items setdefault update pop copy clear popitem".split())
_SET = frozenset("add update discard remove union intersection difference issubset issuperset copy clear pop".split())
_CHECKS = {"exists": None, "is_file": False, "is_dir": True}


def method(run: PythonRun, owner: PyValue, name: str, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    """Call a method of one of Python's own values."""
    if isinstance(owner, str):
        return _of_text(run, owner, name, args, keywords)
    if isinstance(owner, bytes):
        known = name == "decode"
        return owner.decode("utf-8", "replace") if known else UNKNOWN
    if isinstance(owner, list):
        return _of_list(run, owner, name, args, keywords)
    if isinstance(owner, dict):
        return _of_table(run, owner, name, args, keywords)
    if isinstance(owner, set | frozenset):
        return _of_set(run, owner, name, args)
    if isinstance(owner, tuple) and name in ("index", "count") and len(args) == 1 and run.is_plain(args[0], owner):
        return attempt(getattr(owner, name), *args)
    return UNKNOWN


def _of_text(run: PythonRun, owner: str, name: str, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    if name == "join" and len(args) == 1:
        items: list[PyValue] = (
            list(run.iterate(args[0])) if not isinstance(args[0], UnknownValue | Native) else [UNKNOWN]
        )
        if any(isinstance(one, WindowsPathValue | Instance | int | type(None)) for one in items):
            raise error("TypeError", "sequence item: expected str instance")
        if not all(isinstance(one, str) for one in items):
            return UNKNOWN
        return owner.join(items) if sum(len(one) + len(owner) for one in items) <= MAX_TEXT else UNKNOWN
    if name == "format":
        return _formatted(run, owner, args, keywords)
    if name not in _TEXT or not run.is_plain(owner, args, keywords):
        return UNKNOWN
    if (
        name == "replace"
        and (len(owner) + 1) * (max((len(one) for one in args if isinstance(one, str)), default=0) + 1) > MAX_TEXT
    ):
        return UNKNOWN
    if name in ("encode", "decode") and str([*args, *keywords.values(), "utf-8"][0]).lower() not in LINEAR_CODECS:
        return UNKNOWN
    if name == "zfill" and not (args and isinstance(args[0], int) and args[0] < _LONGEST_FILL):
        return UNKNOWN
    return attempt(getattr(owner, name), *args, **keywords)


def _formatted(run: PythonRun, text: str, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    """``str.format`` for plain fields; attributes, items and widths are not followed."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        raise error("ValueError", "format") from None
    made, count = [], 0
    for literal, field, spec, conversion in parts:
        made.append(literal)
        if field is None:
            continue
        if (spec and spec != "d") or conversion or not (field == "" or field.isalnum() or field.isidentifier()):
            return UNKNOWN
        key = str(count) if field == "" else field
        count += field == ""
        index = whole_number(key)
        if index is not None and index >= len(args):
            raise error("IndexError", "Replacement index out of range")
        if index is None and key not in keywords:
            raise error("KeyError", key)
        shown = run.text_of(args[index] if index is not None else keywords[key])
        if not isinstance(shown, str):
            return UNKNOWN
        made.append(shown)
    return "".join(made) if sum(map(len, made)) <= MAX_TEXT else UNKNOWN


def _of_list(
    run: PythonRun, owner: list[PyValue], name: str, args: list[PyValue], keywords: dict[str, PyValue]
) -> PyValue:
    if name not in _LIST or len(owner) > MAX_ITEMS:
        return UNKNOWN
    if name not in ("index", "count", "copy"):
        run.changing(owner)
    if name == "extend":
        unknown = run.reading is not None and isinstance(args[0], UnknownValue | Native)
        owner.extend([UNKNOWN] if unknown else list(run.iterate(args[0])))
        return None
    if name == "sort":
        owner[:] = ordered(run, owner, keywords)
        return None
    if name in ("remove", "index", "count"):
        run.step(4 * len(owner))
        for at, item in enumerate(owner):
            if run.compared(ast.Eq(), item, args[0]) is True:
                if name == "remove":
                    del owner[at]
                    return None
                return at if name == "index" else UNKNOWN
        if name == "count":
            return 0
        raise error("ValueError", "list.remove(x): x not in list")
    if (
        any(isinstance(one, UnknownValue) for one in args)
        and name in ("pop", "insert")
        and not isinstance(args[0], int)
    ):
        raise Undecided("the place in a list is not known")
    return attempt(getattr(owner, name), *args)


def ordered(run: PythonRun, items: list[PyValue], keywords: dict[str, PyValue]) -> list[PyValue]:
    """What ``sorted`` gives."""
    key = keywords.get("key")
    keys = [run.call(key, [item], {}) if key is not None else item for item in items]
    keys = [one.text.lower() if isinstance(one, WindowsPathValue) else one for one in keys]
    if not run.is_plain(keys):
        if len(items) < 2:
            return list(items)
        raise Undecided("the order of a list is not known")
    last = run.truth(keywords.get("reverse")) is True
    places = attempt(sorted, range(len(items)), key=lambda at: keys[at], reverse=last)
    return [items[at] for at in places]


def _of_table(
    run: PythonRun, owner: dict[PyValue, PyValue], name: str, args: list[PyValue], keywords: dict[str, PyValue]
) -> PyValue:
    if name not in _TABLE or (args and isinstance(args[0], UnknownValue)):
        return UNKNOWN
    if name not in ("get", "keys", "values", "items", "copy"):
        run.changing(owner)
    if name == "move_to_end":
        if args and run.key(args[0]) in owner:
            moved = {args[0]: owner.pop(args[0])}
            rest = dict(owner)
            owner.clear()
            owner.update({**rest, **moved} if keywords.get("last", True) else {**moved, **rest})
        return None
    if name in ("keys", "values", "items"):
        return list(getattr(owner, name)())
    if name == "update":
        for one in args:
            pairs = one.items() if isinstance(one, dict) else [tuple(run.iterate(pair)) for pair in run.iterate(one)]
            owner.update({run.key(key): value for key, value in attempt(list, pairs)})
        owner.update(keywords)
        return None
    return attempt(getattr(owner, name), *map(run.key, args[:1]), *args[1:])


def _of_set(run: PythonRun, owner: PyValue, name: str, args: list[PyValue]) -> PyValue:
    if name not in _SET:
        return UNKNOWN
    if isinstance(owner, set):
        run.changing(owner)
    if name in ("add", "discard", "remove"):
        if not (run.is_plain(args) or isinstance(args[0], WindowsPathValue)):
            raise Undecided("what is in a set is not known")
        return attempt(getattr(owner, name), *map(run.key, args))
    return attempt(getattr(owner, name), *(set(map(run.key, run.iterate(one))) for one in args))


# --------------------------------------------------------------------------------------------------- paths


def path_attribute(owner: WindowsPathValue, name: str) -> PyValue:
    """An attribute of a ``Path``."""
    path, made = owner.pure, type(owner)
    if name == "parent":
        return made(str(path.parent))
    if name == "parents":
        known = len(path.parts) <= MAX_TURNS
        return tuple(made(str(one)) for one in path.parents) if known else UNKNOWN
    if name == "parts":
        return tuple(path.parts)
    if name == "suffixes":
        return list(path.suffixes)
    if name in ("name", "stem", "suffix", "drive", "anchor", "root"):
        return getattr(path, name)
    of_files = _OF_INSTALLED if isinstance(owner, InstalledPathValue) else (*_CHECKS, *_OF_FILES)
    if not hasattr(PureWindowsPath, name) and name not in of_files:
        raise error("AttributeError", f"'WindowsPath' object has no attribute '{name}'")
    return Bound(Native(f"<path>.{name}"), [owner])


_OF_FILES = frozenset(
    "iterdir glob rglob resolve absolute expanduser read_text read_bytes open stat mkdir touch unlink samefile cwd home"
    " is_symlink rename write_text write_bytes rmdir lstat owner chmod".split()
)
_OF_INSTALLED = ("locate", "read_text", "read_binary")


def path_method(
    run: PythonRun, owner: WindowsPathValue, name: str, args: list[PyValue], keywords: dict[str, PyValue]
) -> PyValue:
    """Call a method of a ``Path``."""
    machine, text = run.machine, owner.text
    if isinstance(owner, InstalledPathValue) and name in _OF_INSTALLED:
        place = ntpath.join(SITE, text.replace("/", "\\"))
        return WindowsPathValue(place) if name == "locate" else machine.text(place)
    if name in _CHECKS:
        return machine.exists(text, _CHECKS[name])
    if name in ("resolve", "absolute", "expanduser"):
        text = text.replace("~", HOME, 1) if text.startswith("~") and name == "expanduser" else text
        strict = name == "resolve" and (keywords.get("strict") is True or args[:1] == [True])
        if strict and machine.exists(text) is False:
            raise Thrown(Instance(Native("FileNotFoundError"), {"args": (2, "", text)}))
        made = ntpath.join(machine.folder, text) if name != "expanduser" else text
        return WindowsPathValue(ntpath.normpath(made) if name == "resolve" else str(PureWindowsPath(made)))
    if name == "iterdir":
        found = listed(run, text)
        paths = [WindowsPathValue(ntpath.join(text, one)) for one in found]
        return SomeOf(paths) if isinstance(found, SomeOf) else Iteration(iter(paths))
    if name in ("glob", "rglob"):
        if not args or not isinstance(args[0], str):
            return UNKNOWN
        pattern = f"**\\{args[0]}" if name == "rglob" else args[0].replace("/", "\\")
        found = machine.matching(ntpath.join(text, pattern), recursive=True)
        if isinstance(found, SomeOf):
            return SomeOf(WindowsPathValue(one) for one in found)
        return Iteration(iter([WindowsPathValue(one) for one in found]))
    if name in ("read_text", "read_bytes"):
        return machine.text(text)
    if name == "open":
        return run.machine.open_file(text, args[0] if args else keywords.get("mode", "r"))
    return _pure_method(run, owner, name, args)


def _pure_method(run: PythonRun, owner: WindowsPathValue, name: str, args: list[PyValue]) -> PyValue:
    path = owner.pure
    given = [one.text if isinstance(one, WindowsPathValue) else one for one in args]
    if not all(isinstance(one, str) for one in given):
        if any(one is None for one in given):
            raise error("TypeError", "expected str, bytes or os.PathLike object, not NoneType")
        return UNKNOWN
    if name in ("joinpath", "with_suffix", "with_name", "with_stem", "relative_to"):
        made = attempt(getattr(path, name), *given) if sum(map(len, [owner.text, *given])) <= MAX_TEXT else UNKNOWN
        return type(owner)(str(made)) if isinstance(made, PurePath) else made
    if name in ("is_absolute", "as_posix", "match", "is_relative_to", "as_uri", "__str__", "__fspath__"):
        return attempt(getattr(path, name), *given)
    return UNKNOWN


def listed(run: PythonRun, text: str) -> list[str]:
    """The names in a folder; what listing a folder that is not there raises is raised."""
    if run.machine.is_folder(text):
        return run.machine.names(text)
    if run.reading is None:
        raise folder_error(run, text)
    run.reading.raise_absent(text)
    return SomeOf()


def folder_error(run: PythonRun, text: str) -> Thrown:
    """What listing a folder that is not there raises."""
    thrown = Thrown(os_error("FileNotFoundError", 3, text))
    path = run.machine.view_path(text)
    if run.machine.files.is_own(path):
        thrown.error.failure = LoadFault("listing", path, None)
    return thrown


Words = dict[str, PyValue]
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": (float,),
    "bytes": (bytes,),
    "list": (list,),
    "tuple": (tuple,),
    "dict": (dict,),
    "set": (set,),
    "pathlib.Path": (WindowsPathValue,),
    "pathlib.PurePath": (WindowsPathValue,),
    "os.PathLike": (WindowsPathValue,),
}


def _as_text(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    return run.text_of(args[0]) if args else ""


def _get_attribute(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if not isinstance(args[1], str):
        return UNKNOWN
    try:
        return run.attribute(args[0], args[1])
    except Thrown as thrown:
        if len(args) > 2 and is_kind(thrown.error.kind, Native("AttributeError")):
            return args[2]
        raise


def _set_attribute(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    owner, name, value = args
    if isinstance(owner, Instance | LoadedDll | CodeFunction) and isinstance(name, str):
        run.store(owner.attributes, name, value)
    elif isinstance(owner, CodeClass | CodeModule) and isinstance(name, str):
        run.store(owner.names, name, value)
    elif not isinstance(name, str):
        raise Undecided("the name of an attribute is not known")


def _is_instance(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    value, kinds = args[0], args[1] if isinstance(args[1], tuple) else (args[1],)
    found = [_is_one(value, kind) for kind in kinds]
    return True if True in found else UNKNOWN if None in found else False


def _is_one(value: PyValue, kind: PyValue) -> bool | None:
    if isinstance(value, UnknownValue | Native) or isinstance(kind, UnknownValue):
        return None
    if isinstance(value, Instance):
        return is_kind(value.kind, kind)
    if isinstance(kind, Native) and kind.name in _TYPES:
        return isinstance(value, _TYPES[kind.name])
    return False if isinstance(kind, CodeClass) or is_error(kind) else None


def _type(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if len(args) == 3 and isinstance(args[0], str) and isinstance(args[2], dict):
        return run.make_class(args[0], list(args[1]) if isinstance(args[1], tuple) else [], dict(args[2]))
    value = args[0]
    if isinstance(value, Instance):
        return value.kind
    if isinstance(value, CodeClass):
        return Native("type")
    names = [name for name, kinds in _TYPES.items() if type(value) in kinds]
    return Native(names[0]) if names else Native("NoneType") if value is None else UNKNOWN


def _length(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    value = args[0].attributes.get("<items>", args[0]) if isinstance(args[0], Instance) else args[0]
    if isinstance(value, SomeOf):
        return UNKNOWN
    if isinstance(value, str | list | tuple | dict | set | frozenset | bytes | range):
        return len(value)
    if value is None or isinstance(value, int | Iteration):
        raise error("TypeError", "object has no len()")
    return UNKNOWN


def _listed(kind: Callable[[list[PyValue]], PyValue]) -> Callable[[PythonRun, list[PyValue], Words], PyValue]:
    def made(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
        if args and isinstance(args[0], UnknownValue | Native):
            return UNKNOWN
        found = kind(list(run.iterate(args[0])) if args else [])
        return SomeOf(found) if args and isinstance(args[0], SomeOf) else found

    return made


def _sorted(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if isinstance(args[0], UnknownValue | Native):
        return UNKNOWN
    if isinstance(args[0], SomeOf):
        return args[0]
    return ordered(run, list(run.iterate(args[0])), keywords)


def dictionary(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``dict``."""
    found: dict[PyValue, PyValue] = {}
    method(run, found, "update", [one for one in args if not isinstance(one, Native)], keywords)
    return UNKNOWN if any(isinstance(one, UnknownValue | Native) for one in args) else found


def _map(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if any(isinstance(one, UnknownValue) for one in args[1:]):
        raise Undecided("what map goes through is not known")
    columns = [run.iterate(one) for one in args[1:]]
    if any(isinstance(one, SomeOf) for one in args[1:]):
        return SomeOf(run.call(args[0], list(row), {}) for row in zip(*columns, strict=False))
    return Iteration(run.call(args[0], list(row), {}) for row in zip(*columns, strict=False))


def _filter(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    found, unclear = [], isinstance(args[1], SomeOf)
    for item in run.iterate(args[1]):
        holds = run.truth(item if args[0] is None else run.call(args[0], [item], {}))
        if holds is None and run.reading is None:
            raise Undecided("a condition of filter is not known")
        unclear |= holds is None
        found += [item] if holds is not False else []
    return SomeOf(found) if unclear else Iteration(iter(found))


def _some(run: PythonRun, args: list[PyValue], *, every: bool) -> PyValue:
    if isinstance(args[0], UnknownValue | Native | SomeOf):
        return UNKNOWN
    unknown = False
    for item in run.iterate(args[0]):
        holds = run.truth(item)
        if holds is (not every):
            return not every
        unknown |= holds is None
    return UNKNOWN if unknown else every


def _number(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if not args or not run.is_plain(args) or (isinstance(args[0], str) and len(args[0]) > 40):
        return UNKNOWN
    return attempt(int, *args)


def _bytes(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    items = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else None
    known = items is not None and all(isinstance(one, int) and 0 <= one <= 255 for one in items)
    return bytes(items) if known and items is not None else UNKNOWN


def _bool(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    holds = run.truth(args[0]) if args else False
    return UNKNOWN if holds is None else holds


def _range(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if not all(isinstance(one, int) for one in args) or not 1 <= len(args) <= 3 or args[2:] == [0]:
        return UNKNOWN
    if any(abs(one) > sys.maxsize >> 1 for one in args):  # Python cannot count so many
        return UNKNOWN
    found = range(*args)
    return found if len(found) <= MAX_ITEMS else UNKNOWN


def _extreme(run: PythonRun, args: list[PyValue], keywords: Words, *, last: bool) -> PyValue:
    items = list(run.iterate(args[0])) if len(args) == 1 and not isinstance(args[0], UnknownValue | Native) else args
    if not items:
        if "default" in keywords:
            return keywords["default"]
        raise error("ValueError", "arg is an empty sequence")
    if any(isinstance(one, UnknownValue | Native) for one in items):
        return UNKNOWN
    return ordered(run, items, {"key": keywords.get("key")})[-1 if last else 0]


def _super(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    place = run.environment
    while place is not None and "<super>" not in place.names:
        if place.above is None:
            return UNKNOWN
        place = place.above
    owner, thing = place.names["<super>"]
    return Managed("super", (owner, thing))


def marking(kind: str) -> Callable[[PythonRun, list[PyValue], Words], PyValue]:
    """A decorator that marks what it is given as being of a kind."""

    def made(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
        if args and isinstance(args[0], CodeFunction | MarkedFunction | CodeClass | Bound):
            return MarkedFunction(kind, args[0])
        return Bound(Native(f"<mark>.{kind}"), []) if kind != "cache" else Native("functools.cache")

    return made


def _exec(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    source = args[0]
    places = args[1:3]
    if not isinstance(source, str) or not all(isinstance(one, dict) for one in places):
        raise Undecided("code is made when the package runs")
    tree = run.parsed(source)
    if tree is None:
        raise Undecided("code is made when the package runs")
    outer = run.environment
    names = places[1] if len(places) > 1 else places[0] if places else outer.names
    module = places[0] if places else outer.globals
    run.environment = Namespace(names, module, outer.file)
    try:
        run.execute(tree.body)
    finally:
        run.environment = outer
    return None


def _zip(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    if any(isinstance(one, UnknownValue | Native) for one in args):
        return UNKNOWN
    return list(zip(*(list(run.iterate(one)) for one in args), strict=False))


def _enumerate(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    start = args[1] if len(args) > 1 else keywords.get("start", 0)
    if isinstance(args[0], UnknownValue | Native) or not isinstance(start, int):
        return UNKNOWN
    return Iteration(enumerate(run.iterate(args[0]), start))


def next_of(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``next``."""
    if isinstance(args[0], SomeOf):
        return joined([*args[0][:1], *args[1:2], UNKNOWN])
    if not isinstance(args[0], Iteration):
        return UNKNOWN
    for item in args[0].items:
        return item
    if len(args) > 1:
        return args[1]
    raise error("StopIteration")


def _raise(thrown: Thrown) -> PyValue:
    raise thrown


BUILTINS: dict[str, Callable[[PythonRun, list[PyValue], Words], PyValue]] = {
    "str": _as_text,
    "repr": lambda run, args, words: run.printed(repr, args[0]),
    "int": _number,
    "bool": _bool,
    "bytes": _bytes,
    "len": _length,
    "list": _listed(list),
    "tuple": _listed(tuple),
    "set": lambda run, args, words: run.as_set(list(run.iterate(args[0])) if args else []),
    "frozenset": lambda run, args, words: run.as_set(list(run.iterate(args[0])) if args else []),
    "dict": dictionary,
    "sorted": _sorted,
    "reversed": _listed(lambda items: list(reversed(items))),
    "iter": lambda run, args, words: (
        Iteration(run.iterate(args[0])) if not isinstance(args[0], UnknownValue | Native) else UNKNOWN
    ),
    "next": lambda run, args, words: next_of(run, args, words),
    "map": _map,
    "filter": _filter,
    "any": lambda run, args, words: _some(run, args, every=False),
    "all": lambda run, args, words: _some(run, args, every=True),
    "zip": _zip,
    "enumerate": _enumerate,
    "range": _range,
    "min": lambda run, args, words: _extreme(run, args, words, last=False),
    "max": lambda run, args, words: _extreme(run, args, words, last=True),
    "isinstance": _is_instance,
    "issubclass": lambda run, args, words: UNKNOWN if (found := is_kind(args[0], args[1])) is None else found,
    "callable": lambda run, args, words: (
        True
        if isinstance(args[0], CodeFunction | CodeClass | Bound | MarkedFunction)
        else False
        if run.is_plain(args[0])
        else UNKNOWN
    ),
    "type": _type,
    "getattr": _get_attribute,
    "setattr": _set_attribute,
    "super": _super,
    "object": lambda run, args, words: Instance(Native("object")),
    "globals": lambda run, args, words: run.environment.globals,
    "locals": lambda run, args, words: dict(run.environment.names),
    "vars": lambda run, args, words: run.environment.names if not args else UNKNOWN,
    "exec": _exec,
    "compile": lambda run, args, words: args[0],
    "exit": lambda run, args, words: _raise(error("SystemExit")),
    "sys.exit": lambda run, args, words: _raise(error("SystemExit")),
    "property": lambda run, args, words: MarkedFunction("property", args[0]),
    "staticmethod": marking("staticmethod"),
    "classmethod": marking("classmethod"),
}

"""Python's own functions, which need no import: ``len``, ``isinstance``, ``getattr``, ``exec`` and others."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from wheelfix.pycode import methods
from wheelfix.pycode.budget import MAX_ITEMS
from wheelfix.pycode.objects import (
    UNKNOWN,
    Bound,
    CodeClass,
    CodeFunction,
    CodeModule,
    Instance,
    Iteration,
    LoadedDll,
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.pycode.run import PythonRun

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
    return methods.ordered(run, list(run.iterate(args[0])), keywords)


def dictionary(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``dict``."""
    found: dict[PyValue, PyValue] = {}
    methods.method(run, found, "update", [one for one in args if not isinstance(one, Native)], keywords)
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
    return methods.ordered(run, items, {"key": keywords.get("key")})[-1 if last else 0]


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

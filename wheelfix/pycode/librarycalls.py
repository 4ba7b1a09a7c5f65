"""Functions of Python's library about code and values: functools, contextlib, dataclasses, collections, itertools."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from wheelfix.pycode.builtincalls import Words, dictionary, marking
from wheelfix.pycode.objects import UNKNOWN, Bound, CodeClass, Instance, Iteration, Managed, Native, PyValue

if TYPE_CHECKING:
    from collections.abc import Callable

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
}

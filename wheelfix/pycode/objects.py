"""The values of code that is interpreted: Python's own plain ones, and these for everything else."""

from __future__ import annotations

import ast
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from wheelfix.pycode.sourcecode import any_of, exception_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.loadcall import Failure

PyValue: TypeAlias = Any
"""Texts, numbers, paths, lists and dictionaries are Python's own; all other values are in this module."""


class Undecided(Exception):
    """What the code does next depends on something that is not known; the message says on what."""

    place = ("", 0)
    """The file and line of the statement."""


class Thrown(Exception):
    """An exception of the code that is interpreted."""

    def __init__(self, error: Instance) -> None:
        super().__init__(error)
        self.error = error
        self.raised = False
        """Whether a statement of the code raises it."""


class UnknownValue:
    """A value about which nothing is known."""

    def __repr__(self) -> str:
        return "<unknown>"


UNKNOWN: PyValue = UnknownValue()


class Native:
    """Something of Python's library or of another distribution, by its dotted name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Native) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class CodeModule:
    """A module of the package, with its names."""

    __slots__ = ("file", "name", "names", "waiting")

    def __init__(self, name: str, file: str, names: dict[str, PyValue]) -> None:
        self.name = name
        self.file = file
        """Its file in the view; empty for a folder without ``__init__.py``."""
        self.names = names
        self.waiting = False
        """Whether its code is followed only once one of its names is asked for."""

    @property
    def is_compiled(self) -> bool:
        """Whether it is an extension module, of whose names little is known."""
        return self.file.endswith(".pyd")


class ImportedName:
    """A name that was imported and not used: by a file that is read, or lazily (PEP 810)."""

    __slots__ = ("module", "name")

    def __init__(self, module: CodeModule | str, name: str) -> None:
        self.module = module
        """A module of the package, or the dotted name of one that is imported once the name is used."""
        self.name = name
        """Empty for the module itself."""


class Namespace:
    """The names that a function, class body or module sees."""

    __slots__ = ("above", "file", "globals", "names", "outer")

    def __init__(
        self, names: dict[str, PyValue], module: dict[str, PyValue], file: str, above: Namespace | None = None
    ) -> None:
        self.names = names
        self.globals = module
        self.file = file
        self.above = above
        """The function around it."""
        self.outer: set[str] = set()
        """Names that ``global`` and ``nonlocal`` declare."""


class CodeFunction:
    """A function or lambda of the package."""

    __slots__ = ("attributes", "defaults", "environment", "generator", "keyword_defaults", "name", "node", "owner")

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        environment: Namespace,
        defaults: list[PyValue],
        keyword_defaults: list[PyValue],
    ) -> None:
        self.node = node
        self.environment = environment
        self.defaults = defaults
        self.keyword_defaults = keyword_defaults
        self.generator: bool | None = None
        """Whether calling it gives a generator; found out when it is called."""
        self.name: str = getattr(node, "name", "<lambda>")
        self.attributes: dict[str, PyValue] = {}
        self.owner: CodeClass | None = None
        """The class in whose body it was defined, for ``super()``."""

    @property
    def statements(self) -> list[ast.stmt]:
        """Its statements; a lambda has none."""
        return [] if isinstance(self.node.body, ast.expr) else self.node.body


class MarkedFunction:
    """A function with a mark that changes how it is called: ``property``, ``contextmanager``, ``lru_cache``."""

    __slots__ = ("function", "kept", "kind")

    def __init__(self, kind: str, function: PyValue) -> None:
        self.kind = kind
        self.function = function
        self.kept: dict[object, PyValue] = {}
        """What a cached function has returned."""


class Bound:
    """A function with its first arguments: a method of an object, or ``functools.partial``."""

    __slots__ = ("args", "function", "keywords")

    def __init__(self, function: PyValue, args: list[PyValue], keywords: dict[str, PyValue] | None = None) -> None:
        self.function = function
        self.args = args
        self.keywords = keywords or {}


class Method:
    """A method of a value that Python or its library has."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: PyValue, name: str) -> None:
        self.owner = owner
        self.name = name


class CodeClass:
    """A class of the package."""

    __slots__ = ("bases", "fields", "maker", "name", "names")

    def __init__(self, name: str, bases: list[PyValue], names: dict[str, PyValue]) -> None:
        self.name = name
        self.bases = bases
        self.names = names
        self.fields: list[str] | None = None
        """The parameters of a dataclass or named tuple."""
        self.maker: CodeClass | None = None
        """Its metaclass, if that is one of the package."""

    def order(self) -> Iterator[PyValue]:
        """The class and all its base classes, in about the order in which attributes are looked up."""
        seen: set[int] = set()
        pending: list[PyValue] = [self]
        while pending:
            one = pending.pop()
            if id(one) not in seen:  # classes that share their bases would be visited without end
                seen.add(id(one))
                yield one
                pending += reversed(one.bases) if isinstance(one, CodeClass) else ()

    @property
    def is_known(self) -> bool:
        """Whether all attributes of its objects are known."""
        own = ("object", "dict", "enum.", "abc.", "typing.Generic", "typing.Protocol")
        return all(
            isinstance(base, CodeClass) or (isinstance(base, Native) and (base.name.startswith(own) or is_error(base)))
            for base in self.order()
        )


class Instance:
    """An object of a class; exceptions are such objects too."""

    __slots__ = ("attributes", "by_python", "failure", "kind", "place")

    def __init__(self, kind: CodeClass | Native, attributes: dict[str, PyValue] | None = None) -> None:
        self.kind = kind
        self.place = ("", 0)
        """For an exception: the file and line that raised it first."""
        self.by_python = False
        """For an exception: whether Python raises it by itself, as for an attribute that is not there."""
        self.attributes = attributes if attributes is not None else {}
        self.failure: LoadFault | None = None
        """For an exception of a load: what failed."""


class LoadFault:
    """A load that failed: of what, and why."""

    __slots__ = ("along_path", "cause", "failure", "spelled", "target")

    def __init__(self, cause: str, target: str, failure: Failure | None, spelled: str = "") -> None:
        self.cause = cause
        """``load``, ``cffi``, ``extension``, ``folder``, ``listing``, ``symbol``, ``module`` or ``entry``."""
        self.target = target
        """A path of the view, or a bare name."""
        self.spelled = spelled or target
        """The file as the code names it, which may leave out the suffix."""
        self.failure = failure
        """How the loader failed; None where there is no such file."""
        self.along_path = False
        """Whether PATH was searched, where users may have DLLs that the package does not have."""


class LoadedDll:
    """A DLL that was loaded with ctypes or cffi."""

    __slots__ = ("attributes", "name", "path")

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        """Its file in the view; empty for one of Windows."""
        self.attributes: dict[str, PyValue] = {}


class VersionInfo(NamedTuple):
    """``sys.version_info``."""

    major: int
    minor: int
    micro: int = 9
    releaselevel: str = "final"
    serial: int = 0


class BasePrefix(str):
    """The folder of the Python that an environment was made from, which may or may not be the environment itself."""

    __slots__ = ()


class FolderHandle:
    """What ``os.add_dll_directory`` returns."""

    __slots__ = ("folder",)

    def __init__(self, folder: str) -> None:
        self.folder = folder


class Iteration:
    """A generator or another iterator."""

    __slots__ = ("guards", "items")

    def __init__(self, items: Iterator[PyValue]) -> None:
        self.items = items
        self.guards: list[PyValue] = []
        """The ``try`` statements of a generator in which it stands now."""


class Managed:
    """A context manager: a generator between its two halves, ``suppress``, ``ExitStack`` or a value as it is."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: PyValue) -> None:
        self.kind = kind
        self.value = value


def path_text(value: PyValue) -> PyValue:
    """The text of a path; another value as it is."""
    return str(value) if isinstance(value, PurePath) else value


def error_class(kind: PyValue) -> type[BaseException] | None:
    """The built-in exception class that a value stands for; None if it is not one."""
    if not isinstance(kind, Native):
        return None
    return exception_class(kind.name)


def is_error(kind: PyValue) -> bool:
    """Whether something is an exception class of Python."""
    return error_class(kind) is not None


def is_kind(kind: PyValue, wanted: PyValue) -> bool | None:
    """Whether one class is another or derived from it; None if that is not known."""
    if kind is wanted or kind == wanted or wanted == Native("object"):
        return True
    if isinstance(kind, CodeClass):
        found = [
            True if one is wanted else is_kind(one, wanted) if not isinstance(one, CodeClass) else False
            for one in kind.order()
        ]
        return any_of(found)
    own, other = error_class(kind), error_class(wanted)
    if own is not None and other is not None:
        return issubclass(own, other)
    if isinstance(wanted, CodeClass) and isinstance(kind, Native):
        return False
    return False if isinstance(kind, Native) and isinstance(wanted, Native) and (own or other) else None


PLAIN_CONTAINERS = (str, bytes, list, tuple, dict, set, frozenset, range)
PLAIN = (int, float, bool, type(None), PurePath, *PLAIN_CONTAINERS)
"""Python's own values, which it may be asked to compare and print; a ``Path`` is a ``PureWindowsPath``."""
_BY_PYTHON = frozenset({"AttributeError", "TypeError", "IndexError", "KeyError", "ValueError", "StopIteration"})
"""Classes of exceptions that an inexact model of Python's library would raise by mistake."""


def error(kind: str, *args: PyValue) -> Thrown:
    """An exception that Python raises by itself."""
    thrown = Thrown(Instance(Native(kind), {"args": args}))
    thrown.error.by_python = kind in _BY_PYTHON
    return thrown


def of_class(kind: PyValue, name: str) -> PyValue:
    """What a class of the package, or one of its bases in it, calls by a name; None if there is none."""
    for one in kind.order() if isinstance(kind, CodeClass) else ():
        if isinstance(one, CodeClass) and name in one.names:
            return one.names[name]
    return None

"""One run of Python code: the values that it works with, its state, its budget and its parts.

The parts are in :mod:`.expressions`, :mod:`.calls`, :mod:`.statements`, :mod:`.importer` and :mod:`.library`;
:func:`.importer.new_run` puts them together, and they reach one another through the run.
"""

from __future__ import annotations

import ast
import contextlib
import functools
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from wheelfix.base.values import frozen
from wheelfix.pycode.budget import (
    MAX_ITEMS,
    MAX_PARTS,
    MAX_TEXT,
    PYTHON_ERRORS,
    CodeBudget,
    Kept,
    TooLarge,
    WrongIndent,
    parts_of,
)
from wheelfix.pycode.sourcecode import (
    FUNCTIONS,
    LOADING,
    WORDS,
    any_of,
    exception_class,
    nodes_in,
    python_source,
    written,
)

PyValue: TypeAlias = Any
"""Texts, numbers, paths, lists and dictionaries are Python's own; all other values are in this module."""

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from wheelfix.loader.loading import Failure
    from wheelfix.pycode.calls import Attributes, Calls
    from wheelfix.pycode.expressions import ExpressionValues
    from wheelfix.pycode.importer import Importer
    from wheelfix.pycode.library import PythonLibrary
    from wheelfix.pycode.reading import CodeReading
    from wheelfix.pycode.sourcecode import FunctionNode
    from wheelfix.pycode.statements import Statements
    from wheelfix.pycode.windows import WindowsMachine

    Changes = dict[tuple[int, object], tuple[Any, PyValue]]
    LibraryFunction = Callable[["Call"], PyValue]


class Undecided(Exception):
    """What the code does next depends on something that is not known; the message says on what."""

    place = ("", 0)
    """The file and line of the statement."""


class Thrown(Exception):
    """An exception of the code that is interpreted."""

    def __init__(self, error: Instance) -> None:
        super().__init__(error)
        self.error = error


UNKNOWN: PyValue = object()
"""A value about which nothing is known."""


class Native:
    """Something of Python's library or of another distribution, by its dotted name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Native) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


ENVIRON = Native("os.environ")


def is_vague(value: PyValue) -> bool:
    """Whether nothing is known of a value, or only its name."""
    return value is UNKNOWN or isinstance(value, Native)


class CodeModule:
    """A module of the package, with its names."""

    def __init__(self, name: str, file: str, names: dict[str, PyValue]) -> None:
        self.name = name
        self.file = file
        """Its file in the view; empty for a folder without ``__init__.py``."""
        self.names = names

    @property
    def is_compiled(self) -> bool:
        """Whether it is an extension module, of whose names little is known."""
        return self.file.endswith(".pyd")


class ImportedName:
    """A name that was imported lazily (PEP 810)."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        """The dotted name of a module that is imported once the name is used."""
        self.name = name
        """Empty for the module itself."""


class Namespace:
    """The names that a function, class body or module sees."""

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

    owner: CodeClass | None = None
    """The class in whose body it was defined, for ``super()``."""

    def __init__(
        self,
        node: FunctionNode,
        environment: Namespace,
        defaults: list[PyValue],
        keyword_defaults: list[PyValue],
    ) -> None:
        self.node = node
        self.environment = environment
        self.defaults = defaults
        self.keyword_defaults = keyword_defaults
        self.name: str = getattr(node, "name", "<lambda>")
        self.attributes: dict[str, PyValue] = {}

    @property
    def statements(self) -> list[ast.stmt]:
        """Its statements; a lambda has none."""
        return [] if isinstance(self.node.body, ast.expr) else self.node.body


class MarkedFunction:
    """A function with a mark that changes how it is called: ``property``, ``classmethod``, ``contextmanager``."""

    setter: PyValue = None
    """For a property: the function that is called with its new value."""

    def __init__(self, kind: str, function: PyValue) -> None:
        self.kind = kind
        self.function = function


def unmarked(value: PyValue) -> PyValue:
    """A function without its mark; another value as it is."""
    return value.function if isinstance(value, MarkedFunction) else value


class Bound:
    """A function with its first arguments: a method of an object, or ``functools.partial``."""

    def __init__(self, function: PyValue, args: list[PyValue], keywords: dict[str, PyValue] | None = None) -> None:
        self.function = function
        self.args = args
        self.keywords = keywords or {}


class Method:
    """A method of a value that Python or its library has."""

    def __init__(self, owner: PyValue, name: str) -> None:
        self.owner = owner
        self.name = name


class CodeClass:
    """A class of the package."""

    fields: list[str] | None = None
    """The parameters of a dataclass or named tuple."""
    maker: CodeClass | None = None
    """Its metaclass, if that is one of the package."""

    def __init__(self, name: str, bases: list[PyValue], names: dict[str, PyValue]) -> None:
        self.name = name
        self.bases = bases
        self.names = names

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

    place = ("", 0)
    """For an exception: the file and line that raised it first."""
    by_python = False
    """For an exception: whether Python raises it by itself, as for an attribute that is not there."""
    failure: LoadFault | None = None
    """For an exception of a load: what failed."""

    def __init__(self, kind: CodeClass | Native, attributes: dict[str, PyValue] | None = None) -> None:
        self.kind = kind
        self.attributes = attributes if attributes is not None else {}


class LoadFault:
    """A load that failed: of what, and why."""

    along_path = False
    """Whether PATH was searched, where users may have DLLs that the package does not have."""

    def __init__(self, cause: str, target: str, failure: Failure | None, spelled: str = "") -> None:
        self.cause = cause
        """``load``, ``cffi``, ``extension``, ``folder``, ``listing``, ``symbol``, ``module`` or ``entry``."""
        self.target = target
        """A path of the view, or a bare name."""
        self.spelled = spelled or target
        """The file as the code names it, which may leave out the suffix."""
        self.failure = failure
        """How the loader failed; None where there is no such file."""


class LoadedDll:
    """A DLL that was loaded with ctypes or cffi."""

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


class Iteration:
    """A generator or another iterator."""

    def __init__(self, items: Iterator[PyValue]) -> None:
        self.items = items
        self.guards: list[PyValue] = []
        """The ``try`` statements of a generator in which it stands now."""


class Managed:
    """A context manager: a generator between its two halves, a DLL folder, ``suppress``, ``ExitStack`` or a value."""

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


def error(kind: str, *args: PyValue, failure: LoadFault | None = None, exact: bool = False) -> Thrown:
    """An exception that Python raises by itself; ``exact`` says that the model cannot raise it by mistake."""
    thrown = Thrown(Instance(Native(kind), {"args": args}))
    thrown.error.by_python, thrown.error.failure = kind in _BY_PYTHON and not exact, failure
    return thrown


def of_class(kind: PyValue, name: str, default: PyValue = None) -> PyValue:
    """What a class of the package, or one of its bases in it, calls by a name."""
    for one in kind.order() if isinstance(kind, CodeClass) else ():
        if isinstance(one, CodeClass) and name in one.names:
            return one.names[name]
    return default


MAX_STEPS = 250_000
"""ExpressionValues and statements of one import; a second or two."""
MAX_TOKENS = 400_000
"""Tokens of all files that are followed in one import."""
MAX_TOKENS_OF_OTHERS = 200_000
"""Tokens of all files of other distributions that are followed in one import."""
NEXT, BREAK, CONTINUE, RETURN = range(4)
"""How a statement ends."""
_STREAMS = frozenset({"sys.stdin", "sys.stdout", "sys.stderr"})
"""They are there in a console program, which python.exe is."""
_TEXTS = (str, bytes, PurePath)
_GROUPS = (list, tuple, dict, set)
_SCALARS = frozenset({str, int, bool, float, type(None)})
NOT_MODELLED = "its code calls something in a way that is not modelled"
_MISSING = object()
_WHOLE = object()
"""Stands for all items of a list, dictionary or set among what a branch has changed."""
_IMPORTING = (ast.Import, ast.ImportFrom)
MAX_UNCLEAR = 10
"""Statements that are passed over and matter to DLLs; behind more of them little is known."""
STEPS_FOR_PASSED = 6_000
"""For so many steps that are allowed one statement may be passed over, the same one again counted again, and ten in any
case. Importing Kivy does so about twenty times, which ``try`` follows; NumPy would do so hundreds of times."""


class OutOfSteps(Exception):
    """Following the code takes more work than is allowed."""

    place = ("", 0)
    """The file and line of the statement."""


class Enough(Exception):
    """Raised where everything that was asked about an import has happened."""


@frozen
class Unclear:
    """A statement of a followed import that was passed over, because what it does is not known."""

    reason: str
    file: str = ""
    """The file that it is in; empty where anything may have happened."""
    line: int = 0
    last: int = 0
    """The last line of the statement."""
    imports: bool = False
    """Whether it imports a module."""
    matters: bool = True
    """Whether what is loaded behind it may depend on it: it imports a module, or others in its file load DLLs."""
    inside: bool = False
    """Whether a statement in it imports a module."""


@frozen
class ForeignImport:
    """An import of a module of another distribution."""

    file: str
    """The file that imports it."""
    caught: bool
    """Whether the code goes on where there is no such module."""
    there: bool = True
    """False for one that is known not to be installed."""


class Call(NamedTuple):
    """One call of something of Python's library."""

    run: PythonRun
    args: list[PyValue]
    words: dict[str, PyValue]

    @property
    def machine(self) -> WindowsMachine:
        """The machine that the code runs on."""
        return self.run.machine

    def items(self, at: int = 0, default: PyValue = UNKNOWN) -> Iterator[PyValue]:
        """The items of an argument."""
        return self.run.attributes.iterate(self.get(at, default=default))

    def get(self, at: int, word: str = "", default: PyValue = UNKNOWN) -> PyValue:
        """An argument by its place or its name."""
        return self.args[at] if at < len(self.args) else self.words.get(word, default)

    def text(self, at: int, word: str = "", default: PyValue = UNKNOWN) -> PyValue:
        """The same; a path by its text."""
        return path_text(self.get(at, word, default))

    def known(self, at: int, word: str, reason: str) -> str:
        """A text or path, without which nothing is known of what the code does next."""
        found = self.text(at, word)
        if not isinstance(found, str):
            raise Undecided(reason)
        return found

    def texts(self) -> list[str] | None:
        """All arguments as texts; None if one of them is not known, TypeError if it is None."""
        found = list(map(path_text, self.args))
        if any(one is None for one in found):
            raise error("TypeError", "expected str, bytes or os.PathLike object, not NoneType")
        return found if all(isinstance(one, str) for one in found) else None


class PythonRun:
    """The state of code that is followed on a machine."""

    expressions: ExpressionValues
    attributes: Attributes
    calls: Calls
    statements: Statements
    importer: Importer
    library: PythonLibrary

    def __init__(self, machine: WindowsMachine, steps: int = MAX_STEPS) -> None:
        self.machine = machine
        self.deep = False
        """Whether all code of other distributions is followed, and not only files that name what loads DLLs."""
        self.steps = 0
        self.most_steps = steps
        trees = machine.view.code_notes.setdefault("trees", Kept())
        self.budget = CodeBudget(tokens=MAX_TOKENS, trees=trees)
        self.budget_of_others = CodeBudget(tokens=MAX_TOKENS_OF_OTHERS, trees=trees)
        self.environment: Namespace = Namespace({}, {}, "")
        self.depth = 0
        self.returned: PyValue = None
        """What the current function has returned."""
        self.handled: list[Instance] = []
        """The exceptions that are being handled."""
        self.modules: dict[str, CodeModule] = {}
        self.ran: dict[str, None] = {}
        """The files that were run or loaded, in order."""
        self.guards: list[PyValue] = []
        """The ``try`` statements and context managers around the current one, of all functions and files."""
        self.foreign: dict[str, ForeignImport] = {}
        """Top-level modules of other distributions that were imported."""
        self.until: dict[str, int] | None = None
        """Files, each with the last line that concerns DLLs: after all of these nothing else has to be followed."""
        self.assumed: Mapping[str, bool] = {}
        """Top-level modules of others that are taken to be there, or not to be there, whatever is known."""
        self.passed_over = 0
        self.unclear: list[Unclear] = []
        """Statements that were passed over because it is not known what they do."""
        self.reading: CodeReading | None = None
        """What is found, if a file is read; None if an import is followed."""
        self.changes: Changes | None = None
        """What was changed, with what it was, where it will be taken back."""

    def note_unclear(self, reason: Exception, node: ast.stmt | None = None, *, decides: bool = False) -> None:
        """Remember that a statement is passed over; what other distributions do may then concern any DLL.

        ``decides`` says that how the import ends depends on it.
        """
        file = self.environment.file
        if file and not self.importer.is_own(file):
            self.machine.others.setdefault(file, _loading_name(node) if node is not None else "add_dll_directory")
            return
        text = (
            str(reason) if isinstance(reason, Undecided | OutOfSteps) else f"{NOT_MODELLED} ({type(reason).__name__})"
        )
        place = reason.error.place if isinstance(reason, Thrown) else getattr(reason, "place", ("", 0))
        if node is not None and place in (("", 0), (file, node.lineno)):
            place, last = (file, node.lineno), node.end_lineno or 0
        else:
            node, last = None, place[1]
        self.passed_over += 1
        if self.passed_over > max(MAX_UNCLEAR, self.most_steps // STEPS_FOR_PASSED):
            raise OutOfSteps("too much of its code cannot be followed")
        if any((one.reason, one.file, one.line) == (text, *place) for one in self.unclear):
            return  # a function that is called again leaves the same statement out
        imports = isinstance(node, _IMPORTING)
        inside = node is not None and any(isinstance(one, _IMPORTING) for one in nodes_in(node, FUNCTIONS))
        matters = imports or decides or (node is None and isinstance(reason, OutOfSteps)) or self.loads(place[0])
        self.unclear.append(Unclear(text, place[0], place[1], last, imports, matters, inside))
        if sum(one.matters for one in self.unclear) >= MAX_UNCLEAR:
            raise OutOfSteps("too much of its code cannot be followed")

    def loads(self, file: str) -> bool:
        """Whether a file names what loads DLLs; none stands for any."""
        return not file or any(word in python_source(self.machine.view, file) for word in WORDS)

    def passed(self, file: str, line: int) -> None:
        """Say that a statement of a file was carried out; Enough if that was the last one that concerns DLLs."""
        if self.until is not None and line >= self.until.get(file, line + 1):
            del self.until[file]
            if not self.until:
                raise Enough

    def choose(self, place: object) -> bool | None:
        """The way that a file which is read takes where that is not known; None for an import that is followed."""
        return self.reading.choose(place) if self.reading is not None else None

    def step(self, count: int = 1) -> None:
        """Count work."""
        self.steps += count
        if self.steps > self.most_steps:
            raise OutOfSteps("its code goes on for too long")

    def bind(self, name: str, value: PyValue) -> None:
        """Let a name stand for something, in the function or module that it belongs to."""
        place: Namespace | None = self.environment
        if name in self.environment.outer:
            place = self.environment.above
            while place is not None and (name not in place.names or name in place.outer):
                place = place.above
            if place is None:
                self.store(self.environment.globals, name, value)
                return
        assert place is not None
        self.store(place.names, name, value)

    def lose(self, node: ast.AST) -> None:
        """Take what a statement that is left out assigns, or what it gives a key, to be unknown.

        A list has what it had: CUDA's pathfinder puts one more folder into those that it looks at.
        """
        names, module = self.environment.names, self.environment.globals
        changed = written(node)
        for name in changed.assigned:
            self.bind(name, UNKNOWN)
        for name in changed.filled:
            if name == "globals" or names.get(name, module.get(name)) is module:
                self.importer.note_star("")  # mssql_python makes its constants like this
            elif isinstance(names.get(name), dict):
                self.bind(name, UNKNOWN)

    # ------------------------------------------------------------------------------------------ what is taken back

    def store(self, names: dict[Any, PyValue], name: object, value: PyValue) -> None:
        """Let a name, attribute or key stand for something; what it stood for is remembered where that is needed."""
        if self.changes is not None:
            self.changes.setdefault((id(names), name), (names, names.get(name, _MISSING)))
        names[name] = value

    def changing(self, items: list[PyValue] | dict[PyValue, PyValue] | set[PyValue]) -> None:
        """Say that a list, dictionary or set is about to be changed."""
        if self.changes is not None:
            self.changes.setdefault((id(items), _WHOLE), (items, items.copy()))

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        """Take back at the end what code does within: the run and its machine are as before."""
        before = [(vars(owner), {**vars(owner)}) for owner in (self, self.machine, self.budget, self.budget_of_others)]
        for now, known in before:
            now.update({name: value.copy() for name, value in known.items() if isinstance(value, dict | list | set)})
        self.machine.process = self.machine.process.fork()
        try:
            with self.undone():
                yield
        finally:
            for now, known in before:
                now.update(known)

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        """Take back at the end what code within makes of names, objects, lists and dictionaries."""
        outer, self.changes = self.changes, {}
        folder = self.machine.folder
        try:
            yield
        finally:
            for (_, name), (names, before) in self.changes.items():
                if name is _WHOLE:
                    _refill(names, before)
                elif before is _MISSING:
                    names.pop(name, None)
                else:
                    names[name] = before
            self.changes, self.machine.folder = outer, folder

    def parsed(self, source: str) -> ast.Module | None:
        """The syntax tree of code that is given to ``exec``; None if it cannot be parsed."""
        try:
            return self.budget.parse_more(source, f"<exec {self.steps}>")
        except WrongIndent:
            return None

    # ------------------------------------------------------------------------------ what values are and hold

    def bounded(self, found: PyValue) -> PyValue:
        """A value that was made, with its size counted as work; unknown if it is a text that is too long."""
        if isinstance(found, _TEXTS):
            length = len(path_text(found))
            self.step(length >> 8)
            return UNKNOWN if length > MAX_TEXT else found
        if isinstance(found, _GROUPS):
            self.step(len(found) >> 4)
            if not isinstance(found, dict | set) and len(found) > MAX_ITEMS:
                raise Undecided("its lists grow too long")
        return found

    def is_plain(self, *values: PyValue) -> bool:
        """Whether values are Python's own all the way down, and small, so that Python can print and compare them."""
        if all(type(value) in _SCALARS for value in values):
            return True
        return self._all_parts(values, lambda part: isinstance(part, PLAIN))

    def can_be_key(self, value: PyValue) -> bool:
        """Whether a value can be the key of a dictionary, and takes little time to hash."""
        return self._all_parts(value, lambda part: part is not UNKNOWN and not isinstance(part, list | dict | set))

    def _all_parts(self, value: PyValue, holds: Callable[[PyValue], bool]) -> bool:
        count, found = 0, True
        try:
            for part in parts_of(value):
                count += 1
                if not holds(part):
                    found = False
                    break
        except TooLarge:
            count, found = MAX_PARTS, False
        self.step(count >> 3)
        return found

    def key(self, value: PyValue) -> PyValue:
        """The value, which is about to be looked up in a dictionary or set; Undecided or TypeError if it cannot be."""
        if not self.can_be_key(value):
            if isinstance(value, list | dict | set):
                raise error("TypeError", "unhashable type")
            raise Undecided("a key of a dictionary is not known")
        return value

    def truth(self, value: PyValue) -> bool | None:
        """Whether a value counts as true; None if that is not known."""
        if is_vague(value):
            return True if isinstance(value, Native) and value.name in _STREAMS else None
        if isinstance(value, Instance):
            return self._truth_of(value)
        if isinstance(value, PLAIN):
            return bool(value)
        return True

    def _truth_of(self, value: Instance) -> bool | None:
        for name in ("__bool__", "__len__"):
            if isinstance(value.kind, CodeClass) and of_class(value.kind, name) is not None:
                return self.truth(self.calls.call(self.attributes.attribute(value, name), [], {}))
        return True if not isinstance(value.kind, CodeClass) or value.kind.is_known else None


@functools.cache
def methods_of(part: type) -> dict[type[ast.AST], Callable[[Any, Any], PyValue]]:
    """The methods ``visit_…`` of a part of a run, by the kind of syntax that each is named for."""
    named = {name: getattr(part, name) for name in dir(part) if name.startswith("visit_")}
    return {getattr(ast, name[6:]): method for name, method in named.items() if hasattr(ast, name[6:])}


def attempt(function: Callable[..., PyValue], *args: PyValue, **keywords: PyValue) -> PyValue:
    """What a function of Python gives for values that are small; what it raises is raised in the code."""
    try:
        return function(*args, **keywords)
    except PYTHON_ERRORS as raised:
        thrown = error(type(raised).__name__, *(one for one in raised.args if isinstance(one, str | int)))
        thrown.error.by_python = True
        raise thrown from None


def _refill(items: Any, others: Any) -> None:
    """Give a list, dictionary or set the items of another."""
    items.clear()
    if isinstance(items, list):
        items.extend(others)
    else:
        items.update(others)


def _loading_name(node: ast.stmt) -> str:
    """The first function in a statement that loads a DLL, or else the one that adds a folder."""
    names = (getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(node))
    return next((name for name in names if name in LOADING), "add_dll_directory")

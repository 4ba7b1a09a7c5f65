"""Python source: reading and parsing it within a budget, and what its statements and words alone tell."""

from __future__ import annotations

import ast
import bisect
import builtins
import functools
import posixpath
import re
import sys
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

from wheelfix.base.parsing import regex
from wheelfix.knowledge.system import classify
from wheelfix.loader.view import SITE_PACKAGES, FileView
from wheelfix.model import Machine
from wheelfix.pycode.budget import CodeBudget, Kept, budget_of, is_lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeVar

    FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    _Taken = TypeVar("_Taken")

SOURCE_LIMIT = 1 << 20
"""Python files above this size are not parsed."""
SEARCH_LIMIT = 16 << 20
"""Python files above this size are not searched for words either."""
FEW_WORDS = 16
LONGEST_NAME = 255
"""Characters of a module's name; Windows has no longer names of files."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ASIDE = frozenset(
    "test tests _test _tests example examples _example _examples demo demos sample samples benchmark benchmarks "
    "x11 wayland linux darwin macos cocoa site-packages".split()
)
"""Folders whose code importing a package on Windows does not run: tests, examples, and what is for other systems.

Also what is for another Python: gstreamer-python has one in itself, whose users set its paths.
"""
OTHER_SYSTEMS = ("macos", "osx", "darwin", "linux", "unix", "posix", "x11", "wayland")
"""What is in the names of modules of which wheels for Windows have no more than what imports them: ``_macosx``."""
MOST_KEPT = 12 << 20
"""Bytes that are kept; the code of most packages is smaller, and that of the others is read again."""


_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of a statement that have statements in them."""


def once_for_node(find: Callable[[Any], _Taken]) -> Callable[[Any], _Taken]:
    """Keep what a function finds out about a node of a syntax tree on that node, so that its tree is walked once."""

    def found(node: Any) -> _Taken:
        known = node.__dict__
        if find.__name__ not in known:
            known[find.__name__] = find(node)
        answer: _Taken = known[find.__name__]
        return answer

    return found


def python_source(view: FileView, path: str) -> bytes:
    """Return the bytes of a file of a view; views of the same files share what is kept."""
    kept: Kept = view.code_notes.setdefault("sources", Kept(room=MOST_KEPT))
    data: bytes | None = kept.by_path.get(path)
    if data is None:
        data = view.source(path).read_at(0, view.file(path).size)
        kept.add(path, data, len(data))
    return data


def counts(path: str) -> bool:
    """Whether a Python file is code that others may run by importing the package, and no test or example of it."""
    *folders, name = path.removeprefix(f"{SITE_PACKAGES}/").partition("/")[2].lower().split("/")
    return _ASIDE.isdisjoint(folders) and not name.startswith("test_") and name not in ("conftest.py", "setup.py")


def python_code(view: FileView, words: tuple[bytes, ...]) -> Iterator[tuple[str, str]]:
    """The Python files of the subject that count and in which one of some words occurs."""
    budget = budget_of(view)
    for file in view.own_files:
        if not file.path.endswith(".py") or not counts(file.path):
            continue
        if file.size > SEARCH_LIMIT or not budget.search(file.path, file.size):
            budget.give_up(file.path, "it is too large")
            continue
        data = python_source(view, file.path)
        if not _has_word(data, words):
            continue
        if file.size > SOURCE_LIMIT:
            budget.give_up(file.path, "it is too large")
            if words[: len(WORDS)] == WORDS:
                budget.loading.add(file.path)
        else:
            yield file.path, data.decode("utf-8", "replace")


def has_word(text: str, word: str) -> bool:
    """Whether a word is in a text, and not only as a part of longer ones."""
    at = text.find(word)
    while at >= 0:  # a regular expression takes thirty times as long
        around = (text[at - 1 : at], text[at + len(word) : at + len(word) + 1])
        if not any(one.isalnum() or one == "_" for one in around):
            return True
        at = text.find(word, at + 1)
    return False


def _has_word(data: bytes, words: tuple[bytes, ...]) -> bool:
    """Whether one of some words is in a text; many words are looked up in one pass."""
    if words[: len(WORDS)] == WORDS and not any(part in data for part in _IN_WORDS):
        words = words[len(WORDS) :]
    if len(words) <= FEW_WORDS:
        return any(word in data for word in words)
    return not frozenset(words).isdisjoint(re.findall(rb"[\w\x80-\xff]+", data))


STANDARD = sys.stdlib_module_names | frozenset(
    (
        "_android_support _apple_support _ast_unparse _bootsubprocess _colorize _compression _crypt _hmac "
        "_interpchannels _interpqueues _interpreters _ios_support _math_integer _msi _opcode_metadata _py_warnings "
        "_pydatetime _pylong _pyrepl _remote_debugging _sha2 _sha256 _sha512 _suggestions _sysconfig _tokenize _types "
        "_typing _wmi _zstd aifc annotationlib asynchat asyncore audioop binhex cgi cgitb chunk compression crypt "
        "distutils imghdr imp lib2to3 mailcap msilib nis nntplib ossaudiodev pipes profiling smtpd sndhdr spwd "
        "sre_compile sre_constants sre_parse sunau telnetlib tomllib uu xdrlib"
    ).split()
)
"""The modules of this Python, and those that only some of Python 3.10 to 3.15 have (their sys.stdlib_module_names)."""


def is_standard(name: str) -> bool:
    """Whether a module is of Python's own library, in any version that a wheel may be for."""
    return name.partition(".")[0] in STANDARD


def never_holds(test: ast.expr) -> bool:
    """Whether a condition never holds when a program runs: ``TYPE_CHECKING``, NumPy's ``__NUMPY_SETUP__``."""
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return name == "TYPE_CHECKING" or re.fullmatch(r"__\w+_SETUP__", name) is not None


NOT_LOADED = "ImportError"
"""What importing an extension module raises when a DLL that it needs is missing."""
NO_MODULE = "ModuleNotFoundError"
"""What an import raises when there is no such module."""
_OTHER_NAMES = {"WindowsError": "OSError", "EnvironmentError": "OSError", "IOError": "OSError", "WinError": "OSError"}
_OF_MODULES = {f"{module}.error": "OSError" for module in ("os", "socket", "select")}


def exception_class(name: str) -> type[BaseException] | None:
    """The exception class of Python that has a name; None if there is none."""
    found = getattr(builtins, _OTHER_NAMES.get(name, name), None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def any_of(answers: Iterable[bool | None]) -> bool | None:
    """Whether one of several answers is yes; None if that is not known."""
    found = set(answers)
    return True if True in found else None if None in found else False


def is_one(kind: str, caught: str) -> bool | None:
    """Whether an exception of one kind is one of another, by their names; None if that is not known."""
    own, other = exception_class(kind), exception_class(caught)
    if kind == caught or other in (Exception, BaseException):
        return True
    if own is not None and other is not None:
        return issubclass(own, other)
    # A class of a package cannot be the base of one of Python's; a variable may hold any.
    is_class = caught.lstrip("_")[:1].isupper() and not caught.isupper()
    return False if own is not None and is_class else None


def catches(caught: ast.expr | None, kind: str) -> bool | None:
    """Whether a handler of some type catches an exception of a kind; None if that is not known."""
    if caught is None:
        return True
    if isinstance(caught, ast.Tuple):
        return any_of(catches(element, kind) for element in caught.elts)
    if isinstance(caught, ast.Attribute):
        owner = caught.value.id if isinstance(caught.value, ast.Name) else ""
        return is_one(kind, _OF_MODULES.get(f"{owner}.{caught.attr}", caught.attr))
    return is_one(kind, caught.id) if isinstance(caught, ast.Name) else None


def suppresses(node: ast.With, kind: str) -> bool:
    """Whether a ``with`` is ``contextlib.suppress`` of an exception."""
    for item in node.items:
        call = item.context_expr
        name = getattr(call.func, "attr", getattr(call.func, "id", "")) if isinstance(call, ast.Call) else ""
        if name == "suppress" and isinstance(call, ast.Call) and any(catches(one, kind) for one in call.args):
            return True
    return False


CLASSES = ("CDLL", "WinDLL", "OleDLL", "PyDLL")
LISTS = ("cdll", "windll", "oledll", "pydll")
"""What ctypes loads DLLs with."""
OF_WINDOWS = frozenset({"LoadLibraryExW", "LoadLibraryExA", "LoadLibraryW", "LoadLibraryA"})
"""Functions of kernel32: they return 0 instead of raising an exception."""
LOADING = OF_WINDOWS.union(CLASSES, "LoadLibrary LoadLibraryEx load_library dlopen add_dll_directory".split())
"""Functions of ctypes, NumPy, pywin32, cffi and os that load DLLs or add a folder to the search, by their last name."""
WORDS = tuple(
    word.encode() for word in (*CLASSES, *LISTS, "add_dll_directory", "LoadLibrary", "load_library", "dlopen")
)
"""What is in the bytes of every file that loads DLLs or adds folders to the search, unless it computes names."""
_IN_WORDS = (b"DLL", b"dll", b"ibrary", b"dlopen")
"""Each of the words contains one of these: most files are searched for no more."""
_NO_USE = regex(
    r"[ \t]*(?:#|from ctypes import (?:\w+, )*\w+[ \t]*(?:#|$)|ctypes\.\w+[ \t]*\n[ \t]*except\b)", re.MULTILINE
)
"""A comment, an import that gives nothing another name (what is imported counts where it is used), or a look whether
it is there, as in numpy.distutils."""
_OF_WINDOWS = regex(
    r"(?:(?:c|win|ole)dll\.)?(?:LoadLibrary|CDLL|WinDLL|OleDLL)\(['\"](\w+)(?:\.dll)?['\"][,)]|(?:win|ole)dll\.(\w+)"
)
"""A load of a DLL by its plain name."""
_SPELLED = regex("|".join(word.decode() for word in WORDS))


def names_loader(source: str, path: str, budget: CodeBudget) -> bool:
    """Whether the code of a file, without its comments and docstrings, names what loads DLLs; True if it is not known.

    A file without such a name may call functions of others that load DLLs, as any file may.
    """
    if not lines_with_words(source):
        return False
    tree = budget.parse(source, path)
    if tree is None:
        return True
    try:
        return Mentions(tree, source).any
    except RecursionError:
        return True


_DEFINITION = regex(r"^(?:async )?(?:def|class) (\w+)[^\n]*(?:\n(?:[ \t\r\f][^\n]*)?(?=\n|\Z))*", re.MULTILINE)
"""A function or class that is in nothing else, with its lines."""


_FIRST_DEFINITION = regex(r"^(?:@|(?:async )?def |class )", re.MULTILINE)


def before_definitions(source: str) -> str:
    """The code of a file before its first function or class: its imports, in files that programs make."""
    found = _FIRST_DEFINITION.search(source)
    return source[: found.start()] if found is not None else source


def last_line(source: bytes) -> int:
    """The last line of a file in which there is the name of what loads DLLs, or of a function that has such a name."""
    text = source.decode("utf-8", "replace")
    words = {word.decode() for word in WORDS if word in source}
    blocks = _DEFINITION.finditer(text) if words else ()
    functions = {block[1] for block in blocks if any(word in block[0] for word in words)}
    last = max((_last_in_code(text, word) for word in words | functions), default=-1)
    return text.count("\n", 0, last) + 1 if last >= 0 else 0


def _last_in_code(text: str, word: str) -> int:
    """Where a word comes last in a line that is not a comment; -1 if it does not."""
    at = text.rfind(word)
    while at >= 0 and text[(start := text.rfind("\n", 0, at) + 1) : at + 1].lstrip()[:1] == "#":
        at = text.rfind(word, 0, start)
    return at


class Mentions:
    """Where the code of a file, without its comments and docstrings, names what loads DLLs.

    Only statements with such a word in their lines are looked into.
    """

    def __init__(self, tree: ast.Module, source: str) -> None:
        self.any = False
        """Whether there is such a name, in code or in a text that code uses."""
        self.outside = False
        """Whether there is one outside of functions."""
        self.hidden = False
        """Whether there is one in a text, or is given another name: where it is used is not known."""
        self._around: dict[FunctionNode, FunctionNode | None] = {}
        self._marked: dict[FunctionNode, None] = {}
        # Letters of other alphabets may stand for those of a name, which Python takes for the same.
        self._lines = lines_with_words(source)
        pending: list[tuple[ast.AST, FunctionNode | None]] = [(tree, None)]
        while pending:
            node, inside = pending.pop()
            if not self._has_word(node):
                continue
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._around[node] = inside
                inside = node
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
                continue
            self._take(node, inside)
            pending += [(inner, inside) for inner in ast.iter_child_nodes(node)]

    @property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions in which a name of a loader stands, in the order of the source."""
        found = [node for node in self._marked if not isinstance(node, ast.Lambda)]
        return sorted(found, key=lambda node: node.lineno)

    def _has_word(self, node: ast.AST) -> bool:
        """Whether there is a word in the lines of a statement or expression; True for what has no place."""
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if first is None or last is None:
            return True
        decorators = getattr(node, "decorator_list", None)
        first = min(first, decorators[0].lineno) if decorators else first
        at = bisect.bisect_left(self._lines, first)
        return at < len(self._lines) and self._lines[at] <= last

    def _take(self, node: ast.AST, inside: FunctionNode | None) -> None:
        if any(_SPELLED.search(text) for text in _texts(node)):
            self.any = True
            self.hidden = self.hidden or isinstance(node, ast.Constant) or bool(getattr(node, "asname", None))
        name = used_name(node)
        if name.lstrip("_") in LOADING or name in LISTS:
            self.outside = self.outside or inside is None
            while inside is not None and inside not in self._marked:
                self._marked[inside] = None
                inside = self._around[inside]


@functools.lru_cache(8)
def lines_with_words(source: str) -> list[int]:
    """The numbers of the lines in which code that loads DLLs of others is named, as Python counts lines."""
    source = unicodedata.normalize("NFKC", source)
    text = source.replace("\r\n", "\n").replace("\r", "\n") if "\r" in source else source
    lines, number, at = [], 1, 0
    for found in _SPELLED.finditer(text):
        plain = _OF_WINDOWS.match(text, found.start())
        if plain is not None and classify(f"{plain[1] or plain[2]}.dll", Machine.AMD64).on_every_machine:
            continue  # ctypes.windll.user32 and WinDLL("user32") load what is always there
        if _NO_USE.match(text, text.rfind("\n", 0, found.start()) + 1):
            continue
        number, at = number + text.count("\n", at, found.start()), found.start()
        lines.append(number)
    return lines


def used_name(node: ast.AST) -> str:
    """The last name of what an expression has the value of; empty if it is none, or gives the name to something."""
    is_read = isinstance(getattr(node, "ctx", None), ast.Load)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name if is_read else ""


def _texts(node: ast.AST) -> Iterator[str]:
    """The names and texts that belong to a node itself."""
    for part in ("id", "attr", "name", "asname", "module", "arg", "value"):
        text = getattr(node, part, None)
        if isinstance(text, str):
            yield text


def read_imports(
    source: str, path: str, budget: CodeBudget | None = None, kind: str = NOT_LOADED
) -> Mapping[str, bool]:
    """The modules that a file at ``path`` in the view imports, and whether it catches the failure wherever it does.

    Empty if the file cannot be read or takes too much work, which the budget notes. ``kind`` is the exception that a
    failure raises.
    """
    spent = budget or CodeBudget()
    package = posixpath.dirname(path.removeprefix(SITE_PACKAGES + "/")).replace("/", ".")
    found: dict[str, bool] = {}
    for name, guarded in _taken(source, path, spent, lambda tree: _imports(tree, package, kind)):
        found[name] = guarded and found.get(name, True)
    return found


def imported_first(source: str, path: str, budget: CodeBudget) -> list[tuple[str, bool | None]]:
    """The names that importing a file imports for certain, and whether nothing but a module can have each.

    None stands for a module that only one of two ways takes a name from, as ezdxf from what is compiled or is not.
    """
    package = posixpath.dirname(path.removeprefix(SITE_PACKAGES + "/")).replace("/", ".")

    def names(tree: ast.Module) -> Iterator[tuple[str, bool | None]]:
        for node, either in _run_first(tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, True) for alias in node.names)
            else:
                origin, *found = [name.lstrip(".") for name in imported_from(node, package)]
                yield origin, None if either else True
                yield from ((name, False) for name in found)

    return _taken(source, path, budget, names)


def defined_names(source: str, path: str, budget: CodeBudget) -> frozenset[str]:
    """The names that a file defines, also those that it imports from elsewhere than its own package."""
    package = posixpath.dirname(path.removeprefix(SITE_PACKAGES + "/")).replace("/", ".")

    def names(tree: ast.Module) -> Iterator[str]:
        imports = (node for node in nodes_in(tree) if isinstance(node, ast.ImportFrom))
        own = {id(alias) for node in imports if imported_from(node, package)[0] == package for alias in node.names}
        return (name for node in nodes_in(tree) if id(node) not in own for name in _assigned(node))

    return frozenset(_taken(source, path, budget, names))


def _run_first(tree: ast.Module) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The imports of a file that run under no condition, and whose failure nothing catches.

    Both ways of a condition may import one module: files that SWIG made do, from their package or without one. That is
    said of these, because they may take one name from different modules, as backports.zstd does.
    """
    for node in tree.body:
        ways: list[list[ast.stmt]] = [[node]]
        if isinstance(node, ast.Try):
            caught = next((one.body for one in node.handlers if catches(one.type, NO_MODULE) is not False), None)
            ways = [node.body] if caught is None or any(isinstance(one, ast.Raise) for one in caught) else []
        elif isinstance(node, ast.If):
            ways = [node.body, node.orelse]
        elif isinstance(node, ast.With) and not suppresses(node, NO_MODULE):
            ways = [node.body]  # pyogrio's, in an environment for GDAL
        imports = [[one for one in way if isinstance(one, ast.Import | ast.ImportFrom)] for way in ways]
        words = [{alias.name.rpartition(".")[2] for one in way for alias in one.names} for way in imports]
        for one in (one for way in imports for one in way if is_lazy(one, None) is False):
            if all(way.intersection(alias.name.rpartition(".")[2] for alias in one.names) for way in words):
                yield one, len(ways) > 1


def _taken(source: str, path: str, budget: CodeBudget, take: Callable[[ast.Module], Iterator[_Taken]]) -> list[_Taken]:
    """What is taken from the syntax tree of a file; nothing if it cannot be read."""
    tree = budget.parse(source, path)
    return list(take(tree)) if tree is not None else []


def named_in_strings(source: str, path: str, name: str, budget: CodeBudget) -> bool:
    """Whether the whole dotted name of a module is a string in a file: ``lazy_import("pkg.module", "name")``.

    A name without a dot says too little.
    """
    if "." not in name or (f'"{name}"' not in source and f"'{name}'" not in source):
        return False

    def strings(tree: ast.Module) -> Iterator[object]:
        return (node.value for node in nodes_in(tree) if isinstance(node, ast.Constant))

    return name in _taken(source, path, budget, strings)


def computed_imports(source: str, path: str, budget: CodeBudget) -> list[bool]:
    """For each ``import_module`` of a computed name: whether the code goes on where that fails."""

    tree = budget.parse(source, path)
    calls = (
        (guarded, node)
        for statement, guarded in (_guarded(tree, NOT_LOADED) if tree is not None else ())
        for node in nodes_in(statement)
        if isinstance(node, ast.Call) and called(node) == "import_module"
    )
    return [guarded for guarded, node in calls if not imported_by_call(node)] if tree is not None else [False]


def goes_on(node: ast.Try, kind: str) -> bool:
    """Whether a ``try`` catches an exception of one kind, and does not raise again."""
    for handler in node.handlers:
        if catches(handler.type, kind) is not False:
            return not _raises(handler)
    return False


@once_for_node
def _raises(handler: ast.ExceptHandler) -> bool:
    pending: list[ast.AST] = [handler]
    for one in pending:  # which grows while it is walked
        pending += [inner for block in _BLOCKS for inner in getattr(one, block, ())]
    return any(isinstance(one, ast.Raise) for one in pending)


def nodes_in(node: ast.AST, apart: tuple[type[ast.AST], ...] = ()) -> Iterator[ast.AST]:
    """A node and all nodes in it, without contexts and operators, and not what is in nodes of some kinds.

    It takes half the time of ``ast.walk``.
    """
    pending = [node]
    while pending:
        one = pending.pop()
        yield one
        for name in one._fields if not isinstance(one, apart) else ():
            part = getattr(one, name, None)
            if isinstance(part, list):
                pending += [inner for inner in part if isinstance(inner, ast.AST)]
            elif isinstance(part, ast.AST) and part._fields:
                pending.append(part)


class Written(NamedTuple):
    """What a statement changes."""

    assigned: tuple[str, ...]
    """The names that it, or a statement inside of it, gives a value to."""
    filled: frozenset[str]
    """The names of what it puts items into; ``globals`` stands for the names of the module."""


@once_for_node
def written(node: ast.AST) -> Written:
    """What a statement changes."""
    names: dict[str, None] = {}
    owners: set[str] = set()
    for inner in nodes_in(node):
        names.update(dict.fromkeys(_assigned(inner)))
        owner = _filled(inner)
        owners |= {owner.id} if isinstance(owner, ast.Name) else set()
    return Written(tuple(names), frozenset(owners))


def _assigned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(name := getattr(node, "name", None), str):
        yield name


_FILLING = frozenset("add append extend insert setdefault update".split())


def _filled(node: ast.AST) -> ast.expr | None:
    owner: ast.expr | None = None
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        owner = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLING:
        owner = node.func.value
    return owner.func if isinstance(owner, ast.Call) else owner


def called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


_SHOWN_NODES = 60
_SHOWN_TEXT = 80


def spelled(node: ast.expr) -> str:
    """An expression as the code has it, shortened; one that takes too long to write out is ``…``."""
    for count, _ in enumerate(ast.walk(node)):
        if count > _SHOWN_NODES:
            return "…"
    text = ast.unparse(node)
    return text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + "…"


def _imports(tree: ast.Module, package: str, kind: str) -> Iterator[tuple[str, bool]]:
    """Names of imported modules, with whether a statement around the import catches its failure."""
    for node, guarded in _guarded(tree, kind):
        named: list[str] = []
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            named = imported_from(node, package)
        elif isinstance(node, ast.Assign | ast.Expr | ast.Return):
            named = imported_by_call(node.value)
        for name in named:
            yield name, guarded or is_lazy(node, None) is not False


def _guarded(tree: ast.Module, kind: str) -> Iterator[tuple[ast.stmt, bool]]:
    """Every statement that has no others inside, with whether one around it catches an exception of a kind."""
    pending = [(statement, False) for statement in reversed(tree.body)]
    while pending:
        node, guarded = pending.pop()
        caught = guarded
        if isinstance(node, ast.Try):
            caught = guarded or goes_on(node, kind)
        elif isinstance(node, ast.With):
            caught = guarded or suppresses(node, kind)
        elif isinstance(node, ast.If):
            caught = guarded or _is_for_one_python(node.test)
        inner = [(one, caught if block == "body" else guarded) for block in _BLOCKS for one in getattr(node, block, ())]
        pending += inner
        if not inner:
            yield node, guarded


def _is_for_one_python(test: ast.expr) -> bool:
    """Whether a condition is ``sys.version_info[:2] == (3, 9)``: some packages choose a module like this."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    left = test.left.value if isinstance(test.left, ast.Subscript) else test.left
    return getattr(left, "attr", getattr(left, "id", "")) == "version_info"


def imported_from(node: ast.ImportFrom, package: str) -> list[str]:
    parts = package.split(".") if node.level else []
    start = [*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])]
    origin = ".".join(part for part in start if part)
    return [origin, *(f"{origin}.{alias.name}" for alias in node.names if len(origin) <= LONGEST_NAME)]


_BY_NAME = frozenset({"import_module", "__import__", "spec_from_file_location"})


def imported_by_call(node: ast.expr | None) -> list[str]:
    """The name in ``importlib.import_module("pkg.module")``, or in a spec for its file, as comfy_kitchen makes one."""
    if isinstance(node, ast.Call) and called(node) in _BY_NAME and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return [first.value]
    return []

"""The modules of a package itself that importing it needs, and that no file is: they were left out of the wheel.

The text of import statements only says which names no file is, and which imports have to be followed for them. How a
followed import ends decides; only where that is not known do the statements that run under no condition count.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex
from wheelfix.loader.packageloading import module_name
from wheelfix.loader.view import SITE_PACKAGES, base_name
from wheelfix.model import AbsentModule
from wheelfix.pe.modulenames import may_make
from wheelfix.pycode.budget import separate_budget
from wheelfix.pycode.sourcecode import (
    NO_MODULE,
    NOT_LOADED,
    OTHER_SYSTEMS,
    SOURCE_LIMIT,
    before_definitions,
    counts,
    defined_names,
    has_word,
    imported_first,
    is_standard,
    python_source,
    read_imports,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wheelfix.loader.followed import FollowedImports
    from wheelfix.loader.view import FileView
    from wheelfix.pycode.importer import ImportEnd

MANY_READ = 1000
"""Files of a package that are read for the modules which they import."""
FEW_READ = 60
"""The same of a package without extension modules, which has none to leave out."""
MANY_USERS = 4
"""Modules for users whose imports are followed because they need one that is not there."""
_IMPORT = regex(r"import[ \t]{1,8}([^\n#;]{0,999})")
"""A word that is found several times as fast as the beginning of a line."""
LONGEST_LIST = 1 << 15
"""Characters of the names within parentheses that one statement imports; NumPy's has seven thousand."""
_BEFORE_IMPORT = regex(r"([ \t]{0,16})(?:from[ \t]{1,8}([.\w]{1,200})[ \t]{1,8})?")
_LATER = regex(
    r"^([ \t]*)(?:(?:async[ \t]+)?def |if (?:typing\.)?TYPE_CHECKING\b)[^\n]*(?:\n(?:\1[ \t)#\r][^\n]*|(?=\n)))*",
    re.MULTILINE,
)
"""A function, or what only type checkers see: importing the file does not run it."""
MAKES_MODULES = regex(
    r"sys\.modules(?:\[[^\n\]]{1,200}\][ \t]*=(?!=)|\.(?:setdefault|update)|[ \t]*[\n#;])"
    r"|(?<!_modules\()(?<!_packages\()\b__path__\b(?![ \t]*\[)|meta_path|path_hooks"
)
"""What is in code that makes modules which no file is, or has them looked for elsewhere.

Any use of ``__path__`` but to list what is there: ``wx.lib.pubsub.core`` gives it another name and changes that.
"""
MAKES_NAMES = ("__getattr__", "globals(", "locals(", "vars(", "__dict__", "setattr(")
"""What is in code that defines names which it does not spell."""
_DEFINED = regex(
    r"^(?:async[ \t]+)?(?:def|class)[ \t]{1,8}(\w+)|^(\w+)[ \t]{0,8}(?::[^\n=]{0,200})?=(?!=)", re.MULTILINE
)
"""A function, a class or a value that a file defines under no condition."""
_COMMENT = regex(r"#[^\n]*")
_WORDS = regex(r"(?:^|,)[\s(]*(\w+)")
"""The names that are imported from a module."""


def _imports(code: str, package: str) -> Iterator[tuple[bool, str, list[str]]]:
    """The import statements of a file in a package, each of which begins a line; of a plain one the first module.

    Whether it is in no other statement, the whole name of the module, and the names that are taken from it.
    """
    for found in _IMPORT.finditer(code):
        at = found.start()
        before = _BEFORE_IMPORT.fullmatch(code, code.rfind("\n", 0, at) + 1, at)
        if before is None:
            continue
        names, start = found[1], found.start(1)
        if names[:1] == "(":
            names = code[start : max(code.find(")", start, start + LONGEST_LIST), start)]
        module = before[2] or names.partition(",")[0].partition(" ")[0].strip()
        dots = len(module) - len(module.lstrip("."))
        above = package.split(".")[: package.count(".") + 2 - dots] if dots else []
        whole = ".".join(filter(None, (*above, module[dots:])))
        yield not before[1], whole, _WORDS.findall(_COMMENT.sub("", names)) if before[2] else []


def _module_of(path: str) -> str:
    """The module that a Python file is; a package for its ``__init__``."""
    return module_name(path).removesuffix(".__init__")


def _package_of(path: str) -> str:
    return module_name(path).rpartition(".")[0]


def _prefixes(name: str) -> list[str]:
    """The packages that a dotted name goes through, and the name itself."""
    return list(itertools.accumulate(name.split("."), "{}.{}".format))


def is_made(view: FileView, module: str, text: str) -> bool:
    """Whether code that makes modules, or has them looked for elsewhere, shows that one is among them.

    It has the name as text, as that of six in a package has six.moves.urllib, or a file below the package has that
    name: wx.lib.pubsub.core.kwargs has a publisher.py, and the folder is put into ``__path__`` of wx.lib.pubsub.core.
    """
    package, _, last = module.rpartition(".")
    if not MAKES_MODULES.search(text):
        return False
    start = f"{SITE_PACKAGES}/{package.replace('.', '/')}/"
    below = (
        file.path for file in view.own_files if file.path.startswith(start) and file.path.endswith((".py", ".pyd"))
    )
    spelled = re.search(rf"['\"][\w.]*\b{re.escape(last)}\b[\w.]*['\"]", text)
    return bool(spelled) or any(_module_of(path).rpartition(".")[2] == last for path in below)


class MissingModules:
    """The modules of one package that no file is, each with the modules that import it."""

    def __init__(self, view: FileView, top: str, extensions: Sequence[str]) -> None:
        """``extensions`` are the extension modules that importing the package can load."""
        self._view, self._top, self._extensions = view, top, extensions
        self._importers: dict[str, dict[str, bool]] = {}
        """Modules of the package, with those that import each, and whether they do so in no other statement."""
        self._certain: dict[str, set[str]] = {}
        self._names: dict[str, set[str]] = {}
        self._modules = set[str]()
        """Those of them that can be nothing else."""
        self.others: dict[str, str] = {}
        """Top-level modules of others that no file is, each with a file that names it under no condition."""
        most = MANY_READ if extensions else FEW_READ
        for path in itertools.islice(sorted(self._code(), key=lambda path: path.count("/")), most):
            self._read(path)
        self.gone = [name for name in self._importers if self._may_be_gone(name)]
        """Those that no file is; some may be names of their packages."""

    def needed(self, followed: FollowedImports) -> Iterator[AbsentModule]:
        """Those that the import of the package needs, or that of a module of it which users import by its name.

        ``import PIL`` works without ``PIL._imagingmath``, and ``import PIL.ImageMath`` does not.
        """
        if not self.gone:
            return
        end = followed.of(self._top)
        found = [*self._needed_by(self._top, end)]
        yield from found
        known, ran = {one.module for one in found if one.sure}, {self._top, *map(_module_of, end.ran)}
        for name in itertools.filterfalse(self._may_be_a_name, self.gone) if self._extensions else ():
            for user in self._users_of(name, ran)[:MANY_USERS] if name not in known else ():
                if self._may_be_without(user, name):
                    continue
                needed = [one for one in self._needed_by(user, followed.of(user)) if one.module not in known]
                known.update(one.module for one in needed)
                yield from needed

    def _needed_by(self, root: str, end: ImportEnd) -> Iterator[AbsentModule]:
        """Those that an import which was followed needs.

        It is not sure of opencc, which looks for its module in several places, of which one is not known.
        """
        below = "" if root == self._top else root
        if not end.certain:
            for name in itertools.filterfalse(self._may_be_a_name, self.gone):
                way, users = self._way(name, root), self._importers[name]
                ran = [one for one in map(_module_of, end.ran) if one in users]
                if not way and (end.error or below or (end.ran and not ran)):
                    continue
                made = self._made(name, (root, *way)) if way else False
                if made is None:
                    continue
                file = self._file_of([*way, *ran, *users][0])
                yield AbsentModule(name, "", "", file, bool(way) and not made, below=below, made=made)
        fault = end.fault
        if not end.error or not (end.certain or self._is_plain(end)):
            return  # whether a module of others is there, or what it does, gives no file to the package
        if fault is None and end.missed:
            return  # the code raises an error of its own because a DLL is not there, as treelite's does
        # A file that catches the exception may raise one of its own, as pyppmd does without its two backends.
        all_gone = not self._extensions and end.error in (NOT_LOADED, NO_MODULE)
        files = {end.place[0], *(end.ran if all_gone else ())}
        named = (name for name in self.gone if any(self._file_of(one) in files for one in self._importers[name]))
        gone = fault.target if fault is not None else next(named, "")
        if not gone.startswith(f"{self._top}.") or self._view.module_file(gone) is not None or self._may_be_made(gone):
            return  # opendal's only extension module makes opendal.operator
        made = bool(below) and self._made(gone, (root,))
        if made is not None and (fault is None or fault.cause in ("name", "module")):
            file = end.place[0] if fault is not None else self._file_of(next(iter(self._importers[gone])))
            raised = f"{end.error}: {end.shown}".rstrip(": ")
            yield AbsentModule(gone, "", "", file, not made, raised=raised, below=below, made=made)

    # ---------------------------------------------------------------------------------------- what files import

    def _code(self, word: str = "") -> Iterator[str]:
        """The Python files of the package, or those of them that have a word in them."""
        tops, data = (f"{SITE_PACKAGES}/{self._top}/", f"{SITE_PACKAGES}/{self._top}.py"), word.encode()
        code = (file.path for file in self._view.own_files if file.path.startswith(tops) and file.path[-3:] == ".py")
        return (path for path in code if not word or data in python_source(self._view, path))

    def _file_of(self, module: str) -> str:
        return self._view.module_file(module) or ""

    def _text(self, module: str) -> str:
        """The source of the Python file that is a module, of a large one up to its definitions; empty for another."""
        path = self._file_of(module)
        text = python_source(self._view, path).decode("utf-8", "replace") if path.endswith(".py") else ""
        return before_definitions(text) if len(text) > SOURCE_LIMIT else text

    def _read(self, path: str) -> None:
        """Note what a file imports when it is imported, under a condition, too."""
        module, package = _module_of(path), _package_of(path)
        if not counts(path) or self._file_of(module) != path:
            return
        text = self._text(module)
        found = [*_imports(text, package)]
        if any(not alone and origin.partition(".")[0] == self._top for alone, origin, _ in found):
            found = [*_imports(_LATER.sub("", text), package)]
        for alone, origin, names in found:
            top = origin.partition(".")[0]
            if top == self._top:
                modules = _prefixes(origin)[1:]
                self._modules.update(modules)
                for name in (*modules, *(f"{origin}.{name}" for name in names)):
                    users = self._importers.setdefault(name, {})
                    users[module] = alone or users.get(module, False)
            elif alone and not is_standard(top) and self._view.module_file(top) is None:
                self.others.setdefault(top, path)

    def _may_be_gone(self, name: str) -> bool:
        """Whether no file is a name that is imported, and it may be a module: its package has no other use for it."""
        package, _, last = name.rpartition(".")
        own = self._view.module_file(package)
        if self._view.module_file(name) is not None or any(word in last for word in OTHER_SYSTEMS):
            return False
        if name in self._modules:
            return not own or own.endswith("/__init__.py")
        if not own or not own.endswith("/__init__.py"):
            return False
        text = self._text(package)
        if last in self._spelled(package, text):
            return False
        users = self._importers[name]
        if "import *" in text and package not in users and (last[:1] != "_" or self._is_listed(package, last)):
            return False
        known = package in users or self._is_module(name)
        if not known and last in defined_names(text, own, separate_budget(self._view)):
            return False
        # SciPy catches it where _distributor_init_local is not there.
        return any(alone or not self._is_caught(name, user) for user, alone in users.items())

    def _may_be_a_name(self, name: str) -> bool:
        """Whether a package defines names that it does not spell, as zmq.backend does, and nothing shows a module.

        A private name shows one: those that code makes are for users.
        """
        package, _, last = name.rpartition(".")
        shown = last[:1] == "_" or f"{SITE_PACKAGES}/{name.replace('.', '/')}.pyx" in self._view
        if shown or package in self._importers[name] or name in self._modules:
            return False
        return any(word in self._text(package) for word in MAKES_NAMES)

    def _spelled(self, package: str, text: str) -> set[str]:
        """The names that the text of a package shows to be defined under no condition, without parsing it."""
        if package not in self._names:
            others = (words for alone, origin, words in _imports(text, package) if alone and origin != package)
            self._names[package] = {*itertools.chain(*others), *("".join(found) for found in _DEFINED.findall(text))}
        return self._names[package]

    def _is_caught(self, name: str, user: str) -> bool:
        """Whether a file goes on without a module wherever it imports that."""
        budget = separate_budget(self._view)
        return read_imports(self._text(user), self._file_of(user), budget, NOT_LOADED).get(name, False)

    def _is_module(self, name: str) -> bool:
        """Whether a name can only be a module: a file is it, or its package does not have the word."""
        package, _, last = name.rpartition(".")
        there = name in self._modules or self._view.module_file(name) is not None
        return there or not has_word(self._text(package), last)

    def _is_listed(self, package: str, name: str) -> bool:
        """Whether a file in a package has a private name as a string, so that a star brings it, as in mxnet."""
        inside = self._view.in_folder(f"{SITE_PACKAGES}/{package.replace('.', '/')}")
        quoted = (f"'{name}'".encode(), f'"{name}"'.encode())
        sources = (python_source(self._view, path) for path in inside if path.endswith(".py"))
        return any(word in data for data in sources for word in quoted)

    def _users_of(self, name: str, ran: set[str]) -> list[str]:
        """The modules for users that need a module and that the import of the package does not run, packages first."""
        pending = [name]
        for one in pending:  # grows while it is walked
            for user, alone in self._importers.get(one, {}).items():
                needs = alone or (one == name and name in self._first(user))
                if needs and user not in ran and user not in pending:
                    pending.append(user)
        public = [user for user in pending[1:] if "._" not in user]
        packages = [user for user in public if self._file_of(user).endswith("/__init__.py")]
        return [*packages, *(user for user in public if "._" in name and user not in packages)]

    def _may_be_without(self, module: str, gone: str) -> bool:
        """Whether some file of the package, also a test, shows that one of its modules need not be there.

        It imports the module under a condition or in a ``try``, as pyarrow's tests do pyarrow.cuda, or has its name as
        a string, as gevent has that of gevent.libev.corecffi among those that it chooses from.
        """
        names, own = "|".join(map(re.escape, _prefixes(module)[:0:-1])), self._file_of(module)
        spelled = re.compile(rf"['\"](?!{re.escape(gone)}['\"])({names})(?:\.\w+)*['\"]")
        for path in (path for path in self._code(module.split(".")[1]) if path != own):
            text = python_source(self._view, path).decode("utf-8", "replace")
            if any(path != self._file_of(one) for one in spelled.findall(text)):
                return True
            ways = (one for one in _imports(_LATER.sub("", text), _package_of(path)) if not one[0])
            named = (one for _, origin, names in ways for one in (origin, *(f"{origin}.{name}" for name in names)))
            if module in named or read_imports(text, path, separate_budget(self._view), NOT_LOADED).get(module):
                return True
        return False

    # ---------------------------------------------------------------------------------------- imported for certain

    def _is_plain(self, end: ImportEnd) -> bool:
        """Whether an import ends where a statement, under no condition and in no ``try``, imports from a package."""
        (file, line), fault = end.place, end.fault
        if fault is None or fault.cause != "module" or not self._file_of(fault.target.rpartition(".")[0]):
            return False
        return not python_source(self._view, file).split(b"\n")[line - 1][:1].isspace()

    def _way(self, module: str, root: str) -> list[str]:
        """What imports a module under no condition, what imports that, and so on up to a root; empty for none."""
        above, pending = dict[str, str](), [module]
        for one in pending:  # grows while it is walked
            for user in (user for user in self._importers.get(one, ()) if user not in (*above, module)):
                if one in self._first(user):
                    above[user] = one
                    pending.append(user)
        way = [root] if root in above else []
        while way and above[way[-1]] != module:
            way.append(above[way[-1]])
        return way[::-1]

    def _first(self, module: str) -> set[str]:
        """The modules that a module imports under no condition."""
        if module not in self._certain:
            names = imported_first(self._text(module), self._file_of(module), separate_budget(self._view))
            whole = {one for name, is_module in names if is_module for one in _prefixes(name)}
            self._certain[module] = whole | {name for name, one in names if one is False and self._is_module(name)}
        return self._certain[module]

    def _made(self, module: str, importers: Iterable[str]) -> bool | None:
        """Whether code makes modules or has them looked for elsewhere before an import; None if it shows this one."""
        texts = [self._text(one) for name in (*importers, module.rpartition(".")[0]) for one in _prefixes(name)]
        if any(is_made(self._view, module, text) for text in texts) or self._may_be_made(module):
            return None
        return any(map(MAKES_MODULES.search, texts))

    def _may_be_made(self, module: str) -> bool:
        """Whether a compiled module may make a module, apart from one of that name, which is it in another folder."""
        last = module.rpartition(".")[2]
        others = (path for path in self._extensions if base_name(path).partition(".")[0] != last)
        return any(may_make(self._view.source(path), last) for path in others)

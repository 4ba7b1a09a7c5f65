"""The modules of a package itself that importing it needs, and that no file is: they were left out of the wheel."""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

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
    imported_first,
    is_standard,
    python_source,
    read_imports,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wheelfix.loader.view import FileView
    from wheelfix.pycode.budget import CodeBudget
    from wheelfix.pycode.importer import ImportEnd
    from wheelfix.pycode.run import LoadFault

MANY_RUN = 1000
"""Files of a package that are read for the modules which importing it needs."""
FEW_RUN = 60
"""The same of a package without extension modules, which has none to leave out, and of all packages below it."""
MANY_STEPS = 4
"""Private modules that import one another on the way from one for users to one that is not there."""
SEVERAL = 2
"""Files of a package that import a module for users, where the package cannot do without it."""
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
_COMMENT = regex(r"#[^\n]*")
_WORDS = regex(r"(?:^|,)[\s(]*(\w+)(?:\s+as\s+(\w+))?")
"""The names that are imported from a module, each with the one that it is given."""
_DOCUMENTATION = regex(r"(\'\'\'|\"\"\").*?\1", re.DOTALL)
_DEFINITION = regex(r"^(?:[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+|(?=\w+[ \t]*=(?!=)))(\w+)", re.MULTILINE)
"""A function or class, or a variable outside of them."""


class Statement(NamedTuple):
    """A statement that imports something."""

    indent: str
    module: str
    """The module, with the dots before it."""
    names: str
    """What is imported from it; empty in ``import module``."""


def _imports(code: str) -> Iterator[Statement]:
    """The import statements of some code, each of which begins a line; of a plain one the first module."""
    for found in _IMPORT.finditer(code):
        at = found.start()
        before = _BEFORE_IMPORT.fullmatch(code, code.rfind("\n", 0, at) + 1, at)
        if before is None:
            continue
        names, start = found[1], found.start(1)
        if names[:1] == "(":
            names = code[start : max(code.find(")", start, start + LONGEST_LIST), start)]
        module = before[2] or names.partition(",")[0].partition(" ")[0].strip()
        yield Statement(before[1], module, names if before[2] else "")


def _names(text: str) -> list[tuple[str, str]]:
    """The names that a statement imports from a module, each with the one that it is given, or an empty text."""
    return _WORDS.findall(_COMMENT.sub("", text) if "#" in text else text)


def _absolute(package: str, name: str) -> str:
    """The whole name of a module that a file in a package names, with dots before it or without."""
    dots = len(name) - len(name.lstrip("."))
    return ".".join(filter(None, (*package.split(".")[: package.count(".") + 2 - dots], name[dots:]))) if dots else name


def _modules_of(package: str, statement: Statement) -> tuple[str, ...]:
    """What an import statement of a file in a package may name as modules."""
    origin = _absolute(package, statement.module)
    return (origin, *(f"{origin}.{name}" for name, _ in _names(statement.names)))


def _module_of(path: str) -> str:
    """The module that a Python file is; a package for its ``__init__``."""
    return module_name(path).removesuffix(".__init__")


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
    """The modules of one package that no file is, each with a file that importing the package may run and names it."""

    def __init__(self, view: FileView, top: str, extensions: Sequence[str]) -> None:
        """``extensions`` are the extension modules that importing the package can load."""
        self._view, self._top, self._extensions = view, top, extensions
        self._left = MANY_RUN if extensions else FEW_RUN
        """Files that may still be read."""
        self._later: list[str] | None = None
        """Modules that packages below name: their files are read after those of all such packages."""
        self._names: dict[str, _DefinedNames] = {}
        """By package."""
        self._may: dict[str, bool | None] = {}
        """By the whole name of what may be a module: whether the code of its package may define it."""
        self._seen = {top}
        self._under = set[str]()
        """Those that the package imports under a condition, as pmdarima does all of its own, and what these import."""
        self._by: dict[str, str] = {}
        """The module that named each of these first."""
        self._gone: dict[str, bool] = {}
        self.named: dict[str, str] = {}
        self.perhaps: dict[str, str] = {}
        """Names that the code of their package may define instead: only following the import tells."""
        self.others: dict[str, str] = {}
        """Top-level modules of others that no file is, each with a file that names it under no condition."""
        self._look_into(top)
        self._run = frozenset(self._seen)
        """Those that importing the package may run."""

    def needed(self, end: ImportEnd) -> Iterator[AbsentModule]:
        """Those that the import of the package, which was followed, needs.

        It is not sure of opencc, which looks for its module in several places, of which one is not known.
        """
        if self.named and not end.certain:
            certain = self._certain(self._top)
            for name, file in self.named.items():
                first, made = self._certain_importer(name, certain, self._top)
                if first or not end.error:
                    yield AbsentModule(name, "", "", first or file, bool(first) and not made, made=made)
        fault = end.fault
        if not end.error or not (end.certain or self._is_plain(end)):
            return  # whether a module of others is there, or what it does, gives no file to the package
        if fault is None and end.missed:
            return  # the code raises an error of its own because a DLL is not there, as treelite's does
        # A file that catches the exception may raise one of its own, as pyppmd does without its two backends.
        all_gone = not self._extensions and end.error in (NOT_LOADED, NO_MODULE)
        files = {end.place[0], *(end.ran if all_gone else ())}
        named = {**self.named, **self.perhaps}
        gone = fault.target if fault is not None else next((n for n, file in named.items() if file in files), "")
        if self._may_be_made(gone):
            return  # opendal's only extension module makes opendal.operator and others
        if gone and (fault is None or gone in self.named or self._is_own_name(fault)):
            file = end.place[0] if fault is not None else named[gone]
            yield AbsentModule(gone, "", "", file, raised=f"{end.error}: {end.shown}".rstrip(": "))

    def below(self, may_be_chosen: Callable[[str], bool]) -> Iterator[AbsentModule]:
        """Those that importing a package below needs.

        photutils does not import photutils.geometry, users do. For all such packages few files more are looked into.
        One that code may choose among several, by its path, may be for another machine.
        """
        if not self._extensions:
            return
        known, packages, self._left, self._later = {*self.named}, self._packages_below(), FEW_RUN, list[str]()
        for module in itertools.chain(packages, self._later):  # which grows while it is walked
            self._look_into(module)
        for name in (name for name in self.named if name not in known):
            way = [name]
            while way[-1] not in packages:
                way.append(self._by[way[-1]])
            package = way[-1]
            sure = all(self._imports_for_certain(importer, name) for name, importer in itertools.pairwise(way))
            sure = sure and not may_be_chosen(self._view.module_file(package) or "")
            first, made = self._certain_importer(name, dict(itertools.pairwise(way)), package) if sure else ("", False)
            if first:
                yield AbsentModule(name, "", "", first, not made, below=package, made=made)

    def for_users(self) -> Iterator[AbsentModule]:
        """Private modules that a module for users imports for certain.

        ``import PIL`` works without ``PIL._imagingmath``, and ``import PIL.ImageMath`` does not.
        """
        run = {self._view.module_file(module) for module in self._run}
        for path in self._code() if self._extensions else ():
            gone = {*self._private_and_gone(path)} if path not in run and counts(path) else set[str]()
            for name in sorted(gone.difference(self.named, self.perhaps)):
                module = _module_of(path)
                way = self._way_from_users(name, module) if self._imports_for_certain(module, name) else {}
                user = next(reversed(way.values()), "")
                first, made = self._certain_importer(name, way, user) if way else ("", False)
                if first and (self._is_needed(user) or not self._may_be_without(user)):
                    yield AbsentModule(name, "", "", path, not made, below=user, made=made)

    def _way_from_users(self, name: str, importer: str) -> dict[str, str]:
        """A module with one that imports it for certain, and so on up to one that is for users; empty if there is none.

        scipy.signal imports ``_max_len_seq``, and that its compiled part.
        """
        way = {name: importer}
        for _ in range(MANY_STEPS):
            if "._" not in importer:
                return way
            users = {*self._importers(importer)}.difference(way, self._run)
            user = min(users, key=lambda one: ("._" in one, one), default="")
            if not user:
                break
            way[importer], importer = user, user
        return {}

    def _importers(self, module: str) -> Iterator[str]:
        """The modules of the package that import another for certain."""
        named = (_module_of(path) for path in self._code(module.rpartition(".")[2]) if counts(path))
        return (name for name in named if name != module and self._imports_for_certain(name, module))

    def _code(self, word: str = "", below: str = "") -> Iterator[str]:
        """The Python files of the package, or those of them that have a word in them, or are in a package below it."""
        start, data = f"{SITE_PACKAGES}/{(below or self._top).replace('.', '/')}/", word.encode()
        paths = (file.path for file in self._view.own_files if file.path.startswith(start))
        code = (path for path in paths if path.endswith(".py"))
        return (path for path in code if not word or data in python_source(self._view, path))

    def _is_needed(self, module: str) -> bool:
        """Whether several files of the package import one of its modules for certain."""
        return len([*itertools.islice(self._importers(module), SEVERAL)]) == SEVERAL

    def _may_be_without(self, module: str) -> bool:
        """Whether some file of the package, also a test, shows that one of its modules need not be there.

        It imports the module under a condition or in a ``try``, as pyarrow's tests do pyarrow.cuda, or has its name as
        a string, as gevent has that of gevent.libev.corecffi among those that it chooses from.
        """
        spelled = re.compile(rf"['\"]{re.escape(module)}(?:\.\w+)*['\"]")
        own = self._view.module_file(module)
        for path in (path for path in self._code(module.rpartition(".")[2]) if path != own):
            text = python_source(self._view, path).decode("utf-8", "replace")
            package = module_name(path).rpartition(".")[0]
            ways = (_modules_of(package, one) for one in _imports(_LATER.sub("", text)) if one.indent)
            if spelled.search(text) or any(module in names for names in ways) or self._goes_without(module, path, text):
                return True
        return False

    def _private_and_gone(self, path: str) -> Iterator[str]:
        """The private modules that no file is and that a file imports."""
        package = module_name(path).rpartition(".")[0]
        for one in _imports(python_source(self._view, path).decode("utf-8", "replace")):
            private = "_" in one.names or "_" in one.module
            if private and (one.module[:1] == "." or one.module.partition(".")[0] == self._top):
                yield from self._gone_of(*_modules_of(package, one))

    def _gone_of(self, origin: str, *names: str) -> Iterator[str]:
        """What an import statement names that can only be a private module, and is none; a star may bring any name."""
        own = self._view.module_file(origin) if origin.partition(".")[0] == self._top else ""
        within = self._view.module_file(origin.rpartition(".")[0]) or "" if own is None else own or ""
        if within.endswith("/__init__.py"):
            for name in (origin,) if own is None else names:
                if self._view.module_file(name) or "._" not in name:
                    continue
                is_other = any(word in name.rpartition(".")[2] for word in OTHER_SYSTEMS)
                if not is_other and (name is origin or self._is_private_module(name)):
                    yield name

    def _imports_for_certain(self, importer: str, module: str) -> bool:
        """Whether running a file imports a module for certain."""
        text, path = self._text(importer) or "", self._view.module_file(importer) or ""
        found = dict(imported_first(text, path, separate_budget(self._view)))
        within = any(is_module and name.startswith(f"{module}.") for name, is_module in found.items())
        return within or (module in found and (found[module] or self._is_no_name(module)))

    def _packages_below(self) -> list[str]:
        """The packages for users that the import of the package at the top does not run, the highest first."""
        start = f"{SITE_PACKAGES}/{self._top}/"
        paths = (file.path for file in self._view.own_files if file.path.startswith(start))
        inits = (_module_of(path) for path in paths if path.endswith("/__init__.py"))
        public = {name for name in inits if name not in self._seen and "._" not in name}
        return sorted(public, key=lambda name: (name.count("."), name))

    def _is_own_name(self, fault: LoadFault) -> bool:
        """Whether an import asks the package for what no file of it is, and nothing in it has defined by then."""
        own = fault.target.startswith(f"{self._top}.") and fault.cause in ("name", "module")
        return own and self._view.module_file(fault.target) is None

    def _is_plain(self, end: ImportEnd) -> bool:
        """Whether an import ends where a statement, under no condition and in no ``try``, imports from a package."""
        (file, line), fault = end.place, end.fault
        if fault is None or fault.cause != "module" or not self._view.module_file(fault.target.rpartition(".")[0]):
            return False
        return not python_source(self._view, file).split(b"\n")[line - 1][:1].isspace()

    def _text(self, module: str) -> str | None:
        """The source of the Python file that is a module, of a large one up to its definitions; None for what is none.

        A large ``__init__.py`` is none: what it defines is not known.
        """
        path = self._view.module_file(module) or ""
        is_large = bool(path) and self._view.file(path).size > SOURCE_LIMIT
        if not path.endswith(".py") or (is_large and path.endswith("/__init__.py")):
            return None
        text = python_source(self._view, path).decode("utf-8", "replace")
        return before_definitions(text) if is_large else text

    # ------------------------------------------------------------------------------------------ imported for certain

    def _certain(self, root: str) -> dict[str, str]:
        """The modules that importing a package imports for certain, each with the one that imports it first.

        A name that may be something else than a module counts only if :meth:`_is_no_name` says that it is one.
        """
        by, importers, budget = {root: ""}, [root], separate_budget(self._view)
        for importer in importers:  # grows while it is walked
            text, path = self._text(importer), self._view.module_file(importer) or ""
            for name, is_module in imported_first(text, path, budget) if text else ():
                for found in _prefixes(name) if name.startswith(f"{self._top}.") and is_module is not None else ():
                    if found not in by and (is_module or self._is_no_name(found)):
                        by[found] = importer
                        importers.append(found)
        del by[root]
        return by

    def _is_no_name(self, module: str) -> bool:
        """Whether a name can only be a module: a file is it or its source, or it is private and not in the package."""
        package, _, last = module.rpartition(".")
        if self._view.module_file(module) or self._has_source(module):
            return True
        text = self._text(package) if last.startswith("_") else None
        named = text is None or any(word in text for word in (last, *MAKES_NAMES))
        return not named and not self._takes_by_star(package, last)

    def _is_private_module(self, name: str) -> bool:
        """Whether a private name in a package can only be a module."""
        return name.rpartition(".")[2][:1] == "_" and self._is_no_name(name)

    def _takes_by_star(self, package: str, name: str) -> bool:
        """Whether a package may take a name with a star; a private one only if a file in it lists that, as in mxnet."""
        if "import *" not in (self._text(package) or ""):
            return False
        quoted = (f"'{name}'".encode(), f'"{name}"'.encode())
        inside = self._view.in_folder(f"{SITE_PACKAGES}/{package.replace('.', '/')}")
        sources = (python_source(self._view, path) for path in inside if path.endswith(".py"))
        return name[:1] != "_" or any(word in data for data in sources for word in quoted)

    def _is_defined_below(self, named: str) -> bool:
        """Whether a file in or below a package defines a name: zmq.backend has what one of its packages defines."""
        package, _, name = named.rpartition(".")
        words = (f"\ndef {name}(".encode(), f"\nclass {name}".encode(), f"\n{name} =".encode())
        sources = (python_source(self._view, path) for path in self._code(below=package) if counts(path))
        return any(word in data for data in sources for word in words)

    def _has_source(self, module: str) -> bool:
        """Whether the wheel has the source of a module of Cython, as tables has."""
        return f"{SITE_PACKAGES}/{module.replace('.', '/')}.pyx" in self._view

    def _certain_importer(self, module: str, certain: dict[str, str], root: str) -> tuple[str, bool]:
        """A file that imports a module for certain when a package is imported; empty if code is seen to make that.

        Also whether code on the way makes modules or has them looked for elsewhere, and this one may be among them.
        """
        way = [module]
        while way[-1] in certain:
            way.append(certain[way[-1]])
        runs = (*way[1:], *_prefixes(module.rpartition(".")[0]), *_prefixes(root))
        texts = [self._text(name) or "" for name in runs]
        if way[-1] != root or self._may_be_made(module) or any(is_made(self._view, module, text) for text in texts):
            return "", False
        return self._view.module_file(way[1]) or "", any(map(MAKES_MODULES.search, texts))

    def _may_be_made(self, module: str) -> bool:
        """Whether a compiled module may make a module, apart from one of that name, which is it in another folder."""
        last = module.rpartition(".")[2]
        others = (path for path in self._extensions if base_name(path).partition(".")[0] != last)
        return bool(module) and any(may_make(self._view.source(path), last) for path in others)

    # ------------------------------------------------------------------------------------------ named in some file

    def _look_into(self, module: str) -> None:
        """Note the modules of the package that no file is and that a module names, and those that it imports."""
        path = self._view.module_file(module) or ""
        code = self._text(module) if counts(path) and self._left > 0 else None
        self._left -= code is not None
        package, at_import = module if path.endswith("/__init__.py") else module.rpartition(".")[0], set[object]()
        under = module in self._under
        for statement in sorted(_imports(code or ""), key=lambda one: bool(one.indent)):
            indent, source, names = statement
            if indent and self._later is not None and package != module:
                continue  # few of these are certain, and those of a package itself, as kumoai.rfm.backend.local has one
            first = source.partition(".")[0]
            if first not in ("", self._top):
                if not indent and self._is_gone(first):
                    self.others.setdefault(first, path)
                continue
            for named, sure in self._modules(package, source, names):
                known = named in self._seen and not (sure and named in self.perhaps)
                if known or named.partition(".")[0] != self._top:
                    continue
                there = self._view.module_file(named) is not None
                if indent and there and self._extensions and module != self._top:
                    continue  # only where all extension modules are gone are those behind guarded imports looked for
                if indent:
                    at_import = at_import or {(), *_imports(_LATER.sub("", code or ""))}
                    if statement not in at_import:
                        continue
                self._seen.add(named)
                self._by[named] = module
                if under or (indent and there and self._extensions):
                    self._under.add(named)
                if there and self._later is not None:
                    self._later.append(named)
                elif there:
                    self._look_into(named)
                elif not sure and indent and self._goes_without(named, path, code or ""):
                    continue  # _distributor_init_local of SciPy
                elif not sure and self._is_defined_below(named):
                    continue
                elif not any((self._view.module_file(one) or "").endswith(".pyd") for one in _prefixes(named)):
                    # Unless it is below an extension module, which may make it: torch._C._nn, zarrista._zarrista.codec
                    (self.named if sure and not under else self.perhaps)[named] = path

    def _is_gone(self, top: str) -> bool:
        if top not in self._gone:
            self._gone[top] = not is_standard(top) and self._view.module_file(top) is None
        return self._gone[top]

    def _goes_without(self, module: str, path: str, code: str) -> bool:
        """Whether a file catches it wherever a name that it imports is not there."""
        return read_imports(code, path, separate_budget(self._view), NOT_LOADED).get(module, False)

    def _modules(self, package: str, name: str, names: str) -> Iterator[tuple[str, bool]]:
        """The modules that an import statement in a package names, and whether they are nothing else."""
        name = _absolute(package, name)
        yield from ((prefix, True) for prefix in _prefixes(name))
        own = self._view.module_file(name)
        if own is None or (own and not (own.endswith("/__init__.py") and self._view.file(own).size <= SOURCE_LIMIT)):
            return  # what a file defines is not looked for
        for last, _ in _names(names):
            named = f"{name}.{last}"
            if named not in self._may:
                is_module = self._view.module_file(named) is not None or self._has_source(named)
                self._may[named] = False if is_module else self._may_define(name, last)
            if not self._may[named]:
                yield named, self._may[named] is False

    def _may_define(self, package: str, name: str) -> bool | None:
        """Whether the file of a package may define a name; None where it has any that it does not spell, as kuzu."""
        if package not in self._names:
            path = self._view.module_file(package) or ""
            budget = separate_budget(self._view)
            self._names[package] = _DefinedNames(package, path, self._text(package) or "", budget)
        names = self._names[package]
        if name in names.text and name in names.plain:
            return True
        if names.makes_any:
            return None
        return (name in names.text and name in names.all) or self._takes_by_star(package, name)


class _DefinedNames:
    """The names that the file of a package defines, found out as far as they are asked for."""

    def __init__(self, package: str, path: str, text: str, budget: CodeBudget) -> None:
        self._package, self._path, self.text, self._budget = package, path, text, budget
        self.makes_any = any(word in text for word in MAKES_NAMES)
        """Whether it defines names that it does not spell."""

    @functools.cached_property
    def plain(self) -> frozenset[str]:
        """Those of statements that begin a line, as far as that shows without parsing the file."""
        code = _DOCUMENTATION.sub("", self.text)
        others = (one for one in _imports(code) if one.names and _absolute(self._package, one.module) != self._package)
        given = (given or name for one in others for name, given in _names(one.names))
        return frozenset((*_DEFINITION.findall(code), *given))

    @functools.cached_property
    def all(self) -> frozenset[str]:
        """All that the file spells."""
        return defined_names(self.text, self._path, self._budget)

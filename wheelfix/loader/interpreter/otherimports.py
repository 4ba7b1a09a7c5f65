"""Imports of modules of other distributions: small ones that come with DLLs are interpreted like the package itself.

PySide6 imports shiboken6, Kivy imports kivy_deps, CuPy imports cuda-pathfinder: which folders are searched, what is in
the process and which module fails first is decided by their code. What large packages do is not followed.
Packages of Python code in which nothing is about DLLs, and which import only such packages, do not change the search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codebudget import CodeBudget
from wheelfix.loader.codereader.codesyntax import is_standard
from wheelfix.loader.codereader.importcode import read_imports
from wheelfix.loader.interpreter.imports import PackageImports
from wheelfix.loader.interpreter.objects import Native, PyValue, Undecided
from wheelfix.loader.view import SITE_PACKAGES

if TYPE_CHECKING:
    from wheelfix.loader.interpreter.windows import WindowsMachine
    from wheelfix.loader.view import ViewFile

LARGEST_CODE = 250_000
"""Bytes of Python code of a package of others that is interpreted."""
MAX_TOKENS = 200_000
"""Tokens of all files of others that are interpreted in one import."""
WORDS = (b"add_dll_directory", b"ctypes", b"LoadLibrary", b"environ")
"""Code that has to do with DLLs contains one of these."""
LEADING_ON = (*WORDS, b"dlopen", b"import_module", b"__import__", b"exec(")
"""Code that loads DLLs, or imports modules whose names cannot be read, contains one of these."""
MAX_PLAIN = 60
"""How many packages are read at most to find out that one has nothing to do with DLLs."""


class OtherImports(PackageImports):
    """Follows imports into other distributions that are installed with the package."""

    def __init__(self, machine: WindowsMachine, complete: bool, steps: int) -> None:
        super().__init__(machine, complete, steps)
        self.others_budget = CodeBudget(tokens=MAX_TOKENS, trees=self.budget.trees)
        self._followed: dict[str, bool] = {}
        """Packages of others by their names, with whether their code is followed."""
        self._plain: dict[str, bool] = {}
        """Packages of others that are not followed, with whether they have nothing to do with DLLs."""
        self._inside = False
        """Whether code of another distribution is running."""

    def import_of_others(self, name: str, path: str) -> PyValue:
        """A module of another distribution; what cannot be followed may have done anything."""
        package = self._package(name)
        if package not in self._followed:
            self._followed[package] = self._is_followed(package)
        if self._followed[package]:
            if self._inside:
                return self._import_file(name, path)
            found = self._try_import(name, path)
            if found is not None:
                return found
            self._followed[package] = False
        if not self._is_plain(package):
            self.machine.others_run = True
        return Native(name)

    def _try_import(self, name: str, path: str) -> PyValue:
        """Interpret a module; where that is not possible everything is put back, and None returned."""
        machine, modules, ran, steps, budget = self.machine, dict(self.modules), dict(self.ran), self.steps, self.budget
        state = machine.process.fork(), dict(machine.variables), dict(machine.missed), set(machine.codes)
        self._inside, self.budget = True, self.others_budget
        try:
            return self._import_file(name, path)
        except (Undecided, RecursionError):
            self.modules, self.ran, self.steps = modules, ran, steps
            machine.process, machine.variables, machine.missed, machine.codes = state
            return None
        finally:
            self._inside, self.budget = False, budget

    def _import_absent(self, name: str, path: str | None) -> PyValue:
        """A module that is not there; in the code of others that counts only where all that is installed is known."""
        if self._inside and not self._knows_all():
            raise Undecided(f"whether {name} is installed is not known")
        return super()._import_absent(name, path)

    def _package(self, name: str) -> str:
        """The package that is followed or not: in a namespace that several distributions share, the one below it."""
        top, _, rest = name.partition(".")
        shared = f"{SITE_PACKAGES}/{top}/__init__.py" not in self.machine.view
        return f"{top}.{rest.partition('.')[0]}" if shared and rest else top

    def _is_followed(self, package: str) -> bool:
        """Whether a package is small, and has DLLs, or code that has to do with them."""
        if not self.complete or self.machine.view.beside is None:
            return False
        files = self._files(package)
        code = [file for file in files if file.path.endswith(".py")]
        if sum(file.size for file in code) > LARGEST_CODE:
            return False
        return any(file.path.lower().endswith(".dll") for file in files) or any(
            word in self._source(file) for file in code for word in WORDS
        )

    def _knows_all(self) -> bool:
        """Whether everything that is installed is known."""
        beside = self.machine.view.beside
        return self.complete and beside is not None and beside.complete

    def _files(self, package: str) -> list[ViewFile]:
        path = f"{SITE_PACKAGES}/{package.replace('.', '/')}"
        return [
            file for file in self.machine.view.files if file.path.startswith(f"{path}/") or file.path == f"{path}.py"
        ]

    def _source(self, file: ViewFile) -> bytes:
        return self.machine.view.source(file.path).read_at(0, file.size)

    def _is_plain(self, package: str) -> bool:
        """Whether a package of others, and all that its code imports, is Python code that cannot load a DLL."""
        pending, seen = [package], {package}
        while pending and self._knows_all():
            one = pending.pop()
            needs = set() if self._plain.get(one) else self._plain_needs(one)
            if needs is None or len(seen) > MAX_PLAIN or self._plain.get(one) is False:
                self._plain[package] = False
                return False
            pending += needs - seen
            seen |= needs
        self._plain.update(dict.fromkeys(seen, True))
        return self._knows_all()

    def _plain_needs(self, package: str) -> set[str] | None:
        """The packages that a package imports; None for one that has, or may have, to do with DLLs."""
        files = self._files(package)
        code = [file for file in files if file.path.endswith(".py")]
        if any(file.path.lower().endswith((".dll", ".pyd")) for file in files):
            return None
        if sum(file.size for file in code) > LARGEST_CODE:
            return None
        found: set[str] = set()
        for file in code:
            source = self._source(file)
            if any(word in source for word in LEADING_ON):
                return None
            names = read_imports(source.decode("utf-8", "replace"), file.path, self.others_budget)
            if file.path in self.others_budget.unread:
                return None
            found |= {self._package(name) for name in names if not is_standard(name)}
        return found

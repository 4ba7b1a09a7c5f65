"""Imports of modules of other distributions: small ones that come with DLLs are interpreted like the package itself.

PySide6 imports shiboken6, Kivy imports kivy_deps, CuPy imports cuda-pathfinder: which folders are searched, what is in
the process and which module fails first is decided by their code. What large packages do is not followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codebudget import CodeBudget
from wheelfix.loader.interpreter.imports import PackageImports
from wheelfix.loader.interpreter.objects import Native, PyValue, Undecided
from wheelfix.loader.view import SITE_PACKAGES

if TYPE_CHECKING:
    from wheelfix.loader.interpreter.windows import WindowsMachine

LARGEST_CODE = 250_000
"""Bytes of Python code of a package of others that is interpreted."""
MAX_TOKENS = 200_000
"""Tokens of all files of others that are interpreted in one import."""
WORDS = (b"add_dll_directory", b"ctypes", b"LoadLibrary", b"environ")
"""One of them is in code that has to do with DLLs."""


class OtherImports(PackageImports):
    """Follows imports into other distributions that are installed with the package."""

    def __init__(self, machine: WindowsMachine, complete: bool, steps: int) -> None:
        super().__init__(machine, complete, steps)
        self.others_budget = CodeBudget(tokens=MAX_TOKENS, trees=self.budget.trees)
        self._followed: dict[str, bool] = {}
        """Packages of others by their names, with whether their code is followed."""
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
        beside = self.machine.view.beside
        if self._inside and (beside is None or not beside.complete):
            raise Undecided(f"whether {name} is installed is not known")
        return super()._import_absent(name, path)

    def _package(self, name: str) -> str:
        """The package that is followed or not: in a namespace that several distributions share, the one below it."""
        top, _, rest = name.partition(".")
        shared = f"{SITE_PACKAGES}/{top}/__init__.py" not in self.machine.view
        return f"{top}.{rest.partition('.')[0]}" if shared and rest else top

    def _is_followed(self, package: str) -> bool:
        """Whether a package is small, and has DLLs, or code that has to do with them."""
        view = self.machine.view
        if not self.complete or view.beside is None:
            return False
        folder = f"{SITE_PACKAGES}/{package.replace('.', '/')}/"
        files = [file for file in view.files if file.path.startswith(folder)]
        code = [file for file in files if file.path.endswith(".py")]
        if sum(file.size for file in code) > LARGEST_CODE:
            return False
        return any(file.path.lower().endswith(".dll") for file in files) or any(
            word in view.source(file.path).read_at(0, file.size) for file in code for word in WORDS
        )

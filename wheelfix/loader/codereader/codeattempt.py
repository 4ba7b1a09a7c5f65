"""One load of one file at one point of Python code: whether it succeeds, in the process so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codeprocess import fails_everywhere
from wheelfix.loader.codereader.codestore import CERTAIN, LATER
from wheelfix.loader.codereader.codevalue import (
    ROOT,
    is_absolute,
    tidy,
)
from wheelfix.loader.loadcall import AS_PYTHON_DOES, DLL_LOAD_DIR, MOD_NOT_FOUND
from wheelfix.loader.view import base_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.loader.codereader.codestore import CodeState
    from wheelfix.loader.loadcall import Failure


class LoadAttempt:
    """One load of one file, at this point of the code."""

    def __init__(self, run: CodeState, text: str, flags: int | None) -> None:
        self.run, self.text, self.flags = run, text, flags
        self.standard = flags == 0
        """Whether it looks as programs do by default, which means along PATH."""
        self.failure: Failure | None = None
        """Why the load of a file that is there fails."""
        self.found = False
        """Whether there is a file."""
        self.resolved = ""
        """The file of the view that a bare name stands for."""

    @property
    def chain(self) -> tuple[str, ...]:
        """The way from a file that is there to the DLL that is not found; empty where that is not why it fails."""
        if self.failure is None or self.failure.code != MOD_NOT_FOUND or len(self.failure.chain) < 2:
            return ()
        return tuple(base_name(step) for step in self.failure.chain)

    def outcome(self) -> bool | None:
        """Whether the load succeeds: True, False, or None if that is not known."""
        path = tidy(self.text)
        if "*" in path:
            return None
        if is_relative(self.text):  # a last resort of code that has looked in its package before
            return False if any("/" in name for name in self.run.looked_for) else None
        return self._of_path(path) if is_absolute(self.text) else self._of_name(path)

    def _of_path(self, path: str) -> bool | None:
        files = self.run.files
        if not (path.lower().endswith((".dll", ".pyd", ".drv", ".ocx")) or files.exists(path)):
            path += ".dll"
        found, process = files.exists(path, folder=False), self.run.process
        self.found = bool(found)
        if not found or process is None or path[1:2] == ":":
            return found
        if self.run.level != CERTAIN:
            if self.run.level != LATER:
                process.settled = False
            return True
        return self._load(lambda flags: process.load(files.spelled(path), flags, path_folders(self.run)))

    def _load(self, load: Callable[[int], Failure | None]) -> bool:
        """Load in the process of the code; False if that fails for certain."""
        process, run = self.run.process, self.run
        assert process is not None
        flags = AS_PYTHON_DOES if self.flags is None else self.flags
        failure = load(flags)
        if failure is not None and not fails_everywhere(failure):
            self._settle()
            failure = load(flags)
        known = self.flags is not None or failure is None or failure.code != MOD_NOT_FOUND
        if failure is not None and known and process.is_certain(failure, flags, path_folders(run)):
            self.failure = failure
        return self.failure is None

    def _settle(self) -> None:
        """Look at everything that may have happened: modules of other distributions may load whatever they need."""
        self.run.catch_up()
        if self.run.process is not None and self.run.relies_on_others():
            self.run.process.settled = False

    def _of_name(self, path: str) -> bool | None:
        run, process = self.run, self.run.process
        name = path if "." in path else path + ".dll"
        known = process is not None and run.level == CERTAIN and self.flags is not None
        found = run.files.finds(name, self._folders(known))
        if not found and known and process is not None:
            self._settle()
            known = process.settled
            found = run.files.finds(name, self._folders(known))
        if found:
            if known and process is not None and run.files.named(name):
                self.resolved = process.where(name, (self.flags or 0) & ~DLL_LOAD_DIR, path_folders(run))
                return self._load(lambda flags: process.load_by_name(name, flags, path_folders(run)))
            return True
        loaded = {target.rpartition("/")[2].lower() for item in run.loads for target in item.targets}
        if path.lower() in loaded and not all(item.fails for item in run.loads if path in item.targets):
            return None
        if found is None:  # it is in the package, where this load may not look
            return False if known and (not self.standard or path_folders(run) is not None) else None
        return None if not self.standard and run.relies_on_others() else False

    def _folders(self, known: bool) -> tuple[str, ...]:
        """The folders in which a bare name is looked for."""
        if known and self.run.process is not None:
            return path_folders(self.run) or () if self.standard else self.run.process.folders
        return () if self.standard else tuple(item.folder for item in self.run.folders)


def path_folders(run: CodeState) -> tuple[str, ...] | None:
    """The folders of the view that are on PATH by now; None if that is not known."""
    value = run.store.get(run.variables, "PATH")
    if value is None:
        return () if not run.files.sets_variable("PATH") else None
    texts = [atom for atom in value if isinstance(atom, str)]
    if len(value) != 1 or len(texts) != 1:
        return None
    return tuple(tidy(part) for part in texts[0].split(";") if part.startswith(f"{ROOT}/"))


def is_relative(text: str) -> bool:
    """Whether a name has folders, but does not say where they begin: below the current folder, whichever that is."""
    return not is_absolute(text) and ("/" in text or "\\" in text)

"""What Python code may ask about files, answered where nothing is known about any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import Machine

if TYPE_CHECKING:
    from wheelfix.loader.codereader.codeprocess import CodeProcess


class NoFiles:
    """Nothing is known about any file: for code that is read by itself."""

    machine = Machine.AMD64
    python: tuple[int, int] | None = None

    def exists(self, path: str, *, folder: bool | None = None) -> bool | None:
        """Whether there is a file (or, as asked, a folder) of this path; None if that is not known."""
        return None

    def names(self, folder: str) -> tuple[str, ...] | None:
        """The names in a folder; None if that is not known."""
        return None

    def below(self, folder: str, pattern: str) -> tuple[str, ...] | None:
        """The files below a folder whose names fit a pattern; None if that is not known."""
        return None

    def module(self, name: str) -> str | None:
        """The file of a module of the package; empty if the package does not have it, None if that is not known."""
        return None

    def source(self, path: str) -> str | None:
        """The source of a Python file that is small enough."""
        return None

    def text(self, path: str) -> str | None:
        """The content of a small text file; None if there is none, or that is not known."""
        return None

    def is_own(self, path: str) -> bool:
        """Whether only this distribution can have a file of that path."""
        return False

    def acts_on_dlls(self, path: str) -> bool:
        """Whether importing a file of another distribution adds folders or loads DLLs."""
        return False

    def finds(self, name: str, folders: tuple[str, ...]) -> bool | None:
        """Whether a load by bare name finds a file in Windows, beside Python or in some folders; None if unknown."""
        return None

    def sets_variable(self, name: str) -> bool:
        """Whether the package's own code gives a value to an environment variable, for other files of it to read."""
        return False

    def named(self, name: str) -> bool:
        """Whether there is a DLL of that name somewhere."""
        return False

    def spelled(self, path: str) -> str:
        """A path of a file in the spelling of the file itself: Windows does not care about case."""
        return path

    def process(self, path: str) -> CodeProcess | None:
        """The process in which a file begins to run; None if nothing is known about it."""
        return None

    def run_before(self, path: str) -> tuple[str, ...] | None:
        """The files with code about DLLs that run before one file of a package; None if that is not known."""
        return None

    def loading_in(self, path: str) -> tuple[tuple[str, ...], bool]:
        """The files with code about DLLs that importing a file runs, in order, and whether these are all."""
        return (), True

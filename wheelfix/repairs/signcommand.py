"""The signing command as the user typed it: its program, and its words with the files put in.

``{file}`` stands for one file that the program signs where it is, ``{files}`` for several, ``{out}`` for the name of
the signed copy that some programs insist on, ``{cwd}`` for the folder that wheelfix was started in. The words never go
through a shell, so no name in a wheel can become a command.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.programs import find_program
from wheelfix.base.values import dataclass
from wheelfix.errors import EnvironmentFailure, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FILE, FILES, OUT, CWD = "{file}", "{files}", "{out}", "{cwd}"
LONGEST = 30_000
"""Characters of one command line; Windows takes 32 767."""
_BATCH = (".bat", ".cmd")


@dataclass(frozen=True, slots=True)
class Staged:
    """A file to be signed, outside of the wheel."""

    path: Path
    """Where the program finds it."""
    out: Path
    """Where the program puts the signed copy, if the command has ``{out}``."""


@dataclass(frozen=True, slots=True)
class SignCommand:
    """A command that signs files."""

    program: str
    """An absolute path."""
    words: tuple[str, ...]
    """What follows the program, with the placeholders."""

    @classmethod
    def parse(cls, text: str, current: Path | None = None) -> SignCommand:
        """Return the command of a ``--with``; UsageError if it makes no sense, EnvironmentFailure without a program."""
        here = (current or Path.cwd()).absolute()
        words = split_command(text)
        _refuse(words)
        rest = tuple(_as_seen_from(here, word) for word in words[1:])
        return cls(_program(words[0].replace(CWD, str(here)), here), tuple(w.replace(CWD, str(here)) for w in rest))

    @property
    def takes_several(self) -> bool:
        """Whether one run of the program signs several files."""
        return FILES in self.words

    @property
    def makes_copies(self) -> bool:
        """Whether the program writes the signed file to another place."""
        return any(OUT in word for word in self.words)

    def runs(self, files: Sequence[Staged]) -> Iterator[tuple[Staged, ...]]:
        """Yield the files of each run: one at a time, or as many as a command line takes."""
        if not self.takes_several:
            yield from ((file,) for file in files)
            return
        fixed = sum(len(word) + 3 for word in (self.program, *self.words))
        group: list[Staged] = []
        length = fixed
        for file in files:
            more = len(str(file.path)) + 3
            if group and length + more > LONGEST:
                yield tuple(group)
                group, length = [], fixed
            group.append(file)
            length += more
        if group:
            yield tuple(group)

    def argv(self, files: Sequence[Staged]) -> list[str]:
        """Return the words of one run."""
        made = [self.program]
        for word in self.words:
            if word == FILES:
                made += [str(file.path) for file in files]
            else:
                made.append(word.replace(FILE, str(files[0].path)).replace(OUT, str(files[0].out)))
        return made


def split_command(text: str) -> list[str]:
    """Split a command into words: quotes keep blanks together, and backslashes stay, as Windows paths need them."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    try:
        return list(lexer)
    except ValueError as error:
        raise UsageError(
            "the command of --with cannot be split into words",
            because=str(error).lower(),
            hint="close every quotation mark; a backslash does not escape one",
        ) from error


def _refuse(words: Sequence[str]) -> None:
    """UsageError for a command that could not sign anything."""
    example = 'for example: --with "signtool sign /fd SHA256 /a {file}"'
    if not words:
        raise UsageError("--with needs a command", hint=example)
    rest = words[1:]
    has_file, has_files = any(FILE in word for word in rest), FILES in rest
    if any(FILES in word and word != FILES for word in rest):
        raise UsageError("{files} must be a word of its own", because="it stands for several words", hint=example)
    if not has_file and not has_files:
        raise UsageError(
            "the command of --with does not say where the file goes", because="it has no {file}", hint=example
        )
    if has_file and has_files:
        raise UsageError("{file} and {files} contradict each other", because="one run signs either one file or several")
    if has_files and any(OUT in word for word in rest):
        raise UsageError("{files} and {out} contradict each other", because="{out} is the name of one file")


def _program(word: str, here: Path) -> str:
    """Return the absolute path of the program; the current folder counts only for a word that is a path."""
    if any(mark in word for mark in ("/", "\\", ":") if mark != "\\" or os.name == "nt"):
        path = here / word
        if path.suffix.lower() in _BATCH:
            raise _batch(word)
        if not path.is_file():
            raise EnvironmentFailure(f"the signing program {word} does not exist", hint="check the path in --with")
        if not os.access(path, os.X_OK):
            raise EnvironmentFailure(f"the signing program {word} cannot be run", because="it is not executable")
        return str(path)
    if word.lower().endswith(_BATCH):
        raise _batch(word)
    found = find_program(word)
    if found is None:
        hint = "name its whole path in --with"
        if word.lower() in ("signtool", "signtool.exe"):
            hint += r'; the Windows SDK has it: "C:\Program Files (x86)\Windows Kits\10\bin\<version>\x64\signtool.exe"'
        raise EnvironmentFailure(f"the signing program {word} is not on PATH", hint=hint)
    return found


def _batch(word: str) -> UsageError:
    return UsageError(
        f"{word} is a batch file, which is not started",
        because="cmd.exe reads characters in file names as commands",
        hint='name the program that the batch file runs, or use a script: --with "pwsh -File sign.ps1 {file}"',
    )


def _as_seen_from(here: Path, word: str) -> str:
    """Return the word, made absolute if it is the relative path of a file: the program runs in an empty folder.

    Only a word with a slash or a suffix is taken for a path, so that a file called ``SHA256`` changes nothing.
    """
    path = Path(word)
    looks_like_one = bool(path.suffix) or "/" in word or (os.name == "nt" and "\\" in word)
    if not looks_like_one or "{" in word or "://" in word or path.is_absolute():
        return word
    try:
        return str(here / path) if (here / path).is_file() else word
    except OSError:  # too long for a name
        return word

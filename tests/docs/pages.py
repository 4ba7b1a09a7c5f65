"""The documentation as tests see it: pages, blocks of code, commands, links."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from wheelfix.cli.main import main

HERE = Path(__file__).resolve().parents[2]
DOCS = HERE / "docs"
TOP = tuple(HERE / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "DESIGN.md", "SECURITY.md"))
PAGES = (*TOP, *sorted(DOCS.rglob("*.md")))
WRITTEN = tuple(page for page in PAGES if "Made by `python dev.py generate`" not in page.read_text(encoding="utf-8"))
"""Pages that people wrote; the others are made from the code."""

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_ORDER = re.compile(r"<!-- (exit|example) (\w+) -->\s*\Z")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code."""

    page: Path
    line: int
    language: str
    text: str
    orders: dict[str, str] = field(default_factory=dict)
    """What a comment right before it asks of the test: ``<!-- exit 1 -->``, ``<!-- example cu114 -->``."""

    @property
    def place(self) -> str:
        """Where it is, for the name of a test."""
        return f"{self.page.relative_to(HERE).as_posix()}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of code of a page."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        orders = {}
        before = text[: match.start()]
        while order := _ORDER.search(before):
            orders[order[1]] = order[2]
            before = before[: order.start()]
        yield Block(page, text.count("\n", 0, match.start()) + 1, match["language"], match["text"], orders)


def prose(page: Path) -> str:
    """Return the text of a page without its blocks of code."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a console block, and what it should print."""

    command: str
    output: tuple[str, ...]


def steps(block: Block) -> list[Step]:
    """Return the commands of a console block with the lines below each."""
    found = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:], ()))
        else:
            found[-1] = Step(found[-1].command, (*found[-1].output, line))
    return found


def fits(expected: tuple[str, ...], actual: list[str]) -> bool:
    """Whether an output is as shown; ``...`` alone stands for any lines, inside a line for any text."""
    if not expected:
        return not actual
    first, rest = expected[0], expected[1:]
    if first == "...":
        return any(fits(rest, actual[skip:]) for skip in range(len(actual) + 1))
    pattern = ".*".join(re.escape(part) for part in first.rstrip().split("..."))
    literal = bool(actual) and actual[0].rstrip() == first.rstrip()
    return bool(actual) and (literal or bool(re.fullmatch(pattern, actual[0].rstrip()))) and fits(rest, actual[1:])


_INLINE = re.compile(r"`(wheelfix [^`]+)`")
_LINE = re.compile(r"(?:^|[\s'\"/;])wheelfix(?:\.pyz)? (?P<rest>[a-z-].*)$")
_ENDS = re.compile(r"\s*(?:\|\||&&|;| >>? | # | \| |  ).*$")


def shown_commands(page: Path) -> Iterator[tuple[str, str]]:
    """Yield where each ``wheelfix …`` of a page stands, and the words behind it."""
    for match in _INLINE.finditer(prose(page)):
        yield f"{page.name}: {match[1]}", " ".join(match[1].split()[1:])
    for block in blocks(page):
        if block.language in ("python", "ini"):
            continue
        for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
            match = _LINE.search(line)
            shows = line.startswith("$ ") if block.language == "console" else not line.lstrip().startswith("#")
            if match and shows and "[OPTIONS]" not in line:
                words = _ENDS.sub("", match["rest"])
                # What is left over is the end of a string of another language: sh '…'
                yield (
                    f"{page.name}:{number}",
                    words[:-1] if words.count(words[-1]) % 2 and words[-1] in "'\"" else words,
                )


def split(words: str) -> list[str]:
    """Split a command line of bash, cmd.exe or PowerShell; backslashes belong to paths."""
    lexer = shlex.shlex(words, posix=True)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    return list(lexer)


def run_line(command: str) -> tuple[int, str]:
    """Run a line; plain commands of ours in this process, because there are many."""
    if command.startswith("wheelfix ") and not set(command) & set("|<>&;*$("):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            return main(split(command)[1:]), output.getvalue()
    for tool in ("zip", "unzip"):
        if f"{tool} -" in command and not shutil.which(tool):
            pytest.skip(f"there is no {tool} here (Debian: apt-get install {tool})")
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    return done.returncode, done.stdout

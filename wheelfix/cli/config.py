"""Configuration files: ``wheelfix.toml`` or ``[tool.wheelfix]`` in pyproject.toml, checked, with the line of every key.

::

    [tool.wheelfix]                    # for every command that has the option
    fail-on = "warning"
    ignore = ["WF605"]

    [tool.wheelfix.repair]             # for one command
    wheel-dir = "wheelhouse"

    [tool.wheelfix.wheels."torch*"]    # for wheels of this name, over the rest
    ignore = ["WF303", "WF605"]

The commands' parsers say which options there are; this module knows TOML and lines.
"""

from __future__ import annotations

import fnmatch
import os
import re
from typing import TYPE_CHECKING, Any

from wheelfix.base.inputfiles import UnfitFile, read_file
from wheelfix.base.parsing import close_words, load_toml
from wheelfix.base.values import dataclass, field
from wheelfix.errors import UsageError
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


OWN_FILE = "wheelfix.toml"
PROJECT_FILE = "pyproject.toml"
WHEELS = "wheels"
MAX_SIZE = 1 << 20
"""Bytes of a configuration file."""
_FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Option:
    """A key that a configuration may have."""

    key: str
    """As the long option is spelled, without the dashes."""
    kind: str
    """``flag``, ``text``, ``number`` or ``list``."""
    choices: tuple[str, ...] = ()
    is_path: bool = False
    """A relative path counts from the folder of the configuration file."""
    commands: frozenset[str] = frozenset()
    per_wheel: bool = False
    """Whether it may differ from wheel to wheel."""
    only_typed: Mapping[str, str] = field(default_factory=dict)
    """The commands that take it from the command line only, and how it is typed there."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of a file with its value and place."""

    key: str
    value: bool | int | str | tuple[str, ...]
    where: str
    """``pyproject.toml:12``"""
    command: str = ""
    """The one command it is for; empty for all."""
    wheel: str = ""
    """The pattern of wheel names it is for; empty for all."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a file says."""

    path: Path | None = None
    settings: tuple[Setting, ...] = ()

    def for_command(self, command: str) -> Iterator[Setting]:
        """Yield the settings of a command that hold for every wheel, the more special ones last."""
        yield from (item for item in self.settings if not item.wheel and not item.command)
        yield from (item for item in self.settings if not item.wheel and item.command == command)

    def for_wheel(self, name: str) -> Iterator[Setting]:
        """Yield the settings for wheels of a name, in the order of the file."""
        plain = canonical(name)
        for item in self.settings:
            if item.wheel and fnmatch.fnmatchcase(plain, canonical(item.wheel)):
                yield item


# --------------------------------------------------------------------------------------------------------- finding


def find_file(start: Path) -> Path | None:
    """Return the nearest file at or above a folder that configures us; a pyproject.toml needs a section for that."""
    folder = start.resolve()
    for place in (folder, *folder.parents):
        own = place / OWN_FILE
        if own.is_file():
            return own
        project = place / PROJECT_FILE
        if project.is_file() and _speaks_of_us(project):
            return project
    return None


def _speaks_of_us(project: Path) -> bool:
    """Whether the file has a table of ours; looked up in the text, so that broken TOML of others does not matter."""
    try:
        text = read_file(project, MAX_SIZE).decode()
    except (OSError, UnicodeDecodeError):
        return False
    return "wheelfix" in text and any(table_header(line)[:2] == ("tool", "wheelfix") for line in text.splitlines())


# --------------------------------------------------------------------------------------------------------- reading


def read_configuration(path: Path, options: Mapping[str, Option], commands: Sequence[str]) -> Configuration:
    """Return what a file says; UsageError with every fault, each with its key and line."""
    try:
        text = read_file(path, MAX_SIZE).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} cannot be read", because="it is not UTF-8") from error
    except UnfitFile as error:
        raise UsageError(f"{path} cannot be read", because=str(error)) from error
    try:
        document = load_toml(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML", because=str(error)) from error
    own = path.name != PROJECT_FILE
    tool = document.get("tool", {})
    table = document if own else tool.get("wheelfix", {}) if isinstance(tool, dict) else tool
    reader = _ConfigReader(path, KeyLines(text, () if own else ("tool", "wheelfix")), options, tuple(commands))
    reader.read(table)
    if reader.faults:
        raise _error(path, reader.faults)
    return Configuration(path, tuple(reader.settings))


def _error(path: Path, faults: Sequence[tuple[str, str]]) -> UsageError:
    """One error for all faults of a file; each is on a line of its own, none is the reason of another."""
    if len(faults) == 1:
        return UsageError(faults[0][0], hint=faults[0][1])
    lines = [f"{message}; {hint}" if hint else message for message, hint in faults[:_FAULTS_SHOWN]]
    if len(faults) > _FAULTS_SHOWN:
        lines.append(f"and {len(faults) - _FAULTS_SHOWN} more")
    return UsageError(f"{path} has {len(faults)} errors", because=lines)


@dataclass
class _ConfigReader:
    """Walks the tables, and gathers settings and faults."""

    path: Path
    lines: KeyLines
    options: Mapping[str, Option]
    commands: tuple[str, ...]
    settings: list[Setting] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    """What is wrong, and what to try."""

    def read(self, table: object) -> None:
        if not isinstance(table, dict):
            self.faults.append((f"{self.path}: tool.wheelfix is not a table", ""))
            return
        for key, value in table.items():
            if key == WHEELS:
                self._read_wheels(value)
            elif key in self.commands and isinstance(value, dict):
                self._read_options(value, command=key)
            else:
                self._read_options({key: value})

    def _read_wheels(self, tables: object) -> None:
        if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
            where = self._where((WHEELS,))
            self.faults.append((f'{where}: wheels holds one table for each name, as in [wheels."torch*"]', ""))
            return
        for pattern, table in tables.items():
            self._read_options(table, wheel=pattern)

    def _read_options(self, table: Mapping[str, Any], command: str = "", wheel: str = "") -> None:
        above = (WHEELS, wheel) if wheel else (command,) if command else ()
        for key, value in table.items():
            where = self._where((*above, key))
            option = self.options.get(key.replace("_", "-"))
            if option is None or (command and command not in option.commands):
                self.faults.append((f"{where}: there is no option {key!r}{_of(command)}", self._meant(key, command)))
            elif command in option.only_typed or (not command and option.only_typed):
                typed = option.only_typed.get(command) or next(iter(option.only_typed.values()))
                self.faults.append((f"{where}: {option.key!r} is taken from the command line only", f"type {typed}"))
            elif wheel and not option.per_wheel:
                self.faults.append((f"{where}: {key!r} cannot differ from wheel to wheel", "put it above the wheels"))
            else:
                self._take(option, value, where, command, wheel)

    def _take(self, option: Option, value: object, where: str, command: str, wheel: str) -> None:
        checked = _check(option, value)
        if isinstance(checked, _SettingFault):
            self.faults.append((f"{where}: {option.key} {checked.message}", checked.hint))
            return
        if option.is_path:
            outside = next((text for text in _texts(option, checked) if not _is_below(self.path.parent, text)), None)
            if outside is not None:
                self.faults.append(
                    (
                        f"{where}: {option.key} leads out of the folder of the file: {outside!r}",
                        f"a file may name paths below its own folder; type others: --{option.key}",
                    )
                )
                return
            checked = self._from_here(option, checked)
        self.settings.append(Setting(option.key, checked, where, command, wheel))

    def _from_here(self, option: Option, value: bool | int | str | tuple[str, ...]) -> str | tuple[str, ...]:
        """Return paths as seen from where the file is."""
        if isinstance(value, tuple):
            return tuple(self._path(option, item) for item in value)
        return self._path(option, str(value))

    def _path(self, option: Option, text: str) -> str:
        kind, equals, name = text.partition("=") if option.key == "report" else ("", "", text)
        return f"{kind}{equals}{self.path.parent / name}"

    def _where(self, keys: tuple[str, ...]) -> str:
        line = self.lines.find(keys)
        return f"{self.path.name}:{line}" if line else self.path.name

    def _meant(self, key: str, command: str) -> str:
        if len(self.faults) >= _FAULTS_SHOWN or len(key) > 100:
            return ""
        known = [name for name, option in self.options.items() if not command or command in option.commands]
        close = close_words(key.replace("_", "-"), known + list(self.commands), 1)
        return f"did you mean {close[0]!r}?" if close else "--show-config lists what can be set"


def _texts(option: Option, value: bool | int | str | tuple[str, ...]) -> list[str]:
    """Return the paths in the value of an option."""
    texts = list(value) if isinstance(value, tuple) else [str(value)]
    return [text.partition("=")[2] for text in texts] if option.key == "report" else texts


def _is_below(folder: Path, text: str) -> bool:
    """Whether a path stays in a folder: as it is spelled, and where links lead."""
    if "\0" in text:
        return False
    base = str(folder.absolute())
    spelled = os.path.normpath(folder.absolute() / text)
    if not _is_inside(spelled, base):
        return False  # before anything is looked up: a path on another machine is not even asked for
    try:
        return _is_inside(os.path.realpath(spelled), os.path.realpath(base))
    except (OSError, ValueError):
        return False


def _is_inside(path: str, folder: str) -> bool:
    try:
        return os.path.normcase(os.path.commonpath([path, folder])) == os.path.normcase(folder)
    except ValueError:  # on another drive
        return False


def _of(command: str) -> str:
    return f" of {command}" if command else ""


@dataclass(frozen=True, slots=True)
class _SettingFault:
    message: str
    hint: str = ""


def _check(option: Option, value: object) -> bool | int | str | tuple[str, ...] | _SettingFault:
    """Return a value as its option wants it, or what is wrong with it."""
    if option.kind == "flag":
        return value if isinstance(value, bool) else _SettingFault(f"is true or false, not {value!r}")
    if option.kind == "number":
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        return _SettingFault(f"is a number from 1 on, not {value!r}")
    if option.kind == "list":
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return tuple(items)
        return _SettingFault(f"is a list of texts, not {value!r}")
    if isinstance(value, bool | list | dict):
        return _SettingFault(f"is a text, not {value!r}")
    text = str(value)
    if option.choices and text not in option.choices:
        close = close_words(text, option.choices, 1)
        hint = f"did you mean {close[0]!r}?" if close else ""
        return _SettingFault(f"is one of {', '.join(option.choices)}, not {text!r}", hint)
    return text


# ------------------------------------------------------------------------------------------------------------ tomllines
# Where keys and table headers stand in a TOML text, which the TOML reader does not report.


_PART = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|[\w-]+)\s*")


def table_header(line: str) -> tuple[str, ...]:
    """Return the keys of a table's header, ``[tool.wheelfix]``; none for any other line."""
    line = line.lstrip()
    return _key_parts(line.lstrip("["), "]") if line.startswith("[") else ()


def _key_parts(text: str, end: str) -> tuple[str, ...]:
    """Return the parts of the dotted key that a text begins with; none unless ``end`` follows it.

    Read part by part, and no character twice: the file may be of a stranger.
    """
    parts: list[str] = []
    part = _PART.match(text)
    while part:
        parts.append(part[1].strip("\"'"))
        if text.startswith(end, part.end()):
            return tuple(parts)
        part = _PART.match(text, part.end() + 1) if text.startswith(".", part.end()) else None
    return ()


class KeyLines:
    """Where keys stand in a TOML text, which the TOML reader does not report.

    Finds keys under table headers and dotted keys; a key inside an inline table is reported with the line of the table.
    """

    def __init__(self, text: str, above: tuple[str, ...]) -> None:
        self._above = above
        self._numbers: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), 1):
            if header := table_header(line):
                table = header
                self._numbers.setdefault(table, number)
            elif key := _key_parts(line, "="):
                self._numbers.setdefault((*table, *key), number)

    def find(self, keys: tuple[str, ...]) -> int:
        """Return the line of a key, or of the nearest table around it; 0 when even that is not found."""
        wanted = (*self._above, *keys)
        while wanted:
            if wanted in self._numbers:
                return self._numbers[wanted]
            wanted = wanted[:-1]
        return 0

"""Options from four places: the command line, over ``WHEELFIX_*`` variables, over a file, over the defaults.

A file may also set options for wheels of one name; these override the rest of the file, and variables override them.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import itertools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wheelfix.base.inputfiles import UnfitFile, distrust, read_file
from wheelfix.base.parsing import close_words, load_toml, regex, whole_number
from wheelfix.base.values import dataclass, field, frozen
from wheelfix.cli.commands import COMMANDS, Parser, say
from wheelfix.cli.common import check_outputs
from wheelfix.cli.parsers import (
    KINDS,
    SEVERAL,
    command_parser,
    current_spelling,
    long_name,
    option_rows,
    report_request,
)
from wheelfix.errors import UsageError
from wheelfix.model import canonical
from wheelfix.report.blocks import Block, Table, line, para
from wheelfix.report.canvas import TextStyle, render_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wheelfix.remote.ranges import WheelPath

    Place = TypeVar("Place", bound=WheelPath)

OWN_FILE = "wheelfix.toml"
PROJECT_FILE = "pyproject.toml"
WHEELS = "wheels"
MAX_SIZE = 1 << 20
"""Bytes of a configuration file."""
_FAULTS_SHOWN = 20


@frozen
class Option:
    """A key that a configuration may have."""

    key: str
    """As the long option is spelled, without the dashes."""
    rows: Mapping[str, Mapping[str, str]]
    """What ``options.txt`` says about it for each command that has it."""

    @property
    def is_path(self) -> bool:
        """Whether a relative path counts from the folder of the configuration file."""
        return any(row["kind"] in ("path", "paths", "report") for row in self.rows.values())

    @property
    def per_wheel(self) -> bool:
        """Whether it may differ from wheel to wheel."""
        return not any(row.get("whole_run") for row in self.rows.values())

    @property
    def only_typed(self) -> dict[str, str]:
        """The commands that take it from the command line only, and how it is typed there.

        Such are those that weaken a check, write over an input, or do what a file says: anybody who can put a file into
        a folder, or a line into a ``.env``, could choose them for somebody else.
        """
        return {command: long_name(row) for command, row in self.rows.items() if row.get("typed")}


@frozen
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


@frozen
class Configuration:
    """What files say: the user's own, then that of the project, which overrides it."""

    files: tuple[tuple[Path, tuple[Setting, ...]], ...] = ()

    @property
    def everything(self) -> tuple[Setting, ...]:
        """What all files say, in their order."""
        return tuple(item for _, settings in self.files for item in settings)

    def for_command(self, command: str) -> Iterator[Setting]:
        """Yield the settings of a command that hold for every wheel, the more special ones last."""
        for _, settings in self.files:
            for special in ("", command):
                yield from (item for item in settings if not item.wheel and item.command == special)

    def for_wheel(self, name: str) -> Iterator[Setting]:
        """Yield the settings for wheels of a name, in the order of the file."""
        plain = canonical(name)
        for item in self.everything:
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


def user_file() -> Path:
    """Return where a user's own configuration is, in the folder that the system has for that."""
    home = Path("~").expanduser()
    if sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        folder = home / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return folder / "wheelfix" / OWN_FILE


def read_configuration(
    path: Path, options: Mapping[str, Option], commands: Sequence[str], *, anywhere: bool = False
) -> tuple[Setting, ...]:
    """Return what a file says; UsageError with every fault, each with its key and line.

    With ``anywhere`` its paths may lead out of its folder: it is of the user, and not of a project.
    """
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
    lines = KeyLines(text, () if own else ("tool", "wheelfix"))
    reader = _ConfigReader(path, lines, options, tuple(commands), anywhere)
    reader.read(table)
    if reader.faults:
        raise _error(path, reader.faults)
    return tuple(reader.settings)


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
    anywhere: bool = False
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
            if option is None or (command and command not in option.rows):
                whose = f" of {command}" if command else ""
                self.faults.append((f"{where}: there is no option {key!r}{whose}", self._meant(key, command)))
            elif command in option.only_typed or (not command and option.only_typed):
                typed = option.only_typed.get(command) or next(iter(option.only_typed.values()))
                self.faults.append((f"{where}: {option.key!r} is taken from the command line only", f"type {typed}"))
            elif wheel and not option.per_wheel:
                self.faults.append((f"{where}: {key!r} cannot differ from wheel to wheel", "put it above the wheels"))
            else:
                self._take(option, value, where, command, wheel)

    def _take(self, option: Option, value: Any, where: str, command: str, wheel: str) -> None:
        rows = [option.rows[command]] if command else [*option.rows.values()]
        faults = [fault for row in rows if (fault := _fault(row, value)) is not None]
        if len(faults) == len(rows):  # each command reads it again as its own option
            self.faults.append((f"{where}: {option.key} {faults[0].what}", faults[0].hint))
            return
        made = tuple(value) if isinstance(value, list) else value
        if option.is_path:
            texts = [*made] if isinstance(made, tuple) else [str(made)]  # a name may be a number, as 2026
            outside = next((text for text in texts if not _is_below(self.path.parent, _file_in(option, text))), None)
            if outside is not None and not self.anywhere:
                self.faults.append(
                    (
                        f"{where}: {option.key} leads out of the folder of the file: {_file_in(option, outside)!r}",
                        f"a file may name paths below its own folder; type others: --{option.key}",
                    )
                )
                return
            paths = tuple(self._path(option, text) for text in texts)
            made = paths if isinstance(made, tuple) else paths[0]
        self.settings.append(Setting(option.key, made, where, command, wheel))

    def _path(self, option: Option, text: str) -> str:
        kind, equals, name = text.partition("=") if option.key == "report" else ("", "", text)
        return f"{kind}{equals}{self.path.parent / name}"

    def _where(self, keys: tuple[str, ...]) -> str:
        line, name = self.lines.find(keys), str(self.path) if self.anywhere else self.path.name
        return f"{name}:{line}" if line else name

    def _meant(self, key: str, command: str) -> str:
        if len(self.faults) >= _FAULTS_SHOWN or len(key) > 100:
            return ""
        known = [name for name, option in self.options.items() if not command or command in option.rows]
        close = close_words(key.replace("_", "-"), [word for word in (*known, *self.commands) if word != key], 1)
        return f"did you mean {close[0]!r}?" if close else "'wheelfix COMMAND --help' lists what can be set"


def _file_in(option: Option, text: str) -> str:
    """Return the path in a value of an option."""
    return text.partition("=")[2] if option.key == "report" else text


def _is_below(folder: Path, text: str) -> bool:
    """Whether a path stays in a folder: as it is spelled, and where links lead."""
    if "\0" in text:
        return False
    base = folder.absolute()
    spelled = Path(os.path.normpath(base / text))
    if not spelled.is_relative_to(base):
        return False  # before anything is looked up: a path on another machine is not even asked for
    try:
        return Path(os.path.realpath(spelled)).is_relative_to(os.path.realpath(base))
    except (OSError, ValueError):
        return False


def _fault(row: Mapping[str, str], value: object) -> UsageError | None:
    """Return what is wrong with a value for an option, or nothing."""
    try:
        read_value(row, value)
    except UsageError as error:
        return error
    return None


def read_value(row: Mapping[str, str], value: object) -> Any:
    """Return the value of an option as the command line would have made it; UsageError says what it should be."""
    kind, wanted = row["kind"], ""
    if "flag" in kind:
        wanted = "" if isinstance(value, bool) else "true or false"
    elif kind == "number":
        wanted = "" if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else "a number from 1 on"
    elif kind in SEVERAL:
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list | tuple) and all(isinstance(item, str) for item in items):
            return [_one(row, item) for item in items]
        wanted = "a list of texts"
    elif not isinstance(value, bool | list | tuple | dict):
        return _one(row, str(value))
    else:
        wanted = "a text"
    if wanted:
        raise UsageError(f"is {wanted}, not {value!r}")
    return value


def _one(row: Mapping[str, str], text: str) -> Any:
    choices, settings = tuple(row.get("choices", "").split()), KINDS[row["kind"]]
    read = settings.get("type") if settings.get("action") != "extend" else None  # a list has its words apart
    try:
        if row["kind"] == "report":
            return report_request(text, choices)
        if choices and text not in choices:
            close = close_words(text, choices, 1)
            hint = f"did you mean {close[0]!r}?" if close else ""
            raise UsageError(f"is one of {', '.join(choices)}, not {text!r}", hint=hint)
        return read(text) if read is not None else text
    except (argparse.ArgumentTypeError, ValueError, TypeError) as error:
        raise UsageError(f"cannot be used: {error}") from error


# ------------------------------------------------------------------------------------------------------------ tomllines
# Where keys and table headers stand in a TOML text, which the TOML reader does not report.


_PART = regex(r"\s*(\"[^\"]*\"|'[^']*'|[\w-]+)\s*")


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
        for number, row in enumerate(text.splitlines(), 1):
            if header := table_header(row):
                table = header
                self._numbers.setdefault(table, number)
            elif key := _key_parts(row, "="):
                self._numbers.setdefault((*table, *key), number)

    def find(self, keys: tuple[str, ...]) -> int:
        """Return the line of a key, or of the nearest table around it; 0 when even that is not found."""
        wanted = (*self._above, *keys)
        while wanted:
            if wanted in self._numbers:
                return self._numbers[wanted]
            wanted = wanted[:-1]
        return 0


PREFIX = "WHEELFIX_"
TRUE, FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off", ""})


@frozen
class Given:
    """A value with the place it came from."""

    value: Any
    where: str


@frozen
class Settings:
    """What is in force for one command, and where each value came from."""

    parser: Parser
    command: str
    defaults: dict[str, Any]
    typed: dict[str, Any]
    """What the command line says, by the name in the namespace."""
    environ: dict[str, Given]
    configuration: Configuration

    def values(self, wheel: str = "") -> dict[str, Given]:
        """Return every option in force for a wheel of this name; without a name for wheels in general."""
        found = {dest: Given(value, "default") for dest, value in self.defaults.items()}
        rows = option_rows(self.command)
        layers = [self.configuration.for_command(self.command)]
        layers += [self.configuration.for_wheel(wheel)] if wheel else []
        for item in itertools.chain.from_iterable(layers):
            if item.key in rows:
                value = _read(rows[item.key], item.key, item.value, item.where)
                self._put(found, item.key.replace("-", "_"), Given(value, item.where))
        for dest, given in self.environ.items():
            self._put(found, dest, given)
        for dest, value in self.typed.items():
            self._put(found, dest, Given(value, "command line"))
        return found

    def _put(self, found: dict[str, Given], dest: str, given: Given) -> None:
        """Set an option; what excludes it goes back to its default."""
        found[dest] = given
        if given.value:
            for other in excluded_by(self.parser, dest):
                found[other] = Given(self.defaults.get(other), "default")

    def namespace(self, wheel: str = "") -> argparse.Namespace:
        """Return what a command's ``execute`` takes."""
        args = argparse.Namespace(**{dest: given.value for dest, given in self.values(wheel).items()})
        args.command = self.command
        args.settings = self
        return args

    @property
    def used_file(self) -> Path | None:
        """The file that sets something for this command, if one does."""
        rows = option_rows(self.command)
        for path, settings in reversed(self.configuration.files):
            if any(item.command in ("", self.command) and item.key in rows for item in settings):
                return path
        return None

    @property
    def has_wheels(self) -> bool:
        """Whether some options differ from wheel to wheel."""
        return any(item.wheel for item in self.configuration.everything)


def arguments_of(argv: list[str]) -> argparse.Namespace | None:
    """Return what is asked of a command, from all four places; None after ``--show-config``, which is answered here."""
    name, rest = argv[0], current_spelling(argv[0], argv[1:])
    parser = command_parser(name)
    if "--show-config" in rest:
        parser.require_nothing()
        sys.stdout.write(describe(read_settings(parser, name, rest)))
        return None
    settings = read_settings(parser, name, rest)
    if settings.used_file is not None:
        say(f"wheelfix: configured by {settings.used_file}")
    args = settings.namespace()
    args.argv = argv  # a report says how it was made
    check_outputs(args)
    return args


def read_settings(parser: Parser, command: str, argv: list[str]) -> Settings:
    """Parse a command line and gather what variables and files add to it."""
    # Of two arguments for one thing (--sbom, --no-sbom) the first has the default, as argparse itself does it.
    defaults = {
        action.dest: _default(action)
        for action in reversed([*parser.actions()])
        if action.dest not in ("help", "short_help")
    }
    for action in parser.actions():
        action.default = argparse.SUPPRESS  # so that the namespace holds what was typed, and nothing else
    typed = vars(parser.parse_strictly(argv))
    given = {dest: typed.pop(dest) for dest in ("config", "no_config") if dest in typed}
    for dest in ("config", "no_config"):
        defaults.pop(dest, None)
    none = given.get("no_config", False) or given.get("config") == Path("none")
    file, own = _file(given.get("config"), none), user_file()
    found = [(file, read_configuration(file, *vocabulary()))] if file is not None else []
    if not none and own.is_file() and own != file:
        found.insert(0, (own, read_configuration(_trusted(own), *vocabulary(), anywhere=True)))
    return Settings(parser, command, defaults, typed, read_environ(command), Configuration(tuple(found)))


def _default(action: argparse.Action) -> Any:
    """Return the default of an argument; argparse makes an empty list of a missing ``PATH…``."""
    return [] if action.default is None and action.nargs in ("*", "+") else action.default


def _file(named: Path | None, refused: bool) -> Path | None:
    if refused:
        return None
    if named is not None:
        return _existing(named)  # its name was typed, so it was chosen
    variable = os.environ.get(PREFIX + "CONFIG")
    found = _existing(Path(variable)) if variable else find_file(Path.cwd())
    return _trusted(found) if found is not None else None


def _trusted(found: Path) -> Path:
    """Return a file that nobody chose on the command line; UsageError if it may be of somebody else."""
    if why := distrust(found):
        raise UsageError(
            f"the configuration in {found} is refused",
            because=why,
            hint=f"read it; then type --config {found} to use it, or --config none",
        )
    return found


def _existing(named: Path) -> Path:
    if not named.is_file():
        raise UsageError(f"there is no configuration file {named}")
    return named


def read_environ(command: str) -> dict[str, Given]:
    """Return the options that variables such as ``WHEELFIX_FAIL_ON`` set."""
    found = {}
    for key, row in option_rows(command).items() if any(name.startswith(PREFIX) for name in os.environ) else ():
        name = PREFIX + key.upper().replace("-", "_")
        if name in os.environ:
            where = f"environment variable {name}"
            if row.get("typed"):
                option = long_name(row)
                raise UsageError(f"{where}: {option} is taken from the command line only", hint=f"type {option}")
            found[row["dest"]] = Given(_read(row, key, _as_written(row, os.environ[name]), where), where)
    return found


def _read(row: Mapping[str, str], key: str, value: object, where: str) -> Any:
    try:
        return read_value(row, value)
    except UsageError as error:
        raise UsageError(f"{where}: {key} {error.what}", hint=error.hint) from error


def _as_written(row: Mapping[str, str], text: str) -> object:
    """Return the text of a variable as the value that a file would have."""
    if "flag" in row["kind"] and text.strip().lower() in TRUE | FALSE:
        return text.strip().lower() in TRUE
    if row["kind"] == "number":
        return whole_number(text) or text
    if row["kind"] in SEVERAL:
        separator = os.pathsep if row["kind"] == "paths" else ","
        return [item.strip() for item in text.split(separator) if item.strip()]
    return text


def group_inputs(args: argparse.Namespace, paths: Iterable[Place]) -> list[tuple[argparse.Namespace, list[Place]]]:
    """Return the inputs in their order, those that lie together and share all options together."""
    settings: Settings = args.settings
    if not settings.has_wheels:
        return [(args, list(paths))]
    groups: list[tuple[argparse.Namespace, list[Place]]] = []
    for path in paths:
        own = settings.namespace(path.name.split("-")[0])
        if groups and vars(groups[-1][0]) == vars(own):
            groups[-1][1].append(path)
        else:
            groups.append((own, [path]))
    return groups


# ---------------------------------------------------------------------------------------- options of the parsers


def excluded_by(parser: Parser, dest: str) -> list[str]:
    """Return the options that cannot go with one."""
    others = []
    for group in parser.exclusive_groups():
        dests = [action.dest for action in group]
        if dest in dests:
            others += [other for other in dests if other != dest]
    return others


@functools.cache
def vocabulary() -> tuple[dict[str, Option], tuple[str, ...]]:
    """Return every key that a file may have."""
    known: dict[str, dict[str, Mapping[str, str]]] = {}
    for command in COMMANDS:
        for key, row in option_rows(command).items():
            known.setdefault(key, {})[command] = row
    return {key: Option(key, rows) for key, rows in known.items()}, tuple(COMMANDS)


# ------------------------------------------------------------------------------------------------- --show-config


def describe(settings: Settings) -> str:
    """Return what somebody wrote: in files, in variables and on the command line, in this order, and where."""
    files = [str(path) for path, _ in settings.configuration.files]
    known = option_rows(settings.command)
    values = {key: given for dest, given in settings.values().items() if (key := dest.replace("_", "-")) in known}
    written = [item.key for item in settings.configuration.everything]
    order = dict.fromkeys([*written, *(dest.replace("_", "-") for dest in (*settings.environ, *settings.typed))])
    rows = [
        (key, _shown(values[key].value), values[key].where)
        for key in order
        if key in values and values[key].where != "default"
    ]
    heads = ("option", "value", "where")
    blocks: list[Block] = [line(f"wheelfix {settings.command}, configured by {' and '.join(files) or 'no file'}")]
    blocks += [para(), Table(heads, rows) if rows else line("everything has its default")]
    wheels: dict[str, list[tuple[str, str, str]]] = {}
    for item in settings.configuration.everything:
        if item.wheel and item.key in known:
            wheels.setdefault(item.wheel, []).append((item.key, _shown(item.value), item.where))
    for pattern, rows in wheels.items():
        blocks += [para(), line(f"wheels called {pattern}:"), Table(heads, rows)]
    return render_text(blocks, TextStyle())


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join("=".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in value) or "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "-" if value is None else str(value)

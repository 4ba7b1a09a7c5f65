"""Options of a command: its parser, made from ``options.txt``, and their values from four places.

The command line counts over ``WHEELFIX_*`` variables, these over a file, and that over the defaults. A file may also
set options for wheels of one name; these override the rest of the file, and variables override them. The commands' own
modules are not imported here: ``--help``, completion and configuration files need the parsers only.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wheelfix.base.inputfiles import UnfitFile, distrust, read_file
from wheelfix.base.options import PLATFORMS
from wheelfix.base.parsing import close_words, load_toml, size_in_bytes, whole_number
from wheelfix.base.values import dataclass, field, frozen, grouped, replace
from wheelfix.cli.commands import COMMANDS, Parser, block, comma_list, did_you_mean, path_list, root_parser, say
from wheelfix.cli.common import check_outputs
from wheelfix.errors import UsageError
from wheelfix.model import canonical
from wheelfix.report.blocks import Block, Table, line, para
from wheelfix.report.canvas import COLOURS, TextStyle, render_text
from wheelfix.report.document import SCAN_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from wheelfix.cli.commands import Subparsers
    from wheelfix.remote.ranges import WheelPath


def positive(text: str) -> int:
    """Return a whole number from 1 on."""
    number = whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from 1 on")
    return number


def size(text: str) -> int:
    """Return a number of bytes from ``512M``, ``2 GiB`` or plain digits."""
    found = size_in_bytes(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write it as 512M, 2G or in bytes")
    return found


def report_request(text: str, kinds: tuple[str, ...] = SCAN_KINDS) -> tuple[str, Path]:
    """Return ``sarif=out.sarif`` as a kind and a file."""
    kind, equals, name = text.partition("=")
    suffixes = {"htm": "html", "md": "markdown", "txt": "text", "xml": "junit"}
    suffix = kind.rpartition(".")[2].lower()
    if not equals and "." in kind and suffixes.get(suffix, suffix) in kinds:
        raise argparse.ArgumentTypeError(f"{text!r} has no kind; did you mean {suffixes.get(suffix, suffix)}={text}?")
    if kind not in kinds:
        meant = did_you_mean(kind, kinds)
        raise argparse.ArgumentTypeError(
            f"{kind!r} is not a kind of report; " + (meant or f"known are {', '.join(kinds)}")
        )
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} has no file; write it as {kind}=FILE")
    return kind, Path(name)


LIMITS = {"members": positive, "size": size, "total": size, "ratio": positive, "path": positive}
"""What an archive may ask of us before it counts as an attack, and of Windows: how each is written."""


def limit(text: str) -> tuple[str, int]:
    """Return ``members=1000`` as a name and a number."""
    name, _, value = text.partition("=")
    if name not in LIMITS:
        known = did_you_mean(name, LIMITS) or f"known are {', '.join(LIMITS)}"
        raise argparse.ArgumentTypeError(f"{name!r} is not a limit; {known}")
    return name, LIMITS[name](value)


KINDS: dict[str, dict[str, Any]] = {
    "text": {},
    "flag": {"action": "store_true"},
    "unflag": {"action": "store_false"},
    "number": {"type": positive},
    "size": {"type": size},
    "path": {"type": Path},
    "words": {"action": "extend", "type": comma_list},
    "texts": {"action": "append"},
    "paths": {"action": "append", "type": Path},
    "search": {"action": "extend", "type": path_list},
    "limits": {"action": "append", "type": limit},
    "report": {"action": "append"},
}
"""What an option takes, and how argparse is told so."""
SEVERAL = frozenset({"words", "texts", "paths", "search", "limits", "report"})
CHOICES = {"kinds": SCAN_KINDS, "platforms": PLATFORMS, "colours": COLOURS}
"""Lists of choices that are made elsewhere."""


OTHER_WORDS = {"check": "scan", "show": "scan", "lint": "scan", "inspect": "scan", "audit": "scan", "fix": "repair"}
"""What commands of other tools are called, with ours."""


def command_parser(name: str) -> Parser:
    """Return the parser of one command; a slip in its name is answered with the likely one."""
    if name not in COMMANDS:
        meant = f"did you mean '{OTHER_WORDS[name]}'?" if name in OTHER_WORDS else did_you_mean(name, COMMANDS)
        hint = meant or "'wheelfix --help' lists the commands"
        raise UsageError(f"there is no command {name!r}", hint=hint)
    return _made(functools.partial(Parser, prog=f"wheelfix {name}"), name)


def whole_parser() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser that has all commands, and those of the commands."""
    root = root_parser()
    subparsers: Subparsers = root.add_subparsers(dest="command", prog="wheelfix", parser_class=Parser)
    made = {name: functools.partial(subparsers.add_parser, name, help=COMMANDS[name]) for name in COMMANDS}
    return root, {name: _made(make, name) for name, make in made.items()}


def _made(make: Callable[..., Parser], name: str) -> Parser:
    command = block(f"wheelfix {name}")
    parser = make(description=command["description"], epilog=f"examples:\n{command['examples']}\n")
    for title, options in _groups(name):
        group = parser.add_argument_group(title) if title else parser
        for words in options.split():
            place = group.add_mutually_exclusive_group() if "|" in words else group
            for word in words.split("|"):
                add_option(place, _row(name, word))
    parser.usage = parser.shown_usage()
    return parser


def _groups(command: str) -> Iterator[tuple[str, str]]:
    """Give the titles of a command's groups, each with its options; the first has none."""
    for row in (*block(f"wheelfix {command}")["options"].splitlines(), "<configuration>"):
        shared = re.match(r"<(\w+)>", row)
        title, _, options = (block("groups")[shared[1]] + row[shared.end() :] if shared else row).rpartition(": ")
        yield title, options


@functools.cache
def option_rows(command: str) -> dict[str, dict[str, str]]:
    """Return what ``options.txt`` says about the options of a command, by the keys that files have for them."""
    found: dict[str, dict[str, str]] = {}
    for _, options in _groups(command):
        for name in options.replace("|", " ").split():
            row = _row(command, name)
            if "dest" in row and not row.get("unnamed"):
                found.setdefault(row["dest"].replace("_", "-"), row)
    return found


def add_option(group: argparse._ActionsContainer, row: Mapping[str, str]) -> None:
    """Add an option to a parser, by what ``options.txt`` says about it."""
    choices, kind, default = tuple(row["choices"].split()), row["kind"], row.get("default")
    settings = KINDS[kind] | {field: row[field] for field in ("dest", "metavar", "nargs") if field in row}
    if kind in SEVERAL:
        settings["default"] = []
    elif default is not None:
        settings["default"] = whole_number(default) if kind == "number" else default
    if kind == "report":
        settings["type"] = functools.partial(report_request, kinds=choices)
    elif choices:
        settings["choices"] = choices
    if row.get("required"):
        settings["required"] = True
    shown = {
        "{choices}": ", ".join(choices),
        "{marked}": ", ".join(f"{choice} (default)" if choice == default else choice for choice in choices),
        "{default}": default or "",
        "\n": " ",
    }
    text = row.get("help") or argparse.SUPPRESS
    for mark, words in shown.items():
        text = text.replace(mark, words)
    group.add_argument(*row["names"].split(), help=text, **settings)


@functools.cache
def _row(command: str, name: str) -> dict[str, str]:
    """Return what is said about an option, for all commands and for one."""
    row = {"kind": "text", "names": f"--{name}", **block(name), **block(f"wheelfix {command} {name}")}
    if command == "ci" and name.startswith("trial-"):
        row |= {"names": f"--try-{name[6:]}", "help": ""}
    if command in WITHOUT_CONFIGURATION and name in ("config", "show-config"):
        row["help"] = ""
    if row["names"].startswith("-"):
        row.setdefault("dest", long_name(row)[2:].replace("-", "_"))
    words = (_row(command, "format") if name == "report" else row).get("choices", "")  # a report has every format
    row["choices"] = " ".join(CHOICES[words]) if words in CHOICES else words
    return row


def long_name(row: Mapping[str, str]) -> str:
    """Return how an option is typed: its long name."""
    return next(name for name in row["names"].split() if name.startswith("--"))


def choices_of(command: str, name: str) -> tuple[str, ...]:
    """Return what may be given for an option, where that is a list."""
    return tuple(_row(command, name)["choices"].split())


WITHOUT_CONFIGURATION = frozenset({"cache", "explain", "demo", "completion"})
"""Commands that no file configures."""


def current_spelling(name: str, argv: list[str]) -> list[str]:
    """Return the words with ``diagnose --issue`` for ``--report`` without ``KIND=FILE``, its name until 0.1.

    What follows ``--`` on the command line of ``ci`` are options of ``try``, which ``ci`` knows with a prefix.
    """
    if name == "ci" and "--" in argv:
        at = argv.index("--")
        own = [f"--try-{word[2:]}" if word.startswith("--") else word for word in argv[at + 1 :]]
        if own and "--try" not in argv[:at]:
            raise UsageError("what follows -- are options of 'wheelfix try'", hint="add --try before --")
        return [*argv[:at], *own]
    return [
        "--issue"
        if name == "diagnose" and word == "--report" and not re.match(r"\w+=", "".join(argv[number : number + 1]))
        else word
        for number, word in enumerate(argv, 1)
    ]


Place = TypeVar("Place", bound="WheelPath")

OWN_FILE = "wheelfix.toml"
PROJECT_FILE = "pyproject.toml"
WHEELS = "wheels"
MAX_SIZE = 1 << 20
"""Bytes of a configuration file."""
_FAULTS_SHOWN = 20


@frozen
class Setting:
    """An option with its value, and who says so."""

    key: str
    """As the long option is spelled, without the dashes."""
    value: Any
    """As the command line would have made it; of a file as it stands there, for each command reads it as its own."""
    where: str = "default"
    """``pyproject.toml:12``"""
    command: str = ""
    """The one command it is for; empty for all."""
    wheel: str = ""
    """The pattern of wheel names it is for; empty for all."""

    @property
    def dest(self) -> str:
        """The name in the namespace."""
        return self.key.replace("-", "_")


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
    return "wheelfix" in text and any(
        _is_header(line) and keys_in(line)[:2] == ("tool", "wheelfix") for line in text.splitlines()
    )


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


def read_configuration(path: Path, *, anywhere: bool = False) -> tuple[Setting, ...]:
    """Return what a file says; UsageError with every fault, each with its key and line.

    With ``anywhere`` its paths may lead out of its folder: it is of the user, and not of a project.
    """
    try:
        text = read_file(path, MAX_SIZE).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} cannot be read", because="it is not UTF-8") from error
    except UnfitFile as error:
        raise UsageError(f"{path} cannot be read", because=error) from error
    try:
        table: Any = load_toml(text)
    except ValueError as error:
        raise UsageError(f"{path} is not valid TOML", because=error) from error
    above = ("tool", "wheelfix") if path.name == PROJECT_FILE else ()
    for key in above:
        table = table.get(key, {}) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        raise UsageError(f"{path}: tool.wheelfix is not a table")
    reader = _ConfigReader(path, KeyLines(text, above), anywhere)
    settings: list[Setting] = []
    for keys, value in _entries(table):
        try:
            settings.append(reader.setting(keys, value))
        except UsageError as fault:
            reader.faults.append(fault)
    if len(reader.faults) == 1:
        raise reader.faults[0]
    if faults := reader.faults:  # each is on a line of its own, none is the reason of another
        lines = [f"{fault.what}; {fault.hint}" if fault.hint else fault.what for fault in faults[:_FAULTS_SHOWN]]
        lines += [f"and {len(faults) - _FAULTS_SHOWN} more"] if len(faults) > _FAULTS_SHOWN else []
        raise UsageError(f"{path} has {len(faults)} errors", because=lines)
    return tuple(settings)


def _entries(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Give every key with its value: ``jobs``, ``scan`` and ``jobs``, or ``wheels``, ``torch*`` and ``jobs``."""
    for key, value in table.items():
        if key == WHEELS and isinstance(value, dict) and all(isinstance(inner, dict) for inner in value.values()):
            yield from (((key, wheel, name), one) for wheel, inner in value.items() for name, one in inner.items())
        elif key in COMMANDS and isinstance(value, dict):
            yield from (((key, name), one) for name, one in value.items())
        else:
            yield (key,), value


@dataclass
class _ConfigReader:
    """Reads the keys of one file, and gathers what is wrong with them."""

    path: Path
    lines: KeyLines
    anywhere: bool
    faults: list[UsageError] = field(default_factory=list)

    def setting(self, keys: tuple[str, ...], value: Any) -> Setting:
        """Return what one key says; UsageError if that makes no sense."""
        line, name = self.lines.find(keys), str(self.path) if self.anywhere else self.path.name
        where = f"{name}:{line}" if line else name
        if keys == (WHEELS,):
            raise UsageError(f'{where}: wheels holds one table for each name, as in [wheels."torch*"]')
        key, command, wheel = keys[-1], "", ""
        if len(keys) > 1:
            command, wheel = (keys[0], "") if len(keys) == 2 else ("", keys[1])
        option = key.replace("_", "-")
        rows = [row for name, row in vocabulary().get(option, {}).items() if command in ("", name)]
        if not rows:
            whose = f" of {command}" if command else ""
            raise UsageError(f"{where}: there is no option {key!r}{whose}", hint=self._meant(option, command))
        # Options that weaken a check, write over an input, or do what a file says: anybody who can put a file into a
        # folder, or a line into a ``.env``, could choose them for somebody else.
        if typed := [row for row in rows if row.get("typed")]:
            hint = f"type {long_name(typed[0])}"
            raise UsageError(f"{where}: {option!r} is taken from the command line only", hint=hint)
        if wheel and any(row.get("whole_run") for row in rows):
            raise UsageError(f"{where}: {key!r} cannot differ from wheel to wheel", hint="put it above the wheels")
        if (fault := _fault(rows[0], value)) and all(_fault(row, value) for row in rows[1:]):
            raise UsageError(f"{where}: {option} {fault.what}")  # each command reads it again as its own option
        if any(row["kind"] in ("path", "paths", "report") for row in rows):
            texts = value if isinstance(value, list) else [str(value)]  # a name may be a number, as 2026
            paths = [self._path(option, text, where) for text in texts]
            value = paths if isinstance(value, list) else paths[0]
        return Setting(option, value, where, command, wheel)

    def _path(self, option: str, text: str, where: str) -> str:
        """Return a path, or ``KIND=FILE``, as it counts from the folder of the file, which it may not leave."""
        kind, equals, name = text.partition("=") if option == "report" else ("", "", text)
        if not self.anywhere and not _is_below(self.path.parent, name):
            raise UsageError(
                f"{where}: {option} leads out of the folder of the file: {name!r}",
                hint=f"a file may name paths below its own folder; type others: --{option}",
            )
        return f"{kind}{equals}{self.path.parent / name}"

    def _meant(self, option: str, command: str) -> str:
        if len(self.faults) >= _FAULTS_SHOWN or len(option) > 100:
            return ""
        known = [name for name, rows in vocabulary().items() if not command or command in rows]
        close = close_words(option, [word for word in (*known, *COMMANDS) if word != option], 1)
        return f"did you mean {close[0]!r}?" if close else "'wheelfix COMMAND --help' lists what can be set"


@functools.cache
def vocabulary() -> dict[str, dict[str, Mapping[str, str]]]:
    """Return every key that a file may have, with what ``options.txt`` says about it for each command that has it."""
    known: dict[str, dict[str, Mapping[str, str]]] = {}
    for command in COMMANDS:
        for key, row in option_rows(command).items():
            known.setdefault(key, {})[command] = row
    return known


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


MOST_VALUES = 5000
"""Values of one option in a file; argparse copies the list for each."""


def read_value(row: Mapping[str, str], value: object) -> Any:
    """Return the value of an option as the command line would have made it; UsageError says what it should be."""
    several = row["kind"] in SEVERAL
    if "flag" in row["kind"]:
        if not isinstance(value, bool):
            raise UsageError(f"is true or false, not {value!r}")
        return value
    items = value if several and isinstance(value, list) else [value]
    if len(items) > MOST_VALUES:
        raise UsageError(f"has more than {MOST_VALUES} values")
    if not all(type(item) in (str, int, float) for item in items):
        raise UsageError(f"is {'a list of texts' if several else 'a text or number'}, not {value!r}")
    parser = Parser(exit_on_error=False)
    add_option(parser, {**row, "required": ""})
    try:
        found = parser.parse_args([f"{long_name(row)}={item}" for item in items])
    except argparse.ArgumentError as error:
        raise UsageError(f"cannot be used: {error.message}") from error
    return getattr(found, row["dest"])


# ------------------------------------------------------------------------------------------------------------ tomllines
# Where keys and table headers stand in a TOML text, which the TOML reader does not report.


def keys_in(line: str) -> tuple[str, ...]:
    """Return the keys of a table's header, ``[tool.wheelfix]``, or of what is set in a line; none for other lines."""
    try:
        found: Any = load_toml(line if _is_header(line) else f"{line.partition('=')[0]}=0")
    except ValueError:
        return ()
    keys = []
    while isinstance(found, dict) and found:
        ((key, found),) = found.items()
        keys.append(key)
    return tuple(keys)


def _is_header(line: str) -> bool:
    return line.lstrip().startswith("[")


class KeyLines:
    """Where keys stand in a TOML text, which the TOML reader does not report.

    Finds keys under table headers and dotted keys; a key inside an inline table is reported with the line of the table.
    """

    def __init__(self, text: str, above: tuple[str, ...]) -> None:
        self._above = above
        self._numbers: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, row in enumerate(text.splitlines(), 1):
            if keys := keys_in(row):
                table = keys if _is_header(row) else table
                self._numbers.setdefault(keys if _is_header(row) else (*table, *keys), number)

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
class Settings:
    """What is in force for one command, and where each value came from."""

    parser: Parser
    command: str
    defaults: dict[str, Any]
    files: tuple[tuple[Path, tuple[Setting, ...]], ...]
    """What files say: the user's own, then that of the project, which overrides it."""
    given: tuple[Setting, ...]
    """What variables say, then what was typed, which overrides it."""

    @property
    def written(self) -> list[Setting]:
        """What all files say, in their order."""
        return [item for _, settings in self.files for item in settings]

    def values(self, wheel: str = "") -> dict[str, Setting]:
        """Return every option in force for a wheel of this name; without a name for wheels in general."""
        found = {dest: Setting(dest, value) for dest, value in self.defaults.items()}
        rows = option_rows(self.command)
        said = [_read(rows[item.key], item) for item in self._of_files(wheel) if item.key in rows]
        for item in (*said, *self.given):
            found[item.dest] = item
            for other in self.parser.excluded_by(item.dest) if item.value else ():
                found[other] = Setting(other, self.defaults.get(other))
        return found

    def _of_files(self, wheel: str) -> Iterator[Setting]:
        """Give what files say for the command and for a wheel, the more special later."""
        for _, settings in self.files:
            for special in ("", self.command):
                yield from (item for item in settings if not item.wheel and item.command == special)
        for item in self.written if wheel else ():
            if item.wheel and fnmatch.fnmatchcase(canonical(wheel), canonical(item.wheel)):
                yield item

    def namespace(self, wheel: str = "") -> argparse.Namespace:
        """Return what a command's ``execute`` takes."""
        args = argparse.Namespace(**{dest: item.value for dest, item in self.values(wheel).items()})
        args.command = self.command
        args.settings = self
        _refuse_contradictions(args)
        return args

    @property
    def used_file(self) -> Path | None:
        """The file that sets something for this command, if one does."""
        rows = option_rows(self.command)
        for path, settings in reversed(self.files):
            if any(item.command in ("", self.command) and item.key in rows for item in settings):
                return path
        return None


def _refuse_contradictions(args: argparse.Namespace) -> None:
    """UsageError for options of which ``options.txt`` says that they do not go together."""
    for row in block(f"wheelfix {args.command}").get("contradictions", "").splitlines():
        what, _, because = row.partition(": ")
        first, joint, second = re.split("( and | without )", what)
        if _is_given(args, first) and _is_given(args, second) is (joint == " and "):
            raise UsageError(what if joint == " without " else f"{what} contradict each other", because=because)


def _is_given(args: argparse.Namespace, words: str) -> bool:
    """Whether an option has another value than its default, or the very one that follows it: ``--layout libs``."""
    option, _, value = words.removeprefix("a ").partition(" ")
    row = _row(args.command, option.removeprefix("--"))
    found = getattr(args, row.get("dest", option))
    return found == value if value else found not in (None, [], False, row.get("default"))


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
    actions = [action for action in parser.actions() if action.dest not in ("help", "short_help")]
    # Of two arguments for one thing (--sbom, --no-sbom) the first has the default, as argparse itself does it.
    defaults = {action.dest: _default(action) for action in reversed(actions)}
    for action in parser.actions():
        action.default = argparse.SUPPRESS  # so that the namespace holds what was typed, and nothing else
    typed = vars(parser.parse_strictly(argv))
    named, refused = (typed.pop(dest, defaults.pop(dest, None)) for dest in ("config", "no_config"))
    none = refused or named == Path("none")
    file, own = _file(named, none), user_file()
    files = [(file, read_configuration(file))] if file is not None else []
    if not none and own.is_file() and own != file:
        files.insert(0, (own, read_configuration(_trusted(own), anywhere=True)))
    given = [*read_environ(command), *(Setting(dest, value, "command line") for dest, value in typed.items())]
    return Settings(parser, command, defaults, tuple(files), tuple(given))


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


def read_environ(command: str) -> Iterator[Setting]:
    """Give the options that variables such as ``WHEELFIX_FAIL_ON`` set."""
    for key, row in option_rows(command).items() if any(name.startswith(PREFIX) for name in os.environ) else ():
        name = PREFIX + key.upper().replace("-", "_")
        if name in os.environ:
            where = f"environment variable {name}"
            if row.get("typed"):
                option = long_name(row)
                raise UsageError(f"{where}: {option} is taken from the command line only", hint=f"type {option}")
            yield _read(row, Setting(key, _as_written(row, os.environ[name]), where))


def _read(row: Mapping[str, str], item: Setting) -> Setting:
    """Return a setting with its value as the command line would have made it."""
    try:
        return replace(item, value=read_value(row, item.value))
    except UsageError as error:
        raise UsageError(f"{item.where}: {item.key} {error.what}") from error


def _as_written(row: Mapping[str, str], text: str) -> object:
    """Return the text of a variable as the value that a file would have."""
    if "flag" in row["kind"] and text.strip().lower() in TRUE | FALSE:
        return text.strip().lower() in TRUE
    if row["kind"] in SEVERAL:
        separator = os.pathsep if row["kind"] == "paths" else ","
        return [item.strip() for item in text.split(separator) if item.strip()]
    return text


def group_inputs(args: argparse.Namespace, paths: Iterable[Place]) -> list[tuple[argparse.Namespace, list[Place]]]:
    """Return the inputs in their order, those that lie together and share all options together."""
    settings: Settings = args.settings
    if not any(item.wheel for item in settings.written):
        return [(args, list(paths))]
    groups: list[tuple[argparse.Namespace, list[Place]]] = []
    for path in paths:
        own = settings.namespace(path.name.split("-")[0])
        if groups and vars(groups[-1][0]) == vars(own):
            groups[-1][1].append(path)
        else:
            groups.append((own, [path]))
    return groups


# ------------------------------------------------------------------------------------------------- --show-config


def describe(settings: Settings) -> str:
    """Return what somebody wrote: in files, in variables and on the command line, in this order, and where."""
    files = [str(path) for path, _ in settings.files]
    known, values = option_rows(settings.command), settings.values()
    order = dict.fromkeys(item.dest for item in (*settings.written, *settings.given))
    said = [values[dest] for dest in order if dest.replace("_", "-") in known and values[dest].where != "default"]
    blocks: list[Block] = [line(f"wheelfix {settings.command}, configured by {' and '.join(files) or 'no file'}")]
    blocks += [para(), _table(said) if said else line("everything has its default")]
    wheels = grouped((item.wheel, item) for item in settings.written if item.wheel and item.key in known)
    for pattern, items in wheels.items():
        blocks += [para(), line(f"wheels called {pattern}:"), _table(items)]
    return render_text(blocks, TextStyle())


def _table(items: Sequence[Setting]) -> Table:
    rows = [(item.dest.replace("_", "-"), _shown(item.value), item.where) for item in items]
    return Table(("option", "value", "where"), rows)


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join("=".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in value) or "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "-" if value is None else str(value)

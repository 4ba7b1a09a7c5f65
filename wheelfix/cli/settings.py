"""Options from four places: the command line, over ``WHEELFIX_*`` variables, over a file, over the defaults.

A file may also set options for wheels of one name; these override the rest of the file, and variables override them.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wheelfix.base.inputfiles import distrust
from wheelfix.base.values import dataclass
from wheelfix.cli.commands import COMMANDS, CommaList, Parser, is_only_typed, say
from wheelfix.cli.common import check_outputs
from wheelfix.cli.config import Configuration, Option, Setting, find_file, read_configuration
from wheelfix.cli.parsers import command_parser, current_spelling
from wheelfix.errors import UsageError
from wheelfix.report.safe import legible, without_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wheelfix.remote.ranges import WheelPath

    Place = TypeVar("Place", bound=WheelPath)

PREFIX = "WHEELFIX_"
NOT_OURS = frozenset({"help", "version", "config", "no_config", "show_config", "sign_include", "sign_exclude", "also"})
"""Options that only the command line has; `include` and `exclude` in a file are about repairs."""
SAME_FOR_ALL = frozenset(
    {"format", "output", "report", "verbose", "quiet", "jobs", "baseline", "write_baseline", "lock", "locked", "env"}
    | {"index_url", "extra_index_url", "platform", "python_version", "offline", "cache_dir", "cache", "fetch", "deps"}
)
"""Options that apply to a whole run."""
TRUE, FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True)
class Given:
    """A value with the place it came from."""

    value: Any
    where: str


@dataclass(frozen=True, slots=True)
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
        actions = {action.dest: action for action in option_actions(self.parser)}
        layers = [self.configuration.for_command(self.command)]
        layers += [self.configuration.for_wheel(wheel)] if wheel else []
        for layer in layers:
            for item in layer:
                dest = item.key.replace("-", "_")
                if dest in actions:
                    self._put(found, dest, Given(convert(actions[dest], item.value, item.where), item.where))
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
        actions = {action.dest for action in option_actions(self.parser)}
        used = any(
            item.command in ("", self.command) and item.key.replace("-", "_") in actions
            for item in self.configuration.settings
        )
        return self.configuration.path if used else None

    @property
    def has_wheels(self) -> bool:
        """Whether some options differ from wheel to wheel."""
        return any(item.wheel for item in self.configuration.settings)


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


def read_settings(parser: Parser, command: str, argv: list[str], environ: Mapping[str, str] | None = None) -> Settings:
    """Parse a command line and gather what variables and files add to it."""
    environ = os.environ if environ is None else environ
    # Of two arguments for one thing (--sbom, --no-sbom) the first has the default, as argparse itself does it.
    defaults = {action.dest: _default(action) for action in reversed([*parser.actions()]) if action.dest != "help"}
    for action in parser.actions():
        action.default = argparse.SUPPRESS  # so that the namespace holds what was typed, and nothing else
    typed = vars(parser.parse_strictly(argv))
    given = {dest: typed.pop(dest) for dest in ("config", "no_config") if dest in typed}
    for dest in ("config", "no_config"):
        defaults.pop(dest, None)
    file = _file(given.get("config"), given.get("no_config", False), environ)
    configuration = Configuration()
    if file is not None:
        known, commands = vocabulary()
        configuration = read_configuration(file, known, commands)
    return Settings(parser, command, defaults, typed, read_environ(parser, environ), configuration)


def _default(action: argparse.Action) -> Any:
    """Return the default of an argument; argparse makes an empty list of a missing ``PATH…``."""
    return [] if action.default is None and action.nargs in ("*", "+") else action.default


def _file(named: Path | None, refused: bool, environ: Mapping[str, str]) -> Path | None:
    if refused:
        return None
    if named is not None:
        return _existing(named)  # its name was typed, so it was chosen
    variable = environ.get(PREFIX + "CONFIG")
    found = _existing(Path(variable)) if variable else find_file(Path.cwd())
    if found is not None and (why := distrust(found)):
        raise UsageError(
            f"the configuration in {found} is refused",
            because=why,
            hint=f"read it; then type --config {found} to use it, or --no-config",
        )
    return found


def _existing(named: Path) -> Path:
    if not named.is_file():
        raise UsageError(f"there is no configuration file {named}")
    return named


def read_environ(parser: Parser, environ: Mapping[str, str]) -> dict[str, Given]:
    """Return the options that variables such as ``WHEELFIX_FAIL_ON`` set."""
    found = {}
    for action in option_actions(parser):
        name = PREFIX + action.dest.upper()
        if name in environ:
            where = f"environment variable {name}"
            if is_only_typed(action):
                option = long_option(action)
                raise UsageError(f"{where}: {option} is taken from the command line only", hint=f"type {option}")
            found[action.dest] = Given(convert(action, environ[name], where), where)
    return found


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


def option_actions(parser: Parser) -> Iterable[argparse.Action]:
    """Yield one action for each option that may be set elsewhere than on the command line."""
    seen = set()
    for action in parser.actions():
        if action.option_strings and action.dest not in NOT_OURS and action.dest not in seen:
            seen.add(action.dest)
            yield action


def excluded_by(parser: Parser, dest: str) -> list[str]:
    """Return the options that cannot go with one."""
    others = []
    for group in parser.exclusive_groups():
        dests = [action.dest for action in group]
        if dest in dests:
            others += [other for other in dests if other != dest]
    return others


def kind_of(action: argparse.Action) -> str:
    """Return what a configuration may write for an option."""
    if action.nargs == 0:
        return "flag"
    if isinstance(action, CommaList) or type(action).__name__ == "_AppendAction":
        return "list"
    return "number" if getattr(action.type, "__name__", "") == "positive" else "text"


def long_option(action: argparse.Action) -> str:
    """Return how an option is typed: its long name."""
    return next(name for name in action.option_strings if name.startswith("--"))


@functools.cache
def vocabulary() -> tuple[dict[str, Option], tuple[str, ...]]:
    """Return every key that a file may have, from the parsers of all commands."""
    known: dict[str, Option] = {}
    for command in COMMANDS:
        for action in option_actions(command_parser(command)):
            key = action.dest.replace("_", "-")
            option = known.get(key)
            known[key] = Option(
                key,
                kind_of(action),
                tuple(map(str, action.choices or ())) if option is None else _both(option.choices, action),
                action.type is Path or key == "report",
                (option.commands if option else frozenset()) | {command},
                action.dest not in SAME_FOR_ALL,
                {
                    **(option.only_typed if option else {}),
                    **({command: long_option(action)} if is_only_typed(action) else {}),
                },
            )
    return known, tuple(COMMANDS)


def _both(choices: tuple[str, ...], action: argparse.Action) -> tuple[str, ...]:
    """Return the choices that some command has; each command checks its own again."""
    return tuple(dict.fromkeys([*choices, *map(str, action.choices or ())])) if choices and action.choices else ()


def convert(action: argparse.Action, value: object, where: str) -> Any:
    """Return a value as the command line would have made it."""
    kind = kind_of(action)
    if kind == "flag":
        wanted = value if isinstance(value, bool) else _truth(str(value), where)
        return bool(action.const) if wanted else not action.const
    if kind == "list":
        return [_one(action, item, where) for item in _items(action, value)]
    return _one(action, str(value), where)


def _items(action: argparse.Action, value: object) -> list[str]:
    if isinstance(value, tuple | list):
        return [str(item) for item in value]
    separator = "," if action.type is not Path else os.pathsep
    return [item.strip() for item in str(value).split(separator) if item.strip()]


def _one(action: argparse.Action, text: str, where: str) -> Any:
    made: Any = text
    if callable(action.type):
        try:
            made = action.type(text)
        except (argparse.ArgumentTypeError, ValueError, TypeError) as error:
            raise UsageError(f"{where}: {error}") from error
    if action.choices is not None and made not in action.choices:
        raise UsageError(f"{where}: {text!r} is not one of {', '.join(map(str, action.choices))}")
    return made


def _truth(text: str, where: str) -> bool:
    if text.strip().lower() in TRUE:
        return True
    if text.strip().lower() in FALSE:
        return False
    raise UsageError(f"{where}: {text!r} is neither true nor false")


# ------------------------------------------------------------------------------------------------- --show-config


def describe(settings: Settings) -> str:
    """Return what is in force and where it came from, a line for each option."""
    file = settings.configuration.path
    lines = [f"wheelfix {settings.command}, configured by {file if file else 'no file'}", ""]
    actions = {action.dest for action in option_actions(settings.parser)}
    rows = [(dest.replace("_", "-"), _shown(given.value), given.where)
            for dest, given in settings.values().items() if dest in actions]  # fmt: skip
    lines += _columns(rows)
    wheels: dict[str, list[Setting]] = {}
    for item in settings.configuration.settings:
        if item.wheel and item.key.replace("-", "_") in actions:
            wheels.setdefault(item.wheel, []).append(item)
    for pattern, items in wheels.items():
        lines += ["", f"wheels called {pattern}:"]
        lines += _columns([(item.key, _shown(item.value), item.where) for item in items])
    return without_commands("".join(f"{legible(line)}\n" for line in lines))


def _columns(rows: list[tuple[str, str, str]]) -> list[str]:
    first = max((len(row[0]) for row in rows), default=0)
    second = min(40, max((len(row[1]) for row in rows), default=0))
    return [f"{key:<{first}}  {value:<{second}}  {where}" for key, value, where in rows]


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join("=".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in value) or "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "-" if value is None else str(value)

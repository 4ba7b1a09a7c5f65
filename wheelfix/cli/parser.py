"""An argument parser that answers a typing slip with what was probably meant, as an error of ours."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from wheelfix.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'scan'?`` for a word close to a known one, else nothing."""
    import difflib  # costs a few milliseconds that only a slip should pay

    close = difflib.get_close_matches(word.lower(), sorted(known), n=2, cutoff=0.55)
    return "did you mean " + " or ".join(f"'{match}'" for match in close) + "?" if close else ""


def only_typed(action: argparse.Action) -> argparse.Action:
    """Mark an option that only the command line may set, no file and no variable.

    Such are those that weaken a check, write over an input, or do what a file says: anybody who can put a file into a
    folder, or a line into a ``.env``, could choose them for somebody else.
    """
    vars(action)["only_typed"] = True
    return action


def is_only_typed(action: argparse.Action) -> bool:
    """Whether only the command line may set an option."""
    return bool(vars(action).get("only_typed", False))


class CommaList(argparse.Action):
    """Collects ``--ignore WF1,WF601 --ignore WF305`` into one list."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Append the words between the commas."""
        words = [word.strip() for word in str(values).split(",") if word.strip()]
        if not words:
            raise argparse.ArgumentError(self, "needs at least one word")
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest, None) or []), *words])


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps examples as they are written; the same width on every terminal, so that documentation can quote it."""

    def __init__(self, prog: str, **settings: Any) -> None:
        settings["width"] = 80
        settings.setdefault("max_help_position", 26)
        super().__init__(prog, **settings)


class Parser(argparse.ArgumentParser):
    """Raises :class:`UsageError` where argparse would print and exit."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", HelpFormatter)
        settings["allow_abbrev"] = False  # an abbreviation in a CI file breaks with the next option
        super().__init__(**settings)

    def error(self, message: str) -> NoReturn:
        """Turn argparse's complaint into a usage error."""
        raise UsageError(message, hint=f"'{self.prog} --help' lists what it takes")

    def options(self) -> list[str]:
        """Return every option as it can be typed."""
        return list(self._option_string_actions)

    def actions(self) -> list[argparse.Action]:
        """Return what the parser takes, options and positional arguments."""
        return self._actions

    def exclusive_groups(self) -> list[list[argparse.Action]]:
        """Return the groups of options of which only one may be given."""
        return [group._group_actions for group in self._mutually_exclusive_groups]

    def titled_groups(self) -> list[tuple[str, list[argparse.Action]]]:
        """Return the groups of the help, with their titles."""
        return [(group.title or "", group._group_actions) for group in self._action_groups]

    def require_nothing(self) -> None:
        """Let positional arguments be left out."""
        for action in self._actions:
            if not action.option_strings:
                action.nargs = "*"
            action.required = False

    def parse_strictly(self, argv: list[str]) -> argparse.Namespace:
        """Parse, and name the likely meaning of what was not understood."""
        args, unknown = self.parse_known_args(argv)
        if not unknown:
            return args
        word = next((text for text in unknown if text.startswith("-")), unknown[0])
        option = word.split("=", 1)[0]
        hint = did_you_mean(option, self.options()) if word.startswith("-") else ""
        raise UsageError(
            f"{self.prog} does not know {option!r}", hint=hint or f"'{self.prog} --help' lists what it takes"
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        meant = did_you_mean(str(value), known)
        raise argparse.ArgumentError(
            action, f"{value!r} is not one of {', '.join(known)}" + (f"; {meant}" if meant else "")
        )

"""What ``repair`` prints and writes: each result as it comes, all of them as JSON or HTML, and the exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from wheelfix.cli.common import exit_code, write_result
from wheelfix.cli.output import made_by
from wheelfix.cli.say import say_error
from wheelfix.errors import InputError, WheelfixError
from wheelfix.failures import failure_of
from wheelfix.report.canvas import TextStyle, look_of
from wheelfix.report.document import FailedInput, PlanReport

if TYPE_CHECKING:
    import argparse

    from wheelfix.model import Json
    from wheelfix.repairs.outcome import Repaired
    from wheelfix.report.progress import ProgressBar


class RepairOutput:
    """Writes results as they come, keeps them for JSON, and remembers the worst of what went wrong."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.look = look_of(sys.stdout, colour=args.color) if args.output is None else TextStyle(unicode=True)
        self.failures: list[FailedInput] = []
        self.results: list[PlanReport] = []
        self.entries: list[Json] = []
        self.path = ""
        self.incomplete = False
        self.progress: ProgressBar | None = None

    def attempt(self, path: str) -> RepairOutput:
        """Work on one input; an error of ours is reported and does not stop the others."""
        self.path = path
        return self

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Exception):  # whatever it is, it costs this wheel only
            self.fail(self.path, failure_of(error, self.path))
            return True
        return False

    def fail(self, path: str, error: WheelfixError) -> None:
        """Say on stderr what stopped us."""
        self._make_room()
        sys.stdout.flush()
        self.failures.append(FailedInput(path, error, "read" if isinstance(error, InputError) else "repair"))
        say_error(error.what, *error.reasons, hint=error.hint)
        self.entries.append({"path": path, "outcome": "failed", "error": str(error), "hint": error.hint})

    def add(self, result: Repaired) -> None:
        """Take one result; a text for the terminal is written at once."""
        target = str(result.output) if result.output else ""
        self.incomplete |= bool(result.faults)
        entry: dict[str, Json] = {"path": result.plan.wheel.path, "outcome": str(result.outcome)}
        entry |= {"output": target or None, "plan": result.plan.to_json()} if self._wants("json") else {}
        self.entries.append(entry)
        self.results.append(PlanReport(result.plan, str(result.outcome), target, result.faults))
        if self._written_at_once:
            self._make_room()
            sys.stdout.write(self._text(self.results[-1], self.look))
            sys.stdout.flush()

    @property
    def _written_at_once(self) -> bool:
        return self.args.format == "text" and self.args.output is None

    def _wants(self, kind: str) -> bool:
        return kind == self.args.format or any(kind == wanted for wanted, _ in self.args.also)

    def _text(self, result: PlanReport, look: TextStyle) -> str:
        from wheelfix.report.repairs import render_plan

        return render_plan(
            result.plan,
            result.outcome,
            result.target,
            look,
            faults=result.faults,
            verbose=self.args.verbose,
            quiet=self.args.quiet,
        )

    def _rendered(self, kind: str) -> str:
        if kind == "html":
            from wheelfix.report.html.builds import render_repairs

            return render_repairs(self.results, self.failures, made_by(self.args))
        if kind == "json":
            return self._json()
        return "".join(self._text(result, TextStyle(unicode=True)) for result in self.results)

    def _json(self) -> str:
        from wheelfix.report.json_ import dump, tool

        if self.args.dry_run and len(self.entries) == 1 and isinstance(self.entries[0], dict):
            plan = self.entries[0].get("plan")
            return dump(plan if isinstance(plan, dict) else self.entries[0])
        return dump({"schema": "wheelfix.repair/1", "tool": tool(), "wheels": self.entries})

    def _make_room(self) -> None:
        if self.progress is not None:
            self.progress.hide()

    def finish(self) -> int:
        """Write what goes to files, and return the worst exit code."""
        if not self._written_at_once:
            write_result(self._rendered(self.args.format), self.args.output)
        for kind, file in self.args.also:
            write_result(self._rendered(kind), file)
        return exit_code(self.incomplete, [failure.error for failure in self.failures])

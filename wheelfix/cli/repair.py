"""``wheelfix repair``: vendor what is missing and write a correct wheel."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.base.options import Renaming, RepairOptions
from wheelfix.base.values import replace
from wheelfix.cli.common import (
    Results,
    check_folder,
    check_output,
    expand_inputs,
    given_paths,
    made_by,
    options_of,
    scan_options,
    write_result,
)
from wheelfix.cli.settings import group_inputs
from wheelfix.errors import Exit, InputError, UsageError, failure_of
from wheelfix.exam.examination import FailedInput
from wheelfix.plan.lock import read_lock, write_lock
from wheelfix.repairs.installed import repair_installed, undo
from wheelfix.repairs.repair import repair_all, replay
from wheelfix.report.json_ import dump, tool
from wheelfix.report.repairs import render_balance, render_plan
from wheelfix.report.safe import legible
from wheelfix.streams.codec import Compressor

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from wheelfix.model import Json, JsonObject
    from wheelfix.plan.model import Plan, Repaired
    from wheelfix.report.canvas import TextStyle


def repair_options(args: argparse.Namespace) -> RepairOptions:
    """Return what the command line asks for, checked."""
    check_folder(args.env, "--env")
    if args.wheel_dir is not None and args.wheel_dir.exists() and not args.wheel_dir.is_dir():
        raise UsageError(f"--wheel-dir {args.wheel_dir}", because="it is a file", hint="name a folder")
    Compressor.choose(args.compressor, args.compression)
    return options_of(
        RepairOptions,
        args,
        wheel_dir=None if args.in_place else args.wheel_dir or Path("wheelhouse"),
        renaming=_renaming(args),
        compressor=None if args.compressor == "auto" else args.compressor,
        seal=args.lock is not None,
        scan=scan_options(args, packages=(), select=(), ignore=(), allow_missing=()),
    )


def _renaming(args: argparse.Namespace) -> Renaming:
    """Return what delvewheel is asked for; UsageError if that makes no sense."""
    renaming = options_of(Renaming, args)
    if renaming.faults:
        raise UsageError(renaming.faults[0])
    others = (("--layout beside", args.layout == "beside"), ("--dest", args.dest), ("--env", args.env))
    for option, given in others:
        if renaming.asked and given:
            raise UsageError(
                f"{renaming.asked[0]} and {option} contradict each other",
                because="it is about DLLs in a folder for renamed DLLs",
            )
    return renaming


class RepairOutput(Results):
    """Writes results as they come, and keeps them for documents."""

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self.results: list[Repaired] = []

    def fail(self, failure: FailedInput) -> None:
        """Take an input that was not repaired."""
        super().fail(replace(failure, stage="read" if isinstance(failure.error, InputError) else "repair"))

    def add(self, result: Repaired) -> None:
        """Take one result; a text is written at once. One that cannot be shown costs this input only."""
        path = result.plan.wheel.path
        try:
            entry: dict[str, Json] = {"path": path, "outcome": result.outcome}
            if "json" in (self.args.format, *(kind for kind, _ in self.args.report)):
                entry |= {"output": str(result.output) if result.output else None, "plan": result.plan.to_json()}
            if self.args.format == "text":
                self.tell(render_plan(result, self.look))
        except Exception as error:
            self.fail(FailedInput(path, failure_of(error, path)))
        else:
            self.entries.append(entry)
            self.results.append(result)

    def _summary(self, look: TextStyle) -> str:
        """Return what became of several wheels."""
        many = len(self.results) + len(self.failures) > 1 and not self.args.quiet
        return "\n" + render_balance(self.results, self.failures, look) if many else ""

    def _rendered(self, kind: str) -> str:
        if kind == "html":
            from wheelfix.report.html.scan import render_repairs  # markdown-it is behind it

            return render_repairs(self.results, self.failures, made_by(self.args))
        if kind == "json":
            return dump(self._document())
        look = self.look.in_file
        return "".join(render_plan(result, look) for result in self.results) + self._summary(look)

    def _document(self) -> JsonObject:
        if self.args.env and self.results:
            (result,) = self.results
            done = "repaired" if result.outcome == "repaired" else "unchanged"
            return {**result.plan.to_json(), "outcome": done, "added": list(result.added)}
        if self.args.dry_run and len(self.entries) == 1 and isinstance(entry := self.entries[0], dict):
            plan = entry.get("plan")
            return plan if isinstance(plan, dict) else entry
        return {"schema": "wheelfix.repair/1", "tool": tool(), "wheels": self.entries}

    def end(self) -> int:
        """Write what goes to files, and return the worst exit code."""
        if self.args.format == "text":
            self.tell(self._summary(self.look))
        self.write(self._rendered)
        return self.exit_code(failed=any(result.faults for result in self.results))


def execute(args: argparse.Namespace) -> int:
    """Repair every input and return the worst exit code."""
    if not args.locked and not args.env:
        args.paths = given_paths(args.paths, "repair")
    options = repair_options(args)
    if args.undo:
        undone = undo(args.env, args.package)
        lines = [f"removed {path}" for path in undone.removed] + [f"restored {path}" for path in undone.restored]
        lines += [f"left alone, because it was changed since: {path}" for path in undone.kept]
        write_result("".join(f"{legible(line)}\n" for line in [*lines, "RECORD is as it was"]), args.output)
        return Exit.OK
    output = RepairOutput(args)
    if args.env is not None:
        output.add(repair_installed(args.env, args.package, options, dry_run=args.dry_run))
    elif args.locked is not None:
        _replay(args, options, output)
    else:
        inputs = expand_inputs(args.paths, folders=False, windows_only=True)
        output.fail_inputs(inputs)
        done = list(_repair_all(inputs.files, args, output))
        if args.lock is not None:
            check_output(args.lock)  # again: a wheel may have been written there
            write_lock(done, args.lock, options.scan.roots.named)
    return output.end()


def _replay(args: argparse.Namespace, options: RepairOptions, output: RepairOutput) -> None:
    """Do what a lock says with the wheels that are named, or with all of it."""
    wheels = {path.name: path for path in expand_inputs(args.paths, folders=False).files} if args.paths else {}
    for plan in read_lock(args.locked):
        name = PureWindowsPath(plan.wheel.path).name  # understands both kinds of slashes
        if wheels and name not in wheels:
            continue
        try:
            output.add(replay(plan, options, str(args.locked), wheels.pop(name, None)))
        except Exception as failure:  # whatever it is, it costs this wheel only
            output.fail(FailedInput(plan.wheel.path, failure_of(failure, plan.wheel.path)))
    for path in wheels.values():
        error = InputError(f"{args.locked} has no plan for {path.name}", hint="plan it with --lock")
        output.fail(FailedInput(str(path), error))


def _repair_all(paths: tuple[Path, ...], args: argparse.Namespace, output: RepairOutput) -> Iterator[Plan]:
    groups = [(repair_options(own), group) for own, group in group_inputs(args, paths)]
    with output.progress(paths, "repairing") as progress:
        for options, group in groups:
            found = repair_all(group, options, dry_run=args.dry_run, progress=progress.part)
            for result in output.take(found, progress):
                output.add(result)
                yield result.plan

"""Follow a DLL's name through a repair, and a finding's code into SARIF: which modules make which value of it.

``python -m tools.trace_rooms`` repairs the embedded example while it watches. A step creates one of our values
(a dataclass, in reports also a JSON object) that has the name in a field; each kind of value is shown once for each
module that makes it. Functions that only take the name, or a value, and answer a question about it are not steps;
``--questions`` lists every module that gets the name at all.

Data should flow one way, in the order of ``FLOW``. A change to a room before the last one is a backward change, except
from ``exam``, which hands its values to the others, and to ``roots``, which is asked for what is needed. A plan is
tried out in the loader's model like a wheel; what is made there is listed apart, as the examination of the result.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import wheelfix
from tools import example
from wheelfix.base.values import is_value
from wheelfix.report.document import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

FLOW = "streams archive pe knowledge loader roots rules exam plan repairs writing report cli".split()
"""The rooms in the order in which data passes them; ``writing`` is the archive's part in a repair."""
NAME, CODE = "cupti64_2022.2.1.dll", "WF301"


@dataclass(frozen=True)
class Step:
    """One kind of value that holds the name, made by one module."""

    module: str
    """Without the package: ``loader.search``."""
    kind: str

    @property
    def room(self) -> str:
        """The first part of the module's name."""
        return self.module.partition(".")[0]


@dataclass
class Trace:
    """Where a name went."""

    name: str
    steps: list[Step] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    """Every module of which a function was called with the name, or returned it."""

    @property
    def modules(self) -> list[str]:
        """The modules that make values of it, in the order in which they first do."""
        return list(dict.fromkeys(step.module for step in self.steps))

    def parts(self) -> tuple[list[Step], list[Step]]:
        """The way from bytes to bytes, and the examination of what was planned."""
        way, again, planned, trying = list[Step](), list[Step](), False, False
        for step in self.steps:
            if step.room in ("plan", "repairs"):
                planned, trying = True, False
            elif planned and step.room in ("pe", "knowledge", "loader"):
                trying = True
            (again if trying else way).append(step)
        return way, again

    def changes(self) -> Iterator[tuple[str, str, bool]]:
        """The changes of rooms, each with whether it leads back; in the examination of the result as well."""
        for part in self.parts():
            rooms = [_room(step, part[:number]) for number, step in enumerate(part)]
            for one, other in itertools.pairwise(rooms):
                if one != other:
                    yield one, other, FLOW.index(other) < FLOW.index(one)

    def backward(self) -> list[tuple[str, str]]:
        """The changes that lead back, but for those that begin in ``exam`` or ask ``roots``."""
        return [(one, other) for one, other, back in self.changes() if back and one != "exam" and other != "roots"]


def _room(step: Step, before: list[Step]) -> str:
    writes = step.room in ("archive", "streams") and any(other.room in ("plan", "repairs") for other in before)
    return "writing" if writes else step.room


class Watcher:
    """Notes which functions of ours make values with a name, while it is installed as the profiler."""

    def __init__(self, name: str) -> None:
        self.trace = Trace(name)
        self._busy = threading.local()

    def __enter__(self) -> Trace:
        """Begin to watch, in this thread and in those that it starts."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self.trace

    def __exit__(self, *_: object) -> None:
        """Stop watching."""
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, value: Any) -> None:
        if event not in ("call", "return") or getattr(self._busy, "on", False):
            return
        self._busy.on = True  # looking at values calls functions that would be noted in turn
        try:
            if event == "return" and frame.f_code.co_name in ("__init__", "_init"):  # the second is of all values
                self._made(frame, frame.f_locals.get("self"))
            elif (module := _module(frame)) and module != "base.values":
                self._handed(module, frame, event, value)
        finally:
            self._busy.on = False

    def _made(self, frame: FrameType, value: Any) -> None:
        if is_value(value) and _holds(value, self.trace.name):
            maker = frame.f_back
            while maker is not None and _module(maker) in ("", "base.values"):
                maker = maker.f_back
            if maker is not None:
                self._step(Step(_module(maker), type(value).__name__))

    def _handed(self, module: str, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = [value] if event == "return" else [frame.f_locals.get(name) for name in names]
        if any(_is(item, self.trace.name) or _holds(item, self.trace.name) for item in values):
            self.trace.asked.add(module)
        # JSON is made of dictionaries; the innermost function that returns one has made it.
        made = event == "return" and isinstance(value, dict) and module.startswith("report.")
        if made and any(_is(item, self.trace.name) for item in value.values()):
            self._step(Step(module, "JSON"))

    def _step(self, step: Step) -> None:
        if self.trace.steps[-1:] != [step]:
            self.trace.steps.append(step)


def _module(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__", "")
    return name.removeprefix("wheelfix.") if name.startswith("wheelfix.") else ""


def _is(value: object, name: str) -> bool:
    return isinstance(value, str) and re.split(r"[\\/]", value)[-1].casefold() == name.casefold()


def _holds(value: Any, name: str) -> bool:
    """Whether one of our values has the name in a field, alone or in a tuple."""
    if not is_value(value) or isinstance(value, type):
        return False
    fields = [getattr(value, attribute, None) for attribute in type(value)._values]
    return any(_is(item, name) or (isinstance(item, tuple) and any(_is(one, name) for one in item)) for item in fields)


def trace_repair(name: str = NAME) -> Trace:
    """Follow the name of a missing DLL through the repair of the example."""
    with tempfile.TemporaryDirectory() as folder:
        story = example.kepler_cu117()
        wheel = example.write_wheel(story, Path(folder, "dist"))
        roots = wheelfix.RootOptions(tuple(example.write_roots(story, Path(folder, "roots")).values()), discover=False)
        scan = wheelfix.ScanOptions(roots=roots)
        with Watcher(name) as trace:
            wheelfix.repair(wheel, wheelfix.RepairOptions(wheel_dir=Path(folder, "out"), scan=scan))
    return trace


def trace_sarif(code: str = CODE) -> Trace:
    """Follow the code of a finding from the rule into a SARIF file."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = example.write_wheel(example.kepler_cu117(), Path(folder))
        with Watcher(code) as trace:
            report = wheelfix.scan(wheel, wheelfix.ScanOptions(roots=wheelfix.RootOptions(discover=False)))
            render("sarif", [report])
    return trace


def _show(title: str, trace: Trace, questions: bool) -> None:
    print(f"{trace.name} {title}")
    way, again = trace.parts()
    for heading, steps in (("", way), ("  the examination of the result:", again)):
        print(heading) if steps and heading else None
        for step in dict.fromkeys(steps):
            print(f"  {step.module:<28} {step.kind}")
    changes = list(trace.changes())
    back = [f"{one} to {other}" for one, other in trace.backward()]
    print(
        f"{len(trace.modules)} modules, {len(changes)} room changes, {len(back)} backward: {', '.join(back) or 'none'}"
    )
    if questions:
        print(f"{len(trace.asked)} modules are handed the name: {', '.join(sorted(trace.asked))}")
    print()


def main(argv: list[str] | None = None) -> int:
    """Print both traces; 1 if one of them leads back, or through more modules than a newcomer can read."""
    parser = argparse.ArgumentParser(description="follow a name through the modules of wheelfix")
    parser.add_argument("--name", default=NAME, help=f"a DLL that the example misses (default: {NAME})")
    parser.add_argument("--questions", action="store_true", help="also list every module that is handed the name")
    args = parser.parse_args(argv)
    traces: list[tuple[str, Callable[[], Trace]]] = [
        ("through repair", lambda: trace_repair(args.name)),
        ("into SARIF", trace_sarif),
    ]
    good = True
    for title, follow in traces:
        trace = follow()
        _show(title, trace, args.questions)
        good = good and bool(trace.steps) and not trace.backward() and len(trace.modules) <= 25
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())

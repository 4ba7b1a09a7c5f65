"""The whole trial of wheels: an environment, the installation, every import in a fresh process, the comparison."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.errors import failure_of
from wheelfix.streams.output import WorkFolder
from wheelfix.trial.compare import compare
from wheelfix.trial.confine import refuse_root
from wheelfix.trial.expected import expectations
from wheelfix.trial.install import empty, install
from wheelfix.trial.model import ModuleTrial, Trial, TrialOptions
from wheelfix.trial.modules import modules_to_try
from wheelfix.trial.observe import observe
from wheelfix.trial.venv import VenvPython
from wheelfix.trial.wine import wine_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from wheelfix.errors import WheelfixError
    from wheelfix.trial.model import Interpreter


@dataclass(frozen=True, slots=True)
class TrialFailure:
    """A wheel that could not be tried, and why; the others are tried all the same."""

    path: str
    error: WheelfixError


def try_all(
    paths: Iterable[Path], options: TrialOptions, note: Callable[[str], None] | None = None
) -> Iterator[Trial | TrialFailure]:
    """Try wheels, each by itself in an environment that is emptied before it. This runs the code of the wheels."""
    refuse_root(options.allow_root)
    with WorkFolder() as work, open_interpreter(work, options, note) as target:
        yield from try_with(target, paths, options, work, note)


def try_with(
    target: Interpreter,
    paths: Iterable[Path],
    options: TrialOptions,
    work: Path,
    note: Callable[[str], None] | None = None,
) -> Iterator[Trial | TrialFailure]:
    """Try wheels with a Python that is ready."""
    baseline = frozenset(path.name for path in target.prefix.iterdir())
    for path in paths:
        try:
            empty(target, baseline)
            yield try_one(target, path, options, work, note)
        except Exception as error:  # whatever it is, it costs this wheel only
            yield TrialFailure(str(path), failure_of(error, path))


def try_one(
    target: Interpreter, path: Path, options: TrialOptions, work: Path, note: Callable[[str], None] | None = None
) -> Trial:
    """Install one wheel, predict, import and compare."""
    installed = install(path, target, options, work)
    with expectations(path, target.prefix, target.facts.version, bare=target.facts.wine) as expected:
        subject, report = expected.subject, expected.report
        names = modules_to_try(subject.view, subject.profile, options.modules, path.name)
        predictions = {name: expected.of(name) for name in names}
    found = []
    for name, prediction in predictions.items():
        if note is not None:
            note(f"{path.name}: import {name}")
        seen = observe(name, target, options.timeout)
        agreement, why = compare(prediction, seen, wine=target.facts.wine, machine=target.facts.machine)
        found.append(ModuleTrial(name, prediction, seen, agreement, why))
    return Trial(
        path=str(path),
        name=report.name,
        version=report.version,
        interpreter=target.facts.label,
        modules=tuple(found),
        report=report,
        installed=installed,
        notes=target.facts.notes,
    )


def open_interpreter(
    work: Path, options: TrialOptions, note: Callable[[str], None] | None = None
) -> contextlib.AbstractContextManager[Interpreter]:
    """Return a Python in an environment of its own: a virtual environment on Windows, Wine elsewhere."""
    if sys.platform == "win32":
        return contextlib.nullcontext(VenvPython(work, options.python))
    return wine_python(work, options.python_home, options.wine, note)

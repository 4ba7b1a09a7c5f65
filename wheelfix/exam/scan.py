"""Look at a wheel, a folder or an environment: read its facts, load it in the model, and say what was found."""

from __future__ import annotations

import contextlib
import functools
import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.options import ScanOptions
from wheelfix.base.values import replace
from wheelfix.errors import InputError, failure_of
from wheelfix.exam.examination import (
    Examination,
    FailedInput,
    Progress,
    Shares,
    attempt,
    each_input,
    wheels_in,
)
from wheelfix.exam.examine import examine_view
from wheelfix.exam.wheel import looking_at
from wheelfix.loader.places import Distribution, Environment, distribution_in, open_environment, view_of_folder
from wheelfix.loader.profile import Profile
from wheelfix.loader.requirements import unmet_requirements
from wheelfix.model import Machine, ScanReport, canonical
from wheelfix.remote.addresses import is_remote
from wheelfix.remote.client import Client
from wheelfix.roots.index import open_index
from wheelfix.rules.context import ArchiveFacts
from wheelfix.streams.pool import Task, WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from wheelfix.base.workers import Work
    from wheelfix.remote.ranges import WheelPath
    from wheelfix.roots.index import RootIndex


# ------------------------------------------------------------------------------------------------- public functions


def scan(path: str | Path, options: ScanOptions | None = None) -> ScanReport:
    """Scan one wheel, package folder or environment with one distribution of interest, and return the report.

    A text may also name a wheel on a server, as ``https://…/x.whl``, or on the package index, as ``torch==2.7.1``.
    An environment with several distributions that have DLLs gives several reports: use :func:`scan_all`.
    """
    chosen = options or ScanOptions()
    if isinstance(path, str) and not os.path.lexists(path) and is_remote(path):
        with Client(chosen.remote) as client:
            results = list(scan_inputs([client.find(path)], chosen, client=client))
    else:
        results = list(scan_all([_only_wheel(Path(path))], chosen))
    if len(results) > 1:
        names = ", ".join(result.name for result in results if isinstance(result, ScanReport))
        raise InputError(
            str(path), because=f"it contains several distributions ({names})", hint="name one, or use scan_all"
        )
    result = results[0]
    if isinstance(result, FailedInput):
        raise result.error
    return result


def _only_wheel(path: Path) -> Path:
    """Return the wheel in a folder of wheels; InputError if there are several."""
    wheels = wheels_in(path) if path.is_dir() else []
    if len(wheels) > 1:
        raise InputError(str(path), because=f"it holds {len(wheels)} wheels", hint="name one, or use scan_all")
    return wheels[0] if wheels else path


def scan_all(
    paths: Iterable[str | WheelPath], options: ScanOptions | None = None, progress: Progress | None = None
) -> Generator[ScanReport | FailedInput, None, None]:
    """Scan several inputs, some of them side by side, and give the results in the order of the inputs.

    One that cannot be read does not stop the rest, and never are more than a few in memory. Several large ones are
    scanned in processes.
    """
    found: list[WheelPath] = [Path(path) if isinstance(path, str) else path for path in paths]
    yield from scan_inputs(found, options or ScanOptions(), progress)


# ----------------------------------------------------------------------------------------------------- for commands


def scan_inputs(
    paths: Iterable[WheelPath],
    options: ScanOptions,
    progress: Progress | None = None,
    finish: Callable[[ScanReport], ScanReport] | None = None,
    client: Client | None = None,
) -> Generator[ScanReport | FailedInput, None, None]:
    """Do what :func:`scan_all` does; ``finish`` is applied to each report in the process that made it.

    It must be a function that can be pickled. ``client`` reads wheels on servers that have been asked before.
    """
    waiting = list(paths)
    several, deps = len(waiting) > 1 and options.jobs > 1, options.remote.deps
    if options.together or options.beside or options.lockfile or deps:
        from wheelfix.exam.sets import scan_set

        asking = contextlib.nullcontext(client) if client or not deps else Client(options.remote)
        with open_index(options.roots, options.remote) as index, asking as asked:
            yield from _finished(scan_set(waiting, options, index, progress, asked if deps else None), finish)
    elif several and not all(isinstance(path, Path) for path in waiting):  # servers are waited for in threads
        with _scanning(options, finish, in_threads=True) as work, WorkerPool(options.jobs) as pool:
            shares, running = Shares(progress), deque[Task[list[ScanReport | FailedInput]]]()
            for path in waiting:
                results = attempt(work, path, 1, functools.partial(shares.report, path))
                running.append(pool.submit(functools.partial(list, results)))
                if len(running) > 2 * options.jobs:
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()
    else:
        start = functools.partial(_scanning, options, finish)
        yield from each_input(start, waiting, options.jobs, progress, side_by_side=several)


def _finished(
    results: Iterable[ScanReport | FailedInput], finish: Callable[[ScanReport], ScanReport] | None
) -> Iterator[ScanReport | FailedInput]:
    for result in results:
        yield finish(result) if finish is not None and isinstance(result, ScanReport) else result


@contextlib.contextmanager
def _scanning(
    options: ScanOptions, finish: Callable[[ScanReport], ScanReport] | None, *, in_threads: bool = False
) -> Iterator[Work[WheelPath, Iterator[ScanReport | FailedInput]]]:
    """What is done with each input, here or in a process of its own."""
    with open_index(options.roots, options.remote) as index:
        if in_threads:
            index.prepare()
        yield lambda path, threads, progress: _finished(
            _scan_one(path, replace(options, jobs=threads), index, progress), finish
        )


def _scan_one(
    path: WheelPath,
    options: ScanOptions,
    index: RootIndex | None,
    progress: Progress | None,
) -> Iterator[ScanReport | FailedInput]:
    if not isinstance(path, Path) or not path.is_dir():
        with looking_at(path, options, progress) as (_, look):
            report = look.examine(index).report
        yield report
    elif is_package_folder(path):
        yield examine_folder(path, options, index, progress).report
    else:
        environment = open_environment(path)
        chosen = chosen_distributions(environment, options.packages)
        if not chosen and next(environment.site.rglob("*.so"), None) is not None:
            raise InputError(
                str(path),
                because="it is an environment of Linux or macOS: its extension modules are .so files",
                hint="give a Windows environment, or a copy of one: the folder that has python.exe",
            )
        for distribution in chosen:
            try:
                report = examine_installed(environment, distribution, options, index, progress).report
            except Exception as error:
                name = f"{path}, {distribution.name}"
                yield FailedInput(name, failure_of(error, name))
            else:
                yield report


# --------------------------------------------------------------------------------------------- what is not a wheel


def examine_folder(path: Path, options: ScanOptions, index: RootIndex | None, progress: Progress | None) -> Examination:
    """Scan a package that lies in a folder, as if it were installed."""
    view, installed = view_of_folder(path), distribution_in(path)
    distribution = installed or Distribution(path.name)
    return examine_view(view, str(path), distribution, options, ArchiveFacts(), index, progress)


def examine_installed(
    environment: Environment,
    distribution: Distribution,
    options: ScanOptions,
    index: RootIndex | None,
    progress: Progress | None = None,
) -> Examination:
    """Scan one distribution within its environment."""
    where = environment.view.origin(f"{distribution.dist_info}/METADATA")
    path = str(Path(where).parent) if where else str(environment.prefix)
    view = environment.installed.focused_on(distribution)
    facts, python = ArchiveFacts(unowned=environment.unowned), environment.python
    exam = examine_view(view, path, distribution, options, facts, index, progress, python, installed=True)
    return replace(exam, report=replace(exam.report, prefix=str(environment.prefix)))


def is_package_folder(path: Path) -> bool:
    """Whether a folder is a package (``torch/``) or an unpacked wheel, and not an environment.

    Installers add a file that wheels do not have, so ``pip install --target`` of one distribution is not taken for one.
    """
    if (path / "__init__.py").exists():
        return True
    infos = list(path.glob("*.dist-info"))
    unpacked = len(infos) == 1 and not (infos[0] / "INSTALLER").exists()
    return unpacked and path.name.lower() != "site-packages"


def chosen_distributions(environment: Environment, packages: tuple[str, ...]) -> list[Distribution]:
    """The distributions of an environment that were asked for, or all that have DLLs or are incomplete."""
    wanted = {canonical(name) for name in packages}
    found = []
    for distribution in environment.distributions:  # those without DLLs count where something that they require is gone
        name = canonical(distribution.name)
        if name in wanted:
            found.append(distribution)
            wanted.discard(name)
        elif not packages and (
            distribution.has_modules
            or name in environment.installed.absent
            or _is_incomplete(environment, distribution)
        ):
            found.append(distribution)
    if wanted:
        raise InputError(
            str(environment.prefix),
            because=f"{', '.join(sorted(wanted))} is not installed there",
            hint="without --package all that have DLLs, or are incomplete, are scanned",
        )
    return found


def _is_incomplete(environment: Environment, distribution: Distribution) -> bool:
    """Whether something that a distribution requires is not installed, or in a version that it does not allow."""
    profile = Profile(Machine.AMD64, environment.python)
    return next(unmet_requirements(distribution.requires, environment.installed, profile), None) is not None

"""Examines the files that a request is about: wheels, and the packages of an environment that the text is about."""

from __future__ import annotations

import os
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.archive.reader import Archive
from wheelfix.diagnosis.answer import Evidence
from wheelfix.diagnosis.case import ScannedPackage
from wheelfix.diagnosis.confirm import situation
from wheelfix.diagnosis.gathered import SHOWN
from wheelfix.diagnosis.symptoms.symptom import environment_prefix
from wheelfix.errors import InputError
from wheelfix.exam.scan import chosen_distributions, examine_installed
from wheelfix.exam.sets import examine_set
from wheelfix.exam.wheel import examine_wheel
from wheelfix.loader.places import open_environment
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import canonical, fold
from wheelfix.roots.gather import open_index
from wheelfix.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import ExitStack

    from wheelfix.diagnosis.gathered import DiagnoseRequest, GatheredEvidence
    from wheelfix.diagnosis.symptoms import Symptom
    from wheelfix.exam.examination import Examination
    from wheelfix.loader.installations import Distribution
    from wheelfix.loader.places import Environment
    from wheelfix.roots.root import Candidates


def active_environment(environ: Mapping[str, str]) -> Path | None:
    """Return the environment that is active, as its variables say, or None."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        value = environ.get(name, "").strip()
        if value and Path(value).is_dir():
            return Path(value)
    return None


def find_environment(request: DiagnoseRequest, symptoms: tuple[Symptom, ...]) -> tuple[DiagnoseRequest, str]:
    """Return the request with the environment that it is about, if it is on this machine, and how that is known."""
    prefixes = [prefix for symptom in symptoms if (prefix := environment_prefix(symptom.path or ""))]
    for prefix in prefixes:
        # A drive letter means nothing elsewhere: a folder named so would be a coincidence.
        if _on_windows() and Path(prefix).is_dir():
            return replace(request, environment=Path(prefix)), "named in the text; "
    on_its_own = request.text is None or (_on_windows() and symptoms and not prefixes)
    if request.active is not None and on_its_own:
        return replace(request, environment=request.active), "the active environment; "
    return request, ""


def _on_windows() -> bool:
    return os.name == "nt"


def examine_files(request: DiagnoseRequest, gathered: GatheredEvidence, stack: ExitStack) -> None:
    """Add the examined packages to the evidence; the stack closes what was opened for them."""
    options = request.options
    index = stack.enter_context(open_index(options.roots))
    for wheel, exam in _examined_wheels(request, index, stack):
        gathered.cases.append(ScannedPackage(exam, "", str(wheel), options=options))
        identity = exam.identity
        gathered.evidence.append(Evidence("wheel", str(wheel), f"{identity.name} {identity.version}"))
    if request.environment is not None:
        environment = open_environment(request.environment)
        gathered.environment = environment
        chosen = _packages_in_question(environment, request.package, gathered.symptoms)
        if gathered.log is not None:
            gathered.log = replace(
                gathered.log, symptoms=tuple(_situated(one, environment) for one in gathered.symptoms)
            )

        def examine(distribution: Distribution) -> ScannedPackage:
            exam = examine_installed(environment, distribution, options, index)
            return ScannedPackage(exam, str(request.environment), known=situation(environment), options=options)

        def examine_other(name: str) -> ScannedPackage | None:
            return next((examine(one) for one in environment.distributions if canonical(one.name) == name), None)

        gathered.cases += [examine(distribution) for distribution in chosen]
        gathered.examine_other = examine_other
        text = gathered.how + ", ".join(f"{one.name} {one.version}" for one in chosen[:SHOWN]) or "no package with DLLs"
        more = f" and {len(chosen) - SHOWN} more" if len(chosen) > SHOWN else ""
        gathered.evidence.append(Evidence("environment", str(request.environment), text + more))


def _examined_wheels(
    request: DiagnoseRequest, index: Candidates, stack: ExitStack
) -> Iterator[tuple[Path, Examination]]:
    """Examine the wheels: one by itself, several as one installation, with an environment as if installed there."""
    wheels, options = _wheel_files(request.wheels), request.options
    if len(wheels) == 1 and request.environment is None:
        archive = stack.enter_context(Archive.open(wheels[0], options.limits))
        yield wheels[0], examine_wheel(archive, options, index)
    elif wheels:
        beside = () if request.environment is None else (request.environment,)
        yield from examine_set(wheels, replace(options, beside=beside), index, stack)


def _situated(symptom: Symptom, environment: Environment) -> Symptom:
    """Add what the environment knows about a symptom: whose files it is about, which torch there is, what it is."""
    owners = _owners(environment, symptom)
    details = {**symptom.details, **situation(environment)}
    if len(owners) == 1:
        details.update(distribution=canonical(owners[0].name), version=owners[0].version)
    return replace(symptom, details=details)


def _wheel_files(paths: tuple[Path, ...]) -> list[Path]:
    """The wheels to look at: those named, and those in the folders named, each once."""
    found: dict[Path, None] = {}
    for path in paths:
        inside = sorted(path.glob("*.whl")) if path.is_dir() else [path]
        if not inside:
            raise InputError(str(path), because="there is no wheel in this folder", hint="name a wheel (.whl)")
        found.update(dict.fromkeys(inside))
    return list(found)


def _packages_in_question(environment: Environment, package: str, symptoms: tuple[Symptom, ...]) -> list[Distribution]:
    """The distributions to look at: the one asked for, else those that the text is about, else all that have DLLs."""
    if package:
        return chosen_distributions(environment, (package,))
    found: dict[str, Distribution] = {}
    for symptom in symptoms:
        for distribution in _owners(environment, symptom):
            found[distribution.dist_info] = distribution
    if not found and symptoms:
        found = {one.dist_info: one for one in environment.distributions if canonical(one.name) == "torch"}
    return list(found.values()) or chosen_distributions(environment, ())


def _owners(environment: Environment, symptom: Symptom) -> list[Distribution]:
    """The distributions that have the file, the module or the package of a symptom."""
    inside = fold(_inside(symptom.path or ""))
    folder = f"{SITE_PACKAGES}/{symptom.package}/" if symptom.package else ""
    module = symptom.module.rpartition(".")[2]
    by_folder, by_module = [], []
    for distribution in environment.distributions:
        paths = distribution.paths
        if inside and any(fold(path) == inside for path in paths):
            return [distribution]
        if folder and any(path.startswith(folder) for path in paths):
            by_folder.append(distribution)
        elif module and any(
            path.rpartition("/")[2].partition(".")[0] == module and path.endswith(".pyd") for path in paths
        ):
            by_module.append(distribution)
    return by_folder or by_module


def _inside(path: str) -> str:
    """A Windows path as a path of the view: what follows the prefix."""
    parts = PureWindowsPath(path).parts
    lowered = [part.lower() for part in parts]
    if "site-packages" not in lowered:
        return ""
    return "/".join([SITE_PACKAGES, *parts[lowered.index("site-packages") + 1 :]])

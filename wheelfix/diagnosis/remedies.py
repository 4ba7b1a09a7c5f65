"""What to do about a cause that the files show: commands for exactly this environment or wheel, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.diagnosis.symptoms.model import Remedy
from wheelfix.diagnosis.symptoms.templates import may_replace_a_build, requirement_name
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.providers import conda_requirements, owners_of, pip_packages
from wheelfix.knowledge.system import classify
from wheelfix.model import dll_key
from wheelfix.rules.policy import test_artifacts_shipped
from wheelfix.rules.registry import found_by
from wheelfix.rules.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.base.options import ScanOptions
    from wheelfix.diagnosis.model import Explained, ScannedPackage
    from wheelfix.model import MissingDll

_LAST = ("KMP_DUPLICATE_LIB_OK",)


def remedies_for(explained: Explained, case: ScannedPackage | None) -> tuple[Remedy, ...]:
    """Return what to do, best first: for these files, then what the table knows about such causes."""
    table = explained.cause.next_steps
    if case is None:
        return table
    own = [*_repairs(explained, case), *_vendor_packages(explained, case), *_test_artefacts(case)]
    # The table's advice to look at the files, and to repair them, was followed or is given better above.
    rest = [step for step in table if not step.command.startswith("wheelfix ")]
    if any("pip install" in step.command for step in own):
        rest = [step for step in rest if step.title != "Install the vendor's package that has it"]
    urgent = [step for step in rest if "torch==2.4.1" in step.command]
    return ranked([*urgent, *own, *(step for step in rest if step not in urgent)])


def ranked(steps: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Return the steps without repetitions, the last resorts at the end, numbered."""
    seen: dict[tuple[str, str], Remedy] = {}
    for step in steps:
        seen.setdefault((step.command or step.title, step.danger), step)
    ordered = sorted(seen.values(), key=lambda step: any(word in step.command for word in _LAST))
    return tuple(replace(step, rank=rank) for rank, step in enumerate(ordered, start=1))


def _items(explained: Explained, case: ScannedPackage) -> list[MissingDll]:
    """The missing DLLs that a wheel could carry: those of the cause, and then all others that a load needs.

    Repairing the first alone would only move the error to the next.
    """
    if not explained.cause.likely_missing:
        return []
    names = [dll_key(name) for name in explained.cause.likely_missing]
    names += [key for key, item in case.missing.items() if item.required]
    items = []
    for key in dict.fromkeys(names):
        member, kind = family_of(key), classify(key, case.exam.report.machine).kind
        # Not what Windows, Python, drivers and the C++ runtime bring, nor what may not be redistributed.
        if key in case.missing and kind in ("vendor", "unknown") and (member is None or member.family.redistribute):
            items.append(case.missing[key])
    return items


def target(case: ScannedPackage) -> str:
    """The arguments that make ``wheelfix repair`` work on these files."""
    if case.wheel:
        return f'"{case.wheel}"'
    return f'--env "{case.prefix}" --package {case.name}'


def carried(options: ScanOptions, *, discover: bool = False) -> str:
    """What the user said about the target and about roots, as options of ``wheelfix repair``.

    With ``discover`` roots are looked for even if the user named all of them: something new was installed.
    """
    roots = options.roots
    named = {
        "--root": roots.roots,
        "--cuda": roots.cuda,
        "--cudnn": roots.cudnn,
        "--oneapi": roots.oneapi,
        "--conda": roots.conda,
        "--python": filter(None, [options.python]),
        "--trusted-roots": filter(None, [roots.trusted_roots]),
    }
    words = [f"--assume {word}" for word in options.assume] + [f"--no-assume {word}" for word in options.no_assume]
    words += [f'{option} "{path}"' for option, paths in named.items() for path in paths]
    words += ["--no-discover"] if not roots.discover and not discover else []
    words += ["--search-path"] if roots.search_path else []
    return "".join(f" {word}" for word in words)


def _repairs(explained: Explained, case: ScannedPackage) -> Iterator[Remedy]:
    """Repair with what was found on this machine."""
    items = [item for item in _items(explained, case) if item.candidates]
    if not items:
        return
    found = [f"{item.candidates[0].path} ({item.candidates[0].version or 'version unknown'})" for item in items]
    yield Remedy(
        f"Repair the {'wheel' if case.wheel else 'installed package'} with what is on this machine",
        f"wheelfix repair {target(case)}{carried(case.options)}",
        f"found: {'; '.join(found)}",
    )


def _vendor_packages(explained: Explained, case: ScannedPackage) -> Iterator[Remedy]:
    """Install the vendor's package; where its folder is not searched, take the DLL from there."""
    cuda = case.exam.subject.cuda.text or None
    direct: dict[str, list[str]] = {}
    detour: dict[str, list[str]] = {}
    conda: dict[str, list[str]] = {}
    for item in _items(explained, case):
        if item.candidates:
            continue
        fitting = [one for one in pip_packages(item.name, cuda=cuda) if not may_replace_a_build(one)]
        for package in fitting[:1]:
            searched = _folder_of(package, item.name) == "Library/bin" and not case.wheel
            (direct if searched else detour).setdefault(quoted(package), []).append(item.name)
        for requirement in conda_requirements(item.name):
            conda.setdefault(quoted(requirement), []).append(item.name)
    if direct:
        yield Remedy(
            "Install the vendor's package that has it",
            f"python -m pip install {' '.join(direct)}",
            f"it puts {_names(direct)} into Library\\bin, which torch searches",
        )
    if detour:
        again = carried(case.options, discover=True)
        yield Remedy(
            "Install the vendor's package and take the DLL from there",
            f"python -m pip install {' '.join(detour)}",
            f"the package has {_names(detour)} in a folder that is not searched: do the next step too",
        )
        yield Remedy(
            "Then repair with the DLL of that package",
            f"wheelfix repair {target(case)}{again}",
            f"it puts {_names(detour)} beside the DLL that needs it",
            when="the package of the step before is installed",
        )
    if conda and not direct and not case.wheel:
        yield Remedy(
            "In a conda environment: install the package that has it",
            f"conda install -c conda-forge {' '.join(conda)}",
            f"it puts {_names(conda)} into Library\\bin",
        )


def _folder_of(requirement: str, name: str) -> str:
    """Where a distribution puts a DLL, below the prefix."""
    distribution = requirement_name(requirement)
    return next((owner.folder for owner in owners_of(name) if owner.distribution == distribution), "")


def _names(packages: dict[str, list[str]]) -> str:
    return ", ".join(dict.fromkeys(name for names in packages.values() for name in names))


def _test_artefacts(case: ScannedPackage) -> Iterator[Remedy]:
    found = [one for one in case.findings if found_by(one, test_artifacts_shipped)]
    if found:
        yield Remedy(
            "Drop the test artefacts that were packed by accident",
            f"wheelfix repair --drop-test-artifacts {target(case)}{carried(case.options)}",
            found[0].message,
        )

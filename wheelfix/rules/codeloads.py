"""WF207, WF314, WF315, WF317 and WF331: what the package's Python code loads itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import grouped
from wheelfix.knowledge.providers import owners_of
from wheelfix.knowledge.system import classify
from wheelfix.loader.packagecode import package_loads
from wheelfix.loader.packageloading import module_name
from wheelfix.loader.view import is_pyd
from wheelfix.model import CodeFault, Severity, canonical, dll_key
from wheelfix.pycode.budget import NOT_PYTHON, budget_of
from wheelfix.rules.context import Subject, base, inside, key_of
from wheelfix.rules.hints import reinstall, repair_command
from wheelfix.rules.registry import Findings, error_if, finding, rule
from wheelfix.rules.wording import count, listing

if TYPE_CHECKING:
    from collections.abc import Iterator


@rule("WF314")
def missing_code_loads(subject: Subject) -> Findings:
    """Find loads in Python code that find no file, and code that gives up after looking for one without success."""
    for fault in _first_per_name(subject, ("load", "cffi", "raise", "order")):
        names = [inside(name) for name in fault.names]
        hint = f"add {base(fault.names[0])} to the wheel where the code looks for it, or catch the error in the code"
        if any("/" in name for name in (*fault.names, *fault.searched)):
            command = repair_command(subject, "--root FOLDER")
            hint = f"{command} puts {base(fault.names[0])} where the code looks for it, if FOLDER has it"
        if all(map(is_pyd, fault.names)):  # which no folder of DLLs has
            hint = reinstall(subject, BUILD_MODULE)
        if subject.view.beside is not None and "/" not in fault.names[0]:
            name = fault.names[0]
            known = ", ".join(owner.distribution for owner in owners_of(name) if not owner.only)
            which = f"{name} ({known})" if known else name
            hint = f"install a distribution that has {which}, and add its folder to the search if the code does not"
        if fault.chain and not _is_in_wheel(subject, fault.chain[-1]):
            hint = f"add {fault.chain[-1]} to the wheel, beside {fault.chain[0]}"
        elif fault.chain:
            hint = (
                f"add the folder of {fault.chain[-1]} to the search before this load, or put it beside {fault.chain[0]}"
            )
        yield finding(
            "WF314",
            names[0] if len(fault.chain) <= 2 else fault.chain[-2],
            f"{_place(subject, fault)} {_problem(subject, fault, names)}; {_consequence(fault)}",
            hint=hint,
            evidence=_evidence(subject, fault),
            severity=error_if(fault.reached),
        )


@rule("WF315")
def missing_code_folders(subject: Subject) -> Findings:
    """Find folders whose addition raises an exception by itself."""
    for fault in _first_per_name(subject, ("folder", "listing")):
        name = inside(fault.names[0])
        added = fault.cause == "folder"
        does = f"gives {name} to os.add_dll_directory" if added else f"lists the files of {name}"
        yield finding(
            "WF315",
            name,
            f"{_place(subject, fault)} {does}, but the folder does not exist; "
            f"{_consequence(fault)} [WinError {2 if added else 3}]",
            hint="add the folder with its DLLs to the wheel, or check os.path.isdir first",
            evidence=_evidence(subject, fault),
            severity=error_if(fault.reached),
        )


@rule("WF331")
def raised_by_code(subject: Subject) -> Findings:
    """Find exceptions that the package's code raises on every machine: for the wrong Python, or a symbol not there."""
    for fault in subject.resolution.code_faults:
        if fault.cause == "end" and fault.sure and fault.reached:
            yield finding(
                "WF331",
                inside(fault.file),
                f"{_place(subject, fault)} raises {fault.error}: {fault.text}; {_consequence(fault)}",
                hint="run the import with the Python that the wheel is for, and correct the line",
                evidence=_evidence(subject, fault),
            )


@rule("WF317")
def unsure_code_loads(subject: Subject) -> Findings:
    """Find loads that importing the package performs, and that depend on what was not read or is not in the wheel."""
    seen: set[tuple[str, ...]] = set()
    if any(fault.sure and fault.reached for fault in subject.resolution.code_faults):
        return  # the import fails before this matters
    for fault in subject.resolution.code_faults:
        if fault.sure or not fault.reached or fault.names in seen:
            continue
        seen.add(fault.names)
        names = [inside(name) for name in fault.names]
        reason = f"which {'is' if len(names) == 1 else 'are'} not in the wheel"
        reason += "" if all("/" in name for name in fault.names) else " and must come from elsewhere"
        if fault.cause == "unread":
            reason = "which file that is could not be read from the code"
        elif {*map(key_of, fault.names)} <= {*map(key_of, subject.images)}:
            reason = "which is in the wheel, and whether it is found there could not be determined"
        what = f"calls {names[0]}" if fault.cause == "unread" else f"loads {listing(names)}"
        yield finding(
            "WF317",
            names[0],
            f"{_place(subject, fault)} {what}, {reason}; if it is not found, importing the package fails",
            hint="test the import on a clean Windows machine, or put the DLL into the wheel and load it by its path",
            evidence=_evidence(subject, fault),
        )
    tags = subject.distribution.tags
    for name, file in dlls_left_out(subject).items() if not seen else ():
        yield finding(
            "WF317",
            name,
            f"{inside(file)} loads {name}, and the wheel has no DLL at all, although it is for {tags[0]}",
            hint="build the wheel again, and see that the build puts the DLL into it",
            evidence={"names": [name], "file": subject.origin(file)},
        )


def dlls_left_out(subject: Subject) -> dict[str, str]:
    """The DLLs that code of a wheel for Windows alone loads, where it has none and nothing else is known to have them.

    libclang and z3-solver look for their only DLL in ways that are not followed, or load it when it is first used;
    libusb1 does so by its path, and pymongocrypt catches the failure.
    """
    tags = subject.distribution.tags
    files = (*subject.images, *subject.malformed)
    if not tags or not all("-win" in tag for tag in tags) or any(not path.lower().endswith(".exe") for path in files):
        return {}
    named = (
        (name, file.path)
        for file in package_loads(subject.view, subject.profile).files
        for name in (*file.names, *map(base, file.absent_later))
    )
    return {
        name: path
        for name, path in named
        if name.lower().endswith(".dll")
        and classify(name, subject.machine).kind == "unknown"
        and not subject.view.named(dll_key(name))
        and all(owner.distribution == canonical(subject.name) for owner in owners_of(name))
    }


BUILD_MODULE = "build the wheel again, and see that the build puts this module into it"


def imported_as(file: str) -> str:
    """Return the name under which a file is imported as a module; of an ``__init__`` that of the package."""
    return module_name(file).removesuffix(".__init__")


def _problem(subject: Subject, fault: CodeFault, names: list[str]) -> str:
    """What the code does, and what is wrong with that."""
    if fault.chain and not _is_in_wheel(subject, fault.chain[-1]):
        return f"loads {names[0]}, which cannot be loaded without {fault.chain[-1]}"
    if fault.chain:
        return (
            f"loads {names[0]}, which imports {fault.chain[-1]}: that is in the wheel, but not in a folder that is "
            "searched at that point"
        )
    asks, number = "looks for" if fault.cause == "raise" else "loads", "is" if len(names) == 1 else "are"
    there = [name for name in fault.names if name in subject.view]
    state = "cannot be loaded" if len(there) == len(names) else f"{number} not there"
    state = f"{number} not there or cannot be loaded" if there and len(there) < len(names) else state
    return f"{asks} {listing(names)}, which {state}"


def _is_in_wheel(subject: Subject, name: str) -> bool:
    """Whether the wheel has a DLL of some name anywhere."""
    return any(key_of(path) == dll_key(name) for path in subject.view.images())


def _first_per_name(subject: Subject, causes: tuple[str, ...]) -> Iterator[CodeFault]:
    """The faults of some causes that are sure, one for each DLL; those that importing the package meets come first."""
    seen: set[tuple[str, ...]] = set()
    found = [fault for fault in subject.resolution.code_faults if fault.sure and fault.cause in causes]
    for fault in sorted(found, key=lambda fault: not fault.reached):
        if fault.names not in seen:
            seen.add(fault.names)
            yield fault


def _place(subject: Subject, fault: CodeFault) -> str:
    return f"{subject.origin(fault.file)}, line {fault.line},"


def _consequence(fault: CodeFault) -> str:
    return f"importing {imported_as(fault.root)} fails with {fault.error}"


def _evidence(subject: Subject, fault: CodeFault) -> dict[str, object]:
    return {
        "file": subject.origin(fault.file),
        "line": fault.line,
        "imported": subject.origin(fault.root),
        "names": [inside(name) for name in fault.names],
        "error": fault.error,
        "reached": fault.reached,
    }


_SHOWN = 20
"""Files in the evidence; the others are counted."""


@rule("WF207")
def package_code_unread(subject: Subject) -> Findings:
    """Find code that took more work than it is worth, or that is not Python; one finding for each reason."""
    budget = budget_of(subject.view)
    unread = (((reason, path in budget.loading), path) for path, reason in sorted(budget.unread.items()))
    for (reason, loads), paths in sorted(grouped(unread).items()):
        if reason == NOT_PYTHON and not loads:
            continue
        more = f" and {count(len(paths) - 1, 'other file')}" if len(paths) > 1 else ""
        unknown = (
            "which folders it adds to the DLL search and which DLLs it loads is not known"
            if loads
            else "what it imports is not known"
        )
        yield finding(
            "WF207",
            subject.origin(paths[0]),
            f"the code of {base(paths[0])}{more} was not read: {reason}; {unknown}",
            hint="look at the file: code that loads DLLs is short; or test the import on a clean Windows machine",
            evidence={
                "files": subject.origins(paths[:_SHOWN]),
                "count": len(paths),
                "reason": reason,
            },
            severity=(Severity.UNSURE if reason == NOT_PYTHON else Severity.WARNING) if loads else Severity.INFO,
        )

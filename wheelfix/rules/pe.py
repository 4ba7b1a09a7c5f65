"""WF2xx: files that are named like DLLs and are not, are irregular, for another processor, or debug builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.system import runtime_file
from wheelfix.loader.loading import runs_on
from wheelfix.loader.packagecode import imported_modules
from wheelfix.loader.packageloading import module_name
from wheelfix.loader.view import is_pyd
from wheelfix.model import (
    Image,
    Machine,
    Malformed,
    Severity,
    dll_key,
)
from wheelfix.pycode.sourcecode import NO_MODULE
from wheelfix.rules.context import Subject, base, folder
from wheelfix.rules.hints import reinstall
from wheelfix.rules.registry import Findings, error_if, finding, rule
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from wheelfix.loader.view import ViewFile

_KINDS = {"empty": "WF202", "lfs-pointer": "WF203"}
"""Codes of their own for two ways of not being a PE image; all others are WF201."""

_MACH_O = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")
"""How files of macOS begin: for one processor, or for several."""

_RELEASE_CRT = ("vcruntime140", "msvcp140", "ucrtbase", "api-ms-win-crt-")
"""How the names of release runtimes begin; those of debug runtimes begin so too and end in ``d``."""

_NO_FAULTS = ("arm64x: ", "chpe: ")
"""What is odd about an image and yet as it should be."""


def is_debug_crt(name: str) -> bool:
    """Whether a DLL name is one of the debug C and C++ runtimes."""
    runtime = runtime_file(name)
    return runtime is not None and runtime.debug


@rule("WF201", "WF202", "WF203")
def unreadable_images(subject: Subject) -> Findings:
    """Find files that Windows answers with error 193."""
    foreign = {path: facts for path, facts in subject.foreign.items() if isinstance(facts, Malformed)}
    for path, facts in {**subject.malformed, **foreign}.items():
        name = base(path)
        idle = Severity.INFO if facts.kind == "empty" and is_pyd(path) else Severity.WARNING
        importers, severity, consequence = _effect(subject, path, idle)
        code = _KINDS.get(facts.kind, "WF201")
        what = {
            "WF202": f"{name} is empty",
            "WF203": f"{name} is a git-lfs pointer, not the DLL",
        }.get(code, f"{name} is not a valid PE image: {facts.reason}")
        yield finding(
            code,
            subject.origin(path),
            f"{what}; {consequence}",
            hint=(
                f"install {subject.owner(path) or 'what it belongs to'} again"
                if path in foreign
                else reinstall(subject, "fetch the real file with 'git lfs pull' and build the wheel again")
                if code == "WF203"
                else reinstall(subject, "replace it with the whole file from the build and pack the wheel again")
            ),
            evidence={"kind": facts.kind, "reason": facts.reason, "size": facts.size, "needed_by": importers},
            severity=severity,
        )


@rule("WF204")
def wrong_machine(subject: Subject) -> Findings:
    """Find DLLs that cannot live in the process the wheel is made for."""
    if subject.machine is Machine.UNKNOWN:
        return
    foreign = {path: facts for path, facts in subject.foreign.items() if isinstance(facts, Image)}
    for path, image in {**subject.images, **foreign}.items():
        # A program runs in a process of its own, and a .NET assembly says x86 when it means any processor.
        if not image.is_dll or image.managed or _fits(subject.machine, image):
            continue
        importers, severity, consequence = _effect(subject, path, Severity.INFO)
        whose = "the package" if path in foreign else "the wheel"
        anywhere = bool(subject.distribution.tags) and all(tag.endswith("-any") for tag in subject.distribution.tags)
        judged = f"{whose} is examined for" if anywhere else f"{whose} for"
        yield finding(
            "WF204",
            subject.origin(path),
            f"{base(path)} is built for {image.machine}, {judged} {subject.machine}; {consequence}",
            hint=(
                "nothing to do if the package chooses the file by processor at run time; otherwise leave it out"
                if severity is Severity.INFO
                else f"put the {subject.machine} build of {base(path)} in its place, or leave the file out"
            ),
            evidence={
                "machine": image.machine.value,
                "expected": subject.machine.value,
                "needed_by": importers,
            },
            severity=severity,
        )


@rule("WF205")
def debug_crt(subject: Subject) -> Findings:
    """Find images that import a debug C runtime which the wheel does not carry."""
    for path, image in subject.images.items():
        carried = {dll_key(edge.name) for edge in subject.edges_from.get(path, ()) if edge.file}
        imported = {item.dll for item in image.imports if is_debug_crt(item.dll)}
        wanted = sorted((name for name in imported if dll_key(name) not in carried), key=dll_key)
        if not wanted:
            continue
        loaded, twin = subject.reached(path), _release_twin(subject, path)
        foreign = not _fits(subject.machine, image)
        unloaded = f"; {twin} is its release twin, and nothing" if twin else "; nothing"
        names = ", ".join(wanted)
        yield finding(
            "WF205",
            subject.origin(path),
            f"{base(path)} is a debug build: it imports {names}, which only machines with Visual Studio have"
            + (
                f"; loading it fails with error 126 elsewhere{_mixed(subject, path)}"
                if loaded
                else f"{unloaded} in the wheel is known to load it"
            ),
            hint=(
                f"leave {base(path)} out of the wheel"
                if twin and not loaded
                else "build it in Release or RelWithDebInfo configuration; the debug runtime may not be redistributed"
            ),
            evidence={"imports": wanted, "loaded": loaded, "twin": twin},
            severity=Severity.ERROR if loaded else Severity.INFO if twin or foreign else Severity.WARNING,
        )


@rule("WF206")
def irregular_tables(subject: Subject) -> Findings:
    """Find images of which something was not understood, since what is not read is not checked either."""
    for path, image in subject.images.items():
        odd = [what for what in image.oddities if not what.startswith(_NO_FAULTS)]
        if not odd:
            continue
        more = f" (and {len(odd) - 3} more)" if len(odd) > 3 else ""
        yield finding(
            "WF206",
            subject.origin(path),
            f"{base(path)} has irregular tables: {'; '.join(odd[:3])}{more}",
            hint="compare it with the file of the vendor or of the build; packers and damaged downloads look like this",
            evidence={"oddities": odd},
        )


@rule("WF208")
def other_system(subject: Subject) -> Findings:
    """Find wheels that were built on Linux or macOS and got a tag for Windows."""
    tags = subject.distribution.tags
    if subject.images or subject.malformed or not tags or not all("-win" in tag for tag in tags):
        return
    files = {file.path: _system_of(subject, file.path) for file in subject.view.own_files if _may_be_compiled(file)}
    found = [path for path, system in files.items() if system]
    if not found:
        return
    modules = [path for path in found if path.endswith(".so")]
    imported = imported_modules(subject.view, map(module_name, modules), NO_MODULE)
    needed = [path for path in modules if imported.get(module_name(path)) is False]
    programs = [path for path in found if path.startswith("Scripts/")]
    first = (needed or programs or found)[0]
    system = files[first]
    fails = f"; 'import {module_name(first)}' fails with ModuleNotFoundError" if needed else ""
    yield finding(
        "WF208",
        subject.origin(first),
        f"{base(first)} is for {system}, and nothing in the wheel is for Windows, which its tags name{fails}",
        hint="build the wheel on Windows, or give it the tags of the system that it was built on",
        evidence={"system": system, "paths": subject.origins(found[:20]), "count": len(found)},
        severity=error_if(needed or programs),
    )


def _may_be_compiled(file: ViewFile) -> bool:
    """Whether a file has the name of a library, or of a program, of another system."""
    name = base(file.path).lower()
    return file.size >= 64 and (
        name.endswith((".so", ".dylib")) or ".so." in name or (file.path.startswith("Scripts/") and "." not in name)
    )


def _system_of(subject: Subject, path: str) -> str:
    """Return the system that a compiled file is for, or nothing."""
    head = subject.view.source(path).read_at(0, 4)
    return "Linux" if head == b"\x7fELF" else "macOS" if head in _MACH_O else ""


def _release_twin(subject: Subject, path: str) -> str:
    """Return the release build of a debug build, or nothing: beside it without ``d`` or ``_debug`` in its name.

    In another folder (``Debug``) it may have the same name.
    """
    stem, dot, ending = base(path).lower().partition(".")
    names = {f"{stem.removesuffix(suffix)}{dot}{ending}" for suffix in ("d", "_d", "_debug", "-debug")}
    for other, image in subject.images.items():
        wanted = names if folder(other) == folder(path) else {base(path).lower()}
        debug = any(is_debug_crt(item.dll) for item in image.imports)
        if other != path and base(other).lower() in wanted and not debug:
            return base(other)
    return ""


def _mixed(subject: Subject, path: str) -> str:
    """Return the release builds that a debug build exchanges calls with, as the end of a sentence; or nothing."""
    partners = {edge.importer for edge in subject.edges_to.get(path, ())}
    partners |= {edge.file for edge in subject.edges_from.get(path, ()) if edge.file}
    release = sorted(
        base(other)
        for other in partners & subject.images.keys()
        if any(dll_key(item.dll).startswith(_RELEASE_CRT) for item in subject.images[other].imports)
        and not any(is_debug_crt(item.dll) for item in subject.images[other].imports)
    )
    if not release:
        return ""
    are = "is a release build" if len(release) == 1 else "are release builds"
    return f", and {listing(release)} {are}: memory and C++ objects that pass between the two kinds are corrupted"


def _fits(machine: Machine, image: Image) -> bool:
    return image.machine is Machine.UNKNOWN or runs_on(image.machine, machine)


def _effect(subject: Subject, path: str, unused: Severity) -> tuple[list[str], Severity, str]:
    """Return who would get a file for an import or as a companion, how bad that is, and what happens then."""
    edges = [edge for edge in subject.edges_to.get(path, ()) if edge.is_import or edge.required]
    importers = sorted({subject.origin(edge.importer) for edge in edges})
    own = (outcome.event for outcome in subject.outcomes if outcome.event.path == path)
    if any(not event.guarded and event.cause != "module" for event in own):
        text = "the package loads it and gets error 193 (not a valid Win32 application)"
        return importers, Severity.ERROR, text
    if not importers:
        return importers, unused, "nothing in the wheel is known to load it"
    reached = any(subject.reached(edge.importer) for edge in edges)
    more = f" and {len(importers) - 1} more" if len(importers) > 1 else ""
    text = f"{base(importers[0])}{more} needs it and fails with error 193"
    return importers, error_if(reached), text

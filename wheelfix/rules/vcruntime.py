"""WF306 and WF409: the Visual C++ runtime that a wheel relies on, and the one in it against the toolsets of its DLLs.

Microsoft's promise goes one way: a newer runtime serves older programs. Which toolset made a DLL is shown by its linker
version and by the compilers in its Rich header, of which the newest counts. A runtime under its usual name is one of
several in a process: whichever is loaded first serves everyone, so the new copy in a wheel may not be the one in use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import frozen
from wheelfix.knowledge.families import demangle
from wheelfix.knowledge.providers import owners_of, who_ships
from wheelfix.knowledge.system import python_runtime, runtime_file, runtime_needed, toolset_of_build
from wheelfix.loader.requirements import Requirements, requirements
from wheelfix.model import Edge, Finding, Image, Severity, VcRedist, dll_key, fold
from wheelfix.pe.version import newest_compiler
from wheelfix.rules.context import Subject, base, folder, key_of
from wheelfix.rules.dependencies import needs
from wheelfix.rules.hints import repair_command
from wheelfix.rules.registry import Findings, finding, rule
from wheelfix.rules.wording import dotted, listing

if TYPE_CHECKING:
    from wheelfix.knowledge.tables import Pair

CONSTEXPR_MUTEX: Pair = (14, 40)
"""From this toolset on a std::mutex needs no constructor call; a runtime before that crashes on the first lock.

https://github.com/microsoft/STL/wiki/Changelog, VS 2022 17.10. Code that was compiled to keep the old way
(_DISABLE_CONSTEXPR_MUTEX_CONSTRUCTOR) imports _Mtx_init_in_situ, all other code no longer does.
"""


@frozen
class _User:
    """A DLL that uses a runtime, and the newest toolset that had a hand in it."""

    path: str
    toolset: Pair
    compiled: bool
    """The toolset is that of a compiler, newer than the linker."""
    locks: bool
    """Locks a std::mutex that no constructor has run for."""


@rule("WF409")
def vc_runtime_too_old(subject: Subject) -> Findings:
    """Hold the runtime DLLs in the wheel, and those that are there before them, against the toolset of their users."""
    for runtime, users in sorted(_users(subject).items()):
        version = subject.version(runtime) if runtime in subject.images else None
        if version is None or version.file[0] != 14:
            continue
        newest = max(users, key=lambda user: (user.toolset, user.locks))
        locking = next((user for user in users if user.locks and user.toolset >= CONSTEXPR_MUTEX), None)
        own: Pair = (version.file[0], version.file[1])
        if own < newest.toolset:
            yield _too_old(subject, runtime, own, locking if locking and own < CONSTEXPR_MUTEX else newest)
        elif locking is not None and key_of(runtime) == "msvcp140.dll":  # the name that every other copy has too
            yield _may_lose(subject, runtime, own, locking)
    yield from _of_the_machine(subject)
    yield from _python_has_its_own(subject)


def _of_the_machine(subject: Subject) -> Findings:
    """Tell that the msvcp140.dll of the machine, or of another package, must not be older than the constexpr mutex."""
    relied = (edge for edge in subject.edges if isinstance(edge.provider, VcRedist) and edge.is_import)
    importers = dict.fromkeys(edge.importer for edge in relied if dll_key(edge.name) == "msvcp140.dll")
    images = {path: image for path in importers if (image := subject.images.get(path)) and subject.reached(path)}
    users = [_user(subject, path, image) for path, image in images.items() if locks_unconstructed_mutex(image)]
    paths = [user.path for user in users if user is not None and user.toolset >= CONSTEXPR_MUTEX]
    if paths:
        yield finding(
            "WF409",
            subject.origin(paths[0]),
            f"{listing([base(path) for path in paths])} {'needs' if len(paths) == 1 else 'need'} an msvcp140.dll of "
            f"{dotted(CONSTEXPR_MUTEX)} or later; with an older one the first lock of a std::mutex crashes",
            hint="build with _DISABLE_CONSTEXPR_MUTEX_CONSTRUCTOR, and older ones do",
            evidence={"runtime": dotted(CONSTEXPR_MUTEX), "paths": subject.origins(paths)},
            severity=Severity.INFO,
        )


def _too_old(subject: Subject, runtime: str, own: Pair, user: _User) -> Finding:
    how = "has objects compiled by" if user.compiled else "was linked by"
    crash = user.locks and own < CONSTEXPR_MUTEX <= user.toolset and key_of(runtime).startswith("msvcp140")
    return finding(
        "WF409",
        subject.origin(runtime),
        f"{base(runtime)} is {dotted(own)}, {base(user.path)} {how} toolset {dotted(user.toolset)}; "
        + (
            "the first lock of a std::mutex crashes"
            if crash
            else "Microsoft asks for a runtime at least as new as the newest toolset"
        ),
        hint=(
            f"take {demangle(base(runtime))} from the redistributable {dotted(user.toolset)} or later, or leave it out"
        ),
        evidence={
            "runtime": str(subject.version(runtime)),
            "toolset": dotted(user.toolset),
            "importer": subject.origin(user.path),
        },
        severity=Severity.WARNING if crash else Severity.INFO,
    )


def _may_lose(subject: Subject, runtime: str, own: Pair, user: _User) -> Finding:
    """Tell that a runtime under its usual name serves only if nothing older of that name is there before it."""
    return finding(
        "WF409",
        subject.origin(runtime),
        f"{base(runtime)} {dotted(own)} is used only if no other {base(runtime)} is loaded before it; with one before "
        f"{dotted(CONSTEXPR_MUTEX)}, {base(user.path)} crashes at the first lock of a std::mutex",
        hint="let delvewheel give it a unique name, or build with _DISABLE_CONSTEXPR_MUTEX_CONSTRUCTOR",
        evidence={"runtime": str(subject.version(runtime)), "importer": subject.origin(user.path)},
        severity=Severity.INFO,
    )


def _python_has_its_own(subject: Subject) -> Findings:
    """Tell that Python's vcruntime140.dll is loaded before the wheel's, where that one is known to be older."""
    python = python_runtime(subject.profile.python) if subject.profile.python is not None else None
    for path in subject.images if python is not None else ():
        version = subject.version(path) if key_of(path) == "vcruntime140.dll" else None
        if python is None or version is None or version.file[:2] <= python[1] or not _is_wanted(subject, path):
            continue
        own = dotted((version.file[0], version.file[1]))
        yield finding(
            "WF409",
            subject.origin(path),
            f"{base(path)} {own} is not used: Python has already loaded its own, {dotted(python[1])} with {python[0]}",
            hint=f"leave {base(path)} out; nothing in the wheel uses it",
            evidence={"runtime": str(version), "python": dotted(python[1])},
            severity=Severity.INFO,
        )


def _is_wanted(subject: Subject, path: str) -> bool:
    """Whether a DLL beside it, and not of the runtime itself, imports a file by name."""
    return any(
        folder(other) == folder(path) and runtime_file(key_of(other)) is None
        for other, image in subject.images.items()
        for item in image.imports
        if dll_key(item.dll) == key_of(path)
    )


def _users(subject: Subject) -> dict[str, list[_User]]:
    """Return who imports which runtime DLL of the wheel; parts of the runtime itself do not count."""
    found: dict[str, list[_User]] = {}
    for edge in subject.edges:
        if not edge.is_import or not edge.file:
            continue
        known = runtime_file(demangle(key_of(edge.file)))
        image = subject.images.get(edge.importer)
        if image is None or known is None or known.toolset.id != "14" or known.debug:
            continue
        if runtime_file(demangle(key_of(edge.importer))) is None:
            user = _user(subject, edge.importer, image)
            if user is not None:
                found.setdefault(edge.file, []).append(user)
    return found


def _user(subject: Subject, path: str, image: Image) -> _User | None:
    """Return what is known about the toolset of a DLL; None when nothing is."""
    linked = runtime_needed(image.linker)
    compiled = toolset_of_build(newest_compiler(subject.view.source(path)))
    if linked is None and compiled is None:
        return None
    newest = max(toolset for toolset in (linked, compiled) if toolset is not None)
    return _User(path, newest, linked is None or newest > linked, locks_unconstructed_mutex(image))


def locks_unconstructed_mutex(image: Image) -> bool:
    """Whether a DLL locks a std::mutex for which no constructor has run."""
    symbols = {
        symbol
        for item in image.imports
        if demangle(dll_key(item.dll)).startswith("msvcp140")
        for symbol in item.symbols
        if isinstance(symbol, str)
    }
    return "_Mtx_lock" in symbols and "_Mtx_init_in_situ" not in symbols


@rule("WF306")
def needs_vc_runtime(subject: Subject) -> Findings:
    """Say once per wheel which runtime DLLs have to be on the machine."""
    relied = [edge for edge in subject.edges if isinstance(edge.provider, VcRedist)]
    required = requirements(subject.distribution.requires, subject.profile)
    imports = [edge for edge in relied if edge.is_import and not _has_own_runtime(subject, edge, required)]
    own = needs(subject, imports)
    if not own:
        return
    names = [need.name.lower() for need in own]
    importers = sorted({subject.origin(edge.importer) for need in own for edge in need.edges})
    shipper = next(iter(who_ships(names[0], machine=subject.machine)), "").rpartition(", ")[2] or "Microsoft"
    who = base(importers[0]) if len(importers) == 1 else f"{len(importers)} files"
    yield finding(
        "WF306",
        names[0],
        f"{who} {'needs' if len(importers) == 1 else 'need'} {listing(names, 6)} of the Visual C++ redistributable, "
        "which must be installed on the machine",
        hint=(f"users get it from {shipper}; {repair_command(subject, '--with-vcredist --root FOLDER')} adds the DLLs"),
        evidence={"names": names, "needed_by": importers},
    )


def _has_own_runtime(subject: Subject, edge: Edge, required: Requirements) -> bool:
    """Whether a requirement brings a runtime DLL, or the wheel itself does for a file that is loaded after it."""
    if not subject.installed and any(owner.distribution in required for owner in owners_of(edge.name)):
        return True
    # What nothing in the package loads by itself, such as a plugin, meets the copy that its loader brought in.
    key = dll_key(edge.name)
    return not subject.reached(edge.importer) and any(fold(base(path)) == key for path in subject.images)

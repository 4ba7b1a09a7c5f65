"""WF312, WF313 and WF61x: several copies of one DLL, and DLLs in the wrong place.

A DLL in the wrong place that makes a load fail has findings of its own (WF3xx, WF2xx). These are the others: copies
that nothing loads, files that no distribution owns, files beside python.exe that win over those of packages;
``repair --clean`` removes or moves them.
"""

from __future__ import annotations

import functools

from wheelfix.base.values import frozen, grouped
from wheelfix.knowledge.companions import companions_of
from wheelfix.knowledge.system import classify
from wheelfix.loader.packagecode import CodeNames, names_in_code
from wheelfix.loader.view import SITE_PACKAGES, is_pyd
from wheelfix.model import Image, Severity, dll_key
from wheelfix.rules.context import Subject, base, folder, key_of
from wheelfix.rules.hints import repair_command
from wheelfix.rules.registry import Findings, finding, rule
from wheelfix.rules.wording import listing


def _never_loaded(subject: Subject, items: list[Misplaced]) -> Findings:
    """Find copies of a DLL that lie where no loader looks, beside one that is loaded."""
    copies = grouped((key_of(item.path), item.path) for item in items if item.code == "WF312")
    for key, idle in copies.items():
        paths = [path for path in subject.view.named(key) if path in subject.images]
        winners = [path for path in paths if path not in idle]
        differ = any(subject.images.get(path) != subject.images.get(winners[0]) for path in idle) if winners else False
        yield finding(
            "WF312",
            subject.origin(idle[0]),
            f"{base(idle[0])} is in the wheel {len(paths)} times; the copy in "
            f"{listing([_place(subject, path) for path in winners])} is loaded, the one in "
            f"{listing([_place(subject, path) for path in idle])} never is"
            + (", and is a different file" if differ else ""),
            hint=f"{repair_command(subject, '--clean')} leaves it out",
            evidence={
                "loaded": subject.origins(winners),
                "idle": subject.origins(idle),
            },
            severity=Severity.WARNING if differ else None,
        )


def _place(subject: Subject, path: str) -> str:
    return folder(subject.origin(path).replace("\\", "/")) or "the root of the wheel"


@rule("WF313")
def shadowed_by_environment(subject: Subject) -> Findings:
    """Find DLLs of the package for which a file beside ``python.exe``, or of another package, is loaded."""
    own = grouped((key_of(path), path) for path in subject.images)
    reported = set()
    for edge in subject.edges:
        if not edge.is_import or not edge.file:
            continue
        winner, mine = edge.file, own.get(dll_key(edge.name), [])
        if winner in reported or not mine or winner in subject.images or not subject.reached(edge.importer):
            continue
        if winner in subject.view and winner not in subject.view.own:
            reported.add(winner)
            other = subject.owner(winner)
            if other and any(subject.view.image(winner) == subject.images[path] for path in mine):
                continue  # the same file, which another distribution has as well
            place = f"it is {other}'s, which comes first" if other else "that place is searched first"
            remedy = f"let {other} and {subject.name} use one {base(winner)}: install releases that were built together"
            if not other:
                remedy = (
                    f"remove {subject.origin(winner)}, unless it is there on purpose and fits {base(edge.importer)}"
                )
            yield finding(
                "WF313",
                subject.origin(winner),
                f"{base(edge.importer)} gets {base(winner)} from {subject.origin(winner)} and not the package's own, "
                f"{subject.origin(mine[0])}: {place}",
                hint=remedy,
                evidence={"importer": subject.origin(edge.importer), "own": subject.origins(mine)},
            )


_OF_PYTHON = frozenset({"python", "vcredist", "ucrt", "api-set", "system"})
"""Kinds of DLLs that are beside python.exe in a normal installation."""


@frozen
class Misplaced:
    """A DLL that is not where it belongs."""

    path: str
    code: str
    """Of the finding about it, or about all idle copies of its name; empty where WF313 is about it."""
    message: str
    """What is wrong with its place, and which copy wins."""
    needed: bool = False
    """Whether the package loads it all the same, so that it cannot simply be removed."""
    severity: Severity | None = None
    """Set where it differs from that of the rule."""


@rule("WF312", "WF610", "WF611", "WF612")
def misplaced_dlls(subject: Subject) -> Findings:
    """Report each DLL that is not where it belongs."""
    items = misplaced(subject)
    yield from _never_loaded(subject, items)
    for item in items:
        if item.code in ("", "WF312"):
            continue  # reported with all copies of the name
        yield finding(
            item.code,
            subject.origin(item.path),
            item.message,
            hint="" if item.needed else f"{repair_command(subject, '--clean')} removes it",
            severity=item.severity,
        )


def misplaced(subject: Subject) -> list[Misplaced]:
    """Return the DLLs that are not where they belong, by path."""
    places = _DllPlaces(subject)
    paths = {*subject.view.image_paths, *(path for path in subject.facts.unowned if path in subject.view)}
    found = (places.judge(path) for path in sorted(paths) if path[-4:].lower() == ".dll")
    return [item for item in found if item is not None]


def used_files(subject: Subject) -> frozenset[str]:
    """Return the files that the package's loads take, and those that its programs, modules and plugins would take.

    A DLL that nothing loads counts as a plugin, unless another copy of it is loaded: then it is a mere copy, and what
    it imports from beside itself is not used through it.
    """
    loaded = {*subject.resolution.reached, *(outcome.event.path for outcome in subject.outcomes)}
    names = {key_of(path) for path in loaded}
    copies = {path for path in subject.images if path.lower().endswith(".dll") and key_of(path) in names} - loaded
    copies -= _loaded_by_engines(subject)
    used = set(loaded)
    pending = [path for path in subject.images if path not in copies]
    for path in pending:  # grows while it is walked
        found = {edge.file for edge in subject.edges_from.get(path, ()) if edge.file}
        image = subject.images.get(path)
        needs = (*image.imports, *image.delay_imports) if image is not None else ()
        beside = (subject.view.find(folder(path), dll_key(need.dll)) for need in needs)
        found.update(filter(None, beside))
        pending += found.intersection(copies).difference(used)
        used |= found
    return frozenset(used)


def _loaded_by_engines(subject: Subject) -> set[str]:
    """Return the files that a program, or an engine such as Chromium or Qt, loads by name from its own folder."""
    found: set[str] = set()
    beside = grouped((folder(path), path) for path in subject.images)
    for path in subject.images:
        if path.lower().endswith(".exe"):
            found.update(beside[folder(path)])
        for need in companions_of(base(path)):
            found.update(
                other for other in beside[folder(path)] if need.strength == "beside" and need.matches(base(other))
            )
    return found


class _DllPlaces:
    """What is known about the places of DLLs in one view."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.view = subject, subject.view
        self.used = used_files(subject) | _loaded_by_engines(subject)

    @functools.cached_property
    def own(self) -> list[str]:
        """The files of the package, and what a plan adds to it."""
        return [file.path for file in self.view.own_files]

    @functools.cached_property
    def _folders(self) -> set[str]:
        return {folder(path) for path in self.own} - {SITE_PACKAGES, ""}

    @functools.cached_property
    def _names(self) -> set[str]:
        """The names of the package's own DLLs, and of those that it asks for."""
        wanted = {dll_key(edge.name) for edge in self.subject.edges}
        return wanted | {key_of(path) for path in self.own if path.lower().endswith(".dll")}

    @functools.cached_property
    def _root_modules(self) -> bool:
        """Whether the package has extension modules in site-packages itself."""
        modules = (path for path in self.view.in_folder(SITE_PACKAGES) if is_pyd(path))
        return any(path in self.view.own for path in modules)

    @functools.cached_property
    def _is_for_others(self) -> bool:
        """Whether the package is DLLs without any Python module: other distributions, or programs, load them."""
        own = (path for path in self.own if ".dist-info/" not in path)
        return not any(path.lower().endswith((".py", ".pyd", ".pyc")) for path in own)

    def judge(self, path: str) -> Misplaced | None:
        """Return what is wrong with the place of a DLL, if anything is."""
        if path not in self.view.own:
            return self._unowned(path) if path in self.subject.facts.unowned else None
        if folder(path) == "":
            return self._beside_python(path)
        if path in self.used:
            return None
        found = self._copy(path) or self._at_root(path)
        if found is None or (self.subject.startup is None and self._code.mentions(base(path))):
            return None  # code knows its name, and may load it; not where its loads are modelled
        return found

    @functools.cached_property
    def _code(self) -> CodeNames:
        return names_in_code(self.view)

    def _winner(self, path: str) -> str:
        """The copy of the same name that is loaded."""
        return next((other for other in self.view.named(base(path)) if other != path and other in self.used), "")

    def _copy(self, path: str) -> Misplaced | None:
        winner = self._winner(path)
        if winner and winner not in self.view.own:
            return None  # the package's own is in its place; the other one is not
        if not winner or folder(path).lower() == "scripts":  # where a venv has its python.exe
            return None
        own, other = self.subject.images.get(path), self.view.image(winner)
        if isinstance(own, Image) and isinstance(other, Image) and own.machine is not other.machine:
            return None  # for a process of another kind
        same = own == other
        return Misplaced(
            path,
            "WF312",
            f"{base(path)} is here and in {self._place(winner)}: {self.subject.origin(winner)} wins, and nothing "
            f"loads this one{'' if same else ', which is a different file'}",
        )

    def _at_root(self, path: str) -> Misplaced | None:
        if folder(path) != SITE_PACKAGES or self._root_modules or self._is_for_others:
            return None
        return Misplaced(
            path, "WF610", f"{base(path)} lies at the root, in site-packages itself; nothing loads it there"
        )

    def _beside_python(self, path: str) -> Misplaced | None:
        """A DLL in python.exe's folder: it is found before the folders that packages add, and after their own."""
        if classify(base(path), self.subject.machine).kind in _OF_PYTHON:
            return None
        others = [self._place(other) for other in self.view.named(base(path)) if other != path]
        beside = f"; there is another in {others[0]}" if others else ""
        winner = self._winner(path)
        if path in self.used:
            message = f"{base(path)} lies beside python.exe and is what this package loads{beside}"
        elif winner:
            message = f"{base(path)} lies beside python.exe; {self.subject.origin(winner)} wins here"
        else:
            message = f"{base(path)} lies beside python.exe, where every package finds it before its own DLL folders"
        used = path in self.used
        return Misplaced(path, "" if used and others else "WF611", message, needed=used and not others)

    def _unowned(self, path: str) -> Misplaced | None:
        """A file of an environment that no distribution owns, as far as it concerns this one."""
        concerns = key_of(path) in self._names
        if folder(path) == "":
            return self._beside_python(path) if concerns else None
        if folder(path) == SITE_PACKAGES:
            return self._at_root(path) if concerns and path not in self.used else None
        if folder(path) not in self._folders:
            return None
        if path in self.used:
            message = f"{base(path)} belongs to no distribution, and this package loads it: it was put there by hand"
            return Misplaced(path, "WF612", f"{message}, and stays behind when the package is removed", needed=True)
        winner = self._winner(path)
        which = f"; {self.subject.origin(winner)} wins" if winner else ""
        message = f"{base(path)} belongs to no distribution and nothing loads it here{which}"
        return Misplaced(path, "WF612", message, severity=Severity.WARNING)

    def _place(self, path: str) -> str:
        inside = folder(path).removeprefix(SITE_PACKAGES).strip("/")
        return inside or ("site-packages" if folder(path) else "the folder of python.exe")

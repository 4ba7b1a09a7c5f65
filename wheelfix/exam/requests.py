"""A need in the form in which a file is chosen for it: who asks, for which symbols, from which release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.view import base_name
from wheelfix.model import Image, dll_key
from wheelfix.roots.choice import DllRequest, Needer
from wheelfix.roots.release import OneRelease, Wanted, group_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.exam.needs import Need
    from wheelfix.loader.view import FileView
    from wheelfix.model import Symbol
    from wheelfix.roots.root import RootFile
    from wheelfix.rules.context import Subject


def request_for(
    need: Need,
    name: str,
    view: FileView,
    subject: Subject,
    *,
    release: str = "",
    companions: tuple[str, ...] = (),
    beside: RootFile | None = None,
    one_release: OneRelease | None = None,
) -> DllRequest:
    """Return the request for one of the names that would meet a need, with what else has to fit."""
    return DllRequest(
        name,
        subject.machine,
        needers(view, need, name),
        subject.cuda.text,
        release=release,
        companions=companions,
        beside=beside,
        one_release=one_release,
    )


def requests_by_group(found: Iterable[Need], view: FileView, subject: Subject) -> dict[str, list[DllRequest]]:
    """Return what is asked of toolkits, by group; what belongs to no toolkit is left out."""
    requests: dict[str, list[DllRequest]] = {}
    for need in found:
        group = group_of(need.name)
        for name in need.names if group else ():
            requests.setdefault(group, []).append(request_for(need, name, view, subject))
    return requests


def needers(view: FileView, need: Need, name: str) -> tuple[Needer, ...]:
    """Return who asks for a DLL, with the symbols that each of them imports from it."""
    found = []
    for path in need.importers:
        image = view.image(path)
        found.append(Needer(view.origin(path), _symbols(image, name) if isinstance(image, Image) else ()))
    return tuple(found)


def _symbols(image: Image, name: str) -> tuple[Symbol, ...]:
    key = dll_key(name)
    tables = (*image.imports, *image.delay_imports)
    return tuple(symbol for entry in tables if dll_key(entry.dll) == key for symbol in entry.symbols)


def wanted_release(group: str, subject: Subject) -> Wanted:
    """Return what the wheel was built with: its CUDA, or the release of the same libraries that it has already."""
    if group == "cuda":
        return subject.cuda
    for path in subject.images:
        version = subject.version(path) if group_of(base_name(path)) == group else None
        if version is not None and any(version.file):
            release = f"{version.file[0]}.{version.file[1]}"
            return Wanted(frozenset({release}), f"{base_name(path)} in it is of {release}")
    return Wanted()

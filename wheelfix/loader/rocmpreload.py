"""What a torch for ROCm loads before its own DLLs: the libraries of the ``rocm`` distributions, by their short names.

torch's ``__init__.py`` runs ``_rocm_init.initialize()`` if there is such a module (torch 2.15.0, lines 181 to 187),
which calls ``rocm_sdk.initialize_process(preload_shortnames=[…])`` (pytorch/pytorch, tools/amd_build,
write_rocm_init.py). That loads, with ctypes and by full path, the first file that fits each library's pattern in the
folder ``bin`` of its package (ROCm/TheRock, ``__init__.py`` and ``_dist_info.py`` in
build_tools/packaging/python/templates/rocm/src/rocm_sdk). What is not preloaded is not found: ROCm/TheRock#6965.

Its releases differ: up to 7.13 every file is looked for before the first is loaded (therock-7.9.0, line 88), from 7.14
on each just before it is loaded, and a library may be marked as optional (lines 63 to 71 and 105 to 115); later, what a
library depends on is loaded before it (``resolve_deps``). Which of these applies is read from the code.
"""

from __future__ import annotations

import ast
import fnmatch
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.loader.view import SITE_PACKAGES, base_name
from wheelfix.model import LoadEvent
from wheelfix.pycode.budget import budget_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.loader.view import FileView

_INIT = f"{SITE_PACKAGES}/torch/_rocm_init.py"
_CODE = f"{SITE_PACKAGES}/rocm_sdk/__init__.py"
_TABLE = f"{SITE_PACKAGES}/rocm_sdk/_dist_info.py"
_PACKAGES = {"core": "_rocm_sdk_core", "libraries": "_rocm_sdk_libraries", "devel": "_rocm_sdk_devel"}


@dataclass(frozen=True, slots=True)
class _Library:
    package: str
    pattern: str
    depends: tuple[str, ...]
    optional: bool


def rocm_preloads(view: FileView) -> tuple[LoadEvent, ...]:
    """The loads in their order; none where ``rocm_sdk`` is not in the view, or cannot be read."""
    wanted = _short_names(_calls(view, _INIT, "initialize_process"))
    libraries = _libraries(_calls(view, _TABLE, "LibraryEntry"))
    if not libraries:
        return ()
    with_needs = any(_calls(view, _CODE, "resolve_deps"))
    events = [*_events(view, [*_in_order(wanted, libraries, set())], libraries, "KeyError" if with_needs else "")]
    failing = [event for event in events if event.cause == "raise"]
    return tuple(failing if _finds_all_first(view) and failing else events)


def _finds_all_first(view: FileView) -> bool:
    """Whether every file is looked for before the first is loaded: all names are given to one call."""
    calls = _calls(view, _CODE, "find_libraries")
    return any(isinstance(argument, ast.Starred) for call in calls for argument in call.args)


def _short_names(calls: Iterable[ast.Call]) -> list[str]:
    for call in calls:
        for word in call.keywords:
            if word.arg == "preload_shortnames" and isinstance(word.value, ast.List | ast.Tuple):
                return _texts(word.value.elts)
    return []


def _libraries(calls: Iterable[ast.Call]) -> dict[str, _Library]:
    """The entries of ``_dist_info.py``: short name, package, patterns on Linux and on Windows, what it depends on."""
    found = {}
    for call in calls:
        named = {word.arg: word.value for word in call.keywords}
        texts = _texts([*call.args[:4], *filter(None, [named.get("dll_pattern")])])
        depends = named.get("deps")
        needs = _texts(depends.elts) if isinstance(depends, ast.List | ast.Tuple) else []
        if len(texts) == 4:
            optional = named.get("optional")
            skipped = isinstance(optional, ast.Constant) and optional.value is True
            found[texts[0]] = _Library(texts[1], texts[3], tuple(needs), skipped)
    return found


def _calls(view: FileView, path: str, function: str) -> Iterator[ast.Call]:
    text = view.read_text(path)
    tree = budget_of(view).parse_more(text, path) if text else None
    if tree is None:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name == function:
                yield node


def _texts(nodes: Iterable[ast.expr]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _in_order(names: list[str], libraries: dict[str, _Library], seen: set[str]) -> Iterator[str]:
    for name in names:
        if name in seen:
            continue
        seen.add(name)
        if name in libraries:
            yield from _in_order([*libraries[name].depends], libraries, seen)
        yield name


def _events(view: FileView, names: list[str], libraries: dict[str, _Library], for_unknown: str) -> Iterator[LoadEvent]:
    for name in names:
        library = libraries.get(name)
        if library is None:  # torch was built with another release
            text = f"'{name}'" if for_unknown else f"Unknown rocm library '{name}'"
            path = f"{SITE_PACKAGES}/rocm_sdk/{name}"
            yield LoadEvent(path, "raise", for_unknown or "ModuleNotFoundError", text=text)
            return
        if not library.pattern:  # there is no such library on Windows: rocm_sdk skips it
            continue
        folder = _folder(view, library.package)
        if folder is None:
            return  # which package it is depends on the card of the machine
        fitting = sorted(path for path in view.in_folder(folder) if fnmatch.fnmatch(base_name(path), library.pattern))
        if fitting:
            yield LoadEvent(fitting[0], "code")
        elif not library.optional:
            yield LoadEvent(f"{folder}/{library.pattern}", "raise", "FileNotFoundError")
            return


def _folder(view: FileView, package: str) -> str | None:
    """The folder ``bin`` of a package of ROCm, where exactly one is installed: names end with a family of cards."""
    start = f"{SITE_PACKAGES}/{_PACKAGES.get(package, '?')}"
    found = [one for one in view.folders() if one.startswith(start) and one.endswith("/bin") and one.count("/") == 3]
    return found[0] if len(found) == 1 else None

"""Which failed imports of extension modules the Python code of a package catches, and goes on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.loader.extensionmodules import module_name
from wheelfix.loader.packagecode import imported_modules
from wheelfix.loader.view import base_name
from wheelfix.model import Image, dll_key
from wheelfix.pycode.budget import budget_of
from wheelfix.pycode.importcode import (
    calls_at_import,
    computed_imports,
    imports_in_functions,
    raised_instead,
    read_imports,
)
from wheelfix.pycode.pythonsource import python_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.loader.loaded import Loaded
    from wheelfix.loader.view import FileView


def guarded_imports(view: FileView, modules: Iterable[str]) -> frozenset[str]:
    """Those of some modules whose failure the package's code catches: ``try: import … except ImportError: …``.

    A module of which no import is found is not among them: another extension module may import it.
    """
    imported = imported_modules(view, modules)
    caught = frozenset(module for module, guarded in imported.items() if guarded)
    left = frozenset(module for module, guarded in imported.items() if not guarded)
    read = _Imports(view)
    caught |= _caught_where_called(view, left, read) if left else frozenset()
    caught |= frozenset(module for module in left - caught if _caught_where_imported(view, module, read))
    return caught


class _Imports:
    """What the files of a package import, each file read once."""

    def __init__(self, view: FileView) -> None:
        self._budget = budget_of(view)
        self._known: dict[str, Mapping[str, bool]] = {}

    def of(self, path: str, source: str) -> Mapping[str, bool]:
        """The modules that a file imports, and whether it catches the failure wherever it does."""
        if path not in self._known:
            self._known[path] = read_imports(source, path, self._budget)
        return self._known[path]


def _sources(view: FileView, *words: str) -> Iterator[tuple[str, str]]:
    """The Python files of the package in which one of some words occurs, without its tests."""
    found = python_code(view, tuple(word.encode() for word in words)) if words else ()
    return iter(found)


def _caught_where_called(view: FileView, modules: frozenset[str], read: _Imports) -> frozenset[str]:
    """Those of some modules that only functions import, where importing the package calls these only in a ``try``.

    torchaudio 2.0 imports its module for FFmpeg in this way: ``try: _init_ffmpeg()``.
    """
    functions: dict[str, frozenset[str]] = {}
    for path, source in _sources(view, *{module.rpartition(".")[2] for module in modules}):
        here = read.of(path, source).keys() & modules
        inside = imports_in_functions(source, path, budget_of(view)) if here else {}
        for module in here:
            functions[module] = functions.get(module, frozenset()) | inside.get(module, frozenset({""}))
    names = frozenset(name for own in functions.values() if "" not in own for name in own)
    calls: dict[str, bool] = {}
    for path, source in _sources(view, *names):
        for name, guarded in calls_at_import(source, path, names, budget_of(view)).items():
            calls[name] = guarded and calls.get(name, True)
    return frozenset(module for module, own in functions.items() if all(calls.get(name) for name in own))


def _caught_where_imported(view: FileView, module: str, read: _Imports) -> bool:
    """Whether the files that import a module raise an error of their own, and are imported only where that is caught.

    cassandra-driver imports its reactor for libev in this way, and takes another one if that fails.
    """
    budget, found = budget_of(view), False
    for path, source in _sources(view, module.rpartition(".")[2]):
        if read.of(path, source).get(module, True):
            continue
        raised = raised_instead(source, path, module, budget)
        if not raised:
            return False
        own = module_name(path).removesuffix(".__init__")
        importers = [read_imports(text, file, budget, raised) for file, text in _sources(view, own.rpartition(".")[2])]
        caught = [imports[own] for imports in importers if own in imports]
        if not caught or not all(caught):
            return False
        found = True
    return found


def caught_by_name(view: FileView, modules: frozenset[str]) -> frozenset[str]:
    """Those of some modules whose names are spelled in code that imports by computed names, and always catches it.

    imagecodecs has a table of its modules, and does without those that fail.
    """
    modules -= imported_modules(view, modules).keys()
    if not modules:
        return frozenset()
    calls = [computed_imports(source, path, budget_of(view)) for path, source in _sources(view, "import_module")]
    if not any(calls) or not all(guarded for call in calls for guarded in call):
        return frozenset()
    stems = {module.rpartition(".")[2]: module for module in modules}
    named = set()
    for _, source in _sources(view, *stems):
        named |= stems.keys() & set(re.findall(r"\w+", source))
    return frozenset(stems[stem] for stem in named)


def with_caught_failures(view: FileView, found: list[Loaded], known: frozenset[str]) -> list[Loaded]:
    """Mark the failed imports of extension modules that the package's code catches, except modules known to load."""
    extensions = (one for one in found if one.event.cause == "extension" and one.event.path not in known)
    failed = [loaded.event.module for loaded in extensions if loaded.failure]
    guarded = set(guarded_imports(view, failed))
    guarded |= _only_needed_by(view, guarded, found) if guarded else set()
    return [
        replace(loaded, event=replace(loaded.event, guarded=True))
        if loaded.failure and loaded.event.module in guarded
        else loaded
        for loaded in found
    ]


def _only_needed_by(view: FileView, guarded: set[str], found: list[Loaded]) -> set[str]:
    """The failed files that only look like modules, and that only modules with caught failures import."""
    importers: dict[str, set[str]] = {}
    for loaded in found:
        image = view.image(loaded.event.path)
        for needed in image.imports if isinstance(image, Image) else ():
            importers.setdefault(dll_key(needed.dll), set()).add(loaded.event.module)
    more = set()
    for loaded in found:
        image, module = view.image(loaded.event.path), loaded.event.module
        own = importers.get(dll_key(base_name(loaded.event.path)), set())
        starts = isinstance(image, Image) and image.exports.offers(f"PyInit_{module.rpartition('.')[2]}")
        if loaded.failure and module and own and own <= guarded and not starts:
            more.add(module)
    return more

"""Extension modules that Python cannot import although the files are sound: for another Python, or without entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.system import python_of
from wheelfix.loader.extensionmodules import (
    ENTRIES,
    extension_modules,
    is_for_another_python,
    module_files,
    module_name,
    stem,
)
from wheelfix.loader.loadcall import MOD_NOT_FOUND, PROC_NOT_FOUND
from wheelfix.loader.packagecode import imported_modules
from wheelfix.loader.view import base_name
from wheelfix.model import Image, LoadEvent, LoadOutcome, dll_key
from wheelfix.pycode.sourcecode import NO_MODULE, python_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView

_ENTRIES_OF_PYTHON_2 = ("init",)
_LOADERS = (b"spec_from_file_location", b"ExtensionFileLoader", b"load_dynamic")
"""What loads a module by its path, under a name that is given."""


def unimportable_modules(view: FileView, profile: Profile) -> list[LoadOutcome]:
    """The modules that Python cannot import; those that the package's code does without are guarded."""
    found = {outcome.event.module: outcome for outcome in (*_for_others(view, profile), *_without_entry(view, profile))}
    if not found:
        return []
    absent = [module for module, outcome in found.items() if outcome.code == MOD_NOT_FOUND]
    imported = {**imported_modules(view, found.keys() - absent), **imported_modules(view, absent, NO_MODULE)}
    return [
        LoadOutcome(
            LoadEvent(outcome.event.path, "module", module, guarded=imported.get(module, True)),
            outcome.code,
            outcome.chain,
            outcome.detail,
        )
        for module, outcome in found.items()
    ]


def _for_others(view: FileView, profile: Profile) -> Iterator[LoadOutcome]:
    """Modules of which there are only files for other Pythons; wheels for several Pythons have one for each."""
    if profile.python is None:
        return
    files = module_files(view)
    paths = [path for path in files if not is_for_another_python(view, path, files, profile)]
    fitting = set(extension_modules(view, profile))
    if len(fitting) == len(paths):
        return
    there = {module_name(path) for path in fitting}
    for path in paths:
        module = module_name(path)
        if path not in fitting and module not in there and f"{path.rpartition('/')[0]}/{stem(path)}.py" not in view:
            there.add(module)
            version = f"{profile.python[0]}.{profile.python[1]}"
            detail = f"its name says that it is for another Python than {version}"
            yield LoadOutcome(LoadEvent(path, "module", module), MOD_NOT_FOUND, (base_name(path),), detail)


def _without_entry(view: FileView, profile: Profile) -> Iterator[LoadOutcome]:
    """Modules that do not export the function that Python calls to import them."""
    old = profile.python is not None and profile.python[0] == 2
    entries = _ENTRIES_OF_PYTHON_2 if old else ENTRIES
    for path in extension_modules(view, profile):
        image, name = view.image(path), stem(path)
        if not isinstance(image, Image) or not name.isascii() or not name.isidentifier():
            continue
        if name == "__init__":
            name = base_name(path.rpartition("/")[0])
        if any(entry + name in image.exports.names for entry in entries):
            continue
        if _is_module(image, entries) and not _is_loaded_as(view, image, entries):
            detail = f"it does not export {entries[0]}{name}"
            yield LoadOutcome(LoadEvent(path, "module", module_name(path)), PROC_NOT_FOUND, (base_name(path),), detail)


def _is_loaded_as(view: FileView, image: Image, entries: tuple[str, ...]) -> bool:
    """Whether code loads a module by its path, under the name that it was built as: torchcodec does."""
    built = [name.removeprefix(entry) for name in image.exports.names for entry in entries if name.startswith(entry)]
    if not built or next(python_code(view, _LOADERS), None) is None:
        return False
    return next(python_code(view, tuple(name.encode() for name in built)), None) is not None


def _is_module(image: Image, entries: tuple[str, ...]) -> bool:
    """Whether a file has to do with Python at all: it has an entry of another name, or calls the interpreter."""
    if any(name.startswith(entries) for name in image.exports.names):
        return True
    return any(python_of(item.dll) or dll_key(item.dll) in ("python3.dll", "python3t.dll") for item in image.imports)

"""What ``import torch`` does on Windows: the folders it adds, the DLLs it loads, the error it raises.

torch's ``__init__.py`` adds folders with ``os.add_dll_directory``, then loads *every* DLL of ``torch/lib`` in the
order in which the file system lists them with ``LoadLibraryExW(…, 0x1100)``, and tries ``LoadLibraryW`` once more with
those folders on PATH when the answer is 126. The folders differ between releases; what a wheel does is read from its
own ``__init__.py``, never guessed from its version.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import frozen
from wheelfix.loader.packagecode import CodeReader
from wheelfix.loader.packageloading import PackageLoading, Startup
from wheelfix.loader.profile import Profile
from wheelfix.loader.view import BASE, SITE_PACKAGES, USER, FileView, base_name
from wheelfix.model import LoadEvent
from wheelfix.pycode.budget import budget_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_ROCM_INIT = f"{SITE_PACKAGES}/torch/_rocm_init.py"
_CODE = f"{SITE_PACKAGES}/rocm_sdk/__init__.py"
_TABLE = f"{SITE_PACKAGES}/rocm_sdk/_dist_info.py"
_PACKAGES = {"core": "_rocm_sdk_core", "libraries": "_rocm_sdk_libraries", "devel": "_rocm_sdk_devel"}


@frozen
class _Library:
    package: str
    pattern: str
    depends: tuple[str, ...]
    optional: bool


def rocm_preloads(view: FileView) -> tuple[LoadEvent, ...]:
    """The loads in their order; none where ``rocm_sdk`` is not in the view, or cannot be read."""
    wanted = _short_names(_calls(view, _ROCM_INIT, "initialize_process"))
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


_FOLDER = f"{SITE_PACKAGES}/torch"
_INIT = f"{_FOLDER}/__init__.py"
_LIB = f"{_FOLDER}/lib"

_VERSION = re.compile(r"^__version__\s*(?::[^=\n]*)?=\s*['\"]([^'\"\n]{1,100})['\"]", re.MULTILINE)
_CUDA = re.compile(r"^cuda\s*(?::[^=\n]*)?=\s*['\"]([0-9]{1,4}(?:\.[0-9]{1,4})*)['\"]", re.MULTILINE)
_PREFIX_BIN = re.compile(r"exec_prefix,\s*['\"]bin['\"]")


def recognise(view: FileView) -> PackageLoading | None:
    """Return what the torch package in a view does; None when there is no DLL in ``torch/lib``."""
    dlls = [path for path in view.in_folder(_LIB) if path.lower().endswith(".dll")]  # as NTFS lists them
    text = view.read_text(_INIT) if dlls else None
    if text is None:
        return None
    version_text = view.read_text(f"{_FOLDER}/version.py") or ""
    version, cuda = _VERSION.search(version_text), _CUDA.search(version_text)
    return PackageLoading(
        package="torch",
        version=version[1] if version else "",
        cuda=cuda[1] if cuda else None,
        cuda_file="torch/version.py",
        startup=Startup(
            lib=_LIB,
            folders=(_LIB, *_other_folders(text, view)),
            # The last of them not on ARM64 in newer releases.
            names=tuple(name for name in _C_RUNTIME if name != _C_RUNTIME[-1] or name in text),
            events=(*rocm_preloads(view), *(LoadEvent(path, "torch-glob") for path in dlls)),
            toolkit_unless="cudart64*.dll",
            test_programs=r"\A(?:test_\w+|\w+_test|\w+_benchmark)\.exe",
        ),
        version_variable="PYTORCH_BUILD_VERSION",
        without_gpu_code=(
            "PyPI's torch for Windows is a CPU build; the builds for CUDA are on https://download.pytorch.org/whl"
        ),
    )


_C_RUNTIME = ("vcruntime140.dll", "msvcp140.dll", "vcruntime140_1.dll")


def _other_folders(text: str, view: FileView) -> Iterator[str]:
    """The folders besides its own that torch's code adds, from the text of its ``__init__.py``."""
    yield from ("Library/bin", f"{BASE}/Library/bin")
    if "userbase" in text:
        yield f"{USER}/Library/bin"
    if _PREFIX_BIN.search(text):
        yield "bin"
    if "delvewheel" in text or "_wheelfix_" in text:  # code that a repair has put in adds folders
        yield from CodeReader(view, Profile(), blind=True).code(_INIT, text).added

"""The extension modules of a package: which files they are, and which of them the target's Python imports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.loader.view import SITE_PACKAGES, base_name, parent
from wheelfix.model import Image, Machine, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView

_ABI = re.compile(r"\.(?P<abi>(?:cp|pp|graalpy)\d+t?(?:_d)?|abi3t?)?(?:-(?P<system>[a-z0-9_]+))?\.pyd$", re.IGNORECASE)
_SYSTEMS = {"win32": Machine.X86, "win_amd64": Machine.AMD64, "win_arm64": Machine.ARM64, "win_arm32": Machine.ARM}
_PYTHON_DLL = re.compile(r"python3\d+t?\.dll")
_PYTHON_FOLDER = re.compile(r"(?:(?:cp|py|python)[-_]?3[._]?|3[._])(?P<minor>\d{1,2})", re.IGNORECASE)
ENTRIES = ("PyInit_", "PyModExport_", "HPyInit_")
"""How the name of the function begins that Python calls to import a module."""


def extension_modules(view: FileView, profile: Profile) -> list[str]:
    """The ``.pyd`` files of the subject that the target's Python would import, sorted by path."""
    fitting = [path for path in module_files(view) if _fits(path, profile)]
    return [path for path in fitting if not is_for_another_python(view, path, fitting, profile)]


def folder_python(path: str) -> tuple[int, int] | None:
    """The Python that the folder of a file is named after: ``libs/py310/_core.pyd`` is for Python 3.10."""
    match = _PYTHON_FOLDER.fullmatch(base_name(parent(path)))
    return (3, int(match["minor"])) if match else None


def is_for_another_python(view: FileView, path: str, paths: list[str], profile: Profile) -> bool:
    """Whether a module lies in a folder for another Python: code chooses between such folders.

    There must be one for the target's Python, too: in its folder beside this one, or, if the file itself says that it
    is for the folder's Python, anywhere.
    """
    meant = folder_python(path)
    if meant is None or profile.python is None or meant == profile.python:
        return False
    named, image = f"{meant[0]}{meant[1]}", view.image(path)
    needs = {dll_key(item.dll) for item in image.imports} if isinstance(image, Image) else set()
    above, name = parent(parent(path)), base_name(path)
    if f".cp{named}-" in name.lower() or f"python{named}.dll" in needs:
        same = (one for one in paths if base_name(one).split(".")[0] == name.split(".")[0] and _fits(one, profile))
        return any(folder_python(one) in (None, profile.python) for one in same)
    twins = (one for one in paths if base_name(one) == name and parent(parent(one)) == above)
    return any(folder_python(one) == profile.python for one in twins)


def module_files(view: FileView) -> list[str]:
    """Every ``.pyd`` file of the subject but debug builds, sorted by path.

    A site-packages folder inside of a package belongs to a prefix of its own: code that sets up that prefix imports
    what is there (gstreamer-python 1.28.8).
    """
    paths = [(path, base_name(path).lower()) for path in view.image_paths]
    modules = (path for path, name in paths if name.endswith(".pyd") and "_d." not in name)
    programs = _programs(view, (path for path, name in paths if _PYTHON_DLL.fullmatch(name)))
    own = (path for path in modules if path.startswith(SITE_PACKAGES + "/") and not path.startswith(programs))
    return [path for path in own if "/site-packages/" not in path.lower()[len(SITE_PACKAGES) :]]


def _programs(view: FileView, pythons: Iterable[str]) -> tuple[str, ...]:
    """The folders of programs with a Python of their own, as PyInstaller makes them: only it loads what is there."""
    found = []
    for path in pythons:
        folder = parent(path)
        beside = view.in_folder(parent(folder) if base_name(folder) == "_internal" else folder)
        if any(other.lower().endswith(".exe") for other in beside):
            found.append(f"{folder}/")
    return tuple(found)


def _fits(path: str, profile: Profile) -> bool:
    """Whether the ABI in the file's name is that of the target (``_C.cp311-win_amd64.pyd``), or none is given.

    A Python looks for its own ending and for ``.pyd``: one for x64 never opens ``_C.cp36-win32.pyd``.
    """
    match = _ABI.search(base_name(path))
    system = match["system"] if match else None
    if system and _SYSTEMS.get(system.lower(), profile.machine) is not profile.machine:
        return False
    abi = match["abi"] if match else None
    if not abi or abi.lower() in ("abi3", "abi3t") or profile.python is None:
        return True
    digits = re.sub(r"\D", "", abi)
    return digits == f"{profile.python[0]}{profile.python[1]}"


def module_name(path: str) -> str:
    """The dotted name under which a ``.pyd`` is imported."""
    inside = path.removeprefix(SITE_PACKAGES + "/")
    folder, name = parent(inside), base_name(inside).split(".")[0]
    return ".".join([*folder.split("/"), name]) if folder else name


def has_entry(view: FileView, path: str) -> bool:
    """Whether an extension module exports the function that Python 3 calls to import it; True if not known."""
    image, name = view.image(path), stem(path)
    if not isinstance(image, Image) or not name.isascii():
        return True
    name = base_name(path.rpartition("/")[0]) if name == "__init__" else name
    return any(entry + name in image.exports.names for entry in ENTRIES)


def stem(path: str) -> str:
    """The name of a module's file, without its suffixes."""
    return base_name(path).split(".")[0]

"""Where installers put the members of a wheel, and which members do not get a place of their own.

A member of ``NAME-VERSION.data/SCHEME/`` is installed into the folder of that scheme, everything else into
site-packages. Two members with one place overwrite each other, and which of them stays depends on the installer: pip
writes the ``.data`` folder last, uv first, installer refuses the wheel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.archive import names
from wheelfix.archive.faults import INSTALLER, PIP, UV, ArchiveFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SITE_PACKAGES = "Lib/site-packages"
SCHEMES = {"purelib": SITE_PACKAGES, "platlib": SITE_PACKAGES, "data": "", "scripts": "Scripts", "headers": "Include"}
"""The schemes of the wheel format, and their folders in a prefix on Windows."""

PLACEMENT_KINDS: dict[str, str] = {
    "same-place": "two members are installed as one file",
    "same-program": "two entry points are installed as one program",
    "data-scheme": "a file of the .data folder belongs to no scheme that installers know",
    "data-folder": "a .data folder that only some installers take for the wheel's own",
    "pycache": "compiled Python code, which some installers leave out",
    "pycache-other": "a file among compiled Python code, which some installers leave out",
}
"""Every kind of fault that is found here, with its meaning."""


def installed_path(name: str, data_folder: str) -> str:
    """Return where an installer puts a member: ``x.data/data/Library/bin/a.dll`` lands in ``Library/bin``."""
    if name.startswith(data_folder + "/"):
        scheme, _, rest = name[len(data_folder) + 1 :].partition("/")
        folder = SCHEMES.get(scheme)
        if folder is not None and rest:
            if scheme == "headers":
                folder = f"{folder}/{data_folder.partition('-')[0]}"
            return f"{folder}/{rest}" if folder else rest
    return f"{SITE_PACKAGES}/{name}"


def placement_faults(
    members: Sequence[str], data_folder: str, named_data: str, scripts: Iterable[str]
) -> Iterator[ArchiveFault]:
    """Give what is wrong with the places of members.

    ``members`` are names below the wheel's root, ``data_folder`` belongs to the dist-info folder and ``named_data`` to
    the file name; ``scripts`` are the names of the programs that entry points ask for.
    """
    moved = [name for name in members if ".data" in name and name.partition("/")[0].endswith(".data")]
    yield from _data_faults(moved, data_folder, named_data)
    generated = [*scripts]
    if moved or generated:  # without a .data folder, everything but programs stays where it is in the archive
        yield from _same_places(members if moved else (), data_folder, generated)
    for name in members:
        if "__pycache__/" in name and "__pycache__" in name.split("/")[:-1] and name[-1:] != "/":
            message = "installer leaves out what lies in __pycache__; pip and uv install it"
            yield ArchiveFault("pycache" if name.endswith(".pyc") else "pycache-other", name, message)


def _data_faults(moved: Iterable[str], data_folder: str, named_data: str) -> Iterator[ArchiveFault]:
    for name in moved:
        folder, _, below = name.partition("/")
        scheme, _, rest = below.partition("/")
        if name[-1:] == "/":
            continue
        if folder != data_folder:
            message = (
                f"pip installs {folder!r} like the wheel's own .data folder; uv and installer leave it in site-packages"
            )
            yield ArchiveFault("data-folder", name, message, () if scheme in SCHEMES and rest else (PIP,))
        elif not rest or scheme not in SCHEMES:
            known = ", ".join(SCHEMES)
            message = f"it lies in no folder of a scheme ({known}) below {data_folder!r}"
            by = (PIP, UV) if below else (PIP,)
            yield ArchiveFault("data-scheme", name, message, (*by, INSTALLER) if folder == named_data else by)
        elif scheme == "scripts" and "/" in rest:
            yield ArchiveFault("data-scheme", name, "it lies in a folder among the scripts", (UV,))
        elif data_folder != named_data:
            message = f"installer leaves {folder!r} in site-packages, since the file name asks for {named_data!r}"
            yield ArchiveFault("data-folder", name, message)


def _same_places(members: Sequence[str], data_folder: str, scripts: Sequence[str]) -> Iterator[ArchiveFault]:
    """Give members of a .data folder that share a place with another member, or with a program of an entry point."""
    owners: dict[str, tuple[str, bool]] = {}
    for script in scripts:
        # Windows gets NAME.exe; pip drops members with the other names as well, since it takes them for its own.
        own = f"the program of the entry point {script!r}", True
        first = owners.setdefault(names.windows_key(f"Scripts/{script}.exe"), own)
        if first is not own:
            message = f"{own[0]} and {first[0]} are both installed as 'Scripts/{script}.exe'"
            yield ArchiveFault("same-program", "entry_points.txt", message, (INSTALLER,))
        for name in (script, f"{script}-script.py", f"{script}.pya"):
            owners.setdefault(names.windows_key(f"Scripts/{name}"), own)
    for name in members:
        if name[-1:] != "/":
            place = installed_path(name, data_folder)
            own = repr(name), in_data(name, data_folder)
            first = owners.setdefault(names.windows_key(place), own)
            if first[0] != own[0] and (first[1] or own[1]):
                yield _same_place(name, place, first[0])
    yield from _files_as_folders(members, data_folder)


def _same_place(subject: str, place: str, other: str) -> ArchiveFault:
    message = f"{subject!r} and {other} are both installed as {place!r}; which one stays depends on the installer"
    return ArchiveFault("same-place", subject, message)


def _files_as_folders(members: Sequence[str], data_folder: str) -> Iterator[ArchiveFault]:
    """Give files that are installed where others need a folder, if the .data folder has part in it."""
    files = {names.windows_key(installed_path(name, data_folder)): name for name in members if name[-1:] != "/"}
    for file, folder in names.files_as_folders(files):
        below = next(name for place, name in files.items() if place.startswith(folder))
        if in_data(files[file], data_folder) or in_data(below, data_folder):
            message = f"{files[file]!r} is installed as a file where {below!r} needs a folder"
            yield ArchiveFault("same-place", files[file], message)


def in_data(name: str, data_folder: str) -> bool:
    """Whether a member lies in the wheel's .data folder."""
    return name.startswith(data_folder + "/")

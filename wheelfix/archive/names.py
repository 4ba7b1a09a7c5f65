"""Names: of members, which are safe and where installers put them, and of wheels, with their tags."""

from __future__ import annotations

import fnmatch
import itertools
import math
import re
import unicodedata
from typing import TYPE_CHECKING

from wheelfix.archive.faults import INSTALLER, PIP, UV, ArchiveFault, Faults
from wheelfix.base.parsing import regex
from wheelfix.base.values import frozen
from wheelfix.errors import InputError
from wheelfix.model import fold

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path


# -------------------------------------------------------------------------------------------------------------- members
# Which member names are safe to unpack on Windows and elsewhere, and which of them are one file there.
# A wheel is unpacked by many programs. A name is safe when all of them put it at the same place below the target
# folder: no way up, no root, no drive, no stream, no device, nothing that Windows silently trims or cannot hold.
# See "Naming Files, Paths, and Namespaces" in Microsoft's Win32 documentation.

_DEVICE = r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$)"
_ODD = regex(rf'[\0-\x1f\x7f\\:<>"|?*]|[. ](?:/|\Z)|//|\A/|(?:\A|/){_DEVICE}(?:[ ./]|\Z)', re.IGNORECASE)
"""Whatever could make a name unsafe: most names have nothing of it, and are looked at no further."""
MAX_PART = 255
"""NTFS holds no longer name."""
MAX_NAME = 1024
"""Far more than any wheel has; Windows without long paths stops at 260."""
_IN_NAMES = {
    r"\A\Z": "the name is empty",
    r"\0": "the name holds a NUL, where some programs cut it off",
    r"\A(?://[?.]/|/\?\?/)": "the name is a Windows device path",
    r"\A//": "the name is a network path",
    r"\A/": "the name is absolute",
    r"\A[A-Za-z]:": "the name begins with a drive letter",
}
"""What makes a whole name unsafe, and why; the first that is found counts."""
_IN_STEPS = {
    r"\A\.\.\Z": "the name leads upwards with '..'",
    r"\A\Z": "the name has an empty step ('//')",
    r"\A\.\Z": "the name has a '.' step",
    r":": "the name holds a colon, which names an alternate data stream on Windows",
    rf"(?is)\A{_DEVICE} *(?:\..*)?\Z": "{!r} is a device on Windows",
    r"[. ]\Z": "{!r} ends in a dot or a space, which Windows drops",
    r"[\0-\x1f\x7f]": "the name holds control characters",
    "[\x85\u2028\u2029]": "the name holds a character that ends a line, where some programs cut RECORD",
    r'[<>"|?*]': "the name holds characters that Windows does not allow",
}
"""The same for one step of a path."""

ASIDE = ".wheelfix-dropped"
"""What is added to the name of a file that a repair in place sets aside."""
OLD_JOURNAL = "wheelfix-journal.json"
"""The journal of such a repair was in dist-info up to version 0.1.0, and was believed."""


def normalise(spelled: str) -> str:
    """Return the name with forward slashes."""
    return spelled.replace("\\", "/") if "\\" in spelled else spelled


def is_plain(spelled: str) -> bool:
    """Whether a quick look finds nothing unsafe about a name, nor a backslash; False means look closer."""
    return spelled.isascii() and 0 < len(spelled) <= MAX_PART and _ODD.search(spelled) is None


def why_unsafe(spelled: str) -> str:
    """Return why unpacking this name would be unsafe, or nothing; ``spelled`` is as in the archive.

    A backslash alone is not unsafe: it is judged as the separator that Windows takes it for.
    """
    name = normalise(spelled)
    if reason := _fault_in(name, _IN_NAMES):
        return reason
    if len(name) > MAX_NAME:
        return f"the name has {len(name)} characters"
    for step in name.removesuffix("/").split("/"):
        if reason := _fault_in(step, _IN_STEPS):
            return reason
        if len(step.encode("utf-16-le", "surrogatepass")) > 2 * MAX_PART:
            return f"a step of the name has more than {MAX_PART} characters"
    return ""


def _fault_in(text: str, faults: dict[str, str]) -> str:
    return next((reason.format(text) for pattern, reason in faults.items() if re.search(pattern, text)), "")


def stays_inside(spelled: str) -> bool:
    """Whether nothing is unsafe about a name in dist-info but ``..`` steps that do not leave that folder.

    setuptools makes such names for licence files of a folder above the project: ``licenses/../LICENSE.txt``. Elsewhere
    they stay unsafe: a DLL would not lie where its name says.
    """
    folder, *steps = spelled.split("/")
    depth, down = 0, [folder]
    for part in steps:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return False
        down += [part] if part != ".." else []
    return folder.endswith(".dist-info") and steps[-1:] != [".."] and not why_unsafe("/".join(down))


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path, or the name at its end, matches a glob; case does not matter."""
    key = fold(normalise(path))
    globs = [fold(pattern) for pattern in patterns]
    return any(fnmatch.fnmatchcase(text, glob) for glob in globs for text in (key, key.rpartition("/")[2]))


def unprintable(name: str) -> str:
    """Return the first character that cannot be seen (controls, marks of direction, unassigned ones), or nothing.

    These are the general categories of Unicode that begin with C, which uv refuses in names.
    """
    return next((character for character in name if unicodedata.category(character)[0] == "C"), "")


def is_reserved(name: str) -> bool:
    """Whether a file has a name that wheelfix gives to its own files in environments, for good or for a moment."""
    if "wheelfix" not in fold(name):
        return False
    base = windows_key(normalise(name)).rpartition("/")[2].partition(":")[0]
    return (
        base == OLD_JOURNAL or base.endswith(ASIDE) or re.fullmatch(r"\.wheelfix-.*\.tmp", base, re.DOTALL) is not None
    )


def windows_key(name: str) -> str:
    """Return the form in which paths compare on Windows: without case, nor dots and spaces at the end of a step."""
    key = fold(name.removesuffix("/"))
    if "./" in key or " /" in key or key.endswith((".", " ")):
        key = "/".join(step.rstrip(". ") or step for step in key.split("/"))
    return key


def collisions(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give pairs of different names that are one file on Windows, in the order of the second."""
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(windows_key(name), name)
        if first != name:
            yield first, name


def files_as_folders(names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Give pairs of a file's name and a folder's name that are the same; ``names`` had better be a set or dict."""
    # With the least of all characters between folders, whatever lies in a folder comes right behind a file of its name.
    # (To list the folders above each name would take gigabytes for names that were made to be deep.)
    text = "\n".join(names).replace("/", "\0")
    ordered = sorted(text.split("\n") if text.count("\n") < len(names) else (name.replace("/", "\0") for name in names))
    for file, below in itertools.pairwise(ordered):
        if below.startswith(file + "\0"):
            name = file.replace("\0", "/")
            yield name, name + "/"


# ------------------------------------------------------------------------------------------------------------ wheelname
# The parts of a wheel's file name, and the tags that it stands for.


_WHEEL_NAME = regex(
    r"(?P<name>[^\s-]+)-(?P<version>[^\s-]+)(?:-(?P<build>\d[^\s-]*))?-(?P<python>[^\s-]+)-(?P<abi>[^\s-]+)"
    # Six parts are a variant only if the fifth is a platform: a build number that is none must not shift the tags.
    r"-(?P<platform>[^\s-]+(?!-)|(?i:any|win32|[a-z0-9]+_[a-z0-9_.]+)(?=-))(?:-(?P<variant>[0-9a-z_.]{1,16}))?(?i:\.whl)"
)
MAX_TAGS = 1000
"""Tags that a wheel may have; a few letters, cleverly put, stand for billions."""


@frozen
class FileName:
    """The parts of a wheel's file name."""

    name: str
    version: str
    build: str
    tags: tuple[str, ...]
    """Expanded: ``py2.py3-none-any`` is two tags."""
    variant: str = ""
    """The label of a wheel variant (PEP 825), such as ``x86_64_v3``; empty for the usual wheels."""

    @classmethod
    def parse(cls, path: Path) -> FileName:
        """Take a wheel's file name apart; InputError if it is none."""
        parts = name_parts(path.name)
        if path.suffix.lower() != ".whl":
            raise InputError(
                f"{path} is not a wheel",
                because="its name does not end in .whl",
                hint="give the wheel itself: eggs, conda packages and source archives are not scanned",
            )
        if not parts:
            raise InputError(
                f"{path} has no wheel name",
                because="the name is not of the form name-version-python-abi-platform.whl",
                hint=f"a browser has changed it: rename it to {own}"
                if (own := re.sub(r" ?\(\d+\)(?=\.whl$)", "", path.name)) != path.name
                else "give the wheel back the name it was built with",
            )
        tags = expand_tag(f"{parts['python']}-{parts['abi']}-{parts['platform']}")
        if tags is None:
            raise InputError(
                f"{path} has no wheel name",
                because=f"its tags stand for more than {MAX_TAGS} combinations",
                hint="give the wheel back the name it was built with",
            )
        return cls(parts["name"], parts["version"], parts["build"], tags, parts["variant"])


def name_parts(name: str) -> dict[str, str]:
    """Return the parts of a wheel's file name, ``build`` and ``variant`` empty where absent; nothing if it is none."""
    found = _WHEEL_NAME.fullmatch(name)
    return found.groupdict("") if found is not None else {}


def without_variant(name: str) -> str:
    """Return a wheel's file name without its variant label."""
    label = name_parts(name).get("variant")
    return f"{name.removesuffix('.whl').removesuffix(f'-{label}')}.whl" if label else name


def expand_tag(tag: str) -> tuple[str, ...] | None:
    """Return the tags that a compressed one stands for: ``py2.py3-none-any`` is two; None for more than MAX_TAGS."""
    parts = [part.split(".") for part in tag.split("-")]
    if math.prod(len(part) for part in parts[:16]) > MAX_TAGS or len(parts) > 16 or len(tag) > MAX_TAGS:
        return None
    return tuple("-".join(choice) for choice in itertools.product(*parts))


# ------------------------------------------------------------------------------------------------------------ placement
# Where installers put the members of a wheel, and which members do not get a place of their own.
# A member of ``NAME-VERSION.data/SCHEME/`` is installed into the folder of that scheme, everything else into
# site-packages. Two members with one place overwrite each other, and which of them stays depends on the installer: pip
# writes the ``.data`` folder last, uv first, installer refuses the wheel.


SITE_PACKAGES = "Lib/site-packages"
SCHEMES = {"purelib": SITE_PACKAGES, "platlib": SITE_PACKAGES, "data": "", "scripts": "Scripts", "headers": "Include"}
"""The schemes of the wheel format, and their folders in a prefix on Windows."""


def other_system(name: str) -> str:
    """Return the platform tags of a wheel that is for other systems alone, as its file name says; else nothing."""
    platform = name_parts(name).get("platform", "")
    return "" if any(tag == "any" or tag.startswith("win") for tag in platform.lower().split(".")) else platform


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


def placement_faults(members: Sequence[str], data_folder: str, named_data: str, scripts: Iterable[str]) -> Faults:
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


def _data_faults(moved: Iterable[str], data_folder: str, named_data: str) -> Faults:
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


def _same_places(members: Sequence[str], data_folder: str, scripts: Sequence[str]) -> Faults:
    """Give members of a .data folder that share a place with another member, or with a program of an entry point."""
    owners: dict[str, tuple[str, bool]] = {}
    for script in scripts:
        # Windows gets NAME.exe; pip drops members with the other names as well, since it takes them for its own.
        own = f"the program of the entry point {script!r}", True
        first = owners.setdefault(windows_key(f"Scripts/{script}.exe"), own)
        if first is not own:
            message = f"{own[0]} and {first[0]} are both installed as 'Scripts/{script}.exe'"
            yield ArchiveFault("same-program", "entry_points.txt", message, (INSTALLER,))
        for name in (script, f"{script}-script.py", f"{script}.pya"):
            owners.setdefault(windows_key(f"Scripts/{name}"), own)
    for name in members:
        if name[-1:] != "/":
            place = installed_path(name, data_folder)
            own = repr(name), in_data(name, data_folder)
            first = owners.setdefault(windows_key(place), own)
            if first[0] != own[0] and (first[1] or own[1]):
                yield _same_place(name, place, first[0])
    yield from _files_as_folders(members, data_folder)


def _same_place(subject: str, place: str, other: str) -> ArchiveFault:
    message = f"{subject!r} and {other} are both installed as {place!r}; which one stays depends on the installer"
    return ArchiveFault("same-place", subject, message)


def _files_as_folders(members: Sequence[str], data_folder: str) -> Faults:
    """Give files that are installed where others need a folder, if the .data folder has part in it."""
    files = {windows_key(installed_path(name, data_folder)): name for name in members if name[-1:] != "/"}
    for file, folder in files_as_folders(files):
        below = next(name for place, name in files.items() if place.startswith(folder))
        if in_data(files[file], data_folder) or in_data(below, data_folder):
            message = f"{files[file]!r} is installed as a file where {below!r} needs a folder"
            yield ArchiveFault("same-place", files[file], message)


def in_data(name: str, data_folder: str) -> bool:
    """Whether a member lies in the wheel's .data folder."""
    return name.startswith(data_folder + "/")

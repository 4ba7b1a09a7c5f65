"""Whether a wheel's file name, its dist-info folder and its METADATA name one project and version, and valid ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from wheelfix.archive.faults import INSTALLER, PIP, PYPI, UV, ArchiveFault
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)*(?:(?:a|b|rc|\.post|\.dev)[0-9]+)?(?:\+[a-z0-9]+(?:\.[a-z0-9]+)*)?")


class Named(Protocol):
    """What has a project's name and version: a file name, or METADATA."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...


def check_file_name(file_name: Named) -> Iterator[ArchiveFault]:
    """Give what installers refuse in a file name before they open the file."""
    name, by = file_name.name, list[str]()
    if "__" in name or re.fullmatch(r"[\w.]*", name) is None:
        by.append(PIP)
    if re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?", name) is None:
        by.append(UV)
    if by:
        message = f"{name!r} in the file name is not a name of a project"
        yield ArchiveFault("name-invalid", name, message, tuple(by))
    if not _is_version(file_name.version):
        message = f"{file_name.version!r} in the file name is not a version as PEP 440 defines them"
        yield ArchiveFault("version-invalid", name, message, (PIP, UV, PYPI))


def check_folder(file_name: Named, dist_info: str) -> Iterator[ArchiveFault]:
    """Give what the name of the dist-info folder says otherwise than the file name."""
    name, dash, version = dist_info.removesuffix(".dist-info").partition("-")
    wanted = canonical(file_name.name)
    if canonical(name) != wanted:
        message = f"the file name says {file_name.name!r}, the dist-info folder says {name!r}"
        begins = canonical(dist_info).startswith(wanted)  # all that pip and uv ask for
        by = (PYPI, INSTALLER) if begins else (PIP, UV, PYPI, INSTALLER)
        yield ArchiveFault("name-mismatch", dist_info, message, by)
    elif not _same_version(version, file_name.version):
        message = f"the file name says version {file_name.version!r}, the dist-info folder says {version!r}"
        odd = not dash or "-" in version  # installer counts the dashes
        yield ArchiveFault("name-mismatch", dist_info, message, (PYPI, INSTALLER) if odd else (PYPI,))
    elif f"{name}-{version}".lower() != (stem := f"{file_name.name}-{file_name.version}").lower():
        message = f"the file name says {stem!r}; 'wheel unpack' and 'wheel tags' find no RECORD"
        yield ArchiveFault("dist-info-spelling", dist_info, message)


def check_metadata(file_name: Named, dist_info: str, metadata: Named) -> Iterator[ArchiveFault]:
    """Give what METADATA says otherwise than the file name."""
    if canonical(metadata.name) != canonical(file_name.name):
        message = f"the file name says {file_name.name!r}, METADATA says {metadata.name!r}"
        yield ArchiveFault("name-mismatch", dist_info, message, (PIP, UV, PYPI))
    elif not _same_version(metadata.version, file_name.version):
        message = f"the file name says version {file_name.version!r}, METADATA says {metadata.version!r}"
        public = metadata.version.partition("+")[0], file_name.version.partition("+")[0]
        by = (PIP, PYPI) if _same_version(*public) else (PIP, UV, PYPI)
        yield ArchiveFault("name-mismatch", dist_info, message, by)


def _is_version(text: str) -> bool:
    if _PLAIN_VERSION.fullmatch(text) is not None:
        return True
    from packaging.version import Version

    try:
        Version(text)
    except ValueError:  # InvalidVersion, or a number with more digits than Python reads
        return False
    return True


def _same_version(one: str, other: str) -> bool:
    if one == other:
        return True
    from packaging.version import Version

    try:
        return Version(one.replace("_", "+", 1)) == Version(other.replace("_", "+", 1)) or Version(one) == Version(
            other
        )
    except ValueError:  # InvalidVersion, or a number with more digits than Python reads
        return False

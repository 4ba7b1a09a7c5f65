"""What a wheel says about itself: in its file name, its METADATA and its WHEEL file, and whether these agree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.archive.faults import INSTALLER, PIP, PYPI, UV, ArchiveFault
from wheelfix.archive.metadatacheck import (
    METADATA_KINDS,
    entry_point_faults,
    line_faults,
    requirement_faults,
    script_names,
    undecodable,
    wheel_version_fault,
)
from wheelfix.archive.namecheck import check_file_name, check_folder, check_metadata
from wheelfix.archive.placement import PLACEMENT_KINDS, placement_faults
from wheelfix.archive.variants import VARIANT_KINDS, variant_faults
from wheelfix.archive.wheelname import (
    MAX_TAGS,
    FileName,
    expand_tag,
)
from wheelfix.base.parsing import number_pair
from wheelfix.base.values import dataclass, field
from wheelfix.errors import InputError
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.archive.reader import Archive

HEADER_LIMIT = 4 << 20
_SHOWN_TAGS = 20
Headers = "Mapping[str, tuple[str, ...]]"

WHEEL_KINDS: dict[str, str] = {
    "too-deep": "everything lies one folder too deep",
    "several-dist-info": "there are several dist-info folders",
    "metadata-missing": "METADATA is missing or cannot be read",
    "wheel-file-missing": "the WHEEL file is missing or cannot be read",
    "name-mismatch": "name or version differ between file name, dist-info and METADATA",
    "tag-mismatch": "tags or build number differ between file name and WHEEL",
    "dist-info-not-last": "the dist-info folder is not at the end of the archive",
    "wheel-version": "the wheel's format version is one that installers do not know",
    "license-file-missing": "METADATA names a license file that is not there",
    "dist-info-spelling": "the dist-info folder is spelled otherwise than the file name",
    "name-invalid": "the file name's project is not one that installers take",
    "version-invalid": "the version is not one that PEP 440 allows",
    **METADATA_KINDS,
    **PLACEMENT_KINDS,
    **VARIANT_KINDS,
}
"""Every kind of fault that :class:`WheelInfo` has, with its meaning."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What METADATA says, as far as we ask."""

    name: str = ""
    version: str = ""
    requires_dist: tuple[str, ...] = ()
    requires_python: str = ""
    license_files: tuple[str, ...] = ()
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """All fields, by lower-case name."""


@dataclass(frozen=True, slots=True)
class WheelInfo:
    """What a wheel says about itself."""

    name: str
    """As in the file name."""
    version: str
    """As in the file name."""
    build: str
    tags: tuple[str, ...]
    """From the file name, expanded."""
    dist_info: str
    """The folder's name, such as ``torch-2.7.1.dist-info``, without prefix."""
    metadata: Metadata
    headers: Mapping[str, tuple[str, ...]]
    """The fields of the WHEEL file, by lower-case name."""
    prefix: str = ""
    """The folder below which everything lies by mistake, with a slash at the end; usually empty."""
    faults: tuple[ArchiveFault, ...] = ()

    @property
    def data(self) -> str:
        """The folder whose contents installers spread over the environment, such as ``mkl-2025.3.0.data``."""
        return self.dist_info.removesuffix(".dist-info") + ".data"

    @classmethod
    def from_archive(cls, archive: Archive) -> WheelInfo:
        """Read what a wheel says about itself; InputError if its name is not a wheel's or it has no dist-info."""
        file_name = FileName.parse(archive.path)
        prefix, dist_info, faults = _find_dist_info(archive, file_name)
        where = f"{prefix}{dist_info}/"
        metadata_text = _read_text(archive, where + "METADATA", "metadata-missing", faults)
        wheel_text = _read_text(archive, where + "WHEEL", "wheel-file-missing", faults)
        metadata_headers = parse_headers(_decode(metadata_text))
        wheel_headers = parse_headers(_decode(wheel_text))
        metadata = _metadata(metadata_headers)
        if not archive.path.name.endswith(".whl"):
            message = "the file name does not end in '.whl' in small letters"
            faults.append(ArchiveFault("name-invalid", file_name.name, message, (PIP, UV, INSTALLER)))
        faults += check_file_name(file_name)
        faults += check_folder(file_name, dist_info)
        if metadata_text is not None:
            faults += undecodable(metadata_text, where + "METADATA", (PIP,))
            faults += line_faults(_decode(metadata_text), where + "METADATA")
            faults += check_metadata(file_name, dist_info, metadata)
            faults += requirement_faults(metadata_headers, where + "METADATA")
        if wheel_text is not None:
            faults += undecodable(wheel_text, where + "WHEEL", (PIP, UV, INSTALLER))
            spelled = re.search(rb"^Wheel-Version:", wheel_text, re.MULTILINE) is not None
            version = wheel_headers.get("wheel-version", ("",))[0]
            faults += wheel_version_fault(version, spelled, where + "WHEEL")
            faults += _check_tags(file_name, wheel_headers)
        if file_name.variant:
            faults += variant_faults(archive, f"{prefix}{dist_info}/variant.json", file_name.variant)
        faults += _check_places(archive, prefix, dist_info, file_name)
        faults += _check_licenses(archive, where, metadata)
        if not _is_last(archive, where):
            message = "the dist-info folder is not at the end of the archive, where it is found fastest"
            faults.append(ArchiveFault("dist-info-not-last", dist_info, message))
        return cls(
            file_name.name, file_name.version, file_name.build, file_name.tags, dist_info, metadata,
            wheel_headers, prefix, tuple(faults),
        )  # fmt: skip


def _listed(tags: Iterable[str]) -> str:
    """Return tags for a message: the first of many."""
    ordered = sorted(tags)
    beyond = len(ordered) - _SHOWN_TAGS
    return ", ".join(ordered[:_SHOWN_TAGS]) + (f" and {beyond} more" if beyond > 0 else "")


def parse_headers(text: str) -> dict[str, tuple[str, ...]]:
    """Return the fields of an e-mail-like header, by lower-case name, up to the first empty line.

    A line of blanks continues a field (pandas 2.0.3 has some within its license), and other characters that Python
    takes for line ends, such as the form feed, end no line here.
    """
    fields: dict[str, list[list[str]]] = {}
    current: list[str] | None = None
    for line in re.split("\r\n|\r|\n", text):
        if not line:
            break
        if line[0] in " \t":
            if current is not None:
                current.append(line.strip())
            continue
        name, colon, value = line.partition(":")
        if colon:
            current = [value.strip()]
            fields.setdefault(name.strip().lower(), []).append(current)
    return {name: tuple(map("\n".join, values)) for name, values in fields.items()}


def _find_dist_info(archive: Archive, file_name: FileName) -> tuple[str, str, list[ArchiveFault]]:
    """Return prefix and name of the dist-info folder."""
    found: dict[str, set[str]] = {}
    files: list[str] = []
    for member in archive.members:
        if ".dist-info/" in member.name:
            above, _, _ = member.name.partition(".dist-info/")
            prefix, slash, stem = above.rpartition("/")
            found.setdefault(prefix + slash, set()).add(stem + ".dist-info")
        elif "/" not in member.name and member.name.endswith(".dist-info"):
            files.append(member.name)
    faults: list[ArchiveFault] = []
    prefix = ""
    if "" not in found:
        prefix = _common_prefix(archive)
        while prefix and prefix not in found:
            prefix = prefix[:-1].rpartition("/")[0]
            prefix = prefix + "/" if prefix else ""
        if not prefix:
            hint = "check that this is a wheel, or build it again"
            raise InputError(f"{archive.path} is not a wheel", because="it has no dist-info folder", hint=hint)
        message = f"everything lies below {prefix!r}; nothing of it will be importable"
        faults.append(ArchiveFault("too-deep", prefix, message, (PIP, UV, PYPI)))
    folders = sorted(found[prefix])
    wanted = canonical(file_name.name)
    fitting = [folder for folder in folders if canonical(folder.partition("-")[0]) == wanted]
    own = (fitting or folders)[0]
    if others := [name for name in (*folders, *files) if name != own]:
        message = f"it looks like a second dist-info folder, beside {own!r}"
        # uv does not count files, nor a folder without a name.
        by = (PIP, UV, INSTALLER) if {*folders} - {own, ".dist-info"} else (PIP, INSTALLER)
        faults += [ArchiveFault("several-dist-info", name, message, by) for name in others]
    return prefix, own, faults


def _common_prefix(archive: Archive) -> str:
    """Return the folder that holds all members, with its slash, or nothing."""
    listed = [member.name for member in archive.members]
    low, high = min(listed, default=""), max(listed, default="")
    same = next((index for index, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
    return low[: low.rfind("/", 0, same) + 1]


def _read_text(archive: Archive, name: str, kind: str, faults: list[ArchiveFault]) -> bytes | None:
    member = archive.find(name)
    by = (PIP, UV, PYPI) if kind == "metadata-missing" else (PIP, UV, PYPI, INSTALLER)
    if member is None:
        faults.append(ArchiveFault(kind, name, "the file is missing", by))
        return None
    try:
        return archive.read(member, HEADER_LIMIT)
    except InputError as exc:
        faults.append(ArchiveFault(kind, name, exc.because or exc.what, by))
        return None


def _decode(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def _check_places(archive: Archive, prefix: str, dist_info: str, file_name: FileName) -> Iterator[ArchiveFault]:
    """Give what is wrong with where members are installed, and with the programs that entry points ask for."""
    name = f"{prefix}{dist_info}/entry_points.txt"
    member, scripts = archive.find(name), list[str]()
    if member is not None:
        try:
            data = archive.read(member, HEADER_LIMIT)
        except InputError:
            data = b""  # what is damaged is reported as such
        yield from entry_point_faults(data, name)
        scripts = script_names(_decode(data))
    inside = [member.name.removeprefix(prefix) for member in archive.members]
    stem = dist_info.removesuffix(".dist-info")
    yield from placement_faults(inside, f"{stem}.data", f"{file_name.name}-{file_name.version}.data", scripts)


def _metadata(headers: dict[str, tuple[str, ...]]) -> Metadata:
    def first(name: str) -> str:
        return headers.get(name, ("",))[0]

    return Metadata(
        first("name"),
        first("version"),
        headers.get("requires-dist", ()),
        first("requires-python"),
        headers.get("license-file", ()),
        headers,
    )


def _check_tags(file_name: FileName, headers: dict[str, tuple[str, ...]]) -> Iterator[ArchiveFault]:
    if any(tag != tag.lower() for tag in file_name.tags):
        message = "the file name has tags in capital letters, which uv does not recognise"
        yield ArchiveFault("tag-mismatch", "WHEEL", message, (UV,))
    stated: set[str] | None = set()
    for tag in headers.get("tag", ()):
        expanded = expand_tag(tag)
        if expanded is None or stated is None or len(stated) > MAX_TAGS:
            stated = None
            break
        stated.update(expanded)
    if stated != set(file_name.tags):
        says = f"more than {MAX_TAGS} tags" if stated is None else _listed(stated) or "none"
        message = f"the file name says {_listed(file_name.tags)}; WHEEL says {says}"
        yield ArchiveFault("tag-mismatch", "WHEEL", message)
    build = headers.get("build", ("",))[0]
    if build != file_name.build:
        message = f"the file name says build {file_name.build!r}; WHEEL says {build!r}"
        yield ArchiveFault("tag-mismatch", "WHEEL", message)


def _check_licenses(archive: Archive, where: str, metadata: Metadata) -> Iterator[ArchiveFault]:
    stated = metadata.headers.get("metadata-version", ("",))[0]
    major, _, minor = stated.partition(".")
    if (number_pair(major, minor) or (0, 0)) < (2, 4):
        return  # before 2.4 tools wrote License-File with paths of their own choice
    for path in metadata.license_files:
        if archive.find(f"{where}licenses/{path}") is None:
            message = f"METADATA names the license file {path!r}, which is not in the wheel"
            yield ArchiveFault("license-file-missing", f"{where}licenses/{path}", message, (PYPI,))


def _is_last(archive: Archive, where: str) -> bool:
    """Whether no member's data come after those of the dist-info folder."""
    inside = [member.header_offset for member in archive.members if member.name.startswith(where)]
    first = min(inside)
    return sum(member.header_offset >= first for member in archive.members) == len(inside)

"""Whether an archive is as PyPI, pip and uv want it."""

from __future__ import annotations

import struct
from operator import attrgetter
from typing import TYPE_CHECKING

from wheelfix.archive.directory import (
    CENTRAL,
    DESCRIPTOR,
    ENCRYPTED,
    MAX32,
    PATCHED,
    STRONG_ENCRYPTION,
    UNICODE_PATH,
    UTF8,
    ZIP64,
    Local,
    Member,
    extra_fields,
    read_locals,
)
from wheelfix.archive.faults import PIP, PYPI, UV, ArchiveFault, FaultList, Faults
from wheelfix.base.parsing import human_size
from wheelfix.errors import InputError
from wheelfix.streams import codec
from wheelfix.streams.codec import STORED, Compressor

if TYPE_CHECKING:
    from wheelfix.archive.reader import Archive


# --------------------------------------------------------------------------------------------------------------- stored
# Whether an archive holds its members without compression although that would make it smaller.

LEAST = 16 << 10
"""Stored bytes below which compressing saves nothing worth reporting."""
_SAMPLES, _LENGTH = 8, 64 << 10
"""How many members, and how many bytes of each, are compressed to see whether that helps."""
_WORTH = 0.9
"""What compresses to less than this share of its size is worth it."""


def stored_members(archive: Archive) -> tuple[Member, ...]:
    """Return the members that have bytes and are stored as they are."""
    return tuple(
        member for member in archive.members if member.method == STORED and member.usize and member.name[-1:] != "/"
    )


def stored_fault(archive: Archive) -> tuple[ArchiveFault, ...]:
    """Return the fault of an archive most of whose bytes are stored, where a sample of them can be compressed."""
    stored = stored_members(archive)
    size = sum(map(attrgetter("usize"), stored))
    if size < LEAST or 2 * size < sum(map(attrgetter("usize"), archive.members)):
        return ()
    share = _share(archive, stored)
    if share > _WORTH:
        return ()
    message = (
        f"{len(stored)} of {len(archive.members)} members, {human_size(size)}, are stored without compression; "
        f"a sample of them compresses to {share:.0%} of its size"
    )
    return (ArchiveFault("stored", "", message),)


PLACES = {
    "a venv in a home folder": r"C:\Users\username\project\.venv\Lib\site-packages",
    "GitHub's runners": r"C:\hostedtoolcache\windows\Python\3.14.2\x64\Lib\site-packages",
    "uv's cache": r"C:\Users\username\AppData\Local\uv\cache\archive-v0\aBcDeFgHiJkLmNoPqRsTu",
    "python.org's Python": r"C:\Users\username\AppData\Local\Programs\Python\Python314\Lib\site-packages",
    "the Store's Python": r"C:\Users\username\AppData\Local\Packages\PythonSoftwareFoundation.Python.3.13_qbz5n2kfra8p0"
    r"\LocalCache\local-packages\Python313\site-packages",
}
"""Where wheels are installed, for a user with a name of eight letters, the shortest first."""
LONGEST_PATH = 259
"""Characters of a path that Windows opens unless LongPathsEnabled is set: MAX_PATH less the final NUL."""
PYPI_FILE = 100 << 20
"""Bytes of the largest file that PyPI takes from projects that have not asked for more."""
_PYPI_RATIO, _PYPI_RATIO_FROM = 50, 64 << 20
NOT_IRREGULAR = frozenset({"stored", "path-limit", "long-path", "long-path-somewhere", "file-size", "ratio"})
"""Faults of archives that are as the format says."""


def size_faults(archive: Archive) -> Faults:
    """Yield what is too long for Windows, or too large for PyPI."""
    longest = max((installed_path(member.name) for member in archive.members), key=len, default="")
    said = f"{len(longest)} characters below site-packages"
    short = [place for place, folder in PLACES.items() if len(folder) + 1 + len(longest) > LONGEST_PATH]
    if archive.limits.max_path:
        if len(longest) > archive.limits.max_path:
            yield ArchiveFault(
                "path-limit", longest, f"{said}, more than the {archive.limits.max_path} of --limit path"
            )
    elif short:
        message = (
            f"{said}, so a path of more than {LONGEST_PATH} in {', '.join(short)}: pip cannot write it there, and "
            "Python cannot open it, unless Windows has long paths enabled"
        )
        yield ArchiveFault("long-path" if len(short) == len(PLACES) else "long-path-somewhere", longest, message)
    if archive.size > PYPI_FILE:
        message = (
            f"the wheel has {human_size(archive.size)}; PyPI takes 104.9 MB (100 MiB) from a project that has not "
            "asked for more"
        )
        yield ArchiveFault("file-size", "", message)
    total = sum(map(attrgetter("usize"), archive.members))
    if total > _PYPI_RATIO_FROM and total > archive.size * _PYPI_RATIO:
        message = f"{archive.size} bytes unpack to {total}, more than {_PYPI_RATIO} times as much"
        yield ArchiveFault("ratio", "", message, (PYPI,))


def installed_path(member: str) -> str:
    """Return where a member lies below the folder of its scheme: that of ``.data/purelib`` is the one above it."""
    if ".data/" not in member:
        return member
    parts = member.split("/", 2)
    return parts[2] if len(parts) == 3 and parts[0].endswith(".data") else member


def _share(archive: Archive, stored: tuple[Member, ...]) -> float:
    """Return to which share of its size a sample of the largest members is compressed."""
    before = after = 0
    for member in sorted(stored, key=attrgetter("usize"), reverse=True)[:_SAMPLES]:
        try:
            source = archive.source(member)
            middle = max(0, (source.size - _LENGTH) // 2)  # a file may begin with a header of zeros
            data = source.read_at(middle, _LENGTH)
        except InputError:
            continue
        deflater = Compressor.choose("zlib", "6").deflater()
        before += len(data)
        after += len(deflater.compress(data)) + len(deflater.flush())
    return after / before if before else 1.0


# ---------------------------------------------------------------------------------------------------------- conformance
# What PyPI, pip and uv accept: the whole archive, local headers included, read as strictly as they do.
# Sources: PyPI's ``warehouse/utils/zipfiles.py`` and ``forklift/legacy.py``; uv's streaming reader since 0.8.6
# (CVE-2025-54368); pip's ``operations/install/wheel.py``. The tests compare the verdicts with the real pip and uv.


def check_archive(archive: Archive) -> tuple[ArchiveFault, ...]:
    """Return all faults of the archive: those its directory shows, and those that only its headers show."""
    faults = FaultList()
    _look_at_headers(archive, faults)
    return (*archive.faults, *faults.result())


def _look_at_headers(archive: Archive, faults: FaultList) -> None:
    """Add what is irregular about headers, one by one, and about the room between members."""
    at = 0
    shifted = any(fault.kind == "prefix-data" for fault in archive.faults)
    refused = {fault.subject for fault in archive.faults if fault.kind in {"overlap", "out-of-bounds"}}
    ordered = sorted(archive.members, key=attrgetter("header_offset"))
    for local in read_locals(archive, ordered):
        member, data, flags, extra, _, differences = local
        if differences or extra or member.extra or flags & DESCRIPTOR or member.name[-1:] == "/":
            faults.add(_member_faults(archive, local))
        if member.header_offset < at and not refused:
            faults.add([ArchiveFault("overlap", member.name, "the data before it run into it", (PIP, UV, PYPI))])
        if member.header_offset > at and not (at == 0 and shifted) and member.name not in refused:
            faults.add([_hidden(at, member.header_offset, member.name)])
        end = data + member.csize
        if flags & DESCRIPTOR:
            end, odd_descriptor = _end_of(archive, local)
            if odd_descriptor:
                faults.add([ArchiveFault("data-descriptor", member.name, odd_descriptor, (UV, PYPI))])
        if end > at:
            at = end
    if at < archive.directory_at and not refused:
        faults.add([_hidden(at, archive.directory_at, "")])


def _hidden(start: int, end: int, before: str) -> ArchiveFault:
    where = f"before {before!r}" if before else "before the directory"
    message = f"{end - start} bytes at {start}, {where}, belong to no member"
    return ArchiveFault("hidden-data", before, message, (UV, PYPI))


def _end_of(archive: Archive, local: Local) -> tuple[int, str]:
    """Return where a member ends in the file, data descriptor included, and what is odd about the descriptor."""
    if not local.data:
        return local.end, ""
    member = local.member
    raw = archive.read_at(local.end, 24)
    wide = member.csize >= MAX32 or member.usize >= MAX32
    for signature in (b"PK\x07\x08", b""):
        for shape in (struct.Struct("<III"), struct.Struct("<IQQ")):
            body = raw[len(signature) : len(signature) + shape.size]
            fits = raw.startswith(signature) and len(body) == shape.size
            if fits and shape.unpack(body) == (member.crc, member.csize, member.usize):
                odd = "its data descriptor has 64 bits without need" if shape.size == 20 and not wide else ""
                return local.end + len(signature) + shape.size, odd
    return local.end, "no data descriptor follows its data" if member.flags & DESCRIPTOR else ""


def _member_faults(archive: Archive, local: Local) -> Faults:
    name = local.member.name
    if local.flags & DESCRIPTOR and not local.member.flags & DESCRIPTOR:
        message = "sizes and CRC follow the data, which only the local header says"
        yield ArchiveFault("data-descriptor", name, message, (PYPI,))
    for difference in local.differences:
        field = difference.partition(":")[0]
        by = _flags_rejected_by(local) if field == "flags" else _MISMATCH_REJECTED_BY.get(field, ())
        yield ArchiveFault("local-mismatch", name, difference, by)
    if local.member.is_dir and local.member.usize:
        by = (UV,) if name.strip("/") else ()
        yield ArchiveFault("directory-data", name, f"a folder's entry holds {local.member.usize} bytes", by)
    for place, extra in (("local", local.extra), ("central", local.member.extra)):
        if extra:
            yield from _extra_faults(archive, local, place, extra)


def _flags_rejected_by(local: Local) -> tuple[str, ...]:
    """Return who refuses a member whose two headers have these flags."""
    differing = local.flags ^ local.member.flags
    if differing & UTF8 and not local.member.raw_name.isascii():
        return (PIP, UV)  # the same bytes are two names
    special = ENCRYPTED | STRONG_ENCRYPTION | PATCHED
    return (UV,) if differing & DESCRIPTOR or differing & local.flags & special else ()


_MISMATCH_REJECTED_BY = {
    "signature": (PIP, UV, PYPI),
    "name": (PIP, UV, PYPI),
    "packed size": (UV, PYPI),
    "size": (UV, PYPI),
    "CRC": (UV,),
    "method": (UV,),
    "version": (UV,),
    "extra": (PIP, UV, PYPI),
}


def _extra_faults(archive: Archive, local: Local, place: str, extra: bytes) -> Faults:
    name = local.member.name
    seen: set[int] = set()
    for tag, body in extra_fields(extra):
        if tag == -1:
            message = f"the {place} header's extra fields are cut short"
            by = (UV, PYPI) if place == "local" else (PIP, UV, PYPI)
            yield ArchiveFault("extra-malformed", name, message, by if len(body) >= 4 else (PYPI,))
        if tag in seen and tag in {ZIP64, UNICODE_PATH}:
            message = f"the {place} header has the extra field {tag:#06x} twice"
            yield ArchiveFault("extra-malformed", name, message, (UV, PYPI))
        seen.add(tag)
        if tag == ZIP64:
            yield from _zip64_faults(archive, local, place, body)
        elif tag == UNICODE_PATH and body[5:] != local.member.raw_name:
            shown = body[5:].decode("utf-8", "backslashreplace")
            message = f"an extra field of the {place} header calls the member {shown!r}"
            # A field with the CRC of another name is out of date, and passed over.
            counts = len(body) < 5 or struct.unpack_from("<I", body, 1)[0] == codec.crc32(local.member.raw_name)
            yield ArchiveFault("unicode-path", name, message, (UV,) if counts else ())


def _zip64_faults(archive: Archive, local: Local, place: str, body: bytes) -> Faults:
    """Give what is odd about a ZIP64 field; uv wants exactly the values that the header leaves to it."""
    member, size = local.member, len(body)
    sizes = struct.unpack_from("<QQ", body) if size >= 16 else ()
    if place == "central":
        entry = CENTRAL.unpack_from(archive.directory, member.entry)
        announced = (entry[7], entry[8], entry[15]).count(MAX32)
        if size not in {0, 8 * announced}:
            message = f"the ZIP64 field of the directory has {size} bytes where {8 * announced} are due"
            yield ArchiveFault("zip64-malformed", member.name, message, (UV,))
        return
    by = []
    true_to_both = not local.announced and size == 16 and sizes == (member.usize, member.csize)
    if size not in {0, 8 * local.announced} and not true_to_both:
        by.append(UV)
    if size not in {0, 8, 16, 24, 28} or (size == 8 and member.method) or (sizes and sizes[1] != member.csize):
        by.append(PYPI)
    if by:
        message = f"the ZIP64 field of the local header has {size} bytes where {8 * local.announced} are due"
        kind = "zip64-mismatch" if sizes and sizes != (member.usize, member.csize) else "zip64-malformed"
        yield ArchiveFault(kind, member.name, message, tuple(by))

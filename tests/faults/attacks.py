"""Wheels that are made to exhaust the program that opens them: bombs, crowds, floods and endless streams."""

from __future__ import annotations

import functools
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.archive.byhand import DIST_INFO, Entry, build_zip, deflate, local_header, wheel_entries
from tests.support.wheels import extension
from tools.example import kepler_cu117, wheel_files

NAME = "pkg-1.0-cp311-cp311-win_amd64.whl"
MEGABYTE = 1 << 20


def zeros(size: int) -> bytes:
    """A raw deflate stream of so many zeros: a thousandth of that; every megabyte is packed alike, so one is enough."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    megabyte = packer.compress(bytes(MEGABYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    last = packer.compress(bytes(size % MEGABYTE)) + packer.flush()
    return megabyte * (size // MEGABYTE) + last


@functools.cache
def crc_of_zeros(size: int) -> int:
    """The CRC of so many zeros."""
    crc = 0
    for _ in range(size // MEGABYTE):
        crc = zlib.crc32(bytes(MEGABYTE), crc)
    return zlib.crc32(bytes(size % MEGABYTE), crc)


def flood(name: str, size: int) -> Entry:
    """A member that unpacks to zeros, and says so truly."""
    return Entry(name, b"", packed=zeros(size), both={"usize": size, "crc": crc_of_zeros(size)})


def with_member(name: str, size: int) -> bytes:
    """A wheel with such a member in place of its own of that name."""
    own = [entry for entry in wheel_entries() if entry.name != name]
    return build_zip([*own[:-1], flood(name, size), own[-1]] if own[-1].name != name else [*own, flood(name, size)])


def claims(size: int) -> bytes:
    """A member whose few bytes claim to be many."""
    packed = deflate(bytes(1000))
    return build_zip(wheel_entries([Entry("pkg/big.dll", b"", packed=packed, both={"usize": size, "crc": 0})]))


def many_floods(count: int, size: int) -> bytes:
    """Members that share nothing and unpack to much; each by itself would pass."""
    packed, crc = zeros(size), crc_of_zeros(size)
    floods = [Entry(f"pkg/{n}.bin", b"", packed=packed, both={"usize": size, "crc": crc}) for n in range(count)]
    return build_zip(wheel_entries(floods))


def one_kernel_many_names(count: int, size: int) -> bytes:
    """All entries point to one local header (full overlap)."""
    own = wheel_entries([flood("pkg/0.bin", size)])
    first = own[0]
    return build_zip(
        [*own, *(Entry(f"pkg/{n}.bin", b"", both=first.both, packed=first.packed, reuse=0) for n in range(1, count))]
    )


def quoted(count: int, size: int) -> bytes:
    """Each member quotes the header of the next in a stored block and goes on into its data (D. Fifield, 2019)."""
    kernel, usize = zeros(size), size
    entries = []
    body = b""
    for number in reversed(range(count)):
        if not entries:
            entry = Entry(f"pkg/{number:05}.bin", b"", packed=kernel, both={"usize": usize, "crc": crc_of_zeros(size)})
            body = local_header(entry) + kernel
        else:
            head = local_header(entries[0])
            usize += len(head)
            block = struct.pack("<BHH", 0, len(head), len(head) ^ 0xFFFF)
            entry = Entry(
                f"pkg/{number:05}.bin",
                b"",
                packed=block,
                both={"usize": usize, "csize": len(block) + len(body), "crc": 0},
            )
            body = local_header(entry) + block + body
        entries.insert(0, entry)
    return build_zip([*entries, *wheel_entries()])


def nested(depth: int) -> bytes:
    """A zip in a zip in a zip; the innermost unpacks to a gigabyte."""
    data = with_member("pkg/deep.bin", 1 << 30)
    for level in range(depth):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{level}.zip", data)
        data = out.getvalue()
    return build_zip(wheel_entries([Entry("pkg/nested.zip", data, method=0)]))


def endless(kind: str) -> bytes:
    """Streams that go on for ever, or nowhere."""
    streams = {
        "empty-blocks": b"\0\0\0\xff\xff" * 4_000_000,  # 20 MB that unpack to nothing
        "no-last-block": zeros(MEGABYTE)[:-1].replace(b"\x01\0\0\xff\xff", b"\0\0\0\xff\xff"),
        "truncated": deflate(bytes(range(256)) * 4000)[:-20],
        "garbage": b"\xde\xad\xbe\xef" * 1000,
    }
    entry = Entry("pkg/a.bin", b"", packed=streams[kind], both={"usize": 1000, "crc": 0})
    return build_zip(wheel_entries([entry]))


def crowd(count: int, suffix: str = ".py") -> bytes:
    """Many empty members, all in RECORD."""
    empty = [Entry(f"pkg/f{number}{suffix}", b"", method=0) for number in range(count - 4)]
    return build_zip(wheel_entries(empty), **_wide(count))


def named(names: Iterable[str]) -> bytes:
    """Empty members of these names."""
    return build_zip(wheel_entries(Entry(name, b"", method=0) for name in names))


def _wide(count: int) -> dict[str, dict[str, int]]:
    return {"zip64": {}, "end": {"here": 0xFFFF, "entries": 0xFFFF}} if count >= 0xFFFF else {}


def record(text: bytes) -> bytes:
    """A wheel with a RECORD of one's own."""
    own = wheel_entries()
    return build_zip([*own[:-1], Entry(f"{DIST_INFO}/RECORD", text)])


def source(text: str, name: str = "pkg/__init__.py") -> bytes:
    """A wheel with Python code of one's own, and a DLL that makes it worth reading."""
    module = extension("missing.dll", name="ext")
    own = [entry for entry in wheel_entries([Entry("pkg/ext.cp311-win_amd64.pyd", module)]) if entry.name != name]
    return build_zip([Entry(name, text.encode()), *own])


def torch(version: str) -> bytes:
    """A wheel that looks like torch, with a version module of one's own."""
    files = wheel_files(kepler_cu117())
    files["torch/version.py"] = version.encode()
    return build_zip(wheel_entries(Entry(name, data) for name, data in files.items()))


def metadata(text: bytes) -> bytes:
    """A wheel with METADATA of one's own."""
    own = [entry for entry in wheel_entries() if entry.name != f"{DIST_INFO}/METADATA"]
    return build_zip([Entry(f"{DIST_INFO}/METADATA", b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n" + text), *own])


ATTACKS: dict[str, Callable[[], bytes]] = {
    "bomb-1-gib-of-zeros": lambda: with_member("pkg/a.bin", 1 << 30),
    "bomb-beyond-ratio": lambda: with_member("pkg/a.bin", (1 << 30) + 1),
    "bomb-as-dll": lambda: with_member("pkg/a.dll", 1 << 30),
    "bomb-as-metadata": lambda: with_member(f"{DIST_INFO}/METADATA", 1 << 30),
    "bomb-as-wheel-file": lambda: with_member(f"{DIST_INFO}/WHEEL", 1 << 30),
    "bomb-as-record": lambda: with_member(f"{DIST_INFO}/RECORD", 1 << 30),
    "bomb-as-source": lambda: with_member("pkg/__init__.py", 1 << 30),
    "claims-4-gib": lambda: claims((1 << 32) - 2),
    "claims-900-mib": lambda: claims(900 << 20),
    "many-bombs": lambda: many_floods(300, 8 << 20),
    "one-kernel-1000-names": lambda: one_kernel_many_names(1000, 8 << 20),
    "quoted-overlap": lambda: quoted(1000, 8 << 20),
    "nested": lambda: nested(3),
    "endless-empty-blocks": lambda: endless("empty-blocks"),
    "endless-no-last-block": lambda: endless("no-last-block"),
    "stream-truncated": lambda: endless("truncated"),
    "stream-garbage": lambda: endless("garbage"),
    "200000-members": lambda: crowd(200_000),
    "100000-members": lambda: crowd(100_000),
    "65535-members": lambda: crowd(0xFFFF),
    "8000-dlls": lambda: crowd(8_000, ".dll"),
    "50000-dist-infos": lambda: named(f"p{n}-1.dist-info/METADATA" for n in range(50_000)),
    "same-name-20000-times": lambda: named("pkg/a.py" for _ in range(20_000)),
    "names-differ-in-case-20000": lambda: named(f"pkg/{'aA'[n % 2]}{n // 2}.py" for n in range(20_000)),
    "name-of-65535-bytes": lambda: named(["pkg/" + "x" * 65_531]),
    "folders-30000-deep": lambda: named(["a/" * 30_000 + "x.dll"]),
    "1500-names-of-folders-1000-deep": lambda: named("a/" * 1000 + f"{n}.py" for n in range(1_500)),
    "record-of-100-mb": lambda: record(b"".join(b"pkg/%07d.py,sha256=%043d,1\n" % (n, n) for n in range(1_450_000))),
    "record-of-100-mb-in-one-field": lambda: record(b"x" * (100 << 20)),
    "record-of-100-mb-of-newlines": lambda: record(b"\n" * (100 << 20)),
    "record-of-100-mb-of-commas": lambda: record(b"," * (100 << 20)),
    "record-quote-without-end": lambda: record(b'"' + b"pkg/a.py,,\n" * 5_000_000),
    "record-same-row": lambda: record(b"pkg/__init__.py,,\n" * 300_000),
    "record-odd-algorithms": lambda: record(
        b"pkg/__init__.py,shake_128=,0\npkg/a.py,sh\0a=x,0\npkg/b.py,\xff=x,0\npkg/c.py,sha512-256=x,1\n"
    ),
    "record-lists-itself": lambda: record(
        b"pkg/__init__.py,,\npkg-1.0.dist-info/RECORD,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,12\n"
    ),
    "record-newlines-and-quotes": lambda: record(
        b'"pkg/a\nb.py",,\n"pkg/""q"".py",,\npkg/"half.py,,\n"pkg/c\r\nd.py,../../evil.py",,\n"../../evil\n.py",,\n"'
    ),
    "record-nul": lambda: record(b"pkg/\0.py,,\n\0,\0,\0\n"),
    "metadata-1000000-requirements": lambda: metadata(b"Requires-Dist: a>1\n" * 1_000_000),
    "metadata-long-line": lambda: metadata(b"Requires-Dist: " + b"a" * 20_000_000 + b"\n"),
    "metadata-nested-extras": lambda: metadata(b"Requires-Dist: " + b"a[" * 900 + b"\n"),
    "metadata-nested-markers": lambda: metadata(b"Requires-Dist: a; " + b"(" * 900 + b"\n"),
    "metadata-large-number": lambda: metadata(b"Requires-Dist: numpy>" + b"9" * 1900 + b"\n"),
    "metadata-huge-number": lambda: metadata(b"Requires-Dist: numpy>" + b"9" * 9000 + b"\n"),
    "metadata-folded": lambda: metadata(b"X: a\n" + b" b\n" * 1_300_000),
    "source-nested-parentheses": lambda: source("import os\nos.add_dll_directory(" + "(" * 100_000),
    "source-nested-operators": lambda: source("import os\nos.add_dll_directory(" + "-" * 500_000 + "1)\n"),
    "source-nested-attributes": lambda: source("import os\nos.add_dll_directory(a" + ".b" * 200_000 + ")\n"),
    "source-nested-calls": lambda: source(f"import os\nos.add_dll_directory({'f(' * 90}x{'[0]' * 100_000}{')' * 91}\n"),
    "source-long-sum": lambda: source("import os\nos.add_dll_directory('a'" + " + 'a'" * 200_000 + ")\n"),
    "source-nul": lambda: source("import os\0\nos.add_dll_directory('x')\n"),
    "source-huge-number": lambda: source(f"import os\nos.add_dll_directory('a' * 10**10)\ny = {'9' * 100_000}\n"),
    "torch-with-absurd-versions": lambda: torch(f"__version__ = '{'9' * 100_000}'\ncuda = '{'9.' * 50_000}'\n"),
    "torch-with-huge-versions": lambda: torch(f"__version__ = '2.0+cu{'9' * 5000}'\ncuda = '{'9' * 5000}.1'\n"),
    "torch-with-nested-versions": lambda: torch(f"__version__ = {'[' * 5000}\ncuda = {'-' * 50_000}1\n"),
}  # fmt: skip
"""Each attack as a function that makes the wheel's bytes."""


def write(name: str, folder: Path) -> Path:
    """Write the wheel of an attack."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    path.write_bytes(ATTACKS[name]())
    return path

"""What can vary in a wheel, from harmless to hostile: each function changes one thing of a draft at random."""

from __future__ import annotations

import random
import struct
import unicodedata
import zlib
from collections.abc import Callable

from tests.archive.byhand import Entry, deflate, extra_field
from tests.archive.drafts import Draft
from tests.support.tables import read_table

SCHEMES = ("purelib", "platlib", "data", "scripts", "headers")
PLACES = ("pkg/lib.dll", "pkg/other.dll", "PKG/LIB.DLL", "pkg/Lib.dll", "lib.dll", "pkg/__init__.py")
VARIATIONS: list[Callable[[random.Random, Draft], None]] = []


def vary(function: Callable[[random.Random, Draft], None]) -> Callable[[random.Random, Draft], None]:
    """Register a variation."""
    VARIATIONS.append(function)
    return function


def put(dice: random.Random, made: Draft, entry: Entry) -> None:
    """Add a file, before or after those that are there."""
    made.files.insert(dice.choice((0, len(made.files))), entry)


def some(dice: random.Random, made: Draft) -> Entry:
    """Return one of the files."""
    return dice.choice(made.files)


# ------------------------------------------------------------------------------------------------ .data folders


@vary
def data_file(dice: random.Random, made: Draft) -> None:
    name = f"{made.data}/{dice.choice(SCHEMES)}/{dice.choice(PLACES)}"
    put(dice, made, Entry(name, b"MZ data " + dice.randbytes(9)))


@vary
def data_beside_site_packages(dice: random.Random, made: Draft) -> None:
    place = dice.choice(("Lib/site-packages/pkg/lib.dll", "lib/SITE-PACKAGES/pkg/lib.dll", "Scripts/run.exe", "x.dll"))
    put(dice, made, Entry(f"{made.data}/data/{place}", b"MZ data"))
    if dice.random() < 0.5:
        put(dice, made, Entry(f"{made.data}/scripts/run.exe", b"MZ script"))


@vary
def data_of_an_odd_scheme(dice: random.Random, made: Draft) -> None:
    place = dice.choice(CHOICES["odd_schemes"])
    put(dice, made, Entry(f"{made.data}/{place}", b"" if place.endswith("/") or not place else b"MZ odd"))


@vary
def data_of_another_name(dice: random.Random, made: Draft) -> None:
    folder = dice.choice(CHOICES["data_folders"])
    put(dice, made, Entry(f"{folder}/{dice.choice((*SCHEMES, 'bogus'))}/{dice.choice(PLACES)}", b"MZ else"))


@vary
def data_as_a_file(dice: random.Random, made: Draft) -> None:
    put(dice, made, Entry(dice.choice((made.data, "x.data", "pkg/x.data", "pkg/y.data/purelib/z.py")), b"data"))


@vary
def scripts(dice: random.Random, made: Draft) -> None:
    shebang = dice.choice((b"#!python\n", b"#!pythonw\r\n", b"#!/bin/sh\n", b"", b"#!python -E\n", b"#!python"))
    name = dice.choice(("run", "run.py", "run.exe", "run-script.py", "sub/run", "Run"))
    put(dice, made, Entry(f"{made.data}/scripts/{name}", shebang + b"print()\n", attributes=0o100755 << 16))


@vary
def entry_points(dice: random.Random, made: Draft) -> None:
    text = dice.choice(CHOICES["entry_points"])
    data = text.encode() if dice.random() < 0.95 else b"[console_scripts]\nr\xfcn = pkg:main\n"
    made.late.append(Entry(f"{made.dist_info}/entry_points.txt", data))


# ------------------------------------------------------------------------------------------------------- names

CHOICES = read_table(__file__, "variations.toml")
LONG = {
    "255 characters": "pkg/" + "n" * 255,
    "256 characters": "pkg/" + "n" * 256,
    "300 folders": "pkg/" + "d/" * 300 + "a",
}


@vary
def odd_name(dice: random.Random, made: Draft) -> None:
    name = dice.choice(CHOICES["names"])
    put(dice, made, Entry(LONG.get(name, name), b"" if name.endswith("/") else b"MZ odd"))


@vary
def pair_of_names(dice: random.Random, made: Draft) -> None:
    one, two = dice.choice(CHOICES["pairs"])
    same = b"MZ one"
    put(dice, made, Entry(one, same))
    put(dice, made, Entry(two, b"" if two.endswith("/") else dice.choice((same, b"MZ two!"))))


@vary
def name_in_another_encoding(dice: random.Random, made: Draft) -> None:
    raw, flags = dice.choice(
        (
            ("pkg/\u00fc.dll".encode(), 0), (b"pkg/\x81.dll", 0), (b"pkg/\xff.dll", 0x800),
            ("pkg/\u00fc.dll".encode(), 0x800),
            (unicodedata.normalize("NFD", "pkg/\u00fc.dll").encode(), 0x800), (b"pkg/\xed\xa0\x80.dll", 0x800),
            (b"pkg/\xc0\xaf.dll", 0x800), (b"pkg/plain.dll", 0x800),
        )
    )  # fmt: skip
    put(dice, made, Entry(raw, b"MZ enc", both={"flags": flags}))


@vary
def folders(dice: random.Random, made: Draft) -> None:
    name = dice.choice(
        ("pkg/", "empty/", f"{made.dist_info}/", f"{made.data}/", f"{made.data}/platlib/", "/", "x.dist-info/")
    )
    attributes = dice.choice((0o040755 << 16 | 16, 16, 0, 0o100644 << 16))
    put(dice, made, Entry(name, dice.choice((b"", b"", b"", b"data")), 0, attributes=attributes))


# ----------------------------------------------------------------------------------------------------- headers


@vary
def flag_bit(dice: random.Random, made: Draft) -> None:
    where = dice.choice(("local", "central", "both"))
    entry = some(dice, made)
    old = 0 if entry.raw_name.isascii() else 0x800
    getattr(entry, where)["flags"] = old ^ (1 << dice.randrange(16))


@vary
def header_field(dice: random.Random, made: Draft) -> None:
    field, values = dice.choice(
        (
            ("needed", (0, 10, 20, 45, 46, 51, 63, 64, 99, 0x0314, 0xFFFF)),
            ("made", (0, 20, 63, 3 << 8, 10 << 8 | 63, 0xFFFF)),
            ("stamp", (0, 0x21 << 16, 0xFFFFFFFF, 0x0000BF7D, 13 << 21)),
            ("crc", (0, 1, 0xFFFFFFFF)),
            ("csize", (0, 1, 5000, 0xFFFFFFFE)),
            ("usize", (0, 1, 5000, 0xFFFFFFFE)),
            ("internal", (1, 0xFFFF)),
            ("disk", (1, 0xFFFF)),
            ("method", (0, 8, 1, 9, 12, 14, 93, 99)),
            ("comment", (b"hello", b"\xff\xfe", b"PK\x05\x06" + bytes(18))),
            ("attributes", (0, 0x20, 0o120777 << 16, 0o100755 << 16, 0o010644 << 16, 0o040755 << 16, 16, 0xFFFFFFFF)),
        )
    )
    where = dice.choice(("local", "central", "both"))
    getattr(some(dice, made), where)[field] = dice.choice(values)


@vary
def extra_fields(dice: random.Random, made: Draft) -> None:
    entry = some(dice, made)
    size, packed = len(entry.data), entry.fields()["csize"]
    name = entry.raw_name
    unicode_path = extra_field(
        0x7075, b"\x01" + struct.pack("<I", zlib.crc32(name)) + dice.choice((name, b"pkg/evil.dll"))
    )
    extra = dice.choice(
        (
            extra_field(1, struct.pack("<QQ", size, packed)), extra_field(1, struct.pack("<Q", size)), extra_field(1,
            b""),
            extra_field(1, bytes(16)), extra_field(1, bytes(9)), extra_field(0x5455, b"\x01abcd"), unicode_path,
            b"\x99\x99\xff\x00x", b"abc", b"\0", bytes(4), extra_field(0xCAFE, b""), extra_field(1, b"") * 2,
            extra_field(0x7075, b"\x01abcd"), extra_field(0x7075, b""), extra_field(0x6375, b"\x01abcdhello"),
            extra_field(0x9901, b"\x02\0AE\x03\x08\0"), extra_field(0x000A, bytes(32)), extra_field(0xD935, bytes(50)),
            unicode_path * 2, extra_field(0x0017, bytes(8)),
        )
    )  # fmt: skip
    getattr(entry, dice.choice(("local", "central", "both")))["extra"] = extra


@vary
def zip64_sizes(dice: random.Random, made: Draft) -> None:
    entry = some(dice, made)
    true = entry.fields()
    size, packed = true["usize"], true["csize"]
    body = struct.pack("<QQ", size + dice.choice((0, 0, 0, 5)), packed)
    wide = {"usize": 0xFFFFFFFF, "csize": 0xFFFFFFFF, "extra": extra_field(1, body)}
    if dice.random() < 0.3:
        del wide["csize" if dice.random() < 0.5 else "extra"]
    getattr(entry, dice.choice(("local", "central", "both"))).update(wide)


@vary
def descriptor(dice: random.Random, made: Draft) -> None:
    entry = some(dice, made)
    true = entry.fields()
    shape = dice.choice(("<III", "<IQQ"))
    body = struct.pack(shape, true["crc"], true["csize"], true["usize"])
    entry.after = dice.choice((b"PK\x07\x08", b"PK\x07\x08", b"")) + body
    entry.both["flags"] = true["flags"] | 8
    if dice.random() < 0.7:
        entry.local |= {"crc": 0, "csize": 0, "usize": 0}


@vary
def odd_stream(dice: random.Random, made: Draft) -> None:
    entry = some(dice, made)
    entry.method = 8
    stream = deflate(entry.data)
    entry.packed = dice.choice(
        (stream[:-1], stream + b"\0", b"\xff" * 9, b"", deflate(entry.data, 0), deflate(b"other"))
    )


@vary
def local_name(dice: random.Random, made: Draft) -> None:
    entry = some(dice, made)
    name = entry.raw_name
    entry.local["name"] = dice.choice(
        (name.upper(), name.replace(b"/", b"\\"), b"x", name + b"x", name[:-1], b"./" + name)
    )


# ------------------------------------------------------------------------------------------------- the archive


@vary
def archive_ends(dice: random.Random, made: Draft) -> None:
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0, 0, 0, 0, 0)
    made.zip |= dice.choice(
        (
            {"comment": b"hello"}, {"comment": b"\xff\xfe\x80binary"}, {"comment": b"\0"}, {"comment": b"x" * 65535},
            {"comment": end}, {"comment": b"PK\x05\x06"}, {"comment": b"PK\x01\x02" + bytes(60)},
            {"comment": "\u00fc".encode()},
            {"comment": b"he", "end": {"comment_length": 50}}, {"comment": b"hello", "end": {"comment_length": 0}},
            {"trailing": b"x" * dice.randint(1, 100)}, {"trailing": b"\0"}, {"prefix": b"MZ" + bytes(40)},
            {"prefix": b"#!/bin/sh\n", "prefix_counts": True}, {"gap": bytes(7)}, {"before_end": bytes(5)},
            {"end": {"here": 1, "entries": 1}}, {"end": {"here": 99, "entries": 99}}, {"end": {"disk": 1}},
            {"shuffle": True},
            {"end": {"here": 2}}, {"end": {"size": 5}}, {"end": {"first": 1}},
            {"comment": b"PK\x06\x07" + bytes(40)}, {"comment": b"line\r\nline \x1b[31m"},
        )
    )  # fmt: skip


@vary
def zip64_end(dice: random.Random, made: Draft) -> None:
    made.zip["zip64"] = dice.choice(
        (
            {}, {}, {"record_size": 45}, {"here": 3, "entries": 3}, {"at": 1}, {"disks": 2}, {"disk": 1}, {"disks": 0},
            {"extensible": b"x" * 12, "record_size": 56}, {"size": 1}, {"offset": 0},
        )
    )  # fmt: skip
    if dice.random() < 0.5:
        made.zip["end"] = {"here": 0xFFFF, "entries": 0xFFFF, "size": 0xFFFFFFFF, "offset": 0xFFFFFFFF}


@vary
def order_of_entries(dice: random.Random, made: Draft) -> None:
    def shuffled(entries: list[Entry]) -> list[Entry]:
        return dice.sample(entries, len(entries))

    made.entries = shuffled


@vary
def between_entries(dice: random.Random, made: Draft) -> None:
    entry = some(dice, made)
    if dice.random() < 0.5:
        entry.before = dice.choice((b"gap", b"PK\x03\x04" + bytes(30), b"PK\x07\x08" + bytes(12)))
    else:
        put(dice, made, Entry("pkg/ghost.dll", b"MZ ghost", hidden=True))


@vary
def entry_twice(dice: random.Random, made: Draft) -> None:
    number = dice.randrange(len(made.files))
    old = made.files[number]
    again = Entry(old.raw_name, dice.choice((old.data, b"MZ other")), dice.choice((0, 8)))
    if dice.random() < 0.3:
        again = Entry(dice.choice((old.raw_name, b"pkg/alias.dll")), old.data, old.method, reuse=number)
    made.files.append(again)

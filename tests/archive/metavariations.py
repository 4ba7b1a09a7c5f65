"""What can vary in a wheel's own words: its file name, dist-info folder, METADATA, WHEEL and RECORD."""

from __future__ import annotations

import hashlib
import random

from tests.archive.byhand import Entry
from tests.archive.drafts import Draft
from tests.archive.variations import VARIATIONS, put, vary

__all__ = ["VARIATIONS"]


@vary
def names_in_step(dice: random.Random, made: Draft) -> None:
    """Another name and version, the same everywhere."""
    name, version = dice.choice((("Pkg", "1.0"), ("my_pkg", "2.0.1"), ("pkg", "1.0+cpu"), ("pkg", "1!1.0"), ("p", "0")))
    version = dice.choice((version, "1.0rc1", "1.0.post1", "1.0.dev3", "2024.1"))
    made.name, made.version = name, version
    stem = f"{name}-{version}"
    made.dist_info, made.data = f"{stem}.dist-info", f"{stem}.data"
    if made.metadata is not None:
        made.metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()


@vary
def odd_names_in_step(dice: random.Random, made: Draft) -> None:
    """Names and versions that not everybody takes, the same everywhere."""
    name = dice.choice(
        ("my__pkg", "pkg!", "pkg@x", "_pkg", "pkg_", "p\u00e4kg", "pkg.", ".pkg", "pkg+", "PKG.x", "pkg..x")
    )
    version = dice.choice(
        ("abc", "1.0-", "1_0", "1.0.x", "v1.0", "1.0+", "1.0+a_b", "01.00", "1.0.", "\u0661.0", "1.0")
    )
    if dice.random() < 0.5:
        name = "pkg"
    else:
        version = "1.0"
    made.name, made.version = name, version
    made.dist_info, made.data = f"{name}-{version}.dist-info", f"{name}-{version}.data"
    made.metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()


@vary
def file_name(dice: random.Random, made: Draft) -> None:
    change = dice.choice(
        (
            {"name": "PKG"}, {"name": "other"}, {"name": "pkg_x"}, {"name": "pk"}, {"version": "1.0.0"},
            {"version": "1"},
            {"version": "01.0"}, {"version": "2.0"}, {"version": "1.0_x"}, {"version": "abc"}, {"version": "v1.0"},
            {"build": "1"}, {"build": "1abc"}, {"build": "0"}, {"build": "x1"}, {"tag": "py2.py3-none-any"},
            {"tag": "py3-none"},
            {"tag": "PY3-none-any"}, {"tag": "py3.py3-none-any"}, {"name": "pkg.x"}, {"name": "p--kg"},
            {"name": "_pkg"},
            {"name": "p\u00e4kg"}, {"version": "1.0+a.b"}, {"version": "1.0+a-b"}, {"build": "12345678901234567890"},
        )
    )  # fmt: skip
    for field, value in change.items():
        setattr(made, field, value)


@vary
def dist_info_name(dice: random.Random, made: Draft) -> None:
    made.dist_info = dice.choice(
        (
            "PKG-1.0.dist-info", "Pkg-1.0.dist-info", "pkg-1.0.0.dist-info", "pkg-1.dist-info", "other-1.0.dist-info",
            "pkg-2.0.dist-info", "pkg.dist-info", "pkg-1.0.DIST-INFO", "p-k-g-1.0.dist-info", "pkg_-1.0.dist-info",
            ".dist-info", "pkg-1.0-extra.dist-info", "pkgx-1.0.dist-info", "sub/pkg-1.0.dist-info", "pkg-1.0.egg-info",
            "pkg-1.0+x.dist-info", "pkg-.dist-info", "pkg-1.0.dist-info/pkg-1.0.dist-info",
        )
    )  # fmt: skip
    if dice.random() < 0.5:
        made.data = made.dist_info.removesuffix(".dist-info") + ".data"


@vary
def second_dist_info(dice: random.Random, made: Draft) -> None:
    folder = dice.choice(
        (
            "other-1.0.dist-info", "pkg-2.0.dist-info", "PKG-1.0.dist-info", "pkg-1.0.dist-info ", "x.dist-info",
            "pkg/vendored-1.0.dist-info", "pkg-1.0.data/purelib/other-1.0.dist-info", ".dist-info",
            "pkg-1.0.data/platlib/pkg-1.0.dist-info", "pkg-1.0.dist-info/sub.dist-info",
        )
    )  # fmt: skip
    for base in dice.choice((("METADATA",), ("METADATA", "WHEEL", "RECORD"), ("x.txt",), ("",), ("RECORD",))):
        put(dice, made, Entry(f"{folder}/{base}" if base else folder, made.metadata or b"x"))


@vary
def installers_own_files(dice: random.Random, made: Draft) -> None:
    base = dice.choice(
        ("INSTALLER", "REQUESTED", "direct_url.json", "RECORD.jws", "RECORD.p7s", "top_level.txt", "metadata")
    )
    made.late.append(Entry(f"{made.dist_info}/{base}", b"x"))
    if base.startswith("RECORD") and dice.random() < 0.7:
        made.rows = lambda rows: [row for row in rows if not row[0].endswith((".jws", ".p7s"))]


@vary
def metadata(dice: random.Random, made: Draft) -> None:
    usual = made.metadata or b""
    made.metadata = dice.choice(
        (
            None, b"", b"\n", b"\xef\xbb\xbf" + usual, usual.replace(b"\n", b"\r\n"), usual.replace(b"\n", b"\r"),
            b"\n" + usual,
            usual + b"Summary: gr\xfc\xdfe\n", usual + b"\nA description, with \xff\n", b"Name: pkg\n" + usual,
            usual + b"Name: other\n",
            usual.replace(b"Version: 1.0", b"Version: 1.0.0"), usual.replace(b"Version: 1.0", b"Version: 2.0"),
            usual.replace(b"Version: 1.0", b"Version: abc"), usual.replace(b"Version: 1.0\n", b""),
            usual.replace(b"Version: 1.0", b"Version:  1.0 "), usual.replace(b"Version: 1.0", b"Version: v1.0"),
            usual.replace(b"Name: pkg", b"Name: other"), usual.replace(b"Name: pkg", b"Name: PKG"),
            usual.replace(b"Name: pkg\n", b""),
            usual.replace(b"Name: pkg", b"Name: p kg"), usual.replace(b"Name: pkg", b"Name: "),
            usual.replace(b"Name: pkg", b"name: pkg"),
            usual.replace(b"2.1", b"1.0"), usual.replace(b"2.1", b"2.4"), usual.replace(b"2.1", b"9.9"),
            usual.replace(b"2.1", b"x"),
            usual.replace(b"Metadata-Version: 2.1\n", b""), usual.replace(b"2.1", b"2"), usual.replace(b"2.1",
            b"2.1.1"),
            usual + b"Requires-Dist: numpy>=1\n", usual + b"Requires-Dist: numpy>>1\n", usual + b"Requires-Dist: \n",
            usual + b"Requires-Dist: x; python_version < 'a'\n", usual + b"Requires-Dist: x[\n",
            usual + b"Requires-Dist: x (>=1.*)\n",
            usual + b"Requires-Dist: a @ https://example.org/a.whl\n", usual + b"Requires-Dist: x; extra == 'y'\n",
            usual + b"Requires-Python: >=3.8\n", usual + b"Requires-Python: >=3.8.*\n", usual + b"Requires-Python: x\n",
            usual + b"Requires-Python: <3\n", usual + b"Provides-Extra: y\n", usual + b"Provides-Extra: y y\n",
            usual + b"Dynamic: Version\n", usual + b"License-File: LICENSE\n", b" " + usual, usual + b"no colon here\n",
            usual.replace(b"2.1", b"2.4") + b"License-File: LICENSE\n", usual[:-1], b"x" * 50,
            usual + b"Requires-Dist: Y!\n",
        )
    )  # fmt: skip


@vary
def wheel_file(dice: random.Random, made: Draft) -> None:
    usual = made.wheel or b""
    made.wheel = dice.choice(
        (
            None, b"", b"\n" + usual, b"\xef\xbb\xbf" + usual, usual.replace(b"\n", b"\r\n"), usual.replace(b"\n",
            b"\r"),
            usual.replace(b"1.0", b"1.1"), usual.replace(b"1.0", b"1.9"), usual.replace(b"1.0", b"2.0"),
            usual.replace(b"1.0", b"1"),
            usual.replace(b"1.0", b"0.9"), usual.replace(b"1.0", b"1.x"), usual.replace(b"1.0", b"1.0.0"),
            usual.replace(b"1.0", b" 1.0 "),
            usual.replace(b"1.0", b""), usual.replace(b"Wheel-Version: 1.0\n", b""), usual.replace(b"1.0", b"01.0"),
            usual.replace(b"1.0", b"1.00"), usual + b"Wheel-Version: 2.0\n", b"Wheel-Version: 2.0\n" + usual,
            usual.replace(b"true", b"True"), usual.replace(b"true", b"false"), usual.replace(b"true", b"FALSE"),
            usual.replace(b"true", b"yes"), usual.replace(b"true", b""), usual.replace(b"Root-Is-Purelib: true\n", b""),
            usual.replace(b"true", b" true "), usual + b"Root-Is-Purelib: false\n", usual.replace(b"py3-none-any",
            b"py2-none-any"),
            usual.replace(b"Tag: py3-none-any\n", b""), usual + b"Tag: cp311-cp311-win_amd64\n",
            usual.replace(b"py3-none-any", b"x"),
            usual + b"Build: 1\n", usual + b"\xff\n", usual.replace(b"Wheel-Version", b"wheel-version"),
            usual.replace(b": ", b":"),
            usual.replace(b"1.0", b"\xd9\xa1.0"), usual + b"X-Odd: \xff\n", usual + b"\nBody: x\n", usual[:-1],
            b"Metadata: x\n",
            usual.replace(b"1.0", b"1.0\n 1.0"), usual.replace(b"1.0", b"-1.0"), usual.replace(b"1.0", b"1_0.0"),
            b" " + usual,
        )
    )  # fmt: skip


@vary
def record_rows(dice: random.Random, made: Draft) -> None:
    def changed(rows: list[list[str]]) -> list[list[str]]:
        rows = [[*row] for row in rows]
        at = dice.randrange(len(rows))
        row = rows[at]
        body = b"x"
        kind = dice.randrange(26)
        if kind == 0:
            del rows[at]
        elif kind == 1:
            rows.append([*row])
        elif kind == 2:
            rows.append([row[0], "sha256=" + "A" * 43, "7"])
        elif kind == 3:
            rows.append(["pkg/gone.dll", "sha256=" + "A" * 43, "7"])
        elif kind == 4:
            row[1] = "sha256=" + "A" * 43
        elif kind == 5:
            row[2] = "7"
        elif kind == 6:
            row[1] = ""
        elif kind == 7:
            row[2] = ""
        elif kind == 8:
            row[1] = dice.choice(("md5=", "sha1=", "sha512=", "blake2b=")) + hashlib.md5(body).hexdigest()
        elif kind == 9:
            row[1] = dice.choice(("sha256", "sha256=", "=x", "x", "SHA256=" + row[1][7:], row[1] + "=", row[1] + "=="))
        elif kind == 10:
            row[2] = dice.choice(("x", "-1", "1.5", " 5", "0x5", "1_0", "9" * 25, row[2] + " ", "+" + row[2], "\u0665"))
        elif kind == 11:
            row[0] = row[0].replace("/", "\\")
        elif kind == 12:
            row[0] = dice.choice(
                ("./" + row[0], "/" + row[0], row[0].upper(), row[0] + " ", "../" + row[0], row[0] + "/")
            )
        elif kind == 13:
            row.append("more")
        elif kind == 14:
            del row[2:]
        elif kind == 15:
            del row[1:]
        elif kind == 16:
            row[0] = ""
        elif kind == 17:
            rows.insert(at, [""])
        elif kind == 18:
            rows.reverse()
        elif kind == 19:
            rows[-1][1:] = ["sha256=" + "A" * 43, "7"]
        elif kind == 20:
            rows.insert(at, dice.choice(([" "], ["#", "", ""], ["", "", ""], ["pkg/", "", ""], ["..\\x", "", ""])))
        elif kind == 21:
            rows.append([f"{made.dist_info}/RECORD.jws", "", ""])
        elif kind == 22:
            row[1] = row[1].replace("sha256=", "sha256 = ")
        elif kind == 23:
            rows[-1][2] = "7"
        elif kind == 24:
            rows.clear()
        else:
            rows.append([row[0].upper(), *row[1:]])
        return rows

    made.rows = changed


@vary
def record_text(dice: random.Random, made: Draft) -> None:
    change = dice.choice(
        (
            lambda data: None, lambda data: b"", lambda data: b"\xef\xbb\xbf" + data, lambda data: data.replace(b"\n",
            b"\r\n"),
            lambda data: data.replace(b"\n", b"\r"), lambda data: data[:-1], lambda data: data + b"\n",
            lambda data: data + b"\xff,,\n",
            lambda data: b"\n" + data, lambda data: data + b'"open,,\n', lambda data: data.replace(b"\n", b"\n\n"),
            lambda data: b'"' + data.replace(b",", b'",', 1), lambda data: data + b"\0\n",
            lambda data: data.replace(b",", b";"),
            lambda data: data.decode().encode("utf-16"), lambda data: data + b"\x0c\n",
            lambda data: data.replace(b"\n", b"\x0b", 1),
            lambda data: data.replace(b"\n", "\u2028".encode(), 1), lambda data: data.replace(b",", b", "),
            lambda data: data + b"# comment\n",
            lambda data: data + b"x" * 140_000 + b",,\n", lambda data: data.replace(b"\n", b"\x1c", 1),
            lambda data: data.upper(),
        )
    )  # fmt: skip
    made.record = change


@vary
def root_is_platlib(dice: random.Random, made: Draft) -> None:
    if made.wheel is not None:
        made.wheel = made.wheel.replace(b"true", b"false")
    if dice.random() < 0.5:
        put(dice, made, Entry(f"{made.data}/{dice.choice(('purelib', 'platlib'))}/pkg/lib.dll", b"MZ scheme"))

"""What can vary in a wheel's own words: its file name, dist-info folder, METADATA, WHEEL and RECORD."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable

from tests.archive.byhand import Entry
from tests.archive.drafts import Draft
from tests.archive.variations import CHOICES, VARIATIONS, put, vary

__all__ = ["VARIATIONS"]


def changed(
    data: bytes,
    *,
    none: bool = False,
    all: str | None = None,  # noqa: A002  # as the table calls it
    old: str = "",
    new: str = "",
    once: bool = False,
    first: str = "",
    last: str = "",
    cut: int = 0,
) -> bytes | None:
    """Change a text as a row of ``variations.toml`` says."""
    text = data.decode("latin1") if all is None else all
    if old:
        text = text.replace(old, new, 1 if once else -1)
    return None if none else f"{first}{text[: len(text) - cut]}{last}".encode("latin1")


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
    for field, value in dice.choice(CHOICES["file_names"]).items():
        setattr(made, field, value)


@vary
def dist_info_name(dice: random.Random, made: Draft) -> None:
    made.dist_info = dice.choice(
        CHOICES["dist_info"]
    )  # fmt: skip
    if dice.random() < 0.5:
        made.data = made.dist_info.removesuffix(".dist-info") + ".data"


@vary
def second_dist_info(dice: random.Random, made: Draft) -> None:
    folder = dice.choice(
        CHOICES["second_dist_info"]
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
    made.metadata = changed(made.metadata or b"", **dice.choice(CHOICES["metadata"]))


@vary
def wheel_file(dice: random.Random, made: Draft) -> None:
    made.wheel = changed(made.wheel or b"", **dice.choice(CHOICES["wheel"]))


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


SPECIAL: dict[str, Callable[[bytes], bytes]] = {
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "a long name": lambda data: data + b"x" * 140_000 + b",,\n",
    "upper case": bytes.upper,
}


@vary
def record_text(dice: random.Random, made: Draft) -> None:
    how = dice.choice(CHOICES["record"])
    made.record = SPECIAL.get(how.get("special", ""), lambda data: changed(data, **how))


@vary
def root_is_platlib(dice: random.Random, made: Draft) -> None:
    if made.wheel is not None:
        made.wheel = made.wheel.replace(b"true", b"false")
    if dice.random() < 0.5:
        put(dice, made, Entry(f"{made.data}/{dice.choice(('purelib', 'platlib'))}/pkg/lib.dll", b"MZ scheme"))

"""What a wheel says about itself, and whether its places agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.archive.byhand import DIST_INFO, Entry, build_zip, wheel_entries, write_wheel_by_hand
from wheelfix.archive.metadata import WHEEL_KINDS, WheelInfo, parse_headers
from wheelfix.archive.names import FileName
from wheelfix.archive.reader import Archive
from wheelfix.errors import InputError
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "torch-2.7.1-cp311-cp311-win_amd64.whl",
            FileName("torch", "2.7.1", "", ("cp311-cp311-win_amd64",)),
        ),
        (
            "mkl-2025.3.0-py2.py3-none-win_amd64.whl",
            FileName("mkl", "2025.3.0", "", ("py2-none-win_amd64", "py3-none-win_amd64")),
        ),
        ("a_b-1.0+cu118-2abc-py3-none-any.whl", FileName("a_b", "1.0+cu118", "2abc", ("py3-none-any",))),
        ("PKG-1-PY3-none-any.WHL", FileName("PKG", "1", "", ("PY3-none-any",))),
    ],
)
def test_file_names(name: str, expected: FileName) -> None:
    assert FileName.parse(Path("folder") / name) == expected


@pytest.mark.parametrize("name", ["torch.whl", "torch-2.7.1.whl", "torch-2.7.1-cp311-cp311.whl", "a-b-c-d-e-f-g.whl",
                                  "a-1-x-py3-none-any.whl", "torch-2.7.1-cp311-cp311-win_amd64 (1).whl",
                                  "torch-2.7.1-cp311-cp311-win_amd64.zip"])  # fmt: skip
def test_names_that_are_no_wheels(name: str) -> None:
    with pytest.raises(InputError, match="has no wheel name"):
        FileName.parse(Path(name))


def _info(path: Path) -> WheelInfo:
    with Archive.open(path) as archive:
        return WheelInfo.from_archive(archive)


def test_a_plain_wheel(tmp_path: Path) -> None:
    info = _info(write_wheel_by_hand(tmp_path))
    assert (info.name, info.version, info.build, info.tags) == ("pkg", "1.0", "", ("py3-none-any",))
    assert (info.dist_info, info.data, info.prefix) == (DIST_INFO, "pkg-1.0.data", "")
    assert (info.metadata.name, info.metadata.version) == ("pkg", "1.0")
    assert info.headers["generator"] == ("hand",)
    assert info.faults == ()


def _with(change: Callable[[list[Entry]], None], name: str = "pkg-1.0-py3-none-any.whl") -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        entries = wheel_entries()
        change(entries)
        path = folder / name
        path.write_bytes(build_zip(entries))
        return path

    return build


def _edit(name: str, old: bytes, new: bytes) -> Callable[[Path], Path]:
    def change(entries: list[Entry]) -> None:
        for entry in entries:
            if entry.name == f"{DIST_INFO}/{name}":
                entry.data = entry.data.replace(old, new)

    return _with(change)


def _without(name: str) -> Callable[[Path], Path]:
    def change(entries: list[Entry]) -> None:
        entries[:] = [entry for entry in entries if entry.name != f"{DIST_INFO}/{name}"]

    return _with(change)


def _nothing(_: list[Entry]) -> None:
    pass


@pytest.mark.parametrize(
    ("build", "kinds"),
    [
        (_without("METADATA"), ["metadata-missing"]),
        (_without("WHEEL"), ["wheel-file-missing"]),
        (_edit("METADATA", b"Name: pkg", b"Name: other"), ["name-mismatch"]),
        (_edit("METADATA", b"Name: pkg", b"Name: PkG"), []),
        (_edit("METADATA", b"Version: 1.0", b"Version: 1.1"), ["name-mismatch"]),
        (_edit("METADATA", b"Version: 1.0", b"Version: 1.0.0"), []),
        (_edit("METADATA", b"Version: 1.0", b"Version: nonsense"), ["name-mismatch"]),
        (_edit("WHEEL", b"Tag: py3-none-any", b"Tag: py3-none-win_amd64"), ["tag-mismatch"]),
        (_edit("WHEEL", b"Tag: py3-none-any", b"Tag: py2.py3-none-any"), ["tag-mismatch"]),
        (_edit("WHEEL", b"Tag: py3-none-any\n", b""), ["tag-mismatch"]),
        (_edit("WHEEL", b"Wheel-Version: 1.0", b"Wheel-Version: 2.0"), ["wheel-version"]),
        (_edit("WHEEL", b"Wheel-Version: 1.0", b"Wheel-Version: 1.9"), []),
        (_with(_nothing, "pkg-1.0-7-py3-none-any.whl"), ["tag-mismatch"]),
        (_with(_nothing, "other-1.0-py3-none-any.whl"), ["name-mismatch", "name-mismatch"]),
        (_with(lambda entries: entries.append(entries.pop(0))), ["dist-info-not-last"]),
        (_with(lambda entries: entries.append(Entry("q-1.dist-info/METADATA"))),
         ["several-dist-info", "dist-info-not-last"]),
        (_edit("METADATA", b"Metadata-Version: 2.1", b"Metadata-Version: 2.4\nLicense-File: LICENSE"),
         ["license-file-missing"]),
        (_edit("METADATA", b"Metadata-Version: 2.1", b"Metadata-Version: 2.1\nLicense-File: LICENSE"), []),
    ],
    ids=["no-metadata", "no-wheel", "name", "name-case", "version", "version-zeros", "version-nonsense", "tag",
         "more-tags", "no-tag", "wheel-2", "wheel-1.9", "build", "file-name", "not-last", "several", "license",
         "license-before-2.4"],
)  # fmt: skip
def test_places_that_disagree(tmp_path: Path, build: Callable[[Path], Path], kinds: list[str]) -> None:
    info = _info(build(tmp_path))
    assert [fault.kind for fault in info.faults] == kinds
    assert set(kinds) <= WHEEL_KINDS.keys()


def test_damaged_metadata_is_a_fault_not_an_error(tmp_path: Path) -> None:
    def change(entries: list[Entry]) -> None:
        entries[1].both = {"crc": 1}

    info = _info(_with(change)(tmp_path))
    (fault,) = info.faults
    assert fault.kind == "metadata-missing"
    assert "CRC" in fault.message


@pytest.mark.parametrize("prefix", ["deep/", "deep/deeper/", "pkg-1.0/"])
def test_everything_too_deep(tmp_path: Path, prefix: str) -> None:
    """7-Zip on the unpacked folder, instead of on what is in it."""
    path = tmp_path / "pkg-1.0-py3-none-any.whl"
    entries = [Entry(prefix.encode() + entry.raw_name, entry.data) for entry in wheel_entries()]
    path.write_bytes(build_zip([Entry(prefix, method=0), *entries]))
    info = _info(path)
    assert info.prefix == prefix
    assert info.dist_info == DIST_INFO
    assert info.metadata.name == "pkg"
    assert [fault.kind for fault in info.faults] == ["too-deep"]


def test_a_vendored_dist_info_deeper_down_is_not_the_wheels_own(tmp_path: Path) -> None:
    path = write_wheel_by_hand(tmp_path, [Entry("pkg/_vendor/q-1.dist-info/METADATA", b"Name: q\n")])
    info = _info(path)
    assert (info.prefix, info.dist_info, info.faults) == ("", DIST_INFO, ())


def test_no_dist_info_is_no_wheel(tmp_path: Path) -> None:
    path = tmp_path / "pkg-1.0-py3-none-any.whl"
    for entries in ([], [Entry("pkg/__init__.py", b"")], [Entry("a/x.py"), Entry("b/q-1.dist-info/METADATA")]):
        path.write_bytes(build_zip(entries))
        with pytest.raises(InputError, match="is not a wheel"):
            _info(path)


def test_headers() -> None:
    text = (
        "Name: x\r\nRequires-Dist: a\nrequires-dist: b ; extra == 'q'\nLong: one\n  two\n\tthree\nno colon\n\nBody: y\n"
    )
    assert parse_headers(text) == {
        "name": ("x",),
        "requires-dist": ("a", "b ; extra == 'q'"),
        "long": ("one\ntwo\nthree",),
    }
    assert parse_headers("") == {}
    assert parse_headers(" starts: indented\n") == {}


def test_canonical_names() -> None:
    assert canonical("Foo__Bar.-baz") == "foo-bar-baz"

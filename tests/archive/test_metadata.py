"""What a wheel says about itself, and whether its places agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.archive.byhand import DIST_INFO, WHEEL_NAME, Entry, build_zip, wheel_entries, write_wheel_by_hand
from tests.support.tables import named_cases, read_table
from tests.support.wheels import build_wheel, folder_of
from tools.forge import forge_dll
from wheelfix.archive.metadata import WheelInfo, parse_headers, requirement_faults
from wheelfix.archive.names import FileName, name_parts, other_system, without_variant
from wheelfix.archive.reader import Archive
from wheelfix.errors import Exit, InputError
from wheelfix.exam.verify import verify
from wheelfix.plan.make import output_name


@pytest.mark.parametrize(
    "name, expected",
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
    ],
)
def test_file_names(name, expected):
    assert FileName.parse(Path("folder") / name) == expected


@pytest.mark.parametrize("name", ["torch.whl", "torch-2.7.1.whl", "torch-2.7.1-cp311-cp311.whl", "a-b-c-d-e-f-g.whl",
                                  "a-1-x-py3-none-any.whl", "torch-2.7.1-cp311-cp311-win_amd64 (1).whl"])  # fmt: skip
def test_names_that_are_no_wheels(name):
    with pytest.raises(InputError, match="has no wheel name"):
        FileName.parse(Path(name))


@pytest.mark.parametrize("name", ["torch-2.7.1-cp311-cp311-win_amd64.zip", "a-1-py3.8.egg", "a-1-py311_0.conda"])
def test_other_archives_are_not_asked_for_the_name_of_a_wheel(name):
    with pytest.raises(InputError, match="is not a wheel") as raised:
        FileName.parse(Path(name))
    assert raised.value.hint == "give the wheel itself: eggs, conda packages and source archives are not scanned"


def _info(path: Path) -> WheelInfo:
    with Archive.open(path) as archive:
        return WheelInfo.from_archive(archive)


def _with(change: Callable[[list[Entry]], None]) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        entries = wheel_entries()
        change(entries)
        path = folder / WHEEL_NAME
        path.write_bytes(build_zip(entries))
        return path

    return build


@named_cases("row", read_table(__file__, "metadata.toml"))
def test_places_that_disagree(tmp_path, row):
    entries = [entry for entry in wheel_entries() if entry.name != f"{DIST_INFO}/{row.get('without')}"]
    for entry in entries:
        if entry.name == f"{DIST_INFO}/{row.get('file')}":
            entry.data = entry.data.replace(row["old"].encode(), row["new"].encode())
    path = tmp_path / row.get("name", WHEEL_NAME)
    path.write_bytes(build_zip(entries))
    assert [fault.kind for fault in _info(path).faults] == row["kinds"]


@named_cases(
    "change, kinds",
    {
        "not-last": (lambda entries: entries.append(entries.pop(0)), ["dist-info-not-last"]),
        "several": (
            lambda entries: entries.append(Entry("q-1.dist-info/METADATA")),
            ["several-dist-info", "dist-info-not-last"],
        ),
    },
)
def test_where_dist_info_is(tmp_path, change, kinds):
    assert [fault.kind for fault in _info(_with(change)(tmp_path)).faults] == kinds


def test_damaged_metadata_is_a_fault_not_an_error(tmp_path):
    def change(entries: list[Entry]) -> None:
        entries[1].both = {"crc": 1}

    info = _info(_with(change)(tmp_path))
    (fault,) = info.faults
    assert fault.kind == "metadata-missing"
    assert "CRC" in fault.message


@pytest.mark.parametrize("prefix", ["deep/deeper/", "pkg-1.0/"])
def test_everything_too_deep(tmp_path, prefix):
    """7-Zip on the unpacked folder, instead of on what is in it."""
    path = tmp_path / "pkg-1.0-py3-none-any.whl"
    entries = [Entry(prefix.encode() + entry.raw_name, entry.data) for entry in wheel_entries()]
    path.write_bytes(build_zip([Entry(prefix, method=0), *entries]))
    info = _info(path)
    assert info.prefix == prefix
    assert info.dist_info == DIST_INFO
    assert info.metadata.name == "pkg"
    assert [fault.kind for fault in info.faults] == ["too-deep"]


def test_a_vendored_dist_info_deeper_down_is_not_the_wheels_own(tmp_path):
    path = write_wheel_by_hand(tmp_path, [Entry("pkg/_vendor/q-1.dist-info/METADATA", b"Name: q\n")])
    info = _info(path)
    assert (info.prefix, info.dist_info, info.faults) == ("", DIST_INFO, ())


def test_no_dist_info_is_no_wheel(tmp_path):
    path = tmp_path / "pkg-1.0-py3-none-any.whl"
    for entries in ([], [Entry("pkg/__init__.py", b"")], [Entry("a/x.py"), Entry("b/q-1.dist-info/METADATA")]):
        path.write_bytes(build_zip(entries))
        with pytest.raises(InputError, match="is not a wheel"):
            _info(path)


def test_headers():
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


# ------------------------------------------------------------------------------------------------------- metadata_lines
# Which lines of METADATA belong to the header.


LICENSE = (
    "Name: pandas\nLicense: BSD\n        All rights reserved.\n{gap}\n        Redistribution\nRequires-Dist: numpy\n"
)


@named_cases(
    "text, numpy",
    {
        "blanks-continue-the-license": (LICENSE.format(gap="        "), ("numpy",)),
        "a-form-feed-ends-no-line": (LICENSE.format(gap="        \x0c page 2"), ("numpy",)),
        "an-empty-line-ends-the-header": (LICENSE.format(gap=""), None),
    },
)
def test_lines_of_blanks_continue_a_field(text, numpy):
    """pandas 2.0.3 lost every Requires-Dist to a line of eight blanks within its license."""
    assert parse_headers(text).get("requires-dist") == numpy


# -------------------------------------------------------------------------------------------------------- metadatacheck
# Requirements in METADATA are judged as ``packaging`` judges them, also those that are recognised without it.


REQUIREMENTS = [
    "zope.event",
    "numpy>=1.2,<2",
    "numpy (>=1.2, <2)",
    "validate-pyproject[all] ; extra == 'dev'",
    'coverage[toml, x_y]; extra == "test"',
    'wmi ; (os_name == "nt" and implementation_name != "pypy") and extra == \'dev\'',
    "x ; python_version < '3.11' or extra == 'a'",
    "x==1.*",
    # what packaging refuses, or reads only in part
    "x>=1.*",
    "x~=1",
    "x >=1 <2",
    "x >=1,",
    "x (>=1",
    "x[]",
    "x[a,]",
    "x[a b]",
    "x >= ١",
    f"x >={'9' * 5000}",
    "x ; (extra == 'a'",
    "x ; extra = 'a'",
    "-x",
    "",
]


PYTHONS = ["", ">=3.8,<4", ">=3.8, !=3.9.*", ">=3.8,", ">=3.8 <4", ">=3.8.*", "~=3", "==3.*"]


@named_cases(
    "field, reader, lines",
    {"requirement": ("requires-dist", Requirement, REQUIREMENTS), "Python": ("requires-python", SpecifierSet, PYTHONS)},
)
def test_what_packaging_cannot_read_is_refused(field, reader, lines):
    for line in lines:
        try:
            readable = reader(line) is not None
        except ValueError:
            readable = False
        assert bool([*requirement_faults({field: (line,)}, "METADATA")]) is not readable, line[:40]


# ------------------------------------------------------------------------------------------------------------- variants
# Wheel variants (PEP 825): their file names, their description, and that every command takes them as wheels.


TAGS = ("cp313-cp313-win_amd64",)


@pytest.mark.parametrize(
    "name, build, tags, variant",
    [
        ("numpy-2.3.2-1-cp313-cp313-win_amd64-x86_64_v3.whl", "1", TAGS, "x86_64_v3"),
        ("torch-2.9-cp313-cp313-win_amd64-cu12.8.whl", "", TAGS, "cu12.8"),
        ("pkg-1.0-1-py3-none-any.whl", "1", ("py3-none-any",), ""),
    ],
)
def test_file_names_of_variants(name, build, tags, variant):
    found = FileName.parse(Path(name))
    assert (found.build, found.tags, found.variant) == (build, tags, variant)


@pytest.mark.parametrize(
    "name",
    [
        "pkg-1.0-py3-none-any-UPPER.whl",
        "pkg-1.0-py3-none-any-.whl",
        "pkg-1.0-1-2-py3-none-any.whl",
    ],
)
def test_what_is_no_label(name):
    with pytest.raises(InputError):
        FileName.parse(Path(name))
    assert name_parts(name) == {}


def test_names_made_of_names():
    name = "numpy-2.3.2-cp313-cp313-win_amd64-x86_64_v3.whl"
    assert without_variant(name) == "numpy-2.3.2-cp313-cp313-win_amd64.whl"
    assert without_variant(without_variant(name)) == without_variant(name)
    assert output_name(name, "7") == "numpy-2.3.2-7-cp313-cp313-win_amd64-x86_64_v3.whl"
    assert other_system(name) == ""
    assert other_system("numpy-2.3.2-cp313-cp313-linux_x86_64-x86_64_v3.whl") == "linux_x86_64"


def variant_wheel(folder: Path, description: str | None, imports: dict[str, list[str]] | None = None) -> Path:
    """A wheel with the label ``v3`` and this ``variant.json``."""
    files = {
        "pkg/__init__.py": "",
        "pkg/_m.cp311-win_amd64.pyd": forge_dll("_m.pyd", exports=["PyInit__m"], imports=imports or {}),
    }
    if description is not None:
        files["pkg-1.0.dist-info/variant.json"] = description
    made = build_wheel(folder / "dist", files=files)
    return made.rename(made.with_name(f"{made.name.removesuffix('.whl')}-v3.whl"))


DOCUMENT = {
    "$schema": "https://variants-schema.wheelnext.dev/v0.0.3.json",
    "default-priorities": {"namespace": ["x86_64"]},
    "variants": {"v3": {"x86_64": {"level": ["v3"]}}},
}
GOOD = json.dumps(DOCUMENT)


@pytest.mark.parametrize(
    "description, expected",
    [
        (GOOD, ["WF129"]),
        (None, ["WF129", "WF131"]),
        ("{", ["WF129", "WF131"]),
        (json.dumps({**DOCUMENT, "variants": {"v4": {}}}), ["WF129", "WF131"]),
        (json.dumps({**DOCUMENT, "variants": {"v3": {}, "v4": {}}}), ["WF129", "WF131"]),
        (json.dumps({"variants": DOCUMENT["variants"]}), ["WF129", "WF131"]),
    ],
)
def test_the_description(tmp_path, description, expected):
    found = verify(variant_wheel(tmp_path, description)).findings
    assert sorted(finding.code for finding in found) == expected


def test_a_variant_is_scanned_and_repaired_like_any_wheel(tmp_path, run):
    wheel = variant_wheel(tmp_path, GOOD, {"outer.dll": ["f"]})
    run("scan", wheel, "--no-discover", "-q", code=Exit.FINDINGS)
    root = folder_of(tmp_path / "root", "outer.dll")
    lock = tmp_path / "lock.json"
    for layout in ("libs", "beside"):
        out = tmp_path / layout
        words = ["repair", str(wheel), "--no-discover", "--root", str(root), "--layout", layout, "-w", str(out), "-q"]
        run(*words, "--lock", lock, "--build-tag", "3")
        made = out / "pkg-1.0-3-cp311-cp311-win_amd64-v3.whl"
        run("scan", made, "--no-discover", "-q")
        assert [finding.code for finding in verify(made).findings] == ["WF129"]
        run("repair", "--locked", lock, "-w", tmp_path / "again", "-q")

"""What delvewheel makes depends on nothing but the wheel and the DLLs, and tells nothing of this machine."""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from pathlib import Path

import pytest

from tests.support.environments import lay
from tests.support.repairs import contents, hermetic, repaired
from tests.support.signing import signed, trust
from tests.support.wheels import EPOCH, build_wheel, extension, folder_of, library, needing
from wheelfix.cli.main import main
from wheelfix.errors import Exit
from wheelfix.pe.signature import read_signature
from wheelfix.repairs import mangled
from wheelfix.repairs.mangled import run_delvewheel
from wheelfix.streams.source import MemorySource

OUTER = library("outer.dll", "inner.dll:g")
INNER = library("inner.dll:g")


@pytest.mark.slow
def test_renamed_dlls_leave_no_trace_of_time_and_place(tmp_path, monkeypatch):
    """delvewheel writes its command line and the time of day into the wheel, unless SOURCE_DATE_EPOCH is set."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    wheel, root = needing(tmp_path / "dist", "frobnicate.dll"), folder_of(tmp_path / "root", "frobnicate.dll")
    result = repaired(wheel, root, layout="libs")
    assert result.output is not None
    with zipfile.ZipFile(result.output) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {EPOCH}
        for name in archive.namelist():
            data = archive.read(name)
            assert str(tmp_path).encode() not in data, name
            assert tempfile.gettempdir().encode() + b"/wheelfix" not in data, name


def test_a_signature_that_renaming_removes_is_not_claimed(tmp_path):
    """delvewheel changes a DLL that imports another renamed one, and removes its signature; the plan and the bill of
    materials used to go on naming the signer. Before 1.13.1 it did not find a file with capital letters on Linux.
    """
    wheel = needing(tmp_path / "dist", "outer.dll", module="_C")
    root = lay(tmp_path / "root", {"outer.dll": signed(OUTER), "inner.dll": signed(INNER)})
    trusted = trust(tmp_path)
    result = repaired(wheel, scan=hermetic(root, trusted_roots=trusted), layout="libs")
    answers, made = {addition.name: addition.signature for addition in result.plan.additions}, contents(result)
    for addition in result.plan.additions:
        assert addition.signature == str(read_signature(MemorySource(made[addition.target]), trusted))
    assert answers["inner.dll"] == "trusted: Some Vendor"
    assert answers["outer.dll"] != "trusted: Some Vendor"


MODULE = extension("outer.dll", name="ext")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return lay(tmp_path / "root", {"outer.dll": OUTER, "inner.dll": INNER})


def wheel_of(folder: Path, files: dict[str, bytes | str] | None = None) -> Path:
    return build_wheel(folder / "dist", files=files or {"pkg/__init__.py": "", "pkg/ext.cp311-win_amd64.pyd": MODULE})


def repair(wheel: Path, root: Path, *words: str, code: int = Exit.OK) -> Path:
    out = wheel.parent.parent / "out"
    assert main(["repair", str(wheel), "--root", str(root), "--no-discover", "-q", "-w", str(out), *words]) == code
    return out / wheel.name


def dlls(path: Path) -> set[str]:
    """The DLLs, with ``*`` for the hash in a changed name; and the wheel is one that loads."""
    assert main(["scan", str(path), "--no-discover", "-q", "--fail-on", "error"]) == Exit.OK
    return {re.sub("-[0-9a-f]{32}", "-*", name) for name in contents(path) if name.endswith(".dll")}


def text(path: Path, member: str) -> str:
    return contents(path)[member].decode()


CASES = {
    "as it is": ([], {"pkg.libs/outer-*.dll", "pkg.libs/inner-*.dll"}),
    "no-mangle": (["--no-mangle", "INNER.dll"], {"pkg.libs/outer-*.dll", "pkg.libs/inner.dll"}),
    "no-mangle with a pattern": (["--no-mangle", "in*.dll,x.dll"], {"pkg.libs/outer-*.dll", "pkg.libs/inner.dll"}),
    "no-mangle-all": (["--no-mangle-all"], {"pkg.libs/outer.dll", "pkg.libs/inner.dll"}),
    "lib-sdir": (["-L", ".dlls"], {"pkg.dlls/outer-*.dll", "pkg.dlls/inner-*.dll"}),
}


@pytest.mark.parametrize("name", CASES)
def test_names_and_folder(name, tmp_path, root):
    words, expected = CASES[name]
    assert dlls(repair(wheel_of(tmp_path), root, *words)) == expected


@pytest.mark.usefixtures("started_delvewheel")
def test_the_bill_of_materials_and_json_have_the_real_places(tmp_path, root, capsys):
    made = repair(wheel_of(tmp_path), root, "-L", ".dlls", "--no-mangle", "inner.dll", "--format", "json")
    document = json.loads(capsys.readouterr().out)
    plan = document["wheels"][0]["plan"]
    names = contents(made).keys()
    assert {addition["target"] for addition in plan["additions"]} <= names
    assert plan["renaming"]["lib_sdir"] == ".dlls"
    bom = json.loads(text(made, "pkg-1.0.dist-info/sboms/wheelfix.cdx.json"))
    paths = {item["value"] for part in bom["components"] for item in part["properties"] if "path" in item["name"]}
    assert paths <= names


def test_custom_patch(tmp_path, root, capsys):
    files = {
        "pkg/__init__.py": "",
        "pkg/inner/__init__.py": "import sys\n# delvewheel: patch\nfrom . import ext\n",
        "pkg/inner/ext.cp311-win_amd64.pyd": MODULE,
    }
    made = repair(wheel_of(tmp_path, files), root, "--custom-patch")
    assert dlls(made) == {"pkg.libs/outer-*.dll", "pkg.libs/inner-*.dll"}
    assert "delvewheel" not in text(made, "pkg/__init__.py")
    assert "add_dll_directory" in text(made, "pkg/inner/__init__.py")


def test_custom_patch_without_a_place_for_it(tmp_path, root, capsys):
    for more in ([], ["--dry-run"]):
        repair(wheel_of(tmp_path), root, "--custom-patch", *more, code=Exit.USAGE)
        assert "has the comment '# delvewheel: patch'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_namespace_package(tmp_path, root, capsys):
    """With the option the namespace gets no code; without it the namespace would become an ordinary package."""
    files = {"space/part/__init__.py": "", "space/part/ext.cp311-win_amd64.pyd": MODULE}
    made = repair(wheel_of(tmp_path, files), root, "--namespace-pkg", "space")
    assert dlls(made) == {"pkg.libs/outer-*.dll", "pkg.libs/inner-*.dll"}
    assert "space/__init__.py" not in contents(made)
    assert "add_dll_directory" in text(made, "space/part/__init__.py")
    repair(wheel_of(tmp_path, files), root, "--namespace-pkg", "space.other", code=Exit.USAGE)
    assert "the wheel has no such package" in capsys.readouterr().err


def test_the_order_of_the_file_system_does_not_show(tmp_path, root, monkeypatch):
    """delvewheel writes files as its folder lists them: on a tmpfs a lock gave other bytes each time."""
    made = run_delvewheel

    def reversed_wheel(*arguments, **more):
        path = made(*arguments, **more)
        with zipfile.ZipFile(path) as archive:
            members = [(info, archive.read(info)) for info in archive.infolist()]
        with zipfile.ZipFile(path, "w") as archive:
            for info, data in reversed(members):
                rows = b"".join(reversed(data.splitlines(keepends=True)))
                archive.writestr(info, rows if info.filename.endswith("/RECORD") else data)
        return path

    first = repair(wheel_of(tmp_path), root).read_bytes()
    monkeypatch.setattr(mangled, "run_delvewheel", reversed_wheel)
    assert repair(wheel_of(tmp_path), root).read_bytes() == first


def test_a_lock_repeats_it(tmp_path, root, run):
    lock = tmp_path / "plan.json"
    first = repair(wheel_of(tmp_path), root, "-L", ".dlls", "--no-mangle-all", "--lock", str(lock)).read_bytes()
    run("repair", "--locked", lock, "-w", tmp_path / "again", "-q")
    again = tmp_path / "again" / "pkg-1.0-cp311-cp311-win_amd64.whl"
    assert again.read_bytes() == first


def test_a_lock_cannot_pass_other_options_to_delvewheel(tmp_path, root, run):
    lock = tmp_path / "plan.json"
    repair(wheel_of(tmp_path), root, "--lock", str(lock))
    document = json.loads(lock.read_text())
    document["plans"][0]["renaming"]["lib_sdir"] = "/../../evil"
    lock.write_text(json.dumps(document))
    assert "--lib-sdir" in run("repair", "--locked", lock, "-w", tmp_path / "again", code=Exit.BAD_INPUT).err


def test_an_option_that_is_not_used_is_mentioned(tmp_path, run):
    wheel = needing(tmp_path / "dist", "KERNEL32.dll:Sleep")
    assert (
        "--no-mangle-all: not used"
        in run("repair", wheel, "--no-discover", "-w", tmp_path / "out", "--no-mangle-all").out
    )


REFUSED = {
    "a folder as suffix": ["-L", "a/b"],
    "no suffix": ["--lib-sdir", ""],
    "dist-info": ["-L", ".dist-info"],
    "a path as name": ["--no-mangle", "a\\b.dll"],
    "no package": ["--namespace-pkg", "a..b"],
    "both places": ["--namespace-pkg", "pkg", "--custom-patch"],
    "another layout": ["--no-mangle-all", "--layout", "beside"],
    "a folder of one's own": ["--no-mangle-all", "--dest", "pkg"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense(name, tmp_path, root):
    repair(wheel_of(tmp_path), root, *REFUSED[name], code=Exit.USAGE)
    assert not (tmp_path / "out").exists()

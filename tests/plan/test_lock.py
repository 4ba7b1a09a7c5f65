"""A lock lets in what it pins, byte for byte, and nothing else; one that a stranger wrote gets no further."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.signing import Recipe, identity, signed, trust
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel, library
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.errors import CannotRepair, EnvironmentFailure, Exit, InputError, UsageError
from wheelfix.plan.lock import read_lock, write_lock
from wheelfix.plan.model import Addition, ArchiveFix, Drop, Plan, Rejected, Remaining, Source, WheelRef, plan_from_json
from wheelfix.repairs.repair import repair_wheel, replay

PLAN = Plan(
    wheel=WheelRef("dist/a-1-py3-none-any.whl", "a", "1", 10, "00"),
    output="a-1-py3-none-any.whl",
    layout="beside",
    additions=(
        Addition(
            target="a/x.dll",
            name="x.dll",
            kind="import",
            source=Source("file", "/roots/x.dll", root="/roots", origin="folder"),
            size=3,
            sha256="ab",
            version="1.0",
            because="imported by y.dll",
            serves=("a/y.dll",),
            chosen="the only one",
            rejected=(Rejected("/other/x.dll", "it is for x86"),),
        ),
    ),
    drops=(Drop("a/t.dll", "asked for"),),
    mends=(ArchiveFix("WF102", "a/z.py", "the row has no member"),),
    remaining=(Remaining("q.dll", False, ("a/y.dll",), "optional"),),
)


def test_a_plan_survives_json():
    assert plan_from_json(json.loads(json.dumps(PLAN.to_json())), "plan.json") == PLAN


@named_cases(
    "change, complaint",
    {
        "schema": (lambda tree: tree.pop("schema"), "schema"),
        "unknown": (lambda tree: tree.update(extra=1), "unknown field extra"),
        "incomplete": (lambda tree: tree.pop("output"), "output"),
        "object": (lambda tree: tree["additions"].append(3), "additions[1] should be an object"),
        "list": (lambda tree: tree.update(additions={}), "additions should be a list"),
        "number": (lambda tree: tree["wheel"].update(size="10"), "wheel.size should be a number"),
        "bool-is-no-number": (lambda tree: tree["wheel"].update(size=True), "wheel.size should be a number"),
    },
)
def test_what_does_not_fit_is_named(change, complaint):
    tree = json.loads(json.dumps(PLAN.to_json()))
    change(tree)
    with pytest.raises(InputError) as caught:
        plan_from_json(tree, "plan.json")
    assert complaint in str(caught.value)


@pytest.mark.parametrize("tree", [None, []])
def test_no_object_is_no_plan(tree):
    with pytest.raises(InputError, match="not a plan"):
        plan_from_json(tree, "plan.json")


if TYPE_CHECKING:
    from collections.abc import Callable

    Edit = Callable[[dict[str, Any]], object]

PLAIN = library("libiomp5md.dll:omp_get_num_threads")


class Bench:
    """A wheel that lacks a DLL, a root that has it, and the lock of its repair."""

    def __init__(
        self,
        folder: Path,
        *,
        dll: str = "libiomp5md.dll",
        data: bytes = PLAIN,
        files: dict[str, bytes] | None = None,
        **more: Any,
    ) -> None:
        self.folder = folder
        own = {
            "pkg/__init__.py": "",
            "pkg/ext.cp311-win_amd64.pyd": f"imports {dll}:omp_get_num_threads",
            **(files or {}),
        }
        self.wheel = build_wheel(folder / "dist", files=own, stored=True)
        self.root = folder / "root"
        self.root.mkdir()
        self.dll = self.root / dll
        self.dll.write_bytes(data)
        scan = ScanOptions(roots=RootOptions(roots=(self.root,), discover=False), jobs=1)
        self.options = RepairOptions(wheel_dir=folder / "out", seal=True, scan=scan, **more)
        result = repair_wheel(self.wheel, self.options)
        self.made = result.output.read_bytes()
        self.lock = folder / "lock.json"
        write_lock([result.plan], self.lock)

    def change(self, edit: Edit) -> None:
        """Edit the plan in the lock file."""
        document = json.loads(self.lock.read_text(encoding="utf-8"))
        edit(document["plans"][0])
        self.lock.write_text(json.dumps(document), encoding="utf-8")

    def replay(self, **more: Any) -> bytes:
        """Carry the lock out, with the options of somebody who knows nothing of those it was made with."""
        more.setdefault("scan", ScanOptions(roots=RootOptions(discover=False), jobs=1))
        (plan,) = read_lock(self.lock)
        made = replay(plan, RepairOptions(wheel_dir=self.folder / "again", **more), str(self.lock)).output
        return made.read_bytes()

    @property
    def written(self) -> list[str]:
        again = self.folder / "again"
        return sorted(path.name for path in again.iterdir()) if again.exists() else []


@named_cases(
    "how",
    {
        "beside": {},
        "renamed": {"dll": "frobnicate.dll", "layout": "libs"},
        "other-compression": {"compression": "9", "compressor": "zlib"},
        "stored": {"compression": "store"},
        "build-tag": {"build_tag": "7"},
    },
)
def test_the_same_bytes_come_out(tmp_path, how):
    """A plan with renamed DLLs used to be carried out without renaming, and the wheel did not load."""
    bench = Bench(tmp_path, **how)
    assert bench.replay() == bench.made


@named_cases(
    "made, said",
    {
        "copied": ({}, "is not the file that was planned"),
        "renamed": ({"dll": "frobnicate.dll", "layout": "libs"}, "changed since it was planned"),
    },
)
def test_another_source_is_refused(tmp_path, made, said):
    bench = Bench(tmp_path, **made)
    bench.dll.write_bytes(PLAIN[:-1] + b"!")
    with pytest.raises(EnvironmentFailure, match=said):
        bench.replay()
    assert bench.written == []


def test_a_wheel_with_other_bytes_under_the_same_directory_is_refused(tmp_path):
    bench = Bench(tmp_path)
    data = bytearray(bench.wheel.read_bytes())
    with zipfile.ZipFile(bench.wheel) as archive:
        entry = archive.getinfo("pkg/ext.cp311-win_amd64.pyd")
    data[entry.header_offset + 30 + len(entry.filename) + 700] ^= 1
    bench.wheel.write_bytes(data)
    with pytest.raises(InputError, match="its bytes differ"):
        bench.replay()
    assert bench.written == []


def test_a_trusted_wheel_is_known_by_its_directory(tmp_path):
    bench = Bench(tmp_path)
    assert bench.replay(trust_record=True) == bench.made
    bench.wheel.write_bytes(bench.wheel.read_bytes().replace(b"pkg/__init__.py", b"pkg/__INIT__.py"))
    with pytest.raises(InputError, match="its size or its directory differs"):
        bench.replay(trust_record=True)


def test_a_lock_of_before_headers_were_noted_still_works(tmp_path):
    bench = Bench(tmp_path)
    bench.change(lambda plan: plan["wheel"].pop("plain"))
    assert bench.replay() == bench.made


@pytest.mark.parametrize("hidden", [b"", b"bytes before the archive"])
def test_a_plan_says_whether_the_archive_is_irregular(tmp_path, hidden):
    bench = Bench(tmp_path)
    bench.wheel.write_bytes(hidden + bench.wheel.read_bytes())
    assert repair_wheel(bench.wheel, bench.options).plan.wheel.plain is not bool(hidden)


def test_headers_that_a_lock_calls_plain_are_looked_at_all_the_same(tmp_path):
    bench = Bench(tmp_path)
    data = bytearray(bench.wheel.read_bytes())
    data[14] ^= 1  # the CRC in the first header
    bench.wheel.write_bytes(data)
    assert bench.replay(trust_record=True) == bench.made


def test_a_lock_cannot_call_a_shuffled_archive_plain(tmp_path):
    """The directory names the members in another order than they lie in the file."""
    bench = Bench(tmp_path)
    data = bench.wheel.read_bytes()
    with zipfile.ZipFile(bench.wheel) as archive:
        start, entries = archive.start_dir, []
        for info in archive.infolist():
            end = start + 46 + len(info.filename)
            entries.append(data[start:end])
            start = end
        shuffled = data[: archive.start_dir] + b"".join(reversed(entries)) + data[start:]
    bench.wheel.write_bytes(shuffled)
    digest = hashlib.sha256(b"".join(reversed(entries))).hexdigest()
    bench.change(lambda plan: plan["wheel"].update(directory_sha256=digest, plain=True))
    bench.replay(trust_record=True)
    made = next((tmp_path / "again").glob("*.whl"))
    with zipfile.ZipFile(made) as archive:
        assert archive.testzip() is None
        assert "pkg/libiomp5md.dll" in archive.namelist()


@pytest.fixture(scope="module")
def plain_lock(tmp_path_factory: pytest.TempPathFactory) -> str:
    return Bench(tmp_path_factory.mktemp("plain")).lock.read_text(encoding="utf-8")


def _addition(**values: object) -> Edit:
    return lambda plan: plan["additions"][0].update(values)


def _target(name: str) -> Edit:
    return _addition(target=name, name=name.rpartition("/")[2])


def _wheel(**values: object) -> Edit:
    return lambda plan: plan["wheel"].update(values)


def _dropped(path: str) -> Edit:
    return lambda plan: plan["drops"].append({"path": path, "because": "x"})


def _source(**values: object) -> Edit:
    return lambda plan: plan["additions"][0]["source"].update(values)


EDITS = {
    # Of names that lead elsewhere one is enough: tests/archive/test_names.py has the others.
    "output-above": lambda plan: plan.update(output="../../evil-1.0-py3-none-any.whl"),
    "output-no-wheel": lambda plan: plan.update(output="evil.exe"),
    "output-of-another-name": lambda plan: plan.update(output="evil-1.0-py3-none-any.whl"),
    "layout": lambda plan: plan.update(layout="sideways"),
    "no-hash": _addition(sha256=""),
    "odd-hash": _addition(sha256="0" * 63 + "G"),
    "unknown-source": _source(kind="url"),
    "renamed-without-libs": _addition(mangle=True),
    "no-hash-of-the-wheel": _wheel(sha256=""),
    "short-hash-of-a-source": _source(wheel_sha256="ab"),
    "above": _target("../evil.dll"),
    "backslash": _target("pkg\\a.dll"),
    "bidi": _target("pkg/\u202elld.dll"),
    "pth": _target("evil.pth"),
    "init": _target("pkg/__init__.py"),
    "pyd": _target("pkg/ext.cp311-win_amd64.pyd"),
    "dist-info": _target("PKG-1.0.DIST-INFO/x.dll"),
    "second-dist-info": _target("other-1.0.dist-info/x.dll"),
    "another-name": _addition(name="other.dll"),
    "metadata-dropped": _dropped("pkg-1.0.dist-info/METADATA"),
    "wheel-dropped": _dropped("PKG-1.0.dist-info\\wheel"),
}


@named_cases("edit", EDITS)
def test_a_plan_that_asks_for_anything_else_is_refused(tmp_path, plain_lock, edit):
    document = json.loads(plain_lock)
    edit(document["plans"][0])
    (tmp_path / "lock.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match="not a valid plan"):
        read_lock(tmp_path / "lock.json")


@pytest.mark.parametrize(
    "target",
    [
        "libiomp5md.dll",
        "pkg-1.0.data/data/python311.dll",
        "pkg-1.0.data/scripts/a.dll",
        "pkg-1.0.data/platlib/other/a.dll",
        "PKG/a.dll",
        "pkg/__init__.py/a.dll",
        "pkg/data/Present.dll",
    ],
)
def test_a_dll_goes_only_where_a_plan_puts_one(tmp_path, target):
    bench = Bench(tmp_path, files={"pkg/data/present.dll": PLAIN, "pkg-1.0.data/scripts/tool.exe": PLAIN})
    bench.change(_target(target))
    with pytest.raises((InputError, CannotRepair)):
        bench.replay()
    assert bench.written == []


@pytest.mark.parametrize("dest", [None, "pkg", "pkg/data", "pkg/new/folder"])
def test_what_a_plan_can_do_is_replayed(tmp_path, dest):
    bench = Bench(tmp_path, dest=dest, allow_missing=("libiomp5md.dll",), include=("libiomp5md.dll",))
    assert bench.replay() == bench.made


@pytest.mark.parametrize(
    "path",
    [
        "\\\\evil.example\\share\\x.dll",
        "//evil.example/share/x.dll",
    ],
)
@named_cases("edit", {"source": _source, "wheel": _wheel})
def test_a_share_counts_only_if_it_was_named_on_the_command_line(tmp_path, path, edit, monkeypatch):
    """Opening such a path sends the account of a Windows user to the server."""
    bench = Bench(tmp_path)
    path = path.replace("x.dll", bench.wheel.name) if edit is _wheel else path
    bench.change(edit(path=path))
    with pytest.raises(InputError, match="which is on another machine"):
        bench.replay()
    roots = RootOptions(roots=(Path(f"{path[:-6]}/other"),) if edit is _source else (Path(path),), discover=False)
    with pytest.raises((InputError, UsageError, OSError)) as caught:  # there is no such share here
        bench.replay(scan=ScanOptions(roots=roots, jobs=1))
    assert "another machine" not in str(caught.value)


def test_a_lock_works_where_everything_is_elsewhere(tmp_path, run):
    """Another machine has other folders, or another kind of root: what counts is the hash. That failed, although the
    help says "elsewhere or later".
    """
    bench = Bench(tmp_path / "here", layout="beside")
    there = tmp_path / "there"
    there.mkdir()
    bench.wheel = bench.wheel.rename(there / bench.wheel.name)
    (there / "other").mkdir()
    (there / "other" / bench.dll.name).write_bytes(PLAIN[:-1] + b"x")
    vendor = build_wheel(there / "roots", "intel-openmp", "2023.2", files={f"x/{bench.dll.name}": PLAIN})
    bench.dll.unlink()
    command = ["repair", "--locked", str(bench.lock), "--no-discover", "-w", str(there / "out"), "-q"]
    assert f"wheelfix repair --locked {bench.lock} PATH" in run(*command, code=Exit.BAD_INPUT).err
    assert "name the folder or wheel that has it with --root" in run(*command, there, code=Exit.BAD_INPUT).err
    run(*command, there, "--root", there / "other", code=Exit.BAD_INPUT)
    run(*command, there, "--root", there / "other", "--root", vendor)
    assert (there / "out" / bench.wheel.name).read_bytes() == bench.made


def test_a_wheel_that_the_lock_does_not_know_is_named(tmp_path, run):
    bench = Bench(tmp_path / "here")
    other = build_wheel(tmp_path / "other", "other", files={"other/__init__.py": ""})
    assert (
        f"has no plan for {other.name}"
        in run("repair", "--locked", bench.lock, other, "-w", tmp_path / "out", code=Exit.BAD_INPUT).err
    )


def test_what_was_given_relative_is_relative_in_the_lock(tmp_path, monkeypatch, run):
    """A checkout with its wheels and DLLs may be anywhere."""
    first, second = tmp_path / "first", tmp_path / "second"
    Bench(first, layout="beside")
    monkeypatch.chdir(first)
    wheel = next(Path("dist").glob("*.whl"))
    lock = ["--lock", "plan.json", "-w", "made", "-q", "--layout", "beside"]
    run("repair", wheel, "--root", "root", "--no-discover", *lock)
    (plan,) = read_lock(Path("plan.json"))
    assert plan.additions[0].source.path == str(Path("root/libiomp5md.dll"))
    first.rename(second)
    monkeypatch.chdir(tmp_path)
    replayed = ["repair", "--locked", "second/plan.json", "-w", "again", "--no-discover", "-q", f"second/{wheel}"]
    run(*replayed)
    assert (tmp_path / "again" / wheel.name).read_bytes() == (second / "made" / wheel.name).read_bytes()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders here")
def test_a_pipe_does_not_keep_us_waiting(tmp_path):
    bench = Bench(tmp_path)
    bench.dll.unlink()
    os.mkfifo(bench.dll)
    with pytest.raises(InputError, match=r"libiomp5md\.dll is not there"):
        bench.replay()


def test_signatures_can_be_demanded_of_a_lock(tmp_path):
    (tmp_path / "bare").mkdir()
    (tmp_path / "signed").mkdir()
    with pytest.raises(CannotRepair, match="is not signed, and --require-signed"):
        Bench(tmp_path / "bare").replay(require_signed=True)
    known = ScanOptions(roots=RootOptions(trusted_roots=trust(tmp_path)))
    bench = Bench(tmp_path / "signed", data=signed(PLAIN))
    assert bench.replay(require_signed=True, scan=known) == bench.made
    with pytest.raises(CannotRepair, match="leads to no trusted root"):
        bench.replay(require_signed=True)


def test_what_a_lock_says_about_a_signature_does_not_count(tmp_path):
    bench = Bench(tmp_path, data=signed(PLAIN, Recipe(identity("NVIDIA Corporation"))))
    (plan,) = read_lock(bench.lock)
    (addition,) = plan.additions
    claim = replace(addition, signer="NVIDIA Corporation", signature="trusted: NVIDIA Corporation")
    write_lock([replace(plan, additions=(claim,))], bench.lock)
    with pytest.raises(CannotRepair, match="leads to no trusted root"):
        bench.replay(require_signed=True)


def test_a_path_that_is_no_text_can_be_locked(tmp_path):
    bench = Bench(tmp_path)
    (plan,) = read_lock(bench.lock)
    odd = replace(plan, wheel=replace(plan.wheel, path=f"/tmp/\udcff/{plan.output}"))
    write_lock([odd], bench.lock)
    assert read_lock(bench.lock) == [odd]


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"schema": "wheelfix.lock/1"}', '{"schema": "wheelfix.lock/1", "plans": [{}]}', "\x00\xff"],
)
def test_a_bad_lock_file_is_told_plainly(text, tmp_path):
    path = tmp_path / "lock.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"lock\.json"):
        read_lock(path)

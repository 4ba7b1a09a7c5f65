"""Wheels without one of their DLLs are made as asked for, and import tables say what has to come out."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.wheels import build_wheel
from tools import take_one_out
from tools.import_tables import read_tables
from tools.take_one_out import Row, need_of, page, rows_of, write_without

pytestmark = pytest.mark.slow

PYD = ".cp311-win_amd64.pyd"


FILES = {
    "p/__init__.py": "from p import _m\ntry:\n    from p import _g\nexcept ImportError:\n    _g = None\n",
    "p/load.py": "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'coded.dll'))\n",
    f"p/_m{PYD}": "imports Near.dll, msvcp140.dll, mkl_rt.2.dll, twice.dll; delays late.dll",
    f"p/_g{PYD}": "imports guarded.dll",
    f"p/tests/_t{PYD}": "imports tested.dll",
    "p/_other.cp310-win_amd64.pyd": "imports tested.dll",
    "p/near.dll": "imports far.dll",
    "p.libs/far.dll": "",
    "p.libs/guarded.dll": "",
    "p.libs/late.dll": "",
    "p.libs/coded.dll": "",
    "p.libs/tested.dll": "",
    "p.libs/msvcp140.dll": "",
    "p.libs/mkl_rt.2.dll": "",
    "p.libs/twice.dll": "",
    "p/twice.dll": "",
    "p.libs/lonely.dll": "",
}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return build_wheel(tmp_path, "p", files=FILES, requires=["mkl"])


@pytest.mark.parametrize(
    "dll, need",
    [
        ("p/near.dll", take_one_out.NEEDED),
        ("p.libs/far.dll", take_one_out.NEEDED),
        ("p.libs/guarded.dll", take_one_out.GUARDED),
        ("p.libs/late.dll", take_one_out.DELAYED),
        ("p.libs/coded.dll", take_one_out.NAMED),
        ("p.libs/tested.dll", take_one_out.BY_DLL),
        ("p.libs/msvcp140.dll", take_one_out.SYSTEM),
        ("p.libs/mkl_rt.2.dll", take_one_out.REQUIRED),
        ("p.libs/twice.dll", take_one_out.TWIN),
        ("p.libs/lonely.dll", take_one_out.UNKNOWN),
    ],
)
def test_who_needs_a_dll(wheel, dll, need):
    assert need_of(read_tables(wheel), dll)[0] == need


@pytest.mark.parametrize("row_left", [True, False])
def test_only_the_dll_and_its_row_are_gone(wheel, tmp_path, row_left):
    made = tmp_path / "made.whl"
    write_without(wheel, "p.libs/far.dll", made, row_left=row_left)
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(made) as after:
        record = "p-1.0.dist-info/RECORD"
        assert after.testzip() is None
        assert set(before.namelist()) - set(after.namelist()) == {"p.libs/far.dll"}
        assert all(before.read(name) == after.read(name) for name in after.namelist() if name != record)
        assert rows_of(before) - rows_of(after) == (set() if row_left else {"p.libs/far.dll"})


def test_the_answers_are_tabled_and_a_second_run_continues(tmp_path):
    files = {name: FILES[name] for name in ("p/near.dll", "p.libs/far.dll", f"p/_g{PYD}")}
    wheel, rows, out = build_wheel(tmp_path, "p", files=files), tmp_path / "rows.jsonl", tmp_path / "table.md"
    words = [str(wheel), "--rows", str(rows), "--out", str(out)]
    take_one_out.main(words)
    lines = rows.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4
    assert out.read_text(encoding="utf-8").startswith("1 wheels, 2 DLLs, 4 scans of ")
    rows.write_text("\n".join(lines[:-1]) + '\n{"wheel": "p-1', encoding="utf-8")  # it was stopped while it wrote
    take_one_out.main(words)
    assert rows.read_text(encoding="utf-8").splitlines()[:4] == [*lines[:-1], '{"wheel": "p-1']
    assert out.read_text(encoding="utf-8").startswith("1 wheels, 2 DLLs, 4 scans of ")


def test_a_list_is_read_and_a_page_keeps_its_other_text(tmp_path):
    files = {"p/near.dll": FILES["p.libs/far.dll"]}
    wheel = build_wheel(tmp_path / "wheels", "p", files=files)
    (tmp_path / "list.txt").write_text(f"p==1.0 {wheel.name}\n", encoding="utf-8")
    out = tmp_path / "page.md"
    out.write_text(f"# Title\n\n{take_one_out.MARK}\nold\n{take_one_out.END}\n\nMore.\n", encoding="utf-8")
    take_one_out.main([str(tmp_path / "list.txt"), "--wheels", str(tmp_path / "wheels"), "--out", str(out)])
    text = out.read_text(encoding="utf-8")
    assert text.startswith(f"# Title\n\n{take_one_out.MARK}\n\n1 wheels, 1 DLLs, 2 scans")
    assert text.endswith(f"\n{take_one_out.END}\n\nMore.\n")
    assert "old" not in text


def test_what_counts_as_a_deviation():
    right = Row("a.whl", "a.dll", False, take_one_out.NEEDED, "_m.pyd", "ok", "broken", 1, "WF301", "is missing", 0.1)
    assert right.deviation == ""
    excused = replace(right, verdict="unsure", exit=0, code="WF318")
    assert excused.deviation == "unsure instead of broken"
    assert replace(excused, need=take_one_out.UNKNOWN).deviation == ""
    assert replace(excused, need=take_one_out.UNKNOWN, row_left=True).deviation == "unsure instead of broken"
    assert replace(right, code="").deviation == "no finding names the DLL"
    text = page([right, replace(right, dll="b.dll")], [excused])
    assert "| needed by import tables | 2 | 2 | 0 | 0 | 0 | 0 | 0 | 1 |" in text
    assert text.endswith("**Deviations: 0**\n")

"""What to type now: the commands at the end of a report are run, and what they promise is seen."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.environments import install
from tests.support.wheels import build_wheel, extension, folder_of, library
from tools.example import kepler_cu117, write_roots, write_wheel
from tools.take_one_out import write_without
from wheelfix.base.options import shell_line

PYD = "pkg/_x.cp311-win_amd64.pyd"
HELPER = library("helper.dll")


def files(*names: str) -> dict[str, bytes]:
    return {"pkg/__init__.py": b"from pkg import _x\n", PYD: extension(*names)}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def proposed(run: Run, *words: object) -> list[str]:
    """The commands at the end of a scan, without their comments."""
    _, head, steps = run("scan", *words, code=None).out.partition("What to do now\n")
    lines = steps.splitlines()
    assert not head or lines[-1].strip().startswith(("wheelfix ", "python "))
    return [line.strip() for line in lines if not line.strip().startswith("#")]


def pasted(run: Run, command: str) -> None:
    """Run one of our commands as bash would start it."""
    program, *words = shlex.split(command)
    assert program == "wheelfix"
    run(*words)


def test_named_roots_are_named_again(tmp_path, run):
    example = kepler_cu117()
    wheel = write_wheel(example, tmp_path / "dist of mine")
    roots = write_roots(example, tmp_path / "roots $x").values()
    named = [word for root in roots for word in ("--root", str(root))]
    command = proposed(run, str(wheel), "--no-discover", *named)[-1]
    assert f'"{wheel}"' in command
    pasted(run, command)
    run("scan", "wheelhouse", "-q")


def test_a_deleted_dll_comes_from_the_original(tmp_path, run):
    """It was "name the folder of helper-0f2ea955.dll", although RECORD shows that the wheel had it."""
    name = "helper-0f2ea955.dll"
    whole = build_wheel(tmp_path / "whole", files={**files(name), f"pkg/{name}": HELPER})
    broken = tmp_path / "dist" / whole.name
    broken.parent.mkdir()
    write_without(whole, f"pkg/{name}", broken, row_left=True)
    download, repair = proposed(run, "dist", "--no-discover")
    assert shlex.split(download) == [
        *"python -m pip download pkg==1.0 --no-deps --only-binary=:all: --platform win_amd64".split(),
        *"--python-version 3.11 -d original".split(),
    ]
    (tmp_path / "original").mkdir()
    shutil.copy(whole, tmp_path / "original")
    pasted(run, repair)
    run("scan", "wheelhouse", "-q")


def test_a_dll_in_another_folder_of_the_wheel_needs_no_root(tmp_path, run):
    """gmpy2 with a DLL in the wrong folder: ``--root FOLDER`` was asked for a file that the wheel has."""
    build_wheel(tmp_path / "dist", files={**files("helper.dll"), "pkg/moved/helper.dll": HELPER})
    assert "# puts a copy of helper.dll where it is found" in run("scan", "--no-discover", "dist", code=None).out
    (command,) = proposed(run, "--no-discover", "dist")
    assert "--root" not in command
    pasted(run, command)
    page = tmp_path / "page.html"
    run("scan", "--no-discover", "dist", "--format", "html", "-o", page, code=1)
    assert "helper.dll is not found where it is" in page.read_text(encoding="utf-8")
    run("scan", "--no-discover", "wheelhouse")


def test_an_installed_package_is_repaired_where_it_is(tmp_path, run):
    prefix = install(build_wheel(tmp_path / "dist", files=files("helper.dll")), tmp_path / "env")
    folder_of(tmp_path / "dlls", "helper.dll")
    (prefix / "python.exe").write_bytes(b"")
    command = proposed(run, str(prefix), "--no-discover", "--root", "dlls")[-1]
    assert command == f"wheelfix repair --env {prefix} --package pkg --root dlls --no-discover"
    pasted(run, command)
    run("scan", prefix, "-q")


def test_options_of_hints_are_in_the_command(tmp_path, run):
    members = {**files("nvcuda.dll"), "pkg/nvcuda.dll": ""}
    build_wheel(tmp_path / "dist", files=members)
    command = proposed(run, "dist", "--no-discover")[-1]
    assert "--drop pkg/nvcuda.dll" in command
    pasted(run, command)
    run("scan", "wheelhouse", "-q", "--fail-on", "warning")


def test_what_no_wheel_may_contain_gives_no_command(tmp_path, run):
    build_wheel(tmp_path / "dist", files=files("vcruntime140d.dll", "helper.dll"))
    assert proposed(run, "dist", "--no-discover") == []


def test_what_has_to_be_filled_in_comes_last(tmp_path, run):
    build_wheel(tmp_path / "dist", "aaa", files=files("helper.dll"))
    build_wheel(tmp_path / "dist", "bbb", files=files("libiomp5md.dll"))
    first, second = proposed(run, "dist", "--no-discover")
    assert first.startswith("wheelfix repair dist/bbb-1.0")
    assert "--fetch" in first
    assert second.startswith("wheelfix repair dist/aaa-1.0")
    assert "--root FOLDER" in second


def test_wheels_that_need_the_same_share_a_command(tmp_path, run):
    wheels = [build_wheel(tmp_path / "dist", name, files=files("helper.dll")) for name in ("aaa", "bbb")]
    folder_of(tmp_path / "dlls", "helper.dll")
    (command,) = proposed(run, "dist", "--no-discover", "--root", "dlls")
    assert all(wheel.name in command for wheel in wheels)
    pasted(run, command)
    run("scan", "wheelhouse", "-q")


@pytest.mark.parametrize("kind", ["text", "html", "markdown", "github", "junit"])
def test_every_format_has_the_same_command(kind, tmp_path, run):
    build_wheel(tmp_path / "dist", files=files("libiomp5md.dll"))
    (command,) = proposed(run, "dist", "--no-discover")
    out = run("scan", "dist", "--no-discover", "--format", kind, code=None).out
    assert command in out
    assert kind != "html" or re.search(rf'<pre class="paste" tabindex="0">{re.escape(command)}</pre>', out)
    assert "FOLDER" not in out.partition("What the findings mean")[0]


WORDS = ["plain-1.0+cu117.whl", "a b", "it's", 'say "x"', "a\\b c", "a,b", "a;b", "*"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("word", WORDS)
def test_bash_reads_a_line_as_it_was_meant(word):
    line = shell_line(["printf", "%s|%s", word, "end"], windows=False)
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == f"{word}|end"


@pytest.mark.parametrize(
    "word, expected",
    [
        (r"C:\envs\ml", r"C:\envs\ml"),
        (r"C:\Program Files\x.whl", r'"C:\Program Files\x.whl"'),
        ("a$b", "'a$b'"),
        ("it's $5", "'it''s $5'"),
        ("\u201cx\u201d", "'\u201cx\u201d'"),
    ],
)
def test_powershell_words(word, expected):
    assert shell_line([word], windows=True) == expected


def test_a_repair_ends_with_what_it_fixed_and_what_remains(tmp_path, run):
    debug = {"pkg/nvcuda.dll": ""}
    build_wheel(tmp_path / "dist", files={**files("helper.dll", "nvcuda.dll"), **debug})
    folder_of(tmp_path / "dlls", "helper.dll")
    out = run("repair", "dist", "--no-discover", "--root", "dlls").out
    balance = out.partition("-> wheelhouse")[2].splitlines()
    assert balance[1] == "1 fixed, 1 remains"
    assert balance[2].startswith("  WF601 warning: pkg/nvcuda.dll")
    assert len(balance) == 3


def test_a_folder_has_a_summary(tmp_path, run):
    build_wheel(tmp_path / "dist", "good", files=files())
    build_wheel(tmp_path / "dist", files=files("helper.dll"))
    lost = build_wheel(tmp_path / "dist", "lost", files=files("libiomp5md.dll"))
    folder_of(tmp_path / "dlls", "helper.dll")
    out, err = run("repair", "dist", "--no-discover", "--root", "dlls", code=1)
    assert out.partition("Summary\n")[2].splitlines() == [
        f"  FAILED  not repaired  dist/{lost.name}",
        "3 wheels: 1 not repaired, 1 unchanged, 1 repaired; 1 fixed, 0 remain",
    ]
    assert "add --fetch to take libiomp5md.dll from the package index" in err
    assert "Summary" not in run("repair", "dist", "--no-discover", "--root", "dlls", "-q", code=None).out

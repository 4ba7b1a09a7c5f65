"""What to type now: the commands at the end of a report are run, and what they promise is seen."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.environments import install
from tests.support.wheels import build_wheel
from wheelfix.base.options import shell_line
from wheelfix.cli.main import main
from wheelfix.demo.example import kepler_cu117, write_roots, write_wheel
from wheelfix.demo.forge import forge_dll

if TYPE_CHECKING:
    from pathlib import Path

PYD = "pkg/_x.cp311-win_amd64.pyd"
HELPER = forge_dll("helper.dll", exports=["f"])


def module(*names: str) -> bytes:
    return forge_dll("_x.pyd", imports={name: ["f"] for name in names}, exports=["PyInit__x"])


def files(*names: str) -> dict[str, bytes]:
    return {"pkg/__init__.py": b"from pkg import _x\n", PYD: module(*names)}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def proposed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The commands at the end of a scan, without their comments."""
    main(["scan", *words])
    _, head, steps = capsys.readouterr().out.partition("What to do now\n")
    lines = steps.splitlines()
    assert not head or lines[-1].strip().startswith(("wheelfix ", "python "))
    return [line.strip() for line in lines if not line.strip().startswith("#")]


def pasted(command: str) -> int:
    """Run one of our commands as bash would start it."""
    program, *words = shlex.split(command)
    assert program == "wheelfix"
    return main(words)


def test_named_roots_are_named_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = kepler_cu117()
    wheel = write_wheel(example, tmp_path / "dist of mine")
    roots = write_roots(example, tmp_path / "roots $x").values()
    named = [word for root in roots for word in ("--root", str(root))]
    command = proposed(capsys, str(wheel), "--no-discover", *named)[-1]
    assert f'"{wheel}"' in command
    assert pasted(command) == 0
    assert main(["scan", "wheelhouse", "-q"]) == 0


def test_a_deleted_dll_comes_from_the_original(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was "name the folder of helper-0f2ea955.dll", although RECORD shows that the wheel had it."""
    name = "helper-0f2ea955.dll"
    whole = build_wheel(tmp_path / "whole", "pkg", "1.0", files={**files(name), f"pkg/{name}": HELPER})
    broken = tmp_path / "dist" / whole.name
    broken.parent.mkdir()
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(broken, "w") as target:
        for item in source.infolist():
            if not item.filename.endswith(name):
                target.writestr(item, source.read(item))
    download, repair = proposed(capsys, "dist", "--no-discover")
    assert shlex.split(download) == [
        *"python -m pip download pkg==1.0 --no-deps --only-binary=:all: --platform win_amd64".split(),
        *"--python-version 3.11 -d original".split(),
    ]
    (tmp_path / "original").mkdir()
    shutil.copy(whole, tmp_path / "original")
    assert pasted(repair) == 0
    assert main(["scan", "wheelhouse", "-q"]) == 0


def test_a_dll_in_another_folder_of_the_wheel_needs_no_root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """gmpy2 with a DLL in the wrong folder: ``--root FOLDER`` was asked for a file that the wheel has."""
    build_wheel(tmp_path / "dist", "pkg", "1.0", files={**files("helper.dll"), "pkg/moved/helper.dll": HELPER})
    main(["scan", "--no-discover", "dist"])
    assert "# puts a copy of helper.dll where it is found" in capsys.readouterr().out
    (command,) = proposed(capsys, "--no-discover", "dist")
    assert "--root" not in command
    assert pasted(command) == 0
    page = tmp_path / "page.html"
    assert main(["scan", "--no-discover", "dist", "--format", "html", "-o", str(page)]) == 1
    assert "helper.dll is not found where it is" in page.read_text(encoding="utf-8")
    assert main(["scan", "--no-discover", "wheelhouse"]) == 0


def test_an_installed_package_is_repaired_where_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prefix = install(build_wheel(tmp_path / "dist", "pkg", "1.0", files=files("helper.dll")), tmp_path / "env")
    (tmp_path / "dlls").mkdir()
    (tmp_path / "dlls" / "helper.dll").write_bytes(HELPER)
    (prefix / "python.exe").write_bytes(b"")
    command = proposed(capsys, str(prefix), "--no-discover", "--root", "dlls")[-1]
    assert command == f"wheelfix repair --env {prefix} --package pkg --root dlls --no-discover"
    assert pasted(command) == 0
    assert main(["scan", str(prefix), "-q"]) == 0


def test_options_of_hints_are_in_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    members = {**files("nvcuda.dll"), "pkg/nvcuda.dll": forge_dll("nvcuda.dll", exports=["f"])}
    build_wheel(tmp_path / "dist", "pkg", "1.0", files=members)
    command = proposed(capsys, "dist", "--no-discover")[-1]
    assert "--drop pkg/nvcuda.dll" in command
    assert pasted(command) == 0
    assert main(["scan", "wheelhouse", "-q", "--fail-on", "warning"]) == 0


def test_what_no_wheel_may_contain_gives_no_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_wheel(tmp_path / "dist", "pkg", "1.0", files=files("vcruntime140d.dll", "helper.dll"))
    assert proposed(capsys, "dist", "--no-discover") == []


def test_what_has_to_be_filled_in_comes_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_wheel(tmp_path / "dist", "aaa", "1.0", files=files("helper.dll"))
    build_wheel(tmp_path / "dist", "bbb", "1.0", files=files("libiomp5md.dll"))
    first, second = proposed(capsys, "dist", "--no-discover")
    assert first.startswith("wheelfix repair dist/bbb-1.0")
    assert "--fetch" in first
    assert second.startswith("wheelfix repair dist/aaa-1.0")
    assert "--root FOLDER" in second


def test_wheels_that_need_the_same_share_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheels = [build_wheel(tmp_path / "dist", name, "1.0", files=files("helper.dll")) for name in ("aaa", "bbb")]
    (tmp_path / "dlls").mkdir()
    (tmp_path / "dlls" / "helper.dll").write_bytes(HELPER)
    (command,) = proposed(capsys, "dist", "--no-discover", "--root", "dlls")
    assert all(wheel.name in command for wheel in wheels)
    assert pasted(command) == 0
    assert main(["scan", "wheelhouse", "-q"]) == 0


@pytest.mark.parametrize("kind", ["text", "html", "markdown", "github", "junit"])
def test_every_format_has_the_same_command(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_wheel(tmp_path / "dist", "pkg", "1.0", files=files("libiomp5md.dll"))
    (command,) = proposed(capsys, "dist", "--no-discover")
    main(["scan", "dist", "--no-discover", "--format", kind])
    out = capsys.readouterr().out
    assert command in out
    assert "FOLDER" not in out.partition("What the findings mean")[0]


def test_a_page_has_a_copy_button_for_each_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_wheel(tmp_path / "dist", "pkg", "1.0", files=files("libiomp5md.dll"))
    main(["scan", "dist", "--no-discover", "--format", "html"])
    page = capsys.readouterr().out
    assert re.search(r'<pre class="paste" tabindex="0">wheelfix repair dist/[^<]*--fetch[^<]*</pre>', page)
    assert 'document.querySelectorAll("pre.paste")' in page
    assert re.search(r'<details class="wheel" open>', page)


WORDS = ["plain-1.0+cu117.whl", "a b", "a$b", "it's", 'say "x"', "x`y", "a\\b c", "ok!", "a,b", "[x]", "a;b", "~", "*"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("word", WORDS)
def test_bash_reads_a_line_as_it_was_meant(word: str) -> None:
    line = shell_line(["printf", "%s|%s", word, "end"], windows=False)
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == f"{word}|end"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (r"C:\envs\ml", r"C:\envs\ml"),
        (r"C:\Program Files\x.whl", r'"C:\Program Files\x.whl"'),
        ("a$b", "'a$b'"),
        ("it's", '"it\'s"'),
        ("it's $5", "'it''s $5'"),
        ("a,b", '"a,b"'),
        ("\u201cx\u201d", "'\u201cx\u201d'"),
    ],
)
def test_powershell_words(word: str, expected: str) -> None:
    assert shell_line([word], windows=True) == expected


def test_a_repair_ends_with_what_it_fixed_and_what_remains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    debug = {"pkg/nvcuda.dll": forge_dll("nvcuda.dll", exports=["f"])}
    build_wheel(tmp_path / "dist", "pkg", "1.0", files={**files("helper.dll", "nvcuda.dll"), **debug})
    (tmp_path / "dlls").mkdir()
    (tmp_path / "dlls" / "helper.dll").write_bytes(HELPER)
    assert main(["repair", "dist", "--no-discover", "--root", "dlls"]) == 0
    out = capsys.readouterr().out
    balance = out.partition("-> wheelhouse")[2].splitlines()
    assert balance[1] == "1 fixed, 1 remains"
    assert balance[2].startswith("  WF601 warning: pkg/nvcuda.dll")
    assert len(balance) == 3


def test_a_folder_has_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_wheel(tmp_path / "dist", "good", "1.0", files=files())
    build_wheel(tmp_path / "dist", "pkg", "1.0", files=files("helper.dll"))
    lost = build_wheel(tmp_path / "dist", "lost", "1.0", files=files("libiomp5md.dll"))
    (tmp_path / "dlls").mkdir()
    (tmp_path / "dlls" / "helper.dll").write_bytes(HELPER)
    assert main(["repair", "dist", "--no-discover", "--root", "dlls"]) == 1
    out, err = capsys.readouterr()
    assert out.partition("Summary\n")[2].splitlines() == [
        f"  FAILED  not repaired  dist/{lost.name}",
        "3 wheels: 1 unchanged, 1 repaired, 1 not repaired; 1 fixed, 0 remain",
    ]
    assert "add --fetch to take libiomp5md.dll from the package index" in err
    main(["repair", "dist", "--no-discover", "--root", "dlls", "-q"])
    assert "Summary" not in capsys.readouterr().out

"""Names that would speak to a terminal, a CI system or a browser, if they were printed as they stand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.archive.byhand import Entry, build_zip, wheel_entries
from tests.faults.workshop import Run, assert_no_traceback
from tests.support.tables import named_cases
from tests.support.wheels import library
from tools.forge import forge_dll
from wheelfix.cli.main import main
from wheelfix.errors import Exit

TITLE, CLEAR = "\x1b]0;owned\x07", "\x1b[2J"
COMMAND = "\n::add-mask::owned\r::error::owned"
MARKUP = "<script>alert('owned')</script><img src=x onerror=owned>"
HIDDEN = "\u202egnp.exe"
DLL = f"{TITLE}{CLEAR}evil{COMMAND}{MARKUP}.dll"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    module = forge_dll(
        "ext.pyd",
        imports={DLL: [f"f{CLEAR}{COMMAND}"], "pkg.dll": [f"g{CLEAR}"]},
        exports=["PyInit_ext", f"e{TITLE}"],
        version=(1, 2, 3, 4),
        version_strings={"CompanyName": f"Owned{CLEAR}{COMMAND}"},
    )
    entries = [
        Entry("pkg/ext.cp311-win_amd64.pyd", module),
        Entry("pkg/pkg.dll", library("pkg.dll:h")),
        Entry(f"pkg/a{CLEAR}{COMMAND}.dll", b"MZ"),
        Entry(f"pkg/b{HIDDEN}.dll", b""),
        Entry(f"pkg/{MARKUP.replace('/', '')}.dll", b""),
    ]
    path = tmp_path_factory.mktemp("dist") / "pkg-1.0-cp311-cp311-win_amd64.whl"
    path.write_bytes(build_zip(wheel_entries(entries)))
    return path


@pytest.fixture
def wheelfix(capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """Run the command line in this process."""

    def run(*arguments: str) -> Run:
        code = main([*arguments])
        done = Run(code, *capsys.readouterr())
        assert_no_traceback(done)
        return done

    return run


def must_be_mute(text: str) -> None:
    """Nothing that a terminal obeys, and no line that a CI system takes for a command of the attacker."""
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\r" not in text
    lines = [line.strip() for line in text.splitlines()]
    assert not [line for line in lines if line.startswith(("::add-mask", "::error::owned"))]


@pytest.mark.parametrize("kind", ["text", "github", "markdown", "junit", "sarif", "json"])
@named_cases("colour", {"plain": "0", "colour": "1"})
def test_reports(wheel, wheelfix, kind, colour, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR" if colour == "1" else "NO_COLOR", "1")
    done = wheelfix("scan", str(wheel), "-v", "--no-discover", "--no-config", "--format", kind)
    assert done.code == Exit.FINDINGS
    out = done.out
    if colour == "1" and kind == "text":
        assert "\x1b[" in out
        assert TITLE not in out
        assert CLEAR not in out
        out = out.replace("\x1b[", "")
    must_be_mute(out)
    must_be_mute(done.err)


@pytest.mark.parametrize("command", ["verify", "repair"])
def test_other_commands(wheel, wheelfix, command, tmp_path):
    more = ["--no-discover", "-w", str(tmp_path / "out"), "-v"] if command == "repair" else ["-v"]
    done = wheelfix(command, str(wheel), "--no-config", *more)
    assert done.code == Exit.FINDINGS
    must_be_mute(done.out)
    must_be_mute(done.err)

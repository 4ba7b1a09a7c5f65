"""A redirect makes nothing safe: a server on plain http decides where it leads, and so what is downloaded."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.remote.indexes import pages
from tests.remote.programs import Certificates, make_certificates
from tests.remote.server import Reply, Request, Server, running
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix.base.options import RemoteOptions
from wheelfix.cli.main import main
from wheelfix.errors import NetworkFailure
from wheelfix.remote.client import Client
from wheelfix.remote.packageindex import IndexFile, PackageIndex
from wheelfix.remote.settings import Connection, IndexSettings, Setting
from wheelfix.remote.transport import Patience, Transport

DLL = "libiomp5md.dll"
MEMBER = f"intel_openmp-2023.2.0.data/data/Library/bin/{DLL}"
PAGE = "/simple/intel-openmp/"
PATIENCE = Patience(tries=2, first_wait=0.01, longest_wait=0.1)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def _network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificates: Certificates) -> None:
    """Every name below ``example`` is this machine, though nobody may know that; pip is not configured."""
    for name in [name for name in os.environ if name.upper().startswith(("PIP_", "UV_")) or "PROXY" in name.upper()]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("WHEELFIX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CERT", str(certificates.authority))
    original = socket.getaddrinfo

    def resolve(host: str, *more: Any, **named: Any) -> Any:
        return original("127.0.0.1" if str(host).endswith(".example") else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


@pytest.fixture(params=["json", "html"])
def secure(tmp_path: Path, certificates: Certificates, request: pytest.FixtureRequest) -> Iterator[Server]:
    """An index over TLS, whose owner chooses its OpenMP."""
    dll = forge_dll(DLL, exports=["omp_get_max_threads"])
    wheel = build_wheel(tmp_path / "files", "intel_openmp", "2023.2.0", "py2.py3-none-win_amd64", {MEMBER: dll})
    with running(*pages([wheel], as_html=request.param == "html"), certificate=certificates.server) as server:
        yield server


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    files = {
        "demo/__init__.py": b"from demo import _x\n",
        "demo/_x.cp311-win_amd64.pyd": f"imports {DLL}:omp_get_max_threads",
    }
    return build_wheel(tmp_path / "dist", "demo", files=files)


def redirecting(server: Server, target: str, start: str = "/") -> None:
    """Answer everything below a path with a redirect to the same path of another server."""

    def fault(request: Request, reply: Reply) -> Reply | None:
        return Reply(302, {"Location": target + request.path}, b"") if request.path.startswith(start) else None

    server.fault = fault


def outside(server: Server) -> str:
    """The address of a server as that of another machine."""
    return server.url.replace("127.0.0.1", "index.example")


def repaired(broken: Path, tmp_path: Path, url: str) -> tuple[int, Path]:
    words = ["--no-discover", "--fetch", "--index-url", f"{url}/simple", "-w", str(tmp_path / "out")]
    return main(["repair", str(broken), *words]), tmp_path / "out" / broken.name


def test_a_redirect_from_http_to_https_makes_no_hash_safe(secure, broken, tmp_path, monkeypatch, capsys):
    """A forged, unsigned DLL used to be vendored with "the whole wheel has the sha256 of the index"."""
    with running({}) as plain:
        redirecting(plain, secure.url)
        code, made = repaired(broken, tmp_path, outside(plain))
        said = " ".join(capsys.readouterr().err.split())
        assert code == 1
        assert f"was read from {outside(plain)}{PAGE} over plain http" in said
        assert "index.example" in said
        assert not made.exists()
        monkeypatch.setenv("PIP_TRUSTED_HOST", "index.example")
        assert repaired(broken, tmp_path, outside(plain))[0] == 0


@pytest.mark.parametrize("how", ["through a second http server", "by an address without a scheme", "on this machine"])
def test_every_hop_counts(secure, broken, tmp_path, capsys, how):
    with running({}) as first, running({}) as second:
        redirecting(second, secure.url)
        target = outside(second).replace("index.", "other.")
        redirecting(first, target.removeprefix("http:") if "scheme" in how else target)
        if how == "on this machine":
            redirecting(first, second.url)
            assert repaired(broken, tmp_path, first.url)[0] == 0
            return
        start = first.url if "second" in how else outside(first)  # the first hop may be safe
        code, made = repaired(broken, tmp_path, start)
    assert code == 1
    assert "over plain http" in " ".join(capsys.readouterr().err.split())
    assert not made.exists()


@pytest.mark.parametrize("scheme", ["http:", "HTTP:", "ftp:"])
def test_https_is_never_left(secure, broken, tmp_path, capsys, scheme):
    """http to https to http, and https to http: the last server is not asked for anything."""
    with running(secure.files, secure.kinds) as last, running({}) as first:
        redirecting(secure, outside(last).replace("http:", scheme))
        redirecting(first, secure.url)
        for start in (outside(first), secure.url):
            code, made = repaired(broken, tmp_path, start)
            assert code == 4
            assert f"the server redirects from https to {scheme[:-1].lower()}" in " ".join(
                capsys.readouterr().err.split()
            )
            assert not made.exists()
        assert not last.asked


def test_an_address_without_a_scheme_stays_with_https(secure, broken, tmp_path):
    redirecting(secure, f"//{secure.url.partition('//')[2]}/again", start="/simple/")
    secure.files["/again" + PAGE], secure.kinds["/again" + PAGE] = secure.files[PAGE], secure.kinds[PAGE]
    for name in [name for name in secure.files if name.startswith("/files/")]:
        secure.files["/again" + name] = secure.files[name]
    assert repaired(broken, tmp_path, secure.url)[0] == 0


# ------------------------------------------------------------------------------------------------------------- files


def test_a_file_that_comes_over_http_is_proved_by_the_hash_of_a_safe_page(secure, broken, tmp_path, capsys, run):
    """It is downloaded as a whole even for a scan: no hash proves a part."""
    (name,) = (path for path in secure.files if path.startswith("/files/"))
    honest = secure.files[name]
    with running({}) as plain:
        redirecting(plain, f"{secure.url}/moved")
        secure.files[f"/moved{name}"] = honest
        secure.files[PAGE] = secure.files[PAGE].replace(b"../../files", f"{outside(plain)}/files".encode())
        words = ["--no-discover", "--index-url", f"{secure.url}/simple", "--no-cache", "--format", "json"]
        said = run("scan", "intel-openmp==2023.2.0", *words).said
        assert "is asked over plain http" in said
        assert "downloaded whole, and its hash checked" in said
        assert repaired(broken, tmp_path, secure.url)[0] == 0
        capsys.readouterr()
        secure.files[f"/moved{name}"] = honest[:200] + bytes([honest[200] ^ 1]) + honest[201:]
        assert "is not what was expected" in run("scan", "intel-openmp==2023.2.0", *words, code=4).err


def test_a_later_part_that_comes_over_http_is_refused(tmp_path, certificates):
    data = os.urandom(900_000)
    with running({"/x.whl": data}, certificate=certificates.server) as secure, running({}) as plain:
        redirecting(plain, secure.url)

        def later(request: Request, reply: Reply) -> Reply | None:
            asked = len([one for one in secure.asked if one.path == "/x.whl"])
            return Reply(302, {"Location": f"{outside(plain)}/x.whl"}, b"") if asked > 1 else None

        secure.fault = later
        with Client(RemoteOptions(cache_dir=tmp_path / "c"), patience=PATIENCE) as client:
            source = client.wheel_at(f"{secure.url}/x.whl", sha256=hashlib.sha256(data).hexdigest()).open()
            with pytest.raises(NetworkFailure, match="redirects from https to http"):
                source.read_at(0, 100)
    with running({"/x.whl": data}) as own, running({}) as plain:
        own.fault = later
        secure = own
        redirecting(plain, own.url.replace("127.0.0.1", "other.example"))
        with Client(RemoteOptions(cache_dir=tmp_path / "d"), patience=PATIENCE) as client:
            source = client.wheel_at(f"{own.url}/x.whl", sha256=hashlib.sha256(data).hexdigest()).open()
            own.fault = lambda request, reply: (
                Reply(302, {"Location": f"{outside(own)}/y.whl"}, b"") if request.path == "/x.whl" else None
            )
            own.files["/y.whl"] = data
            with pytest.raises(NetworkFailure, match="changed while it was read"):
                source.read_at(0, 100)


# ---------------------------------------------------------------------------------------------------------- METADATA


@named_cases(
    "page, sha256, says",
    {
        "hash-fits": ("", hashlib.sha256(b"Name: x").hexdigest(), ""),
        "another-hash": ("", "0" * 64, "is not what was expected"),
        "no-hash": ("", "", "over plain http, and the index has no hash of it"),
        "of-a-page-that-proves-nothing-either": ("http://index.example/", "", ""),
    },
)
def test_metadata_that_comes_over_http(certificates, page, sha256, says):
    with running({"/x.metadata": b"Name: x"}, certificate=certificates.server) as secure, running({}) as plain:
        redirecting(plain, secure.url)
        reported = []
        known = Connection(certificates=Setting(str(certificates.authority), "test"))
        transport = Transport(patience=PATIENCE, connection=known, say=reported.append)
        index = PackageIndex(transport, IndexSettings(f"{secure.url}/simple"))
        file = IndexFile("x", f"{outside(plain)}/x", True, page=page, metadata_sha256=sha256)
        if says:
            with pytest.raises(NetworkFailure, match=says):
                index.metadata(file)
        else:
            assert index.metadata(file) == "Name: x"
        assert "is asked over plain http" in reported[0]
        assert index.metadata(IndexFile("x", f"{secure.url}/x", True)) == "Name: x"


def test_both_forms_of_a_page_have_the_hash_of_metadata(certificates):
    digest = "ab" * 32
    row = {"filename": "x-1-py3-none-any.whl", "url": "x", "core-metadata": {"sha256": digest.upper()}}
    html = f'<a href="x" data-core-metadata="sha256={digest}">x-1-py3-none-any.whl</a>'
    files = {"/j/x/": json.dumps({"files": [row]}).encode(), "/h/x/": html.encode()}
    with running(files, {"/j/x/": "application/json", "/h/x/": "text/html"}) as server:
        for form in "jh":
            (file,) = PackageIndex(Transport(patience=PATIENCE), IndexSettings(f"{server.url}/{form}")).files("x")
            assert (file.metadata, file.metadata_sha256, file.page) == (True, digest, "")

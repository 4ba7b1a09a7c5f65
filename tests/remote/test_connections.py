"""Certificates, proxies and accounts, against nginx with TLS and a real forward proxy, set as for pip and uv."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.programs import Certificates, make_certificates, nginx, tinyproxy
from tests.support.wheels import build_wheel
from wheelfix.cli.main import main

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the folders of configuration are others there"),
]
SECRET = "hunter2"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder that is a package index: a page, and the wheel that it links to."""
    files = {"demo/__init__.py": b"from demo import _x\n", "demo/_x.cp311-win_amd64.pyd": "imports KERNEL32.dll:Sleep"}
    wheel = build_wheel(tmp_path / "www" / "files", "demo", files=files)
    page = tmp_path / "www" / "simple" / "demo" / "index.html"
    page.parent.mkdir(parents=True)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    page.write_text(f'<!DOCTYPE html><a href="/files/{wheel.name}#sha256={digest}">{wheel.name}</a>')
    return tmp_path / "www"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any configuration, in an environment without variables about connections."""
    words = ("PROXY", "CERT", "CA_BUNDLE", "NETRC", "PIP_", "UV_")
    for name in [name for name in os.environ if any(word in name.upper() for word in words)]:
        monkeypatch.delenv(name)
    own = tmp_path / "home"
    for folder in ("pip", "uv"):
        (own / ".config" / folder).mkdir(parents=True)
    for name, value in {"HOME": own, "XDG_CONFIG_HOME": own / ".config", "XDG_CONFIG_DIRS": own / "etc"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(sys, "prefix", str(own))
    from wheelfix.remote import settings

    original = settings._text
    monkeypatch.setattr(settings, "_text", lambda path: original(path) if own in path.parents else None)
    return own


def scanned(url: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Scan the wheel of an index; no password may be in anything that is printed or kept."""
    cache = tmp_path / "cache"
    words = ["--index-url", f"{url}/simple", "--python-version", "3.11", "--cache-dir", str(cache)]
    code = main(["scan", "demo==1.0", "--no-discover", *words])
    captured = capfd.readouterr()
    kept = [path for path in cache.rglob("*") if cache.is_dir()]
    assert SECRET not in captured.out + captured.err + "".join(map(str, kept))
    assert not any(SECRET.encode() in path.read_bytes() for path in kept if path.is_file())
    return code, " ".join(captured.err.split())


# ------------------------------------------------------------------------------------------------------- certificates


def test_an_unknown_authority_is_refused_with_what_to_set(root, certificates, tmp_path, capfd):
    with nginx(root, certificates=certificates) as url:
        code, said = scanned(url, tmp_path, capfd)
    assert code == 4
    assert f"{url}/simple/demo/ cannot be trusted" in said
    assert "certificate" in said
    assert "PIP_CERT, REQUESTS_CA_BUNDLE or SSL_CERT_FILE" in said
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("variable", ["PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "pip.conf"])
def test_a_bundle_is_used(root, certificates, home, tmp_path, monkeypatch, capfd, variable):
    if variable == "pip.conf":
        (home / ".config/pip/pip.conf").write_text(f"[global]\ncert = {certificates.authority}\n")
    else:
        monkeypatch.setenv(variable, str(certificates.authority))
    with nginx(root, certificates=certificates) as url:
        assert scanned(url, tmp_path, capfd)[0] == 0


@pytest.mark.parametrize("text, reason", [(None, "there is no such file"), ("hello", "it is not a PEM file")])
def test_a_bundle_that_cannot_be_used(tmp_path, monkeypatch, capfd, text, reason):
    if text is not None:
        (tmp_path / "ca.pem").write_text(text)
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "ca.pem"))
    code, said = scanned("https://localhost:1", tmp_path, capfd)
    assert code == 4
    assert "ca.pem cannot be used for connections" in said
    assert reason in said
    assert "correct PIP_CERT" in said


@pytest.mark.parametrize("source", ["PIP_TRUSTED_HOST", "UV_INSECURE_HOST", "pip.conf", "uv.toml"])
def test_a_trusted_host_is_not_checked_and_that_is_said(root, certificates, home, tmp_path, monkeypatch, capfd, source):
    with nginx(root, certificates=certificates) as url:
        host = url.partition("://")[2]
        if source == "pip.conf":
            (home / ".config/pip/pip.conf").write_text(f"[global]\ntrusted-host =\n  other.example\n  {host}\n")
        elif source == "uv.toml":
            (home / ".config/uv/uv.toml").write_text('allow-insecure-host = ["localhost"]\n')
        else:
            monkeypatch.setenv(source, host)
        code, said = scanned(url, tmp_path, capfd)
    assert code == 0
    assert said.count("the certificate of localhost is not checked") == 1
    assert source in said


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1"])
def test_another_trusted_host_changes_nothing(root, certificates, tmp_path, monkeypatch, capfd, host):
    monkeypatch.setenv("PIP_TRUSTED_HOST", host)
    with nginx(root, certificates=certificates) as url:
        assert scanned(url, tmp_path, capfd)[0] == 4


def test_trust_does_not_follow_a_redirect_to_another_host(root, certificates, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PIP_TRUSTED_HOST", "localhost")
    moved = "location /files/ { return 302 https://127.0.0.1:$server_port/moved$request_uri; }"
    with nginx(root, certificates=certificates, server=moved) as url:
        code, said = scanned(url, tmp_path, capfd)
    assert code == 4
    assert "cannot be trusted" in said


@pytest.mark.parametrize("variable", ["PIP_CLIENT_CERT", "SSL_CLIENT_CERT"])
def test_a_client_certificate(root, certificates, tmp_path, monkeypatch, capfd, variable):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    wanted = f"ssl_client_certificate {certificates.authority}; ssl_verify_client on;"
    with nginx(root, certificates=certificates, server=wanted) as url:
        code, said = scanned(url, tmp_path, capfd)
        assert code == 4
        assert "400" in said
        monkeypatch.setenv(variable, str(certificates.client))
        assert scanned(url, tmp_path, capfd)[0] == 0
        monkeypatch.setenv(variable, str(certificates.authority))  # a certificate without its key
        code, said = scanned(url, tmp_path, capfd)
        assert code == 4
        assert f"correct {variable}" in said


# ------------------------------------------------------------------------------------------------------------ proxies


@pytest.fixture
def index(
    root: Path, certificates: Certificates, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[str]:
    """The index over TLS, whose authority is known."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    with nginx(root, certificates=certificates) as url:
        yield url


@pytest.mark.parametrize("source", ["HTTPS_PROXY", "ALL_PROXY", "PIP_PROXY", "pip.conf", "uv.toml"])
def test_a_proxy_with_an_account(index, home, tmp_path, monkeypatch, capfd, source):
    def use(address: str) -> None:
        if source == "pip.conf":
            (home / ".config/pip/pip.conf").write_text(f"[global]\nproxy = {address}\n")
        elif source == "uv.toml":
            (home / ".config/uv/uv.toml").write_text(f'https-proxy = "{address}"\n')
        else:
            monkeypatch.setenv(source, address)

    with tinyproxy(tmp_path / "proxy", f"me {SECRET}") as proxy:
        use(f"http://me:{SECRET}@{proxy.host}")
        assert scanned(index, tmp_path, capfd)[0] == 0
        assert proxy.uses
        use(f"http://me:{SECRET}x@{proxy.host}")
        code, said = scanned(index, tmp_path / "again", capfd)
    assert code == 4
    assert f"cannot be reached through http://{proxy.host} (" in said
    assert f"{source})" in said
    assert "asks for another user name and password" in said
    assert "http://USER:PASSWORD@HOST:PORT" in said


def test_a_proxy_for_plain_http(root, tmp_path, monkeypatch, capfd):
    with nginx(root) as url, tinyproxy(tmp_path / "proxy", f"me {SECRET}") as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:{SECRET}@{proxy.host}")
        assert scanned(url, tmp_path, capfd)[0] == 0
        assert proxy.uses
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.host}")
        code, said = scanned(url, tmp_path / "again", capfd)
    assert code == 4
    assert "asks for another user name and password" in said


def test_a_host_in_no_proxy_is_asked_directly(index, home, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{SECRET}@127.0.0.1:1")
    code, said = scanned(index, tmp_path, capfd)
    assert code == 4
    assert "cannot be reached through http://127.0.0.1:1 (HTTPS_PROXY)" in said
    assert "NO_PROXY" in said
    monkeypatch.setenv("NO_PROXY", "other.example,localhost")
    assert scanned(index, tmp_path, capfd)[0] == 0
    monkeypatch.delenv("HTTPS_PROXY")
    monkeypatch.delenv("NO_PROXY")
    (home / ".config/uv/uv.toml").write_text('https-proxy = "http://127.0.0.1:1"\nno-proxy = ["localhost"]\n')
    assert scanned(index, tmp_path / "again", capfd)[0] == 0


def test_pips_proxy_comes_before_the_variables(index, tmp_path, monkeypatch, capfd):
    with tinyproxy(tmp_path / "proxy") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("NO_PROXY", "localhost")
        monkeypatch.setenv("PIP_PROXY", f"http://{proxy.host}")
        assert scanned(index, tmp_path, capfd)[0] == 0
        assert proxy.uses


@pytest.mark.parametrize(
    "proxy, expected",
    [
        ("socks5://127.0.0.1:1", "PySocks"),
        ("http://", "is not the URL of a proxy"),
        ("http://[", ""),
        (f"me:{SECRET}@127.0.0.1:1", "HTTPS_PROXY is not the URL of a proxy"),
        (f"http://me:a@{SECRET}@127.0.0.1:1", "through http://127.0.0.1:1 (HTTPS_PROXY)"),
        (f"http://me:{SECRET}@127.0.0.1:nonsense", ""),
    ],
)
def test_a_proxy_that_cannot_be_used(index, tmp_path, monkeypatch, capfd, proxy, expected):
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    code, said = scanned(index, tmp_path, capfd)
    assert code in (3, 4)
    assert expected in said
    assert "Traceback" not in said


# ----------------------------------------------------------------------------------------------------------- accounts


@pytest.mark.parametrize("source", ["url", "token", "netrc", "keyring", "uv", "none"])
def test_accounts(root, certificates, home, tmp_path, monkeypatch, capfd, source):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    (tmp_path / "users").write_text(f"me:{{PLAIN}}{SECRET}\n{SECRET}:{{PLAIN}}\n")
    wanted = f'auth_basic "here"; auth_basic_user_file {tmp_path}/users;'
    with nginx(root, certificates=certificates, server=wanted) as url:
        account = {"url": f"me:{SECRET}@", "token": f"{SECRET}@"}.get(source, "")
        if source == "netrc":
            monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
            (tmp_path / "netrc").write_text(f"machine localhost login me password {SECRET}\n")
        elif source == "keyring":
            _use_keyring(monkeypatch)
        elif source == "uv":
            monkeypatch.setenv("UV_DEFAULT_INDEX", f"my-own={url}/simple")
            monkeypatch.setenv("UV_INDEX_MY_OWN_USERNAME", "me")
            monkeypatch.setenv("UV_INDEX_MY_OWN_PASSWORD", SECRET)
            words = ["--python-version", "3.11", "--cache-dir", str(tmp_path / "cache"), "--no-discover"]
            assert main(["scan", "demo==1.0", *words]) == 0
            assert SECRET not in "".join(capfd.readouterr())
            return
        code, said = scanned(url.replace("//", f"//{account}"), tmp_path, capfd)
    assert code == (4 if source == "none" else 0)
    assert ("into .netrc or into the keyring" in said) == (source == "none")


def _use_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the library keyring have a backend of ours, which knows the index."""
    core = pytest.importorskip("keyring.core")

    class Own:
        def get_credential(self, service: str, username: str | None) -> object:
            from keyring.credentials import SimpleCredential

            return SimpleCredential("me", SECRET) if service.endswith("/simple") else None

    monkeypatch.setattr(core, "_keyring_backend", Own())

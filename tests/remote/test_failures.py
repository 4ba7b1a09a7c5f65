"""Errors of the HTTP library in our words: what cannot be read, why, which setting to look at, and no secret."""

from __future__ import annotations

import http.client
import ssl

import pytest
import requests
import urllib3

from tests.remote.server import Reply, Request, running
from tests.support.tables import named_cases
from wheelfix.cli.main import main
from wheelfix.errors import InputError, NetworkFailure
from wheelfix.remote.ranges import refuse_status
from wheelfix.remote.settings import Connection, Setting
from wheelfix.remote.transport import CutShort, Downgrade, Patience, Transport, explain, innermost

URL = "https://user:secret@host.example/pkg/a.whl?token=secret"
PROXIED = Connection(https_proxy=Setting("http://me:secret@proxy.example:3128", "pip.conf"))
ERRORS = requests.exceptions


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    "error, kind, because",
    [
        (Downgrade("the server redirects from https to http"), NetworkFailure, "from https to http"),
        (ERRORS.TooManyRedirects("x"), NetworkFailure, "redirects in a circle"),
        (ERRORS.ReadTimeout("x"), CutShort, "does not answer in time"),
        (ERRORS.ConnectionError("IncompleteRead(1 bytes)"), CutShort, "connection was cut"),
        (ERRORS.InvalidURL("x"), InputError, "not a valid URL"),
        (ERRORS.InvalidSchema("Missing dependencies for SOCKS support."), NetworkFailure, "PySocks is not installed"),
        (ERRORS.ConnectionError("refused"), CutShort, "refused"),
    ],
)
def test_each_error_has_its_reason(error, kind, because):
    found = explain(ERRORS, error, URL, Connection())
    assert type(found) is kind
    assert because in str(found)
    assert "secret" not in str(found)
    assert "host.example/pkg/a.whl" in str(found)


@pytest.mark.parametrize(
    "reason, because, hint",
    [
        ("Tunnel connection failed: 407 Authentication Required", "another user name and password", "USER:PASSWORD"),
        ("certificate verify failed", "its certificate", "REQUESTS_CA_BUNDLE"),
        ("Name or service not known", "Name or service not known", "check pip.conf"),
    ],
)
def test_a_proxy_is_named_with_where_it_was_set(reason, because, hint):
    found = explain(ERRORS, ERRORS.ProxyError(OSError(reason)), URL, PROXIED)
    assert "through http://proxy.example:3128 (pip.conf)" in str(found)
    assert because in str(found)
    assert hint in found.hint
    assert "secret" not in str(found)


def test_a_proxy_of_the_environment_is_named_too(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:1")
    found = explain(ERRORS, ERRORS.ProxyError(OSError("refused")), URL, Connection())
    assert "http://proxy.example:1 (HTTPS_PROXY)" in str(found)


@named_cases(
    "connection, hint",
    {
        "of the system": (Connection(), "PIP_CERT, REQUESTS_CA_BUNDLE or SSL_CERT_FILE"),
        "of a bundle": (Connection(certificates=Setting("ca.pem", "PIP_CERT")), "checked against ca.pem (PIP_CERT)"),
    },
)
def test_a_certificate_that_is_not_trusted(connection, hint):
    found = explain(ERRORS, ERRORS.SSLError(ssl.SSLError("self-signed certificate")), URL, connection)
    assert "cannot be trusted" in str(found)
    assert hint in found.hint


def test_a_server_that_wants_a_certificate_of_ours():
    error = ERRORS.SSLError(ssl.SSLError("tlsv13 alert certificate required"))
    assert "PIP_CLIENT_CERT" in explain(ERRORS, error, URL, Connection()).hint
    own = Connection(client_certificate=Setting("me.pem", "pip.conf"))
    assert "me.pem (pip.conf)" in explain(ERRORS, error, URL, own).hint


def test_the_innermost_error_says_most():
    outer = ValueError("wrapped")
    outer.__cause__ = OSError(111, "Connection refused")
    assert innermost(outer) == "Connection refused"
    assert innermost(ValueError(KeyError("inside"))) == "'inside'"


AUTHORIZATION = "Basic bWU6czNjcmV0"


@pytest.mark.parametrize(
    "error",
    [
        http.client.BadStatusLine(f"HTTP/1.1 401 {AUTHORIZATION}"),
        http.client.UnknownProtocol(f"HTTP/7 {AUTHORIZATION}"),
        http.client.IncompleteRead(AUTHORIZATION.encode(), 9),
        urllib3.exceptions.InvalidHeader(f"Content-Length contained multiple unmatching values ({AUTHORIZATION})"),
        urllib3.exceptions.DecodeError(f"Received response with content-encoding: {AUTHORIZATION}"),
        OSError(f"Tunnel connection failed: 502 {AUTHORIZATION}"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_server_that_repeats_our_password_is_not_quoted(error):
    for wrapped in (error, ERRORS.ConnectionError(error), ERRORS.ProxyError(error)):
        assert "bWU6" not in str(explain(ERRORS, wrapped, URL, PROXIED))


@pytest.mark.parametrize("status", [401, 403, 409, 418, 599])
def test_nor_is_what_it_writes_beside_the_status(status):
    def echo(request: Request, reply: Reply) -> Reply:
        assert request.headers["Authorization"].startswith("Basic ")
        return Reply(status, {}, b"", reason=f"{request.headers['Authorization']} s3cret")

    with running({}) as server:
        server.fault = echo
        url = server.url.replace("//", "//me:s3cret@")
        with Transport(patience=Patience(tries=1)).get(url) as answer, pytest.raises(NetworkFailure) as caught:
            refuse_status(answer, "x")
    assert f"the server answers {status}" in str(caught.value)
    assert not {"s3cret", "Basic"} & set(str(caught.value).replace(":", " ").split())


@pytest.mark.parametrize("name", ["Content-Range", "Content-Encoding", "Content-Length", "Content-Type"])
def test_nor_its_headers(name, tmp_path, capsys):
    def echo(request: Request, reply: Reply) -> Reply:
        return Reply(206 if request.span else 200, {name: "s3cret", "Connection": "close"}, b"x")

    with running({}) as server:
        server.fault = echo
        url = server.url.replace("//", "//me:s3cret@")
        words = ["--index-url", f"{url}/simple", "--cache-dir", str(tmp_path)]
        assert main(["scan", "demo==1.0", f"{url}/demo-1.0-cp311-cp311-win_amd64.whl", *words]) != 0
    assert "s3cret" not in "".join(capsys.readouterr())

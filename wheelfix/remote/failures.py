"""Errors of the HTTP library as errors of ours: what cannot be read, why, and which setting to look at."""

from __future__ import annotations

import os
import re
import ssl
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from wheelfix.base.values import replace
from wheelfix.errors import InputError, NetworkFailure, redacted, shown_url
from wheelfix.remote.addresses import split_url
from wheelfix.remote.settings import Setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.remote.settings import Connection


class CutShort(NetworkFailure):
    """An answer was cut short; the bytes that came until then are valid."""


class Downgrade(Exception):
    """A redirect from https to something that anybody on the way can change."""


PROXY_ACCOUNT = "put them into the URL of the proxy: http://USER:PASSWORD@HOST:PORT"


def explain(library: Any, error: Exception, url: str, connection: Connection) -> NetworkFailure | InputError:
    """Return an error of ours for one of the library ``requests``; CutShort where asking again may help."""
    shown, text = shown_url(url), str(error)
    if isinstance(error, Downgrade):
        return NetworkFailure(f"{shown} is not fetched", because=text)
    if isinstance(error, library.ProxyError):
        return _about_proxy(error, url, connection)
    if isinstance(error, library.SSLError):
        return _about_certificates(error, shown, connection)
    if isinstance(error, library.TooManyRedirects):
        return NetworkFailure(f"{shown} cannot be read", because="the server redirects in a circle")
    if "SOCKS support" in text:
        return NetworkFailure(
            f"{shown} cannot be reached through the proxy",
            because=f"{_proxy_of(url, connection).source} names a SOCKS proxy, and PySocks is not installed",
            hint="python -m pip install pysocks",
        )
    if isinstance(error, library.InvalidProxyURL):
        because = f"{_proxy_of(url, connection).source} is not the URL of a proxy"
        return NetworkFailure(f"{shown} cannot be reached", because=because, hint="write it as http://HOST:PORT")
    if isinstance(error, library.InvalidURL | library.InvalidSchema | library.MissingSchema | UnicodeError):
        return InputError(f"{shown} cannot be read", because="it is not a valid URL of http or https")
    if "IncompleteRead" in text:
        return CutShort(f"{shown} cannot be read", because="the connection was cut")
    if isinstance(error, library.Timeout):
        return CutShort(f"{shown} cannot be read", because="the server does not answer in time")
    return CutShort(f"{shown} cannot be read", because=innermost(error), hint="check the network and try again")


def _about_proxy(error: Exception, url: str, connection: Connection) -> NetworkFailure:
    proxy, reason = _proxy_of(url, connection), innermost(error)
    named = f"{shown_url(proxy.value)} ({proxy.source})" if proxy else "the proxy"
    what = f"{shown_url(url)} cannot be reached through {named}"
    if "failed: 407" in reason or "failed: 401" in reason:
        return NetworkFailure(what, because="the proxy asks for another user name and password", hint=PROXY_ACCOUNT)
    if "CERTIFICATE_VERIFY" in reason or "certificate verify" in reason:
        return NetworkFailure(what, because=f"its certificate: {reason}", hint=_hint_about_certificates(connection))
    hint = f"check {proxy.source}, or name the host in NO_PROXY" if proxy else "check HTTPS_PROXY and HTTP_PROXY"
    return NetworkFailure(what, because=reason, hint=hint)


def _proxy_of(url: str, connection: Connection) -> Setting:
    """Return the proxy that is used for a URL, as far as a setting or a variable names it."""
    scheme = split_url(url).scheme.lower()
    own = connection.https_proxy if scheme == "https" else connection.http_proxy
    found = own or _from_environment(scheme, os.environ)
    return found if not found or "://" in found.value else replace(found, value=f"http://{found.value}")


def _from_environment(scheme: str, environ: Mapping[str, str]) -> Setting:
    names = [name for kind in (scheme, "all") for name in (f"{kind}_proxy", f"{kind}_proxy".upper())]
    return next((Setting(environ[name], name) for name in names if environ.get(name)), Setting())


def _about_certificates(error: Exception, shown: str, connection: Connection) -> NetworkFailure:
    reason = innermost(error)
    if ("alert" in reason and "certificate" in reason) or "CERTIFICATE_REQUIRED" in reason:
        hint = "name a PEM file with your certificate and its key in PIP_CLIENT_CERT or SSL_CLIENT_CERT"
        if own := connection.client_certificate:
            hint = f"the server does not take the certificate in {own.value} ({own.source})"
        return NetworkFailure(f"{shown} cannot be read", because=f"the server refuses us: {reason}", hint=hint)
    return NetworkFailure(f"{shown} cannot be trusted", because=reason, hint=_hint_about_certificates(connection))


def _hint_about_certificates(connection: Connection) -> str:
    if bundle := connection.certificates:
        return (
            f"certificates are checked against {bundle.value} ({bundle.source}): "
            "if your network or index has its own certificate authority, add its certificate there"
        )
    return (
        "if your network or index has its own certificate authority, "
        "name the PEM file with its certificate in PIP_CERT, REQUESTS_CA_BUNDLE or SSL_CERT_FILE"
    )


def innermost(error: BaseException) -> str:
    """Return the message of the cause that says most: the libraries wrap each other's errors."""
    seen: list[BaseException] = []
    while error not in seen:
        seen.append(error)
        inner = error.__cause__ or error.__context__ or getattr(error, "reason", None)
        if not isinstance(inner, BaseException):
            inner = next((one for one in error.args if isinstance(one, BaseException)), None)
        if inner is None:
            break
        error = inner
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_message:
        return f"certificate verify failed: {error.verify_message}"
    if isinstance(error, HTTPException) or type(error).__name__ in ("InvalidHeader", "DecodeError"):
        return "its answer is not valid HTTP"  # their messages quote the server, which may repeat our password
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    text = re.sub(r"(Tunnel connection failed: \d{3}).*", r"\1", " ".join(str(text).split()))
    return redacted(text)[:300]

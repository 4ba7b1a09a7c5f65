"""HTTP with bounded time and memory: the only module that knows requests, truststore and urllib3."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import ssl
import threading
import time
from http.client import HTTPException
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import wheelfix
from wheelfix.base.values import frozen, replace
from wheelfix.errors import EnvironmentFailure, InputError, NetworkFailure, import_extra, redacted, shown_url
from wheelfix.remote.addresses import Account, is_safe, server_of, split_url, userinfo, without_userinfo
from wheelfix.remote.settings import Connection, Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import requests


# ------------------------------------------------------------------------------------------------------------- failures
# Errors of the HTTP library as errors of ours: what cannot be read, why, and which setting to look at.


class CutShort(EnvironmentFailure):
    """An answer was cut short; the bytes that came until then are valid."""

    def final(self) -> NetworkFailure:
        """Return the same as a failure after which nothing is tried again."""
        return NetworkFailure(self.what, because=self.reasons, hint=self.hint)


class Downgrade(Exception):
    """A redirect from https to something that anybody on the way can change."""


PROXY_ACCOUNT = "put them into the URL of the proxy: http://USER:PASSWORD@HOST:PORT"


def explain(library: Any, error: Exception, url: str, connection: Connection) -> NetworkFailure | CutShort | InputError:
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
    names = [name for kind in (scheme, "all") for name in (f"{kind}_proxy", f"{kind}_proxy".upper())]
    found = own or next((Setting(said, name) for name in names if (said := os.environ.get(name))), Setting())
    return found if not found or "://" in found.value else replace(found, value=f"http://{found.value}")


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


# ---------------------------------------------------------------------------------------------------------- connections
# The session through which servers are asked: certificates, proxies and redirects, as for pip.
# Only ``transport.py`` uses it, which hands over the library.


_POOL = 16


def make_session(library: Any, connection: Connection, say: Callable[[str], object]) -> Any:
    """Return a session of ``requests``; EnvironmentFailure where a file of certificates cannot be used."""
    check_files(connection)

    class Session(library.Session):  # type: ignore[misc]
        """Follows redirects, but not from https to http; knows which proxy a host has."""

        def get_redirect_target(self, resp: Any) -> str | None:
            target: str | None = super().get_redirect_target(resp)
            scheme = urlsplit(target).scheme if target else ""
            if urlsplit(resp.url).scheme == "https" and scheme not in ("", "https"):
                raise Downgrade(f"the server redirects from https to {scheme}")
            return target

        def send(self, request: Any, **said: Any) -> Any:
            own = _proxies(library, connection, request.url)
            if own is not None:
                said["proxies"] = own
                request.headers.pop("Proxy-Authorization", None)  # a redirect adds that of another proxy
            return super().send(request, **said)

    session = Session()
    session.max_redirects = 10
    session.headers["User-Agent"] = f"wheelfix/{wheelfix.__version__}"
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.mount("http://", library.adapters.HTTPAdapter(pool_maxsize=_POOL))
    session.mount("https://", _adapter(library, say, None if connection.certificates else _system_certificates()))
    if connection.trusted_hosts:
        urllib3 = _library("urllib3")
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # ours names the setting
    for prefix in trusted_prefixes(connection.trusted_hosts):
        session.mount(prefix, _adapter(library, say, None, connection.trusted_from))
    return session


def _proxies(library: Any, connection: Connection, url: str) -> dict[str, str] | None:
    """Return the proxies for a URL, none or some; None where the variables of the environment decide."""
    named = {"http": connection.http_proxy.value, "https": connection.https_proxy.value}
    if not named.get(urlsplit(url).scheme):
        return None if connection.environment_proxies else {}
    if connection.no_proxy and library.utils.should_bypass_proxies(url, connection.no_proxy):
        return {}
    return named


def check_files(connection: Connection) -> None:
    """EnvironmentFailure if a file of certificates is absent or not valid; the message names the setting."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without those of the system, which take time to read
    if bundle := connection.certificates:
        path = Path(bundle.value)
        with _usable(bundle, "certificates of authorities"):
            if path.is_dir():
                context.load_verify_locations(capath=bundle.value)
            else:
                context.load_verify_locations(cafile=bundle.value)
    if own := connection.client_certificate:
        with _usable(own, "your certificate and its key"):
            context.load_cert_chain(own.value, password=lambda: "")  # never ask on the terminal


@contextlib.contextmanager
def _usable(setting: Setting, what: str) -> Any:
    try:
        yield
    except (OSError, ValueError) as exc:  # ssl.SSLError is an OSError
        missing = isinstance(exc, FileNotFoundError)
        reason = "there is no such file" if missing else f"it is not a PEM file with {what}"
        if isinstance(exc, PermissionError):
            reason = "it may not be read"
        raise EnvironmentFailure(
            f"{setting.value} cannot be used for connections", because=reason, hint=f"correct {setting.source}"
        ) from exc


def _adapter(library: Any, say: Callable[[str], object], context: Any, trusted_from: str = "") -> Any:
    """Return an adapter for https, which checks certificates with a context; those of trusted hosts not at all."""

    class Adapter(library.adapters.HTTPAdapter):  # type: ignore[misc]
        def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
            if trusted_from:
                say(f"the certificate of {server_of(url)[1]} is not checked: {trusted_from} names it as a trusted host")
            super().cert_verify(conn, url, False if trusted_from else verify, cert)

        def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
            found = super().build_connection_pool_key_attributes(request, False if trusted_from else verify, cert)
            if context is not None:
                found[1]["ssl_context"] = context
            return found

    return Adapter(pool_maxsize=_POOL)


def _system_certificates() -> Any:
    """Return what checks certificates with those of the system, as pip does; None where there is no such library."""
    with contextlib.suppress(ImportError):
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return None


def trusted_prefixes(hosts: tuple[str, ...]) -> list[str]:
    """Return how URLs of trusted hosts begin: with their port, or with any where none is named."""
    found = []
    for host in hosts:
        name = host.partition("://")[2] or host
        name = name.strip("/").lower()
        bare = (name.startswith("[") and name.endswith("]")) or name.count(":") != 1
        if ":" in name and not name.startswith("["):
            name = f"[{name}]" if bare else name
        found += [f"https://{name}/"] + ([f"https://{name}:"] if bare else [])
    return found


def seconds_of(retry_after: str) -> float:
    """Return how long a server asks to wait, as seconds or as a date; 0 where it does not say."""
    urllib3 = _library("urllib3")
    try:
        return max(0.0, urllib3.Retry().parse_retry_after(retry_after)) if retry_after else 0.0
    except (urllib3.exceptions.InvalidHeader, ValueError, OverflowError):
        return 0.0


# ------------------------------------------------------------------------------------------------------------ transport
# HTTP with bounded time and memory: the only module that knows requests.
# requests brings what pip has too: proxies from the environment, netrc, redirects that take no password to another
# server. Added here: every answer is read in a thread of its own and waited for until a deadline, since a server that
# sends a byte now and then is never idle for long enough to time out; servers that are busy are asked again.


BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which it makes sense to ask again."""
PIECE = 256 << 10


@frozen
class Patience:
    """How long a server may take, in seconds."""

    connect: float = 15.0
    idle: float = 30.0
    """Between two pieces of an answer."""
    answer: float = 60.0
    """For an answer without its bytes; also how far its bytes may fall behind."""
    least_rate: float = 32 << 10
    """Bytes per second in which an answer has to come, besides that."""
    least_progress: int = 16 << 10
    """Bytes that have to come before a connection is cut; less counts as a failed try."""
    tries: int = 5
    first_wait: float = 0.5
    """Before a server is asked again; doubles each time."""
    longest_wait: float = 60.0
    """The longest Retry-After that is waited for."""

    def deadline(self, begun: float, received: int) -> float:
        """Return until when the next bytes of an answer have to come, after so many."""
        return begun + self.answer + received / self.least_rate


class Attempts:
    """Counts failures in a row, those without progress, and waits longer after each."""

    def __init__(self, patience: Patience) -> None:
        self._patience, self._failed = patience, 0

    @property
    def last(self) -> bool:
        """Whether this try is the last one."""
        return self._failed + 1 >= self._patience.tries

    def wait(self, least: float = 0.0) -> None:
        """Wait after a failure, at least for so many seconds."""
        patience = self._patience
        time.sleep(max(least, min(patience.first_wait * 2**self._failed, patience.longest_wait)))
        self._failed += 1

    def note(self, error: CutShort, progress: int = 0) -> None:
        """Wait after a failure; raise it as the final one where too many brought too few bytes."""
        if progress >= self._patience.least_progress:
            self._failed = 0
        elif self.last:
            raise error.final() from error
        else:
            self.wait()


def _library(name: str) -> Any:
    return import_extra(name, "files on servers cannot be read", "fetch")


class Transport:
    """Asks servers, for several threads; counts requests and bytes."""

    def __init__(
        self,
        *,
        patience: Patience | None,
        connection: Connection | None = None,
        credentials: Callable[[str], Account | None] = userinfo,
        after_refusal: Callable[[str], Account | None] = lambda _: None,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        """``credentials`` knows user and password of a URL, ``after_refusal`` where a server asks for them."""
        self.patience = patience or Patience()
        self.requests = self.received = 0
        self.connection = connection or Connection()
        self._requests = _library("requests")
        self._credentials, self._after_refusal = credentials, after_refusal
        self._say, self._said = say, set[str]()
        self._lock = threading.Lock()
        self._session = make_session(self._requests, self.connection, self.say_once)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def say_once(self, message: str) -> None:
        """Tell the user something, unless it was said before."""
        with self._lock:
            if message in self._said:
                return
            self._said.add(message)
        self._say(message)

    @contextlib.contextmanager
    def get(
        self, url: str, headers: Mapping[str, str] | None = None, *, decoded: bool = False
    ) -> Iterator[ServerAnswer]:
        """Ask for a URL.

        Busy servers and broken connections are tried again until there is an answer. ``decoded`` unpacks an answer
        that was compressed on its way.
        """
        answer = self._answered(url, dict(headers or {}), decoded)
        try:
            yield answer
        finally:
            answer.close()

    def _answered(self, url: str, headers: dict[str, str], decoded: bool) -> ServerAnswer:
        attempts, auth, asked_keyring = Attempts(self.patience), self._account(url), False
        headers.setdefault("Accept-Encoding", "gzip" if decoded else "identity")
        while True:
            try:
                answer = ServerAnswer(self, url, headers, auth, decoded)
            except CutShort as error:
                attempts.note(error)
                continue
            if answer.status == 401 and not asked_keyring:
                found, asked_keyring = self._after_refusal(url), True
                if found is not None and found != auth:
                    auth = found
                    answer.close()
                    continue
            if answer.status not in BUSY or attempts.last:
                return answer
            answer.close()
            attempts.wait(self._retry_after(answer, url))

    def _account(self, url: str) -> Account | None:
        """Return user and password for a URL; netrc counts before a user name without a password, as for pip."""
        found = self._credentials(url)
        if found is None or found[1]:
            return found
        netrc: Account | None = self._requests.utils.get_netrc_auth(without_userinfo(url))
        return netrc or found

    def _retry_after(self, answer: ServerAnswer, url: str) -> float:
        wait = seconds_of(answer.headers.get("Retry-After", ""))
        if wait > self.patience.longest_wait:
            raise NetworkFailure(
                f"{shown_url(url)} cannot be read now",
                because=f"the server answers {answer.status} and asks to wait {wait:.0f} seconds",
                hint="try again later",
            )
        return wait

    def count(self, requests: int, received: int) -> None:
        """Add to what was asked for and came."""
        with self._lock:
            self.requests += requests
            self.received += received

    def start(self, url: str, headers: Mapping[str, str], auth: Account | None) -> requests.Response:
        """Send a request and return the answer, of which only the headers have been read."""
        return self._session.get(  # type: ignore[no-any-return]
            without_userinfo(url),
            headers=headers,
            auth=auth,
            stream=True,
            timeout=(self.patience.connect, self.patience.idle),
            verify=self.connection.certificates.value or True,
            cert=self.connection.client_certificate.value or None,
        )

    def explained(self, error: Exception, url: str) -> NetworkFailure | CutShort | InputError:
        """Return an error of the library as one of ours; CutShort where asking again may help."""
        return explain(self._requests.exceptions, error, url, self.connection)


class ServerAnswer:
    """An answer of a server: its headers, and its bytes as they come, until a deadline."""

    def __init__(
        self,
        transport: Transport,
        url: str,
        headers: Mapping[str, str],
        auth: Account | None,
        decoded: bool,
    ) -> None:
        self._transport, self.url, self._decoded = transport, url, decoded
        self._begun, self._received = time.monotonic(), 0
        self._pieces: queue.Queue[requests.Response | bytes | Exception | None] = queue.Queue(8)
        self._abandoned = threading.Event()
        reader = threading.Thread(target=self._read_all, args=(url, headers, auth), daemon=True)
        reader.start()
        transport.count(1, 0)
        first = self._next()
        assert first is not None
        assert not isinstance(first, bytes)
        self.status: int = first.status_code
        self.headers: Mapping[str, str] = first.headers
        self.final: str = str(first.url)
        """The address that redirects led to; it may hold secrets."""
        hops = [str(one.url) for one in (*first.history, first)]
        self.unsafe: str = next((hop for hop in hops if not is_safe(hop, transport.connection.trusted_hosts)), "")
        """The first address on the way, from the one that was asked for to the last, at which anybody on the network
        could change the answer or where it leads; empty: there is none. It may hold secrets."""
        if self.unsafe:
            host = shown_url(self.unsafe).split("/")[2]
            transport.say_once(f"{host} is asked over plain http: anyone on the network can change what it answers")

    def _read_all(self, url: str, headers: Mapping[str, str], auth: Account | None) -> None:
        """In a thread: ask, and hand over the answer and its bytes."""
        try:
            with self._transport.start(url, headers, auth) as response:
                self._hand_over(response)
                while not self._abandoned.is_set():
                    piece = response.raw.read1(PIECE, decode_content=self._decoded)
                    if not piece:
                        break
                    self._hand_over(piece)
            self._hand_over(None)
        except Exception as error:
            self._hand_over(error)

    def _hand_over(self, item: requests.Response | bytes | Exception | None) -> None:
        while not self._abandoned.is_set():
            with contextlib.suppress(queue.Full):
                self._pieces.put(item, timeout=1.0)
                return

    def _next(self) -> requests.Response | bytes | None:
        deadline = self._transport.patience.deadline(self._begun, self._received)
        try:
            item = self._pieces.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            self.close()
            raise NetworkFailure(
                f"{shown_url(self.url)} cannot be read",
                because="the server is too slow: the time for this answer is over",
                hint="try again later",
            ) from None
        if isinstance(item, Exception):
            raise self._transport.explained(item, self.url) from item
        if isinstance(item, bytes):
            self._received += len(item)
            self._transport.count(0, len(item))
        return item

    def chunks(self, limit: int) -> Iterator[bytes]:
        """Yield the bytes; NetworkFailure beyond ``limit``, CutShort where they end before the answer does."""
        total = 0
        while piece := self._next():
            assert isinstance(piece, bytes)
            total += len(piece)
            if total > limit:
                self.close()
                raise NetworkFailure(
                    f"{shown_url(self.url)} cannot be read",
                    because=f"the server sends more than the {limit} bytes that belong there",
                )
            yield piece

    def close(self) -> None:
        """Stop reading it."""
        self._abandoned.set()

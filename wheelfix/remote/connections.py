"""The session through which servers are asked: certificates, proxies and redirects, as for pip.

Only ``transport.py`` uses it, which hands over the library.
"""

from __future__ import annotations

import contextlib
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import wheelfix
from wheelfix.errors import EnvironmentFailure
from wheelfix.remote.addresses import server_of
from wheelfix.remote.failures import Downgrade

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.remote.settings import Connection, Setting

_POOL = 16


def make_session(library: Any, connection: Connection, say: Callable[[str], object]) -> Any:
    """Return a session of ``requests``; EnvironmentFailure where a file of certificates cannot be used."""
    from http.cookiejar import DefaultCookiePolicy

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
    session.mount("https://", _checking_adapter(library, connection))
    _mount_trusted_hosts(session, library, connection, say)
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


def _checking_adapter(library: Any, connection: Connection) -> Any:
    """Return the adapter for https: with the certificates of the system, as pip does, unless a bundle was named."""
    context: Any = None
    if not connection.certificates:
        with contextlib.suppress(ImportError):
            import truststore

            context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    class Adapter(library.adapters.HTTPAdapter):  # type: ignore[misc]
        def init_poolmanager(self, *args: Any, **said: Any) -> None:
            if context is not None:
                said["ssl_context"] = context
            super().init_poolmanager(*args, **said)

        def proxy_manager_for(self, proxy: str, **said: Any) -> Any:
            if context is not None:
                said["ssl_context"] = context
            return super().proxy_manager_for(proxy, **said)

    return Adapter(pool_maxsize=_POOL)


def _mount_trusted_hosts(session: Any, library: Any, connection: Connection, say: Callable[[str], object]) -> None:
    """Do not check the certificates of hosts that pip or uv is configured to trust; say so when one is used."""
    if not connection.trusted_hosts:
        return
    import urllib3

    urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # ours names the setting

    class Unchecked(library.adapters.HTTPAdapter):  # type: ignore[misc]
        def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
            say(
                f"the certificate of {server_of(url)[1]} is not checked: "
                f"{connection.trusted_from} names it as a trusted host"
            )
            super().cert_verify(conn, url, False, cert)

        def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
            return super().build_connection_pool_key_attributes(request, False, cert)

    adapter = Unchecked(pool_maxsize=_POOL)
    for prefix in trusted_prefixes(connection.trusted_hosts):
        session.mount(prefix, adapter)


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
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    try:
        return max(0.0, Retry().parse_retry_after(retry_after)) if retry_after else 0.0
    except (InvalidHeader, ValueError, OverflowError):
        return 0.0

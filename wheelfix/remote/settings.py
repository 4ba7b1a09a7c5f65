"""Which indexes to ask and how to reach them: as the user says, else as pip and uv are configured on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field, replace
from wheelfix.errors import UsageError, shown_url
from wheelfix.remote.pipsettings import PipSettings, pip_settings
from wheelfix.remote.uvsettings import UvSettings, uv_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.remote.remoteoptions import RemoteOptions

PYPI = "https://pypi.org/simple"


@dataclass(frozen=True, slots=True)
class Setting:
    """A value, and where it was set: a variable or a file."""

    value: str = ""
    source: str = ""

    def __bool__(self) -> bool:
        return bool(self.value)


@dataclass(frozen=True, slots=True)
class Connection:
    """How servers are reached."""

    certificates: Setting = Setting()
    """A file or folder of PEM certificates; empty: those of the system."""
    client_certificate: Setting = Setting()
    """A PEM file with the certificate and the key of this user."""
    http_proxy: Setting = Setting()
    """Empty: as HTTP_PROXY and ALL_PROXY say."""
    https_proxy: Setting = Setting()
    no_proxy: str = ""
    """Hosts that the two proxies are not used for."""
    environment_proxies: bool = True
    """Whether variables may name proxies."""
    trusted_hosts: tuple[str, ...] = ()
    """Hosts, perhaps with a port, whose certificates are not checked."""
    trusted_from: str = ""
    keyring: str = "auto"
    """``auto``, ``disabled``, ``import`` or ``subprocess``, as pip's ``keyring-provider``."""


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The indexes to ask, and how."""

    index_url: str = PYPI
    """Empty: none."""
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    """Folders of wheels, and pages that link to wheels."""
    first_index: bool = False
    """Whether the other indexes come first and only the first that has a project counts, as for uv."""
    connection: Connection = field(default_factory=Connection)
    learned: str = "default"
    """Where the index came from: an option, a variable, a file."""

    @property
    def urls(self) -> tuple[str, ...]:
        """All indexes, in the order in which they are asked."""
        main, others = (self.index_url,), self.extra_index_urls
        return tuple(url for url in (others + main if self.first_index else main + others) if url)


def index_settings(options: RemoteOptions, environ: Mapping[str, str] | None = None) -> IndexSettings:
    """Return the indexes to ask: options first, then what pip is configured for, then uv, then PyPI."""
    environ = os.environ if environ is None else environ
    pip, uv = pip_settings(environ), uv_settings(environ)
    settings = _of_pip(pip) or _of_uv(uv) or IndexSettings()
    settings = replace(settings, connection=_connection(pip, uv, environ))
    for url in (options.index_url, *options.extra_index_urls):
        if url and not url.lower().startswith(("http://", "https://", "file:")):
            shown = shown_url(url if ":/" in url else f"index:/{url}").removeprefix("index:/")
            raise UsageError(f"{shown} is not the URL of an index", hint=f"write it as {PYPI}")
    if options.index_url:
        settings = replace(settings, index_url=options.index_url.rstrip("/"), learned="--index-url")
    if options.extra_index_urls:
        settings = replace(settings, extra_index_urls=tuple(url.rstrip("/") for url in options.extra_index_urls))
    return settings


def _of_pip(pip: PipSettings) -> IndexSettings | None:
    """Return the indexes that pip would use; None where its configuration says nothing about them."""
    learned = pip.source("index-url", "extra-index-url", "find-links", "no-index")
    if not learned:
        return None
    none = pip.switch("no-index")
    return IndexSettings(
        index_url="" if none else (pip.text("index-url") or PYPI).rstrip("/"),
        extra_index_urls=() if none else tuple(url.rstrip("/") for url in pip.text("extra-index-url").split()),
        find_links=pip.words("find-links"),
        learned=learned,
    )


def _of_uv(uv: UvSettings) -> IndexSettings | None:
    """Return the indexes that uv would use; None where it is not configured."""
    if not uv.learned:
        return None
    return IndexSettings(
        index_url=uv.default or PYPI,
        extra_index_urls=uv.extra,
        find_links=uv.find_links,
        first_index=uv.first_index,
        learned=uv.learned,
    )


def _connection(pip: PipSettings, uv: UvSettings, environ: Mapping[str, str]) -> Connection:
    """Return how servers are reached: as pip is configured, and where it is not, as uv and the environment say."""

    def variable(name: str) -> Setting:
        return Setting(environ.get(name, ""), name)

    def of_pip(name: str) -> Setting:
        return Setting(pip.text(name), pip.source(name))

    proxy = of_pip("proxy")
    bundles = [of_pip("cert"), variable("REQUESTS_CA_BUNDLE"), variable("CURL_CA_BUNDLE")]
    # OpenSSL and uv ignore these two where they name nothing that is there
    bundles += [one for one in map(variable, ("SSL_CERT_FILE", "SSL_CERT_DIR")) if one and Path(one.value).exists()]
    return Connection(
        certificates=next(filter(None, bundles), Setting()),
        client_certificate=of_pip("client-cert") or variable("SSL_CLIENT_CERT"),
        http_proxy=proxy or Setting(uv.http_proxy, uv.proxy_from),
        https_proxy=proxy or Setting(uv.https_proxy, uv.proxy_from),
        no_proxy="" if proxy else uv.no_proxy,
        environment_proxies=not pip.switch("no-proxy-env"),
        trusted_hosts=pip.words("trusted-host") + uv.insecure_hosts,
        trusted_from=pip.source("trusted-host") or uv.insecure_from,
        keyring=pip.text("keyring-provider") or uv.keyring or "auto",
    )

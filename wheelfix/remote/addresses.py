"""URLs as they may be shown: without user names, passwords and tokens."""

from __future__ import annotations

import contextlib
import ipaddress
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

_USERINFO = r"(?<=://)[^/?#\s]*@"
_REQUIREMENT = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\s*(?:\[[^\]]*\]\s*)?(?:===?|~=|!=|[<>]=?)\s*[^/\\]+"
_URL = r"https?://[^\s'\")]+"


def without_secrets(url: str) -> str:
    """Return a URL without user name, password, query and fragment: each of them may grant access."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def without_userinfo(url: str) -> str:
    """Return a URL without user name and password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def redacted(text: str) -> str:
    """Return a message of a library in which URLs have no secrets."""
    return re.sub(_URL, lambda url: re.split("[?#]", url[0], maxsplit=1)[0], re.sub(_USERINFO, "", text))


def userinfo(url: str) -> tuple[str, str] | None:
    """Return user name and password that stand in a URL, or None."""
    before, at, _ = urlsplit(url).netloc.rpartition("@")
    if not at:
        return None
    name, _, password = before.partition(":")
    return unquote(name), unquote(password)


def server_of(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port, by which servers compare."""
    parts = urlsplit(url)
    default = {"https": 443, "http": 80}.get(parts.scheme, 0)
    try:
        port = parts.port or default
    except ValueError:
        port = -1
    return parts.scheme, (parts.hostname or "").lower(), port


def is_safe(url: str, trusted_hosts: Iterable[str] = ()) -> bool:
    """Whether nobody on the way can change what comes from a URL, or the user trusts its host; as pip decides it."""
    scheme, host, port = server_of(url)
    if scheme != "http" or host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return True
    return any(trusted.lower() in (host, f"{host}:{port}") for trusted in trusted_hosts)


def file_name(url: str) -> str:
    """Return the name of the file that a URL leads to."""
    return unquote(urlsplit(url).path.rpartition("/")[2])


def is_url(text: str) -> bool:
    """Whether a text is the address of something on a server."""
    return text[:8].lower().startswith(("http://", "https://"))


def is_remote(word: str) -> bool:
    """Whether a word names a wheel on a server: a URL, or a distribution with a version such as ``torch==2.7.1``."""
    return is_url(word) or re.fullmatch(_REQUIREMENT, word) is not None

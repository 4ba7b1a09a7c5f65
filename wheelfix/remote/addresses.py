"""URLs: whose they are, what identifies them, and whether somebody on the way could change what comes from them."""

from __future__ import annotations

import contextlib
import ipaddress
import re
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

from wheelfix.errors import UsageError, shown_url

if TYPE_CHECKING:
    from collections.abc import Iterable
    from urllib.parse import SplitResult

Account: TypeAlias = tuple[str, str]
"""User name and password."""
_REQUIREMENT = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\s*(?:\[[^\]]*\]\s*)?(?:===?|~=|!=|[<>]=?)\s*[^/\\]+"


def split_url(url: str) -> SplitResult:
    """Return the parts of a URL; UsageError, without its secrets, for one that Python or no server understands.

    ``urlsplit`` raises ValueError with user name and password in it: for ``http://[x``, and for a host with a character
    that stands for others (``U+2100`` for ``a/c``).
    """
    try:
        url.encode("utf-8")  # halves of characters
        return urlsplit(url)
    except ValueError:
        raise UsageError(
            f"{shown_url(url)[:120]} is not the address of a server".encode("utf-8", "replace").decode(),
            hint="check the URL: its host has characters that no host can have",
        ) from None


def identity(url: str) -> str:
    """Return what identifies a file on a server, whoever asks for it: the URL without account, query and fragment."""
    return urlunsplit(split_url(without_userinfo(url))._replace(query="", fragment=""))


def without_userinfo(url: str) -> str:
    """Return a URL without user name and password."""
    parts = split_url(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def userinfo(url: str) -> Account | None:
    """Return user name and password that stand in a URL, or None."""
    before, at, _ = split_url(url).netloc.rpartition("@")
    if not at:
        return None
    name, _, password = before.partition(":")
    return unquote(name), unquote(password)


def server_of(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port, by which servers compare."""
    parts = split_url(url)
    default = {"https": 443, "http": 80}.get(parts.scheme, 0)
    try:
        port = parts.port or default
    except ValueError:
        port = -1
    return parts.scheme, (parts.hostname or "").lower(), port


def is_safe(url: str, trusted_hosts: Iterable[str]) -> bool:
    """Whether nobody on the way can change what comes from a URL, or the user trusts its host; as pip decides it."""
    scheme, host, port = server_of(url)
    if scheme in ("https", "file", "") or (scheme == "http" and host == "localhost"):
        return True
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return True
    return any(trusted.lower() in (host, f"{host}:{port}") for trusted in trusted_hosts)


def file_name(url: str) -> str:
    """Return the name of the file that a URL leads to."""
    return unquote(split_url(url).path.rpartition("/")[2])


def is_url(text: str) -> bool:
    """Whether a text is the address of something on a server."""
    return text[:8].lower().startswith(("http://", "https://"))


def is_remote(word: str) -> bool:
    """Whether a word names a wheel on a server: a URL, or a distribution with a version such as ``torch==2.7.1``."""
    return is_url(word) or re.fullmatch(_REQUIREMENT, word) is not None

"""What uv is configured for: its variables, then ``uv.toml`` of the user and the system."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlunsplit

from wheelfix.base.values import dataclass
from wheelfix.remote.addresses import split_url, userinfo
from wheelfix.remote.configfiles import read_toml, uv_files

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMED = r"([A-Za-z0-9._-]{1,100})=(?=[A-Za-z][A-Za-z0-9+.-]{0,20}:|[./\\])"
_NOT_FIRST = ("unsafe-first-match", "unsafe-best-match")


@dataclass(frozen=True, slots=True)
class UvSettings:
    """The values that uv would use."""

    default: str = ""
    """The main index, empty where none is named."""
    extra: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    learned: str = ""
    """Where the indexes are named; empty: nowhere."""
    first_index: bool = True
    """Whether only the first index that has a project counts."""
    insecure_hosts: tuple[str, ...] = ()
    insecure_from: str = ""
    keyring: str = ""
    http_proxy: str = ""
    https_proxy: str = ""
    no_proxy: str = ""
    proxy_from: str = ""


def uv_settings(environ: Mapping[str, str]) -> UvSettings:
    """Return what uv would use; variables come before files, the file of the user before those of the system."""
    trees = [(str(path), tree) for path in uv_files(environ) if (tree := _merged(read_toml(path)))]

    def value(key: str, variable: str = "") -> tuple[Any, str]:
        if variable and environ.get(variable):
            return environ[variable], variable
        return next(((tree[key], where) for where, tree in trees if tree.get(key)), ("", ""))

    default, extra, links, learned = _indexes(environ, trees)
    insecure, insecure_from = value("allow-insecure-host", "UV_INSECURE_HOST")
    proxies = {key: value(key) for key in ("http-proxy", "https-proxy", "no-proxy")}
    no_proxy = proxies["no-proxy"][0]
    return UvSettings(
        default=default,
        extra=extra,
        find_links=links,
        learned=learned,
        first_index=value("index-strategy", "UV_INDEX_STRATEGY")[0] not in _NOT_FIRST,
        insecure_hosts=tuple(insecure.split()) if isinstance(insecure, str) else _strings(insecure),
        insecure_from=insecure_from,
        keyring=_string(value("keyring-provider", "UV_KEYRING_PROVIDER")[0]),
        http_proxy=_string(proxies["http-proxy"][0]),
        https_proxy=_string(proxies["https-proxy"][0]),
        no_proxy=",".join(_strings(no_proxy)) or _string(no_proxy),
        proxy_from=next((where for _, where in proxies.values() if where), ""),
    )


def _merged(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file's settings; those of the table ``pip`` count where the file itself says nothing."""
    pip = tree.get("pip")
    return {**(pip if isinstance(pip, dict) else {}), **tree}


def _indexes(
    environ: Mapping[str, str], trees: list[tuple[str, dict[str, Any]]]
) -> tuple[str, tuple[str, ...], tuple[str, ...], str]:
    """Return the main index, the others, the links, and where they are named."""
    default = environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL") or ""
    extra = (environ.get("UV_INDEX") or "").split() + (environ.get("UV_EXTRA_INDEX_URL") or "").split()
    links = [one for one in (environ.get("UV_FIND_LINKS") or "").split(",") if one]
    where = "UV_ variables" if default or extra or links else ""
    if not where:
        for path, tree in trees:
            default, extra, links = _of_file(tree)
            if default or extra or links:
                where = path
                break
    accounts = [_with_account(one, environ).rstrip("/") for one in (default, *extra)]
    return accounts[0], tuple(accounts[1:]), tuple(links), where


def _of_file(tree: Mapping[str, Any]) -> tuple[str, list[str], list[str]]:
    default, extra = _string(tree.get("index-url")), list(_strings(tree.get("extra-index-url")))
    entries = tree.get("index")
    for entry in entries if isinstance(entries, list) else []:
        url = _string(entry.get("url")) if isinstance(entry, dict) and not entry.get("explicit") else ""
        named = f"{entry['name']}={url}" if url and _string(entry.get("name")) else url
        if url and entry.get("default"):
            default = named
        elif url:
            extra.append(named)
    return default, extra, list(_strings(tree.get("find-links")))


def _with_account(word: str, environ: Mapping[str, str]) -> str:
    """Return the URL of an index such as ``private=https://…``, with the account that variables have for its name."""
    found = re.match(_NAMED, word)
    if found is None:
        return word
    url = word[found.end() :]
    name = re.sub("[^A-Z0-9]", "_", found[1].upper())
    user, password = (environ.get(f"UV_INDEX_{name}_{part}", "") for part in ("USERNAME", "PASSWORD"))
    if not (user or password) or userinfo(url) is not None:
        return url
    parts = split_url(url)
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"))


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _strings(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()

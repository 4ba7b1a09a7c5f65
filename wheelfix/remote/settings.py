"""Which indexes to ask and how to reach them: as the user says, else as pip and uv are configured on this machine.

Only what belongs to the user or the system is read. Files of the current project are not: a checkout must not decide
where bytes come from.
"""

from __future__ import annotations

import configparser
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wheelfix.errors import UsageError
from wheelfix.toml import loads
from wheelfix.values import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PYPI = "https://pypi.org/simple"
PLATFORMS = ("win_amd64", "win32", "win_arm64")
_LARGEST = 1 << 20
"""Bytes of a configuration file."""


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """How to reach wheels that are not on this disk."""

    index_url: str = ""
    """The index to ask; empty: as pip or uv is configured, else PyPI."""
    extra_index_urls: tuple[str, ...] = ()
    offline: bool = False
    """Refuse everything that needs a server."""
    fetch: bool = False
    """Take DLLs that no root has from the index."""
    deps: bool = False
    """Also read the distributions that a wheel requires from the index."""
    platform: str = "win_amd64"
    python_version: str = ""
    """Such as ``3.11``; empty: the newest that there is a wheel for."""
    cache_dir: Path | None = None
    """Where to keep what was fetched; None: the folder that the system has for caches."""
    cache: bool = True
    """Keep what was fetched for the next run."""


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The indexes to ask, and how."""

    index_url: str = PYPI
    """Empty: none."""
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    """Folders of wheels, and pages that link to wheels."""
    certificates: str = ""
    """A file of PEM certificates; empty: those of the system."""
    proxy: str = ""
    keyring: str = "auto"
    """``auto``, ``disabled``, ``import`` or ``subprocess``, as pip's ``keyring-provider``."""
    learned: str = "default"
    """Where the index came from: an option, a variable, a file."""

    @property
    def urls(self) -> tuple[str, ...]:
        """All indexes, the main one first."""
        return tuple(url for url in (self.index_url, *self.extra_index_urls) if url)


def index_settings(options: RemoteOptions, environ: Mapping[str, str] | None = None) -> IndexSettings:
    """Return the indexes to ask: options first, then what pip is configured for, then uv, then PyPI."""
    environ = os.environ if environ is None else environ
    settings = _of_pip(environ) or _of_uv(environ) or IndexSettings()
    for url in (options.index_url, *options.extra_index_urls):
        if url and not url.lower().startswith(("http://", "https://", "file:")):
            raise UsageError(f"{url} is not the URL of an index", hint=f"write it as {PYPI}")
    if options.index_url:
        settings = replace(settings, index_url=options.index_url.rstrip("/"), learned="--index-url")
    if options.extra_index_urls:
        settings = replace(settings, extra_index_urls=tuple(url.rstrip("/") for url in options.extra_index_urls))
    return settings


# ------------------------------------------------------------------------------------------------------------- pip


@dataclass
class _Said:
    """The values of one source after the other, the last one wins; ``index`` is where an index was named."""

    values: dict[str, str] = field(default_factory=dict)
    index: str = ""

    def take(self, values: Mapping[str, str], where: str) -> None:
        """Take what a source says."""
        for key, value in values.items():
            name = key.lower().replace("_", "-").lstrip("-")
            self.values[name] = value.strip()
            if name in ("index-url", "extra-index-url", "find-links", "no-index") and value.strip():
                self.index = where


def _of_pip(environ: Mapping[str, str]) -> IndexSettings | None:
    """Return what pip would use; None where its configuration says nothing about indexes."""
    said = _Said()
    for path in _pip_files(environ):
        sections = _read_ini(path)
        for section in ("global", "install", "download"):
            said.take(sections.get(section, {}), str(path))
    said.take({key[4:]: value for key, value in environ.items() if key.upper().startswith("PIP_")}, "PIP_ variables")
    values = said.values
    settings = IndexSettings(
        certificates=values.get("cert", ""),
        proxy=values.get("proxy", ""),
        keyring=values.get("keyring-provider", "") or "auto",
    )
    if not said.index:
        return settings if settings != IndexSettings() and _of_uv(environ) is None else None
    none = values.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t")
    return replace(
        settings,
        index_url="" if none else (values.get("index-url") or PYPI).rstrip("/"),
        extra_index_urls=() if none else tuple(url.rstrip("/") for url in values.get("extra-index-url", "").split()),
        find_links=_words(values.get("find-links", "")),
        learned=said.index,
    )


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a value; those in quotes may hold blanks, and backslashes are backslashes."""
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars="")
        lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
        return tuple(lexer)
    except ValueError:
        return tuple(text.split())


def _pip_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files that pip reads, those that win last."""
    named = environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return
    name = "pip.ini" if sys.platform == "win32" else "pip.conf"
    home = Path(environ.get("USERPROFILE") or environ.get("HOME") or Path.home())
    for folder in _system_folders(environ):
        yield folder / "pip" / name
    if sys.platform != "win32":
        yield Path("/etc/pip.conf")
    yield home / ("pip" if sys.platform == "win32" else ".pip") / name
    if sys.platform == "darwin" and (home / "Library/Application Support/pip").is_dir():
        yield home / "Library/Application Support/pip" / name
    else:
        yield _user_folder(environ, home) / "pip" / name
    yield Path(sys.prefix) / name
    if named:
        yield Path(named)


def _system_folders(environ: Mapping[str, str]) -> list[Path]:
    if sys.platform == "win32":
        return [Path(environ.get("PROGRAMDATA", "C:/ProgramData"))]
    if sys.platform == "darwin":
        return [Path("/Library/Application Support")]
    return [Path(folder) for folder in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep) if folder]


def _user_folder(environ: Mapping[str, str], home: Path) -> Path:
    if sys.platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData/Roaming")
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def _read_ini(path: Path) -> dict[str, dict[str, str]]:
    text = _text(path)
    if text is None:
        return {}
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as exc:
        raise UsageError(
            f"{path} cannot be read",
            because=f"it is not a configuration file of pip ({str(exc).splitlines()[0][:80]})",
            hint="correct it, or name the index with --index-url and set PIP_CONFIG_FILE to the null device",
        ) from exc
    return {section: dict(parser.items(section)) for section in parser.sections()}


# -------------------------------------------------------------------------------------------------------------- uv


def _of_uv(environ: Mapping[str, str]) -> IndexSettings | None:
    """Return what uv is configured for; None where nothing is."""
    default = environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL") or ""
    extra = (environ.get("UV_INDEX") or "").split() + (environ.get("UV_EXTRA_INDEX_URL") or "").split()
    links = [one for one in (environ.get("UV_FIND_LINKS") or "").split(",") if one]
    where = "UV_ variables"
    if not (default or extra or links):
        for path in _uv_files(environ):
            tree = _uv_tree(path)
            default, extra, links = _uv_indexes(tree)
            if default or extra or links:
                where = str(path)
                break
        else:
            return None
    return IndexSettings(
        index_url=(_unnamed(default) or PYPI).rstrip("/"),
        extra_index_urls=tuple(_unnamed(url).rstrip("/") for url in extra),
        find_links=tuple(links),
        certificates=environ.get("SSL_CERT_FILE", ""),
        learned=where,
    )


def _unnamed(url: str) -> str:
    """Return a URL without the name that uv lets one put before it (``private=https://…``)."""
    name, equals, rest = url.partition("=")
    return rest if equals and name.replace("-", "").replace("_", "").isalnum() else url


def _uv_files(environ: Mapping[str, str]) -> Iterator[Path]:
    if environ.get("UV_NO_CONFIG"):
        return
    if named := environ.get("UV_CONFIG_FILE"):
        yield Path(named)
        return
    home = Path(environ.get("USERPROFILE") or environ.get("HOME") or Path.home())
    if sys.platform == "win32":
        yield Path(environ.get("APPDATA") or home / "AppData/Roaming") / "uv" / "uv.toml"
    else:
        yield Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "uv" / "uv.toml"
        yield Path("/etc/uv/uv.toml")
    for folder in _system_folders(environ):
        yield folder / "uv" / "uv.toml"


def _uv_tree(path: Path) -> Mapping[str, Any]:
    text = _text(path)
    if text is None:
        return {}
    try:
        return loads(text)
    except ValueError as exc:
        raise UsageError(f"{path} cannot be read", because=f"it is not valid TOML ({exc})") from exc


def _uv_indexes(tree: Mapping[str, Any]) -> tuple[str, list[str], list[str]]:
    """Return the main index, the others and the links of a file of uv."""
    pip = tree.get("pip")
    merged = {**(pip if isinstance(pip, dict) else {}), **tree}
    default, extra = _string(merged.get("index-url")), list(_strings(merged.get("extra-index-url")))
    entries = merged.get("index")
    for entry in entries if isinstance(entries, list) else []:
        url = _string(entry.get("url")) if isinstance(entry, dict) and not entry.get("explicit") else ""
        if url and entry.get("default"):
            default = url
        elif url:
            extra.append(url)
    return default, extra, list(_strings(merged.get("find-links")))


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _strings(value: object) -> Iterable[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _text(path: Path) -> str | None:
    """Return the text of a configuration file, or None if there is none that can be read."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("utf-8-sig", "replace")
    except OSError:
        return None

"""The configuration files of pip and uv that belong to the user or the system, and how they are read.

Files of the current project are not among them: a checkout must not decide where bytes come from.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wheelfix.base.inputfiles import read_file
from wheelfix.base.toml import loads
from wheelfix.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LARGEST = 1 << 20
"""Bytes of a configuration file."""


def pip_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files that pip reads, those that win last."""
    named = environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return
    name = "pip.ini" if sys.platform == "win32" else "pip.conf"
    home = home_folder(environ)
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


def uv_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files that uv reads, those that win first."""
    if environ.get("UV_NO_CONFIG"):
        return
    if named := environ.get("UV_CONFIG_FILE"):
        yield Path(named)
        return
    yield _user_folder(environ, home_folder(environ)) / "uv" / "uv.toml"
    if sys.platform != "win32":
        yield Path("/etc/uv/uv.toml")
    for folder in _system_folders(environ):
        yield folder / "uv" / "uv.toml"


def home_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the user."""
    return Path(environ.get("USERPROFILE") or environ.get("HOME") or Path.home())


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


def read_ini(path: Path) -> dict[str, dict[str, str]]:
    """Return the sections of a file of pip; none where there is no such file."""
    text = _text(path)
    if text is None:
        return {}
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as exc:
        reason = type(exc).__name__ + (f" in line {exc.lineno}" if hasattr(exc, "lineno") else "")
        raise UsageError(  # the message of the library quotes the line, which may hold a password
            f"{path} cannot be read",
            because=f"it is not a configuration file of pip ({reason})",
            hint="correct it, or name the index with --index-url and set PIP_CONFIG_FILE to the null device",
        ) from None
    return {section: dict(parser.items(section)) for section in parser.sections()}


def read_toml(path: Path) -> Mapping[str, Any]:
    """Return what a file of uv has; nothing where there is no such file."""
    text = _text(path)
    if text is None:
        return {}
    try:
        return loads(text)
    except ValueError as exc:
        raise UsageError(f"{path} cannot be read", because=f"it is not valid TOML ({exc})") from exc


def _text(path: Path) -> str | None:
    """Return the text of a configuration file, or None if there is none that can be read."""
    try:
        return read_file(path, _LARGEST).decode("utf-8-sig", "replace")
    except OSError:
        return None

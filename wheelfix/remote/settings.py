"""Which indexes to ask and how: as the user says, else as pip and uv are configured; and accounts."""

from __future__ import annotations

import configparser
import importlib
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlunsplit

from wheelfix.base.inputfiles import read_file
from wheelfix.base.parsing import load_toml, parse_json
from wheelfix.base.programs import find_program, quoted_words, run_program
from wheelfix.base.values import field, frozen, replace
from wheelfix.errors import EnvironmentFailure, UsageError, shown_url
from wheelfix.remote.addresses import Account, identity, server_of, split_url, userinfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.base.options import RemoteOptions


# ---------------------------------------------------------------------------------------------------------- configfiles
# The configuration files of pip and uv that belong to the user or the system, and how they are read.
# Files of the current project are not among them: a checkout must not decide where bytes come from.

_LARGEST = 1 << 20
"""Bytes of a configuration file."""


def pip_files() -> Iterator[Path]:
    """Yield the files that pip reads, those that win last."""
    named = os.environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return
    name = "pip.ini" if sys.platform == "win32" else "pip.conf"
    home = home_folder()
    for folder in _system_folders():
        yield folder / "pip" / name
    if sys.platform != "win32":
        yield Path("/etc/pip.conf")
    yield home / ("pip" if sys.platform == "win32" else ".pip") / name
    if sys.platform == "darwin" and (home / "Library/Application Support/pip").is_dir():
        yield home / "Library/Application Support/pip" / name
    else:
        yield _user_folder(home) / "pip" / name
    yield Path(sys.prefix) / name
    if named:
        yield Path(named)


def uv_files() -> Iterator[Path]:
    """Yield the files that uv reads, those that win first."""
    if os.environ.get("UV_NO_CONFIG"):
        return
    if named := os.environ.get("UV_CONFIG_FILE"):
        yield Path(named)
        return
    yield _user_folder(home_folder()) / "uv" / "uv.toml"
    if sys.platform != "win32":
        yield Path("/etc/uv/uv.toml")
    for folder in _system_folders():
        yield folder / "uv" / "uv.toml"


def home_folder() -> Path:
    """Return the folder of the user."""
    return Path(os.environ.get("USERPROFILE") or os.environ.get("HOME") or Path.home())


def _system_folders() -> list[Path]:
    if sys.platform == "win32":
        return [Path(os.environ.get("PROGRAMDATA", "C:/ProgramData"))]
    if sys.platform == "darwin":
        return [Path("/Library/Application Support")]
    return [Path(folder) for folder in (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep) if folder]


def _user_folder(home: Path) -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or home / "AppData/Roaming")
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")


def read_ini(path: Path) -> dict[str, dict[str, str]]:
    """Return the sections of a file of pip; none where there is no such file."""
    text = _text(path)
    if text is None:
        return {}
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
        return load_toml(text)
    except ValueError as exc:
        raise UsageError(f"{path} cannot be read", because=f"it is not valid TOML ({exc})") from exc


def _text(path: Path) -> str | None:
    """Return the text of a configuration file, or None if there is none that can be read."""
    try:
        return read_file(path, _LARGEST).decode("utf-8-sig", "replace")
    except OSError:
        return None


# ------------------------------------------------------------------------------------------------------------- settings
# Which indexes to ask and how to reach them: as the user says, else as pip and uv are configured on this machine.


PYPI = "https://pypi.org/simple"


@frozen
class Setting:
    """A value, and where it was set: a variable or a file."""

    value: str = ""
    source: str = ""

    def __bool__(self) -> bool:
        return bool(self.value)


@frozen
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


@frozen
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

    @property
    def urls(self) -> tuple[str, ...]:
        """All indexes, in the order in which they are asked."""
        main, others = (self.index_url,), self.extra_index_urls
        return tuple(url for url in (others + main if self.first_index else main + others) if url)

    def credentials(self) -> Credentials:
        """The accounts of this user at these indexes."""
        return Credentials(self.urls, self.connection.keyring)


def index_settings(options: RemoteOptions) -> IndexSettings:
    """Return the indexes to ask: options first, then what pip is configured for, then uv, then PyPI."""
    pip, uv = _PipSettings(), _UvSettings()
    settings = pip.indexes() or uv.indexes() or IndexSettings()
    settings = replace(settings, connection=_connection(pip, uv))
    for url in (options.index_url, *options.extra_index_urls):
        if url and not url.lower().startswith(("http://", "https://", "file:")):
            shown = shown_url(url if ":/" in url else f"index:/{url}").removeprefix("index:/")
            raise UsageError(f"{shown} is not the URL of an index", hint=f"write it as {PYPI}")
    if options.index_url:
        settings = replace(settings, index_url=options.index_url.rstrip("/"))
    if options.extra_index_urls:
        settings = replace(settings, extra_index_urls=tuple(url.rstrip("/") for url in options.extra_index_urls))
    return settings


def _connection(pip: _PipSettings, uv: _UvSettings) -> Connection:
    """Return how servers are reached: as pip is configured, and where it is not, as uv and the environment say."""

    def variable(name: str) -> Setting:
        return Setting(os.environ.get(name, ""), name)

    proxy = pip.get("proxy")
    bundles = [pip.get("cert"), variable("REQUESTS_CA_BUNDLE"), variable("CURL_CA_BUNDLE")]
    # OpenSSL and uv ignore these two where they name nothing that is there
    bundles += [one for one in map(variable, ("SSL_CERT_FILE", "SSL_CERT_DIR")) if one and Path(one.value).exists()]
    insecure, insecure_from = uv.value("allow-insecure-host", "UV_INSECURE_HOST")
    no_proxy = uv.value("no-proxy")[0]
    return Connection(
        certificates=next(filter(None, bundles), Setting()),
        client_certificate=pip.get("client-cert") or variable("SSL_CLIENT_CERT"),
        http_proxy=proxy or uv.get("http-proxy"),
        https_proxy=proxy or uv.get("https-proxy"),
        no_proxy="" if proxy else ",".join(_strings(no_proxy)) or _string(no_proxy),
        environment_proxies=not pip.switch("no-proxy-env"),
        trusted_hosts=pip.words("trusted-host")
        + (tuple(insecure.split()) if isinstance(insecure, str) else _strings(insecure)),
        trusted_from=pip.get("trusted-host").source or insecure_from,
        keyring=pip.get("keyring-provider").value or uv.get("keyring-provider", "UV_KEYRING_PROVIDER").value or "auto",
    )


# ------------------------------------------------------------------------------------------------------------------ pip
# Its variables, then the files of the environment, the user and the system.


class _PipSettings:
    """The values that pip would use, by the names of its options; an empty value counts as not set, as for pip."""

    def __init__(self) -> None:
        self._found: dict[str, Setting] = {}
        for path in pip_files():
            sections = read_ini(path)
            for section in ("global", "install", "download"):
                self._take(sections.get(section, {}), str(path))
        self._take({key[4:]: value for key, value in os.environ.items() if key.upper().startswith("PIP_")}, "")

    def _take(self, found: Mapping[str, str], where: str) -> None:
        for key, value in found.items():
            name = key.lower().replace("_", "-").lstrip("-")
            if value.strip():  # later ones win
                self._found[name] = Setting(value.strip(), where or f"PIP_{name.upper().replace('-', '_')}")

    def get(self, name: str) -> Setting:
        return self._found.get(name, Setting())

    def words(self, name: str) -> tuple[str, ...]:
        """Return a value that is a list; words in quotes may hold blanks, and backslashes are backslashes."""
        text = self.get(name).value
        try:
            return tuple(quoted_words(text))
        except ValueError:
            return tuple(text.split())

    def switch(self, name: str) -> bool:
        return self.get(name).value.lower() in ("1", "true", "yes", "on", "y", "t")

    def indexes(self) -> IndexSettings | None:
        """Return the indexes that pip would use; None where its configuration says nothing about them."""
        if not any(map(self.get, ("index-url", "extra-index-url", "find-links", "no-index"))):
            return None
        none = self.switch("no-index")
        extra = self.get("extra-index-url").value.split()
        return IndexSettings(
            index_url="" if none else (self.get("index-url").value or PYPI).rstrip("/"),
            extra_index_urls=() if none else tuple(url.rstrip("/") for url in extra),
            find_links=self.words("find-links"),
        )


# ------------------------------------------------------------------------------------------------------------------- uv
# Its variables, then ``uv.toml`` of the user and of the system.


_NAMED = r"([A-Za-z0-9._-]{1,100})=(?=[A-Za-z][A-Za-z0-9+.-]{0,20}:|[./\\])"
_NOT_FIRST = ("unsafe-first-match", "unsafe-best-match")


class _UvSettings:
    """The values that uv would use; variables come before files, the file of the user before those of the system."""

    def __init__(self) -> None:
        self._trees: list[tuple[str, dict[str, Any]]] = []
        for path in uv_files():
            tree = read_toml(path)
            pip = tree.get("pip")  # counts where the file itself says nothing
            self._trees.append((str(path), {**(pip if isinstance(pip, dict) else {}), **tree}))

    def value(self, key: str, variable: str = "") -> tuple[Any, str]:
        """Return a value as it is in the file or variable, and where it was set."""
        if variable and (said := os.environ.get(variable)):
            return said, variable
        return next(((tree[key], where) for where, tree in self._trees if tree.get(key)), ("", ""))

    def get(self, key: str, variable: str = "") -> Setting:
        value, where = self.value(key, variable)
        return Setting(_string(value), where)

    def indexes(self) -> IndexSettings | None:
        """Return the indexes that uv would use; None where it is not configured."""
        said = os.environ.get
        default = said("UV_DEFAULT_INDEX") or said("UV_INDEX_URL") or ""
        extra = (said("UV_INDEX") or "").split() + (said("UV_EXTRA_INDEX_URL") or "").split()
        links = [one for one in (said("UV_FIND_LINKS") or "").split(",") if one]
        for _, tree in self._trees:
            if default or extra or links:
                break
            default, extra, links = _of_file(tree)
        if not (default or extra or links):
            return None
        main, *others = [_with_account(one).rstrip("/") for one in (default, *extra)]
        strategy = self.value("index-strategy", "UV_INDEX_STRATEGY")[0]
        return IndexSettings(
            index_url=main or PYPI,
            extra_index_urls=tuple(others),
            find_links=tuple(links),
            first_index=strategy not in _NOT_FIRST,
        )


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


def _with_account(word: str) -> str:
    """Return the URL of an index such as ``private=https://…``, with the account that variables have for its name."""
    found = re.match(_NAMED, word)
    if found is None:
        return word
    url = word[found.end() :]
    name = re.sub("[^A-Z0-9]", "_", found[1].upper())
    user, password = (os.environ.get(f"UV_INDEX_{name}_{part}", "") for part in ("USERNAME", "PASSWORD"))
    if not (user or password) or userinfo(url) is not None:
        return url
    parts = split_url(url)
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"))


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _strings(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


# ---------------------------------------------------------------------------------------------------------- credentials
# User names and passwords for servers, from where pip takes them: URLs of indexes, netrc, the keyring.
# netrc is read by requests itself. The keyring is asked only after a server refused, and there is never a prompt.


class Credentials:
    """What is known about the accounts of this user."""

    def __init__(self, indexes: Iterable[str], keyring: str = "auto") -> None:
        """``keyring`` as pip's ``keyring-provider``."""
        self._indexes = tuple(indexes)
        self._keyring = keyring if keyring in ("disabled", "import", "subprocess") else "auto"

    def of(self, url: str) -> Account | None:
        """Return the account for a URL: that in the URL itself, or of an index on the same server.

        One with a password comes first; the password is empty where only a user name or a token is known.
        """
        found = [account for one in (url, *self._same_server(url)) if (account := userinfo(one)) and any(account)]
        return next((account for account in found if account[1]), found[0] if found else None)

    def after_refusal(self, url: str) -> Account | None:
        """Return the account that the keyring has for a URL, its index or its server; None where it has none."""
        if self._keyring == "disabled":
            return None
        names = [userinfo(one) for one in (url, *self._same_server(url))]
        user = next((name[0] for name in names if name and name[0]), "")
        services = [*(identity(one) for one in self._same_server(url)), _host(url)]
        if self._keyring in ("auto", "import") and (found := _ask_module(services, user)):
            return found
        if self._keyring in ("auto", "subprocess"):
            return next((account for service in services if (account := _ask_program(service, user))), None)
        return None

    def _same_server(self, url: str) -> list[str]:
        """Return the indexes on the server of a URL, the one whose path is most like that of the URL first."""
        own = split_url(url).path.split("/")

        def common(index: str) -> int:
            pairs = zip(own, split_url(index).path.split("/"), strict=False)
            return next((number for number, (a, b) in enumerate(pairs) if a != b), len(own))

        found = [index for index in self._indexes if server_of(index) == server_of(url)]
        return sorted(found, key=common, reverse=True)


def _ask_module(services: Iterable[str], user: str) -> Account | None:
    try:
        keyring = importlib.import_module("keyring")
        for service in services:
            found = keyring.get_credential(service, user or None)
            if found is not None and found.password:
                return str(found.username or user), str(found.password)
    except Exception:  # whatever a backend does, the server's refusal is what the user has to see
        return None
    return None


def _ask_program(service: str, user: str) -> Account | None:
    """Return what the program keyring knows about a service; a user whose name is not known needs a newer one."""
    program = find_program("keyring")
    if program is None:
        return None
    words = ["get", service, user] if user else ["--mode=creds", "--output=json", "get", service]
    try:
        done = run_program([program, *words], timeout=30)
        if done.code != 0:
            return None
        if user:
            password = done.out.strip("\r\n")
            return (user, password) if password else None
        found = parse_json(done.out)
        return (str(found["username"]), str(found["password"])) if isinstance(found, dict) else None
    except (EnvironmentFailure, ValueError, KeyError):
        return None


def _host(url: str) -> str:
    scheme, host, port = server_of(url)
    return host if port == {"https": 443, "http": 80}.get(scheme) else f"{host}:{port}"

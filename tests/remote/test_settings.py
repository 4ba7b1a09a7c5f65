"""Which indexes are asked: options, then pip, then uv, then PyPI; and whose accounts are used."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from wheelfix.base.options import RemoteOptions
from wheelfix.cli.main import main
from wheelfix.errors import Exit, InputError, UsageError, redacted, shown_url
from wheelfix.remote import settings as settings_module
from wheelfix.remote.addresses import is_remote, is_safe
from wheelfix.remote.settings import PYPI, Credentials, IndexSettings, Setting, index_settings
from wheelfix.remote.transport import trusted_prefixes


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment in which nothing is configured, with a home of its own."""
    if sys.platform == "win32":
        pytest.skip("the folders of configuration are others there")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    config = tmp_path / ".config"
    for folder in ("pip", "uv"):
        (config / folder).mkdir(parents=True)
    return {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path / "etc")}


def settings_in(environ: dict[str, str], options: RemoteOptions | None = None) -> IndexSettings:
    """The settings where nothing but these variables is set."""
    with mock.patch.dict(os.environ, environ, clear=True):
        return index_settings(options or RemoteOptions())


def configured(environ: dict[str, str], **options: object) -> tuple[str, tuple[str, ...]]:
    settings = settings_in(environ, RemoteOptions(**options))  # type: ignore[arg-type]
    return settings.index_url, settings.extra_index_urls


@pytest.fixture(autouse=True)
def _no_global_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine that runs the tests may have a file of its own for all users."""
    from wheelfix.remote import settings

    original = settings._text
    monkeypatch.setattr(settings, "_text", lambda path: original(path) if tmp_path in path.parents else None)


def test_pypi_unless_something_is_configured(home):
    assert configured(home) == (PYPI, ())


def test_pips_file(home, tmp_path):
    file = tmp_path / ".config/pip/pip.conf"
    extra = "extra-index-url =\n  https://b.example/x\n  https://c.example/y\n"
    file.write_text(f"[global]\nindex-url = https://a.example/simple/\n{extra}cert = /ca.pem\n")
    assert configured(home) == ("https://a.example/simple", ("https://b.example/x", "https://c.example/y"))
    settings = settings_in(home)
    assert settings.connection.certificates == Setting("/ca.pem", str(file))


def test_variables_come_before_files_and_options_before_variables(home, tmp_path):
    (tmp_path / ".config/pip/pip.conf").write_text("[global]\nindex-url = https://file.example\n")
    environ = {**home, "PIP_INDEX_URL": "https://variable.example/"}
    assert configured(environ)[0] == "https://variable.example"
    assert configured(environ, index_url="https://option.example")[0] == "https://option.example"
    assert configured(environ, extra_index_urls=("https://x.example/",))[1] == ("https://x.example",)


def test_no_index_leaves_only_links(home):
    settings = settings_in({**home, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels 'C:\\my wheels'"})
    assert settings.urls == ()
    assert settings.find_links == ("/wheels", "C:\\my wheels")


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            'index-url = "https://a.example"\nextra-index-url = ["https://b.example"]\n',
            ("https://a.example", ("https://b.example",)),
        ),
        (
            '[[index]]\nname = "a"\nurl = "https://a.example"\ndefault = true\n[[index]]\nurl = "https://b.example"\n',
            ("https://a.example", ("https://b.example",)),
        ),
        ('[[index]]\nurl = "https://a.example"\nexplicit = true\n', (PYPI, ())),
        ("index-url = 3\n[[index]]\nurl = []\n", (PYPI, ())),
    ],
)
def test_uvs_file(home, tmp_path, text, expected):
    (tmp_path / ".config/uv/uv.toml").write_text(text)
    assert configured(home) == expected
    assert configured({**home, "PIP_INDEX_URL": "https://pip.example"})[0] == "https://pip.example"
    assert configured({**home, "UV_NO_CONFIG": "1"}) == (PYPI, ())


def test_uvs_variables(home):
    environ = {
        **home,
        "UV_DEFAULT_INDEX": "main=https://a.example/",
        "UV_INDEX": "https://b.example x=https://c.example",
    }
    assert configured(environ) == ("https://a.example", ("https://b.example", "https://c.example"))
    assert configured({**home, "UV_INDEX_URL": "https://d.example"})[0] == "https://d.example"


def test_files_of_the_project_do_not_count(home, tmp_path, monkeypatch):
    project = tmp_path / "checkout"
    project.mkdir()
    (project / "uv.toml").write_text('index-url = "https://evil.example"\n')
    (project / "pip.conf").write_text("[global]\nindex-url = https://evil.example\n")
    monkeypatch.chdir(project)
    assert configured(home) == (PYPI, ())


@pytest.mark.parametrize("name", ["pip/pip.conf", "uv/uv.toml"])
def test_a_file_that_cannot_be_read_is_named(home, tmp_path, name):
    (tmp_path / ".config" / name).write_text("[[[")
    with pytest.raises(UsageError, match=name.rpartition("/")[2]):
        configured(home)


# ------------------------------------------------------------------------------------------------------- accounts

INDEX = "https://me:s3cret@private.example/simple"


def test_the_account_of_an_index_is_used_for_its_server_alone():
    known = Credentials([INDEX])
    assert known.of("https://private.example/files/x.whl") == ("me", "s3cret")
    assert known.of("https://other:word@else.example/x.whl") == ("other", "word")
    for other in ("http://private.example/x", "https://private.example:8443/x", "https://private.example.evil/x"):
        assert known.of(other) is None


def test_the_keyring_is_asked_for_the_index_then_for_the_host(monkeypatch):
    asked = []

    def get_credential(service: str, user: str | None) -> object:
        asked.append((service, user))
        return SimpleNamespace(username="me", password="from keyring") if service == "private.example" else None

    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_credential=get_credential))
    known = Credentials(["https://me@private.example/simple"])
    assert known.after_refusal("https://private.example/x.whl") == ("me", "from keyring")
    assert asked == [("https://private.example/simple", "me"), ("private.example", "me")]


def test_the_keyring_program_is_asked_where_there_is_no_module(monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setattr(settings_module, "_ask_program", lambda service, user: (user, f"{user}@{service}"))
    known = Credentials(["https://me@private.example/simple"])
    assert known.after_refusal("https://private.example/x") == ("me", "me@https://private.example/simple")
    assert Credentials([INDEX], "disabled").after_refusal(INDEX) is None


# -------------------------------------------------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    "word, expected",
    [
        ("torch==2.7.1", True),
        ("torch >= 2, < 3", True),
        ("https://x.example/a.whl", True),
        ("torch", False),
        ("dist\\x==1", False),
        ("a-1.0-py3-none-any.whl", False),
        ("ftp://x/a.whl", False),
    ],
)
def test_what_names_a_wheel_on_a_server(word, expected):
    assert is_remote(word) == expected


@pytest.mark.parametrize("url", ["ftp://me:s3cret@h.example/x", "me:s3cret@h.example/simple", "me:a@s3cret@h.example"])
def test_an_option_that_is_not_an_index_is_shown_without_its_password(home, url):
    with pytest.raises(UsageError, match="is not the URL of an index") as caught:
        configured(home, index_url=url)
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in redacted("failed: https://me:a@s3cret@h.example/x")


def test_nothing_secret_is_shown():
    assert shown_url("https://u:p@h.example:8/a/b.whl?sig=1#x") == "https://h.example:8/a/b.whl"
    text = "HTTPSConnectionPool(url=https://u:p@h.example/a?token=abc): see 'http://q@r/s#frag'"
    assert redacted(text) == "HTTPSConnectionPool(url=https://h.example/a): see 'http://r/s'"


@pytest.mark.parametrize("scheme", ["https", "svn+ssh", "HTTPS"])
@pytest.mark.parametrize(
    "password", ["s3cret", "s3/cret", "a#s3cret", "a?s3cret", "a@s3cret", "s3%cret", "s3\u2100cret"]
)
def test_whatever_is_in_a_password_it_is_not_shown(scheme, password):
    """A password with a slash ends the host for every parser of URLs, and used to be shown as its path."""
    url = f"{scheme}://me:{password}@h.example/simple"
    for text in (url, f"  {url}", f"--index-url={url}", f"cannot read {url}?token=s3cret: refused"):
        for shown in (shown_url(text), redacted(text), str(InputError(text, because=text))):
            assert "s3" not in shown
            assert "h.example/simple" in shown


@pytest.mark.parametrize(
    "text", ["C:\\a@b\\c.whl", "dist/a@b?.whl", "x@y", "note: a@b/c", "https://h.example/a.whl", ""]
)
def test_what_has_no_secret_is_shown_as_it_is(text):
    assert shown_url(text) == redacted(text) == text


def test_a_host_that_may_be_a_password_is_not_invented():
    shown = shown_url("https://h.example/x?mail=a@b.example")
    assert shown == "https://***@b.example"
    assert shown_url(shown) == redacted(shown) == shown


@pytest.mark.parametrize(
    "url, expected",
    [
        ("https://pypi.org/simple/x/", True),
        ("http://127.0.0.1:8080/simple/x/", True),
        ("http://localhost/simple/x/", True),
        ("", True),
        ("http://trusted.example/x/", True),
        ("http://ported.example:81/x/", True),
        ("http://ported.example:82/x/", False),
        ("http://localhost.evil.example/x/", False),
    ],
)
def test_what_nobody_on_the_way_can_change(url, expected):
    assert is_safe(url, ("Trusted.example", "ported.example:81")) == expected


@pytest.mark.parametrize(
    "hosts, url, expected",
    [
        (("a.example",), "https://a.example/x", True),
        (("a.example:8443",), "https://a.example:8443/x", True),
        (("a.example:8443",), "https://a.example/x", False),
        (("a.example",), "https://a.example.evil/x", False),
        (("::1",), "https://[::1]:8443/x", True),
        (("https://a.example/",), "https://a.example/x", True),
    ],
)
def test_trusted_hosts(hosts, url, expected):
    assert any(url.startswith(prefix) for prefix in trusted_prefixes(hosts)) == expected


def test_where_connections_are_configured(home, tmp_path):
    """pip before uv before the variables of the environment; a stale SSL_CERT_FILE is ignored, as uv and OpenSSL do."""
    bundle = tmp_path / "ca.pem"
    bundle.write_text("")
    environ = {**home, "SSL_CERT_FILE": str(tmp_path / "gone"), "SSL_CERT_DIR": str(tmp_path), "UV_INSECURE_HOST": "u"}
    found = settings_in(environ).connection
    assert found.certificates == Setting(str(tmp_path), "SSL_CERT_DIR")
    assert (found.trusted_hosts, found.trusted_from) == (("u",), "UV_INSECURE_HOST")
    file = tmp_path / ".config/uv/uv.toml"
    file.write_text('https-proxy = "http://p:1"\nkeyring-provider = "subprocess"\n[pip]\nindex-url = "https://i"\n')
    environ |= {"PIP_CERT": "c", "PIP_TRUSTED_HOST": "a b:1", "PIP_CLIENT_CERT": "k", "REQUESTS_CA_BUNDLE": "r"}
    settings = settings_in(environ)
    found = settings.connection
    assert settings.index_url == "https://i"
    assert found.certificates == Setting("c", "PIP_CERT")
    assert found.client_certificate == Setting("k", "PIP_CLIENT_CERT")
    assert found.https_proxy == Setting("http://p:1", str(file))
    assert not found.http_proxy
    assert found.trusted_hosts == ("a", "b:1", "u")
    assert found.keyring == "subprocess"
    found = settings_in({**environ, "PIP_PROXY": "http://q:2", "PIP_NO_PROXY_ENV": "1"}).connection
    assert found.http_proxy == found.https_proxy == Setting("http://q:2", "PIP_PROXY")
    assert not found.environment_proxies


def test_indexes_of_uv_are_asked_in_its_order(home):
    environ = {**home, "UV_DEFAULT_INDEX": "https://a.example", "UV_INDEX": "https://b.example"}
    settings = settings_in(environ)
    assert settings.urls == ("https://b.example", "https://a.example")
    assert settings.first_index
    assert not settings_in({**environ, "UV_INDEX_STRATEGY": "unsafe-best-match"}).first_index
    pip = {**home, "PIP_INDEX_URL": "https://a.example", "PIP_EXTRA_INDEX_URL": "https://b.example"}
    assert settings_in(pip).urls == ("https://a.example", "https://b.example")


def test_the_account_of_the_index_with_the_most_common_path_is_used():
    known = Credentials(["https://me:one@h.example/a/simple", "https://me:two@h.example/b/simple"])
    assert known.of("https://h.example/b/files/x.whl") == ("me", "two")
    assert known.of("https://h.example/a/files/x.whl") == ("me", "one")
    assert Credentials(["https://token@h.example/simple"]).of("https://h.example/x.whl") == ("token", "")


# ------------------------------------------------------------------------------------------------------------ addresses
# Addresses that no server can have are refused, without the password that stands in them.

ADDRESSES = {
    "a character that stands for others": "https://user:secret@ex\u2100mple.invalid/simple",
    "half of a character": "https://user:secret@ex\ud800mple.invalid/simple",
    "an open bracket": "https://user:secret@[x/simple",
    "no IPv6 address": "https://user:secret@[v1.x y]/simple",
}


@pytest.mark.parametrize(
    "words", [["scan", "URL"], ["scan", "a==1", "--index-url", "URL"], ["survey", "URL", "-o", "out"]]
)
@pytest.mark.parametrize("name", ADDRESSES)
def test_an_impossible_address(name, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(str(tmp_path))
    code = main([word.replace("URL", ADDRESSES[name]) for word in words])
    said = "".join(capsys.readouterr())
    assert code in (Exit.USAGE, Exit.BAD_INPUT, Exit.ENVIRONMENT)
    assert "secret" not in said
    assert "should not have happened" not in said
    if name != "no IPv6 address":  # whether Python refuses it depends on its version
        assert code == Exit.USAGE
        assert "is not the address of a server" in said

"""Pages of package indexes from servers that misbehave: time and memory are bounded, and no file of ours is named."""

from __future__ import annotations

import gzip
import json
import sys
import time

import pytest
from packaging.requirements import Requirement

from tests.remote.indexes import JSON
from tests.remote.server import Reply, Request, running
from tests.support.hostilepages import page_of, read_and_choose
from tests.support.parts import parts
from tests.support.patience import patience, wall_patience
from wheelfix.base.options import InstallTarget
from wheelfix.errors import InputError, NetworkFailure
from wheelfix.remote import packageindex
from wheelfix.remote.packageindex import (
    LONGEST_NAME,
    IndexFile,
    PackageIndex,
    choose_file,
    read_page,
)
from wheelfix.remote.settings import IndexSettings
from wheelfix.remote.transport import Patience, Transport

PATIENT = Patience(connect=20, idle=20, answer=20, tries=3, first_wait=0.01, longest_wait=0.5)
QUICK = Patience(connect=2, idle=0.3, answer=0.4, least_rate=10 << 20, tries=3, first_wait=0.01, longest_wait=0.5)
NAME = "demo-1.0-py3-none-any.whl"
PAGE = json.dumps({"files": [{"filename": NAME, "url": f"/files/{NAME}", "hashes": {}}]}).encode()


def packed(request: Request, reply: Reply) -> Reply:
    return Reply(200, {"Content-Type": JSON, "Content-Encoding": "gzip"}, gzip.compress(PAGE))


def bomb(request: Request, reply: Reply) -> Reply:
    return Reply(200, {"Content-Type": JSON, "Content-Encoding": "gzip"}, gzip.compress(bytes(8 << 20)))


def endless(request: Request, reply: Reply) -> Reply:
    return Reply(200, {"Content-Type": JSON}, b"", endless=True)


def dripping(request: Request, reply: Reply) -> Reply:
    return Reply(200, {"Content-Type": JSON}, PAGE, pause=0.05)


def cut_once(request: Request, reply: Reply) -> Reply | None:
    return Reply(200, {"Content-Type": JSON}, PAGE, cut_after=9) if not request.number else None


def always_cut(request: Request, reply: Reply) -> Reply | None:
    return Reply(200, {"Content-Type": JSON}, PAGE, cut_after=9)


def words(request: Request, reply: Reply) -> Reply:
    return Reply(200, {"Content-Type": "text/plain"}, b"come back later")


@pytest.mark.parametrize(
    "fault, says",
    [
        (packed, ""),
        (cut_once, ""),
        (bomb, "more than the"),
        (endless, "more than the"),
        (dripping, "too slow"),
        (always_cut, "the connection was cut"),
        (words, "is not a page of a package index"),
    ],
)
def test_pages(fault, says, monkeypatch):
    monkeypatch.setattr(packageindex, "LARGEST_PAGE", 1 << 20)
    begun = time.monotonic()
    with running({"/simple/demo/": PAGE}, {"/simple/demo/": JSON}) as server:
        server.fault = fault
        patience = QUICK if says == "too slow" else PATIENT  # the machine may be busy
        index = PackageIndex(Transport(patience=patience), IndexSettings(f"{server.url}/simple"))
        if says:
            with pytest.raises(NetworkFailure, match=says) as caught:
                index.files("demo")
            assert f"{server.url}/simple/demo/" in caught.value.what
        else:
            assert [file.name for file in index.files("demo")] == [NAME]
    assert time.monotonic() - begun < wall_patience(10)


@pytest.mark.parametrize("address", ["file:///etc/demo-1.0-py3-none-any.whl", "file://evil.example/share/" + NAME])
@pytest.mark.parametrize("as_html", [True, False])
def test_a_page_of_a_server_names_no_file_of_this_machine(address, as_html):
    """On Windows such an address could even be a share, to which the account of the user would be sent."""
    html = f'<a href="{address}">{NAME}</a>'.encode()
    page = html if as_html else json.dumps({"files": [{"filename": NAME, "url": address}]}).encode()
    with running({"/simple/demo/": page}, {"/simple/demo/": "text/html" if as_html else JSON}) as server:
        index = PackageIndex(Transport(patience=PATIENT), IndexSettings(f"{server.url}/simple"))
        assert index.files("demo") == []


# ---------------------------------------------------------------------------------------------------------------- pages
# Pages of package indexes: what links mean, and that no page takes long.


URL = "https://index.example/simple/demo/"
NAME_PAGES = "demo-1.0-py3-none-any.whl"


@pytest.mark.parametrize(
    "page, url, name",
    [
        (f'<a href="../{NAME_PAGES}">{NAME_PAGES}</a>', f"https://index.example/simple/{NAME_PAGES}", NAME_PAGES),
        (f"<A HREF='{NAME_PAGES}' >\n {NAME_PAGES}\n</A>", f"{URL}{NAME_PAGES}", NAME_PAGES),
        (f"<a href={NAME_PAGES}>x</a>", f"{URL}{NAME_PAGES}", NAME_PAGES),
        (f"<a href={NAME_PAGES}>de<b>mo</b></a>", f"{URL}{NAME_PAGES}", NAME_PAGES),
        (
            f'<base href="https://files.example/"><a href="{NAME_PAGES}">x</a>',
            f"https://files.example/{NAME_PAGES}",
            NAME_PAGES,
        ),
        (f'<a href="a?b=1&amp;c=2/{NAME_PAGES}">{NAME_PAGES}</a>', f"{URL}a?b=1&c=2/{NAME_PAGES}", NAME_PAGES),
        (
            f'<!-- <a href="no.whl"> --><a title="> <a href=no.whl>" href="{NAME_PAGES}">',
            f"{URL}{NAME_PAGES}",
            NAME_PAGES,
        ),
        (f'<script>"<a href=no.whl>"</script><a href="{NAME_PAGES}">', f"{URL}{NAME_PAGES}", NAME_PAGES),
        (f'<!DOCTYPE html><a href="{NAME_PAGES}" href="no.whl">', f"{URL}{NAME_PAGES}", NAME_PAGES),
        ('<a href="%64emo-1.0-py3-none-any.whl">', f"{URL}%64emo-1.0-py3-none-any.whl", NAME_PAGES),
        (f'a < b <a href="{NAME_PAGES}">x', f"{URL}{NAME_PAGES}", NAME_PAGES),
    ],
)
def test_a_link(page, url, name):
    (file,) = read_page(page.encode(), "text/html", URL)
    assert (file.url, file.name) == (url, name)


def test_what_is_said_about_a_file():
    page = (
        f'<a href="{NAME_PAGES}#sha256={"AB" * 32}" data-requires-python="&gt;=3.8" data-core-metadata="sha256=x" '
        f'data-yanked="">{NAME_PAGES}</a><a href="{NAME_PAGES}" data-core-metadata=false>'
    )
    first, second = read_page(page.encode(), "text/html", URL)
    assert first == IndexFile(NAME_PAGES, f"{URL}{NAME_PAGES}", True, True, "ab" * 32, 0, ">=3.8")
    assert second == IndexFile(NAME_PAGES, f"{URL}{NAME_PAGES}")


OPEN = ["<!--", "<a ", "<a href=", '<a href="', "<a href='x\"", "<![", "<?", "</a ", "<", "<script>", "<style><a"]


@pytest.mark.slow
@pytest.mark.parametrize("piece", OPEN)
def test_open_ends_take_time_in_proportion(piece):
    """200 KB of some of these took html.parser more than a minute."""

    def seconds(size: int) -> float:
        data = piece.encode() * (size // len(piece))
        started = time.process_time()
        read_page(b"<" + data, "text/html", URL)
        return time.process_time() - started

    small, large = seconds(500_000), seconds(2_000_000)
    assert large < max(10 * small, patience(1))


def test_a_product_of_tags_is_not_expanded():
    """A name of 2 KB stood for a hundred million tags: 55 s and 1.1 GB."""
    many = ".".join(f"p{number}" for number in range(15))
    files = [IndexFile(f"demo-1.{number}-{many}.py3-{many}.none-{many}.any.whl", "u") for number in range(500)]
    files.append(IndexFile(f"demo-9-{'a.' * 300}py3-none-any.whl", "too long"))
    started = time.process_time()
    chosen = choose_file(files, Requirement("demo"), InstallTarget("win_amd64", (3, 11)), "")
    assert chosen.name.startswith("demo-1.499-")
    assert time.process_time() - started < patience(5)
    data = f'<a href="x/{"a" * (LONGEST_NAME + 1)}.whl">x</a>'.encode()
    assert read_page(data, "text/html", URL) == []


def test_too_many_files(monkeypatch):
    monkeypatch.setattr(packageindex, "MOST_FILES", 1000)
    for data, kind in (
        (b"<a href=x>" * 1001, "text/html"),
        (b'{"files": [' + b"{}," * 1000 + b"{}]}", "application/json"),
    ):
        with pytest.raises(ValueError, match="more than"):
            read_page(data, kind, URL)


def test_too_many_conditions():
    wanted = Requirement("demo" + ",".join(f"!=9.{number}" for number in range(300)))
    with pytest.raises(InputError, match="more than 250 conditions"):
        choose_file([IndexFile(NAME_PAGES, "u")], wanted, InstallTarget("win_amd64"), "")
    rules = [IndexFile(f"demo-{number}-py3-none-any.whl", "u", requires_python=f"<1.{number}") for number in range(600)]
    with pytest.raises(InputError, match="different texts about versions of Python"):
        choose_file(rules, Requirement("demo"), InstallTarget("win_amd64"), "")


@pytest.mark.slow
@pytest.mark.parametrize("first", parts(0, 20, 50))
def test_pages_made_at_random(first):
    before = most_memory()  # other tests of this process may have taken more
    for seed in range(first, first + 50):
        read_and_choose(*page_of(seed))
    assert most_memory() - before < 512


def most_memory() -> float:
    """The most memory that this process has had, in megabytes; 0 where that cannot be asked."""
    if sys.platform == "win32":
        return 0
    import resource

    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit

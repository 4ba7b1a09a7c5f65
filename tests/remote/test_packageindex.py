"""Pages of package indexes from servers that misbehave: time and memory are bounded, and no file of ours is named."""

from __future__ import annotations

import gzip
import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.remote.indexes import JSON
from tests.remote.server import Reply, Request, running
from tests.support.patience import wall_patience
from wheelfix.errors import NetworkFailure
from wheelfix.remote import packageindex
from wheelfix.remote.packageindex import PackageIndex
from wheelfix.remote.settings import IndexSettings
from wheelfix.remote.transport import Patience, Transport

if TYPE_CHECKING:
    from collections.abc import Callable

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
    ("fault", "says"),
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
def test_pages(fault: Callable[[Request, Reply], Reply | None], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_page_of_a_server_names_no_file_of_this_machine(address: str, as_html: bool) -> None:
    """On Windows such an address could even be a share, to which the account of the user would be sent."""
    html = f'<a href="{address}">{NAME}</a>'.encode()
    page = html if as_html else json.dumps({"files": [{"filename": NAME, "url": address}]}).encode()
    with running({"/simple/demo/": page}, {"/simple/demo/": "text/html" if as_html else JSON}) as server:
        index = PackageIndex(Transport(patience=PATIENT), IndexSettings(f"{server.url}/simple"))
        assert index.files("demo") == []

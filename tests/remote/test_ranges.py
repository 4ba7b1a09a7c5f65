"""Files on servers as byte sources, and what becomes of every answer that is not the one that was asked for."""

from __future__ import annotations

import email.utils
import hashlib
import random
import time
from collections.abc import Callable, Container, Iterator
from pathlib import Path

import pytest

from tests.remote.server import Reply, Request, Server, running
from tests.support.chance import misread
from tests.support.patience import wall_patience
from wheelfix.errors import InputError, NetworkFailure, WheelfixError
from wheelfix.remote.cache import MARK, Cache
from wheelfix.remote.ranges import RangeSource, RemoteWheel
from wheelfix.remote.transport import Patience, Transport

DATA = random.Random(20).randbytes(700_000)
HASH = hashlib.sha256(DATA).hexdigest()
PATIENT = Patience(connect=20, idle=20, answer=20, tries=3, first_wait=0.01, longest_wait=0.5)
"""For tests that are not about time: the machine may be busy."""
QUICK = Patience(connect=2, idle=0.3, answer=0.4, least_rate=10 << 20, tries=3, first_wait=0.01, longest_wait=0.5)


@pytest.fixture
def server() -> Iterator[Server]:
    with running({"/x-1.0-py3-none-any.whl": DATA}) as found:
        yield found


class Opened:
    """A file of a server, opened."""

    def __init__(self, server: Server, folder: Path, sha256: str = "", patience: Patience = PATIENT) -> None:
        self.said: list[str] = []
        self.transport = Transport(patience=patience, say=self.said.append)
        self.cache = Cache(folder)
        self.wheel = RemoteWheel(f"{server.url}/x-1.0-py3-none-any.whl", self.transport, self.cache, sha256=sha256)

    @property
    def source(self) -> RangeSource:
        return self.wheel.open()


def test_reads_what_is_asked_for_and_little_more(server, tmp_path):
    opened = Opened(server, tmp_path)
    source = opened.source
    assert source.size == len(DATA)
    assert source.read_at(len(DATA) - 1000, 5000) == DATA[-1000:]
    assert len(server.asked) == 1  # the end came with the first answer
    assert source.read_at(200_000, 10_000) == DATA[200_000:210_000]
    assert source.read_at(201_000, 500) == DATA[201_000:201_500]
    assert len(server.asked) == 2
    assert source.read_at(-1, 5) == source.read_at(len(DATA), 5) == b""
    assert opened.wheel.fetched < 100_000
    assert opened.transport.requests == 2
    assert opened.transport.received == opened.wheel.fetched


@pytest.mark.slow
def test_every_read_gives_the_bytes_of_the_file(server, tmp_path):
    opened = Opened(server, tmp_path)
    source = opened.source
    chance = random.Random(7)
    for _ in range(40):
        start, length = chance.randrange(len(DATA)), chance.randrange(1, 60_000)
        assert source.read_at(start, length) == DATA[start : start + length]
    assert opened.wheel.fetched <= len(DATA)


def test_threads_do_not_fetch_the_same_bytes_twice(server, tmp_path):
    opened = Opened(server, tmp_path)
    source = opened.source
    assert misread(source, DATA, threads=6, length=9000) == []
    assert opened.wheel.fetched <= len(DATA)


def test_neighbouring_spans_are_fetched_together(server, tmp_path):
    source = Opened(server, tmp_path).source
    source.expect([(0, 30), (2_500, 2_530), (5_000, 5_030), (300_000, 300_030)])
    assert sorted(server.sent[1:]) == ["bytes=0-5029", "bytes=300000-300029"]
    source.read_at(0, 5_030)
    assert len(server.asked) == 3


def test_a_small_file_is_fetched_at_once(server, tmp_path):
    server.files["/x-1.0-py3-none-any.whl"] = DATA[:100_000]
    source = Opened(server, tmp_path).source
    source.expect([(0, 30), (50_000, 50_030)])
    source.expect([(60_000, 60_030)])
    assert source.read_at(0, 100_000) == DATA[:100_000]
    assert len(server.asked) == 2


def test_reading_ahead_ends_at_a_fence(server, tmp_path):
    source = Opened(server, tmp_path).source
    source.expect([], fences=[0, 100_000, 200_000])
    source.read_at(99_000, 100)
    assert server.sent[-1] == "bytes=99000-99999"


def test_a_second_run_finds_what_the_first_one_fetched(server, tmp_path):
    Opened(server, tmp_path).source.read_at(0, 600_000)
    again = Opened(server, tmp_path).source
    before = len(server.asked)
    assert again.read_at(0, 600_000) == DATA[:600_000]
    assert len(server.asked) == before


def test_a_damaged_part_in_the_cache_is_fetched_again(server, tmp_path):
    Opened(server, tmp_path).source.read_at(0, 20_000)
    for part in tmp_path.rglob("0-*"):
        part.write_bytes(b"x" * part.stat().st_size)
    assert Opened(server, tmp_path).source.read_at(0, 20_000) == DATA[:20_000]


# ------------------------------------------------------------------------------------- servers that do not play along


def later(change: Callable[[Reply], object]) -> Callable[[Request, Reply], Reply | None]:
    """Return a fault of every answer but the first."""

    def fault(request: Request, reply: Reply) -> Reply | None:
        if request.number:
            change(reply)
        return None

    return fault


def having(headers: dict[str, str | None] | None = None, **attributes: object) -> Callable[[Reply], None]:
    """Return a change of an answer: other attributes and headers, None for those that it does not have."""

    def change(reply: Reply) -> None:
        vars(reply).update(attributes)
        changed = {**reply.headers, **(headers or {})}
        reply.headers = {name: text for name, text in changed.items() if text is not None}

    return change


def too_long(reply: Reply) -> None:
    reply.body += b"and more"


def cut(after: int, answers: Container[int] = range(1000)) -> Callable[[Request, Reply], Reply | None]:
    """Return a fault of some answers: the connection ends after so many bytes."""

    def fault(request: Request, reply: Reply) -> Reply | None:
        if request.number in answers:
            reply.cut_after = after
        return None

    return fault


@pytest.mark.parametrize(
    "fault, says",
    [
        (having({"Content-Range": "bytes 11000-50999/700000"}), "in parts: asked for the bytes 1000 to"),
        (having({"Content-Range": "bytes 1000-50999/900000"}), "changed while it was read"),
        (having({"Content-Range": "bytes 7-50006/700000"}), "the server answers with bytes 7-"),
        (
            having({"Content-Range": None, "Content-Type": "multipart/byteranges; boundary=x"}),
            "the server answers with no valid range",
        ),
        (having({"Content-Encoding": "gzip"}), "compresses its answers although"),
        (having({"ETag": '"another"'}), "changed while it was read"),
        (having({"Content-Range": None}, status=200, body=DATA), "stopped giving parts"),
        (having({"Content-Range": None, "ETag": '"newer"'}, status=200, body=DATA), "changed while it was read"),
        (too_long, "more than the"),
        (having(status=404), "does not exist"),
        (having(status=403), "the server answers 403"),
        (having({"Retry-After": "86400"}, status=429), "and asks to wait"),
        (having(status=503), "the server answers 503"),
        (having(pause=0.05), "too slow"),
        (having(header_pause=0.05), "too slow"),
        (having(cut_after=0), "cut"),
        (having({"Content-Length": None}, endless=True), "more than the"),
    ],
)
def test_a_fault_is_an_error_and_never_bytes(server, tmp_path, fault, says):
    opened = Opened(server, tmp_path)
    source = opened.source
    server.fault = later(fault)
    if says == "too slow":
        opened.transport.patience = QUICK
    begun = time.monotonic()
    with pytest.raises(WheelfixError) as caught:
        source.read_at(1000, 50_000)
    text = f"{caught.value} {caught.value.hint}"
    if fault is not too_long:  # the connection may end before the rest is seen; either way nothing of it counts
        assert says in text
    assert time.monotonic() - begun < wall_patience(10)
    assert "x-1.0-py3-none-any.whl" in text
    assert not list(tmp_path.rglob("*.tmp"))
    server.fault = lambda request, reply: None
    assert Opened(server, tmp_path).source.read_at(0, 60_000) == DATA[:60_000]


def test_altered_bytes_under_an_honest_label_fail_where_the_hash_is_checked(server, tmp_path):
    """A server may lie about bytes in a part; whole files are checked, and nothing half-written stays."""
    opened = Opened(server, tmp_path, sha256=HASH)

    def alter(reply: Reply) -> None:
        reply.body = reply.body[:-1] + bytes([reply.body[-1] ^ 1])

    server.fault = lambda request, reply: alter(reply)
    with pytest.raises(NetworkFailure, match="its sha256 is"):
        opened.wheel.whole()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != MARK]


def test_a_busy_server_is_asked_again(server, tmp_path):
    source = Opened(server, tmp_path).source

    def busy_once(request: Request, reply: Reply) -> Reply | None:
        return Reply(429, {"Retry-After": "0"}, b"") if request.number == 1 else None

    server.fault = busy_once
    assert source.read_at(0, 100) == DATA[:100]


def test_a_cut_connection_is_resumed_where_it_broke(server, tmp_path):
    opened = Opened(server, tmp_path)
    source = opened.source
    server.fault = cut(30_000, range(1, 5))
    assert source.read_at(0, 200_000) == DATA[:200_000]
    assert opened.wheel.fetched < 400_000


def test_a_server_without_ranges_is_asked_for_the_whole_once(server, tmp_path):
    server.fault = lambda request, reply: Reply(200, {}, DATA)
    opened = Opened(server, tmp_path, sha256=HASH)
    source = opened.source
    assert source.read_at(1000, 1000) == DATA[1000:2000]
    assert source.read_at(500_000, 1000) == DATA[500_000:501_000]
    assert len(server.asked) == 2
    assert opened.source.read_at(5, 5) == DATA[5:10]
    assert len(opened.said) == 1
    assert "does not give parts of files" in opened.said[0]


@pytest.mark.parametrize("resumes", [True, False])
def test_a_server_that_always_cuts_ends(server, tmp_path, resumes):
    """A few bytes each time, or the beginning again and again: neither goes on for ever, and nothing is left."""
    server.fault = cut(10) if resumes else lambda request, reply: Reply(200, {}, DATA, cut_after=100_000)
    with pytest.raises(NetworkFailure, match="cut"):
        Opened(server, tmp_path, sha256=HASH).wheel.whole()
    assert len(server.asked) < 20
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != MARK]


def test_a_file_that_is_larger_than_the_index_says_is_not_read(server, tmp_path):
    transport = Transport(patience=PATIENT)
    for fault in (lambda request, reply: None, lambda request, reply: Reply(200, {}, b"", endless=True)):
        server.fault = fault
        wheel = RemoteWheel(f"{server.url}/x-1.0-py3-none-any.whl", transport, Cache(tmp_path), size=400_000)
        with pytest.raises(WheelfixError, match="400000"):
            wheel.open()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != MARK]


@pytest.mark.parametrize("seconds", [0, 3600])
def test_retry_after_as_a_date(server, tmp_path, seconds):
    source = Opened(server, tmp_path).source
    when = email.utils.formatdate(time.time() + seconds, usegmt=True)

    def busy_once(request: Request, reply: Reply) -> Reply | None:
        return Reply(503, {"Retry-After": when}, b"") if request.number == 1 else None

    server.fault = busy_once
    if seconds:
        with pytest.raises(NetworkFailure, match=r"asks to wait 3[56]\d\d seconds"):
            source.read_at(0, 100)
    else:
        assert source.read_at(0, 100) == DATA[:100]


def test_a_download_is_resumed(server, tmp_path):
    server.fault = cut(150_000, range(3))
    path = Opened(server, tmp_path, sha256=HASH).wheel.whole()
    assert path.read_bytes() == DATA
    assert server.sent[0] == ""
    assert all(span.startswith("bytes=") for span in server.sent[1:])


def test_a_file_that_changes_during_a_download_is_begun_again(server, tmp_path):
    newer = bytes(reversed(DATA))

    def swap(request: Request, reply: Reply) -> Reply | None:
        if request.number == 0:
            reply.cut_after = 150_000
            server.files["/x-1.0-py3-none-any.whl"] = newer
        return None

    server.fault = swap
    assert Opened(server, tmp_path).wheel.whole().read_bytes() == newer


def test_a_circle_of_redirects_ends(server, tmp_path):
    server.fault = lambda request, reply: Reply(302, {"Location": request.path}, b"")
    with pytest.raises(NetworkFailure, match="redirects in a circle"):
        Opened(server, tmp_path).source  # noqa: B018


def test_a_password_does_not_follow_a_redirect_to_another_server(server, tmp_path):
    with running({"/x-1.0-py3-none-any.whl": DATA}) as other:
        elsewhere = other.url.replace("127.0.0.1", "localhost")
        server.fault = lambda request, reply: Reply(302, {"Location": f"{elsewhere}{request.path}"}, b"")
        opened = Opened(server, tmp_path)
        secret = RemoteWheel(
            f"{server.url.replace('//', '//me:hunter2@')}/x-1.0-py3-none-any.whl", opened.transport, opened.cache
        )
        assert secret.open().read_at(0, 5) == DATA[:5]
        assert "Authorization" in server.asked[0].headers
        assert not any("Authorization" in request.headers for request in other.asked)
        assert "hunter2" not in f"{secret} {secret!r}"


def test_a_server_that_is_not_there(tmp_path):
    gone = Server("http://me:hunter2@127.0.0.1:9", {})
    with pytest.raises(NetworkFailure) as caught:
        Opened(gone, tmp_path).source  # noqa: B018
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


def test_a_host_that_cannot_be_a_host(tmp_path):
    with pytest.raises((InputError, NetworkFailure)):
        Opened(Server("http://a..b:99999999", {}), tmp_path).source  # noqa: B018

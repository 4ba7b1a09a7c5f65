"""HTTP with bounded time and memory: the only module that knows requests.

requests brings what pip has too: proxies from the environment, netrc, redirects that take no password to another
server. Added here: every answer is read in a thread of its own and waited for until a deadline, since a server that
sends a byte now and then is never idle for long enough to time out; servers that are busy are asked again. How the
connections are made is in ``connections.py``.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

from wheelfix.base.values import dataclass
from wheelfix.errors import EnvironmentFailure, NetworkFailure, shown_url
from wheelfix.remote.addresses import is_safe, userinfo, without_userinfo
from wheelfix.remote.connections import make_session, seconds_of
from wheelfix.remote.failures import CutShort, explain
from wheelfix.remote.settings import Connection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import requests

    from wheelfix.errors import InputError

BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which it makes sense to ask again."""
PIECE = 256 << 10


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server may take, in seconds."""

    connect: float = 15.0
    idle: float = 30.0
    """Between two pieces of an answer."""
    answer: float = 60.0
    """For an answer without its bytes; also how far its bytes may fall behind."""
    least_rate: float = 32 << 10
    """Bytes per second in which an answer has to come, besides that."""
    least_progress: int = 16 << 10
    """Bytes that have to come before a connection is cut; less counts as a failed try."""
    tries: int = 5
    first_wait: float = 0.5
    """Before a server is asked again; doubles each time."""
    longest_wait: float = 60.0
    """The longest Retry-After that is waited for."""

    def deadline(self, begun: float, received: int) -> float:
        """Return until when the next bytes of an answer have to come, after so many."""
        return begun + self.answer + received / self.least_rate


def load_requests() -> Any:
    """Import requests, or say how it is installed."""
    try:
        import requests
    except ImportError as exc:
        raise EnvironmentFailure(
            "files on servers cannot be read",
            because="the library requests is not installed",
            hint='python -m pip install "wheelfix[fetch]"',
        ) from exc
    return requests


class Transport:
    """Asks servers, for several threads; counts requests and bytes."""

    def __init__(
        self,
        *,
        patience: Patience | None = None,
        connection: Connection | None = None,
        credentials: Callable[[str], tuple[str, str] | None] = userinfo,
        after_refusal: Callable[[str], tuple[str, str] | None] = lambda _: None,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        """``credentials`` knows user and password of a URL, ``after_refusal`` where a server asks for them."""
        self.patience = patience or Patience()
        self.requests = self.received = 0
        self.connection = connection or Connection()
        self._requests = load_requests()
        self._credentials, self._after_refusal = credentials, after_refusal
        self._say, self._said = say, set[str]()
        self._lock = threading.Lock()
        self._session = make_session(self._requests, self.connection, self.say_once)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def say_once(self, message: str) -> None:
        """Tell the user something, unless it was said before."""
        with self._lock:
            if message in self._said:
                return
            self._said.add(message)
        self._say(message)

    @contextlib.contextmanager
    def get(
        self, url: str, headers: Mapping[str, str] | None = None, *, decoded: bool = False
    ) -> Iterator[ServerAnswer]:
        """Ask for a URL.

        Busy servers and broken connections are tried again until there is an answer. ``decoded`` unpacks an answer
        that was compressed on its way.
        """
        answer = self._answered(url, dict(headers or {}), decoded)
        try:
            yield answer
        finally:
            answer.close()

    def _answered(self, url: str, headers: dict[str, str], decoded: bool) -> ServerAnswer:
        patience, auth, asked_keyring = self.patience, self._account(url), False
        headers.setdefault("Accept-Encoding", "gzip" if decoded else "identity")
        for number in range(1, patience.tries + 1):
            last = number == patience.tries
            wait = min(patience.first_wait * 2 ** (number - 1), patience.longest_wait)
            try:
                answer = ServerAnswer(self, url, headers, auth, decoded)
            except CutShort as error:
                if last:
                    raise NetworkFailure(error.what, because=error.reasons, hint=error.hint) from error
                time.sleep(wait)
                continue
            if answer.status == 401 and not asked_keyring and not last:
                found, asked_keyring = self._after_refusal(url), True
                if found is not None and found != auth:
                    auth = found
                    answer.close()
                    continue
            if answer.status not in BUSY or last:
                return answer
            answer.close()
            time.sleep(max(wait, self._retry_after(answer, url)))
        raise AssertionError("every way through the loop ends it")

    def _account(self, url: str) -> tuple[str, str] | None:
        """Return user and password for a URL; netrc counts before a user name without a password, as for pip."""
        found = self._credentials(url)
        if found is None or found[1]:
            return found
        netrc: tuple[str, str] | None = self._requests.utils.get_netrc_auth(without_userinfo(url))
        return netrc or found

    def _retry_after(self, answer: ServerAnswer, url: str) -> float:
        wait = seconds_of(answer.headers.get("Retry-After", ""))
        if wait > self.patience.longest_wait:
            raise NetworkFailure(
                f"{shown_url(url)} cannot be read now",
                because=f"the server answers {answer.status} and asks to wait {wait:.0f} seconds",
                hint="try again later",
            )
        return wait

    def count(self, requests: int, received: int) -> None:
        """Add to what was asked for and came."""
        with self._lock:
            self.requests += requests
            self.received += received

    def start(self, url: str, headers: Mapping[str, str], auth: tuple[str, str] | None) -> requests.Response:
        """Send a request and return the answer, of which only the headers have been read."""
        return self._session.get(  # type: ignore[no-any-return]
            without_userinfo(url),
            headers=headers,
            auth=auth,
            stream=True,
            timeout=(self.patience.connect, self.patience.idle),
            verify=self.connection.certificates.value or True,
            cert=self.connection.client_certificate.value or None,
        )

    def explained(self, error: Exception, url: str) -> NetworkFailure | InputError:
        """Return an error of the library as one of ours; CutShort where asking again may help."""
        return explain(self._requests.exceptions, error, url, self.connection)


class ServerAnswer:
    """An answer of a server: its headers, and its bytes as they come, until a deadline."""

    def __init__(
        self,
        transport: Transport,
        url: str,
        headers: Mapping[str, str],
        auth: tuple[str, str] | None,
        decoded: bool,
    ) -> None:
        self._transport, self.url, self._decoded = transport, url, decoded
        self._begun, self._received = time.monotonic(), 0
        self._pieces: queue.Queue[requests.Response | bytes | Exception | None] = queue.Queue(8)
        self._abandoned = threading.Event()
        reader = threading.Thread(target=self._read_all, args=(url, headers, auth), daemon=True)
        reader.start()
        transport.count(1, 0)
        first = self._next()
        assert first is not None
        assert not isinstance(first, bytes)
        self.status: int = first.status_code
        self.headers: Mapping[str, str] = first.headers
        self.final: str = str(first.url)
        """The address that redirects led to; it may hold secrets."""
        hops = [str(one.url) for one in (*first.history, first)]
        self.unsafe: str = next((hop for hop in hops if not is_safe(hop, transport.connection.trusted_hosts)), "")
        """The first address on the way, from the one that was asked for to the last, at which anybody on the network
        could change the answer or where it leads; empty: there is none. It may hold secrets."""
        if self.unsafe:
            host = shown_url(self.unsafe).split("/")[2]
            transport.say_once(f"{host} is asked over plain http: anyone on the network can change what it answers")

    def _read_all(self, url: str, headers: Mapping[str, str], auth: tuple[str, str] | None) -> None:
        """In a thread: ask, and hand over the answer and its bytes."""
        try:
            with self._transport.start(url, headers, auth) as response:
                self._hand_over(response)
                while not self._abandoned.is_set():
                    piece = response.raw.read1(PIECE, decode_content=self._decoded)
                    if not piece:
                        break
                    self._hand_over(piece)
            self._hand_over(None)
        except Exception as error:
            self._hand_over(error)

    def _hand_over(self, item: requests.Response | bytes | Exception | None) -> None:
        while not self._abandoned.is_set():
            with contextlib.suppress(queue.Full):
                self._pieces.put(item, timeout=1.0)
                return

    def _next(self) -> requests.Response | bytes | None:
        deadline = self._transport.patience.deadline(self._begun, self._received)
        try:
            item = self._pieces.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            self.close()
            raise NetworkFailure(
                f"{shown_url(self.url)} cannot be read",
                because="the server is too slow: the time for this answer is over",
                hint="try again later",
            ) from None
        if isinstance(item, Exception):
            raise self._transport.explained(item, self.url) from item
        if isinstance(item, bytes):
            self._received += len(item)
            self._transport.count(0, len(item))
        return item

    def chunks(self, limit: int) -> Iterator[bytes]:
        """Yield the bytes; NetworkFailure beyond ``limit``, CutShort where they end before the answer does."""
        total = 0
        while piece := self._next():
            assert isinstance(piece, bytes)
            total += len(piece)
            if total > limit:
                self.close()
                raise NetworkFailure(
                    f"{shown_url(self.url)} cannot be read",
                    because=f"the server sends more than the {limit} bytes that belong there",
                )
            yield piece

    def close(self) -> None:
        """Stop reading it."""
        self._abandoned.set()

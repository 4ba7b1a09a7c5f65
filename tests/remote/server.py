"""A server of files for tests, which can also do everything that servers should not."""

from __future__ import annotations

import contextlib
import hashlib
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class Reply:
    """What the server is about to answer; a fault changes it."""

    status: int
    headers: dict[str, str]
    body: bytes
    cut_after: int | None = None
    """Close the connection after so many bytes of the body."""
    pause: float = 0.0
    """Seconds between single bytes of the body."""
    header_pause: float = 0.0
    endless: bool = False
    reason: str | None = None
    """What stands after the status; None: what belongs there."""


@dataclass
class Request:
    """What a client asked for."""

    path: str
    headers: dict[str, str]
    number: int

    @property
    def span(self) -> str:
        """The value of Range."""
        return self.headers.get("Range", "")


@dataclass
class Server:
    """A running server: its files, what it was asked for, and what goes wrong."""

    url: str
    files: dict[str, bytes]
    kinds: dict[str, str] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    fault: Callable[[Request, Reply], Reply | None] = lambda request, reply: None

    @property
    def sent(self) -> list[str]:
        """The ranges that were asked for."""
        return [request.span for request in self.asked]


def answer(files: dict[str, bytes], kinds: dict[str, str], request: Request) -> Reply:
    """Return what a server should answer."""
    body = files.get(request.path.partition("?")[0])
    if body is None:
        return Reply(404, {}, b"not here")
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    headers = {"ETag": tag, "Accept-Ranges": "bytes"}
    if request.path in kinds:
        headers["Content-Type"] = kinds[request.path]
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", request.span)
    if found is None or request.headers.get("If-Range", tag) != tag:
        return Reply(200, headers, body)
    start, end = found[1], found[2]
    first = int(start) if start else max(0, len(body) - int(end))
    last = min(int(end), len(body) - 1) if start and end else len(body) - 1
    if first > last:
        return Reply(416, {"Content-Range": f"bytes */{len(body)}"}, b"")
    headers["Content-Range"] = f"bytes {first}-{last}/{len(body)}"
    return Reply(206, headers, body[first : last + 1])


@contextlib.contextmanager
def running(
    files: dict[str, bytes], kinds: dict[str, str] | None = None, *, certificate: Path | None = None
) -> Iterator[Server]:
    """Run a server of some files on a free port; over TLS with a certificate for ``localhost``."""
    state = Server("", files, kinds or {})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # the name that the library asks for
            request = Request(self.path, dict(self.headers), len(state.asked))
            state.asked.append(request)
            reply = answer(state.files, state.kinds, request)
            reply = state.fault(request, reply) or reply
            with contextlib.suppress(ConnectionError):
                self._send(reply)

        def _send(self, reply: Reply) -> None:
            if reply.header_pause:
                for letter in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 2000:
                    self.wfile.write(bytes([letter]))
                    self.wfile.flush()
                    time.sleep(reply.header_pause)
            self.send_response(reply.status, reply.reason)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.endless:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while True:
                    self.wfile.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            if "Content-Length" not in reply.headers:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if reply.pause:
                for letter in reply.body:
                    self.wfile.write(bytes([letter]))
                    self.wfile.flush()
                    time.sleep(reply.pause)
            self.wfile.write(reply.body[: reply.cut_after])
            if reply.cut_after is not None:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    scheme = "http://127.0.0.1" if certificate is None else "https://localhost"
    state.url = f"{scheme}:{server.server_address[1]}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()

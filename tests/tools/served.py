"""A small package index on this machine, which counts what it is asked for."""

from __future__ import annotations

import contextlib
import html
import io
import json
import threading
import zipfile
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ServedIndex:
    """Projects with their files, offered by the simple interface."""

    def __init__(self) -> None:
        self.projects: dict[str, dict[str, bytes]] = {}
        self.ranges = True
        """Whether parts of files are given."""
        self.json = False
        """Whether pages are JSON, and METADATA is offered beside wheels."""
        self.busy = 0
        """How many requests are answered with "try again later" first."""
        self.asked: list[str] = []
        """The path of each request, with its range."""
        self.url = ""

    def add(self, wheel: str, members: Mapping[str, str | bytes], requires: tuple[str, ...] = ()) -> None:
        """Offer a wheel."""
        name, version = wheel.split("-")[:2]
        dist_info = f"{name}-{version}.dist-info"
        lines = [f"Requires-Dist: {text}\n" for text in requires]
        metadata = (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{''.join(lines)}\nRequires-Dist: not this\n"
        )
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
            for path, data in ({f"{dist_info}/METADATA": metadata} | dict(members)).items():
                archive.writestr(path, data)
        files = self.projects.setdefault(name.lower().replace("_", "-"), {})
        files[wheel] = packed.getvalue()
        files[f"{wheel}.metadata"] = metadata.encode()

    @contextlib.contextmanager
    def serve(self) -> Iterator[ServedIndex]:
        """Answer requests meanwhile."""
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                served._answer(self)

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}/simple"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range", "").removeprefix("bytes=")
        self.asked.append(f"{request.path} {wanted}".strip())
        parts = request.path.strip("/").split("/")
        if self.busy:
            self.busy -= 1
            _send(request, 503, b"", {"Retry-After": "0"})
        elif parts == ["simple"]:
            self._send_page(request, {"projects": [{"name": name} for name in self.projects]}, self.projects)
        elif parts[0] == "simple" and parts[1] in self.projects:
            names = [name for name in self.projects[parts[1]] if not name.endswith(".metadata")]
            links = {name: f"../../files/{parts[1]}/{name}#sha256=00" for name in names}
            files = [{"filename": name, "url": url, "core-metadata": True} for name, url in links.items()]
            self._send_page(request, {"files": files}, links)
        elif parts[0] == "files" and parts[2] in self.projects.get(parts[1], {}):
            self._send_file(request, self.projects[parts[1]][parts[2]], wanted)
        else:
            _send(request, 404, b"", {})

    def _send_page(self, request: BaseHTTPRequestHandler, tree: object, links: Mapping[str, object]) -> None:
        if self.json:
            _send(request, 200, json.dumps(tree).encode(), {"Content-Type": "application/vnd.pypi.simple.v1+json"})
            return
        rows = (f'<a href="{html.escape(str(url))}">{html.escape(name)}</a><br/>' for name, url in links.items())
        if not all(isinstance(url, str) for url in links.values()):
            rows = (f'<a href="{name}/">{name}</a>' for name in links)
        _send(request, 200, f"<!DOCTYPE html><body>{''.join(rows)}</body>".encode(), {"Content-Type": "text/html"})

    def _send_file(self, request: BaseHTTPRequestHandler, data: bytes, wanted: str) -> None:
        if not wanted or not self.ranges:
            _send(request, 200, data, {})
            return
        first, _, last = wanted.partition("-")
        if not first and int(last) > len(data):
            _send(request, 416, b"", {"Content-Range": f"bytes */{len(data)}"})
            return
        start = int(first) if first else len(data) - int(last)
        end = min(int(last) + 1, len(data)) if first and last else len(data)
        _send(request, 206, data[start:end], {"Content-Range": f"bytes {start}-{end - 1}/{len(data)}"})


def _send(request: BaseHTTPRequestHandler, status: int, data: bytes, headers: Mapping[str, str]) -> None:
    request.send_response(status)
    for name, value in ({"Content-Length": str(len(data))} | dict(headers)).items():
        request.send_header(name, value)
    with contextlib.suppress(ConnectionError):  # a client that does not want the rest closes the connection
        request.end_headers()
        request.wfile.write(data)

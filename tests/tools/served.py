"""A small package index on this machine, which notes what it is asked for."""

from __future__ import annotations

import contextlib
import html
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tests.remote.indexes import JSON
from tests.remote.server import Reply, Request, Server, answer, running


class ServedIndex:
    """Projects with their files, offered by the simple interface."""

    def __init__(self) -> None:
        self.projects: dict[str, dict[str, bytes]] = {}
        self.ranges = True
        """Whether parts of files are given."""
        self.json = False
        """Whether pages are JSON, and METADATA is offered beside wheels."""
        self.server = Server("", {})

    @property
    def url(self) -> str:
        return f"{self.server.url}/simple"

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
        with running({}) as self.server:
            self.server.fault = self._answer
            yield self

    def _answer(self, request: Request, reply: Reply) -> Reply | None:
        kind, *names = request.path.strip("/").split("/")
        files = self.projects.get(names[0], {}) if names else {}
        if kind == "files":
            asked = request if self.ranges else replace(request, headers={})
            return answer({request.path: files[names[1]]}, {}, asked) if names[1] in files else None
        links = {name: f"../../files/{names[0]}/{name}#sha256=00" for name in files if not name.endswith(".metadata")}
        tree = {"files": [{"filename": name, "url": url, "core-metadata": True} for name, url in links.items()]}
        if not names:
            links = {name: f"{name}/" for name in self.projects}
            tree = {"projects": [{"name": name} for name in links]}
        if not links:
            return None
        if self.json:
            return Reply(200, {"Content-Type": JSON}, json.dumps(tree).encode())
        rows = "".join(f'<a href="{html.escape(url)}">{html.escape(name)}</a><br/>' for name, url in links.items())
        return Reply(200, {"Content-Type": "text/html"}, f"<!DOCTYPE html><body>{rows}</body>".encode())

"""A package index on a small server, as JSON or HTML."""

from __future__ import annotations

import contextlib
import hashlib
import html
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from tests.remote.server import Server, running

JSON = "application/vnd.pypi.simple.v1+json"


def pages(wheels: Iterable[Path], *, as_html: bool = False) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files of an index below ``/simple``, and their types."""
    files = {}
    kinds = {}
    projects = {}
    for wheel in wheels:
        files[f"/files/{wheel.name}"] = wheel.read_bytes()
        projects.setdefault(canonicalize_name(wheel.name.split("-")[0]), []).append(wheel)
    for project, own in projects.items():
        page = f"/simple/{project}/"
        hashes = {wheel.name: hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in own}
        if as_html:
            links = [
                f'<a href="../../files/{html.escape(name)}#sha256={digest}">{name}</a>'
                for name, digest in hashes.items()
            ]
            files[page], kinds[page] = f"<!DOCTYPE html><body>{''.join(links)}</body>".encode(), "text/html"
        else:
            rows = [
                {"filename": name, "url": f"../../files/{name}", "hashes": {"sha256": digest}}
                for name, digest in hashes.items()
            ]
            document = {"meta": {"api-version": "1.1"}, "name": project, "files": rows}
            files[page], kinds[page] = json.dumps(document).encode(), JSON
    return files, kinds


@contextlib.contextmanager
def index_of(wheels: Iterable[Path], *, as_html: bool = False) -> Iterator[Server]:
    """Run a server that is the index of some wheels; its address is that of the server with ``/simple``."""
    files, kinds = pages(wheels, as_html=as_html)
    with running(files, kinds) as server:
        yield server

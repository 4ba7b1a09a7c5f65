"""Asks a package index for the files of a project, and reads parts of them: the only module that knows requests."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

PYPI = "https://pypi.org/simple"
ACCEPTED = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.5, text/html;q=0.1"
TRIES = 5
TAIL = 48 * 1024
"""Bytes of the first request: the directory of most wheels, and often their METADATA."""
LEAST = 16 * 1024
MOST_WHOLE = 32 * 1024 * 1024
"""Bytes of the largest file that is read whole where a server does not give parts."""


class IndexFault(Exception):
    """The index, or a file of it, could not be read."""


@dataclass(frozen=True)
class IndexFile:
    """A file that an index offers."""

    name: str
    url: str
    metadata: bool = False
    """Whether its METADATA is offered beside it (PEP 658)."""
    yanked: bool = False


def index_url() -> str:
    """Return the index that pip uses here."""
    if found := os.environ.get("PIP_INDEX_URL"):
        return found.rstrip("/")
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return (asked.stdout.strip() if asked.returncode == 0 else "").rstrip("/") or PYPI


class PackageIndex:
    """An index by its simple interface (PEP 503 and 691), for several threads; waits and asks again when it is busy."""

    def __init__(self, url: str = "", *, timeout: float = 60) -> None:
        self.url = (url or index_url()).rstrip("/")
        self._retry = Retry(
            TRIES, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504), respect_retry_after_header=True
        )
        self._timeout = timeout
        self._local = threading.local()
        self._lock = threading.Lock()
        self.requests = 0
        self.bytes = 0

    def names(self) -> list[str]:
        """Return the names of all projects."""
        try:
            data, kind = self._page(f"{self.url}/")
        except LookupError as exc:
            raise IndexFault(f"{self.url}/: not found") from exc
        if "json" in kind:
            return [project["name"] for project in json.loads(data)["projects"]]
        return [unquote(link["href"].rstrip("/").rpartition("/")[2]) for link, _ in _links(data)]

    def files(self, project: str) -> list[IndexFile]:
        """Return the files of a project; none for a project that does not exist."""
        url = f"{self.url}/{project}/"
        try:
            data, kind = self._page(url)
        except LookupError:
            return []
        return _json_files(url, data) if "json" in kind else _html_files(url, data)

    def text(self, url: str) -> str:
        """Return a small file."""
        return self._page(url)[0].decode("utf-8", "replace")

    def open(self, url: str) -> RemoteFile:
        """Open a file of which only parts will be read."""
        return RemoteFile(self, url)

    def part(self, url: str, part: str) -> tuple[bytes, int, int]:
        """Return bytes of a file, where they begin and the file's size; all of it where the server gives no parts."""
        with self._get(url, headers={"Range": f"bytes={part}", "Accept-Encoding": "identity"}, stream=True) as answer:
            if answer.status_code == 416:  # some servers say so to a part that is longer than the file
                return self.part(url, "0-")
            _raise_for(answer)
            length = int(answer.headers.get("Content-Length") or 0)
            if answer.status_code != 206 and length > MOST_WHOLE:
                raise IndexFault(f"{url}: the server gives no parts of files, and this one has {length} bytes")
            data = answer.content
            self._count(len(data))
            if answer.status_code != 206:
                return data, 0, len(data)
            place, _, size = answer.headers["Content-Range"].removeprefix("bytes ").partition("/")
            return data, int(place.partition("-")[0]), int(size)

    def _page(self, url: str) -> tuple[bytes, str]:
        with self._get(url, headers={"Accept": ACCEPTED}) as answer:
            if answer.status_code in (404, 410):
                raise LookupError(url)
            _raise_for(answer)
            self._count(len(answer.content))
            return answer.content, answer.headers.get("Content-Type", "")

    def _get(self, url: str, **said: object) -> requests.Response:
        try:
            return self._session().get(url, timeout=self._timeout, **said)
        except requests.RequestException as exc:
            raise IndexFault(f"{url}: {exc}") from exc

    def _session(self) -> requests.Session:
        """Return the thread's own session, which keeps its connections."""
        if not hasattr(self._local, "session"):
            session = requests.Session()
            session.headers["User-Agent"] = "wheelfix make_provider_index"
            for scheme in ("https://", "http://"):
                session.mount(scheme, HTTPAdapter(max_retries=self._retry))
            self._local.session = session
        return self._local.session

    def _count(self, size: int) -> None:
        with self._lock:
            self.requests += 1
            self.bytes += size


class RemoteFile(io.RawIOBase):
    """A file on a server, for zipfile: what was read is kept, what is missing is asked for in one piece."""

    def __init__(self, index: PackageIndex, url: str) -> None:
        super().__init__()
        self._index = index
        self._url = url
        data, start, self.size = index.part(url, f"-{TAIL}")
        self._parts = [(start, data)]
        self._place = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.size}[whence]
        self._place = max(0, base + offset)
        return self._place

    def read(self, size: int = -1) -> bytes:
        end = self.size if size < 0 else min(self.size, self._place + size)
        read = bytearray()
        while self._place + len(read) < end:
            read += self._some(self._place + len(read), end)
        self._place += len(read)
        return bytes(read)

    def _some(self, start: int, end: int) -> bytes:
        """Return bytes from a place on: those that are kept, or new ones up to the next that are kept."""
        for first, data in self._parts:
            if first <= start < first + len(data):
                return data[start - first : end - first]
        later = min((first for first, _ in self._parts if first > start), default=self.size)
        wanted = min(later, max(end, start + LEAST))
        data, first, _ = self._index.part(self._url, f"{start}-{wanted - 1}")
        if not first <= start < first + len(data):
            raise IndexFault(f"{self._url}: the server gave other bytes than those it was asked for")
        self._parts.append((first, data))
        return data[start - first : end - first]


def _raise_for(answer: requests.Response) -> None:
    if answer.status_code >= 400:
        raise IndexFault(f"{answer.url}: {answer.status_code} {answer.reason}")


def _json_files(url: str, data: bytes) -> list[IndexFile]:
    files = json.loads(data)["files"]
    return [
        IndexFile(
            file["filename"],
            urljoin(url, urldefrag(file["url"])[0]),
            bool(file.get("core-metadata", file.get("dist-info-metadata"))),
            bool(file.get("yanked")),
        )
        for file in files
    ]


def _html_files(url: str, data: bytes) -> list[IndexFile]:
    found = []
    for link, text in _links(data):
        metadata = link.get("data-core-metadata", link.get("data-dist-info-metadata", "false"))
        address = urljoin(url, urldefrag(link["href"])[0])
        found.append(IndexFile(text.strip(), address, metadata != "false", "data-yanked" in link))
    return found


def _links(data: bytes) -> list[tuple[dict[str, str], str]]:
    parser = _LinkParser()
    parser.feed(data.decode("utf-8", "replace"))
    parser.close()
    return parser.links


class _LinkParser(HTMLParser):
    """Collects the links of a page: their attributes and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[dict[str, str], str]] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in own:
            self.links.append((own, ""))
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag != "a"

    def handle_data(self, data: str) -> None:
        if self._open:
            attributes, text = self.links[-1]
            self.links[-1] = (attributes, text + data)

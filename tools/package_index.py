"""The package index as the tools use it: the files of a project, and parts of them, read as wheelfix itself does."""

from __future__ import annotations

import io
import re
import tempfile
from pathlib import Path
from urllib.parse import unquote

from wheelfix.base.options import RemoteOptions
from wheelfix.base.parsing import parse_json
from wheelfix.base.values import replace
from wheelfix.errors import WheelfixError
from wheelfix.remote import packageindex
from wheelfix.remote.cache import Cache
from wheelfix.remote.packageindex import IndexFile
from wheelfix.remote.ranges import RemoteWheel
from wheelfix.remote.settings import Credentials, IndexSettings, index_settings
from wheelfix.remote.transport import Patience, Transport

__all__ = ["IndexFault", "IndexFile", "PackageIndex", "index_url"]

PATIENCE = Patience()
MOST_WHOLE = 32 * 1024 * 1024
"""Bytes of the largest file that is read whole where a server does not give parts."""


LARGEST_LIST = 64 << 20
"""Bytes of the list of all projects, which has 45 MB."""


class IndexFault(Exception):
    """The index, or a file of it, could not be read."""


def index_url() -> str:
    """Return the index that pip uses here."""
    return index_settings(RemoteOptions()).index_url


class PackageIndex:
    """One index by its simple interface, for several threads; waits and asks again when it is busy."""

    def __init__(self, url: str = "") -> None:
        configured = index_settings(RemoteOptions())
        self.url = (url or configured.index_url).rstrip("/")
        self._settings: IndexSettings = replace(configured, index_url=self.url, extra_index_urls=(), find_links=())
        known = Credentials(configured.urls, configured.connection.keyring)
        self._transport = Transport(
            patience=PATIENCE,
            connection=configured.connection,
            credentials=known.of,
            after_refusal=known.after_refusal,
        )

    @property
    def requests(self) -> int:
        """How many requests were made."""
        return self._transport.requests

    @property
    def bytes(self) -> int:
        """How many bytes came."""
        return self._transport.received

    def names(self) -> list[str]:
        """Return the names of all projects."""
        page = _asked(lambda: self._pages()._page(f"{self.url}/", LARGEST_LIST))
        if page is None:
            raise IndexFault(f"{self.url} has no list of projects")
        if "json" in page.kind:
            return [project["name"] for project in parse_json(page.data)["projects"]]
        links = re.findall(r'<a [^>]*href="([^"]+)"', page.data.decode("utf-8", "replace"))
        return [unquote(link.rstrip("/").rpartition("/")[2]) for link in links]

    def files(self, project: str) -> list[IndexFile]:
        """Return the files of a project; none for a project that does not exist."""
        return _asked(lambda: self._pages().files(project))

    def metadata(self, file: IndexFile) -> str:
        """Return the METADATA that the index has beside a file."""
        return _asked(lambda: self._pages().metadata(file))

    def open(self, url: str) -> RemoteFile:
        """Open a file of which only parts will be read."""
        return _asked(lambda: RemoteFile(self._transport, url))

    def _pages(self) -> packageindex.PackageIndex:
        return packageindex.PackageIndex(self._transport, self._settings)  # which would keep every page it reads


def _asked(call):
    try:
        return call()
    except WheelfixError as exc:
        raise IndexFault(str(exc)) from exc


class RemoteFile(io.RawIOBase):
    """A file on a server, for zipfile."""

    def __init__(self, transport: Transport, url: str) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="wheelfix-index-", ignore_cleanup_errors=True)
        self._source = RemoteWheel(url, transport, Cache(Path(self._folder.name))).open(MOST_WHOLE)
        self.size = self._source.size
        self._place = 0

    def close(self) -> None:
        if not self.closed and hasattr(self, "_source"):
            self._source.close()
        self._folder.cleanup()
        super().close()

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
        wanted = self.size - self._place if size < 0 else size
        data = _asked(lambda: self._source.read_at(self._place, wanted))
        self._place += len(data)
        return data

"""Facts of an image that are read only when somebody asks: version, GPU code, signature; most take the whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import Image
from wheelfix.pe.fatbin import read_archs
from wheelfix.pe.signature import read_signature
from wheelfix.pe.version import read_version

if TYPE_CHECKING:
    from wheelfix.loader.view import FileView
    from wheelfix.model import ByteSource, FileVersion


class Details:
    """Reads such facts once; one source serves all questions about a file, so that it is inflated once."""

    def __init__(self, view: FileView) -> None:
        self._view = view
        self._open: tuple[str, ByteSource] | None = None
        self._versions: dict[str, FileVersion | None] = {}
        self._archs: dict[str, tuple[str, ...] | None] = {}
        self._signers: dict[str, str | None] = {}

    def version(self, path: str) -> FileVersion | None:
        """What the version resource says; None without one."""
        if path not in self._versions:
            self._versions[path] = read_version(self._source(path)) if self._readable(path) else None
        return self._versions[path]

    def archs(self, path: str) -> tuple[str, ...] | None:
        """The GPU code inside, as ``sm_86`` and ``ptx_86``; None without any."""
        if path not in self._archs:
            self._archs[path] = read_archs(self._source(path)) if self._readable(path) else None
        return self._archs[path]

    def signer(self, path: str) -> str | None:
        """Who signed it, ``unsigned``, or what is wrong with the signature; None for what is no image."""
        if path not in self._signers:
            self._signers[path] = str(read_signature(self._source(path))) if self._readable(path) else None
        return self._signers[path]

    def _readable(self, path: str) -> bool:
        return isinstance(self._view.image(path), Image)

    def _source(self, path: str) -> ByteSource:
        """The file asked about last stays open: its inflated parts serve the next question."""
        if self._open is None or self._open[0] != path:
            self._open = (path, self._view.source(path))
        return self._open[1]

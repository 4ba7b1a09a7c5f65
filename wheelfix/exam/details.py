"""Facts of an image that are read only when asked for: version, GPU code, signature; most take the whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import GpuFit, Image, ScannedImage
from wheelfix.pe.gpucode import read_gpu_code
from wheelfix.pe.modulenames import read_numpy
from wheelfix.pe.signature import read_signature
from wheelfix.pe.version import read_version
from wheelfix.rules.gpufit import fit_of_image, in_order
from wheelfix.streams.pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.base.options import ScanOptions
    from wheelfix.loader.view import FileView
    from wheelfix.model import ByteSource, FileVersion, NumpyApi, Signature
    from wheelfix.pe.gpucode import GpuCode
    from wheelfix.rules.context import Subject


class Details:
    """Reads such facts once; one source serves all questions about a file, so that it is inflated once."""

    def __init__(
        self, view: FileView, options: ScanOptions, versions: Mapping[str, FileVersion | None] | None = None
    ) -> None:
        """``versions`` are known already, by the names that files have in the wheel or on disk."""
        self._view = view
        self._open: tuple[str, ByteSource] | None = None
        known = versions or {}
        self._versions = {file.path: known[file.origin] for file in view.own_files if file.origin in known}
        self._codes: dict[str, GpuCode | None] = {}
        self._trusted_roots = options.roots.trusted_roots
        self._signatures: dict[str, Signature | None] = {}
        self._numpys: dict[str, NumpyApi | None] = {}

    def read_ahead(self, options: ScanOptions) -> None:
        """Read what the options ask for, several images at a time: inflating lets other threads work."""
        code = options.archs or options.gpu is not None
        signatures = options.signatures or options.signers
        if not (code or options.versions or signatures):
            return

        def read(path: str) -> None:
            source = self._view.source(path)
            # In the order in which these lie in a file, so that it is inflated in one go.
            if code:
                self._codes[path] = read_gpu_code(source)
            if options.versions:
                self._versions[path] = read_version(source)
            if signatures:
                self._signatures[path] = read_signature(source, self._trusted_roots)
            if options.versions and path.lower().endswith(".pyd"):
                self._numpys[path] = read_numpy(source)

        paths = [path for path in self._view.images() if self._readable(path)]
        paths.sort(key=lambda path: -self._view.file(path).size)
        with WorkerPool(options.jobs) as pool:
            pool.map(read, paths)

    def version(self, path: str) -> FileVersion | None:
        """What the version resource says; None without one."""
        if path not in self._versions:
            self._versions[path] = read_version(self._source(path)) if self._readable(path) else None
        return self._versions[path]

    def gpu_code(self, path: str) -> GpuCode | None:
        """The GPU code inside; None for a file without sections for it."""
        if path not in self._codes:
            self._codes[path] = read_gpu_code(self._source(path)) if self._readable(path) else None
        return self._codes[path]

    def signature(self, path: str) -> Signature | None:
        """What its signature is worth; None for what is not an image."""
        if path not in self._signatures:
            found = read_signature(self._source(path), self._trusted_roots) if self._readable(path) else None
            self._signatures[path] = found
        return self._signatures[path]

    def numpy(self, path: str) -> NumpyApi | None:
        """Which NumPy it was built for; None without any."""
        if path not in self._numpys:
            self._numpys[path] = read_numpy(self._source(path)) if self._readable(path) else None
        return self._numpys[path]

    def _readable(self, path: str) -> bool:
        return isinstance(self._view.image(path), Image)

    def _source(self, path: str) -> ByteSource:
        """The file asked about last stays open: its inflated parts serve the next question."""
        if self._open is None or self._open[0] != path:
            self._open = (path, self._view.source(path))
        return self._open[1]


def scanned_images(subject: Subject, options: ScanOptions) -> Iterator[ScannedImage]:
    """The images of a view, with as many details as the options ask for."""
    wants_code = options.archs or options.gpu is not None
    for path, facts in subject.view.images().items():
        if not isinstance(facts, Image):
            yield ScannedImage(subject.origin(path), facts)
            continue
        code = subject.code_of(path) if wants_code else None
        yield ScannedImage(
            path=subject.origin(path),
            facts=facts,
            version=subject.version(path) if options.versions else None,
            archs=code.archs if code is not None else None,
            gpu=_gpu_fit(subject, facts, code) if code is not None and code.archs else None,
            numpy=subject.numpy_of(path) if options.versions and path.lower().endswith(".pyd") else None,
            signature=subject.signature(path),
        )


def _gpu_fit(subject: Subject, image: Image, code: GpuCode) -> GpuFit | None:
    if subject.gpu is None or subject.card is None:
        return None
    return GpuFit(subject.gpu, subject.card, fit_of_image(code, image.size, subject.card).value)


def archs_of_all(images: Iterable[ScannedImage]) -> tuple[str, ...]:
    """The architectures that some image has code for."""
    return tuple(in_order({arch for image in images for arch in image.archs or ()}))

"""The one door to compression: raw deflate by zlib-ng, zlib and libdeflate, and zstd."""

from __future__ import annotations

import functools
import importlib
import zlib
from collections import deque
from typing import IO, TYPE_CHECKING, TypeAlias, cast

from wheelfix.base.values import frozen
from wheelfix.errors import EnvironmentFailure, UsageError, install_extra
from wheelfix.streams.pool import Task, WorkerPool

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from wheelfix.model import ByteSource

# ----------------------------------------------------------------------------------------------------------- libdeflate
# Pieces of a deflate stream, packed by libdeflate, which is faster than zlib-ng and takes whole buffers.
# It knows no streams, so a fact of the format helps. A block's first bit says whether it is the last: cleared, and with
# an empty block behind it that ends at a byte, what libdeflate made can be followed by more.

PIECE = (64 << 10) - 1
"""Bytes of which libdeflate's level 1 makes a single block, even if they do not shrink."""
LAST = b"\x03\x00"
"""A last block with nothing in it."""
_EMPTY = b"\x00\x00\xff\xff"
"""Of a stored block with nothing in it: all but the three bits at its head."""


@functools.cache
def _library() -> ModuleType | None:
    try:
        import deflate
    except ImportError:
        return None
    return deflate


def libdeflate_version() -> str:
    """Return the version of the package with libdeflate; nothing if it is not installed."""
    library = _library()
    return library.__version__ if library is not None else ""


def pack_piece(piece: memoryview) -> bytearray | None:
    """Deflate up to PIECE bytes into blocks that end at a byte and are not the last; None if there is no such way."""
    library = _library()
    assert library is not None
    stream: bytearray = library.deflate_compress(piece, 1)
    if not stream[0] & 1:  # several blocks, and where the last begins is not known
        return None
    stream[0] ^= 1
    # Nor does anybody say how many bits of the last byte are left. If the head of the empty block, three zeros, fits in
    # there, it is there already; else it takes a byte of its own. Where both could be, what unpacks is right.
    for rest in (b"", b"\0") if stream[-1] < 1 << 5 else (b"\0",):
        joined = stream + rest + _EMPTY
        if stream[-1] >= 1 << 5 or inflate_whole(bytes(joined + LAST), len(piece)) is not None:
            return joined
    return None


# ---------------------------------------------------------------------------------------------------------------- codec
# The one door to streams of deflate: zlib-ng where it is installed, the standard library's zlib elsewhere.


RAW = -15
"""The ``wbits`` of a zip member: a deflate stream without header or checksum."""
STORED, DEFLATED = 0, 8
"""Compression methods of zip that wheels may use."""
NAMES = ("mixed", "zlib-ng", "zlib")
"""Compressors by name, the preferred one first; ``mixed`` is zlib-ng, and libdeflate for what hardly repeats."""
# zlib-ng's 5 is three times as fast as zlib's 6 and 2 % larger; its own 6 saves 1 % and takes a quarter longer.
_BEST_LEVEL = {"mixed": 5, "zlib-ng": 5, "zlib": 6}
_PACKAGES = {"mixed": "zlib-ng deflate", "zlib-ng": "zlib-ng"}
_MEMORY_LEVEL = 9
"""The most; with the usual 8, packing the DLLs of oneMKL takes 2 % longer."""
MAX_RATIO = 1032
"""No deflate stream can expand further than this."""


Inflater: TypeAlias = "zlib._Decompress"
"""What :func:`inflater` gives; zlib-ng's has the same methods."""
Deflater: TypeAlias = "zlib._Compress"
"""What :meth:`Compressor.deflater` gives."""


@functools.cache
def _zlib_ng() -> ModuleType | None:
    try:
        from zlib_ng import zlib_ng
    except ImportError:
        return None
    return zlib_ng


@functools.cache
def _fastest() -> ModuleType:
    return _zlib_ng() or zlib


def _version(name: str) -> str:
    """Return the version of what a compressor needs; nothing if that is not installed."""
    if name == "zlib":
        return zlib.ZLIB_RUNTIME_VERSION
    zlib_ng = _zlib_ng()
    if zlib_ng is None or (name == "mixed" and not libdeflate_version()):
        return ""
    version: str = zlib_ng.ZLIBNG_RUNTIME_VERSION
    return f"{version}+deflate{libdeflate_version()}" if name == "mixed" else version


def inflater() -> Inflater:
    """Return a fresh object that inflates one raw deflate stream."""
    return cast("Inflater", _fastest().decompressobj(RAW))


def crc32(data: bytes | memoryview, start: int = 0) -> int:
    """Return the CRC of ``data``, continuing from ``start``."""
    return cast("int", _fastest().crc32(data, start))


def hasher(name: str = "sha256") -> hashlib._Hash:
    """Return a fresh hash object; its library, which loads OpenSSL in 4 ms, is imported when the first is made."""
    import hashlib

    return hashlib.new(name, usedforsecurity=False)


DIGEST_SIZES = {
    "md5": 16,
    "sha1": 20,
    "sha224": 28,
    "sha256": 32,
    "sha384": 48,
    "sha512": 64,
    "blake2b": 64,
    "blake2s": 32,
    **{f"sha3_{bits}": bits // 8 for bits in (224, 256, 384, 512)},
}
"""The bytes of a digest, for every algorithm that each hashlib has and whose digests have one length."""


def inflate_error() -> tuple[type[Exception], ...]:
    """Return the exceptions with which a damaged stream is reported."""
    return (zlib.error, _fastest().error)


@frozen
class Compressor:
    """A deflate implementation at a level; the same one gives the same bytes on every machine."""

    name: str
    """One of NAMES."""
    version: str
    """The version of what does the work."""
    level: int
    """0 to 9; -1 means that members are stored."""

    @classmethod
    def choose(cls, name: str = "auto", level: int | str = "auto") -> Compressor:
        """Return the compressor of that name, or the best at hand for ``auto``; UsageError if there is none.

        ``level`` is 0 to 9, ``store``, or ``auto`` for what is best with that compressor. Who wants a level of his own
        and names no compressor gets one that uses it throughout.
        """
        number = _level(level)
        wanted = (NAMES if number is None else NAMES[1:]) if name == "auto" else (name,)
        for candidate in wanted:
            if candidate not in NAMES:
                raise UsageError(f"no compressor named {candidate!r}", hint="use one of: auto, " + ", ".join(NAMES))
            version = _version(candidate)
            if version:
                return cls(candidate, version, _BEST_LEVEL[candidate] if number is None else number)
        raise UsageError(f"the compressor {name!r} is not installed", hint=f"pip install {_PACKAGES[name]}")

    @property
    def compression(self) -> str:
        """The level as an option has it."""
        return "store" if self.level < 0 else str(self.level)

    @property
    def mixed(self) -> bool:
        """Whether libdeflate packs what hardly repeats."""
        return self.name == "mixed"

    @property
    def method(self) -> int:
        """The zip method of what this compressor makes."""
        return STORED if self.level < 0 else DEFLATED

    def deflater(self, dictionary: bytes | memoryview = b"") -> Deflater:
        """Return a fresh object for one raw stream, which may refer back to the last 32 KiB of ``dictionary``."""
        module = zlib if self.name == "zlib" else _zlib_ng()
        assert module is not None
        make = module.compressobj
        settings = (self.level, zlib.DEFLATED, RAW, _MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY)
        return cast("Deflater", make(*settings, dictionary) if dictionary else make(*settings))


def _level(level: int | str) -> int | None:
    """Return a level as a number, -1 for ``store`` and None for ``auto``."""
    if level in {"auto", "store"}:
        return None if level == "auto" else -1
    text = str(level)
    if len(text) != 1 or not text.isdecimal() or not text.isascii():
        raise UsageError(f"no compression level {level!r}", hint="use 0 to 9, store or auto")
    return int(text)


def inflate_whole(data: bytes, size: int) -> bytes | None:
    """Return what a whole raw stream inflates to, or None if it is damaged or is not exactly ``size`` bytes."""
    stream = inflater()
    try:
        plain = stream.decompress(data, size + 1)
        if not stream.eof and not stream.unconsumed_tail:
            return None
        # With exactly ``size`` bytes produced the end mark may still be waiting to be read.
        if not stream.eof and stream.decompress(stream.unconsumed_tail, 1):
            return None
    except inflate_error():
        return None
    return plain if stream.eof and len(plain) == size and not stream.unused_data else None


# ----------------------------------------------------------------------------------------------------------------- zstd
# The door to zstd: the standard library's module from Python 3.14 on, else ``zstandard``.


INSTALL = install_extra("conda")
"""The command that makes zstd available."""


def zstd_reader() -> Callable[[IO[bytes]], IO[bytes]] | None:
    """Return a function that makes a file of packed bytes one of unpacked bytes; None where there is no zstd."""
    if (standard := _module("compression.zstd")) is not None:
        return lambda packed: standard.ZstdFile(packed, "rb")
    if (library := _module("zstandard")) is not None:
        return lambda packed: library.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    return None


def zstd_errors() -> tuple[type[Exception], ...]:
    """Return what the readers raise for damaged data."""
    found = (_module("compression.zstd"), _module("zstandard"))
    return tuple(module.ZstdError for module in found if module is not None)


@functools.cache
def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


BLOCK = 2 << 20
"""Bytes that are deflated as one piece; changing it changes the bytes of every wheel we write."""
WINDOW = 32 << 10
"""How far back a deflate stream can refer."""
_PART = 64 << 10
"""How much of a block is looked at before the rest is judged; then twice as much, and so on."""
_DENSE = 0.55
"""What does not shrink to this is dense: packed GPU code, pictures. Looking for repetitions there is useless."""


@frozen
class DeflatedData:
    """What became of a file's bytes."""

    method: int
    crc: int
    csize: int
    usize: int
    sha256: bytes
    """Empty if it was not asked for."""


class Deflating:
    """Threads that deflate; used in a ``with`` block."""

    def __init__(self, compressor: Compressor, jobs: int) -> None:
        self.compressor = compressor
        self.depth = jobs + 2 + jobs // 8
        """How many blocks, of how many files, may be under way: a few are waiting, so that no thread has to."""
        self._pool = WorkerPool(jobs)
        self._unread: deque[Packing] = deque()
        self._under_way = 0

    def __enter__(self) -> Deflating:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close(cancel=True)

    def begin(self, source: ByteSource, what: str, *, hashed: bool = True) -> Packing:
        """Begin to deflate a source when those before it leave room; what was begun has to be written in turn."""
        packing = Packing(self, source, what, hashed)
        if self.compressor.method == DEFLATED:
            self._unread.append(packing)
            self._read_on()
        return packing

    def deflate(self, block: bytes, dictionary: bytes, last: bool) -> Task[bytes]:
        """Have a block deflated."""
        self._under_way += 1
        return self._pool.submit(functools.partial(_deflate, self.compressor, block, dictionary, last))

    def take(self, deflated: Task[bytes]) -> bytes:
        """Wait for a block, and let others take its place."""
        data = deflated.result()
        self._under_way -= 1
        self._read_on()
        return data

    def _read_on(self) -> None:
        while self._unread and self._under_way < self.depth:
            if not self._unread[0].read_block():
                self._unread.popleft()


class Packing:
    """A source on its way through the threads."""

    def __init__(self, deflating: Deflating, source: ByteSource, what: str, hashed: bool) -> None:
        self.source, self.what = source, what
        self._deflating = deflating
        self._blocks = _blocks(source, what)
        self._hashed, self._sha256 = hashed, hasher()
        self._crc = 0
        self._before = b""
        self._pending: deque[Task[bytes]] = deque()

    def read_block(self) -> bool:
        """Read one block and have it deflated; False if there is no more."""
        block, last = next(self._blocks, (None, True))
        if block is None:
            return False
        if self._hashed:
            self._sha256.update(block)
        self._crc = crc32(block, self._crc)
        self._pending.append(self._deflating.deflate(block, self._before, last))
        self._before = block[-WINDOW:]
        return True

    def write(self, write: Callable[[bytes], None]) -> DeflatedData:
        """Write the source out, deflated if that is what is wanted."""
        if self._deflating.compressor.method == STORED:
            return self.store(write)
        csize = 0
        while self._pending:
            data = self._deflating.take(self._pending.popleft())
            csize += len(data)
            write(data)
        sha256 = self._sha256.digest() if self._hashed else b""
        return DeflatedData(DEFLATED, self._crc, csize, self.source.size, sha256)

    def store(self, write: Callable[[bytes], None]) -> DeflatedData:
        """Write the source out as it is."""
        sha256, crc = hasher(), 0
        for block, _ in _blocks(self.source, self.what):
            if self._hashed:
                sha256.update(block)
            crc = crc32(block, crc)
            write(block)
        size = self.source.size
        return DeflatedData(STORED, crc, size, size, sha256.digest() if self._hashed else b"")


def _blocks(source: ByteSource, what: str) -> Iterator[tuple[bytes, bool]]:
    """Give the source's blocks, and with each whether it is the last; an empty source has one empty block."""
    at, size = 0, source.size
    while True:
        wanted = min(BLOCK, size - at)
        block = source.read_at(at, wanted) if wanted else b""
        if len(block) != wanted:
            raise EnvironmentFailure(f"{what} changed while it was read", because="it became shorter")
        at += wanted
        yield block, at >= size
        if at >= size:
            return


def _deflate(compressor: Compressor, block: bytes, dictionary: bytes, last: bool) -> bytes:
    """Deflate a block."""
    if compressor.mixed and len(block) > _PART:
        return _deflate_mixed(compressor, memoryview(block), dictionary, last)
    deflater = compressor.deflater(dictionary)
    return deflater.compress(block) + deflater.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)


def _deflate_mixed(compressor: Compressor, block: memoryview, dictionary: bytes, last: bool) -> bytes:
    """Deflate a block in parts, each of which shows whether it is worth looking for repetitions in the next."""
    packed: list[bytes | bytearray] = []
    at, length, deflater = 0, _PART, compressor.deflater(dictionary)
    while at < len(block):
        part = block[at : at + length]
        packed += deflater.compress(part), deflater.flush(zlib.Z_SYNC_FLUSH)
        at, length = at + len(part), 2 * length
        if len(packed[-2]) + len(packed[-1]) >= _DENSE * len(part):
            at = _deflate_dense(block, at, packed)
            length, deflater = _PART, compressor.deflater(block[at - WINDOW : at])
    return b"".join([*packed, LAST] if last else packed)


def _deflate_dense(block: memoryview, at: int, packed: list[bytes | bytearray]) -> int:
    """Deflate pieces of a block as long as it stays dense; return where that ends."""
    while piece := block[at : at + PIECE]:
        dense = pack_piece(piece)
        if dense is None or len(dense) < _DENSE * len(piece):
            break
        packed.append(dense)
        at += len(piece)
    return at

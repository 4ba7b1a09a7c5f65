"""The least that a job can take: the same bytes inflated, hashed or deflated on all cores, and nothing else.

Runs as a child: ``python -m benchmarks.floors JOB FILE``. It uses the same libraries as wheelfix and knows beforehand
what wheelfix has to find out, such as how far each DLL must be inflated.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import threading
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    fastest = importlib.import_module("zlib_ng.zlib_ng")
except ImportError:
    fastest = zlib

IN, OUT, BLOCK = 128 << 10, 512 << 10, 1 << 20
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def directory(wheel: str) -> None:
    """Read the central directory with the standard library."""
    with zipfile.ZipFile(wheel) as archive:
        archive.infolist()


def prefixes(listing: str) -> None:
    """Inflate of each listed member what its facts need; the list is made by :mod:`benchmarks.material`."""
    wanted = json.loads(Path(listing).read_text(encoding="utf-8"))
    descriptor = os.open(wanted["wheel"], os.O_RDONLY)

    def inflate(entry: list[int]) -> None:
        for _ in _inflated(descriptor, *entry):
            pass

    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(inflate, wanted["members"]))


def everything(wheel: str) -> None:
    """Inflate and hash every member, large ones first and streamed, small ones in one step."""
    with zipfile.ZipFile(wheel) as archive:
        members = sorted(archive.infolist(), key=lambda member: -member.file_size)
    descriptor = os.open(wheel, os.O_RDONLY)
    work, lock = iter(members), threading.Lock()

    def hash_members() -> None:
        while True:
            with lock:
                member = next(work, None)
            if member is None:
                return
            header = os.pread(descriptor, 30, member.header_offset)
            start = member.header_offset + 30 + int.from_bytes(header[26:28], "little")
            start += int.from_bytes(header[28:30], "little")
            digest = hashlib.sha256()
            if member.compress_type == zipfile.ZIP_STORED:
                for at in range(0, member.file_size, OUT):
                    digest.update(os.pread(descriptor, min(OUT, member.file_size - at), start + at))
                continue
            for piece in _inflated(descriptor, start, member.compress_size, member.file_size):
                digest.update(piece)

    threads = [threading.Thread(target=hash_members) for _ in range(CORES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def deflate(folder: str) -> None:
    """Deflate the files of a folder with zlib at level 6, in blocks on all cores; print how many bytes that makes."""
    files = [path for path in sorted(Path(folder).iterdir()) if path.is_file()]
    spans = [(path, at) for path in files for at in range(0, path.stat().st_size, 8 * BLOCK)]

    def pack(span: tuple[Path, int]) -> tuple[int, int]:
        with span[0].open("rb") as file:
            file.seek(span[1])
            data = file.read(8 * BLOCK)
        return len(data), len(zlib.compress(data, 6))

    with ThreadPoolExecutor(CORES) as pool:
        sizes = list(pool.map(pack, spans))
    print(sum(packed for _, packed in sizes))


def _inflated(descriptor: int, start: int, csize: int, until: int) -> Iterator[bytes]:
    """Give a member's bytes up to ``until``, in the steps that are fastest."""
    done, end = 0, start + csize
    stream = fastest._ZlibDecompressor(-15) if hasattr(fastest, "_ZlibDecompressor") else fastest.decompressobj(-15)
    tail = b""
    while done < until and not stream.eof:
        data = tail
        if not data and getattr(stream, "needs_input", True):
            data = os.pread(descriptor, min(IN, end - start), start)
            start += len(data)
        piece = stream.decompress(data, OUT)
        tail = getattr(stream, "unconsumed_tail", b"")
        done += len(piece)
        yield piece


if __name__ == "__main__":
    {"directory": directory, "prefixes": prefixes, "everything": everything, "deflate": deflate}[sys.argv[1]](
        sys.argv[2]
    )

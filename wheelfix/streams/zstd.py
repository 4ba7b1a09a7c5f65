"""The door to zstd: the standard library's module from Python 3.14 on, else ``zstandard``."""

from __future__ import annotations

import functools
import importlib
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable

INSTALL = 'pip install "wheelfix[conda]"'
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
def _module(name: str) -> _Zstd | None:
    try:
        return cast("_Zstd", importlib.import_module(name))
    except ImportError:
        return None


class _Zstd:
    """The parts that we use of the two modules; either has its own."""

    ZstdFile: Callable[..., IO[bytes]]
    ZstdDecompressor: Callable[[], _Zstd]
    stream_reader: Callable[..., IO[bytes]]
    ZstdError: type[Exception]

from __future__ import annotations

import pytest

from wheelfix.model import NumpyApi
from wheelfix.pe import modulenames
from wheelfix.pe.modulenames import read_numpy
from wheelfix.streams.source import InflatedSource, MemorySource

SENTENCE = b"module was compiled against NumPy C-API version 0x%x (NumPy 1.23) but the running NumPy"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"", None, id="empty"),
        pytest.param(b"nothing of the kind", None, id="without"),
        pytest.param(modulenames.NUMPY_1, NumpyApi(1), id="numpy-1"),
        pytest.param(modulenames.NUMPY_2 + b"\0" + modulenames.NUMPY_1, NumpyApi(2), id="numpy-2"),
        pytest.param(modulenames.NUMPY_2 + SENTENCE, NumpyApi(2, "1.23"), id="numpy-2-for-1.23"),
        pytest.param(SENTENCE, None, id="the-sentence-alone"),
        pytest.param(modulenames.NUMPY_2 + SENTENCE.replace(b"23", b"9" * 50), NumpyApi(2), id="no-such-version"),
    ],
)
@pytest.mark.parametrize("chunk", [16, 33, 1 << 20])
def test_marks_of_the_headers(
    content: bytes, expected: NumpyApi | None, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modulenames, "CHUNK", chunk)
    assert read_numpy(MemorySource(b"x" * 10 + content + b"y" * 90)) == expected


def test_large_modules_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modulenames, "LIMIT", 10)
    assert read_numpy(MemorySource(modulenames.NUMPY_1)) is None


def test_none_from_a_damaged_stream() -> None:
    assert read_numpy(InflatedSource(lambda at, length: b"\xff" * length, 1000, 50_000)) is None

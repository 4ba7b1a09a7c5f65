"""The bytes of Python files, inflated once: several questions are asked of the same files, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.values import dataclass, field

if TYPE_CHECKING:
    from wheelfix.loader.view import FileView

MOST_KEPT = 12 << 20
"""Bytes that are kept; the code of most packages is smaller, and that of the others is read again."""


@dataclass
class _Kept:
    data: dict[str, bytes] = field(default_factory=dict)
    size: int = 0

    def add(self, path: str, data: bytes) -> None:
        """Keep a file, and drop the oldest ones if there are too many bytes."""
        if len(data) > MOST_KEPT // 4:
            return
        self.data[path] = data
        self.size += len(data)
        while self.size > MOST_KEPT:
            self.size -= len(self.data.pop(next(iter(self.data))))


def python_source(view: FileView, path: str) -> bytes:
    """Return the bytes of a file of a view; views of the same files share what is kept."""
    kept: _Kept = view.code_notes.setdefault("sources", _Kept())
    data = kept.data.get(path)
    if data is None:
        data = view.source(path).read_at(0, view.file(path).size)
        kept.add(path, data)
    return data

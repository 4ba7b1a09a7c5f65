"""What ``wheelfix roots`` prints: rows for people, and a document for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.roots.root import LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import Json
    from wheelfix.roots.gather import Remark
    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.root import Root

SCHEMA = "wheelfix.roots/1"


@dataclass(frozen=True, slots=True)
class RootRow:
    """One root as a row of the table."""

    kind: str
    version: str
    path: str
    learned: str
    folders: tuple[str, ...]
    """As they are on disk below the path, each with how many DLLs are in it."""
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def rows(index: RootIndex) -> tuple[RootRow, ...]:
    """Return the roots of an index as rows, in their order."""
    counts = _counts(index)
    return tuple(
        RootRow(
            LABELS[root.kind],
            root.version,
            str(root.path),
            root.learned + (", last resort" if root.last_resort else ""),
            tuple(
                f"{entry.path} ({_plural(counts.get((str(root.path), entry.path), 0))}"
                + ("" if entry.redistributable else ", not redistributable")
                + ")"
                for entry in root.folders
            ),
            root.warnings,
            root.notes,
        )
        for root in index.roots
    )


def _plural(count: int) -> str:
    return "1 DLL" if count == 1 else f"{count} DLLs"


def document(index: RootIndex, remarks: Sequence[Remark] = ()) -> dict[str, Json]:
    """Return everything about the roots of an index, for JSON."""
    counts = _counts(index)
    return {
        "schema": SCHEMA,
        "roots": [_root(root, counts) for root in index.roots],
        "remarks": [
            {"kind": remark.kind, "path": str(remark.path), "learned": remark.learned, "reason": remark.reason}
            for remark in remarks
        ],
        "skipped": [{"path": skipped.path, "reason": skipped.reason} for skipped in index.skipped],
    }


def _root(root: Root, counts: dict[tuple[str, str], int]) -> dict[str, Json]:
    folders: list[Json] = [
        {
            "path": entry.path,
            "version": entry.version,
            "cuda": entry.cuda,
            "package": entry.package,
            "redistributable": entry.redistributable,
            "dlls": counts.get((str(root.path), entry.path), 0),
        }
        for entry in root.folders
    ]
    return {
        "kind": root.kind,
        "version": root.version,
        "path": str(root.path),
        "learned": root.learned,
        "explicit": root.explicit,
        "last_resort": root.last_resort,
        "folders": folders,
        "warnings": list(root.warnings),
        "notes": list(root.notes),
    }


def _counts(index: RootIndex) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for file in index.listed():
        place = (str(file.root.path), file.folder.path)
        counts[place] = counts.get(place, 0) + 1
    return counts

"""Wheel variants (PEP 825): a label at the end of the file name, and ``variant.json``, which describes the label."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.archive.faults import UV, ArchiveFault
from wheelfix.base.parsing import parse_json
from wheelfix.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.archive.reader import Archive

VARIANT_KINDS: dict[str, str] = {
    "variant-label": "the file name has a variant label, which many installers do not know",
    "variant-metadata": "variant.json is missing or does not describe the variant label",
}
_LIMIT = 1 << 20
_KEYS = ("$schema", "default-priorities", "variants")
"""What the document must have, by the PEP and for uv."""


def variant_faults(archive: Archive, path: str, label: str) -> Iterator[ArchiveFault]:
    """Yield what a variant wheel has to be checked for: who knows the label, and whether it is described."""
    message = (
        f"the file name has the variant label {label!r}; installers without wheel variants, such as pip 26, refuse it"
    )
    yield ArchiveFault("variant-label", "archive", message)
    member = archive.find(path)
    if member is None:
        yield ArchiveFault("variant-metadata", path, "it is missing, and the file name has a variant label", (UV,))
        return
    try:
        document = parse_json(archive.read(member, _LIMIT))
    except (ValueError, InputError, RecursionError):
        document = None
    if not isinstance(document, dict):
        yield ArchiveFault("variant-metadata", path, "it is not a JSON object", (UV,))
        return
    absent = [key for key in _KEYS if key not in document]
    if absent:
        yield ArchiveFault("variant-metadata", path, f"it does not have {', '.join(absent)}", (UV,))
        return
    labels = list(document["variants"]) if isinstance(document["variants"], dict) else []
    if labels != [label]:
        message = f"it describes {', '.join(map(repr, labels[:3])) or 'nothing'}; the file name has the label {label!r}"
        yield ArchiveFault("variant-metadata", path, message, (UV,))

"""Kinds of roots: each has a label, and one vendor that recognises it."""

from __future__ import annotations

from pathlib import Path

import pytest

from wheelfix.roots.gather import VENDORS
from wheelfix.roots.root import LABELS, Root


def test_a_kind_has_one_vendor() -> None:
    kinds = [vendor.kind for vendor in VENDORS]
    assert len({*kinds}) == len(kinds)
    assert {*kinds} <= {*LABELS}
    assert {*LABELS} - {*kinds} == {"folder", "wheel", "conda-package"}


@pytest.mark.parametrize(
    ("kind", "version", "label", "is_file"),
    [
        ("cuda", "11.7", "CUDA 11.7", False),
        ("folder", "", "folder", False),
        ("wheel", "2.7.1", "wheel 2.7.1", True),
        ("conda-package", "", "conda package", True),
    ],
)
def test_a_root_is_named_by_kind_and_version(kind: str, version: str, label: str, is_file: bool) -> None:
    root = Root(kind, Path("place"), version)
    assert (root.label, root.where, root.is_file) == (label, "place", is_file)


def test_notes_are_added_to_those_that_are_there() -> None:
    assert Root("folder", Path("place"), notes=("one",)).with_notes("two").notes == ("one", "two")

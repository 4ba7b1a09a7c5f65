"""Kinds of roots: each has a label, a place in the schema, and one vendor that recognises it."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from wheelfix.roots.gather import VENDORS
from wheelfix.roots.root import LABELS, Kind, Root
from wheelfix.schemas import load_schema

KINDS = get_args(Kind)


def test_every_kind_has_a_label_and_is_in_the_schema() -> None:
    assert [*LABELS] == [*KINDS]
    assert load_schema("roots-1")["$defs"]["root"]["properties"]["kind"]["enum"] == [*KINDS]


def test_a_kind_has_one_vendor() -> None:
    kinds = [vendor.kind for vendor in VENDORS]
    assert len({*kinds}) == len(kinds)
    assert {*KINDS} - {*kinds} == {"folder", "wheel", "conda-package"}


@pytest.mark.parametrize(
    ("kind", "version", "label", "is_file"),
    [
        ("cuda", "11.7", "CUDA 11.7", False),
        ("folder", "", "folder", False),
        ("wheel", "2.7.1", "wheel 2.7.1", True),
        ("conda-package", "", "conda package", True),
    ],
)
def test_a_root_is_named_by_kind_and_version(kind: Kind, version: str, label: str, is_file: bool) -> None:
    root = Root(kind, Path("place"), version)
    assert (root.label, root.where, root.is_file) == (label, "place", is_file)


def test_notes_are_added_to_those_that_are_there() -> None:
    assert Root("folder", Path("place"), notes=("one",)).with_notes("two").notes == ("one", "two")

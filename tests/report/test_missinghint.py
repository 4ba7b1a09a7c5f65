"""The hint below what is missing names the options that a repair really needs."""

from __future__ import annotations

import pytest

from wheelfix.model import Candidate, EdgeKind, Machine, MissingDll
from wheelfix.report.words import missing_hints

FOUND = (Candidate("C:\\x\\a.dll", "C:\\x", "1", "folder"),)


def lost(name: str, *, required: bool = True, found: bool = False) -> MissingDll:
    return MissingDll(name, EdgeKind.IMPORT, required, ("a.pyd",), ("a.pyd", name), FOUND if found else (), ())


@pytest.mark.parametrize(
    ("missing", "hints"),
    [
        (
            [lost("uv.dll")],
            ["'wheelfix repair WHEEL --root PATH' vendors them from a folder, wheel or conda package that has them"],
        ),
        (
            [lost("uv.dll", found=True)],
            ["'wheelfix repair WHEEL' vendors them from where they were found, if they are suitable"],
        ),
        (
            [lost("libomp140.x86_64.dll", found=True)],
            [
                "'wheelfix repair WHEEL --include libomp140.x86_64.dll' vendors them from where they were found, "
                "if they are suitable; their vendor does not allow redistribution"
            ],
        ),
        (
            [lost("msvcp140.dll"), lost("uv.dll"), lost("nvcuda.dll")],
            [
                "'wheelfix repair WHEEL --root PATH' vendors uv.dll from a folder, wheel or conda package "
                "that has them",
                "'wheelfix repair WHEEL --with-vcredist --root PATH' vendors msvcp140.dll from a folder, "
                "wheel or conda package that has them",
                "nvcuda.dll: no wheel may contain them",
            ],
        ),
        ([lost("vcruntime140d.dll")], ["vcruntime140d.dll: no wheel may contain them"]),
        ([lost("uv.dll", required=False)], []),
    ],
    ids=["root", "found", "include", "several", "debug", "optional"],
)
def test_hints(missing: list[MissingDll], hints: list[str]) -> None:
    assert list(missing_hints(missing, Machine.AMD64)) == hints

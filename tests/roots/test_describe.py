"""What ``wheelfix roots`` prints, as rows and as a document."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from tests.roots.trees import grow, windows
from wheelfix.roots import gather
from wheelfix.roots.gather import explore
from wheelfix.roots.index import RootIndex

if TYPE_CHECKING:
    from pathlib import Path


def test_rows_and_document(tmp_path: Path) -> None:
    toolkit = grow(tmp_path / "v11.7", ["bin/cudart64_110.dll", "bin/nvrtc64_112_0.dll", "nvvm/bin/nvvm64_40_0.dll"])
    studio = grow(tmp_path / "VC", ["14.44.35112/debug_nonredist/x64/Microsoft.VC143.OpenMP.LLVM/libomp140.x86_64.dll"])
    env = {"CUDA_PATH": str(toolkit), "VCToolsRedistDir": str(studio), "MKLROOT": str(tmp_path / "gone")}
    found = explore(windows(tmp_path, env))
    roots = (
        dataclasses.replace(found.roots[0], last_resort=True, warnings=("everyone can write to it",)),
        found.roots[1],
    )
    index = RootIndex(roots)

    first, second = gather.rows(index)
    assert first == gather.RootRow(
        kind="CUDA",
        version="11.7",
        path=str(toolkit),
        learned="environment variable CUDA_PATH, last resort",
        folders=("bin (2 DLLs)", "nvvm/bin (1 DLL)"),
        warnings=("everyone can write to it",),
        notes=(),
    )
    assert second.folders == (
        "14.44.35112/debug_nonredist/x64/Microsoft.VC143.OpenMP.LLVM (1 DLL, not redistributable)",
    )

    document = json.loads(json.dumps(gather.document(index, found.remarks)))
    assert document["schema"] == "wheelfix.roots/1"
    assert [root["kind"] for root in document["roots"]] == ["cuda", "msvc"]
    assert document["roots"][0]["folders"][0] == {
        "path": "bin",
        "version": "11.7",
        "cuda": "11.7",
        "package": "",
        "redistributable": True,
        "dlls": 2,
    }
    assert document["remarks"] == [
        {
            "kind": "oneapi",
            "path": str(tmp_path / "gone"),
            "learned": "environment variable MKLROOT",
            "reason": "no such folder",
        }
    ]
    assert document["skipped"] == []

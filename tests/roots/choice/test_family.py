"""A cuDNN without code for the user's card is passed over, refused or warned about."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tests.roots.trees import dll, grow
from wheelfix.demo.forge import forge_dll
from wheelfix.roots.choice import Choice, DllRequest, NoCandidate, Terms, choose, gpu_objection
from wheelfix.roots.gather import named_root
from wheelfix.roots.host import Host
from wheelfix.roots.index import RootIndex

if TYPE_CHECKING:
    from pathlib import Path


def with_code(name: str, *capabilities: int) -> bytes:
    """A DLL with machine code for these architectures: one container, one empty entry for each."""
    entries = b"".join(
        struct.pack("<HHIIIIIII", 2, 0x101, 64, 8, 0, 0, 0, 0, capability).ljust(64, b"\0") + bytes(8)
        for capability in capabilities
    )
    container = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
    return forge_dll(name, sections={".nv_fatb": container})


def library(base: Path, *capabilities: int) -> Path:
    """A folder with cuDNN: a front without code, and a part that does the work."""
    part = "cudnn_cnn_infer64_8.dll"
    return grow(
        base, {"bin/cudnn64_8.dll": dll("cudnn64_8.dll", base.name), f"bin/{part}": with_code(part, *capabilities)}
    )


def test_the_family_beside_the_front_is_asked(tmp_path: Path) -> None:
    host = Host()
    new, old = library(tmp_path / "v8.9", 50, 86), library(tmp_path / "v8.2", 35, 86)
    with RootIndex([named_root(new, host), named_root(old, host)]) as index:
        files = index.candidates("cudnn64_8.dll")
        assert [index.archs(file) for file in files] == [(), ()]
        terms = Terms(objection=gpu_objection(index, "sm_35", lambda archs: "sm_35" in archs))
        outcome = choose(DllRequest("cudnn64_8.dll"), files, index, terms)
        assert isinstance(outcome, Choice)
        assert outcome.winner.root.version == "8.2"
        reason = (
            "cudnn_cnn_infer64_8.dll has no code for sm_35, only for sm_50, sm_86; "
            "take cuDNN 8.7.0, the last that is known to have code for sm_35"
        )
        assert outcome.considered[1].reason == reason

        alone = choose(DllRequest("cudnn64_8.dll"), files[:1], index, terms)
        assert isinstance(alone, Choice)
        assert alone.warnings == (reason,)

        strict = Terms(objection=gpu_objection(index, "sm_35", lambda archs: "sm_35" in archs, fatal=True))
        assert isinstance(choose(DllRequest("cudnn64_8.dll"), files[:1], index, strict), NoCandidate)

"""The files of ``wheelfix demo``, which are packed when they are made and not when the demo runs."""

from __future__ import annotations

import io
import zipfile

from tools.example import PACKED, pack


def contents(data: bytes) -> dict[str, object]:
    """What an archive holds, wheels in it by what they hold: how bytes are packed differs between versions of zlib."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        read = {name: archive.read(name) for name in archive.namelist()}
    return {name: contents(data) if name.endswith(".whl") else data for name, data in read.items()}


def test_packed_files_are_what_the_maker_makes(tmp_path):
    pack(tmp_path / "example.zip")
    made = contents((tmp_path / "example.zip").read_bytes())
    assert sum(name.endswith(".whl") for name in made) == 2
    assert contents(PACKED.read_bytes()) == made, "python -m tools.example writes them again"

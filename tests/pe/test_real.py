"""Every PE of every real wheel that was downloaded, compared with two readers of others: LIEF and pefile."""

from __future__ import annotations

import zipfile
from typing import Any

import pytest

from tests.pe.wheels import FOLDER, WHEELS, members, wheel
from tests.support.parts import every
from wheelfix.model import FileVersion, Image
from wheelfix.pe.image import read_image
from wheelfix.pe.version import COMPILERS, newest_compiler, read_version

pytestmark = [pytest.mark.real, pytest.mark.skipif(not WHEELS, reason=f"no wheels in {FOLDER}")]
EVERY_WHEEL = pytest.mark.parametrize("path", every(2, WHEELS), ids=lambda path: "-".join(path.name.split("-")[:2]))


def text(name: str | bytes) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else name


def lief_imports(rows: Any) -> list[tuple[str, tuple[str | int, ...]]]:
    return [(text(row.name), tuple(e.ordinal if e.is_ordinal else text(e.name) for e in row.entries)) for row in rows]


@EVERY_WHEEL
def test_lief_sees_the_same(path, tmp_path):
    """DLLs, symbols and ordinals of imports and delay imports, names and ordinals of exports: no difference."""
    lief = pytest.importorskip("lief")
    lief.logging.disable()
    config = lief.PE.ParserConfig()
    for part in ("exceptions", "reloc", "rsrc", "signature", "arm64x_binary"):
        setattr(config, f"parse_{part}", False)
    unpacked = tmp_path / "image"
    with zipfile.ZipFile(path) as archive:
        for name, source in members(path):
            ours = read_image(source)
            assert isinstance(ours, Image), name
            with archive.open(name) as packed, unpacked.open("wb") as file:
                while block := packed.read(1 << 20):
                    file.write(block)
            theirs = lief.PE.parse(str(unpacked), config)
            assert [(row.dll, row.symbols) for row in ours.imports] == lief_imports(theirs.imports), name
            assert [(row.dll, row.symbols) for row in ours.delay_imports] == lief_imports(theirs.delay_imports), name
            entries = theirs.get_export().entries if theirs.has_exports else ()
            assert ours.exports.names == {text(entry.name) for entry in entries} - {""}, name
            assert ours.exports.ordinals == {e.ordinal for e in entries if e.address or e.is_forwarded}, name
            forwarded = {text(entry.name) for entry in entries if entry.is_forwarded} - {""}
            assert {symbol for symbol in ours.exports.forwarders if isinstance(symbol, str)} == forwarded, name


@EVERY_WHEEL
def test_pefile_sees_the_same(path):
    """Imported DLLs, toolsets, version resources and more; pefile's own limit keeps symbols out of this."""
    pefile = pytest.importorskip("pefile")
    for name, source in members(path):
        if source.size > 64 << 20:
            continue
        ours = read_image(source)
        assert isinstance(ours, Image), name
        theirs = pefile.PE(data=source.read_at(0, source.size), fast_load=True)
        theirs.parse_data_directories([1], import_dllnames_only=True)
        assert [row.dll for row in ours.imports] == [
            row.dll.decode() for row in getattr(theirs, "DIRECTORY_ENTRY_IMPORT", ())
        ], name
        assert len(ours.sections) == len(theirs.sections)
        assert ours.linker == (theirs.OPTIONAL_HEADER.MajorLinkerVersion, theirs.OPTIONAL_HEADER.MinorLinkerVersion)
        values = (theirs.parse_rich_header() or {"values": []})["values"]
        compilers = [row & 0xFFFF for row in values[::2] if row >> 16 in COMPILERS]
        assert newest_compiler(source) == max(compilers, default=0), name
        theirs.parse_data_directories([2])
        assert version_facts(read_version(source)) == pefile_version(theirs), name


def version_facts(version: FileVersion | None) -> object:
    return version and (version.file, version.product, dict(version.strings))


def pefile_version(image: Any) -> object:
    if not hasattr(image, "VS_FIXEDFILEINFO"):
        return None
    fixed = image.VS_FIXEDFILEINFO[0]
    halves = (fixed.FileVersionMS, fixed.FileVersionLS, fixed.ProductVersionMS, fixed.ProductVersionLS)
    numbers = tuple(part for half in halves for part in (half >> 16, half & 0xFFFF))
    strings = {}
    for info in image.FileInfo[0]:
        for table in getattr(info, "StringTable", ()):
            for key, value in table.entries.items():
                strings.setdefault(key.decode(), value.decode().strip())
    return numbers[:4], numbers[4:], strings


def test_mkl_delay_loads_its_core():
    """pefile, and so delvewheel, shows KERNEL32 alone: 8192 symbols were read by then."""
    (facts,) = (read_image(source) for _, source in members(wheel("mkl-2023.2.0"), "mkl_intel_thread.2.dll"))
    assert [row.dll for row in facts.delay_imports] == ["mkl_core.2.dll", "libiomp5md.dll"]
    assert sum(len(row.symbols) for row in facts.delay_imports) > 8192


def test_little_of_a_cuda_library_is_inflated():
    sources = []
    for _, source in members(wheel("nvidia_cudnn_cu11-8.9.4")):
        read_image(source)
        sources.append(source)
    inflated = sum(getattr(source, "inflated", 0) for source in sources)
    assert inflated < 0.16 * sum(source.size for source in sources)

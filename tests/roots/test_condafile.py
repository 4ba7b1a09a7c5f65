"""Conda package files as roots: both formats, damaged ones, and hostile ones."""

from __future__ import annotations

import bz2
import importlib
import io
import json
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.roots.trees import dll
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.roots import condafile
from wheelfix.roots.host import Host
from wheelfix.roots.index import RootIndex
from wheelfix.roots.named import named_root

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

HOST = Host()
DLL = dll("libiomp5md.dll", "omp_get_num_threads")
INDEX = json.dumps({"name": "intel-openmp", "version": "2023.2.0", "build": "h1_0", "subdir": "win-64"}).encode()


def tar(files: Mapping[str, bytes], *special: tarfile.TarInfo) -> bytes:
    """A tar archive with these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for header in special:
            archive.addfile(header)
        for name, data in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return buffer.getvalue()


def old_package(tmp_path: Path, files: Mapping[str, bytes], *special: tarfile.TarInfo) -> Path:
    """A package in the old format."""
    path = tmp_path / "intel-openmp-2023.2.0-h1_0.tar.bz2"
    path.write_bytes(bz2.compress(tar(files, *special)))
    return path


@pytest.fixture
def compress() -> Callable[[bytes], bytes]:
    """The zstd compressor of this Python or of the optional library."""
    for name in ("compression.zstd", "zstandard"):
        try:
            found: Callable[[bytes], bytes] = importlib.import_module(name).compress
        except ImportError:
            continue
        return found
    pytest.skip("no zstd here: neither Python 3.14's nor the library zstandard")


def test_the_old_format(tmp_path: Path) -> None:
    path = old_package(tmp_path, {"info/index.json": INDEX, "Library/bin/libiomp5md.dll": DLL, "Library/x.lib": b"!"})
    root = named_root(path, HOST)
    assert (root.kind, root.version, root.notes) == ("conda-package", "2023.2.0", ())
    with RootIndex([root]) as index:
        (file,) = index.candidates("libiomp5md.dll")
        assert (file.path, file.origin) == ("Library/bin/libiomp5md.dll", "conda package intel-openmp 2023.2.0")
        assert b"".join(index.chunks(file)) == DLL
        assert index.packed(file) is None


def test_the_new_format(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "intel-openmp-2023.2.0-h1_0.conda"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", '{"conda_pkg_format_version": 2}')
        archive.writestr("pkg-intel-openmp-2023.2.0-h1_0.tar.zst", compress(tar({"Library/bin/libiomp5md.dll": DLL})))
        archive.writestr("info-intel-openmp-2023.2.0-h1_0.tar.zst", compress(tar({"info/index.json": INDEX})))
    root = named_root(path, HOST, kind="conda", option="--conda")
    with RootIndex([root]) as index:
        (file,) = index.candidates("libiomp5md.dll")
        assert (file.package, file.version_hint) == ("intel-openmp", "2023.2.0")
        assert b"".join(index.chunks(file)) == DLL


def test_without_zstd_the_way_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x-1-0.conda"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pkg-x-1-0.tar.zst", b"")
    monkeypatch.setattr(condafile, "_module", lambda _name: None)
    with pytest.raises(EnvironmentFailure) as caught:
        named_root(path, HOST)
    assert "zstd" in caught.value.because
    assert 'pip install "wheelfix[conda]"' in caught.value.hint


def test_a_package_for_another_system_is_noted(tmp_path: Path) -> None:
    index = json.dumps({"name": "x", "version": "1", "subdir": "linux-64"}).encode()
    root = named_root(old_package(tmp_path, {"info/index.json": index}), HOST)
    assert root.notes == ("there are no DLLs in it", "it is a package for linux-64")


def test_names_that_lead_elsewhere_are_left_alone(tmp_path: Path) -> None:
    names = ["../up.dll", "/abs.dll", "C:/drive.dll", "a\\b.dll", "a/../../b.dll", "./Library/bin/fine.dll"]
    link = tarfile.TarInfo("Library/bin/link.dll")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    package = condafile.open_package(old_package(tmp_path, dict.fromkeys(names, b"MZ"), link))
    assert list(package.dlls) == ["Library/bin/fine.dll"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["intel-openmp-2023.2.0-h1_0.tar.bz2"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"no bzip2", id="not compressed"),
        pytest.param(b"", id="empty"),
        pytest.param(bz2.compress(tar({"a.dll": b"x" * 5000}))[:-20], id="cut short"),
        pytest.param(bz2.compress(tar({"a.dll": b"x" * 5000})[:2000]), id="tar cut short"),
        pytest.param(bz2.compress(b"\x01" * 2048), id="no tar"),
    ],
)
def test_damaged_packages(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x-1-0.tar.bz2"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        condafile.open_package(path)
    assert str(path) in caught.value.what


def test_a_new_package_without_content(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x-1-0.conda"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("info-x-1-0.tar.zst", compress(tar({})))
    with pytest.raises(InputError, match=r"no pkg-\*\.tar\.zst"):
        condafile.open_package(path)


def test_damaged_zstd(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x-1-0.conda"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pkg-x-1-0.tar.zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 100)
    with pytest.raises(InputError, match="damaged conda package"):
        condafile.open_package(path)
    assert compress


def test_a_name_twice_is_the_later_file(tmp_path: Path) -> None:
    members = [("bin/a.dll", b"one"), ("bin/a.dll", b"two"), ("bin/b.dll", b"three")]
    blocks = [tar({name: data})[:1024] for name, data in members]  # a header and a block of data each
    path = tmp_path / "pkg-1.0-0.tar.bz2"
    path.write_bytes(bz2.compress(b"".join(blocks) + bytes(1024)))
    found = condafile.open_package(path).dlls
    assert {name: item.disk.read_bytes() for name, item in found.items()} == {
        "bin/a.dll": b"two",
        "bin/b.dll": b"three",
    }


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(condafile, "MAX_UNPACKED", 1000)
    path = old_package(tmp_path, {"a.dll": b"x" * 600, "b.dll": b"x" * 600})
    with pytest.raises(InputError, match="asks for too much"):
        condafile.open_package(path)


def test_a_header_that_would_fill_the_memory(tmp_path: Path) -> None:
    huge = tarfile.TarInfo("././@LongLink")
    huge.type, huge.size = tarfile.GNUTYPE_LONGNAME, 3 << 30
    path = tmp_path / "x-1-0.tar.bz2"
    path.write_bytes(bz2.compress(huge.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)))
    with pytest.raises(InputError, match="asks for too much"):
        condafile.open_package(path)


def test_the_files_vanish_when_nobody_needs_them(tmp_path: Path) -> None:
    package = condafile.open_package(old_package(tmp_path, {"Library/bin/a.dll": b"MZ"}))
    disk = package.dlls["Library/bin/a.dll"].disk
    assert disk.read_bytes() == b"MZ"
    package.folder.close()
    assert not disk.exists()

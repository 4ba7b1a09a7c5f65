"""Conda package files as roots: both formats, damaged ones, and hostile ones."""

from __future__ import annotations

import bz2
import importlib
import io
import json
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.roots.trees import dll
from tests.support.tables import named_cases
from tests.support.wheels import library, needing
from wheelfix.base.options import Limits
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.roots import condafile
from wheelfix.roots.gather import named_root
from wheelfix.roots.host import Host
from wheelfix.roots.index import RootIndex

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
            found = importlib.import_module(name).compress
        except ImportError:
            continue
        return found
    pytest.skip("no zstd here: neither Python 3.14's nor the library zstandard")


def test_the_old_format(tmp_path):
    path = old_package(tmp_path, {"info/index.json": INDEX, "Library/bin/libiomp5md.dll": DLL, "Library/x.lib": b"!"})
    root = named_root(path, HOST)
    assert (root.kind, root.version, root.notes) == ("conda-package", "2023.2.0", ())
    with RootIndex([root]) as index:
        (file,) = index.candidates("libiomp5md.dll")
        assert (file.path, file.origin) == ("Library/bin/libiomp5md.dll", "conda package intel-openmp 2023.2.0")
        assert b"".join(index.chunks(file)) == DLL
        assert index.packed(file) is None


def test_the_new_format(tmp_path, compress):
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


def test_without_zstd_the_way_out_is_told(tmp_path, monkeypatch):
    path = tmp_path / "x-1-0.conda"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pkg-x-1-0.tar.zst", b"")
    monkeypatch.setattr(condafile, "zstd_reader", lambda: None)
    with pytest.raises(EnvironmentFailure) as caught:
        named_root(path, HOST)
    assert "zstd" in caught.value.because
    assert 'pip install "wheelfix[conda]"' in caught.value.hint


def test_a_package_for_another_system_is_noted(tmp_path):
    index = json.dumps({"name": "x", "version": "1", "subdir": "linux-64"}).encode()
    root = named_root(old_package(tmp_path, {"info/index.json": index}), HOST)
    assert root.notes == ("there are no DLLs in it", "it is a package for linux-64")


def test_names_that_lead_elsewhere_are_left_alone(tmp_path):
    names = ["../up.dll", "/abs.dll", "C:/drive.dll", "a\\b.dll", "a/../../b.dll", "./Library/bin/fine.dll"]
    link = tarfile.TarInfo("Library/bin/link.dll")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    package = condafile.open_package(old_package(tmp_path, dict.fromkeys(names, b"MZ"), link))
    assert list(package.dlls) == ["Library/bin/fine.dll"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["intel-openmp-2023.2.0-h1_0.tar.bz2"]


@named_cases(
    "data",
    {
        "not compressed": b"no bzip2",
        "cut short": bz2.compress(tar({"a.dll": b"x" * 5000}))[:-20],
        "no tar": bz2.compress(b"\x01" * 2048),
    },
)
def test_damaged_packages(tmp_path, data):
    path = tmp_path / "x-1-0.tar.bz2"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        condafile.open_package(path)
    assert str(path) in caught.value.what


@pytest.mark.usefixtures("compress")
@pytest.mark.parametrize("part, said", [("info", r"no pkg-\*\.tar\.zst"), ("pkg", "damaged conda package")])
def test_a_new_package_without_content_or_with_a_damaged_one(tmp_path, part, said):
    path = tmp_path / "x-1-0.conda"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{part}-x-1-0.tar.zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 100)
    with pytest.raises(InputError, match=said):
        condafile.open_package(path)


def test_a_name_twice_is_the_later_file(tmp_path):
    members = [("bin/a.dll", b"one"), ("bin/a.dll", b"two"), ("bin/b.dll", b"three")]
    blocks = [tar({name: data})[:1024] for name, data in members]  # a header and a block of data each
    path = tmp_path / "pkg-1.0-0.tar.bz2"
    path.write_bytes(bz2.compress(b"".join(blocks) + bytes(1024)))
    found = condafile.open_package(path).dlls
    assert {name: item.read_bytes() for name, item in found.items()} == {
        "bin/a.dll": b"two",
        "bin/b.dll": b"three",
    }


# ------------------------------------------------------------------------------------ made to exhaust the machine


def header(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> bytes:
    """One block of tar."""
    made = tarfile.TarInfo(name)
    made.type, made.size = kind, size
    return made.tobuf(tarfile.GNU_FORMAT)[:512]


def zeros(size: int) -> bytes:
    """A .tar.bz2 with one DLL of so many zeros, packed block by block."""
    packer = bz2.BZ2Compressor()
    pieces = [packer.compress(header("Library/bin/zeros.dll", size=size))]
    pieces += [packer.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join([*pieces, packer.compress(bytes(1024)), packer.flush()])


def sparse_map() -> bytes:
    """A sparse file of the old kind whose map goes on in block after block."""
    first = bytearray(header("Library/bin/sparse.dll", tarfile.GNUTYPE_SPARSE))
    first[482] = 1  # the map goes on
    first[148:156] = b"%06o\0 " % (sum(first[:148]) + 256 + sum(first[156:]))
    more = (b"0" * 12 * 2) * 21 + b"\1" + bytes(7)
    return bytes(first) + more * 4_000


def sparse_list() -> bytes:
    """A sparse file of the new kind: its data begin with a list of ten million numbers."""
    attributes = (
        b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n25 GNU.sparse.name=x.dll\n30 GNU.sparse.realsize=512000\n"
    )
    numbers = b"10000000\n" + b"1\n" * 300_000
    pax = header("PaxHeaders/x", tarfile.XHDTYPE, len(attributes)) + attributes.ljust(512, b"\0")
    return pax + header("x.dll", size=len(numbers)) + numbers.ljust(-(-len(numbers) // 512) * 512, b"\0")


HOSTILE = {
    "zeros": lambda: zeros(70 << 20),
    "announced": lambda: bz2.compress(header("Library/bin/a.dll", size=20 << 30) + bytes(5000)),
    "chained-attributes": lambda: bz2.compress(
        (header("PaxHeaders/x", tarfile.XHDTYPE, 14) + b"14 comment=ab\n".ljust(512, b"\0")) * 4_000
    ),
    "long-name": lambda: bz2.compress(header("././@LongLink", b"L", 3 << 30) + bytes(4 << 20)),
    "sparse-map": lambda: bz2.compress(sparse_map()),
    "sparse-list": lambda: bz2.compress(sparse_list()),
}


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=pytest.mark.slow) if key in ("zeros", "sparse-list") else key for key in HOSTILE]
)
def test_packages_made_to_exhaust_the_machine(tmp_path, key):
    path = tmp_path / "x-1-0.tar.bz2"
    path.write_bytes(HOSTILE[key]())
    tracemalloc.start()
    with pytest.raises(InputError, match="asks for too much") as caught:
        condafile.open_package(path)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert memory < 64 << 20
    assert ("--limit ratio" if key in {"zeros", "announced"} else "--root") in caught.value.hint


@pytest.mark.slow
def test_a_small_package_does_not_fill_the_temporary_folder(tmp_path, monkeypatch):
    """128 KB used to become 4 GB there before anybody noticed."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    path = tmp_path / "x-1-0.tar.bz2"
    path.write_bytes(zeros(70 << 20))
    assert path.stat().st_size < 1000
    with pytest.raises(InputError, match=r"unpack to 734\d+ or more"):
        condafile.open_package(path)
    assert not list(tmp_path.rglob("*.dll"))


@pytest.mark.parametrize(
    "limits, option",
    [
        (Limits(max_members=2), "--limit members"),
        (Limits(max_member_size=500), "--limit size"),
        (Limits(max_total=1500), "--limit total"),
    ],
)
def test_limits_name_their_option(tmp_path, limits, option):
    path = old_package(tmp_path, {"a.dll": b"x" * 600, "b.dll": b"x" * 600, "c.dll": b"x" * 600})
    with pytest.raises(InputError, match="asks for too much") as caught:
        condafile.open_package(path, limits)
    assert option in caught.value.hint


@pytest.mark.slow
def test_a_limit_can_be_raised(tmp_path):
    path = tmp_path / "x-1-0.tar.bz2"
    path.write_bytes(zeros(65 << 20))
    with pytest.raises(InputError):
        condafile.open_package(path)
    package = condafile.open_package(path, Limits(max_ratio=1e6))
    assert package.dlls["Library/bin/zeros.dll"].stat().st_size == 65 << 20


def test_the_command_line_raises_it_too(tmp_path, run):
    wheel = needing(tmp_path, "0.dll")
    path = old_package(tmp_path, {f"{number}.dll": library("0.dll") for number in range(9)})
    repair = ["repair", str(wheel), "-w", str(tmp_path / "out"), "--no-discover", "--root", str(path)]
    assert "--limit members" in run(*repair, "--max-members", "5", code=3).err
    run(*repair)


@pytest.mark.slow
def test_many_members_cost_no_memory(tmp_path):
    path = tmp_path / "x-1-0.tar.bz2"
    path.write_bytes(bz2.compress(header("a/b.txt") * 5_000 + bytes(1024)))
    tracemalloc.start()
    assert condafile.open_package(path).dlls == {}
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_the_files_vanish_when_nobody_needs_them(tmp_path):
    package = condafile.open_package(old_package(tmp_path, {"Library/bin/a.dll": b"MZ"}))
    disk = package.dlls["Library/bin/a.dll"]
    assert disk.read_bytes() == b"MZ"
    package.folder.close()
    assert not disk.exists()

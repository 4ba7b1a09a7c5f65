"""Roots and the index of their files: candidates are found without being read, and nothing outside a root is."""

from __future__ import annotations

import os
import sys
import zipfile
from functools import partial
from pathlib import Path

import pytest

from tests.roots.trees import dll, grow, link
from tests.support.wheels import build_wheel
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.model import Malformed
from wheelfix.roots import root as tree
from wheelfix.roots.choice import family_files
from wheelfix.roots.gather import VENDORS, named_root
from wheelfix.roots.host import Host
from wheelfix.roots.index import RootIndex
from wheelfix.roots.root import LABELS

HOST = Host()


def test_names_compare_without_case_and_keep_their_spelling(tmp_path):
    grow(tmp_path, ["cublasLt64_11.DLL", "notes.txt", "x.pyd"])
    index = RootIndex([named_root(tmp_path, HOST)])
    assert [file.name for file in index.candidates("CUBLASLT64_11.dll")] == ["cublasLt64_11.DLL"]
    assert [file.name for file in index.candidates("cublaslt64_11")] == ["cublasLt64_11.DLL"]
    assert [file.name for file in index.files()] == ["cublasLt64_11.DLL"]
    assert index.candidates("x.dll") == ()


def test_a_folder_that_two_roots_have_counts_once(tmp_path):
    toolkit = grow(tmp_path / "v11.7", ["bin/cudart64_110.dll"])
    roots = [named_root(toolkit, HOST, kind="cuda", option="--cuda"), named_root(toolkit / "bin", HOST)]
    (file,) = RootIndex(roots).candidates("cudart64_110.dll")
    assert file.root.kind == "cuda"


def test_links_are_followed_inside_the_root_only(tmp_path):
    outside = grow(tmp_path / "outside", ["secret.dll", "more/other.dll"])
    root = grow(tmp_path / "root", ["bin/real.dll"])
    link(root / "bin" / "inner.dll", root / "bin" / "real.dll")
    link(root / "bin" / "outer.dll", outside / "secret.dll")
    link(root / "bin" / "dangling.dll", root / "bin" / "gone.dll")
    link(root / "lib", outside / "more")
    index = RootIndex([named_root(root, HOST)])
    assert [file.name for file in index.files()] == ["inner.dll", "real.dll"]
    reasons = {skipped.path: skipped.reason for skipped in index.skipped}
    assert reasons[str(root / "bin" / "outer.dll")] == f"a link that leads out of {root}"
    assert reasons[str(root / "lib")] == f"leads out of {root}"
    assert str(root / "bin" / "dangling.dll") in reasons


def test_a_link_put_there_after_listing_is_refused(tmp_path):
    outside = grow(tmp_path / "outside", ["secret.dll"])
    root = grow(tmp_path / "root", ["a.dll"])
    index = RootIndex([named_root(root, HOST)])
    (file,) = index.candidates("a.dll")
    (root / "a.dll").unlink()
    link(root / "a.dll", outside / "secret.dll")
    with pytest.raises(EnvironmentFailure, match="now leads out of"):
        index.sha256(file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs on this system")
def test_what_is_no_file_is_skipped(tmp_path):
    grow(tmp_path, ["real.dll", "folder.dll/readme.txt"])
    os.mkfifo(tmp_path / "pipe.dll")
    index = RootIndex([named_root(tmp_path, HOST)])
    assert [file.name for file in index.files()] == ["real.dll"]
    assert [skipped.reason for skipped in index.skipped] == ["not a file", "not a file"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has names that are no text")
def test_a_name_that_is_no_text_is_skipped(tmp_path):
    grow(tmp_path, ["real.dll"])
    (tmp_path / os.fsdecode(b"\xff.dll")).write_bytes(b"MZ")
    index = RootIndex([named_root(tmp_path, HOST)])
    assert [file.name for file in index.files()] == ["real.dll"]
    assert [skipped.reason for skipped in index.skipped] == ["its name is not Unicode"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_skipped(tmp_path):
    path = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/a.dll", dll("a.dll", "good"))
        archive.writestr("x/a.dll", dll("a.dll", "bad"))
        archive.writestr("x/b.dll", dll("b.dll"))
    with RootIndex([named_root(path, HOST)]) as index:
        assert [file.name for file in index.files()] == ["b.dll"]
        assert all(skipped.reason.startswith("more than once") for skipped in index.skipped)


def test_a_damaged_member_is_a_fact_not_an_error(tmp_path):
    path = build_wheel(tmp_path, "x", "1", "py3-none-any", {"x/a.dll": dll("a.dll", "hello", size=50_000)})
    index = RootIndex([named_root(path, HOST)])
    (file,) = index.candidates("a.dll")
    packed = index.packed(file)
    offset, length = packed[0].data_span(packed[1])
    index.close()
    data = bytearray(path.read_bytes())
    data[offset : offset + length] = b"\xff" * length
    path.write_bytes(data)
    with RootIndex([named_root(path, HOST)]) as again:
        facts = again.image(again.candidates("a.dll")[0])
    assert isinstance(facts, Malformed)


def test_the_family_of_a_file_lies_beside_it(tmp_path):
    names = ["cudnn64_8.dll", "cudnn_ops_infer64_8.dll", "cudnn_cnn_infer64_8.dll", "cudnn64_9.dll", "zlibwapi.dll"]
    grow(tmp_path / "one", [f"bin/{name}" for name in names])
    grow(tmp_path / "two", ["bin/cudnn_adv_infer64_8.dll", "bin/cudnn64_8.dll"])
    index = RootIndex([named_root(tmp_path / "one", HOST), named_root(tmp_path / "two", HOST)])
    first = index.candidates("cudnn64_8.dll")[0]
    assert [file.name for file in family_files(index, first)] == ["cudnn_cnn_infer64_8.dll", "cudnn_ops_infer64_8.dll"]
    assert index.beside(first, "CUDNN_ADV_INFER64_8.dll") is None
    zlib = index.beside(first, "zlibwapi")
    assert zlib.name == "zlibwapi.dll"
    assert family_files(index, zlib) == ()


def test_the_content_of_a_root_is_not_read_to_list_it(tmp_path, monkeypatch):
    grow(tmp_path, ["a.dll"])
    root = named_root(tmp_path, HOST)

    def refuse(*_: object) -> None:
        raise AssertionError("a DLL was opened")

    monkeypatch.setattr("wheelfix.roots.index.FileSource", refuse)
    (file,) = RootIndex([root]).candidates("a.dll")
    assert file.size == 2


def test_of_mkl_comes_what_is_used_and_not_the_whole_folder(tmp_path):
    """A folder of MKL holds BLACS, which wants an MPI, and threading layers that nobody asked for."""
    wanted = ["mkl_avx2.2.dll", "mkl_core.2.dll", "mkl_def.2.dll", "mkl_vml_cmpt.2.dll", "mkl_vml_def.2.dll"]
    others = ["mkl_blacs_msmpi_lp64.2.dll", "mkl_tbb_thread.2.dll", "mkl_rt.2.dll", "mkl_core.1.dll"]
    for name in ["mkl_intel_thread.2.dll", *wanted, *others]:
        (tmp_path / name).write_bytes(b"MZ")
    index = RootIndex([named_root(tmp_path, Host())])
    (file,) = index.candidates("mkl_intel_thread.2.dll")
    assert [sibling.name for sibling in family_files(index, file)] == wanted


def in_wheel(folder: Path, *, damaged: bool) -> Path:
    """A wheel with a DLL, one of whose packed bytes may be another."""
    path = build_wheel(folder, "x", "1", "py3-none-any", {"x/a.dll": BIG})
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        data[archive.getinfo("x/a.dll").header_offset + 60] ^= 0xFF if damaged else 0
    path.write_bytes(data)
    return path


BIG = dll("a.dll", "hello", size=50_000)


@pytest.mark.parametrize(
    "make",
    [
        *(pytest.param(partial(in_wheel, damaged=damaged), id=f"in a wheel, {damaged=}") for damaged in (False, True)),
        *(
            pytest.param(lambda folder, n=n: grow(folder, {"a.dll": BIG[:n]}), id=str(n))
            for n in (60_000, 40_000, 300, 0)
        ),
    ],
)
def test_a_file_that_is_read_whole_has_the_facts_that_are_read_one_by_one(tmp_path, make):
    path = make(tmp_path)

    def facts(*, whole: bool) -> list[str]:
        found = []
        with RootIndex([named_root(path, HOST)]) as index:
            (file,) = index.candidates("a.dll")
            asks = [index.read_whole] if whole else []
            for ask in (*asks, index.signature, index.version, index.sha256):
                try:
                    found.append(repr(ask(file)))
                except InputError as exc:
                    found.append(exc.what)
        return found[-3:]

    assert facts(whole=True) == facts(whole=False)


# ----------------------------------------------------------------------------------------------------------------- tree
# Folders are found without regard to case, and versions compare as numbers.


def test_the_exact_spelling_wins_on_a_disk_that_has_both(tmp_path):
    grow(tmp_path, ["BIN/a.dll", "bin/b.dll"])
    if len(tree.names(tmp_path)) == 1:
        pytest.skip("this disk does not tell BIN from bin")
    assert tree.locate(tmp_path, "bin") == tmp_path / "bin"
    assert tree.locate(tmp_path, "Bin") == tmp_path / "BIN"


# ----------------------------------------------------------------------------------------------------------------- root
# Kinds of roots: each has a label, a place in the schema, and one vendor that recognises it.


def test_a_kind_has_one_vendor():
    kinds = [vendor.kind for vendor in VENDORS]
    assert len({*kinds}) == len(kinds)
    assert {*kinds} <= {*LABELS}
    assert {*LABELS} - {*kinds} == {"folder", "wheel", "conda-package"}

"""Which releases a candidate may be of, by its package, folder, name, version and neighbours."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.roots.trees import MadeUp, grow
from tests.support.nvidia import TOOLKITS, nvidia_dll, toolkit_files
from tests.support.wheels import build_wheel
from wheelfix.roots.choice import Choice, DllRequest, Needer, choose, choose_release
from wheelfix.roots.gather import named_root
from wheelfix.roots.host import Host
from wheelfix.roots.index import RootIndex
from wheelfix.roots.release import (
    OneRelease,
    Wanted,
    compatibility,
    cuda_release_of,
    possible_releases,
    shown_version,
    stated_version,
)
from wheelfix.roots.root import Root, RootFile, RootFolder

HOST = Host()


def releases(where: Path, name: str) -> set[str]:
    """What the only file of that name in a root may be of."""
    with RootIndex([named_root(where, HOST)]) as index:
        (file,) = index.candidates(name)
        return set(possible_releases(file, index))


@pytest.mark.parametrize(
    "package, version, name, expected",
    [
        ("nvidia-curand-cu11", "10.2.10.91", "curand64_10.dll", {"11.7"}),
        ("nvidia-cuda-runtime-cu11", "11.8.89", "cudart64_110.dll", {"11.8"}),
        ("nvidia-cuda-nvrtc-cu11", "11.7.99", "nvrtc-builtins64_117.dll", {"11.7"}),
        ("mkl", "2025.3.0", "mkl_rt.2.dll", {"2025.3"}),
        ("tbb", "2021.13.1", "tbb12.dll", {"2021.13"}),
    ],
)
def test_a_vendors_package_tells_it(tmp_path, package, version, name, expected):
    wheel = build_wheel(tmp_path, package, version, "py3-none-win_amd64", {f"x/{name}": ""})
    assert releases(wheel, name) == expected


def test_a_package_that_carries_a_copy_tells_nothing_about_it(tmp_path):
    """torch 2.7 with MKL in it is not MKL 2.7."""
    files = {
        "torch/lib/mkl_rt.2.dll": "version 2023.2.1.0",
        "torch/lib/curand64_10.dll": nvidia_dll("curand64_10.dll", "10.3.0.86"),
    }
    wheel = build_wheel(tmp_path, "torch", "2.7.1", files=files)
    assert releases(wheel, "mkl_rt.2.dll") == {"2023.2"}
    assert releases(wheel, "curand64_10.dll") == {"11.8"}


def test_neighbours_tell_it_where_a_version_is_not_in_the_table(tmp_path):
    files = toolkit_files("11.7") | {"bin/curand64_10.dll": nvidia_dll("curand64_10.dll", "10.2.10.50")}
    assert releases(grow(tmp_path / "dlls", files) / "bin", "curand64_10.dll") == {"11.7"}


def test_a_name_alone_leaves_all_releases_that_have_it(tmp_path):
    folder = grow(tmp_path, {"cublas64_11.dll": ""})
    assert {"11.0", "11.8"} < releases(folder, "cublas64_11.dll")
    assert not any(name.startswith("12") for name in releases(folder, "cublas64_11.dll"))


def test_a_release_that_the_tables_do_not_know_is_believed_where_the_toolkit_tells_it(tmp_path):
    files = {"version.json": '{"cuda": {"version": "13.9.0"}}', "bin/cudart64_13.dll": ""}
    assert releases(grow(tmp_path, files), "cudart64_13.dll") == {"13.9"}


def test_versions_that_compare_and_that_are_shown(tmp_path):
    files = toolkit_files("11.8") | {"bin/cudnn64_8.dll": "version 8.9.5.29"}
    with RootIndex([named_root(grow(tmp_path / "v11.8", files), HOST)]) as index:
        (curand,), (cudnn,) = index.candidates("curand64_10.dll"), index.candidates("cudnn64_8.dll")
        assert stated_version(curand, index) == (10, 3, 0, 86)
        assert shown_version(curand, index) == TOOLKITS["11.8"]["curand64_10.dll"]
        assert shown_version(cudnn, index) == "8.9.5.29"


def test_a_folder_of_another_release_is_not_believed_against_the_name_of_the_dll(tmp_path):
    """Somebody copied a DLL of CUDA 11 into the folder of CUDA 12.1: it is not "for CUDA 12.1"."""
    files = {**toolkit_files("12.1"), "bin/cublas64_11.dll": ""}
    with RootIndex([named_root(grow(tmp_path / "v12.1", files), HOST)]) as index:
        (stray,) = index.candidates("cublas64_11.dll")
        (own,) = index.candidates("cublas64_12.dll")
        assert cuda_release_of(stray, index) == "11"
        assert cuda_release_of(own, index) == "12.1"


def test_a_patch_makes_no_other_release():
    assert compatibility("11.7", "11.7.1") == compatibility("11.7.1", "11.7") == compatibility("11.7", "11.7")


# ------------------------------------------------------------------------------------------------ onerelease properties
# What holds for every choice of a release and all roots: never a mix, and no matter in which order.

NAMES = ("cudart64_110.dll", "cublas64_11.dll", "cufft64_10.dll", "curand64_10.dll", "nvrtc-builtins64_117.dll")
RELEASES = ("11.4", "11.7", "11.8", "12.1")
PACKAGES = {"cublas64_11.dll": "nvidia-cublas-cu11", "curand64_10.dll": "nvidia-curand-cu11"}


@st.composite
def roots(draw: st.DrawFn) -> list[RootFile]:
    """Files of one to four roots; each has a release, which its folder, its DLLs, a package or nothing tells."""
    files = []
    for number in range(draw(st.integers(1, 4))):
        release = draw(st.sampled_from(RELEASES))
        root = Root(
            "folder",
            Path(f"/root{number}"),
            version=release,
            learned="--root",
            explicit=draw(st.booleans()),
            last_resort=draw(st.booleans()),
        )
        reported = draw(st.sampled_from(["folder", "dll", "package", "nothing"]))
        folder = RootFolder(".", cuda=release if reported == "folder" else "")
        for name in draw(st.sets(st.sampled_from(NAMES), min_size=1)):
            version = TOOLKITS[release].get(name, "")
            machine = draw(st.sampled_from(["amd64", "amd64", "amd64", "x86"]))
            symbol = draw(st.sampled_from(["f", "f", "f", "other"]))
            path = f"{machine}-{symbol}-{version if reported == 'dll' else ''}-{draw(st.integers(0, 1))}"
            package = PACKAGES.get(name, "") if reported == "package" and version else ""
            files.append(RootFile(name, root, folder, path, 10, package, version if package else ""))
    return files


WANTED = st.sampled_from(
    [
        Wanted(),
        Wanted(frozenset({"11.7"}), "label"),
        Wanted(frozenset({"11.6"}), "label"),
        Wanted(frozenset({"11.4", "11.7", "11.8"}), "names"),
    ]
)


def take(files: list[RootFile], wanted: Wanted) -> tuple[OneRelease, dict[str, Choice], MadeUp]:
    """The release and what comes of each need."""
    index = MadeUp(files)
    needs = [DllRequest(name, needers=(Needer("a.dll", ("f",)),), cuda=wanted.text) for name in NAMES]
    one = choose_release("cuda", needs, index, wanted)
    found = {need.name: choose(dataclasses.replace(need, one_release=one), index) for need in needs}
    return one, found, index


@pytest.mark.slow
@given(roots(), WANTED)
def test_releases_are_never_mixed(files, wanted):
    one, found, index = take(files, wanted)
    winners = [outcome.winner for outcome in found.values() if outcome.winner]
    exact = {release for file in winners for release in possible_releases(file, index) if _is_exact(file, index)}
    assert len(exact) <= 1
    assert exact <= {one.release}
    if wanted.releases:
        assert all(release.startswith("11.") for release in exact)


def _is_exact(file: RootFile, index: MadeUp) -> bool:
    return len(possible_releases(file, index)) == 1


@pytest.mark.slow
@given(roots(), WANTED, st.data())
def test_the_order_of_roots_does_not_matter(files, wanted, data):
    one, found, _ = take(files, wanted)
    other, again, _ = take(data.draw(st.permutations(files)), wanted)
    assert one == other
    for name in NAMES:
        assert type(found[name]) is type(again[name])
        first, second = found[name], again[name]
        if first.winner and second.winner:
            assert first.winner.path == second.winner.path


@pytest.mark.slow
@given(roots(), WANTED)
def test_a_named_root_comes_first_where_it_has_the_release(files, wanted):
    one, found, index = take(files, wanted)
    for name, outcome in found.items():
        if outcome.winner is None or outcome.winner.root.explicit or not one.release:
            continue
        rivals = [
            file
            for file in index.candidates(name)
            if file.root.explicit
            and file.path.startswith("amd64-f-")
            and possible_releases(file, index) == {one.release}
        ]
        assert rivals == []


@pytest.mark.slow
@given(roots(), WANTED)
def test_every_refusal_is_of_another_release_and_has_a_reason(files, wanted):
    one, _, _ = take(files, wanted)
    for text in one.refused:
        release, _, reason = text.removeprefix("CUDA ").partition(": ")
        assert release != one.release
        assert reason

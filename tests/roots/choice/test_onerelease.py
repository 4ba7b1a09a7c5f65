"""One release for all CUDA libraries of a wheel, whatever roots there are and in whatever order they were named."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

import pytest

from tests.roots.trees import dll, grow
from tests.support.nvidia import CUPTI, TOOLKITS, nvidia_dll, toolkit_files
from tests.support.wheels import build_wheel
from wheelfix.roots.choice import Choice, DllRequest, Terms, choose, choose_release
from wheelfix.roots.gather import named_root, search_path_roots
from wheelfix.roots.host import Host
from wheelfix.roots.index import RootIndex
from wheelfix.roots.release import OneRelease, Wanted, possible_releases

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from wheelfix.roots.root import Root

HOST = Host()
CU117 = Wanted(frozenset({"11.7"}), "its version 2.0.1+cu117")
NOTHING = Wanted()
NAMES = ("cudart64_110.dll", "cublas64_11.dll", "cublasLt64_11.dll", "cufft64_10.dll", "curand64_10.dll")


def bins(tmp_path: Path, *releases: str, cupti: bool = True) -> list[Root]:
    """The ``bin`` folders of toolkits, named as people name them."""
    return [
        named_root(grow(tmp_path / f"v{release}", toolkit_files(release, cupti=cupti)) / "bin", HOST)
        for release in releases
    ]


def take(
    roots: Iterable[Root], names: Iterable[str], wanted: Wanted = NOTHING, terms: Terms | None = None
) -> tuple[OneRelease, dict[str, str]]:
    """The release that was chosen, and for each name where it is taken from: the folder above ``bin``."""
    needs = [DllRequest(name, cuda=wanted.text) for name in names]
    with RootIndex(roots) as index:
        one = choose_release("cuda", needs, index, wanted, terms)
        found = {}
        for need in needs:
            pinned = dataclasses.replace(need, one_release=one)
            outcome = choose(pinned, index.candidates(need.name), index, terms)
            if isinstance(outcome, Choice):
                releases = possible_releases(outcome.winner, index)
                found[need.name] = " or ".join(sorted(releases))
        return one, found


@pytest.mark.parametrize("order", list(itertools.permutations(["11.4", "11.7", "11.8"])), ids=" ".join)
def test_all_libraries_come_from_the_release_that_the_wheel_was_built_for(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    """--root v11.8/bin --root v11.7/bin took most from 11.8 and cuRAND from 11.7, "as the newest"."""
    one, found = take(bins(tmp_path, *order), NAMES, CU117)
    assert found == dict.fromkeys(NAMES, "11.7")
    assert one.because == "the wheel was built for it (its version 2.0.1+cu117)"
    assert one.refused == (
        "CUDA 11.4: releases are not mixed",
        "CUDA 11.8: releases are not mixed",
    )


@pytest.mark.parametrize("order", [("11.7", "11.8"), ("11.8", "11.7")], ids=" ".join)
def test_without_a_label_everything_comes_from_the_newest(tmp_path: Path, order: tuple[str, ...]) -> None:
    """cuRAND 10.3.0 has the file version 6.14.11.1030, 10.2.10 has 6.14.11.10210."""
    one, found = take(bins(tmp_path, *order), NAMES)
    assert found == dict.fromkeys(NAMES, "11.8")
    assert one.because == "the newest of those that have most of what is needed"


def test_wheels_of_two_generations_are_not_mixed(tmp_path: Path) -> None:
    packages = {"cublas64_11.dll": "nvidia-cublas-cu11", "curand64_10.dll": "nvidia-curand-cu11"}
    roots = [
        named_root(
            build_wheel(
                tmp_path / release,
                package,
                TOOLKITS[release][name],
                "py3-none-win_amd64",
                {f"nvidia/x/bin/{name}": dll(name, release)},
            ),
            HOST,
        )
        for release in ("11.8", "11.7")
        for name, package in packages.items()
    ]
    assert take(roots, packages, CU117)[1] == dict.fromkeys(packages, "11.7")
    assert take(roots[::-1], packages)[1] == dict.fromkeys(packages, "11.8")


def test_folders_of_path_are_not_mixed(tmp_path: Path) -> None:
    for release in ("11.8", "11.7"):
        grow(tmp_path / f"v{release}", toolkit_files(release))
    host = Host(env={"PATH": f"{tmp_path / 'v11.8/bin'}:{tmp_path / 'v11.7/bin'}"})
    assert take(search_path_roots(host), NAMES, CU117)[1] == dict.fromkeys(NAMES, "11.7")


def test_what_the_release_does_not_have_stays_missing_and_is_reported(tmp_path: Path) -> None:
    first = grow(tmp_path / "v11.7", toolkit_files("11.7"))
    (first / "bin/cufft64_10.dll").unlink()
    second = grow(tmp_path / "v11.8", toolkit_files("11.8"))
    one, found = take([named_root(second, HOST), named_root(first, HOST)], NAMES, CU117)
    assert found == dict.fromkeys([name for name in NAMES if name != "cufft64_10.dll"], "11.7")
    assert one.refused == ("CUDA 11.8: releases are not mixed, although only it has cufft64_10.dll",)


def test_another_release_is_taken_when_it_was_asked_for_by_name(tmp_path: Path) -> None:
    first = grow(tmp_path / "v11.7", toolkit_files("11.7"))
    (first / "bin/cufft64_10.dll").unlink()
    second = grow(tmp_path / "v11.8", toolkit_files("11.8"))
    terms = Terms(included=frozenset({"cufft64_10.dll"}))
    _, found = take([named_root(first, HOST), named_root(second, HOST)], NAMES, CU117, terms)
    assert found["cufft64_10.dll"] == "11.8"
    assert found["curand64_10.dll"] == "11.7"


def test_cupti_of_the_same_release_may_lie_elsewhere(tmp_path: Path) -> None:
    toolkit = named_root(grow(tmp_path / "v11.7", toolkit_files("11.7", cupti=False)), HOST)
    version = "11.7.101"
    cupti = build_wheel(
        tmp_path, "nvidia-cuda-cupti-cu11", version, "py3-none-win_amd64", {f"x/{CUPTI['11.7']}": dll(CUPTI["11.7"])}
    )
    _, found = take([toolkit, named_root(cupti, HOST)], (*NAMES, CUPTI["11.7"]), CU117)
    assert found == dict.fromkeys((*NAMES, CUPTI["11.7"]), "11.7")


def test_a_release_of_another_major_is_never_chosen(tmp_path: Path) -> None:
    roots = bins(tmp_path, "12.1", "11.8")
    one, found = take(roots, NAMES, CU117)
    assert found == dict.fromkeys(NAMES, "11.8")
    assert one.because.startswith("11.7, which the wheel was built for (its version 2.0.1+cu117), is in no root")
    nothing, found = take(roots[:1], NAMES, CU117)
    assert (nothing.release, found) == ("", {})


def test_a_dll_of_another_release_in_a_toolkit_is_recognised_by_its_own_version(tmp_path: Path) -> None:
    """Somebody copied cuRAND of 11.8 into v11.7."""
    files = toolkit_files("11.7") | {"bin/curand64_10.dll": nvidia_dll("curand64_10.dll", "10.3.0.86")}
    _, found = take([named_root(grow(tmp_path / "v11.7", files), HOST)], NAMES, CU117)
    assert found == dict.fromkeys([name for name in NAMES if name != "curand64_10.dll"], "11.7")


def test_a_named_toolkit_comes_before_a_discovered_one_that_fits_better(tmp_path: Path) -> None:
    named = named_root(grow(tmp_path / "v11.8", toolkit_files("11.8")), HOST)
    found = dataclasses.replace(named_root(grow(tmp_path / "v11.7", toolkit_files("11.7")), HOST), explicit=False)
    one, taken = take([found, named], NAMES, CU117)
    assert taken == dict.fromkeys(NAMES, "11.8")
    assert one.because == (
        "11.7, which the wheel was built for (its version 2.0.1+cu117), is not in the roots that come first; "
        "this is newer, of the same major"
    )
    assert one.refused == ("CUDA 11.7: only in roots that come later: named ones come first, caches and PATH last",)


def test_of_two_roots_with_one_release_the_one_that_has_more_gives_everything_it_has(tmp_path: Path) -> None:
    whole = named_root(grow(tmp_path / "whole", toolkit_files("11.7")), HOST)
    part = {f"bin/{name}": dll(name, "other") for name in ("cublas64_11.dll", "cublasLt64_11.dll")}
    part["version.json"] = b'{"cuda": {"version": "11.7.1"}}'
    some = named_root(grow(tmp_path / "some", part), HOST)
    for roots in ([whole, some], [some, whole]):
        with RootIndex(roots) as index:
            needs = [DllRequest(name, cuda="11.7") for name in NAMES]
            one = choose_release("cuda", needs, index, CU117)
            assert one.root == whole.path
            for need in needs:
                outcome = choose(dataclasses.replace(need, one_release=one), index.candidates(need.name), index)
                assert isinstance(outcome, Choice)
                assert outcome.winner.root.path == whole.path

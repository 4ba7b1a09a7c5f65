"""What holds for every choice of a release, whatever roots there are: never a mix, and no matter in which order."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.nvidia import TOOLKITS
from wheelfix.model import Exports, FileVersion, Image, Machine, dll_key
from wheelfix.roots.choice import Choice, DllRequest, Needer, choose, choose_release
from wheelfix.roots.release import OneRelease, Wanted, possible_releases
from wheelfix.roots.root import Root, RootFile, RootFolder

if TYPE_CHECKING:
    from wheelfix.model import ImageFacts
    from wheelfix.roots.choice import Outcome

pytestmark = pytest.mark.slow
NAMES = ("cudart64_110.dll", "cublas64_11.dll", "cufft64_10.dll", "curand64_10.dll", "nvrtc-builtins64_117.dll")
RELEASES = ("11.4", "11.7", "11.8", "12.1")
PACKAGES = {"cublas64_11.dll": "nvidia-cublas-cu11", "curand64_10.dll": "nvidia-curand-cu11"}


@dataclasses.dataclass(frozen=True)
class MadeUp:
    """An index without files: what is in a file is written in its path, ``machine-symbol-version-content``."""

    files: tuple[RootFile, ...]

    def candidates(self, name: str) -> tuple[RootFile, ...]:
        return tuple(file for file in self.files if file.key == dll_key(name))

    def image(self, file: RootFile) -> ImageFacts:
        machine, symbol, _, _ = file.path.split("-")
        return Image(Machine(machine), file.size, exports=Exports(names=frozenset({symbol})))

    def version(self, file: RootFile) -> FileVersion | None:
        text = file.path.split("-")[2]
        return FileVersion((6, 14, 11, 1), strings={"FileDescription": f"x, Version {text}"}) if text else None

    def sha256(self, file: RootFile) -> str:
        return file.path

    def beside(self, file: RootFile, name: str) -> RootFile | None:
        return next((other for other in self.siblings(file) if other.key == dll_key(name)), None)

    def siblings(self, file: RootFile) -> tuple[RootFile, ...]:
        return tuple(other for other in self.files if other.root.path == file.root.path)


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
        told = draw(st.sampled_from(["folder", "dll", "package", "nothing"]))
        folder = RootFolder(".", cuda=release if told == "folder" else "")
        for name in draw(st.sets(st.sampled_from(NAMES), min_size=1)):
            version = TOOLKITS[release].get(name, "")
            machine = draw(st.sampled_from(["amd64", "amd64", "amd64", "x86"]))
            symbol = draw(st.sampled_from(["f", "f", "f", "other"]))
            path = f"{machine}-{symbol}-{version if told == 'dll' else ''}-{draw(st.integers(0, 1))}"
            package = PACKAGES.get(name, "") if told == "package" and version else ""
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


def take(files: list[RootFile], wanted: Wanted) -> tuple[OneRelease, dict[str, Outcome], MadeUp]:
    """The release and what comes of each need."""
    index = MadeUp(tuple(files))
    needs = [DllRequest(name, needers=(Needer("a.dll", ("f",)),), cuda=wanted.text) for name in NAMES]
    one = choose_release("cuda", needs, index, wanted)  # type: ignore[arg-type]  # all that is asked of an index
    found = {
        need.name: choose(dataclasses.replace(need, one_release=one), index.candidates(need.name), index)
        for need in needs
    }
    return one, found, index


@given(roots(), WANTED)
def test_releases_are_never_mixed(files: list[RootFile], wanted: Wanted) -> None:
    one, found, index = take(files, wanted)
    winners = [outcome.winner for outcome in found.values() if isinstance(outcome, Choice)]
    exact = {release for file in winners for release in possible_releases(file, index) if _is_exact(file, index)}
    assert len(exact) <= 1
    assert exact <= {one.release}
    if wanted.releases:
        assert all(release.startswith("11.") for release in exact)


def _is_exact(file: RootFile, index: MadeUp) -> bool:
    return len(possible_releases(file, index)) == 1


@given(roots(), WANTED)
def test_what_is_taken_serves(files: list[RootFile], wanted: Wanted) -> None:
    _, found, _ = take(files, wanted)
    for outcome in found.values():
        if isinstance(outcome, Choice):
            assert outcome.winner.path.startswith("amd64-f-")


@given(roots(), WANTED, st.data())
def test_the_order_of_roots_does_not_matter(files: list[RootFile], wanted: Wanted, data: st.DataObject) -> None:
    one, found, _ = take(files, wanted)
    other, again, _ = take(data.draw(st.permutations(files)), wanted)
    assert one == other
    for name in NAMES:
        assert type(found[name]) is type(again[name])
        first, second = found[name], again[name]
        if isinstance(first, Choice) and isinstance(second, Choice):
            assert first.winner.path == second.winner.path


@given(roots(), WANTED)
def test_a_named_root_comes_first_where_it_has_the_release(files: list[RootFile], wanted: Wanted) -> None:
    one, found, index = take(files, wanted)
    for name, outcome in found.items():
        if not isinstance(outcome, Choice) or outcome.winner.root.explicit or not one.release:
            continue
        rivals = [
            file
            for file in index.candidates(name)
            if file.root.explicit
            and file.path.startswith("amd64-f-")
            and possible_releases(file, index) == {one.release}
        ]
        assert rivals == []


@given(roots(), WANTED)
def test_every_refusal_is_of_another_release_and_has_a_reason(files: list[RootFile], wanted: Wanted) -> None:
    one, _, _ = take(files, wanted)
    for text in one.refused:
        release, _, reason = text.removeprefix("CUDA ").partition(": ")
        assert release != one.release
        assert reason

"""What holds for every choice, whatever the candidates: made-up facts, no files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from wheelfix.model import Exports, FileVersion, Image, Machine
from wheelfix.roots.choice import Choice, Conflict, DllRequest, Needer, NoCandidate, choose
from wheelfix.roots.root import Root, RootFile, RootFolder

if TYPE_CHECKING:
    from wheelfix.model import ImageFacts

NEED = DllRequest("uv.dll", needers=(Needer("a.dll", ("uv_run",)),), cuda="11.7")


class MadeUp:
    """Facts that are written in the file's own path: machine, symbol, version and content."""

    def image(self, file: RootFile) -> ImageFacts:
        machine, exports, _, _ = file.path.split("-")
        return Image(Machine(machine), file.size, exports=Exports(names=frozenset({exports})))

    def version(self, file: RootFile) -> FileVersion | None:
        number = int(file.path.split("-")[2])
        return FileVersion((number, 0, 0, 0)) if number else None

    def sha256(self, file: RootFile) -> str:
        return file.path  # the same bytes state the same version

    def beside(self, file: RootFile, name: str) -> RootFile | None:
        return None

    def siblings(self, file: RootFile) -> tuple[RootFile, ...]:
        return ()


@st.composite
def candidates(draw: st.DrawFn) -> list[RootFile]:
    """Files of one name in one to three roots of every standing."""
    files = []
    for number in range(draw(st.integers(1, 6))):
        root = Root(
            "folder",
            Path(f"/root{draw(st.integers(0, 2))}"),
            learned="--root",
            explicit=draw(st.booleans()),
            last_resort=draw(st.booleans()),
        )
        folder = RootFolder(str(number), cuda=draw(st.sampled_from(["", "11.7", "11.8", "12.4"])))
        machine = draw(st.sampled_from(["amd64", "amd64", "x86"]))
        symbol = draw(st.sampled_from(["uv_run", "uv_run", "other"]))
        path = f"{machine}-{symbol}-{draw(st.integers(0, 2))}-{draw(st.integers(0, 2))}"
        files.append(RootFile("uv.dll", root, folder, path, 10))
    return files


def serves(file: RootFile) -> bool:
    """Whether the made-up file has machine and symbol."""
    return file.path.startswith("amd64-uv_run-")


@given(candidates())
def test_every_candidate_is_accounted_for_once(files: list[RootFile]) -> None:
    outcome = choose(NEED, files, MadeUp())
    assert sorted(map(id, files)) == sorted(id(entry.file) for entry in outcome.considered)
    assert all(entry.reason for entry in outcome.considered)


@given(candidates())
def test_only_what_serves_wins_and_something_wins_or_is_asked_if_anything_serves(files: list[RootFile]) -> None:
    outcome = choose(NEED, files, MadeUp())
    if isinstance(outcome, NoCandidate):
        assert not any(map(serves, files))
        return
    for file in (outcome.winner,) if isinstance(outcome, Choice) else outcome.rivals:
        assert serves(file)
        assert file.root.explicit or not any(serves(other) and other.root.explicit for other in files)


@given(candidates())
def test_the_order_of_roots_decides_nothing(files: list[RootFile]) -> None:
    """Reversed candidates give the same content, unless the order of folders within one root had to decide."""
    first, second = choose(NEED, files, MadeUp()), choose(NEED, files[::-1], MadeUp())
    assert type(first) is type(second)
    if isinstance(first, Choice) and isinstance(second, Choice) and not first.reason.startswith("in the first folder"):
        assert MadeUp().sha256(first.winner) == MadeUp().sha256(second.winner)
    if isinstance(first, Conflict) and isinstance(second, Conflict):
        assert {id(file) for file in first.rivals} == {id(file) for file in second.rivals}


def test_the_same_bytes_in_a_second_root_do_not_make_the_order_count() -> None:
    """Two contents in one root, one of them in another root too: folder order decides within a single root only."""
    first, second = (Root("folder", Path(f"/root{number}"), learned="--root") for number in range(2))
    files = [
        RootFile("uv.dll", first, RootFolder("0", cuda="11.7"), "amd64-uv_run-0-1", 10),
        RootFile("uv.dll", first, RootFolder("1", cuda="11.7"), "amd64-uv_run-0-0", 10),
        RootFile("uv.dll", second, RootFolder("2", cuda="11.7"), "amd64-uv_run-0-0", 10),
    ]
    for order in (files, files[::-1]):
        assert isinstance(choose(NEED, order, MadeUp()), Conflict)

"""Root is refused outside of containers; a command is confined as far as the machine allows."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from wheelfix.errors import UsageError
from wheelfix.programs import run_program
from wheelfix.trial.confine import NOT_SEALED, confine, in_container, refuse_root


@pytest.mark.parametrize("mark", ["/.dockerenv", "/run/.containerenv"])
def test_a_container_is_known_by_its_mark(mark: str, tmp_path: Path) -> None:
    assert not in_container(tmp_path, {})
    file = tmp_path / mark.lstrip("/")
    file.parent.mkdir(exist_ok=True)
    file.touch()
    assert in_container(tmp_path, {})


@pytest.mark.parametrize(
    ("groups", "answer"),
    [
        ("0::/\n", False),
        ("12:pids:/docker/0123\n", True),
        ("0::/kubepods/besteffort\n", True),
        ("1:cpu:/user\n", False),
    ],
)
def test_or_by_its_control_group(groups: str, answer: bool, tmp_path: Path) -> None:
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/cgroup").write_text(groups)
    assert in_container(tmp_path, {}) is answer


def test_or_by_a_variable(tmp_path: Path) -> None:
    assert in_container(tmp_path, {"container": "podman"})


def test_root_is_refused() -> None:
    with pytest.raises(UsageError, match="root"):
        refuse_root(False, user=0, container=False)
    refuse_root(True, user=0, container=False)
    refuse_root(False, user=0, container=True)
    refuse_root(False, user=1000, container=False)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no Wine on Windows")
def test_a_confined_command_sees_no_home(tmp_path: Path) -> None:
    home, kept = tmp_path / "home", tmp_path / "home" / "cache" / "wine"
    kept.mkdir(parents=True)
    (home / "secret").touch()
    (kept / "program").touch()
    (tmp_path / "work" / "stage").mkdir(parents=True)
    confinement = confine([kept], tmp_path / "work" / "stage", home)
    done = run_program(confinement.command(["/bin/ls", "-R", str(home)]), timeout=60)
    assert "program" in done.out, done.err
    if any("can be read" in note for note in confinement.notes):
        assert "secret" in done.out
    else:
        assert "secret" not in done.out
        assert confinement.notes in ((), (NOT_SEALED,))
    assert (home / "secret").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no Wine on Windows")
def test_a_confined_command_writes_in_its_own_folder_only(tmp_path: Path) -> None:
    """A package wrote beside the home folder, and could have changed the Wine that is kept for the next run."""
    home, kept = tmp_path / "home", tmp_path / "home" / "cache" / "wine"
    kept.mkdir(parents=True)
    work = tmp_path / "work"
    (work / "stage").mkdir(parents=True)
    confinement = confine([kept], work / "stage", home)
    places = [tmp_path / "planted", kept / "planted", work / "own"]
    for place in places:
        run_program(confinement.command(["/bin/sh", "-c", f"echo x > '{place}'"]), timeout=60)
    if not confinement.notes:
        assert [place.exists() for place in places] == [False, False, True]


@pytest.mark.skipif(not Path("/proc/net/dev").exists(), reason="Linux has this file")
def test_a_confined_command_has_no_network(tmp_path: Path) -> None:
    (tmp_path / "stage").mkdir()
    confinement = confine([], tmp_path / "stage", tmp_path / "none")
    done = run_program(confinement.command(["/bin/cat", "/proc/net/dev"]), timeout=60)
    devices = [line.split(":")[0].strip() for line in done.out.splitlines() if ":" in line]
    switched_off = not any("network" in note for note in confinement.notes)
    assert (devices == ["lo"]) or not switched_off


@pytest.mark.skipif(sys.platform == "win32" or not os.access("/bin/sh", os.X_OK), reason="needs a shell")
def test_without_unshare_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    confinement = confine([], tmp_path, tmp_path)
    assert [note.partition(":")[0] for note in confinement.notes] == [
        f"the files below {tmp_path} can be read by the wheel's code",
        "the network is not switched off",
    ]
    assert run_program(confinement.command(["/bin/echo", "runs"]), timeout=60).out == "runs\n"

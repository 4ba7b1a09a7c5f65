"""Root is refused outside of containers; a command is confined as far as the machine allows."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from wheelfix.base.programs import run_program
from wheelfix.errors import UsageError
from wheelfix.trial import pythons as wine
from wheelfix.trial.pythons import NOT_SEALED, OUTLIVES, Confinement, confined, in_container, refuse_root


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """On a disk, because a confined command may write below /dev, where fast tests have their folders."""
    with tempfile.TemporaryDirectory(dir=None if sys.platform == "win32" else "/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that is not a container, whatever this one is."""
    for name in ("container", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(wine, "MARKS", (str(tmp_path / "mark"),))
    monkeypatch.setattr(wine, "GROUPS", tmp_path / "cgroup")
    return monkeypatch


@pytest.mark.usefixtures("outside")
def test_a_container_is_known_by_its_mark(tmp_path):
    assert not in_container()
    (tmp_path / "mark").touch()
    assert in_container()


@pytest.mark.parametrize(
    "groups, answer",
    [
        ("0::/\n", False),
        ("12:pids:/docker/0123\n", True),
        ("0::/kubepods/besteffort\n", True),
        ("1:cpu:/user\n", False),
    ],
)
@pytest.mark.usefixtures("outside")
def test_or_by_its_control_group(groups, answer, tmp_path):
    (tmp_path / "cgroup").write_text(groups)
    assert in_container() is answer


def test_or_by_a_variable(outside):
    outside.setenv("container", "podman")
    assert in_container()


@pytest.mark.parametrize(
    "allowed, user, container, refused",
    [(False, 0, False, True), (True, 0, False, False), (False, 0, True, False), (False, 1000, False, False)],
)
def test_root_is_refused(allowed, user, container, refused, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: user, raising=False)
    monkeypatch.setattr(wine, "in_container", lambda: container)
    with pytest.raises(UsageError, match="root") if refused else contextlib.nullcontext():
        refuse_root(allowed)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no Wine on Windows")
def test_a_confined_command_sees_no_home(tmp_path):
    home, kept = tmp_path / "home", tmp_path / "home" / "cache" / "wine"
    kept.mkdir(parents=True)
    (home / "secret").touch()
    (kept / "program").touch()
    (tmp_path / "work" / "stage").mkdir(parents=True)
    with confined([kept], tmp_path / "work" / "stage", home) as confinement:
        done = run_program([*confinement.words, "/bin/ls", "-R", str(home)], timeout=60)
    assert "program" in done.out, done.err
    if any("can be read" in note for note in confinement.notes):
        assert "secret" in done.out
    else:
        assert "secret" not in done.out
        assert set(confinement.notes) <= {NOT_SEALED, OUTLIVES}
    assert (home / "secret").exists()


@pytest.mark.skipif(not Path("/proc/net/dev").exists(), reason="Linux has this file")
def test_a_confined_command_has_no_network(tmp_path):
    (tmp_path / "stage").mkdir()
    with confined([], tmp_path / "stage", tmp_path / "none") as confinement:
        done = run_program([*confinement.words, "/bin/cat", "/proc/net/dev"], timeout=60)
    devices = [line.split(":")[0].strip() for line in done.out.splitlines() if ":" in line]
    switched_off = not any("network" in note for note in confinement.notes)
    assert (devices == ["lo"]) or not switched_off


@pytest.mark.skipif(sys.platform == "win32" or not os.access("/bin/sh", os.X_OK), reason="needs a shell")
def test_without_unshare_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with confined([], tmp_path, tmp_path) as confinement:
        assert [note.partition(":")[0] for note in confinement.notes] == [
            f"the files below {tmp_path} can be read by the wheel's code",
            "the network is not switched off",
            "processes that the wheel's code starts may outlive the trial",
        ]
        assert run_program([*confinement.words, "/bin/echo", "runs"], timeout=60).out == "runs\n"


# ------------------------------------------------------------------------------------- attacks from the inside


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home folder with a secret in it; not below ``/tmp``, which becomes the one of the work folder."""
    (tmp_path / "work" / "stage").mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        (Path(folder) / "home").mkdir()
        (Path(folder) / "home" / "secret").write_text("secret")
        yield Path(folder) / "home"


@pytest.fixture
def inside(home: Path, tmp_path: Path) -> Iterator[Confinement]:
    """A confinement that hides it; the test is skipped where the machine does not allow that, and says so."""
    with confined([], tmp_path / "work" / "stage", home) as confinement:
        if confinement.notes:
            pytest.skip("; ".join(confinement.notes))
        yield confinement


@pytest.mark.skipif(sys.platform == "win32", reason="there is no Wine on Windows")
def test_a_cache_below_the_temporary_folder_stays_visible(home, tmp_path):
    """The Wine in it was hidden, and the answer was "Wine cannot tell (crash)"."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        kept, other = Path(folder) / "my cache" / "wine", Path(folder) / "other"
        kept.mkdir(parents=True)
        (kept / "program").touch()
        other.touch()
        with confined([kept], tmp_path / "work" / "stage", home) as confinement:
            done = run_program([*confinement.words, "/bin/ls", "-R", folder], timeout=60)
            planted = run_program([*confinement.words, "/bin/sh", "-c", f"echo x > '{kept}/planted'"], timeout=60)
        assert "program" in done.out, done.err
        if not confinement.notes:
            assert "other" not in done.out
            assert planted.code
            assert not (kept / "planted").exists()


def _attack(inside: Confinement, script: str, **more: str) -> str:
    words = [*inside.words, "/bin/sh", "-c", script]
    return run_program(words, timeout=60, environ={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **more}).text


@pytest.mark.parametrize(
    "attack",
    [
        "umount -l $H",
        "umount $H; umount -R $H",
        "mount -o remount,rw /",
        "mount -t tmpfs tmpfs $H",
        "unshare --mount umount -l $H",
        "unshare --user --map-root-user --mount sh -c 'umount -l $H; cat $H/secret; touch $H/../planted'",
        "unshare --user --map-root-user --mount sh -c 'mount -o remount,bind,rw /; touch $H/../planted'",
        "unshare -Urmpf sh -c 'mount -t proc proc /proc; cat /proc/1/root$H/secret'",
        "nsenter --target 1 --mount umount -l $H",
        "nsenter --target 1 --mount --pid cat $H/secret",
        "cd ..; cd ..; cat home/secret; cat $(pwd)/secret",
        "cat /proc/1/root$H/secret /proc/1/cwd$H/secret /proc/*/root$H/secret /proc/*/cwd/../secret",
        "chroot /proc/1/root cat $H/secret",
        "echo x > /proc/sys/kernel/core_pattern && cat $H/secret",
        "mknod /tmp/disk b 8 0 && echo secret",
    ],
)
def test_no_way_back_to_the_home_folder(attack, inside, home):
    """``umount -l HOME`` showed it again, because the process kept all capabilities."""
    text = _attack(inside, f"({attack}) 2>/dev/null; cat $H/secret; echo x > $H/../planted", H=str(home))
    assert "secret" not in text.replace(f"{home}/secret", "")
    assert not (home.parent / "planted").exists()


def test_it_writes_in_its_own_folder_only(home, tmp_path):
    """A package wrote beside the home folder, and could have changed the Wine that is kept for the next run."""
    kept, work, shared = home / "cache" / "wine", tmp_path / "work", Path("/dev/shm") / tmp_path.name
    kept.mkdir(parents=True)
    places = [home.parent / "planted", kept / "planted", shared, work / "own"]
    with confined([kept], work / "stage", home) as confinement:
        if confinement.notes:
            pytest.skip("; ".join(confinement.notes))
        for place in places:
            _attack(confinement, f"echo x > '{place}'")
    written = [place.exists() for place in places]
    shared.unlink(missing_ok=True)
    assert written == [False, False, False, True]


def test_no_capabilities(inside):
    status = dict(line.split(":\t") for line in _attack(inside, "cat /proc/self/status").splitlines() if ":\t" in line)
    assert {
        name: int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    } == dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0)
    assert status["NoNewPrivs"] == "1"


@pytest.mark.slow
@pytest.mark.parametrize("start", ["sleep 600 &", "setsid sleep 600 &", "nohup setsid sleep 600 >/dev/null 2>&1 &"])
def test_a_background_process_ends_with_the_confinement(start, home, tmp_path):
    with confined([], tmp_path / "work" / "stage", home) as confinement:
        if OUTLIVES in confinement.notes:
            pytest.skip(OUTLIVES)
        _attack(confinement, f"{start} sleep 0", WHEELFIX_MARK=str(home))
        # Later imports share the server of Wine, which must not be killed with the first. A process that is just being
        # replaced by another program has no variables for a moment.
        end = time.monotonic() + 60
        while not (running := _marked(str(home))) and time.monotonic() < end:
            time.sleep(0.01)
        assert running
    assert not _marked(str(home))


def _marked(mark: str) -> list[str]:
    """Processes that were started with a variable of this value."""
    found = []
    for one in Path("/proc").iterdir():
        try:
            if one.name.isdecimal() and mark.encode() in (one / "environ").read_bytes():
                found.append(one.name)
        except OSError:
            continue
    return [name for name in found if name != str(os.getpid())]


def test_processes_outside_are_not_seen(inside):
    outside = subprocess.Popen(["/bin/sleep", "600"])
    try:
        script = f"kill -9 {outside.pid}; kill -9 -1; ls /proc; cat /proc/{outside.pid}/cmdline"
        text = _attack(inside, f"({script}) 2>&1; echo done")
        assert str(outside.pid) not in [line for line in text.splitlines() if line.isdecimal()]
        assert outside.poll() is None
    finally:
        outside.kill()
        outside.wait()


def test_it_can_be_entered_again_after_an_attack_on_all_processes(inside):
    _attack(inside, "kill -9 1; kill -9 -1")
    assert _attack(inside, "echo still here") == "still here\n"

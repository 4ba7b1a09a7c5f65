"""What keeps the code of a wheel from the rest of the machine: its network, home folder, processes and capabilities."""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number
from wheelfix.base.programs import find_program, run_program, running_program
from wheelfix.base.values import dataclass
from wheelfix.errors import EnvironmentFailure, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MEMORY = 8 << 30
"""Bytes of memory that one process may have."""
MARKS = ("/.dockerenv", "/run/.containerenv")
"""Files by which Docker and Podman mark their containers."""
WORDS = ("docker", "kubepods", "containerd", "libpod", "lxc", "garden")
"""Words in the control group of the first process of a container."""
NOT_SEALED = "files outside of the home folder can be changed by the wheel's code where your user may: use a container"
OUTLIVES = "processes that the wheel's code starts may outlive the trial: this machine has no process namespaces for it"
_PROBE = 20.0
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_LIMITS = f"ulimit -c 0; ulimit -d {MEMORY >> 10} 2>/dev/null; "
_HELD = "read -r held _ < /proc/self/stat; "
"""The number of the process as those outside know it: ``/proc`` is still theirs."""
_PROC = (
    "mount -t proc proc /proc; for point in /proc/sys /proc/sysrq-trigger /proc/irq /proc/bus /proc/fs; do "
    '{ mount --bind "$point" "$point" && mount -o remount,bind,ro "$point"; } 2>/dev/null || :; done; '
)
"""Other processes are not seen; what root could set for the whole machine is read-only."""


def in_container(root: Path = Path("/"), environ: Mapping[str, str] | None = None) -> bool:
    """Whether this process runs in a container, as far as its marks show."""
    environ = os.environ if environ is None else environ
    if environ.get("container") or environ.get("KUBERNETES_SERVICE_HOST"):
        return True
    if any((root / mark.lstrip("/")).exists() for mark in MARKS):
        return True
    try:
        groups = (root / "proc/1/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(word in groups for word in WORDS)


def refuse_root(allowed: bool, *, user: int | None = None, container: bool | None = None) -> None:
    """UsageError for root outside a container: a wheel's code could do anything to the machine."""
    user = (os.geteuid() if hasattr(os, "geteuid") else -1) if user is None else user
    if user or allowed or (in_container() if container is None else container):
        return
    raise UsageError(
        "wheelfix try does not run as root",
        because="it runs the code of the wheel, which could then change anything on this machine",
        hint="run it as another user or in a container; --allow-root runs it all the same",
    )


@dataclass(frozen=True, slots=True)
class Confinement:
    """The words that a command is started with, and what they do not keep out."""

    words: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def command(self, command: Sequence[str]) -> list[str]:
        """Return the command, confined."""
        return [*self.words, *command]


@contextlib.contextmanager
def confined(keep: Sequence[Path], stage: Path, home: Path | None = None) -> Iterator[Confinement]:
    """The strictest confinement that this machine allows; everything that was started in it is killed at the end.

    ``keep`` are the folders that stay visible although they are below the home folder; ``stage`` is an empty folder.
    A process that does nothing holds the namespaces, and is the first of its process namespace: when it dies, the
    kernel kills all others. Commands enter them one by one, and give up their capabilities before they run.
    """
    home = Path.home() if home is None else home
    notes = [f"the files below {home} can be read by the wheel's code: they cannot be hidden here"]
    programs = [find_program(name) for name in ("unshare", "nsenter", "setpriv")]
    if all(programs):
        unshare, nsenter, setpriv = (str(program) for program in programs)
        hidden = _hiding(home, [path for path in keep if path.is_relative_to(home)], stage)
        levels = [(hidden + _sealing(stage.parent, home), []), (hidden, [NOT_SEALED])] if hidden else []
        for (script, missing), alone in itertools.product([*levels, ("", notes)], (True, False)):
            spaces = ["--mount", "--net", "--ipc", *(["--pid"] if alone else [])]
            with running_program(
                [unshare, *_own_user(), *spaces, *(["--kill-child"] if alone else []), "--", "/bin/sh", "-c",
                 f"{_HELD}set -e; {script}{_PROC if alone else ''}cd /; echo $held; exec cat >/dev/null"],
                timeout=_PROBE, environ={"PATH": _PATH}, within=stage.parent,
            ) as held:  # fmt: skip
                words = _entering(nsenter, setpriv, held, spaces)
                if whole_number(held) and _works(words, stage.parent):
                    yield Confinement(words, (*missing, *(() if alone else (OUTLIVES,))))
                    return
    notes += ["the network is not switched off: this machine does not allow it", OUTLIVES]
    plain = ("/bin/sh", "-c", f'{_LIMITS}exec "$@"', "sh")
    yield Confinement(plain if Path("/bin/sh").exists() else (), tuple(notes))


def _own_user() -> tuple[str, ...]:
    """The option by which somebody who is not root may make namespaces; the user stays who it is."""
    return () if os.geteuid() == 0 else ("--user", "--map-current-user", "--keep-caps")


def _entering(nsenter: str, setpriv: str, held: str, spaces: Sequence[str]) -> tuple[str, ...]:
    """Return the words that run a command in the namespaces of a process, without capabilities.

    The current folder is looked up again inside: one of the outside would be a way out, through its parents.
    """
    user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
    dropped = "--no-new-privs --bounding-set=-all --inh-caps=-all --ambient-caps=-all"
    inner = f'cd "$1" 2>/dev/null || cd /; shift; {_LIMITS}exec {shlex.quote(setpriv)} {dropped} -- "$@"'
    enter = shlex.join([nsenter, "--target", held, *user, *spaces, "--", "/bin/sh", "-c", inner, "sh"])
    return ("/bin/sh", "-c", f'exec {enter} "$(pwd)" "$@"', "sh")


def _hiding(home: Path, keep: Sequence[Path], stage: Path) -> str:
    """Return the commands that put an empty file system over the home folder, with some of its folders in it."""
    if home == Path(home.anchor) or not home.is_dir() or stage.is_relative_to(home):
        return ""
    before, after = [], []
    for number, path in enumerate(keep):
        place = stage / str(number)
        place.mkdir(parents=True, exist_ok=True)
        old, new = shlex.quote(str(path)), shlex.quote(str(place))
        before.append(f"mount --bind {old} {new}; ")
        after.append(f"mkdir -p {old}; mount --bind {new} {old}; ")
    return "".join([*before, f"mount -t tmpfs tmpfs {shlex.quote(str(home))}; ", *after])


def _sealing(work: Path, home: Path) -> str:
    """Return the commands that make everything read-only but the work folder, which also becomes ``/tmp``.

    They come after those that put an empty file system over the home folder. Wine's server has its sockets in ``/tmp``.
    What is not a disk (``/dev``, ``/proc``) stays as it is; the first disk must be read-only for certain.
    """
    folder, own, above = shlex.quote(str(work)), shlex.quote(str(home / ".work")), shlex.quote(str(home))
    return (
        f"mount --make-rprivate /; mkdir -p {folder}/tmp {own}; mount --bind {folder} {own}; "
        f"mount -o remount,bind,ro /; mount --bind {own}/tmp /tmp; mkdir -p {folder}; mount --bind {own} {folder}; "
        "while read -r _ _ _ _ point _; do case $point in "
        f"/|/tmp|{above}|{own}|{folder}|/dev|/dev/*|/proc|/proc/*) ;; "
        '*) mount -o remount,bind,ro "$point" 2>/dev/null || : ;; esac; done < /proc/self/mountinfo; '
    )


def _works(words: Sequence[str], within: Path) -> bool:
    try:
        return run_program([*words, "/bin/true"], timeout=_PROBE, within=within).code == 0
    except EnvironmentFailure:
        return False

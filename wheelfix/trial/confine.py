"""What keeps the code of a wheel from the rest of the machine: no root, no network, no home folder, bounded memory."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.programs import find_program, run_program
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MEMORY = 8 << 30
"""Bytes of memory that one process may have."""
MARKS = ("/.dockerenv", "/run/.containerenv")
"""Files by which Docker and Podman mark their containers."""
WORDS = ("docker", "kubepods", "containerd", "libpod", "lxc", "garden")
"""Words in the control group of the first process of a container."""
NOT_SEALED = "files outside of the home folder can be changed by the wheel's code where your user may: use a container"
_PROBE = 20.0


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


def confine(keep: Sequence[Path], stage: Path, home: Path | None = None) -> Confinement:
    """Return the strictest confinement that this machine allows.

    ``keep`` are the folders that stay visible although they are below the home folder; ``stage`` is an empty folder.
    """
    unshare = find_program("unshare")
    home = Path.home() if home is None else home
    limits = f"ulimit -c 0; ulimit -d {MEMORY >> 10} 2>/dev/null; "
    plain = ("/bin/sh", "-c", f'{limits}exec "$@"', "sh")
    notes = []
    if unshare is not None:
        own = () if os.geteuid() == 0 else ("--user", "--map-current-user", "--keep-caps")
        hidden = _hiding(home, [path for path in keep if path.is_relative_to(home)], stage)
        for sealed in (_sealing(stage.parent, home), "") if hidden else ():
            script = f'set -e; {hidden}{sealed}set +e; {limits}exec "$@"'
            without_home = (unshare, *own, "--net", "--mount", "--", "/bin/sh", "-c", script, "sh")
            if _works(without_home, stage.parent):
                return Confinement(without_home, () if sealed else (NOT_SEALED,))
        notes.append(f"the files below {home} can be read by the wheel's code: they cannot be hidden here")
        without_network = (unshare, *own, "--net", "--", *plain)
        if _works(without_network, stage.parent):
            return Confinement(without_network, tuple(notes))
    else:
        notes.append(f"the files below {home} can be read by the wheel's code")
    notes.append("the network is not switched off: this machine does not allow it")
    return Confinement(plain if Path("/bin/sh").exists() else (), tuple(notes))


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
    What is not a disk (``/dev``, ``/proc``, ``/sys``) stays as it is; the first disk must be read-only for certain.
    """
    folder, own, above = shlex.quote(str(work)), shlex.quote(str(home / ".work")), shlex.quote(str(home))
    return (
        f"mount --make-rprivate /; mkdir -p {folder}/tmp {own}; mount --bind {folder} {own}; "
        f"mount -o remount,bind,ro /; mount --bind {own}/tmp /tmp; mkdir -p {folder}; mount --bind {own} {folder}; "
        "while read -r _ _ _ _ point _; do case $point in "
        f"/|/tmp|{above}|{own}|{folder}|/dev|/dev/*|/proc|/proc/*|/sys|/sys/*) ;; "
        '*) mount -o remount,bind,ro "$point" 2>/dev/null || : ;; esac; done < /proc/self/mountinfo; '
        'cd "$(pwd)"; '
    )


def _works(words: Sequence[str], within: Path) -> bool:
    try:
        return run_program([*words, "/bin/true"], timeout=_PROBE, within=within).code == 0
    except EnvironmentFailure:
        return False

"""Plans that were written down: reading them, and replaying them with the same sources or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.edition import NewMember
from wheelfix.archive.reader import Archive
from wheelfix.archive.wheelinfo import WheelInfo
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.plan.model import Plan, plan_from_json
from wheelfix.roots.condafile import open_package

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_SCHEMA = "wheelfix.lock/1"
LIMIT = 64 << 20
"""No lock file is larger than this."""


def write_lock(plans: list[Plan], path: Path) -> None:
    """Write the plans of a repair to a file."""
    document = {"schema": LOCK_SCHEMA, "plans": [plan.to_json() for plan in plans]}
    try:
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as exc:
        raise EnvironmentFailure(f"cannot write {path}", because=exc.strerror or str(exc)) from exc


def read_lock(path: Path) -> list[Plan]:
    """Read the plans of a lock file; InputError says what is wrong with it."""
    try:
        if path.stat().st_size > LIMIT:
            raise InputError(f"{path} is no lock file", because=f"it is larger than {LIMIT >> 20} MiB")
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise InputError(f"cannot read {path}", because=exc.strerror or str(exc)) from exc
    except (ValueError, RecursionError) as exc:
        raise InputError(f"{path} is no lock file", because=f"it is no JSON: {exc}") from exc
    if not isinstance(document, dict) or document.get("schema") != LOCK_SCHEMA:
        raise InputError(
            f"{path} is no lock file",
            because=f"its schema is not {LOCK_SCHEMA}",
            hint="write one with `wheelfix repair --lock FILE`",
        )
    plans = document.get("plans")
    if not isinstance(plans, list):
        raise InputError(f"{path} is no lock file", because="it has no list of plans")
    return [plan_from_json(tree, f"{path}, plan {number}") for number, tree in enumerate(plans, start=1)]


def check_lock(plan: Plan, archive: Archive, where: str) -> WheelInfo:
    """Make sure that the wheel is the one the plan was made for."""
    digest = hashlib.sha256(archive.directory).hexdigest()
    if archive.size != plan.wheel.size or digest != plan.wheel.directory_sha256:
        raise InputError(
            f"{archive.path} is not the wheel that {where} was written for",
            because="its size or its directory differs",
            hint="plan anew with --lock, or give the wheel that was locked",
        )
    return WheelInfo.from_archive(archive)


@contextlib.contextmanager
def open_sources(plan: Plan, own: Archive) -> Iterator[tuple[NewMember, ...]]:
    """The additions of a plan as the writer wants them; their bytes are checked against the lock as they are copied."""
    with contextlib.ExitStack() as stack:
        archives: dict[str, Archive] = {}
        made = []
        for addition in plan.additions:
            source = addition.source
            if source.kind == "file":
                made.append(NewMember(addition.target, path=Path(source.path), sha256=addition.sha256))
            elif source.kind == "conda-package":
                disk = open_package(Path(source.path)).dlls[source.member].disk
                made.append(NewMember(addition.target, path=disk, sha256=addition.sha256))
            else:
                archive = own
                if source.kind == "wheel":
                    if source.path not in archives:
                        archives[source.path] = stack.enter_context(Archive.open(Path(source.path)))
                    archive = archives[source.path]
                member = archive.find(source.member)
                if member is None:
                    raise InputError(
                        f"{archive.path} has no member {source.member}", because="it is not what was locked"
                    )
                made.append(NewMember(addition.target, packed=(archive, member), sha256=addition.sha256))
        yield tuple(made)

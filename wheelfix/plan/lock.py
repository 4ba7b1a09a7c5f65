"""Plans that were written down: reading them, and replaying them with the same sources or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import posixpath
import re
import threading
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from wheelfix.archive.changes import NewMember
from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.names import name_parts, normalise, unprintable, why_unsafe, windows_key
from wheelfix.archive.reader import Archive
from wheelfix.base.parsing import read_json, with_schema
from wheelfix.base.values import frozen, replace
from wheelfix.errors import InputError, NetworkFailure, UsageError, WheelfixError
from wheelfix.exam.examine import machine_of_tags
from wheelfix.loader.view import PE_SUFFIXES
from wheelfix.model import Machine
from wheelfix.plan.model import Addition, Plan, Source, plan_from_json
from wheelfix.plan.ways import supply_fault
from wheelfix.remote.addresses import is_url
from wheelfix.remote.client import Client
from wheelfix.roots.condafile import open_package
from wheelfix.streams.output import AtomicFile
from wheelfix.streams.pool import WorkerPool
from wheelfix.streams.source import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from wheelfix.base.options import ScanOptions
    from wheelfix.remote.ranges import RemoteWheel
    from wheelfix.roots.index import RootIndex

LOCK_SCHEMA = "wheelfix.lock/1"
SOURCES = ("file", "wheel", "conda-package", "own", "index")


def write_lock(plans: list[Plan], path: Path, given: Iterable[Path] = ()) -> None:
    """Write the plans of a repair to a file; sources in roots that were ``given`` as relative paths stay relative."""
    roots = {str(root.absolute()): root for root in given if not root.is_absolute()}
    document = {"schema": LOCK_SCHEMA, "plans": [_as_given(plan, roots).to_json() for plan in plans]}
    try:
        data = json.dumps(document, indent=2, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a path that is not text has no other form than JSON's own
        data = json.dumps(document, indent=2).encode()
    with AtomicFile(path) as out:
        out.write(data + b"\n")
        out.commit()


def _as_given(plan: Plan, roots: Mapping[str, Path]) -> Plan:
    def shown(text: str) -> str:
        for absolute, root in roots.items():
            if text == absolute or text.startswith(absolute + os.sep):
                return str(root / text[len(absolute) + 1 :])
        return text

    def source(one: Source) -> Source:
        return replace(one, path=shown(one.path), root=shown(one.root))

    return replace(plan, additions=tuple(replace(one, source=source(one.source)) for one in plan.additions))


def read_lock(path: Path) -> list[Plan]:
    """Read the plans of a lock file; InputError says what is wrong with it."""
    try:
        document = read_json(path)
    except OSError as exc:
        raise InputError(f"cannot read {path}", because=exc) from exc
    except ValueError as exc:
        raise InputError(f"{path} is not a lock file", because=f"it is not valid JSON: {exc}") from exc
    hint = "write one with `wheelfix repair --lock FILE`"
    plans = with_schema(document, LOCK_SCHEMA, f"{path} is not a lock file", hint).get("plans")
    if not isinstance(plans, list):
        raise InputError(f"{path} is not a lock file", because="it has no list of plans")
    return [_sound(plan_from_json(tree, f"{path}, plan {n}"), f"{path}, plan {n}") for n, tree in enumerate(plans, 1)]


def _sound(plan: Plan, where: str) -> Plan:
    """The plan, if it writes only a wheel into the target folder, and only DLLs with a hash into the wheel."""
    faults = []
    if not name_parts(plan.output) or why_unsafe(plan.output) or "/" in normalise(plan.output):
        faults.append(f"output {plan.output!r} is not a file name of a wheel")
    elif not _same_but_for_build(plan.output, plan.wheel.path):
        faults.append(f"output {plan.output!r} is the name of another wheel than {plan.wheel.path}")
    if plan.layout not in ("beside", "libs"):
        faults.append(f"there is no layout {plan.layout!r}")
    faults += plan.renaming.faults
    if not is_hash(plan.wheel.sha256) or not is_hash(plan.wheel.directory_sha256):
        faults.append(f"{plan.wheel.path} has no hash, so that it could be any wheel")
    faults += member_faults(plan)
    if faults:
        raise InputError(f"{where} is not a valid plan", because=faults[:5])
    return plan


def is_hash(value: object) -> bool:
    """Whether this is a SHA-256 in hexadecimal."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def member_faults(plan: Plan, names: Collection[str] | None = None) -> list[str]:
    """Return what a plan would do that no repair does: it adds DLLs where the wheel has files, and keeps the metadata.

    ``names`` are the files of the wheel; without them only what can be said of any wheel is looked at.
    """
    drops = {drop.path for drop in plan.drops}
    faults = [f"{path!r} is dropped, which no repair does" for path in drops if _is_metadata(path)]
    faults += filter(None, map(supply_fault, plan.supplied))
    code = [path for path in plan.patched if posixpath.basename(path) != "__init__.py" or path not in (names or [path])]
    faults += [f"{path!r} gets no code by any repair" for path in code]
    taken = {windows_key(name): name for name in names or ()}
    folders = {posixpath.dirname(name) for name in names or ()}
    loaded = {posixpath.dirname(name) for name in names or () if name.lower().endswith(PE_SUFFIXES)}
    for addition in plan.additions:
        source, target, key = addition.source, addition.target, windows_key(addition.target)
        if source.kind not in SOURCES or (source.kind == "index" and not is_url(source.path)):
            faults.append(f"{target!r} comes from {source.kind!r} {source.path!r}, which is not a known kind of source")
        if not is_hash(addition.sha256) or (source.wheel_sha256 and not is_hash(source.wheel_sha256)):
            faults.append(f"{target!r} has no hash, so that anything could be put there")
        if reason := _why_no_dll(target) or _why_no_dll(addition.name):
            faults.append(f"{target!r} is not added by any repair: {reason}")
        elif addition.mangle:
            if plan.layout != "libs" or "/" in addition.name:
                faults.append(f"{addition.name!r} cannot be renamed")
        elif posixpath.basename(target) != addition.name:
            faults.append(f"{target!r} is not {addition.name!r}")
        elif names is None:
            continue
        elif key in taken and not (taken[key] == target and target in drops):
            faults.append(f"{target!r} is in the wheel already")
        elif not taken.keys().isdisjoint(map(str, PurePosixPath(key).parents)) or not _may_hold(
            posixpath.dirname(target), folders, loaded
        ):
            faults.append(f"{target!r} is in a folder where the wheel has nothing, and a repair would not put it there")
    return faults


def _why_no_dll(name: str) -> str:
    """Return why a name is not that of a DLL that a repair adds; empty if it is."""
    if reason := why_unsafe(name) or (unprintable(name) and "it has a character that cannot be seen"):
        return reason
    if not name.lower().endswith(".dll") or name != normalise(name):
        return "it is not a DLL"
    return "it is in a folder for metadata" if _is_metadata(name) else ""


def _is_metadata(name: str) -> bool:
    return any(step.endswith((".dist-info", ".egg-info")) for step in windows_key(normalise(name)).split("/"))


def _may_hold(folder: str, folders: Collection[str], loaded: Collection[str]) -> bool:
    """Whether a plan may add a DLL to a folder: beside an image, or below a folder of the wheel's own for ``--dest``.

    Below a ``.data`` folder are the folders of python.exe, for which it would count as well: there only the first.
    """
    top, _, rest = f"{folder.lower()}/".partition("/")
    if top.endswith(".data"):
        return folder in loaded and not rest.startswith(("scripts/", "headers/"))
    while folder and folder not in folders:
        folder = posixpath.dirname(folder)
    return bool(folder) or "" in loaded or not loaded


def is_foreign(path: str, given: Iterable[Path | None]) -> bool:
    """Whether a path of a lock is on a share of a network that no path on the command line is on.

    Windows would send the account of the user to whoever runs it.
    """
    known = {_share(str(one)) for one in given if one is not None}
    return bool(_share(path)) and _share(path) not in known


def refuse_share(path: str, where: str) -> InputError:
    """Return the error for a lock that needs a file on such a share."""
    return InputError(
        f"{where} is not carried out",
        because=f"it names {path}, which is on another machine",
        hint="name that folder with --root, if you trust it",
    )


def wheel_of(plan: Plan, where: str) -> Path:
    """Return the wheel that a plan is for: where it was, else beside the lock; InputError if it is in neither place."""
    path = Path(plan.wheel.path)
    beside = Path(where).parent / normalise(plan.wheel.path).rpartition("/")[2]
    found = next((one for one in (path, beside) if one.is_file()), None)
    if found is None:
        raise InputError(
            f"{plan.wheel.path} does not exist",
            because=f"{where} was written for it",
            hint=f"name the wheel, wherever it is now: wheelfix repair --locked {where} PATH",
        )
    return found


def _share(path: str) -> str:
    """The share of a network, or the device, that a path begins with; empty where it begins with neither."""
    plain = path.strip().replace("/", "\\")
    return "\\".join(plain.split("\\")[:4]).casefold() if plain.startswith("\\\\") else ""


def _same_but_for_build(output: str, path: str) -> bool:
    """Whether two wheels have one name, except for a build tag."""
    first, second = (name_parts(normalise(name).rpartition("/")[2]) for name in (output, path))
    return {**first, "build": ""} == {**second, "build": ""}


def check_lock(plan: Plan, archive: Archive, where: str) -> WheelInfo:
    """Make sure that the wheel is the one the plan was made for, and that the plan does to it what plans do."""
    digest = hashlib.sha256(archive.directory).hexdigest()
    if archive.size != plan.wheel.size or digest != plan.wheel.directory_sha256:
        raise _another_wheel(archive, where, "its size or its directory differs")
    info = WheelInfo.from_archive(archive)
    names = [member.name.removeprefix(info.prefix) for member in archive.members if not member.is_dir]
    if faults := member_faults(plan, names):
        raise InputError(f"{where} is not a valid plan", because=faults[:5])
    return info


@contextlib.contextmanager
def wheel_hash(plan: Plan, archive: Archive, where: str, *, trust: bool) -> Iterator[Callable[[], None]]:
    """Hash the whole wheel in a thread while it is copied.

    What is given raises InputError if the wheel's bytes are not those that were locked; it has to be called before
    anything gets its name. With ``trust`` it checks nothing: the directory, which has size and CRC of every member, has
    been compared already, and the members are believed.
    """
    stop = threading.Event()

    def digest() -> str:
        total = hashlib.sha256()
        for piece in chunks(archive):
            if stop.is_set():
                break
            total.update(piece)
        return total.hexdigest()

    with WorkerPool(1) as pool:
        task = None if trust else pool.submit(digest)

        def check() -> None:
            if task is not None and task.result() != plan.wheel.sha256:
                raise _another_wheel(archive, where, "its bytes differ")

        try:
            yield check
        except WheelfixError:
            check()  # another wheel is the better explanation of whatever went wrong with it
            raise
        finally:
            stop.set()


def _another_wheel(archive: Archive, where: str, because: str) -> InputError:
    return InputError(
        f"{archive.path} is not the wheel that {where} was written for",
        because=because,
        hint="plan again with --lock, or give the wheel that was locked",
    )


@contextlib.contextmanager
def locked_sources(
    plan: Plan, own: Archive, index: RootIndex, options: ScanOptions, where: str
) -> Iterator[tuple[NewMember, ...]]:
    """Give the additions as the writer wants them; their bytes are checked against the lock as they are copied."""
    with contextlib.ExitStack() as stack:
        sources = _Sources(plan, own, index, options, where, stack, {})
        yield tuple(map(sources.find, plan.additions))


@frozen
class _Sources:
    """Finds the bytes of additions by their hash: in named roots, where they were, in other roots."""

    plan: Plan
    own: Archive
    index: RootIndex
    options: ScanOptions
    where: str
    stack: contextlib.ExitStack
    archives: dict[str, Archive]

    def find(self, addition: Addition) -> NewMember:
        if addition.source.kind == "own":
            return self._packed(addition, self.own)
        elsewhere = self._in_roots(addition, fetch=False) if self.options.roots.named else None
        if elsewhere is not None:
            return elsewhere
        failure: WheelfixError = self._not_there(addition)
        try:
            recorded = self._as_recorded(addition)
        except NetworkFailure as exc:  # another machine may have another index
            recorded, failure = None, exc
        if recorded is None or _size(recorded) != addition.size:
            recorded = self._in_roots(addition, fetch=True) or recorded
        if recorded is None:
            raise failure
        return recorded

    def _as_recorded(self, addition: Addition) -> NewMember | None:
        """The source where the plan found it; None if it is not there."""
        source = addition.source
        if source.kind == "index":
            return self._from_server(addition) if self.options.remote.fetch else None
        if is_foreign(source.path, (*self.options.roots.named, Path(self.where))):
            return None
        places = (Path(source.path), Path(self.where).parent / source.path)
        path = next((one for one in places if one.is_file()), None)  # a pipe would keep us waiting for ever
        if path is None:
            return None
        if source.kind == "file":
            return NewMember(addition.target, path=path, sha256=addition.sha256)
        if source.kind == "conda-package":
            disk = open_package(path).dlls.get(source.member)
            if disk is None:
                raise _no_member(path, source.member)
            return NewMember(addition.target, path=disk, sha256=addition.sha256)
        return self._packed(addition, self._opened(source.path, path))

    def _opened(self, key: str, path: Path | RemoteWheel) -> Archive:
        if key not in self.archives:
            self.archives[key] = self.stack.enter_context(Archive.open(path))
        return self.archives[key]

    def _packed(self, addition: Addition, archive: Archive) -> NewMember:
        member = archive.find(addition.source.member)
        if member is None:
            raise _no_member(archive.path, addition.source.member)
        return NewMember(addition.target, packed=(archive, member), sha256=addition.sha256)

    def _from_server(self, addition: Addition) -> NewMember:
        url = addition.source.path
        if url not in self.archives:
            client = self.stack.enter_context(Client(self.options.remote))
            archive = self._opened(url, client.wheel_at(url, sha256=addition.source.wheel_sha256))
            names = [one.source.member for one in self.plan.additions if one.source.path == url]
            archive.expect(member for name in names if (member := archive.find(name)) is not None)
        return self._packed(addition, self.archives[url])

    def _in_roots(self, addition: Addition, *, fetch: bool) -> NewMember | None:
        """A file of a root with that name and hash; with ``--fetch`` also of a vendor's wheel on the package index."""
        tags = tuple(self.plan.output.removesuffix(".whl").split("-")[-1:])
        machine = machine_of_tags(tags) or Machine.AMD64
        cuda = next((one.release for one in self.plan.releases if one.toolkit == "CUDA"), "")
        while True:
            for file in self.index.candidates(addition.name):
                if file.size == addition.size and self.index.sha256(file) == addition.sha256:
                    packed = self.index.packed(file)
                    path = None if packed else self.index.disk_path(file)
                    if packed and addition.source.kind not in ("wheel", "index"):
                        # Packed as it would have been from a file: packed bytes of others would make another wheel.
                        return NewMember(addition.target, source=self.index.open(file), sha256=addition.sha256)
                    return NewMember(addition.target, path=path, packed=packed, sha256=addition.sha256)
            if not fetch or not self.index.look_on_index(addition.name, cuda, machine):
                return None

    def _not_there(self, addition: Addition) -> WheelfixError:
        source = addition.source
        if source.kind == "index":
            return UsageError(
                "the lock takes DLLs from the package index",
                because=f"such as {source.path}",
                hint="add --fetch to have them fetched again; their hashes are in the lock",
            )
        if is_foreign(source.path, (*self.options.roots.named, Path(self.where))):
            return refuse_share(source.path, self.where)
        whose = f" of {source.origin}" if source.origin not in ("", "folder") else ""
        return InputError(
            f"{source.path} is not there",
            because=f"the lock needs {addition.name}{whose} with its very bytes, and no root has them",
            hint="name the folder or wheel that has it with --root, or plan again",
        )


def _size(new: NewMember) -> int:
    return new.packed[1].usize if new.packed is not None else new.path.stat().st_size if new.path is not None else 0


def _no_member(path: Path, member: str) -> InputError:
    return InputError(f"{path} has no member {member}", because="it is not what was locked")

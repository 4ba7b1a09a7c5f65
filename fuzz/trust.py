"""Locks, journals and redirects as somebody makes them who knows our formats: each input stands for a few edits.

What is random is which edits; a damaged byte seldom gets further than the parser. Each target checks what must hold
whatever the document says: nothing is written but DLLs of the plan, no file of a stranger goes, no hop is forgotten.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import io
import itertools
import json
import os
import random
import shutil
import zipfile
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fuzz.commands import planned, repair_options, sound
from fuzz.wheels import DLL, INFO, LACKING, scratch
from wheelfix.errors import WheelfixError
from wheelfix.plan.lock import read_lock
from wheelfix.remote.packageindex import PackageIndex
from wheelfix.remote.settings import Connection, IndexSettings
from wheelfix.remote.transport import Patience, Transport
from wheelfix.repairs.installed import SCHEMA, JournalPlace, undo
from wheelfix.repairs.repair import replay

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STEPS = (
    "..",
    ".",
    "",
    "torch",
    "Torch",
    "torch/lib",
    "numpy",
    "numpy/core",
    INFO,
    INFO.upper(),
    "numpy-2.0.dist-info",
    "torch-2.0.1+cu117.data",
    "torch-2.0.1+cu117.data/scripts",
    "torch-2.0.1+cu117.data/data",
    "Lib",
    "Lib/site-packages",
    "Lib/site-packages/torch",
    "Lib/site-packages/torch/lib",
    "Lib/site-packages/numpy",
    "Scripts",
    "C:",
    "\\\\host\\share",
    "//host/share",
    "/",
    "\\",
    "link",
    "torch\\lib",
    "LIB/SITE-PACKAGES/TORCH",
)
NAMES = (
    LACKING,
    "c10.dll",
    "new.dll",
    "a.DLL",
    "evil.pth",
    "evil.py",
    "__init__.py",
    "_C.cp311-win_amd64.pyd",
    "RECORD",
    "record",
    "METADATA",
    "entry_points.txt",
    "python.exe",
    "python311.dll",
    "numpy.dll",
    "NUL.dll",
    "x.dll:y",
    "x.dll.",
    "x.dll ",
    "\u202elld.dll",
    "a\0.dll",
    "a\x1b.dll",
    "wheelfix-journal.json",
    "old.dll",
    "old.dll.wheelfix-dropped",
    "",
)
HASHES = ("", "0" * 64, "0" * 63, "x" * 64, hashlib.sha256(DLL).hexdigest(), hashlib.sha256(b"MZ").hexdigest())
ODD = (None, 0, -1, True, [], {}, "x", ["x"], 1 << 70)


def _path(dice: random.Random) -> str:
    steps = [dice.choice(STEPS) for _ in range(dice.choice((0, 1, 1, 1, 2)))]
    return "/".join([*steps, dice.choice(NAMES)])


# --------------------------------------------------------------------------------------------------------------- locks


def edited_lock(data: bytes) -> None:
    """A lock with edits: it is refused, or the wheel comes out with DLLs added, and nothing else happens."""
    dice, bench = random.Random(data), sound()
    document = json.loads(planned())
    plan = document["plans"][0]
    for _ in range(dice.choice((1, 1, 2, 3))):
        _edit_plan(dice, plan)
    if dice.random() < 0.1:
        plan[dice.choice(list(plan))] = dice.choice(ODD)
    path = scratch() / "edited.json"
    path.write_text(json.dumps(document))
    before = {file: file.read_bytes() for file in bench.folder.rglob("*") if file.is_file()}
    try:
        with contextlib.suppress(WheelfixError):
            for one in read_lock(path):
                if one.layout == "beside":  # the other one starts delvewheel, which takes seconds
                    made = replay(one, repair_options(bench), str(path)).output
                    if made is not None:
                        _only_dlls_are_new(bench.data, made, {drop.path for drop in one.drops})
        left = {
            file: file.read_bytes()
            for file in bench.folder.rglob("*")
            if file.is_file() and bench.out not in file.parents
        }
        if left != before:
            raise AssertionError("something else than the wheel was written")
    finally:
        shutil.rmtree(bench.out)
        bench.out.mkdir()


def _edit_plan(dice: random.Random, plan: dict[str, Any]) -> None:
    if not plan["additions"] or dice.random() < 0.2:
        plan["additions"].append(json.loads(json.dumps(_first_addition())))
    addition = dice.choice(plan["additions"])
    kind = dice.randrange(8)
    if kind < 3:
        addition["target"] = _path(dice)
        addition["name"] = addition["target"].rpartition("/")[2] if dice.random() < 0.8 else dice.choice(NAMES)
    elif kind == 3:
        addition[dice.choice(("sha256", "size", "mangle", "kind"))] = dice.choice((*HASHES, *ODD))
    elif kind == 4:
        source = addition["source"]
        source[dice.choice(("kind", "path", "member", "wheel_sha256"))] = dice.choice(
            ("own", "file", "wheel", "index", "\\\\host\\share\\x.dll", "//host/share/x", "torch/__init__.py", *HASHES)
        )
    elif kind == 5:
        plan["drops"].append(
            {"path": dice.choice((_path(dice), "torch/lib/c10.dll", f"{INFO}/METADATA")), "because": ""}
        )
    elif kind == 6:
        plan["wheel"][dice.choice(("sha256", "directory_sha256", "path", "name"))] = dice.choice((*HASHES, _path(dice)))
    else:
        plan["output"] = dice.choice((_path(dice), f"../{plan['output']}", plan["output"].replace("torch", "numpy")))


def _first_addition() -> dict[str, Any]:
    addition: dict[str, Any] = json.loads(planned())["plans"][0]["additions"][0]
    return addition


def _only_dlls_are_new(old: bytes, made: Path, dropped: set[str]) -> None:
    with zipfile.ZipFile(made) as new, zipfile.ZipFile(io.BytesIO(old)) as wheel:
        ours = {f"{INFO}/RECORD", f"{INFO}/sboms/wheelfix.cdx.json", f"{INFO}/WHEEL"}
        for name in set(new.namelist()) - ours:
            known = name in wheel.namelist() and new.read(name) == wheel.read(name)
            inside = name.lower().endswith(".dll") and name.startswith("torch/")
            if not known and not (inside and hashlib.sha256(new.read(name)).hexdigest() in _known_hashes()):
                raise AssertionError(f"{name!r} was added or changed")
        if missing := set(wheel.namelist()) - set(new.namelist()) - dropped:
            raise AssertionError(f"{missing} is missing")
        if lost := [name for name in wheel.namelist() if ".dist-info/" in name and name not in new.namelist()]:
            raise AssertionError(f"{lost} was dropped")


def _known_hashes() -> set[str]:
    with zipfile.ZipFile(io.BytesIO(sound().data)) as wheel:
        return {hashlib.sha256(data).hexdigest() for data in (DLL, *map(wheel.read, wheel.namelist()))}


# ------------------------------------------------------------------------------------------------------------ journals

OWN = ("torch/new.dll", "torch/lib/new.dll", "torch/old.dll.wheelfix-dropped")
"""What a repair of this package could have left: only these may go."""
FILES = (
    "torch/__init__.py", "torch/lib/c10.dll", "torch/mine.py", "numpy/numpy.dll", "numpy/core/new.dll", "numpy/new.dll",
    "../../python.exe", "../../python311.dll", "../../Scripts/new.dll", "new.dll", "../../../outside/new.dll", *OWN,
)  # fmt: skip
_NUMBERS = itertools.count()


def journal(data: bytes) -> None:
    """A journal of somebody else: only what a repair of this package could have added goes, and only with its hash."""
    dice = random.Random(data)
    top = scratch() / f"journal-{next(_NUMBERS)}"
    site = top / "env" / "Lib" / "site-packages"
    record = _lay_out_environment(site)
    before = {path: path.read_bytes() for path in top.rglob("*") if path.is_file()}
    os.environ["WHEELFIX_STATE_DIR"] = str(top / "state")
    place = JournalPlace(top / "env", site / INFO)
    document = _journal(dice, place, record)
    place.journal.parent.mkdir(parents=True)
    place.journal.write_text(json.dumps(document), encoding="utf-8")
    if dice.random() < 0.2:  # as a wheel would install it
        shutil.copy(place.journal, site / INFO / "wheelfix-journal.json")
        place.journal.unlink()
    try:
        with contextlib.suppress(WheelfixError):
            undo(top / "env", "torch")
        free = {site / name for name in (*OWN, "torch/old.dll")} | {site / INFO / "RECORD"}
        for path, content in before.items():
            if path not in free and (not path.is_file() or path.read_bytes() != content):
                raise AssertionError(f"{path.relative_to(top)} was removed or changed")
        made = {path for path in top.rglob("*") if path.is_file()} - set(before) - free
        if strange := [path for path in made if path.parent not in (place.journal.parent, site / INFO)]:
            raise AssertionError(f"{strange} was written")
    finally:
        shutil.rmtree(top)


def _lay_out_environment(site: Path) -> bytes:
    for name in FILES:
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(b"MZ")
    own = [name for name in FILES if name.startswith("torch/") and name not in OWN]
    for info, files in (
        (INFO, own),
        ("numpy-2.0.dist-info", ["numpy/numpy.dll", "numpy/core/new.dll", "numpy/new.dll"]),
    ):
        (site / info).mkdir()
        name, version = info.removesuffix(".dist-info").split("-")
        (site / info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (site / info / "RECORD").write_text("".join(f"{file},,\n" for file in (*files, f"{info}/RECORD")))
    with contextlib.suppress(OSError):
        (site / "torch" / "link").symlink_to(site.parents[2] / "outside")
    return (site / INFO / "RECORD").read_bytes()


def _journal(dice: random.Random, place: JournalPlace, record: bytes) -> dict[str, Any]:
    """A journal that fits in most respects, with paths of an attacker who knows every file and its hash."""
    names = [os.path.normpath(f"Lib/site-packages/{name}") for name in FILES]
    names += ["Lib/site-packages/torch/link/new.dll", "Lib/site-packages/torch/old.dll"]

    def files() -> list[Any]:
        chosen = [dice.choice((dice.choice(names), dice.choice(names), _path(dice))) for _ in range(dice.randrange(4))]
        return [{"path": name, "sha256": HASHES[-1] if dice.random() < 0.9 else dice.choice(HASHES)} for name in chosen]

    forged = record + dice.choice((b"", b"numpy/x.py,,\n", b"../../x,,\n", b"../../../outside/x,,\n", b"\xff", b'"'))
    old = dice.choice((record, record, forged, b""))
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "place": place.identity,
        "record": base64.b64encode(old).decode(),
        "after": hashlib.sha256(dice.choice((record, record, old))).hexdigest(),
        "added": files(),
        "dropped": files(),
    }
    if dice.random() < 0.2:
        document[dice.choice(list(document))] = dice.choice(ODD)
    return document


# ----------------------------------------------------------------------------------------------------------- redirects

HOSTS = (
    "a.example",
    "b.example",
    "127.0.0.1",
    "localhost",
    "trusted.example",
    "[::1]",
    "10.0.0.1",
    "localhost.example",
)
SCHEMES = ("http:", "https:", "http:", "https:", "HTTP:", "", "ftp:", "file:")
WHEEL = "demo-1.0-py3-none-any.whl"


def redirects(data: bytes) -> None:
    """A chain of redirects to a page: it counts as safe if every hop was, and https is never left."""
    dice = random.Random(data)
    visited: list[str] = []
    transport = _transport()
    adapter = _adapter(dice, visited)
    for prefix in [*transport._session.adapters]:
        transport._session.mount(prefix, adapter)
    start = f"{dice.choice(('http:', 'https:'))}//{dice.choice(HOSTS)}/simple"
    with contextlib.suppress(WheelfixError):
        for file in PackageIndex(transport, IndexSettings(start)).files("demo"):
            if bool(file.page) != any(map(_can_be_changed, visited)):
                raise AssertionError(f"{visited}: the page counts as {'changeable' if file.page else 'safe'}")
    schemes = [urlsplit(url).scheme for url in visited]
    if any(pair == ("https", "http") for pair in itertools.pairwise(schemes)):
        raise AssertionError(f"{visited}: https was left")


@functools.cache
def _transport() -> Transport:
    return Transport(patience=Patience(tries=1), connection=Connection(trusted_hosts=("trusted.example",)))


def _can_be_changed(url: str) -> bool:
    return url.startswith("http:") and urlsplit(url).hostname not in (
        "127.0.0.1",
        "localhost",
        "::1",
        "trusted.example",
    )


def _adapter(dice: random.Random, visited: list[str]) -> Any:
    """An adapter of requests that answers by itself: with redirects of every form, then with a page of either kind."""
    import requests
    from requests.adapters import BaseAdapter
    from urllib3 import HTTPResponse

    class Adapter(BaseAdapter):
        def send(self, request: Any, *_: Any, **__: Any) -> Any:
            visited.append(request.url)
            response = requests.Response()
            response.request, response.url = request, request.url
            body = b""
            if len(visited) <= 1 or dice.random() < 0.6:
                response.status_code = dice.choice((301, 302, 303, 307, 308))
                response.headers["Location"] = _location(dice)
            else:
                as_json = dice.random() < 0.5
                response.status_code = 200
                response.headers["Content-Type"] = "application/json" if as_json else "text/html"
                page = {"files": [{"filename": WHEEL, "url": WHEEL, "hashes": {"sha256": "0" * 64}}]}
                body = json.dumps(page).encode() if as_json else f'<a href="{WHEEL}#sha256={"0" * 64}">x</a>'.encode()
            response.raw = HTTPResponse(io.BytesIO(body), preload_content=False)
            return response

        def close(self) -> None:
            return None

    return Adapter()


def _location(dice: random.Random) -> str:
    if dice.random() < 0.2:
        return dice.choice(
            ("/other/", "other/", "?x", "../x", "http:", "https:", "\\\\a.example\\x", "http:/a.example/")
        )
    account = dice.choice(("", "", "me:s3cret@", "127.0.0.1@", "localhost:80@"))
    return f"{dice.choice(SCHEMES)}//{account}{dice.choice(HOSTS)}{dice.choice(('', ':8080'))}/simple/demo/"


TRUST: dict[str, Callable[[bytes], None]] = {"edited-lock": edited_lock, "journal": journal, "redirects": redirects}

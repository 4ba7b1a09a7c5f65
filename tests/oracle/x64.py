"""An x86_64 Wine, for real vendor DLLs: the host's own on amd64, Debian's amd64 packages under qemu on arm64.

Neither multiarch nor binfmt nor a chroot nor a display is needed. ``python -m tests.oracle.x64`` sets it up and tells
where it is; a second call finds it ready.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.wine import Unavailable, Wine, host_machine, locked, native_wine
from tests.support.tiers import cache_folder
from wheelfix.model import Machine

PACKAGES = ("wine64", "libwine", "libc6", "libgcc-s1", "libunwind8", "liblzma5", "libz-mingw-w64")
UNWANTED = ("./usr/share/doc", "./usr/share/man", "./usr/i686*", "*/i386-windows", "./usr/lib/gcc")
TOOLS = {"qemu-x86_64": "qemu-user", "patchelf": "patchelf", "apt-get": "apt", "dpkg-deb": "dpkg"}
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
ZLIB = "usr/x86_64-w64-mingw32/lib/zlib1.dll"
GENERATION = "1"
"""Goes up when the set-up changes, so that an older one is made anew."""


def x64_wine() -> Wine:
    """Return an x86_64 Wine, set up and started; :class:`Unavailable` where that is not possible."""
    if host_machine() is Machine.AMD64:
        return native_wine()
    place = _Place(cache_folder() / "wine-x64")
    place.folder.mkdir(parents=True, exist_ok=True)
    with locked(place.folder / "lock"):
        if not place.is_ready():
            place.make()
    wine = Wine(place.program, place.server, place.folder / "prefix", Machine.AMD64)
    wine.start()
    return wine


@dataclass(frozen=True, slots=True)
class _Place:
    """The folder in which it all is."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def program(self) -> Path:
        return self.root / "usr/lib/wine/wine64"

    @property
    def server(self) -> Path:
        return self.root / "usr/lib/wine/wineserver"

    @property
    def stamp(self) -> Path:
        return self.folder / "ready"

    def is_ready(self) -> bool:
        return self.stamp.exists() and self.stamp.read_text() == GENERATION and self.program.exists()

    def make(self) -> None:
        """Fetch the packages, unpack them and make the two programs run under qemu."""
        missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
        if missing:
            raise Unavailable(f"an x86_64 Wine on this host needs {', '.join(missing)} (Debian: apt-get install)")
        for old in ("root", "apt", "prefix"):
            shutil.rmtree(self.folder / old, ignore_errors=True)
        self.root.mkdir(parents=True)
        for package in self._fetch():
            self._unpack(package)
        shutil.rmtree(self.folder / "apt")
        self._gather_libraries()
        self._wrap("wine64", "export WINELOADERNOEXEC=1\n", f"-0 '{self.program}' ")
        (self.root / "usr/lib/wine/wineserver64").rename(self.server)
        self._wrap("wineserver", "", "")
        # user32 needs it from the very first start, which makes the prefix.
        system32 = self.folder / "prefix/drive_c/windows/system32"
        system32.mkdir(parents=True)
        for target in (self.root / LIBRARIES / "wine/x86_64-windows", system32):
            shutil.copy(self.root / ZLIB, target)
        self.stamp.write_text(GENERATION)

    def _fetch(self) -> list[Path]:
        """Download the amd64 packages with an apt configuration of our own, from where the host has its packages."""
        apt = self.folder / "apt"
        for name in ("etc/preferences.d", "state/lists/partial", "cache/archives/partial", "debs"):
            (apt / name).mkdir(parents=True)
        (apt / "status").touch()
        site, release = _source()
        (apt / "etc/sources.list").write_text(f"deb [signed-by={KEYS} arch=amd64] {site} {release} main\n")
        settings = {
            "Dir::Etc": apt / "etc",
            "Dir::Etc::sourcelist": apt / "etc/sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::parts": "/etc/apt/apt.conf.d",
            "Dir::State": apt / "state",
            "Dir::State::status": apt / "status",
            "Dir::Cache": apt / "cache",
            "APT::Architecture": "amd64",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
        }
        lines = [f'{key} "{value}";' for key, value in settings.items()]
        (apt / "apt.conf").write_text("\n".join([*lines, 'APT::Architectures {"amd64";};', ""]))
        environment = {"APT_CONFIG": str(apt / "apt.conf"), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        _run(["apt-get", "-qq", "update"], environment)
        _run(["apt-get", "-qq", "download", *PACKAGES], environment, apt / "debs")
        return sorted((apt / "debs").glob("*.deb"))

    def _unpack(self, package: Path) -> None:
        unwanted = [f"--exclude={pattern}" for pattern in UNWANTED]
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as content:
            subprocess.run(["tar", "-x", "-C", self.root, *unwanted], stdin=content.stdout, check=True)

    def _gather_libraries(self) -> None:
        """Put the libraries of ``/lib`` beside those of ``/usr/lib``, where a merged system has them."""
        old, new = self.root / "lib/x86_64-linux-gnu", self.root / LIBRARIES
        if old.is_dir() and not (self.root / "lib").is_symlink():
            shutil.copytree(old, new, symlinks=True, dirs_exist_ok=True)

    def _wrap(self, name: str, before: str, options: str) -> None:
        """Replace a program by a script that runs it under qemu, with its libraries told to it for good."""
        script = self.root / "usr/lib/wine" / name
        binary = script.with_name(f"{name}.bin")
        script.rename(binary)
        libraries = self.root / LIBRARIES
        loader = libraries / "ld-linux-x86-64.so.2"
        _run(["patchelf", "--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries, binary])
        script.write_text(f"#!/bin/sh\n{before}exec qemu-x86_64 {options}'{binary}' \"$@\"\n")
        script.chmod(0o755)


def _source() -> tuple[str, str]:
    """Return site and release of the host's first package source that is no update channel."""
    listing = _run(["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)", "Created-By: Packages"])
    for line in listing.splitlines():
        if "security" not in line and "updates" not in line and len(line.split()) == 2:
            site, release = line.split()
            return site, release
    raise Unavailable("apt knows no package source here")


def _run(command: list[str | Path], environment: dict[str, str] | None = None, folder: Path | None = None) -> str:
    done = subprocess.run(
        command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise Unavailable(f"{command[0]} failed while an x86_64 Wine was set up: {last}")
    return done.stdout


def main() -> int:
    """Set it up and say where it is."""
    try:
        wine = x64_wine()
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 1
    print(f"program {wine.program}\nserver  {wine.server}\nprefix  {wine.prefix}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""An x86_64 Wine for hosts with another processor, made of Debian's amd64 packages and run by qemu-user.

Neither multiarch nor binfmt nor a chroot nor a display is needed. It takes a few minutes and 1.4 GB, once.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from wheelfix.base.programs import find_program, run_program
from wheelfix.base.values import frozen
from wheelfix.errors import EnvironmentFailure
from wheelfix.trial.pythons import cache_folder, locked

PACKAGES = ("wine64", "libwine", "libc6", "libgcc-s1", "libunwind8", "liblzma5", "libz-mingw-w64")
UNWANTED = ("./usr/share/doc", "./usr/share/man", "./usr/i686*", "*/i386-windows", "./usr/lib/gcc")
TOOLS = {"qemu-x86_64": "qemu-user", "patchelf": "patchelf", "apt-get": "apt", "dpkg-deb": "dpkg", "tar": "tar"}
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
ZLIB = "usr/x86_64-w64-mingw32/lib/zlib1.dll"
GENERATION = "1"
"""Goes up when the set-up changes, so that an older one is replaced."""
_LONG = 900.0


@frozen
class EmulatedWine:
    """The folder in which it all is."""

    folder: Path

    @property
    def root(self) -> Path:
        """Where the packages are unpacked."""
        return self.folder / "root"

    @property
    def program(self) -> Path:
        """The script that runs Wine's loader, in the folder that has all that it needs."""
        return self.root / "wine64"

    @property
    def server(self) -> Path:
        """The script that runs Wine's server."""
        return self.root / "wineserver"

    @property
    def _inner(self) -> Path:
        """The scripts that run Wine's own programs under qemu."""
        return self.root / "usr/lib/wine"

    @property
    def _stamp(self) -> Path:
        return self.folder / "ready"

    def is_ready(self) -> bool:
        """Whether it has been set up."""
        return self._stamp.exists() and self._stamp.read_text() == GENERATION and (self._inner / "wine64").exists()

    def check_tools(self) -> None:
        """EnvironmentFailure if a program is missing that setting it up needs."""
        tools = {name: find_program(name) for name in TOOLS}
        missing = sorted({TOOLS[name] for name, path in tools.items() if path is None})
        if missing:
            raise EnvironmentFailure(
                "there is no x86_64 Wine for this machine",
                because=f"to set one up needs {', '.join(missing)}, on Debian or Ubuntu",
                hint=f"apt-get install {' '.join(missing)}; or name a Wine that runs x86_64 programs with --wine",
            )

    def make(self) -> None:
        """Fetch the packages, unpack them and make the two programs run under qemu."""
        self.check_tools()
        for old in ("root", "apt", "prefix"):
            shutil.rmtree(self.folder / old, ignore_errors=True)
        self.root.mkdir(parents=True)
        for package in self._fetch():
            self._unpack(package)
        shutil.rmtree(self.folder / "apt")
        self._gather_libraries()
        self._wrap("wine64", "export WINELOADERNOEXEC=1\n", f"-0 '{self._inner / 'wine64'}' ")
        (self._inner / "wineserver64").rename(self._inner / "wineserver")
        self._wrap("wineserver", "", "")
        shutil.copy(self.root / ZLIB, self.root / LIBRARIES / "wine/x86_64-windows")
        self._stamp.write_text(GENERATION)

    def write_scripts(self) -> None:
        """Write the two scripts that ``--wine`` finds; user32 needs zlib from the very first start of a prefix."""
        system = '"$WINEPREFIX/drive_c/windows/system32"'
        seed = f"[ -e {system}/zlib1.dll ] || {{ mkdir -p {system} && cp '{self.root / ZLIB}' {system}; }}\n"
        for script, before in ((self.program, seed), (self.server, "")):
            text = f"#!/bin/sh\n{before}exec '{self._inner / script.name}' \"$@\"\n"
            if not script.exists() or script.read_text() != text:
                draft = script.with_suffix(".new")
                draft.write_text(text)
                draft.chmod(0o755)
                draft.replace(script)

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
        # apt-get download writes into its working folder, which is a new and empty one for every program.
        script = f'cd "$1" && shift && exec "$0" -qq download {" ".join(PACKAGES)}'
        _run(["/bin/sh", "-c", script, _program("apt-get"), str(apt / "debs")], environment)
        return sorted((apt / "debs").glob("*.deb"))

    def _unpack(self, package: Path) -> None:
        script = 'package=$1; root=$2; shift 2; "$0" --fsys-tarfile "$package" | tar -x -C "$root" "$@"'
        unwanted = [f"--exclude={pattern}" for pattern in UNWANTED]
        _run(["/bin/sh", "-c", script, _program("dpkg-deb"), str(package), str(self.root), *unwanted])

    def _gather_libraries(self) -> None:
        """Put the libraries of ``/lib`` beside those of ``/usr/lib``, where a merged system has them."""
        old, new = self.root / "lib/x86_64-linux-gnu", self.root / LIBRARIES
        if old.is_dir() and not (self.root / "lib").is_symlink():
            shutil.copytree(old, new, symlinks=True, dirs_exist_ok=True)

    def _wrap(self, name: str, before: str, options: str) -> None:
        """Replace a program by a script that runs it under qemu, with the paths of its libraries written into it."""
        script = self._inner / name
        binary = script.with_name(f"{name}.bin")
        script.rename(binary)
        libraries = self.root / LIBRARIES
        loader = libraries / "ld-linux-x86-64.so.2"
        paths = ["--set-interpreter", str(loader), "--force-rpath", "--set-rpath", str(libraries)]
        _run(["patchelf", *paths, str(binary)])
        script.write_text(f"#!/bin/sh\n{before}exec qemu-x86_64 {options}'{binary}' \"$@\"\n")
        script.chmod(0o755)


def emulated_wine() -> EmulatedWine:
    """Return an x86_64 Wine for this host, set up if that has not been done; EnvironmentFailure if it cannot be."""
    place = EmulatedWine(cache_folder() / "wine-x64")
    with locked(place.folder / "lock"):
        if not place.is_ready():
            place.make()
        place.write_scripts()
    return place


def _program(name: str) -> str:
    found = find_program(name)
    if found is None:
        raise EnvironmentFailure(f"there is no {name} here", hint=f"apt-get install {TOOLS.get(name, name)}")
    return found


def _source() -> tuple[str, str]:
    """Return site and release of the host's first package source that is not an update channel."""
    listing = _run(["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)", "Created-By: Packages"])
    for line in listing.splitlines():
        if "security" not in line and "updates" not in line and len(line.split()) == 2:
            site, release = line.split()
            return site, release
    raise EnvironmentFailure("an x86_64 Wine cannot be set up", because="apt has no package source here")


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    words = [command[0] if Path(command[0]).is_absolute() else _program(command[0]), *command[1:]]
    done = run_program(words, timeout=_LONG, environ=environment, max_output=16 << 20)
    if done.code:
        last = (done.err.strip() or "no message").splitlines()[-1]
        raise EnvironmentFailure("an x86_64 Wine cannot be set up", because=f"{command[0]} failed: {last}")
    return done.out

"""What the user may choose, as values that the commands take; the command line and the configuration fill them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from wheelfix.base.values import field, frozen
from wheelfix.errors import UsageError, shown_url


def all_cores() -> int:
    """How many threads work side by side by default."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Lenient:
    """Options that take one text or path where several may be given, and a text for a path, as callers write them."""

    def __post_init__(self) -> None:
        """Make tuples and paths of what was given; TypeError, by the name of the field, for what cannot be meant."""
        for name, kind in type(self).__annotations__.items():
            value = getattr(self, name)
            if value is not None and kind.startswith(("tuple[", "Path")):
                object.__setattr__(self, name, _as_annotated(f"{type(self).__name__}.{name}", kind, value))


def _as_annotated(name: str, kind: str, value: object) -> object:
    several = kind.startswith("tuple[")
    items = list(value) if several and isinstance(value, Iterable) and not isinstance(value, str | Path) else [value]
    if not all(isinstance(item, str | Path) for item in items):
        raise TypeError(f"{name} takes {'texts or paths' if several else 'a path'}, not {value!r}")
    made = tuple(Path(item) if "Path" in kind else str(item) for item in items if isinstance(item, str | Path))
    return made if several else made[0]


def shell_line(words: Iterable[str], *, windows: bool = sys.platform == "win32") -> str:
    """Return words as a command line that can be pasted: into PowerShell and cmd on Windows, else into bash or zsh.

    Double quotation marks serve all of them, unless there is a sign in a word that some shell reads within them.
    """
    return " ".join(_shell_word(word, windows) for word in words)


def _shell_word(word: str, windows: bool) -> str:
    plain, special = (r"[\w+=:./\\-]+", '["$`\u2018-\u201e]') if windows else (r"[\w+=:./%-]+", r'["$`\\!]')
    if re.fullmatch(plain, word, re.ASCII):
        return word
    if not re.search(special, word):
        return f'"{word}"'
    if windows:  # PowerShell, which takes typographic quotation marks for quotation marks, too
        return "'" + re.sub("['\u2018-\u201b]", r"\g<0>\g<0>", word) + "'"
    return "'" + word.replace("'", "'\"'\"'") + "'"


@frozen
class Limits:
    """How much an archive may ask of us before we refuse it."""

    max_members: int = 100_000
    """The largest wheels have some ten thousand; a hundred thousand still fit into 250 MB of memory."""
    max_directory: int = 128 << 20
    """Bytes of the central directory."""
    max_member_size: int = 32 << 30
    max_total: int = 256 << 30
    """Bytes of all members unpacked."""
    max_ratio: float = 200.0
    """Unpacked to packed size; deflate itself cannot exceed 1032."""
    ratio_from: int = 1 << 30
    """Below this size no ratio is suspicious: it is unpacked in seconds."""
    max_path: int = 0
    """Characters of a path below site-packages that are too many (WF133); 0: what usual places leave."""


PLATFORMS = ("win_amd64", "win32", "win_arm64")
PYTHONS = tuple((3, minor) for minor in range(16, 6, -1))
"""Versions of Python for which a wheel is looked for, the newest first."""


@frozen
class InstallTarget:
    """Where a wheel is to be installed."""

    platform: str = "win_amd64"
    python: tuple[int, int] | None = None
    """None: any, that of this Python first, then the newest."""

    @property
    def pythons(self) -> tuple[tuple[int, int], ...]:
        """The versions of Python that count, the best first."""
        if self.python is not None:
            return (self.python,)
        own = sys.version_info[:2]
        return ((own[0], own[1]), *(python for python in PYTHONS if python != own))

    def __str__(self) -> str:
        return f"{self.platform} and Python {'.'.join(map(str, self.python))}" if self.python else self.platform


@frozen
class RemoteOptions(Lenient):
    """How to reach wheels that are not on this disk."""

    index_url: str = ""
    """The index to ask; empty: as pip or uv is configured, else PyPI."""
    extra_index_urls: tuple[str, ...] = ()
    offline: bool = False
    """Refuse everything that needs a server."""
    fetch: bool = False
    """Take DLLs that no root has from the index."""
    trusted: tuple[str, ...] = ()
    """Distributions whose DLLs are fetched, besides those of vendors that sign what they publish."""
    deps: bool = False
    """Also read the distributions that a wheel requires from the index."""
    platform: str = "win_amd64"
    python_version: str = ""
    """Such as ``3.11``; empty: the newest that there is a wheel for."""
    cache_dir: Path | None = None
    """Where to keep what was fetched; None: the folder that the system has for caches."""
    cache: bool = True
    """Keep what was fetched for the next run."""

    @property
    def target(self) -> InstallTarget:
        """Where wheels are to be installed; UsageError for a platform or version that does not exist."""
        if self.platform not in PLATFORMS:
            raise UsageError(f"--platform {self.platform}", because=f"it is not one of {', '.join(PLATFORMS)}")
        if not self.python_version:
            return InstallTarget(self.platform)
        found = re.fullmatch(r"(?:cp|py)?(3)\.?(\d{1,2})(?:\.\d+)?", self.python_version.strip())
        if found is None:
            raise UsageError(
                f"--python-version {self.python_version}",
                because="it is not a version of Python 3",
                hint="write it as 3.11",
            )
        return InstallTarget(self.platform, (int(found[1]), int(found[2])))


@frozen
class RootOptions(Lenient):
    """Where DLLs may come from, and whose signatures on them count."""

    roots: tuple[Path, ...] = ()
    cuda: tuple[Path, ...] = ()
    cudnn: tuple[Path, ...] = ()
    oneapi: tuple[Path, ...] = ()
    conda: tuple[Path, ...] = ()
    discover: bool = True
    """Also look where vendors install by default and where environment variables point."""
    search_path: bool = False
    """Also search the folders on PATH."""
    trusted_roots: Path | None = None
    """A file of PEM certificates that are trusted as roots of signatures, besides Microsoft's list."""
    limits: Limits = field(default_factory=Limits)
    """How much may be unpacked from a wheel or conda package that is a root."""

    @property
    def named(self) -> tuple[Path, ...]:
        """Everything that the user named, of whatever kind."""
        return (*self.roots, *self.cuda, *self.cudnn, *self.oneapi, *self.conda)


@frozen
class ScanOptions(Lenient):
    """How to scan a wheel."""

    assume: tuple[str, ...] = ()
    no_assume: tuple[str, ...] = ()
    bare: bool = False
    """Whether the target is known to have no toolkit of a vendor, as under Wine."""
    targets: tuple[str, ...] = ()
    """Kinds of Windows to check for: names as ``windows-n``, ``all``, or paths of lists, see docs/howto/targets.md."""
    python: Path | None = None
    """An environment to resolve against."""
    together: bool = False
    """The wheels that are scanned are installed in one place, and provide DLLs for each other."""
    beside: tuple[Path, ...] = ()
    """Wheels, folders of wheels and environments that are installed beside the subject; they are not reported on."""
    lockfile: Path | None = None
    """``pylock.toml``, ``uv.lock`` or ``requirements.txt``: what else is installed, with the wheels in ``beside``."""
    lock_extras: tuple[str, ...] = ()
    """Extras of the project in ``lockfile`` that are installed."""
    lock_groups: tuple[str, ...] | None = None
    """Dependency groups that are installed; None for those that an installer takes by default."""
    import_order: tuple[str, ...] = ()
    """In a set: import these distributions or modules in this order."""
    packages: tuple[str, ...] = ()
    """For environments: only these distributions."""
    select: tuple[str, ...] = ()
    """Codes or prefixes of codes to report; empty means all."""
    ignore: tuple[str, ...] = ()
    allow_missing: tuple[str, ...] = ()
    """Globs of DLL names that may be missing: their findings are notes."""
    verify: bool = False
    """Check RECORD's hashes, which takes every byte."""
    jobs: int = field(default_factory=all_cores)
    gpu: str | None = None
    """A card or architecture to look for code for."""
    archs: bool = False
    """Read which GPU code the DLLs hold."""
    driver: str = ""
    """A version of NVIDIA's driver for Windows, as ``551.86``: does it run the wheel's CUDA?"""
    versions: bool = False
    """Read version resources of every image, not only where a rule asks."""
    signatures: bool = False
    """Check who signed the images, and report what is wrong with signatures (WF605 to WF608)."""
    signers: bool = False
    """Read who signed the images without reporting anything about it."""
    roots: RootOptions = field(default_factory=RootOptions)
    limits: Limits = field(default_factory=Limits)
    remote: RemoteOptions = field(default_factory=RemoteOptions)
    """How to reach wheels that are not on this disk."""


def repeated(options: ScanOptions) -> tuple[str, ...]:
    """Return what the user said about the target and about roots, as words that a repair has to hear again."""
    roots, remote = options.roots, options.remote
    given = {
        "--assume": options.assume,
        "--no-assume": options.no_assume,
        "--python": filter(None, [options.python]),
        "--root": roots.named,
        "--trusted-roots": filter(None, [roots.trusted_roots]),
        "--index-url": filter(None, [shown_url(remote.index_url)]),
        "--extra-index-url": map(shown_url, remote.extra_index_urls),
    }
    words = [text for option, values in given.items() for value in values for text in (option, str(value))]
    words += [] if roots.discover else ["--no-discover"]
    return (*words, "--search-path") if roots.search_path else tuple(words)


@frozen
class Renaming(Lenient):
    """What delvewheel is asked for where it puts DLLs into ``<distribution>.libs``, named as its options."""

    namespace_pkgs: tuple[str, ...] = ()
    """Packages, with dots, whose ``__init__.py`` must stay absent or as it is."""
    no_mangle: tuple[str, ...] = ()
    """Globs of DLL names that are not changed."""
    no_mangle_all: bool = False
    custom_patch: bool = False
    """The code that finds the DLLs goes where the comment ``# delvewheel: patch`` is, not to ``__init__.py``."""
    lib_sdir: str = ".libs"
    """What follows the name of the distribution in the name of the folder."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """What differs from the default, as delvewheel is told so."""
        given = {
            f"--namespace-pkg={os.pathsep.join(self.namespace_pkgs)}": self.namespace_pkgs,
            f"--no-mangle={os.pathsep.join(self.no_mangle)}": self.no_mangle,
            "--no-mangle-all": self.no_mangle_all,
            "--custom-patch": self.custom_patch,
            f"--lib-sdir={self.lib_sdir}": self.lib_sdir != ".libs",
        }
        return tuple(argument for argument, is_given in given.items() if is_given)

    @property
    def asked(self) -> tuple[str, ...]:
        """The options among these."""
        return tuple(argument.partition("=")[0] for argument in self.arguments)

    @property
    def faults(self) -> tuple[str, ...]:
        """Why delvewheel would refuse or misread these."""
        found = [
            f"--namespace-pkg {name!r} is not the name of a package"
            for name in self.namespace_pkgs
            if not re.fullmatch(r"[^.\s]+(\.[^.\s]+)*", name) or re.search(_NOT_IN_NAMES, name)
        ]
        found += [
            f"--no-mangle {name!r} is not a pattern for DLL names"
            for name in self.no_mangle
            if not name.strip() or name != name.strip() or re.search(_NOT_IN_NAMES, name.replace("*", ""))
        ]
        ending = (".dist-info", ".data", " ", ".")
        if not self.lib_sdir or re.search(_NOT_IN_NAMES, self.lib_sdir) or self.lib_sdir.endswith(ending):
            found.append(f"--lib-sdir {self.lib_sdir!r} cannot be the end of a folder's name")
        if self.custom_patch and self.namespace_pkgs:
            found.append("--custom-patch and --namespace-pkg contradict each other: both say where the code goes")
        return tuple(found)


_NOT_IN_NAMES = r'[<>:;"/\\|?*\x00-\x1f]'
"""What Windows does not allow in names, and what separates delvewheel's arguments."""


@frozen
class RepairOptions(Lenient):
    """How to repair a wheel."""

    wheel_dir: Path | None = None
    """Where the repaired wheel goes; None means in place."""
    include: tuple[str, ...] = ()
    """DLLs to vendor although nothing is known to need them."""
    exclude: tuple[str, ...] = ()
    """Globs of DLL names never to vendor."""
    drop: tuple[str, ...] = ()
    """Globs of members to remove."""
    drop_test_artifacts: bool = False
    clean: bool = False
    """Move, replace or remove DLLs that were put in the wrong place or cannot be loaded there."""
    companions: str = "required"
    """``required``, ``all`` or ``none``."""
    via: str = "vendor"
    """How the wheel gets DLLs of NVIDIA and Intel: ``vendor``, ``wheels`` or ``toolkit``."""
    with_vcredist: bool = False
    dest: str | None = None
    """Folder in the wheel for new DLLs, instead of beside the files that need them."""
    layout: str = "auto"
    """``auto``, ``beside`` or ``libs``."""
    renaming: Renaming = field(default_factory=Renaming)
    """What delvewheel is asked for in the layout ``libs``."""
    allow_missing: tuple[str, ...] = ()
    accept_missing: tuple[str, ...] = ()
    """Globs of files that RECORD lists and that the wheel may do without: their rows are removed."""
    accept_unsure: bool = False
    """Write the wheel even if it is not known whether it loads."""
    build_tag: str | None = None
    compression: str = "auto"
    """``0`` to ``9``, ``store``, or ``auto`` for what is best with the compressor."""
    compressor: str | None = None
    recompress: bool = False
    """Compress the members that are stored without compression."""
    trust_record: bool = False
    """Believe RECORD's hashes of unchanged members instead of checking every byte."""
    sbom: bool = True
    require_signed: bool = False
    """Take only DLLs whose signature is trusted."""
    seal: bool = False
    """Put the digest of the whole wheel into the plan, so that a lock holds for no other."""
    scan: ScanOptions = field(default_factory=ScanOptions)


@frozen
class SignOptions(Lenient):
    """How to sign the PE files of a wheel."""

    command: str
    """The command that signs, with ``{file}`` or ``{files}``; it is started without a shell."""
    output_dir: Path | None = None
    """Where the signed wheel goes; None means that it replaces the wheel."""
    include: tuple[str, ...] = ()
    """Globs of paths or names in the wheel; empty means every PE file."""
    exclude: tuple[str, ...] = ()
    """Globs of paths or names in the wheel that are left as they are."""
    resign: bool = False
    """Also sign what has a valid signature already, which replaces that signature."""
    require_trusted: bool = False
    """Refuse a signature that does not lead to a trusted root."""
    trusted_roots: Path | None = None
    """A file of PEM certificates that are trusted as roots of signatures, besides Microsoft's list."""
    timeout: float = 600.0
    """Seconds that one run of the command may take."""
    jobs: int = field(default_factory=all_cores)
    limits: Limits = field(default_factory=Limits)

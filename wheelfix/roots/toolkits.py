"""Vendors' toolkits: where a machine keeps CUDA, cuDNN, NvToolsExt, oneAPI and the Visual C++ runtime, and how.

A :class:`Vendor` says which places of a machine to look at, and which root a folder is. A further vendor is one more
of them, its kind in ``wheelfix/roots/root.py``, and its place in ``VENDORS`` in ``wheelfix/roots/gather.py``.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.record import MAX_SIZE, Record
from wheelfix.base.inputfiles import read_file
from wheelfix.base.parsing import MAX_JSON, dotted_numbers, parse_json, read_json
from wheelfix.base.values import frozen
from wheelfix.errors import InputError
from wheelfix.loader.profile import InstalledFolder
from wheelfix.model import dll_key, fold
from wheelfix.roots import root as tree
from wheelfix.roots.root import Place, Root, RootFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wheelfix.roots.host import Host


@frozen
class Vendor:
    """A kind of root: where it may be on a machine, and how a folder of the kind is recognised."""

    kind: str
    """One of LABELS in ``roots/root.py``."""
    expected: str
    """What a folder of this kind is, for a user who named another."""
    recognise: Callable[[Path], Root | None]
    """Returns the root that a folder is, or None when it is not of this kind."""
    variables: tuple[str, ...] = ()
    """Environment variables that name such a folder."""
    more: Callable[[Host], Iterable[Place]] = lambda _host: ()
    """Yields the places that no variable and no default folder names."""
    default: str = ""
    """The folder below Program Files."""
    versions: str = ""
    """What the folders of versions in the default folder are called, where it has some."""

    def places(self, host: Host) -> Iterator[Place]:
        """Yield the paths where a machine may have such a root."""
        for name in self.variables:
            if value := host.variable(name):
                yield Place(Path(value), f"environment variable {name}")
        yield from self.more(host)
        usual = [("default path", folder) for folder in self.defaults(host)]
        for learned, folder in (*usual, *(("another drive", folder) for folder in self._on_other_drives(host))):
            found = tree.newest_first(tree.subfolders(folder, self.versions)) if self.versions else (folder,)
            yield from (Place(path, learned, promised=False) for path in found)

    def _on_other_drives(self, host: Host) -> Iterator[Path]:
        """Yield where people put what belongs below Program Files if that is too full."""
        names = (f"Program Files/{self.default}", self.default, self.default.rpartition("/")[2]) if self.default else ()
        for drive in host.drives:
            yield from tree.located(drive, *names)

    def defaults(self, host: Host, below: str = "") -> Iterator[Path]:
        """Yield the default folders that there are, or a folder below them."""
        for program_files in host.program_files if self.default else ():
            yield from tree.located(program_files, self.default + below)


# ---------------------------------------------------------------------------------------- CUDA, 10.2 to 13

_CUDA_FOLDERS = (
    "bin/x64",
    "bin/arm64",
    "bin",
    "extras/CUPTI/lib/x64",
    "extras/CUPTI/lib/arm64",
    "extras/CUPTI/lib64",
    "nvvm/bin/x64",
    "nvvm/bin",
    "lib/x64",
    "lib",
)
"""Where a toolkit keeps DLLs, newest layout first; only those that do hold some count.

DLLs are in ``bin`` up to CUDA 12 and in ``bin\\x64`` from 13; CUPTI in ``extras\\CUPTI\\lib64``, later in
``extras\\CUPTI\\lib\\x64`` or beside the others; old redistributable archives have them in ``lib``.
"""
CUDA_REGISTRY = r"HKLM\SOFTWARE\NVIDIA Corporation\GPU Computing Toolkit\CUDA"


def _more_cuda(host: Host) -> Iterator[Place]:
    for name in sorted(host.env):
        if name.upper().startswith("CUDA_PATH_V") and (value := host.variable(name)):
            yield Place(Path(value), f"environment variable {name.upper()}")
    versions = host.registry(CUDA_REGISTRY)
    for version in versions.subkeys if versions is not None else ():
        key = host.registry(f"{CUDA_REGISTRY}\\{version}")
        if key is not None and (value := key.values.get("InstallDir", "")):
            yield Place(Path(value), "registry")
    yield from _of_scoop(host, "cuda")


def _of_scoop(host: Host, *names: str) -> Iterator[Place]:
    """Yield the versions of an application that scoop has installed."""
    for base in host.scoop:
        for name in names:
            yield from (Place(found, "scoop", promised=False) for found, _ in tree.found_by(base, f"apps/{name}/<.*>"))


def _recognise_cuda(folder: Path) -> Root | None:
    stated, notes = _stated_cuda(folder)
    if not stated and not _looks_like_cuda(folder):
        return None
    version = stated or _cuda_from_names(folder)
    release = ".".join(version.split(".")[:2])
    found = [*tree.folders_with_dlls(folder, _CUDA_FOLDERS)]
    if not found:
        return None
    copied = sorted(tree.relative(path, folder) for path in found if tree.dll_names(path, _CUDNN_DLL))
    notes += [f"cuDNN was copied into {path}" for path in dict.fromkeys(copied)]
    folders = tuple(RootFolder(tree.relative(path, folder), version=version, cuda=release) for path in found)
    return Root("cuda", folder, version, folders=folders, notes=tuple(notes))


def _stated_cuda(folder: Path) -> tuple[str, list[str]]:
    """Return what version.json or version.txt says, and notes on what could not be read there."""
    if (path := tree.locate(folder, "version.json")) is not None:
        try:
            return toolkit_release(str(read_json(path)["cuda"]["version"])), []
        except (OSError, ValueError, KeyError, TypeError):
            return "", ["version.json cannot be read; the version was taken from names"]
    found = re.search(r"CUDA Version (\d+(?:\.\d+)+)", _text(tree.locate(folder, "version.txt")))
    return (toolkit_release(found[1]) if found else ""), []


def _text(path: Path | None) -> str:
    """Return the text of a small file; empty when it is not there or cannot be read."""
    try:
        return read_file(path, 1 << 20).decode("utf-8", "replace") if path is not None else ""
    except OSError:
        return ""


def toolkit_release(text: str) -> str:
    """Return the release in a version as NVIDIA writes it.

    ``12.4.1`` is one; in ``11.8.20220929`` and ``10.2.89`` the third number is a date or a build.
    """
    parts = dotted_numbers(text)
    kept = parts[:3] if len(parts) > 2 and parts[2] < 10 else parts[:2]
    return ".".join(map(str, kept))


def _looks_like_cuda(folder: Path) -> bool:
    found = tree.located(folder, "bin/x64", "bin/arm64", "bin", "lib/x64", "lib")
    return any(tree.dll_names(path, _CUDART_DLL) or tree.locate(path, "nvcc.exe") is not None for path in found)


def _cuda_from_names(folder: Path) -> str:
    """Return the release that the folder's own name shows, or by nvrtc-builtins, which is named for the minor."""
    if re.fullmatch(r"v\d+\.\d+", folder.name.lower()):
        return folder.name[1:]
    for found in tree.folders_with_dlls(folder, _CUDA_FOLDERS):
        for name in tree.dll_names(found, r"nvrtc-builtins64_\d{3}\.dll"):
            return f"{name[-7:-5]}.{name[-5]}"
    return ""


_CUDART_DLL = r"cudart64_\d+\.dll"
CUDA = Vendor(
    "cuda",
    "a CUDA toolkit: a folder with version.json, or with cudart64_*.dll or nvcc.exe in bin or bin\\x64",
    _recognise_cuda,
    ("CUDA_PATH", "CUDA_HOME"),
    _more_cuda,
    "NVIDIA GPU Computing Toolkit/CUDA",
    r"v\d+(\.\d+)*",
)

# ------------------------------------------------------------------------------------------ cuDNN 8 and 9
# Archives have ``bin`` (from 9.18 ``bin\x64``); the installer of 8 has ``v8.x\bin``; that of 9 has one folder per CUDA
# release, ``v9.4\bin\12.6``, lately with the machine below it, ``v9.24\bin\12.9\x64``.

_CUDNN_DLL = r"cudnn\w*64_\d+\.dll"
_RELEASE = r"<\d+(\.\d+)?>"
_CUDNN_FOLDERS = (
    *(f"bin/{_RELEASE}/x64", f"bin/{_RELEASE}/arm64", f"bin/{_RELEASE}"),
    *("bin/x64", "bin/arm64", "bin", "lib/x64"),
)
NAMED_VERSIONS = (
    r"x64-v(\d+(?:\.\d+)+)",
    r"(?:x86_64|arm64)-(\d+(?:\.\d+)+)",
    r"^v(\d+(?:\.\d+)*)$",
    r"cudnn-v?(\d+(?:\.\d+)+)",
)
"""``cudnn-11.4-windows-x64-v8.2.4.15`` names CUDA first, so the places of the version are tried in this order."""


def _recognise_cudnn(folder: Path) -> Root | None:
    """Return the cuDNN that a folder is, or None; a CUDA toolkit with cuDNN copied into it is not one."""
    found = [(path, cuda) for path, cuda in tree.found_by(folder, *_CUDNN_FOLDERS) if tree.dll_names(path, _CUDNN_DLL)]
    if not found or any(tree.dll_names(path, _CUDART_DLL) for path, _ in found):
        return None
    version, name = _cudnn_version(folder), folder.name.lower()
    # ``…-8.9.7.29_cuda11-archive``, ``cudnn-11.4-windows-x64-…``
    named = re.search(r"cuda(\d+(?:\.\d+)?)", name) or re.match(r"cudnn-(\d+\.\d+)-windows", name)
    folders = tuple(
        RootFolder(tree.relative(path, folder), version=version, cuda=cuda or (named[1] if named else ""))
        for path, cuda in found
    )
    return Root("cudnn", folder, version, folders=folders)


def _cudnn_version(folder: Path) -> str:
    """Return the release, from the header (which has all three numbers), else from the folder's name."""
    for place, _ in tree.found_by(folder, "include", f"include/{_RELEASE}"):
        text = _text(tree.locate(place, "cudnn_version.h"))
        names = ("MAJOR", "MINOR", "PATCHLEVEL")
        parts = [part[1] for name in names if (part := re.search(rf"#define\s+CUDNN_{name}\s+(\d+)", text))]
        if len(parts) == 3:
            return ".".join(parts)
    found = (re.search(pattern, folder.name.lower()) for pattern in NAMED_VERSIONS)
    return next((version[1] for version in found if version), "")


CUDNN = Vendor(
    "cudnn",
    "cuDNN: a folder with cudnn64_*.dll in bin, bin\\x64, bin\\<CUDA version> or bin\\<CUDA version>\\x64",
    _recognise_cudnn,
    ("CUDNN_PATH", "CUDNN_ROOT", "CUDNN_ROOT_DIR", "CUDNN_HOME"),
    default="NVIDIA/CUDNN",
    versions=r"v\d+(\.\d+)*",
)

# -------------------------------------------------- NvToolsExt, which CUDA up to 12.8 installs in a folder of its own


def _recognise_nvtoolsext(folder: Path) -> Root | None:
    found = tree.locate_folder(folder, "bin/x64")
    if found is None or not tree.dll_names(found, r"nvtoolsext64_\d+\.dll"):
        return None
    return Root("nvtoolsext", folder, folders=(RootFolder(tree.relative(found, folder)),))


NVTOOLSEXT = Vendor(
    "nvtoolsext",
    "NvToolsExt: a folder with nvToolsExt64_*.dll in bin\\x64",
    _recognise_nvtoolsext,
    ("NVTOOLSEXT_PATH",),
    default="NVIDIA Corporation/NvToolsExt",
)

# ------------------------------------------------------------ what torch's own code adds to the search of a machine


def searched_toolkit(release: str, host: Host) -> InstalledFolder | None:
    """Return the toolkit's ``bin`` that a torch built for a release will search; None when it is not there.

    torch asks for ``CUDA_PATH_V11_7`` or the default folder of exactly its release; no other variable counts.
    """
    return _searched(CUDA, host, "CUDA_PATH_V" + release.replace(".", "_"), f"/v{release}", "bin")


def searched_nvtx(host: Host) -> InstalledFolder | None:
    """Return NVTX's folder that torch will search; None when it is not there."""
    return _searched(NVTOOLSEXT, host, "NVTOOLSEXT_PATH", "", "bin/x64")


def known_toolkit(release: str, host: Host) -> InstalledFolder | None:
    """Return the ``bin`` of a toolkit of that release, wherever it is installed on this machine."""
    found = searched_toolkit(release, host)
    for place in CUDA.places(host) if found is None else ():
        root = CUDA.recognise(place.path) if place.path.is_absolute() and tree.is_folder(place.path) else None
        if root is not None and root.version.split(".")[:2] == release.split("."):
            return _listed(root.path, "bin", str(root.path))
    return found


def _searched(vendor: Vendor, host: Host, variable: str, default: str, below: str) -> InstalledFolder | None:
    if value := host.variable(variable):
        return _listed(Path(value), below, f"{variable}={value}")
    folder = next(vendor.defaults(host, default), None)
    return _listed(folder, below, str(folder)) if folder is not None else None


def _listed(folder: Path, below: str, label: str) -> InstalledFolder | None:
    found = tree.locate_folder(folder, below)
    return InstalledFolder(label, frozenset(map(dll_key, tree.dll_names(found)))) if found is not None else None


# --------------------------------------- oneAPI: MKL, the OpenMP runtime, TBB and what they need, of three generations
# Up to 2023 each component has its own deep folder (``mkl\latest\redist\intel64``), from 2024 on ``bin``
# (``mkl\latest\bin``), and the unified layout has one ``bin`` for a whole toolkit (``oneAPI\2025.0\bin``).

_COMPONENTS = ("mkl", "compiler", "tbb", "umf", "tcm", "dnnl", "ipp", "dal", "ccl")
"""The parts of an installation whose DLLs count, those that others ask for most first."""
_ONEAPI_FOLDERS = (
    "bin",
    "redist/intel64",
    "windows/redist/intel64_win/compiler",
    "redist/intel64_win/compiler",
    "redist/intel64/compiler",
    "redist/intel64/vc14",
    "redist/intel64/vc_mt",
)
"""Where one component keeps DLLs, newest layout first."""
_VERSION = r"<\d+(\.\d+)*>"
_ONEAPI_PLACES = (
    *(f"{component}/latest" for component in _COMPONENTS),
    r"<20\d\d(\.\d+)+>",
    *(f"{component}/{_VERSION}" for component in _COMPONENTS),
    *(".", "latest", _VERSION),
)
"""Where a component is in an installation, all components' newest first; and in what is a single one itself."""
_ONEAPI_DLL = r"(mkl_\w+\.\d|libiomp5md|libmmd|svml_dispmd|tbb\d+|tbbmalloc|tcm|umf|hwloc-\d+)\.dll"
"""DLLs by which a folder is known for oneAPI's."""


def _recognise_oneapi(folder: Path) -> Root | None:
    """Return the installation, component or unified toolkit that a folder is, or None."""
    root = tree.real(folder)
    found: dict[Path, RootFolder] = {}
    for place, _ in tree.found_by(folder, *_ONEAPI_PLACES):
        for path in tree.folders_with_dlls(place, _ONEAPI_FOLDERS):
            where = tree.real(path)
            if where.is_relative_to(root):  # ``latest`` is a link to the newest version: one folder, not two
                steps = (root.name, *where.relative_to(root).parts)
                version = next((step for step in reversed(steps) if re.fullmatch(r"\d+(\.\d+)*", step)), "")
                found.setdefault(where, RootFolder(tree.relative(path, folder), version=version))
    folders = [*found.values()]
    if not any(tree.dll_names(folder / entry.path, _ONEAPI_DLL) for entry in folders):
        return None
    version = next((entry.version for entry in folders if entry.version), "")
    return Root("oneapi", folder, version, folders=tuple(folders))


ONEAPI = Vendor(
    "oneapi",
    "oneAPI: its installation folder, one component (MKLROOT, CMPLR_ROOT, TBBROOT) or a unified toolkit folder, "
    "with mkl_*.dll, libiomp5md.dll or tbb12.dll in bin or redist\\intel64",
    _recognise_oneapi,
    ("ONEAPI_ROOT", "MKLROOT", "CMPLR_ROOT", "TBBROOT"),
    default="Intel/oneAPI",
)

# ------------------------------------------------------- the Visual C++ runtime, which Visual Studio keeps to be copied
# ``VC\Redist\MSVC\<version>\<machine>\Microsoft.VC143.CRT`` and its siblings; the same below ``debug_nonredist`` for
# what Microsoft does not license for redistribution (debug runtimes, LLVM's OpenMP).

_RUNTIME_PLACES = [
    f"{base}{terms}{machine}/<microsoft\\.vc14\\d\\..+>"
    for terms in ("", "debug_nonredist/")
    for base in (*(f"{above}<14\\.\\d+(\\.\\d+)*>/" for above in ("VC/Redist/MSVC/", "Redist/MSVC/", "")), "")
    for machine in ("x64", "arm64", "x86")
]
VISUAL_STUDIO_REGISTRY = r"HKLM\SOFTWARE\Microsoft\VisualStudio\SxS\VS7"


def _more_msvc(host: Host) -> Iterator[Place]:
    if (key := host.registry(VISUAL_STUDIO_REGISTRY)) is not None:
        for version in sorted(key.values, key=dotted_numbers, reverse=True):
            yield Place(Path(key.values[version]), "registry")
    for program_files in host.program_files:
        for path, _ in tree.found_by(program_files, r"Microsoft Visual Studio/<\d+>/<.*>/VC/Redist/MSVC"):
            yield Place(path.parents[2], "default path", promised=False)


def _recognise_msvc(folder: Path) -> Root | None:
    """Return the runtime below a folder: of an installation, of all its versions, or of one version."""
    own = folder.name if dotted_numbers(folder.name)[:1] == (14,) else ""
    folders = [
        RootFolder(tree.relative(path, folder), version=own or version, redistributable=is_redistributable(path))
        for path, version in tree.found_by(folder, *_RUNTIME_PLACES)
        if tree.dll_names(path)
    ]
    return Root("msvc", folder, folders[0].version, folders=tuple(folders)) if folders else None


def is_redistributable(folder: Path) -> bool:
    """Whether what lies in a folder may be passed on, as far as its path says."""
    return "debug_nonredist" not in (fold(part) for part in tree.real(folder).parts)


MSVC = Vendor(
    "msvc",
    "the Visual C++ runtime: a Visual Studio folder, its VC\\Redist\\MSVC, or one version there with "
    "x64\\Microsoft.VC14*.CRT",
    _recognise_msvc,
    ("VCToolsRedistDir", "VCINSTALLDIR", "VSINSTALLDIR"),
    _more_msvc,
)

TOOLKITS = (CUDA, CUDNN, NVTOOLSEXT, ONEAPI, MSVC)


# ------------------------------------------------------------------------------------------------------ conda
# An environment is a folder with ``conda-meta``; its DLLs lie in ``Library\bin``, a few in the folder itself. The cache
# has one folder per package, ``pkgs\<name>-<version>-<build>``, laid out like a small environment.

_CONDA_FOLDERS = ("Library/bin/x64", "Library/bin", "Library/mingw-w64/bin", "bin", ".")
"""Where an environment or package keeps DLLs, in the order in which conda's Python looks."""

_INSTALLATIONS = ("miniforge3", "mambaforge", "miniconda3", "anaconda3", "micromamba")


def _conda_places(host: Host) -> Iterator[Place]:
    """Yield, after the active environment and as a last resort, caches and installations that are not active."""
    for prefix, learned in host.prefixes:  # started by its path, a conda Python has no CONDA_PREFIX
        if tree.locate_folder(prefix, "conda-meta") is not None:
            yield Place(prefix, learned, promised=False)
    bases: dict[Path, str] = {}
    if value := host.variable("CONDA_EXE"):
        bases[Path(value).parent.parent] = "environment variable CONDA_EXE"
    if value := host.variable("MAMBA_ROOT_PREFIX"):
        bases[Path(value)] = "environment variable MAMBA_ROOT_PREFIX"
    for parent in (host.home, host.program_data):
        for folder in tree.located(parent, *_INSTALLATIONS):
            bases.setdefault(folder, "default path")
    bases |= {place.path: place.learned for place in _of_scoop(host, *_INSTALLATIONS, "miniforge")}
    for value in host.variable("CONDA_PKGS_DIRS").split(os.pathsep if host.os_name == os.name else ";"):
        if value.strip():
            yield Place(Path(value.strip()), "environment variable CONDA_PKGS_DIRS", last_resort=True)
    for base, learned in bases.items():
        for pattern, what in ((".", ""), ("pkgs", "package cache, "), ("envs/<.*>", "not active, ")):
            for path, _ in tree.found_by(base, pattern):
                yield Place(path, f"{what}{learned}", last_resort=True, promised=False)
    yield from _conda_answers(host.conda_info())
    listed = tree.locate(host.home, ".conda/environments.txt") if host.home is not None else None
    for line in _text(listed).splitlines():
        if line.strip():
            yield Place(Path(line.strip()), "not active, .conda/environments.txt", last_resort=True, promised=False)


def _conda_answers(answer: str) -> Iterator[Place]:
    """Yield the environments and caches that conda itself names; another answer than expected is none."""
    try:
        info = parse_json(answer) if answer else {}
    except ValueError:
        return
    for key, learned in (("envs", "not active, conda info"), ("pkgs_dirs", "package cache, conda info")):
        named = info.get(key) if isinstance(info, dict) else None
        for path in named if isinstance(named, list) else ():
            if isinstance(path, str) and path and "\0" not in path:
                yield Place(Path(path), learned, last_resort=True, promised=False)


def _recognise_conda(folder: Path) -> Root | None:
    """Return the environment, cache or unpacked package that a folder is, or None."""
    if tree.locate_folder(folder, "conda-meta") is not None:
        return Root("conda", folder, folders=tuple(_dll_folders(folder, folder)))
    if (package := _unpacked_package(folder)) is not None:
        name, version = package
        entries = tuple(_dll_folders(folder, folder, name, version))
        return Root("conda", folder, version, folders=entries, notes=(f"the unpacked package {name}",))
    cached = tuple(_cache(folder))
    if cached:
        return Root("conda", folder, folders=cached, notes=("a package cache",))
    return None


def _dll_folders(base: Path, root: Path, package: str = "", version: str = "") -> Iterator[RootFolder]:
    for found in tree.folders_with_dlls(base, _CONDA_FOLDERS):
        yield RootFolder(tree.relative(found, root), version=version, package=package)


def _cache(folder: Path) -> Iterator[RootFolder]:
    """Yield the DLL folders of every unpacked package in a cache; nothing when the folder is not a cache."""
    if tree.locate(folder, "urls.txt") is None and fold(folder.name) != "pkgs":
        return
    for entry in tree.subfolders(folder, r".+-[^-]+-[^-]+"):
        # A cache has thousands of packages, most of them without DLLs: one listing shows it, and the folder's own name
        # is the package's, so that no index.json has to be read.
        if not any(fold(name) == "library" or fold(name).endswith(".dll") for name in tree.names(entry)):
            continue
        name, version, _build = entry.name.rsplit("-", 2)
        yield from _dll_folders(entry, folder, name, version)


def _unpacked_package(folder: Path) -> tuple[str, str] | None:
    """Return name and version of the package that was unpacked into a folder, or None."""
    path = tree.locate(folder, "info/index.json")
    if path is None:
        return None
    facts = _read_json(path)
    if facts is None or "name" not in facts:
        return None
    return str(facts["name"]), str(facts.get("version", ""))


def conda_owners(environment: Path) -> dict[str, tuple[str, str]]:
    """Return for every DLL of an environment its package and version, by folded relative path."""
    meta = tree.locate_folder(environment, "conda-meta")
    found: dict[str, tuple[str, str]] = {}
    for name in tree.names(meta):
        if meta is None or not fold(name).endswith(".json"):
            continue
        facts = _read_json(meta / name, needle=b".dll")
        files = facts.get("files") if facts is not None else None
        if facts is None or not isinstance(files, list):
            continue
        owner = (str(facts.get("name", "")), str(facts.get("version", "")))
        for path in files:
            if isinstance(path, str) and fold(path).endswith(".dll"):
                found[fold(path.replace("\\", "/"))] = owner
    return found


def _read_json(path: Path, needle: bytes = b"") -> Mapping[str, object] | None:
    """Return the object in a JSON file; None when there is none, or when the needle is not in it."""
    try:
        data = read_file(path, MAX_JSON)
        if needle not in data.lower():
            return None
        facts = parse_json(data)
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) else None


CONDA = Vendor(
    "conda",
    "a conda environment (a folder with conda-meta), a package cache (pkgs) or an unpacked conda package",
    _recognise_conda,
    ("CONDA_PREFIX",),
    _conda_places,
)

# -------------------------------------------------------------------------------------------------------- pip
# Intel's wheels put DLLs into ``<prefix>\Library\bin``; NVIDIA's into ``site-packages\nvidia\<package>`` below ``bin``,
# ``lib\x64`` or ``extras\CUPTI\lib64``, those for CUDA 13 into ``nvidia\cu13\bin\x86_64``; msvc-runtime into the
# prefix and ``Scripts``.

_PREFIX_FOLDERS = ("Library/bin", "bin", "Scripts", ".")
"""Folders of an environment that wheels' data files reach."""

_NVIDIA_FOLDERS = (
    "bin/x86_64",
    "bin/x64",
    "bin/arm64",
    "bin",
    "lib/x64",
    "lib",
    "extras/CUPTI/lib/x64",
    "extras/CUPTI/lib64",
    "nvvm/bin/x64",
    "nvvm/bin",
)
"""Where NVIDIA's packages keep DLLs, newest layout first."""

_RUNTIME_DLL = r"(msvcp140\w*|vcruntime140_threads|concrt140|vcomp140|vccorlib140|vcamp140)\.dll"
"""What msvc-runtime brings; vcruntime140.dll and vcruntime140_1.dll are in every Python."""


def _pip_places(host: Host) -> Iterator[Place]:
    """Yield the environments of this machine."""
    for path, learned in host.prefixes:
        yield Place(path, learned, promised=False)
    if value := host.variable("CONDA_PREFIX"):
        # What pip put into a conda environment; conda's own folders are that root's affair.
        yield Place(Path(value), "environment variable CONDA_PREFIX", promised=False)


def _recognise_pip(folder: Path) -> Root | None:
    """Return the environment or site-packages folder that a folder is, or None when it has no vendor's DLLs."""
    sites = site_folders(folder)
    if not sites:
        return None
    folders: list[RootFolder] = []
    if tree.locate_folder(folder, "conda-meta") is None:
        folders += _prefix_folders(folder)
    for site in sites:
        for package, name in tree.found_by(site, "nvidia/<.*>"):
            major = re.fullmatch(r"cu(\d+)", fold(name))
            cuda = major[1] if major else ""
            found = tree.folders_with_dlls(package, _NVIDIA_FOLDERS)
            folders += [RootFolder(tree.relative(path, folder), cuda=cuda) for path in found]
    return Root("pip", folder, folders=tuple(folders)) if folders else None


def site_folders(folder: Path) -> tuple[Path, ...]:
    """Return the site-packages of an environment; for a folder that pip filled with ``--target``, itself."""
    # Per-version folders: the user's on Windows, and every environment's on POSIX.
    places = (parent + below for below in ("", r"<python\d[\d.]*>/") for parent in ("lib/", ""))
    found = [path for path, _ in tree.found_by(folder, *(f"{place}site-packages" for place in places))]
    if not found and (tree.subfolders(folder, r".+\.dist-info") or fold(folder.name) == "site-packages"):
        found.append(folder)
    return tuple(found)


def _prefix_folders(folder: Path) -> Iterator[RootFolder]:
    for below in _PREFIX_FOLDERS:
        found = tree.locate_folder(folder, below)
        # The prefix and its Scripts hold Python itself; only a runtime that msvc-runtime put there is of interest.
        pattern = "" if below in ("Library/bin", "bin") else _RUNTIME_DLL
        if found is not None and tree.dll_names(found, pattern):
            yield RootFolder(tree.relative(found, folder))


def pip_owners(environment: Path) -> dict[str, tuple[str, str]]:
    """Return for every DLL that pip installed its distribution and version, by folded path relative to the root."""
    found: dict[str, tuple[str, str]] = {}
    for site in site_folders(environment):
        base = tree.relative(site, environment)
        for dist_info in tree.subfolders(site, r"[^-]+-.+\.dist-info"):
            name, _, version = dist_info.name[: -len(".dist-info")].partition("-")
            for path in _recorded_dlls(dist_info):
                found[fold(posixpath.normpath(posixpath.join(base, path)))] = (name.replace("_", "-"), version)
    return found


def _recorded_dlls(dist_info: Path) -> Iterator[str]:
    record = tree.locate(dist_info, "RECORD")
    if record is None:
        return
    try:
        data = read_file(record, MAX_SIZE)
    except OSError:
        return
    # Most distributions have no DLL; to look for the four letters is much faster than to parse the rows.
    if b".dll" not in data.lower():
        return
    try:
        rows = Record.parse(data).rows
    except InputError:
        return
    yield from (row.path for row in rows if fold(row.path).endswith(".dll"))


PIP = Vendor(
    "pip",
    "a Python environment (a folder with Lib\\site-packages) or a site-packages folder, "
    "with DLLs in Library\\bin or nvidia\\*\\bin",
    _recognise_pip,
    more=_pip_places,
)

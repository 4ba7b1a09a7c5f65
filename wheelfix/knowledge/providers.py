"""Who ships a DLL or a module: distributions on PyPI with where their DLLs lie, and vendors in words for a user.

What a distribution ships is in the provider index; ``distributions.toml`` has what names cannot tell, and builds that
are not on PyPI. ``modules.txt`` and ``compiled_modules.txt`` have the modules of distributions.
"""

from __future__ import annotations

import functools
import itertools
import sys
from typing import TYPE_CHECKING

from wheelfix.base.parsing import dotted_numbers, whole_number
from wheelfix.base.values import distinct, frozen, replace
from wheelfix.knowledge.cuda import cuda_folder, cuda_majors_for, cuda_versions_for, release, versions_in
from wheelfix.knowledge.families import demangle, family_of, is_mangled
from wheelfix.knowledge.provider_index import ShippedDll, Ships, provider_index
from wheelfix.knowledge.system import DllClass, classify, runtime_file
from wheelfix.knowledge.tables import Checker, NamePattern, entries, read_text, table
from wheelfix.model import Machine, canonical, dll_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@frozen
class Owner:
    """A distribution that ships certain DLLs for others."""

    distribution: str
    """Its normalised name."""
    source: str
    folders: tuple[str, ...] = ()
    """Where they lie under the prefix, the usual folder first."""
    patterns: tuple[NamePattern, ...] = ()
    """The DLLs that others may count on; none: all that it ships."""
    preloads: bool = False
    """Whether importing the distribution has the DLLs loaded, or their folder searched."""
    at_start: bool = False
    """Whether that happens whenever Python starts, without an import."""
    why: str = ""
    """How that comes, as half a sentence."""
    only: str = ""
    """The builds of the distribution that have them, when those on PyPI do not."""
    tracks_cuda: bool = False
    """Whether the distribution's version begins with that of the CUDA toolkit."""
    cuda: int = 0
    """The major of the toolkit that the distribution is for; 0 when it has nothing to do with CUDA."""
    specifier: str = ""
    """The versions that have the DLL that was asked about, as pip takes them; empty for any."""

    @property
    def folder(self) -> str:
        """The usual folder under the prefix."""
        return self.folders[0]


@table("distributions.toml")
def distributions(check: Checker) -> tuple[Owner, ...]:
    """Return every distribution that is known to ship DLLs for others."""
    return check.values("distribution", Owner)


@functools.lru_cache(maxsize=16384)
def owners_of(name: str) -> tuple[Owner, ...]:
    """Return the distributions that ship a DLL with exactly that name for others, in the order of the table."""
    key = dll_key(name)
    shipped = {name: [*dlls] for name, dlls in itertools.groupby(provider_index().shipped(key), _distribution)}
    found = []
    for owner in distributions():
        if owner.folders:  # builds that are not on PyPI
            found += [owner] if _counts_on(owner, key) else []
        elif owner.distribution in shipped and _counts_on(owner, key):
            dlls = sorted(shipped[owner.distribution], key=lambda dll: -dll.looked_at.index(dll.until))
            folders = tuple(dll.folder for dll in dlls)
            found.append(replace(owner, folders=folders, specifier=versions_with(dlls)))
    return tuple(found)


def _distribution(dll: ShippedDll) -> str:
    return dll.distribution


def _counts_on(owner: Owner, key: str) -> bool:
    return not owner.patterns or any(pattern.fullmatch(key) for pattern in owner.patterns)


def versions_with(dlls: Sequence[ShippedDll]) -> str:
    """Return a specifier of the versions of a distribution that have a DLL in one of its folders; empty for all.

    Whole majors where the versions that were looked at allow it: ``==2021.*``, ``>=2022,<2026``.
    """
    looked_at = dlls[0].looked_at
    having = [version for version in looked_at if any(version in dll.versions for dll in dlls)]
    if len(having) == len(looked_at):
        return ""
    first, last = looked_at.index(having[0]), looked_at.index(having[-1])
    without = [version for version in looked_at[first:last] if version not in having]
    low, high = _major(having[0]), _major(having[-1])
    before, after = looked_at[first - 1 : first], looked_at[last + 1 : last + 2]
    whole = not any(_major(version) == low for version in before) and not any(
        _major(version) == high for version in after
    )
    if whole and low == high and after:
        parts = [f"=={low}.*"]
    elif first == last and not whole:
        parts = [f"=={having[0]}"]
    else:
        parts = [f">={low if whole else having[0]}"] if before else []
        parts += [f"<{high + 1}" if whole else f"<={having[-1]}"] if after else []
    return ",".join([*parts, *(f"!={version}" for version in without)])


def _major(version: str) -> int:
    return int(version.partition("!")[2].partition(".")[0] or version.partition(".")[0].partition("!")[0])


@table("modules.txt")
def module_owners(check: Checker) -> Mapping[str, tuple[str, ...]]:
    """Return every module of the table with the distributions that have it."""
    rows = map(str.split, entries(check.text))
    return {**_OF_EARLIER_RELEASES, **{module: tuple(owners) for module, *owners in rows}}


_OF_EARLIER_RELEASES = {"pkg_resources": ("setuptools",)}
"""Modules that the newest releases, of which the table is made, no longer have (setuptools before 82)."""


def distribution_of_module(module: str) -> str:
    """Return the distribution that has a top-level module and its name too; empty where that is not certain.

    The table holds what was seen. cv2, cupy and others come from several distributions, of which one more may exist:
    only a distribution of the module's own name is certain to be the one that is meant.
    """
    top = module.partition(".")[0]
    owners = module_owners().get(top, ())
    return owners[0] if owners == (canonical(top),) else ""


COMPILED_TABLE = "compiled_modules.txt"
_BY_CONVENTION = frozenset({"_C", "_ext", "_C_flashattention", "_moe_C", "_C_stable_libtorch"})
"""Names that torch's build helpers and their users give to compiled modules, and to nothing else."""
_SUFFIX = "_cuda"


@table(COMPILED_TABLE)
def compiled_modules(check: Checker) -> Mapping[str, frozenset[str]]:
    """Return packages with the names of what is compiled below them, and of DLLs that only they have."""
    rows = map(str.split, entries(check.text))
    return {top: frozenset(names) for top, *names in rows}


def released_modules(top: str) -> list[str]:
    """Return the compiled modules that a package's newest wheel has on PyPI; the table is not parsed for one row."""
    _, _, row = read_text(COMPILED_TABLE).partition(f"\n{top} ")
    return [f"{top}.{name}" for name in row.partition("\n")[0].split() if not name.endswith(".dll")]


def is_newest(distribution: str, version: str) -> bool:
    """Whether a release is the newest that is known, by its first two numbers, or a later one.

    An older one may lack what the newest has: pyarrow 15.0.2 has no ORC for Windows.
    """
    known = provider_index().looked_at(distribution)
    return bool(known) and dotted_numbers(version)[:2] >= dotted_numbers(known[-1].version)[:2]


def is_compiled(module: str) -> bool:
    """Whether a module, by its dotted name, is a compiled part of a package.

    A module at the top that is not found is a package that is not installed, compiled or not, unless its name is that
    of a part for CUDA, such as flash_attn_2_cuda.
    """
    top, _, rest = module.partition(".")
    if not rest:
        return top.endswith("_cuda")
    last = rest.rpartition(".")[2]
    return rest in compiled_modules().get(top, ()) or last in _BY_CONVENTION or last.endswith(_SUFFIX)


_TELLING = 8
"""Letters of a module's name from which on it is taken to be one of its kind."""


@functools.cache
def _packages_by_module() -> Mapping[str, str]:
    """Return the last names of compiled modules with the package that has them; empty where several have."""
    found: dict[str, str] = {}
    for top, names in compiled_modules().items():
        for name in {one.rpartition(".")[2] for one in names}:
            found[name] = "" if found.get(name, top) != top else top
    return found


def package_with(module: str) -> str:
    """Return the package that has a compiled module of that last name; empty where none or several are known.

    Short names, such as sdl2 and error, are those of modules that no table knows as well.
    """
    last = module.rpartition(".")[2]
    telling = len(last) >= (_TELLING - 2 if last.startswith("_") else _TELLING)
    return _packages_by_module().get(last, "") if telling and last not in sys.stdlib_module_names else ""


_OF_VENDORS = frozenset({"vendor", "unknown"})


def owner_of_package(package: str) -> str:
    """Return the only distribution that was seen to have a package, for words; a command needs more certainty."""
    owners = module_owners().get(package, ())
    return owners[0] if len(owners) == 1 else ""


def brought_with(package: str) -> tuple[str, ...]:
    """Return the vendors' DLLs among those that come with the wheel of a package."""
    return tuple(name for name in sorted(dlls_with(package)) if classify(name).kind in _OF_VENDORS)


@functools.cache
def dlls_with(package: str) -> frozenset[str]:
    """Return the DLLs in the newest wheel of a package, and in what it requires under its own name.

    Names that have a hash in the wheel are without it. Every remedy of a diagnosis asks for them.
    """
    index, owner = provider_index(), owner_of_package(package)
    parts = [one.name for one in index.requirements(owner) or () if one.name.startswith(f"{owner}-")]
    wheels = ((one, index.looked_at(one)[-1:]) for one in (owner, *parts))
    dlls = {dll.name for one, looked in wheels if looked for dll in index.shipped_by(one, looked[0].version) or ()}
    dlls |= compiled_modules().get(package, frozenset())
    return frozenset(name for name in dlls if name.endswith(".dll"))


_FIRST_CUDA = 12
"""The first CUDA major whose libraries conda-forge has as packages of their own: conda-forge/cuda-version-feedstock."""
_FIRST_SPLIT_CUDNN = 9
"""The same for cuDNN: conda-forge/cudnn-feedstock."""
_REDIST_ARCH = {Machine.X86: "x86", Machine.ARM64: "arm64", Machine.ARM64EC: "arm64"}


@frozen
class Shipper:
    """A vendor's product that has a DLL, in words."""

    text: str
    source: str
    families: tuple[str, ...] = ()
    pattern: NamePattern | None = None
    conda: str = ""
    """The package of conda-forge that has the file."""


@table("providers.toml")
def shippers(check: Checker) -> tuple[Shipper, ...]:
    """Return every entry, in the order of the table."""
    return check.values("provider", Shipper)


@functools.lru_cache(maxsize=1024)
def _shipper_of(name: str) -> Shipper | None:
    key = demangle(dll_key(name))
    for shipper in shippers():
        if shipper.pattern and shipper.pattern.fullmatch(key):
            return shipper
    family = family_of(key).id
    return next((shipper for shipper in shippers() if family in shipper.families), None)


def conda_package(name: str) -> str | None:
    """Return the package of conda-forge that has a DLL of that name, or None."""
    shipper = _shipper_of(name)
    return (shipper.conda or None) if shipper else None


def conda_requirements(name: str) -> tuple[str, ...]:
    """Return what to ask conda for, with the version that the name of a DLL stands for; empty where nothing is known.

    A package alone would be installed in its newest version, which has DLLs of other names. conda-forge's packages of
    CUDA begin with 12.0, those of cuDNN that are split with 9.
    """
    shipper = _shipper_of(name)
    family = family_of(name)
    if shipper is None or not shipper.conda or is_mangled(name):
        return ()
    if family.id == "cudnn":
        return (shipper.conda,) if (family.major(name) or 0) >= _FIRST_SPLIT_CUDNN else ()
    majors = cuda_majors_for(name)
    served = sorted(major for major in majors if major >= _FIRST_CUDA)
    if majors and not served:
        return ()
    toolkits = [toolkit for toolkit in cuda_versions_for(name) if release(toolkit)[0] >= _FIRST_CUDA]
    exact = toolkits[0] if len(toolkits) == 1 else str(served[0]) if len(served) == 1 else ""
    return (shipper.conda, f"cuda-version={exact}") if exact else (shipper.conda,)


def pip_packages(name: str, *, cuda: str | None = None) -> tuple[str, ...]:
    """Return requirements, as pip takes them, of the distributions on PyPI that have a DLL of that name.

    ``cuda`` is the toolkit that the wheel is for, ``11.7``, or its major alone. Without it the name's own major counts,
    and where that leaves several the newest comes first.
    """
    major = whole_number(cuda.partition(".")[0]) or 0 if cuda else 0
    fitting = [owner for owner in owners_of(name) if not owner.only]
    own = [owner for owner in fitting if not owner.cuda or owner.cuda == major]
    if not own:
        named = cuda_majors_for(name)
        own = [owner for owner in fitting if not named or owner.cuda in named]
        own.sort(key=lambda owner: -owner.cuda)
    requirements = (_requirement(owner, name, _exact(cuda)) for owner in own or fitting)
    found = distinct(requirement for requirement in requirements if requirement)
    return found if fitting else _only_shipper(name)


def _only_shipper(name: str) -> tuple[str, ...]:
    """Return the distribution whose own DLL it is: the only one that ships the name, and one that the name is about.

    Without the second any helper.dll would be credited to whichever distribution happens to have one.
    """
    dlls = provider_index().shipped(name)
    if len({dll.distribution for dll in dlls}) != 1 or classify(name).kind not in ("vendor", "unknown"):
        return ()
    distribution = dlls[0].distribution
    words = (word.removeprefix("python").removeprefix("py") for word in distribution.split("-"))
    about = any(len(word) >= 3 and word in dll_key(name) for word in words)
    versions = versions_with(dlls)
    certain = about and provider_index().ships(distribution, versions, name).ships is Ships.YES
    return (distribution + versions,) if certain else ()


def _exact(cuda: str | None) -> str | None:
    """Return a release with its minor, or None for a major alone."""
    return cuda if cuda and "." in cuda else None


def _requirement(owner: Owner, name: str, cuda: str | None) -> str:
    """Return the distribution with the versions that have the very file: those of the toolkit if they do.

    Nothing when the toolkit's version of the library is not on PyPI: another release would not be taken.
    """
    wanted = _of_toolkit(owner, name, cuda)
    if not wanted:
        return "" if wanted is None else owner.distribution + owner.specifier
    known = provider_index().ships(owner.distribution, wanted, name)
    if not known.having and not known.without:
        return ""  # PyPI has no such release: the first nvidia-cuda-runtime-cu11 is 11.7
    return owner.distribution + (owner.specifier if known.ships in (Ships.NO, Ships.SOME) else wanted)


def _of_toolkit(owner: Owner, name: str, cuda: str | None) -> str | None:
    """Return the versions of a toolkit; empty where it does not say, None where PyPI does not have them."""
    if cuda and owner.cuda == release(cuda)[0] and (versions := versions_in(name, cuda)):
        shipped = [dll for dll in provider_index().shipped(name) if dll.distribution == owner.distribution]
        on_pypi = {version for dll in shipped for version in dll.versions}
        return next((f"=={version}" for version in versions if version in on_pypi), None)
    toolkits = sorted(cuda_versions_for(name), key=release) if owner.tracks_cuda else []
    own = "{}.{}".format(*release(cuda)) if cuda and owner.tracks_cuda and owner.cuda == release(cuda)[0] else ""
    if own and (own in toolkits or not toolkits):
        return f"=={own}.*"
    return f"=={toolkits[0]}.*" if len(toolkits) == 1 else ""


def who_ships(name: str, *, cuda: str | None = None, machine: Machine = Machine.AMD64) -> tuple[str, ...]:
    """Return who ships a DLL of that name, the vendor first, each as a phrase; empty when none is known.

    ``cuda`` is the toolkit that the wheel is for, ``11.7``, or its major alone.
    """
    known = classify(name, machine)
    shipper = _shipper_of(name)
    if known.debug or known.kind not in ("vendor", "unknown", "vcredist"):
        return _own_words(known, machine)
    found = list(_own_words(known, machine)) if known.kind == "vcredist" else []
    if shipper:
        found.append(_vendor(shipper, name, cuda))
    found += [f"PyPI: {requirement}" for requirement in pip_packages(name, cuda=cuda)]
    if shipper and shipper.conda:
        found.append(f"conda-forge: {shipper.conda}")
    return tuple(found)


def _vendor(shipper: Shipper, name: str, cuda: str | None) -> str:
    toolkits = sorted(cuda_versions_for(name), key=release)
    if cuda and not _exact(cuda):
        toolkits = [toolkit for toolkit in toolkits if toolkit.startswith(f"{cuda}.")] or toolkits
    own = "{}.{}".format(*release(cuda)) if cuda and _exact(cuda) else ""
    chosen = own if own in toolkits or not toolkits else _span(toolkits)
    folder = cuda_folder(name, own if chosen == own and own else toolkits[-1] if toolkits else "12.0")
    return shipper.text.format(
        version=family_of(name).version(name),
        cuda=chosen or "of the matching version",
        folder=(folder or "bin").replace("/", "\\"),
    )


def _span(toolkits: list[str]) -> str:
    return toolkits[0] if len(toolkits) == 1 else f"{toolkits[0]} to {toolkits[-1]}"


def _own_words(known: DllClass, machine: Machine) -> tuple[str, ...]:
    """Return who brings what no vendor ships: Windows, Python, a driver, the C++ runtime."""
    if known.kind == "vcredist":
        file = runtime_file(known.key)
        if file is None or file.debug:
            return ("Visual Studio only: debug runtimes may not be passed on, build for release instead",)
        url = file.toolset.url.replace("{arch}", _REDIST_ARCH.get(machine, "x64"))
        return (f"{file.toolset.package}, {url}",)
    if known.kind == "driver":
        return (f"{known.detail}; never part of a wheel",)
    if known.kind == "python":
        where = (
            "beside python.exe" if not known.folder else f"folder {known.folder}, which other packages cannot count on"
        )
        return (f"CPython, {where}",)
    if known.kind == "api-set" and not known.known:
        return ("a newer Windows than those that are known here",)
    return (known.detail or "Windows",)

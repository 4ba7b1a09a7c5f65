"""Which distribution on PyPI ships a DLL of a name, in which versions and in which folder: read from real wheels.

Two tables, written by ``tools/make_provider_index.py``. Each has sorted lines with tabs between their fields, and is
searched without being parsed: reading it costs a few milliseconds, when the first question is asked.

``provider_distributions.txt``, one line for each distribution::

    mkl  2021.4.0/py2.py3-none-win_amd64 2025.3.0/-  Library/bin  intel-openmp==2021.*@0 tbb==2022.*@1

the versions that were looked at with the tags of the wheel, from old to new (``/-`` stands for the tags before it), the
folders (``|`` between them), and the requirements on Windows. ``provider_dlls.txt``, one line for each name::

    mkl_core.1.dll  mkl:0@0

the distribution, the number of the folder, and after ``@`` the numbers of the versions (``0-2,5``) unless all have it.
The version of Python in a name is written ``{py}``, or ``{py.}`` with a dot: ``pywintypes{py}.dll`` is
``pywintypes311.dll`` in a wheel for cp311, ``x-python{py.}.dll`` is ``x-python3.11.dll``.

A wheel is looked at for one version of Python, and for x64 where there is one. Names with a hash are left out: only
the wheel that ships such a DLL uses it. Extension modules are in the index if their names have no tag.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import as_specifiers, as_version, regex
from wheelfix.base.values import frozen
from wheelfix.knowledge.tables import read_text
from wheelfix.model import PLATFORM_MACHINES, TRUSTED, Machine, Signature, Word, canonical, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


DISTRIBUTIONS = "provider_distributions.txt"
DLLS = "provider_dlls.txt"


@frozen
class ShippedDll:
    """A DLL of a distribution, in one folder."""

    name: str
    """Folded; with ``{py}`` or ``{py.}`` where the name has the version of Python."""
    distribution: str
    """Its normalised name."""
    folder: str
    """Under the prefix: ``Library/bin``, ``Lib/site-packages/torch/lib``; empty for the prefix itself."""
    versions: tuple[str, ...]
    """The versions that have it, of those that were looked at, from old to new."""
    looked_at: tuple[str, ...]
    """Every version that was looked at, from old to new."""

    @property
    def until(self) -> str:
        """The newest version that has it, of those that were looked at."""
        return self.versions[-1]


@frozen
class LookedAt:
    """A wheel whose members are in the index."""

    distribution: str
    version: str
    tags: str
    """As in the file name: ``cp311-cp311-win_amd64``."""

    @property
    def machine(self) -> Machine | None:
        """The processor it is for; None for a wheel for any."""
        return next((machine for tag, machine in PLATFORM_MACHINES.items() if self.tags.endswith(tag)), None)


@frozen
class RequiredEntry:
    """A distribution that another one requires on Windows."""

    name: str
    """Normalised."""
    specifier: str
    """The versions that fit, as pip takes them; empty for any."""


@frozen
class DistributionEntry:
    """A line of the table of distributions."""

    distribution: str
    wheels: tuple[LookedAt, ...]
    folders: tuple[str, ...]
    requirements: str
    """As in the table. Few questions are about them, and hundreds of distributions ship a DLL such as msvcp140.dll."""

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(wheel.version for wheel in self.wheels)

    def required_by(self, number: int) -> tuple[RequiredEntry, ...]:
        """Return what one of the versions requires."""
        texts = (text.partition("@") for text in self.requirements.split())
        count = len(self.wheels)
        return tuple(_parse_required(text) for text, _, of in texts if number in parse_numbers(of, count))


def find_line(text: str, key: str) -> list[str]:
    """Return the fields after the first one of the line that begins with the key, in sorted lines; empty without one.

    A binary search finds a name in 20 steps, without a value for each line.
    """
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        start = text.rfind("\n", 0, middle) + 1
        end = text.find("\n", middle)
        end = end if end >= 0 else len(text)
        first, *rest = text[start:end].split("\t")
        if first == key:
            return rest
        if first < key:
            low = end + 1
        else:
            high = start
    return []


def parse_entry(distribution: str, fields: Sequence[str]) -> DistributionEntry:
    looked, folders, requirements = fields
    wheels: list[LookedAt] = []
    for wheel in looked.split(" "):
        version, _, tags = wheel.partition("/")
        wheels.append(LookedAt(distribution, version, wheels[-1].tags if tags == "-" else tags))
    return DistributionEntry(distribution, tuple(wheels), tuple(folders.split("|")), requirements)


def _parse_required(text: str) -> RequiredEntry:
    name, specifier = re.findall(r"^([a-z0-9-]+)(.*)$", text)[0]
    return RequiredEntry(name, specifier)


def parse_numbers(text: str, count: int) -> frozenset[int]:
    """Return the numbers of a list such as ``0-2,5``; an empty one means all below ``count``."""
    if not text:
        return frozenset(range(count))
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


HASHED = regex(r"-[0-9a-f]{32}\.|-(?=[0-9a-f]{0,7}[a-f])(?=[0-9a-f]{0,7}[0-9])[0-9a-f]{8}\.|\.[a-z0-9]{32}\.")
"""The hashes that delvewheel and others put into names: ``a-0f2ea955.dll``."""
_PYTHON = regex(r"(?<![0-9.])3(\.?)[0-9]{1,2}(?![0-9])")


class Ships(Word):
    """Whether versions of a distribution ship a DLL."""

    YES = "yes"
    NO = "no"
    SOME = "some"
    """Some of the versions that fit do, others do not."""
    UNKNOWN = "unknown"
    """The distribution, or every version that fits, was not looked at."""


@frozen
class ProviderAnswer:
    """Whether the versions of a distribution that fit a specifier ship a DLL, and how that is known."""

    ships: Ships
    having: tuple[str, ...] = ()
    """The versions that fit, were looked at and have it, from old to new."""
    without: tuple[str, ...] = ()
    """The versions that fit, were looked at and do not have it, from old to new."""
    between: tuple[str, ...] = ()
    """Where no version that fits was looked at: the older and the newer neighbour, which agree with each other."""
    newest: bool = False
    """Whether the newest version that fits and was looked at, which pip would choose, has it."""
    folders: tuple[str, ...] = ()
    """Where it lies under the prefix, in the newest of the versions that have it."""


class ProviderIndex:
    """The two tables, searched in place."""

    def __init__(self, distributions: str, dlls: str) -> None:
        """Take the texts of the tables, with or without their headings."""
        self._distributions = _without_heading(distributions)
        self._dlls = _without_heading(dlls)
        self._entries: dict[str, DistributionEntry | None] = {}
        self._found: dict[str, tuple[ShippedDll, ...]] = {}

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The normalised names of all distributions."""
        return tuple(line.partition("\t")[0] for line in self._distributions.splitlines())

    def looked_at(self, distribution: str) -> tuple[LookedAt, ...]:
        """Return the wheels that were looked at, from old to new; empty for a distribution that is not in the index."""
        entry = self._entry(canonical(distribution))
        return entry.wheels if entry else ()

    def shipped(self, name: str) -> tuple[ShippedDll, ...]:
        """Return the distributions whose wheels have a DLL with exactly that name, in the order of their names."""
        key = dll_key(name)
        if key not in self._found:
            keys = [key, *(f"{key[: one.start()]}{{py{one[1]}}}{key[one.end() :]}" for one in _PYTHON.finditer(key))]
            found = [dll for own in keys for dll in self._parse_dlls(own, find_line(self._dlls, own))]
            self._found[key] = tuple(sorted(found, key=lambda dll: (dll.distribution, dll.folder)))
        return self._found[key]

    def shipped_by(self, distribution: str, version: str) -> tuple[ShippedDll, ...] | None:
        """Return the DLLs of a version in the order of their names; None when that version was not looked at."""
        own = canonical(distribution)
        entry = self._entry(own)
        wanted = _same_version(version, entry.versions) if entry else None
        if wanted is None:
            return None
        found: list[ShippedDll] = []
        place = self._dlls.find(f"\t{own}:")
        while place >= 0:
            start, end = self._dlls.rfind("\n", 0, place) + 1, self._dlls.find("\n", place)
            name, *fields = self._dlls[start:end].split("\t")
            found += self._parse_dlls(name, [field for field in fields if field.startswith(f"{own}:")])
            place = self._dlls.find(f"\t{own}:", end)
        return tuple(dll for dll in found if wanted in dll.versions)

    def ships(self, distribution: str, specifier: str, name: str, machine: Machine = Machine.AMD64) -> ProviderAnswer:
        """Say whether the versions of a distribution that fit a specifier, empty for any, ship a DLL of that name.

        Unknown: a distribution or versions that were not looked at, a machine of which no wheel was looked at, and
        names that differ from wheel to wheel: those with a hash, and extension modules that were not found
        (they may have a tag). An invalid specifier is a ``ValueError``.
        """
        entry = self._entry(canonical(distribution))
        key = dll_key(name)
        if entry is None or HASHED.search(key):
            return ProviderAnswer(Ships.UNKNOWN)
        mine = [dll for dll in self.shipped(key) if dll.distribution == entry.distribution]
        having = {version for dll in mine for version in dll.versions}
        versions = [wheel.version for wheel in entry.wheels if wheel.machine in (None, machine)]
        fitting = _fitting(specifier, versions)
        if not fitting:
            return self._from_neighbours(entry, specifier, versions, key)
        with_it = tuple(version for version in fitting if version in having)
        without = tuple(version for version in fitting if version not in having)
        kind = Ships.SOME if with_it and without else Ships.YES if with_it else _no(key)
        return ProviderAnswer(
            kind, with_it, without, newest=fitting[-1] in having, folders=_folders(mine, with_it[-1:])
        )

    def requirements(self, distribution: str, version: str = "") -> tuple[RequiredEntry, ...] | None:
        """Return what a version requires on Windows, without extras; the newest that was looked at unless one is named.

        None when the distribution or that version was not looked at.
        """
        entry = self._entry(canonical(distribution))
        wanted = (_same_version(version, entry.versions) if version else entry.versions[-1]) if entry else None
        if entry is None or wanted is None:
            return None
        return entry.required_by(entry.versions.index(wanted))

    def folders(self, distribution: str) -> tuple[str, ...]:
        """Return every folder in which a distribution has DLLs, in whatever version."""
        entry = self._entry(canonical(distribution))
        return entry.folders if entry is not None else ()

    def _from_neighbours(
        self, entry: DistributionEntry, specifier: str, versions: Sequence[str], key: str
    ) -> ProviderAnswer:
        """Answer for versions that were not looked at: the nearest older and the nearest newer one have to agree."""
        gap = _gap(specifier, versions)
        if not 0 < gap < len(versions):
            return ProviderAnswer(Ships.UNKNOWN)
        between = (versions[gap - 1], versions[gap])
        mine = [dll for dll in self.shipped(key) if dll.distribution == entry.distribution]
        older, newer = (any(version in dll.versions for dll in mine) for version in between)
        if older and newer:
            return ProviderAnswer(Ships.YES, between=between, folders=_folders(mine, between[1:]))
        if older or newer or self._changes_digits(entry, between, key):
            return ProviderAnswer(Ships.UNKNOWN)
        return ProviderAnswer(_no(key), between=between)

    def _changes_digits(self, entry: DistributionEntry, between: tuple[str, str], key: str) -> bool:
        """Whether two versions have different names that differ from this one in digits alone: ``a-1.0.dll``."""
        older, newer = (
            {
                dll.name
                for dll in self.shipped_by(entry.distribution, version) or ()
                if _letters(dll.name) == _letters(key)
            }
            for version in between
        )
        return older != newer

    def _entry(self, distribution: str) -> DistributionEntry | None:
        if distribution not in self._entries:
            fields = find_line(self._distributions, distribution)
            self._entries[distribution] = parse_entry(distribution, fields) if fields else None
        return self._entries[distribution]

    def _parse_dlls(self, name: str, fields: Sequence[str]) -> Iterator[ShippedDll]:
        for field in fields:
            place, _, numbers = field.partition("@")
            distribution, _, folder = place.partition(":")
            entry = self._entry(distribution)
            assert entry is not None, distribution
            looked_at = entry.versions
            versions = tuple(looked_at[number] for number in sorted(parse_numbers(numbers, len(looked_at))))
            yield ShippedDll(name, distribution, entry.folders[int(folder)], versions, looked_at)


@functools.cache
def provider_index() -> ProviderIndex:
    """Return the index that comes with wheelfix; read when first asked for."""
    return ProviderIndex(read_text(DISTRIBUTIONS), read_text(DLLS))


def _without_heading(text: str) -> str:
    text = text.replace("\r\n", "\n")  # as git may check it out on Windows
    while text.startswith("#"):
        text = text.partition("\n")[2]
    return text


def _folders(dlls: Sequence[ShippedDll], version: Sequence[str]) -> tuple[str, ...]:
    return tuple(dll.folder for dll in dlls if version and version[0] in dll.versions)


def _fitting(specifier: str, versions: Sequence[str]) -> list[str]:
    wanted = as_specifiers(specifier)
    final = list(wanted.filter(versions))
    return final or list(wanted.filter(versions, prereleases=True))


def _gap(specifier: str, versions: Sequence[str]) -> int:
    """Return how many versions are older than all that fit, where none fits; 0 when that is not certain."""
    parsed = [as_version(version) for version in versions]
    gaps = set()
    for clause in as_specifiers(specifier):
        if clause.operator == "===":
            return 0
        bound = as_version(clause.version.removesuffix(".*"))
        if bound.local:  # a build of another index, such as torch 2.5.1+cu121
            return 0
        if clause.operator != "!=":
            gaps.add(sum(own < bound or (own == bound and clause.operator == ">") for own in parsed))
    return gaps.pop() if len(gaps) == 1 else 0


def _letters(name: str) -> str:
    return re.sub(r"[0-9]+", "0", name)


def _no(key: str) -> Ships:
    """An extension module that was not found may be there with a tag in its name, in a wheel for another Python."""
    return Ships.UNKNOWN if key.endswith(".pyd") else Ships.NO


def _same_version(version: str, versions: Sequence[str]) -> str | None:
    """Return the version as the table spells it; None when it was not looked at."""
    if version in versions:
        return version
    try:
        wanted = as_version(version)
    except ValueError:  # InvalidVersion, or a number with more digits than Python reads
        return None
    return next((own for own in versions if as_version(own) == wanted), None)


MEMBER_HASHES = "member_hashes.txt"


@functools.cache
def _lines() -> str:
    return _without_heading(read_text(MEMBER_HASHES))


@functools.cache
def _by_place() -> dict[tuple[str, str], str]:
    rows = (line.split("\t") for line in _lines().splitlines())
    return {(wheel, member): sha256 for sha256, wheel, member in rows}


def known_sha256(wheel: str, member: str) -> str:
    """Return the sha256 of a DLL of a wheel, by the wheel's file name; empty where it is not in the table."""
    return _by_place().get((wheel, member), "")


def is_known_member(sha256: str) -> bool:
    """Whether a DLL with that hash is in a wheel that was looked at."""
    return re.fullmatch("[0-9a-f]{64}", sha256) is not None and bool(find_line(_lines(), sha256))


_VENDORS = (
    (regex(r"nvidia-.*"), "NVIDIA Corporation"),
    (
        regex(r"(?:intel-.*|mkl|mkl-dpcpp|tbb|tcmlib|daal|dal|ipp|umf|onednn.*|onemkl.*|impi-rt|dpcpp-cpp-rt)"),
        "Intel Corporation",
    ),
    (regex(r"msvc-runtime"), "Microsoft Corporation"),
)
"""Distributions, and the name in the certificate with which their DLLs are signed: seen in their wheels on PyPI."""


def vendor_of(distribution: str) -> str:
    """Return who signs the DLLs of a distribution; empty for one whose DLLs are not fetched."""
    return next((signer for pattern, signer in _VENDORS if pattern.fullmatch(distribution)), "")


def trusted_by(distribution: str, sha256: str, signature: Signature) -> str:
    """Return why a member that came in parts from a server is trusted: ``table`` or ``signature``; empty if it is not.

    The hash on an index is that of the whole wheel, so that a part proves nothing by itself. A member counts if its own
    sha256 is in our table, made from whole wheels with the right hash, or if its vendor's signature on it is valid.
    Otherwise the whole wheel is downloaded, and has to have the hash that the index gives.
    """
    if is_known_member(sha256):
        return "table"
    signer = vendor_of(distribution)
    if signer and signature.status == TRUSTED and signature.trusted_signer.casefold() == signer.casefold():
        return "signature"
    return ""

"""What a rule may look at: one scanned wheel, environment or folder with everything known about it, and its CUDA."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.parsing import dotted_numbers
from wheelfix.base.values import distinct, frozen, grouped
from wheelfix.knowledge.companions import companions_of
from wheelfix.knowledge.cuda import (
    Release,
    cuda_table,
    cuda_versions_for,
    is_versioned_by_patch,
    release,
    release_of_local_version,
    toolkits_of,
    toolkits_of_file,
)
from wheelfix.knowledge.families import is_of_nvidia
from wheelfix.knowledge.targets import chosen_targets
from wheelfix.loader.packagecode import caught_by_name
from wheelfix.loader.view import SITE_PACKAGES, FileView, base_name, parent
from wheelfix.loader.view import key_of as key_of  # with the names of paths below, for the rules
from wheelfix.model import (
    ByteSource,
    Edge,
    EdgeKind,
    FileVersion,
    Image,
    ImageFacts,
    LoadOutcome,
    Machine,
    Malformed,
    NumpyApi,
    Resolution,
    Signature,
    canonical,
    dll_key,
    fold,
)
from wheelfix.pe.gpucode import GpuCode, read_gpu_code
from wheelfix.pe.modulenames import read_cimports, read_numpy
from wheelfix.pe.signature import read_signature
from wheelfix.pe.version import read_version
from wheelfix.pycode.sourcecode import python_code
from wheelfix.roots.host import card_arch
from wheelfix.roots.release import Wanted
from wheelfix.rules.wording import dotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from wheelfix.archive.faults import ArchiveFault
    from wheelfix.archive.metadata import WheelInfo
    from wheelfix.base.options import ScanOptions
    from wheelfix.knowledge.targets import TargetList
    from wheelfix.loader.packageloading import PackageLoading, Startup
    from wheelfix.loader.places import Distribution
    from wheelfix.loader.profile import Profile


@frozen
class ArchiveFacts:
    """What there is to say about a wheel as an archive; of what is installed, only the files that are gone."""

    info: WheelInfo | None = None
    faults: tuple[ArchiveFault, ...] = ()
    record_faults: tuple[ArchiveFault, ...] = ()
    unowned: frozenset[str] = frozenset()
    """In an environment: the DLLs that no distribution owns."""


@functools.cache
def signature_reader(trusted_roots: Path | None) -> Callable[[ByteSource], Signature]:
    """Return what reads signatures, with the roots that are trusted besides Microsoft's."""
    return functools.partial(read_signature, trusted_roots=trusted_roots)


@frozen
class Subject:
    """One scanned thing; what rules share is computed once and kept."""

    view: FileView
    profile: Profile
    resolution: Resolution
    options: ScanOptions
    """What was asked about it."""
    distribution: Distribution
    """What it says about itself, in a wheel or where it is installed."""
    facts: ArchiveFacts
    loading: PackageLoading
    """How it loads DLLs, where that is in a way of its own, such as torch's."""
    installed: bool = False
    """Whether it was scanned in the environment in which it is installed."""

    def version(self, path: str) -> FileVersion | None:
        """Return the version resource of a file; None when it has none.

        It lies near the end, so that the whole file is inflated for it: ask only where a verdict depends on it.
        """
        return self.view.detail(read_version, path)

    def gpu_code(self, path: str) -> GpuCode | None:
        """Return the GPU code inside a file, for which all of it is read; None for one without such sections."""
        return self.view.detail(read_gpu_code, path)

    def signature(self, path: str) -> Signature | None:
        """Return what the signature of a file is worth; None when it was not asked for."""
        wanted = self.options.signatures or self.options.signers
        return self.view.detail(signature_reader(self.options.roots.trusted_roots), path) if wanted else None

    def numpy(self, path: str) -> NumpyApi | None:
        """Return which NumPy a module was built for, for which all of it is read; None for one that uses none."""
        return self.view.detail(read_numpy, path)

    def cimports(self, path: str) -> frozenset[str] | None:
        """Return the private modules whose C functions a module of Cython uses; None where it was not read whole."""
        return self.view.details.get((read_cimports, path))

    @property
    def name(self) -> str:
        """The distribution's name."""
        return self.distribution.name

    @property
    def machine(self) -> Machine:
        """The processor that it is examined for: that of the wheel's tags, of the Python, or the one asked for."""
        return self.profile.machine

    @functools.cached_property
    def targets(self) -> tuple[TargetList, ...]:
        """The kinds of Windows that were asked about, besides any Windows 10 or 11."""
        return chosen_targets(self.options.targets)

    @property
    def environment_python(self) -> tuple[int, int] | None:
        """The Python that imports it where it is installed; None for a wheel, which its tags leave open."""
        return self.profile.python if self.installed else None

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Who needs whom, and who meets each need."""
        return self.resolution.edges

    @property
    def outcomes(self) -> tuple[LoadOutcome, ...]:
        """What becomes of each load that the package performs."""
        return self.resolution.outcomes

    @property
    def startup(self) -> Startup | None:
        """What importing the package loads, where that is modelled as a whole."""
        return self.loading.startup

    @functools.cached_property
    def images(self) -> dict[str, Image]:
        """Every readable PE image by its path, in order of paths."""
        return {path: facts for path, facts in self._facts if isinstance(facts, Image)}

    @functools.cached_property
    def malformed(self) -> dict[str, Malformed]:
        """Every file that has the name of a PE image and is not one."""
        return {path: facts for path, facts in self._facts if isinstance(facts, Malformed)}

    @functools.cached_property
    def _facts(self) -> list[tuple[str, ImageFacts]]:
        return sorted(self.view.images().items(), key=lambda item: item[0])

    @functools.cached_property
    def cuda(self) -> Wanted:
        """The CUDA releases that it may have been built with."""
        return wanted_cuda(self)

    @functools.cached_property
    def foreign(self) -> dict[str, ImageFacts]:
        """Files of the environment, and not of the subject, that the subject's loads get."""
        found = {}
        for edge in self.edges:
            path = edge.file
            if path and path not in self.images and path not in self.malformed and self.reached(edge.importer):
                facts = self.view.image(path)
                if facts is not None:
                    found[path] = facts
        return dict(sorted(found.items()))

    def concerns(self, path: str) -> bool:
        """Whether a file is the subject's own, or one of the environment that its loads map."""
        return path in self.images or self.reached(path)

    @functools.cached_property
    def edges_from(self) -> dict[str, list[Edge]]:
        """The edges of each importer."""
        return grouped((edge.importer, edge) for edge in self.edges)

    @functools.cached_property
    def edges_to(self) -> dict[str, list[Edge]]:
        """The edges that a file of the view answers, by its path."""
        return grouped((edge.file, edge) for edge in self.edges if edge.file)

    @functools.cached_property
    def failures(self) -> tuple[LoadOutcome, ...]:
        """The load events that fail, in their order."""
        return tuple(outcome for outcome in self.outcomes if outcome.code)

    @functools.cached_property
    def caught(self) -> frozenset[str]:
        """The files whose failed load the package's code catches."""
        return frozenset(outcome.event.path for outcome in self.failures if outcome.event.guarded)

    @functools.cached_property
    def caught_by_name(self) -> frozenset[str]:
        """The modules that fail to load, and whose failure is caught by code that imports them by computed names."""
        failed = (outcome.event for outcome in self.failures if outcome.event.cause == "extension")
        return caught_by_name(self.view, frozenset(event.module for event in failed if not event.text))

    @functools.cached_property
    def _backends(self) -> dict[_Group, list[tuple[str, str]]]:
        """The images that may stand for one another, each with the folded name of the DLL that it imports."""
        imports = ((path, item.dll) for path, image in self.images.items() for item in image.imports)
        return grouped((_group_of(path, dll), (dll_key(dll), path)) for path, dll in imports)

    def other_backends(self, edge: Edge) -> list[str]:
        """Return the names of files of the importer's kind that import another release of the DLL, and not this one."""
        group = self._backends.get(_group_of(edge.importer, edge.name), ())
        own = {path for name, path in group if name == dll_key(edge.name)}
        return [base(path) for path in sorted({path for _, path in group} - own)]

    @functools.cached_property
    def failed_chains(self) -> dict[str, tuple[str, ...]]:
        """The chain of the first failed load that ends at a DLL, by the folded name of the DLL."""
        return {dll_key(outcome.chain[-1]): outcome.chain for outcome in reversed(self.failures)}

    @functools.cached_property
    def _failed_for(self) -> dict[str, tuple[str, ...]]:
        """The same without the loads of files that are missing themselves."""
        chains = (outcome.chain for outcome in reversed(self.failures))
        return {dll_key(chain[-1]): chain for chain in chains if len(chain) > 1}

    @functools.cached_property
    def wanted(self) -> frozenset[str]:
        """The folded names of the missing DLLs that something the package loads needs."""
        return frozenset(
            dll_key(edge.name)
            for edge in self.edges
            if edge.is_missing and edge.required and self.reached(edge.importer)
        )

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """The words of the subject's Python code."""
        sources = (source for _, source in python_code(self.view, (b"",)))
        return frozenset(word for source in sources for word in re.findall(r"\w+", source))

    def unread_code(self, *, adding: bool) -> str:
        """Return whose code adds a folder, or loads a DLL, that could not be read from it; nothing if none does.

        Only code counts that importing the package runs.
        """
        calls = (call for call in self.resolution.unread_calls if call.reached)
        found = (call.file for call in calls if (call.function == "add_dll_directory") is adding)
        owners = dict.fromkeys(map(self.owner, found))
        return "the package's code" if "" in owners else f"the code of {' or '.join(owners)}" if owners else ""

    @functools.cached_property
    def has_qt(self) -> bool:
        """Whether the package brings Qt itself."""
        return any(re.fullmatch(r"qt\d?core\w*\.dll", base(path).lower()) for path in self.images)

    @functools.cached_property
    def optional_companions(self) -> dict[str, str]:
        """Folded globs of DLLs that some image loads by name and can do without, with that image's name."""
        found: dict[str, str] = {}
        for path in self.images:
            for need in companions_of(base(path)):
                if not need.required:
                    found.update({fold(name): base(path) for name in need.names})
        return found

    @functools.cached_property
    def loaded_through(self) -> dict[str, str]:
        """For each file that a load event reaches through imports, the importer that is nearest to the event.

        A file that an event names itself maps to the empty string. Events come in their order, so the chain is
        that of the first load that meets the file.
        """
        return self.walk((outcome.event.path for outcome in self.outcomes), lambda edge: True)

    def walk(self, starts: Iterable[str], follow: Callable[[Edge], bool]) -> dict[str, str]:
        """Return the files that loading some files brings in, each with the importer through which it is met first."""
        through = dict.fromkeys(starts, "")
        pending = list(through)
        for importer in pending:  # grows while it is walked: breadth first
            for edge in self.edges_from.get(importer, ()):
                if edge.file and edge.file not in through and follow(edge):
                    through[edge.file] = importer
                    pending.append(edge.file)
        return through

    def chain(self, importer: str, name: str) -> tuple[str, ...]:
        """Return the way from a load event over ``importer`` to a DLL that it asks for, as base names."""
        known = self._failed_for.get(dll_key(name))
        if known is not None:
            return known
        steps = [name, base(importer)]
        while importer := self.loaded_through.get(importer, ""):
            steps.append(base(importer))
        return tuple(reversed(steps))

    def load_of(self, path: str) -> str:
        """Return the file of the load event that brings in a file."""
        while importer := self.loaded_through.get(path, ""):
            path = importer
        return path

    @functools.cached_property
    def processes(self) -> tuple[tuple[str, ...], ...]:
        """Groups of files that are certainly in one process: all that a startup loads, or the closure of one load."""
        events = dict.fromkeys(outcome.event.path for outcome in self.outcomes)
        closures = [tuple(self.walk([path], lambda edge: edge.required)) for path in events]
        if self.startup is None:
            return tuple(closures)
        return (distinct(path for closure in closures for path in closure),)

    @functools.cached_property
    def card(self) -> str | None:
        """The architecture of the card asked about, as ``sm_86``; UsageError for an unknown one."""
        return card_arch(self.options.gpu) if self.options.gpu is not None else None

    def origin(self, path: str) -> str:
        """Return the name a file has in the wheel or on disk, which is what people know it by."""
        return self.view.origin(path)

    def origins(self, paths: Iterable[str]) -> list[str]:
        """Return the names that files have in the wheel or on disk, each once."""
        return list(dict.fromkeys(map(self.origin, paths)))

    def owner(self, path: str) -> str:
        """Return the other distribution that a file of the set belongs to; empty for the subject's own files."""
        beside = self.view.beside
        if beside is None or path not in self.view or path in self.view.own:
            return ""
        return beside.owner(path)

    def reached(self, path: str) -> bool:
        """Whether some load event of the package reaches this file."""
        return path in self.resolution.reached


def inside(path: str) -> str:
    """Return a path of the view as the distribution that has it names it: below site-packages."""
    return path.removeprefix(f"{SITE_PACKAGES}/")


base, folder = base_name, parent


_Group: TypeAlias = "tuple[str, str, str]"
"""A folder, the name of files in it without digits, and the name of a DLL that they import, without digits."""


def _group_of(importer: str, dll: str) -> _Group:
    return folder(importer), _without_digits(base(importer)), _without_digits(dll)


@functools.lru_cache(maxsize=1 << 14)
def _without_digits(name: str) -> str:
    return re.sub("[0-9]+", "#", dll_key(name))


def wanted_cuda(subject: Subject) -> Wanted:
    """Return the CUDA releases that a wheel may have been built with, and how that is known.

    Some packages say it in a file; others in a label such as ``+cu117``, in names that only one release has (CUPTI and
    NVRTC's built-ins), or in the DLLs that they have already. Other names give at least the major version:
    ``cublas64_12.dll`` with ``cufft64_11.dll`` is CUDA 12.
    """
    label, built = named_releases(subject)
    if built is not None:
        return Wanted(frozenset({dotted(built)}), f"{subject.loading.cuda_file} says {dotted(built)}")
    if label is not None:
        return Wanted(frozenset({dotted(label)}), f"its version {version_of(subject)}")
    names = _names(subject)
    exact = {name: releases for name, releases in names.items() if is_versioned_by_patch(name) and releases}
    if exact and len(set(exact.values())) == 1:
        return Wanted(next(iter(exact.values())), f"it uses {', '.join(sorted(exact))}")
    present = present_releases(subject)
    if len(present) == 1:
        return Wanted(frozenset(present), f"the DLLs in it are of CUDA {next(iter(present))}")
    common = frozenset.intersection(*names.values()) if names else frozenset[str]()
    if common:
        return Wanted(common, f"it uses {', '.join(sorted(names)[:4])}")
    if subject.loading.cuda is not None:
        major = release(subject.loading.cuda)[0]
        same = frozenset(dotted(known) for known in cuda_table().releases if known[0] == major)
        return Wanted(same, f"{subject.loading.cuda_file} says {subject.loading.cuda}")
    assumed = subject.profile.cuda
    return Wanted(frozenset({assumed}), f"--assume cuda={assumed}") if assumed else Wanted()


def _names(subject: Subject) -> dict[str, frozenset[str]]:
    """Return the CUDA DLLs that the wheel has or asks for, each with the releases that have such a name."""
    asked = {dll_key(edge.name) for edge in subject.edges if edge.kind is not EdgeKind.COMPANION}
    asked |= {dll_key(load.name) for load in subject.loading.named}
    own = {key_of(path) for path in subject.images}
    names = filter(is_of_nvidia, asked | own)  # before the table is read, which few wheels need
    return {name: releases for name in names if (releases := cuda_versions_for(name))}


def present_releases(subject: Subject) -> set[str]:
    """Return the releases that the versions of the wheel's own CUDA DLLs give exactly."""
    found: set[str] = set()
    for path in subject.images:
        name = base(path)
        if is_of_nvidia(name) and cuda_versions_for(name):
            stated = _of_package(subject, name) or toolkits_of_file(name, subject.version(path))
            found |= stated if len(stated) == 1 else set()
    return found


def _of_package(subject: Subject, name: str) -> frozenset[str]:
    """Return what the version of NVIDIA's own wheel says about a DLL; its version resource may be far back in it."""
    if not canonical(subject.name).startswith("nvidia-"):
        return frozenset()
    stated = toolkits_of(name, dotted_numbers(subject.distribution.version))
    return stated if len(stated) == 1 and stated <= cuda_versions_for(name) else frozenset()


def version_of(subject: Subject) -> str:
    """Return the version with its label, which the file name may escape: ``2.0.1_cu117`` is ``2.0.1+cu117``."""
    version = subject.distribution.version or subject.loading.version
    return version.replace("_", "+", 1)


def named_releases(subject: Subject) -> tuple[Release | None, Release | None]:
    """Return the CUDA release that the version's label names, and the one that the package says it was built with."""
    built = built_for(subject)
    return release_of_local_version(version_of(subject)), built


def built_for(subject: Subject) -> Release | None:
    """Return the CUDA release that the package itself says it was built with, in a file of its own.

    None where any release of the same major serves as well.
    """
    loading = subject.loading
    return release(loading.cuda) if loading.cuda and not loading.any_minor else None

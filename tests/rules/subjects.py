"""Builds small subjects for the rules: files, who needs whom, and what the package loads."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.wheels import ALONE, build_wheel
from wheelfix.archive.faults import ArchiveFault
from wheelfix.base.options import ScanOptions
from wheelfix.base.values import replace
from wheelfix.exam.scan import scan
from wheelfix.loader.packageloading import ORDINARY, PackageLoading
from wheelfix.loader.packages.torch import recognise
from wheelfix.loader.places import Distribution
from wheelfix.loader.profile import Profile
from wheelfix.loader.view import FileView, ViewFile
from wheelfix.model import (
    Edge,
    EdgeKind,
    Exports,
    FileVersion,
    Finding,
    Image,
    ImageFacts,
    Import,
    InView,
    LoadEvent,
    LoadOutcome,
    Machine,
    Missing,
    Provider,
    Resolution,
    ScanReport,
    Signature,
    Symbol,
)
from wheelfix.pe.gpucode import GpuCode, read_gpu_code
from wheelfix.pe.version import read_version
from wheelfix.rules import registry
from wheelfix.rules.context import ArchiveFacts, Subject, signature_reader
from wheelfix.streams.source import MemorySource

SITE = "Lib/site-packages/"
LIB = SITE + "torch/lib/"


def dll(
    *imports: str | Import,
    delay: Iterable[str] = (),
    exports: Iterable[Symbol] = (),
    forwarders: Mapping[Symbol, str] | None = None,
    machine: Machine = Machine.AMD64,
    size: int = 4096,
    is_dll: bool = True,
    linker: tuple[int, int] = (14, 29),
    managed: bool = False,
    oddities: tuple[str, ...] = (),
) -> Image:
    """Return the facts of an image that imports these DLLs."""
    names = [*exports, *(forwarders or {})]
    return Image(
        machine=machine,
        size=size,
        is_dll=is_dll,
        imports=tuple(item if isinstance(item, Import) else Import(item) for item in imports),
        delay_imports=tuple(Import(name) for name in delay),
        exports=Exports(
            frozenset(name for name in names if isinstance(name, str)),
            frozenset(name for name in names if isinstance(name, int)),
            dict(forwarders or {}),
        ),
        linker=linker,
        managed=managed,
        oddities=oddities,
    )


def edge(
    importer: str,
    name: str,
    provider: Provider | str | None = None,
    kind: EdgeKind = EdgeKind.IMPORT,
    *,
    required: bool = True,
    unexported: tuple[Symbol, ...] = (),
    because: str = "",
) -> Edge:
    """Return an edge; a provider given as text is a file of the view, none means missing."""
    answer = InView(provider) if isinstance(provider, str) else provider or Missing(("<System32>",))
    return Edge(importer, name, kind, answer, required, because=because, unexported=unexported)


def loads(path: str, code: int = 0, chain: tuple[str, ...] = ()) -> LoadOutcome:
    """Return the outcome of a load that the package performs."""
    return LoadOutcome(LoadEvent(path, "torch-glob" if "torch/lib" in path else "extension"), code, chain)


def wheel(
    name: str = "demo",
    version: str = "1.0",
    tags: tuple[str, ...] = ("cp311-cp311-win_amd64",),
    requires: tuple[str, ...] = (),
    requires_python: str = "",
) -> Distribution:
    """Return what a wheel says about itself."""
    info = f"{SITE}{name}-{version}.dist-info"
    return Distribution(name, version, info, requires=requires, tags=tags, requires_python=requires_python)


def torch(cuda: str | None = None, version: str = "2.7.1") -> PackageLoading:
    """Return how a torch package loads its DLLs."""
    package = {"__init__.py": "", "version.py": f"__version__ = {version!r}\ncuda = {cuda!r}\n", "lib/c10.dll": ""}
    files = [
        ViewFile(f"{SITE}torch/{name}", name, len(text), functools.partial(MemorySource, text.encode()))
        for name, text in package.items()
    ]
    found = recognise(FileView(files))
    assert found is not None
    return found


def subject(
    images: Mapping[str, ImageFacts],
    edges: Iterable[Edge] = (),
    *,
    events: Iterable[LoadOutcome] = (),
    reached: Iterable[str] = (),
    machine: Machine = Machine.AMD64,
    wheel: Distribution | None = None,
    archive_faults: tuple[ArchiveFault, ...] = (),
    record_faults: tuple[ArchiveFault, ...] = (),
    torch: PackageLoading | None = None,
    versions: Mapping[str, tuple[int, int, int, int]] | None = None,
    products: Mapping[str, str] | None = None,
    archs: Mapping[str, tuple[str, ...]] | None = None,
    gpu: str | None = None,
    signatures: Mapping[str, Signature] | None = None,
    contents: Mapping[str, bytes] | None = None,
    sources: Mapping[str, str] | None = None,
    search_dirs: tuple[str, ...] = (),
) -> Subject:
    """Return a subject; what events name is reached, and so is what they import from the view."""
    outcomes = tuple(events)
    known = {path: FileVersion(version) for path, version in (versions or {}).items()}
    known |= {path: FileVersion(strings={"ProductName": product}) for path, product in (products or {}).items()}
    data = {path: (contents or {}).get(path, b"") for path in images}
    data |= {path: text.encode() for path, text in (sources or {}).items()}
    sizes = {path: facts.size for path, facts in images.items()}
    files = [
        ViewFile(path, path.removeprefix(SITE), sizes.get(path, len(own)), functools.partial(MemorySource, own))
        for path, own in data.items()
    ]
    resolution = Resolution(tuple(edges), outcomes, frozenset(), search_dirs)
    view = FileView(files, dict(images))
    thing = Subject(
        view=view,
        profile=Profile(machine, (3, 11)),
        resolution=resolution,
        distribution=wheel or Distribution(""),
        options=ScanOptions(gpu=gpu, signatures=True),
        facts=ArchiveFacts(None, archive_faults, record_faults),
        loading=torch or ORDINARY,
    )
    signer = signature_reader(thing.options.roots.trusted_roots)
    for path in images:
        code_of_path = code(*(archs or {})[path]) if path in (archs or {}) else None
        view.details[read_version, path] = known.get(path)
        view.details[read_gpu_code, path] = code_of_path
        view.details[signer, path] = (signatures or {}).get(path)
    arrived = thing.walk((one.event.path for one in outcomes), lambda item: item.required)
    return replace(thing, resolution=replace(resolution, reached=frozenset({*reached, *arrived})))


def linked(
    *edges: Edge,
    loaded: Iterable[str | LoadOutcome] = (),
    images: Mapping[str, ImageFacts] | None = None,
    **more: Any,
) -> Subject:
    """Return a subject with the files that these edges name, each of which imports what it asks for, and others."""
    asked = {item.provider.path: [] for item in edges if isinstance(item.provider, InView)}
    for item in edges:
        if "/" in item.importer:
            asked.setdefault(item.importer, []).append(item.name)
    files = {path: dll(*names) for path, names in asked.items()} | dict(images or {})
    events = [loads(one) if isinstance(one, str) else one for one in loaded]
    return subject(files, edges, events=events, **more)


def code(*archs: str) -> GpuCode:
    """Return GPU code; an architecture may come with its version of PTX: ``ptx_35@7.8``."""
    ptx = {}
    for arch in archs:
        name, _, version = arch.partition("@")
        if version:
            major, _, minor = version.partition(".")
            ptx[name] = int(major), int(minor)
    return GpuCode({arch.partition("@")[0]: 1 for arch in archs}, ptx)


def scanned(folder: Path, files: Mapping[str, str | bytes], name: str = "pkg") -> ScanReport:
    """Return the report about a wheel with these files; this machine is not searched for DLLs."""
    return scan(build_wheel(folder, name, files=files), ALONE)


def run(thing: Subject, *codes: str) -> list[Finding]:
    """Return what the rules with these codes find."""
    return list(registry.run(thing, select=codes))


def codes(thing: Subject | ScanReport, *chosen: str) -> list[str]:
    """Return the codes of what is found, all or some of it, with severities: ``WF301:error``."""
    found = registry.run(thing) if isinstance(thing, Subject) else thing.findings
    return [f"{item.code}:{item.severity}" for item in found if item.code.startswith(chosen or "WF")]

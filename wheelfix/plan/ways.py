"""The ways in which a wheel can have the DLLs of vendors: inside of it, from wheels that it requires, from a toolkit.

``repair --via wheels`` makes a wheel that requires distributions instead of holding copies of their DLLs. Windows does
not look into the folders of other distributions, so the package gets a few lines of Python that load the DLLs first.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import zlib
from typing import TYPE_CHECKING

from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.names import installed_path, unprintable, why_unsafe
from wheelfix.base.parsing import as_requirement, as_specifiers, dotted_numbers
from wheelfix.base.values import distinct, grouped, replace
from wheelfix.errors import CannotRepair, UsageError
from wheelfix.exam.examine import examine_again
from wheelfix.knowledge.cuda import cuda_part, toolkits_of
from wheelfix.knowledge.provider_index import provider_index, vendor_of
from wheelfix.knowledge.providers import owners_of, pip_packages
from wheelfix.loader.packagecode import toolkit_code
from wheelfix.loader.packageloading import adds_toolkit, loading_of
from wheelfix.loader.resolve import resolve
from wheelfix.loader.view import SITE_PACKAGES, FileView, ViewFile, base_name, key_of, parent
from wheelfix.model import Edge, canonical, dll_key
from wheelfix.plan.model import Addition, Chosen, Remaining, Supplied, Way
from wheelfix.pycode.budget import OutOfBudget, parse_code
from wheelfix.roots.release import broken_requirements
from wheelfix.streams.source import MemorySource, chunks, sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wheelfix.base.options import RepairOptions
    from wheelfix.exam.examination import Examination
    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.root import RootFile
    from wheelfix.rules.context import Subject

_SUPPLIERS = frozenset({"NVIDIA Corporation", "Intel Corporation"})
"""Vendors whose distributions hold nothing but libraries for others; msvc-runtime is for Python itself."""


def is_supplied(name: str) -> bool:
    """Whether a vendor has a distribution on the package index for a DLL of that name."""
    return any(vendor_of(owner.distribution) in _SUPPLIERS for owner in owners_of(name))


def is_supply(file: RootFile) -> bool:
    """Whether a file of a root is the member of such a distribution: of its wheel, or installed by pip."""
    return file.root.kind in ("wheel", "pip") and vendor_of(canonical(file.package)) in _SUPPLIERS


def same_bytes(own: ViewFile, file: RootFile, index: RootIndex, *, preview: bool) -> bool:
    """Whether a file of the wheel is that of a root, byte by byte; a ``preview`` downloads nothing to find out."""
    if own.size != file.size:
        return False
    packed = index.packed(file) if preview and file.root.remote is not None else None
    if packed is not None:
        return functools.reduce(lambda crc, piece: zlib.crc32(piece, crc), chunks(own.open()), 0) == packed[1].crc
    return sha256_of(own.open()) == index.sha256(file)


# ---------------------------------------------------------------------------------------------------- --via wheels


def supplies(chosen: Iterable[Chosen], index: RootIndex, before: Examination) -> tuple[Supplied, ...]:
    """Return the distributions that provide the chosen files; CannotRepair if they do not go together."""
    path, cuda = before.report.path, before.subject.cuda.text
    cuda = cuda if "." in cuda else ""
    files = {entry.file for entry in chosen if entry.file is not None}
    by_folder = grouped(
        ((canonical(file.package), file.version_hint, _installed_folder(file, index)), file)
        for file in sorted(files, key=lambda file: file.key)
    )
    versions = dict[str, str]()
    for name, version, _ in by_folder:
        if versions.setdefault(name, version) != version:
            raise CannotRepair(
                f"{path} cannot rely on the wheels of {name}",
                because=f"some of its DLLs are those of {versions[name]}, others those of {version}",
                hint="--via vendor keeps both",
            )
    _check_together(files, index, path, before.subject.distribution.requires)
    names = {name: [file.name for key, own in by_folder.items() if key[0] == name for file in own] for name in versions}
    found = tuple(
        Supplied(
            requirement=name + version_range(name, version, names[name], cuda),
            version=version,
            folder=folder,
            names=tuple(file.name for file in own),
            size=sum(file.size for file in own),
        )
        for (name, version, folder), own in sorted(by_folder.items())
    )
    if fault := next(filter(None, map(supply_fault, found)), ""):
        raise CannotRepair(f"{path} cannot rely on these wheels", because=fault)
    return found


def supply_fault(one: Supplied) -> str:
    """Return why a distribution is not one that a repair makes a wheel require; empty if it is."""
    try:
        wanted = as_requirement(one.requirement)
    except ValueError:
        return f"{one.requirement!r} is not a requirement"
    plain = f"{wanted.name}>={one.version},<" in one.requirement and not (wanted.marker or wanted.url or wanted.extras)
    if not plain or "\n" in one.requirement or vendor_of(canonical(wanted.name)) not in _SUPPLIERS:
        return f"{one.requirement!r} is not a range of versions of a vendor's distribution"
    unsafe = next((name for name in (one.folder, *one.names) if why_unsafe(name) or unprintable(name)), "")
    return f"{unsafe!r} is not a name in {one.requirement}" if unsafe else ""


def _installed_folder(file: RootFile, index: RootIndex) -> str:
    """Where an installer puts the file, below the prefix."""
    if file.root.kind == "wheel":
        return parent(installed_path(file.path, WheelInfo.from_archive(index.archive_of(file.root)).data))
    folder, found, below = parent(file.path).rpartition("site-packages/")
    return f"{SITE_PACKAGES}/{below}" if found else folder or below


def _check_together(files: Iterable[RootFile], index: RootIndex, path: str, requires: Iterable[str]) -> None:
    """CannotRepair if one distribution refuses the version of another one: no installer could install both."""
    wheels = {file.root for file in files if file.root.kind == "wheel"}
    read = {root: WheelInfo.from_archive(index.archive_of(root)).metadata.requires_dist for root in wheels}
    broken = broken_requirements([replace(root, requires=own) for root, own in read.items()], requires)
    if broken:
        raise CannotRepair(
            f"{path} cannot rely on these wheels",
            because=[f"it, or one of them, requires {name}{specifier}" for name, specifier in broken],
            hint="name wheels with --root that fulfil what they require of each other, or use --fetch",
        )


def version_range(distribution: str, version: str, names: Sequence[str], cuda: str) -> str:
    """Return the versions that serve: from the one that was looked at, as long as the major and the DLLs stay.

    Vendors keep what a library exports within a major version. The range ends before a version that is known not to
    have one of the DLLs, or to have it in another folder, and, for a wheel that is made for one release of CUDA,
    before one of another release.
    """
    index = provider_index()
    first = {dll.name: dll.folder for dll in index.shipped_by(distribution, version) or ()}
    keys = [*map(dll_key, names)]

    def serves(later: str) -> bool:
        having = {dll.name: dll.folder for dll in index.shipped_by(distribution, later) or ()}
        there = all(key in having and first.get(key, having[key]) == having[key] for key in keys)
        toolkits = [toolkits_of(key, dotted_numbers(later)) for key in keys if cuda]
        return there and all(cuda in some for some in toolkits if some)

    major = dotted_numbers(version)[0]
    later = as_specifiers(f">{version},<{major + 1}").filter(wheel.version for wheel in index.looked_at(distribution))
    return f">={version},<{next((one for one in later if not serves(one)), major + 1)}"


def with_requirements(metadata: bytes, supplied: Iterable[Supplied]) -> bytes:
    """Return METADATA with the requirements, before the empty line that ends its fields; those it has stay."""
    new = dict.fromkeys(f"Requires-Dist: {one.requirement}".encode() for one in supplied)
    lines = metadata.splitlines(keepends=True)
    end = next((number for number, line in enumerate(lines) if not line.strip(b"\r\n")), len(lines))
    ending = b"\r\n" if lines[:1] and lines[0].endswith(b"\r\n") else b"\n"
    fields = [line if line.endswith((b"\r", b"\n")) else line + ending for line in lines[:end]]
    known = {line.rstrip(b"\r\n") for line in fields}
    return b"".join([*fields, *(line + ending for line in new if line not in known), *lines[end:]])


_CODE = '''\
def _wheelfix_load_dlls():
    """Load the DLLs of required distributions, whose folders Windows does not search; written by wheelfix."""
    import ctypes
    import os
    import sys
    import sysconfig

    places = [*sys.path, sys.prefix, sys.base_prefix, sysconfig.get_config_var("userbase") or ""]
    found = []
    for folder, names in (
{folders}
    ):
        for place in filter(os.path.isabs, places):
            path = os.path.join(place, *folder.split("/"))
            if os.path.isfile(os.path.join(path, names[0])):
                os.add_dll_directory(path)
                found += [os.path.join(path, name) for name in names]
                break
    for path in found:
        try:
            ctypes.WinDLL(path)
        except OSError:
            pass  # what needs it reports that


_wheelfix_load_dlls()
del _wheelfix_load_dlls
'''
MARK = b"def _wheelfix_load_dlls("


def with_loading_code(source: bytes, supplied: Iterable[Supplied], where: str) -> bytes:
    """Return an ``__init__.py`` that loads the DLLs before anything else; CannotRepair if it has no place for that."""
    if MARK in source:
        return source
    rows = []
    for one in supplied:
        rows.append(f"        ({json.dumps(one.folder.removeprefix(f'{SITE_PACKAGES}/'))}, {json.dumps(one.names)}),")
    lines = source.splitlines(keepends=True)
    at = _first_statement(source, lines, where)
    ending = b"\r\n" if lines[:1] and lines[0].endswith(b"\r\n") else b"\n"
    code = _CODE.format(folders="\n".join(rows)).encode().replace(b"\n", ending)
    before = b"".join(lines[:at])
    if before and not before.endswith((b"\n", b"\r")):
        before += ending
    return before + (ending if before else b"") + code + ending * 2 + b"".join(lines[at:])


def _first_statement(source: bytes, lines: Sequence[bytes], where: str) -> int:
    """Return the number of lines before the first statement that may not stay first: docstring and ``__future__``."""
    try:
        body = parse_code(source.decode("utf-8-sig", "replace")).body
    except OutOfBudget as exc:
        raise _no_place(where, str(exc)) from exc
    first = [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    if body and isinstance(body[0], ast.Expr) and isinstance(getattr(body[0].value, "value", None), str):
        first.insert(0, body[0])  # type: ignore[arg-type]
    if not first:
        return next((n for n, line in enumerate(lines[:2]) if not line.startswith((b"#", b"\xef\xbb\xbf#"))), 2)
    end = first[-1].end_lineno or 0
    if any(node.lineno == end for node in body if node not in first):
        raise _no_place(where, f"its line {end} has several statements")
    return end


def _no_place(where: str, because: str) -> CannotRepair:
    return CannotRepair(
        f"{where} cannot get the code that loads DLLs of required distributions",
        because=because,
        hint="--via vendor puts the DLLs into the wheel",
    )


def relying(
    before: Examination, view: FileView, supplied: Sequence[Supplied], files: Iterable[RootFile], index: RootIndex
) -> tuple[Examination, FileView, tuple[str, ...]]:
    """Return the wheel as it is with its requirements installed, and the Python files that get loading code.

    The files of these distributions lie in the view where an installer puts them, so that the model loads them for
    real. Code is added only where something is not found without it.
    """
    subject = before.subject
    folders = {dll_key(name): one.folder for one in supplied for name in one.names}
    installed = FileView(
        ViewFile(f"{folders[file.key]}/{file.name}", file.location, file.size, functools.partial(index.open, file))
        for file in files
    )
    metadata = f"{subject.distribution.dist_info}/METADATA"
    if metadata not in view:
        raise CannotRepair(f"{before.report.path} cannot require anything", because="it has no METADATA")
    new = [_changed(view, metadata, with_requirements(_read(view, metadata), supplied))]
    requires = distinct((*subject.distribution.requires, *(one.requirement for one in supplied)))
    distribution = replace(subject.distribution, requires=requires)
    before = replace(before, subject=replace(subject, distribution=distribution))
    plain = view.changed(added=new).over(installed)
    missed = _not_found(plain, before.subject, folders.keys())
    if not missed:
        return before, plain, ()
    patched = distinct(_init_of(plain, edge.importer) for edge in missed)
    code = [_changed(view, path, with_loading_code(_read(view, path), supplied, view.origin(path))) for path in patched]
    result = view.changed(added=[*new, *code]).over(installed)
    for edge in _not_found(result, before.subject, folders.keys()):
        raise _no_place(view.origin(patched[0]), f"{base_name(edge.importer)} would not find {edge.name} even so")
    return before, result, tuple(map(view.origin, patched))


def _read(view: FileView, path: str) -> bytes:
    file = view.file(path)
    return file.open().read_at(0, file.size)


def _changed(view: FileView, path: str, data: bytes) -> ViewFile:
    return ViewFile(path, view.origin(path), len(data), functools.partial(MemorySource, data))


def _not_found(view: FileView, subject: Subject, names: Iterable[str]) -> list[Edge]:
    """Return the imports of some DLLs that the loader does not find, although they are installed."""
    wanted, own = frozenset(names), frozenset(view.image_paths)
    edges = resolve(view, subject.profile, subject.distribution.requires).edges
    return [edge for edge in edges if dll_key(edge.name) in wanted and not edge.file and edge.importer in own]


def _init_of(view: FileView, path: str) -> str:
    """Return the ``__init__.py`` that runs first when anything in the package of a file is imported."""
    parts = parent(path).removeprefix(SITE_PACKAGES).strip("/").split("/")
    for depth in range(1, len(parts) + 1):
        init = view.find("/".join([SITE_PACKAGES, *parts[:depth]]), "__init__.py")
        if init is not None and parts[0]:
            return init
    raise _no_place(view.origin(path), "no Python code of the wheel runs before it is loaded: it is in no package")


# --------------------------------------------------------------------------------------------------- --via toolkit


def assumed_toolkit(before: Examination, options: RepairOptions) -> tuple[Examination, RepairOptions]:
    """Return the examination on a machine with the toolkit, and the options that say so.

    CannotRepair if the package does not search for one.
    """
    subject, path = before.subject, before.report.path
    if not searches_toolkit(subject.view):
        raise CannotRepair(
            f"{path} cannot rely on an installed CUDA toolkit",
            because="its code does not add the toolkit's folder to the DLL search, and Python does not search PATH",
            hint="--via wheels makes it require NVIDIA's wheels, --via vendor puts the DLLs into it",
        )
    cuda = subject.profile.cuda or subject.cuda.text
    if "." not in cuda:
        because = "the wheel does not say for which CUDA it is made"
        raise UsageError("--via toolkit", because=because, hint="add --assume cuda=12.4")
    scan = replace(options.scan, assume=(*options.scan.assume, f"cuda={cuda}"))
    options = replace(options, scan=scan)
    return examine_again(before, subject.view, subject.facts, options), options


def searches_toolkit(view: FileView) -> bool:
    """Whether code of the package adds the folder of an installed CUDA toolkit, so that its DLLs are found."""
    loading = loading_of(view)
    if loading.startup is not None:
        return adds_toolkit(loading, view)
    return any(True for _ in toolkit_code(view))


# ------------------------------------------------------------------------------------------------- the ways in words


def ways(before: Examination, additions: Iterable[Addition], remaining: Iterable[Remaining]) -> tuple[Way, ...]:
    """Return the ways in which the wheel can have the DLLs of vendors; none for a wheel that needs none."""
    view, cuda = before.subject.view, before.subject.cuda.text
    sizes = {key_of(path): view.file(path).size for path in view.image_paths}
    sizes |= {dll_key(one.name): one.size for one in additions}
    sizes = {key: size for key, size in sizes.items() if is_supplied(key)}
    lost = sorted(item.name for item in remaining if item.required and is_supplied(item.name))
    if not sizes and not lost:
        return ()
    driver = "nothing but the driver" if cuda else "nothing else"
    nowhere = f" (not counted: {', '.join(lost)}, which no root has)" if lost else ""
    found = [Way("vendor", sum(sizes.values()), driver + nowhere)]
    known = [pip_packages(name, cuda=cuda or None)[:1] for name in (*sizes, *map(dll_key, lost))]
    if all(known):  # the index has no CUDA 11.4
        required = sorted({re.split(r"[^\w.-]", text)[0] for several in known for text in several})
        found.append(Way("wheels", 0, f"{', '.join(required)}, which pip installs with it"))
    if "." in cuda and searches_toolkit(view):
        inside = sum(size for key, size in sizes.items() if not cuda_part(key, cuda))
        found.append(Way("toolkit", inside, f"CUDA {cuda} from its own installer"))
    return tuple(found)

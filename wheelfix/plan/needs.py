"""What a view still needs that the options want vendored, where it goes, and why a candidate is refused for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.values import distinct, replace
from wheelfix.knowledge.companions import companions_of
from wheelfix.knowledge.families import family_of
from wheelfix.loader.evidence import FOLDER_NOT_CHECKED
from wheelfix.loader.view import SITE_PACKAGES, FileView, base_name, parent
from wheelfix.model import (
    TRUSTED,
    CodeFault,
    Edge,
    EdgeKind,
    Image,
    Missing,
    OwnedBy,
    Resolution,
    Signature,
    Symbol,
    canonical,
    dll_key,
)
from wheelfix.plan.ways import is_supplied, is_supply
from wheelfix.pycode.sourcecode import python_code
from wheelfix.roots.choice import Needer, Objection, gpu_objection, objection_of_parts
from wheelfix.roots.host import card_arch
from wheelfix.roots.release import LEARNED, Wanted, group_of, unfulfilled
from wheelfix.rules.dependencies import Need, gather
from wheelfix.rules.gpufit import Fit, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wheelfix.base.options import RepairOptions
    from wheelfix.exam.examination import Examination
    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.root import Required, RootFile
    from wheelfix.rules.context import Subject


def unmet_needs(view: FileView, resolution: Resolution, options: RepairOptions, cuda: str | None) -> Iterator[Need]:
    """Everything that images of the view ask for and that has no provider, as far as the policy wants it vendored.

    With ``--via wheels`` also what a required distribution has where it is not known to be found.
    """
    unmet = (edge for edge in resolution.edges if edge.importer in view and _wanted(edge, options.companions))
    if options.via == "wheels":
        unmet = (replace(edge, provider=Missing()) if _out_of_reach(edge) else edge for edge in unmet)
    unmet = (edge for edge in unmet if edge.is_missing)
    for need in gather(unmet, lambda edge: edge.importer in resolution.reached):
        yield _with_alternatives(need, cuda)


def _wanted(edge: Edge, companions: str) -> bool:
    if edge.kind is not EdgeKind.COMPANION:
        return True
    return companions == "all" or (companions == "required" and edge.strength != "optional")


def _out_of_reach(edge: Edge) -> bool:
    """Whether a vendor's distribution has a DLL in a folder that is not searched, as far as is known."""
    found = edge.provider
    if not isinstance(found, OwnedBy) or not is_supplied(edge.name):
        return False
    return not found.reachable or found.because == FOLDER_NOT_CHECKED


def _with_alternatives(need: Need, cuda: str | None) -> Need:
    """The need with the other names that the table of companions allows for it."""
    if need.kind is EdgeKind.COMPANION:
        for companion in companions_of(base_name(need.first.importer), cuda=cuda):
            if companion.name == need.name:
                return replace(need, other_names=companion.names[1:], patterns=companion.globs)
    return need


def destinations(need: Need, startup_lib: str | None, added_dirs: Iterable[str]) -> tuple[str, ...]:
    """The folders into which the DLL must go so that everyone who asks finds it.

    torch loads its own folder; a package that adds a DLL folder of its own searches that for every load, above all the
    ``.libs`` that delvewheel made; otherwise the DLL goes beside each image that needs it.
    """
    if startup_lib is not None and any(path.startswith(parent(startup_lib) + "/") for path in need.importers):
        return (startup_lib,)
    folders = distinct(parent(path) for path in need.importers)
    own = [folder for folder in added_dirs if not folder.startswith("@")]
    libs = [folder for folder in own if folder.endswith(".libs")]
    if libs:
        return (libs[0],)
    if own and (len(folders) > 1 or folders[0] in own):
        return (folders[0],) if folders[0] in own else (own[0],)
    return folders


def places_in_code(fault: CodeFault) -> tuple[str, ...]:
    """The paths at which code looks for a DLL that it loads, in its order; a bare name only where it is sure to fail.

    What a package may leave to the machine has a bare name; a path in the package is its own.
    """
    if fault.cause not in ("load", "cffi", "raise") or fault.chain:
        return ()
    found = []
    for name in dict.fromkeys((*fault.missed, *fault.names)):
        folders = fault.searched if fault.sure else ()
        found += [name] if "/" in name else [f"{folder}/{name}" for folder in folders]
    return tuple(path for path in found if path.startswith(f"{SITE_PACKAGES}/") and parent(path) != SITE_PACKAGES)


def asked_by_code(view: FileView, fault: CodeFault, name: str) -> Need:
    """The need of code that loads a DLL by itself."""
    absent = Missing(searched=fault.searched, present_at=tuple(view.named(dll_key(name))))
    return Need(name, (Edge(fault.file, name, EdgeKind.COMPANION, absent, required=True),))


def family_companions(name: str, cuda: str | None) -> tuple[str, ...]:
    family = family_of(name)
    needs = companions_of(name, cuda=cuda) if family else ()
    found = (need.names[0] for need in needs if need.names and need.required)
    return tuple(other for other in found if family_of(other) == family)


WORDS = {
    "untrusted-root": "has a signature that leads to no trusted root",
    "invalid": "has an invalid signature",
    "not-checked": "has a signature that was not checked",
}


def objections(
    index: RootIndex, options: RepairOptions, unmet: Mapping[RootFile, str] | None, required: Required
) -> Callable[[RootFile], Objection | None]:
    """Return the first objection to a candidate, those that reject it before those that only rank it lower.

    ``unmet`` names, for some candidates, a DLL that they import and that no root has; ``required`` is what wheels on
    the package index require of each other.
    """
    checks: list[Callable[[RootFile], Objection | None]] = []
    if required:
        checks.append(lambda file: _refused_by_others(file, required))
    if options.via == "wheels":
        checks.append(lambda file: NOT_OF_A_WHEEL if is_supplied(file.name) and not is_supply(file) else None)
    if options.require_signed:
        checks.append(objection_of_parts(index, lambda part: _unsigned(index.signature(part)), fatal=True))
    if options.scan.gpu is not None:
        card = card_arch(options.scan.gpu)
        checks.append(gpu_objection(index, card, lambda archs: fit(archs, card) is not Fit.NONE))
    if unmet:
        checks.append(lambda file: Objection(f"it imports {unmet[file]}, which no root has") if file in unmet else None)

    def objection(file: RootFile) -> Objection | None:
        return next((found for check in checks if (found := check(file)) is not None), None)

    return objection


NOT_OF_A_WHEEL = Objection(
    "--via wheels takes it from a wheel of its vendor; name one with --root, or add --fetch", fatal=True
)


def _refused_by_others(file: RootFile, required: Required) -> Objection | None:
    broken = unfulfilled(canonical(file.package), file.root.version, required) if file.root.learned == LEARNED else ""
    return Objection(f"another wheel that DLLs are taken from requires {broken}", fatal=True) if broken else None


def _unsigned(signature: Signature) -> str:
    trusted = signature.status == TRUSTED
    return "" if trusted else f"{signature_in_words(signature)}, and --require-signed was given"


def signature_in_words(signature: Signature) -> str:
    """Return what is wrong with a signature, as words that follow the file's name."""
    if signature.status == "unsigned":
        return "is not signed"
    return f"{WORDS[signature.status]} ({signature.reason})" if signature.reason else WORDS[signature.status]


_PATCH = re.compile(r"^def _delvewheel_(?:init_)?patch_(\d+(?:_\d+)*)\(", re.MULTILINE)


def processed_by(before: Examination) -> str:
    """Return the delvewheel that has processed a wheel, as far as it says so; empty if none has."""
    info, view = before.subject.facts.info, before.subject.view
    text = view.read_text(f"{SITE_PACKAGES}/{info.dist_info}/DELVEWHEEL") if info else None
    if text is not None:
        first = text.partition("\n")[0].strip()
        return first.removeprefix("Version: ") if first.startswith("Version: ") else "(unknown version)"
    for _, source in python_code(view, (b"_delvewheel_",)):  # early releases left only their patch
        patch = _PATCH.search(source)
        if patch is not None:
            return patch[1].replace("_", ".")
    return ""


def needers(view: FileView, need: Need, name: str) -> tuple[Needer, ...]:
    """Return who asks for a DLL, with the symbols that each of them imports from it."""
    found = []
    for path in need.importers:
        image = view.image(path)
        found.append(Needer(view.origin(path), _symbols(image, name) if isinstance(image, Image) else ()))
    return tuple(found)


def _symbols(image: Image, name: str) -> tuple[Symbol, ...]:
    key = dll_key(name)
    tables = (*image.imports, *image.delay_imports)
    return tuple(symbol for entry in tables if dll_key(entry.dll) == key for symbol in entry.symbols)


def wanted_release(group: str, subject: Subject) -> Wanted:
    """Return what the wheel was built with: its CUDA, or the release of the same libraries that it has already."""
    if group == "cuda":
        return subject.cuda
    for path in subject.images:
        version = subject.version(path) if group_of(base_name(path)) == group else None
        if version is not None and any(version.file):
            release = f"{version.file[0]}.{version.file[1]}"
            return Wanted(frozenset({release}), f"{base_name(path)} in it is of {release}")
    return Wanted()

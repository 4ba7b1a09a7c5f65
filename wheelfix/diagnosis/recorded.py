"""What recorded loads show: the first failure with its chain, and where a record and the model of the files differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.diagnosis.model import Explained, ScannedPackage
from wheelfix.diagnosis.symptoms.causes import cause_by_id, explain_symptom
from wheelfix.diagnosis.symptoms.model import (
    Confidence,
    RecordedLoad,
    Recording,
    Symptom,
    base_name,
    in_windows_folder,
    package_of,
)
from wheelfix.knowledge.system import classify
from wheelfix.loader.view import base_name as view_name
from wheelfix.model import Edge, EdgeKind, InView, Missing, dll_key, fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


KIND = "recorded-load"
WINE_KIND = "wine-own"
"""The same for a DLL that is part of Wine."""
_SHOWN = 6
_PROVIDED = frozenset({"system", "api-set", "driver"})


def describe(recording: Recording) -> str:
    """Return a recording in a few words."""
    if recording.imports:
        return f"{recording.tool}: {len(recording.imports)} imports listed"
    parts = [f"{len(recording.loaded)} DLLs {'found' if recording.static else 'loaded'}"]
    if recording.failed:
        parts.append(f"{len(recording.failed)} {'not found' if recording.static else 'failed'}")
    if recording.released:
        parts.append(f"{len(recording.released)} released again")
    return f"{recording.tool}: {', '.join(parts)}"


def explain_recording(recording: Recording, cases: Sequence[ScannedPackage]) -> list[Explained]:
    """Return the failures of a recording as causes, the first one first."""
    found = [_explained(recording, load, cases) for load in _relevant(recording)]
    if not found and recording.released:
        found = [_explain_released(recording, cases)]
    return found


# -------------------------------------------------------------------------------------------------- named failures


def _relevant(recording: Recording) -> list[RecordedLoad]:
    """The failures that stop an import: not Windows' own attempts, nor loads that code tries by name and can miss."""
    mine = [load for load in recording.failed if not load.key.startswith("ext-ms-")]
    mine = [load for load in mine if load.needed_by or not load.key.startswith("api-ms-win-")]
    mine = [load for load in mine if not in_windows_folder(load.needed_by)]
    if recording.static:
        # A listing calls parts of Windows not found that Windows has under other names, or only some editions have.
        mine = [load for load in mine if classify(load.name).kind not in _PROVIDED] or mine[:1]
    if not mine and recording.tool == "Wine":
        # Wine's own DLLs are files like any others: an incomplete installation, or a prefix without them.
        mine = [load for load in recording.failed if not load.key.startswith("ext-ms-")][:1]
    imported = [load for load in mine if load.needed_by or load.symbol or load.code != 126]
    if imported:
        return imported[:_SHOWN]
    # A process that goes on after a failed load was able to do without it; the last one may have ended it.
    return mine[:1] if recording.static else mine[-1:]


def _explained(recording: Recording, load: RecordedLoad, cases: Sequence[ScannedPackage]) -> Explained:
    symptom = _symptom(recording, load)
    table = explain_symptom(symptom) or cause_by_id("load-failed", symptom)
    certain = bool(load.needed_by or load.symbol or load.path) and not recording.static
    cause = replace(
        table,
        summary=table.summary if symptom.kind == WINE_KIND else _summary(load),
        likely_missing=(load.name,) if load.code == 126 else (),
        confidence=Confidence.SURE if certain else Confidence.LIKELY,
    )
    blamed = next((case for case in cases if _has(case, load)), None)
    item = blamed.missing.get(load.key) if blamed is not None and load.code == 126 else None
    names = [base_name(path) for path in (load.top, load.needed_by) if path] + [load.name]
    chain = item.chain if item is not None and item.chain else tuple(dict.fromkeys(names))
    return Explained(cause, symptom, chain, _how_known(recording, load), blamed.name if blamed is not None else "")


def _symptom(recording: Recording, load: RecordedLoad) -> Symptom:
    path = load.top or load.needed_by or load.path
    own = recording.tool == "Wine" and load.code == 126 and classify(load.name).kind in (*_PROVIDED, "ucrt")
    return Symptom(
        WINE_KIND if own else KIND,
        load.code,
        path or None,
        () if load.symbol and not load.needed_by else (load.name,),
        package=package_of(path),
        line=load.line,
        excerpt=_summary(load),
        details={"tool": recording.tool, **({"symbol": load.symbol} if load.symbol else {})},
    )


def _summary(load: RecordedLoad) -> str:
    needer = base_name(load.needed_by) if load.needed_by else ""
    if load.code == 126:
        return f"{load.name} was not found" + (f"; {needer} imports it." if needer else ".")
    if load.symbol and needer:
        return f"{needer} imports {load.symbol} from {load.name}, which does not export it (error {load.code})."
    if load.symbol:
        return f"{load.name} imports {load.symbol}, which the loaded DLL does not export (error {load.code})."
    if load.code == 1114:
        return f"The initialization routine of {load.name} failed (error 1114)."
    return f"{load.name} could not be loaded (error {load.code})" + (f"; {needer} imports it." if needer else ".")


def _how_known(recording: Recording, load: RecordedLoad) -> str:
    text = f"Line {load.line} of the {recording.tool} record shows it."
    if load.searched:
        folders = list(dict.fromkeys(load.searched))
        more = f" and {len(folders) - _SHOWN} more" if len(folders) > _SHOWN else ""
        text += f" Searched: {'; '.join(folders[:_SHOWN])}{more}."
    if recording.tool == "Process Monitor":
        text += " Process Monitor does not record which DLL imports it; with --env or --wheel the files show it."
    return text


def _has(case: ScannedPackage, load: RecordedLoad) -> bool:
    """Whether the files of a case have the module that the record blames."""
    names = {fold(base_name(path)) for path in (load.needed_by, load.top, load.path) if path}
    return any(fold(view_name(image.path)) in names for image in case.exam.report.images)


# ------------------------------------------------------------------------------------------------ released modules


def _explain_released(recording: Recording, cases: Sequence[ScannedPackage]) -> Explained:
    """A group of modules that were mapped and released: the missing one is among what they import."""
    group = _first_group(recording.released)
    top = min(group, key=lambda load: load.line)
    names = {load.key for load in group}
    present = names | {load.key for load in recording.loaded}
    details = {"tool": recording.tool}
    symptom = Symptom(KIND, 126, top.path, package=package_of(top.path), line=top.line, details=details)
    for case in cases:
        missing = [
            edge
            for edge in case.resolution.edges
            if isinstance(edge.provider, Missing)
            and edge.kind is EdgeKind.IMPORT
            and dll_key(view_name(edge.importer)) in names
            and dll_key(edge.name) not in present
            and classify(edge.name, case.exam.report.machine).kind not in _PROVIDED
        ]
        if missing:
            edge = _first_of(missing, top.key, case)
            needer = view_name(edge.importer)
            cause = replace(
                cause_by_id("missing-dependency", symptom, (edge.name,)),
                summary=f"{edge.name} is missing, which {needer} imports.",
                likely_missing=tuple(dict.fromkeys(one.name for one in missing)),
                confidence=Confidence.SURE,
            )
            known = f"The record shows {top.name} mapped and released again; these files have no {edge.name}."
            chain = tuple(dict.fromkeys((top.name, needer, edge.name)))
            return Explained(cause, replace(symptom, dlls=(edge.name,)), chain, known, case.name)
    table = explain_symptom(symptom) or cause_by_id("load-failed", symptom)
    others = ", ".join(load.name for load in group if load is not top)
    summary = f"{top.name} was mapped and released again: something that it needs was not found, or failed to start."
    before = _mapped_before(top, recording) if recording.ends_in_release else []
    if before:
        summary = (
            f"{top.name} was mapped and released again, and the record ends there: something that it needs, or that a "
            "DLL mapped before it needs, was not found or failed to start."
        )
    known = (
        "Such a record has loads that happen; a missing DLL leaves no line. "
        + (f"Released with it: {others}. " if others else "")
        + (f"Mapped just before it, perhaps by the same load: {', '.join(before)}. " if before else "")
        + "With --env or --wheel the missing import can be found in the files; loader snaps name it on the machine "
        "(wheelfix diagnose --record)."
    )
    cause = replace(table, summary=summary, likely_missing=(), confidence=Confidence.LIKELY)
    return Explained(cause, symptom, (top.name,), known)


def _first_group(released: Sequence[RecordedLoad]) -> list[RecordedLoad]:
    """The modules that were mapped without a break before the first release: one failed load."""
    ordered = sorted(released, key=lambda load: load.line)
    group = ordered[:1]
    for load in ordered[1:]:
        if load.line - group[-1].line > len(ordered) + 8:
            break
        group.append(load)
    return group


def _mapped_before(top: RecordedLoad, recording: Recording) -> list[str]:
    """Modules mapped in the lines just before this one: the requested file is released last, perhaps after the end."""
    before: list[str] = []
    line = top.line
    for load in sorted(recording.loaded, key=lambda load: load.line, reverse=True):
        if load.line > top.line:
            continue
        if load.line < line - 1:
            break
        line = load.line
        if not in_windows_folder(load.path):
            before.insert(0, load.name)
    return before[-_SHOWN:]


def _first_of(missing: list[Edge], top: str, case: ScannedPackage) -> Edge:
    """Of several missing DLLs the one that the load of this file meets first, in the order of the import tables."""
    causes = {
        dll_key(outcome.chain[-1])
        for outcome in case.resolution.outcomes
        if outcome.code == 126 and dll_key(view_name(outcome.event.path)) == top
    }
    return next((edge for edge in missing if dll_key(edge.name) in causes), missing[0])


# ------------------------------------------------------------------------------------------- the record and the model


def differences(recording: Recording, case: ScannedPackage) -> list[str]:
    """Return where the record and the model of these files disagree, each in a sentence."""
    if recording.static or recording.imports:
        return []
    loaded = {load.key: load for load in recording.loaded}
    notes = [*_other_places(loaded, case), *_found_after_all(recording, loaded, case), *_other_outcomes(loaded, case)]
    if len(notes) > 2 * _SHOWN:
        notes = [*notes[: 2 * _SHOWN], f"… and {len(notes) - 2 * _SHOWN} more differences between record and model."]
    return notes


def _other_places(loaded: dict[str, RecordedLoad], case: ScannedPackage) -> Iterator[str]:
    """A DLL of these files that the process took from elsewhere."""
    seen = set()
    for edge in case.resolution.edges:
        load = loaded.get(dll_key(edge.name))
        if load is None or dll_key(edge.name) in seen or not load.path:
            continue
        seen.add(dll_key(edge.name))
        if isinstance(edge.provider, Missing) and edge.required:
            yield f"{load.name}: no provider in these files; the record shows it loaded from {load.path}."
        elif isinstance(edge.provider, InView) and not _same_place(load.path, edge.provider.path):
            yield f"{load.name}: the model takes {edge.provider.path}; the record shows it loaded from {load.path}."


def _found_after_all(recording: Recording, loaded: dict[str, RecordedLoad], case: ScannedPackage) -> Iterator[str]:
    """A DLL that the record did not find and that these files have."""
    edges = case.resolution.edges
    provided = {dll_key(edge.name): edge.provider.path for edge in edges if isinstance(edge.provider, InView)}
    for load in recording.failed:
        if load.code == 126 and load.key in provided and load.key not in loaded:
            yield (
                f"{load.name}: not found in the record; these files have it at {provided[load.key]}. The recorded "
                "process did not search that folder, or the file was not there then."
            )


def _other_outcomes(loaded: dict[str, RecordedLoad], case: ScannedPackage) -> Iterator[str]:
    """A file that the model says fails and that the record shows loaded."""
    for outcome in case.resolution.outcomes:
        load = loaded.get(dll_key(view_name(outcome.event.path)))
        if outcome.code and load is not None and _same_place(load.path, outcome.event.path):
            yield f"{load.name}: the model expects error {outcome.code}; the record shows it loaded."


def _same_place(recorded: str, path: str) -> bool:
    """Whether a recorded Windows path is a path of the view: they end alike below the prefix or site-packages."""
    parts = fold(path).split("/")
    if parts[:2] == ["lib", "site-packages"]:
        parts = parts[1:]
    return fold(recorded.replace("\\", "/")).endswith("/" + "/".join(parts))

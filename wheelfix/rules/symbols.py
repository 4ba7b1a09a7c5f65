"""WF310 and WF311: the right DLL is there, but not what is wanted from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import (
    Edge,
    EdgeKind,
    Finding,
    InView,
    Missing,
    OwnedBy,
    PythonRuntime,
    Repairable,
    Severity,
    Symbol,
)
from wheelfix.rules.context import Subject, base
from wheelfix.rules.hints import where_from
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Iterator


@rule(
    "WF310",
    "missing-symbol",
    Severity.ERROR,
    Repairable.SOMETIMES,
    "A function that a DLL imports is missing from the DLL that should have it: they are of different versions.",
)
def unexported(subject: Subject) -> Iterator[Finding]:
    """Find imports whose DLL is there and does not export what is wanted: error 127 or 182."""
    for edge in subject.resolution.edges:
        if (
            edge.kind not in (EdgeKind.IMPORT, EdgeKind.DELAY)
            or not edge.unexported
            or not subject.concerns(edge.importer)
        ):
            continue
        if not isinstance(edge.provider, InView | PythonRuntime):
            continue
        loaded = subject.reached(edge.importer)
        own = edge.provider.path if isinstance(edge.provider, InView) else ""
        importer, provider = base(edge.importer), base(own) or edge.name
        if edge.kind is EdgeKind.DELAY:
            consequence = "the first call to it ends the process (0xC06D007F)"
        else:
            consequence = f"loading {importer} fails with error {182 if isinstance(edge.unexported[0], int) else 127}"
        yield finding(
            "WF310",
            subject.origin(own) if own else edge.name,
            f"{importer} imports {_spell(edge.unexported)} from {provider}, which does not export "
            f"{'it' if len(edge.unexported) == 1 else 'them'}; {consequence}",
            hint=(
                f"they are of different versions: take {provider} from the build that {importer} was linked against"
                if own
                else f"build {importer} with the headers of the Python that the wheel is tagged for"
            ),
            evidence={
                "importer": subject.origin(edge.importer),
                "symbols": [*edge.unexported],
                "kind": edge.kind.value,
                "loaded": loaded,
            },
            severity=Severity.ERROR if loaded and edge.kind is EdgeKind.IMPORT else Severity.WARNING,
        )


@rule(
    "WF311",
    "broken-forwarder",
    Severity.ERROR,
    Repairable.SOMETIMES,
    "A DLL forwards a function to another DLL that is missing or does not have it.",
)
def broken_forwarders(subject: Subject) -> Iterator[Finding]:
    """Find stubs without the DLL they stand for."""
    for edge in subject.resolution.edges:
        if edge.kind is not EdgeKind.FORWARDER or not subject.concerns(edge.importer) or not _is_broken(edge):
            continue
        stub = base(edge.importer)
        loaded = subject.reached(edge.importer)
        absent = not isinstance(edge.provider, InView)
        fault = "which is missing" if absent else f"which does not export {_spell(edge.unexported)}"
        yield finding(
            "WF311",
            subject.origin(edge.importer),
            f"{stub} is a stub that forwards calls to {edge.name}, {fault}; a file that imports them from {stub} "
            "fails with error 127",
            hint=where_from(edge.name, subject) if absent else f"take {stub} and {edge.name} from the same release",
            evidence={
                "target": edge.name,
                "forwarder": edge.because,
                "symbols": [*edge.unexported],
                "searched": [*edge.provider.searched] if isinstance(edge.provider, Missing) else [],
                "loaded": loaded,
            },
            severity=Severity.ERROR if loaded else Severity.WARNING,
        )


def _is_broken(edge: Edge) -> bool:
    out_of_reach = isinstance(edge.provider, OwnedBy) and not edge.provider.reachable
    return isinstance(edge.provider, Missing) or out_of_reach or bool(edge.unexported)


def _spell(symbols: tuple[Symbol, ...]) -> str:
    return listing([f"ordinal {symbol}" if isinstance(symbol, int) else symbol for symbol in symbols])

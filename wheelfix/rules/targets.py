"""WF323 to WF326: what the kinds of Windows that were asked about do not have of what the wheel imports.

A DLL or a function counts as absent where a list of such a machine or Microsoft's documentation says so. Where only
reports say so it is a warning, and where nothing is known a finding says that, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from wheelfix.knowledge.targets import Fact, State, TargetList, missing_exports, presence, unknown_exports
from wheelfix.model import EdgeKind, Finding, Image, Machine, Severity, Symbol, System, dll_key
from wheelfix.rules.context import Subject, base, key_of
from wheelfix.rules.dependencies import Need, excuse_of, gather
from wheelfix.rules.registry import Findings, error_if, finding, rule
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence


_Found = TypeVar("_Found")
_AT_LOAD = (EdgeKind.IMPORT, EdgeKind.FORWARDER)


@rule("WF323", "WF324", "WF325", "WF326")
def absent_on_targets(subject: Subject) -> Findings:
    """Compare what is imported from Windows with each target."""
    if not subject.targets:
        return
    needs = _needs(subject)
    loaded = _loaded_for_certain(subject)
    for target in subject.targets:
        yield from _Judge(subject, target, loaded).findings(needs)


def _needs(subject: Subject) -> tuple[Need, ...]:
    """The DLLs of Windows that the subject's files import, at once or when they are called."""
    kinds = (*_AT_LOAD, EdgeKind.DELAY)
    own = (
        edge
        for edge in subject.edges
        if edge.kind in kinds and isinstance(edge.provider, System) and subject.concerns(edge.importer)
    )
    return gather(own, lambda edge: subject.reached(edge.importer))


def _loaded_for_certain(subject: Subject) -> frozenset[str]:
    """The files that are mapped by loads whose failure nothing catches."""
    certain = (outcome.event.path for outcome in subject.outcomes if not outcome.event.guarded)
    return frozenset(subject.walk(certain, lambda edge: edge.kind in _AT_LOAD))


class _Judge:
    """Compares one subject with one target."""

    def __init__(self, subject: Subject, target: TargetList, loaded: frozenset[str]) -> None:
        self.subject, self.target, self.loaded = subject, target, loaded
        self.hint = target.remedy or "load it only where it exists, or document which Windows the package needs"

    def findings(self, needs: Sequence[Need]) -> Findings:
        """Yield what is found about every DLL, and one finding about all of which nothing is known."""
        unknown: list[Need] = []
        functions: dict[str, list[str]] = {}
        for need in needs:
            fact = presence(self.target, need.name, self.subject.machine)
            at_load = tuple(edge for edge in need.edges if edge.kind in _AT_LOAD)
            if fact.state is State.UNKNOWN:
                unknown.append(need)
            elif fact.state is not State.HAS:
                yield self._absent(need, fact, bool(at_load))
            if fact.state in (State.HAS, State.UNKNOWN) and at_load:
                yield from self._functions(need)
                if doubtful := self._by_importer(need, unknown_exports):
                    functions[need.name] = sorted({_spelled(one) for found in doubtful.values() for one in found})
                    unknown.append(_of_importers(need, doubtful))
        if unknown:
            yield self._unknown(unknown, functions)

    def _is_certain(self, need: Need) -> bool:
        """Whether an import fails without the DLL: something that is loaded for certain imports it."""
        loaded = any(edge.kind in _AT_LOAD and edge.importer in self.loaded for edge in need.edges)
        return loaded and excuse_of(self.subject, need) is None

    def _absent(self, need: Need, fact: Fact, at_load: bool) -> Finding:
        copy = next((path for path in self.subject.images if key_of(path) == dll_key(need.name)), "")
        certain = self._is_certain(need) and not copy
        verb = ("import" if at_load else "delay-load") + ("s" if len(need.importer_names) == 1 else "")
        who = f"{listing(need.importer_names)} {verb} it"
        if fact.state is State.PERHAPS_ABSENT:
            message = f"{self._label(need)} may be absent; {who}; it is not certain: {fact.source}"
        elif certain:
            message = f"{self._label(need)} is absent; {who}: {self._consequence(need)} fails with error 126"
        elif copy:
            message = (
                f"{self._label(need)} is absent; {who}; {self.subject.origin(copy)} is used if it is loaded before"
            )
        elif at_load:
            message = f"{self._label(need)} is absent; {who}, which nothing is known to need at import"
        else:
            message = f"{self._label(need)} is absent; {who}: the first call of one of its functions fails"
        sure = fact.state is State.ABSENT and certain
        evidence = self._evidence(need, fact)
        return finding("WF323" if sure else "WF325", self._label(need), message, hint=self.hint, evidence=evidence)

    def _functions(self, need: Need) -> Findings:
        """Yield the functions that the target's DLL does not have."""
        by_importer = self._by_importer(need, missing_exports)
        if not by_importer:
            return
        path = next((path for path in by_importer if path in self.loaded), next(iter(by_importer)))
        missing = by_importer[path]
        own = _of_importers(need, by_importer)
        names = [_spelled(symbol) for symbol in missing]
        fact = next(iter(missing.values()))
        at_call = self.target.binding == "call"
        certain = self._is_certain(own) and not at_call
        consequence = "nothing is known to need it at import"
        if at_call:
            consequence = "the import works, the first call fails"
        elif certain:
            consequence = f"{self._consequence(own)} fails with error 127"
        wants = f"{base(path)} imports {'it' if len(names) == 1 else 'them'}"
        message = f"{self._label(need)} does not have {listing(names)}; {wants}: {consequence}"
        evidence = self._evidence(own, fact)
        evidence["symbols"] = [*missing]
        yield finding(
            "WF324",
            self._label(need),
            f"{message} ({fact.source})",
            hint=self.hint,
            evidence=evidence,
            severity=error_if(certain),
        )

    def _by_importer(
        self, need: Need, ask: Callable[[TargetList, str, Sequence[Symbol], Machine], _Found]
    ) -> dict[str, _Found]:
        """Return what is known about the functions that each importer takes from a DLL, where that is anything."""
        found = {}
        for path in dict.fromkeys(edge.importer for edge in need.edges if edge.kind in _AT_LOAD):
            image = self.subject.view.image(path)
            wanted = image.symbols_from(need.name) if isinstance(image, Image) else ()
            if answer := ask(self.target, need.name, wanted, self.subject.machine):
                found[path] = answer
        return found

    def _unknown(self, needs: Sequence[Need], functions: dict[str, list[str]]) -> Finding:
        names = [need.name for need in needs]
        whole = [name for name in names if name not in functions]
        about = [listing(whole, 6)] if whole else []
        about += [
            f"{listing(found) if len(found) <= 3 else f'{len(found)} functions'} of {name}"
            for name, found in functions.items()
        ]
        certain = any(map(self._is_certain, needs))
        return finding(
            "WF326",
            self.target.name,
            f"could not tell for {self.target.name}: nothing is known about {'; '.join(about)}",
            hint="make the list of such a machine with tools/windows_target.ps1, or with tools/make_target_list.py "
            "where there is no PowerShell, and give it to --target",
            evidence={
                "target": self.target.name,
                "names": names,
                "functions": dict(functions.items()),
            },
            severity=Severity.UNSURE if certain else Severity.INFO,
        )

    def _label(self, need: Need) -> str:
        return f"{need.name} on {self.target.name}"

    def _consequence(self, need: Need) -> str:
        first = next(edge.importer for edge in need.edges if edge.kind in _AT_LOAD and edge.importer in self.loaded)
        return f"loading {self.subject.chain(first, need.name)[0]}"

    def _evidence(self, need: Need, fact: Fact) -> dict[str, object]:
        first = next((edge.importer for edge in need.edges if edge.importer in self.loaded), need.first.importer)
        return {
            "target": self.target.name,
            "names": [need.name],
            "importer": self.subject.origin(first),
            "load": self.subject.origin(self.subject.load_of(first)),
            "needed_by": self.subject.origins(need.importers),
            "chain": self.subject.chain(first, need.name),
            "source": fact.source,
            "date": fact.date,
        }


def _of_importers(need: Need, importers: Container[str]) -> Need:
    """Return a need with the edges of some importers only."""
    return Need(need.name, tuple(edge for edge in need.edges if edge.importer in importers), need.reached)


def _spelled(symbol: Symbol) -> str:
    return symbol if isinstance(symbol, str) else f"#{symbol}"

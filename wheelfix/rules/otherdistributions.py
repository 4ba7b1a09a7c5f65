"""WF318 and WF319: DLLs that other distributions provide, or may provide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import EdgeKind, Finding, Json, MayComeFrom, OwnedBy, Repairable, Severity
from wheelfix.rules.dependencies import needs
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.exam.needs import Need
    from wheelfix.rules.context import Subject

_SHOWN = 6


@rule(
    "WF318",
    "unknown-provider",
    Severity.UNSURE,
    Repairable.NEVER,
    "A DLL is not in the wheel, and whether another distribution provides it could not be told.",
)
def unknown_provider(subject: Subject) -> Iterator[Finding]:
    """Find imports that only a distribution whose contents are not known can answer."""
    edges = [edge for edge in subject.resolution.edges if isinstance(edge.provider, MayComeFrom) and edge.required]
    for need in needs(subject, edges):
        provider = need.first.provider
        assert isinstance(provider, MayComeFrom)
        hard = need.reached and any(edge.kind is not EdgeKind.DELAY for edge in need.edges)
        yield finding(
            "WF318",
            need.name,
            f"could not tell: {need.name}, imported by {listing(need.importers)}, may come from "
            f"{listing(provider.distributions)}: {provider.because}",
            hint=(
                "add the wheels that are installed with it: 'wheelfix scan WHEEL --with FOLDER', or scan the "
                "environment in which it is installed"
            ),
            evidence={
                "needed_by": _names(subject, need),
                "distributions": [*provider.distributions],
                "because": provider.because,
                "loaded": need.reached,
            },
            severity=Severity.UNSURE if hard else Severity.INFO,
        )


@rule(
    "WF319",
    "relies-on-distribution",
    Severity.INFO,
    Repairable.NEVER,
    "DLLs that the wheel needs come from another distribution, which has to be installed with it.",
)
def relies_on_distribution(subject: Subject) -> Iterator[Finding]:
    """Say for each distribution which DLLs it provides, for which versions, and which builds have them."""
    grouped: dict[tuple[str, str], list[tuple[Need, OwnedBy]]] = {}
    for need in needs(subject, (edge for edge in subject.resolution.edges if isinstance(edge.provider, OwnedBy))):
        provider = need.first.provider
        if isinstance(provider, OwnedBy) and provider.reachable:
            grouped.setdefault((provider.distribution, provider.only), []).append((need, provider))
    for (distribution, only), members in sorted(grouped.items()):
        provider = members[0][1]
        names = [need.name for need, _ in members]
        are, them = ("is", "it") if len(names) == 1 else ("are", "them")
        text = f"{listing(names, _SHOWN)} {are} provided by {provider.requirement}"
        text += f", which {provider.via[-1]} requires" if provider.via else ""
        if only:
            text += f": only {only} has {them}, and the builds on PyPI that were looked at do not"
        elif provider.versions:
            text += f"; {_versions(provider.versions)} {'has' if len(provider.versions) == 1 else 'have'} {them}"
        yield finding(
            "WF319",
            names[0],
            text,
            hint=_hint(distribution, only, provider),
            evidence={
                "names": [*names],
                "distribution": distribution,
                "specifier": provider.specifier,
                "via": [*provider.via],
                "versions": [*provider.versions],
                "only": only,
                "because": provider.because,
                "needed_by": _names(subject, *(need for need, _ in members)),
            },
        )


def _hint(distribution: str, only: str, provider: OwnedBy) -> str:
    if only:
        return f"install {distribution} from the index that has such builds, before this wheel"
    return f"{provider.because}" if provider.because else ""


def _versions(versions: tuple[str, ...]) -> str:
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def _names(subject: Subject, *found: Need) -> list[Json]:
    paths: Iterable[str] = (subject.origin(edge.importer) for need in found for edge in need.edges)
    return [*dict.fromkeys(paths)]

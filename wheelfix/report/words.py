"""Small phrases that several renderers use, so that they say the same thing in the same words."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.system import classify
from wheelfix.model import (
    Assumed,
    Driver,
    EdgeKind,
    Finding,
    InView,
    MayComeFrom,
    Missing,
    OwnedBy,
    Provider,
    PythonRuntime,
    ScanReport,
    System,
    VcRedist,
)
from wheelfix.report.safe import legible as legible
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wheelfix.model import Machine, MissingDll, TargetVerdict

SITE_PACKAGES = "Lib/site-packages/"


def count(number: int, word: str) -> str:
    """Return ``1 error``, ``3 errors``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def and_more(names: Sequence[str], most: int) -> str:
    """Return ``a, b``, or ``a, b and 4 more``."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def human_size(size: int) -> str:
    """Return a size as people say it: ``850 kB``, ``252.0 MB``."""
    if size < 1000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1000:.0f} kB"
    if size < 1_000_000_000:
        return f"{size / 1_000_000:.1f} MB"
    return f"{size / 1_000_000_000:.2f} GB"


def human_change(old: int, new: int) -> str:
    """Return how a size changed: ``1.0 MB → 2.5 MB (+1.5 MB)``."""
    change = f"{'+' if new > old else '-'}{human_size(abs(new - old))}" if new != old else "no change"
    return f"{human_size(old)} → {human_size(new)} ({change})"


def short_path(path: str) -> str:
    """Return a path in the installed layout as people know it: without ``Lib/site-packages``."""
    return path[len(SITE_PACKAGES) :] if path.startswith(SITE_PACKAGES) else path


def sentence(finding: Finding) -> str:
    """Return a finding's message with the whole path of what it is about, said once."""
    subject = short_path(finding.subject)
    base = posixpath.basename(subject)
    if not subject or subject in finding.message:
        return finding.message
    if base and finding.message.startswith(base) and not _goes_on(finding.message[len(base) : len(base) + 1]):
        return subject + finding.message[len(base) :]
    return finding.message if base and base in finding.message else f"{subject}: {finding.message}"


def _goes_on(char: str) -> bool:
    """Whether a character after a name belongs to a longer name."""
    return char.isalnum() or char in ("_", ".", "-")


def label(report: ScanReport) -> str:
    """Return what a report is about in one word: the wheel's file name, or the folder with the package."""
    normal = report.path.replace("\\", "/").rstrip("/")
    base = posixpath.basename(normal)
    if base.lower().endswith(".whl"):
        return base
    folder = report.path
    if base.lower().endswith((".dist-info", ".egg-info")):
        folder = folder.rstrip("/\\")[: -len(base)].rstrip("/\\") or "."
    return f"{report.name} in {folder}" if report.name and report.name != base else folder


def import_statement(report: ScanReport) -> str:
    """Return the statement that meets the predicted error: ``import torch``."""
    outcome = report.resolution.first_failure
    package = outcome.event.package if outcome is not None else ""
    if outcome is None or package:
        return f"import {report.name.replace('-', '_') or package}"
    if outcome.event.module and outcome.event.cause != "raise":  # there it is the class of the exception
        return f"import {outcome.event.module}"
    return f"loading {posixpath.basename(outcome.event.path)}"


def provider_phrase(provider: Provider) -> str:
    """Return who meets a need, in a few words."""
    match provider:
        case InView(path):
            return short_path(path)
        case System():
            return "Windows"
        case PythonRuntime():
            return "Python"
        case Driver():
            return "a device driver"
        case VcRedist():
            return "the VC++ runtime"
        case Assumed(by=by):
            return f"assumed: {by}"
        case OwnedBy(reachable=reachable):
            return provider.requirement if reachable else f"{provider.requirement}, out of reach"
        case MayComeFrom(distributions=distributions):
            return f"could not tell: may come from {' or '.join(distributions)}"
        case Missing(present_at=present):
            return f"MISSING (lies at {and_more([*map(short_path, present)], 1)})" if present else "MISSING"


KIND_WORDS = {
    EdgeKind.IMPORT: "imported",
    EdgeKind.DELAY: "delay-loaded",
    EdgeKind.COMPANION: "loaded by name at run time",
    EdgeKind.FORWARDER: "target of a forwarder",
}
"""How a DLL is needed."""
TRUST = {
    "table": "its sha256 is in the table of wheelfix",
    "signature": "its vendor's signature is valid",
    "wheel": "the whole wheel was downloaded and has the sha256 of the index",
    "not-fetched": "not decided: the repair downloads it and checks its signature, or else the hash of its wheel",
}
"""Why the bytes of a DLL that came from a server count, by :attr:`wheelfix.plan.model.Source.trust`."""


def target_reason(target: TargetVerdict) -> str:
    """Return in half a sentence why the answer for a kind of Windows is what it is."""
    found = {"without": target.absent, "perhaps without": target.perhaps_absent, "could not tell about": target.unknown}
    return "; ".join(f"{words} {listing(names)}" for words, names in found.items() if names)


# ---------------------------------------------------------------------------- what brings in the DLLs that are missing


_OPTIONS = {"root": "", "include": " --include {}", "vcredist": " --with-vcredist", "never": ""}
"""The ways to bring in a DLL, with the option that each needs."""


def missing_hints(missing: Iterable[MissingDll], machine: Machine) -> tuple[str, ...]:
    """Return a sentence for each way in which the required DLLs can be brought in, or that they cannot."""
    ways: dict[str, list[MissingDll]] = {}
    for item in missing:
        if item.required:
            ways.setdefault(_way(item.name, machine), []).append(item)
    return tuple(_hint(way, ways[way], everything=len(ways) == 1) for way in _OPTIONS if way in ways)


def _way(name: str, machine: Machine) -> str:
    known, member = classify(name, machine), family_of(name)
    if (
        known.debug
        or known.kind in ("driver", "system", "api-set", "ucrt")
        or (known.kind == "python" and not known.folder)
    ):
        return "never"
    if known.kind == "vcredist":
        return "vcredist"
    return "include" if member is not None and not member.family.redistribute else "root"


def _hint(way: str, items: Sequence[MissingDll], *, everything: bool) -> str:
    names = [item.name for item in items]
    if way == "never":
        return f"{', '.join(names)}: no wheel may contain them"
    place, source = " --root PATH", "a folder, wheel or conda package that has them"
    if all(item.candidates for item in items):
        place, source = _named_roots(items), "where they were found, if they are suitable"
    options = "".join(dict.fromkeys(_OPTIONS[way].format(name) for name in names))
    refused = "; their vendor does not allow redistribution" if way == "include" else ""
    what = "them" if everything else and_more(names, 4)
    return f"'wheelfix repair WHEEL{options}{place}' vendors {what} from {source}{refused}"


def _named_roots(items: Sequence[MissingDll]) -> str:
    """The options with which the user named the roots in which DLLs were found; the repair has to hear them again."""
    named: dict[str, None] = {}
    for item in items:
        option = re.search(r"--[a-z]+$", item.candidates[0].reason)
        if option:
            named[f' {option[0]} "{item.candidates[0].root}"'] = None
    return "".join(named)

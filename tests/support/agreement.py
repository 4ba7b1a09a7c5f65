"""Whether verify and the installers say the same about a wheel.

Agreement means: where verify finds nothing, every installer installs the wheel, and the same bytes at the same places
that wheelfix looks at. Where an installer refuses the wheel or installs something else, verify reports an error, or a
finding that names this installer. And where verify says that an installer refuses the wheel, it does.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.installers import OWN_FILES, SCRIPTS, install_with
from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.reader import Archive
from wheelfix.errors import WheelfixError
from wheelfix.exam.verify import verify
from wheelfix.loader.places import view_of_wheel
from wheelfix.model import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

CLIENTS = ("pip", "uv", "installer")
PROGRAMS = {"pip": ("pip",), "uv": ("uv-index", "uv"), "installer": ("installer",)}
"""The ways in which each is asked; that it refuses a wheel in one of them is enough."""


@dataclass(frozen=True)
class Verdict:
    """What verify says about a wheel."""

    refused: bool
    """An error was reported, or the file could not be read at all."""
    named: frozenset[str]
    """The installers that some finding names."""
    refused_by: frozenset[str]
    """The installers that are said to refuse it."""
    text: str

    @property
    def unsure(self) -> bool:
        """Whether another fault decides how far an installer comes: damaged members, odd line ends, a second
        RECORD, headers that contradict the directory."""
        return any(mark in self.text for mark in ("WF115", "end a line", "WF126", "in the header"))

    @property
    def clean(self) -> bool:
        return not self.refused and not self.named


def verdict_of(path: Path) -> Verdict:
    """Run verify."""
    try:
        findings = verify(path).findings
    except WheelfixError as error:
        return Verdict(True, frozenset(CLIENTS), frozenset(), str(error))
    texts = [f"{finding.code} {finding.severity}: {finding.message}" for finding in findings]
    by = {str(who) for finding in findings for who in finding.evidence.get("rejected_by") or ()}  # type: ignore[union-attr]
    return Verdict(
        any(finding.severity is Severity.ERROR for finding in findings),
        frozenset(client for client in CLIENTS if any(re.search(rf"\b{client}\b", text) for text in texts)),
        frozenset(by & {*CLIENTS}),
        "\n".join(texts),
    )


def looked_at(path: Path) -> dict[str, str]:
    """Return the sha256 of each file that wheelfix analyses, by its place."""
    with Archive.open(path) as archive:
        view = view_of_wheel(archive, WheelInfo.from_archive(archive))
        return {file.path: hashlib.sha256(file.open().read_at(0, file.size)).hexdigest() for file in view.files}


def disagreements(path: Path, folder: Path, clients: Sequence[str] = CLIENTS) -> Iterator[str]:
    """Give each point in which verify and an installer differ."""
    verdict = verdict_of(path)
    for client in clients:
        if verdict.refused and client not in verdict.refused_by:
            continue  # nothing is said about this installer
        refusal, what = "", ""
        for program in PROGRAMS[client]:
            result = install_with(program, path, folder)
            refusal = refusal or result.refusal
            if result.refusal:
                what = what or f"{program} refuses: {result.refusal}"
            elif not verdict.refused:
                difference = _difference(looked_at(path), dict(result.files or {}))
                what = what or (difference and f"{program} {difference}")
            if verdict.refused and refusal:
                break
        if what and not verdict.refused and client not in verdict.named:
            yield f"{what}; verify says: {verdict.text or 'nothing'}"
        if client in verdict.refused_by and not refusal and not verdict.unsure:
            yield f"{client} installs it; verify says: {verdict.text}"


def _difference(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """Return what an installer put elsewhere; scripts of entry points and changed first lines are its own business."""
    for place, digest in ours.items():
        folder, _, name = place.rpartition("/")
        if folder.endswith(".dist-info") and name in OWN_FILES:
            continue
        if place not in theirs:
            return f"does not install {place!r}"
        if theirs[place] != digest and not place.startswith(SCRIPTS + "/"):
            return f"installs other bytes as {place!r}"
    more = [place for place in theirs if place not in ours and not place.startswith(SCRIPTS + "/")]
    return f"also installs {more[0]!r}" if more else ""

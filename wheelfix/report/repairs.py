"""What a repair and a signing will do or have done, and where DLLs could come from, as blocks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.model import TRUSTED
from wheelfix.report.blocks import (
    Block,
    Bullets,
    Fields,
    Part,
    Record,
    Records,
    Rows,
    Table,
    chapter,
    counted,
    labelled,
    line,
    para,
    recorded,
)
from wheelfix.report.canvas import TextStyle, render_text
from wheelfix.report.document import TRUST, count, human_size, sentence, way_words
from wheelfix.report.json_ import render
from wheelfix.rules.wording import last_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from wheelfix.exam.examination import FailedInput
    from wheelfix.plan.model import Addition, Plan, Repaired
    from wheelfix.repairs.sign import Signed
    from wheelfix.roots.gather import Remark
    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.root import RootFile

OUTCOMES = {"repaired": "ok", "unchanged": "ok", "signed": "ok", "planned": "warning"}


def render_plan(report: Repaired, look: TextStyle) -> str:
    """Return what was done, or would be done, as text."""
    return render_text([plan_part(report, look)], look)


def plan_part(report: Repaired, look: TextStyle) -> Part:
    """Return what was done, or would be done; at its end how much it fixed, and what remains."""
    plan, outcome, quiet = report.plan, report.outcome, look.quiet
    blocks: list[Block] = []
    if quiet:
        others = [f"{taken.toolkit} {taken.release}: {taken.because}" for taken in plan.releases if taken.other]
        blocks += labelled("warning ", others, "warn")
    else:
        blocks += _changes(plan, verbose=look.verbose)
    if outcome == "planned":
        if not quiet:
            blocks += counted("Ways to have the DLLs of NVIDIA and Intel", [*map(way_words, plan.ways)])
        blocks += [para(), *labelled("Nothing would be written: ", report.faults, "bad")]
        if not report.faults:
            what = "the wheel is written" if plan.output else "the installed package is changed"
            blocks.append(para(f"Nothing was written. Without --dry-run {what} as shown."))
    elif report.output is not None:
        blocks += [] if quiet else [para()]
        blocks.append(line(("-> ", "dim"), str(report.output)))
    if not quiet:
        blocks += _balance(report)
    return Part(
        ((last_part(plan.wheel.path), "name"),), tuple(blocks), 1, (outcome.upper(), OUTCOMES.get(outcome, "bad"))
    )


def _balance(report: Repaired) -> Iterator[Block]:
    """Give how many findings the repair fixed, and those that remain; nothing where there were none."""
    fixed, remaining = len(report.fixed), report.remaining
    left = len(remaining) or "none"
    if (fixed or remaining) and report.outcome == "planned":
        yield line(f"{fixed} would be fixed, {left} would remain")
    elif fixed or remaining:
        yield line(f"{fixed} fixed, {left} remain{'s' if len(remaining) == 1 else ''}")
    items = tuple(
        ((("  " + one.code, one.severity.value), f" {one.severity}: {sentence(one)}"), "") for one in remaining
    )
    yield Bullets(items, len(items))


def render_balance(reports: Sequence[Repaired], failures: Sequence[FailedInput], look: TextStyle) -> str:
    """Return what became of several wheels: those with something left to do, and the figures."""
    rows: Rows = [[("FAILED", "bad"), failure.words, (failure.path, "path")] for failure in failures]
    rows += [
        [(report.outcome.upper(), "warn"), f"{len(report.remaining)} remain", (report.plan.wheel.path, "path")]
        for report in reports
        if report.remaining
    ]
    summary = Part((("Summary", "head"),), (Table(("outcome", "findings", "wheel"), rows),), 3)
    return render_text([summary, line(balance(reports, failures))], look)


def balance(reports: Sequence[Repaired], failures: Sequence[FailedInput]) -> str:
    """Return the figures over several wheels, those that failed first."""
    outcomes = [*(failure.words for failure in failures), *(report.outcome for report in reports)]
    numbers = ", ".join(f"{outcomes.count(word)} {word}" for word in dict.fromkeys(outcomes))
    fixed, remaining = (sum(len(getattr(one, name)) for one in reports) for name in ("fixed", "remaining"))
    return f"{count(len(outcomes), 'wheel')}: {numbers}; {fixed} fixed, {remaining} remain"


def _changes(plan: Plan, *, verbose: bool) -> Iterator[Block]:
    """Give the one release of each toolkit, what is added, dropped, fixed, refused and still missing, and notes."""
    releases = []
    for taken in plan.releases:
        title = f"{taken.toolkit} {taken.release}: {taken.because}" if taken.release else taken.toolkit
        releases.append(Record((title,), tuple(("not", text) for text in taken.refused)))
    yield from recorded("Releases", releases, "toolkit")
    if plan.additions:
        total = human_size(sum(one.size for one in plan.additions))
        records = [record for one in plan.additions for record in _addition(one, plan.additions, verbose=verbose)]
        yield chapter(f"Added ({len(plan.additions)}, {total})", Records(records, "DLL"))
    supplied = [f"{one.requirement}: {', '.join(one.names)} ({human_size(one.size)})" for one in plan.supplied]
    yield from counted("Required instead", supplied)
    yield from counted("Loads them first", plan.patched)
    yield from counted("Dropped", [f"{drop.path}: {drop.because}" for drop in plan.drops])
    fixes = [f"{rename.old} -> {rename.new or '(top)'}: {rename.because}" for rename in plan.renames]
    most = len(fixes) + 10
    yield from counted("Fixes", fixes + [f"{mend.code} {mend.subject}: {mend.what}" for mend in plan.mends], most)
    yield from counted("Refused", [f"{refusal.name}: {refusal.because}" for refusal in plan.refused])
    missing = []
    for item in plan.remaining:
        if item.required:
            fields: Fields = [("", item.because)]
            fields += [("comes with", text) for text in item.providers[:3]]
            missing.append(Record(((item.name, "bad"), ("  (allowed)" if item.allowed else "", "dim")), fields))
    yield from recorded("Still missing", missing, "DLL")
    optional = [item.name for item in plan.remaining if not item.required]
    if optional:
        yield para()
        yield para(f"{count(len(optional), 'optional DLL')} left out: {', '.join(optional)}")
    yield from labelled("note ", plan.notes, "warn")


def _addition(addition: Addition, additions: Sequence[Addition], *, verbose: bool) -> Iterator[Record]:
    """Give the record of a DLL; the other parts of its family are named in it, unless everything is asked for."""
    if addition.kind == "family" and not verbose:
        return
    source = addition.source
    fields: Fields = [("", addition.because)] if addition.because else []
    fields.append(("from", f"{source.path}{f'!{source.member}' if source.member else ''} ({addition.chosen})"))
    fields += [("trusted", TRUST.get(source.trust, source.trust))] if source.trust else []
    fields += [("warning", warning) for warning in addition.warnings]
    if addition.signer:  # a lock of an earlier version has no answer, because that checked less
        fields.append(("signature", addition.signature or "not-checked (planned by an earlier version)"))
    if verbose:
        fields += [("not", f"{rejected.path}: {rejected.reason}") for rejected in addition.rejected]
        fields.append(("sha256", addition.sha256 or "not known before it is fetched"))
    else:
        parts = [one for one in additions if one.kind == "family" and addition.name in one.serves]
        total = human_size(sum(part.size for part in parts))
        names = ", ".join(part.name for part in parts)
        fields += [("with", f"{names} ({total}; {parts[0].because})")] if parts else []
    version = f"  {addition.version}" if addition.version else ""
    yield Record(((addition.target, "good"), (f"{version}  {human_size(addition.size)}", "dim")), fields)


# ------------------------------------------------------------------------------------------------------------- signing


HEADINGS = {
    "signed": "Signed",
    "to-sign": "To be signed",
    "kept": "Kept: they have a valid signature; --resign replaces it",
    "excluded": "Left out by --include or --exclude",
}


def render_signed(result: Signed, look: TextStyle) -> str:
    """Return what became of each PE file of one wheel."""
    blocks: list[Block] = []
    for action, title in {} if look.quiet else HEADINGS.items():
        files = [file for file in result.files if file.action == action]
        records = []
        for file in files:
            told = file.signature is not None and file.signature.status != "unsigned"
            style = "dim" if file.signature is not None and file.signature.status == TRUSTED else "warn"
            records.append(Record(((file.path, "path"),), (("", (str(file.signature), style)),) if told else ()))
        blocks += recorded(title, records)
    if not look.quiet:
        blocks += [] if result.files else [line("  It has no PE file.")]
        blocks += [*labelled("note ", result.notes), para()]
    planned = result.outcome == "planned"
    blocks.append(line("Nothing was started or written.") if planned else line(("-> ", "dim"), str(result.output)))
    badge = (result.outcome.upper(), OUTCOMES.get(result.outcome, "ok"))
    return render_text([Part(((last_part(result.path), "name"),), blocks, 1, badge)], look)


# --------------------------------------------------------------------------------------------------------------- roots


Match: TypeAlias = "tuple[RootFile, str]"
"""A DLL that was asked for, and its version."""


def _dlls_in(index: RootIndex) -> Counter[tuple[Path, str]]:
    """Return how many DLLs each folder of each root has."""
    return Counter((file.root.path, file.folder.path) for file in index.listed())


def roots_json(index: RootIndex, remarks: Sequence[Remark], matches: Sequence[Match] | None) -> str:
    """Return the ``wheelfix.roots/1`` document; ``matches`` are the DLLs that were asked for, if any were."""
    dlls = _dlls_in(index)
    roots = [
        {"root": root, "folders": [{"folder": one, "dlls": dlls[root.path, one.path]} for one in root.folders]}
        for root in index.roots
    ]
    return render("roots-1", roots=roots, remarks=remarks, index=index, matches=matches)


def render_roots(
    index: RootIndex, remarks: Sequence[Remark], asked: Mapping[str, Sequence[Match]], look: TextStyle
) -> str:
    """Return the list: quiet it has one line per root, verbose also what was left out.

    ``asked`` has the DLLs that were asked for.
    """
    dlls, records = _dlls_in(index), []
    for root in index.roots:
        folders = []
        for one in root.folders:
            forbidden = "" if one.redistributable else ", not redistributable"
            folders.append(f"{one.path} ({count(dlls[root.path, one.path], 'DLL')}{forbidden})")
        learned = root.learned + (", last resort" if root.last_resort else "")
        fields: Fields = [("learned", learned), ("folders", ", ".join(folders))]
        fields += [("warning", text) for text in root.warnings]
        fields += [("note", text) for text in root.notes]
        title = ((root.label, "name"), "  ", (str(root.path), "path"))
        records.append(Record(title, () if look.quiet else tuple(fields)))
    blocks: list[Block] = [Records(records) if records else para("No root was found. Name one with --root.")]
    if remarks and not look.quiet:
        named = [f"{remark.path}: {remark.reason}, {remark.learned}" for remark in remarks]
        blocks += counted("Named, but not a root", named)
    blocks += counted("Left out", [f"{item.path}: {item.reason}" for item in index.skipped if look.verbose])
    for names, files in asked.items():
        found = [
            Record(((file.location, "good"), f"  {version}".rstrip()), (("", (file.origin, "dim")),))
            for file, version in files
        ]
        blocks.append(chapter(f"{names}: {count(len(found), 'file')}", Records(found)))
    return render_text(blocks, look)

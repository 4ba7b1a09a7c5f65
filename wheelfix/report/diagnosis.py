"""A diagnosis as text: the cause first, then what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.report.blocks import Block, Code, Fields, Record, Records, bullets, chapter, labelled, line, para
from wheelfix.report.canvas import TextStyle, render_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.diagnosis.model import Diagnosis, Explained


_SHOWN = 5
_FROM_TEXT = 2
"""Remedies that are shown for what a text alone suggests."""
_SURENESS = {"sure": "", "likely": "most likely: ", "guess": "perhaps: "}


def render_diagnosis(diagnosis: Diagnosis, look: TextStyle) -> str:
    """Return the diagnosis: quiet it has the causes alone, verbose all remedies and faults."""
    blocks, verbose, quiet = list[Block](), look.verbose, look.quiet
    if not quiet:
        blocks += _evidence(diagnosis)
    blocks += _verdict(diagnosis)
    for number, explained in enumerate(diagnosis.explained):
        # What comes first explains the text; the others in full would only push what to do out of sight.
        quoted = " ".join(quote.text for quote in diagnosis.quotes)
        brief = quiet or (number > 0 and not verbose and not explained.proven)
        summary = explained.cause.summary if quiet else _without_quoted(explained.cause.summary, quoted)
        blocks += _cause(explained, summary, _kinds_of_names(quoted), quiet=brief, verbose=verbose)
    if not quiet:
        blocks += [*_others(diagnosis), *_remedies(diagnosis, verbose=verbose)]
        if diagnosis.harmless:
            title = "The program went on after these: they are not what ended it"
            blocks.append(chapter(title, bullets(diagnosis.harmless)))
        blocks += labelled("warning: ", diagnosis.warnings, "warn")
        blocks += [para()] if diagnosis.notes else []
        blocks += labelled("note: ", diagnosis.notes, "note")
    return render_text(blocks, look)


def _evidence(diagnosis: Diagnosis) -> Iterator[Block]:
    """What there was to go by; of a text the lines that decide, and what it says about the machine."""
    for one in diagnosis.evidence:
        yield para(f"{one.source}: {one.told}", lead=(f"{one.kind:<6} ", "dim"))
        for quote in diagnosis.quotes[1:] if one.kind == "text" else ():
            yield para(f"line {quote.line}: {quote.text}", lead=" " * 7)
        if one.kind == "text" and diagnosis.facts:
            yield para(", ".join(diagnosis.facts), lead=("shown  ", "dim"))


def _verdict(diagnosis: Diagnosis) -> list[Block]:
    outcome = diagnosis.outcome.value
    if outcome == "no-fault-found":
        return [line(("No fault found.", "good"), " Everything loads in the model.")]
    if outcome != "could-not-tell":
        return []
    if diagnosis.explained:
        return [para(("Could not tell for sure.", "warn"), " What can be said:")]
    if any(one.kind == "text" for one in diagnosis.evidence):
        return [para(("Could not tell why.", "warn"))]
    return [para(("Could not tell.", "warn"), " The notes say why.")]


_REPEATED = 40


def _without_quoted(summary: str, quoted: str) -> str:
    """A summary without the line of the text that it ends with, where that was quoted above."""
    first, _, error = summary.partition(": ")
    return f"{first}." if len(error) >= _REPEATED and error[:_REPEATED] in quoted else summary


def _cause(explained: Explained, summary: str, named: frozenset[str], *, quiet: bool, verbose: bool) -> Iterator[Block]:
    cause, below = explained.cause, " " * 7
    sure = cause.confidence.value
    lead = ("Cause  ", "bad" if sure == "sure" else "warn")
    yield para((_SURENESS[sure], "dim"), (summary, "name"), lead=lead)
    if quiet:
        return
    if len(explained.chain) > 1 and cause.id != "two-openmp":
        yield line(below, " → ".join(explained.chain))
    if explained.explanation and explained.explanation != cause.summary:
        known = explained.explanation
        yield para(known if explained.proven or verbose else _short(known, named), lead=below)
    label = "missing" if sure == "sure" else "candidates"
    said = all(name in cause.summary for name in cause.likely_missing)
    if cause.likely_missing and not explained.proven and not said:
        yield para(", ".join(cause.likely_missing), lead=(f"{below}{label}: ", "dim"))


_SENTENCES = re.compile(r"(?s).{40,150}\.(?= [A-Z])")
_FILE = re.compile(r"\b[\w-]{1,60}\.(?:dll|exe|h|lib|py|pyd)\b")


def _kinds_of_names(text: str) -> frozenset[str]:
    """The names of files in a text, without their numbers: python313t.lib is of the same kind as python314t.lib."""
    return frozenset(re.sub(r"\d+", "#", name) for name in _FILE.findall(text.lower()))


def _short(text: str, named: frozenset[str]) -> str:
    """The first sentences of what the tables know, and those about a file that is quoted; ``-v`` shows all."""
    found = _SENTENCES.match(text)
    if found is None:
        return text
    others = re.split(r"(?<=\.) (?=[A-Z])", text[found.end() + 1 :])
    return " ".join([found[0], *(one for one in others if not named.isdisjoint(_kinds_of_names(one)))])


def _others(diagnosis: Diagnosis) -> Iterator[Block]:
    if diagnosis.only_fault:
        yield para()
        yield line("It is the only fault in these files.")
    if diagnosis.others:
        title = f"It is not the only fault ({len(diagnosis.others)} more)" if diagnosis.explained else "The files show"
        yield chapter(title, bullets(diagnosis.others, _SHOWN))


def _remedies(diagnosis: Diagnosis, *, verbose: bool) -> Iterator[Block]:
    proven = any(one.proven for one in diagnosis.explained)
    most = len(diagnosis.remedies) if verbose else 2 * _SHOWN if proven else _FROM_TEXT
    records: list[Record] = []
    for remedy in diagnosis.remedies[:most]:
        fields: Fields = [("", Code(remedy.command, "code"))] if remedy.command else []
        # The command of a second way says enough, until somebody asks.
        why = remedy.why if verbose or proven or not records or not remedy.command else ""
        told = {"": why, "only if:": remedy.when, "danger:": remedy.danger}
        fields += [(label, (text, "" if label else "dim")) for label, text in told.items() if text]
        records.append(Record((f"{remedy.rank}. ", remedy.title), fields))
    if records:
        more = len(diagnosis.remedies) - len(records)
        title = "What to do, best first" + (f" (-v shows {more} more)" if more else "")
        yield chapter(title, Records(records))
    if records and any(one.cause.likely_missing for one in diagnosis.explained):
        yield para(("Do not download DLLs from DLL download sites.", "dim"))

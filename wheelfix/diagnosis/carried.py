"""What a text shows that a cause is about: the names that its sentence has to say, and two releases that do not fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex
from wheelfix.base.values import replace
from wheelfix.diagnosis.symptoms.causes import of_environment
from wheelfix.diagnosis.symptoms.model import Confidence, Log, Symptom, dll_names
from wheelfix.diagnosis.symptoms.pairs import is_distribution, read_pair
from wheelfix.knowledge.providers import owner_of_package
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.diagnosis.model import Explained
    from wheelfix.diagnosis.symptoms.model import Cause

_ABOVE, _BELOW = 8, 8
"""Lines around an error in which its message can name two releases."""
_LONGEST = 600
_SAYS_NO_MORE = frozenset(
    "requirements-conflict program-error unexplained-error module-missing said-to-fail warning-only package-missing "
    "source-too-old load-failed".split()
)
"""Causes that say less than two releases which do not go together."""
_ONE_RELEASE = regex(r"([A-Za-z][\w. -]{1,40}?) v?(\d[\w.+]{0,30})")
_RELEASES = regex(r"[A-Za-z][\w. -]{1,40}? v?\d[\w.+]{0,30}(?: and v?\d[\w.+]{0,30}){0,3}")
_LAST_CODE = 0xFFFF
"""The last of Windows' own error codes; larger numbers are statuses, which a text has in it."""


def with_pair(explained: Explained, log: Log) -> Explained:
    """Return a cause with the two releases that its message says do not go together, and how to change either."""
    at = explained.symptom.line if explained.symptom else log.error.line if log.error else 0
    near = log.tail[max(at - log.tail_start - _ABOVE, 0) : at - log.tail_start + _BELOW] if at else ()
    versions = {found[1].lower(): found[2] for fact in log.facts if (found := _ONE_RELEASE.fullmatch(fact))}
    pair = read_pair("\n".join(line[:_LONGEST] for line in near), versions)
    if pair is None or not pair.differs:
        return explained
    cause = explained.cause
    if not pair.asker and is_distribution(first := cause.summary.partition(" ")[0]):
        pair = replace(pair, asker=first)
    symptom = explained.symptom or Symptom("", details=log.said)
    steps = tuple(of_environment(step, symptom) for step in pair.remedies())
    sentence = f"{pair.sentence if pair.asker else f'A{pair.sentence[1:]}'}."
    if cause.id in _SAYS_NO_MORE:
        rest = tuple(step for step in cause.next_steps if step.command)
        cause = replace(cause, summary=sentence, confidence=Confidence.SURE, next_steps=(*steps, *rest))
    else:
        summary = cause.summary if pair.is_in(cause.summary) else f"{cause.summary.rstrip('.')}: {pair.sentence}."
        ready = any(step.command for step in steps)
        rest = tuple(step for step in cause.next_steps if step.command or not ready)
        cause = replace(cause, summary=summary, next_steps=(*(steps if ready else ()), *rest))
    return replace(explained, cause=cause)


# ------------------------------------------------------------------------------------------------- what else it shows


_NAME = regex(r"[A-Za-z][A-Za-z_. +-]*?(?=[ _-]?v?\d|$| and | \()")
_OTHER_NAMES = {
    "cuda toolkit": "cuda",
    "interpreter": "python",
    "msvc": "toolset|compiler|msvc",
    "pytorch": "torch",
    "tf": "tensorflow",
    "torch": "torch|pytorch",
    "windows": "(?:this|old|older|newer) windows|windows (?:on arm|is|10|8|7)",
}
"""What a cause calls the things of which a text names the release."""
_CARD = regex(r"\(sm_\d")
_ABOUT_CARDS = regex(r"\bcards?\b|\bgpus?\b|\bsm_\d|architecture", re.IGNORECASE)
_HOST = regex(r"inside |a program that |a file for |installs ")
_MOST = 6


def carried_facts(explained: Explained, log: Log, quoted: str) -> tuple[str, ...]:
    """Return what the text says about the things that a cause is about, where its own sentence does not say it.

    The number of the error is left out where a quoted line has it.
    """
    cause, symptom = explained.cause, explained.symptom
    steps = " ".join(f"{step.title} {step.command} {step.why}" for step in cause.next_steps)
    said = f"{cause.summary} {cause.what_is_known} {steps}".lower()
    own = {canonical(name) for name in _names(symptom)} if symptom else set[str]()
    found = [*(_subjects(cause, symptom, quoted) if symptom else ())]
    rest = [fact for fact in log.facts if fact not in cause.summary]
    found += [fact for fact in rest if canonical(_name(fact)) in own]
    found += [fact for fact in rest if _is_about(fact, said)]
    if symptom and 0 < (symptom.code or 0) <= _LAST_CODE:
        # Whatever is loaded together can be the reason why a load fails.
        found += [fact for fact in rest if dll_names(fact) or (_RELEASES.fullmatch(fact) and _name(fact) != "windows")]
    once = tuple(dict.fromkeys(found))
    named = " ".join(once).lower()
    return tuple(fact for fact in once if named.count(fact.lower()) == 1)[:_MOST]


def _names(symptom: Symptom) -> Iterator[str]:
    for name in (symptom.package, symptom.module.partition(".")[0]):
        if name:
            yield from filter(None, (name, owner_of_package(name)))


def _subjects(cause: Cause, symptom: Symptom, quoted: str) -> Iterator[str]:
    """Yield the files, the module, the function and the number of an error that the sentence leaves out."""
    summary = cause.summary.lower()
    for name in (symptom.file, *symptom.dlls, symptom.details.get("dotted", "") or symptom.module):
        if name and name.lower() not in summary:
            yield name
    symbol, code = symptom.details.get("symbol", ""), symptom.code or 0
    if symbol and symbol not in cause.summary:
        yield f"function {symbol}"
    if 0 < code <= _LAST_CODE and not re.search(rf"\b(?:{code}|0x0*{code:x})\b", f"{cause.summary} {quoted}"):
        yield f"error {code}"


def _name(fact: str) -> str:
    """Return whose release a fact is, in lower case; nothing for paths and other facts."""
    found = _NAME.match(fact)
    return found[0].strip().lower() if found and "\\" not in fact and "/" not in fact else ""


def _is_about(fact: str, said: str) -> bool:
    if _CARD.search(fact) or _HOST.match(fact):
        return _HOST.match(fact) is not None or _ABOUT_CARDS.search(said) is not None
    name = _name(fact)
    wanted = _OTHER_NAMES.get(name, re.escape(name))
    return bool(name) and re.search(rf"(?<![\w]){wanted}(?![a-z])", said) is not None

"""The system's sentence in any language we know: which code it belongs to, and which language it is.

Wrapping, missing blanks and a wrong code page do not matter: sentences compare without white space and punctuation,
and a text that matches nothing is tried again as if it had been decoded wrongly.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache

from wheelfix.base.values import dataclass
from wheelfix.diagnosis.symptoms.symptom import Confidence
from wheelfix.knowledge.winerrors import code_of_sentence, is_ambiguous, sentences, squeeze

_SCRIPTS = (
    ("ja", re.compile(r"[\u3041-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
)
# What a text is often wrongly decoded as, and what Windows consoles really write.
_WRONG = ("latin-1", "cp1252", "cp437", "cp850", "cp1251", "gb18030")
_RIGHT = ("utf-8", "gb18030", "cp932", "cp949", "big5", "cp1251", "cp866", "cp1252", "cp850", "cp1250")
_ALIKE = 0.78


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a sentence turned out to be."""

    code: int
    language: str
    confidence: Confidence = Confidence.SURE


@lru_cache(maxsize=1)
def sentence_triggers() -> tuple[str, ...]:
    """Return a telling part, in lower case, of every sentence that is about loads alone: up to four words."""
    telling = {_telling_part(text.lower()) for code, _, text in sentences() if not is_ambiguous(code)}
    return tuple(sorted(telling - {""}))


def _telling_part(text: str) -> str:
    words = text.replace("%1", " ").strip(" .。!").split()
    runs = [" ".join(words[start : start + 4]) for start in range(max(len(words) - 3, 1))]
    return max(runs, key=len)


@lru_cache(maxsize=256)
def read_sentence(text: str) -> Sentence | None:
    """Return the code and language of the sentence in a text, also of one decoded with a wrong code page."""
    known = _lookup(text)
    if known is None and not text.isascii():
        known = next(filter(None, map(_lookup, _readings(text))), None)
    return known


def _lookup(text: str) -> Sentence | None:
    known = code_of_sentence(text)
    return Sentence(*known) if known else None


@lru_cache(maxsize=256)
def nearest_sentence(text: str) -> Sentence | None:
    """Return the known sentence that a text is nearly the same as, or None."""
    squeezed = squeeze(text)[:200]
    if len(squeezed) < 8:
        return None
    matcher = SequenceMatcher(None, b=squeezed)
    best = (_ALIKE, 0, "")
    for code, language, sentence in sentences():
        matcher.set_seq1(squeeze(sentence))
        if matcher.real_quick_ratio() > best[0] and matcher.quick_ratio() > best[0]:
            best = max(best, (matcher.ratio(), code, language))
    return Sentence(best[1], best[2], Confidence.LIKELY) if best[1] else None


def _readings(text: str) -> list[str]:
    """The texts that this one may have been before it was decoded wrongly."""
    readings = []
    for wrong in _WRONG:
        try:
            raw = text.encode(wrong)
        except UnicodeEncodeError:
            continue
        for right in _RIGHT:
            if right != wrong:
                try:
                    readings.append(raw.decode(right))
                except UnicodeDecodeError:
                    continue
    return readings


def language_of(text: str) -> str:
    """Return the language that the script of a text speaks for, or nothing."""
    if text.isascii():
        return ""
    return next((language for language, script in _SCRIPTS if script.search(text)), "")


def repair_encoding(text: str) -> str:
    """Return a line whose bytes were no UTF-8 in the code page that makes most sense of it."""
    if not any("\udc80" <= char <= "\udcff" for char in text):
        return text
    raw = text.encode("utf-8", "surrogateescape")
    decoded: list[str] = []
    for name in _RIGHT[1:]:
        try:
            decoded.append(raw.decode(name))
        except UnicodeDecodeError:
            continue
    for reading in decoded:
        if _lookup(reading):
            return reading
    return raw.decode("cp1252", "replace")

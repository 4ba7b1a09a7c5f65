"""Turns the lines of a text into symptoms, one window of a few lines at a time."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import islice, takewhile
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Any

from wheelfix.base.parsing import regex, whole_number
from wheelfix.base.values import frozen, replace
from wheelfix.diagnosis.symptoms.messages import can_be_message, message_triggers, read_messages
from wheelfix.diagnosis.symptoms.model import (
    Confidence,
    Symptom,
    dll_names,
    named_path,
    package_of,
    read_table,
    table_rows,
    tidy_path,
)
from wheelfix.diagnosis.symptoms.stream import RowIndex, WordIndex, alike, join_wrapped
from wheelfix.knowledge.winerrors import code_of_sentence, is_ambiguous, squeeze, winerror_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

FORMS = "forms.toml"
PHRASES = "phrases.toml"


@frozen
class Form:
    """One way of printing an error."""

    kind: str
    triggers: tuple[str, ...]
    """Lower-case words, one of which has to be in the line before the pattern is tried."""
    pattern: re.Pattern[str]
    code: int | None = None
    """The code when the form itself says it."""
    confidence: Confidence = Confidence.SURE
    weak: bool = False
    """Dropped where a stronger form already covers the same place."""
    before: Callable[[str], dict[str, str] | None] | None = None
    """Reads more groups from the text before the match, backwards from its end, so that no pattern has to try every
    start; None means that the text before it does not fit, so that the form does not match."""
    among: tuple[str, ...] = ()
    """Lower-case words, one of which has to be in the line as well, where the trigger alone says too little."""
    after: tuple[str, ...] = ()
    """Words of which one has to be in the few lines above, where the line is about other things elsewhere."""
    language: str = ""
    """The language of a sentence; empty for what is not translated."""
    begins: str = ""
    """How a sentence about a function begins: somebody who types such a dialog box breaks its lines anywhere."""

    def allows(self, lowered: str, above: str) -> bool:
        """Whether the pattern can match a line with a trigger, given together with those above it."""
        wanted = ((self.among, lowered), (self.after, above))
        return all(not words or any(word in text for word in words) for words, text in wanted)


@frozen
class Fact:
    """What a line of a text says about the machine or the program, beside its errors."""

    name: str
    """``environment``, ``vendor``, ``bundle``, ``host`` or ``wheel``."""
    pattern: re.Pattern[str]
    source: str
    triggers: tuple[str, ...] = ()
    value: str = ""
    """What it says; empty where the group ``value`` of the pattern has it."""


# ------------------------------------------------------------------------------------------- the numbers of Windows

_CODES = 0xFFFF
"""Numbers above it are NTSTATUS values."""


def _statuses(statuses: Iterable[int]) -> str:
    """A pattern for NTSTATUS values in the three ways in which they are printed."""
    numbers = [text for status in statuses for text in (f"0x{status:08x}", str(status), str(status - (1 << 32)))]
    return rf"(?<![\w.])(?P<status>{'|'.join(map(re.escape, numbers))})(?![\w])"


# ------------------------------------------------------------------------------------------ what stands before a match


_QUOTE = "[\"'`“”„«»‘’「」『』]?"
# Patterns for a text that is read from right to left.
_SENTENCE_BACKWARDS = regex(r"([^\r\n(]+)")
_CARD_BACKWARDS = regex(r"\s([\w -]{1,60})")
_DLL_BACKWARDS = regex(rf"\s*{_QUOTE}((?:lld|dyp)\.[A-Za-z0-9_.+-]{{1,119}})", re.IGNORECASE)
_FILE_BACKWARDS = regex(
    rf"\s*{_QUOTE}((?:lld|dyp|exe)\.[^\"“”„«»*?<>|:\r\n]{{1,260}}(?:(?<=[\\/]):[A-Za-z])?)", re.IGNORECASE
)


def _backwards(
    group: str, match: Callable[[str], re.Match[str] | None], dropped: str | None, shortest: int
) -> Callable[[str], dict[str, str] | None]:
    """Return what reads a group at the end of a text, without some characters before it."""

    def read(text: str) -> dict[str, str] | None:
        found = match(text[::-1])
        value = found[1][::-1].lstrip(dropped) if found else ""
        return {group: value} if len(value) > shortest else None

    return read


_BEFORE_FORM = {
    "sentence": _backwards("text", _SENTENCE_BACKWARDS.match, "", 0),
    "card": _backwards("d_card", _CARD_BACKWARDS.match, " -", 1),
    "dll": _backwards("dlls", _DLL_BACKWARDS.match, ".+-", 4),
    "file": _backwards("path", _FILE_BACKWARDS.match, None, 0),
}


def _if_any(read: Callable[[str], dict[str, str] | None]) -> Callable[[str], dict[str, str] | None]:
    """Return the same for what need not be there."""
    return lambda text: read(text) or {}


# --------------------------------------------------------------------------------------------------- the table of forms


@cache
def _parts() -> Mapping[str, str]:
    """Return what the patterns of the table share, by its name in them."""
    tree, errors = read_table(FORMS).tree, winerror_table().errors
    delayed = tree["statuses"]["DELAY_STATUS"]
    statuses = [code for code in errors if code > _CODES and code not in delayed]
    return {
        **tree["parts"],
        "CODES": "|".join(str(code) for code in errors if code <= _CODES and not is_ambiguous(code)),
        "AMBIGUOUS": "|".join(str(code) for code in errors if is_ambiguous(code)),
        "EXIT_STATUS": _statuses([*statuses, *tree["statuses"]["EXIT_STATUS"]]),
        "DELAY_STATUS": _statuses(delayed),
    }


def _form(row: Mapping[str, Any]) -> Form:
    """Turn a row of the table of patterns into a form."""
    pattern = "".join(row["pattern"])
    for name, part in _parts().items():
        pattern = pattern.replace(f"{{{name}}}", part)
    words = {name: tuple(dict.fromkeys(map(alike, row.get(name, ())))) for name in ("triggers", "among", "after")}
    confidence = Confidence(row.get("confidence", "sure"))
    before = _if_any(_BEFORE_FORM[row["before"]]) if "before" in row else None
    # Signs of China and Japan stand beside a code without a blank: they are no part of its word.
    shape = regex(pattern, re.IGNORECASE | re.ASCII)
    return Form(**{**row, **words, "pattern": shape, "confidence": confidence, "before": before})


@cache
def machine_rows() -> tuple[Fact, ...]:
    """Return the rows about what people paste of their machine, for every line of a text."""
    return table_rows("machine", Fact, FORMS)


@cache
def _facts() -> RowIndex[Fact]:
    return RowIndex((fact, fact.triggers) for fact in table_rows("fact", Fact, FORMS))


@lru_cache(maxsize=64)
def facts_in(line: str) -> tuple[Fact, ...]:
    """Return what a line says about the machine and the program that it is from."""
    found = ((fact, fact.pattern.search(line)) for fact in _facts().near(line.lower()))
    return tuple(
        replace(fact, value=fact.value or match["value"].replace("\\\\", "\\")) for fact, match in found if match
    )


def of_process(facts: dict[str, str]) -> dict[str, str]:
    """Return facts without the processor of the machine, where the Python is said to be for another one."""
    return {name: value for name, value in facts.items() if name != "bitness" or facts.get("process") != "x64"}


# ---------------------------------------------------------------------------------------- the sentences of dialog boxes

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_+-]{0,119}(?:\.[A-Za-z0-9_+-]{1,40}){0,5}?"
# Each hole takes as much as it can and gives nothing back: a group inside a lookahead is matched once.
_HOLES = {
    "dll": rf"(?<![A-Za-z0-9_]){_QUOTE}(?=(?P<dlls>{_NAME}\.(?:dll|pyd)))(?P=dlls){_QUOTE}",
    "file": rf"(?<![\w\\/.]){_QUOTE}(?!\s)"
    rf"(?=(?P<path>(?:[A-Za-z]:)?[^\"“”„«»*?<>|:\r\n]{{1,260}}?\.(?:dll|pyd|exe)))(?P=path){_QUOTE}",
    "symbol": rf"{_QUOTE}(?=(?P<d_symbol>[!#-&(-_a-~]{{1,300}}))(?P=d_symbol){_QUOTE}",
}
_FORM_HOLE = regex(r"\{(\w+)\}")


def _compile_phrase(kind: str, code: int, text: str, language: str) -> Form:
    """Return the form of a sentence, with its longest fixed part as the trigger.

    A hole at its beginning is read backwards from the rest, because it could begin anywhere.
    """
    parts = _FORM_HOLE.split(text)
    trigger = max((alike(part).strip() for part in parts[0::2]), key=len)
    before = None if parts[0].strip() else _BEFORE_FORM[parts[1]]
    pattern = ""
    for number, part in enumerate(parts[2:] if before else parts):
        # Any amount of white space, none included, matches where the sentence has a blank.
        words = (re.escape(word).replace("'", "['’]") for word in re.split(r"\s+", part))
        pattern += _HOLES[part] if number % 2 else r"\s*".join(words)
    if before:
        pattern = pattern.removeprefix(r"\s*")
    # Every sentence names a file; its other words stand in many lines.
    among = (".dll", ".pyd", ".exe") if {"dll", "file"} & set(parts[1::2]) else ()
    shape = regex(pattern, re.IGNORECASE)
    begins = alike(parts[0]).strip() if kind == "dialog-entry-point" else ""
    return Form(kind, (trigger,), shape, code, before=before, among=among, language=language, begins=begins)


@cache
def all_forms() -> tuple[Form, ...]:
    """Return every form, those that say most first."""
    forms = [_form(row) for row in read_table(FORMS).tree["form"]]
    for row in read_table(PHRASES).tree["phrase"]:
        sentences = ((name, text) for name, texts in row["texts"].items() for text in texts)
        forms += [_compile_phrase(row["kind"], row["code"], text, language) for language, text in sentences]
    return tuple(forms)


_SCRIPTS = (
    ("ja", regex(r"[\u3041-\u30ff]")),
    ("ko", regex(r"[\uac00-\ud7af]")),
    ("zh", regex(r"[\u4e00-\u9fff]")),
    ("ru", regex(r"[\u0400-\u04ff]")),
    ("el", regex(r"[\u0370-\u03ff]")),
    ("ar", regex(r"[\u0600-\u06ff]")),
    ("he", regex(r"[\u0590-\u05ff]")),
    ("th", regex(r"[\u0e00-\u0e7f]")),
)
# What a text is often wrongly decoded as, and what Windows consoles really write.
_WRONG = ("latin-1", "cp1252", "cp437", "cp850", "cp1251", "gb18030")
_RIGHT = ("utf-8", "gb18030", "cp932", "cp949", "big5", "cp1251", "cp866", "cp1252", "cp850", "cp1250")
_ALIKE = 0.78


@frozen
class Sentence:
    """What a sentence turned out to be."""

    code: int
    language: str
    confidence: Confidence = Confidence.SURE


@cache
def sentence_triggers() -> tuple[str, ...]:
    """Return a telling part, in lower case, of every sentence that is about loads alone: up to four words.

    It is one that has no other wording, so that it is found where the sentence is broken in two as well.
    """
    telling = {_telling_part(text.lower()) for code, _, text in winerror_table().sentences if not is_ambiguous(code)}
    return tuple(sorted(telling - {""}))


def _telling_part(text: str) -> str:
    words = text.replace("%1", " ").strip(" .。!").split()
    runs = [" ".join(words[start : start + size]) for size in (4, 3) for start in range(max(len(words) - size + 1, 1))]
    whole = alike(" ".join(words))
    return next((run for run in sorted(runs, key=len, reverse=True) if run in whole and run == alike(run)), "")


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
    for code, language, sentence in winerror_table().sentences:
        matcher.set_seq1(squeeze(sentence))
        if matcher.real_quick_ratio() > best[0] and matcher.quick_ratio() > best[0]:
            best = max(best, (matcher.ratio(), code, language))
    return Sentence(best[1], best[2], Confidence.LIKELY) if best[1] else None


def _readings(text: str) -> Iterator[str]:
    """The texts that this one may have been before it was decoded wrongly."""
    for wrong in _WRONG:
        with suppress(UnicodeEncodeError):
            yield from _decoded(text.encode(wrong), (right for right in _RIGHT if right != wrong))


def _decoded(raw: bytes, encodings: Iterable[str]) -> Iterator[str]:
    for name in encodings:
        with suppress(UnicodeDecodeError):
            yield raw.decode(name)


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
    known = (reading for reading in _decoded(raw, _RIGHT[1:]) if _lookup(reading))
    return next(known, None) or raw.decode("cp1252", "replace")


WINDOW = 6
"""Lines that may belong to one broken line: a path of 260 characters on a console of 80 columns, and one to spare."""

_NEW_THOUGHT = regex(r"\s*(?:Traceback \(|File \"|During handling of|The above exception|\S*(?:Error|Exception): )")
_FOLDERS = frozenset({"bin", "dlls", "lib", "library"})
_HOLE = regex(r"\{[A-Za-z_]|%[sr]\b")
_ABSENT = regex("not (?:be )?found|cannot find|couldnt find|missing|找不到|找不着|見つかりません", re.IGNORECASE)
_PROCEDURE = regex("proced|program|function|entry|symbol|程序|プロシージャ", re.IGNORECASE)
_RETOLD = (
    (127, (_ABSENT, _PROCEDURE)),
    (126, (_ABSENT,)),
    (1114, (regex(r"initiali[sz]ation routine|initiali[sz]ation (?:has )?failed|初始化", re.IGNORECASE),)),
    (14001, (regex("application configuration is incorrect", re.IGNORECASE),)),  # Windows XP's own words
)
"""What people write when they translate a sentence of Windows themselves: the code, and what must be in it."""
_EXCERPT = 400
_NARROWEST = 72
_HITS = 20
_BEFORE = 300
_WORKFUL = 512


@frozen
class Found:
    """A symptom and the stretch of the first line that it covers."""

    symptom: Symptom
    start: int
    end: int
    weak: bool


@frozen
class LineReading:
    """What one line said."""

    symptoms: tuple[Symptom, ...]
    alone: bool
    """Whether the lines after it had no part in it, so that the same line always says the same."""
    tried: int
    """How many forms were tried, where a long line counts several times; it measures the work."""


@cache
def form_triggers() -> dict[str, tuple[str, ...]]:
    """Return every word, in lower case, without which no form can match a line.

    Each has the words of which one must be in the line, too: "not found" stands in many lines that nobody asks about.
    """
    words = dict(message_triggers())
    for form in all_forms():
        for word in form.triggers:
            alone = not form.among or words.get(word) == ()
            words[word] = () if alone else (*words.get(word, ()), *form.among)
    words |= dict.fromkeys(_begun(), ())
    # A word that contains another one adds nothing to the search.
    shorter = WordIndex(word for word, others in words.items() if not others)
    return {word: others for word, others in words.items() if shorter.found(word) in ([], [word])}


def recognise(lines: Sequence[str], above: Sequence[str] = ()) -> LineReading:
    """Return what the first line reports; where it was wrapped, the following lines are read as its rest.

    ``above`` are the few lines before it.
    """
    before = alike("\n".join(above))
    line = lines[0]
    lowered = alike(line + (lines[1] if len(lines) > 1 and len(line) >= _NARROWEST else ""))
    if any(begins in lowered for begins in _begun()):
        lowered = alike(" ".join(takewhile(str.strip, lines)))
    text = _Wrapped(lines)
    found: list[Found] = []
    alone = True
    tried = 0
    for form in _index().near(lowered):
        if form.allows(lowered, before):
            hits, complete = _apply(form, text)
            found += hits
            alone &= complete
            tried += 1 + len(line) // _WORKFUL
    kept = _strongest(found)
    # What a message says about a status says more than the status.
    if all(hit.symptom.kind == "exit-code" for hit in kept) and can_be_message(lowered):
        told = read_messages(line)
        if not told and len(line) >= _NARROWEST and text.readings():
            told, alone = read_messages(text.readings()[0]), False
        told = [symptom for symptom in told if not kept or "rank" not in symptom.details]
        kept = [Found(symptom, 0, len(line), weak=True) for symptom in told] or kept
        tried += 1
    bare = [hit.symptom for hit in kept if hit.symptom.code is None and hit.symptom.kind == "could-not-load-this"]
    if (bare or not kept) and _sentences().found(lowered):
        said = _bare_sentence(text)
        tried += 1
        alone = False
        # The reason stands behind the file in the same line.
        kept = [replace(hit, symptom=_with_reason(hit.symptom, said)) for hit in kept] if bare else said
    return LineReading(tuple(_last_resort(hit.symptom) for hit in kept), alone, tried)


@cache
def _begun() -> tuple[str, ...]:
    return tuple({form.begins for form in all_forms()} - {""})


@cache
def _index() -> RowIndex[Form]:
    return RowIndex((form, form.triggers) for form in all_forms())


@cache
def _sentences() -> WordIndex:
    return WordIndex(sentence_triggers())


def _apply(form: Form, text: _Wrapped) -> tuple[list[Found], bool]:
    """Return the form's matches that begin in the first line, and whether that line sufficed."""
    matches = islice(form.pattern.finditer(text.first), _HITS)
    hits = [hit for match in matches if (hit := _found(form, match)) is not None]
    if hits and not any(_torn(hit, text.first) for hit in hits):
        return hits, True
    if text.following and form.pattern.search(text.following):
        return hits, False  # the next line is a message of its own, not the rest of this one
    for joined in text.readings():
        match = form.pattern.search(joined)
        hit = _found(form, match) if match else None
        if hit is not None and hit.start < len(text.first) and not _torn(hit, joined):
            return [hit], False
    return hits, False


class _Wrapped:
    """A line, and what it becomes when the following ones are joined to it as its wrapped rest."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.first = lines[0]
        self.following = lines[1] if len(lines) > 1 else ""
        self._lines = lines
        self._joined: list[str] | None = None

    def readings(self) -> list[str]:
        """The line joined with one, two and more of the following ones, up to a blank line or a new message."""
        if self._joined is None:
            self._joined = []
            for count in range(2, len(self._lines) + 1):
                following = self._lines[count - 1]
                if not following.strip() or _NEW_THOUGHT.match(following):
                    break
                self._joined.append(join_wrapped(tuple(self._lines[:count])))
        return self._joined


def _torn(hit: Found, text: str) -> bool:
    """Whether the match ends with the line, although such a message has more to say."""
    text = text.rstrip()
    if hit.end < len(text):
        return False
    symptom = hit.symptom
    if symptom.kind == "dll-load-failed":
        return symptom.code is None
    if symptom.kind in ("mkl-cannot-load", "omp-duplicate"):
        return not symptom.dlls or not text.endswith(".")
    return "supported" in symptom.details and not text.endswith(".")


def _last_resort(symptom: Symptom) -> Symptom:
    """Guess the code of a sentence that is nearly a known one."""
    if symptom.code is not None or symptom.kind != "dll-load-failed":
        return symptom
    start = symptom.excerpt.lower().find("dll load fail")
    sentence = symptom.excerpt[start:].partition(":")[2]
    known = nearest_sentence(sentence)
    if known is not None:
        return replace(symptom, code=known.code, language=known.language, confidence=known.confidence)
    told = alike(sentence)
    code = next((code for code, retold in _RETOLD if all(one.search(told) for one in retold)), None)
    return symptom if code is None else replace(symptom, code=code, confidence=Confidence.LIKELY)


def _strongest(found: list[Found]) -> list[Found]:
    """Drop weak matches inside strong ones, and the same place reported twice."""
    kept = [hit for hit in found if not hit.weak]
    for hit in found:
        if hit.weak and not any(other.start < hit.end and hit.start < other.end for other in kept):
            kept.append(hit)
    return sorted(kept, key=lambda hit: hit.start)


def _bare_sentence(text: _Wrapped) -> list[Found]:
    """Return the symptom of a line that has nothing but the system's sentence, or the first half of it."""
    known = read_sentence(text.first)
    if known is None and text.readings() and read_sentence(text.following) is None:
        known = read_sentence(text.readings()[0])
    if known is None or is_ambiguous(known.code):
        return []
    # Node.js names the file in the line below the sentence.
    below = text.following if text.following.lstrip().startswith("\\\\?\\") else ""
    path = named_path(text.first) or next(iter(dll_names(text.first)), None) or named_path(below)
    excerpt, likely = _shorten(text.first), Confidence.LIKELY
    symptom = Symptom("sentence", known.code, path, language=known.language, excerpt=excerpt, confidence=likely)
    return [Found(symptom, 0, len(text.first), weak=True)]


def _with_reason(symptom: Symptom, said: list[Found]) -> Symptom:
    """Give the code of a sentence to what could not be loaded and has none."""
    if symptom.code is not None or not said:
        return symptom
    return replace(symptom, code=said[0].symptom.code, language=said[0].symptom.language)


def _found(form: Form, match: re.Match[str]) -> Found | None:
    """Turn a match into a symptom; None if the text before it is not what the form expects there."""
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    start = match.start()
    if form.before is not None:
        ahead = form.before(match.string[max(start - _BEFORE, 0) : start])
        if ahead is None:
            return None
        groups.update(ahead)
        start = min((match.string.rfind(value, 0, start) for value in ahead.values()), default=start)
    code = _code(form, groups)
    text = groups.get("text", "")
    known = read_sentence(text) if text.strip() else None
    confidence = form.confidence
    if code is None and known is not None:
        code = known.code
        confidence = max(confidence, known.confidence, key=list(Confidence).index)
    if _HOLE.search(groups.get("path", "") + groups.get("dlls", "")):
        return None  # a source line in a traceback: the template of the message, not the message
    path = tidy_path(groups["path"]) if "path" in groups else None
    if form.kind == "ctypes-not-found" and path and PureWindowsPath(path).name.lower() in _FOLDERS:
        return None  # code that tries several places, and mistakes folders for files
    if path is None and form.kind in ("winerror", "load-library"):
        path = named_path(text or match.string)
    sure = form.confidence is Confidence.SURE
    if path is None and form.kind == "winerror" and (not sure or text.rstrip().endswith(("'", '"', ".dll"))):
        names = dll_names(text if sure else match.string)
        path = names[0] if len(names) == 1 else None
    dlls = dll_names(groups.get("dlls", ""))
    # The package that prints such a line, which names neither a file nor a module.
    own = "torchvision" if "failed to load image python extension" in match.string.lower() else ""
    details = {name[2:]: " ".join(value.split()) for name, value in groups.items() if name.startswith("d_")}
    symptom = Symptom(
        form.kind,
        code,
        path,
        dlls,
        module=groups.get("module", ""),
        package=package_of(path or "") or own,
        language=form.language or (known.language if known else language_of(text)),
        excerpt=_shorten(match.string if len(match.string) <= _EXCERPT else match.string[start:]),
        confidence=confidence,
        details=details,
    )
    return Found(symptom, start, match.end(), form.weak)


def _code(form: Form, groups: dict[str, str]) -> int | None:
    if "code" in groups:
        number = whole_number(groups["code"].lstrip("-"), digits=10)
        return (1 << 32) - number if number and groups["code"].startswith("-") else number
    if "status" in groups:
        return int(groups["status"], 0) & 0xFFFFFFFF
    if "status_name" in groups:
        name = f"STATUS_{groups['status_name'].upper()}"
        return next(error.code for error in winerror_table().errors.values() if error.name == name)
    return int(groups["hresult"], 16) if "hresult" in groups else form.code


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"

"""Regular expressions of interpreted code: simple ones are matched, those that could take long are not."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

from wheelfix.pycode.objects import UNKNOWN, Bound, Instance, Iteration, Native, PyValue, UnknownValue, error
from wheelfix.pycode.valuesize import MAX_MATCHING, matching_work

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.pycode.run import PythonRun

MAX_PATTERN = 200
MAX_SUBJECT = 300
_FLAGS = {"I": re.IGNORECASE, "IGNORECASE": re.IGNORECASE, "M": re.MULTILINE, "MULTILINE": re.MULTILINE}
_KINDS = ("match", "search", "fullmatch", "findall", "finditer", "sub", "split")


def _compiled(pattern: PyValue, flags: PyValue = None) -> re.Pattern[str] | None:
    """A pattern that may be matched; None if it is not known or could take long."""
    if isinstance(pattern, Instance):
        found = pattern.attributes.get("<pattern>")
        return found if isinstance(found, re.Pattern) else None
    flag = _FLAGS.get(flags.name.rpartition(".")[2]) if isinstance(flags, Native) else 0 if flags in (None, 0) else None
    if (
        not isinstance(pattern, str)
        or len(pattern) > MAX_PATTERN
        or flag is None
        or matching_work(pattern, 0, search=False) > MAX_MATCHING
    ):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern, flag)
    except (re.error, RecursionError, OverflowError):
        raise error("re.error") from None


def _asked(kind: str) -> Callable[[PythonRun, list[PyValue], dict[str, PyValue]], PyValue]:
    def made(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        last = args[2] if len(args) > 2 and kind not in ("sub", "split") else keywords.get("flags")
        pattern = _compiled(args[0], last)
        texts = args[1:3] if kind == "sub" else args[1:2]
        if pattern is None or not all(isinstance(one, str) and len(one) <= MAX_SUBJECT for one in texts):
            return UNKNOWN
        return _answer(run, pattern, kind, texts)

    return made


def _answer(run: PythonRun, pattern: re.Pattern[str], kind: str, texts: list[str]) -> PyValue:
    work = matching_work(pattern.pattern, len(texts[-1]), search=kind not in ("match", "fullmatch"))
    if work > MAX_MATCHING:
        return UNKNOWN
    run.step(work >> 10)
    if kind == "sub":
        try:
            return pattern.sub(texts[0], texts[1])
        except (re.error, IndexError):
            raise error("re.error") from None
    if kind in ("findall", "split"):
        return list(getattr(pattern, kind)(texts[0]))
    if kind == "finditer":
        return Iteration(_match(one) for one in pattern.finditer(texts[0]))
    found = getattr(pattern, kind)(texts[0])
    return None if found is None else _match(found)


def _match(found: re.Match[str]) -> Instance:
    made = Instance(Native("re.Match"), {"string": found.string})
    for name in ("group", "groups", "groupdict", "start", "end", "span"):
        made.attributes[name] = Bound(Native(f"<match>.{name}"), [found])
    return made


def matched(run: PythonRun, found: PyValue, name: str, args: list[PyValue]) -> PyValue:
    """Call a method of a match, or of a pattern."""
    if isinstance(found, re.Pattern):
        texts = args[:2] if name == "sub" else args[:1]
        known = all(isinstance(one, str) and len(one) <= MAX_SUBJECT for one in texts)
        return _answer(run, found, name, texts) if known and texts else UNKNOWN
    if any(isinstance(one, UnknownValue) for one in args):
        return UNKNOWN
    try:
        return getattr(found, name)(*args)
    except (IndexError, TypeError):
        raise error("IndexError", "no such group") from None


def _compile(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    pattern = _compiled(args[0], args[1] if len(args) > 1 else keywords.get("flags"))
    if pattern is None:
        return UNKNOWN
    made = Instance(Native("re.Pattern"), {"<pattern>": pattern, "pattern": pattern.pattern})
    for name in _KINDS:
        made.attributes[name] = Bound(Native(f"<match>.{name}"), [pattern])
    return made


PATTERNS: dict[str, Callable[[PythonRun, list[PyValue], dict[str, PyValue]], PyValue]] = {
    **{f"re.{name}": _asked(name) for name in _KINDS},
    "re.compile": _compile,
    "re.escape": lambda run, args, keywords: re.escape(args[0]) if isinstance(args[0], str) else UNKNOWN,
}

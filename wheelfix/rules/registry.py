"""The list of everything wheelfix can find: codes, names, severities, pages, themes and the functions behind them.

A rule is a function ``Subject -> Iterable[Finding]`` under a :func:`rule` with the codes it can emit, in any module of
this package: all are imported when the list is first asked for, so that nothing but commands that need rules
pays for them. The page of a code begins with its name, its severity, whether a repair fixes it, and what it is.
"""

from __future__ import annotations

import fnmatch
import functools
import importlib
import re
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from wheelfix.base.inputfiles import listed_modules, own_data
from wheelfix.base.parsing import close_words
from wheelfix.base.values import distinct, frozen, replace
from wheelfix.errors import UsageError
from wheelfix.model import Finding, Json, Repairable, Severity, dll_key, fold
from wheelfix.rules.wording import last_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wheelfix.rules.context import Subject


Check: TypeAlias = "Callable[[Subject], Iterable[Finding]]"
Findings: TypeAlias = "Iterator[Finding]"
"""What a rule gives."""
_C = TypeVar("_C", bound=Check)


class Group(Enum):
    """What a rule is about; the first digit of its code stands for it."""

    ARCHIVE = "Archive and RECORD"
    IMAGES = "DLLs as files"
    DEPENDENCIES = "Dependencies"
    COHERENCE = "Coherence"
    GPU = "GPU code"
    POLICY = "Policy"


_GROUPS = dict(zip("123456", Group, strict=True))
_SEVERITIES = tuple(Severity)


@frozen
class Rule:
    """One kind of finding, as ``wheelfix explain`` lists it."""

    code: str
    """``WF301``; permanent."""
    name: str
    """Kebab-case, says what is wrong."""
    severity: Severity
    """The severity it has unless the circumstances of a finding say otherwise."""
    summary: str
    """One sentence."""
    repairable: Repairable
    """Whether ``wheelfix repair`` can fix it."""

    @property
    def group(self) -> Group:
        """What it is about."""
        return _GROUPS[self.code[2]]


_checks: dict[Check, tuple[str, ...]] = {}
_codes: set[str] = set()


def rule(*codes: str) -> Callable[[_C], _C]:
    """Register a function and the codes that it can emit; what each is called and means is in its page."""

    def register(check: _C) -> _C:
        if not _codes.isdisjoint(codes):
            raise ValueError(f"one of {', '.join(codes)} is registered twice")
        _codes.update(codes)
        _checks[check] = codes
        return check

    return register


@functools.cache
def load_rules() -> None:
    """Import the modules of this package, each of which registers its rules."""
    package = importlib.import_module(__name__.rpartition(".")[0])
    for module in listed_modules(package):
        importlib.import_module(f"{package.__name__}.{module}")


def all_rules() -> tuple[Rule, ...]:
    """Return every rule, by code."""
    load_rules()
    return tuple(map(rule_of, sorted(_codes)))


def find_rule(text: str) -> Rule | None:
    """Return the rule with this code or name, however it is spelled; None when there is none."""
    wanted = text.strip().lower().replace("_", "-")
    load_rules()
    if wanted.upper() in _codes:
        return rule_of(wanted.upper())
    return next((known for known in all_rules() if known.name == wanted), None)


@functools.cache
def rule_of(code: str) -> Rule:
    """Return the rule with a code, as the first lines of its page have it."""
    title, _, about = _page(code).split("\n", 3)[:3]
    known = re.fullmatch(r"\*Severity\* (\w+), \*repair\* (\w+)\. (.+)", about)
    assert known is not None, code
    return Rule(code, title.split()[2], Severity(known[1]), known[3], Repairable(known[2]))


def _page(code: str) -> str:
    return own_data("wheelfix.rules", f"pages/{code}.md").decode("utf-8").replace("\r\n", "\n")


def nearest(text: str) -> tuple[str, ...]:
    """Return the codes and names that look most like ``text``, for a hint after a typing error."""
    if re.fullmatch(r"wf[0-9]*", text.strip().lower()):
        return ()  # numbers that look alike mean nothing to each other
    words = {word.lower(): word for known in all_rules() for word in (known.code, known.name)}
    return tuple(words[match] for match in close_words(text.strip().lower(), sorted(words)))


def unknown_rule(what: str, text: str) -> UsageError:
    """The error about a code or name that no rule has."""
    close = nearest(text)
    return UsageError(
        what, hint=f"did you mean {' or '.join(close)}?" if close else "'wheelfix explain' lists them all"
    )


def page(code: str) -> str:
    """Return the page of a rule, given by code or name, as Markdown; without the line about severity."""
    known = find_rule(code)
    if known is None:
        raise unknown_rule(f"there is no finding called {code!r}", code)
    title, _, rest = _page(known.code).split("\n\n", 2)
    return f"{title}\n\n{rest}"


def error_if(certain: object) -> Severity:
    """Return an error for what is met for certain, a warning for what may be met."""
    return Severity.ERROR if certain else Severity.WARNING


def finding(
    code: str,
    subject: str,
    message: str,
    *,
    hint: str = "",
    evidence: Mapping[str, object] | None = None,
    severity: Severity | None = None,
    repairable: Repairable | None = None,
) -> Finding:
    """Return a finding of a registered rule; severity and repairable are the rule's unless given."""
    known = rule_of(code)
    return Finding(
        code=code,
        name=known.name,
        severity=severity or known.severity,
        subject=subject,
        message=message,
        hint=hint,
        evidence={key: _as_json(value) for key, value in (evidence or {}).items()},
        repairable=repairable or known.repairable,
    )


def _as_json(value: object) -> Json:
    if isinstance(value, dict):
        return {str(key): _as_json(one) for key, one in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    assert isinstance(value, Iterable)
    return [*map(_as_json, value)]


def group_of(item: Finding) -> Group:
    """Return what a finding is about."""
    return rule_of(item.code).group


def found_by(item: Finding, *checks: Check) -> bool:
    """Whether a finding is one that these rules, given by their functions, emit."""
    return any(item.code in _checks[check] for check in checks)


def matches(code: str, patterns: Iterable[str]) -> bool:
    """Whether a code is meant by one of the patterns: a code, the beginning of one (``WF3``), or a name."""
    words = [pattern.strip().lower() for pattern in patterns]
    if any(code.lower().startswith(word) for word in words):
        return True
    return not all(word.startswith("wf") for word in words) and rule_of(code).name in words  # names are in the pages


def check_patterns(patterns: Iterable[str], option: str) -> tuple[str, ...]:
    """Return the patterns of ``--select`` or ``--ignore``, each once; UsageError for one that means no rule at all."""
    kept = distinct(pattern.strip() for pattern in patterns)
    if kept:  # else they are imported later, while a wheel is inflated
        load_rules()
    for pattern in kept:
        if not pattern or not any(matches(code, (pattern,)) for code in _codes):
            raise unknown_rule(f"{option} {pattern!r} matches no finding code or name", pattern)
    return kept


def run_checks(subject: Subject, *checks: Check) -> tuple[Finding, ...]:
    """Return what some rules, given by their functions, find."""
    return pick(item for check in checks for item in check(subject))


def run(subject: Subject, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Return what the rules find, worst first; ``select`` and ``ignore`` hold codes, prefixes of codes or names.

    Nothing selected means everything. A function none of whose codes are wanted is not called.
    """
    load_rules()
    wanted = _wanted(select, ignore)
    called = (check for check, codes in _checks.items() if wanted.intersection(codes))
    return pick((item for check in called for item in check(subject)), select, ignore)


def pick(found: Iterable[Finding], select: Sequence[str] = (), ignore: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Return the findings that are wanted, none of them twice, worst first."""
    wanted = _wanted(select, ignore)
    kept = {_order(item): item for item in found if item.code in wanted}
    return tuple(kept[order] for order in sorted(kept))


def _wanted(select: Sequence[str], ignore: Sequence[str]) -> set[str]:
    """The codes, of the rules that are imported, that ``select`` and ``ignore`` leave."""
    if not select and not ignore:
        return _codes
    return {code for code in _codes if (not select or matches(code, select)) and not matches(code, ignore)}


def _order(item: Finding) -> tuple[int, str, str, str]:
    return _SEVERITIES.index(item.severity), item.code, item.subject, item.message


class Theme(Enum):
    """Findings that belong together, by their codes."""

    MISSING = frozenset({"WF301", "WF302", "WF303", "WF304"})
    """A DLL that the wheel needs is not there."""
    UNKNOWN = frozenset({"WF317", "WF318"})
    """Whether a DLL that the wheel needs is provided is not known."""
    FORWARDER = frozenset({"WF311"})
    """An export is forwarded to a DLL that is not there, or to nothing in it."""
    SYMBOL = frozenset({"WF310"})
    """A DLL does not export what is imported from it."""
    REQUIREMENT = frozenset({"WF330"})
    """A distribution is not there, or in a version that is not allowed."""
    OUT_OF_REACH = frozenset({"WF305", "WF307"})
    """A DLL is there, where the loader does not look."""
    NOT_ON_TARGET = frozenset({"WF323", "WF325", "WF326"})
    """A DLL is, or may be, absent from a kind of Windows."""
    PARTIAL_CUDA = frozenset({"WF403"})
    """Some of CUDA's DLLs are there, others are not."""
    OTHER_CUDA = frozenset({"WF402", "WF407", "WF503"})
    """The CUDA release is not what the wheel, its tag or the driver wants."""


def is_about(item: Finding, *themes: Theme) -> bool:
    """Whether a finding has one of these themes."""
    return any(item.code in theme.value for theme in themes)


_ABOUT_MISSING = (
    Theme.MISSING,
    Theme.UNKNOWN,
    Theme.OUT_OF_REACH,
    Theme.NOT_ON_TARGET,
    Theme.PARTIAL_CUDA,
)


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Whether a DLL name, however spelled, is meant by one of the globs."""
    key = dll_key(name)
    return any(fnmatch.fnmatchcase(key, fold(pattern)) or key == dll_key(pattern) for pattern in patterns)


def with_allowed(findings: Sequence[Finding], patterns: Sequence[str]) -> tuple[Finding, ...]:
    """The findings; one whose DLLs are all allowed to be missing becomes a note."""
    if not patterns:
        return tuple(findings)
    changed = [
        replace(item, severity=Severity.INFO, message=f"{item.message} (allowed to be missing)")
        if _is_allowed(item, patterns)
        else item
        for item in findings
    ]
    return tuple(sorted(changed, key=_order))


def _is_allowed(item: Finding, patterns: Sequence[str]) -> bool:
    names = missing_names(item)
    return all_allowed(names, patterns) or (bool(names) and all_allowed(item.texts("needed_by"), patterns))


def all_allowed(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether there are DLLs and all of them may be missing, by name; files of the wheel are not meant."""
    return bool(names) and all("/" not in name and matches_any(name, patterns) for name in names)


def missing_names(item: Finding) -> list[str]:
    """The DLLs whose absence a finding is about; one finding may be about several."""
    if is_about(item, Theme.FORWARDER):
        return [] if item.evidence.get("symbols") else [str(item.evidence["target"])]
    if not is_about(item, *_ABOUT_MISSING):
        return []
    names = item.texts("names") or item.texts("missing") or [item.subject]
    return [*map(last_part, names)]

"""The table of causes: when a symptom has one, what it is, and what to try, as templates."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from wheelfix.diagnosis.symptoms.messages import messages
from wheelfix.diagnosis.symptoms.symptom import Confidence
from wheelfix.knowledge.companions import runtime_need
from wheelfix.knowledge.system import classify
from wheelfix.knowledge.tables import Checker, parse_toml
from wheelfix.values import dataclass

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from wheelfix.diagnosis.symptoms.symptom import Symptom

TABLE = "causes.toml"
_NEEDS = {"venv", "conda", "built-here", "environment", "bundle", "older-numpy", "newer-numpy"}
_PATTERNS = ("file", "dll", "name", "module", "package")


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to try."""

    title: str
    command: str
    """What can be pasted into a console; empty when there is no command for it."""
    why: str
    """What it does, and why that helps."""
    danger: str = ""
    """What it can break, for the last resorts."""
    rank: int = 0
    """1 is to be tried first."""
    when: str = ""
    """What has to hold for it to help; empty when nothing beyond the cause itself."""
    needs: tuple[str, ...] = ()
    """The same for machines, one of the names of ``_NEEDS``. Known not to hold, it drops the remedy."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What a symptom comes from."""

    id: str
    summary: str
    what_is_known: str
    likely_missing: tuple[str, ...]
    """DLLs that are absent, most likely first; patterns where the version is not known. Empty when none is."""
    confidence: Confidence
    next_steps: tuple[Remedy, ...]


@dataclass(frozen=True, slots=True)
class CauseRule:
    """When a symptom has a cause; fields left empty fit everything."""

    cause: str
    kinds: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()
    file: re.Pattern[str] | None = None
    dll: re.Pattern[str] | None = None
    name: re.Pattern[str] | None = None
    """The file or one of the DLLs that the text names."""
    module: re.Pattern[str] | None = None
    package: re.Pattern[str] | None = None
    via: str = ""
    bare: bool = False
    """Whether the file was asked for by its name alone, without a folder."""
    runtime: str = ""
    """The Visual C++ runtime that the published wheel of the module expects on the machine."""
    bundle: bool = False
    """Whether the text is from a program that PyInstaller, Nuitka or the like made."""
    system: bool = False
    """Whether the DLL is a part of Windows."""
    missing: tuple[str, ...] = ()
    confidence: Confidence | None = None

    def fits(self, symptom: Symptom) -> bool:
        """Whether every field that is set agrees with the symptom."""
        return (
            (not self.kinds or symptom.kind in self.kinds)
            and (not self.codes or symptom.code in self.codes)
            and (self.file is None or bool(self.file.fullmatch(symptom.file.lower())))
            and (self.dll is None or any(self.dll.fullmatch(name.lower()) for name in symptom.dlls))
            and (self.name is None or any(self.name.fullmatch(name.lower()) for name in (symptom.file, *symptom.dlls)))
            and (self.module is None or bool(self.module.fullmatch(symptom.module)))
            and (self.package is None or bool(self.package.fullmatch(symptom.package)))
            and (not self.via or symptom.details.get("via") == self.via)
            and (not self.bare or (bool(symptom.path) and "\\" not in (symptom.path or "")))
            and (not self.bundle or bool(symptom.details.get("bundle")))
            and (not self.system or _is_of_windows(symptom))
            and (not self.runtime or runtime_need(symptom.package, symptom.module or symptom.file) == self.runtime)
        )


def _is_of_windows(symptom: Symptom) -> bool:
    """Whether what was not found is a DLL that every usual Windows has."""
    names = symptom.dlls or ((symptom.file,) if symptom.path and "\\" not in symptom.path else ())
    return bool(names) and classify(names[0]).kind == "system"


@dataclass(frozen=True, slots=True)
class CauseTable:
    """The content of ``causes.toml``; the causes are templates."""

    rules: tuple[CauseRule, ...]
    causes: Mapping[str, Cause]


def parse_causes(table: str, text: str) -> CauseTable:
    """Turn the table's text into values; names that lead nowhere, and causes that nothing leads to, are refused."""
    tree = parse_toml(table, text)
    check = Checker(table)
    # Rules and remedies are our own conclusions: the cause carries the source for both.
    remedies = {
        row["id"]: Remedy(
            row["title"],
            row["command"],
            row["why"],
            row.get("danger", ""),
            when=row.get("when", ""),
            needs=tuple(row.get("needs", ())),
        )
        for row in tree["remedy"]
    }
    causes: dict[str, Cause] = {}
    rows = check.rows(tree, "cause", ("id", "summary", "known", "confidence", "remedies"))
    check.unique("cause", (row["id"] for row in rows))
    check.unique("remedy", (row["id"] for row in tree["remedy"]))
    for row in tree["remedy"]:
        check.faults += [f"{row['id']}: nothing checks the need {need!r}" for need in {*row.get("needs", ())} - _NEEDS]
    for row in rows:
        check.faults += [f"{row['id']}: no remedy {name!r}" for name in row["remedies"] if name not in remedies]
        steps = tuple(remedies[name] for name in row["remedies"] if name in remedies)
        causes[row["id"]] = Cause(row["id"], row["summary"], row["known"], (), Confidence(row["confidence"]), steps)
    rules = tuple(_rule(row, check) for row in tree["rule"])
    known = {*causes, *(message.id for message in messages())}
    check.faults += [f"a rule leads to the unknown cause {rule.cause!r}" for rule in rules if rule.cause not in known]
    check.faults += [f"nothing leads to {name!r}" for name in sorted(set(causes) - {rule.cause for rule in rules})]
    check.finish()
    return CauseTable(rules, causes)


def _rule(row: Mapping[str, object], check: Checker) -> CauseRule:
    patterns = {name: check.pattern(str(row[name])) for name in _PATTERNS if name in row}
    kinds, codes, missing = (row.get(name, ()) for name in ("kinds", "codes", "missing"))
    return CauseRule(
        str(row["cause"]),
        tuple(kinds),  # type: ignore[arg-type]  # lists of strings and numbers in the table
        tuple(codes),  # type: ignore[arg-type]
        via=str(row.get("via", "")),
        bare=bool(row.get("bare", False)),
        bundle=bool(row.get("bundle", False)),
        system=bool(row.get("system", False)),
        runtime=str(row.get("runtime", "")),
        missing=tuple(missing),  # type: ignore[arg-type]
        confidence=Confidence(row["confidence"]) if "confidence" in row else None,
        **patterns,
    )


@lru_cache(maxsize=1)
def cause_table() -> CauseTable:
    """Return the rules and causes of this package."""
    text = resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    return parse_causes(TABLE, text)

"""What happened when real packages were imported in a Windows Python: written down once, compared at any time.

``packagerecords.json`` has, for each release of a package, how its import ended as it is and without each DLL. The
observations come from ``python -m tests.oracle.packageimports --record``; comparing them needs the wheels, not Wine.
``packageagreement.json`` has how many of them were as predicted when they were compared last (``--replay --save``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wheelfix.knowledge.system import classify
from wheelfix.model import Machine
from wheelfix.rules.wording import last_part
from wheelfix.trial.model import LoadedFile, Observed, RaisedError

RECORDS = Path(__file__).with_name("packagerecords.json")
AGREEMENT = Path(__file__).with_name("packageagreement.json")
OUTCOMES = {
    "agrees": "as predicted",
    "loads": "loads as predicted",
    "not-predicted": "could not tell",
    "cannot-tell": "Wine cannot tell",
    "differs": "wrong",
}
"""How an import compares with its prediction, and the words for it in the table."""
MOST = 200
"""Characters of a message that are kept."""


def load(path: Path = RECORDS) -> dict[str, dict[str, Any]]:
    """Return the observations: for each release, by the member that was removed; an empty name for none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def save(records: dict[str, dict[str, Any]], path: Path = RECORDS) -> None:
    """Write observations, one line for each import."""
    lines = []
    for release in sorted(records):
        rows = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in records[release].items()]
        lines.append(f"{json.dumps(release)}: {{\n" + ",\n".join(rows) + "\n }")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")


def to_record(observed: Observed) -> dict[str, Any]:
    """Return what of an observation is needed to compare it again."""
    row = {}
    if observed.errors:
        row["errors"] = [[one.error, one.code, list(one.bases), one.message[:MOST]] for one in observed.errors]
    elif not observed.works:
        row["outcome"] = observed.outcome
    if observed.missing:
        row["missing"] = [list(pair) for pair in observed.missing]
    if observed.deviations:
        row["deviations"] = list(observed.deviations)
    own = sorted(
        {last_part(file.path).lower() for file in observed.loaded if file.where == "windows" and _is_copy(file)}
    )
    if own:
        row["of_wine"] = own
    return row


def _is_copy(file: LoadedFile) -> bool:
    """Whether Wine has a DLL of its own for one that packages ship."""
    return classify(last_part(file.path), Machine.AMD64).kind not in ("system", "api-set")


def from_record(row: dict[str, Any]) -> Observed:
    """Return an observation that was written down."""
    errors = tuple(RaisedError(name, text, code, tuple(bases)) for name, code, bases, text in row.get("errors", ()))
    return Observed(
        row.get("outcome") or ("raised" if errors else "imported"),
        errors,
        loaded=tuple(LoadedFile(f"C:\\windows\\system32\\{name}", "windows") for name in row.get("of_wine", ())),
        missing=tuple((name, by) for name, by in row.get("missing", ())),
        deviations=tuple(row.get("deviations", ())),
    )


def save_agreement(release: str, words: Iterable[str], path: Path = AGREEMENT) -> None:
    """Write down how the imports of a release compare with what is predicted."""
    known = load(path) | {release: dict(Counter(words))}
    lines = [f"{json.dumps(name)}: {json.dumps(known[name], sort_keys=True)}" for name in sorted(known)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")


def table(records: dict[str, dict[str, Any]], agreement: dict[str, dict[str, Any]]) -> list[str]:
    """Return a row of a Markdown table for each release, and one for all."""
    rows = [f"| release | imports | fail for a DLL | {' | '.join(OUTCOMES.values())} |", "| --- |" + " --- |" * 7]
    total = [0] * (len(OUTCOMES) + 2)
    for release, imports in sorted(records.items(), key=lambda pair: pair[0].lower()):
        failed = sum(_fails_for_a_dll(from_record(row)) for row in imports.values())
        counts = agreement.get(release, {})
        numbers = [len(imports), failed, *(counts.get(word, 0) for word in OUTCOMES)]
        total = [sum(pair) for pair in zip(total, numbers, strict=True)]
        rows.append(f"| {release} | {' | '.join(map(str, numbers))} |")
    return [*rows, f"| all {len(records)} | {' | '.join(map(str, total))} |"]


def _fails_for_a_dll(seen: Observed) -> bool:
    return any(error.code for error in seen.errors) or any("hared library" in error.message for error in seen.errors)


if __name__ == "__main__":  # python -m tests.oracle.packagerecords: the table of docs/explained/loader.md
    print("\n".join(table(load(), load(AGREEMENT))))

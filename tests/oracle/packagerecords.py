"""What happened when real packages were imported in a Windows Python: written down once, compared at any time.

``packagerecords.json`` has, for each release of a package, how its import ended as it is and without each DLL. The
observations come from ``python -m tests.oracle.packageimports --record``; comparing them needs the wheels, not Wine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wheelfix.knowledge.system import classify
from wheelfix.model import Machine
from wheelfix.trial.model import LoadedFile, Observed, RaisedError
from wheelfix.trial.observe import base

RECORDS = Path(__file__).with_name("packagerecords.json")
MOST = 200
"""Characters of a message that are kept."""


def load(path: Path = RECORDS) -> dict[str, dict[str, Any]]:
    """Return the observations: for each release, by the member that was removed; an empty name for none."""
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def save(records: dict[str, dict[str, Any]], path: Path = RECORDS) -> None:
    """Write observations, one line for each import."""
    lines = []
    for release in sorted(records):
        rows = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in records[release].items()]
        lines.append(f"{json.dumps(release)}: {{\n" + ",\n".join(rows) + "\n }")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")


def to_record(observed: Observed) -> dict[str, Any]:
    """Return what of an observation is needed to compare it again."""
    row: dict[str, Any] = {}
    if observed.errors:
        row["errors"] = [[one.error, one.code, list(one.bases), one.message[:MOST]] for one in observed.errors]
    elif not observed.works:
        row["outcome"] = observed.outcome
    if observed.missing:
        row["missing"] = [list(pair) for pair in observed.missing]
    if observed.deviations:
        row["deviations"] = list(observed.deviations)
    own = sorted({base(file.path).lower() for file in observed.loaded if file.where == "windows" and _is_copy(file)})
    if own:
        row["of_wine"] = own
    return row


def _is_copy(file: LoadedFile) -> bool:
    """Whether Wine has a DLL of its own for one that packages ship."""
    return classify(base(file.path), Machine.AMD64).kind not in ("system", "api-set")


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


def table(records: dict[str, dict[str, Any]]) -> list[str]:
    """Return a row of a Markdown table for each release: imports, those that fail for a DLL, those that do not."""
    rows = ["| release | imports | fail for a DLL | end otherwise |", "| --- | --- | --- | --- |"]
    for release, imports in sorted(records.items(), key=lambda pair: pair[0].lower()):
        seen = [from_record(row) for row in imports.values()]
        failed = sum(_fails_for_a_dll(one) for one in seen)
        rows.append(f"| {release} | {len(seen)} | {failed} | {len(seen) - failed} |")
    return rows


def _fails_for_a_dll(seen: Observed) -> bool:
    return any(error.code for error in seen.errors) or any("hared library" in error.message for error in seen.errors)


if __name__ == "__main__":  # python -m tests.oracle.packagerecords: the table of docs/explained/loader.md
    print("\n".join(table(load())))

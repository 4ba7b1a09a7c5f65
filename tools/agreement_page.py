"""Write the tables of docs/explained/agreement.md from recorded results: ``python -m tools.agreement_page``.

``fixtures/agreement`` has one file of rows for each sample, as ``tools/agreement.py --rows`` writes them, and
``explained.toml``: its title, what was run, and why predictions differ. A difference that is not explained is an error.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

from wheelfix.base.parsing import load_toml

RECORDED = Path("fixtures/agreement")
PAGE = Path("docs/explained/agreement.md")
MARK = "<!-- results -->"
WIDTH = 108
WORDS = ("agrees", "differs", "missed", "unsure", "cannot-tell")
WAYS = ("intact", "remove", "truncate", "other machine", "other version", "git-lfs pointer", "wrong folder", "unpatch")


def word_of(row: dict[str, Any]) -> str:
    """How a row counts: a failure of which the scan said nothing is missed, whatever its reason."""
    word = str(row["agreement"])
    if word != "not-predicted":
        return word
    return "missed" if row["expected"].startswith("works") and row["observed"] != "imported" else "unsure"


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return how often predictions were correct, by the way in which wheels were broken."""
    lines = ["| how the wheel was broken | imports | agrees | differs | missed | unsure | Wine cannot tell |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    ways = [way for way in WAYS if any(row["way"] == way for row in rows)]
    for way in [*ways, ""]:
        counted = Counter(word_of(row) for row in rows if row["way"] == way or not way)
        cells = [str(sum(counted.values())), *(str(counted[word]) for word in WORDS)]
        lines.append(f"| {way or 'all'} | {' | '.join(cells)} |")
    totals = Counter(word_of(row) for row in rows)
    decided = totals["agrees"] + totals["differs"] + totals["missed"]
    packages = len({row["wheel"] for row in rows})
    share = 100 * totals["agrees"] / decided if decided else 0
    sentence = f"{packages} wheels. Of {decided} imports for which both sides have an answer, {totals['agrees']} agree"
    return [*lines, "", f"{sentence} ({share:.1f} %)."]


def explained(rows: list[dict[str, Any]], reasons: list[dict[str, str]]) -> tuple[list[str], list[str]]:
    """Return a line for each reason with how many imports it is about, and the differences that no reason covers."""
    counted: Counter[int] = Counter()
    left = []
    for row in rows:
        if word_of(row) not in ("differs", "missed"):
            continue
        found = [at for at, reason in enumerate(reasons) if _covers(reason, row)]
        if found:
            counted[found[0]] += 1
        else:
            left.append(f"{row['wheel']} {row['way']}: {row['expected'][:80]} / {row['observed'][:80]}")
    texts = [
        f"**{reasons[at]['package']}** ({count} import{'s' if count > 1 else ''}): {reasons[at]['why']}"
        for at, count in sorted(counted.items())
    ]
    lines = [textwrap.fill(text, WIDTH, initial_indent="- ", subsequent_indent="  ") for text in texts]
    return lines, left


def _covers(reason: dict[str, str], row: dict[str, Any]) -> bool:
    names = reason["package"].lower().split(", ")
    own = row["wheel"].lower().replace("-", "_")
    return any(own.startswith(name.replace("-", "_")) for name in names) and reason.get("way", row["way"]) == row["way"]


def main(argv: list[str] | None = None) -> int:
    """Write the page; 1 if a difference has no explanation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", type=Path, default=RECORDED)
    parser.add_argument("--page", type=Path, default=PAGE)
    args = parser.parse_args(argv)
    document: Any = load_toml((args.recorded / "explained.toml").read_text(encoding="utf-8"))
    lines: list[str] = []
    unexplained: list[str] = []
    for sample in document["sample"]:
        texts = (args.recorded / sample["rows"]).read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in texts]
        rows = [
            row for row in {(row["wheel"], row["way"]): row for row in rows}.values() if row["agreement"] != "not-tried"
        ]
        reasons, left = explained(rows, sample.get("reason", []))
        lines += ["", f"## {sample['title']}", "", sample["about"], "", *table(rows)]
        lines += ["", "Where predictions were wrong, and why:", "", *reasons] if reasons else []
        unexplained += left
    before = args.page.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
    args.page.write_text(f"{before}\n\n{MARK}\n" + "\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    for line in unexplained:
        print(f"not explained: {line}", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())

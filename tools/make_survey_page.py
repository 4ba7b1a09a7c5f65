"""Write the page about what a survey found: numbers, the SQL behind each, and a chart.

python -m tools.make_survey_page SURVEY --about "217 wheels of ..."

Reads the tables of ``wheelfix survey`` and writes ``docs/explained/survey.md`` and ``docs/assets/survey.svg``. The same
survey gives the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.markdown import table
from wheelfix.survey.tables import ask

if TYPE_CHECKING:
    from collections.abc import Sequence

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, CHART = DOCS / "explained" / "survey.md", DOCS / "assets" / "survey.svg"
INTRODUCTION = """\
<!-- Made by `python -m tools.make_survey_page`; do not edit by hand. -->
# What a survey found

{about}
The names come from the provider index: projects with many downloads, and those that ship DLLs for others. So the
numbers show what occurs, but not how often it occurs on the whole index. The target was a machine with the Visual
C++ runtime and without toolkits. [Survey a mirror](../howto/survey.md) says how to make such tables from your wheels.

![{alt}](../assets/survey.svg)

"""


class Part(NamedTuple):
    """A question of the page."""

    title: str
    text: str
    sql: str
    rows: int = 15


CHARTED = Part(
    "Who provides the DLLs that wheels load",
    "Every import and companion of the images that importing a package loads, by provider.",
    """\
SELECT provider, count(DISTINCT sha256) AS wheels, count(*) AS needs
FROM edges WHERE loaded AND required
GROUP BY provider ORDER BY wheels DESC, provider""",
)
PARTS = (
    Part(
        "What was read",
        "Names without a wheel, or that could not be looked up, count as failed.",
        """\
SELECT count(*) FILTER (WHERE status = 'scanned') AS wheels, count(*) FILTER (WHERE status = 'failed') AS failed,
       sum(size) // 1000000 AS megabytes,
       (SELECT count(*) FROM images) AS images, (SELECT count(*) FROM imports) AS imports,
       (SELECT count(*) FROM edges) AS needs
FROM wheels""",
    ),
    Part(
        "Verdicts",
        "Broken means that importing the package fails on such a machine.",
        """\
SELECT CASE WHEN status = 'failed' THEN 'failed' ELSE verdict END AS verdict, count(DISTINCT sha256) AS wheels
FROM wheels GROUP BY 1 ORDER BY wheels DESC, 1""",
    ),
    CHARTED,
    Part(
        "DLL names that several distributions ship with different contents",
        "The first one that is loaded under its usual name serves the whole process, even if others ship one too.",
        """\
SELECT dll, count(DISTINCT name) AS distributions, count(DISTINCT member_sha256) AS contents
FROM providers WHERE dll LIKE '%.dll' AND member_sha256 <> ''
GROUP BY dll HAVING distributions > 1 AND contents > 1
ORDER BY distributions DESC, contents DESC, dll""",
    ),
    Part(
        "Wheels that break without the Visual C++ runtime",
        "They load DLLs of it that neither they nor Python ship.",
        """\
SELECT count(DISTINCT sha256) AS wheels, count(DISTINCT name) AS distributions,
       count(DISTINCT sha256) FILTER (WHERE edges.dll = 'msvcp140.dll') AS with_msvcp140,
       count(DISTINCT sha256) FILTER (WHERE edges.dll LIKE '%120.dll' OR edges.dll LIKE '%100.dll') AS older_than_2015
FROM edges JOIN wheels USING (sha256)
WHERE provider = 'vcredist' AND kind = 'import' AND required AND loaded""",
    ),
    Part(
        "Wheels that need the Visual C++ 2013 runtime",
        "It is installed separately; current versions of Windows and of Python do not include it.",
        """\
SELECT name, version, string_agg(DISTINCT dll, ', ' ORDER BY dll) AS dlls
FROM edges JOIN wheels USING (sha256)
WHERE regexp_matches(dll, '^(msvcr|msvcp|vcomp)120\\.dll$') AND provider <> 'wheel' AND required
GROUP BY ALL ORDER BY ALL""",
    ),
    Part(
        "Wheels that break on Windows N and on Server Core",
        "Importing them loads a DLL that this kind of Windows does not have: the query `breaks-on`. Where that\nis "
        "known from a similar machine only, `certain` is false. DLLs that are loaded later, at a call, do not count.",
        """\
SELECT target, state = 'absent' AS certain, edges.dll, count(DISTINCT sha256) AS wheels,
       string_agg(DISTINCT name, ', ' ORDER BY name) AS distributions
FROM edges JOIN wheels USING (sha256) JOIN targets ON targets.dll = edges.dll AND targets.machine = wheels.machine
WHERE target IN ('windows-n', 'server-core-2022') AND state IN ('absent', 'perhaps absent')
  AND provider = 'system' AND kind = 'import' AND required AND edges.loaded
GROUP BY ALL ORDER BY target DESC, certain DESC, wheels DESC, dll""",
        40,
    ),
    Part(
        "Releases of msvcp140.dll that wheels ship",
        "Code that was compiled by Visual Studio 2022 17.10 or later may crash in an msvcp140.dll before 14.40.",
        """\
SELECT version_major || '.' || version_minor AS msvcp140, count(DISTINCT sha256) AS wheels,
       string_agg(DISTINCT name, ', ' ORDER BY name) AS distributions
FROM images JOIN wheels USING (sha256)
WHERE (dll = 'msvcp140.dll' OR regexp_matches(dll, '^msvcp140-[0-9a-f]{16,}\\.dll$')) AND version_major = 14
GROUP BY 1 ORDER BY 1""",
    ),
    Part(
        "The most frequent findings",
        "",
        """\
SELECT code, rule, severity, count(DISTINCT sha256) AS wheels
FROM findings GROUP BY ALL ORDER BY wheels DESC, code, severity""",
    ),
    Part(
        "Who ships libiomp5md.dll",
        "Two of them in one process cause error 15 of OpenMP or, worse, wrong results.",
        """\
SELECT DISTINCT name, wheels.version, images.version AS dll_version
FROM images JOIN wheels USING (sha256) WHERE dll = 'libiomp5md.dll' ORDER BY ALL""",
    ),
)


def page(survey: Path, about: str) -> str:
    """Return the page."""
    text = INTRODUCTION.format(about=about, alt=CHARTED.title)
    for part in PARTS:
        answer = ask(survey, part.sql)
        heads = [column.replace("_", " ") for column in answer.columns]
        text += f"## {part.title}\n\n" + (f"{part.text}\n\n" if part.text else "")
        text += table(heads, answer.rows[: part.rows])
        if len(answer.rows) > part.rows:
            text += f"\n… and {len(answer.rows) - part.rows} more rows.\n"
        text += f"\n```sql\n{part.sql}\n```\n\n"
    return text.rstrip() + "\n"


def chart(survey: Path) -> str:
    """Return the chart: bars of wheels by who meets their needs."""
    rows = ask(survey, CHARTED.sql).rows
    return bars(CHARTED.title, [(str(row[0]), int(row[1])) for row in rows], "wheels")


def bars(title: str, values: Sequence[tuple[str, int]], unit: str) -> str:
    """Return horizontal bars as SVG, readable on light and dark pages."""
    most, step, left, width = max((value for _, value in values), default=1), 26, 130, 720
    parts: list[Any] = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {step * len(values) + 44}" role="img" '
        f'aria-label="{escape(title)}" font-family="sans-serif" font-size="14">',
        "<style>text{fill:#333}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>",
        f'<text x="0" y="18" font-weight="bold">{escape(title)}, {escape(unit)}</text>',
    ]
    for number, (name, value) in enumerate(values):
        top, length = 34 + step * number, round((width - left - 60) * value / most)
        parts += [
            f'<text x="{left - 8}" y="{top + 15}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{left}" y="{top}" width="{length}" height="{step - 6}" rx="2" fill="#4878a8"/>',
            f'<text x="{left + length + 6}" y="{top + 15}">{value}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def main(argv: list[str]) -> int:
    """Write the page and the chart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("survey", type=Path)
    parser.add_argument(
        "--about", required=True, help="the first sentence: which wheels these are, and when they were read"
    )
    args = parser.parse_args(argv)
    PAGE.write_text(page(args.survey, args.about), encoding="utf-8", newline="\n")
    CHART.write_text(chart(args.survey), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

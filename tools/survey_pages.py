"""The tables of a survey, a table of columns for each, and the named queries with their SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.markdown import NOTE, code, table
from wheelfix.knowledge.targets import NAMES
from wheelfix.survey.tables import SCHEMA, TABLES, questions

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRODUCTION = f"""\
# Tables of a survey

`wheelfix survey` writes folders `part=00001`, `part=00002`, … with one Parquet file for each table, compressed with
Zstandard. A part is written completely, with all rows of its wheels. `survey.json` has the schema, `{SCHEMA}`, and the
options; every file has the schema in its metadata, under `wheelfix.schema`. Within a version columns are added, never
renamed or removed. Wheels that could not be read for a reason that may be temporary are in `part=retry`, which
every run replaces.

Tables are joined by `sha256`, the hash of the wheel. Any reader of Parquet can use them:
`duckdb -c "SELECT * FROM 'survey/part=*/wheels.parquet'"`, `pyarrow.dataset`, Spark, polars.

"""
TARGET_ROWS = (
    ("`target`", "`VARCHAR`", f"{', '.join(f'`{name}`' for name in NAMES)}"),
    ("`dll`", "`VARCHAR`", "its name, in small letters"),
    ("`machine`", "`VARCHAR`", "of the wheels that ask for it"),
    ("`state`", "`VARCHAR`", "`has`, `absent`, `perhaps absent` or `unknown`"),
    ("`source`", "`VARCHAR`", "how that is known"),
)
KINDS = {"text": "VARCHAR", "int": "BIGINT", "bool": "BOOLEAN", "texts": "VARCHAR[]"}


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of the page."""
    text = NOTE + INTRODUCTION
    for one in TABLES:
        rows = [(code(column.name), code(KINDS[column.kind]), column.about) for column in one.columns]
        text += f"## {one.name}\n\nA row is {one.row}.\n\n" + table(("column", "type", "what it is"), rows) + "\n"
    text += (
        "## targets\n\nNot in the folder: it is made when a query names it, from the lists of `--target`. A row is a "
        "DLL of Windows\nthat a wheel asks for, and whether a kind of Windows has it.\n\n"
    )
    text += table(("column", "type", "what it is"), TARGET_ROWS) + "\n"
    text += "## Named queries\n\n"
    for question in questions().values():
        words = " ".join([question.name, *(word.upper() for word in question.parameters)])
        text += f"### {question.name}\n\n{question.title}: `wheelfix survey query {words} -o survey`\n\n"
        text += f"```sql\n{question.sql.strip()}\n```\n\n"
    yield "reference/survey.md", text.rstrip() + "\n"

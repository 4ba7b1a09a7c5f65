"""SQL over the tables of a survey, by DuckDB, and questions that have a name."""

from __future__ import annotations

import difflib
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from wheelfix.base.values import dataclass
from wheelfix.errors import InputError, UsageError
from wheelfix.knowledge.targets import NAMES, known_target, presence
from wheelfix.model import Machine
from wheelfix.survey.tables import TABLES, SurveyFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path


# --------------------------------------------------------------------------------------------------------- windowskinds
# Which DLLs of Windows that wheels ask for a kind of Windows has: rows for the questions about targets.

ASKED = """
SELECT DISTINCT edges.dll, machine FROM edges JOIN wheels USING (sha256) WHERE provider = 'system' ORDER BY ALL
"""
"""What is asked for, with the processor of the wheel that asks."""
TABLE = "targets"
COLUMNS = "target VARCHAR, dll VARCHAR, machine VARCHAR, state VARCHAR, source VARCHAR"


def target_rows(asked: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str, str, str]]:
    """Give target, DLL, machine, what is known (``has``, ``absent``, ...) and from where."""
    machines = {str(machine): machine for machine in Machine}
    wanted = [(dll, machines[name]) for dll, name in asked if name in machines]
    for name in NAMES:
        target = known_target(name)
        for dll, machine in wanted:
            fact = presence(target, dll, machine)
            yield name, dll, str(machine), str(fact.state), fact.source


# -------------------------------------------------------------------------------------------------------------- queries
# The only module that knows DuckDB: SQL over the tables of a survey, and questions that have a name.


@dataclass(frozen=True, slots=True)
class Question:
    """A query that has a name."""

    name: str
    title: str
    parameters: tuple[str, ...]
    """What follows the name on the command line."""
    sql: str


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def questions() -> dict[str, Question]:
    """Return the questions by name: files of SQL whose first line is the title, the second the parameters, if any."""
    found = {}
    for file in sorted(resources.files("wheelfix.survey").joinpath("questions").iterdir(), key=lambda one: one.name):
        if not file.name.endswith(".sql"):
            continue
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines()
        title = lines[0].removeprefix("-- ")
        given = tuple(lines[1].removeprefix("-- with: ").split(", ")) if lines[1].startswith("-- with: ") else ()
        name = file.name.removesuffix(".sql")
        sql = "\n".join(line for line in lines if not line.startswith("--"))
        found[name] = Question(name, title, given, sql)
    return found


def ask(folder: Path, text: str, values: Sequence[str] = ()) -> QueryResult:
    """Answer a question by its name, or any SQL, over the tables of a survey."""
    question = questions().get(text)
    wanted = question.parameters if question else ()
    if question is None and " " not in text.strip():
        near = difflib.get_close_matches(text.strip(), questions(), 1)
        raise UsageError(
            f"{text.strip()!r} is neither a named question nor SQL",
            hint=f"did you mean {near[0]}?" if near else f"named questions: {', '.join(questions())}",
        )
    if len(values) != len(wanted):
        what = f"needs: {' '.join(wanted).upper()}" if wanted else "takes nothing more"
        raise UsageError(f"{text.split(maxsplit=1)[0] if text.strip() else 'the query'!r} {what}")
    for parameter, value in zip(wanted, values, strict=True):
        if parameter == "target" and value.lower() not in NAMES:
            raise UsageError(f"there is no target {value!r}", hint=f"targets: {', '.join(NAMES)}")
    connection = _connect(folder)
    try:
        if TABLE in (question.sql if question else text).lower():
            _add_targets(connection)
        result = connection.execute(question.sql if question else text, [value.lower() for value in values])
        columns = tuple(one[0] for one in result.description or ())
        return QueryResult(columns, tuple(result.fetchall()))
    except Exception as exc:  # DuckDB's own, all with a message for the author of the query
        if "'pytz'" in str(exc):
            because, hint = ["it has times with a time zone"], "cast them: CAST(... AS TIMESTAMP)"
        else:
            because, hint = str(exc).splitlines(), f"tables: {', '.join(table.name for table in TABLES)}"
        raise UsageError("the query cannot be answered", because=because, hint=hint) from exc
    finally:
        connection.close()


def _add_targets(connection: Any) -> None:
    """Make the table of what the kinds of Windows have, for queries that ask for it."""
    connection.execute(f"CREATE TABLE {TABLE} ({COLUMNS})")
    rows = list(target_rows(connection.execute(ASKED).fetchall()))
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        values = ", ".join(["unnest(?::VARCHAR[])"] * len(columns))  # a row at a time takes a millisecond each
        connection.execute(f"INSERT INTO {TABLE} SELECT {values}", columns)


def _connect(folder: Path) -> Any:
    try:
        import duckdb
    except ImportError as exc:
        raise UsageError(
            "queries cannot be answered", because="duckdb is not installed", hint="pip install wheelfix[survey]"
        ) from exc
    SurveyFolder(folder).check()
    if not any(folder.glob("part=*/wheels.parquet")):
        raise InputError(f"{folder} has no tables yet", hint="run the survey to its end")
    connection = duckdb.connect(":memory:")
    try:
        for table in TABLES:
            files = f"{_literal(folder)}/part=*/{table.name}.parquet".replace("'", "''")
            connection.execute(
                f"CREATE VIEW {table.name} AS SELECT * EXCLUDE (part) FROM "
                f"read_parquet('{files}', hive_partitioning = true, union_by_name = true)"
            )
    except duckdb.Error as exc:
        connection.close()
        raise InputError(
            f"the tables in {folder} cannot be read",
            because=str(exc).splitlines()[:3],
            hint="remove the damaged part=… folder and run the survey again: it reads those wheels once more",
        ) from exc
    return connection


def _literal(folder: Path) -> str:
    """The path of a folder for DuckDB, for which ``*``, ``?`` and ``[`` stand for other characters."""
    return re.sub(r"[*?\[]", "[\\g<0>]", str(folder))

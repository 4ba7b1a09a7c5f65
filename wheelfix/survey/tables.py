"""The tables of a survey: their columns, the folder of Parquet files that holds them, and SQL over them, by DuckDB."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeAlias

from wheelfix.base.inputfiles import own_data
from wheelfix.base.parsing import close_words, read_json, whole_number
from wheelfix.base.values import frozen
from wheelfix.errors import EnvironmentFailure, InputError, UsageError, import_extra
from wheelfix.knowledge.targets import NAMES, known_target, presence
from wheelfix.model import JsonObject, Machine
from wheelfix.schemas import at, plain
from wheelfix.streams.output import lock
from wheelfix.streams.pool import defer_interrupts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from wheelfix.survey.wheelrows import WheelRows


# -------------------------------------------------------------------------------------------------------------- columns
# The tables of a survey and their columns; the documentation is made from this.

SCHEMA = "wheelfix.survey/1"
"""Stands in the metadata of every file and in ``survey.json``; the number changes when a column changes its meaning."""


@frozen
class Column:
    """One column of a table."""

    name: str
    kind: str
    """``text``, ``int``, ``bool`` or ``texts``, a list."""
    place: str
    """Where its value is found in what a row is made of; ``-`` where it is given by its name."""
    about: str = ""


@frozen
class Table:
    """One table: what a row is, and what is in it."""

    name: str
    row: str
    columns: tuple[Column, ...]


Row: TypeAlias = JsonObject
"""Values by the names of columns: texts, numbers and lists of texts."""
NOTHING = {"text": "", "int": 0, "bool": False, "texts": ()}
_ABOUT, *_TABLES = own_data("wheelfix.survey", "columns.txt").decode().replace("\r\n", "\n").split("\n\n")
TABLES = tuple(
    Table(head.partition(": ")[0], head.partition(": ")[2], tuple(Column(*line.split(maxsplit=3)) for line in lines))
    for head, *lines in map(str.splitlines, _TABLES)
)


def row(table: str, sha256: str, **given: object) -> Row:
    """Return a row of a table about a wheel, made of what is given; what is not found there is empty, or 0."""
    given["sha256"] = sha256
    columns = next(known.columns for known in TABLES if known.name == table)
    found = {one: at(given, one.name if one.place == "-" else one.place) for one in columns}
    return {one.name: plain(NOTHING[one.kind] if value is None else value) for one, value in found.items()}


# ----------------------------------------------------------------------------------------------------------- folderlock
# One writer for a folder: a lock on a file that ends with the process, however that ends.


if sys.platform == "win32":
    import msvcrt

_FAR = 1 << 30
"""A byte that nothing reads: on Windows a locked one cannot be read by others."""


def _is_ours(descriptor: int) -> bool:
    """Lock a file; whether no other process has it."""
    if sys.platform == "win32":
        try:
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    return lock(descriptor) is not False


@contextlib.contextmanager
def locked_file(path: Path) -> Iterator[bool]:
    """Lock a file and give True, or False if another process has it; a file system without locks counts as ours."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:  # on a read-only disk nothing is written, so the first part reports it
        yield True
        return
    try:
        yield _is_ours(descriptor)
    finally:
        os.close(descriptor)


def name_file(draft: Path, target: Path) -> None:
    """Give a file its name unless another has it, so that two that begin at once have one file to lock."""
    try:
        os.link(draft, target)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        draft.replace(target)


# --------------------------------------------------------------------------------------------------------------- tables
# The only module that knows pyarrow: the tables of a survey as Parquet files, in parts that appear whole.
# A part is a folder ``part=00001`` with one file for each table. It is written under another name and renamed, so that
# a survey that was killed has all rows of a wheel or none. Failures that may pass are in ``part=retry``, which every
# run replaces at its end.


MANIFEST = "survey.json"
DRAFT = ".wheelfix-draft-"
RETRY = "part=retry"
_MARK = b"wheelfix.schema"


class SurveyFolder:
    """The folder of a survey."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parquet, self._arrow = (
            import_extra(module, "a survey cannot be written or read", "survey")
            for module in ("pyarrow.parquet", "pyarrow")
        )

    def open(self, options: Mapping[str, object]) -> None:
        """Make the folder, or continue in one that a survey with the same options made."""
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path} is not a folder", hint="name a new or empty folder")
        if not (self.path / MANIFEST).exists():
            self._make(options)
        self.check()
        if (made := read_manifest(self.path).get("options")) != options:
            raise UsageError(
                f"{self.path} has a survey with other options: {made}",
                because="rows of both would be mixed",
                hint="name another folder, or use the same options",
            )

    def _make(self, options: Mapping[str, object]) -> None:
        with _writing(self.path):
            if self.path.is_dir() and any(not found.name.startswith(DRAFT) for found in self.path.iterdir()):
                raise UsageError(f"{self.path} is not empty and not a survey", hint="name a new or empty folder")
            self.path.mkdir(parents=True, exist_ok=True)
            draft = self.path / f"{DRAFT}{os.getpid()}.json"
            text = json.dumps({"schema": SCHEMA, "options": options}, indent=1) + "\n"
            try:
                draft.write_text(text, encoding="utf-8")
                name_file(draft, self.path / MANIFEST)
            finally:
                draft.unlink(missing_ok=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs from writing into the folder, and remove what a run that was killed left behind."""
        with locked_file(self.path / MANIFEST) as ours:
            if not ours:
                raise EnvironmentFailure(
                    f"another survey is writing into {self.path}", hint="wait for its end, or name another folder"
                )
            for leftover in self.path.glob(f"{DRAFT}*"):
                if leftover.is_dir():
                    shutil.rmtree(leftover, ignore_errors=True)
            yield

    def check(self) -> None:
        """InputError unless this is a survey that this version can read."""
        made = read_manifest(self.path).get("schema")
        if made != SCHEMA:
            raise InputError(
                f"{self.path} has tables of another version: {made}",
                because=f"this version of wheelfix reads and writes {SCHEMA}",
                hint="name a new folder, or use the wheelfix that made it",
            )

    def done(self) -> list[Row]:
        """Return what is known about every wheel that needs no further try."""
        found: list[Row] = []
        for part in self._parts():
            if part.name != RETRY:
                found += self._read(part / "wheels.parquet", ["source", "size", "modified", "sha256", "status"])
        return found

    def _read(self, file: Path, columns: list[str]) -> list[Row]:
        try:
            table = self._parquet.read_table(file, columns=columns, partitioning=None)
        except (OSError, ValueError, KeyError) as exc:  # pyarrow's errors are among them
            raise InputError(
                f"{file} cannot be read", because=" ".join(str(exc).split())[:300], hint=f"remove {file.parent}"
            ) from exc
        rows: list[Row] = table.to_pylist()
        return rows

    def _parts(self) -> list[Path]:
        return sorted(path for path in self.path.glob("part=*") if path.is_dir())

    @defer_interrupts
    def add_part(self, wheels: Sequence[WheelRows]) -> None:
        """Write the rows of some wheels as the next part."""
        numbers = [whole_number(part.name[5:]) or 0 for part in self._parts()]
        self._write(f"part={max(numbers, default=0) + 1:05}", wheels)

    @defer_interrupts
    def replace_retries(self, wheels: Sequence[WheelRows]) -> None:
        """Write the failures that may pass, in place of those of earlier runs; and a part, so that there are tables."""
        shutil.rmtree(self.path / RETRY, ignore_errors=True)
        if wheels or not self._parts():
            self._write(RETRY, wheels)

    def _write(self, name: str, wheels: Sequence[WheelRows]) -> None:
        draft = self.path / f"{DRAFT}{os.getpid()}"
        try:
            with _writing(self.path):
                draft.mkdir()
                for table in TABLES:
                    self._write_table(draft / f"{table.name}.parquet", table, _rows_of(table, wheels))
                draft.replace(self.path / name)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _write_table(self, file: Path, table: Table, rows: Iterable[Row]) -> None:
        schema = self._schema(table)
        made = self._arrow.Table.from_pylist([_clean(row) for row in rows], schema=schema)
        with file.open("wb") as stream:
            self._parquet.write_table(made, stream, compression="zstd")
            stream.flush()
            os.fsync(stream.fileno())

    def _schema(self, table: Table) -> Any:
        arrow = self._arrow
        kinds = {
            "text": arrow.string(),
            "int": arrow.int64(),
            "bool": arrow.bool_(),
            "texts": arrow.list_(arrow.string()),
        }
        fields = [arrow.field(one.name, kinds[one.kind], metadata={"about": one.about}) for one in table.columns]
        return arrow.schema(fields, metadata={_MARK: SCHEMA.encode()})


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what a survey says about itself; InputError if the folder is not one."""
    try:
        manifest = read_json(folder / MANIFEST, 1 << 20)
    except FileNotFoundError as exc:
        raise InputError(
            f"{folder} is not a survey", because=f"it has no {MANIFEST}", hint="make one: wheelfix survey"
        ) from exc
    except (OSError, ValueError) as exc:
        raise InputError(f"{folder / MANIFEST} cannot be read", because=str(exc)) from exc
    if not isinstance(manifest, dict):
        raise InputError(f"{folder / MANIFEST} cannot be read", because="it is not a JSON object")
    return manifest


def _rows_of(table: Table, wheels: Sequence[WheelRows]) -> Iterable[Row]:
    if table.name == "wheels":
        return [one.wheel for one in wheels]
    return [row for one in wheels for row in one.tables.get(table.name, ())]


def _clean(row: Row) -> Row:
    """Return a row whose texts are valid UTF-8: names in wheels may have lone surrogates."""
    return {key: one.encode("utf-8", "replace").decode() if isinstance(one, str) else one for key, one in row.items()}


@contextlib.contextmanager
def _writing(folder: Path) -> Any:
    """Say which folder cannot be written."""
    try:
        yield
    except OSError as exc:
        raise EnvironmentFailure(
            f"cannot write {folder}",
            because=exc,
            hint="what is there is whole; free some space or fix the access, and run the same command again",
        ) from exc


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


@frozen
class Question:
    """A query that has a name."""

    name: str
    title: str
    parameters: tuple[str, ...]
    """What follows the name on the command line."""
    sql: str


@frozen
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
        near = close_words(text.strip(), questions(), 1)
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
    duckdb = import_extra("duckdb", "queries cannot be answered", "survey")
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

"""Surveys of small folders: what is in the tables, what is skipped and tried again, and what cannot be read."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.remote.indexes import index_of
from tests.support.surveys import forged_wheel, tables_of
from wheelfix.cli.main import main
from wheelfix.errors import EnvironmentFailure, Exit, UsageError
from wheelfix.survey import run as running
from wheelfix.survey.run import local_engine, run_survey
from wheelfix.survey.tables import SCHEMA, TABLES, SurveyFolder, ask, questions
from wheelfix.survey.wheelrows import (
    OPTIONS,
    WheelRows,
    WheelSource,
    failed_rows,
    survey_wheel,
    wheel_sources,
)

pytestmark = pytest.mark.slow
NOTHING_SAID = {"assume": [], "no_assume": []}


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    for number in range(3):
        forged_wheel(folder / "deep", f"pkg{number}")
    forged_wheel(folder, "old", needs="msvcr120.dll")
    (folder / "bad-1.0-cp311-cp311-win_amd64.whl").write_bytes(b"no zip")
    (folder / "linux-1.0-cp311-cp311-manylinux_2_17_x86_64.whl").write_bytes(b"not looked at")
    return folder


def survey(folder: Path, out: Path, engine: object = None) -> running.SurveyRun:
    made = SurveyFolder(out)
    made.open(NOTHING_SAID)
    return run_survey(wheel_sources([str(folder)]), made, engine or local_engine(OPTIONS, 1), lambda text: None)


def test_every_column_has_its_documented_kind(wheels, tmp_path):
    import pyarrow.parquet

    survey(wheels, tmp_path / "out")
    (part,) = (tmp_path / "out").glob("part=*")
    for table in TABLES:
        schema = pyarrow.parquet.read_schema(part / f"{table.name}.parquet")
        assert schema.names == [column.name for column in table.columns]
        assert schema.metadata[b"wheelfix.schema"] == SCHEMA.encode()
        assert all(row is not None for row in tables_of(tmp_path / "out")[table.name])


def test_the_tables_have_what_a_scan_finds(wheels, tmp_path):
    summary = survey(wheels, tmp_path / "out")
    assert (summary.scanned, summary.failed, summary.skipped, summary.passing) == (4, 1, 0, 0)
    asked = {
        "SELECT file, status FROM wheels WHERE name = 'bad'": [("bad-1.0-cp311-cp311-win_amd64.whl", "failed")],
        "SELECT provider, detail FROM edges JOIN wheels USING (sha256) WHERE name = 'pkg0' AND dll = 'helper.dll'": [
            ("wheel", "Lib/site-packages/pkg0/helper.dll")
        ],
        "SELECT DISTINCT requires_dist FROM wheels WHERE status = 'scanned'": [(["numpy>=1.20"],)],
        "SELECT count(DISTINCT member_sha256) FROM providers WHERE dll = 'helper.dll'": [(4,)],
        "SELECT DISTINCT path, loaded FROM images WHERE path LIKE '%old%' ORDER BY ALL": [
            ("Lib/site-packages/old/_x.cp311-win_amd64.pyd", True),
            ("Lib/site-packages/old/helper.dll", True),
        ],
        "SELECT symbols, delayed FROM imports WHERE dll = 'msvcr120.dll'": [(1, False)],
    }
    for sql, expected in asked.items():
        assert list(ask(tmp_path / "out", sql).rows) == expected, sql


@pytest.mark.parametrize(
    "question, values, expected",
    [
        ("who-ships", ["HELPER.dll"], 4),
        ("needs-vc2013", [], 1),
        ("collisions", [], 1),
        ("failures", [], 1),
    ],
)
def test_named_questions(wheels, tmp_path, question, values, expected):
    survey(wheels, tmp_path / "out")
    assert len(ask(tmp_path / "out", question, values).rows) == expected


def test_who_ships_a_dll_whose_name_has_a_hash(tmp_path):
    wheels = tmp_path / "wheels"
    forged_wheel(wheels, "one", dll="libpq-f81e1880e53c9b2acc2a45e78d57cbab.dll", needs="kernel32.dll")
    forged_wheel(wheels, "two", dll="libpq.dll", needs="kernel32.dll")
    forged_wheel(wheels, "three", dll="libpq-5.dll", needs="kernel32.dll")
    survey(wheels, tmp_path / "out")
    assert {row[0] for row in ask(tmp_path / "out", "who-ships", ["libpq.dll"]).rows} == {"one", "two"}


def test_wheels_that_load_what_a_kind_of_windows_does_not_have(tmp_path, run):
    wheels = tmp_path / "wheels"
    forged_wheel(wheels, "media", needs="MFPlat.dll")
    forged_wheel(wheels, "plain", needs="kernel32.dll")
    forged_wheel(wheels, "own", dll="mfplat.dll", needs="kernel32.dll")
    survey(wheels, tmp_path / "out")
    for target, expected in (("windows-n", [("media", True, "mfplat.dll")]), ("Windows-11", [])):
        rows = ask(tmp_path / "out", "breaks-on", [target]).rows
        assert [(row[0], row[3], row[4]) for row in rows] == expected, target
    ((state,),) = ask(
        tmp_path / "out",
        "SELECT DISTINCT state FROM targets WHERE target = 'server-core-2022' AND dll = 'mfplat.dll'",
    ).rows
    assert state == "absent"
    assert (
        "targets: windows-11"
        in run("survey", "query", "breaks-on", "windows-m", "-o", tmp_path / "out", code=Exit.USAGE).err
    )


def test_every_named_question_runs_on_an_empty_survey(tmp_path):
    folder = SurveyFolder(tmp_path / "out")
    folder.open(NOTHING_SAID)
    run_survey([], folder, local_engine(OPTIONS, 1), lambda text: None)
    for question in questions().values():
        assert ask(folder.path, question.name, ["windows-n"] * len(question.parameters)).rows == ()
        assert question.title


def test_what_is_done_is_skipped_and_what_changed_is_read_again(wheels, tmp_path):
    survey(wheels, tmp_path / "out")
    before = tables_of(tmp_path / "out")
    again = survey(wheels, tmp_path / "out")
    assert (again.scanned, again.failed, again.skipped) == (0, 0, 5)
    assert tables_of(tmp_path / "out") == before
    forged_wheel(wheels, "new")
    assert survey(wheels, tmp_path / "out").scanned == 1


def test_copies_share_their_rows(wheels, tmp_path):
    shutil.copy(wheels / "deep" / "pkg0-1.0-cp311-cp311-win_amd64.whl", wheels)
    survey(wheels, tmp_path / "out")
    copies = "SELECT sha256 FROM wheels WHERE name = 'pkg0'"
    sql = f"SELECT count(*), count(DISTINCT sha256) FROM {{}} WHERE sha256 IN ({copies})"
    assert ask(tmp_path / "out", sql.format("wheels")).rows == ((2, 1),)
    assert ask(tmp_path / "out", sql.format("images")).rows == ((2, 1),)


def failing_once(lost: set[str]):  # type: ignore[no-untyped-def]
    """An engine whose first try of some wheels fails for a reason that passes."""

    def engine(sources: Sequence[WheelSource]) -> Iterator[WheelRows]:
        for source in sources:
            if source.file in lost:
                lost.remove(source.file)
                yield failed_rows(source, EnvironmentFailure(source.file, because="the worker died"))
            else:
                yield survey_wheel(source)

    return engine


def test_a_failure_that_passes_is_tried_again_in_the_same_run(wheels, tmp_path):
    survey(wheels, tmp_path / "plain")
    summary = survey(wheels, tmp_path / "out", failing_once({"old-1.0-cp311-cp311-win_amd64.whl"}))
    assert (summary.scanned, summary.passing) == (4, 0)
    assert tables_of(tmp_path / "out") == tables_of(tmp_path / "plain")


def test_a_failure_that_does_not_pass_is_a_row_until_the_next_run(wheels, tmp_path):
    def never(sources: Sequence[WheelSource]) -> Iterator[WheelRows]:
        for source in sources:
            yield failed_rows(source, EnvironmentFailure(source.file, because="no network"))

    summary = survey(wheels, tmp_path / "out", never)
    assert (summary.scanned, summary.failed, summary.passing) == (0, 5, 5)
    assert {row[1] for row in ask(tmp_path / "out", "failures").rows} == {
        f"{source.file}: no network" for source in wheel_sources([str(wheels)])
    }
    survey(wheels, tmp_path / "out")
    survey(wheels, tmp_path / "plain")
    assert tables_of(tmp_path / "out") == tables_of(tmp_path / "plain")


def test_parts_are_written_as_it_goes(wheels, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "PART_WHEELS", 2)
    survey(wheels, tmp_path / "out")
    assert sorted(part.name for part in (tmp_path / "out").glob("part=*")) == ["part=00001", "part=00002", "part=00003"]


def test_wheels_are_read_from_urls(wheels, tmp_path):
    import fsspec

    system = fsspec.filesystem("memory")
    system.put(str(wheels), "/bucket", recursive=True)
    try:
        made = SurveyFolder(tmp_path / "out")
        made.open(NOTHING_SAID)
        summary = run_survey(wheel_sources(["memory://bucket"]), made, local_engine(OPTIONS, 1), lambda text: None)
        assert (summary.scanned, summary.failed) == (4, 1)
        survey(wheels, tmp_path / "plain")
        for table in ("images", "imports", "edges", "findings", "providers"):
            assert tables_of(tmp_path / "out")[table] == tables_of(tmp_path / "plain")[table]
        ((place,),) = ask(tmp_path / "out", "SELECT source FROM wheels WHERE name = 'old'").rows
        assert place.replace("///", "//") == "memory://bucket/old-1.0-cp311-cp311-win_amd64.whl"
    finally:
        system.rm("/bucket", recursive=True)


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "words, code, text",
    [
        (["nowhere"], Exit.BAD_INPUT, "nowhere does not exist"),
        (["nosuch://bucket/x"], Exit.USAGE, "nosuch"),
        (["http://127.0.0.1:9/wheels/"], None, "127.0.0.1:9"),
        ([".", "--engine", "dask"], Exit.USAGE, "--scheduler"),
        ([".", "--assume", "vcredst"], Exit.USAGE, "vcredst"),
    ],
)
def test_a_source_that_cannot_be_read_is_a_clear_error(words, code, text, tmp_path, capsys):
    found = main(["survey", *words, "-o", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert found == code if code is not None else found in (Exit.USAGE, Exit.ENVIRONMENT)
    assert text in said
    assert "Traceback" not in said


def test_a_list_on_stdin(wheels, tmp_path, monkeypatch, run):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO(f"{wheels / 'deep'}\n\n{next(wheels.glob('old*'))}\n"))
    run("survey", "-", "-o", tmp_path / "out", "-q", "-j", "1")
    assert len(ask(tmp_path / "out", "SELECT * FROM wheels").rows) == 4


def test_tables_of_another_version_are_refused(wheels, tmp_path, run):
    survey(wheels, tmp_path / "out")
    manifest = tmp_path / "out" / "survey.json"
    manifest.write_text(manifest.read_text().replace(SCHEMA, "wheelfix.survey/99"))
    for words in ([str(wheels)], ["query", "verdicts"]):
        assert "wheelfix.survey/99" in run("survey", *words, "-o", tmp_path / "out", code=Exit.BAD_INPUT).err


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_damaged_manifest_is_refused(text, tmp_path, run):
    (tmp_path / "survey.json").write_text(text)
    assert "survey.json" in run("survey", "query", "verdicts", "-o", tmp_path, code=Exit.BAD_INPUT).err


def test_a_damaged_part_is_named(wheels, tmp_path, run):
    survey(wheels, tmp_path / "out")
    (tmp_path / "out" / "part=00001" / "wheels.parquet").write_bytes(b"PAR1")
    assert "part=00001" in run("survey", wheels, "-o", tmp_path / "out", code=Exit.BAD_INPUT).err


def test_other_options_and_other_folders_are_refused(wheels, tmp_path):
    survey(wheels, tmp_path / "out")
    with pytest.raises(UsageError, match="other options"):
        SurveyFolder(tmp_path / "out").open({"assume": ["conda"], "no_assume": []})
    with pytest.raises(UsageError, match="not empty"):
        SurveyFolder(wheels).open(NOTHING_SAID)


def test_queries_that_cannot_be_answered(wheels, tmp_path, capsys):
    survey(wheels, tmp_path / "out")
    times = () if importlib.util.find_spec("pytz") else ((["SELECT now() AS x, 1"], "CAST(... AS TIMESTAMP)"),)
    for words, text in (
        (["SELECT nothing FROM wheels"], "nothing"),
        (["who-ships"], "needs: DLL"),
        (["who-ship"], "did you mean who-ships?"),
        (["verdicts", "more"], "takes nothing more"),
        ([""], "named questions: "),
        *times,
    ):
        assert main(["survey", "query", *words, "-o", str(tmp_path / "out")]) == Exit.USAGE, words
        assert text in capsys.readouterr().err


def test_answers_as_table_csv_and_json(wheels, tmp_path, run):
    survey(wheels, tmp_path / "out")
    sql = "SELECT name, count(*) AS n FROM wheels WHERE name = 'old' GROUP BY 1"
    shown = {}
    for kind in ("table", "csv", "json"):
        shown[kind] = run("survey", "query", sql, "-o", tmp_path / "out", "--format", kind).out
    assert shown["table"] == "name  n\n----  -\nold   1\n1 rows\n"
    assert shown["csv"] == "name,n\nold,1\n"
    assert json.loads(shown["json"]) == [{"name": "old", "n": 1}]


# ----------------------------------------------------------------------------------------------------- package indexes


@pytest.mark.parametrize("as_html", [False, True])
def test_wheels_of_an_index_are_read_in_parts_and_names_without_wheels_are_rows(wheels, tmp_path, as_html, run):
    names = tmp_path / "names.txt"
    names.write_text("pkg0 # the first\nold==1.0\n\nabsent\nold==7\n")
    words = ["--names", str(names), "-o", str(tmp_path / "out"), "-j", "1"]
    with index_of([*wheels.glob("deep/*.whl"), *wheels.glob("old*.whl")], as_html=as_html) as server:
        for done in (0, 2):
            assert (
                f"{2 - done} wheels to read, {done} done before"
                in run("survey", *words, "--index-url", f"{server.url}/simple").err
            )
    survey(wheels, tmp_path / "plain")
    sql = "SELECT images.* FROM images JOIN wheels USING (sha256) WHERE name IN ('pkg0', 'old') ORDER BY ALL"
    assert ask(tmp_path / "out", sql) == ask(tmp_path / "plain", sql)
    failed = {row[0]: row[1] for row in ask(tmp_path / "out", "failures").rows}
    assert sorted(failed) == ["absent", "old==7"]
    assert "there is no distribution absent" in failed["absent"]


def test_a_file_of_names_that_cannot_be_used(tmp_path, run):
    (tmp_path / "empty").write_text("# nothing\n")
    for file, code in (("empty", Exit.USAGE), ("absent", Exit.BAD_INPUT)):
        assert file in run("survey", "--names", tmp_path / file, "-o", tmp_path / "out", code=code).err
    assert "needs a SOURCE" in run("survey", "-o", tmp_path / "out", code=Exit.USAGE).err

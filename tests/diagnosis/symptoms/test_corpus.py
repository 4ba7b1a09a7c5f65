"""Every text of fixtures/errors says what the table beside them says it does, and has the cause given there."""

from __future__ import annotations

import functools
import re
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import wheelfix
from tests.diagnosis.symptoms.explaining import explain_symptoms
from tools.diagnosis_samples import figures, rows
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.diagnosis.model import DiagnosisOutcome
from wheelfix.diagnosis.symptoms.reader import read_symptoms
from wheelfix.report.canvas import TextStyle
from wheelfix.report.diagnosis import render_diagnosis

if TYPE_CHECKING:
    from wheelfix.diagnosis.symptoms.model import Symptom

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CORPUS = Path(__file__).parents[3] / "fixtures" / "errors"
EXPECTED: list[dict[str, Any]] = tomllib.loads((CORPUS / "expected.toml").read_text(encoding="utf-8"))["text"]
HERMETIC = ScanOptions(roots=RootOptions(discover=False))
IDS = [row["file"].removesuffix(".txt") for row in EXPECTED]


def told(symptom: Symptom) -> dict[str, Any]:
    """A symptom as the table writes it: without what is empty."""
    row = {
        "kind": symptom.kind,
        "code": symptom.code,
        "path": symptom.path,
        "dlls": list(symptom.dlls),
        "module": symptom.module,
        "language": symptom.language,
    }
    return {name: value for name, value in row.items() if value not in (None, "", [])}


@functools.cache
def symptoms_of(file: str) -> tuple[Symptom, ...]:
    """The symptoms of a text, read once for all tests."""
    return read_symptoms((CORPUS / file).read_bytes())


UNTOLD = {
    "pip-build-alone.txt",
    "import-unknown-language.txt",
    "exit-crash.txt",
    "thread-pyexpat-win7.txt",
    "thread-zbar-micasense.txt",
}
"""Texts from which a person could not tell more either: no code, a crash in running code, a path that was cut."""


GUESSES = ("load-failed", "crash", "build-script", "program-code", "unexplained-error", "traceback-cut")
"""Causes that say what failed, and not why."""


def is_untold(row: dict[str, Any]) -> bool:
    """Whether no cause is to be told. Recorded loads have no symptoms, but tell their cause."""
    if row["file"] in UNTOLD:
        return True
    if row["file"].startswith("none-"):
        return row.get("truth", "none") in ("none", *GUESSES)
    if "sample" not in row:
        return bool(row.get("truth") == "none")
    return row["truth"] in ("none", *GUESSES)


@pytest.mark.parametrize("row", EXPECTED, ids=IDS)
def test_symptoms_are_read_and_their_cause_is_told(row: dict[str, Any]) -> None:
    symptoms = symptoms_of(row["file"])
    assert [told(symptom) for symptom in symptoms] == row["symptoms"]
    causes = explain_symptoms(symptoms)
    assert [cause.id for cause in causes] == row["causes"]
    assert all(cause.next_steps for cause in causes)
    found = wheelfix.diagnose((CORPUS / row["file"]).read_bytes(), options=HERMETIC)
    if not row.get("missed"):
        assert found.outcome is (DiagnosisOutcome.UNKNOWN if is_untold(row) else DiagnosisOutcome.CAUSE)
    if "truth" in row:
        first = found.explained[0].cause.id if found.explained else "none"
        assert (first == row["truth"]) is not row.get("missed", False), "what the thread found out comes first"


def test_corpus_is_whole() -> None:
    assert sorted(path.name for path in CORPUS.glob("*.txt")) == sorted(row["file"] for row in EXPECTED)
    assert len(EXPECTED) >= 150
    languages = {symptom["language"][:2] for row in EXPECTED for symptom in row["symptoms"] if "language" in symptom}
    assert len(languages - {"en"}) >= 10
    assert sum(not row["symptoms"] for row in EXPECTED) >= 20


THREADS = [row for row in EXPECTED if "thread" in row]


def test_threads_are_cited_and_recent() -> None:
    assert len(THREADS) >= 150
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", row["thread"]) for row in THREADS)
    assert all(2010 <= row["year"] <= 2026 for row in THREADS)


def test_unseen_texts_keep_the_bar() -> None:
    """Of the texts that were collected after the code was done, nine in ten have the right cause first."""
    held_out = [row for row in THREADS if row.get("held_out")]
    assert len(held_out) >= 40
    assert sum(not row.get("missed") for row in held_out) >= 0.9 * len(held_out)


@pytest.mark.no_cover
def test_an_answer_fits_on_a_screen() -> None:
    """Half of the answers that have a cause take at most 15 lines of a console with 80 columns."""
    found = (wheelfix.diagnose((CORPUS / row["file"]).read_bytes(), options=HERMETIC) for row in rows())
    texts = [render_diagnosis(one, TextStyle(width=80)) for one in found if one.explained]
    assert statistics.median(len(text.rstrip().splitlines()) for text in texts) <= 15


@pytest.mark.no_cover
def test_the_documentation_has_the_figures_of_the_samples() -> None:
    page = (CORPUS.parents[1] / "docs" / "howto" / "diagnose.md").read_text(encoding="utf-8")
    for one in figures(rows()):
        assert f"| {' | '.join(one.row)} |" in page
        assert one.texts >= 25


@pytest.mark.no_cover
def test_only_126_is_taken_for_a_missing_file() -> None:
    """127, 182, 193, 998, 1114, 1260, 1455 and 14001 are never answered with a DLL to find."""
    for row in EXPECTED:
        for symptom in symptoms_of(row["file"]):
            if symptom.code is not None and symptom.code not in (126, 1157, 0xC0000135, 0xC06D007E):
                assert all(cause.likely_missing == () for cause in explain_symptoms([symptom])), row["file"]

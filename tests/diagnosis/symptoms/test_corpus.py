"""Every text of fixtures/errors says what the table beside them says it does, and has the cause given there."""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING, Any

import pytest

from tests.diagnosis.corpus import CORPUS, EXPECTED, answer_to
from tests.diagnosis.remedy_commands import shown, templates
from tests.diagnosis.symptoms.explaining import explain_symptoms
from tools.diagnosis_samples import answer, figures
from wheelfix.diagnosis.model import DiagnosisOutcome
from wheelfix.report.canvas import TextStyle
from wheelfix.report.diagnosis import render_diagnosis

if TYPE_CHECKING:
    from wheelfix.diagnosis.symptoms.model import Symptom

SAMPLES = [row for row in EXPECTED if "sample" in row]


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


UNTOLD = {
    "pip-build-alone.txt",
    "import-unknown-language.txt",
    "exit-crash.txt",
    "thread-pyexpat-win7.txt",
    "thread-zbar-micasense.txt",
}
"""Texts from which a person could not tell more either: no code, a crash in running code, a path that was cut."""


GUESSES = (
    "load-failed",
    "crash",
    "build-script",
    "program-code",
    "unexplained-error",
    "traceback-cut",
    "warning-only",
    "said-to-fail",
)
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


def first_cause(row: dict[str, Any]) -> str:
    """The cause that the answer to a text puts first, or ``none``."""
    found = answer_to(row["file"])
    return found.explained[0].cause.id if found.explained else "none"


def faults(row: dict[str, Any]) -> list[str]:
    """What the answer to a text has otherwise than its row of the table."""
    found = answer_to(row["file"])
    causes = explain_symptoms(found.symptoms)
    first = first_cause(row)
    pairs = [
        ("symptoms", [told(symptom) for symptom in found.symptoms], row["symptoms"]),
        ("causes", [cause.id for cause in causes], row["causes"]),
        ("causes without a step", [cause.id for cause in causes if not cause.next_steps], []),
    ]
    if not row.get("missed"):
        wanted = DiagnosisOutcome.UNKNOWN if is_untold(row) else DiagnosisOutcome.CAUSE
        pairs += [("outcome", found.outcome, wanted), ("first cause", first, row.get("truth", first))]
    elif first == row.get("truth"):
        pairs.append(("first cause", first, "missed no longer"))
    return [f"{row['file']}: {what} {is_now}, expected {wanted}" for what, is_now, wanted in pairs if is_now != wanted]


def part_of(row: dict[str, Any]) -> str:
    """The sample of a text, or how it was made."""
    return str(row.get("sample", "thread" if "thread" in row else "made"))


@pytest.mark.parametrize("part", sorted({part_of(row) for row in EXPECTED}, reverse=True))
def test_symptoms_are_read_and_their_cause_is_told(part):
    wrong = [fault for row in EXPECTED if part_of(row) == part for fault in faults(row)]
    assert not wrong, "\n".join(wrong)


def test_corpus_is_whole():
    assert sorted(path.name for path in CORPUS.glob("*.txt")) == sorted(row["file"] for row in EXPECTED)
    assert len(EXPECTED) >= 150
    languages = {symptom["language"][:2] for row in EXPECTED for symptom in row["symptoms"] if "language" in symptom}
    assert len(languages - {"en"}) >= 10
    assert sum(not row["symptoms"] for row in EXPECTED) >= 20


THREADS = [row for row in EXPECTED if "thread" in row]


def test_threads_are_cited_and_recent():
    assert len(THREADS) >= 150
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", row["thread"]) for row in THREADS)
    assert all(2010 <= row["year"] <= 2026 for row in THREADS)


def test_unseen_texts_keep_the_bar():
    """Of the texts that were collected after the code was done, nine in ten have the right cause first."""
    held_out = [row for row in THREADS if row.get("held_out")]
    assert len(held_out) >= 40
    assert sum(not row.get("missed") for row in held_out) >= 0.9 * len(held_out)


def test_answers_say_the_names_that_the_text_has():
    """``must`` has what was written down to be said before a text was tried; ``|`` separates spellings."""
    complete = []
    for row in (row for row in EXPECTED if "must" in row):
        text = render_diagnosis(answer_to(row["file"]), TextStyle(unicode=True)).lower()
        complete.append(all(any(word.lower() in text for word in one.split("|")) for one in row["must"]))
    assert len(complete) >= 40
    assert sum(complete) >= 0.85 * len(complete)


@pytest.mark.no_cover
def test_an_answer_fits_on_a_screen():
    """Half of the answers that have a cause take at most 15 lines of a console with 80 columns."""
    found = (answer_to(row["file"]) for row in SAMPLES)
    texts = [render_diagnosis(one, TextStyle(width=80)) for one in found if one.explained]
    assert statistics.median(len(text.rstrip().splitlines()) for text in texts) <= 15


@pytest.mark.no_cover
def test_the_documentation_has_the_figures_of_the_samples():
    page = (CORPUS.parents[1] / "docs" / "howto" / "diagnose.md").read_text(encoding="utf-8")
    for row in SAMPLES[::200]:
        assert answer(row) == first_cause(row)
    for one in figures(SAMPLES, first_cause):
        assert f"| {' | '.join(one.row)} |" in page
        assert one.texts >= 24


@pytest.mark.no_cover
def test_only_126_is_taken_for_a_missing_file():
    """127, 182, 193, 998, 1114, 1260, 1455 and 14001 are never answered with a DLL to find."""
    for row in EXPECTED:
        for symptom in answer_to(row["file"]).symptoms:
            if symptom.code is not None and symptom.code not in (126, 1157, 0xC0000135, 0xC06D007E):
                assert all(cause.likely_missing == () for cause in explain_symptoms([symptom])), row["file"]


# ----------------------------------------------------------------------------------------- the commands of the remedies
# ``tests/diagnosis/test_remedies.py`` runs them or compares them with documentation.


def test_each_command_is_for_both_shells():
    """What one shell alone understands: two commands in a line, a variable, cmd's own commands.

    A variable in quotation marks does not survive PowerShell: it passes "%NAME%" on without the marks, and a folder
    with a blank in its name then is two arguments.
    """
    for command in sorted(shown()):
        assert "&&" not in command
        assert "%" not in command
        assert "$" not in command
        assert not re.match(r"(?:where|mklink|dir|del|copy|type)(?![\w.])", command), command


def test_each_template_is_shown_for_some_text():
    """A command that no text of the corpus leads to was never looked at by the test above."""
    forms = [re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(template)), re.DOTALL) for template in templates()]
    unseen = [form.pattern for form in forms if not any(form.fullmatch(command) for command in shown())]
    assert not unseen


def test_no_command_has_words_in_place_of_a_name():
    """pip takes "the package" for two projects of that name, and installs them."""
    vague = re.compile(r"\b(?:the|a) (?:package|file|module)\b|\{\w+\}|\s$")
    assert not [command for command in shown() if vague.search(command)]

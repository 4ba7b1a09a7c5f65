"""The sentences of Windows are recognised in every language and code page."""

from __future__ import annotations

import pytest

from wheelfix.diagnosis.symptoms.forms import AMBIGUOUS_CODES, LOADER_CODES
from wheelfix.diagnosis.symptoms.reader import read_symptoms
from wheelfix.diagnosis.symptoms.recognise import language_of, nearest_sentence, read_sentence, repair_encoding
from wheelfix.knowledge.winerrors import sentences, winerror_table

CODE_PAGES = {
    "de": "cp1252",
    "fr": "cp850",
    "ru": "cp866",
    "uk": "cp1251",
    "ja": "cp932",
    "ko": "cp949",
    "zh-CN": "cp936",
    "zh-TW": "cp950",
}
LOCAL = [(code, language, text) for code, language, text in sentences() if code <= 0xFFFF]


@pytest.mark.parametrize(("code", "language", "text"), LOCAL, ids=[f"{code}-{name}" for code, name, _ in LOCAL])
def test_every_known_sentence_gives_an_import_error_its_code(code: int, language: str, text: str) -> None:
    (symptom,) = read_symptoms(f"ImportError: DLL load failed while importing _C: {text}\n")
    # Both Chinese editions say some sentences alike, so the country may differ.
    assert (symptom.code, symptom.language[:2]) == (code, language[:2])


@pytest.mark.parametrize("language", CODE_PAGES)
def test_a_sentence_in_its_own_code_page_is_read(language: str) -> None:
    text = next(text for code, name, text in LOCAL if (code, name) == (126, language))
    raw = f"ImportError: DLL load failed while importing _C: {text}\n".encode(CODE_PAGES[language])
    (symptom,) = read_symptoms(raw)
    assert (symptom.code, symptom.language) == (126, language)


def test_blanks_and_line_ends_do_not_matter() -> None:
    known = read_sentence("The specified\n   module could not be  found")
    assert known is not None
    assert (known.code, known.language) == (126, "en")


@pytest.mark.parametrize("text", ["", "short", "an entirely different sentence about lunch and other things"])
def test_other_texts_are_near_to_nothing(text: str) -> None:
    assert nearest_sentence(text) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [("abc", ""), ("がない", "ja"), ("找不到", "zh"), ("없음", "ko"), ("нет", "ru"), ("é", "")],
)
def test_the_script_tells_the_language(text: str, language: str) -> None:
    assert language_of(text) == language


def test_bytes_of_no_known_page_stay_readable() -> None:
    raw = b"caf\xe9 \x81".decode("utf-8", "surrogateescape")
    assert repair_encoding(raw).startswith("café")
    assert repair_encoding("grün") == "grün"


def test_the_codes_that_are_looked_for_are_those_that_are_known() -> None:
    known = {error.code: error.only_loads for error in winerror_table().errors.values() if error.code <= 0xFFFF}
    assert set(LOADER_CODES) == {code for code, ambiguous in known.items() if not ambiguous}
    assert set(AMBIGUOUS_CODES) == {code for code, ambiguous in known.items() if ambiguous}


@pytest.mark.parametrize("text", ["Access is denied.", "Zugriff verweigert", "The parameter is incorrect."])
def test_a_sentence_of_many_operations_counts_in_a_failed_load_alone(text: str) -> None:
    assert read_symptoms(f"{text}\n") == ()
    assert read_symptoms(f"PermissionError: [WinError 5] {text}: 'C:\\x.dll'\n") == ()
    (symptom,) = read_symptoms(f"ImportError: DLL load failed while importing _ext: {text}\n")
    assert symptom.code in (5, 87)

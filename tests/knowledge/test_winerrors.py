"""What error codes of Windows mean."""

import pytest

from tests.support.tables import named_cases
from wheelfix.knowledge.winerrors import (
    code_of_sentence,
    message_text,
    shown_by,
    winerror,
    winerror_table,
)

CODES = [126, 127, 182, 193, 216, 225, 487, 998, 1114, 1157, 1260, 1455, 14001]
STATUS = [0xC0000135, 0xC0000139, 0xC06D007E, 0xC06D007F, 0xC000007B, 0xC0000142]


def test_every_code_that_loads_end_with_is_explained():
    assert {*CODES, *STATUS} <= winerror_table().errors.keys()


def test_few_codes_are_about_a_missing_file():
    missing = {code for code in winerror_table().errors if winerror_table().errors[code].missing_file}
    assert missing == {126, 1157, 0xC0000135, 0xC06D007E}


def test_exit_codes_may_be_negative():
    assert winerror(-1073741515) is winerror(0xC0000135)
    assert str(winerror(-1073741515)) == "0xC0000135"
    assert str(winerror(126)) == "126"


def test_message_text():
    assert message_text(126) == "The specified module could not be found."
    assert message_text(99999) == "Windows error 99999."


@named_cases(
    "text, expected",
    {
        "Chinese": ("ImportError: DLL load failed while importing _C: 找不到指定的模块。", (126, "zh-CN")),
        "wrapped German": ("DLL load failed: Das angegebene Modul\r\nwurde nicht gefunden", (126, "de")),
        "Russian": ("Не найдена указанная процедура.", (127, "ru")),
        "French with a curly apostrophe": ("%1 n’est pas une application Win32 valide", (193, "fr")),
        "placeholder filled in": ("C:\\x.dll is not a valid Win32 application.", (193, "en")),
        "English": ("The specified module could not be found", (126, "en")),
        "something else": ("No module named torch", None),
    },
)
def test_the_code_of_a_sentence(text, expected):
    assert code_of_sentence(text) == expected


@pytest.mark.parametrize("code", [126, 127, 193, 1114])
def test_the_common_display_languages_are_there(code):
    languages = {language for own, language, _ in winerror_table().sentences if own == code}
    assert {"en", "de", "fr", "es", "it", "pt-BR", "ru", "pl", "cs", "tr", "ja", "ko", "zh-CN", "zh-TW"} <= languages


def test_lines_of_a_log_show_rows():
    line = (
        '0024:err:module:import_dll No implementation for helper.dll.call imported from L"T:\\\\m.pyd", setting to 0x7'
    )
    assert [row.id for row in shown_by([line])] == ["missing-symbol"]
    ordinal = line.replace("dll.call", "dll.12")
    assert [row.id for row in shown_by([ordinal, "something else"])] == ["missing-ordinal"]
    crash = (
        "wine: Unimplemented function KERNEL32.dll.NewThing called at address 0x1 (thread 0024), starting debugger..."
    )
    assert [row.id for row in shown_by([crash])] == ["unimplemented-function"]

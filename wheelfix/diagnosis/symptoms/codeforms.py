"""Forms that have nothing but a number of Windows: error codes, statuses and HRESULTs, wherever they are printed."""

from __future__ import annotations

import re

from wheelfix.diagnosis.symptoms.form import form, sentence_before
from wheelfix.diagnosis.symptoms.symptom import Confidence

LOADER_CODES = (126, 127, 182, 193, 216, 225, 487, 577, 998, 1114, 1157, 1260, 1455, 1920, 4551, 14001)
"""Windows error codes that a failed load can end with; others, such as 2 or 5, are about other problems."""
AMBIGUOUS_CODES = (5, 8, 14, 87, 206, 1392)
"""Codes that a failed load can end with, and many other operations too."""

# 0xC0000135 and its kind, as printed in hexadecimal, as a signed and as an unsigned decimal.
_EXIT_STATUSES = (
    0xC0000005,
    0xC000001D,
    0xC0000022,
    0xC000007B,
    0xC00000FD,
    0xC000012F,
    0xC0000130,
    0xC0000135,
    0xC0000138,
    0xC0000139,
    0xC0000142,
    0xC0000374,
    0xC0000409,
    0xC0000417,
    0xC000041D,
    0xC0000428,
    0xC0150002,
    0xE06D7363,
)
_DELAY_STATUSES = (0xC06D007E, 0xC06D007F)
_CODES = "|".join(map(str, LOADER_CODES))
STATUS_NAMES = {
    "DLL_NOT_FOUND": 0xC0000135,
    "ENTRYPOINT_NOT_FOUND": 0xC0000139,
    "ORDINAL_NOT_FOUND": 0xC0000138,
    "INVALID_IMAGE_FORMAT": 0xC000007B,
    "DLL_INIT_FAILED": 0xC0000142,
    "ILLEGAL_INSTRUCTION": 0xC000001D,
}


def _statuses(statuses: tuple[int, ...]) -> str:
    """A pattern for NTSTATUS values in the three ways in which they are printed."""
    numbers = [text for status in statuses for text in (f"0x{status:08x}", str(status), str(status - (1 << 32)))]
    return rf"(?<![\w.])(?P<status>{'|'.join(map(re.escape, numbers))})(?![\w])"


CODE_FORMS = (
    # the words of dialog boxes are in phrases.toml; what they have in common is the status
    form("delay-load", "c06d007|322836902|106659827", _statuses(_DELAY_STATUSES), weak=True),
    form(
        "exit-code",
        "0xc0|-10737|-10725|322122|32223|e06d7363|3765269347|-529697949",
        _statuses(_EXIT_STATUSES),
        weak=True,
    ),
    form(
        "exit-code",
        "status_dll_|status_entrypoint|status_ordinal|status_invalid_image|status_illegal",
        r"\bSTATUS_(?P<status_name>DLL_NOT_FOUND|ENTRYPOINT_NOT_FOUND|ORDINAL_NOT_FOUND|INVALID_IMAGE_FORMAT|DLL_INIT_FAILED|ILLEGAL_INSTRUCTION)\b",
        weak=True,
    ),
    # the event log of Windows, and dumps
    form(
        "exit-code",
        "exception code: c0|exception code:\tc0|exceptioncode: c0|exception_code: c0",
        r"Exception[ _]?code:[ \t]*(?P<status_hex>c0000005|c000001d|c0000135|c0000139|c0000142|c0000374|c0000409)\b",
        weak=True,
    ),
    # a folder for DLLs that was not there; the reader keeps it where the line before adds such a folder
    form(
        "dll-folder",
        "winerror 2]|winerror 3]|winerror 87]|winerror 123]|winerror 206]|winerror 433]",
        r"\[WinError (?P<code>2|3|87|123|206|433)\](?P<text>{REST}{0,400})",
        weak=True,
    ),
    # anything else with one of the loader's codes
    form(
        "winerror",
        "winerror",
        rf"\[?WinError\s*(?::\s*)?(?P<code>{_CODES})\b\]?(?P<text>{{REST}}{{0,300}})",
        weak=True,
    ),
    # codes that many other operations end with, where the line is about a load
    form(
        "winerror",
        "winerror",
        rf"\[?WinError\s*(?::\s*)?(?P<code>{'|'.join(map(str, AMBIGUOUS_CODES))})\b\]?(?P<text>{{REST}}{{0,300}})",
        weak=True,
        among=("dlopen", "loadlibrary", "error loading", "failed to load", "error message(s)"),
    ),
    form(
        "winerror",
        "os error",
        rf"\(os error (?P<code>{_CODES})\)",
        weak=True,
        before=sentence_before,
    ),
    form(
        "winerror",
        "0x8007",
        r"(?<!\w)0x8007(?P<hresult>007e|007f|00b6|00c1|00d8|00e1|03e6|045a|04ec|05af|11c7|36b1)\b",
        weak=True,
    ),
    form(
        "winerror",
        "error 126|error 127|error 182|error 193|error 998|error 1114|error 1455|error 14001"
        "|error code|getlasterror|errno 126|errno 193|error: 126|error: 127|error: 193",
        rf"(?:error|errno|GetLastError)(?: code)?(?:\(\))?(?: (?:returned|is|was))?"
        rf"[ ]?[:=#]?[ ]?\(?(?P<code>{_CODES})\b",
        confidence=Confidence.LIKELY,
        weak=True,
        among=(".dll", ".pyd", "loadlibrary", "dlopen"),
    ),
    # the same in hexadecimal, or in nothing but brackets
    form(
        "winerror",
        "0x7e|0x7f|0xc1|0x45a|0x0000007e|0x0000007f|0x000000c1|0x0000045a",
        r"(?<!\w)0x0{0,5}(?P<hresult>7e|7f|c1|45a)\b",
        confidence=Confidence.LIKELY,
        weak=True,
        among=(".dll", ".pyd", "loadlibrary", "dlopen"),
    ),
    form(
        "winerror",
        "(126)|(127)|(193)|(1114)|: 126|: 127|: 193|: 1114|=126|=127|=193|=1114",
        r"(?:\(|: |=)(?P<code>126|127|193|1114)\b(?!\.\d)",
        confidence=Confidence.LIKELY,
        weak=True,
        among=("loadlibrary", "dlopen", "load library", "load dynamic", "load dll", "load shared", "winerror"),
    ),
)

"""The answers to "what does WinError N mean?", from the table of error codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.markdown import NOTE, sentence, table
from wheelfix.knowledge.winerrors import WinError, winerror_table

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRODUCTION = """\
# WinError codes

What Windows answers when a DLL cannot be loaded, and what to do. The error names the file that was asked for; the cause
is often another one. Only the codes with "yes" in the table are about a missing file: adding DLLs does not help with
the others.

Python shows a code below 10000 in brackets, as in `OSError: [WinError 126]`. `ImportError: DLL load failed` shows the
sentence without its code, in the display language of Windows. A process that dies at start-up leaves a code such as
`0xC0000135`, or the same as a negative number.

"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of the page."""
    text = NOTE + INTRODUCTION
    errors = sorted(winerror_table().errors.values(), key=lambda error: error.code)
    rows = [(f"[{error}](#{_anchor(error)})", error.text, "yes" if error.missing_file else "no") for error in errors]
    text += table(("code", "what Windows says", "a file is missing"), rows)
    text += "".join(_entry(error) for error in errors)
    yield "reference/winerrors.md", text.rstrip() + "\n"


def _anchor(error: WinError) -> str:
    return f"winerror-{str(error).lower()}"


def _entry(error: WinError) -> str:
    text = (
        f"## {_title(error)} {{ #{_anchor(error)} }}\n\n> {error.text}\n\n`{error.name}`. {sentence(error.meaning)}\n\n"
    )
    text += "What to try, best first:\n\n"
    text += "".join(f"{number}. {sentence(remedy)}\n" for number, remedy in enumerate(error.remedies, start=1)) + "\n"
    others = [one for one in winerror_table().sentences if one[0] == error.code and one[1] != "en"]
    if others:
        text += "In other languages:\n\n" + "".join(f"- {name}: {said}\n" for _, name, said in others) + "\n"
    return text + f"Source: {_linked(error.source)}\n\n"


def _title(error: WinError) -> str:
    return f"WinError {error}" if error.code <= 0xFFFF else f"Code {error}"


def _linked(source: str) -> str:
    return " ".join(
        f"<{word}>" if word.startswith("https://") and word[-1] not in ",;)" else word for word in source.split()
    )

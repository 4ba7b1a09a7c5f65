"""Compare a rendered text with the one on file, whole; ``WHEELFIX_GOLDEN=write`` renews the files."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).with_name("golden")


def check_golden(name: str, text: str) -> None:
    """Assert that the text is what ``golden/<name>`` holds."""
    path = FOLDER / name
    if os.environ.get("WHEELFIX_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")

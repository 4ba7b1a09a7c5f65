"""What a report says about its own making: the command line without secrets, the date, the hashes of the wheels."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import open_regular
from wheelfix.base.parsing import whole_number
from wheelfix.errors import HIDDEN, shown_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wheelfix.model import ScanReport

_SECRET_NAMES = ("token", "secret", "passw", "passphrase", "apikey", "api-key", "credential", "auth")
_TOKEN = re.compile(r"\b(?:gh[a-z]_|github_pat_|glpat-|pypi-|sk-|AKIA|xox[a-z]-)[\w-]{8,}")
_CHUNK = 1 << 20


def command_line(argv: Sequence[str], home: str = "") -> str:
    """Return a command line as a report may show it: what looks like a secret is hidden, the home folder is ``~``."""
    home = home or str(Path("~").expanduser())
    words = []
    named = False
    for word in argv:
        words.append(HIDDEN if named else _without_secrets(word, home))
        named = word.startswith("--") and "=" not in word and _names_a_secret(word)
    return " ".join(word if word == HIDDEN else _quoted(word) for word in ("wheelfix", *words))


def _quoted(word: str) -> str:
    """Quote a word only where a shell would part it; backslashes of Windows paths stay as they are."""
    if re.fullmatch(r"[\w@%+=:,./~*\\-]+", word):
        return word
    return f'"{word}"' if "'" in word or "\\" in word else shlex.quote(word)


def _without_secrets(word: str, home: str) -> str:
    word = _TOKEN.sub(HIDDEN, _without_value(shown_url(word)))
    return word.replace(home, "~") if len(home) > 3 else word


def _without_value(word: str) -> str:
    """Hide what follows the name of a secret and ``=`` or ``:``."""
    start = 0
    for at, sign in enumerate(word):
        if sign in "=:":
            if _names_a_secret(word[start:at]):
                return word[: at + 1] + HIDDEN
            start = at + 1
    return word


def _names_a_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_NAMES)


def now() -> str:
    """Return the time in UTC, or that of ``SOURCE_DATE_EPOCH``, for reports that are to be the same again."""
    epoch = whole_number(os.environ.get("SOURCE_DATE_EPOCH", ""), 11)
    seconds = time.time() if epoch is None else epoch
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def hashes(reports: Iterable[ScanReport]) -> dict[str, str]:
    """Return the SHA-256 of every wheel that was reported, by its path; a file that is gone has none."""
    found = {}
    for path in {report.path for report in reports}:
        if path.lower().endswith(".whl"):
            try:
                found[path] = _sha256(Path(path))
            except OSError:
                continue
    return found


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()

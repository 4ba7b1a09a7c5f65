"""The first lines of a generated table: what it has, from where, since when, and what makes it again."""

from __future__ import annotations

import datetime


def today() -> str:
    """Return the date, as ``2026-11-17``."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def heading(about: str, source: str, command: str, *more: str, date: str = "") -> str:
    """Return the lines; ``about`` may have several, ``more`` come before the last."""
    lines = [*about.splitlines(), f"source: {source}", f"date: {date or today()}", *more]
    return "".join(f"# {line}\n" for line in [*lines, f"made by `{command}`; do not edit by hand"])

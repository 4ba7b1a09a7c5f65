"""Paths without the names of the people whose machines they are from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MASK = "<user>"
# Folders below Users that do not belong to one user.
_NOBODY = r"(?:Public|Default(?: User)?|All Users|Shared|runneradmin|ContainerAdministrator|%\w+%|<user>)"
_HOMES = re.compile(
    r"(?P<home>(?:^|(?<=[\s\"'=;,(\[<:]))(?:[A-Za-z]:|\\\\\?\\[A-Za-z]:)?"
    r"(?P<slash>[\\/]{1,2})(?:Users|home|Documents and Settings)(?P=slash))"
    rf"(?!{_NOBODY}(?:[\\/]|\s|$|[\"';,]))"
    # A name may have blanks, but it can be told apart from the sentence around it only where a slash follows.
    r"(?:[^\\/\"'<>|:*?;\r\n]{1,64}(?=[\\/])|[^\\/\s\"'<>|:*?;,)]{1,64})",
    re.IGNORECASE,
)


def mask_users(text: str, names: tuple[str, ...] = ()) -> str:
    """Return a text with ``<user>`` for the user whose folder a path lies in.

    ``names`` are user names that are masked wherever they are a whole part of a path.
    """
    text = _HOMES.sub(lambda found: found["home"] + MASK, text)
    for name in names:
        text = re.sub(rf"(?i)(?<=[\\/]){re.escape(name)}(?=[\\/\s\"']|$)", MASK, text)
    return text


def user_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names under which the user is known to the system; very short ones would mask ordinary folders."""
    found = (environ.get(name, "") for name in ("USERNAME", "USER", "LOGNAME"))
    return tuple(dict.fromkeys(name for name in found if len(name) > 2 and name.lower() not in ("root", "user")))

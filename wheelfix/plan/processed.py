"""Whether delvewheel has processed a wheel before."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.pycode.pythonsource import python_code

if TYPE_CHECKING:
    from wheelfix.exam.examination import Examination

_PATCH = re.compile(r"^def _delvewheel_(?:init_)?patch_(\d+(?:_\d+)*)\(", re.MULTILINE)


def processed_by(before: Examination) -> str:
    """Return the delvewheel that has processed a wheel, as far as it says so; empty if none has."""
    info, view = before.facts.info, before.subject.view
    text = view.read_text(f"{SITE_PACKAGES}/{info.dist_info}/DELVEWHEEL") if info else None
    if text is not None:
        first = text.partition("\n")[0].strip()
        return first.removeprefix("Version: ") if first.startswith("Version: ") else "(unknown version)"
    for _, source in python_code(view, (b"_delvewheel_",)):  # early releases left only their patch
        patch = _PATCH.search(source)
        if patch is not None:
            return patch[1].replace("_", ".")
    return ""

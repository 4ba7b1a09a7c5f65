"""Markdown as a terminal shows it."""

from __future__ import annotations

import pytest

from wheelfix.report.canvas import TextStyle
from wheelfix.report.pages import render_page

PAGE = """\
# WF999 thing-is-wrong

A `thing` that **matters** goes wrong, and this sentence is long enough to need
a second line on a narrow terminal → see [the page](https://example.org/x).

## What to do
- first do this, which takes quite a few words to say in full on one line
  and goes on here
- then *that*

```bat
wheelfix repair dist\\*.whl   --root "C:\\Some Folder\\which is longer than the width"
```
"""

EXPECTED = """\
WF999 thing-is-wrong

A thing that matters goes wrong, and this sentence is long
enough to need a second line on a narrow terminal -> see the
page (https://example.org/x).

What to do

  * first do this, which takes quite a few words to say in
    full on one line and goes on here
  * then that

    wheelfix repair dist\\*.whl   --root "C:\\Some Folder\\which is longer than the width"
"""


def test_page_in_ascii():
    assert render_page(PAGE, TextStyle(60)) == EXPECTED


def test_page_in_unicode_differs_by_its_glyphs():
    expected = EXPECTED.replace("  * ", "  • ").replace("terminal -> see the\npage", "terminal → see the\npage")
    assert render_page(PAGE, TextStyle(60, unicode=True)) == expected


def test_code_is_coloured_where_asked():
    assert "\x1b[36mthing\x1b[0m" in render_page(PAGE, TextStyle(60, colour=True))


def test_an_unclosed_fence_ends_with_the_page():
    assert render_page("```\nabc", TextStyle(60)) == "    abc\n"


@pytest.mark.parametrize("text", ["1. one", "> quoted", "***"])
def test_what_no_renderer_draws_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="which no renderer draws"):
        render_page(text, TextStyle(60))

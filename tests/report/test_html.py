"""The HTML report: well formed, self-contained, nothing in a wheel becomes markup."""

from __future__ import annotations

import dataclasses
import json
import re
from html.parser import HTMLParser

import pytest

from tests.report.samples import broken_torch, clean_wheel, risky_extension
from wheelfix.errors import InputError
from wheelfix.exam.examination import FailedInput
from wheelfix.model import Edge, EdgeKind, Finding, ProvidedDll, Resolution, Severity, System
from wheelfix.report.canvas import TextStyle
from wheelfix.report.document import (
    Context,
    render,
)
from wheelfix.report.html.element import VOID, Html, draw, el, join
from wheelfix.report.pages import parse_markdown, render_page

FAILURE = FailedInput("x.whl", InputError("x.whl is no wheel", because="it is <no> ZIP archive"))


class Reader(HTMLParser):
    """Reads a page strictly: what is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


PAGES = {
    "broken": lambda: render("html", [broken_torch()]),
    "many": lambda: render("html", [broken_torch(), clean_wheel(), risky_extension()], [FAILURE]),
    "nothing": lambda: render("html", []),
}


@pytest.fixture(params=sorted(PAGES))
def page(request):
    return PAGES[request.param]()


def test_is_well_formed_with_every_id_once_and_every_link_leading_somewhere(page):
    reader = read(page)
    ids = [attrs["id"] for _, attrs in reader.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in reader.elements:
        if str(attrs.get("href", "")).startswith("#"):
            assert attrs["href"][1:] in ids
        for reference in ("aria-labelledby", "aria-describedby", "list"):
            assert reference not in attrs or attrs[reference] in ids


def test_needs_no_network(page):
    reader = read(page)
    assert not [attrs for _, attrs in reader.elements if "src" in attrs]
    assert not [tag for tag, _ in reader.elements if tag in ("link", "img", "iframe", "object")]
    assert "url(" not in re.sub(r"url\(#", "", page)
    policy = next(attrs["content"] for tag, attrs in reader.elements if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none'")


def test_tells_the_verdict_the_line_and_the_page():
    reader = read(render("html", [broken_torch()]))
    texts = "".join(reader.texts)
    assert broken_torch().first_failure.message in texts
    assert "broken" in texts
    assert "What the findings mean" in texts
    assert ("div", "WF301") in [(tag, attrs.get("id")) for tag, attrs in reader.elements]


def test_the_data_of_the_drawing_is_json_without_a_bracket():
    page = render("html", [broken_torch()])
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    data = json.loads(text)
    assert "<" not in text
    assert len(data["nodes"]) == 6
    assert data["nodes"][3]["outside"] == ["a device driver: nvcuda.dll"]


def test_every_box_speaks():
    page = render("html", [dataclasses.replace(broken_torch(), missing=())])
    boxes = [attrs for _, attrs in read(page).elements if "data-node" in attrs][-6:]
    assert all(box["role"] == "button" and box["aria-label"] for box in boxes)
    assert "libomp140.x86_64.dll, missing" in [box["aria-label"] for box in boxes]


def test_what_was_vendored_is_marked_with_its_source():
    page = render("html", [broken_torch()], (), Context(sources={"torch/lib/c10.dll": "CUDA 11.7"}))
    assert 'class="node dll vendored"' in page
    assert "vendored from CUDA 11.7" in page


def test_elements():
    assert (
        el("p", "a<b", Html("<i>c</i>"), class_="x", hidden=True, id=None) == '<p class="x" hidden>a&lt;b<i>c</i></p>'
    )
    assert el("br") == "<br>"
    assert join(["a", None, "&"]) == "a&amp;"


def test_names_may_be_broken_behind_an_underscore_but_not_where_only_text_is_allowed():
    assert el("td", "a_b") == "<td>a_<wbr>b</td>"
    assert el("title", "a_b") == "<title>a_b</title>"
    assert el("td", "x", data_value="a_b") == '<td data-value="a_b">x</td>'


def test_markdown():
    text = "# A\n\nb `c` [d](javascript:x) [e](https://example.org)\n\n- f\n- g\n\n```\n<i>\n```\n"
    assert draw(parse_markdown(text)) == (
        '<h4>A</h4><p>b <code>c</code> [d](javascript:x) <a href="https://example.org" rel="noreferrer">e</a></p>'
        "<ul><li>f</li><li>g</li></ul>"
        '<pre tabindex="0"><code>&lt;i&gt;</code></pre>'
    )


def test_a_line_that_begins_with_a_number_and_a_bracket_is_no_list():
    """The page of WF402 was cut at "CUDA 11) and cublas64_12.dll", where a line begins with "11)"."""
    assert draw(parse_markdown("of (CUDA\n11) and others")) == "<p>of (CUDA\n11) and others</p>".replace("\n", " ")


def test_findings_come_before_the_dlls_and_api_sets_are_not_listed():
    page = render("html", [broken_torch()])
    order = [page.index(title) for title in ("Errors (", "How the missing DLLs are reached", "All 3 DLLs, 1 ext")]
    assert order == sorted(order)
    edges = [
        Edge(
            "Lib/site-packages/torch/lib/c10.dll", f"api-ms-win-crt-x{number}-l1-1-0.dll", EdgeKind.IMPORT, System("x")
        )
        for number in range(9)
    ]
    report = dataclasses.replace(broken_torch(), resolution=Resolution(tuple(edges)))
    assert "api-ms" not in render("html", [report])
    assert '"Windows API sets: 9"' in render("html", [report])


def test_many_findings_of_a_rule_are_folded():
    findings = tuple(Finding("WF301", "a", Severity.ERROR, f"x{number}.dll", "is wrong") for number in range(300))
    page = render("html", [dataclasses.replace(broken_torch(), findings=findings)])
    assert "<summary>290 more</summary>" in page


def test_what_other_distributions_provide_has_a_section_of_its_own():
    provided = (
        ProvidedDll("c10.dll", "file", ("torch",), ("pkg/_ext.pyd",), path="Lib/site-packages/torch/lib/c10.dll"),
        ProvidedDll("mkl_rt.2.dll", "requirement", ("mkl",), ("pkg/_ext.pyd",), "<2027", because="<b>"),
    )
    page = render("html", [dataclasses.replace(clean_wheel(), provided=provided)])
    assert "Provided by other distributions (2): torch, mkl" in page
    assert "mkl (&lt;2027)" in page
    assert "Lib/site-packages/torch/lib/c10.dll" in page
    assert "Provided by other distributions" not in render("html", [clean_wheel()])


# ---------------------------------------------------------------------------------------------------------------- pages
# Markdown as a terminal shows it.

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
def test_what_no_renderer_draws_is_refused(text):
    with pytest.raises(ValueError, match="which no renderer draws"):
        render_page(text, TextStyle(60))

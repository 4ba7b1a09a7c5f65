"""The HTML report in a real browser: read at three widths, in light and dark, without scripts, and used by a reader."""

from __future__ import annotations

import dataclasses
import functools
import os

import pytest

from tests.report.samples import broken_torch, clean_wheel, risky_extension
from tests.report.test_hostile_texts import comparison_page, repair_page
from tests.support.hostile_values import HOSTILE, Maker
from tools.browser import Browser, find_browser
from wheelfix.errors import CannotRepair, InputError
from wheelfix.exam.examination import FailedInput
from wheelfix.model import (
    Edge,
    EdgeKind,
    Finding,
    Image,
    InView,
    Machine,
    Resolution,
    ScannedImage,
    ScanReport,
    Severity,
)
from wheelfix.report.document import (
    Context,
    render,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        find_browser() is None and not os.environ.get("WHEELFIX_REQUIRE_TIERS"), reason="no Chromium is installed"
    ),
]
WIDTHS = (400, 800, 1400)
HEIGHTS = {400: 800, 800: 900, 1400: 900}


@pytest.fixture(scope="module")
def browser():
    with Browser() as one:
        yield one


def named(report: ScanReport, number: int) -> ScanReport:
    return dataclasses.replace(report, path=f"dist/some_package_name{number}-1.10.2-cp311-cp311-win_amd64.whl")


def crowd(number: int) -> ScanReport:
    """A wheel of many DLLs that all import each other's neighbours, and Windows' API sets."""
    names = [f"Lib/site-packages/big/a_rather_long_part_name_{place:03}.dll" for place in range(number)]
    edges = [
        Edge(first, second.rsplit("/", 1)[1], EdgeKind.IMPORT, InView(second))
        for place, first in enumerate(names)
        for second in names[place + 1 : place + 4]
    ]
    images = tuple(ScannedImage(name[18:], Image(Machine.AMD64, 5000), place=name) for name in names)
    return dataclasses.replace(broken_torch(), images=images, resolution=Resolution(tuple(edges)))


def burdened() -> ScanReport:
    """A wheel with three hundred findings."""
    findings = tuple(
        Finding(
            f"WF{300 + number % 6}", "a-rule", list(Severity)[number % 3], f"x/{number}.dll", "is wrong", hint="do it"
        )
        for number in range(300)
    )
    return dataclasses.replace(broken_torch(), findings=findings)


MADE = Context(
    date="2026-11-15 23:00 UTC",
    command="wheelfix ci dist --report html=" + "a" * 120,
    sha256={broken_torch().path: "0123456789abcdef" * 4},
    skipped=("dist/x-1-py3-none-manylinux_2_17_x86_64.whl",),
)
UNREPAIRED = FailedInput(broken_torch().path, CannotRepair("nothing was written", hint="name a root"), "repair")
UNREAD = FailedInput("dist/y-1.0-cp311-cp311-win_amd64.whl", InputError("it is not a zip archive", hint="build again"))
PAGES = {
    "mixed": lambda: render(
        "html",
        [broken_torch(), *(named(clean_wheel(), number) for number in range(5)), risky_extension()],
        [UNREPAIRED, UNREAD],
        MADE,
    ),
    "single": lambda: render("html", [broken_torch()], (), MADE),
    "crowd": lambda: render("html", [crowd(300)]),
    "burdened": lambda: render("html", [burdened(), clean_wheel()]),
    "hostile": lambda: render(
        "html",
        [Maker(HOSTILE, status="invalid").make(ScanReport), Maker("W" * 3000).make(ScanReport)],
        [FailedInput("W" * 2000, InputError("W" * 2000, hint="W" * 2000))],
    ),
}

PAGES |= {
    f"{name}-{kind}": functools.partial(draw, text)
    for name, draw in (("repair", repair_page), ("diff", comparison_page))
    for kind, text in (("hostile", HOSTILE), ("wide", "W" * 1000))
}

MEASURE = """
const apart = "script, style, datalist, .unseen, .skip";
const seen = [...document.querySelectorAll("body *")].filter((e) => !e.closest(apart)
  && e.getClientRects().length && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
const size = (e) => {
  const svg = e.closest("svg");
  return parseFloat(getComputedStyle(e).fontSize) * (svg ? svg.clientWidth / svg.viewBox.baseVal.width : 1);
};
const wide = seen.filter((e) => !e.closest("svg") && e.getBoundingClientRect().right > innerWidth + 1);
return { width: document.documentElement.scrollWidth, smallest: Math.min(...seen.map(size)),
  wide: wide.map((e) => e.outerHTML.slice(0, 80)), height: document.documentElement.scrollHeight };
"""
UNFOLD = "for (const part of document.querySelectorAll('details')) part.open = true; "
CONTRAST = r"""
const channel = (n) => { n /= 255; return n <= 0.03928 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4; };
const light = (colour) => {
  const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
  return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
};
const behind = (element) => {
  for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    if (colour !== "rgba(0, 0, 0, 0)") return colour;
  }
};
const ratio = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
let worst = 99;
const kinds = "p, td, th, code, pre, span, summary, a, h1, h2, h3, h4, li, button, b";
for (const element of document.querySelectorAll(kinds))
  if (element.textContent.trim()) worst = Math.min(worst, ratio(getComputedStyle(element).color, behind(element)));
for (const node of document.querySelectorAll(".node")) {
  const fill = getComputedStyle(node.querySelector("rect")).fill;
  for (const text of node.querySelectorAll(".name, .sub"))
    worst = Math.min(worst, ratio(getComputedStyle(text).color, fill));
}
return [getComputedStyle(document.body).backgroundColor, worst];
"""
READER = """
const graph = document.querySelector(".graph"), svg = graph.querySelector("svg");
const boxes = [...graph.querySelectorAll(".node")];
const box = (name) => boxes.find((node) => node.getAttribute("aria-label").startsWith(name));
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const panel = () => graph.querySelector(".chosen-dll").textContent;
const said = [], say = (word) => said.push(word);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", sorted(PAGES))
def test_everything_can_be_read_without_scrolling_sideways(browser, name, width, scheme):
    browser.open(PAGES[name](), width, HEIGHTS[width], scheme=scheme)
    for script in (MEASURE, UNFOLD + MEASURE):
        found = browser.run(script)
        assert found["wide"] == []
        assert found["width"] <= width
        assert found["smallest"] >= 11


@pytest.mark.parametrize("width", WIDTHS)
def test_sixteen_clean_wheels_take_four_screens_at_most(browser, width):
    browser.open(
        render("html", [named(clean_wheel(), number) for number in range(16)], (), MADE), width, HEIGHTS[width]
    )
    assert browser.run(MEASURE)["height"] <= 4 * HEIGHTS[width]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(browser, scheme):
    """Contrast of at least 4.5 to 1 between every text and what is behind it, as WCAG AA asks."""
    browser.open(PAGES["mixed"](), scheme=scheme)
    ground, worst = browser.run(UNFOLD + CONTRAST)
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[scheme]
    assert worst >= 4.5


# ------------------------------------------------------------------------------------------------------- the overview

ROWS = """return [...document.querySelectorAll(".overview tbody tr")]
  .filter((row) => !row.hidden).map((row) => row.cells[0].textContent)"""


def test_the_overview_begins_with_the_worst_and_sorts_by_every_column(browser):
    browser.open(PAGES["mixed"]())
    rows = browser.run(ROWS)
    assert rows[0].startswith("torch-2.4.0")
    assert rows[1] == UNREAD.path
    click = "document.querySelectorAll('.overview .sorter')[{}].click();"
    by_name = browser.run(click.format(0) + ROWS)
    assert by_name == sorted(rows, key=str.lower)
    assert browser.run(click.format(0) + ROWS) == by_name[::-1]
    assert browser.run(click.format(5) + ROWS)[0].startswith("torch-2.4.0")  # the most info
    assert browser.run("return document.querySelectorAll('[aria-sort]').length") == 1


def test_the_overview_filters_by_words_and_verdicts_with_its_sections(browser):
    browser.open(PAGES["mixed"]())
    typed = "const f = document.querySelector('.tools input'); f.value = '{}'; f.dispatchEvent(new Event('input'));"
    assert browser.run(typed.format("WF203") + ROWS) == ["grün-包 in env/Lib/site-packages"]
    assert browser.run("return document.querySelector('.shown').textContent") == "1 of 9 shown"
    assert browser.run("return [...document.querySelectorAll('details.wheel > .body')].filter((b) => "
                       "!b.parentElement.hidden).length") == 1  # fmt: skip
    assert browser.run("return document.querySelector('.fine').hidden") is True
    press = "document.querySelector('.tally.{}').click();"
    assert len(browser.run(typed.format("") + press.format("ok") + ROWS)) == 5
    assert len(browser.run(press.format("ok") + ROWS)) == 9


def test_a_link_of_the_overview_unfolds_its_section(browser):
    browser.open(PAGES["mixed"]())
    opened = browser.run(
        "const link = [...document.querySelectorAll('.overview a')].find((a) => a.textContent.startsWith('some_'));"
        "link.click(); return new Promise((done) => setTimeout(() => {"
        "let part = document.getElementById(link.hash.slice(1)), open = [];"
        "for (; part; part = part.parentElement) if (part.tagName === 'DETAILS') open.push(part.open);"
        "done(open); }, 200))"
    )
    assert opened == [True, True]


def test_without_scripts_everything_is_there(browser):
    browser.open(PAGES["mixed"](), 400, 800, scripts=False)
    size = browser.send("Page.getLayoutMetrics")["cssContentSize"]
    assert size["width"] <= 400
    document = browser.send("DOM.getDocument", depth=-1)["root"]
    found = browser.send("DOM.querySelectorAll", nodeId=document["nodeId"], selector=".overview tbody tr")
    assert len(found["nodeIds"]) == 9
    tools = browser.send("DOM.querySelectorAll", nodeId=document["nodeId"], selector=".tools")["nodeIds"]
    assert tools == []  # what would do nothing


def test_on_paper_what_is_wrong_is_unfolded_and_tools_are_gone(browser):
    browser.open(PAGES["mixed"](), media="print", scheme="dark")
    seen = browser.run(
        "const shown = (e) => e.getBoundingClientRect().height > 0 && e.checkVisibility();"
        "return [...document.querySelectorAll('.finding li')].filter((e) => !e.closest('.fine')).every(shown)"
    )
    assert seen is True
    assert (
        browser.run("return [...document.querySelectorAll('.tools')].some((e) => e.getClientRects().length)") is False
    )
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


# -------------------------------------------------------------------------------------------------------- the drawing


def test_the_drawing_opens_on_what_is_missing_and_can_show_everything(browser):
    browser.open(PAGES["single"]())
    names = "return [...document.querySelectorAll('{} .node')].map((n) => n.getAttribute('aria-label').split(',')[0])"
    part = browser.run(names.format("#w1-part-drawing"))
    assert "libomp140.x86_64.dll" in part
    assert "c10.dll" not in part
    whole = browser.run(names.format(".everything"))
    assert len(whole) == 6
    assert browser.run("return document.querySelector('.everything').open") is False


def test_on_a_phone_the_drawing_begins_with_everything_in_view(browser):
    """At 390 pixels the importers of what is missing were cut at both sides."""
    browser.open(PAGES["single"](), 390, 844)
    assert browser.run(
        "const frame = document.querySelector('.canvas').getBoundingClientRect();"
        "return [...document.querySelectorAll('.canvas')[0].querySelectorAll('.node')].every((node) => {"
        "const box = node.getBoundingClientRect(); return box.left >= frame.left && box.right <= frame.right })"
    )
    assert browser.run(MEASURE)["smallest"] >= 11


def test_a_click_says_who_needs_it_and_what_it_needs(browser):
    browser.open(PAGES["single"]())
    said = browser.run(
        READER
        + """box("torch_cpu.dll").dispatchEvent(new MouseEvent("click", { bubbles: true }));
        say(panel()); say(box("torch_cpu.dll").getAttribute("aria-pressed"));
        graph.querySelector(".chosen-dll button").click(); say(document.activeElement.getAttribute("aria-label"));
        return said;"""
    )
    assert said[0].startswith("torch/lib/torch_cpu.dll")
    assert "Needed by (2)" in said[0]
    assert "a device driver: nvcuda.dll" in said[0]
    assert said[1] == "true"
    assert said[2].startswith(("fbgemm.dll", "_C.pyd"))


def test_the_keyboard_moves_chooses_and_zooms(browser):
    browser.open(PAGES["single"]())
    said = browser.run(
        READER
        + """const first = graph.querySelector('.node[tabindex="0"]');
        first.focus(); say(first.getAttribute("aria-label").split(",")[0]);
        press("ArrowDown"); say(document.activeElement.getAttribute("aria-label").split(",")[0]);
        press("Enter"); say(panel().slice(0, 23)); press("Escape"); say(panel());
        const before = svg.viewBox.baseVal.width; press("+"); say(svg.viewBox.baseVal.width < before);
        press("0"); say(svg.viewBox.baseVal.width === Number(svg.getAttribute("width")));
        say(graph.querySelectorAll('.node[tabindex="0"]').length); return said;"""
    )
    assert said == [
        "fbgemm.dll",
        "torch_cpu.dll",
        "torch/lib/torch_cpu.dll",
        "Choose a DLL to see who needs it and what it needs.",
        True,
        True,
        1,
    ]


def test_a_dll_is_found_by_a_part_of_its_name_among_three_hundred(browser):
    browser.open(PAGES["crowd"]())
    said = browser.run(
        "document.querySelector('.everything').open = true;"
        "return new Promise((done) => setTimeout(() => {"
        + READER.replace('querySelector(".graph")', 'querySelector(".everything .graph")')
        + """const field = graph.querySelector("input"); field.value = "NAME_237";
        field.dispatchEvent(new Event("change")); say(panel().slice(0, 34));
        const { x, y, width, height } = svg.viewBox.baseVal;
        const at = box("a_rather_long_part_name_237").getAttribute("transform").match(/\\d+/g);
        say(at[0] >= x && at[0] <= x + width && at[1] >= y && at[1] <= y + height);
        field.value = "nothing"; field.dispatchEvent(new Event("change")); say(panel()); done(said); }, 200))"""
    )
    assert said == ["big/a_rather_long_part_name_237.dll"[:34], True, "No DLL is called nothing"]

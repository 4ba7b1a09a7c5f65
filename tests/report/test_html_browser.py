"""The HTML report in a real browser: a script acts as the reader, and the page that results is looked at."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess

import pytest

from tests.report.samples import broken_torch
from wheelfix.model import Edge, EdgeKind, Image, InView, Machine, Resolution, ScannedImage
from wheelfix.report.html import render_scan

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        BROWSER is None and not os.environ.get("WHEELFIX_REQUIRE_TIERS"), reason="no Chromium is installed"
    ),
]

ACTOR = """<script>
addEventListener("load", () => {
  const graph = document.querySelector(".graph"), svg = graph.querySelector("svg");
  const boxes = [...graph.querySelectorAll(".node")];
  const box = (name) => boxes.find((node) => node.getAttribute("aria-label").startsWith(name));
  const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const panel = () => graph.querySelector(".details").textContent;
  const say = (text) => { const p = document.createElement("samp"); p.textContent = text; document.body.append(p); };
  try { %s } catch (error) { say("ERROR " + error); }
});
</script></body>"""


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
for (const element of document.querySelectorAll("p, td, th, code, pre, span, summary, a, h1, h2, h3, li"))
  if (element.textContent.trim()) worst = Math.min(worst, ratio(getComputedStyle(element).color, behind(element)));
for (const node of document.querySelectorAll(".node")) {
  const fill = getComputedStyle(node.querySelector("rect")).fill;
  for (const text of node.querySelectorAll("text")) worst = Math.min(worst, ratio(getComputedStyle(text).fill, fill));
}
say(getComputedStyle(document.body).backgroundColor);
say(worst.toFixed(2));
"""


def act(tmp_path, page: str, script: str, *flags: str) -> list[str]:
    """Open the page, let the script act, and return what it said."""
    file = tmp_path / "page.html"
    file.write_text(page.replace("</body>", ACTOR % script), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    result = subprocess.run(
        [*command, *flags, "--window-size=1200,900", "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    said = re.findall(r"<samp>(.*?)</samp>", result.stdout, re.DOTALL)
    assert said, result.stdout[-2000:]
    return said


def test_a_click_says_who_needs_it_and_what_it_needs(tmp_path):
    said = act(
        tmp_path,
        render_scan([broken_torch()]),
        """box("torch_cpu.dll").dispatchEvent(new MouseEvent("click", { bubbles: true }));
        say(panel()); say(box("torch_cpu.dll").getAttribute("aria-pressed"));
        say(graph.querySelectorAll(".links .near").length);
        graph.querySelector(".details button").click(); say(document.activeElement.getAttribute("aria-label"));""",
    )
    assert said[0].startswith("torch/lib/torch_cpu.dll")
    assert "Needed by (2)fbgemm.dll_C.pyd" in said[0]
    assert "Needs (4)" in said[0]
    assert "a device driver: nvcuda.dll" in said[0]
    assert said[1:3] == ["true", "5"]
    assert said[3].startswith("fbgemm.dll")


def test_the_keyboard_moves_chooses_and_zooms(tmp_path):
    said = act(
        tmp_path,
        render_scan([broken_torch()]),
        """const first = graph.querySelector('.node[tabindex="0"]');
        first.focus(); say(first.getAttribute("aria-label"));
        press("ArrowDown"); say(document.activeElement.getAttribute("aria-label"));
        press("Enter"); say(panel().slice(0, 23)); press("Escape"); say(panel());
        const before = svg.viewBox.baseVal.width; press("+"); say(svg.viewBox.baseVal.width < before);
        press("0"); say(svg.viewBox.baseVal.width === Number(svg.dataset.width));
        say(graph.querySelectorAll('.node[tabindex="0"]').length);""",
    )
    assert said[0].startswith("_C.pyd")
    assert said[1].startswith("torch_cpu.dll")
    assert said[2] == "torch/lib/torch_cpu.dll"
    assert said[3] == "Choose a DLL to see who needs it and what it needs."
    assert said[4:] == ["true", "true", "1"]


def test_a_dll_is_found_by_a_part_of_its_name_among_five_hundred(tmp_path):
    names = [f"Lib/site-packages/big/part{number:03}.dll" for number in range(500)]
    edges = tuple(
        Edge(first, second.rsplit("/", 1)[1], EdgeKind.IMPORT, InView(second))
        for number, first in enumerate(names)
        for second in names[number + 1 : number + 4]
    )
    images = tuple(ScannedImage(name.removeprefix("Lib/site-packages/"), Image(Machine.AMD64, 5000)) for name in names)
    report = dataclasses.replace(broken_torch(), images=images, resolution=Resolution(edges))
    said = act(
        tmp_path,
        render_scan([report]),
        """const field = graph.querySelector("input"); field.value = "ART437";
        field.dispatchEvent(new Event("change")); say(panel().slice(0, 15));
        const { x, y, width, height } = svg.viewBox.baseVal;
        const at = box("part437").getAttribute("transform").match(/\\d+/g);
        say(at[0] >= x && at[0] <= x + width && at[1] >= y && at[1] <= y + height);
        field.value = "nothing"; field.dispatchEvent(new Event("change")); say(panel());""",
    )
    assert said == ["big/part437.dll", "true", "No DLL is called nothing"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_dark(tmp_path, scheme):
    """Contrast of at least 4.5 to 1 between every text and what is behind it, as WCAG AA asks."""
    flags = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    said = act(
        tmp_path,
        render_scan([broken_torch()]),
        CONTRAST,
        *flags,
    )
    assert said[0] == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[scheme]
    assert float(said[1]) >= 4.5

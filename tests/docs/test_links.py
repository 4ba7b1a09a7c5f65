"""Every link between our pages leads somewhere, and so does every anchor."""

import re
from functools import cache

from tests.docs.pages import DOCS, HERE, PAGES, prose

LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<title>.+?)(?: \{ #(?P<id>[\w-]+) \})?$", re.MULTILINE)


@cache
def anchors(page):
    found = set()
    for heading in HEADING.finditer(prose(page)):
        words = re.sub(r"[^\w\s-]", "", heading["title"].lower()).strip()
        found.add(heading["id"] or re.sub(r"[\s-]+", "-", words))
    return found


def test_links():
    for page, match in ((one, match) for one in PAGES for match in LINK.finditer(prose(one))):
        target, _, anchor = match["target"].partition("#")
        if target.startswith("https://"):
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{page}: {match[0]} leads nowhere"
        if page.is_relative_to(DOCS):
            assert file.is_relative_to(DOCS), f"{page}: {match[0]} leaves the site"
        if anchor:
            assert anchor in anchors(file), f"{page}: {match[0]} names no heading"


def test_no_page_is_an_orphan():
    """Every page of docs/ is reached from another one, or from mkdocs.yml."""
    site = (HERE / "mkdocs.yml").read_text(encoding="utf-8")
    linked = {
        (page.parent / match["target"].partition("#")[0]).resolve()
        for page in PAGES
        for match in LINK.finditer(prose(page))
    }
    orphans = [
        page.relative_to(DOCS).as_posix()
        for page in DOCS.rglob("*.md")
        if page not in linked and page.relative_to(DOCS).as_posix() not in site
    ]
    assert orphans == []

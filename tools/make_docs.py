"""Write what is generated from the code: pages of commands, findings, tables, error codes, JSON documents and the API,
the manual page, and the parts of the site's navigation that name commands and findings.

python -m tools.make_docs           write what has changed
python -m tools.make_docs --check   say what would change, and exit with 1 if anything would
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools import (
    api_pages,
    command_pages,
    man_page,
    navigation,
    rule_pages,
    schema_pages,
    survey_pages,
    table_pages,
    winerror_pages,
)

DOCS = Path(__file__).resolve().parent.parent / "docs"
MAKERS = (
    command_pages,
    rule_pages,
    table_pages,
    winerror_pages,
    schema_pages,
    survey_pages,
    api_pages,
    man_page,
    navigation,
)


SOURCE = "."
"""What README and pages install: a checkout until there is a release, then ``wheelfix``; nothing else has to change."""
INSTALLING = ("../README.md", "howto/install.md", "howto/ci.md", "howto/delvewheel.md")


def installing_from(source: str, text: str) -> str:
    """Return a page on which every command installs wheelfix from there."""
    released = source == "wheelfix"
    text = re.sub(
        r'((?:pip|pipx|uv tool) install "?)(?:\.|wheelfix)(?=\[|$)', rf"\g<1>{source}", text, flags=re.MULTILINE
    )
    text = re.sub(
        r"uvx (?:--from \S+ )?wheelfix", "uvx wheelfix" if released else f"uvx --from {source} wheelfix", text
    )
    return re.sub(r'(?<=")(pip install )?(?:WHEELFIX|wheelfix)(?="\]?$)', rf"\g<1>{source if released else 'WHEELFIX'}",
                  text, flags=re.MULTILINE)  # fmt: skip


def generated() -> dict[Path, str]:
    """Return every generated page by its path under ``docs``, and those of which the commands that install are."""
    pages = {Path(path): text for maker in MAKERS for path, text in maker.pages()}
    for path in INSTALLING:
        pages[Path(path)] = installing_from(SOURCE, (DOCS / path).read_text(encoding="utf-8"))
    return pages


def stale(pages: dict[Path, str]) -> list[Path]:
    """Return what differs from the files, or is not generated any more."""
    wrong = [path for path, text in pages.items() if not _is(DOCS / path, text)]
    folders = {path.parent for path in pages if path.name == "index.md"}
    leftover = [file.relative_to(DOCS) for folder in folders for file in (DOCS / folder).glob("*.md")]
    return sorted({*wrong, *(path for path in leftover if path not in pages)})


def _is(file: Path, text: str) -> bool:
    return file.exists() and file.read_text(encoding="utf-8") == text


def main(words: list[str]) -> int:
    """Write or check the pages."""
    pages = generated()
    changed = stale(pages)
    for path in changed:
        print(path.as_posix())
        if "--check" in words:
            continue
        if path in pages:
            (DOCS / path).parent.mkdir(parents=True, exist_ok=True)
            (DOCS / path).write_text(pages[path], encoding="utf-8", newline="\n")
        else:
            (DOCS / path).unlink()
    return 1 if changed and "--check" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

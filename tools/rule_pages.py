"""The page of every finding, as ``wheelfix explain`` shows it, and the list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.markdown import NOTE, code, table
from wheelfix.rules.registry import Rule, all_rules, page

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "reference/rules"
GROUPS = {
    "WF1": "The archive and its RECORD",
    "WF2": "DLLs as files",
    "WF3": "Dependencies",
    "WF4": "Files and versions that do not match",
    "WF5": "GPU code",
    "WF6": "Policy",
}


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of every page."""
    yield f"{FOLDER}/index.md", _overview()
    for rule in all_rules():
        yield f"{FOLDER}/{rule.code}.md", _page(rule)


def _overview() -> str:
    text = (
        f"{NOTE}# Findings\n\n"
        "Codes are permanent. *Severity* is the usual one; a finding can be milder or worse, and the page says\n"
        "when. **error**: something that the package itself loads will fail. **unsure**: it may fail, and the\n"
        "evidence does not decide it. **warning**: something that nothing is known to load would fail, or versions\n"
        "do not match. **info**: nothing fails. *Repair* says whether `wheelfix repair` fixes it.\n"
        "`wheelfix explain CODE` shows a page in the terminal.\n\n"
    )
    for prefix, title in GROUPS.items():
        rows = [
            (f"[{rule.code}]({rule.code}.md)", code(rule.name), rule.severity, rule.repairable, rule.summary)
            for rule in all_rules()
            if rule.code.startswith(prefix)
        ]
        text += f"## {title}\n\n{table(('code', 'name', 'severity', 'repair', 'what it says'), rows)}"
    return text.rstrip() + "\n"


def _page(rule: Rule) -> str:
    title, _, rest = page(rule.code).strip().partition("\n")
    facts = f"*Severity* {rule.severity}, *repair* {rule.repairable}. {rule.summary}"
    return f"{NOTE}{title}\n\n{facts}\n{rest.rstrip()}\n"

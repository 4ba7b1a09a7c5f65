"""``wheelfix explain``: the page of a finding, or the list of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number
from wheelfix.cli.common import style_of, write_result
from wheelfix.errors import Exit
from wheelfix.knowledge.winerrors import WinError, winerror
from wheelfix.report.ci import markdown_table
from wheelfix.report.json_ import render
from wheelfix.report.pages import render_page, render_rules
from wheelfix.rules.registry import Rule, all_rules, find_rule, page, unknown_rule

if TYPE_CHECKING:
    import argparse


def execute(args: argparse.Namespace) -> int:
    """Print the pages or the list."""
    rules: list[Rule] = []
    texts: list[str] = []
    pages = bool(args.code)
    for word in args.code:
        number = whole_number(word, 10)
        error = winerror(number) if number is not None else None
        if error is not None and args.format != "json":
            texts.append(_winerror_page(error))
            continue
        rule = find_rule(word if number is None else f"WF{word}")
        begun = [known for known in all_rules() if known.code.startswith(word.upper())] if rule is None else []
        if rule is None and not begun:
            raise unknown_rule(f"there is no finding {word!r}", word)
        pages = pages and not begun
        rules += [rule] if rule is not None else begun
    texts += [page(rule.code) for rule in rules]
    if args.format == "json":
        text = render("rules-1", rules=rules or all_rules())
    elif not pages or not texts:
        text = _listing(rules or list(all_rules()), args)
    else:
        text = "\n".join(texts if args.format == "markdown" else [render_page(one, style_of(args)) for one in texts])
    write_result(text, args.output)
    return Exit.OK


def _winerror_page(error: WinError) -> str:
    """Return what an error code of Windows means, as a page."""
    lines = [f"# WinError {error}: {error.text}", "", error.meaning, "", "## What to do", ""]
    lines += [f"- {remedy}" for remedy in error.remedies]
    rule = find_rule(f"WF{error}")
    also = f" `wheelfix explain {rule.code}` is about {rule.name}, a finding." if rule is not None else ""
    return "\n".join([*lines, "", f"`wheelfix diagnose` finds the cause of an error message.{also}", ""])


def _listing(rules: list[Rule], args: argparse.Namespace) -> str:
    if args.format == "markdown":
        heads = ("code", "name", "severity", "repairable", "summary")
        rows = [[str(getattr(rule, head)) for head in heads] for rule in rules]
        return "\n".join([*markdown_table(heads, rows), ""])
    return render_rules(rules, style_of(args))

"""``wheelfix explain``: the page of a finding, or the list of all of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number
from wheelfix.cli.common import write_result
from wheelfix.errors import Exit
from wheelfix.knowledge.winerrors import WinError, winerror
from wheelfix.report import json_
from wheelfix.report.canvas import TextStyle, look_of
from wheelfix.report.ci import markdown_table
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
    if args.format == "json":
        write_result(json_.render_rules(rules or all_rules()), args.output)
        return Exit.OK
    if not pages or not (rules or texts):
        write_result(_listing(rules or list(all_rules()), args.format, plain=args.output is not None), args.output)
        return Exit.OK
    texts += [page(rule.code) for rule in rules]
    write_result(_pages(texts, args.format, plain=args.output is not None), args.output)
    return Exit.OK


def _winerror_page(error: WinError) -> str:
    """Return what an error code of Windows means, as a page."""
    lines = [f"# WinError {error}: {error.text}", "", error.meaning, "", "## What to do", ""]
    lines += [f"- {remedy}" for remedy in error.remedies]
    rule = find_rule(f"WF{error}")
    also = f" `wheelfix explain {rule.code}` is about {rule.name}, a finding." if rule is not None else ""
    return "\n".join([*lines, "", f"`wheelfix diagnose` finds the cause of an error message.{also}", ""])


def _listing(rules: list[Rule], style: str, *, plain: bool) -> str:
    if style == "markdown":
        heads = ("code", "name", "severity", "repairable", "summary")
        rows = [[str(getattr(rule, head)) for head in heads] for rule in rules]
        return "\n".join([*markdown_table(heads, rows), ""])
    return render_rules(rules, _look(plain))


def _pages(texts: list[str], style: str, *, plain: bool) -> str:
    if style == "markdown":
        return "\n".join(texts)
    return "\n".join(render_page(text, _look(plain)) for text in texts)


def _look(plain: bool) -> TextStyle:
    return TextStyle(unicode=True) if plain else look_of(sys.stdout)

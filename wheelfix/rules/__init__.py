"""One function per finding code, the registry of codes, and their pages."""

from wheelfix.rules.registry import Rule, all_rules, check_patterns, find_rule, nearest, page, run

__all__ = ["Rule", "all_rules", "check_patterns", "find_rule", "nearest", "page", "run"]

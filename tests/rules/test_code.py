"""Code that was not read is told, and how much that matters."""

from __future__ import annotations

from tests.rules.subjects import SITE, run, subject
from wheelfix.pycode.budget import NOT_PYTHON, budget_of

INIT, OTHER = SITE + "pkg/__init__.py", SITE + "pkg/other.py"


def test_nothing_to_say() -> None:
    assert not run(subject({}), "WF207")


def test_code_that_loads_is_a_warning() -> None:
    seen = subject({})
    budget = budget_of(seen.view)
    for path in (INIT, OTHER):
        budget.give_up(path, "its strings grow too long")
        budget.loading.add(path)
    (found,) = run(seen, "WF207")
    assert str(found.severity) == "warning"
    assert "and 1 other file was not read: its strings grow too long" in found.message
    assert "which DLLs it loads is not known" in found.message
    assert found.evidence["count"] == 2


def test_code_that_only_imports_is_a_note() -> None:
    seen = subject({})
    budget_of(seen.view).give_up(OTHER, "it has too many tokens")
    (found,) = run(seen, "WF207")
    assert str(found.severity) == "info"
    assert "what it imports is not known" in found.message


def test_what_is_not_python_counts_only_where_it_loads() -> None:
    seen = subject({})
    budget = budget_of(seen.view)
    budget.give_up(INIT, NOT_PYTHON)
    budget.give_up(OTHER, NOT_PYTHON)
    budget.loading.add(INIT)
    (found,) = run(seen, "WF207")
    assert str(found.severity) == "unsure"
    assert found.evidence["count"] == 1

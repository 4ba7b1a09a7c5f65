"""Conditions, loops and ``match``. What depends on something unknown is left out if it cannot concern DLLs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codesyntax import never_holds
from wheelfix.loader.interpreter.objects import UNKNOWN, Native, PyValue, Undecided, UnknownValue
from wheelfix.loader.interpreter.statements import BREAK, NEXT, RETURN, Statements

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

MAX_TURNS = 2_000


class Branches(Statements):
    """Follows the ways that code can take."""

    def follow_if(self, node: ast.If) -> Generator[PyValue, None, int]:
        holds = False if never_holds(node.test) else self.condition(node.test)
        if holds is None:
            return self._leave_out(node, [node.body, node.orelse])
        return (yield from self.block(node.body if holds else node.orelse))

    def follow_for(self, node: ast.For) -> Generator[PyValue, None, int]:
        found = self.value(node.iter)
        if isinstance(found, UnknownValue | Native):
            self._leave_out(node, [node.body])
            return (yield from self.block(node.orelse))
        environment = self.environment
        for count, item in enumerate(self.iterate(found)):
            self.environment = environment
            if count > MAX_TURNS:
                raise Undecided("a loop goes on for too long")
            self.assign(node.target, item)
            flow = yield from self.block(node.body)
            if flow == BREAK:
                return NEXT
            if flow == RETURN:
                return flow
        self.environment = environment
        return (yield from self.block(node.orelse))

    def follow_while(self, node: ast.While) -> Generator[PyValue, None, int]:
        for _ in range(MAX_TURNS):
            holds = self.condition(node.test)
            if holds is None:
                return self._leave_out(node, [node.body])
            if not holds:
                return (yield from self.block(node.orelse))
            flow = yield from self.block(node.body)
            if flow == BREAK:
                return NEXT
            if flow == RETURN:
                return flow
        raise Undecided("a loop goes on for too long")

    def follow_match(self, node: ast.Match) -> Generator[PyValue, None, int]:
        subject = self.value(node.subject)
        for case in node.cases:
            fits = self._fits(case.pattern, subject)
            if fits and case.guard is not None:
                fits = self.condition(case.guard)
            if fits is None:
                return self._leave_out(node, [one.body for one in node.cases])
            if fits:
                return (yield from self.block(case.body))
        return NEXT

    def _fits(self, pattern: ast.pattern, subject: PyValue) -> bool | None:
        """Whether a value fits a pattern, whose names are then bound."""
        if isinstance(pattern, ast.MatchAs):
            fits = True if pattern.pattern is None else self._fits(pattern.pattern, subject)
            if fits and pattern.name:
                self._bind(pattern.name, subject)
            return fits
        if isinstance(subject, UnknownValue):
            return None
        if isinstance(pattern, ast.MatchOr):
            found = [self._fits(one, subject) for one in pattern.patterns]
            return True if True in found else None if None in found else False
        if isinstance(pattern, ast.MatchValue):
            return self.compared(ast.Eq(), subject, self.value(pattern.value))
        if isinstance(pattern, ast.MatchSingleton):
            return subject is pattern.value
        if isinstance(pattern, ast.MatchSequence) and not any(
            isinstance(one, ast.MatchStar) for one in pattern.patterns
        ):
            if not isinstance(subject, list | tuple) or len(subject) != len(pattern.patterns):
                return False
            found = [self._fits(one, item) for one, item in zip(pattern.patterns, subject, strict=True)]
            return False if False in found else None if None in found else True
        return None

    def _leave_out(self, node: ast.stmt, blocks: list[list[ast.stmt]]) -> int:
        """Skip statements of which it is not known whether they run; Undecided if one of them could concern DLLs."""
        for body in blocks:
            if self._only_complains(body) and (not self.machine.missed or self._is_about_text(node)):
                continue  # a check of something that has nothing to do with DLLs, and that usually passes
            for statement in body:
                if self.concerns(statement):
                    raise Undecided(f"a condition decides what {self.environment.file}, line {node.lineno} does")
        for name in dict.fromkeys(name for body in blocks for one in body for name in _assigned(one)):
            self._bind(name, UNKNOWN)
        return NEXT

    def _is_about_text(self, node: ast.stmt) -> bool:
        """Whether a condition only matches texts against patterns, of which some cannot be matched here."""
        calls = [one for one in ast.walk(node.test) if isinstance(one, ast.Call)] if isinstance(node, ast.If) else []
        asked = [one.func for one in calls if isinstance(one.func, ast.Attribute)]
        patterns = [one for one in asked if isinstance(one.value, ast.Name) and self._is_module(one.value.id, "re")]
        return bool(calls) and len(patterns) == len(calls)

    def _is_module(self, name: str, module: str) -> bool:
        found = self.environment.names.get(name, self.environment.globals.get(name))
        return isinstance(found, Native) and found.name == module

    @staticmethod
    def _only_complains(body: list[ast.stmt]) -> bool:
        return bool(body) and isinstance(body[-1], ast.Raise) and all(
            isinstance(one, ast.Raise | ast.Assign | ast.Expr) for one in body
        )  # fmt: skip


def _assigned(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
        elif isinstance(inner, ast.alias):
            yield (inner.asname or inner.name).partition(".")[0]
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield inner.name

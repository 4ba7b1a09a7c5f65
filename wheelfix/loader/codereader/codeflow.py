"""Follow the statements of Python code that decide what runs: branches, loops, exceptions, and how a block ends.

Conditions whose value is known are decided, and loops over known lists are followed. Where that is not known, both
ways are followed, and what they find counts as uncertain.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.loader.codereader import codesyntax
from wheelfix.loader.codereader.codeexpr import Expressions
from wheelfix.loader.codereader.coderaised import raised_text
from wheelfix.loader.codereader.codestore import CERTAIN, LATER, MAYBE, Raised
from wheelfix.loader.codereader.codevalue import CAUGHT, UNKNOWN, AddedFolder, Extern, truth
from wheelfix.loader.codereader.importcode import goes_on
from wheelfix.pycode.budget import MAX_TURNS
from wheelfix.pycode.exceptions import LOAD_ERRORS, catches, suppresses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wheelfix.loader.codereader.codevalue import Scope, Value

NEXT, RETURN, BREAK, CONTINUE, RAISE = 1, 2, 4, 8, 16
"""How a statement may end; several at once where that is not known."""
MAX_WHILE = 24


class ControlFlow(Expressions):
    """Goes through blocks of statements, and says how each may end."""

    # ------------------------------------------------------------------------------------------------ blocks

    def run(self, statements: Sequence[ast.stmt]) -> int:
        """Follow statements in order; say how they may end."""
        level, left = self.level, 0
        try:
            for statement in statements:
                self.budget.step()
                flow = self._statement(statement)
                left |= flow & ~NEXT
                if not flow & NEXT:
                    return left
                if flow & ~NEXT:
                    self.level = min(self.level, MAYBE)
            return left | NEXT
        finally:
            self.level = level

    def _statement(self, node: ast.stmt) -> int:
        follow: Callable[[ast.stmt], int] | None = getattr(self, f"visit_{type(node).__name__}", None)
        try:
            if follow is not None:
                return follow(node)
            for inner in ast.iter_child_nodes(node):
                if isinstance(inner, ast.expr):
                    self.value(inner)
        except Raised as raised:
            self.raised = raised.kind
            return RAISE
        return NEXT

    def apart(self, statements: Sequence[ast.stmt], level: int) -> tuple[int, dict[tuple[Scope, str], Value]]:
        """Follow statements in a copy of the state; say how they end and what they changed."""
        before, self.level = self.level, min(self.level, level)
        self.store.push()
        try:
            flow = self.run(statements)
        finally:
            self.level = before
            changes = self.store.pop()
        return flow, changes

    # ---------------------------------------------------------------------------------------- branches and loops

    def visit_If(self, node: ast.If) -> int:
        holds = self.condition(node.test)
        if holds is not None:
            if codesyntax.mentions_environment(node.test, self.budget):
                # With the variable set, the other way is taken: what is loaded there may be loaded.
                self.apart(node.orelse if holds else node.body, LATER)
            return self.run(node.body if holds else node.orelse)
        flow, branches = 0, []
        for statements, assumed in ((node.body, True), (node.orelse, False)):
            self.store.push()
            self.narrow(node.test, assumed)
            inner, changes = self.apart(statements, MAYBE)
            changes = {**self.store.pop(), **changes}
            flow |= inner
            if inner & NEXT:
                branches.append(changes)
        self.store.merge(branches)
        return flow

    def visit_For(self, node: ast.For) -> int:
        turns, complete = self.turns(node.iter)
        flow, level = 0, self.level
        if not complete:
            self.level = min(level, MAYBE)
        broken = False
        try:
            for item in turns[:MAX_TURNS]:
                self.budget.step()
                flow, stop = self._turn(node, item, flow)
                if stop:
                    broken = True
                    break
        finally:
            self.level = level
        ended = self._after_loop(flow, broken)
        if not broken and ended & NEXT:
            return self._orelse(node.orelse, ended, maybe=bool(flow & BREAK))
        return ended

    visit_AsyncFor = visit_For

    def _turn(self, node: ast.For, item: Value, flow: int) -> tuple[int, bool]:
        """One turn of a loop: how it and those before it may end, and whether it is the last for certain."""
        if flow & (BREAK | RETURN | RAISE):
            self.level = min(self.level, MAYBE)
        if self.level == CERTAIN or flow == 0:
            self.assign(node.target, item)
            inner = self.run(node.body)
        else:
            self.store.push()
            self.assign(node.target, item)
            inner = self.run(node.body)
            changes = self.store.pop()
            self.store.merge([changes, {}] if inner & (NEXT | BREAK | CONTINUE) else [{}])
        certain = self.level == CERTAIN and not inner & (NEXT | CONTINUE)
        return flow | inner, certain

    def _after_loop(self, flow: int, broken: bool) -> int:
        left = flow & (RETURN | RAISE)
        goes_on_after = not broken or bool(flow & BREAK) or bool(flow & (NEXT | CONTINUE))
        if broken and not flow & BREAK:
            goes_on_after = False
        return left | (NEXT if goes_on_after else 0)

    def _orelse(self, statements: list[ast.stmt], ended: int, *, maybe: bool) -> int:
        if not statements:
            return ended
        if not maybe:
            return (ended & ~NEXT) | self.run(statements)
        flow, changes = self.apart(statements, MAYBE)
        self.store.merge([changes, {}] if flow & NEXT else [{}])
        return ended | flow

    def visit_While(self, node: ast.While) -> int:
        flow = 0
        for _ in range(MAX_WHILE):
            holds = self.condition(node.test)
            if holds is None:
                inner, changes = self.apart(node.body, MAYBE)
                self.store.merge([changes, {}] if inner & (NEXT | BREAK | CONTINUE) else [{}])
                return NEXT | ((flow | inner) & (RETURN | RAISE))
            if not holds:
                break
            inner = self.run(node.body)
            flow |= inner
            if not inner & (NEXT | CONTINUE):
                return (flow & (RETURN | RAISE)) | (NEXT if inner & BREAK else 0)
        return NEXT | (flow & (RETURN | RAISE))

    def visit_Try(self, node: ast.Try) -> int:
        goes = all(goes_on(node, kind, self.budget) for kind in LOAD_ERRORS)
        self.tries.append(node)
        self.guards += goes
        unsure = self.unsure_calls
        try:
            flow, changes = self.apart(node.body, CERTAIN)
        finally:
            self.tries.pop()
            self.guards -= goes
        self.store.merge([changes])
        if flow & ~RAISE:
            if self.unsure_calls == unsure and self.level != LATER and codesyntax.only_loads(node.body, self.budget):
                for handler in node.handlers:  # nothing is raised; what is loaded there may be loaded elsewhere
                    self.apart(handler.body, LATER)
            else:
                self._other_handlers(node, changes)
            if flow & NEXT:
                flow = (flow & ~NEXT) | self.run(node.orelse)
        else:
            flow = self._handle(node, self.raised)
        return self._finally(node, flow)

    visit_TryStar = visit_Try

    def _handle(self, node: ast.Try, kind: str) -> int:
        """Follow the handler of an exception that is raised for certain."""
        for handler in node.handlers:
            caught = catches(handler.type, kind)
            if caught is False:
                continue
            if handler.name:
                self.bind(handler.name, (Extern(f"{CAUGHT}{kind}"),))
            if caught:
                before, self.handling = self.handling, kind
                try:
                    return self.run(handler.body)
                finally:
                    self.handling = before
            flow, changes = self.apart(handler.body, MAYBE)
            self.store.merge([changes])
            return flow | RAISE
        return RAISE

    def _other_handlers(self, node: ast.Try, changes: dict[tuple[Scope, str], Value]) -> None:
        """Follow handlers of exceptions that may be raised; they may run where a module of others is imported."""
        risky = any(self.is_foreign_import(inner) for inner in node.body)
        for handler in node.handlers:
            flow, other = self.apart(handler.body, MAYBE if risky else LATER)
            if risky and flow & NEXT:
                self.store.merge([{}, {**other}])
            elif flow & NEXT:
                self.store.merge([{key: value for key, value in other.items() if key not in changes}])

    def _finally(self, node: ast.Try, flow: int) -> int:
        if node.finalbody:
            last = self.run(node.finalbody)
            return flow if last & NEXT else last
        return flow

    def visit_With(self, node: ast.With | ast.AsyncWith) -> int:
        suppressed = isinstance(node, ast.With) and all(suppresses(node, kind) for kind in LOAD_ERRORS)
        added: list[str] = []
        for item in node.items:
            value = self.value(item.context_expr)
            added += [atom.folder for atom in value if isinstance(atom, AddedFolder)]
            if item.optional_vars is not None:
                self.assign(item.optional_vars, self.entered(value))
        self.guards += suppressed
        try:
            flow = self.run(node.body)
        finally:
            self.guards -= suppressed
            for folder in added:
                self.close_folder(folder)
        return NEXT | (flow & ~RAISE) if suppressed and flow & RAISE else flow

    visit_AsyncWith = visit_With

    # -------------------------------------------------------------------------------------------- how it ends

    def visit_Return(self, node: ast.Return) -> int:
        self.returned.append(self.value(node.value) if node.value is not None else (None,))
        return RETURN

    def visit_Raise(self, node: ast.Raise) -> int:
        kind = self.handling or "Exception"
        if node.exc is not None:
            value = self.value(node.exc)
            named = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            kind = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "Exception")
            caught = [atom.last for atom in value if isinstance(atom, Extern) and atom.name.startswith(CAUGHT)]
            kind = caught[0] if caught else kind if kind[:1].isupper() or kind[:1] == "_" else "Exception"
            kind = "OSError" if kind == "WinError" else kind  # ctypes.WinError makes one
        self.note_end(kind, node.lineno, raised_text(self, node.exc))
        raise Raised(kind)

    def visit_Break(self, node: ast.Break) -> int:
        return BREAK

    def visit_Continue(self, node: ast.Continue) -> int:
        return CONTINUE

    def visit_Assert(self, node: ast.Assert) -> int:
        if self.condition(node.test) is False:
            self.note_end("AssertionError", node.lineno)
            raise Raised("AssertionError")
        return NEXT

    def visit_Match(self, node: ast.Match) -> int:
        """A case is taken if its pattern equals a value that is known; the others are then skipped."""
        subject = self.value(node.subject)
        flow = 0
        branches: list[dict[tuple[Scope, str], Value]] = []
        for case in node.cases:
            fits = codesyntax.matches(case.pattern, subject) if case.guard is None else None
            if fits is False:
                continue
            if fits and not branches:
                return self.run(case.body)
            inner, changes = self.apart(case.body, MAYBE)
            flow |= inner
            branches += [changes] if inner & NEXT else []
            if fits:
                break
        else:
            flow |= NEXT
            branches.append({})
        self.store.merge(branches)
        return flow

    def visit_Delete(self, node: ast.Delete) -> int:
        return NEXT

    def narrow(self, test: ast.expr, holds: bool) -> None:
        """Within a branch, leave a name only what makes its condition true."""
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, holds = test.operand, not holds
        if isinstance(test, ast.Name):
            value = self.look_up(test.id)
            kept = tuple(atom for atom in value if truth((atom,)) in (holds, None))
            if kept and len(kept) < len(value):
                self.bind(test.id, kept)
        elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
            right = test.comparators[0]
            if isinstance(right, ast.Constant) and right.value is None and isinstance(test.ops[0], ast.Is | ast.IsNot):
                wants = isinstance(test.ops[0], ast.Is) is holds
                kept = tuple(atom for atom in self.look_up(test.left.id) if atom is UNKNOWN or (atom is None) is wants)
                if kept:
                    self.bind(test.left.id, kept)

    def is_foreign_import(self, node: ast.stmt) -> bool:
        """Whether a statement imports what another distribution may or may not bring."""
        if isinstance(node, ast.Import):
            return any(self.is_foreign(alias.name) for alias in node.names)
        return isinstance(node, ast.ImportFrom) and self.is_foreign(self.origin_of(node))

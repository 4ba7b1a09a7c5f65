"""Exceptions of the package: ``try``, and ``with``, whose managers may suppress them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.interpreter.branches import Branches
from wheelfix.loader.interpreter.evaluation import error
from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
    FolderHandle,
    Instance,
    Iteration,
    Managed,
    Namespace,
    Native,
    PyValue,
    Thrown,
    Undecided,
    is_kind,
)
from wheelfix.loader.interpreter.statements import NEXT

if TYPE_CHECKING:
    import ast
    from collections.abc import Generator


class Handlers(Branches):
    """Catches exceptions, and enters and leaves context managers."""

    def follow_try(self, node: ast.Try) -> Generator[PyValue, None, int]:
        environment, depth = self.environment, self.depth
        try:
            flow = yield from self._tried(node, environment, depth)
        except Thrown:
            self.environment, self.depth = environment, depth
            yield from self._finally(node)
            raise
        return (yield from self._finally(node, flow))

    def _tried(self, node: ast.Try, environment: Namespace, depth: int) -> Generator[PyValue, None, int]:
        """The body, and the handler or the ``else`` behind it."""
        try:
            flow = yield from self.block(node.body)
        except Thrown as thrown:
            self.environment, self.depth = environment, depth
            return (yield from self._handle(node, thrown))
        return flow if flow != NEXT else (yield from self.block(node.orelse))

    def _finally(self, node: ast.Try, flow: int = NEXT) -> Generator[PyValue, None, int]:
        returned = self.returned
        last = yield from self.block(node.finalbody)
        if last == NEXT:
            self.returned = returned
        return flow if last == NEXT else last

    def _handle(self, node: ast.Try, thrown: Thrown) -> Generator[PyValue, None, int]:
        for handler in node.handlers:
            wanted = self.value(handler.type) if handler.type is not None else Native("BaseException")
            caught = self.catches(wanted, thrown.error)
            if caught is None:
                raise Undecided("whether an exception is caught is not known")
            if not caught:
                continue
            if handler.name:
                self._bind(handler.name, thrown.error)
            self.handled.append(thrown.error)
            try:
                return (yield from self.block(handler.body))
            finally:
                self.handled.pop()
        raise thrown

    @staticmethod
    def catches(wanted: PyValue, error: Instance) -> bool | None:
        """Whether an ``except`` catches an exception."""
        kinds = wanted if isinstance(wanted, tuple) else (wanted,)
        found = [is_kind(error.kind, kind) for kind in kinds]
        return True if True in found else None if None in found else False

    # ------------------------------------------------------------------------------------------------- with

    def follow_with(self, node: ast.With) -> Generator[PyValue, None, int]:
        return (yield from self._with(node, 0))

    def _with(self, node: ast.With, at: int) -> Generator[PyValue, None, int]:
        if at == len(node.items):
            return (yield from self.block(node.body))
        item = node.items[at]
        manager = self.value(item.context_expr)
        entered = self.enter(manager)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, entered)
        environment, depth = self.environment, self.depth
        try:
            flow = yield from self._with(node, at + 1)
        except Thrown as thrown:
            self.environment, self.depth = environment, depth
            if self.leave(manager, thrown.error):
                return NEXT
            raise
        self.environment = environment
        returned = self.returned
        self.leave(manager, None)
        self.returned = returned
        return flow

    def enter(self, manager: PyValue) -> PyValue:
        """``__enter__``."""
        if isinstance(manager, Managed):
            if manager.kind == "generator":
                for item in manager.value.items:
                    return item
                raise error("RuntimeError", "generator didn't yield")
            return manager if manager.kind == "stack" else manager.value
        if isinstance(manager, Instance):
            return self.call(self.attribute(manager, "__enter__"), [], {})
        return manager

    def leave(self, manager: PyValue, thrown: Instance | None) -> bool:
        """``__exit__``; whether the exception is suppressed."""
        if isinstance(manager, FolderHandle):
            self.close(manager)
        elif isinstance(manager, Managed) and manager.kind == "suppress":
            return thrown is not None and bool(self.catches(manager.value, thrown))
        elif isinstance(manager, Managed) and manager.kind == "stack":
            return True in [self.leave(one, thrown) for one in reversed(manager.value)]
        elif isinstance(manager, Managed) and manager.kind == "generator":
            return self._leave_generator(manager.value, thrown)
        elif isinstance(manager, Instance):
            given = [None] * 3 if thrown is None else [thrown.kind, thrown, UNKNOWN]
            return bool(self.truth(self.call(self.attribute(manager, "__exit__"), given, {}))) and thrown is not None
        return False

    def _leave_generator(self, generator: Iteration, thrown: Instance | None) -> bool:
        if thrown is not None:
            throw = getattr(generator.items, "throw", None)
            if throw is None:
                return False
            try:
                throw(Thrown(thrown))
            except StopIteration:
                return True
            raise error("RuntimeError", "generator didn't stop after throw()")
        for _ in generator.items:
            raise error("RuntimeError", "generator didn't stop")
        return False

    def close(self, handle: FolderHandle) -> None:
        """Remove a folder from the search again."""
        if handle.folder in self.machine.process.user_dirs:
            self.machine.process.user_dirs.remove(handle.folder)

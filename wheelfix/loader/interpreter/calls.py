"""Calls: functions of the package with their arguments, and what may happen in a call that is not known."""

from __future__ import annotations

import abc
import ast
import itertools
from typing import TYPE_CHECKING

from wheelfix.loader.interpreter.concerns import statements_of
from wheelfix.loader.interpreter.evaluation import MAX_CALLS, error
from wheelfix.loader.interpreter.items import ItemLookup
from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
    Bound,
    CodeClass,
    CodeFunction,
    Instance,
    Iteration,
    Managed,
    MarkedFunction,
    Namespace,
    Native,
    PyValue,
    Thrown,
    Undecided,
    UnknownValue,
)
from wheelfix.loader.interpreter.statements import RETURN

if TYPE_CHECKING:
    from collections.abc import Iterator

_MISSING = object()


class Calls(ItemLookup):
    """Calls functions."""

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> CodeFunction:
        """The function that a definition makes."""
        defaults = [self.value(one) for one in node.args.defaults]
        others = [self.value(one) if one is not None else _MISSING for one in node.args.kw_defaults]
        above = self.environment
        while above is not None and "<fields>" in above.names and above.above is not None:
            above = above.above  # names of a class are not seen by its methods
        place = Namespace({}, above.globals, above.file, above if above.names is not above.globals else None)
        return CodeFunction(node, place, defaults, others)

    def call(self, function: PyValue, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        """Call something."""
        self.step()
        if isinstance(function, CodeFunction):
            return self._call_function(function, args, keywords)
        if isinstance(function, Bound):
            return self.call(function.function, [*function.args, *args], {**function.keywords, **keywords})
        if isinstance(function, MarkedFunction):
            return self._call_wrapped(function, args, keywords)
        if isinstance(function, CodeClass):
            own = self._of_class(function.maker, "__call__") if function.maker is not None else None
            if isinstance(own, CodeFunction):
                return self.call(own, [function, *args], keywords)
            return self.make(function, args, keywords)
        if isinstance(function, Instance):
            return self.call(self.attribute(function, "__call__"), args, keywords)
        if isinstance(function, Native):
            return self.call_native(function.name, args, keywords)
        if isinstance(function, UnknownValue):
            return self._call_unknown(args, keywords)
        raise error("TypeError", "object is not callable")

    def _call_unknown(self, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        """Nothing is known of what is called; it may call what it is given, and change lists."""
        for one in (*args, *keywords.values()):
            if isinstance(one, CodeFunction) and any(self.concerns(part, 2) for part in statements_of(one.node)):
                raise Undecided("a function of the package is given to code that is not known")
            if one is self.environment.globals:  # protobuf's builder puts messages into it
                one.setdefault("<star>", []).append("")
        return UNKNOWN

    def call_with_unknown(self, function: PyValue) -> PyValue:
        """Call something with arguments that are not known: nothing is known of what it gives."""
        inner = function.function if isinstance(function, MarkedFunction | Bound) else function
        if isinstance(inner, CodeClass):
            inner = self._of_class(inner, "__init__")
        concerned = isinstance(inner, CodeFunction) and any(self.concerns(one, 2) for one in statements_of(inner.node))
        if concerned or (isinstance(inner, Native) and self.is_load(inner.name)):
            raise Undecided("arguments of a call are not known")
        return UNKNOWN

    @abc.abstractmethod
    def is_load(self, name: str) -> bool:
        """Whether something of Python's library loads DLLs or changes the search for them."""

    @abc.abstractmethod
    def call_native(self, name: str, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        """Call something of Python's library."""

    def _call_function(self, function: CodeFunction, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        if self.depth >= MAX_CALLS:
            raise Undecided("its functions call one another too often")
        place = Namespace({}, function.environment.globals, function.environment.file, function.environment.above)
        place.names.update(self._parameters(function, args, keywords))
        if function.owner is not None and args:
            place.names["<super>"] = (function.owner, args[0])
        if function.generator is None:  # most functions are never called
            function.generator = not isinstance(function.node, ast.Lambda) and _has_yield(function.node)
        if function.generator:
            return Iteration(self._generate(function.node, place))
        if isinstance(function.node, ast.AsyncFunctionDef):
            return UNKNOWN
        outer, self.environment = self.environment, place
        self.depth += 1
        returned, self.returned = self.returned, None
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body)
            flow = self.run(function.node.body)
            return self.returned if flow == RETURN else None
        finally:
            self.environment, self.returned = outer, returned
            self.depth -= 1

    def _generate(self, node: ast.AST, place: Namespace) -> Iterator[PyValue]:
        """The items of a generator; its environment is current only while it runs."""
        inner = self.block(statements_of(node))
        thrown: Thrown | None = None
        while True:
            outer, self.environment = self.environment, place
            returned = self.returned
            try:
                found = next(inner) if thrown is None else inner.throw(thrown)
            except StopIteration:
                return
            finally:
                place, self.environment, self.returned = self.environment, outer, returned
            thrown = None
            try:
                yield found
            except Thrown as error_:
                thrown = error_

    def _parameters(
        self, function: CodeFunction, args: list[PyValue], keywords: dict[str, PyValue]
    ) -> dict[str, PyValue]:
        wanted = [*function.node.args.posonlyargs, *function.node.args.args]
        names = [one.arg for one in wanted]
        found: dict[str, PyValue] = dict(zip(names, args, strict=False))
        left = {key: value for key, value in keywords.items() if key not in names}
        found.update({key: value for key, value in keywords.items() if key in names})
        for name, default in zip(reversed(names), reversed(function.defaults), strict=False):
            found.setdefault(name, default)
        for one, default in zip(function.node.args.kwonlyargs, function.keyword_defaults, strict=True):
            found[one.arg] = left.pop(one.arg, default)
            if found[one.arg] is _MISSING:
                raise error("TypeError", f"missing required keyword-only argument: '{one.arg}'")
        absent = [name for name in names if name not in found]
        if absent:
            raise error("TypeError", f"missing required positional argument: '{absent[0]}'")
        rest = args[len(names) :]
        if function.node.args.vararg is not None:
            found[function.node.args.vararg.arg] = tuple(rest)
        elif rest:
            raise error("TypeError", f"{function.name}() takes {len(names)} positional arguments")
        if function.node.args.kwarg is not None:
            found[function.node.args.kwarg.arg] = left
        elif left:
            raise error("TypeError", f"{function.name}() got an unexpected keyword argument '{next(iter(left))}'")
        return found

    def _call_wrapped(self, wrapped: MarkedFunction, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        if wrapped.kind == "cache":
            given = [*args, *itertools.chain.from_iterable(keywords.items())]
            key = tuple(one if self.can_be_key(one) else id(one) for one in given)
            if key not in wrapped.kept:
                wrapped.kept[key] = self.call(wrapped.function, args, keywords)
            return wrapped.kept[key]
        found = self.call(wrapped.function, args, keywords)
        if wrapped.kind == "contextmanager" and isinstance(found, Iteration):
            return Managed("generator", found)
        return found


def _has_yield(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    pending: list[ast.AST] = list(node.body)
    while pending:
        one = pending.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(one)
    return False

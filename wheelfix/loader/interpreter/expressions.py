"""The values of the remaining kinds of expressions, from constants to calls."""

from __future__ import annotations

import ast

from wheelfix.loader.interpreter.collected import CollectedValues
from wheelfix.loader.interpreter.evaluation import PLAIN
from wheelfix.loader.interpreter.objects import UNKNOWN, PyValue, Undecided, UnknownValue


class ExpressionValues(CollectedValues):
    """Computes expressions in the environment that is current."""

    def visit_Constant(self, node: ast.Constant) -> PyValue:
        return node.value if isinstance(node.value, PLAIN) else UNKNOWN

    def visit_IfExp(self, node: ast.IfExp) -> PyValue:
        holds = self.condition(node.test)
        return self.value(node.body if holds else node.orelse) if holds is not None else UNKNOWN

    def visit_Lambda(self, node: ast.Lambda) -> PyValue:
        return self.function(node)

    def visit_Attribute(self, node: ast.Attribute) -> PyValue:
        return self.attribute(self.value(node.value), node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> PyValue:
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            limits = [
                self.value(part) if part is not None else None
                for part in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            known = all(limit is None or isinstance(limit, int) for limit in limits) and limits[2] != 0
            return owner[slice(*limits)] if known and isinstance(owner, str | list | tuple | bytes) else UNKNOWN
        return self.item(owner, self.value(node.slice))

    def visit_Starred(self, node: ast.Starred) -> PyValue:
        return self.value(node.value)

    def visit_Await(self, node: ast.Await) -> PyValue:
        raise Undecided("coroutines are not interpreted")

    def visit_Call(self, node: ast.Call) -> PyValue:
        function = self.value(node.func)
        args = self._elements(node.args)
        if not isinstance(args, list):
            return self.call_with_unknown(function)
        keywords: dict[str, PyValue] = {}
        for word in node.keywords:
            value = self.value(word.value)
            if word.arg is not None:
                keywords[word.arg] = value
            elif isinstance(value, dict) and all(isinstance(key, str) for key in value):
                keywords.update(value)
            elif not isinstance(function, UnknownValue):
                raise Undecided("arguments of a call are not known")
        return self.call(function, args, keywords)

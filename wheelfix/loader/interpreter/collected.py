"""Lists, tuples, sets and dictionaries: those that are written out, and those of comprehensions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
    Iteration,
    Namespace,
    Native,
    PyValue,
    Undecided,
    UnknownValue,
    WindowsPathValue,
)
from wheelfix.loader.interpreter.operators import Operators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class CollectedValues(Operators):
    """Makes lists, tuples, sets, dictionaries and generators."""

    def visit_List(self, node: ast.List) -> PyValue:
        return self._elements(node.elts)

    def visit_Tuple(self, node: ast.Tuple) -> PyValue:
        found = self._elements(node.elts)
        return tuple(found) if isinstance(found, list) else UNKNOWN

    def visit_Set(self, node: ast.Set) -> PyValue:
        found = self._elements(node.elts)
        return self.as_set(found) if isinstance(found, list) else UNKNOWN

    def visit_Dict(self, node: ast.Dict) -> PyValue:
        found: dict[PyValue, PyValue] = {}
        known = True
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item)
            if key is None:
                known = known and isinstance(value, dict)
                found.update(value if isinstance(value, dict) else {})
                continue
            name = self.value(key)
            if not self.can_be_key(name):
                known = False
            else:
                found[name] = value
        return found if known else UNKNOWN

    def _elements(self, elements: list[ast.expr]) -> PyValue:
        """The items of a list; UNKNOWN if something unknown is unpacked into it."""
        found: list[PyValue] = []
        known = True
        for element in elements:
            if not isinstance(element, ast.Starred):
                found.append(self.value(element))
                continue
            unpacked = self.value(element.value)
            if isinstance(unpacked, UnknownValue | Native):
                known = False
            else:
                found += list(self.iterate(unpacked))
        return found if known else UNKNOWN

    def _is_unknown(self, node: ast.expr) -> bool:
        """Whether a plain name stands for something that cannot be iterated over."""
        return isinstance(node, ast.Name | ast.Attribute) and isinstance(self.value(node), UnknownValue | Native)

    def as_set(self, items: list[PyValue]) -> PyValue:
        """A set; unknown if Python could not compare its items."""
        if not all(self.is_plain(item) or isinstance(item, WindowsPathValue) for item in items):
            return UNKNOWN
        return set(map(self.key, items))

    # ------------------------------------------------------------------------------------- comprehensions

    def visit_ListComp(self, node: ast.ListComp) -> PyValue:
        if self._goes_through_unknown(node, node.generators):
            return UNKNOWN
        return list(self._comprehend(node.generators, lambda: self.value(node.elt)))

    def visit_SetComp(self, node: ast.SetComp) -> PyValue:
        if self._goes_through_unknown(node, node.generators):
            return UNKNOWN
        return self.as_set(list(self._comprehend(node.generators, lambda: self.value(node.elt))))

    def visit_DictComp(self, node: ast.DictComp) -> PyValue:
        if self._goes_through_unknown(node, node.generators):
            return UNKNOWN
        pairs = list(self._comprehend(node.generators, lambda: (self.value(node.key), self.value(node.value))))
        return dict(pairs) if all(self.can_be_key(key) for key, _ in pairs) else UNKNOWN

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> PyValue:
        if self._goes_through_unknown(node, node.generators):
            return UNKNOWN
        outer = self.environment
        first = list(self.iterate(self.value(node.generators[0].iter)))

        def items() -> Iterator[PyValue]:
            within = Namespace({}, outer.globals, outer.file, outer)
            inner = self._comprehended(node.generators, lambda: self.value(node.elt), iter(first))
            while True:
                before, self.environment = self.environment, within
                try:
                    found = next(inner, inner)
                finally:
                    self.environment = before
                if found is inner:
                    return
                yield found

        return Iteration(items())

    def _goes_through_unknown(self, node: ast.expr, generators: list[ast.comprehension]) -> bool:
        """Whether a comprehension goes through something unknown, and does nothing that concerns DLLs."""
        return self._is_unknown(generators[0].iter) and not self.concerns(node)

    def _comprehend(self, generators: list[ast.comprehension], make: Callable[[], PyValue]) -> Iterator[PyValue]:
        first = self.iterate(self.value(generators[0].iter))
        outer = self.environment
        self.environment = Namespace({}, outer.globals, outer.file, outer)
        try:
            yield from self._comprehended(generators, make, first)
        finally:
            self.environment = outer

    def _comprehended(
        self, generators: list[ast.comprehension], make: Callable[[], PyValue], items: Iterator[PyValue]
    ) -> Iterator[PyValue]:
        first, rest = generators[0], generators[1:]
        for item in items:
            self.step()
            self.assign(first.target, item)
            holds = [self.condition(test) for test in first.ifs]
            if None in holds:
                raise Undecided("a condition in a comprehension is not known")
            if not all(holds):
                continue
            if rest:
                yield from self._comprehended(rest, make, self.iterate(self.value(rest[0].iter)))
            else:
                yield make()

"""Assignments: values given to names, attributes and items, and ``del``."""

from __future__ import annotations

import abc
import ast

from wheelfix.loader.interpreter.evaluation import error
from wheelfix.loader.interpreter.expressions import ExpressionValues
from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
    CodeClass,
    CodeFunction,
    CodeModule,
    Instance,
    LoadedDll,
    MarkedFunction,
    Namespace,
    Native,
    PyValue,
    Undecided,
    UnknownValue,
)


class Assignments(ExpressionValues):
    """Gives values to what stands on the left of ``=``."""

    def visit_Assign(self, node: ast.Assign) -> None:
        found = self.value(node.value)
        for target in node.targets:
            self.assign(target, found)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value))
        if isinstance(node.target, ast.Name) and "<fields>" in self.environment.names:
            self.environment.names["<fields>"].append((node.target.id, ast.unparse(node.annotation)))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        left, right = self.value(node.target), self.value(node.value)
        if isinstance(node.op, ast.Add) and isinstance(left, list):
            left += list(self.iterate(right))
            self.assign(node.target, self.bounded(left))
        else:
            self.assign(node.target, self.bounded(self.binary(node.op, left, right)))

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.environment.names.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                owner, key = self.value(target.value), self.value(target.slice)
                if isinstance(owner, dict) and not isinstance(key, UnknownValue):
                    owner.pop(self.key(key), None)
                elif isinstance(owner, Native) and owner.name == "os.environ" and isinstance(key, str):
                    self.machine.variables.pop(key.upper(), None)

    def assign(self, target: ast.expr, value: PyValue) -> None:
        """Give a value to whatever stands on the left of ``=``."""
        if isinstance(target, ast.Name):
            self._bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Attribute):
            self._set_attribute(self.value(target.value), target.attr, value)
        elif isinstance(target, ast.Subscript):
            self._set_item(target, value)

    def _bind(self, name: str, value: PyValue) -> None:
        place: Namespace | None = self.environment
        if name in self.environment.outer:
            place = self.environment.above
            while place is not None and (name not in place.names or name in place.outer):
                place = place.above
            if place is None:
                self.environment.globals[name] = value
                return
        assert place is not None
        place.names[name] = value

    def _unpack(self, targets: list[ast.expr], value: PyValue) -> None:
        if isinstance(value, UnknownValue | Native):
            for target in targets:
                self.assign(target.value if isinstance(target, ast.Starred) else target, UNKNOWN)
            return
        items = list(self.iterate(value))
        star = next((at for at, one in enumerate(targets) if isinstance(one, ast.Starred)), None)
        if star is None and len(items) != len(targets):
            raise error("ValueError", "not enough values to unpack")
        if star is not None:
            behind = len(targets) - star - 1
            middle = items[star : len(items) - behind]
            items = [*items[:star], middle, *items[len(items) - behind :]]
        for target, item in zip(targets, items, strict=False):
            self.assign(target.value if isinstance(target, ast.Starred) else target, item)

    def _set_attribute(self, owner: PyValue, name: str, value: PyValue) -> None:
        if isinstance(owner, Instance):
            setter = self.setter_of(owner, name)
            if setter is not None:
                self.call(setter, [owner, value], {})
            else:
                owner.attributes[name] = value
        elif isinstance(owner, LoadedDll | CodeFunction):
            owner.attributes[name] = value
        elif isinstance(owner, CodeClass | CodeModule):
            owner.names[name] = value
        elif isinstance(owner, Native) and owner.name == "os" and name == "environ":
            raise Undecided("os.environ is replaced")

    def setter_of(self, owner: Instance, name: str) -> PyValue:
        """The function of a property that is assigned to; None if there is none."""
        if isinstance(owner.kind, CodeClass):
            for one in owner.kind.order():
                found = one.names.get(name) if isinstance(one, CodeClass) else None
                if isinstance(found, MarkedFunction) and found.kind == "property":
                    return found.kept.get("setter")
        return None

    def _set_item(self, target: ast.Subscript, value: PyValue) -> None:
        owner = self.value(target.value)
        if isinstance(target.slice, ast.Slice):
            if isinstance(owner, list) and target.slice.lower is None and target.slice.upper is None:
                owner[:] = list(self.iterate(value))
            return
        key = self.value(target.slice)
        if isinstance(owner, Native) and owner.name == "os.environ":
            if not isinstance(key, str) or (isinstance(value, UnknownValue) and key.upper() == "PATH"):
                raise Undecided("an environment variable is not known")
            if not isinstance(value, str | UnknownValue):
                raise error("TypeError", "str expected")
            self.machine.variables[key.upper()] = value
        elif isinstance(owner, dict) and not isinstance(key, UnknownValue):
            owner[self.key(key)] = value
        elif isinstance(owner, list) and isinstance(key, int) and -len(owner) <= key < len(owner):
            owner[key] = value
        elif isinstance(owner, Instance):
            self.set_item_of(owner, key, value)

    @abc.abstractmethod
    def set_item_of(self, owner: Instance, key: PyValue, value: PyValue) -> None:
        """``owner[key] = value`` for an object of the package."""

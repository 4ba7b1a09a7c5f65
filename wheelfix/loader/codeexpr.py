"""Compute what expressions of Python code give on Windows, without running them."""

from __future__ import annotations

import ast
import itertools
import operator
import posixpath
from typing import TYPE_CHECKING

from wheelfix.loader import codecalls
from wheelfix.loader.codebudget import MAX_TEXT
from wheelfix.loader.codestore import CERTAIN, LATER, CodeState, FoundEnd, Raised
from wheelfix.loader.codevalue import (
    ANYTHING,
    ROOT,
    UNKNOWN,
    Class,
    Extern,
    Function,
    Items,
    Library,
    Module,
    Scope,
    Table,
    bounded,
    combined,
    join,
    truth,
    united,
)
from wheelfix.loader.importcode import catches_kind, imported_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.loader.codebudget import CodeBudget
    from wheelfix.loader.codefiles import NoFiles
    from wheelfix.loader.codevalue import Atom, FunctionNode, Value

MAX_MODULES = 12
"""Other files of the package that are followed for the sake of one."""
MAX_POWER = 64


class Expressions(CodeState):
    """The names of a file that is followed, and what expressions made of them give."""

    def __init__(self, path: str, budget: CodeBudget, files: NoFiles | None = None) -> None:
        super().__init__(path, budget, files)
        self._set_module_names(self.scope)

    def _set_module_names(self, scope: Scope) -> None:
        inside = scope.path.removeprefix("Lib/site-packages/")
        name = inside.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        folder = posixpath.dirname(scope.path)
        is_package = scope.path.endswith("/__init__.py")
        self.store.set(scope, "__file__", (f"{ROOT}/{scope.path}",))
        self.store.set(scope, "__name__", (name,))
        self.store.set(scope, "__package__", (name if is_package else name.rpartition(".")[0],))
        self.store.set(scope, "__path__", (Items(((f"{ROOT}/{folder}",),)),))
        self.store.set(scope, "__debug__", (True,))

    # ------------------------------------------------------------------------------------------------ names

    def bind(self, name: str, value: Value) -> None:
        """Let a name of the current scope stand for something."""
        scope = self.scope
        if name in scope.shared:
            scope = scope.above or scope
            while scope.above is not None and self.store.get(scope, name) is None:
                scope = scope.above
        self.store.set(scope, name, value)

    def look_up(self, name: str) -> Value:
        """What a name stands for; one that was never assigned is taken for something of Python's own."""
        scope: Scope | None = self.scope
        while scope is not None:
            found = self.store.get(scope, name)
            if found is not None:
                return found
            scope = scope.above
        return (Extern(name),)

    def assign(self, target: ast.expr, value: Value) -> None:
        """Give a value to whatever stands on the left of ``=``."""
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Attribute):
            for atom in self.value(target.value):
                if isinstance(atom, Class):
                    self.store.set(atom.scope, target.attr, value)
        elif isinstance(target, ast.Subscript):
            self._set_item(target, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, ANYTHING)

    def _unpack(self, targets: list[ast.expr], value: Value) -> None:
        lists = [atom for atom in value if isinstance(atom, Items) and len(atom.items) == len(targets)]
        whole = len(lists) == len(value) and all(one.complete for one in lists)
        for at, target in enumerate(targets):
            parts = [one.items[at] for one in lists]
            self.assign(target, united(parts if whole else [*parts, ANYTHING]))

    def _set_item(self, target: ast.Subscript, value: Value) -> None:
        owners, keys = self.value(target.value), self.value(target.slice)
        tables = [atom for atom in owners if isinstance(atom, Table)]
        if len(owners) == 1 and tables and len(keys) == 1 and isinstance(keys[0], str | int):
            self.budget.step(len(tables[0].entries))
            changed = Table({**tables[0].entries, keys[0]: value}, tables[0].complete)
            self.assign(target.value, (changed,))
        elif tables:
            self.assign(target.value, (Table(tables[0].entries, complete=False),))

    def bind_parameters(
        self, node: FunctionNode, function: Function, args: list[Value], keywords: dict[str, Value]
    ) -> None:
        """Give the parameters of a function what it is called with."""
        wanted = [*node.args.posonlyargs, *node.args.args]
        given = [*([function.owner] if function.owner is not None else []), *args]
        known = self.level != LATER
        defaults = [None] * (len(wanted) - len(node.args.defaults)) + [*node.args.defaults]
        for at, parameter in enumerate(wanted):
            default = defaults[at]
            if at < len(given):
                value = given[at]
            elif parameter.arg in keywords:
                value = keywords[parameter.arg]
            elif default is not None:
                value = self.value(default) if known else (*self.value(default), UNKNOWN)
            else:
                value = ANYTHING
            self.store.set(self.scope, parameter.arg, value)
        for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            otherwise = self.value(default) if default is not None else ANYTHING
            self.store.set(self.scope, parameter.arg, keywords.get(parameter.arg, otherwise))
        if node.args.vararg:
            self.store.set(self.scope, node.args.vararg.arg, (Items(tuple(given[len(wanted) :]), known),))
        if node.args.kwarg:
            self.store.set(self.scope, node.args.kwarg.arg, ANYTHING)

    # ------------------------------------------------------------------------------------------------ modules

    def origin_of(self, node: ast.ImportFrom) -> str:
        """The dotted name of the module that names are imported from."""
        package = posixpath.dirname(self.scope.path.removeprefix("Lib/site-packages/")).replace("/", ".")
        return imported_from(node, package)[0]

    def is_foreign(self, name: str) -> bool:
        """Whether a module is neither the package's own nor the standard library's."""
        return not codecalls.is_standard(name) and self.files.module(name) is None

    def imported(self, name: str) -> Value:
        """What ``import name`` gives."""
        path = self.files.module(name)
        if path:
            return (Module(name, path),)
        if path == "" and any(codecalls.catches_imports(node) for node in self.tries):
            raise Raised("ImportError")
        if path is None and not codecalls.is_standard(name):
            self.foreign = True
        return (Extern(name),)

    def imported_name(self, origin: str, name: str) -> Value:
        """What ``from origin import name`` gives."""
        inner = self.files.module(f"{origin}.{name}")
        if inner:
            return (Module(f"{origin}.{name}", inner),)
        found = self.imported(origin)
        return united(
            self._of_module(atom, name) if isinstance(atom, Module) else (Extern(f"{origin}.{name}"),) for atom in found
        )

    def bind_all(self, origin: str) -> None:
        """``from origin import *``, for a module of the package."""
        for atom in self.imported(origin):
            scope = self._scope_of(atom) if isinstance(atom, Module) else None
            for name, value in (self.store.names_of(scope) if scope is not None else {}).items():
                self.budget.step()
                if not name.startswith("_"):
                    self.bind(name, value)

    def _of_module(self, module: Module, name: str) -> Value:
        if name == "__file__":
            return (f"{ROOT}/{module.path}",)
        if name == "__path__":
            folder = posixpath.dirname(module.path) if "." in posixpath.basename(module.path) else module.path
            return (Items(((f"{ROOT}/{folder}",),)),)
        if name in ("__name__", "__package__"):
            return (module.name,)
        inner = self.files.module(f"{module.name}.{name}")
        if inner:
            return (Module(f"{module.name}.{name}", inner),)
        scope = self._scope_of(module)
        found = self.store.get(scope, name) if scope is not None else None
        return found if found is not None else ANYTHING

    def _scope_of(self, module: Module) -> Scope | None:
        """The names of another file of the package, which is followed for them once, quietly."""
        if module.path in self.modules:
            return self.modules[module.path]
        source = self.files.source(module.path) if len(self.modules) <= MAX_MODULES else None
        tree = self.budget.parse_more(source) if source is not None else None
        if tree is None:
            return None
        outer, self.scope = self.scope, Scope(module.path)
        self.modules[module.path] = self.scope
        self._set_module_names(self.scope)
        state = self.level, self.tries, self.active, self.guards
        self.level, self.tries, self.active, self.guards = CERTAIN, [], [], 0
        self.muted += 1
        try:
            self.run(tree.body)
        finally:
            self.muted -= 1
            self.level, self.tries, self.active, self.guards = state
            self.scope = outer
        return self.modules[module.path]

    # ------------------------------------------------------------------------------------------- expressions

    def value(self, node: ast.expr) -> Value:
        """Everything that an expression may give."""
        self.budget.step()
        compute: Callable[[ast.expr], Value] | None = getattr(self, f"visit_{type(node).__name__}", None)
        if compute is not None:
            return bounded(compute(node), self.budget)
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.expr):
                self.value(inner)
        return ANYTHING

    def condition(self, node: ast.expr) -> bool | None:
        """Whether a condition holds; None if that is not known."""
        if codecalls.never_holds(node):
            return False
        return truth(self.value(node))

    def visit_Constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bytes):
            return (node.value.decode("utf-8", "replace"),)
        return (node.value,) if isinstance(node.value, str | int) or node.value is None else ANYTHING

    def visit_Name(self, node: ast.Name) -> Value:
        return self.look_up(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.bind(node.target.id, value)
        return value

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Value:
        parts = [self.value(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values]
        return combined(_concatenated, *parts) if parts else ("",)

    def visit_IfExp(self, node: ast.IfExp) -> Value:
        holds = self.condition(node.test)
        if holds is not None:
            return self.value(node.body if holds else node.orelse)
        return united([self.value(node.body), self.value(node.orelse)])

    def visit_List(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        items: list[Value] = []
        complete = True
        for element in node.elts:
            value = self.value(element.value if isinstance(element, ast.Starred) else element)
            if isinstance(element, ast.Starred):
                inner = value[0] if len(value) == 1 else UNKNOWN
                items += inner.items if isinstance(inner, Items) else ()
                complete &= isinstance(inner, Items) and inner.complete
            else:
                items.append(value)
        return (Items(tuple(items), complete),)

    visit_Tuple = visit_Set = visit_List

    def visit_Dict(self, node: ast.Dict) -> Value:
        entries: dict[str | int | None, Value] = {}
        complete = True
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item)
            keys = self.value(key) if key is not None else ANYTHING
            if len(keys) == 1 and (isinstance(keys[0], str | int) or keys[0] is None):
                entries[keys[0]] = value
            else:
                complete = False
        return (Table(entries, complete),)

    def visit_Lambda(self, node: ast.Lambda) -> Value:
        return (Function(node, self.scope),)

    def visit_Starred(self, node: ast.Starred) -> Value:
        return self.value(node.value)

    def visit_Await(self, node: ast.Await) -> Value:
        return self.value(node.value)

    def visit_Yield(self, node: ast.Yield) -> Value:
        self.yielded.append(self.value(node.value) if node.value is not None else (None,))
        return ANYTHING

    def visit_YieldFrom(self, node: ast.YieldFrom) -> Value:
        for atom in self.value(node.value):
            self.yielded += atom.items if isinstance(atom, Items) else (ANYTHING,)
        return ANYTHING

    # ------------------------------------------------------------------------------------------ operators

    def visit_BoolOp(self, node: ast.BoolOp) -> Value:
        decisive = isinstance(node.op, ast.Or)
        found: list[Value] = []
        for part in node.values:
            value = self.value(part)
            holds = truth(value)
            if holds is decisive:
                return united([*found, value])
            if holds is None:
                found.append(tuple(atom for atom in value if truth((atom,)) is not (not decisive)) or value)
        return united([*found, value])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            holds = truth(value)
            return ANYTHING if holds is None else (not holds,)
        if isinstance(node.op, ast.USub):
            return combined(lambda atom: -atom if isinstance(atom, int) else UNKNOWN, value)
        return ANYTHING

    def visit_BinOp(self, node: ast.BinOp) -> Value:
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):  # a long sum is no deep recursion
            self.budget.step()
            chain.append(chain[-1].left)
        value = self.value(chain[-1].left)
        for part in reversed(chain):
            value = bounded(self.binary(part.op, value, self.value(part.right)), self.budget)
        return value

    def binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        """What an operator between two values gives."""
        if isinstance(op, ast.Mod) and any(isinstance(atom, str) for atom in left):
            return combined(lambda text, args: codecalls.percent(text, args, self.budget), left, right)
        return combined(lambda one, other: self._calculated(op, one, other), left, right)

    def _calculated(self, op: ast.operator, left: Atom, right: Atom) -> Atom:
        if isinstance(op, ast.Div) and (isinstance(left, str) or isinstance(right, str)):
            return join(left, right)
        if isinstance(op, ast.Add) and isinstance(left, str) and isinstance(right, str):
            return left + right
        if isinstance(op, ast.Add) and isinstance(left, Items):
            more = right.items if isinstance(right, Items) else ()
            whole = left.complete and isinstance(right, Items) and right.complete
            return Items((*left.items, *more), whole)
        calculate = _ARITHMETIC.get(type(op))
        if calculate is None or not isinstance(left, int) or not isinstance(right, int):
            return UNKNOWN
        if (isinstance(op, ast.Pow | ast.LShift) and not 0 <= right <= MAX_POWER) or abs(left) >> 80:
            return UNKNOWN
        if isinstance(op, ast.FloorDiv | ast.Mod) and right == 0:
            return UNKNOWN
        return calculate(left, right)

    def visit_Compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            found = {codecalls.compared(op, one, other, self.budget) for one, other in itertools.product(left, right)}
            holds = found.pop() if len(found) == 1 else None
            if holds is not True:
                return ANYTHING if holds is None else (False,)
            left = right
        return (True,)

    # --------------------------------------------------------------------------------- attributes and items

    def visit_Attribute(self, node: ast.Attribute) -> Value:
        return united(self.attribute(atom, node.attr) for atom in self.value(node.value))

    def attribute(self, atom: Atom, name: str) -> Value:
        """What an attribute of a thing is."""
        if isinstance(atom, Extern):
            return codecalls.constant(atom.name, name, self.files)
        if isinstance(atom, Module):
            return self._of_module(atom, name)
        if isinstance(atom, Class):
            return self._of_object(atom, name)
        if isinstance(atom, str):
            return codecalls.of_path(atom, name)
        if isinstance(atom, Library):
            return (atom.target,) if name == "_name" else ANYTHING
        if isinstance(atom, Items) and name in ("major", "minor") and len(atom.items) > 1:
            return atom.items[name == "minor"]
        return (Extern(f"?.{name}"),)

    def _of_object(self, thing: Class, name: str) -> Value:
        found, owner = self.store.get(thing.scope, name), thing
        if found is None and thing.of is not None:
            found = self.store.get(thing.of.scope, name)
        if found is None:
            return (Extern(f"?.{name}"),)
        values: list[Value] = []
        for atom in found:
            if not isinstance(atom, Function) or isinstance(atom.node, ast.Lambda):
                values.append((atom,))
                continue
            marks = codecalls.decorators(atom.node)
            if "staticmethod" in marks:
                values.append((atom,))
                continue
            bound = Function(atom.node, atom.scope, (owner,)) if owner.of or "classmethod" in marks else atom
            is_property = any(mark.lower().endswith("property") for mark in marks)
            values.append(self.call_function(bound, [], {}) if is_property and owner.of else (bound,))
        return united(values)

    def visit_Subscript(self, node: ast.Subscript) -> Value:
        owners = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            limits = [
                self.value(part)[0] if part is not None else None for part in (node.slice.lower, node.slice.upper)
            ]
            return combined(lambda atom: codecalls.sliced(atom, limits), owners)
        keys = self.value(node.slice)
        values = [codecalls.item(self, owner, key, node) for owner in owners for key in keys]
        return united(values)

    # ------------------------------------------------------------------------------------- comprehensions

    def turns(self, node: ast.expr) -> tuple[list[Value], bool]:
        """What a loop goes through, and whether that is all of it."""
        value = self.value(node)
        return codecalls.listed(value)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        found: list[Value] = []
        complete = self._comprehend(node.generators, node.elt, found)
        return (Items(tuple(found), complete),)

    visit_SetComp = visit_GeneratorExp = visit_ListComp

    def _comprehend(self, generators: list[ast.comprehension], element: ast.expr, found: list[Value]) -> bool:
        """Collect the elements of a comprehension; say whether these are all, and all of these are."""
        if not generators:
            found.append(self.value(element))
            return True
        first, rest = generators[0], generators[1:]
        turns, complete = self.turns(first.iter)
        level = self.level
        for item in turns[: codecalls.MAX_TURNS]:
            self.budget.step()
            self.assign(first.target, item)
            holds = [self.condition(test) for test in first.ifs]
            if False in holds:
                continue
            if None in holds or not complete:
                complete = False
                self.level = min(level, 1)
            complete &= self._comprehend(rest, element, found)
            self.level = level
        return complete and len(turns) <= codecalls.MAX_TURNS

    def visit_DictComp(self, node: ast.DictComp) -> Value:
        return ANYTHING

    # ---------------------------------------------------------------------------------------------- calls

    def visit_Call(self, node: ast.Call) -> Value:
        keywords = {word.arg: self.value(word.value) for word in node.keywords if word.arg is not None}
        args = [self.value(arg) for arg in node.args if not isinstance(arg, ast.Starred)]
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                items, _ = codecalls.listed(self.value(arg.value))
                args += items[:64] or [ANYTHING]
        if isinstance(node.func, ast.Attribute):
            owners = self.value(node.func.value)
            return united(self._method(node, owner, node.func.attr, args, keywords) for owner in owners)
        return united(self.called_with(node, atom, args, keywords) for atom in self.value(node.func))

    def _method(self, node: ast.Call, owner: Atom, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
        if isinstance(owner, str | Items | Table):
            return codecalls.method(self, node, owner, name, args)
        return united(self.called_with(node, atom, args, keywords) for atom in self.attribute(owner, name))

    def called_with(self, node: ast.Call, atom: Atom, args: list[Value], keywords: dict[str, Value]) -> Value:
        """What calling a thing gives."""
        if isinstance(atom, Function):
            return self.call_function(atom, args, keywords)
        if isinstance(atom, Class) and atom.of is None:
            return self._made(atom, args, keywords)
        if isinstance(atom, Extern):
            return codecalls.call(self, node, atom.name, args, keywords)
        return ANYTHING

    def _made(self, kind: Class, args: list[Value], keywords: dict[str, Value]) -> Value:
        """An object of a class of the package; its ``__init__`` is followed."""
        thing = Class(Scope(kind.scope.path, kind.scope.above), kind)
        for atom in self._of_object(thing, "__init__"):
            if isinstance(atom, Function):
                self.call_function(atom, args, keywords)
        return (thing,)

    def note_end(self, kind: str, line: int) -> None:
        """Note an exception that nothing catches, after DLLs of the package were looked for in vain."""
        caught = any(catches_kind(handler.type, kind) is not False for node in self.tries for handler in node.handlers)
        if self.looked_for and not caught and not self.muted and self.level != LATER:
            self.ends.append(FoundEnd(kind, self.scope.path, line, self.level, tuple(self.looked_for)))

    def entered(self, value: Value) -> Value:
        """What ``with value as name`` gives the name: of a generator its first item, of everything else itself."""
        return united(atom.items[0] if isinstance(atom, Items) and len(atom.items) == 1 else (atom,) for atom in value)


_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


def _concatenated(*parts: Atom) -> Atom:
    texts = [str(part) for part in parts if isinstance(part, str | int)]
    if len(texts) < len(parts) or sum(map(len, texts)) > MAX_TEXT:
        return UNKNOWN
    return "".join(texts)

"""Compute what expressions of Python code give on Windows, without running them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.loader.codereader import codecalls, codeloads, codemethods, codesyntax
from wheelfix.loader.codereader.codeoperators import OperatorValues
from wheelfix.loader.codereader.codestore import CERTAIN, LATER, FoundEnd
from wheelfix.loader.codereader.codevalue import (
    ANYTHING,
    UNKNOWN,
    AddedFolder,
    Class,
    DictValue,
    Extern,
    Function,
    Items,
    LoadedLibrary,
    Module,
    OpenTextFile,
    Partial,
    Scope,
    bounded,
    combined,
    united,
)
from wheelfix.pycode.budget import MAX_TEXT, MAX_TURNS
from wheelfix.pycode.exceptions import catches

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.loader.codereader.codevalue import Atom, Value


class Expressions(OperatorValues):
    """What expressions give."""

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
        return (DictValue(entries, complete),)

    def visit_Lambda(self, node: ast.Lambda) -> Value:
        return (Function(node, self.scope),)

    def visit_Starred(self, node: ast.Starred) -> Value:
        return self.value(node.value)

    def visit_Await(self, node: ast.Await) -> Value:
        return self.value(node.value)

    def visit_Yield(self, node: ast.Yield) -> Value:
        self.yielded.append(self.value(node.value) if node.value is not None else (None,))
        self.yielded_maybe |= self.level != CERTAIN
        return ANYTHING

    def visit_YieldFrom(self, node: ast.YieldFrom) -> Value:
        for atom in self.value(node.value):
            self.yielded += atom.items if isinstance(atom, Items) else (ANYTHING,)
            self.yielded_maybe |= not isinstance(atom, Items) or not atom.complete
        self.yielded_maybe |= self.level != CERTAIN
        return ANYTHING

    # --------------------------------------------------------------------------------- attributes and items

    def visit_Attribute(self, node: ast.Attribute) -> Value:
        owners = self.value(node.value)
        if any(codeloads.is_attribute_load(self, atom, node.attr) for atom in owners):
            return codeloads.load_library(self, node, "LoadLibrary", (node.attr,))
        return united(self.attribute(atom, node.attr) for atom in owners)

    def attribute(self, atom: Atom, name: str) -> Value:
        """What an attribute of a thing is."""
        if isinstance(atom, Extern):
            return codemethods.constant(atom.name, name, self.files)
        if isinstance(atom, Module):
            return self._of_module(atom, name)
        if isinstance(atom, Class):
            return self._of_object(atom, name)
        if isinstance(atom, str):
            return codemethods.of_path(atom, name)
        if isinstance(atom, LoadedLibrary):
            if codeloads.is_load_call(name):
                return (Extern(f"{atom.target}.{name}"),)  # of kernel32
            return (atom.target,) if name == "_name" else ANYTHING
        if isinstance(atom, Items) and name in ("major", "minor") and len(atom.items) > 1:
            return atom.items[name == "minor"]
        return (Extern(f"?.{name}"),)

    def _of_object(self, thing: Class, name: str) -> Value:
        found, owner = self.store.get(thing.scope, name), thing
        if found is None:
            found = self._attribute_of(thing.of or thing, name)
        if found is None:
            return (Extern(f"?.{name}"),)
        values: list[Value] = []
        for atom in found:
            if not isinstance(atom, Function) or isinstance(atom.node, ast.Lambda):
                values.append((atom,))
                continue
            marks = codesyntax.decorators(atom.node)
            if "staticmethod" in marks:
                values.append((atom,))
                continue
            bound = Function(atom.node, atom.scope, (owner,)) if owner.of or "classmethod" in marks else atom
            is_property = any(mark.lower().endswith("property") for mark in marks)
            values.append(self.call_function(bound, [], {}) if is_property and owner.of else (bound,))
        return united(values)

    def _attribute_of(self, kind: Class, name: str) -> Value | None:
        """An attribute of a class, or of its base classes."""
        self.budget.step()
        found = self.store.get(kind.scope, name)
        for base in kind.bases if found is None else ():
            found = self._attribute_of(base, name)
            if found is not None:
                break
        return found

    def visit_Subscript(self, node: ast.Subscript) -> Value:
        owners = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            limits = [
                self.value(part)[0] if part is not None else None for part in (node.slice.lower, node.slice.upper)
            ]
            return combined(lambda atom: codemethods.sliced(atom, limits), owners)
        keys = self.value(node.slice)
        values = [codemethods.item(self, owner, key, node) for owner in owners for key in keys]
        return united(values)

    # ------------------------------------------------------------------------------------- comprehensions

    def turns(self, node: ast.expr) -> tuple[list[Value], bool]:
        """What a loop goes through, and whether that is all of it."""
        value = self.value(node)
        return codemethods.listed(value)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        found: list[Value] = []
        complete = self._comprehend(node.generators, node.elt, found)
        return (Items(tuple(found), complete),)

    visit_SetComp = visit_GeneratorExp = visit_ListComp

    def _comprehend(self, generators: list[ast.comprehension], element: ast.expr, found: list[Value]) -> bool:
        """Collect the elements of a comprehension; return whether it has exactly these for certain."""
        if not generators:
            found.append(self.value(element))
            return True
        first, rest = generators[0], generators[1:]
        turns, complete = self.turns(first.iter)
        level = self.level
        for item in turns[:MAX_TURNS]:
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
        return complete and len(turns) <= MAX_TURNS

    def visit_DictComp(self, node: ast.DictComp) -> Value:
        pairs: list[Value] = []
        element = ast.Tuple([node.key, node.value], ast.Load())
        complete = self._comprehend(node.generators, element, pairs)
        entries: dict[str | int | None, Value] = {}
        for pair in pairs:
            key, value = pair[0].items if isinstance(pair[0], Items) else (ANYTHING, ANYTHING)
            if len(key) == 1 and (isinstance(key[0], str | int) or key[0] is None):
                entries[key[0]] = value
            else:
                complete = False
        return (DictValue(entries, complete),)

    # ---------------------------------------------------------------------------------------------- calls

    def visit_Call(self, node: ast.Call) -> Value:
        keywords = {word.arg: self.value(word.value) for word in node.keywords if word.arg is not None}
        args: list[Value] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                items, complete = codemethods.listed(self.value(arg.value))
                args += items[:64] if complete else (items[:64] or [ANYTHING])
            else:
                args.append(self.value(arg))
        if isinstance(node.func, ast.Attribute):
            owners = self.value(node.func.value)
            return united(self._method(node, owner, node.func.attr, args, keywords) for owner in owners)
        return united(self.called_with(node, atom, args, keywords) for atom in self.value(node.func))

    def _method(self, node: ast.Call, owner: Atom, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
        if isinstance(owner, AddedFolder):
            if name in ("close", "__exit__"):
                self.close_folder(owner.folder)
            return (owner,)
        if isinstance(owner, str | Items | DictValue | OpenTextFile):
            return codemethods.method(self, node, owner, name, args)
        return united(self.called_with(node, atom, args, keywords) for atom in self.attribute(owner, name))

    def called_with(self, node: ast.Call, atom: Atom, args: list[Value], keywords: dict[str, Value]) -> Value:
        """What calling a thing gives."""
        if isinstance(atom, Function):
            return self.call_function(atom, args, keywords)
        if isinstance(atom, Class) and atom.of is None:
            return self._made(atom, args, keywords)
        if isinstance(atom, Class):
            own = [one for one in self._of_object(atom, "__call__") if isinstance(one, Function)]
            return united(self.call_function(one, args, keywords) for one in own)
        if isinstance(atom, Partial):
            return self.called_with(node, atom.function, [*atom.args, *args], {**atom.keywords, **keywords})
        if isinstance(atom, Extern) and atom.last == "partial" and args:
            return tuple(Partial(function, args[1:], keywords) for function in args[0])
        if isinstance(atom, Extern) and atom.name.rpartition(".")[2] == "map" and len(args) == 2:
            items, complete = codemethods.listed(args[1])
            made = [united(self.called_with(node, one, [item], {}) for one in args[0]) for item in items[:MAX_TURNS]]
            return (Items(tuple(made), complete),)
        if isinstance(atom, Extern):
            return codecalls.call(self, node, atom.name, args, keywords)
        return ANYTHING

    def _made(self, kind: Class, args: list[Value], keywords: dict[str, Value]) -> Value:
        """An object of a class of the package; its ``__init__`` is followed."""
        thing = Class(Scope(kind.scope.path, kind.scope.above), kind)
        for atom in self._attribute_of(kind, "__new__") or ():
            if isinstance(atom, Function):
                self.call_function(atom, [(kind,), *args], keywords)
        for atom in self._of_object(thing, "__init__"):
            if isinstance(atom, Function):
                self.call_function(atom, args, keywords)
        for at, name in enumerate(kind.fields):
            given = args[at] if at < len(args) else keywords.get(name)
            if given is not None:
                self.store.set(thing.scope, name, given)
        return (thing,)

    def close_folder(self, folder: str) -> None:
        """Remove a folder from the search again."""
        if self.process is not None and self.level == CERTAIN and not self.yielded:
            self.process.remove(folder)
        elif self.process is not None and self.level != LATER:  # a generator does the rest when it goes on
            self.process.settled = False

    def note_end(self, kind: str, line: int, text: str = "") -> None:
        """Note an exception that nothing catches, after DLLs of the package were looked for and not found."""
        caught = any(catches(handler.type, kind) is not False for node in self.tries for handler in node.handlers)
        if self.looked_for and not caught and not self.muted and self.level != LATER:
            names = tuple(self.looked_for)
            outside = not any("/" in name or self.files.named(name) for name in names)
            chain = self.looked_for[names[0]] if len(names) == 1 else ()
            self.ends.append(FoundEnd(kind, self.scope.path, line, self.level, names, outside, self.place, chain, text))

    def entered(self, value: Value) -> Value:
        """What ``with value as name`` gives the name: of a generator its first item, of everything else itself."""
        return united(atom.items[0] if isinstance(atom, Items) and len(atom.items) == 1 else (atom,) for atom in value)


def _concatenated(*parts: Atom) -> Atom:
    texts = [str(part) for part in parts if isinstance(part, str | int)]
    if len(texts) < len(parts) or sum(map(len, texts)) > MAX_TEXT:
        return UNKNOWN
    return "".join(texts)

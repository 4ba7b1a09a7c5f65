"""Read from Python source which modules it imports, and whether it goes on without them.

Only statements are looked at, so that a whole package is read in the time of one parse.
"""

from __future__ import annotations

import ast
import posixpath
from collections import deque
from typing import TYPE_CHECKING

from wheelfix.archive.names import SITE_PACKAGES
from wheelfix.pycode.budget import CodeBudget, OutOfBudget, is_lazy
from wheelfix.pycode.exceptions import NOT_LOADED, catches, suppresses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


def read_imports(
    source: str, path: str, budget: CodeBudget | None = None, kinds: Iterable[str] = (NOT_LOADED,)
) -> Mapping[str, bool]:
    """The modules that a file at ``path`` in the view imports, and whether it catches the failure wherever it does.

    Empty if the file cannot be read or takes too much work, which the budget notes. ``kinds`` are the exceptions that
    a failure raises.
    """
    budget = budget or CodeBudget()
    tree = budget.parse(source, path)
    if tree is None:
        return {}
    package = posixpath.dirname(path.removeprefix(SITE_PACKAGES + "/")).replace("/", ".")
    found: dict[str, bool] = {}
    try:
        for name, guarded in _imports(tree.body, package, budget, tuple(kinds)):
            budget.text(len(name))
            found[name] = guarded and found.get(name, True)
    except OutOfBudget as error:
        budget.give_up(path, str(error))
        return {}
    return found


def named_in_strings(source: str, path: str, names: Iterable[str], budget: CodeBudget) -> set[str]:
    """Those of some modules whose whole dotted name is a string in a file: ``lazy_import("pkg.module", "name")``.

    Docstrings do not count. A name without a dot says too little.
    """
    wanted = {name for name in names if "." in name and (f'"{name}"' in source or f"'{name}'" in source)}
    tree = budget.parse(source, path) if wanted else None
    found: set[str] = set()
    pending: list[ast.AST] = [tree] if tree is not None else []
    try:
        while pending:
            node = pending.pop()
            budget.step()
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in wanted:
                found.add(node.value)
            pending += ast.iter_child_nodes(node)
    except OutOfBudget as error:
        budget.give_up(path, str(error))
        return set()
    return found


def computed_imports(source: str, path: str, budget: CodeBudget) -> list[bool]:
    """For each ``import_module`` of a computed name: whether the code goes on where that fails."""
    tree = budget.parse(source, path)
    found: list[bool] = []
    pending: list[tuple[ast.AST, bool]] = [(tree, False)] if tree is not None else []
    try:
        while pending:
            node, guarded = pending.pop()
            budget.step()
            if isinstance(node, ast.Call) and called(node) == "import_module" and not imported_by_call(node):
                found.append(guarded)
            body = node.body if isinstance(node, ast.Try) and goes_on(node, NOT_LOADED, budget) else []
            caught = guarded or (isinstance(node, ast.With) and suppresses(node, NOT_LOADED))
            pending += [(inner, caught or inner in body) for inner in ast.iter_child_nodes(node)]
    except OutOfBudget as error:
        budget.give_up(path, str(error))
        return [False]
    return found


def goes_on(node: ast.Try, kind: str, budget: CodeBudget) -> bool:
    """Whether a ``try`` catches an exception of one kind, and does not raise again."""
    for handler in node.handlers:
        if catches(handler.type, kind) is not False:
            return not _raises(handler, budget)
    return False


def _raises(handler: ast.ExceptHandler, budget: CodeBudget) -> bool:
    raises = False
    for part in statements_in(handler):
        budget.step()  # handlers within handlers are passed once for each
        raises = raises or isinstance(part, ast.Raise)
    return raises


def statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the statements, handlers and cases within it, in the order of ``ast.walk``, without expressions."""
    pending = deque([node])
    while pending:
        one = pending.popleft()
        yield one
        for block in ("body", "handlers", "cases", "orelse", "finalbody"):
            pending += getattr(one, block, ())


def called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _imports(
    statements: list[ast.stmt], package: str, budget: CodeBudget, kinds: tuple[str, ...] = (NOT_LOADED,)
) -> Iterator[tuple[str, bool]]:
    """Names of imported modules, with whether a statement around the import catches its failure."""
    pending = [(statement, False) for statement in reversed(statements)]
    while pending:
        node, guarded = pending.pop()
        budget.step()
        if isinstance(node, ast.Import | ast.ImportFrom):
            later = guarded or is_lazy(node, None) is not False
            named = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else imported_from(node, package)
            )
            yield from ((name, later) for name in named)
        elif isinstance(node, ast.Assign | ast.Expr | ast.Return):
            yield from ((name, guarded) for name in imported_by_call(node.value))
        elif isinstance(node, ast.Try):
            caught = guarded or all(goes_on(node, kind, budget) for kind in kinds)
            pending += [(inner, caught) for inner in node.body]
            outside = [*node.orelse, *node.finalbody, *(line for handler in node.handlers for line in handler.body)]
            pending += [(inner, guarded) for inner in outside]
        elif isinstance(node, ast.With):
            suppressed = guarded or all(suppresses(node, kind) for kind in kinds)
            pending += [(inner, suppressed) for inner in node.body]
        elif isinstance(node, ast.If) and _is_for_one_python(node.test):
            pending += [(inner, True) for inner in node.body]
            pending += [(inner, guarded) for inner in node.orelse]
        else:
            blocks = (getattr(node, "body", []), getattr(node, "orelse", []))
            pending += [(inner, guarded) for block in blocks for inner in block]


def _is_for_one_python(test: ast.expr) -> bool:
    """Whether a condition is ``sys.version_info[:2] == (3, 9)``: some packages choose a module like this."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    left = test.left.value if isinstance(test.left, ast.Subscript) else test.left
    return getattr(left, "attr", getattr(left, "id", "")) == "version_info"


def imported_from(node: ast.ImportFrom, package: str) -> list[str]:
    parts = package.split(".") if node.level else []
    start = [*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])]
    origin = ".".join(part for part in start if part)
    return [origin, *(f"{origin}.{alias.name}" for alias in node.names)]


def imported_by_call(node: ast.expr | None) -> list[str]:
    """The name in ``importlib.import_module("pkg.module")``."""
    if isinstance(node, ast.Call) and called(node) in ("import_module", "__import__") and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return [first.value]
    return []

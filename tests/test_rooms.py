"""Imports run one way: between rooms in the order below, and never in a circle, also not inside a room.

Three kinds of imports are counted. Those at the top of a module and those inside functions run, so both are held to
the order of rooms and to "no circle". Those under ``if TYPE_CHECKING`` never run; they may point to any room, and
circles that exist only through them are listed in ``CIRCLES_OF_TYPES``, a list that may only become shorter.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import wheelfix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PACKAGE = Path(wheelfix.__file__).parent
LONGEST_MODULE = 800
ORDER: tuple[str, ...] = (
    "errors base streams",
    "model",
    "remote",
    "archive",
    "pe",
    "knowledge schemas",
    "loader pycode",
    "roots",
    "rules",
    "exam",
    "plan",
    "repairs",
    "survey",
    "diagnosis demo trial",
    "report",
    "cli",
    "__main__",
)
"""Rooms and modules of the package; one may import what stands in its own line or above it."""
CIRCLES_OF_TYPES = ({"pycode.reading", "pycode.run"},)

LATE_IMPORTS = {
    "cli": "the parser of a command is made, and its --help and usage errors shown, without what the command runs",
    "exam.scan": "what only sets, folders and several wheels need; for wheels, exam.wheel has the reason",
    "exam.verify": "processes are for several wheels only: 22 modules, 15 ms of 95",
    "exam.wheel": "the rules take 110 modules, 63 ms to import, in which threads inflate the largest image",
    "loader.packagecode": "most packages load no DLLs by their code: 26 modules",
    "loader.packages.kivy": "as loader.packagecode",
    "loader.packages.torch": "as loader.packagecode",
    "loader.followed": "most packages load no DLLs by their code: 67 modules, 24 ms of 190",
    "pe.authenticode.verify": "cryptography is in an extra: without it the answer is 'not checked'",
    "pe.signature": "for signed files that are asked about only: 9 modules, 6 ms without cryptography",
    "repairs.repair": "what plans and writes is imported while threads inflate and hash the wheel: 166 modules, 97 ms",
    "repairs.rewrite": "a bill of materials is for wheels that change only: 18 modules, 8 ms",
    "repairs.replay": "what a lock rarely needs, such as the renamed layout: 59 modules, 30 ms of 250",
    "remote.client": "connections, caches and indexes are for wheels on servers only: 87 modules, 53 ms",
    "roots.card": "programs are run for --gpu native only: 21 modules, 8 ms",
    "roots.lazy": "discovering roots is for wheels with something missing only: 127 modules, 65 ms",
}
"""Modules, or rooms, that import our own modules in functions, each with what start-up gains by it.

The numbers are processor time in a fresh Python, the best of five; what was worth 2 ms or less is imported at the top.
"""


class Import(NamedTuple):
    """One module importing another, named without the package."""

    importer: str
    imported: str
    runs: bool
    """False under ``if TYPE_CHECKING``."""
    late: bool = False
    """Whether a function does it."""


@functools.cache
def modules() -> dict[str, Path]:
    """Every module by its name without the package."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(name: str) -> Iterator[Import]:
    """Yield the imports of our own modules; the package itself, which has the version, is not counted."""

    def visit(node: ast.AST, runs: bool, late: bool = False) -> Iterator[Import]:
        late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for child in node.body:
                yield from visit(child, False, late)
            for child in node.orelse:
                yield from visit(child, runs, late)
            return
        for imported in named_in(node):
            if imported and imported != name:
                yield Import(name, imported, runs, late)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr):  # no import is in one
                yield from visit(child, runs, late)

    yield from visit(ast.parse(modules()[name].read_text(encoding="utf-8")), True)


def named_in(node: ast.AST) -> Iterator[str]:
    """Yield the modules of ours that a statement imports."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "wheelfix":
        base = (node.module or "").partition(".")[2]
        for alias in node.names:
            inner = f"{base}.{alias.name}".lstrip(".")
            yield inner if inner in modules() else base
    elif isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[2] for alias in node.names if alias.name.startswith("wheelfix."))


@functools.cache
def all_imports() -> tuple[Import, ...]:
    return tuple(one for name in modules() if name for one in imports_of(name))


def circles(imports: Iterable[Import]) -> list[set[str]]:
    """Return the groups of modules that import each other, directly or through others."""
    graph: dict[str, set[str]] = {}
    for one in imports:
        graph.setdefault(one.importer, set()).add(one.imported)

    def reached(start: str) -> set[str]:
        seen, pending = set[str](), [start]
        while pending:
            for imported in graph.get(pending.pop(), ()):
                if imported not in seen:
                    seen.add(imported)
                    pending.append(imported)
        return seen

    reach = {name: reached(name) for name in graph}
    found: list[set[str]] = []
    for name in sorted(graph):
        group = {other for other in reach[name] if name in reach.get(other, ())}
        if group and group not in found:
            found.append(group)
    return found


def places() -> dict[str, int]:
    return {room: place for place, rooms in enumerate(ORDER) for room in rooms.split()}


def place_of(name: str) -> int:
    """Return the place of a module: its own if it has one, else that of its room."""
    known = places()
    return known[name] if name in known else known[name.partition(".")[0]]


def test_every_room_has_its_place() -> None:
    listed = {name for name in places() if "." not in name}
    assert {name.partition(".")[0] for name in modules() if name} == listed
    assert set(places()) - listed <= set(modules())


def test_no_module_is_longer_than_a_reader_can_keep_in_mind() -> None:
    lengths = {path: path.read_text("utf-8").count("\n") for path in PACKAGE.rglob("*.py")}
    assert not {str(path): length for path, length in lengths.items() if length > LONGEST_MODULE}


def test_rooms_import_only_what_stands_before_them() -> None:
    wrong = [
        f"{one.importer} imports {one.imported}"
        for one in all_imports()
        if one.runs and place_of(one.imported) > place_of(one.importer)
    ]
    assert wrong == []


def test_no_module_imports_itself_through_others() -> None:
    assert circles(one for one in all_imports() if one.runs) == []


def test_circles_that_only_types_close_become_no_more() -> None:
    found = circles(all_imports())
    new = [sorted(circle) for circle in found if not any(circle <= known for known in CIRCLES_OF_TYPES)]
    assert new == [], "move the type to a module that both can import, or ask for a Protocol"


def test_circles_are_found() -> None:
    chain = [Import("a", "b", True), Import("b", "c", True)]
    assert circles(chain) == []
    assert circles([*chain, Import("c", "a", False)]) == [{"a", "b", "c"}]


def test_imports_in_functions_have_a_reason_that_was_measured() -> None:
    found = {one.importer for one in all_imports() if one.late}
    named = {name for name in found if reason_for(name) is None}
    assert named == set(), "import at the top, or measure what start-up gains and add the reason to LATE_IMPORTS"
    assert {reason_for(name) for name in found} == set(LATE_IMPORTS), (
        "this module imports nothing in functions any more"
    )


def reason_for(name: str) -> str | None:
    """The entry of the table for a module, its own or that of its room."""
    return next((entry for entry in (name, name.partition(".")[0]) if entry in LATE_IMPORTS), None)

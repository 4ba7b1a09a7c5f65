"""Imports run one way: between rooms in the order below, and never in a circle, also not inside a room.

Imports inside functions count like those at the top; those under ``if TYPE_CHECKING`` never run and may point anywhere.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import wheelfix

PACKAGE = Path(wheelfix.__file__).parent
ORDER = (
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
    "diagnosis trial",
    "report",
    "cli",
    "__main__",
)
"""Rooms and modules of the package; one may import what stands in its own line or above it."""
ONLY_TYPES = re.compile(r"^( *)if TYPE_CHECKING:\n(?:\1 +.*\n|\n)+", re.MULTILINE)
STATEMENT = re.compile(r"^ *((?:from|import) wheelfix\b[^\n(]*(?:\([^)]*\))?)", re.MULTILINE)
"""What imports a module of ours: parsing whole modules takes seconds."""
PLACES = {room: place for place, rooms in enumerate(ORDER) for room in rooms.split()}


@functools.cache
def modules() -> dict[str, Path]:
    """Every module by its name without the package; that of the package itself, which has the version, is empty."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def imports() -> dict[str, set[str]]:
    """The modules of ours that each module imports when it runs."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in modules().items() if name}
    return {name: {one for one in imported(text) if one not in ("", name)} for name, text in texts.items()}


def imported(text: str) -> Iterator[str]:
    """What a module imports, whether at its top or in a function."""
    for node in ast.parse("\n".join(STATEMENT.findall(ONLY_TYPES.sub("", text)))).body:
        if isinstance(node, ast.ImportFrom):
            base = (node.module or "").partition(".")[2]
            inner = (f"{base}.{alias.name}".lstrip(".") for alias in node.names)
            yield from (name if name in modules() else base for name in inner)
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[2] for alias in node.names)


def place_of(name: str) -> int:
    """Return the place of a module: its own if it has one, else that of its room."""
    return PLACES[name] if name in PLACES else PLACES[name.partition(".")[0]]


def test_a_room_says_what_each_of_its_modules_is_for_and_names_no_other():
    for room in {path.parent for name, path in modules().items() if "." in name} - {PACKAGE / "loader" / "packages"}:
        words = set(
            re.findall(r"``(\w+)``", ast.get_docstring(ast.parse((room / "__init__.py").read_text("utf-8"))) or "")
        )
        has = {path.stem for path in room.glob("*.py") if path.stem != "__init__"}
        assert words == has, f"{room.name}/__init__.py: {sorted(words ^ has)}"


def test_every_room_has_its_place():
    assert {name.partition(".")[0] for name in modules() if name} == {name for name in PLACES if "." not in name}


def test_rooms_import_only_what_stands_before_them():
    wrong = {(name, one) for name, needed in imports().items() for one in needed if place_of(one) > place_of(name)}
    assert wrong == set()


def test_no_module_imports_itself_through_others():
    TopologicalSorter(imports()).prepare()  # raises an error that names the circle

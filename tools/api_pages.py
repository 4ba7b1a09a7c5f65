"""The Python interface: every public function and class, with the docstrings of its fields."""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import re
from typing import TYPE_CHECKING, Any

import wheelfix
from tools.markdown import NOTE, code, fence, table

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRODUCTION = """\
# Python interface

Every command is also a Python function. Functions return immutable values and raise subclasses of
`wheelfix.errors.WheelfixError`; a fault of a wheel is a finding in the report, never an exception. The package is
typed. [Use it from Python](../howto/python.md) has examples.

"""

BESIDES = {
    "wheelfix.model": ("MissingDll", "Candidate", "Prediction", "Verdict", "Severity", "Repairable"),
    "wheelfix.diagnosis.model": ("Explained", "Evidence", "DiagnosisOutcome"),
    "wheelfix.errors": ("WheelfixError", "UsageError", "InputError", "EnvironmentFailure", "CannotRepair"),
}
"""Classes of results, without importing them from ``wheelfix`` itself."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of the page."""
    own = {name: getattr(wheelfix, name) for name in wheelfix.__all__ if not name.startswith("_")}
    functions = {name: thing for name, thing in own.items() if inspect.isfunction(thing)}
    text = NOTE + INTRODUCTION + "## Functions\n\n"
    text += "".join(_function(f"wheelfix.{name}", thing) for name, thing in functions.items())
    text += "## Classes\n\n"
    text += "".join(_class(f"wheelfix.{name}", thing) for name, thing in own.items() if inspect.isclass(thing))
    for module, names in BESIDES.items():
        things = importlib.import_module(module)
        text += "".join(_class(f"{module}.{name}", getattr(things, name)) for name in names)
    yield "reference/api.md", text.rstrip() + "\n"


def _function(name: str, thing: Any) -> str:
    # Annotations are texts already and come quoted; defaults keep their quotes.
    line = name + re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(thing)))
    if len(line) > 100:
        line = line.replace("(", "(\n    ", 1).replace(") ->", ",\n) ->")
        line = re.sub(r", (?=[*/]|\w+[:=])", ",\n    ", line)  # between parameters, not inside a type
    return f"### {name}\n\n{fence(line, 'python')}{_prose(thing)}\n\n"


def _class(name: str, thing: type) -> str:
    text = f"### {name}\n\n{_prose(thing)}\n\n"
    if issubclass(thing, enum.Enum):
        return text + "Values: " + ", ".join(code(item.value) for item in thing) + "\n\n"
    if not dataclasses.is_dataclass(thing):
        return text
    notes = _field_notes(thing)
    rows = [
        (code(item.name), code(str(item.type).replace("|", "or")), " ".join(notes.get(item.name, "").split()))
        for item in dataclasses.fields(thing)
    ]
    rows += [
        (code(key), "property", " ".join(_prose(value.fget).split()))
        for key, value in vars(thing).items()
        if isinstance(value, property)
    ]
    return text + table(("field", "type", "meaning"), rows)


def _prose(thing: Any) -> str:
    """The docstring, with its marks for code as Markdown has them."""
    text = inspect.getdoc(thing) or ""
    return re.sub(r":\w+:`([^`]+)`", r"`\1`", text).replace("``", "`")


def _field_notes(thing: type) -> dict[str, str]:
    """The string under each field, which Python itself forgets."""
    body = ast.parse(inspect.getsource(thing)).body[0]
    assert isinstance(body, ast.ClassDef)
    notes = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            notes[field.target.id] = str(after.value.value).replace("``", "`")
    return notes

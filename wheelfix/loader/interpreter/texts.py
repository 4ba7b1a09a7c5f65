"""Texts made from values: ``str``, f-strings and the ``%`` operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.winerrors import message_text
from wheelfix.loader.codereader.codebudget import MAX_TEXT
from wheelfix.loader.codereader.valuesize import is_wide_format
from wheelfix.loader.interpreter.evaluation import error
from wheelfix.loader.interpreter.namelookup import NameLookup
from wheelfix.loader.interpreter.objects import UNKNOWN, CodeClass, Instance, PyValue, WindowsPathValue, is_error

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable


class TextValues(NameLookup):
    """Makes texts of values that are known."""

    def text_of(self, value: PyValue) -> PyValue:
        """What ``str(value)`` gives."""
        if isinstance(value, WindowsPathValue):
            return value.text
        if isinstance(value, Instance):
            args: PyValue = value.attributes.get("args", UNKNOWN)
            code = value.attributes.get("winerror")
            if isinstance(code, int) and is_error(value.kind):
                return f"[WinError {code}] {message_text(code)}"
            plain = isinstance(args, tuple) and len(args) == 1 and isinstance(args[0], str)
            return args[0] if plain and "__str__" not in _methods(value.kind) else UNKNOWN
        return self.printed(str, value)

    def printed(self, how: Callable[[PyValue], str], value: PyValue) -> PyValue:
        """What ``str`` or ``repr`` gives for a value of Python's own."""
        return self.attempt(how, value) if self.is_plain(value) else UNKNOWN

    def visit_JoinedStr(self, node: ast.JoinedStr) -> PyValue:
        parts = [self.value(part) for part in node.values]
        known = all(isinstance(part, str) for part in parts) and sum(map(len, parts)) <= MAX_TEXT
        return "".join(parts) if known else UNKNOWN

    def visit_FormattedValue(self, node: ast.FormattedValue) -> PyValue:
        found = self.value(node.value)
        spec = self.value(node.format_spec) if node.format_spec is not None else ""
        if node.conversion in (ord("r"), ord("a")):
            return self.printed(repr, found) if spec == "" else UNKNOWN
        text = self.text_of(found)
        if spec == "" or not isinstance(spec, str) or len(spec) > 4 or not isinstance(found, str | int):
            return text if spec == "" else UNKNOWN
        try:
            return format(found, spec)
        except (TypeError, ValueError):
            return UNKNOWN

    def _percent(self, text: str | bytes, args: PyValue) -> PyValue:
        given = args if isinstance(args, tuple) else (args,)
        shown = tuple(one if isinstance(one, int | float | str) else self.text_of(one) for one in given)
        if isinstance(text, bytes) or not all(isinstance(one, int | float | str) for one in shown):
            return UNKNOWN
        if len(text) > MAX_TEXT or "%(" in text or is_wide_format(text) or not self.is_plain(shown):
            return UNKNOWN
        try:
            return text % shown
        except (TypeError, ValueError, OverflowError):
            raise error("TypeError", "format") from None


def _methods(kind: PyValue) -> set[str]:
    order = kind.order() if isinstance(kind, CodeClass) else ()
    return {name for one in order if isinstance(one, CodeClass) for name in one.names}

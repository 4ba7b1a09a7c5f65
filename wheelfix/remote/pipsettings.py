"""What pip is configured for: its variables, then the files of the environment, the user and the system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field
from wheelfix.remote.configfiles import pip_files, read_ini

if TYPE_CHECKING:
    from collections.abc import Mapping

_TRUE = ("1", "true", "yes", "on", "y", "t")


@dataclass(frozen=True, slots=True)
class PipSettings:
    """The values that pip would use, by the names of its options, and where each was set."""

    values: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return a value; empty where it is not set."""
        return self.values.get(name, "")

    def words(self, name: str) -> tuple[str, ...]:
        """Return a value that is a list; words in quotes may hold blanks, and backslashes are backslashes."""
        import shlex

        text = self.text(name)
        try:
            lexer = shlex.shlex(text, posix=True, punctuation_chars="")
            lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
            return tuple(lexer)
        except ValueError:
            return tuple(text.split())

    def switch(self, name: str) -> bool:
        """Whether an option that is on or off is on."""
        return self.text(name).lower() in _TRUE

    def source(self, *names: str) -> str:
        """Return where the first of some options was set; empty where none is."""
        return next((self.sources[name] for name in names if self.text(name)), "")


def pip_settings(environ: Mapping[str, str]) -> PipSettings:
    """Return what pip would use. Later sources win; an empty value counts as not set, as for pip."""
    values: dict[str, str] = {}
    sources: dict[str, str] = {}

    def take(found: Mapping[str, str], where: str) -> None:
        for key, value in found.items():
            name = key.lower().replace("_", "-").lstrip("-")
            if value.strip():
                values[name] = value.strip()
                sources[name] = where or f"PIP_{name.upper().replace('-', '_')}"

    for path in pip_files(environ):
        sections = read_ini(path)
        for section in ("global", "install", "download"):
            take(sections.get(section, {}), str(path))
    take({key[4:]: value for key, value in environ.items() if key.upper().startswith("PIP_")}, "")
    return PipSettings(values, sources)

"""An overview of what wheelfix knows: every table of ``wheelfix/knowledge`` with the source of every entry."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

from tools.markdown import NOTE, code, table
from wheelfix.knowledge.tables import entries, header_field, parse_toml, read_text, table_date

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRODUCTION = """\
# The tables

wheelfix decides from tables, not from names in its code. Each entry has its source: a vendor's document,
a public repository or issue (as `owner/name#number`), or a file that was read. The files are in `wheelfix/knowledge/`;
to correct an entry, change the file there. A test refuses entries without a source, and entries that contradict others.

"""

TITLES = {
    "companions.toml": "What DLLs load by name at run time",
    "families.toml": "Which DLLs belong together",
    "cuda.toml": "Names of CUDA's DLLs by toolkit",
    "cuda_libraries.toml": "Versions of CUDA's libraries by toolkit",
    "providers.toml": "Who ships a DLL",
    "distributions.toml": "Which distribution on PyPI ships a DLL",
    "runtimes.toml": "What machines have besides Windows",
    "cards.toml": "Graphics cards and architectures",
    "drivers.toml": "Drivers that CUDA needs, and last drivers of old cards",
    "toolchains.toml": "Builds of compilers, and the C++ runtime of each Python",
}
ELSEWHERE = {"winerrors.toml": "[WinError codes](winerrors.md)"}
CODE = frozenset({"parent", "pattern", "patterns", "each", "any_of", "globs", "together", "names", "folders", "name"})


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of the page."""
    files = sorted(item.name for item in resources.files("wheelfix.knowledge").iterdir())
    text = NOTE + INTRODUCTION
    for file in [*TITLES, *(name for name in files if name.endswith(".toml") and name not in {*TITLES, *ELSEWHERE})]:
        text += _section(file)
    text += "## Long lists\n\nOne name per line, made by scripts in `tools/`, which the head of each list names.\n\n"
    rows = [_listing(name) for name in files if name.endswith(".txt")]
    text += table(("file", "date", "entries", "what it is", "source"), rows)
    text += "".join(f"{where} are in `{file}`.\n" for file, where in ELSEWHERE.items())
    yield "reference/tables.md", text.rstrip() + "\n"


def _section(file: str) -> str:
    text = f"## {TITLES.get(file, file)}\n\n`{file}`, {table_date(file)}\n\n"
    for key, rows in parse_toml(file, read_text(file)).items():
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            columns = [*dict.fromkeys(name for row in rows for name in row if name != "source"), "source"]
            cells = [[_value(name, row.get(name, "")) for name in columns] for row in rows]
            heads = [name.replace("_", " ") for name in columns]
            text += f"### {key[0].upper()}{key[1:].replace('_', ' ')} ({len(rows)})\n\n{table(heads, cells)}"
    return text


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "\n".join(f"{key}: {code(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "\n".join(_value(name, item) for item in value)
    return code(value) if name in CODE else str(value)


def _listing(file: str) -> tuple[str, str, int, str, str]:
    text = read_text(file)
    about = text.partition("\n")[0].removeprefix("#").strip()
    return code(file), table_date(file), len(entries(text)), about, header_field(text, "source")

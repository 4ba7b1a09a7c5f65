"""What installers refuse in METADATA, WHEEL and entry_points.txt, each by its own rules.

The rules were found by running pip 26.3, uv 0.13.7 and installer 1.1.0; ``tests/archive/test_agreement.py`` runs them
again on generated wheels.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.archive.faults import INSTALLER, PIP, UV, ArchiveFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

METADATA_KINDS: dict[str, str] = {
    "metadata-invalid": "METADATA or WHEEL holds something that an installer refuses",
    "metadata-line": "a line of METADATA is not a field",
    "requires-python": "METADATA has a Requires-Python that is not valid",
    "entry-points-invalid": "entry_points.txt holds something that an installer refuses",
}
"""Every kind of fault that is found here, with its meaning."""

_FIELD = re.compile(r"([!-9;-~]*):")
SCRIPT_GROUPS = ("console_scripts", "gui_scripts")
NAME = "[A-Za-z0-9](?:[A-Za-z0-9._-]{0,99}[A-Za-z0-9])?"
_NUMBER = "[0-9]{1,9}"
_NUMBERS = rf"{_NUMBER}(?:\.{_NUMBER}){{0,9}}"
CLAUSE = rf"(?:[<>]=? ?{_NUMBERS}|[=!]= ?{_NUMBERS}(?:\.\*)?|~= ?{_NUMBER}\.{_NUMBERS})"
_REQUIREMENT = rf"{NAME}(?:\[(?P<extras>[^\]]{{1,999}})\])? ?(?P<clauses>.*)"
COMPARISON = (
    "(?:extra|os_name|sys_platform|platform_(?:machine|system|python_implementation)|python_(?:full_)?version"
    """|implementation_name) ?(?:[=!<>]=|[<>]) ?(?:"[\\w.+-]{1,60}"|'[\\w.+-]{1,60}')"""
)
MOST_PARTS = 20
"""Extras, clauses or comparisons of a requirement that has the usual form."""
_OBJECT = re.compile(r"[\w.]+\s*:\s*[\w.]+(?:\s*\[.*\])?\s*")
_OBJECT_FOR_PIP = re.compile(r"\w+(?:\.\w+)*:\w+")


def undecodable(data: bytes, name: str, rejected_by: tuple[str, ...]) -> Iterator[ArchiveFault]:
    """Give the fault of a file that is not UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as exc:
        message = f"the file is not UTF-8 ({exc.reason} at byte {exc.start})"
        yield ArchiveFault("metadata-invalid", name, message, rejected_by)


def line_faults(text: str, name: str) -> Iterator[ArchiveFault]:
    """Give the first line of METADATA that is not a field: Python's parser takes it for the end of all fields."""
    before: set[str] = set()
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        if not line:
            return
        if line[0] in " \t":
            continue
        field = _FIELD.match(line)
        if field is None:
            lost = not {"name", "version"} <= before
            message = f"line {number} is not a field, and pip reads nothing from there on"
            yield ArchiveFault("metadata-line", name, message, (PIP,) if lost else ())
            return
        before.add(field[1].lower())


MAX_ODD = 2000
"""Requirements that are read with packaging, which is slow; no package has a tenth of that."""


def requirement_faults(headers: Mapping[str, tuple[str, ...]], name: str) -> Iterator[ArchiveFault]:
    """Give the requirements in METADATA that cannot be read."""
    odd = 0
    for line in headers.get("requires-dist", ()):
        plain = _is_plain(line)
        odd += not plain
        if odd > MAX_ODD:
            message = f"more than {MAX_ODD} requirements are not plain; the others were not read"
            yield ArchiveFault("metadata-invalid", name, message, (PIP,))
            break
        if not plain and (reason := _why_no_requirement(line)):
            message = f"the requirement {line[:200]!r} cannot be read ({reason})"
            yield ArchiveFault("metadata-invalid", name, message, (PIP,))
    for line in headers.get("requires-python", ())[:1]:
        if line and not _is_list(CLAUSE, line) and not _is_specifier(line):
            # uv reads ">=3.8.*" as ">=3.8".
            by = () if _is_specifier(line.replace(".*", "")) else (UV,)
            message = f"Requires-Python {line[:200]!r} cannot be read; pip ignores it"
            yield ArchiveFault("requires-python", name, message, by)


def _is_plain(line: str) -> bool:
    """Whether a requirement has the usual form; others are read with packaging.

    It is taken apart before patterns see it: one pattern for the whole takes longer to compile than a wheel to read.
    """
    required, semicolon, marker = line.partition(";")
    found = re.fullmatch(_REQUIREMENT, required.rstrip(" "))
    if found is None or not (found["extras"] is None or _is_list(NAME, found["extras"])):
        return False
    clauses = found["clauses"]
    if clauses[:1] + clauses[-1:] == "()":
        clauses = clauses[1:-1] or "()"
    return (not clauses or _is_list(CLAUSE, clauses)) and (not semicolon or _is_plain_marker(marker.strip(" ")))


def _is_plain_marker(marker: str) -> bool:
    """Whether a condition is a list of comparisons, perhaps in parentheses with one more behind them."""
    if marker[:1] == "(":
        marker, closed, after = marker[1:].partition(")")
        last = re.match(" (?:and|or) ", after)
        if not closed or (after and (last is None or not re.fullmatch(COMPARISON, after[last.end() :]))):
            return False
    return _is_list(COMPARISON, marker, " (?:and|or) ")


def _is_list(part: str, text: str, between: str = " ?, ?") -> bool:
    """Whether a text consists of parts of one form."""
    parts = re.split(between, text, maxsplit=MOST_PARTS)
    return len(parts) <= MOST_PARTS and all(re.fullmatch(part, one) for one in parts)


def _why_no_requirement(line: str) -> str:
    from packaging.requirements import Requirement

    try:
        Requirement(line)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as exc:  # InvalidRequirement, or a number with more digits than Python reads
        return str(exc).partition("\n")[0]
    return ""


def _is_specifier(line: str) -> bool:
    from packaging.specifiers import SpecifierSet

    try:
        SpecifierSet(line)
    except ValueError:  # InvalidSpecifier, or a number with more digits than Python reads
        return False
    return True


def wheel_version_fault(version: str, spelled: bool, name: str) -> Iterator[ArchiveFault]:
    """Give the fault of a format version that not every installer accepts; ``spelled``: in the usual letters."""
    major, dot, _ = version.partition(".")
    by: list[str] = []
    numbers = version.split(".")
    if (
        not all(re.fullmatch(r"\s*[+-]?\d+(?:_\d+)*\s*", number) for number in numbers)
        or int(numbers[0].strip().replace("_", "")[:9]) > 1
    ):
        by.append(PIP)
    if not dot or major != "1" or not spelled:
        by.append(UV)
    if not version.startswith("1."):
        by.append(INSTALLER)
    if by:
        message = f"the format version is {version[:50]!r}; installers know 1.0"
        yield ArchiveFault("wheel-version", name, message, tuple(by))


def script_names(text: str) -> list[str]:
    """Return the names of the programs that entry points ask for, as pip reads them."""
    group, found = "", []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif group in SCRIPT_GROUPS and "=" in line and not line.startswith("#"):
            found.append(line.partition("=")[0].strip())
    return found


def entry_point_faults(data: bytes, name: str) -> Iterator[ArchiveFault]:
    """Give what is wrong with entry_points.txt."""
    everybody = (PIP, UV, INSTALLER)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        yield ArchiveFault("entry-points-invalid", name, "the file is not UTF-8", everybody)
        return
    begun = False
    for line in map(str.strip, text.splitlines()):
        heading = line.startswith("[") and line.endswith("]")
        begun = begun or heading  # pip passes over what precedes the first heading
        if begun and line and not heading and line[0] != "#" and "=" not in line:
            yield ArchiveFault("entry-points-invalid", name, f"the line {line[:100]!r} has no '='", (PIP,))
            break
    import configparser  # most wheels have no entry points

    parser = configparser.ConfigParser(delimiters="=", interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(text)
    except configparser.Error as exc:
        message = f"it is not a configuration file ({str(exc).splitlines()[0][:200]})"
        yield ArchiveFault("entry-points-invalid", name, message, (UV, INSTALLER))
        return
    for group in SCRIPT_GROUPS:
        if parser.has_section(group):
            yield from _script_faults(parser.items(group), name)


def _script_faults(scripts: Sequence[tuple[str, str]], name: str) -> Iterator[ArchiveFault]:
    for script, value in scripts:
        by = [] if _OBJECT_FOR_PIP.match(value) else [PIP]
        if _OBJECT.fullmatch(value) is None:
            by += [UV, INSTALLER]
        if by:
            message = f"the script {script!r} names no function: {value[:100]!r}"
            yield ArchiveFault("entry-points-invalid", name, message, tuple(by))
        steps = re.split(r"[/\\]", script)
        if len(steps) > 1 or script in {".", ".."}:
            outside = steps[0] in {"", ".."} or script in {".", ".."}
            message = f"the script {script!r} lies in another folder"
            yield ArchiveFault("entry-points-invalid", name, message, (PIP, UV, INSTALLER) if outside else (UV,))

"""Writes since which build of Windows functions exist; run by hand when Microsoft's documentation has changed.

    python -m tools.make_windows_since --docs SDK_API --older 16299=SDK_HEADERS --older 17134=MINGW_DEFS

SDK_API is a checkout of MicrosoftDocs/sdk-api: the front matter of each page about a function names its DLLs and the
first release of Windows, for clients and for servers; the older of both counts. Nothing else is taken from the pages.

The pages are not always correct, so two things are left out:

* "Windows 10 Build 20348" for clients and servers alike. Generated pages have it, also about functions of Windows 95.
* A function that an older source already has. ``--older BUILD=FOLDER`` names headers of a Windows SDK, or ``.def``
  files of a release of mingw-w64, that are as old as BUILD.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.knowledge.targets import RELEASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TABLE = Path(__file__).parent.parent / "wheelfix" / "knowledge" / "windows_since.txt"
HEADER = """\
# Since which build of Windows a DLL exports functions: DLL, build, functions. Nothing older than Windows 8.
# source: MicrosoftDocs/sdk-api {commit}, minimum supported client and server of each function
# date: {date}
# left out where an older source has the function: {older}
# made by tools/make_windows_since.py; do not edit by hand
"""
PLACEHOLDER = "Windows 10 Build 20348"
BACKPORTED = {"GetTempPath2A", "GetTempPath2W"}
"""Their pages contradict each other (19044 and 20348), and updates have brought them to older releases."""
VERSIONS = {name.removeprefix("Windows 10 "): build for build, name in RELEASES.items() if "Windows 10 " in name}
SERVERS = {"2012 R2": 9600, "2012": 9200, "2016": 14393, "2019": 17763, "2022": 20348, "2025": 26100}
OLD = re.compile(r"Vista|XP|Windows 2000|Windows 7|Windows NT|Windows 95|Server 200[38]|Platform Update")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")


def build_of(text: str) -> int | None:
    """Return the build that a text about the oldest release means: 0 for all before Windows 8, None for none."""
    if OLD.search(text):
        return 0
    found = re.search(r"[Bb]uild (?:10\.0\.)?(\d{5})", text)
    if found:
        return int(found[1])
    named = re.search(r"Windows Server,? (?:version )?(20\d\d(?: R2)?)", text)
    if named and named[1] in SERVERS:
        return SERVERS[named[1]]
    named = re.search(r"version (\d{4}|\d\dH\d)", text)
    if named and named[1] in VERSIONS and "Windows 11" not in text:
        return VERSIONS[named[1]]
    for words, build in (("2022 Update", 22621), ("Windows 11", 22000), ("Windows 10", 10240), ("8.1", 9600)):
        if words in text:
            return build
    return 9200 if "Windows 8" in text else None


def field_of(front: str, key: str) -> str:
    """Return a value of the front matter."""
    found = re.search(rf"^{re.escape(key)}:[ ]*(.*)$", front, re.MULTILINE)
    return found[1].strip() if found else ""


def items_of(front: str, key: str) -> list[str]:
    """Return a list of the front matter."""
    found = re.search(rf"^{key}:\n((?: *- .*\n?)+)", front, re.MULTILINE)
    return [item.strip() for item in re.findall(r"^ *- *(.*)$", found[1], re.MULTILINE)] if found else []


def functions(folder: Path) -> Iterator[tuple[str, str, int]]:
    """Yield DLL, function and build of every page."""
    for page in sorted(folder.rglob("nf-*.md")):
        front = page.read_text(encoding="utf-8", errors="replace")[:6000].replace("\xa0", " ").replace("\r", "")
        if field_of(front, "UID").count(".") != 1 or "DllExport" not in items_of(front, "api_type"):
            continue
        texts = [field_of(front, f"req.target-min-winver{side}") for side in ("clnt", "svr")]
        if texts == [PLACEHOLDER, PLACEHOLDER]:
            continue
        builds = [build for build in map(build_of, texts) if build is not None]
        if not builds or min(builds) < min(RELEASES):
            continue
        own = field_of(front, "req.dll")
        for place in {own, *items_of(front, "api_location")}:
            for dll in re.findall(r"[a-z0-9._-]+\.dll", place.lower()):
                yield from ((dll, name, min(builds)) for name in items_of(front, "api_name") if WORD.fullmatch(name))


def words_of(folder: Path) -> set[str]:
    """Return every word of the headers and lists of exports in a folder."""
    found: set[str] = set()
    for path in folder.rglob("*"):
        if path.suffix.lower() in (".h", ".def", ".in", ".idl"):
            found.update(WORD.findall(path.read_text(encoding="latin-1")))
    return found


def render(rows: Iterable[tuple[str, str, int]], older: list[tuple[int, str, set[str]]], commit: str, date: str) -> str:
    """Return the table."""
    oldest: dict[tuple[str, str], int] = {}
    for dll, name, build in rows:
        if name not in BACKPORTED and not any(known < build and name in words for known, _, words in older):
            oldest[dll, name] = min(build, oldest.get((dll, name), build))
    lines: dict[tuple[str, int], list[str]] = {}
    for (dll, name), build in sorted(oldest.items()):
        lines.setdefault((dll, build), []).append(name)
    text = "; ".join(f"{what} ({build})" for build, what, _ in older)
    body = "".join(f"{dll} {build} {' '.join(names)}\n" for (dll, build), names in sorted(lines.items()))
    return HEADER.format(commit=commit, date=date, older=text) + body


def main(argv: list[str]) -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, required=True, help="a checkout of MicrosoftDocs/sdk-api")
    parser.add_argument("--commit", required=True, help="its commit, for the header")
    parser.add_argument("--date", required=True, help="the date of that commit")
    parser.add_argument("--older", action="append", default=[], metavar="BUILD=NAME=FOLDER")
    options = parser.parse_args(argv)
    older = []
    for word in options.older:
        build, name, folder = word.split("=", 2)
        older.append((int(build), name, words_of(Path(folder))))
    text = render(functions(options.docs), older, options.commit, options.date)
    TABLE.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Writes the list of a target from a System32 folder, as ``tools/windows_target.ps1`` does on Windows.

    python -m tools.make_target_list -o build-server.txt
    python -m tools.make_target_list FOLDER --name wine --title "Wine 8.0" -o wine.txt
    python -m tools.make_target_list --imports java.exe jvm.dll --source "why it is known that they run there"

The first is for the Windows on which it runs. The second is for what can be read from another system: Wine's DLLs, a
mounted disk, an unpacked container image. The third prints a section of what a machine must have if these programs run
on it. FOLDER is ``System32``, or ``.../wine/x86_64-windows`` of a Wine package. The format is described in
docs/howto/targets.md.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.knowledge.system import classify
from wheelfix.model import Image, Machine
from wheelfix.pe.image import read_headers, read_image
from wheelfix.pe.version import read_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ENDINGS = (".acm", ".ax", ".cpl", ".dll", ".drv", ".ocx")
WIDTH = 116


class _Bytes:
    """A file in memory, as the reader of images asks for it."""

    def __init__(self, data: bytes) -> None:
        self.data, self.size = data, len(data)

    def read_at(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


def api_sets(data: bytes) -> list[str]:
    """Return the API sets that a schema, the section ``.apiset`` of apisetschema.dll, has a host for.

    Version 6 is that of Windows 10 and later: seven numbers, then entries of six, and values of five.
    """
    section = next((one for one in read_headers(_Bytes(data)).sections if one.name == ".apiset"), None)
    if section is None:
        return []
    schema = data[section.offset : section.offset + section.size]
    version, _, _, count, entries = struct.unpack_from("<5I", schema)
    if version != 6:
        return []
    found = []
    for number in range(count):
        _, name, length, _, value, values = struct.unpack_from("<6I", schema, entries + 24 * number)
        hosted = any(struct.unpack_from("<5I", schema, value + 20 * index)[4] for index in range(values))
        if hosted:
            found.append(schema[name : name + length].decode("utf-16-le").lower() + ".dll")
    return sorted(found)


def ranges(numbers: Iterable[int]) -> Iterator[str]:
    """Yield ordinals as ``@1-207``."""
    first = last = -1
    for number in sorted(numbers):
        if number == last + 1:
            last = number
            continue
        if first >= 0:
            yield f"@{first}-{last}" if last > first else f"@{first}"
        first = last = number
    if first >= 0:
        yield f"@{first}-{last}" if last > first else f"@{first}"


def wrapped(words: Iterable[str]) -> Iterator[str]:
    """Yield indented lines of words."""
    line = ""
    for word in words:
        if line and len(line) + len(word) + 1 > WIDTH:
            yield line
            line = ""
        line += f" {word}"
    if line:
        yield line


def machine_of(folder: Path) -> Machine | None:
    """Return the processor that a System32 folder is for, as its kernel32.dll says."""
    kernel = folder / "kernel32.dll"
    image = read_image(_Bytes(kernel.read_bytes())) if kernel.is_file() else None
    return image.machine if isinstance(image, Image) else None


def describe(values: Mapping[str, object]) -> dict[str, str]:
    """Return name, title, build and source for what the registry says about a Windows."""
    build, edition = str(values.get("CurrentBuildNumber", "0")), str(values.get("EditionID", "unknown"))
    exact, kind = f"{build}.{values.get('UBR', 0)}", str(values.get("InstallationType", ""))
    return {
        "name": re.sub(r"[^A-Za-z0-9._-]", "-", f"{edition}-{build}".lower()),
        "title": f"Windows build {exact}, {edition} {kind}".rstrip(),
        "build": build,
        "source": f"tools/make_target_list.py on build {exact}, {edition}",
    }


def registry() -> dict[str, object]:
    """Return what the registry of this machine says about its Windows; nothing on other systems."""
    if sys.platform != "win32":
        return {}
    import winreg

    found: dict[str, object] = {}
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SOFTWARE\Microsoft\Windows NT\CurrentVersion") as key:
        for name in ("CurrentBuildNumber", "EditionID", "InstallationType", "UBR"):
            try:
                found[name] = winreg.QueryValueEx(key, name)[0]
            except OSError:  # older releases do not have all of them
                continue
    return found


def entries(folder: Path, machine: Machine, *, exports: bool) -> Iterator[str]:
    """Yield the lines of every DLL for a processor."""
    for path in sorted(folder.iterdir(), key=lambda one: one.name.lower()):
        if not path.name.lower().endswith(ENDINGS) or not path.is_file():
            continue
        source = _Bytes(path.read_bytes())
        image = read_image(source)
        if not isinstance(image, Image) or image.machine is not machine:
            continue
        version = read_version(source)
        yield f"{path.name.lower()} {version}" if version is not None and any(version.file) else path.name.lower()
        if exports and classify(path.name, machine).kind in ("system", "ucrt"):  # others are judged without a target
            yield from wrapped([*sorted(image.exports.names), *ranges(image.exports.ordinals)])


def imported(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the DLLs of Windows that programs import when they are loaded, each with the functions."""
    found: dict[str, set[str | int]] = {}
    for path in paths:
        image = read_image(_Bytes(path.read_bytes()))
        if not isinstance(image, Image):
            raise SystemExit(f"{path} is not a program or DLL of Windows")
        for item in image.imports:
            if classify(item.dll, image.machine).kind == "system":
                found.setdefault(item.dll.lower(), set()).update(item.symbols)
    for name in sorted(found):
        yield name
        names = sorted(symbol for symbol in found[name] if isinstance(symbol, str))
        yield from wrapped([*names, *ranges(symbol for symbol in found[name] if isinstance(symbol, int))])


def render(folder: Path, options: argparse.Namespace) -> str:
    """Return the list."""
    machine = Machine(options.machine)
    lines = [
        "wheelfix target 1",
        f"name: {options.name}",
        f"title: {options.title}",
        f"build: {options.build}",
        f"date: {options.date}",
        "base: none",
        *(["binding: call"] if options.wine else []),
        f"machine: {options.machine}",
        "",
        "[has]",
        f"source: {options.source}",
        f"date: {options.date}",
        *entries(folder, machine, exports=not options.no_exports),
    ]
    schema = folder / "apisetschema.dll"
    contracts = api_sets(schema.read_bytes()) if schema.is_file() else []
    if contracts:
        lines += ["", "[api sets]", f"source: {options.source}, apisetschema.dll", f"date: {options.date}", *contracts]
    return "\n".join(lines) + "\n"


def complete(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.Namespace:
    """Fill in what was not given: from this Windows for a list of it, else from the folder."""
    own = describe(registry()) if options.folder is None else {}
    if options.folder is None:
        if sys.platform != "win32":
            parser.error("this is not Windows: name a folder, as in FOLDER --name NAME --title TITLE")
        options.folder = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32")
    elif not (options.name and options.title):
        parser.error("a folder needs --name and --title")
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is not a folder")
    options.name, options.title = options.name or own["name"], options.title or own["title"]
    options.source = options.source or own.get("source", "tools/make_target_list.py")
    options.build = options.build if options.build is not None else int(own.get("build", 0))
    options.machine = options.machine or (machine_of(options.folder) or Machine.AMD64).value
    return options


def main(argv: list[str]) -> int:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="by default System32 of this Windows")
    parser.add_argument("--name", help="by default the edition and the build of this Windows")
    parser.add_argument("--title")
    parser.add_argument("--source")
    parser.add_argument("--build", type=int)
    parser.add_argument("--date", default=datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat())
    parser.add_argument("--machine", choices=["amd64", "x86", "arm64"], help="by default that of kernel32.dll")
    parser.add_argument("--wine", action="store_true", help="a function that is missing fails when it is called")
    parser.add_argument("--no-exports", action="store_true", help="names and versions only")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--imports", type=Path, nargs="+", metavar="FILE", help="programs that run on such a machine")
    options = parser.parse_args(argv)
    if options.imports:
        text = "\n".join(
            ["[has some]", f"source: {options.source}", f"date: {options.date}", *imported(options.imports)]
        )
        text += "\n"
    else:
        options = complete(parser, options)
        text = render(options.folder, options)
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

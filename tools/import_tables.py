"""What the import tables of a wheel say about its DLLs, read with pefile and without wheelfix's loader.

The answers are simple on purpose: they are compared with those of wheelfix, and a second loader model would have the
faults of the first.
"""

from __future__ import annotations

import ast
import functools
import re
import zipfile
from dataclasses import dataclass, field
from email.parser import HeaderParser
from pathlib import Path
from typing import TYPE_CHECKING

import pefile
from packaging.markers import UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLES = Path(__file__).resolve().parent.parent / "wheelfix" / "knowledge"
_AMD64 = 0x8664
_IMPORTS = pefile.DIRECTORY_ENTRY["IMAGE_DIRECTORY_ENTRY_IMPORT"]
_DELAYED = pefile.DIRECTORY_ENTRY["IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT"]
_RUNTIME = re.compile(r"(?:vcruntime140|msvcp140|concrt140|vccorlib140|vcomp140|vcamp140|mfc140)\w*\.dll")
_PYTHON = re.compile(r"python3\d*t?\.dll")
_DRIVERS = frozenset({"opencl.dll", "vulkan-1.dll", "nvcuda.dll", "nvml.dll"})
_TESTS = re.compile(r"(?:^|/)(?:tests?|testing|_tests?|\w+_tests?)/", re.IGNORECASE)
_MODULE = re.compile(r"(?P<name>[^.]+)(?:\.cp(?P<python>3\d+)t?-win_amd64)?\.pyd", re.IGNORECASE)
_CATCHES = frozenset({"ImportError", "Exception", "BaseException"})
MOST_CODE = 3 << 20
"""Bytes of Python code that are searched for imports of modules and names of DLLs, per file."""


@dataclass(frozen=True)
class Tables:
    """The import tables of one image."""

    path: str
    """As installed, seen from site-packages."""
    imports: frozenset[str]
    """Names of DLLs, in lower case."""
    delayed: frozenset[str]

    @property
    def base(self) -> str:
        """The name of the file, in lower case."""
        return self.path.rpartition("/")[2].lower()


@dataclass
class WheelTables:
    """The images for amd64 of a wheel, and what METADATA requires."""

    images: dict[str, Tables] = field(default_factory=dict)
    """By member of the archive."""
    code: dict[str, str] = field(default_factory=dict)
    """The Python files, by path below the prefix."""
    requires: frozenset[str] = frozenset()
    """Canonical names of what is required on Windows without an extra."""
    python: str = "311"
    """The Python that imports the wheel, as in its tag."""

    @functools.cached_property
    def modules(self) -> dict[str, str]:
        """Extension modules that this Python can import, outside of tests: member and dotted name."""
        found = {}
        for member, image in self.images.items():
            folder, _, name = image.path.rpartition("/")
            match = _MODULE.fullmatch(name)
            if match is None or match["python"] not in (None, self.python) or _TESTS.search(image.path):
                continue
            parts = [*(folder.split("/") if folder else ()), match["name"]]
            if all(part.isidentifier() for part in parts):
                found[member] = ".".join(parts)
        return found

    @functools.cached_property
    def _by_name(self) -> dict[str, list[Tables]]:
        found: dict[str, list[Tables]] = {}
        for image in self.images.values():
            found.setdefault(image.base, []).append(image)
        return found

    def closure(self, member: str) -> set[str]:
        """The base names of the files of the wheel that loading a member also loads, by their import tables."""
        by_name = self._by_name
        reached: set[str] = set()
        waiting = [self.images[member]]
        while waiting:
            for name in waiting.pop().imports - reached:
                if name in by_name:
                    reached.add(name)
                    waiting += by_name[name]
        return reached

    @functools.cached_property
    def closures(self) -> dict[str, set[str]]:
        """The closure of each module."""
        return {member: self.closure(member) for member in self.modules}

    def reached_by(self, dll: str) -> list[str]:
        """The modules whose closure has a DLL of this base name."""
        return [member for member, names in self.closures.items() if dll.lower() in names]

    def is_guarded(self, member: str) -> bool:
        """Whether the wheel's code imports a module, and each time where a failure is caught and not raised again."""
        return self._guards.get(self.modules[member], False)

    @functools.cached_property
    def _guards(self) -> dict[str, bool]:
        wanted = set(self.modules.values())
        found: dict[str, bool] = {}
        for path, text in self.code.items():
            if not _TESTS.search(path) and any(name.rpartition(".")[2] in text for name in wanted):
                for name, caught in _imports_of(path, text):
                    if name in wanted:
                        found[name] = found.get(name, True) and caught
        return found

    def unprovided(self, member: str) -> set[str]:
        """The names that a module's closure imports and that nothing provides that is known here."""
        own, closure = set(self._by_name), self.closure(member)
        near = [image for image in self.images.values() if image.base in closure]
        names = {name for image in (self.images[member], *near) for name in image.imports} - own
        return {name for name in names if not is_provided(name) and not providers(name) & all_required(self.requires)}


def read_tables(wheel: Path) -> WheelTables:
    """Read the images, the Python code and METADATA of a wheel."""
    found = WheelTables()
    tag = re.search(r"-cp(3\d+)-(?:cp\1t?|none)-", wheel.name)
    found.python = tag[1] if tag else "311"
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            path = installed_path(info.filename)
            if path is None or info.is_dir():
                continue
            if path.lower().endswith((".dll", ".pyd", ".exe")):
                tables = _tables(path, archive.read(info))
                if tables is not None:
                    found.images[info.filename] = tables
            elif path.endswith(".py") and info.file_size <= MOST_CODE:
                found.code[path] = archive.read(info).decode("utf-8", "replace")
            elif re.fullmatch(r"[^/]+\.dist-info/METADATA", path):
                found.requires = frozenset(_requires(archive.read(info).decode("utf-8", "replace")))
    return found


def installed_path(member: str) -> str | None:
    """Where a member lies, seen from site-packages; None for scripts and headers."""
    top, _, rest = member.partition("/")
    if not top.endswith(".data"):
        return member
    scheme, _, rest = rest.partition("/")
    if scheme == "data":
        return f"../../{rest}"
    return rest if scheme in ("platlib", "purelib") else None


def _tables(path: str, data: bytes) -> Tables | None:
    """The tables of an image for amd64; None for anything else."""
    try:
        with pefile.PE(data=data, fast_load=True) as image:
            if image.FILE_HEADER.Machine != _AMD64:
                return None
            image.parse_data_directories([_IMPORTS, _DELAYED], import_dllnames_only=True)
            imports = _names(getattr(image, "DIRECTORY_ENTRY_IMPORT", ()))
            delayed = _names(getattr(image, "DIRECTORY_ENTRY_DELAY_IMPORT", ()))
    except (pefile.PEFormatError, ValueError, IndexError):
        return None
    return Tables(path, imports, delayed)


def _names(entries: object) -> frozenset[str]:
    return frozenset(entry.dll.decode("latin-1").lower() for entry in entries if entry.dll)  # type: ignore[attr-defined]


def _requires(metadata: str) -> Iterator[str]:
    here = {"platform_system": "Windows", "sys_platform": "win32", "os_name": "nt", "extra": ""}
    for text in HeaderParser().parsestr(metadata).get_all("Requires-Dist") or ():
        try:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate(here):
                yield canonicalize_name(requirement.name)
        except (InvalidRequirement, UndefinedEnvironmentName):
            continue


def is_provided(dll: str) -> bool:
    """Whether Windows, Python, a driver or the Visual C++ runtime of 2015 and later has a DLL of this name."""
    name = dll.lower()
    if name in _DRIVERS:
        return True
    if name.startswith(("api-ms-win-", "ext-ms-")) or _RUNTIME.fullmatch(name) or _PYTHON.fullmatch(name):
        return True
    return name in _listed("system_amd64.txt")


def providers(dll: str) -> frozenset[str]:
    """The distributions on PyPI that ship a DLL of this name, by the table that is made from their directories."""
    line = _listed("provider_dlls.txt").get(dll.lower(), "")
    return frozenset(canonicalize_name(part.partition(":")[0]) for part in line.split("\t") if part)


def all_required(names: frozenset[str]) -> frozenset[str]:
    """The names, and what any version of these requires, and so on, as far as the same table knows."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            fields = _listed("provider_distributions.txt").get(name, "").split("\t")
            required = fields[2].split() if len(fields) > 2 else ()
            waiting += [canonicalize_name(re.split(r"[@=<>!~\[]", text)[0]) for text in required]
    return frozenset(found)


@functools.cache
def _listed(name: str) -> dict[str, str]:
    """A table of wheelfix as data: what is before the first tab, and what is behind it."""
    lines = (_TABLES / name).read_text(encoding="utf-8").splitlines()
    split = (line.partition("\t") for line in lines if line and not line.startswith("#"))
    return {key: rest for key, _, rest in split}


# --------------------------------------------------------------------------------------------- imports in Python code


def _imports_of(path: str, text: str) -> Iterator[tuple[str, bool]]:
    """The dotted names that a Python file imports, each with whether a failure is caught there."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    package = path.removesuffix(".py").split("/")[:-1]
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, caught = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, caught) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base, caught
            yield from ((f"{base}.{alias.name}" if base else alias.name, caught) for alias in node.names)
        elif isinstance(node, ast.Try):
            inner = caught or any(map(_catches, node.handlers))
            waiting += [(child, inner) for child in node.body]
            rest = [*node.handlers, *node.orelse, *node.finalbody]
            waiting += [(child, caught) for child in rest]
        elif isinstance(node, ast.With):
            inner = caught or any("suppress" in ast.dump(item.context_expr) for item in node.items)
            waiting += [(child, inner) for child in node.body]
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            waiting += [(child, caught) for child in ast.iter_child_nodes(node)]


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler ends the failure of an import."""
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else _CATCHES
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(handler))
    return bool(names & _CATCHES) and not raises

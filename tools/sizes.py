"""How large wheelfix is, and how its modules hang together, beside other tools of the field.

``python -m tools.sizes [--modules]`` prints the figures of ``wheelfix/`` and ``tests/``, with a row for each room;
``--modules`` also prints a row for each module. ``--peers [FOLDER]`` adds those of installer, auditwheel, pip and mypy,
from their wheels in a folder; without one, pip downloads them.

Tokens are those of Python's tokenizer without comments, line ends and indentation. A chain of base classes counts the
classes of the same package that a class has above it. A small scan is that of a correct wheel with one module.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tempfile
import tokenize
import zipfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.wheels import build_wheel
from tools.forge import forge_dll

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).resolve().parents[1]
PEERS = ("installer", "auditwheel", "pip", "mypy")
VENDORED = ("pip._vendor", "mypy.typeshed")
"""Code in peers' wheels that others wrote."""
NOT_COUNTED = {
    *(tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.COMMENT, tokenize.ENCODING, tokenize.ENDMARKER),
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
RUN = """
import sys
from wheelfix.cli.main import main
code = main(["scan", "--no-config", sys.argv[1]])
print("modules after exit code", int(code), *sorted(sys.modules), sep="\\n")
"""


@dataclass
class Module:
    """One Python file of a package."""

    name: str
    """``wheelfix.pe.image``; of a package's ``__init__.py`` the package's name."""
    text: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> int:
        """All lines, also empty ones."""
        return len(self.text.splitlines())

    @cached_property
    def tokens(self) -> int:
        """The tokens that the interpreter acts on, docstrings included."""
        found = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return sum(token.type not in NOT_COUNTED for token in found)

    @cached_property
    def inner_imports(self) -> int:
        """The import statements inside functions."""
        functions = (node for node in ast.walk(self.tree) if isinstance(node, FUNCTIONS))
        return len(
            {id(node) for one in functions for node in ast.walk(one) if isinstance(node, (ast.Import, ast.ImportFrom))}
        )

    @property
    def room(self) -> str:
        """The folder below the package, or the package."""
        parts = self.name.split(".")
        return ".".join(parts[:2]) if len(parts) > 2 or (self.is_package and len(parts) == 2) else f"{parts[0]} (top)"

    def absolute(self, node: ast.ImportFrom) -> str:
        """The full name of the module that a ``from`` names."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        parts = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def imported(self) -> Iterator[tuple[str, str, str]]:
        """Every import, wherever it stands: the module, the name in it or nothing, and what it is called here."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for one in node.names:
                    yield one.name, "", one.asname or one.name
            elif isinstance(node, ast.ImportFrom):
                for one in node.names:
                    yield self.absolute(node), one.name, one.asname or one.name


class Package:
    """The modules of a package and what they have to do with one another."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self.modules = {module.name: module for module in modules}

    @classmethod
    def from_folder(cls, folder: Path) -> Package:
        """Read a folder of sources."""
        files = (path for path in sorted(folder.rglob("*.py")) if "__pycache__" not in path.parts)
        return cls(_module(path.relative_to(folder.parent).as_posix(), path.read_bytes()) for path in files)

    @classmethod
    def from_wheel(cls, wheel: Path) -> Package:
        """Read a wheel, without what it vendors."""
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(".py") and ".dist-info/" not in name]
            modules = [_module(name, archive.read(name)) for name in names]
        project = wheel.name.partition("-")[0]
        return cls(one for one in modules if one.name.split(".")[0] == project and not one.name.startswith(VENDORED))

    def importers(self) -> dict[str, set[str]]:
        """Which modules import each module, wherever the statement stands."""
        found: dict[str, set[str]] = {name: set() for name in self.modules}
        for module in self.modules.values():
            for target, name, _ in module.imported():
                whole = f"{target}.{name}" if f"{target}.{name}" in self.modules else target
                if whole in found and whole != module.name:
                    found[whole].add(module.name)
        return found

    def with_one_importer(self) -> list[str]:
        """The modules that only one other module imports; packages do not count."""
        return [
            name
            for name, importers in self.importers().items()
            if len(importers) == 1 and not self.modules[name].is_package
        ]

    @cached_property
    def longest_chain(self) -> list[str]:
        """The class with the most classes of this package above it, and these."""
        classes = {
            f"{module.name}.{node.name}": (module, node)
            for module in self.modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef)
        }
        names = {
            f"{module.name}.{here}": f"{target}.{name}".rstrip(".")
            for module in self.modules.values()
            for target, name, here in module.imported()
        }

        def resolved(module: Module, base: ast.expr) -> str:
            whole = f"{module.name}.{ast.unparse(base.value if isinstance(base, ast.Subscript) else base)}"
            for _ in range(9):  # through names that packages offer
                if whole in classes:
                    return whole
                parts = whole.split(".")
                starts = (".".join(parts[:length]) for length in range(len(parts), 1, -1))
                start = next((one for one in starts if one in names), "")
                whole = names.get(start, "") + whole[len(start) :]
            return ""

        chains: dict[str, list[str]] = {}

        def chain(name: str) -> list[str]:
            if name not in chains:
                chains[name] = [name]  # a class that is its own base in the source, by a name that is used twice
                module, node = classes[name]
                bases = (resolved(module, base) for base in node.bases)
                above = max((chain(base) for base in bases if base in classes), key=len, default=[])
                chains[name] = [name, *above]
            return chains[name]

        return max((chain(name) for name in sorted(classes)), key=len, default=[])


def _module(path: str, data: bytes) -> Module:
    parts = path.removesuffix(".py").split("/")
    is_package = parts[-1] == "__init__"
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    text = data.decode(encoding).replace("\r\n", "\n")
    return Module(".".join(parts[:-1] if is_package else parts), text, is_package)


def small_scan() -> list[str]:
    """The modules of wheelfix that the scan of a small correct wheel imports."""
    files: dict[str, str | bytes] = {
        "pkg/__init__.py": "from pkg import _core\n",
        "pkg/_core.cp311-win_amd64.pyd": forge_dll(
            "_core.pyd", imports={"python311.dll": ["Py_IsInitialized"]}, exports=["PyInit__core"]
        ),
    }
    with tempfile.TemporaryDirectory() as place:
        wheel = build_wheel(Path(place), "pkg", "1.0", "cp311-cp311-win_amd64", files, requires=["attrs>=20"])
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(wheel)], cwd=HERE, capture_output=True, text=True, check=True
        )
    code, *modules = done.stdout.partition("modules after exit code\n")[2].splitlines()
    assert code == "0", done.stdout + done.stderr
    return [name for name in modules if name.partition(".")[0] == "wheelfix"]


def table(head: list[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """A Markdown table whose columns line up."""
    cells = [head, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "| "
        + " | ".join(
            text.rjust(width) if at else text.ljust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in cells
    ]
    lines.insert(
        1,
        "| " + " | ".join("-" * width if not at else "-" * (width - 1) + ":" for at, width in enumerate(widths)) + " |",
    )
    return lines


HEAD = ["", "modules", "lines", "tokens", "lines a module", "inner imports", "one importer", "base classes"]


def summary(name: str, package: Package) -> list[object]:
    """The figures of a package, as a row under HEAD."""
    modules = package.modules.values()
    lines = sum(module.lines for module in modules)
    return [
        name,
        len(modules),
        lines,
        sum(module.tokens for module in modules),
        round(lines / max(1, len(modules))),
        sum(module.inner_imports for module in modules),
        len(package.with_one_importer()),
        max(0, len(package.longest_chain) - 1),
    ]


def rooms(package: Package) -> Iterator[list[object]]:
    """Modules, lines, tokens and inner imports of each room, and of the package; the largest last."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for module in package.modules.values():
        found[module.room].update(
            modules=1, lines=module.lines, tokens=module.tokens, inner_imports=module.inner_imports
        )
    for room, counted in sorted(found.items(), key=lambda item: item[1]["tokens"]):
        yield [room, counted["modules"], counted["lines"], counted["tokens"], counted["inner_imports"]]


def peers(folder: Path | None) -> Iterator[tuple[str, Package]]:
    """The other tools, from their wheels in a folder or from the package index."""
    with tempfile.TemporaryDirectory() as place:
        if folder is None:
            folder = Path(place)
            # A wheel without compiled code has the sources in either case, and is the same everywhere.
            words = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest", place]
            subprocess.run([sys.executable, *words, "--only-binary=:all:", *PEERS], check=True)
        for name in PEERS:
            for wheel in sorted(folder.glob(f"{name}-*.whl")):
                yield "-".join(wheel.name.split("-")[:2]), Package.from_wheel(wheel)


def main(argv: list[str] | None = None) -> int:
    """Print the figures as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m tools.sizes", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--modules", action="store_true", help="a row for each module, too")
    parser.add_argument(
        "--peers", nargs="?", type=Path, const=None, default=False, metavar="FOLDER", help="other tools, too"
    )
    args = parser.parse_args(argv)
    ours = {name: Package.from_folder(HERE / name) for name in ("wheelfix", "tests")}
    others = list(peers(args.peers)) if args.peers is not False else []
    lines = table(HEAD, (summary(name, package) for name, package in [*ours.items(), *others]))
    package = ours["wheelfix"]
    lines += ["", f"A small scan imports {len(small_scan())} modules of wheelfix."]
    lines += [f"The longest chain of base classes: {' > '.join(package.longest_chain)}."]
    for name, one in ours.items():
        lines += ["", *table([name, "modules", "lines", "tokens", "inner imports"], rooms(one))]
    if args.modules:
        alone = set(package.with_one_importer())
        listed = sorted(package.modules.values(), key=lambda module: module.lines)
        rows = ([one.name, one.lines, one.tokens, one.inner_imports, "yes" * (one.name in alone)] for one in listed)
        lines += ["", *table(["module", "lines", "tokens", "inner imports", "one importer"], rows)]
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())

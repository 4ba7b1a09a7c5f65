"""Write ``wheelfix/knowledge/modules.txt``: which distribution has which top-level module, read from real wheels.

python -m tools.make_module_index FOLDER

FOLDER holds wheels (``python dev.py fetch --all`` fills one). Names that are in the table and not in the folder stay.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

from packaging.utils import canonicalize_name, parse_wheel_filename

from wheelfix.knowledge.modules import HEADER, parse_modules

TABLE = Path(__file__).parents[1] / "wheelfix" / "knowledge" / "modules.txt"
_NOT_MODULES = frozenset({"tests", "test", "docs", "examples", "share", "bin", "lib", "scripts", "include"})


def main(argv: list[str]) -> int:
    """Read the wheels and write the table."""
    if len(argv) != 1:
        print(__doc__)
        return 2
    found = {module: set(owners) for module, owners in parse_modules(TABLE.read_text(encoding="utf-8")).items()}
    for wheel in sorted(Path(argv[0]).glob("*.whl")):
        distribution = str(parse_wheel_filename(wheel.name)[0])
        for module in modules_of(wheel):
            found.setdefault(module, set()).add(canonicalize_name(distribution))
    lines = [f"{module} {' '.join(sorted(owners))}" for module, owners in sorted(found.items())]
    TABLE.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    print(f"{len(lines)} modules")
    return 0


def modules_of(wheel: Path) -> set[str]:
    """Return the names that installing a wheel makes importable."""
    names = set()
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            top, _, rest = member.partition("/")
            if top.endswith(".data"):
                scheme, _, rest = rest.partition("/")
                if scheme not in ("purelib", "platlib"):
                    continue
                top, _, rest = rest.partition("/")
            name = top.partition(".")[0]
            importable = rest.endswith((".py", ".pyd")) if rest else top.endswith((".py", ".pyd"))
            if importable and name.isidentifier() and name not in _NOT_MODULES:
                names.add(name)
    return names


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

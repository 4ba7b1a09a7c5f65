"""Makes the generated tables of ``wheelfix/knowledge`` again, and compares those made by hand with the package index.

    python -m tools.refresh                every table that the index is enough for, and the comparison
    python -m tools.refresh python torch   only these
    python -m tools.refresh --check        only the comparison; fails where the index is ahead of a table

It asks the index that pip uses; wheels are read by range requests. What was read of them is kept for a day in
``~/.cache/wheelfix``, so that a run that was stopped goes on where it was. The date of a table is the day on which it
was made last, also if nothing has changed since the time before. Tables from checkouts of other repositories are not
made here: :data:`FROM_CHECKOUTS` says how.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tools import make_provider_index, python_tables
from tools.heading import heading, today
from tools.package_index import IndexFault, IndexFile, PackageIndex
from tools.remote_wheel import requires_of
from wheelfix.knowledge import providers
from wheelfix.knowledge.cuda import FAMILY, cuda_table, published_builds
from wheelfix.knowledge.families import demangle, is_mangled
from wheelfix.knowledge.provider_index import provider_index
from wheelfix.knowledge.providers import (
    COMPILED_TABLE,
    module_owners,
    pip_packages,
)
from wheelfix.knowledge.system import python_exports, toolchains
from wheelfix.knowledge.tables import parse_toml, read_text
from wheelfix.model import Machine, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KNOWLEDGE = Path(__file__).parents[1] / "wheelfix" / "knowledge"
FROM_CHECKOUTS = {
    "api_sets.txt, known_dlls.txt, system_*.txt": "python -m tools.make_system_dlls --wine WINE --docs SDK_API",
    "card_names.txt": "python -m tools.make_card_names pci.ids COMPUTE_RUNTIME",
    "windows_since.txt": "python -m tools.make_windows_since --docs SDK_API --older BUILD=FOLDER",
    "runtime_needs.txt": "python -m tools.make_runtime_needs FOLDER",
    "member_hashes.txt": "python -m tools.make_member_hashes NAME==VERSION",
}
"""What is made from checkouts, or from whole wheels, and with what."""


def releases(index: PackageIndex, project: str) -> dict[Version, list[IndexFile]]:
    """Return the final releases of a project with their wheels, from old to new."""
    found: dict[Version, list[IndexFile]] = {}
    for file in index.files(project):
        try:
            version = Version(file.name.split("-")[1])
        except (InvalidVersion, IndexError):
            continue
        if file.name.endswith(".whl") and not file.yanked and not version.is_prerelease:
            found.setdefault(version, []).append(file)
    return dict(sorted(found.items()))


# ------------------------------------------------------------------------------------------------------------- torch


def requirements(index: PackageIndex, file: IndexFile) -> tuple[str, ...]:
    """Return what a wheel on the index requires on Windows."""
    with index.open(file.url) as opened, zipfile.ZipFile(opened) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return requires_of(archive.read(name).decode("utf-8", "replace"))


def torch_table(index: PackageIndex, folder: Path, date: str) -> dict[str, str]:
    """Return ``torch_builds.toml`` with what the releases of torch's own extensions require of it."""
    old = (KNOWLEDGE / "torch_builds.toml").read_text("utf-8")
    head, mark, known = old.partition("# Generated from here on")
    lines = [f"{mark}{known.splitlines()[0]}"]
    for distribution in FAMILY[1:]:
        lines += ["", f"[extensions.{distribution}]"]
        wheels = {
            version: next((file for file in files if "-win_amd64" in file.name), None)
            for version, files in releases(index, distribution).items()
        }
        wanted = {version: file for version, file in wheels.items() if file is not None and file.name}
        with ThreadPoolExecutor(8) as pool:
            needs = pool.map(lambda file: requirements(index, file), wanted.values())
        for version, required in zip(wanted, needs, strict=True):
            torch = next((one.removeprefix("torch") for one in required if re.match(r"torch(?![\w-])", one)), "")
            if torch and Version("1.12") <= Version(re.sub(r"[^0-9.]", "", torch.split(",")[0]).strip(".")):
                lines.append(f'"{version}" = "{torch}"')
    head = re.sub(r"^# date: .*$", f"# date: {date}", head, count=1, flags=re.MULTILINE)
    return {"torch_builds.toml": head + "\n".join(lines) + "\n"}


# -------------------------------------------------------------------------------------------------- modules of wheels


COMPILED = (
    "Compiled modules of packages for Windows: a package in a line, with the names of what is compiled below it, and "
    "of DLLs that its wheel has under names with a hash, without it."
)
COMMAND = "python -m tools.refresh modules"
_MODULE = re.compile(r"((?:[A-Za-z_]\w*/)*)([A-Za-z_]\w*)(?:\.(?:cp\d+[\w-]*|abi3t?|pypy[\w-]*|win_\w+|win32))?\.pyd")
_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/")


def compiled_modules(members: Iterable[str]) -> set[str]:
    """Return the dotted names of the extension modules among the members of a wheel; those at the top are left out.

    DLLs whose names have a hash are named below each package that has modules.
    """
    members = [_DATA.sub("", member, count=1) for member in members]
    found = filter(None, map(_MODULE.fullmatch, members))
    modules = {match[1].replace("/", ".") + match[2] for match in found if match[1]}
    hashed = [name for member in members if is_mangled(name := member.rpartition("/")[2])]
    tops = {module.partition(".")[0] for module in modules}
    return modules | {f"{top}.{demangle(dll_key(name))}" for top in tops for name in hashed}


def compiled_table(modules: Iterable[str], date: str) -> str:
    """Return ``compiled_modules.txt``: a top-level package in a line, with what is compiled below it."""
    below: dict[str, list[str]] = {}
    for module in sorted(modules):
        top, _, rest = module.partition(".")
        below.setdefault(top, []).append(rest)
    lines = (f"{top} {' '.join(below[top])}\n" for top in sorted(below))
    return heading(COMPILED, "the members of wheels on PyPI", COMMAND, date=date) + "".join(lines)


def modules_table(index: PackageIndex, folder: Path, date: str) -> dict[str, str]:
    """Return ``compiled_modules.txt`` with the newest releases of what is in it, and of the provider index.

    What is in it stays: names move between releases (numpy._core was numpy.core), and old ones are in use.
    """
    known = providers.compiled_modules()
    found = {f"{top}.{name}" for top, names in known.items() for name in names}
    wanted = {next(iter(module_owners().get(top, ())), canonicalize_name(top)) for top in known}
    wanted |= {owners[0] for owners in module_owners().values() if _for_windows(owners[0])}

    def newest_of(distribution: str) -> set[str]:
        versions = releases(index, distribution)
        return compiled_modules(members(index, versions[max(versions)] if versions else ()))

    with ThreadPoolExecutor(8) as pool:
        for more in pool.map(newest_of, sorted(wanted)):
            found |= more
    return {COMPILED_TABLE: compiled_table(found, date)}


def _for_windows(distribution: str) -> bool:
    """Whether a wheel for x64 Windows was looked at."""
    return any(wheel.machine is Machine.AMD64 for wheel in provider_index().looked_at(distribution))


def provider_tables(index: PackageIndex, folder: Path, date: str) -> dict[str, str]:
    """Return the tables about who ships which DLL."""
    if make_provider_index.main(["--output", str(folder)]):
        raise IndexFault("the provider index could not be made")
    return {path.name: path.read_text("utf-8") for path in folder.glob("*.txt")}


MAKERS = {
    "python": python_tables.make,
    "torch": torch_table,
    "modules": modules_table,
    "providers": provider_tables,
}
"""What can be made from the index alone, the quick ones first."""


# ---------------------------------------------------------------------------------------------------- tables by hand


def newest(index: PackageIndex, project: str) -> Version:
    """Return the newest final release of a project that has wheels."""
    found = releases(index, project)
    if not found:
        raise IndexFault(f"{project} has no wheels on the index")
    return max(found)


def members(index: PackageIndex, files: Iterable[IndexFile]) -> list[str]:
    """Return the members of the wheel for x64 among some files; none without one."""
    wheel = next((file for file in files if "-win_amd64" in file.name), None)
    if wheel is None:
        return []
    with index.open(wheel.url) as opened, zipfile.ZipFile(opened) as archive:
        return archive.namelist()


def _newest_known(texts: Iterable[str]) -> Version:
    return max(map(Version, texts), default=Version("0"))


def newest_python(index: PackageIndex) -> Version:
    """Return the newest Python that a wheel of NumPy for Windows is for."""
    names = [file.name for files in releases(index, "numpy").values() for file in files if "-win_amd64" in file.name]
    return max(Version(f"3.{minor}") for name in names for minor in re.findall(r"-cp3(\d+)-", name))


_CUPTI = re.compile(r"cupti64_(\d+\.[0-9.]+)\.dll")


def comparisons(index: PackageIndex) -> Iterator[tuple[str, str, Version, Version]]:
    """Yield table, what is compared, the newest that the table knows, and the newest on the index."""
    known = Version(".".join(map(str, max(published_builds()))))
    yield "torch_builds.toml", "torch", known, newest(index, "torch")
    yield "python_exports.txt", "Python", Version(".".join(map(str, max(python_exports())))), newest_python(index)
    table = cuda_table()
    toolkit = _newest_known("{}.{}".format(*one) for one in table.releases)
    yield "cuda.toml", "CUDA", toolkit, newest(index, "nvidia-cuda-runtime")
    cupti = releases(index, "nvidia-cuda-cupti")
    names = [name for name in members(index, cupti[max(cupti)]) if "cupti64_" in name]
    known, there = (_newest_known(_CUPTI.findall(" ".join(one))) for one in (table.cupti.values(), names))
    yield "cuda.toml", "CUPTI", known, there
    rows = parse_toml("cuda_libraries.toml", read_text("cuda_libraries.toml"))["toolkit"]
    yield "cuda_libraries.toml", "toolkit", _newest_known(row["cuda"] for row in rows), newest(index, "cuda-toolkit")
    toolset = _newest_known("{}.{}".format(*toolset) for _, toolset in toolchains().compilers)
    yield "toolchains.toml", "Visual C++ runtime", toolset, newest(index, "msvc-runtime")


NAMED = re.compile(r"(?<![\w.-])([a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)==([0-9][0-9.]*(?:\.\*)?)(?![\w.*])")


def named_releases() -> dict[str, set[str]]:
    """Return the releases that our texts and the hints about CUDA name, as ``name==1.2``, by project."""
    package, docs = KNOWLEDGE.parent, KNOWLEDGE.parents[1] / "docs"
    texts = [path.read_text("utf-8") for path in (*docs.glob("howto/*.md"), *package.glob("rules/pages/*.md"))]
    table = cuda_table()
    for name, toolkits in table.by_name.items():
        texts += [one for toolkit in toolkits for one in pip_packages(name, cuda="{}.{}".format(*toolkit))]
    found: dict[str, set[str]] = {}
    for text in texts:
        for name, version in NAMED.findall(text):
            found.setdefault(name.replace("_", "-"), set()).add(version)
    return found


def absent_releases(index: PackageIndex) -> Iterator[str]:
    """Yield the releases that our texts name and that the index does not have."""
    for project, versions in sorted(named_releases().items()):
        there = list(releases(index, project))
        for version in sorted(versions):
            if not there or not any(SpecifierSet(f"=={version}").contains(one) for one in there):
                yield f"{project}=={version}"


def check(index: PackageIndex) -> int:
    """Print what the index has that tables do not know; return how many tables are behind."""
    behind = 0
    for table, what, known, there in comparisons(index):
        late = known.release[:2] < there.release[:2]
        behind += late
        print(f"{'behind' if late else 'ok':<7} {table}: newest {what} known: {known}; on the index: {there}")
    for release in absent_releases(index):
        print(f"absent  {release} is named by a text of ours, and the index does not have it")
        behind += 1
    return behind


# ----------------------------------------------------------------------------------------------------------- writing


def changes(old: str, new: str) -> list[str]:
    """Return the lines that are not the same, without the first lines that only say when and how."""
    rows = difflib.unified_diff(_rows(old), _rows(new), lineterm="", n=0)
    return [row for row in rows if not row.startswith(("---", "+++", "@@"))]


def _rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def write(tables: dict[str, str], folder: Path) -> Iterator[str]:
    """Write the tables and yield what has changed in them besides the date."""
    for name, text in tables.items():
        path = folder / name
        changed = changes(path.read_text("utf-8") if path.exists() else "", text)
        path.write_text(text, encoding="utf-8", newline="\n")
        yield f"{name}: {f'{len(changed)} lines changed' if changed else 'as it was'}"
        yield from (f"    {line[:150]}" for line in changed[:12])
        if len(changed) > 12:
            yield f"    and {len(changed) - 12} more"


def main(argv: list[str]) -> int:
    """Make the tables, and compare the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="|".join(MAKERS), help="what to make; all of it unless told")
    parser.add_argument("--check", action="store_true", help="make nothing; fail where the index is ahead")
    parser.add_argument("--output", type=Path, default=KNOWLEDGE, help="the folder for the tables")
    args = parser.parse_args(argv)
    if unknown := set(args.tables) - set(MAKERS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(MAKERS)}")
    index = PackageIndex()
    date = today()
    failed = 0
    for key in () if args.check else args.tables or MAKERS:
        started = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as folder:
                for line in write(MAKERS[key](index, Path(folder), date), args.output):
                    print(line, flush=True)
        except (IndexFault, OSError, zipfile.BadZipFile) as exc:
            failed += 1
            print(f"{key}: {exc}", file=sys.stderr)
        print(f"{key}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    try:
        behind = check(index) if args.check or not args.tables else 0
    except IndexFault as exc:
        print(f"the index could not be read: {exc}", file=sys.stderr)
        return 1
    if not args.check:
        for table, command in FROM_CHECKOUTS.items() if not args.tables else ():
            print(f"by hand {table}: {command}")
    return 1 if failed or (args.check and behind) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

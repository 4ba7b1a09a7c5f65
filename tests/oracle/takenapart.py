"""Wheels whose DLLs were taken out, repaired, and loaded: each module alone in a process of its own."""

from __future__ import annotations

import random
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.graph import APPLICATION
from tests.oracle.wine import Wine, loader_program, windows_path
from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.reader import Archive
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.errors import WheelfixError
from wheelfix.exam.scan import scan
from wheelfix.knowledge.system import runtime_file
from wheelfix.loader.places import view_of_wheel
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import Image, Resolution, dll_key
from wheelfix.repairs.repair import repair_wheel
from wheelfix.roots.choice import never_vendored

LAYOUTS = ("beside", "libs", "auto")
PYTHON_DLLS = ("python3.dll", "python311.dll", "vcruntime140.dll", "vcruntime140_1.dll", "libffi-8.dll")
MODULES = 2
"""So many modules of a wheel are loaded."""
TRIES = 2
"""Of some thousand runs on a busy machine one fails without a reason."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A wheel without some of its DLLs, and the folders in which these are now."""

    wheel: Path
    roots: tuple[Path, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one repair."""

    refused: str = ""
    loaded: int = 0
    failed: tuple[str, ...] = ()


def dlls_of(path: Path) -> list[str]:
    """The DLLs among the members that others import; what only code loads cannot be known to be missing."""
    with Archive.open(path) as archive:
        view = view_of_wheel(archive, WheelInfo.from_archive(archive))
        images = {view.origin(file): image for file, image in view.images().items() if isinstance(image, Image)}
    wanted = {dll_key(need.dll) for image in images.values() for need in (*image.imports, *image.delay_imports)}
    dlls = {name: name.rpartition("/")[2] for name in images if name.lower().endswith(".dll")}
    # What Windows has is never vendored, also where a package brings a newer one on purpose.
    return [
        name
        for name, own in dlls.items()
        if dll_key(own) in wanted and not never_vendored(own, images[name].machine, runtime=True)
    ]


def take_out(source: Path, removed: Iterable[str], folder: Path) -> Broken:
    """Write the wheel without some members, and these into folders named as in the wheel."""
    gone = set(removed)
    target = folder / "broken" / source.name
    target.parent.mkdir(parents=True)
    roots = {}
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename in gone:
                place = folder / "roots" / info.filename
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
                roots[place.parent] = None
                continue
            if info.filename.endswith(".dist-info/RECORD"):
                rows = data.decode().splitlines(keepends=True)
                data = "".join(row for row in rows if row.split(",")[0].strip('"') not in gone).encode()
            new.writestr(zipfile.ZipInfo(info.filename, info.date_time), data)
    return Broken(target, tuple(roots), tuple(sorted(gone)))


def some_of(dlls: list[str], share: int) -> list[str]:
    """All DLLs, or by chance one of every so many."""
    return random.Random(len(dlls)).sample(dlls, len(dlls) // share)


def repaired(broken: Broken, layout: str, target: Path) -> Path | str:
    """The repaired wheel, or why there is none."""
    roots = RootOptions(roots=broken.roots, discover=False)
    options = RepairOptions(
        wheel_dir=target,
        layout=layout,
        compression="store",
        with_vcredist=any(runtime_file(name.rpartition("/")[2]) for name in broken.removed),
        scan=ScanOptions(roots=roots, jobs=2),
        accept_unsure=True,  # what code loads by name: each module is loaded alone here
    )
    try:
        made = repair_wheel(broken.wheel, options)
    except WheelfixError as error:
        return " | ".join([error.what, *error.reasons])
    assert made.output is not None
    return made.output


@dataclass(frozen=True, slots=True)
class Installed:
    """A wheel unpacked as pip would, and what loading its modules needs."""

    folder: Path
    added: tuple[str, ...]
    modules: tuple[str, ...]

    @classmethod
    def unpack(cls, wheel: Path, folder: Path) -> Installed:
        with zipfile.ZipFile(wheel) as archive:
            for info in archive.infolist():
                name = _installed_name(info.filename)
                if name and not info.is_dir() and name.lower().endswith((".dll", ".pyd")):
                    place = folder / name
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(archive.read(info))
        resolution = scan(wheel).resolution
        loaded = dict.fromkeys([*modules_of(resolution), *_named_in_code(wheel)])
        return cls(folder, resolution.search_dirs, tuple(loaded))

    def load(self, wine: Wine, module: str) -> int:
        """The Windows error code of loading one module in a process of its own; 0 is success."""
        program = self.folder / APPLICATION / "loader.exe"
        arguments = [program]
        for folder in self.added:
            if (self.folder / folder).is_dir():
                arguments += ["-d", windows_path(self.folder / folder)]
        arguments += ["-f", "1100", windows_path(self.folder / module)]
        for _ in range(TRIES):
            output = wine.run(arguments, timeout=120).output
            codes = [int(line[5:]) for line in output.splitlines() if line.startswith("DONE ")]
            if codes:
                return codes[0]
        return -1


def _named_in_code(wheel: Path) -> Iterator[str]:
    """The DLLs whose names stand in the package's code; it is likely to load them by these."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        code = b"".join(archive.read(name) for name in names if name.endswith(".py") and "/test" not in name).lower()
        for name in names:
            own = name.rpartition("/")[2].lower()
            if own.endswith(".dll") and any(quote + own.encode() + quote in code for quote in (b"'", b'"')):
                yield _installed_name(name)


def _installed_name(member: str) -> str:
    """Where pip puts a member, relative to the prefix; empty for what is not a file of the package."""
    top, _, rest = member.partition("/")
    if not top.endswith(".data"):
        return f"{SITE_PACKAGES}/{member}"
    scheme, _, inside = rest.partition("/")
    places = {"data": "", "purelib": f"{SITE_PACKAGES}/", "platlib": f"{SITE_PACKAGES}/", "scripts": "Scripts/"}
    return f"{places[scheme]}{inside}" if scheme in places and inside else ""


def modules_of(resolution: Resolution) -> Iterator[str]:
    """What importing the package loads: extension modules, and DLLs that its code names."""
    for outcome in resolution.outcomes:
        if not outcome.event.guarded:
            yield outcome.event.path


def prepare(wine: Wine, folder: Path, python: Path | None) -> None:
    """Put the loader program and Python's own DLLs where an application has its own."""
    place = folder / APPLICATION
    place.mkdir(parents=True)
    shutil.copyfile(loader_program(wine.machine), place / "loader.exe")
    for name in PYTHON_DLLS if python else ():
        if python and (python / name).exists():
            shutil.copyfile(python / name, place / name)


def play(wine: Wine, source: Path, removed: Sequence[str], layout: str, python: Path) -> Result:
    """Take DLLs out of a wheel, repair it, and load each module that loads with all of its DLLs."""
    with tempfile.TemporaryDirectory(prefix="takenapart-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        broken = take_out(source, removed, folder)
        made = repaired(broken, layout, folder / "out")
        if isinstance(made, str):
            return Result(made)
        sound, new = folder / "sound", folder / "new"
        for place in (sound, new):
            prepare(wine, place, python)
        before, after = Installed.unpack(source, sound), Installed.unpack(made, new)
        fine, failed = 0, []
        for module in random.Random(source.name).sample(before.modules, min(MODULES, len(before.modules))):
            code = after.load(wine, module)
            if code == 0:
                fine += 1
            elif before.load(wine, module) == 0:
                failed.append(f"{module}: {code}")
        return Result(loaded=fine, failed=tuple(failed))

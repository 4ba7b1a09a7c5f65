"""Windows-like environments for tests: wheels unpacked as an installer would, with what lies around them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.support.images import content
from tests.support.wheels import ALONE
from wheelfix.base.values import replace
from wheelfix.exam.scan import scan_all
from wheelfix.model import ScanReport


def install(wheel: Path, prefix: Path, site: Path | None = None) -> Path:
    """Unpack a wheel into a prefix, ``.data`` folders and their rows of RECORD included, and return the prefix."""
    site = site or prefix / "Lib" / "site-packages"
    schemes = {"purelib": site, "platlib": site, "data": prefix, "scripts": prefix / "Scripts"}
    moved = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            parts = name.split("/")
            if name.endswith("/"):
                continue
            target = site.joinpath(*parts)
            if parts[0].endswith(".data"):
                target = moved[name] = schemes[parts[1]].joinpath(*parts[2:])
            elif not name.lower().endswith((".dll", ".pyd", ".py")) and ".dist-info/" not in name:
                continue  # headers and the like are thousands, and no loader asks for them
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))
    for record in site.glob("*.dist-info/RECORD") if moved else ():
        rows = record.read_text("utf-8")
        for name, target in moved.items():
            rows = rows.replace(f"{name},", f"{os.path.relpath(target, site)},".replace("\\", "/"))
        record.write_text(rows, "utf-8")
    return prefix


def lay(prefix: Path, files: Mapping[str, bytes | str]) -> Path:
    """Write files below a prefix and return it; images may be in words."""
    for name, data in files.items():
        path = prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(name, data))
    return prefix


def reports(*paths: Path, **options: object) -> dict[str, ScanReport]:
    """The reports about wheels and environments, by the name of each distribution."""
    found = list(scan_all(paths, replace(ALONE, jobs=1, **options)))
    assert all(isinstance(one, ScanReport) for one in found), found
    return {one.name: one for one in found}


def faults(report: ScanReport) -> set[str]:
    """The codes of errors, and of what could not be told."""
    return {finding.code for finding in report.findings if finding.severity in ("error", "unsure")}

"""Writes the lists of Windows' own DLLs and API-set contracts; run by hand when Windows or a source has a new release.

    python -m tools.make_system_dlls --wine WINE_SOURCE_TREE --docs SDK_API_DOCS

The names come from four places, and nothing else is taken from them:

* delvewheel's list of what the installation discs of Windows 7 to 11 have in System32. Its x64 and x86 lists are the
  intersection over all those discs, its arm64 list that over Windows 10 and 11 only; what the latter has on top is
  therefore what Windows 10 added, and goes to x64 too (without what exists for ARM alone).
* The builtin DLLs and the API-set schema in Wine's source tree. A builtin counts only if delvewheel's lists know it,
  because Wine also has its own (``winex11.drv``), the C++ runtime and old DirectX, none of which Windows ships.
* Microsoft's API documentation (MicrosoftDocs/sdk-api, win32, winrt-related), which names the contracts of functions.
* ``ADDED`` and ``DROPPED`` below, each with its reason.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.heading import heading

if TYPE_CHECKING:
    from collections.abc import Iterable

KNOWLEDGE = Path(__file__).parent.parent / "wheelfix" / "knowledge"

ADDED = {
    "all": [
        # Items of the control panel that programs import from, such as bthprops.cpl for BluetoothSelectDevices:
        # https://learn.microsoft.com/windows/win32/shell/controlpanel-canonical-names
        *"appwiz.cpl bthprops.cpl desk.cpl firewall.cpl hdwwiz.cpl inetcpl.cpl intl.cpl irprops.cpl joy.cpl "
        "main.cpl mmsys.cpl ncpa.cpl powercfg.cpl sysdm.cpl telephon.cpl timedate.cpl wscui.cpl".split(),
        # ActiveX controls of Windows itself: HTML Help, the system monitor, tabular data, Windows Script Host, media:
        # https://learn.microsoft.com/previous-versions/windows/desktop/htmlhelp/about-the-html-help-executable-program
        *"hhctrl.ocx msdxm.ocx sysmon.ocx tdc.ocx wshom.ocx".split(),
        # https://learn.microsoft.com/windows/win32/intl/international-components-for-unicode--icu-: icuuc and icuin
        # since Windows 10 1703, the combined icu.dll since 1903.
        "icu.dll",
        "icuin.dll",
        "icuuc.dll",
        # https://learn.microsoft.com/windows/win32/dxcore/dxcore: DXCore since Windows 10 2004.
        "dxcore.dll",
        # https://learn.microsoft.com/windows/win32/direct3d12: Direct3D 12 is Windows 10's; D3D12Core since 2004.
        "d3d12.dll",
        "d3d12core.dll",
        # The C and C++ runtime of Windows' own parts (not the redistributable); on the discs since Windows 10.
        "msvcp_win.dll",
        "ucrtbase.dll",
    ],
    "amd64": [],
    # SysWOW64 has the Windows 10 additions that ordinary programs import; services have no 32-bit half.
    "x86": ["amsi.dll", "kernel.appcore.dll", "wldp.dll", "windows.storage.dll", "gdi32full.dll", "dbgcore.dll"],
    # The Windows SDK has arm64 import libraries for these; the disc images of Windows 10 lacked some of them.
    "arm64": ["avicap32.dll", "avifil32.dll", "glu32.dll", "mscoree.dll", "msvfw32.dll", "opengl32.dll"],
}

DROPPED = {
    # Comes with the optional OpenSSH client and has the name of a DLL that half the world ships.
    "libcrypto.dll",
}

ARM_ONLY = {
    "halextccn510.dll",
    "halextpl080.dll",
    "kd_8003_5143.dll",
    "wowarmhw.dll",
    "xtajit.dll",
}

KNOWN_TOO = {
    # Mapped at boot without being in the key: https://learn.microsoft.com/windows/win32/dlls/dynamic-link-library-search-order
    # says that a known DLL's own dependencies are taken from the system as well.
    "bcryptprimitives.dll",
    "gdi32full.dll",
    "kernelbase.dll",
    "msvcp_win.dll",
    "ntdll.dll",
    "win32u.dll",
    # https://learn.microsoft.com/cpp/windows/universal-crt-deployment: Windows 10 and later ignore an app-local copy.
    "ucrtbase.dll",
}

CONTRACT = re.compile(r"(?<![a-z0-9-])(?:api|ext)-[a-z0-9-]{1,150}-l\d{1,4}-\d{1,4}-\d{1,4}\b", re.IGNORECASE)


def main(argv: list[str]) -> int:
    """Write ``system_*.txt``, ``api_sets.txt`` and ``known_dlls.txt`` in ``wheelfix/knowledge``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wine", type=Path, required=True, help="a checkout of Wine's source")
    parser.add_argument(
        "--docs", type=Path, action="append", default=[], help="a folder or text file that names contracts"
    )
    options = parser.parse_args(argv)
    wine = options.wine
    texts = [
        wine / "dlls/apisetschema/apisetschema.spec",
        *(file for path in options.docs for file in text_files(path)),
    ]
    for machine, names in system_names(wine).items():
        write(
            f"system_{machine}.txt",
            f"DLLs that Windows 10 and 11 have in System32, for {machine} programs.",
            "delvewheel/_dll_list.py; Wine's dlls/; additions in make_system_dlls.py",
            names,
        )
    write(
        "api_sets.txt",
        "API-set contracts, without the last digit: the loader ignores it.",
        "Wine's dlls/apisetschema/apisetschema.spec; MicrosoftDocs/sdk-api, win32 and winrt-related",
        set().union(*(contracts(file.read_text(encoding="utf-8", errors="replace")) for file in texts)),
    )
    write(
        "known_dlls.txt",
        "HKLM\\System\\CurrentControlSet\\Control\\Session Manager\\KnownDLLs: always taken from System32.",
        "Wine's loader/wine.inf.in; additions in make_system_dlls.py",
        known_dlls((wine / "loader/wine.inf.in").read_text(encoding="utf-8")),
    )
    return 0


def system_names(wine: Path) -> dict[str, set[str]]:
    """Return the names of each machine's list."""
    from delvewheel import _dll_list as discs  # a private module: nothing but this script may touch it

    builtin = {entry.name if "." in entry.name else f"{entry.name}.dll" for entry in (wine / "dlls").iterdir()}
    new_in_10 = set(discs.ignore_names_arm64) - set(discs.ignore_names_x64) - ARM_ONLY
    lists = {
        "amd64": set(discs.ignore_names_x64) | new_in_10,
        "x86": set(discs.ignore_names_x86) | (new_in_10 & builtin),
        "arm64": set(discs.ignore_names_arm64),
    }
    return {machine: (names | set(ADDED["all"] + ADDED[machine])) - DROPPED for machine, names in lists.items()}


def text_files(path: Path) -> Iterable[Path]:
    """Return the file itself, or the Markdown files of a folder."""
    return [path] if path.is_file() else sorted(path.rglob("*.md"))


def contracts(spec: str) -> set[str]:
    """Return every contract named in the text, without its last digit."""
    return {match.lower().rpartition("-")[0] for match in CONTRACT.findall(spec)}


def known_dlls(inf: str) -> set[str]:
    """Return the values of the KnownDLLs key and what is mapped along with them."""
    listed = re.findall(r'Session Manager\\KnownDLLs,"[^"]*",,"([^"]+\.dll)"', inf)
    return ({name.lower() for name in listed} | KNOWN_TOO) - ARM_ONLY


def write(file: str, what: str, source: str, names: Iterable[str]) -> None:
    """Write one sorted list under its heading."""
    ordered = sorted(names)
    text = heading(what, source, "python -m tools.make_system_dlls") + "".join(f"{name}\n" for name in ordered)
    (KNOWLEDGE / file).write_text(text, encoding="utf-8", newline="\n")
    print(f"{file}: {len(ordered)} names", file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

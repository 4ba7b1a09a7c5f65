"""Writes ``card_names.txt``: names of graphics cards, each with the architectures of the chips it was sold with.

    python -m tools.make_card_names pci.ids COMPUTE_RUNTIME

``pci.ids`` is the file of https://github.com/pciutils/pciids; COMPUTE_RUNTIME a checkout of
https://github.com/intel/compute-runtime. For NVIDIA and AMD, pci.ids says which chip has which names; what a chip runs
is taken from the names that ``cards.toml`` and ``othercards.toml`` have for it, with their sources. A chip for which
these tables have no name, or names of two architectures, is left out. For Intel, the driver's source says which device
numbers are which architecture, and both have names for the numbers.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.heading import heading
from wheelfix.knowledge.cards import card_key, card_table, other_cards, vendor_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OUTPUT = Path(__file__).parents[1] / "wheelfix" / "knowledge" / "card_names.txt"
VENDORS = {"10de": "NVIDIA", "1002": "AMD", "8086": "Intel"}
GROUPS = ("irisxe", "irisxemax", "arc")
"""Names without a number that still say something."""
_DEVICE = re.compile(r"\t(?P<id>[0-9a-f]{4})  (?P<chip>[^\[]*)\[(?P<names>.*)\]\s*")
_NVIDIA_CHIP = re.compile(r"(?:G[A-Z]|TU|AD)[0-9]{2}[0-9A-F]")
_AMD_CHIP = re.compile(r"(?:Navi|Vega) [0-9]+|.+")
_NAMED = re.compile(r'NAMEDDEVICE\(0x(?P<id>[0-9A-Fa-f]{4}), \w+, "(?P<name>[^"]+)"\)')
_IDS = re.compile(r"std::vector<unsigned short> (?P<list>\w+)\{(?P<ids>[^}]*)\}")
_CONFIG = re.compile(r"DEVICE_CONFIG\((?P<config>\w+), \w+, (?P<list>\w+),")
_ACRONYM = re.compile(r'\{"(?P<name>[a-z0-9-]+)", (?P<config>[A-Z0-9_]+)\}')


def devices(text: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield vendor, device number, chip and names of every device with names in ``pci.ids``."""
    vendor = ""
    for line in text.splitlines():
        if line[:1] not in ("\t", "#", ""):
            vendor = VENDORS.get(line[:4], "")
        elif vendor and (match := _DEVICE.fullmatch(line)):
            yield vendor, match["id"], match["chip"].strip(), split_names(match["names"])


def split_names(text: str) -> list[str]:
    """Return the names of ``Radeon RX 7900 XT/7900 XTX``; the words before the first number belong to all."""
    first, *rest = (part.strip() for part in re.split(r"\s*/\s*", text))
    lead = re.match(r"[^0-9]*", first)
    prefix = lead[0] if lead else ""
    # 'GeForce RTX 4060 Max-Q / Mobile' has one name, 'RX 6700 XT / 6800M' two.
    return [first, *(f"{prefix}{part}" if part[:1].isdigit() else part for part in rest if re.search(r"[0-9]", part))]


def chip_of(vendor: str, text: str) -> str:
    """Return the chip without the letters for its package: GA107 for GA107BM, Navi 31 for 'Navi 31 XTX'."""
    match = (_NVIDIA_CHIP if vendor == "NVIDIA" else _AMD_CHIP).match(text)
    return match[0] if match else ""


def of_known_chips(rows: Iterable[tuple[str, str, str, list[str]]]) -> Iterator[tuple[str, str]]:
    """Yield architecture and name for NVIDIA's and AMD's devices whose chips have known names."""
    known = {key: card.archs[0] for key, card in (*card_table().cards.items(), *other_cards().cards.items())}
    chips: dict[tuple[str, str], dict[str, int]] = {}
    named = [
        (vendor, chip_of(vendor, chip), name)
        for vendor, _, chip, names in rows
        if vendor in ("NVIDIA", "AMD")
        for name in names
    ]
    for vendor, chip, name in named:
        arch = known.get(card_key(name, vendor == "NVIDIA"), "")
        if chip and arch and vendor_of(arch) == vendor:
            found = chips.setdefault((vendor, chip), {})
            found[arch] = found.get(arch, 0) + 1
    # A name may be on an older chip, too (GeForce GT 730): what most names of a chip say is the chip's architecture.
    archs = {key: max(found, key=lambda arch: found[arch]) for key, found in chips.items() if _clear(found)}
    for vendor, chip, name in named:
        if (vendor, chip) in archs and re.search(r"[0-9]", card_key(name, vendor == "NVIDIA")[1]):
            yield archs[vendor, chip], name


def _clear(found: dict[str, int]) -> bool:
    """Whether one architecture has twice as many names as all others."""
    most = max(found.values())
    return most >= 2 * (sum(found.values()) - most)


def of_intel(rows: Iterable[tuple[str, str, str, list[str]]], runtime: Path) -> Iterator[tuple[str, str]]:
    """Yield architecture and name for Intel's devices."""
    source = runtime / "shared" / "source"
    ids: dict[str, set[str]] = {}
    for path in source.rglob("*device_ids_configs*"):
        for match in _IDS.finditer(path.read_text(encoding="utf-8")):
            ids[match["list"]] = {number.lower() for number in re.findall(r"0x([0-9A-Fa-f]{4})", match["ids"])}
    acronyms: dict[str, str] = {}
    platforms = (runtime / "third_party" / "aot_config_headers" / "platforms.h").read_text(encoding="utf-8")
    for match in _ACRONYM.finditer(platforms):
        acronyms.setdefault(match["config"], match["name"])
    archs: dict[str, str] = {}
    for path in source.rglob("*product_config*.inl"):
        for match in _CONFIG.finditer(path.read_text(encoding="utf-8")):
            if match["config"] in acronyms:
                archs |= dict.fromkeys(ids.get(match["list"], ()), f"intel_{acronyms[match['config']]}")
    base = (source / "dll" / "devices" / "devices_base.inl").read_text(encoding="utf-8")
    named = [(match["id"].lower(), name) for match in _NAMED.finditer(base) for name in split_names(match["name"])]
    named += [(number, name) for vendor, number, _, names in rows if vendor == "Intel" for name in names]
    for number, name in named:
        plain = card_key(name, False)[1]
        if number in archs and (plain in GROUPS or re.search(r"[0-9]", plain)):
            yield archs[number], name


def lines(found: Iterable[tuple[str, str]]) -> list[str]:
    """Return the lines of the list: each name once, with its architectures."""
    names: dict[str, tuple[str, set[str]]] = {}
    for arch, name in found:
        shown = " ".join(re.sub(r"\((?:R|TM)\)|\b(?:NVIDIA|AMD|Intel)\b|\s+Graphics$|\s+GPU$", " ", name).split())
        key = card_key(shown, vendor_of(arch) == "NVIDIA")
        names.setdefault(f"{vendor_of(arch)} {key[1]}", (shown, set()))[1].add(arch)
    return sorted(f"{' '.join(sorted(archs))}: {shown}" for shown, archs in names.values())


def main() -> int:
    """Write the list."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pci_ids", type=Path)
    parser.add_argument("compute_runtime", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    args = parser.parse_args()
    text = args.pci_ids.read_text(encoding="utf-8")
    version = re.search(r"Version: (\S+)", text)
    rows = list(devices(text))
    found = lines([*of_known_chips(rows), *of_intel(rows, args.compute_runtime)])
    sources = f"pci.ids {version[1] if version else ''}, intel/compute-runtime, cards.toml and othercards.toml"
    about = "Names of graphics cards with the architectures of the chips that they were sold with."
    head = heading(about, sources, "python -m tools.make_card_names pci.ids COMPUTE_RUNTIME")
    args.output.write_text(head + "".join(f"{line}\n" for line in found), encoding="utf-8")
    print(f"{len(found)} names written to {args.output}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""What a text says about the machine and the program besides its errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex, whole_number
from wheelfix.base.values import grouped
from wheelfix.diagnosis.symptoms.model import CONDA, VENV, dll_names
from wheelfix.diagnosis.symptoms.recognise import facts_in, machine_rows
from wheelfix.knowledge.cards import (
    Capability,
    architecture,
    capability_of_arch,
    driver_needed,
    nvidia_capability,
    windows_driver,
)
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.provider_index import provider_index
from wheelfix.knowledge.providers import owner_of_package
from wheelfix.knowledge.system import classify
from wheelfix.knowledge.tables import Pair, pair
from wheelfix.model import canonical
from wheelfix.rules.wording import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LONGEST = 400
_MOST = 16


def read_machine(lines: Iterable[str]) -> dict[str, list[str]]:
    """Return what a text says about a machine: the values of each fact that the table of forms knows, each once."""
    facts: dict[str, list[str]] = {row.name: [] for row in machine_rows()}
    for line in lines:
        first: dict[str, str] = {}
        for row in machine_rows():
            if match := row.pattern.search(line[:_LONGEST]):
                first.setdefault(row.name, match["value"].strip(" ;").replace("\\\\", "\\"))
        for name, value in first.items():
            if value and len(facts[name]) < _MOST and value.lower() not in map(str.lower, facts[name]):
                facts[name].append(value)
    return facts


def contradictions(facts: dict[str, list[str]]) -> list[str]:
    """Return what does not fit together, each in a sentence."""
    nvcc = sorted(map(pair, facts["nvcc"]))
    built = pair(facts["built"][-1]) if facts["built"] else None
    toolkit = built or (nvcc[-1] if nvcc else None)
    found = [*_two_toolkits(facts, nvcc), *_old_driver(facts, toolkit), *_cards_without_code(facts, toolkit)]
    if built and nvcc and all(release[0] != built[0] for release in nvcc):
        mine = ", ".join(map(dotted, nvcc))
        found.append(f"torch was built with CUDA {dotted(built)}, nvcc is of {mine}: extensions do not compile.")
    if {one.lower() for one in facts["compiler"]} == {"x86"} and facts["build"]:
        found.append(
            r"The compiler is the one for 32 bits (Host…\x86), and the build is for 64: they need one console for both."
        )
    tags, pythons = set(facts["tag"]), set(facts["python"])
    if len(tags) == len(pythons) == 1 and tags != pythons:
        theirs, mine = f"3.{min(tags)}", f"3.{min(pythons)}"
        found.append(
            f"The text has a file for Python {theirs}, and Python {mine}: the one cannot use files of the other."
        )
    return found


def _two_toolkits(facts: dict[str, list[str]], nvcc: list[Pair]) -> list[str]:
    notes = [
        f"There are several {name} on PATH; the first is used: {'; '.join(facts[name])}."
        for name in ("nvcc.exe", "cl.exe")
        if len(facts[name]) > 1 and (name == "cl.exe" or len(nvcc) < 2)
    ]
    return [f"There are several nvcc: of CUDA {' and '.join(map(dotted, nvcc))}.", *notes] if len(nvcc) > 1 else notes


def _old_driver(facts: dict[str, list[str]], wanted: Pair | None) -> list[str]:
    needed = driver_needed(*wanted) if wanted else None
    if wanted is None:
        return []
    for driver in facts["driver"][-1:]:
        if needed is not None and (whole_number(driver[:3]) or needed) < needed:
            oldest = windows_driver(needed)
            return [f"The driver {driver} is older than CUDA {dotted(wanted)} needs ({oldest} or later)."]
    return [
        f"The driver serves CUDA {served} at most, and {dotted(wanted)} is used."
        for served in facts["served"][-1:]
        if pair(served)[0] < wanted[0]
    ]


def _cards_without_code(facts: dict[str, list[str]], toolkit: Pair | None) -> list[str]:
    notes = []
    archs = "".join(facts["archs"][-1:])
    for name in facts["card"]:
        capability = nvidia_capability(name)
        if capability is None:
            continue
        known = architecture(capability)
        mine = dotted(capability)
        if known is not None and toolkit is not None and not known.compiles_with(toolkit):
            notes.append(f"{name} has compute capability {mine}, which CUDA {dotted(toolkit)} does not know.")
        listed = [capability_of_arch(one.partition("+")[0]) for one in re.split(r"[; ]+", archs) if one]
        if listed and not _is_served(capability, listed, archs):
            notes.append(f"TORCH_CUDA_ARCH_LIST={archs} has no code for {name}, which is {mine}.")
    return notes


def _is_served(card: Capability, listed: list[Capability | None], archs: str) -> bool:
    """Whether one of the architectures runs on a card: the same major and not newer, or PTX of an older one."""
    ptx = "ptx" in archs.lower()
    return any(
        one is not None and ((one[0] == card[0] and one[1] <= card[1]) or (ptx and one <= card)) for one in listed
    )


_VERSIONED = regex(
    r"(?<![\w.\\#-])(?<!different )(?:(?P<glued>(?i:CUDA|cuDNN|Python))(?=\d)"
    r"|(?P<name>[A-Za-z][\w.+-]{1,30}?)[*_`]{0,3}"
    r"(?:(?P<said>(?i:[ -]version))[ :：=|`*]{0,9}|[ :：|-]{1,4}|=(?!=)|\s{5,30}|(?P<wanted>==))"
    r"[*_` ]{0,4}(?:(?i:version):? |v)?)"
    r"(?P<version>\d{1,4}(?:\.\d{1,6}){1,3}(?:(?:\+(?=cpu|cu\d|rocm|xpu)|rc|b|a|\.post|\.dev)\w{1,20})?)"
    r"(?P<archive>\.tar\.gz|\.zip\b|-(?:cp|py)\d)?(?![\w.]{0,20}\.(?:dll|pyd|exe|whl|lib))(?!\w)"
)
"""A name and its version: in a list, a sentence, a requirement, or the name of an archive."""
_PROGRAMS = frozenset(
    {"anaconda", "blender", "conda", "cuda", "cudnn", "gdal", "python", "qgis", "rocm", "tensorrt", "version"}
)
_NO_PROGRAM = frozenset({"application", "driver", "file", "fault-module", "module", "os", "served", "update"})
_OTHER_NAMES = {
    "pytorch": "torch",
    "cpython": "python",
    "toolkit": "cuda",
    **dict.fromkeys(("python-version", "platform-python-version", "sys-version"), "python"),
}
_MOST_VERSIONS = 8


def read_versions(text: str, about: Iterable[str]) -> tuple[str, ...]:
    """Return what a text names with its version; of a list of all that is installed, what the errors are about."""
    known = _PROGRAMS.union(provider_index().names)
    named = ((_distribution(one["glued"] or one["name"]), one) for one in _VERSIONED.finditer(text))
    # Whatever is called a version is one of something, in an index or not.
    found = grouped(
        (name, one)
        for name, one in named
        if name in known or one["wanted"] or one["archive"] or (one["said"] and name not in _NO_PROGRAM)
    )
    if len(found) > _MOST_VERSIONS:
        wanted = {"python", *map(_distribution, about), *map(owner_of_package, about)}
        found = {name: ones for name, ones in found.items() if name in wanted}
    return tuple(
        f"{ones[0]['glued'] or ones[0]['name']} {' and '.join(_exact(one['version'] for one in ones))}"
        for ones in found.values()
    )


def _distribution(name: str) -> str:
    return _OTHER_NAMES.get(canonical(name), canonical(name))


def _exact(versions: Iterable[str]) -> list[str]:
    """Return each version once, without those that another one says more exactly."""
    different = list(dict.fromkeys(versions))
    return [one for one in different if not any(other.startswith(f"{one}.") for other in different)]


_PLACE = regex(
    r"[A-Za-z]:[\\/]{1,2}[^\"'<>|*?:;,()\r\n]{1,240}?[\\/]{1,2}"
    r"(?:(?=site-packages(?:[\\/]|\b))|python_embedd?ed(?=[\\/])|(?:OSGeo4W|QGIS|Blender)[\w. ]{0,20}(?=[\\/])"
    r"|envs[\\/]{1,2}[\w.-]{1,60}(?=[\\/]))",
    re.IGNORECASE,
)
_KINDS = (
    ("the user's own folder", re.compile(r"\\AppData\\Roaming\\Python", re.IGNORECASE)),
    ("conda environment", CONDA),
    ("virtual environment", VENV),
    ("embedded Python", re.compile("embed", re.IGNORECASE)),
    ("MSYS2", re.compile("msys64|mingw64|ucrt64", re.IGNORECASE)),
)
_SHOWN = {
    "windows": "Windows {}",
    "python2": "Python 2.{}",
    "driver": "driver {}",
    "served": "whose CUDA is {}",
    "nvcc": "nvcc {}",
    "toolkit": "CUDA toolkit {}",
    "compiler": "compiler for {}",
    "file": "a file for {}",
    "archs": "TORCH_CUDA_ARCH_LIST={}",
    "arch": "{}",
    "variable": "{}",
    "path": "{}",
}


def state_facts(lines: Sequence[str], machine: dict[str, list[str]], about: Iterable[str]) -> tuple[str, ...]:
    """Return what a text says about the machine in a few words each: versions, cards, environments, DLLs."""
    text = "\n".join(lines)
    versions = read_versions(text, about)
    found = {fact.name: fact.value for line in lines for fact in facts_in(line)}
    minors = () if any(one.lower().startswith("python") for one in versions) else machine["python"] or machine["tag"]
    words = [f"Python 3.{minor}" for minor in minors[:2]]
    words += [*versions, *filter(None, [found.get("bitness")])]
    words += [_with_capability(card) for card in machine["card"][:2]]
    words += [
        shown.format(value)
        for name, shown in _SHOWN.items()
        for value in machine[name][:2]
        if value not in " ".join(versions)
    ]
    words += [f"a program that {found['bundle']} made"] if "bundle" in found else []
    words += [f"inside {found['host']}"] if "host" in found else []
    words += _places(text)
    names = [name for name in dll_names(text) if classify(name).kind != "system"]
    return tuple(dict.fromkeys([*words, *map(_with_family, names[:_MOST_VERSIONS])]))


def _with_capability(card: str) -> str:
    known = nvidia_capability(card)
    return f"{card} (sm_{known[0]}{known[1]})" if known else card


def _with_family(name: str) -> str:
    """A DLL's name, with the library and its release where its name tells them."""
    member = family_of(name)
    if member is None or member.family.id not in ("cudnn", "cudart", "nvrtc", "cublas") or not member.version:
        return name
    release = f"{member.version[:-1]}.{member.version[-1]}" if len(member.version) > 2 else member.version
    return f"{name} ({member.family.title} {release})"


def _places(text: str) -> list[str]:
    """The environments that paths of the text lie in, each with what it is."""
    paths = (found[0].replace("\\\\", "\\").rstrip("\\/") for found in _PLACE.finditer(text))
    prefixes = {re.sub(r"(?i)[\\/]lib$", "", path).lower(): re.sub(r"(?i)[\\/]lib$", "", path) for path in paths}
    return [
        next((f"{kind} {prefix}" for kind, pattern in _KINDS if pattern.search(prefix)), prefix)
        for prefix in list(prefixes.values())[:2]
    ]

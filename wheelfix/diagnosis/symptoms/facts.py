"""What a text says about the machine and the program besides its errors."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex, whole_number
from wheelfix.diagnosis.symptoms.model import dll_names, environment_kind, package_of
from wheelfix.diagnosis.symptoms.quotes import FRAME
from wheelfix.diagnosis.symptoms.recognise import facts_in, machine_rows, of_process
from wheelfix.knowledge.cards import (
    nvidia_capability,
)
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.provider_index import provider_index
from wheelfix.knowledge.providers import owner_of_package
from wheelfix.knowledge.system import classify
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_LONGEST = 400
_MOST = 16


def read_machine(lines: Sequence[str]) -> dict[str, list[str]]:
    """Return what a text says about a machine: the values of each fact that the table of forms knows, each once."""
    facts: dict[str, list[str]] = {row.name: [] for row in machine_rows()}
    lowered = "\n".join(lines).lower()
    rows = [row for row in machine_rows() if any(word in lowered for word in row.triggers)]
    for line in lines:
        # A path that goes on behind the limit does not end there.
        line = line[:_LONGEST] + "*" * (len(line) > _LONGEST)
        first: dict[str, str] = {}
        for row in rows:
            if match := row.pattern.search(line):
                first.setdefault(row.name, match["value"].strip(" ;").replace("\\\\", "\\"))
        for name, value in first.items():
            if value and len(facts[name]) < _MOST and value.lower() not in map(str.lower, facts[name]):
                facts[name].append(value)
    return facts


_CHANNEL = regex(
    r"^ {0,4}[\w.-]{2,60} {1,60}\d[\w.!+-]{0,40} {1,40}"
    r"(?:(?:[a-z]{1,20}_|np\d{2,4})?(?:py\d{1,3}|pyh|h)\w{0,20}_\d{1,4}|pypi_0|\d{1,4})"
    r"(?: {1,40}(?P<channel>[\w./-]{2,40}))?$",
    re.MULTILINE,
)
"""A row of ``conda list``: name, version, build, and the channel where it is not the usual one."""


_ANNOUNCED = regex(r"(?:\[|Complete output \()(\d{1,5}) lines?(?: of output\]|\))")
"""How many lines pip shows of what a build printed."""


def read_facts(lines: Sequence[str]) -> dict[str, str]:
    """Return what a text says about the machine, for causes and remedies; of a fact that comes twice the last value."""
    facts = {fact.name: fact.value for line in lines for fact in facts_in(line)}
    text = "\n".join(lines)
    for one in [*_ANNOUNCED.finditer(text)][-1:]:
        facts |= {"cut": one[1]} if text.count("\n", one.end()) < (whole_number(one[1]) or 0) else {}
    rows = [one["channel"] or "defaults" for one in _CHANNEL.finditer(text)]
    channels = [*dict.fromkeys(rows if len(rows) > 1 else ())]
    if len({*channels} - {"pypi", "<pip>"}) > 1:
        facts["channels"] = ", ".join(sorted(channels))
    return of_process(facts)


_NUMBER = (
    r"(?P<version>\d{1,4}(?:\.\d{1,6}){1,3}(?:(?:\+(?=cpu|cu\d|rocm|xpu)|rc|b|a|\.?post|\.dev)[A-Za-z0-9]{1,20})?)"
    r"(?P<archive>\.tar\.gz|\.zip\b|-(?:cp|py)\d)?(?![\w.]{0,20}\.(?:dll|pyd|exe|whl|lib))(?![A-Za-z0-9])"
)
_VERSIONED = regex(
    r"(?<![A-Za-z0-9.\\#-])(?<!different )(?:(?P<glued>[A-Za-z][A-Za-z_-]{2,30}?)(?<![_-])(?=v?\d)"
    r"|(?<!_)(?P<name>[A-Za-z][\w.+-]{1,30}?)(?<!\.)[*_`]{0,3}"
    r"(?:(?P<said>(?i:[ _-]version(?: is| used)?(?: \([^()\n]{1,30}\))?| ?(?:版本号?|バージョン|버전|версия|версии)))"
    r"[ \t:：=|`*\"'(]{0,40}"
    r"|[ \t]{0,40}[:：|][ \t]{0,3}|[ -]| ?=(?!=) ?[\"']?[\^~]?"
    r"|[ \t]{3,40}"
    r"|(?P<wanted>==))"
    rf"[*_` ]{{0,4}}(?:(?i:version):? )?)v?{_NUMBER}"
    r"(?P<more>(?:(?:,|,? \(?and|,? or| ?/) v?\d{1,4}(?:\.\d{1,6}){1,3}(?![\w.]*\w)){1,4})?"
)
"""A name and its version: in a list, a table, a sentence, a requirement, or the name of an archive."""
_ALONE = regex(
    r"^(?:(?:#{1,6} (?P<heading>[^\n]{0,60}?)|[^\n]{0,60}?(?P<above>[\w-]{2,30}))[ -](?i:versions?)\b[^\n]{0,40}\n{1,3}"
    r"|Name: (?P<listed>[\w.-]{2,60})\nVersion: |Requirement already satisfied: (?P<met>[\w.-]{2,60})[^\n]{1,240} \("
    r"|(?:[-*+•] |\d[.)] )?(?P<name>[A-Za-z][\w.+-]{1,30})(?: | ?: |==?|@))"
    rf"v?{_NUMBER}\)?$",
    re.MULTILINE,
)
"""A version below the heading that says whose it is, and a line that has nothing but a name and a version."""
_CHANGED = regex(
    r"^ {0,4}(?P<name>[\w.-]{2,40}) {1,40}(?:[\w/-]{1,40}::(?P=name)-)?(?P<old>\d[\w.]{0,20})\S{0,40} +--> +"
    r"(?:[\w/-]{1,40}::(?P=name)-)?(?!(?P=old))(?P<new>\d[\w.]{0,20})",
    re.MULTILINE,
)
"""What conda replaced by another version."""
_PROGRAMS = frozenset(
    ("anaconda blender cx-freeze nuitka pyinstaller conda cuda cudnn gdal python qgis rocm tensorrt version").split()
)
_NO_PROGRAM = frozenset(
    (
        "application current driver file fault-module info latest project line module os os-version served ucrt update "
        "what which"
    ).split()
)
_BEFORE_VERSION = frozenset(
    "and earlier for in install installed installing is of older on previous the this to tried use using with".split()
)
"""Words before "version" that are not the name of what it is the version of."""
_OTHER_NAMES = {
    "pytorch": "torch",
    "cpython": "python",
    "toolkit": "cuda",
    **dict.fromkeys(("python-version", "platform-python-version", "sys-version"), "python"),
}
_BOTH = regex(r"\b(\w{2,20})/(\w{2,20}) versions?[ :]{1,3}v?(\d[\d.]*\d)(?:[ /,&]{1,3}(?:(?i:\2) )?v?(\d[\d.]*\d))?")
"""Two names with their versions behind both: "CUDA/cuDNN version: 10.1 / 7.6"."""
_MORE = regex(r"\d[\d.]+")
_RELEASE = regex(r"(?<![\w.])3\.(\d{1,2})\.\d{1,2}(?:(?:a|b|rc)\d{1,2})?(?![\w.])")
_IMPORTED = regex(r"(?:^|>>> )(?:import|from) (\w{2,40})", re.MULTILINE)
_MOST_VERSIONS = 8
_MOST_CHANGED = 4
_MOST_NAMES = 6
_MOST_VALUES = 2
_WORD = 4
"""Characters of a value that is a word, and no number that others can begin with."""


def read_versions(text: str, about: Iterable[str]) -> tuple[str, ...]:
    """Return what a text names with its version; of a list of all that is installed, what the errors are about.

    A name counts that an index has or the text goes through or imports, one with capitals inside (HDF5, NumPy), and
    whatever is called a version.
    """
    text = _BOTH.sub(r"\1 \3, \2 \4", text.replace("%2B", "+"))
    through = (package_of(frame[1] or frame[2]) for frame in FRAME.finditer(text))
    about = {*about, *through, *_IMPORTED.findall(text)} - {""}
    wanted = {"python", *map(_distribution, about), *map(owner_of_package, about)}
    known = _PROGRAMS.union(provider_index().names, wanted)
    found: dict[str, list[tuple[str, str]]] = {}
    for one in sorted((*_VERSIONED.finditer(text), *_ALONE.finditer(text)), key=re.Match.start):
        groups = {name: value for name, value in one.groupdict().items() if value}
        shown = next(
            (groups[name] for name in ("name", "glued", "heading", "above", "listed", "met") if name in groups), ""
        )
        shown = "version" if shown.lower() in _BEFORE_VERSION else shown
        name = _distribution(shown)
        said = "heading" in one.re.groupindex or "said" in groups
        required = "glued" not in groups and groups.keys() & {"wanted", "archive"}
        spelled = shown.isalnum() and sum(map(str.isupper, shown)) > 1 and one["version"].count(".") > 1
        if name == "python" and one["version"][0] not in "23":
            continue  # the release of a package that is called so: "OpenSlide Python version 1.1.2"
        if name in known or required or ((said or spelled) and name not in _NO_PROGRAM):
            more = _MORE.findall(groups.get("more", ""))
            found.setdefault(name, []).extend((shown, version) for version in (one["version"], *more))
    if len(found) > _MOST_VERSIONS:
        found = {name: ones for name, ones in found.items() if name in wanted}
    changed = [f"{one['name']} {one['old']} --> {one['new']}" for one in islice(_CHANGED.finditer(text), _MOST_CHANGED)]
    return (
        *(f"{ones[0][0]} {' and '.join(_exact(version for _, version in ones))}" for ones in found.values()),
        *changed,
    )


def _distribution(name: str) -> str:
    return _OTHER_NAMES.get(canonical(name), canonical(name))


def _exact(versions: Iterable[str]) -> list[str]:
    """Return each version once, without those that another one says more exactly."""
    different = list(dict.fromkeys(versions))
    return [one for one in different if not any(other.startswith((f"{one}.", f"{one}+")) for other in different)]


_PLACE = regex(
    r"[A-Za-z]:[\\/]{1,2}[^\"'<>|*?:;,()\r\n]{1,240}?[\\/]{1,2}"
    r"(?:(?=site-packages(?:[\\/]|\b))|python_embedd?ed(?=[\\/])|(?:OSGeo4W|QGIS|Blender)[\w. ]{0,20}(?=[\\/])"
    r"|envs[\\/]{1,2}[\w.-]{1,60}(?=[\\/])"
    r"|(?=lib[\\/](?:ctypes|sqlite3|tkinter)[\\/]|lib[\\/](?:ssl|hashlib|lzma|bz2)\.py)"
    r"|(?<=(?:conda|forge|ucrt6|ingw6).[\\/])(?=lib[\\/](?:python3\.\d{1,2}[\\/])?\w{1,30}(?:\.py|[\\/])))",
    re.IGNORECASE,
)


_IN_WORDS = {
    "process": "{} Python",
    "on_arm": "Windows on ARM",
    "free_threaded": "free-threaded Python",
    "store": "the Microsoft Store's Python",
    "channels": "conda's channels {}",
}
"""What is said of a fact besides those of which a remedy takes account in silence."""


def state_facts(
    lines: Sequence[str], machine: dict[str, list[str]], found: Mapping[str, str], about: Iterable[str]
) -> tuple[str, ...]:
    """Return what a text says about the machine in a few words each: versions, cards, environments, DLLs."""
    text = "\n".join(lines)
    versions = read_versions(text, about)
    pythons = [one for one in versions if one.lower().startswith("python")]
    # What a traceback goes through runs, whatever else the text mentions.
    running = read_machine([line for line in lines if FRAME.search(line)])["python"]
    minors = machine["python"] or machine["tag"]
    minors = [one for one in running if f"3.{one}" not in " ".join(pythons)] if pythons else minors
    releases = [(one[0], one[1]) for one in _RELEASE.finditer(text)]
    # A number that begins like the Python that a path or a tag names is one of it.
    numbers = ([*_exact(one for one, minor in releases if minor == mine)] or [f"3.{mine}"] for mine in minors[:2])
    words = [f"Python {' and '.join(one)}" for one in numbers]
    words += [*versions, *filter(None, [found.get("bitness")])]
    words += [template.format(found[name]) for name, template in _IN_WORDS.items() if name in found]
    words += [_with_capability(card) for card in machine["card"][:2]]
    shown = {row.name: row.value for row in machine_rows() if row.value and row.name != "card"}
    for name, template in shown.items():
        for value in machine[name][:_MOST_VALUES]:
            one, said = template.format(value), ", ".join(words).lower()
            if (value if len(value) >= _WORD else one).lower() not in said:
                words.append(one)
    words += [f"a program that {found['bundle']} made"] if "bundle" in found else []
    words += [f"inside {found['host']}"] if "host" in found else []
    words += _places(text)
    named = dll_names(_BROKEN.sub(r"\1", text))
    names = [name for name in named if classify(name).kind != "system" and not name.startswith("self.")]
    return tuple(dict.fromkeys([*words, *map(_with_family, names[:_MOST_NAMES])]))


_BROKEN = regex(r"(['\"][A-Z]:[\\/][^'\"\n]{30,250})\n")
"""A path in quotation marks that a console broke."""


def _with_capability(card: str) -> str:
    known = nvidia_capability(card)
    return f"{card} (sm_{known[0]}{known[1]})" if known else card


def _with_family(name: str) -> str:
    """A DLL's name, with the library and its release where its name tells them."""
    family = family_of(name)
    version = family.version(name)
    if family.id not in ("cudnn", "cudart", "nvrtc", "cublas") or not version:
        return name
    release = f"{version[:-1]}.{version[-1]}" if len(version) > 2 else version
    return f"{name} ({family.title} {release})"


def _places(text: str) -> list[str]:
    """The environments that paths of the text lie in, each with what it is."""
    paths = (found[0].replace("\\\\", "\\").rstrip("\\/") for found in _PLACE.finditer(text))
    own = (re.sub(r"(?i)[\\/]lib(?:[\\/]python3\.\d{1,2})?$", "", path) for path in paths)
    prefixes = {prefix.lower(): prefix for prefix in own}
    return [f"{environment_kind(prefix)[1]} {prefix}".lstrip() for prefix in list(prefixes.values())[:_MOST_VALUES]]

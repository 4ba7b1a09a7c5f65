"""Messages, libraries and compiled modules that are recognised by words alone, with what to do about each."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex, whole_number
from wheelfix.base.values import frozen, replace
from wheelfix.diagnosis.symptoms.model import UNNAMED, Remedy, Symptom, environment_prefix, table_rows
from wheelfix.diagnosis.symptoms.stream import RowIndex, WordIndex, alike
from wheelfix.knowledge.builds import (
    again,
    for_card,
    for_cpu,
    in_release,
    may_replace_a_build,
    requirement_name,
    then_again,
    together,
)
from wheelfix.knowledge.cards import about_architecture
from wheelfix.knowledge.cuda import TorchBuild
from wheelfix.knowledge.families import family_of, is_mangled
from wheelfix.knowledge.providers import (
    brought_with,
    conda_requirements,
    distribution_of_module,
    is_compiled,
    is_newest,
    owner_of_package,
    owners_of,
    package_with,
    pip_packages,
    who_ships,
)
from wheelfix.knowledge.system import classify
from wheelfix.knowledge.wheeltags import described_tags
from wheelfix.knowledge.winerrors import winerror
from wheelfix.model import canonical
from wheelfix.rules.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


MESSAGES = ("messages.toml", "messages_gpu.toml", "messages_python.toml", "messages_build.toml")
LIBRARIES = "libraries.toml"
KIND = "message"
_DLL = regex(r"(?<![A-Za-z0-9_])[A-Za-z0-9_][A-Za-z0-9_.+-]{0,119}\.dll", re.IGNORECASE)
_ARCH = regex(r"(?:compute|sm)_[0-9]{2,3}[af]?")
_SUBJECT = regex(
    r"(?<![\w.])(?P<file>[\w+-][\w./\\+-]{0,80}\.(?:h|hpp|hxx|hh|cuh|lib|obj))(?:(?=: [^\d])|(?![\w.:(\\/+-]))"
    r"|(?:provided by|Could NOT find|Dependency) ['\"“]?(?P<package>[A-Za-z][\w+-]{1,40})",
    re.IGNORECASE,
)
"""What a line of a build says was not found: the last file in it, or a package of CMake or Meson."""
_PART_TRIGGERS = ("no module named", "cannot import name")
_PARTS = (
    re.compile(r"No module named \\?['\"]?(?P<package>[A-Za-z_][\w.]{2,200})(?P<name>)", re.IGNORECASE),
    re.compile(
        r"cannot import name \\?['\"](?P<name>\w{1,100})\\?['\"] from (?:partially initialized module )?"
        r"\\?['\"](?P<package>[\w.]{1,200})\\?['\"]",
        re.IGNORECASE,
    ),
)
PART = "part"
"""Marks a module that counts only where it is a part of the package that asks for it, or of a program bundle."""
_VARIANTS = ("avx", "sse", "sve", "generic")
"""Builds for one kind of processor, of which a package tries one after the other."""


@frozen
class Words:
    """What a line in lower case has to contain."""

    every: tuple[str, ...]
    """Words that all have to be in the line."""
    some: tuple[str, ...]
    """Words of which one has to be in the line; empty when ``every`` suffices."""

    def match(self, lowered: str) -> bool:
        """Whether a line in lower case has them."""
        return all(word in lowered for word in self.every) and (not self.some or any(w in lowered for w in self.some))

    @property
    def triggers(self) -> dict[str, tuple[str, ...]]:
        """Words of which one is in every line that matches, each with one that has to be there as well."""
        longest = (max(self.every, key=len),) if self.every else ()
        return dict.fromkeys(self.some or longest, longest if self.some else ())


@frozen
class Message:
    """One message, what is behind it, and what to do."""

    id: str
    summary: str
    known: str
    fix: str
    why: str
    source: str
    every: tuple[str, ...] = ()
    some: tuple[str, ...] = ()
    command: str = ""
    build: bool = False
    """Whether it is an error of a compilation: there is no wheel yet."""
    missing: bool = False
    """Whether the DLL that it names is missing."""
    when: str = ""
    """What has to hold for the command to help; empty when nothing beyond the message itself."""
    general: bool = False
    """Whether it counts only for lines that match no other message."""
    rank: str = ""
    """``fallback`` where it counts only in texts that say nothing else, ``last`` where it gives way to those, too."""
    survived: bool = False
    """Whether programs go on after it."""
    instead: tuple[str, ...] = ()
    """A fact, and the message without words of its own that stands in place of this one where the text shows it."""
    nvidia: bool = False
    """Whether a warning of this kind is harmless where the card is of another vendor."""


@frozen
class Wording:
    """Words that stand for a cause which other messages lead to as well."""

    cause: str
    """A cause of ``causes.toml``, or a message."""
    source: str
    every: tuple[str, ...] = ()
    some: tuple[str, ...] = ()
    dll: str = ""
    """The DLL that it is about, where the message does not name one."""
    module: str = ""
    """The module that it is about, likewise."""
    rank: str = ""


@frozen
class NamedLibrary:
    """A native library that packages load by name and do not contain, and how to get it on Windows."""

    name: str
    """The DLL, as it is usually called."""
    fix: str
    why: str
    source: str
    file: re.Pattern[str] | None = None
    """The names under which it is asked for, without the suffix, in lower case."""
    command: str = ""
    every: tuple[str, ...] = ()
    some: tuple[str, ...] = ()
    """The words of messages that name no file."""
    needed_by: re.Pattern[str] | None = None
    """The compiled modules that need it: the package, a dot and the module, either of which the text may not say."""
    about: str = ""
    """What it is, in words."""
    windows: bool = False
    """Whether these words come from other systems as often, so that the text has to show that it is from Windows."""


_WordedRow = Message | Wording | NamedLibrary


@frozen
class Pair:
    """Distributions that have to be of releases that fit together."""

    package: re.Pattern[str]
    """The package that is imported."""
    names: tuple[str, ...]
    why: str
    source: str


@frozen
class Header:
    """A header that builds include, and whose it is."""

    name: re.Pattern[str]
    whose: str
    source: str


@cache
def messages() -> tuple[Message, ...]:
    """Return every message, in the order of the tables."""
    return table_rows("message", Message, *MESSAGES)


@cache
def wordings() -> tuple[Wording, ...]:
    """Return every wording, in the order of the tables."""
    return table_rows("wording", Wording, *MESSAGES)


@cache
def libraries() -> tuple[NamedLibrary, ...]:
    """Return every library of the table."""
    return table_rows("library", NamedLibrary, LIBRARIES)


@cache
def _pairs() -> tuple[Pair, ...]:
    return table_rows("pair", Pair, LIBRARIES)


@cache
def _headers() -> tuple[Header, ...]:
    return table_rows("header", Header, LIBRARIES)


@cache
def message_triggers() -> dict[str, tuple[str, ...]]:
    """Return words of which one is in every line that is recognised by its words.

    Each has those of which one must be in the line, too; none where it is enough.
    """
    found: dict[str, tuple[str, ...]] = dict.fromkeys(_PART_TRIGGERS, ())
    for _, words in _rows():
        for word, others in words.triggers.items():
            found[word] = (*found.get(word, others), *others) if others and found.get(word, others) else ()
    return found


@cache
def _rows() -> tuple[tuple[_WordedRow, Words], ...]:
    """Return every row that is recognised by words, in the order of the tables."""
    rows: tuple[_WordedRow, ...] = (*messages(), *wordings(), *libraries())
    worded = (row for row in rows if row.every or row.some)
    return tuple(
        (row, Words(*(tuple(dict.fromkeys(map(alike, one))) for one in (row.every, row.some)))) for row in worded
    )


@cache
def _index() -> RowIndex[tuple[_WordedRow, Words]]:
    return RowIndex((row, row[1].triggers) for row in _rows())


@cache
def _parts() -> WordIndex:
    return WordIndex(_PART_TRIGGERS)


def can_be_message(lowered: str) -> bool:
    """Whether a line in lower case has a word without which no message is in it."""
    return bool(_near(lowered) or _parts().found(lowered))


@lru_cache(maxsize=16)
def _near(lowered: str) -> list[tuple[_WordedRow, Words]]:
    return _index().near(lowered)


def read_messages(line: str) -> list[Symptom]:
    """Return the messages that a line matches, else the library or the compiled module that it says was not found.

    A wording of another cause counts where only general messages match.
    """
    lowered, excerpt = alike(line), " ".join(line.split())[:400]
    rows = [row for row, words in _near(lowered) if words.match(lowered)]
    matching = [row for row in rows if isinstance(row, Message)]
    special = [one for one in matching if not one.general and one.rank != "last"]
    worded = next((row for row in rows if isinstance(row, Wording)), None) if not special else None
    more = {"subject": subject} if rows and (subject := _subject(line)) else {}
    if worded is not None:
        details = {"cause": worded.cause, **more, **({"rank": worded.rank} if worded.rank else {})}
        dlls = (worded.dll,) if worded.dll else ()
        return [Symptom(KIND, None, dlls=dlls, module=worded.module, excerpt=excerpt, details=details)]
    if matching:
        arch = _ARCH.search(lowered)
        names = tuple(dict.fromkeys(found[0] for found in _DLL.finditer(line)))[:4]
        found = []
        for message in special or matching:
            details = {"message": message.id, **({"arch": arch[0]} if arch else {})}
            details |= {"rank": message.rank} if message.rank else {}
            details |= more if message.build else {}
            code = 126 if message.missing and names else None
            survived = message.survived
            found.append(Symptom(KIND, code, dlls=names, excerpt=excerpt, details=details, survived=survived))
        return found
    for library in (row for row in rows if isinstance(row, NamedLibrary)):
        details = {"only": "windows"} if library.windows else {}
        return [Symptom("library", 126, library.name, excerpt=excerpt, details=details)]
    return [Symptom(KIND, module=name, excerpt=excerpt, details=more) for name, more in _missing_parts(line)][:1]


def _subject(line: str) -> str:
    """Return what a line of a build says was not found."""
    found = [match["file"] or match["package"] for match in islice(_SUBJECT.finditer(line), 20)]
    return found[-1] if found else ""


def _missing_parts(line: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the modules that a line says were not found, and what is behind it.

    Where a compiled module is not found, the package is there and its compiled part is not. Of others the lines around
    it tell: a program bundle does not have the module, or a package does not find a part of its own.
    """
    found = [".".join(filter(None, match.group("package", "name"))) for one in _PARTS for match in one.finditer(line)]
    for module in (name.rstrip(".") for name in found[:4]):
        if is_compiled(module):
            if not module.rpartition("_")[2].startswith(_VARIANTS):
                yield module, {"cause": "compiled-part-missing"}
            return
    if part := _PARTS[0].search(line):
        yield part["package"].rstrip("."), {"cause": "package-leftover", "only": PART, "rank": "fallback"}


def message_by_id(name: str) -> Message | None:
    """Return the message of that name, or None."""
    return next((message for message in messages() if message.id == name), None)


def library_of(name: str) -> NamedLibrary | None:
    """Return the library that a file name stands for, or None."""
    stem = name.lower().removesuffix(".dll")
    return next((one for one in libraries() if one.file and one.file.fullmatch(stem)), None) if stem else None


def own_module(symptom: Symptom) -> str:
    """Return the module whose import failed, which can be the file itself."""
    return symptom.module or (symptom.file.partition(".")[0] if symptom.file.lower().endswith(".pyd") else "")


def library_behind(symptom: Symptom) -> NamedLibrary | None:
    """Return the library that a compiled module stands for, or None."""
    module = (own_module(symptom) or symptom.file.partition(".")[0]).rpartition(".")[2]
    wanted = (one for one in libraries() if one.needed_by and one.needed_by.fullmatch(f"{symptom.package}.{module}"))
    return next(wanted, None)


def words_for(symptom: Symptom, missing: tuple[str, ...], *, candidates: bool = False) -> dict[str, str]:
    """What the templates may ask for; an empty value means that the text does not say.

    ``candidates`` says that the missing DLLs are those that are known to be absent in such cases, any one of them:
    then nothing is said about where to get them, because most of them are there.
    """
    names = symptom.dlls or ((symptom.file,) if symptom.file else missing)
    behind = library_behind(symptom)
    left_out = symptom.details.get("left_out", "")
    return {
        **_file_words(symptom, names, behind.name if behind else ""),
        "behind": f": most likely {behind.name}, {behind.about}" if behind else "",
        "needs": f"It needs {behind.name}, {behind.about}. " if behind else _brought(symptom),
        "brought": "" if behind else _brought(symptom),
        "left_out": f"PyInstaller did not find {left_out}. " if left_out else "",
        "clash": symptom.details.get("clash", ""),
        **_source_words(
            () if candidates else missing,
            library_of(names[0] if names else "") or behind,
            symptom,
        ),
        **_package_words(symptom),
        **_version_words(symptom),
        **_card_words(symptom),
        "program": symptom.details.get("program", ""),
        "tags": described_tags(symptom.excerpt),
        "interpreter": symptom.details.get("interpreter", ""),
    }


def _file(symptom: Symptom) -> str:
    return symptom.file or _module_name(symptom)


def _file_words(symptom: Symptom, names: tuple[str, ...], behind: str) -> dict[str, str]:
    """The file that failed, what failed in it, and where it lies."""
    details, path = symptom.details, symptom.path or ""
    error = winerror(symptom.code) if symptom.code is not None else None
    prefix = environment_prefix(path) or details.get("prefix", "")
    return {
        "file": _file(symptom),
        "a_file": symptom.file or (_module_name(symptom) if symptom.module or symptom.package else "A DLL"),
        # It stands between the quotes of a command; a bare name is looked for elsewhere.
        "full_path": path if "\\" in path and not {"'", "%", UNNAMED} & {*path} else "",
        "names": _and(names) or "a part",
        "subject": f": {details['subject']}" if "subject" in details else "; the line names it",
        "header": next((one.whose for one in _headers() if one.name.fullmatch(details.get("subject", ""))), ""),
        "named": f": {_and(symptom.dlls)}" if symptom.dlls else "",
        "dll": symptom.dlls[0] if symptom.dlls else "a DLL",
        "vc_arch": {"32-bit": "x86", "ARM64": "arm64"}.get(details.get("bitness", ""), "x64"),
        "vc_others": "" if "bitness" in details else "; .x86 for 32-bit Python, .arm64 for ARM64",
        "wildcard": _with_suffix(
            symptom.dlls[0] if symptom.dlls else behind if "\\" in path else symptom.file or behind
        ),
        "symbol": details.get("symbol", ""),
        "function": f"the function {details['symbol'][:_LONGEST_NAME]}" if "symbol" in details else "a function",
        # A name without a folder is looked for itself.
        "sought": f"{path}, or a DLL that it needs"
        if path and "\\" not in path
        else f"A DLL that {_file(symptom)} needs",
        "newer_part": details.get("symbol", "") or _and(tuple(filter(_comes_with_windows, names)) or names) or "a part",
        "user_site": details.get("user_site", ""),
        "meaning": error.meaning if error else "",
        "code_note": _code_note(symptom.code),
        "crashed_in": _crashed_in(symptom),
        "program_of_its_own": f" {name}" if (name := details.get("program_of_its_own", "")) else "",
        # The DLLs of CUDA beside torch import none of its own.
        "torch_imports": "" if is_beside_torch(symptom.file) else " (often torch_cpu.dll or torch_cuda.dll)",
        "prefix": prefix,
        "env_option": f' --env "{prefix}"' if prefix else "",
        "package_folder": _package_folder(symptom),
    }


def _comes_with_windows(name: str) -> bool:
    return classify(name).kind == "system"


def _crashed_in(symptom: Symptom) -> str:
    """Where a process crashed; in a DLL of Windows faults of its callers come to light."""
    if symptom.file and _comes_with_windows(symptom.file):
        return f" that called {symptom.file}, a part of Windows"
    return f", in {symptom.file or symptom.package}" if symptom.file or symptom.package else ""


_ADD_FOLDER = " where this Python looks: os.add_dll_directory, called before the import"
"""From Python 3.8 on, PATH is not searched for what a module imports."""


def _source_words(missing: tuple[str, ...], library: NamedLibrary | None, symptom: Symptom) -> dict[str, str]:
    """Where the missing DLLs can be had."""
    words = dict(zip(("vendor_command", "conda_command", "vendor_why"), _vendor(missing), strict=True))
    found = {f"library_{name}": getattr(library, name, "") for name in ("fix", "command", "why")}
    details = symptom.details
    if symptom.kind == "dll-load-failed" and details.get("python", "").zfill(2) > "07":
        found["library_fix"] = found["library_fix"].replace(" on PATH", _ADD_FOLDER)
    if details.get("bitness") == "32-bit" and found["library_command"].startswith("winget install "):
        found["library_command"] += " --architecture x86"
    return words | found


_FEW_WHEELS = (
    " This is a {} Python, and many packages have wheels for the usual 64-bit one (AMD64) alone: install that; it runs "
    "on ARM64 as well."
)
_LONGEST_NAME = 120
_ITSELF = "This message names the missing file itself, not one that needs it."
_OR_ITS_NEED = "The program passes on error 126: the file itself, or a DLL that it needs, was not found."
_LOOKED = "The text says that the file is there: then one of its own DLLs is not found, or the program looks elsewhere."


def _numbers(version: str) -> list[int]:
    return [whole_number(one) or 0 for one in re.findall(r"\d{1,9}", version)]


def _offered(details: Mapping[str, str]) -> str:
    """What the index has for this Python, where that is not the version that was asked for."""
    if "offered" not in details:
        return ""
    asked = _numbers(details.get("building", "").partition("==")[2])
    reason = "ask for one of these"
    if asked and asked < min(map(_numbers, details["offered"].split(","))):
        reason += ", or use an older Python: for this one it has newer releases alone"
    return f" The index offers {details['offered']}: {reason}."


def _otherwise(details: Mapping[str, str]) -> str:
    """Which other Python may have a wheel."""
    return "use the usual 64-bit Python (AMD64)" if "bitness" in details else "try 3.11, 3.10 or 3.13"


def _package_words(symptom: Symptom) -> dict[str, str]:
    """The package that it is about, and the commands that install it again, or with what belongs to it."""
    details, package = symptom.details, _package(symptom)
    distribution, version = (
        details.get("distribution", "") or distribution_of_module(package),
        details.get("version", ""),
    )
    build = TorchBuild.parse(details["torch"]) if details.get("torch") else None
    conda = details.get("environment") == "conda"
    pair = next((one for one in _pairs() if one.package.fullmatch(package)), None)
    return {
        "module": symptom.module,
        "hidden": symptom.module or (part["package"] if (part := _PARTS[0].search(symptom.excerpt)) else "MODULE"),
        "package": package,
        "package_name": _package_name(symptom, package),
        "upgradable": "" if may_replace_a_build(distribution) else distribution,
        "same_build": " and the same kind of build (CPU, CUDA, ROCm, XPU)" if may_replace_a_build(distribution) else "",
        "wheel": rf"dist\{distribution.replace('-', '_')}*.whl",
        "again": again(distribution, version, build, conda=conda),
        "then_again": then_again(distribution, version, conda=conda),
        "pair": _and(pair.names) if pair else "",
        "pair_command": f"python -m pip install --upgrade --no-deps {' '.join(pair.names)}" if pair else "",
        "pair_why": pair.why if pair else "",
        "torch_241": in_release(build, "2.4.1"),
        "torch_together": together(build, distribution),
        "torchvision": together(build, "torchvision"),
        "torch_cpu": for_cpu() if package == "torch" else "",
        "torch_for_card": for_card(details.get("capability", "")) if package == "torch" else "",
        "itself": _LOOKED if "there" in details else _OR_ITS_NEED if "126" in symptom.excerpt else _ITSELF,
        "module_origin": f"; it is the copy of {package}" if package and symptom.kind == "faulting-module" else "",
        "collect": _collect(symptom),
        "building": details.get("building", "the package"),
        "offered": _offered(details),
        "this_python": _this_python(details),
        "ask_wheel": _ask_wheel(details),
        "bitness": _FEW_WHEELS.format(details["bitness"]) if "bitness" in details else "",
        "build_here": _build_here(details.get("building", "")),
        "index": details.get("index", ""),
        "otherwise": "" if "index" in details else f"; otherwise {_otherwise(details)}, or ask with diagnose --fetch",
    }


def _version_words(symptom: Symptom) -> dict[str, str]:
    """The versions that met."""
    details = symptom.details
    built, running = details.get("built", ""), details.get("running", "")
    serves = whole_number(running) if len(running) == len("12040") else None
    return {
        "version_pair": _pair_of_versions(details),
        "numpy_newer": quoted("numpy<2") if _OF_NUMPY_1.match(built or details.get("numpy_release", "")) else "numpy",
        "torch_cuda": again("torch", "", TorchBuild.parse(built)) if running.endswith("+cpu") else "",
        "python": details.get("python", ""),
        "for_python": details.get("for_python", ""),
        "cured": f"{one} brings a copy, so an import of it before helps. " if (one := details.get("cured_by")) else "",
        "driver_serves": f": it serves CUDA {serves // 1000}.{serves % 1000 // 10} at most" if serves else "",
        "module_version": f" {details['module_version']}" if details.get("module_version") else "",
    }


def _pair_of_versions(details: Mapping[str, str]) -> str:
    """The releases that do not go together, or the sizes of a type in them; that of numpy.dtype tells the release."""
    if details.get("built") and details.get("running"):
        return f": built for {details['built']}, found {details['running']}"
    if not (details.get("header") and details.get("object")):
        return ""
    releases = {"96": " (NumPy 1)", "88": " (NumPy 2)"} if details.get("type") == "numpy.dtype" else {}
    first, second = (f"{size} bytes{releases.get(size, '')}" for size in (details["header"], details["object"]))
    return f": it expects {first}, and finds {second}"


def _card_words(symptom: Symptom) -> dict[str, str]:
    """The graphics card, and the architectures that were compiled for."""
    details = symptom.details
    card, capability = details.get("card", ""), details.get("capability", "")
    supported = details.get("supported", "").rstrip(" .")
    return {
        "card": card,
        "capability": capability,
        "arch": _arch(capability),
        "ask_arch": "" if _arch(capability) else "nvidia-smi --query-gpu=compute_cap --format=csv,noheader",
        "for_card": f": {card} has {capability}" if card and capability else "",
        "has_archs": f", here {supported}" if supported else "",
        "card_arch": details.get("arch", ""),
        "arch_known": about_architecture(details.get("arch", "")),
    }


_OF_NUMPY_1 = regex(r"0x(?:[0-9a-f]|1[01])$|1(?:\.|$)", re.IGNORECASE)
"""Versions of NumPy's interface, and releases, before NumPy 2: what was built for them does not run with it."""


def _ask_wheel(details: Mapping[str, str]) -> str:
    """The command that finds out whether there is a wheel for another Python."""
    requirement = details.get("building", "")
    platform = " --platform win_amd64" if details.get("bitness") == "32-bit" else ""
    # What has no wheel for a Python most often has one for those before it.
    minor = whole_number(details.get("python", "")) or 13
    python = details.get("wheel_python", f"3.{max(minor - 1, 8)}")
    command = f"python -m pip download --no-deps --only-binary=:all:{platform} --python-version {python}"
    build = TorchBuild.parse(requirement.partition("==")[2]) if "+" in requirement else None
    return f"{command} {quoted(requirement)}{build.index_option if build else ''}" if requirement else ""


def _build_here(requirement: str) -> str:
    """The command that builds a package in the environment itself."""
    return f"python -m pip install --no-build-isolation {quoted(requirement)}" if requirement else ""


_OF_VENDORS = frozenset({"vendor", "unknown", "vcredist"})
"""What packages bring; Windows, Python and drivers bring the rest."""


def _vendor(missing: tuple[str, ...]) -> tuple[str, str, str]:
    """Return a pip command, a conda command and who ships it, for the first DLLs of which something is known."""
    pip: list[str] = []
    conda: list[str] = []
    who: list[str] = []
    for name in missing:
        if "*" in name or is_mangled(name) or classify(name).kind not in _OF_VENDORS:
            continue
        packages = tuple(package for package in pip_packages(name) if not may_replace_a_build(package))
        if len(packages) > 1:
            # One for each major version of CUDA: nothing in the text says which one fits.
            who.append(f"one of {', '.join(packages)} on PyPI, the one for the CUDA version that is in use")
            continue
        pip += map(quoted, packages)
        wanted, major = conda_requirements(name), family_of(name).major(name)
        # A number that no release has: the newest, which conda would take, does not have it either.
        numbered = major is not None and not any(set("<=>") & set(one) for one in wanted)
        conda += wanted if packages or not numbered else ()
        who += who_ships(name)[:1]
        who += [_after_installing(name, package) for package in packages]
    return (
        f"python -m pip install {' '.join(dict.fromkeys(pip))}" if pip else "",
        f"conda install -c conda-forge {' '.join(map(quoted, dict.fromkeys(conda)))}" if conda else "",
        "who has it: " + "; ".join(dict.fromkeys(filter(None, who))) if who else "",
    )


def _after_installing(name: str, requirement: str) -> str:
    """Where a DLL lies once the distribution is installed, if that is a folder that has to be named to Windows."""
    distribution = requirement_name(requirement)
    folder = next((owner.folder for owner in owners_of(name) if owner.distribution == distribution), "")
    if not folder or folder == "Library/bin":
        return ""
    place = folder.replace("/", "\\")
    return (
        f"the wheel puts it into {place}, which Windows does not search by itself: where the program does not add that "
        "folder, call os.add_dll_directory with it before the import"
    )


def is_beside_torch(file: str) -> bool:
    """Whether a DLL is one of a vendor, which torch only has in its folder."""
    family = family_of(file)
    return bool(family) and not family.id.startswith("torch")


def _collect(symptom: Symptom) -> str:
    """The option of PyInstaller for the package whose DLLs were left out; empty for other tools, and Python itself."""
    package = symptom.package or package_with(symptom.module)
    known = package and symptom.details.get("bundle") == "PyInstaller"
    return f"pyinstaller --collect-binaries {package} script.py" if known else ""


def _this_python(details: Mapping[str, str]) -> str:
    """Which Python runs, as far as the text shows it."""
    shown = filter(None, [details.get("bitness", ""), f"3.{details['python']}" if "python" in details else ""])
    return f" ({', '.join(shown)})" if {"bitness", "python"} & {*details} else ""


def _module_name(symptom: Symptom) -> str:
    """What to call a file that the text does not name: its module, or the package that loads it."""
    package = _package(symptom)
    owner = owner_of_package(package)
    named = f"{package} ({owner})" if owner not in ("", canonical(package)) else package
    if "dotted" in symptom.details:
        return f"the module {symptom.details['dotted']}{f' ({owner})' if owner not in ('', canonical(package)) else ''}"
    if symptom.module:
        whose = f" of {named}" if named not in ("", symptom.module.partition(".")[0]) else ""
        return f"the module {symptom.module}{whose}"
    return f"a module of {named}" if named else "the file"


_BROUGHT = 6


def _brought(symptom: Symptom) -> str:
    """The DLLs that the wheel of a package brings, those that are called like the module first."""
    package, stem = _package(symptom), symptom.module.rpartition(".")[2].strip("_").lower().removeprefix("qt")
    if not package or symptom.file or symptom.details.get("environment") in ("conda", "msys2"):
        return ""
    names = sorted({re.sub(r"\{py\.?\}", "*", one) for one in brought_with(package)})
    release = symptom.details.get("release", "")
    if not names or (release and not is_newest(owner_of_package(package), release)):
        return ""
    names.sort(key=lambda name: not stem or stem not in name)
    more = f" and {len(names) - _BROUGHT} more" if len(names) > _BROUGHT else ""
    other = symptom.code in (127, 182)
    suspicion = "one of these may be there in another version" if other else "see whether these are there"
    listed = f"{', '.join(names[:_BROUGHT])}{more}"
    return f"The newest wheel of {owner_of_package(package) or package} on PyPI has {listed}: {suspicion}. "


def _package_name(symptom: Symptom, package: str) -> str:
    """What to call the package: its name, or the module of it that the text names."""
    if symptom.package or not package or owner_of_package(package) or distribution_of_module(package):
        return package or "the package"
    return f"the package that has {package}"


def _with_suffix(name: str) -> str:
    """A name as where.exe finds it: without a suffix it looks for programs."""
    return f"{name}.dll" if name and "." not in name else name


def _code_note(code: int | None) -> str:
    if code is None:
        return "the text does not say with which code"
    number = str(code) if code <= 0xFFFF else f"0x{code:08X}"
    return f"the text has error {number}, which is not one that loads usually end with"


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _package_folder(symptom: Symptom) -> str:
    prefix = environment_prefix(symptom.path or "")
    # Inside the single quotes of PowerShell, an apostrophe is written twice.
    folder = rf"{prefix}\Lib\site-packages\{symptom.package}" if prefix and symptom.package else ""
    return folder.replace("'", "''")


def _package(symptom: Symptom) -> str:
    """The importable package that a symptom is about: from the path, the kind of message, or the module."""
    # "… with CUDA capability sm_120 is not compatible with the current PyTorch installation"
    if symptom.kind == "no-kernel-image" and "capability" in symptom.details:
        return "torch"
    if symptom.kind == "torch-load":
        return symptom.package or "torch"
    return symptom.package or package_with(symptom.module) or symptom.module.partition(".")[0]


def _arch(capability: str) -> str:
    """``sm_120`` as TORCH_CUDA_ARCH_LIST wants it: ``12.0``."""
    found = re.fullmatch(r"sm_(\d+)(\d)([a-z]?)", capability)
    return f"{found[1]}.{found[2]}{found[3]}" if found else ""


_HOLE = regex(r"\{(\w+)\}")
_OPTIONAL = frozenset({"env_option"})
_NAMES_A_DISTRIBUTION = frozenset(
    (
        "package upgradable again torchvision vendor_command library_command torch_241 torch_together "
        "torch_for_card torch_cpu torch_cuda ask_wheel build_here collect works_pin"
    ).split()
)
"""Without these a remedy stays advice in words: nothing says which distribution, or which build of it, is meant."""


def fill(text: str, words: Mapping[str, str]) -> str:
    """Return a template's text with its words; those that are not known are empty."""
    filled = _HOLE.sub(lambda hole: words[hole[1]], text)
    return re.sub(r" {2,}", " ", filled).strip()


def fill_remedy(step: Remedy, words: Mapping[str, str]) -> Remedy | None:
    """Fill a remedy's placeholders; None when its command needs something that the text does not say.

    Advice about a package stays, without its command, where nothing says which distribution it is: a module's name
    is not a distribution's name.
    """
    empty = {hole for hole in _HOLE.findall(step.command) if not words[hole]} - _OPTIONAL
    if empty and empty <= _NAMES_A_DISTRIBUTION:
        step = replace(step, command="")
    elif empty:
        return None
    command = fill(step.command, words)
    if words["interpreter"] and command.startswith("python "):
        command = f'"{words["interpreter"]}\\python.exe" {command.partition(" ")[2]}'
    why = fill(step.why, words) + _in_powershell(command)
    filled = replace(step, title=fill(step.title, words), command=command, why=why)
    return filled if filled.command or filled.why else None


_SETTING = regex(r"set (\w+)=(.*)")


def _in_powershell(command: str) -> str:
    """How to set the same variable in PowerShell, whose ``set`` is another command that silently does nothing here."""
    found = _SETTING.fullmatch(command)
    if command.startswith('"'):
        return "; in PowerShell with & before it"
    return f"; in PowerShell: $env:{found[1]} = '{found[2]}'" if found else ""

"""Says what is behind a symptom from the text and the tables alone, and what to try, best first."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from functools import cache
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from wheelfix.base.parsing import regex
from wheelfix.base.values import field, frozen, replace
from wheelfix.diagnosis.symptoms.messages import (
    Message,
    fill,
    fill_remedy,
    is_beside_torch,
    message_by_id,
    own_module,
    words_for,
)
from wheelfix.diagnosis.symptoms.model import (
    Cause,
    Confidence,
    ErrorLine,
    Remedy,
    Symptom,
    environment_prefix,
    package_of,
    read_table,
    table_rows,
)
from wheelfix.diagnosis.symptoms.pairs import is_distribution
from wheelfix.diagnosis.symptoms.recognise import facts_in
from wheelfix.knowledge.builds import may_replace_a_build
from wheelfix.knowledge.companions import runtime_need
from wheelfix.knowledge.cuda import TorchBuild
from wheelfix.knowledge.providers import distribution_of_module, dlls_with, owner_of_package
from wheelfix.knowledge.system import classify
from wheelfix.knowledge.winerrors import winerror
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


TABLE = "causes.toml"
ENDINGS = "endings.toml"
CIRCUMSTANCES = "circumstances.toml"
_SUBJECTS: dict[str, Callable[[Symptom], Iterable[str]]] = {
    "file": lambda symptom: (symptom.file.lower(),),
    "path": lambda symptom: (symptom.path or "",),
    "dll": lambda symptom: map(str.lower, symptom.dlls),
    "name": lambda symptom: (*_asked_for(symptom), *map(str.lower, symptom.dlls)),
    "module": lambda symptom: (own_module(symptom),),
    "package": lambda symptom: (symptom.package,),
    "facts": lambda symptom: ("".join(f"{name}={value};" for name, value in sorted(symptom.details.items())),),
    "program": lambda symptom: [symptom.details.get(name, "").lower() for name in ("program", "program_of_its_own")],
}
"""What each pattern of a rule is about; ``name`` is the file or one of the DLLs that the text names, and
``facts`` what it says about the machine, in alphabetical order: ``bundle=Nuitka;vendor=amd;``."""


def _asked_for(symptom: Symptom) -> tuple[str, ...]:
    """The file, unless it was asked for in the folder of a package or a bundle, which has a copy of its own."""
    own = package_of(symptom.path or "") or any(fact.name == "bundle" for fact in facts_in(symptom.path or ""))
    return () if own else (symptom.file.lower(),)


_CONDITIONS: dict[str, Callable[[Symptom], bool]] = {
    "bare": lambda symptom: bool(symptom.path) and "\\" not in (symptom.path or ""),
    "bundle": lambda symptom: bool(symptom.details.get("bundle")),
    "installed": lambda symptom: not symptom.details.get("bundle"),
    "not_conda": lambda symptom: symptom.details.get("environment") != "conda",
    "running": lambda symptom: "fatal exception" in symptom.excerpt.lower(),
    "system": lambda symptom: _is_of_windows(symptom),
}
"""Whether the file was asked for by its name alone, whether the text is from a program that PyInstaller, Nuitka or the
like made, or not, whether it is not known to be from an environment of conda, whether Python was running, and whether
the DLL is a part of Windows."""


@frozen
class CauseRule:
    """When a symptom has a cause; fields left empty fit everything."""

    cause: str
    kinds: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()
    """0 where the text has none."""
    patterns: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    """By what they are about, a key of ``_SUBJECTS``."""
    conditions: tuple[str, ...] = ()
    """Keys of ``_CONDITIONS``."""
    via: str = ""
    runtime: str = ""
    """The Visual C++ runtime that the published wheel of the module expects on the machine."""
    missing: tuple[str, ...] = ()
    confidence: Confidence = Confidence.SURE

    def fits(self, symptom: Symptom) -> bool:
        """Whether every field that is set agrees with the symptom."""
        return (
            (not self.kinds or symptom.kind in self.kinds)
            and (not self.codes or (symptom.code or 0) in self.codes)
            and all(any(map(one.fullmatch, _SUBJECTS[name](symptom))) for name, one in self.patterns.items())
            and (not self.via or symptom.details.get("via") == self.via)
            and all(_CONDITIONS[name](symptom) for name in self.conditions)
            and (not self.runtime or self._needs_runtime(symptom))
        )

    def _needs_runtime(self, symptom: Symptom) -> bool:
        """Whether the published wheel expects the runtime on the machine; conda's packages come with their own."""
        in_conda = symptom.details.get("environment") == "conda"
        return not in_conda and runtime_need(symptom.package, symptom.module or symptom.file) == self.runtime


def _is_of_windows(symptom: Symptom) -> bool:
    """Whether what was not found is a DLL that every usual Windows has."""
    names = symptom.dlls or ((symptom.file,) if symptom.path and "\\" not in symptom.path else ())
    return bool(names) and classify(names[0]).kind == "system"


@frozen
class Need:
    """What has to be known, or must not be known, about a machine for a remedy to help."""

    id: str
    fact: str
    """A key of the details of a symptom: ``environment``, ``vendor``, ``bundle``, …"""
    known: bool = False
    """Whether the remedy is for those only of whom it is known."""
    only: tuple[str, ...] = ()
    """The values with which it helps; empty for all."""
    never: tuple[str, ...] = ()
    """The values with which it does not help, or does harm."""

    def holds(self, details: Mapping[str, str]) -> bool:
        """Whether nothing that is known rules it out."""
        value = details.get(self.fact, "")
        if not value:
            return not self.known
        return value not in self.never and "*" not in self.never and (not self.only or value in self.only)


@frozen
class CauseTable:
    """The content of ``causes.toml``; the causes are templates."""

    rules: tuple[CauseRule, ...]
    causes: Mapping[str, Cause]
    needs: Mapping[str, Need]


@cache
def cause_table() -> CauseTable:
    """Return the rules and causes of this package."""
    tree = read_table(TABLE).tree
    # Rules and remedies are our own conclusions: the cause carries the source for both.
    steps = {row["id"]: Remedy(**row | {"needs": tuple(row.get("needs", ()))}) for row in tree["remedy"]}
    causes = {
        row["id"]: Cause(
            *(row["id"], row["summary"], row["known"], (), Confidence(row["confidence"])),
            tuple(map(steps.__getitem__, row["remedies"])),
        )
        for row in tree["cause"]
    }
    needs = {need.id: need for need in table_rows("need", Need, TABLE)}
    return CauseTable(tuple(_rule(row, tree["pattern"]) for row in tree["rule"]), causes, needs)


def _rule(row: Mapping[str, Any], named: Mapping[str, str]) -> CauseRule:
    texts = {name: row[name] for name in _SUBJECTS if name in row}
    for word, pattern in named.items():
        texts = {name: text.replace(f"{{{word}}}", pattern) for name, text in texts.items()}
    lists = {name: tuple(row.get(name, ())) for name in ("kinds", "codes", "missing")}
    return CauseRule(
        row["cause"],
        **lists,
        patterns={name: regex(text) for name, text in texts.items()},
        conditions=tuple(name for name in _CONDITIONS if row.get(name)),
        via=row.get("via", ""),
        runtime=row.get("runtime", ""),
        confidence=Confidence(row.get("confidence", "sure")),
    )


def explain_symptom(symptom: Symptom) -> Cause | None:
    """Return what is behind a symptom, or None when the tables have nothing to say about it."""
    message = message_by_id(symptom.details.get("message", "")) or message_by_id(symptom.details.get("cause", ""))
    if message is not None and message.instead and message.instead[0] in symptom.details:
        # What PyTorch itself makes is on its index, and another reason is the true one.
        own = may_replace_a_build(symptom.details.get("building", ""))
        message = message if own else message_by_id(message.instead[1])
    if message is not None and message.nvidia and symptom.survived and "vendor" in symptom.details:
        return None  # harmless with a build of torch for another vendor's card
    if message is not None:
        return _message_cause(symptom, message)
    if "cause" in symptom.details:
        return cause_by_id(symptom.details["cause"], symptom, symptom.dlls)
    rule = next((rule for rule in cause_table().rules if rule.fits(symptom)), None)
    if rule is None:
        return None
    message = message_by_id(rule.cause)
    return _message_cause(symptom, message) if message else _cause(symptom, rule, _missing(symptom, rule))


_QUOTED = 120
_NO_BUILD = (
    "Use a Python that it has wheels for: 64-bit, and neither too new nor too old; with an old pip, update pip first"
)
_HAS_WHEEL = "it succeeds where there is a wheel for that Python"


def _message_cause(symptom: Symptom, message: Message) -> Cause:
    missing = symptom.dlls[:1] if message.missing else ()
    words = words_for(symptom, missing)
    step = fill_remedy(Remedy(message.fix, message.command, message.why, when=message.when), words)
    if step and step.command.endswith(f" {symptom.details.get('building', '')}"):
        step = replace(step, title=_NO_BUILD, command=words["ask_wheel"], why=_HAS_WHEEL)  # it is what cannot be built
    steps = (
        (replace(of_environment(step, symptom), rank=1),) if step else (Remedy(message.fix, "", message.why, rank=1),)
    )
    # That something failed is no cause.
    confidence = Confidence.GUESS if message.rank == "last" else Confidence.SURE
    return Cause(message.id, fill(message.summary, words), fill(message.known, words), missing, confidence, steps)


def cause_by_id(name: str, symptom: Symptom, missing: tuple[str, ...] = ()) -> Cause:
    """Return a cause that was found by other means, with the texts of the table for this symptom."""
    return _cause(symptom, CauseRule(name), missing)


def _cause(symptom: Symptom, rule: CauseRule, missing: tuple[str, ...]) -> Cause:
    template = cause_table().causes[rule.cause]
    words = words_for(symptom, missing, candidates=len(missing) > 1 and missing == rule.missing)
    order = list(Confidence)
    confidence = max(template.confidence, symptom.confidence, rule.confidence, key=order.index)
    steps = (fill_remedy(step, words) for step in template.next_steps if _may_help(step, symptom))
    in_conda = symptom.details.get("environment") == "conda"
    # Where the environment is known to be conda's, what conda does comes first: the others do not reach its DLLs.
    kept = [step for step in steps if step is not None]
    kept.sort(key=lambda step: not (in_conda and "conda" in step.needs))
    return Cause(
        template.id,
        fill(template.summary, words),
        fill(template.what_is_known, words),
        missing,
        confidence,
        tuple(replace(of_environment(step, symptom), rank=rank) for rank, step in enumerate(kept, start=1)),
    )


_OF_A_TOOL = regex(r"pipx[\\/]venvs[\\/](?P<pipx>[\w.-]+)|uv[\\/]tools[\\/](?P<uv>[\w.-]+)", re.IGNORECASE)
WITH_PYTHON = ("QGIS", "Blender")
"""Programs that contain a Python."""
_BY_PIP = regex(r"^python -m pip (?=(?:install|uninstall|list|show|check) )")
_MANAGERS = {
    "uv": "uv pip ",
    "poetry": "poetry run python -m pip ",
    "pipenv": "pipenv run python -m pip ",
}
"""How pip is called where another program manages the environment; uv's environments do not contain pip."""
_ONE_PACKAGE = regex(r"python -m pip install (?!-)(\S+)")


def of_environment(step: Remedy, symptom: Symptom) -> Remedy:
    """Fit a remedy to the environment: what is known to hold is no condition, and pip does not mend what conda made."""
    environment = symptom.details.get("environment", "")
    host = symptom.details.get("host", "")
    if host in WITH_PYTHON and step.command.startswith("python -m pip ") and not step.when:
        return replace(step, when=f"it is run with the Python of {host}: another one has packages of its own")
    if "windows" in symptom.details and step.command.startswith("winget "):
        why = f"{step.why}; Windows {symptom.details['windows']} has no winget, but Microsoft's page has the installer"
        return replace(step, command="", why=why)
    tool = _OF_A_TOOL.search(symptom.details.get("prefix", "") or environment_prefix(symptom.path or ""))
    if tool and (package := _ONE_PACKAGE.fullmatch(step.command)):
        # Another pip than that of the environment would be the one that runs.
        injected = f"pipx inject {tool['pipx']} {package[1]}"
        return replace(step, command=injected if tool["pipx"] else f"uv tool install {tool['uv']} --with {package[1]}")
    if manager := _MANAGERS.get(symptom.details.get("manager", "")):
        return replace(step, command=_BY_PIP.sub(manager, step.command))
    if environment == "conda" and "conda" in step.needs:
        return replace(step, when="")
    by_pip = " pip install " in step.command or "--index-url" in step.title
    if environment == "conda" and by_pip and not step.when:
        return replace(
            step, when="conda list shows it as a package of pypi: pip over conda's packages mixes two builds"
        )
    if environment == "venv" and step.command.startswith("conda "):
        return replace(step, command="", when="")
    return step


def _may_help(step: Remedy, symptom: Symptom) -> bool:
    """Whether nothing that is known about the environment rules out a remedy."""
    needs, details = cause_table().needs, {**symptom.details, **_concluded(symptom)}
    return all(needs[name].holds(details) for name in step.needs)


def _concluded(symptom: Symptom) -> dict[str, str]:
    """What follows from the details of a symptom, for the table of needs."""
    torch = symptom.details.get("torch", "")
    of_vendor = symptom.kind == "torch-load" and is_beside_torch(symptom.file)
    published = of_vendor or (bool(torch) and TorchBuild.parse(torch).is_published)
    return {
        "torch_build": "published" if published else "",
        "runtime_copy": symptom.package if symptom.kind == "faulting-module" else "",
        "own_runtime": symptom.package if "msvcp140.dll" in dlls_with(symptom.package) else "",
        "numpy": "older" if _numpy_is_older(symptom.details) else "newer",
    }


# ------------------------------------------------------------------------------------- errors that no other table knows


@frozen
class EndingFamily:
    """A family of errors, by the words of the line that ended a program."""

    id: str
    pattern: re.Pattern[str]
    summary: str
    known: str
    fix: str
    why: str
    source: str
    command: str = ""
    guess: bool = False
    """Whether it says what failed, and not why."""
    general: bool = False
    """Whether its words also stand in lines that are no errors."""
    installed: bool = False
    """Whether it counts only where the error was raised in the files of an installed package."""
    part: str = ""
    """The part of a text that it is for, as ``ErrorLine`` has it."""
    above: re.Pattern[str] | None = None
    """What the line above the error has."""
    stdlib: bool = False
    """Whether the group ``package`` has to be a module of Python itself."""

    def groups(self, error: ErrorLine) -> dict[str, str] | None:
        """Return what the line says, or None where it is not of this family."""
        # The last line of a build's output is known by its words, too.
        read_on = error.part == "output" and not (self.part or self.general or self.guess)
        fits = (error.installed or not self.installed) and (error.part == self.part or read_on)
        fits = fits and (self.above is None or self.above.search(error.above) is not None)
        found = self.pattern.search(error.text) if fits else None
        if found is None:
            return None
        # Groups of alternatives have a number behind their name.
        words = {name.rstrip("0123456789"): value for name, value in found.groupdict().items() if value}
        top = words.get("package", "").partition(".")[0]
        return words if not self.stdlib or top in sys.stdlib_module_names else None


@cache
def ending_families() -> tuple[EndingFamily, ...]:
    """Return the families in the order of the table."""
    return table_rows("ending", EndingFamily, ENDINGS)


@cache
def line_pattern(name: str) -> re.Pattern[str]:
    """Return what the lines of a kind have in them that can have the error which ended a program."""
    words = read_table(ENDINGS).tree["lines"][name]
    return re.compile("|".join(words), re.IGNORECASE if name == "printed" else 0)


def is_told(line: str) -> bool:
    """Whether a line has the words of an error that stand nowhere else, wherever they stand in it: also in a title."""
    error = ErrorLine(0, line)
    telling = (one for one in ending_families() if not (one.guess or one.general or one.part))
    return any(one.groups(error) is not None for one in telling)


def explain_error(error: ErrorLine) -> Cause:
    """Return what the line that ended a program says, by the family of its words."""
    family, words = next((one, found) for one in ending_families() if (found := one.groups(error)) is not None)
    words = {
        "name": "a name",
        "package": "a package",
        **words,
        "error": shorten(error.text, _QUOTED, placeholder=" …"),
        **_compiler_words(error.text),
    }
    # A module can come with a package of another name.
    owner = owner_of_package(words["name"])
    words["brought_by"] = f"On PyPI it comes with {owner}. " if owner not in ("", canonical(words["name"])) else ""
    known = fill(family.known, words)
    steps = (Remedy(fill(family.fix, words), family.command, fill(family.why, words), rank=1),)
    confidence = Confidence.GUESS if family.guess else Confidence.SURE
    return Cause(family.id, fill(family.summary, words), known, (), confidence, steps)


# ------------------------------------------------------------------------------------ what the machine adds to a cause


@frozen
class Circumstance:
    """What a text says about the machine that changes what an error means there, or what helps."""

    id: str
    facts: re.Pattern[str]
    """What is found in ``name=value;`` of all facts of the text, in alphabetical order."""
    causes: re.Pattern[str]
    """The causes that it is about."""
    source: str
    known: str = ""
    fix: str = ""
    """Empty where the cause has the remedy already."""
    command: str = ""
    why: str = ""
    summary: str = ""
    """Where the fact is the cause itself, what takes the place of the other, with its remedies."""
    rewords: bool = False
    """Whether ``summary`` says the same cause with what is known of it here."""
    drops: re.Pattern[str] | None = None
    """The remedies that do not help there, by title and command; with ``summary`` all, where nothing is set."""


@cache
def circumstances() -> tuple[Circumstance, ...]:
    """Return what texts say about machines, in the order of the table."""
    return table_rows("circumstance", Circumstance, CIRCUMSTANCES)


def in_circumstances(cause: Cause, facts: Mapping[str, str], symptom: Symptom | None = None) -> Cause:
    """Return a cause with what the facts of its text add to it; a fact that is the cause itself takes its place."""
    symptom = symptom or Symptom("", details=facts)
    words = words_for(symptom, cause.likely_missing)
    names, package = " ".join((symptom.file, *symptom.dlls)), words["package"]
    about = {
        "code": str(symptom.code or ""),
        "kind": symptom.kind,
        "names": names,
        "owner": owner_of_package(package),
        "package": package,
    }
    about |= {"prefix": words["prefix"]} if words["prefix"] else {}
    facts = {**facts, **symptom.details, **about}
    said = "".join(f"{name}={value};" for name, value in sorted(facts.items()))
    words = defaultdict(str, {**words, **facts, "works_pin": _pinned(facts, words["package"])})
    for one in circumstances():
        found = one.facts.search(said) if one.causes.fullmatch(cause.id) else None
        if found is None:
            continue
        words |= {name: value or "" for name, value in found.groupdict().items()}
        known = fill(one.known, words)
        own = fill_remedy(Remedy(one.fix, one.command, one.why), words) if one.fix else None
        drops = one.drops or re.compile("" if one.summary else "(?!)")
        rest = (step for step in cause.next_steps if not drops.search(f"{step.title} {step.command}"))
        steps = tuple(filter(None, (own, *rest)))
        if one.summary:
            other = cause if one.rewords else replace(cause, id=one.id, likely_missing=(), confidence=Confidence.LIKELY)
            cause = replace(other, summary=fill(one.summary, words), what_is_known=known, next_steps=steps)
        else:
            cause = replace(cause, what_is_known=f"{known} {cause.what_is_known}".strip(), next_steps=steps)
    return cause


def _pinned(facts: Mapping[str, str], package: str) -> str:
    """Return the release that works as a requirement, where it is clear whose it is and pip can change it."""
    name, _, version = facts.get("works_with", "").replace("=", " ").rpartition(" ")
    distribution = canonical(name.strip()) or distribution_of_module(package)
    may = is_distribution(distribution) and "bundle" not in facts and not may_replace_a_build(distribution)
    return f"{distribution}=={version.removeprefix('v')}" if may else ""


_NUMBER = regex(r"\b(?:C|D|LNK)\d{4}\b")
_LINK_STATUS = regex(r"(?<=failed with exit )(?:status|code) (?=1\d{3}\b)")
"""What link.exe ends with is the number of its error."""


def _compiler_words(text: str) -> dict[str, str]:
    """What the number in a message of Visual Studio means, and whose header the message points into."""
    tree = read_table(ENDINGS).tree
    number = _NUMBER.search(_LINK_STATUS.sub("LNK", text))
    means = (row["means"] for row in tree["number"] if number and number[0] in row["numbers"])
    header = next((name for name, pattern in tree["header"].items() if re.search(pattern, text)), "")
    return {
        "number": "".join(f"{one} " for one in means),
        "header": f"The line is in a header of {header}. " if header else "",
    }


_FIRST_NUMBER = regex(r"(?:0x)?0*([0-9a-f]{1,16})", re.IGNORECASE)


def _numpy_is_older(details: Mapping[str, str]) -> bool:
    """Whether the installed NumPy is known to be older than the one that a module was built with.

    The text has the sizes of a type, the versions of the interface in hexadecimal, or the releases themselves.
    """
    if details.get("numpy_release") == "1" and not {"running", "object"} & {*details}:
        return True
    if details.get("type") == "numpy.dtype":
        return details.get("header", "") < details.get("object", "")  # in NumPy 2 it is smaller
    for with_it, installed in (("header", "object"), ("built", "running")):
        numbers = [_FIRST_NUMBER.match(details.get(name, "")) for name in (with_it, installed)]
        first, second = ((len(found[1]), found[1].lower()) if found else (0, "") for found in numbers)
        if second[0] and first > second:
            return True
    return False


_BY_NAME = frozenset({"ctypes-not-found", "load-library", "named-file-missing", "library"})
"""Kinds of symptoms whose path is what a program asked for."""


def _missing(symptom: Symptom, rule: CauseRule) -> tuple[str, ...]:
    """The missing DLLs: those the text names, else those the rule knows; none unless a file is missing at all."""
    error = winerror(symptom.code) if symptom.code is not None else None
    if error is not None and not error.missing_file:
        return ()
    if rule.cause in ("two-openmp", "python-abi-mismatch", "no-gpu-code", "numpy-abi", "driver-too-old", "cudnn-mixed"):
        return ()
    if rule.runtime:
        return rule.missing
    if symptom.dlls:
        return symptom.dlls
    # A bare name was asked for by name, so it is itself what was not found.
    if symptom.path and symptom.kind in _BY_NAME and "\\" not in symptom.path:
        return (symptom.path,)
    return rule.missing

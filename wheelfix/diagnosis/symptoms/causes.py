"""Says what is behind a symptom from the text and the tables alone, and what to try, best first."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.diagnosis.symptoms.installing import (
    again,
    for_card,
    for_cpu,
    may_replace_a_build,
    then_again,
    together,
    upgrade,
)
from wheelfix.diagnosis.symptoms.messages import Message, about_architecture, message_by_id, message_of, messages
from wheelfix.diagnosis.symptoms.symptom import Confidence, Symptom
from wheelfix.knowledge.modules import distribution_of_module
from wheelfix.knowledge.providers import conda_package, pip_packages, who_ships
from wheelfix.knowledge.runtime_needs import runtime_need
from wheelfix.knowledge.tables import Checker, parse_toml
from wheelfix.knowledge.torch_builds import TorchBuild
from wheelfix.knowledge.winerrors import winerror
from wheelfix.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TABLE = "causes.toml"
_NEEDS = {"venv", "conda", "built-here"}
_PATTERNS = ("file", "dll", "name", "module", "package")


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to try."""

    title: str
    command: str
    """What can be pasted into a console; empty when there is no command for it."""
    why: str
    """What it does, and why that helps."""
    danger: str = ""
    """What it can break, for the last resorts."""
    rank: int = 0
    """1 is to be tried first."""
    when: str = ""
    """What has to hold for it to help; empty when nothing beyond the cause itself."""
    needs: tuple[str, ...] = ()
    """The same for machines: ``venv``, ``conda``, ``built-here``. Known not to hold, it drops the remedy."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What a symptom comes from."""

    id: str
    summary: str
    what_is_known: str
    likely_missing: tuple[str, ...]
    """DLLs that are absent, most likely first; patterns where the version is not known. Empty when none is."""
    confidence: Confidence
    next_steps: tuple[Remedy, ...]


@dataclass(frozen=True, slots=True)
class CauseRule:
    """When a symptom has a cause; fields left empty fit everything."""

    cause: str
    kinds: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()
    file: re.Pattern[str] | None = None
    dll: re.Pattern[str] | None = None
    name: re.Pattern[str] | None = None
    """The file or one of the DLLs that the text names."""
    module: re.Pattern[str] | None = None
    package: re.Pattern[str] | None = None
    via: str = ""
    bare: bool = False
    """Whether the file was asked for by its name alone, without a folder."""
    runtime: str = ""
    """The Visual C++ runtime that the published wheel of the module expects on the machine."""
    missing: tuple[str, ...] = ()
    confidence: Confidence | None = None

    def fits(self, symptom: Symptom) -> bool:
        """Whether every field that is set agrees with the symptom."""
        return (
            (not self.kinds or symptom.kind in self.kinds)
            and (not self.codes or symptom.code in self.codes)
            and (self.file is None or bool(self.file.fullmatch(symptom.file.lower())))
            and (self.dll is None or any(self.dll.fullmatch(name.lower()) for name in symptom.dlls))
            and (self.name is None or any(self.name.fullmatch(name.lower()) for name in (symptom.file, *symptom.dlls)))
            and (self.module is None or bool(self.module.fullmatch(symptom.module)))
            and (self.package is None or bool(self.package.fullmatch(symptom.package)))
            and (not self.via or symptom.details.get("via") == self.via)
            and (not self.bare or (bool(symptom.path) and "\\" not in (symptom.path or "")))
            and (not self.runtime or runtime_need(symptom.package, symptom.module or symptom.file) == self.runtime)
        )


@dataclass(frozen=True, slots=True)
class CauseTable:
    """The content of ``causes.toml``; the causes are templates."""

    rules: tuple[CauseRule, ...]
    causes: Mapping[str, Cause]


def parse_causes(table: str, text: str) -> CauseTable:
    """Turn the table's text into values; names that lead nowhere, and causes that nothing leads to, are refused."""
    tree = parse_toml(table, text)
    check = Checker(table)
    # Rules and remedies are our own conclusions: the cause carries the source for both.
    remedies = {
        row["id"]: Remedy(
            row["title"],
            row["command"],
            row["why"],
            row.get("danger", ""),
            when=row.get("when", ""),
            needs=tuple(row.get("needs", ())),
        )
        for row in tree["remedy"]
    }
    causes: dict[str, Cause] = {}
    rows = check.rows(tree, "cause", ("id", "summary", "known", "confidence", "remedies"))
    check.unique("cause", (row["id"] for row in rows))
    check.unique("remedy", (row["id"] for row in tree["remedy"]))
    for row in tree["remedy"]:
        check.faults += [f"{row['id']}: nothing checks the need {need!r}" for need in {*row.get("needs", ())} - _NEEDS]
    for row in rows:
        check.faults += [f"{row['id']}: no remedy {name!r}" for name in row["remedies"] if name not in remedies]
        steps = tuple(remedies[name] for name in row["remedies"] if name in remedies)
        causes[row["id"]] = Cause(row["id"], row["summary"], row["known"], (), Confidence(row["confidence"]), steps)
    rules = tuple(_rule(row, check) for row in tree["rule"])
    known = {*causes, *(message.id for message in messages())}
    check.faults += [f"a rule leads to the unknown cause {rule.cause!r}" for rule in rules if rule.cause not in known]
    check.faults += [f"nothing leads to {name!r}" for name in sorted(set(causes) - {rule.cause for rule in rules})]
    check.finish()
    return CauseTable(rules, causes)


def _rule(row: Mapping[str, object], check: Checker) -> CauseRule:
    patterns = {name: check.pattern(str(row[name])) for name in _PATTERNS if name in row}
    kinds, codes, missing = (row.get(name, ()) for name in ("kinds", "codes", "missing"))
    return CauseRule(
        str(row["cause"]),
        tuple(kinds),  # type: ignore[arg-type]  # lists of strings and numbers in the table
        tuple(codes),  # type: ignore[arg-type]
        via=str(row.get("via", "")),
        bare=bool(row.get("bare", False)),
        runtime=str(row.get("runtime", "")),
        missing=tuple(missing),  # type: ignore[arg-type]
        confidence=Confidence(row["confidence"]) if "confidence" in row else None,
        **patterns,
    )


@lru_cache(maxsize=1)
def cause_table() -> CauseTable:
    """Return the rules and causes of this package."""
    text = resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    return parse_causes(TABLE, text)


def explain_symptom(symptom: Symptom) -> Cause | None:
    """Return what is behind a symptom, or None when the tables have nothing to say about it."""
    message = message_of(symptom)
    if message is not None:
        return _message_cause(symptom, message)
    rule = next((rule for rule in cause_table().rules if rule.fits(symptom)), None)
    if rule is None:
        return None
    message = message_by_id(rule.cause)
    return _message_cause(symptom, message) if message else _cause(symptom, rule, _missing(symptom, rule))


def _message_cause(symptom: Symptom, message: Message) -> Cause:
    missing = symptom.dlls[:1] if message.missing else ()
    words = _words(symptom, missing)
    step = _fill_remedy(Remedy(message.fix, message.command, message.why, when=message.when), words)
    steps = (replace(step, rank=1),) if step else (Remedy(message.fix, "", message.why, rank=1),)
    known = _fill(message.known, words)
    if message.build:
        known = f"This is an error of a build, before there is a wheel. {known}"
    return Cause(message.id, _fill(message.summary, words), known, missing, Confidence.SURE, steps)


def cause_by_id(name: str, symptom: Symptom, missing: tuple[str, ...] = ()) -> Cause:
    """Return a cause that was found by other means, in the words of the table for this symptom."""
    return _cause(symptom, CauseRule(name), missing)


def _cause(symptom: Symptom, rule: CauseRule, missing: tuple[str, ...]) -> Cause:
    template = cause_table().causes[rule.cause]
    words = _words(symptom, missing)
    order = list(Confidence)
    confidence = max(template.confidence, symptom.confidence, rule.confidence or Confidence.SURE, key=order.index)
    steps = (_fill_remedy(step, words) for step in template.next_steps if _may_help(step, symptom))
    kept = [step for step in steps if step is not None]
    return Cause(
        template.id,
        _fill(template.summary, words),
        _fill(template.what_is_known, words),
        missing,
        confidence,
        tuple(replace(step, rank=rank) for rank, step in enumerate(kept, start=1)),
    )


def _may_help(step: Remedy, symptom: Symptom) -> bool:
    """Whether nothing that is known about the environment speaks against a remedy."""
    kind = symptom.details.get("environment", "")
    torch = symptom.details.get("torch", "")
    contradicted = {
        "venv": kind not in ("", "venv"),
        "conda": kind not in ("", "conda"),
        "built-here": bool(torch) and TorchBuild.parse(torch).is_published,
    }
    return not any(contradicted[need] for need in step.needs)


def explain_symptoms(symptoms: Iterable[Symptom]) -> tuple[Cause, ...]:
    """Return the causes of several symptoms in their order, guesses last; one that comes twice is reported once."""
    found: dict[tuple[str, tuple[str, ...], str], Cause] = {}
    for symptom in symptoms:
        cause = explain_symptom(symptom)
        if cause:
            found.setdefault((cause.id, cause.likely_missing, cause.summary), cause)
    return tuple(sorted(found.values(), key=lambda cause: cause.confidence is Confidence.GUESS))


_BY_NAME = frozenset({"ctypes-not-found", "load-library", "named-file-missing"})
"""Kinds of symptoms whose path is what a program asked for."""


def _missing(symptom: Symptom, rule: CauseRule) -> tuple[str, ...]:
    """The missing DLLs: those the text names, else those the rule knows; none unless a file is missing at all."""
    error = winerror(symptom.code) if symptom.code is not None else None
    if error is not None and not error.missing_file:
        return ()
    if rule.cause in ("two-openmp", "python-abi-mismatch", "no-gpu-code", "numpy-abi", "driver-too-old", "cudnn-mixed"):
        return ()
    if symptom.dlls:
        return symptom.dlls
    # A bare name was asked for by name, so it is itself what was not found.
    if symptom.path and symptom.kind in _BY_NAME and "\\" not in symptom.path:
        return (symptom.path,)
    if symptom.kind == "named-file-missing" and symptom.path:
        return (symptom.file,)
    return rule.missing


# ------------------------------------------------------------------------------------------------------------- words


def _words(symptom: Symptom, missing: tuple[str, ...]) -> dict[str, str]:
    """What the templates may ask for; an empty value means that the text does not tell."""
    details = symptom.details
    names = symptom.dlls or ((symptom.file,) if symptom.file else missing)
    capability = details.get("capability", "")
    supported = details.get("supported", "").rstrip(" .")
    built, running = details.get("built", ""), details.get("running", "")
    card = details.get("card", "")
    pip, conda, who = _vendor(missing)
    error = winerror(symptom.code) if symptom.code is not None else None
    prefix = environment_prefix(symptom.path or "")
    package = _package(symptom)
    distribution = details.get("distribution", "") or distribution_of_module(package)
    build = TorchBuild.parse(details["torch"]) if details.get("torch") else None
    return {
        "file": symptom.file or (f"the module {symptom.module}" if symptom.module else "the file"),
        "full_path": _full_path(symptom.path or ""),
        "names": _and(names) or "a part",
        "module": symptom.module,
        "package": package,
        "package_name": _package_name(symptom, package),
        "distribution": distribution,
        "again": again(distribution, details.get("version", ""), build),
        "then_again": then_again(distribution, details.get("version", "")),
        "torch_241": upgrade(build, ">=2.4.1"),
        "torch_together": together(build, distribution),
        "torch_for_card": for_card(capability) if package == "torch" else "",
        "torch_cpu": for_cpu() if package == "torch" else "",
        "torchvision": together(build, "torchvision"),
        "dll": symptom.dlls[0] if symptom.dlls else "a DLL",
        "card_arch": details.get("arch", ""),
        "arch_known": about_architecture(details.get("arch", "")),
        "symbol": details.get("symbol", ""),
        "meaning": error.meaning if error else "",
        "code_note": _code_note(symptom.code),
        "prefix": prefix,
        "root": prefix or "%CONDA_PREFIX%",
        "env_option": f' --env "{prefix}"' if prefix else "",
        "package_folder": _package_folder(symptom),
        "wheel": rf"dist\{distribution.replace('-', '_')}*.whl",
        "card": card,
        "capability": capability,
        "arch": _arch(capability),
        "ask_arch": "" if _arch(capability) else "nvidia-smi --query-gpu=compute_cap --format=csv,noheader",
        "for_card": f": {card} has {capability}" if card and capability else "",
        "has_archs": f", here {supported}" if supported else "",
        "numpy_versions": f": built for {built}, running with {running}" if built and running else "",
        "vendor_command": pip,
        "conda_command": conda,
        "vendor_why": who,
        "wildcard": _with_suffix(symptom.dlls[0] if symptom.dlls else symptom.file),
        "script": "script.py",
    }


def _vendor(missing: tuple[str, ...]) -> tuple[str, str, str]:
    """Return a pip command, a conda command and who ships it, for the first DLLs of which something is known."""
    pip: list[str] = []
    conda: list[str] = []
    who: list[str] = []
    for name in missing:
        if "*" in name:
            continue
        packages = tuple(package for package in pip_packages(name) if not may_replace_a_build(package))
        if len(packages) > 1:
            # One for each major version of CUDA: nothing in the text tells which one fits.
            who.append(f"one of {', '.join(packages)} on PyPI, the one for the CUDA version that is in use")
            continue
        pip += [f'"{package}"' if set(package) & set("<>=!*") else package for package in packages]
        conda += filter(None, [conda_package(name)])
        who += who_ships(name)[:1]
    return (
        f"python -m pip install {' '.join(dict.fromkeys(pip))}" if pip else "",
        f"conda install -c conda-forge {' '.join(dict.fromkeys(conda))}" if conda else "",
        "who has it: " + "; ".join(dict.fromkeys(who)) if who else "",
    )


def _package_name(symptom: Symptom, package: str) -> str:
    """How to speak of the package: by its name, or by the module of it that the text names."""
    if symptom.package or not package.startswith("_"):
        return package or "the package"
    return f"the package that has {package}"


def _full_path(path: str) -> str:
    """A path that can stand between the quotes of a command; empty for a bare name, which is looked for elsewhere."""
    return path if "\\" in path and "'" not in path else ""


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


_SITE = re.compile(r"(?P<prefix>.+?)[\\/](?:Lib[\\/])?site-packages(?:[\\/]|$)", re.IGNORECASE)


def environment_prefix(path: str) -> str:
    """Return the environment that a path lies in, as far as ``Lib\\site-packages`` in it tells; or nothing."""
    found = _SITE.match(path)
    return str(PureWindowsPath(found.group("prefix"))) if found else ""


def _package_folder(symptom: Symptom) -> str:
    prefix = environment_prefix(symptom.path or "")
    # Inside the single quotes of PowerShell, an apostrophe is written twice.
    folder = rf"{prefix}\Lib\site-packages\{symptom.package}" if prefix and symptom.package else ""
    return folder.replace("'", "''")


_NUMPY_CORE = frozenset({"_multiarray_umath", "multiarray"})


def _package(symptom: Symptom) -> str:
    """The importable package that a symptom is about: from the path, the kind of message, or the module."""
    # "… with CUDA capability sm_120 is not compatible with the current PyTorch installation"
    if symptom.kind == "no-kernel-image" and "capability" in symptom.details:
        return "torch"
    if symptom.kind == "torch-load":
        return symptom.package or "torch"
    if symptom.module in _NUMPY_CORE:
        return "numpy"
    return symptom.package or symptom.module.partition(".")[0]


def _arch(capability: str) -> str:
    """``sm_120`` as TORCH_CUDA_ARCH_LIST wants it: ``12.0``."""
    found = re.fullmatch(r"sm_(\d+)(\d)([a-z]?)", capability)
    return f"{found[1]}.{found[2]}{found[3]}" if found else ""


_HOLE = re.compile(r"\{(\w+)\}")
_OPTIONAL = frozenset({"env_option"})
_NAMES_A_DISTRIBUTION = frozenset(
    {
        "package",
        "distribution",
        "again",
        "torchvision",
        "vendor_command",
        "torch_241",
        "torch_together",
        "torch_for_card",
        "torch_cpu",
    }
)
"""Without these a remedy stays advice in words: nothing tells which distribution, or which build of it, is meant."""


def _fill(text: str, words: Mapping[str, str]) -> str:
    filled = _HOLE.sub(lambda hole: words[hole[1]], text)
    return re.sub(r" {2,}", " ", filled).strip()


def _fill_remedy(step: Remedy, words: Mapping[str, str]) -> Remedy | None:
    """Fill a remedy's holes; None when its command needs something that the text does not tell.

    Advice about a package stays, without its command, where nothing tells which distribution it is: a module's name
    is not a distribution's name.
    """
    empty = {hole for hole in _HOLE.findall(step.command) if not words[hole]} - _OPTIONAL
    if empty and empty <= _NAMES_A_DISTRIBUTION:
        step = replace(step, command="")
    elif empty:
        return None
    command = _fill(step.command, words)
    why = _fill(step.why, words) + _in_powershell(command)
    filled = replace(step, title=_fill(step.title, words), command=command, why=why)
    return filled if filled.command or filled.why else None


_SETTING = re.compile(r"set (\w+)=(.*)")


def _in_powershell(command: str) -> str:
    """How PowerShell sets what cmd sets: its ``set`` is another command, which does nothing here and says nothing."""
    found = _SETTING.fullmatch(command)
    return f"; in PowerShell: $env:{found[1]} = '{found[2]}'" if found else ""

"""What a document is made from: reports, inputs that failed, which findings count, the figures over all of it.

Also the phrases and the commands to type that several renderers use; and the kinds of document by name, each imported
only when it is asked for.
"""

from __future__ import annotations

import importlib
import posixpath
import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from wheelfix.base.options import shell_line
from wheelfix.base.parsing import human_size as human_size
from wheelfix.base.parsing import regex
from wheelfix.base.values import distinct, field, frozen, grouped, replace
from wheelfix.errors import failure_of
from wheelfix.exam.examination import STAGES, FailedInput
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.system import classify
from wheelfix.model import (
    Assumed,
    Driver,
    EdgeKind,
    Exports,
    Finding,
    Image,
    Import,
    InView,
    Malformed,
    MayComeFrom,
    Missing,
    MissingDll,
    OwnedBy,
    Provider,
    PythonRuntime,
    Repairable,
    ScannedImage,
    ScanReport,
    Severity,
    System,
    TargetVerdict,
    VcRedist,
    Verdict,
    dll_key,
)
from wheelfix.remote.addresses import is_remote
from wheelfix.report.safe import legible as legible
from wheelfix.rules.context import inside
from wheelfix.rules.hints import may_be_vendored
from wheelfix.rules.registry import Theme, is_about, missing_names
from wheelfix.rules.wording import and_more as and_more
from wheelfix.rules.wording import count as count
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from wheelfix.plan.model import Way


def way_words(way: Way) -> str:
    """Return one of the choices of ``--via`` as a line."""
    return f"--via {way.via}: {human_size(way.size)} of them in the wheel; its users need {way.needs}"


def human_change(old: int, new: int) -> str:
    """Return how a size changed: ``1.0 MB → 2.5 MB (+1.5 MB)``."""
    change = f"{'+' if new > old else '-'}{human_size(abs(new - old))}" if new != old else "no change"
    return f"{human_size(old)} → {human_size(new)} ({change})"


class Stated(Protocol):
    """A finding, or what is left of one."""

    @property
    def subject(self) -> str:
        """The member, DLL or row it is about."""

    @property
    def message(self) -> str:
        """What is said about it."""


def sentence(finding: Stated) -> str:
    """Return a finding's message with the whole path of what it is about, said once."""
    subject, message = inside(finding.subject), finding.message
    base = posixpath.basename(subject)
    if not subject or subject in message:
        return message
    if base and message.startswith(base) and not re.match(r"[\w.-]", message[len(base) :]):
        return subject + message[len(base) :]
    return message if base and base in message else f"{subject}: {message}"


def _ending(image: ScannedImage) -> str:
    return image.path.lower().rpartition(".")[2]


def is_dll(image: ScannedImage) -> bool:
    """Whether an image that can be read is neither an extension module nor a program."""
    return not isinstance(image.facts, Malformed) and _ending(image) not in ("pyd", "exe")


def image_counts(report: ScanReport) -> tuple[str, ...]:
    """Return ``9 DLLs``, ``2 extension modules`` and, where there are any, ``1 program``."""
    ends = [_ending(item) for item in report.images if not isinstance(item.facts, Malformed)]
    modules, programs = ends.count("pyd"), ends.count("exe")
    found = (count(sum(map(is_dll, report.images)), "DLL"), count(modules, "extension module"))
    return (*found, count(programs, "program")) if programs else found


def label(report: ScanReport) -> str:
    """Return what a report is about in one word: the wheel's file name, or the folder with the package."""
    normal = report.path.replace("\\", "/").rstrip("/")
    base = posixpath.basename(normal)
    if base.lower().endswith(".whl"):
        return base
    folder = report.path
    if base.lower().endswith((".dist-info", ".egg-info")):
        folder = folder.rstrip("/\\")[: -len(base)].rstrip("/\\") or "."
    return f"{report.name} in {folder}" if report.name and report.name != base else folder


def import_statement(report: ScanReport) -> str:
    """Return the statement that meets the predicted error: ``import torch``."""
    outcome = report.resolution.first_failure
    package = outcome.event.package if outcome is not None else ""
    gone = [inside(one.file) for one in report.resolution.absent_modules if not one.below]
    if outcome is None and gone:
        return f"import {gone[0].partition('/')[0].removesuffix('.py')}"
    if outcome is None or package:
        return f"import {report.name.replace('-', '_') or package}"
    if outcome.event.module and outcome.event.cause != "raise":  # there it is the class of the exception
        return f"import {outcome.event.module}"
    return f"loading {posixpath.basename(outcome.event.path)}"


def provider_phrase(provider: Provider) -> str:
    """Return who meets a need, in a few words."""
    match provider:
        case InView(path):
            return inside(path)
        case System():
            return "Windows"
        case PythonRuntime():
            return "Python"
        case Driver():
            return "a device driver"
        case VcRedist():
            return "the VC++ runtime"
        case Assumed(by=by):
            return f"assumed: {by}"
        case OwnedBy(reachable=reachable):
            return provider.requirement if reachable else f"{provider.requirement}, out of reach"
        case MayComeFrom(distributions=distributions):
            return f"could not tell: may come from {' or '.join(distributions)}"
        case Missing(present_at=present):
            return f"NOT FOUND (lies at {and_more([*map(inside, present)], 1)})" if present else "MISSING"


KIND_WORDS = {
    EdgeKind.IMPORT: "imported",
    EdgeKind.DELAY: "delay-loaded",
    EdgeKind.COMPANION: "loaded by name at run time",
    EdgeKind.FORWARDER: "target of a forwarder",
}
"""How a DLL is needed."""
TRUST = {
    "table": "its sha256 is in the table of wheelfix",
    "signature": "its vendor's signature is valid",
    "wheel": "the whole wheel was downloaded and has the sha256 of the index",
    "not-fetched": "not decided: the repair downloads it and checks its signature, or else the hash of its wheel",
}
"""Why the bytes of a DLL that came from a server count, by :attr:`wheelfix.plan.model.Source.trust`."""


def target_reason(target: TargetVerdict) -> str:
    """Return in half a sentence why the answer for a kind of Windows is what it is."""
    found = {"without": target.absent, "perhaps without": target.perhaps_absent, "could not tell about": target.unknown}
    return "; ".join(f"{words} {listing(names)}" for words, names in found.items() if names)


def version_conflicts(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that say of a distribution that it is there in a version which is not allowed."""
    return [one for one in findings if is_about(one, Theme.REQUIREMENT) and one.evidence.get("installed")]


def follows_from(conflicts: Sequence[Finding], report: ScanReport) -> list[Finding]:
    """Return the findings about functions that a DLL of another version would have: the conflict says it better."""
    others = {str(one.evidence.get("distribution")) for one in conflicts}
    theirs = {dll_key(dll.name) for dll in report.provided if others.intersection(dll.distributions)}
    found = [one for one in report.findings if is_about(one, Theme.SYMBOL)]
    return [one for one in found if dll_key(posixpath.basename(one.subject)) in theirs]


# ------------------------------------------------------------------------------------------------- what to type now


@frozen
class Step:
    """A command that can be pasted, and what it does."""

    words: tuple[str, ...]
    """Up to what it is done to: ``wheelfix repair``."""
    targets: tuple[str, ...]
    """What it is done to: wheels, or ``--env E --package P``; nothing for what is the same for every wheel."""
    options: tuple[str, ...]
    what: str

    @property
    def command(self) -> str:
        """The line to paste."""
        return shell_line(map(legible, (*self.words, *self.targets, *self.options)))


ORIGINAL = "original"
"""The folder for a wheel as it was published."""
_HINTED = regex(r"'(wheelfix repair|python -m pip install)( [^']*)?'")
_PLACEHOLDERS = frozenset("FOLDER FILE PREFIX NAME PATH ORIGINAL.whl".split())


def next_steps(report: ScanReport, findings: Iterable[Finding], repeated: Sequence[str]) -> tuple[Step, ...]:
    """Return the commands that fix what was found, in the order in which to try them.

    ``findings`` are those that count, ``repeated`` is what a repair has to hear again about roots.
    """
    counted = [finding for finding in findings if finding.severity is not Severity.INFO]
    worst = [finding for finding in counted if finding.severity is not Severity.WARNING] or counted
    worst += [finding for finding in version_conflicts(counted) if finding not in worst]
    return tuple(_RepairSteps(report, worst, repeated).steps())


def merged_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps of several wheels, those that differ in the wheel alone as one command.

    A command in which the user has to fill something in comes last.
    """
    found = grouped(
        ((step.words, step.options, step.targets if step.targets[:1] == ("--env",) else ()), step) for step in steps
    )
    merged = []
    for (_, options, _), same in found.items():
        whats = dict.fromkeys(step.what for step in same)
        targets = dict.fromkeys(step.targets for step in same)
        what = "; ".join(whats) if len(whats) < 4 else f"for {len(targets)} wheels"
        step = replace(same[0], targets=tuple(word for words in targets for word in words), what=what)
        merged.append(("FOLDER" in options, step))
    return tuple(step for _, step in sorted(merged, key=lambda one: one[0]))


class _RepairSteps:
    """Makes the commands for one report."""

    def __init__(self, report: ScanReport, findings: Sequence[Finding], repeated: Sequence[str]) -> None:
        self._report, self._findings, self._repeated = report, findings, tuple(repeated)
        # A warning is about a DLL that the import may do without: whether to add it is the author's to decide.
        certain = [finding for finding in findings if finding.severity is not Severity.WARNING]
        # What lies elsewhere in the wheel needs no root: the repair puts a copy where it is found.
        self._there = distinct(name for one in certain if _is_there(one) for name in missing_names(one))
        absent = (one for one in certain if not _is_there(one) and one.repairable is not Repairable.NEVER)
        names = {dll_key(name) for one in absent for name in missing_names(one)}
        self._items = [item for item in report.missing if item.required and dll_key(item.name) in names]
        stops = (Severity.ERROR, Severity.UNSURE)
        never = any(one.severity in stops and one.repairable is Repairable.NEVER for one in findings)
        never |= bool(follows_from(version_conflicts(findings), report))  # another version has to be installed first
        self._hopeless = never or not all(
            may_be_vendored(one.name, report.machine) or _local(one) for one in self._items
        )
        """Something will stay broken, and then a repair writes nothing."""

    def steps(self) -> Iterator[Step]:
        """Give the best command first; what another one needs comes before it."""
        yield from self._installs()
        options, items = self._hinted(), self._items
        fixes = items or options or any(one.repairable is Repairable.ALWAYS for one in self._findings)
        if self._hopeless or not fixes:
            return
        deleted = [item for item in items if item.deleted and not _local(item)]
        fetched = [item for item in items if item.fetch or _on_index(item)]
        unknown = [item for item in items if item not in (*deleted, *fetched) and not _local(item)]
        if is_remote(self._report.path):
            yield self._download("downloads the wheel itself", "dist")
        if deleted:
            yield self._download(
                f"{_listed(deleted)} was deleted after the build: this downloads the original", ORIGINAL
            )
        roots = (*(("--root", ORIGINAL) if deleted else ()), *(("--root", "FOLDER") if unknown else ()))
        hint = ""
        if unknown:
            sources = dict.fromkeys(
                text for item in unknown for text in item.providers if not text.startswith("PyPI: ")
            )
            known = f"; it comes with {' or '.join([*sources][:2])}" if sources else ""
            hint = f"; FOLDER is the folder, wheel or conda package that has {_listed(unknown)}{known}"
        if fetched:
            releases = ", ".join(dict.fromkeys(item.fetch for item in fetched if item.fetch and not _local(item)))
            index = f"the package index ({releases})" if releases else "the package index"
            ways = f"; {_OTHER_WAYS}" if any(map(_is_large, items)) and not self._report.prefix else ""
            yield self._repair(
                ("--fetch", *roots, *options), f"takes {_listed(items)} from this machine or {index}{hint}{ways}"
            )
        if not fetched or all(map(_local, fetched)):
            copies = f"puts a copy of {listing(self._there)} where it is found" if self._there else ""
            what = f"adds {_listed(items)}" if items else copies or "rewrites the wheel without the faults"
            what += " from where it was found, if it is suitable" if items and not roots else hint
            yield self._repair((*roots, *options), f"or without the index: {what}" if fetched else what)

    def _download(self, what: str, folder: str) -> Step:
        report = self._report
        version = re.match(r"cp3(\d+)-", report.tags[0]) if report.tags else None
        python = ("--python-version", f"3.{version[1]}") if version else ()
        wanted = ("--no-deps", "--only-binary=:all:", "--platform", report.machine.platform, *python, "-d", folder)
        return Step(("python", "-m", "pip", "download"), (f"{report.name}=={report.version}",), wanted, what)

    def _repair(self, options: Sequence[str], what: str) -> Step:
        report, more = self._report, list[str]()
        for item in self._items:
            if classify(item.name, report.machine).kind == "vcredist":
                more.append("--with-vcredist")
            elif not may_be_vendored(item.name, report.machine):
                more += ["--include", item.name]
                what += f" (the vendor of {item.name} does not allow redistribution)"
        target: tuple[str, ...] = (report.path,)
        if report.prefix:
            target = ("--env", report.prefix, "--package", report.name)
        elif is_remote(report.path):
            target = (f"dist/{label(report)}",)
        words = [*_pairs(more), *_pairs(options), *_pairs(self._repeated)]
        return Step(("wheelfix", "repair"), target, tuple(word for pair in dict.fromkeys(words) for word in pair), what)

    def _installs(self) -> Iterator[Step]:
        """Give the commands of hints that install something into the environment."""
        for finding in self._findings:
            for command, rest in _HINTED.findall(finding.hint):
                if command.startswith("python"):
                    words = (*command.split(), *shlex.split(rest))
                    yield Step(words, (), (), f"{finding.code}, with the environment's own Python")

    def _hinted(self) -> tuple[str, ...]:
        """Return the options of the commands in hints, except for those about missing DLLs, which are made here."""
        found: dict[tuple[str, ...], None] = {}
        for finding in self._findings:
            if not is_about(finding, Theme.MISSING, Theme.FORWARDER):
                for command, rest in _HINTED.findall(finding.hint):
                    options = _pairs(shlex.split(rest))
                    if command.startswith("wheelfix") and not any(_PLACEHOLDERS.intersection(one) for one in options):
                        found.update(dict.fromkeys(options))
        return tuple(word for pair in found for word in pair)


def _pairs(words: Iterable[str]) -> list[tuple[str, ...]]:
    """Return each option with its value."""
    found: list[tuple[str, ...]] = []
    for word in words:
        if word.startswith("-") or not found:
            found.append((word,))
        else:
            found[-1] += (word,)
    return [pair for pair in found if pair[0] not in ("--env", "--package")]


_LARGE = frozenset({"cublas", "cudnn", "cufft", "cusolver", "cusparse"})
"""Libraries of CUDA with more than 200 MB each, as those of CUDA 11.7 and cuDNN 8.9."""
_OTHER_WAYS = "with --dry-run it shows how large they are, and other ways (--via)"


def _is_large(item: MissingDll) -> bool:
    return family_of(item.name).id in _LARGE


def _is_there(finding: Finding) -> bool:
    return is_about(finding, Theme.OUT_OF_REACH) and finding.repairable is Repairable.ALWAYS


def _on_index(item: MissingDll) -> bool:
    return any(candidate.reason.endswith("--fetch") for candidate in item.candidates)


def _local(item: MissingDll) -> bool:
    """Whether it was found on this machine."""
    return any(not candidate.reason.endswith("--fetch") for candidate in item.candidates)


def _listed(items: Sequence[MissingDll]) -> str:
    return listing([item.name for item in items])


LEVELS = {"error": 4, "unsure": 3, "warning": 2, "info": 1, "never": 5}
"""From which severity on a finding fails the build: ``LEVELS[severity] >= LEVELS[fail_on]``."""


@frozen
class Context:
    """What a document should know beyond the reports: which findings count."""

    fail_on: str = "error"
    fail_on_of: Mapping[str, str] = field(default_factory=dict)
    """Where it is another for some inputs, by their paths."""
    known: Callable[[ScanReport, Finding], bool] = lambda report, finding: False
    """Whether a finding is in the baseline."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where vendored members came from, by their names in the wheel."""
    skipped: tuple[str, ...] = ()
    """Wheels for other systems, which were not looked at."""
    date: str = ""
    """When the document is made; empty where two runs must give the same bytes."""
    command: str = ""
    """The command line, without secrets."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """The hashes of wheels, by their paths as reported."""
    infos: bool = False
    """Whether a text shows findings of severity info, and not only their number."""
    repeated: tuple[str, ...] = ()
    """What the command line said about roots, for the commands that a report proposes."""

    def fails(self, report: ScanReport, finding: Finding) -> bool:
        """Whether the finding makes the build fail."""
        level = self.fail_on_of.get(report.path, self.fail_on)
        return LEVELS[finding.severity.value] >= LEVELS[level] and not self.known(report, finding)


DEFAULT = Context()


@frozen
class RuleTotal:
    """How often one rule was broken; findings in the baseline are not counted."""

    code: str
    name: str
    severity: Severity
    """The worst that it had."""
    findings: int
    inputs: int

    def __str__(self) -> str:
        findings, inputs = count(self.findings, "finding"), count(self.inputs, "input")
        return f"{self.code} {self.name} ({self.severity}): {findings} in {inputs}"


@frozen
class InputRow:
    """One input of a run, in the words of every overview."""

    label: str
    kind: str
    """Its verdict, ``failed`` or ``skipped``."""
    words: str = ""
    """Why it has no report, or what else did not work."""
    report: ScanReport | None = None
    failure: FailedInput | None = None

    @property
    def outcome(self) -> str:
        """``broken``, ``broken, not repaired``, ``not readable``, ``skipped, not for Windows``."""
        return self.words if self.kind == "failed" else f"{self.kind}, {self.words}" if self.words else self.kind


class Document:
    """A run as every format shows it: its reports, the inputs that failed, and the figures over all of them."""

    def __init__(self, reports: Sequence[ScanReport], failures: Sequence[FailedInput], context: Context) -> None:
        self.reports, self.failures, self.context = reports, failures, context
        paths = {report.path for report in reports}
        self.failed = {failure.path: failure for failure in failures if failure.path in paths}
        """Inputs that have a report and failed nevertheless, such as those that could not be repaired."""
        self.alone = [failure for failure in failures if failure.path not in paths]
        """Inputs that failed and have no report."""
        self.rows = [*self._rows()]
        """All inputs: those with a report, those that failed, those that were skipped."""
        self.inputs = len(self.rows)
        self.skipped = len(context.skipped)
        verdicts = [report.verdict for report in reports]
        self.verdicts = {verdict: verdicts.count(verdict) for verdict in Verdict}
        """How many inputs have each verdict, the best first."""
        self.severities = severities(finding for report in reports for finding in report.findings)
        """How many findings have each severity; those in the baseline are counted."""
        self.failed_at = Counter(failure.stage for failure in (*self.alone, *self.failed.values()))
        self._steps: dict[str, tuple[Step, ...]] = {}
        self.rules = self._rules()
        """The worst first, then the most frequent."""

    def new(self, report: ScanReport) -> list[Finding]:
        """Return the findings of a report that are not in the baseline."""
        return [finding for finding in report.findings if not self.context.known(report, finding)]

    def steps(self, report: ScanReport) -> tuple[Step, ...]:
        """Return the commands that fix what was found."""
        if report.path not in self._steps:
            self._steps[report.path] = next_steps(report, self.new(report), self.context.repeated)
        return self._steps[report.path]

    def hint(self, report: ScanReport, finding: Finding) -> str:
        """Return what to do about a finding; nothing where the commands below say it for these very files."""
        return "" if is_about(finding, Theme.MISSING) and self.steps(report) else finding.hint

    def commands(self, report: ScanReport) -> list[str]:
        """Return the commands that fix what was found, each below a comment, as they can be pasted."""
        return [text for step in self.steps(report) for text in (f"# {step.what}", step.command)]

    def _rows(self) -> Iterator[InputRow]:
        for report in self.reports:
            failure = self.failed.get(report.path)
            words = failure.words if failure is not None else ""
            yield InputRow(label(report), report.verdict.value, words, report, failure)
        for failure in self.alone:
            yield InputRow(failure.path, "failed", failure.words, None, failure)
        for path in self.context.skipped:
            yield InputRow(path, "skipped", "not for Windows")

    def __str__(self) -> str:
        parts = [f"{number} {verdict}" for verdict, number in self.verdicts.items() if number]
        parts += [f"{number} {words}" for words, number in by_words(self.alone).items()]
        parts += [f"{self.skipped} skipped, not for Windows"] if self.skipped else []
        also = "".join(f"; {number} {words}" for words, number in by_words(self.failed.values()).items())
        return f"{count(self.inputs, 'input')}: {', '.join(parts)}{also}" if parts else "no inputs"

    def _rules(self) -> tuple[RuleTotal, ...]:
        numbered = enumerate(map(self.new, self.reports))
        found = grouped((one.code, (number, one)) for number, findings in numbered for one in findings)
        order = list(Severity)
        rows = []
        for code, entries in found.items():
            worst = min((finding.severity for _, finding in entries), key=order.index)
            rows.append(
                RuleTotal(code, entries[0][1].name, worst, len(entries), len({number for number, _ in entries}))
            )
        return tuple(sorted(rows, key=lambda row: (order.index(row.severity), -row.findings, row.code)))


def by_words(failures: Iterable[FailedInput]) -> dict[str, int]:
    """Return how many inputs failed in each way, by the words for it."""
    words = [failure.words for failure in failures]
    return {word: words.count(word) for word in STAGES.values() if word in words}


def severities(findings: Iterable[Finding]) -> dict[Severity, int]:
    """Return how many findings have each severity, the worst first."""
    found = [finding.severity for finding in findings]
    return {severity: found.count(severity) for severity in Severity}


def by_code(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Return the findings of each code, in the order of their first."""
    return [*grouped((finding.code, finding) for finding in findings).values()]


def severity_phrase(findings: Iterable[Finding]) -> str:
    """Return ``1 error, 0 warnings, 7 info``; unsure and info are left out where there is none."""
    numbers = severities(findings)
    parts = [count(numbers[Severity.ERROR], "error")]
    parts += [f"{numbers[Severity.UNSURE]} unsure"] if numbers[Severity.UNSURE] else []
    parts.append(count(numbers[Severity.WARNING], "warning"))
    return ", ".join([*parts, f"{numbers[Severity.INFO]} info"] if numbers[Severity.INFO] else parts)


# ------------------------------------------------------------------------------------------------- the kinds of report


KINDS = {
    "text": ("wheelfix.report.scans", "render_document"),
    "json": ("wheelfix.report.json_", "render_scan"),
    "sarif": ("wheelfix.report.sarif", "render_scan"),
    "github": ("wheelfix.report.ci", "render_github"),
    "junit": ("wheelfix.report.ci", "render_junit"),
    "markdown": ("wheelfix.report.ci", "render_markdown"),
    "html": ("wheelfix.report.html.scan", "render_scan"),
    "concise": ("wheelfix.report.ci", "render_concise"),
}
"""Module and function of each kind, which make one document of all inputs; ``scan`` writes text as it goes."""

SCAN_KINDS = tuple(KINDS)


def render(
    kind: str,
    reports: Sequence[ScanReport],
    failures: Sequence[FailedInput] = (),
    context: Context = DEFAULT,
    on_failure: Callable[[FailedInput], None] = lambda failure: None,
) -> str:
    """Return the document of one kind over some reports; one that cannot be drawn becomes a failure in it."""
    module, function = KINDS[kind]
    renderer: Callable[[Document], str] = getattr(importlib.import_module(module), function)
    try:
        return renderer(Document(reports, failures, context))
    except Exception:  # one report that cannot be drawn costs itself only
        sound, spoilt = [], []
        for report in reports:
            try:
                renderer(Document([report], (), context))
            except Exception as error:
                spoilt.append(FailedInput(report.path, failure_of(error, report.path), "report"))
                on_failure(spoilt[-1])
            else:
                sound.append(report)
        if not spoilt:
            raise
        return renderer(Document(sound, [*failures, *spoilt], context))


def slim(report: ScanReport) -> ScanReport:
    """Return a report without symbol tables: what every renderer needs, small enough to keep a thousand of."""
    return replace(report, images=tuple(_slim_image(image) for image in report.images))


def _slim_image(image: ScannedImage) -> ScannedImage:
    facts = image.facts
    if not isinstance(facts, Image):
        return image
    facts = replace(
        facts,
        imports=tuple(Import(item.dll) for item in facts.imports),
        delay_imports=tuple(Import(item.dll) for item in facts.delay_imports),
        exports=Exports(),
    )
    return replace(image, facts=facts)

"""What a document is made from: reports, inputs that failed, which findings count, the figures over all of it; and
the kinds of document by name, each imported only when it is asked for.
"""

from __future__ import annotations

import importlib
from collections import Counter
from typing import TYPE_CHECKING

from wheelfix.base.values import field, frozen, grouped, replace
from wheelfix.errors import failure_of
from wheelfix.exam.examination import STAGES, FailedInput
from wheelfix.model import Exports, Finding, Image, Import, ScannedImage, ScanReport, Severity, Verdict
from wheelfix.report.words import Step, count, label, next_steps
from wheelfix.rules.registry import Theme, is_about

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


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

"""Reports for CI systems: GitHub annotations, JUnit XML, Markdown, and one line per finding."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from wheelfix.model import Finding, ScanReport, Severity
from wheelfix.report.blocks import (
    NAMING,
    Block,
    Bullets,
    Code,
    Link,
    Para,
    Part,
    Record,
    Records,
    Span,
    Table,
    Value,
    labelled,
    para,
)
from wheelfix.report.canvas import NAMES
from wheelfix.report.document import Context, Document, by_code, count, label, sentence
from wheelfix.report.safe import legible, without_commands, workflow_data, workflow_property, xml
from wheelfix.report.safe import markdown as escape
from wheelfix.report.safe import markdown_block as code_block
from wheelfix.report.safe import markdown_code as code
from wheelfix.report.scans import overview, scan_blocks, totals_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wheelfix.errors import WheelfixError

# -------------------------------------------------------------------------------------------------------------- GitHub

COMMANDS = {Severity.ERROR: "error", Severity.UNSURE: "warning", Severity.WARNING: "warning", Severity.INFO: "notice"}
ANNOTATED = 5
"""GitHub keeps ten errors, ten warnings and ten notices of a step, so findings of one code in one wheel share one."""


def render_github(document: Document) -> str:
    """Return one annotation per wheel and code, worst first, and a plain line with each verdict; the totals of many."""
    lines: list[str] = []
    for severity in Severity:
        for report in document.reports:
            new = [finding for finding in document.new(report) if finding.severity is severity]
            for number, members in enumerate(by_code(new)):
                lines.append(_annotation(document, report, members, first=not number))
        if severity is Severity.ERROR:
            for failure in document.failures:
                hint = f"\nhint: {legible(failure.error.hint)}" if failure.error.hint else ""
                message = f"{legible(str(failure.error))}{hint}"
                lines.append(_command("error", failure.path, failure.words, message))
    # A line that begins with two colons is a command, wherever it comes from: ours begin with a word.
    lines += [f"wheelfix: {row.outcome}: {legible(row.label)}" for row in document.rows]
    if document.inputs > 1:
        lines += [f"wheelfix: {legible(str(row))}" for row in document.rules]
        lines.append(f"wheelfix: {document}")
    return "".join(f"{line}\n" for line in lines)


def _annotation(document: Document, report: ScanReport, members: Sequence[Finding], *, first: bool) -> str:
    shown, severity = members[:ANNOTATED], members[0].severity
    texts = [legible(sentence(member)) for member in shown]
    if len(members) > ANNOTATED:
        texts.append(f"and {len(members) - ANNOTATED} more")
    texts += dict.fromkeys(f"hint: {legible(hint)}" for member in shown if (hint := document.hint(report, member)))
    if severity is Severity.ERROR and first:
        texts[:0] = [legible(report.first_failure.message)] if report.first_failure is not None else []
        texts += document.commands(report)
    times = f" ({count(len(members), 'time')})" if len(members) > 1 else ""
    title = f"{members[0].code} {members[0].name}{times} in {label(report)}"
    return _command(COMMANDS[severity], report.path, title, "\n".join(texts))


def _command(name: str, file: str, title: str, message: str) -> str:
    return f"::{name} file={workflow_property(file)},title={workflow_property(title)}::{workflow_data(message)}"


# ------------------------------------------------------------------------------------------------ one line per finding


def render_concise(document: Document) -> str:
    """Return the findings that are not in the baseline, in the order of the inputs, then the inputs that failed."""
    lines = [
        f"{report.path}: {finding.code} {finding.severity} {sentence(finding)}"
        for report in document.reports
        for finding in document.new(report)
    ]
    lines += [f"{failure.path}: error: {failure.words}: {failure.error}" for failure in document.failures]
    return without_commands("".join(f"{legible(line)}\n" for line in lines))


# --------------------------------------------------------------------------------------------------------------- JUnit

CASES = {"read": "can be read", "repair": "can be repaired", "report": "can be reported", "try": "can be imported"}


def render_junit(document: Document) -> str:
    """Return a suite per wheel; what fails the build is a failure, what does not is a passed case with its text."""
    root = ET.Element("testsuites", name="wheelfix")
    for row in document.rows:
        suite, report = ET.SubElement(root, "testsuite", name=xml(row.label)), row.report
        if report is not None:
            _add_properties(suite, report, document.context)
        if row.failure is not None:
            add_error(suite, CASES[row.failure.stage], row.failure.error)
        if report is not None:
            _add_findings(suite, report, document)
        if row.kind == "skipped":
            ET.SubElement(add_case(suite, "is a Windows wheel"), "skipped", message=row.words)
        elif not len(suite):
            add_case(suite, "no findings")
    return junit_text(root)


def _add_properties(suite: ET.Element, report: ScanReport, context: Context) -> None:
    properties = {f"target {target.name}": target.verdict.value for target in report.targets}
    rules = Document([report], (), context).rules
    properties |= {f"{total.code} {total.name}": str(total.findings) for total in rules}
    group = ET.SubElement(suite, "properties") if properties else suite
    for name, value in properties.items():
        ET.SubElement(group, "property", name=xml(name), value=value)


def _add_findings(suite: ET.Element, report: ScanReport, document: Document) -> None:
    for finding in report.findings:
        case = add_case(suite, f"{finding.code} {finding.name}: {finding.subject}")
        text = _case_text(finding, report, document)
        if document.context.fails(report, finding):
            severity = finding.severity.value
            ET.SubElement(case, "failure", message=xml(finding.message), type=severity).text = text
        else:
            ET.SubElement(case, "system-out").text = f"{finding.severity}: {text}"


def add_case(suite: ET.Element, name: str, time: str = "0") -> ET.Element:
    """Add a test to a suite of JUnit's."""
    return ET.SubElement(suite, "testcase", classname=suite.get("name", ""), name=xml(name), time=time)


def add_error(suite: ET.Element, name: str, error: WheelfixError) -> None:
    """Add the test of an input that failed: ``can be repaired``, which it cannot."""
    element = ET.SubElement(add_case(suite, name), "error", message=xml(error.what), type=type(error).__name__)
    element.text = "\n".join(xml(part) for part in (error.because, error.hint) if part)


def junit_text(root: ET.Element, *, count_skipped: bool = False) -> str:
    """Return the document, with the totals of each suite and of all; ``skipped`` where there is one, or always."""
    for suite in root:
        suite.set("tests", str(len(suite.findall("testcase"))))
        for word, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            number = len(suite.findall(f"testcase/{word}"))
            if number or count_skipped or word != "skipped":
                suite.set(total, str(number))
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return without_commands(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _case_text(finding: Finding, report: ScanReport, document: Document) -> str:
    parts = [sentence(finding)]
    if hint := document.hint(report, finding):
        parts.append(f"hint: {hint}")
    if report.first_failure is not None and finding.severity == "error":
        parts.append(f"the import will raise: {report.first_failure.message}")
    if document.context.fails(report, finding):
        parts += document.commands(report)
    return "\n".join(map(xml, parts))


# ------------------------------------------------------------------------------------------------------------ Markdown

MARKS = {"ok": "✅ ", "risky": "⚠️ ", "unsure": "❓ ", "broken": "❌ ", "failed": "❌ "}
SHOWN = 20
"""Of a longer list GitHub's page of a job has no room."""


def render_markdown(document: Document) -> str:
    """Return a table over all wheels, and a section for each that has something to say."""
    blocks: list[Block] = [overview(document.rows)] if document.rows else []
    blocks += [totals_table(document.rules)] if len(document.reports) > 1 and document.rules else []
    for row in document.rows:
        report, parts = row.report, list[Block]()
        if report is not None and row.failure is not None:
            parts = [para(f"{row.words.capitalize()}: {row.failure.error}")]
            parts += labelled("Hint: ", [row.failure.error.hint])
        if report is not None and (report.findings or report.first_failure is not None):
            parts += scan_blocks(report, document, steps=document.steps(report))
        blocks += [Part((row.label,), tuple(parts), 1)] if parts else []
    return markdown_text("wheelfix", [para(str(document)), *blocks])


def markdown_text(title: str, blocks: Sequence[Block]) -> str:
    """Return blocks as a document for a pull request or the page of a job."""
    return without_commands("\n".join([f"## {title}", *_drawn(blocks)]) + "\n")


def _drawn(blocks: Iterable[Block]) -> Iterator[str]:
    """Give the lines of blocks; every block begins with an empty one."""
    for block in blocks:
        match block:
            case Para(spans, lead):
                if text := _line((lead, *spans)):
                    yield from ("", text)
            case Code(text, _, what):
                yield from ("", *code_block(f"# {what}\n{text}" if what else text))
            case Bullets(items):
                yield ""
                for spans, hint in items[:SHOWN]:
                    yield f"- {_line(spans)}" + (f"<br>Hint: {escape(hint)}" if hint else "")
                yield from _rest(len(items))
            case Table(heads, rows, _, numbers):
                yield from ("", *markdown_table(heads, [[_line((cell,)) for cell in row] for row in rows], numbers))
            case Records(records):
                cells = [[_known(one, label) for label in ("", *block.heads[1:])] for one in records[:SHOWN]]
                yield from ("", *markdown_table(block.heads, cells), *_rest(len(records)))
            case Part(title, inner, level, _, closed):
                if not closed:
                    words = _line(title)
                    yield from ("", f"**{words}**" if level == 3 else f"{'#' * (level + 2)} {words}", *_drawn(inner))


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> Iterator[str]:
    """Give the lines of a table; its cells are Markdown already."""
    ruler = ("---:" if head in numbers else "---" for head in heads)
    for row in (heads, [*ruler], *rows):
        yield f"| {' | '.join(row)} |"


def _known(record: Record, label: str) -> str:
    """Return a cell; the title has what has no label below it."""
    return "<br>".join([*([] if label else [_line(record.title)]), *map(_value, record.get(label))])


def _value(value: Value) -> str:
    if isinstance(value, Code):
        return code(value.text)
    if isinstance(value, list):
        rest = f" and {len(value) - NAMES} more" if len(value) > NAMES else ""
        return ", ".join(code(name) for name in value[:NAMES]) + rest
    return _line((value,))


def _line(spans: Iterable[Span]) -> str:
    """Return spans on one line: what names a file is code."""
    parts: list[str] = []
    for span in spans:
        text, style = (span, "") if isinstance(span, str) else span
        if text and not isinstance(span, Link) and style != "more":
            shown = code(text) if style in NAMING else MARKS.get(style, "") + escape(text, first=not parts)
            parts.append(f"{' ' * text.startswith(' ')}{shown}{' ' * (text.strip() != '' and text.endswith(' '))}")
    return "".join(parts).strip()


def _rest(number: int) -> list[str]:
    return ["", f"and {number - SHOWN} more"] if number > SHOWN else []

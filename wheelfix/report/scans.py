"""A scan as blocks: the error that will come, what is missing, what else is wrong; and a run over many inputs."""

from __future__ import annotations

import functools
import itertools
import posixpath
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex
from wheelfix.base.values import grouped
from wheelfix.knowledge.cards import NVIDIA, vendor_of
from wheelfix.knowledge.families import family_of
from wheelfix.loader.view import is_pyd
from wheelfix.model import (
    Edge,
    Finding,
    GpuFit,
    Image,
    InView,
    Machine,
    MissingDll,
    ScannedImage,
    ScanReport,
    Severity,
    Verdict,
    dll_key,
)
from wheelfix.report.blocks import (
    Block,
    Bullets,
    Code,
    Fields,
    Link,
    Para,
    Part,
    Record,
    Records,
    Rows,
    Span,
    Table,
    chapter,
    labelled,
    line,
    para,
)
from wheelfix.report.canvas import TextStyle, render_text
from wheelfix.report.document import (
    DEFAULT,
    KIND_WORDS,
    Context,
    Document,
    InputRow,
    RuleTotal,
    Step,
    and_more,
    by_code,
    count,
    follows_from,
    image_counts,
    import_statement,
    label,
    merged_steps,
    provider_phrase,
    sentence,
    severities,
    severity_phrase,
    target_reason,
    version_conflicts,
)
from wheelfix.rules.context import inside
from wheelfix.rules.registry import Theme, is_about, missing_names
from wheelfix.rules.wording import last_part

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence


HEADINGS = {
    Severity.ERROR: "Errors", Severity.UNSURE: "Unsure", Severity.WARNING: "Warnings", Severity.INFO: "Info",
}  # fmt: skip
WAYS = {
    "file": "its file is installed",
    "requirement": "by the requirement",
    "out-of-reach": "out of reach",
    "unsure": "could not tell",
}
"""How another distribution provides a DLL."""
SHOWN = 5
"""Findings of one code that are shown without ``-v``."""


class Hints:
    """The hints of a run: each is printed once, however many wheels it is for."""

    def __init__(self) -> None:
        self._printed: set[str] = set()

    def is_new(self, text: str) -> bool:
        """Whether a hint was not printed before; from now on it counts as printed."""
        if not text or text in self._printed:
            return False
        self._printed.add(text)
        return True


def render_scan(
    report: ScanReport,
    look: TextStyle,
    *,
    context: Context = DEFAULT,
    hints: Hints | None = None,
) -> str:
    """Return the report on one wheel as text: quiet that is the verdict alone, verbose it has every resolved edge.

    A wheel that is ok is one line. ``hints`` are those of earlier reports, which are not repeated.
    """
    document, word = Document([report], (), context), report.verdict.value
    new, hints = document.new(report), hints or Hints()
    known = len(new) < len(report.findings)
    if look.quiet:
        nothing = "  (nothing new)" if report.findings and not new else ""
        return render_text([line((word.upper(), word), f"  {label(report)}", nothing)], look)
    infos = look.verbose or context.infos
    shown = [one for one in new if infos or one.severity is not Severity.INFO or context.fails(report, one)]
    if not (look.verbose or shown or known or report.archs is not None or report.targets):
        more = f" ({len(new)} info)" if new else ""
        return render_text([Part(((label(report), "name"),), (), 1, (word.upper() + more, word))], look)
    blocks = scan_blocks(report, document, hints=hints)
    if look.verbose:
        blocks.append(chapter("Who loads what", Records(tuple(_loads(report)))))
    fresh = f"; {len(new) or 'nothing'} new" if known else ""
    hidden = "; -v shows the info" if len(shown) < len(new) else ""
    verdict = f" ({severity_phrase(report.findings)}{fresh}{hidden})"
    blocks += [para(), line("Verdict: ", (word, word), verdict)]
    worst = next((finding for finding in new if finding.severity is not Severity.INFO), None)
    if worst is not None and hints.is_new(worst.code):
        blocks.append(line((f"'wheelfix explain {worst.code}' says more.", "dim")))
    whole = Part(((label(report), "name"),), blocks, 1, (word.upper(), word))
    return render_text([whole], look)


def scan_blocks(
    report: ScanReport, document: Document, *, hints: Hints | None = None, steps: Sequence[Step] = ()
) -> list[Block]:
    """Return what there is to say about one wheel, with the commands that fix it."""
    new, hints = document.new(report), hints or Hints()
    blocks: list[Block] = [para((_facts(report), "dim"))]
    conflicts = version_conflicts(new)
    explained = follows_from(conflicts, report)
    said = {id(finding) for finding in explained}
    if conflicts:
        blocks += [para(), *(para((conflict.message, "name")) for conflict in conflicts)]
    if explained:
        names = dict.fromkeys(posixpath.basename(finding.subject) for finding in explained)
        verb = "goes" if len(explained) == 1 else "go"
        what = f"{count(len(explained), 'finding')} about functions that are not in {', '.join(names)}"
        blocks.append(para(f"  {what} {verb} with it", ("; -v shows more.", "more")))
    if new or not report.findings:
        blocks += _prediction(report)
    blocks += steps_part(steps)
    blocks += _findings(report, [one for one in new if id(one) not in said], document, hints)
    if explained:
        groups = _groups(explained)
        blocks.append(chapter(f"Explained by the version ({len(explained)})", *groups, closed=True))
    blocks += _targets(report)
    blocks += _gpu(report)
    known = [finding for finding in report.findings if document.context.known(report, finding)]
    if known:
        codes = ", ".join(dict.fromkeys(finding.code for finding in known))
        blocks += [para(), *labelled(f"Known, in the baseline ({len(known)}): ", [codes])]
        groups = _groups(known)
        blocks.append(chapter("In the baseline", *groups, closed=True))
    return [*blocks, *_provided(report), *_abi(report), *_signers(report)]


def steps_part(steps: Sequence[Step]) -> list[Part]:
    """Return the commands that fix what was found, each below what it does: the whole can be pasted."""
    return [chapter("What to do now", *(Code(step.command, "name", step.what) for step in steps))] if steps else []


def _facts(report: ScanReport) -> str:
    known = [f"{report.name} {report.version}".strip(), and_more(report.tags, 1)]
    if report.machine is not Machine.UNKNOWN:  # verify does not look into DLLs
        known += [report.machine.value, *image_counts(report)]
    return ", ".join(part for part in known if part)


def _prediction(report: ScanReport) -> list[Part]:
    failure = report.first_failure
    if failure is None:
        return []
    blocks: list[Block] = [Code(failure.message, "bad")]
    if len(failure.chain) > 1:
        *before, cause = failure.chain
        spans = [span for name in before for span in ((name, "file"), " → ")]
        blocks.append(Para((*spans, (cause, "bad")), ("because: ", "dim")))
    blocks += [para(failure.explanation)] if failure.explanation else []
    return [Part(((import_statement(report), "file"), " will raise:"), blocks)]


# ----------------------------------------------------------------------------- what is missing, and the other findings


def _findings(report: ScanReport, findings: Sequence[Finding], document: Document, hints: Hints) -> Iterator[Part]:
    """Give what is missing, then the other findings by severity and code; info for those who ask."""
    context = document.context
    shown = [
        one for one in findings if one.severity is not Severity.INFO or context.infos or context.fails(report, one)
    ]
    listed = _missing_in(report.missing, shown)
    yield from _missing(report, listed, findings)
    names = {dll_key(item.name) for item in listed}
    tell = functools.partial(document.hint, report)
    for severity, heading in HEADINGS.items():
        chosen = [finding for finding in findings if finding.severity is severity]
        closed = not any(finding.severity is severity for finding in shown)
        groups = _groups(chosen, names, tell, Hints() if closed else hints)
        if chosen:
            yield chapter(f"{heading} ({len(chosen)})", *groups, closed=closed)


def _groups(
    findings: Sequence[Finding],
    listed: Collection[str] = (),
    tell: Callable[[Finding], str] = lambda finding: finding.hint,
    hints: Hints | None = None,
) -> Iterator[Part]:
    """Give the findings of each code; those that the list of missing DLLs shows in full are only named.

    A hint that all of one code share is said once, below them.
    """
    hints = hints or Hints()
    for members in by_code(findings):
        first, above, rest = members[0], dict[str, None](), list[Finding]()
        for finding in members:
            names = missing_names(finding)
            if is_about(finding, Theme.MISSING) and names and all(dll_key(name) in listed for name in names):
                above.update(dict.fromkeys(names))
            else:
                rest.append(finding)
        blocks: list[Block] = [para(f"{and_more(list(above), SHOWN)} (see Missing)")] if above else []
        told = [tell(finding) for finding in rest]
        shared = set(told)
        items = tuple(
            ((sentence(finding),), hint if len(shared) > 1 and hints.is_new(hint) else "")
            for finding, hint in zip(rest, told, strict=True)
        )
        blocks += [Bullets(items, SHOWN)] if items else []
        blocks += labelled("hint: ", [hint for hint in shared if len(shared) == 1 and hints.is_new(hint)])
        blocks.append(para(Link(f"What {first.code} means", f"#{first.code}")))
        severity = first.severity.value
        yield Part(((first.code, severity), " ", (first.name, "name")), blocks, 3)


def _missing(report: ScanReport, listed: Sequence[MissingDll], findings: Sequence[Finding]) -> Iterator[Part]:
    """Give required DLLs in full, and optional ones by name."""
    if not listed:
        return
    shown = [item for item in listed if item.required or item.candidates]
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    fatal = {item.name for item in _missing_in(listed, errors)}
    consequences: dict[str, str] = {}
    for finding in findings:
        for name in missing_names(finding):
            consequences.setdefault(dll_key(name), str(finding.evidence.get("consequence") or ""))
    if report.first_failure is not None and report.first_failure.chain:  # what the prediction says is not said again
        consequences.pop(dll_key(report.first_failure.chain[-1]), None)
    blocks: list[Block] = [Records(tuple(_missing_dlls(shown, fatal, consequences)), "DLL")] if shown else []
    others = [item for item in listed if item not in shown]
    if others:
        names = [span for item in others for span in (", ", (item.name, "path"))][1:]
        blocks.append(Para((*names, (" (-v shows more)", "more")), ("optional: ", "dim")))
        rest = Records(tuple(_missing_dlls(others, fatal, consequences)), "DLL")
        blocks.append(Part(("Optional DLLs",), (rest,), 3, closed=True))
    yield chapter(f"Missing ({len(listed)})", *blocks)


def _missing_in(missing: Sequence[MissingDll], findings: Sequence[Finding]) -> list[MissingDll]:
    """Return the missing DLLs that the findings are about."""
    about = [finding for finding in findings if is_about(finding, Theme.MISSING, Theme.FORWARDER)]
    names = {dll_key(name) for finding in about for name in missing_names(finding)}
    return [
        item
        for item in missing
        if dll_key(item.name) in names or any(item.name in finding.message for finding in about)
    ]


def _missing_dlls(items: Sequence[MissingDll], fatal: set[str], consequences: Mapping[str, str]) -> Iterator[Record]:
    """Give the DLLs that the same files need in the same way together; one with candidates has its own record."""
    groups: dict[object, list[MissingDll]] = {}
    for item in items:
        key = (item.kind, item.required, item.needed_by, item.providers, consequences.get(dll_key(item.name)))
        groups.setdefault(item.name if item.candidates else key, []).append(item)
    for members in groups.values():
        first = members[0]
        loaded = first.name in fatal
        names: list[Span] = []
        for item in members:
            names += [", ", (item.name, "bad" if loaded else "warn")]
        # Where nothing is known to load the file that needs it, it is not known whether the DLL is required.
        need = "" if first.required and not loaded else ", required" if first.required else ", optional"
        fields: Fields = [("needed by", [*map(inside, first.needed_by)])]
        fields += [("", text)] if (text := consequences.get(dll_key(first.name))) else []
        for candidate in first.candidates:
            fields.append(("found at", [f"{candidate.path} {candidate.version}".rstrip()]))
            fields += [("found at", (candidate.reason, "dim"))] if candidate.reason else []
        if first.providers and not first.candidates:
            fields.append(("comes with", "; ".join(first.providers)))
        yield Record((*names[1:], (f"  {KIND_WORDS[first.kind]}{need}", "dim")), fields)


def _provided(report: ScanReport) -> list[Part]:
    """Return which DLLs other distributions provide, to which files."""
    names = dict.fromkeys(name for item in report.provided for name in item.distributions)
    records = []
    for item in report.provided:
        specifier = f" ({item.specifier})" if item.specifier else ""
        by = [f"{name}{specifier}" for name in item.distributions]
        fields: Fields = [("provided by", by), ("how", WAYS.get(item.how, item.how))]
        fields += [("where", text)] if (text := item.path or item.because) else []
        fields.append(("needed by", [*map(inside, item.needed_by)]))
        records.append(Record(((item.name, "file"),), fields))
    title = f"Provided by other distributions ({len(records)}): {', '.join([*names][:6])}"
    return [chapter(title, Records(records, "DLL"), closed=True)] if records else []


# ------------------------------------------------------------------------------------------------- GPU code and targets

FITS: dict[str, tuple[str, str]] = {
    "native": ("native", "good"),
    "same-major": ("same major", "good"),
    "ptx": ("PTX only", "warn"),
    "none": ("nothing", "bad"),
    "left-over": ("no kernels", "dim"),
}
"""How the code of a DLL fits a card, in words and with a style; best first."""
_OTHER_FITS = {"same-major": ("runs", "good"), "ptx": ("SPIR-V", "warn")}
"""The same for cards of AMD and Intel, which need other words."""


def _targets(report: ScanReport) -> list[Part]:
    rows: Rows = [
        [
            (target.verdict.value, target.verdict.value),
            (target.name, "name"),
            target_reason(target) or "everything that is imported is there",
        ]
        for target in report.targets
    ]
    return [chapter("Targets", Table(("verdict", "target", "why"), rows))] if rows else []


def _gpu(report: ScanReport) -> Iterator[Part]:
    """Give which GPU code there is, when asked for; and about CUDA then, or when something is wrong with it."""
    doubtful = any(is_about(finding, Theme.PARTIAL_CUDA, Theme.OTHER_CUDA) for finding in report.findings)
    if report.cuda is not None and (report.archs is not None or doubtful):
        yield chapter("CUDA", para(report.cuda.text))
    if report.archs is None:
        return
    groups = _gpu_groups(report)
    card = next((image.gpu for group in groups for image in group if image.gpu is not None), None)
    if not groups:
        yield Part((("GPU code", "head"), "  none of the DLLs has any"), ())
    elif card is not None:
        asked_as = "" if card.card == card.arch else f" ({card.card})"
        table = Table(("fit", "DLLs"), [*_fits(card, groups)])
        yield chapter(f"GPU code for {card.arch}{asked_as}", table)
    else:
        note = "  SASS is machine code, PTX is compiled by the driver; 86 stands for sm_86"
        rows: Rows = [[(_group_label(group), "name"), spell_archs(group[0].archs or ())] for group in groups]
        blocks: list[Block] = [Table(("DLLs", "code"), rows)]
        blocks += labelled("all together: ", [spell_archs(report.archs)] if len(groups) > 1 else [])
        yield Part((("GPU code", "head"), (note, "dim")), blocks)


def _fits(card: GpuFit, groups: list[list[ScannedImage]]) -> Iterator[list[Span]]:
    """Say for each DLL whether its code runs on the card, best first."""
    vendor = vendor_of(card.arch)
    for fit, spelled in FITS.items():
        for group in groups:
            archs = group[0].archs or ()
            if group[0].gpu is None or group[0].gpu.fit != fit:
                continue
            word, style = spelled if vendor == NVIDIA else _OTHER_FITS.get(fit, spelled)
            if all(vendor_of(arch) != vendor for arch in archs):
                word, style = f"not {vendor}", "dim"
            yield [(word, style), (", ".join(posixpath.basename(image.path) for image in group), "name")]
            yield ["", (spell_archs(archs), "dim")]


def spell_archs(archs: tuple[str, ...]) -> str:
    """Return ``SASS 50 86, PTX 86`` for ``sm_50``, ``sm_86`` and ``ptx_86``; ``AMD gfx1100``, ``Intel pvc, SPIR-V``."""
    parts = []
    for word, prefix, kept in (
        ("SASS", "sm_", ""),
        ("PTX", "ptx_", ""),
        ("Intel", "intel_", ""),
        ("AMD", "gfx", "gfx"),
    ):
        names = [kept + arch.removeprefix(prefix) for arch in archs if arch.startswith(prefix)]
        parts += [f"{word} {' '.join(names)}"] if names else []
    parts += ["SPIR-V for Intel"] if "spir64" in archs else []
    parts += ["SPIR-V for AMD"] if "amdgcnspirv" in archs else []
    return ", ".join(parts)


def _family(image: ScannedImage) -> str:
    return family_of(posixpath.basename(image.path)).title


def _gpu_groups(report: ScanReport) -> list[list[ScannedImage]]:
    """Return the images with GPU code, those of one family with the same code together."""
    groups = grouped(
        ((_family(image), image.archs, image.gpu.fit if image.gpu is not None else ""), image)
        for image in report.images
        if image.archs
    )
    return list(groups.values())


def _group_label(group: list[ScannedImage]) -> str:
    """Return the name of a single DLL, the family of several, or one of them and how many more there are."""
    family = _family(group[0])
    return f"{family}, {len(group)} DLLs" if family and len(group) > 1 else _first_name(group)


def _first_name(images: list[ScannedImage]) -> str:
    return and_more([posixpath.basename(image.path) for image in images], 1)


# ------------------------------------------------------------------------------------ for --verbose: builds and signers

_PYTHON = regex(r"python3\d*t?\.dll")
_SIGNATURES = {"trusted": "good", "untrusted-root": "warn", "invalid": "bad", "not-checked": "warn", "unsigned": "dim"}
"""The answers about signatures in the order in which they are listed, with their styles."""


def _abi(report: ScanReport) -> list[Part]:
    """Return which Python and which NumPy modules were built for, a row for those that are alike."""
    groups: dict[str, list[ScannedImage]] = {}
    for image in report.images:
        if is_pyd(image.path) and isinstance(image.facts, Image):
            imported = {item.dll.lower() for item in image.facts.imports}
            built_for = sorted(name for name in imported if _PYTHON.fullmatch(name))
            if image.numpy is not None:
                oldest, headers = image.numpy.oldest, image.numpy.headers
                built_for.append(f"NumPy {oldest} or later" if oldest else f"NumPy {headers}")
            if built_for:
                groups.setdefault(", ".join(built_for), []).append(image)
    rows: Rows = [[(what, "name"), _first_name(images)] for what, images in groups.items()]
    return [chapter("Built for", Table(("built for", "modules"), rows), closed=True)] if rows else []


def _signers(report: ScanReport) -> list[Part]:
    """Return every image under the answer about its signature and the signer's name; nothing if none was checked."""
    groups = grouped(
        ((found.status, found.signer, found.reason), inside(image.path))
        for image in report.images
        if (found := image.signature) is not None
    )
    order, records = list(_SIGNATURES), []
    for status, signer, reason in sorted(groups, key=lambda key: (order.index(key[0]), key[1].casefold(), key[2])):
        paths = groups[status, signer, reason]
        name = (f"  {signer}", "name") if signer else ""
        fields = tuple(("", text) for text in (reason, ", ".join(paths)) if text)
        records.append(Record(((status, _SIGNATURES[status]), name, (f"  {count(len(paths), 'file')}", "dim")), fields))
    return [chapter("Signatures", Records(records, "signature"), closed=True)] if records else []


# ---------------------------------------------------------------------------------------- for --verbose: who loads what

MOST = 20_000
"""Files and needs that are listed. A wheel of 500 DLLs has a few thousand; a longer list is of no use."""


def _loads(report: ScanReport) -> Iterator[Record]:
    """Give the files in the order in which they are loaded, then those that nothing loads, each with its needs."""
    needs = grouped((edge.importer, edge) for edge in itertools.islice(report.resolution.edges, MOST))
    codes = {outcome.event.path: outcome.code for outcome in reversed(report.resolution.outcomes)}
    loaded = dict.fromkeys(outcome.event.path for outcome in report.resolution.outcomes)
    for path in dict.fromkeys([*loaded, *needs]):
        fate: Span = (f"  fails with {codes[path]}", "bad") if codes.get(path) else ""
        yield Record(((inside(path), "name"), fate), tuple(("", text) for text in _needs(needs.get(path, []))))
    if len(report.resolution.edges) > MOST:
        note = f"The list ends here, after {MOST} needs; --format json has all {len(report.resolution.edges)} of them."
        yield Record(((note, "warn"),))


def _needs(edges: Sequence[Edge]) -> Iterator[Span]:
    """Give a line for each need that is met in the wheel or not at all, and one for each other provider."""
    outside: dict[str, list[str]] = {}
    for edge in edges:
        phrase = provider_phrase(edge.provider)
        how = "" if edge.is_import else f" ({edge.kind}{'' if edge.required else ', optional'})"
        if isinstance(edge.provider, InView):
            symbols = ", ".join(map(str, edge.unexported[:3]))
            without = f"  does not export {symbols}" if symbols else ""
            yield f"{edge.name}{how} → {phrase}{without}", "bad" if symbols else ""
        elif edge.is_missing:
            yield f"{edge.name}{how} → {phrase}", "bad" if edge.required else "warn"
        else:
            outside.setdefault(phrase, []).append(edge.name + how)
    for phrase, names in outside.items():
        yield f"{phrase}: {', '.join(names)}", "dim"


# ----------------------------------------------------------------------------------- the end of a run over many inputs


def render_summary(document: Document, look: TextStyle) -> str:
    """Return a table of the inputs that are not clean, the totals, and how often each rule was broken."""
    rows: Rows = []
    for row in document.rows:
        if row.report is None:
            rows.append([(row.kind.upper(), row.kind), row.words, (row.label, "path")])
        elif row.report.verdict is not Verdict.OK or row.words:
            failed = f" ({row.words})" if row.words else ""
            phrase = severity_phrase(row.report.findings)
            rows.append([(row.kind.upper(), row.kind), phrase, (row.label + failed, "path")])
    blocks = [_indented("Summary", Table(("verdict", "findings", "input"), rows)), *_target_table(document.reports)]
    if document.rules:
        blocks.append(_indented("Findings by rule", totals_table(document.rules)))
    return render_text([*blocks, line(str(document))], look)


def _indented(title: str, block: Block) -> Part:
    return Part(((title, "head"),), (block,), 3)


def render_steps(document: Document, look: TextStyle) -> str:
    """Return the commands for all reports; nothing if there are none."""
    steps = merged_steps(step for report in document.reports for step in document.steps(report))
    return render_text(steps_part(steps), look).removeprefix("\n")


def render_statistics(document: Document, look: TextStyle) -> str:
    """Return how often each rule was broken; known findings are left out."""
    rules = document.rules
    totals = f"{count(sum(row.findings for row in rules), 'finding')} of {count(len(rules), 'rule')}"
    return render_text([_indented("Findings by rule", totals_table(rules)), line(totals)], look)


def totals_table(rules: Sequence[RuleTotal]) -> Table:
    """Return how often each rule was broken, and in how many inputs."""
    heads = ("rule", "severity", "findings", "inputs")
    rows: Rows = [
        [f"{row.code} {row.name}", (row.severity.value, row.severity.value), str(row.findings), str(row.inputs)]
        for row in rules
    ]
    return Table(heads, rows, headed=True, numbers=heads[2:])


def overview(rows: Iterable[InputRow]) -> Table:
    """Return the inputs of a run with what came of each, the first thing to look at, and figures."""
    heads = ("input", "verdict", "first problem", "errors", "unsure", "warnings", "info", "MB of DLLs")
    shown: Rows = []
    for row in rows:
        error = row.failure.error if row.failure is not None else None
        why, numbers = f"{error}; {error.hint}".removesuffix("; ") if error is not None else "", [""] * 5
        if row.report is not None:
            size = round(sum(image.facts.size for image in row.report.images) / 1e6, 1)
            numbers = [str(number or "") for number in (*severities(row.report.findings).values(), size)]
            why = first_problem(row.report)
        shown.append([row.label, (row.outcome, row.kind), (why, "dim"), *numbers])
    return Table(heads, shown, numbers=heads[3:])


def first_problem(report: ScanReport) -> str:
    """Return the first thing to look at, in a few words."""
    failure = report.first_failure
    if failure is not None:
        cause = failure.chain[-1] if failure.chain else ""
        because = f": see {cause}" if cause else ""
        if dll_key(cause) in {dll_key(item.name) for item in report.missing}:
            there = dll_key(cause) in {dll_key(last_part(image.path)) for image in report.images}
            because = f": {cause} is {'not found where it is' if there else 'missing'}"
        return f"{import_statement(report)} fails{because}"
    worst = [finding for finding in report.findings if finding.severity is not Severity.INFO]
    worst.sort(key=lambda finding: list(Severity).index(finding.severity))
    return and_more([f"{finding.code} {finding.name}" for finding in worst], 1)


def _target_table(reports: Sequence[ScanReport]) -> list[Part]:
    """Return a table of wheels and targets."""
    names = list(dict.fromkeys(target.name for report in reports for target in report.targets))
    rows: Rows = []
    for report in reports:
        verdicts = {target.name: target.verdict.value for target in report.targets}
        rows.append([(label(report), "path"), *((word := verdicts.get(name, ""), word) for name in names)])
    return [_indented("Targets", Table(("wheel", *names), rows, headed=True))] if names else []


def render_document(document: Document) -> str:
    """Return the report for people as a file keeps it: Unicode, without colour."""
    look, reports, context = TextStyle(unicode=True), document.reports, document.context
    parts = [render_scan(report, look, context=context) for report in reports]
    if len(reports) + len(document.failures) + len(context.skipped) > 1:
        parts.append(render_summary(document, look))
    parts.append(render_steps(document, look))
    return "\n".join(filter(None, parts))

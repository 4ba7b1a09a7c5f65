"""The report of a scan for people: the verdict, the error that will come, what is missing, and what else is wrong."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections import deque
from typing import TYPE_CHECKING

from wheelfix.knowledge.cards import NVIDIA, vendor_of
from wheelfix.knowledge.families import family_of
from wheelfix.model import EdgeKind, Finding, Image, InView, Machine, Missing, Severity, Verdict, dll_key
from wheelfix.report.canvas import VERDICT_STYLES, Canvas, Span, TextStyle
from wheelfix.report.document import DEFAULT, Context, Document, FailedInput, by_code, severity_phrase
from wheelfix.report.words import (
    KIND_WORDS,
    and_more,
    count,
    follows_from,
    image_counts,
    import_statement,
    label,
    merged_steps,
    provider_phrase,
    sentence,
    short_path,
    target_reason,
    version_conflicts,
)
from wheelfix.rules.registry import Theme, is_about, missing_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wheelfix.model import Edge, GpuFit, MissingDll, ScannedImage, ScanReport
    from wheelfix.report.document import RuleTotal

HEADINGS = {
    Severity.ERROR: ("Errors", "bad"),
    Severity.UNSURE: ("Unsure", "warn"),
    Severity.WARNING: ("Warnings", "warn"),
    Severity.INFO: ("Info", "note"),
}
SHOWN = 5
"""Findings of one code that are shown in full without ``-v``."""


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
    verbose: bool = False,
    quiet: bool = False,
    context: Context = DEFAULT,
    hints: Hints | None = None,
) -> str:
    """Return the report on one wheel; ``quiet`` leaves the verdict, ``verbose`` adds every resolved edge.

    A wheel that is ok is one line. ``hints`` are those of earlier reports, which are not repeated.
    """
    canvas = Canvas(look)
    word = report.verdict.value
    verdict = (word.upper(), VERDICT_STYLES[word])
    new, known = list[Finding](), list[Finding]()
    for finding in report.findings:
        (known if context.known(report, finding) else new).append(finding)
    if quiet:
        canvas.line(verdict, f"  {label(report)}", "  (nothing new)" if report.findings and not new else "")
        return canvas.text()
    infos = verbose or context.infos
    shown = [one for one in new if infos or one.severity is not Severity.INFO or context.fails(report, one)]
    if not (verbose or shown or known or report.archs is not None or report.targets):
        more = f" ({len(new)} info)" if new else ""
        canvas.ends((label(report), "name"), (verdict[0] + more, verdict[1]))
        return canvas.text()
    canvas.ends((label(report), "name"), verdict)
    canvas.paragraph((_facts(report), "dim"))
    conflicts = version_conflicts(new)
    explained = [] if verbose else follows_from(conflicts, report)
    if conflicts:
        canvas.blank()
        for conflict in conflicts:
            canvas.paragraph((conflict.message, "name"))
    if explained:
        names = dict.fromkeys(posixpath.basename(finding.subject) for finding in explained)
        verb = "goes" if len(explained) == 1 else "go"
        what = f"{count(len(explained), 'finding')} about functions that are not in {', '.join(names)}"
        canvas.paragraph(f"{what} {verb} with it; -v shows more.", indent=2)
        shown = [finding for finding in shown if finding not in explained]
    if new or not report.findings:
        _draw_prediction(canvas, report)
    hints = hints or Hints()
    _Findings(canvas, report, shown, hints, verbose=verbose).draw()
    _draw_targets(canvas, report)
    _draw_gpu(canvas, report)
    if known:
        canvas.blank()
        codes = ", ".join(dict.fromkeys(finding.code for finding in known))
        canvas.paragraph(codes, lead=(f"Known, in the baseline ({len(known)}): ", "dim"))
    if verbose:
        _draw_abi(canvas, report)
        _draw_signers(canvas, report)
        canvas.heading("Who loads what")
        _draw_tree(canvas, report)
    canvas.blank()
    fresh = "" if not known else f"; {len(new) or 'nothing'} new"
    more = "; -v shows the info" if len(shown) < len(new) else ""
    canvas.line("Verdict: ", (word, VERDICT_STYLES[word]), f" ({severity_phrase(report.findings)}{fresh}{more})")
    worst = next((finding for finding in new if finding.severity is not Severity.INFO), None)
    if worst is not None and hints.is_new(worst.code):
        canvas.line((f"'wheelfix explain {worst.code}' says more.", "dim"))
    return canvas.text()


def _facts(report: ScanReport) -> str:
    known = [f"{report.name} {report.version}".strip(), and_more(report.tags, 1)]
    if report.machine is not Machine.UNKNOWN:  # verify does not look into DLLs
        known += [report.machine.value, *image_counts(report)]
    return ", ".join(part for part in known if part)


def _draw_prediction(canvas: Canvas, report: ScanReport) -> None:
    failure = report.first_failure
    if failure is None:
        return
    canvas.blank()
    canvas.line((import_statement(report), "name"), " will raise:")
    canvas.line((failure.message, "bad"), indent=2)
    if len(failure.chain) > 1:
        *before, cause = failure.chain
        spans = [span for name in before for span in ((name, "name"), " → ")]
        canvas.paragraph(*spans, (cause, "bad"), indent=2, lead=("because: ", "dim"))
    if failure.explanation:
        canvas.paragraph(failure.explanation, indent=2)


# ----------------------------------------------------------------------------- what is missing, and the other findings


class _Findings:
    """Writes what is missing, then the other findings by severity and code."""

    def __init__(
        self, canvas: Canvas, report: ScanReport, findings: Sequence[Finding], hints: Hints, *, verbose: bool
    ) -> None:
        self._canvas, self._report, self._findings = canvas, report, findings
        self._hints, self._verbose = hints, verbose
        self._listed = _missing_in(report.missing, findings)

    def _hint(self, text: str, indent: int) -> None:
        if self._hints.is_new(text):
            self._canvas.paragraph(text, indent=indent, lead=("hint: ", "dim"))

    def draw(self) -> None:
        if self._listed:
            self._draw_missing()
        names = {dll_key(item.name) for item in self._listed}
        for severity, (heading, style) in HEADINGS.items():
            chosen = [finding for finding in self._findings if finding.severity is severity]
            if chosen:
                self._canvas.heading(f"{heading} ({len(chosen)})")
            for members in by_code(chosen):
                self._canvas.line((members[0].code, style), " ", (members[0].name, "name"), indent=2)
                self._draw_code(members, names)

    def _draw_code(self, members: Sequence[Finding], listed: set[str]) -> None:
        """Write the findings of one code; those that the list of missing DLLs shows in full are only named.

        A hint that all of them share is written once, below them.
        """
        canvas, above, rest = self._canvas, dict[str, None](), list[Finding]()
        for finding in members:
            names = missing_names(finding)
            if is_about(finding, Theme.MISSING) and names and {dll_key(name) for name in names} <= listed:
                above.update(dict.fromkeys(names))
            else:
                rest.append(finding)
        if above:
            named = and_more(list(above), len(above) if self._verbose else SHOWN)
            canvas.paragraph(f"{named} (see Missing)", indent=4)
        shown = rest if self._verbose else rest[:SHOWN]
        hints = list(dict.fromkeys(finding.hint for finding in shown if finding.hint))
        for finding in shown:
            canvas.paragraph(sentence(finding), indent=4)
            if len(hints) > 1:
                self._hint(finding.hint, 6)
        if len(rest) > len(shown):
            canvas.line((f"… and {len(rest) - len(shown)} more (-v shows all)", "dim"), indent=4)
        if len(hints) == 1:
            self._hint(hints[0], 4)

    def _draw_missing(self) -> None:
        """Write required DLLs in full, and optional ones by name only, unless everything is asked for."""
        canvas, listed = self._canvas, self._listed
        canvas.heading(f"Missing ({len(listed)})")
        shown = [item for item in listed if item.required or self._verbose or item.candidates]
        errors = [finding for finding in self._findings if finding.severity is Severity.ERROR]
        fatal = {item.name for item in _missing_in(listed, errors)}
        for items, consequence in self._alike(shown):
            _draw_missing_dlls(canvas, items, consequence, loaded=items[0].name in fatal)
        others = [item.name for item in listed if item not in shown]
        if others:
            names = _joined([(name, "path") for name in others])
            canvas.paragraph(*names, (" (-v shows more)", "dim"), indent=2, lead=("optional: ", "dim"))

    def _alike(self, items: Sequence[MissingDll]) -> list[tuple[list[MissingDll], str]]:
        """Group the DLLs that the same files need in the same way, with what happens without them.

        One with candidates is a group of its own. What the prediction says is not said again.
        """
        consequences: dict[str, str] = {}
        for finding in self._findings:
            for name in missing_names(finding):
                consequences.setdefault(dll_key(name), str(finding.evidence.get("consequence") or ""))
        if self._report.first_failure is not None and self._report.first_failure.chain:
            consequences.pop(dll_key(self._report.first_failure.chain[-1]), None)
        groups: dict[object, tuple[list[MissingDll], str]] = {}
        for item in items:
            consequence = consequences.get(dll_key(item.name), "")
            key = (item.kind, item.required, item.needed_by, item.providers, consequence)
            groups.setdefault(item.name if item.candidates else key, ([], consequence))[0].append(item)
        return list(groups.values())


def _missing_in(missing: Sequence[MissingDll], findings: Sequence[Finding]) -> list[MissingDll]:
    """Return the missing DLLs that the findings are about."""
    about = [finding for finding in findings if is_about(finding, Theme.MISSING, Theme.FORWARDER)]
    names = {dll_key(name) for finding in about for name in missing_names(finding)}
    return [
        item
        for item in missing
        if dll_key(item.name) in names or any(item.name in finding.message for finding in about)
    ]


def _draw_missing_dlls(canvas: Canvas, items: Sequence[MissingDll], consequence: str, *, loaded: bool) -> None:
    first = items[0]
    names = _joined([(item.name, "bad" if loaded else "warn") for item in items])
    # Where nothing is known to load the file that needs it, it is not known whether the DLL is required.
    need = "" if first.required and not loaded else ", required" if first.required else ", optional"
    canvas.paragraph(*names, (f"  {KIND_WORDS[first.kind]}{need}", "dim"), indent=2)
    needers = _joined([(short_path(path), "path") for path in first.needed_by[:4]])
    more = len(first.needed_by) - 4
    canvas.paragraph(*needers, f" and {more} more" if more > 0 else "", indent=4, lead=("needed by  ", "dim"))
    if consequence:
        canvas.paragraph(consequence, indent=4)
    for number, candidate in enumerate(first.candidates):
        lead = "found at   " if number == 0 else "           "
        version = f" {candidate.version}" if candidate.version else ""
        canvas.line((lead, "dim"), f"{candidate.path}{version}", indent=4)
        if candidate.reason:
            canvas.paragraph((candidate.reason, "dim"), indent=15)
    if first.providers and not first.candidates:
        canvas.paragraph("; ".join(first.providers), indent=4, lead=("comes with ", "dim"))


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Return the spans with commas between them."""
    return [part for number, span in enumerate(spans) for part in ((", ", span) if number else (span,))]


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


def _draw_targets(canvas: Canvas, report: ScanReport) -> None:
    if report.targets:
        canvas.heading("Targets")
        rows: list[list[Span]] = [
            [(target.verdict.value, VERDICT_STYLES[target.verdict.value]), (target.name, "name"), target_reason(target)]
            for target in report.targets
        ]
        canvas.table(rows, indent=2)


def _draw_gpu(canvas: Canvas, report: ScanReport) -> None:
    """Write which GPU code there is, when asked for; and about CUDA then, or when something is wrong with it."""
    doubtful = any(is_about(finding, Theme.PARTIAL_CUDA, Theme.OTHER_CUDA) for finding in report.findings)
    if report.cuda is not None and (report.archs is not None or doubtful):
        canvas.heading("CUDA")
        canvas.paragraph(report.cuda.text, indent=2)
    if report.archs is None:
        return
    groups = _gpu_groups(report)
    card = next((image.gpu for group in groups for image in group if image.gpu is not None), None)
    canvas.blank()
    if not groups:
        canvas.line(("GPU code", "head"), "  none of the DLLs has any")
    elif card is not None:
        _draw_fits(canvas, card, groups)
    else:
        note = "  SASS is machine code, PTX is compiled by the driver; 86 stands for sm_86"
        canvas.line(("GPU code", "head"), (note, "dim"))
        canvas.table([[(_group_label(group), "name"), spell_archs(group[0].archs or ())] for group in groups], indent=2)
        if len(groups) > 1:
            canvas.paragraph(spell_archs(report.archs), indent=2, lead=("all together: ", "dim"))


def _draw_fits(canvas: Canvas, card: GpuFit, groups: list[list[ScannedImage]]) -> None:
    """Say for each DLL whether its code runs on the card, best first."""
    asked_as = "" if card.card == card.arch else f" ({card.card})"
    canvas.line((f"GPU code for {card.arch}{asked_as}", "head"))
    width = max(len(word) for word, _ in FITS.values()) + 2
    vendor = vendor_of(card.arch)
    for fit, spelled in FITS.items():
        for group in groups:
            archs = group[0].archs or ()
            if group[0].gpu is None or group[0].gpu.fit != fit:
                continue
            word, style = spelled if vendor == NVIDIA else _OTHER_FITS.get(fit, spelled)
            if all(vendor_of(arch) != vendor for arch in archs):
                word, style = f"not {vendor}", "dim"
            names = ", ".join(posixpath.basename(image.path) for image in group)
            canvas.paragraph((names, "name"), indent=2, lead=(word.ljust(width), style))
            canvas.paragraph((spell_archs(archs), "dim"), indent=2 + width)


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
    member = family_of(posixpath.basename(image.path))
    return member.family.title if member else ""


def _gpu_groups(report: ScanReport) -> list[list[ScannedImage]]:
    """Return the images with GPU code, those of one family with the same code together."""
    groups: dict[tuple[object, ...], list[ScannedImage]] = {}
    for image in report.images:
        if image.archs:
            fit = image.gpu.fit if image.gpu is not None else ""
            groups.setdefault((_family(image), image.archs, fit), []).append(image)
    return list(groups.values())


def _group_label(group: list[ScannedImage]) -> str:
    """Return the name of a single DLL, the family of several, or one of them and how many more there are."""
    family = _family(group[0])
    return f"{family}, {len(group)} DLLs" if family and len(group) > 1 else _first_name(group)


def _first_name(images: list[ScannedImage]) -> str:
    return and_more([posixpath.basename(image.path) for image in images], 1)


# ------------------------------------------------------------------------------------ for --verbose: builds and signers

_PYTHON = re.compile(r"python3\d*t?\.dll")
_SIGNATURES = {"trusted": "good", "untrusted-root": "warn", "invalid": "bad", "not-checked": "warn", "unsigned": "dim"}
"""The answers about signatures in the order in which they are listed, with their styles."""


def _draw_abi(canvas: Canvas, report: ScanReport) -> None:
    """Print which Python and which NumPy modules were built for, a line for those that are alike."""
    groups: dict[str, list[ScannedImage]] = {}
    for image in report.images:
        if image.path.lower().endswith(".pyd") and isinstance(image.facts, Image):
            imported = {item.dll.lower() for item in image.facts.imports}
            built_for = sorted(name for name in imported if _PYTHON.fullmatch(name))
            if image.numpy is not None:
                oldest, headers = image.numpy.oldest, image.numpy.headers
                built_for.append(f"NumPy {oldest} or later" if oldest else f"NumPy {headers}")
            if built_for:
                groups.setdefault(", ".join(built_for), []).append(image)
    if groups:
        canvas.heading("Built for")
        canvas.table([[(what, "name"), _first_name(images)] for what, images in groups.items()], indent=2)


def _draw_signers(canvas: Canvas, report: ScanReport) -> None:
    """List every image under the answer about its signature and the signer's name; nothing if none was checked."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for image in report.images:
        if image.signature is not None:
            found = image.signature
            groups.setdefault((found.status, found.signer, found.reason), []).append(short_path(image.path))
    if groups:
        canvas.heading("Signatures")
    order = list(_SIGNATURES)
    for status, signer, reason in sorted(groups, key=lambda key: (order.index(key[0]), key[1].casefold(), key[2])):
        paths = groups[status, signer, reason]
        name = (f"  {signer}", "name") if signer else ""
        canvas.line((status, _SIGNATURES[status]), name, (f"  {count(len(paths), 'file')}", "dim"), indent=2)
        if reason:
            canvas.paragraph(reason, indent=4)
        canvas.paragraph(", ".join(paths), indent=4)


# ---------------------------------------------------------------------------------------- for --verbose: who loads what

MOST = 20_000
"""Lines of the tree that are drawn. A wheel of 500 DLLs has a few thousand; a longer tree is of no use."""
DEEPEST = 40
"""Levels that a tree grows to the right; what is deeper begins a tree of its own further down."""


def _draw_tree(canvas: Canvas, report: ScanReport) -> None:
    """Draw the loads that the package performs, each file's needs once; then the files that nothing loads."""
    lines = _trees(report)
    for spans in itertools.islice(lines, MOST):
        canvas.line(*spans)
    if next(lines, None) is not None:
        note = f"The tree ends here, after {MOST} lines; --format json has all {len(report.resolution.edges)} edges."
        canvas.line((note, "warn"), indent=2)


def _trees(report: ScanReport) -> Iterator[list[Span]]:
    """Yield the lines of one tree after the other."""
    needs: dict[str, list[Edge]] = {}
    for edge in report.resolution.edges:
        needs.setdefault(edge.importer, []).append(edge)
    codes = {outcome.event.path: outcome.code for outcome in reversed(report.resolution.outcomes)}
    order = deque(dict.fromkeys(outcome.event.path for outcome in report.resolution.outcomes))
    order += sorted(path for path in needs if path not in codes)
    drawn: set[str] = set()
    while order:
        path = order.popleft()
        if path in drawn and path not in codes:
            continue
        fate: Span = (f"  fails with {codes[path]}", "bad") if codes.get(path) else ""
        if path in drawn:
            yield ["  ", (short_path(path), "name"), ("  (above)", "dim"), fate]
            continue
        yield ["  ", (short_path(path), "name"), fate]
        deeper: list[str] = []
        yield from _tree(path, needs, drawn, deeper)
        order.extendleft(path for path in reversed(deeper) if path not in codes)


def _tree(root: str, needs: dict[str, list[Edge]], drawn: set[str], deeper: list[str]) -> Iterator[list[Span]]:
    """Yield what is below a file; an own stack, because a chain of DLLs can be longer than Python's."""
    drawn.add(root)
    pending = _rows(needs.get(root, []), "  ")
    while pending:
        spans, target, prefix, last = pending.pop()
        seen: Span = ""
        children = []
        if target is not None and target in needs:
            if target in drawn:
                seen = ("  (above)", "dim")
            elif len(prefix) > 3 * DEEPEST:
                seen = ("  (below)", "dim")
                deeper.append(target)
            else:
                drawn.add(target)
                children = _rows(needs[target], prefix + ("   " if last else "│  "))
        yield [(prefix + ("└─ " if last else "├─ "), "dim"), *spans, seen]
        pending += children


def _rows(edges: list[Edge], prefix: str) -> list[tuple[list[Span], str | None, str, bool]]:
    """Return one row per edge that matters, and one for each provider outside the wheel; the first row comes last."""
    rows: list[tuple[list[Span], str | None]] = []
    outside: dict[str, list[str]] = {}
    for edge in edges:
        phrase = provider_phrase(edge.provider)
        how = "" if edge.kind is EdgeKind.IMPORT else f" ({edge.kind}{'' if edge.required else ', optional'})"
        if isinstance(edge.provider, InView):
            same = posixpath.basename(edge.provider.path) == edge.name
            where = phrase if not same else posixpath.dirname(phrase)
            symbols = ", ".join(map(str, edge.unexported[:3]))
            unexported: Span = (f"  does not export {symbols}", "bad") if symbols else ""
            rows.append(([edge.name, (how, "note"), (f" → {where or '.'}", "dim"), unexported], edge.provider.path))
        elif isinstance(edge.provider, Missing):
            style = "bad" if edge.required else "warn"
            rows.append(([(edge.name, style), (how, "note"), (f" → {phrase}", style)], None))
        else:
            outside.setdefault(phrase, []).append(edge.name + how)
    rows += [([(f"{phrase}: ", "dim"), (", ".join(names), "dim")], None) for phrase, names in outside.items()]
    return [(*row, prefix, number == 0) for number, row in enumerate(reversed(rows))]


# ----------------------------------------------------------------------------------- the end of a run over many inputs


def render_summary(
    reports: Sequence[ScanReport], failures: Sequence[FailedInput], look: TextStyle, context: Context = DEFAULT
) -> str:
    """Return a table of the inputs that are not clean, the totals, and how often each rule was broken."""
    canvas, document = Canvas(look), Document(reports, failures, context)
    rows: list[list[Span]] = []
    for report in reports:
        failed = f" ({document.failed[report.path].words})" if report.path in document.failed else ""
        if report.verdict is not Verdict.OK or failed:
            verdict: Span = (report.verdict.value.upper(), VERDICT_STYLES[report.verdict.value])
            rows.append([verdict, severity_phrase(report.findings), (label(report) + failed, "path")])
    rows += [[("FAILED", "bad"), failure.words, (failure.path, "path")] for failure in document.alone]
    rows += [[("SKIPPED", "dim"), "not for Windows", (path, "path")] for path in context.skipped]
    canvas.line(("Summary", "head"))
    canvas.table(rows, indent=2)
    _draw_target_table(canvas, reports)
    if document.rules:
        _draw_rules(canvas, document.rules)
    canvas.line(str(document))
    return canvas.text()


def render_steps(
    reports: Sequence[ScanReport], failures: Sequence[FailedInput], look: TextStyle, context: Context = DEFAULT
) -> str:
    """Return the commands that fix what was found, each below a comment: the whole can be pasted; nothing if none."""
    document = Document(reports, failures, context)
    steps = merged_steps(step for report in reports for step in document.steps(report))
    canvas = Canvas(look)
    if steps:
        canvas.line(("What to do now", "head"))
    for step in steps:
        canvas.line((f"# {step.what}", "dim"), indent=2)
        canvas.line((step.command, "name"), indent=2)
    return canvas.text()


def render_statistics(reports: Sequence[ScanReport], context: Context, look: TextStyle) -> str:
    """Return how often each rule was broken; known findings are left out."""
    canvas, rules = Canvas(look), Document(reports, (), context).rules
    _draw_rules(canvas, rules)
    canvas.line(f"{count(sum(row.findings for row in rules), 'finding')} of {count(len(rules), 'rule')}")
    return canvas.text()


def _draw_rules(canvas: Canvas, rules: Sequence[RuleTotal]) -> None:
    canvas.line(("Findings by rule", "head"))
    canvas.table([[str(row.findings), row.code, row.severity.value, row.name] for row in rules], indent=2)


def _draw_target_table(canvas: Canvas, reports: Sequence[ScanReport]) -> None:
    """Write a table of wheels and targets."""
    names = list(dict.fromkeys(target.name for report in reports for target in report.targets))
    if not names:
        return
    canvas.line(("Targets", "head"))
    rows: list[list[Span]] = [[("wheel", "dim"), *((name, "dim") for name in names)]]
    for report in reports:
        verdicts = {target.name: target.verdict for target in report.targets}
        cells = [
            (verdicts[name].value, VERDICT_STYLES[verdicts[name].value]) if name in verdicts else "" for name in names
        ]
        rows.append([(label(report), "path"), *cells])
    canvas.table(rows, indent=2)


def render_document(document: Document) -> str:
    """Return the report for people as a file keeps it: Unicode, without colour."""
    look = TextStyle(unicode=True)
    parts = [render_scan(report, look, context=document.context) for report in document.reports]
    if len(document.reports) + len(document.failures) + len(document.context.skipped) > 1:
        parts.append(render_summary(document.reports, document.failures, look, document.context))
    parts.append(render_steps(document.reports, document.failures, look, document.context))
    return "\n".join(filter(None, parts))

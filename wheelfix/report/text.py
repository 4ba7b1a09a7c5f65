"""The report of a scan for people: the verdict, the error that will come, what is missing, and what else is wrong."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections import deque
from typing import TYPE_CHECKING

from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.othercards import NVIDIA, vendor_of
from wheelfix.model import (
    Edge,
    EdgeKind,
    Finding,
    Image,
    InView,
    Machine,
    Malformed,
    Missing,
    ScanReport,
    Severity,
    Verdict,
    dll_key,
)
from wheelfix.report.canvas import Canvas, Span
from wheelfix.report.document import DEFAULT, Context, FailedInput, severity_phrase, split_failures, totals
from wheelfix.report.words import (
    count,
    import_statement,
    label,
    missing_hints,
    provider_phrase,
    sentence,
    short_path,
    target_reason,
)
from wheelfix.rules.allowed import missing_names
from wheelfix.rules.themes import Theme, is_about

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from wheelfix.model import Finding, MissingDll, ScanReport
    from wheelfix.report.canvas import TextStyle

    Hint = Callable[[str, int], None]
    from collections.abc import Iterator

    from wheelfix.model import GpuFit, ScannedImage
    from wheelfix.report.document import RuleTotal

VERDICT_STYLES = {Verdict.OK: "good", Verdict.RISKY: "warn", Verdict.UNSURE: "warn", Verdict.BROKEN: "bad"}


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

    A clean wheel is one line. ``hints`` are those of earlier reports, which are not repeated.
    """
    canvas = Canvas(look)
    verdict: Span = (report.verdict.value.upper(), VERDICT_STYLES[report.verdict])
    new = [finding for finding in report.findings if not context.known(report, finding)]
    if quiet:
        canvas.line(verdict, f"  {label(report)}", "  (nothing new)" if report.findings and not new else "")
        return canvas.text()
    canvas.ends((label(report), "name"), verdict)
    clean = not (verbose or report.findings or report.archs is not None or report.targets)
    if not clean:
        canvas.paragraph((_facts(report), "dim"))
    if new or not report.findings:
        _prediction(canvas, report)
    hints = hints or Hints()
    _findings(canvas, report, new, hints, verbose=verbose)
    draw_targets(canvas, report)
    draw_gpu(canvas, report)
    _known(canvas, [finding for finding in report.findings if context.known(report, finding)])
    if verbose:
        draw_abi(canvas, report)
        draw_signers(canvas, report)
        canvas.blank()
        canvas.line(("Who loads what", "head"))
        draw_tree(canvas, report)
    if not clean:
        canvas.blank()
        _verdict(canvas, report, new, hints)
    return canvas.text()


def _facts(report: ScanReport) -> str:
    images = [item for item in report.images if not isinstance(item.facts, Malformed)]
    modules, programs = (sum(item.path.lower().endswith(end) for item in images) for end in (".pyd", ".exe"))
    tags = (
        report.tags[0]
        if len(report.tags) == 1
        else f"{report.tags[0]} and {len(report.tags) - 1} more"
        if report.tags
        else ""
    )
    known = [f"{report.name} {report.version}".strip(), tags]
    if report.machine is not Machine.UNKNOWN:  # verify does not look into DLLs
        known += [report.machine.value, count(len(images) - modules - programs, "DLL")]
        known += [count(modules, "extension module"), count(programs, "program") if programs else ""]
    return ", ".join(part for part in known if part)


def _prediction(canvas: Canvas, report: ScanReport) -> None:
    failure = report.first_failure
    if failure is None:
        return
    canvas.blank()
    canvas.line((import_statement(report), "name"), " will raise:")
    canvas.line((failure.message, "bad"), indent=2)
    if len(failure.chain) > 1:
        canvas.paragraph(*_chain(failure.chain), indent=2, lead=("because: ", "dim"))
    if failure.explanation:
        canvas.paragraph(failure.explanation, indent=2)


def _chain(chain: Sequence[str]) -> list[Span]:
    spans: list[Span] = []
    for number, name in enumerate(chain):
        last = number == len(chain) - 1
        spans += [" → "] if number else []
        spans.append((name, "bad" if last else "name"))
    return spans


def _findings(canvas: Canvas, report: ScanReport, findings: Sequence[Finding], hints: Hints, *, verbose: bool) -> None:
    """Write what is missing, then the other findings by severity and code."""

    def hint(text: str, indent: int) -> None:
        if hints.is_new(text):
            canvas.paragraph(text, indent=indent, lead=("hint: ", "dim"))

    listed = listed_missing(report.missing, findings)
    draw_missing(canvas, report, listed, findings, hint, verbose=verbose)
    names = {dll_key(item.name) for item in listed}
    for severity, (heading, style) in HEADINGS.items():
        chosen = [finding for finding in findings if finding.severity is severity]
        if not chosen:
            continue
        canvas.blank()
        canvas.line((f"{heading} ({len(chosen)})", "head"))
        groups: dict[str, list[Finding]] = {}
        for finding in chosen:
            groups.setdefault(finding.code, []).append(finding)
        for members in groups.values():
            canvas.line((members[0].code, style), " ", (members[0].name, "name"), indent=2)
            _named(canvas, [member for member in members if is_listed(member, names)], verbose=verbose)
            _group(canvas, [member for member in members if not is_listed(member, names)], hint, verbose=verbose)


def _named(canvas: Canvas, findings: Sequence[Finding], *, verbose: bool) -> None:
    """Name the DLLs of findings that the list of missing DLLs shows in full."""
    names = list(dict.fromkeys(name for finding in findings for name in missing_names(finding)))
    if names:
        shown = names if verbose else names[:SHOWN]
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        canvas.paragraph(f"{', '.join(shown)}{more} (see Missing)", indent=4)


def _group(canvas: Canvas, findings: Sequence[Finding], hint: Callable[[str, int], None], *, verbose: bool) -> None:
    """Write the findings of one code; a hint that they share is written once, below them."""
    shown = findings if verbose else findings[:SHOWN]
    hints = list(dict.fromkeys(finding.hint for finding in shown if finding.hint))
    for finding in shown:
        canvas.paragraph(sentence(finding), indent=4)
        if len(hints) > 1:
            hint(finding.hint, 6)
    if len(findings) > len(shown):
        canvas.line((f"… and {len(findings) - len(shown)} more (-v shows all)", "dim"), indent=4)
    if len(hints) == 1:
        hint(hints[0], 4)


def _known(canvas: Canvas, findings: Sequence[Finding]) -> None:
    if findings:
        codes = list(dict.fromkeys(finding.code for finding in findings))
        canvas.blank()
        canvas.paragraph(", ".join(codes), lead=(f"Known, in the baseline ({len(findings)}): ", "dim"))


def _verdict(canvas: Canvas, report: ScanReport, new: Sequence[Finding], hints: Hints) -> None:
    verdict: Span = (report.verdict.value, VERDICT_STYLES[report.verdict])
    fresh = "" if len(new) == len(report.findings) else f"; {len(new) or 'nothing'} new"
    canvas.line("Verdict: ", verdict, f" ({severity_phrase(report.findings)}{fresh})")
    worst = next((finding for finding in new if finding.severity is not Severity.INFO), None)
    if worst is not None and hints.is_new(worst.code):
        canvas.line((f"'wheelfix explain {worst.code}' says more.", "dim"))


# ---------------------------------------------------------------------------------------------------- the missing DLLs


KIND_WORDS = {
    EdgeKind.IMPORT: "imported",
    EdgeKind.DELAY: "delay-loaded",
    EdgeKind.COMPANION: "loaded by name at run time",
    EdgeKind.FORWARDER: "target of a forwarder",
}


def listed_missing(missing: Sequence[MissingDll], findings: Sequence[Finding]) -> list[MissingDll]:
    """Return the missing DLLs that the findings are about."""
    about = [finding for finding in findings if is_about(finding, Theme.MISSING, Theme.FORWARDER)]
    names = {dll_key(name) for finding in about for name in missing_names(finding)}
    return [
        item
        for item in missing
        if dll_key(item.name) in names or any(item.name in finding.message for finding in about)
    ]


def is_listed(finding: Finding, listed: Set[str]) -> bool:
    """Whether the section says everything that a finding does; ``listed`` are the folded names of its DLLs."""
    names = {dll_key(name) for name in missing_names(finding)}
    return is_about(finding, Theme.MISSING) and bool(names) and names <= listed


def draw_missing(
    canvas: Canvas,
    report: ScanReport,
    listed: Sequence[MissingDll],
    findings: Sequence[Finding],
    hint: Hint,
    *,
    verbose: bool,
) -> None:
    """Write required DLLs in full, and optional ones by name only, unless everything is asked for."""
    if not listed:
        return
    canvas.blank()
    canvas.line((f"Missing ({len(listed)})", "head"))
    shown = [item for item in listed if item.required or verbose or item.candidates]
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    fatal = {item.name for item in listed_missing(listed, errors)}
    for items, consequence in _alike(shown, _consequences(report, findings)):
        _entry(canvas, items, consequence, loaded=items[0].name in fatal)
    others = [item.name for item in listed if not (item.required or verbose or item.candidates)]
    if others:
        names = _joined([(name, "path") for name in others])
        canvas.paragraph(*names, (" (-v shows more)", "dim"), indent=2, lead=("optional: ", "dim"))
    for how in missing_hints(listed, report.machine):
        hint(how, 2)


def _consequences(report: ScanReport, findings: Sequence[Finding]) -> dict[str, str]:
    """Return what happens without each DLL, by its folded name, except where the prediction says it."""
    found: dict[str, str] = {}
    for finding in findings:
        for name in missing_names(finding):
            found.setdefault(dll_key(name), str(finding.evidence.get("consequence") or ""))
    if report.first_failure is not None:
        found.pop(dll_key(report.first_failure.chain[-1]) if report.first_failure.chain else "", None)
    return found


def _alike(items: Sequence[MissingDll], consequences: dict[str, str]) -> list[tuple[list[MissingDll], str]]:
    """Group the DLLs that the same files need in the same way; one with candidates is a group of its own."""
    groups: dict[object, tuple[list[MissingDll], str]] = {}
    for item in items:
        consequence = consequences.get(dll_key(item.name), "")
        key = (item.kind, item.required, item.needed_by, item.providers, consequence)
        groups.setdefault(item.name if item.candidates else key, ([], consequence))[0].append(item)
    return list(groups.values())


def _entry(canvas: Canvas, items: Sequence[MissingDll], consequence: str, *, loaded: bool) -> None:
    first = items[0]
    style = "bad" if loaded else "warn"
    # Where nothing is known to load the file that needs it, it is not known whether the DLL is required.
    need = "" if first.required and not loaded else ", required" if first.required else ", optional"
    canvas.paragraph(
        *_joined([(item.name, style) for item in items]), (f"  {KIND_WORDS[first.kind]}{need}", "dim"), indent=2
    )
    canvas.paragraph(*_some(first.needed_by), indent=4, lead=("needed by  ", "dim"))
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


def _some(paths: Sequence[str], most: int = 4) -> list[Span]:
    rest = len(paths) - most
    return [*_joined([(short_path(path), "path") for path in paths[:most]]), f" and {rest} more" if rest > 0 else ""]


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Return the spans with commas between them."""
    return [part for number, span in enumerate(spans) for part in ((", ", span) if number else (span,))]


# -------------------------------------------------------------------------- the kinds of Windows that were asked about


def draw_targets(canvas: Canvas, report: ScanReport) -> None:
    """Write a line for each target, with why."""
    if not report.targets:
        return
    canvas.blank()
    canvas.line(("Targets", "head"))
    rows: list[list[Span]] = [
        [(target.verdict.value, VERDICT_STYLES[target.verdict]), (target.name, "name"), target_reason(target)]
        for target in report.targets
    ]
    canvas.table(rows, indent=2)


def draw_target_table(canvas: Canvas, reports: Sequence[ScanReport]) -> None:
    """Write a table of wheels and targets."""
    names = list(dict.fromkeys(target.name for report in reports for target in report.targets))
    if not names:
        return
    canvas.line(("Targets", "head"))
    rows: list[list[Span]] = [[("wheel", "dim"), *((name, "dim") for name in names)]]
    for report in reports:
        verdicts = {target.name: target.verdict for target in report.targets}
        cells: list[Span] = [
            (verdicts[name].value, VERDICT_STYLES[verdicts[name]]) if name in verdicts else "" for name in names
        ]
        rows.append([(label(report), "path"), *cells])
    canvas.table(rows, indent=2)


# --------------------------------------------------------------------------------------------------- GPU code and CUDA


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


def draw_gpu(canvas: Canvas, report: ScanReport) -> None:
    """Write which GPU code there is, when asked for; and about CUDA then, or when something is wrong with it."""
    asked = report.archs is not None
    doubtful = any(is_about(finding, Theme.PARTIAL_CUDA, Theme.OTHER_CUDA) for finding in report.findings)
    if report.cuda is not None and (asked or doubtful):
        canvas.blank()
        canvas.line(("CUDA", "head"))
        canvas.paragraph(report.cuda.text, indent=2)
    if not asked:
        return
    groups = _gpu_groups(report)
    card = next((image.gpu for group in groups for image in group if image.gpu is not None), None)
    canvas.blank()
    if not groups:
        canvas.line(("GPU code", "head"), "  none of the DLLs has any")
    elif card is None:
        _listed(canvas, report, groups)
    else:
        _fitted(canvas, card, groups)


def _listed(canvas: Canvas, report: ScanReport, groups: list[list[ScannedImage]]) -> None:
    canvas.line(
        ("GPU code", "head"), ("  SASS is machine code, PTX is compiled by the driver; 86 stands for sm_86", "dim")
    )
    canvas.table([[(_group_label(group), "name"), spell_archs(group[0].archs or ())] for group in groups], indent=2)
    if len(groups) > 1:
        canvas.paragraph(spell_archs(report.archs or ()), indent=2, lead=("all together: ", "dim"))


def _fitted(canvas: Canvas, card: GpuFit, groups: list[list[ScannedImage]]) -> None:
    """Say for each DLL whether its code runs on the card, best first."""
    asked_as = "" if card.card == card.arch else f" ({card.card})"
    canvas.line((f"GPU code for {card.arch}{asked_as}", "head"))
    width = max(len(word) for word, _ in FITS.values()) + 2
    for fit in FITS:
        for group in groups:
            if group[0].gpu is not None and group[0].gpu.fit == fit:
                word, style = _word(group[0], card.arch)
                canvas.paragraph((", ".join(_base_names(group)), "name"), indent=2, lead=(word.ljust(width), style))
                canvas.paragraph((spell_archs(group[0].archs or ()), "dim"), indent=2 + width)


def _word(image: ScannedImage, card: str) -> tuple[str, str]:
    """Return how the code of a DLL fits a card, in a word, and the style for it."""
    assert image.gpu is not None
    vendor = vendor_of(card)
    if all(vendor_of(arch) != vendor for arch in image.archs or ()):
        return f"not {vendor}", "dim"
    if vendor != NVIDIA and image.gpu.fit in _OTHER_FITS:
        return _OTHER_FITS[image.gpu.fit]
    return FITS[image.gpu.fit]


def spell_archs(archs: tuple[str, ...]) -> str:
    """Return ``SASS 50 86, PTX 86`` for ``sm_50``, ``sm_86`` and ``ptx_86``; ``AMD gfx1100``, ``Intel pvc, SPIR-V``."""
    parts = []
    for word, prefix in (("SASS", "sm_"), ("PTX", "ptx_"), ("Intel", "intel_")):
        numbers = [arch.removeprefix(prefix) for arch in archs if arch.startswith(prefix)]
        if numbers:
            parts.append(f"{word} {' '.join(numbers)}")
    amd = [arch for arch in archs if arch.startswith("gfx")]
    parts += [f"AMD {' '.join(amd)}"] if amd else []
    parts += ["SPIR-V for Intel"] if "spir64" in archs else []
    parts += ["SPIR-V for AMD"] if "amdgcnspirv" in archs else []
    return ", ".join(parts)


def _gpu_groups(report: ScanReport) -> list[list[ScannedImage]]:
    """Return the images with GPU code, those of one family with the same code together."""
    groups: dict[tuple[object, ...], list[ScannedImage]] = {}
    for image in report.images:
        if image.archs:
            member = family_of(posixpath.basename(image.path))
            family = member.family.title if member else ""
            fit = image.gpu.fit if image.gpu is not None else ""
            groups.setdefault((family, image.archs, fit), []).append(image)
    return list(groups.values())


def _base_names(group: list[ScannedImage]) -> list[str]:
    return [posixpath.basename(image.path) for image in group]


def _group_label(group: list[ScannedImage]) -> str:
    """Return the name of a single DLL, the family of several, or one of them and how many more there are."""
    names = _base_names(group)
    if len(names) == 1:
        return names[0]
    member = family_of(names[0])
    return f"{member.family.title}, {len(names)} DLLs" if member else f"{names[0]} and {len(names) - 1} more"


# --------------------------------------------------- for --verbose: which Python and NumPy, who signed, who loads what


_PYTHON = re.compile(r"python3\d*t?\.dll")


def draw_abi(canvas: Canvas, report: ScanReport) -> None:
    """Print one line for modules that are alike; nothing for a wheel without extension modules."""
    groups: dict[str, list[ScannedImage]] = {}
    for image in report.images:
        if image.path.lower().endswith(".pyd") and isinstance(image.facts, Image):
            built_for = [*_pythons(image.facts), *_numpy(image)]
            if built_for:
                groups.setdefault(", ".join(built_for), []).append(image)
    if not groups:
        return
    canvas.blank()
    canvas.line(("Built for", "head"))
    rows: list[list[Span]] = [[(what, "name"), _first_name(images)] for what, images in groups.items()]
    canvas.table(rows, indent=2)


def _pythons(image: Image) -> list[str]:
    return sorted({item.dll.lower() for item in image.imports if _PYTHON.fullmatch(item.dll.lower())})


def _numpy(image: ScannedImage) -> list[str]:
    if image.numpy is None:
        return []
    return [f"NumPy {image.numpy.oldest} or later" if image.numpy.oldest else f"NumPy {image.numpy.headers}"]


def _first_name(images: list[ScannedImage]) -> str:
    first = posixpath.basename(images[0].path)
    return first if len(images) == 1 else f"{first} and {len(images) - 1} more"


_SIGNATURE_STYLES = {
    "trusted": "good",
    "untrusted-root": "warn",
    "invalid": "bad",
    "not-checked": "warn",
    "unsigned": "dim",
}
"""The answers in the order in which they are listed, with their styles."""


def draw_signers(canvas: Canvas, report: ScanReport) -> None:
    """List every image under the answer about its signature and the signer's name; nothing if none was checked."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for image in report.images:
        if image.signature is not None:
            found = image.signature
            groups.setdefault((found.status, found.signer, found.reason), []).append(short_path(image.path))
    if not groups:
        return
    canvas.blank()
    canvas.line(("Signatures", "head"))
    order = list(_SIGNATURE_STYLES)
    for status, signer, why in sorted(groups, key=lambda key: (order.index(key[0]), key[1].casefold(), key[2])):
        paths = groups[status, signer, why]
        name = (f"  {signer}", "name") if signer else ""
        canvas.line((status, _SIGNATURE_STYLES[status]), name, (f"  {count(len(paths), 'file')}", "dim"), indent=2)
        if why:
            canvas.paragraph(why, indent=4)
        canvas.paragraph(", ".join(paths), indent=4)


MOST = 20_000
"""Lines that are drawn. A wheel of 500 DLLs has a few thousand; a longer tree is of no use."""
DEEPEST = 40
"""Levels that a tree grows to the right; what is deeper begins a tree of its own further down."""


def draw_tree(canvas: Canvas, report: ScanReport) -> None:
    """Draw the loads that the package performs, each file's needs once; then the files that nothing loads."""
    lines = _lines(report)
    for spans in itertools.islice(lines, MOST):
        canvas.line(*spans)
    if next(lines, None) is not None:
        note = f"The tree ends here, after {MOST} lines; --format json has all {len(report.resolution.edges)} edges."
        canvas.line((note, "warn"), indent=2)


def _lines(report: ScanReport) -> Iterator[list[Span]]:
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
        code = codes.get(path, 0)
        fate: Span = (f"  fails with {code}", "bad") if code else ""
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
    pending = [(item, "  ", last) for item, last in _rows(needs.get(root, []))]
    pending.reverse()
    while pending:
        (spans, target), prefix, last = pending.pop()
        seen: Span = ""
        children: list[tuple[tuple[list[Span], str | None], str, bool]] = []
        if target is not None and target in needs:
            if target in drawn:
                seen = ("  (above)", "dim")
            elif len(prefix) > 3 * DEEPEST:
                seen = ("  (below)", "dim")
                deeper.append(target)
            else:
                drawn.add(target)
                below = prefix + ("   " if last else "│  ")
                children = [(item, below, final) for item, final in _rows(needs[target])]
        yield [(prefix + ("└─ " if last else "├─ "), "dim"), *spans, seen]
        pending += reversed(children)


def _rows(edges: list[Edge]) -> list[tuple[tuple[list[Span], str | None], bool]]:
    """Return one row per edge that matters, and one for each provider outside the wheel."""
    rows: list[tuple[list[Span], str | None]] = []
    outside: dict[str, list[str]] = {}
    for edge in edges:
        phrase = provider_phrase(edge.provider)
        if isinstance(edge.provider, InView):
            same = posixpath.basename(edge.provider.path) == edge.name
            where = phrase if not same else posixpath.dirname(phrase)
            unexported: Span = (
                (f"  does not export {', '.join(map(str, edge.unexported[:3]))}", "bad") if edge.unexported else ""
            )
            rows.append(
                ([edge.name, (_how(edge), "note"), (f" → {where or '.'}", "dim"), unexported], edge.provider.path)
            )
        elif isinstance(edge.provider, Missing):
            style = "bad" if edge.required else "warn"
            rows.append(([(edge.name, style), (_how(edge), "note"), (f" → {phrase}", style)], None))
        else:
            outside.setdefault(phrase, []).append(edge.name + _how(edge))
    rows += [([(f"{phrase}: ", "dim"), (", ".join(names), "dim")], None) for phrase, names in outside.items()]
    return [(row, number == len(rows) - 1) for number, row in enumerate(rows)]


def _how(edge: Edge) -> str:
    if edge.kind is EdgeKind.IMPORT:
        return ""
    return f" ({edge.kind}{'' if edge.required else ', optional'})"


# ----------------------------------------------------------------------------------- the end of a run over many inputs


def render_summary(
    reports: Sequence[ScanReport], failures: Sequence[FailedInput], look: TextStyle, context: Context = DEFAULT
) -> str:
    """Return a table of the inputs that are not clean, the totals, and how often each rule was broken."""
    canvas = Canvas(look)
    of_reports, alone = split_failures(reports, failures)
    rows: list[list[Span]] = [
        [
            (report.verdict.value.upper(), VERDICT_STYLES[report.verdict]),
            severity_phrase(report.findings),
            (label(report) + (f" ({of_reports[report.path].words})" if report.path in of_reports else ""), "path"),
        ]
        for report in reports
        if report.verdict is not Verdict.OK or report.path in of_reports
    ]
    rows += [[("FAILED", "bad"), failure.words, (failure.path, "path")] for failure in alone]
    rows += [[("SKIPPED", "dim"), "not for Windows", (path, "path")] for path in context.skipped]
    figures = totals(reports, failures, context)
    canvas.line(("Summary", "head"))
    canvas.table(rows, indent=2)
    draw_target_table(canvas, reports)
    if figures.rules:
        _draw_rules(canvas, figures.rules)
    canvas.line(str(figures))
    return canvas.text()


def render_statistics(reports: Sequence[ScanReport], context: Context, look: TextStyle) -> str:
    """Return how often each rule was broken; known findings are left out."""
    canvas = Canvas(look)
    rules = totals(reports, (), context).rules
    _draw_rules(canvas, rules)
    canvas.line(f"{count(sum(row.findings for row in rules), 'finding')} of {count(len(rules), 'rule')}")
    return canvas.text()


def _draw_rules(canvas: Canvas, rules: Sequence[RuleTotal]) -> None:
    canvas.line(("Findings by rule", "head"))
    canvas.table([[str(row.findings), row.code, row.severity.value, row.name] for row in rules], indent=2)

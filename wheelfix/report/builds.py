"""What changed between two builds of a wheel: DLLs lost, new, moved, replaced or grown, new and fixed findings.

Works on reports and on saved ``wheelfix.scan/1`` documents alike, so that the last good wheel need not be kept.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.base.parsing import parse_json
from wheelfix.base.values import dataclass, replace
from wheelfix.errors import InputError
from wheelfix.exam.scan import scan
from wheelfix.model import ScanReport, Severity, Verdict, canonical, fold
from wheelfix.report.canvas import SEVERITY_STYLES, VERDICT_STYLES, Canvas
from wheelfix.report.json_ import SCAN_SCHEMA, dump, pick, scan_value, tool
from wheelfix.report.safe import markdown as escape
from wheelfix.report.safe import markdown_code as code
from wheelfix.report.safe import without_commands
from wheelfix.report.words import about, count, human_change, human_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from wheelfix.model import Json
    from wheelfix.report.canvas import TextStyle


@dataclass(frozen=True, slots=True)
class File:
    """A DLL of one build."""

    path: str
    size: int
    version: str = ""
    machine: str = ""

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return posixpath.basename(self.path)


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding of one build, as far as it can be known again in the other."""

    code: str
    name: str
    severity: Severity
    subject: str
    message: str

    @property
    def key(self) -> tuple[str, str]:
        """What makes two findings the same."""
        return self.code, steady(self.subject)


@dataclass(frozen=True, slots=True)
class Build:
    """What is compared of one wheel."""

    path: str
    name: str
    version: str
    verdict: str
    files: tuple[File, ...]
    problems: tuple[Problem, ...]
    missing: dict[str, tuple[str, ...]]
    """DLLs without a provider, by folded name, with those who need them."""

    @property
    def size(self) -> int:
        """The size of all DLLs together, unpacked."""
        return sum(file.size for file in self.files)

    @classmethod
    def from_report(cls, report: ScanReport) -> Build:
        """Return what is compared of a report."""
        return cls.from_value(scan_value(report))

    @classmethod
    def from_value(cls, wheel: dict[str, Any]) -> Build:
        """Return what is compared of a wheel in a scan document."""
        return cls(
            str(wheel["path"]),
            str(wheel["name"]),
            str(wheel["version"]),
            Verdict(wheel["verdict"]).value,
            tuple(
                File(str(image["path"]), _size(image["size"]), str(image.get("version", "")), str(image["machine"]))
                for image in wheel["images"]
            ),
            tuple(
                Problem(
                    str(item["code"]),
                    str(item["name"]),
                    Severity(item["severity"]),
                    str(item["subject"]),
                    str(item["message"]),
                )
                for item in wheel["findings"]
            ),
            {fold(str(item["name"])): tuple(map(str, item["needed_by"])) for item in wheel["missing"]},
        )


def _size(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError(f"the size {value!r}"[:80])


def read_document(text: str, path: str) -> list[Build]:
    """Return the builds of a saved scan; InputError when it is none."""
    try:
        document = parse_json(text)
    except ValueError as error:
        raise InputError(f"{path} is not a saved scan", because=str(error)) from error
    if not isinstance(document, dict) or document.get("schema") != SCAN_SCHEMA:
        raise InputError(f"{path} is not a saved scan", because=f"its schema is not {SCAN_SCHEMA}")
    try:
        return [Build.from_value(wheel) for wheel in document["wheels"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is not a saved scan", because=f"a wheel has no valid {error}") from error


@dataclass(frozen=True, slots=True)
class FilePair:
    """One DLL in both builds, with another path, size, version or machine."""

    old: File
    new: File

    @property
    def how(self) -> str:
        """``changed`` in place, ``moved`` to another folder, or ``replaced`` by one of another name."""
        if steady(self.old.path) == steady(self.new.path):
            return "changed"
        return "moved" if fold(self.old.name) == fold(self.new.name) else "replaced"


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that changed between two builds."""

    old: Build
    new: Build
    lost: tuple[File, ...]
    appeared: tuple[File, ...]
    pairs: tuple[FilePair, ...]
    """Changed, moved and replaced DLLs."""
    arisen: tuple[Problem, ...]
    """Findings that only the new build has, or that got worse."""
    cured: tuple[Problem, ...]

    def still_needed(self, file: File) -> tuple[str, ...]:
        """Return who needs a lost DLL in the new build and does not get it."""
        return self.new.missing.get(fold(file.name), ())

    @property
    def other_project(self) -> bool:
        """Whether the builds are of different projects, as far as their names are known."""
        return bool(self.old.name and self.new.name) and canonical(self.old.name) != canonical(self.new.name)

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not (self.lost or self.appeared or self.pairs or self.arisen or self.cured)


def compare(old: Build, new: Build) -> Difference:
    """Return what changed from one build to the next."""
    before = {steady(file.path): file for file in old.files}
    after = {steady(file.path): file for file in new.files}
    pairs = [FilePair(before[key], after[key]) for key in before if key in after and _differs(before[key], after[key])]
    gone = [file for key, file in before.items() if key not in after]
    fresh = [file for key, file in after.items() if key not in before]
    for alike in (_name_key, _family_key):
        found = _match(gone, fresh, alike)
        pairs += found
        matched = {id(file) for pair in found for file in (pair.old, pair.new)}
        gone = [file for file in gone if id(file) not in matched]
        fresh = [file for file in fresh if id(file) not in matched]
    arisen, cured = _problems(old, new)
    return Difference(
        old,
        new,
        tuple(sorted(gone, key=lambda file: file.path)),
        tuple(sorted(fresh, key=lambda file: file.path)),
        tuple(sorted(pairs, key=lambda pair: pair.old.path)),
        arisen,
        cured,
    )


def steady(path: str) -> str:
    """Return a path without what differs from release to release: the version of dist-info and data folders, the
    Python in a module's name, the hash that delvewheel puts into a DLL's.
    """
    path = fold(path.replace("\\", "/"))
    path = re.sub(r"(^|/)([a-z0-9_.]+)-[^/]+\.(dist-info|data)(/|$)", r"\1\2.\3\4", path)
    path = re.sub(r"\.(cp|pp)\d[a-z0-9_]*-[^/.]+\.pyd$", ".pyd", path)
    return re.sub(r"-[0-9a-f]{32}(\.dll)$", r"\1", path)


def _differs(old: File, new: File) -> bool:
    versions = bool(old.version and new.version and old.version != new.version)
    return old.size != new.size or versions or old.machine != new.machine


def _name_key(file: File) -> str:
    return posixpath.basename(steady(file.path))


def _family_key(file: File) -> str:
    """``cupti64_2022.2.0.dll`` and ``cupti64_2022.3.0.dll`` are one DLL of two releases."""
    return posixpath.dirname(steady(file.path)) + "/" + re.sub(r"[\d._-]+", "#", _name_key(file))


def _match(gone: Sequence[File], fresh: Sequence[File], alike: Any) -> list[FilePair]:
    """Return lost and new files that are one, where there is no doubt which."""
    left: dict[str, list[File]] = {}
    right: dict[str, list[File]] = {}
    for file in gone:
        left.setdefault(alike(file), []).append(file)
    for file in fresh:
        right.setdefault(alike(file), []).append(file)
    return [
        FilePair(files[0], right[key][0]) for key, files in left.items() if len(files) == len(right.get(key, ())) == 1
    ]


def _problems(old: Build, new: Build) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    rank = list(Severity)
    before: dict[tuple[str, str], Problem] = {}
    for problem in old.problems:
        before.setdefault(problem.key, problem)
    after = {problem.key for problem in new.problems}
    arisen = [
        problem
        for problem in new.problems
        if problem.key not in before or rank.index(problem.severity) < rank.index(before[problem.key].severity)
    ]
    cured = [problem for problem in old.problems if problem.key not in after]
    return tuple(arisen), tuple(cured)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sets of wheels, those of one distribution compared with each other."""

    differences: tuple[Difference, ...]
    only_old: tuple[Build, ...] = ()
    only_new: tuple[Build, ...] = ()
    unread: tuple[str, ...] = ()
    """Wheels that could not be read, and the counterparts of such: nothing is known about what changed there."""


def diff(old: str | Path | ScanReport, new: str | Path | ScanReport) -> Difference:
    """Return what changed from one wheel to the next; each is a path, a name such as ``torch==2.7.0``, or a report."""
    options = ScanOptions(versions=True, roots=RootOptions(discover=False))
    before, after = (one if isinstance(one, ScanReport) else scan(one, options) for one in (old, new))
    return compare(Build.from_report(before), Build.from_report(after))


def compare_all(old: Iterable[Build], new: Iterable[Build], unread: Iterable[str] = ()) -> Comparison:
    """Compare wheels pairwise; a single wheel on each side is a pair whatever the names.

    What was to be compared with an ``unread`` wheel, given by its path, is neither lost nor new.
    """
    before, after, unknown = list(old), list(new), tuple(dict.fromkeys(unread))
    if unknown:
        names = {canonical(_file_name(path).partition("-")[0]) for path in unknown}
        alone = [build.path for build in (*before, *after) if canonical(build.name) in names]
        before, after = (
            [build for build in builds if canonical(build.name) not in names] for builds in (before, after)
        )
        return replace(_compare_by_name(before, after), unread=(*unknown, *alone))
    if len(before) == len(after) == 1:
        return Comparison((compare(before[0], after[0]),))
    return _compare_by_name(before, after)


def _compare_by_name(before: Iterable[Build], after: Iterable[Build]) -> Comparison:
    left = _by_name(before)
    right = _by_name(after)
    return Comparison(
        tuple(compare(left[key], right[key]) for key in left if key in right),
        tuple(build for key, build in left.items() if key not in right),
        tuple(build for key, build in right.items() if key not in left),
    )


def _file_name(path: str) -> str:
    return posixpath.basename(path.replace("\\", "/"))


def _by_name(builds: Iterable[Build]) -> dict[tuple[str, str], Build]:
    """Return builds by distribution, and by the tags in the file name where there are several of one."""
    found: dict[tuple[str, str], Build] = {}
    for build in builds:
        tags = re.sub(r"^[^-]+-[^-]+-", "", _file_name(build.path))
        found.setdefault((canonical(build.name), tags), build)
    return found


DIFF_SCHEMA = "wheelfix.diff/1"


def render_json(comparison: Comparison) -> str:
    """Return the ``wheelfix.diff/1`` document."""
    document: dict[str, Json] = {
        "schema": DIFF_SCHEMA,
        "tool": tool(),
        "wheels": [_difference(difference) for difference in comparison.differences],
        "only_old": [pick(build, "path name version verdict size") for build in comparison.only_old],
        "only_new": [pick(build, "path name version verdict size") for build in comparison.only_new],
    }
    if comparison.unread:
        document["unread"] = list(comparison.unread)
    return dump(document)


def _difference(difference: Difference) -> dict[str, Json]:
    build, file = "path name version verdict size", "path size version machine"
    problem = "code name severity subject message"
    return {
        "old": pick(difference.old, build),
        "new": pick(difference.new, build),
        "lost": [pick(one, file) | {"still_needed_by": [*difference.still_needed(one)]} for one in difference.lost],
        "appeared": [pick(one, file) for one in difference.appeared],
        "changed": [
            {"how": pair.how, "old": pick(pair.old, file), "new": pick(pair.new, file)} for pair in difference.pairs
        ],
        "new_findings": [pick(one, problem) for one in difference.arisen],
        "cured_findings": [pick(one, problem) for one in difference.cured],
    }


def render_markdown(comparison: Comparison) -> str:
    """Return the comparison for a pull request or a job summary."""
    lines = ["## wheelfix diff"]
    for difference in comparison.differences:
        lines += ["", *_section(difference)]
    for title, builds in (("Only before", comparison.only_old), ("Only now", comparison.only_new)):
        if builds:
            lines += ["", f"{title}: {', '.join(code(build.path) for build in builds)}"]
    if comparison.unread:
        lines += ["", f"Not compared, because a wheel cannot be read: {', '.join(map(code, comparison.unread))}"]
    return without_commands("\n".join(lines) + "\n")


def _section(difference: Difference) -> list[str]:
    old, new = difference.old, difference.new
    lines = [f"### {escape(new.name)} {escape(old.version)} → {escape(new.version)}", ""]
    if difference.other_project:
        lines += [f"Different projects: {escape(old.name)} is compared with {escape(new.name)}.", ""]
    lines.append(f"{escape(old.verdict)} → **{escape(new.verdict)}**, DLLs {human_change(old.size, new.size)}")
    if difference.is_empty:
        return [*lines, "", "Nothing changed."]
    rows = [("❌ lost", code(file.path), _needed(difference, file)) for file in difference.lost]
    rows += [("new", code(file.path), human_size(file.size)) for file in difference.appeared]
    rows += [(escape(pair.how), code(pair.old.path), escape(pair_words(pair))) for pair in difference.pairs]
    if rows:
        lines += ["", "| | DLL | |", "| --- | --- | --- |", *(f"| {' | '.join(row)} |" for row in rows)]
    for title, problems in _findings(difference).items():
        lines += ["", f"{title}:", ""]
        lines += [
            f"- {escape(f'{problem.code} {problem.name}')} ({problem.severity}): "
            + escape(about(problem.subject, problem.message))
            for problem in problems
        ]
    return lines


def _findings(difference: Difference) -> dict[str, Sequence[Problem]]:
    found = {"New findings": difference.arisen, "Fixed findings": difference.cured}
    return {title: problems for title, problems in found.items() if problems}


def _needed(difference: Difference, file: File) -> str:
    needers = difference.still_needed(file)
    return f"still needed by {count(len(needers), 'file')}" if needers else ""


def pair_words(pair: FilePair) -> str:
    """Return in words what became of a DLL."""
    parts = []
    if pair.how != "changed":
        parts.append(f"now {pair.new.path}")
    if pair.old.version and pair.new.version and pair.old.version != pair.new.version:
        parts.append(f"{pair.old.version} → {pair.new.version}")
    if pair.old.machine != pair.new.machine:
        parts.append(f"{pair.old.machine} → {pair.new.machine}")
    if pair.old.size != pair.new.size:
        parts.append(human_change(pair.old.size, pair.new.size))
    return ", ".join(parts)


# ---------------------------------------------------------------------------------------------------------- for people


SHOWN = 30


def render_diff(comparison: Comparison, look: TextStyle, *, verbose: bool = False, quiet: bool = False) -> str:
    """Return what changed; ``quiet`` leaves one line per wheel, ``verbose`` lists every change."""
    canvas = Canvas(look)
    for number, difference in enumerate(comparison.differences):
        if number and not quiet:
            canvas.blank()
        _draw_difference(canvas, difference, verbose=verbose, quiet=quiet)
    for word, style, builds in (("LOST", "bad", comparison.only_old), ("NEW", "note", comparison.only_new)):
        for build in builds:
            canvas.line((word, style), f"  {build.path}")
    for path in comparison.unread:
        canvas.line(("NOT COMPARED", "bad"), f"  {path}")
    return canvas.text()


def _draw_difference(canvas: Canvas, difference: Difference, *, verbose: bool, quiet: bool) -> None:
    old, new = difference.old, difference.new
    numbers = f"{len(difference.lost)} lost, {len(difference.appeared)} new, {len(difference.pairs)} changed"
    versions = old.version if old.version == new.version else f"{old.version} → {new.version}"
    title = f"{new.name} {versions}"
    if difference.other_project:
        title = f"{old.name} {old.version} → {new.name} {new.version}"
    canvas.line((title.strip(), "name"), f": {numbers}")
    if difference.other_project:
        canvas.line(("different projects", "warn"), f": {old.name} is compared with {new.name}")
    if quiet:
        return
    before, after = ((build.verdict, VERDICT_STYLES[build.verdict]) for build in (old, new))
    canvas.line(before, " → ", after, f", DLLs {human_change(old.size, new.size)}")
    if difference.is_empty:
        canvas.line("Nothing changed.")
        return
    most = len(difference.pairs) + len(difference.appeared) if verbose else SHOWN
    if difference.lost:
        canvas.heading(f"Lost ({len(difference.lost)})")
    for file in difference.lost:
        needers = difference.still_needed(file)
        canvas.line((file.path, "bad"), (f"  {human_size(file.size)}", "dim"), indent=2)
        some = ", ".join(needers[:4]) + (" …" if len(needers) > 4 else "")
        canvas.labelled("still needed by ", some, indent=4, style="bad")
    _draw_section(canvas, "New", [(file.path, human_size(file.size)) for file in difference.appeared], most)
    for how in ("replaced", "moved", "changed"):
        rows = [(pair.old.path, pair_words(pair)) for pair in difference.pairs if pair.how == how]
        _draw_section(canvas, how.capitalize(), rows, most)
    for title, problems in _findings(difference).items():
        canvas.heading(f"{title} ({len(problems)})")
        for problem in problems:
            style = SEVERITY_STYLES[problem.severity.value]
            canvas.labelled(f"{problem.code} ", about(problem.subject, problem.message), indent=2, style=style)


def _draw_section(canvas: Canvas, title: str, rows: Sequence[tuple[str, str]], most: int) -> None:
    if not rows:
        return
    canvas.heading(f"{title} ({len(rows)})")
    for path, words in rows[:most]:
        canvas.line(path, indent=2)
        canvas.paragraph((words, "dim"), indent=4)
    if len(rows) > most:
        canvas.line((f"… and {len(rows) - most} more (-v shows all)", "dim"), indent=2)

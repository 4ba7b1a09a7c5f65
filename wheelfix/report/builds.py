"""What changed between two builds of a wheel: DLLs lost, new, moved, replaced or grown, new and fixed findings.

Works on reports and on saved ``wheelfix.scan/1`` documents alike, so that the last good wheel need not be kept.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.base.parsing import parse_json, with_schema
from wheelfix.base.values import distinct, from_tree, frozen, grouped, replace
from wheelfix.errors import InputError
from wheelfix.exam.scan import scan
from wheelfix.model import ScanReport, Severity, Verdict, canonical, fold
from wheelfix.report.blocks import Block, Bullets, Fields, Part, Record, chapter, line, para, recorded
from wheelfix.report.document import count, human_change, human_size, sentence
from wheelfix.report.json_ import scan_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path


@frozen
class File:
    """A DLL of one build."""

    path: str
    size: int
    version: str = ""
    machine: str = ""
    needed_by: tuple[str, ...] = ()
    """Of a lost one: who needs it in the new build and does not get it."""

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return posixpath.basename(self.path)


@frozen
class Problem:
    """What is compared of a finding."""

    code: str
    name: str
    severity: Severity
    subject: str
    message: str


@frozen
class Need:
    """A DLL without a provider, with those that need it."""

    name: str
    needed_by: tuple[str, ...]


@frozen
class Build:
    """What is compared of one wheel, named as in a ``wheelfix.scan/1`` document."""

    path: str
    name: str
    version: str
    verdict: Verdict
    images: tuple[File, ...]
    findings: tuple[Problem, ...]
    missing: tuple[Need, ...]

    @property
    def size(self) -> int:
        """The size of all DLLs together, unpacked."""
        return sum(file.size for file in self.images)

    @classmethod
    def from_report(cls, report: ScanReport) -> Build:
        """Return what is compared of a report."""
        return from_tree(cls, scan_value(report), others=True)


def read_document(text: str, path: str) -> list[Build]:
    """Return the builds of a saved scan; InputError when it is none."""
    what = f"{path} is not a saved scan"
    try:
        found = with_schema(parse_json(text), "wheelfix.scan/1", what)
        return [*from_tree(tuple[Build, ...], found.get("wheels"), "wheels", others=True)]
    except ValueError as error:
        raise InputError(what, because=error) from error


@frozen
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


@frozen
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

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not (self.lost or self.appeared or self.pairs or self.arisen or self.cured)


def compare(old: Build, new: Build) -> Difference:
    """Return what changed from one build to the next."""
    before = {steady(file.path): file for file in old.images}
    after = {steady(file.path): file for file in new.images}
    pairs = [FilePair(before[key], after[key]) for key in before if key in after and _differs(before[key], after[key])]
    gone = [file for key, file in before.items() if key not in after]
    fresh = [file for key, file in after.items() if key not in before]
    for alike in (_name_key, _family_key):
        found = _match(gone, fresh, alike)
        pairs += found
        matched = {id(file) for pair in found for file in (pair.old, pair.new)}
        gone = [file for file in gone if id(file) not in matched]
        fresh = [file for file in fresh if id(file) not in matched]
    needed_by = {fold(one.name): one.needed_by for one in new.missing}
    lost = [replace(file, needed_by=needed_by.get(fold(file.name), ())) for file in gone]
    arisen, cured = _problems(old, new)
    return Difference(
        old,
        new,
        tuple(sorted(lost, key=lambda file: file.path)),
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
    left, right = (grouped((alike(file), file) for file in files) for files in (gone, fresh))
    return [
        FilePair(files[0], right[key][0]) for key, files in left.items() if len(files) == len(right.get(key, ())) == 1
    ]


def _problems(old: Build, new: Build) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return the findings that are new or worse, and those that are gone; the same ones have a code and a subject."""
    rank = list(Severity)
    before, after = (grouped(((one.code, steady(one.subject)), one) for one in build.findings) for build in (old, new))
    arisen = [
        one
        for key, found in after.items()
        for one in found
        if key not in before or rank.index(one.severity) < rank.index(before[key][0].severity)
    ]
    cured = [one for key, found in before.items() if key not in after for one in found]
    return tuple(arisen), tuple(cured)


@frozen
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
    before, after, unknown = list(old), list(new), distinct(unread)
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


# ---------------------------------------------------------------------------------------------------------- for people


SHOWN = 30


def comparison_blocks(comparison: Comparison, *, quiet: bool = False) -> list[Block]:
    """Return what changed; ``quiet`` leaves one line per wheel."""
    blocks: list[Block] = []
    for difference in comparison.differences:
        blocks += [para()] if blocks and not quiet else []
        blocks.append(_difference_part(difference, quiet=quiet))
    for word, style, paths in (
        ("LOST", "bad", [build.path for build in comparison.only_old]),
        ("NEW", "note", [build.path for build in comparison.only_new]),
        ("NOT COMPARED", "bad", comparison.unread),
    ):
        blocks += [line((word, style), "  ", (path, "path")) for path in paths]
    return blocks


def comparison_answer(comparison: Comparison) -> str:
    """Return what a reader in a hurry wants to know."""
    lost = sum(len(difference.lost) for difference in comparison.differences)
    arisen = sum(len(difference.arisen) for difference in comparison.differences)
    found = {"wheel": len(comparison.only_old), "DLL": lost}
    parts = [f"{count(number, what)} lost" for what, number in found.items() if number]
    parts += [count(arisen, "new finding")] if arisen else []
    if parts:
        return ", ".join(parts)
    changed = any(not difference.is_empty for difference in comparison.differences)
    return "Nothing was lost, and there are no new findings" if changed else "Nothing changed"


def _difference_part(difference: Difference, *, quiet: bool) -> Part:
    old, new = difference.old, difference.new
    numbers = f"{len(difference.lost)} lost, {len(difference.appeared)} new, {len(difference.pairs)} changed"
    versions = old.version if old.version == new.version else f"{old.version} → {new.version}"
    title = f"{new.name} {versions}".strip()
    blocks: list[Block] = []
    if old.name and new.name and canonical(old.name) != canonical(new.name):
        title = f"{old.name} {old.version} → {new.name} {new.version}"
        blocks.append(line(("different projects", "warn"), f": {old.name} is compared with {new.name}"))
    if not quiet:
        change = f", DLLs {human_change(old.size, new.size)}"
        blocks.append(line((old.verdict, old.verdict), " → ", (new.verdict, new.verdict), change))
        blocks += [line("Nothing changed.")] if difference.is_empty else _changes(difference)
    return Part(((title, "name"), f": {numbers}"), blocks, 1)


def _changes(difference: Difference) -> Iterator[Block]:
    lost = []
    for file in difference.lost:
        fields: Fields = [("still needed by", [*file.needed_by])] if file.needed_by else []
        lost.append(Record(((file.path, "bad"), (f"  {human_size(file.size)}", "dim")), fields))
    yield from recorded("Lost", lost, "DLL")
    yield from _listed("New", [(file.path, human_size(file.size)) for file in difference.appeared])
    for how in ("replaced", "moved", "changed"):
        yield from _listed(how, [(pair.old.path, pair_words(pair)) for pair in difference.pairs if pair.how == how])
    for title, problems in (("New findings", difference.arisen), ("Fixed findings", difference.cured)):
        items = tuple((((one.code, one.severity.value), f" {sentence(one)}"), "") for one in problems)
        yield from [chapter(f"{title} ({len(items)})", Bullets(items, len(items)))] if items else []


def _listed(title: str, rows: Sequence[tuple[str, str]]) -> list[Part]:
    records = [Record(((path, "path"),), (("", (words, "dim")),)) for path, words in rows]
    return recorded(title.capitalize(), records, "DLL", SHOWN)


def pair_words(pair: FilePair) -> str:
    """Return in words what became of a DLL."""
    old, new = pair.old, pair.new
    parts = [f"now {new.path}"] if pair.how != "changed" else []
    parts += [f"{old.version} → {new.version}"] if old.version and new.version and old.version != new.version else []
    parts += [f"{old.machine} → {new.machine}"] if old.machine != new.machine else []
    parts += [human_change(old.size, new.size)] if old.size != new.size else []
    return ", ".join(parts)

"""Which of the DLLs that a plan adds get names of their own, in ``<distribution>.libs``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, replace
from wheelfix.errors import UsageError
from wheelfix.knowledge.families import family_of
from wheelfix.loader.codenames import names_in_code
from wheelfix.loader.loadcall import split_forwarder
from wheelfix.loader.view import SITE_PACKAGES, base_name
from wheelfix.model import Image, InView, Missing, dll_key
from wheelfix.plan.processed import processed_by
from wheelfix.pycode.pythonsource import python_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.base.options import Renaming
    from wheelfix.exam.examination import Examination
    from wheelfix.loader.codenames import CodeNames
    from wheelfix.loader.view import FileView
    from wheelfix.model import Resolution
    from wheelfix.plan.chosen import Chosen
    from wheelfix.plan.planner import Planner


@dataclass(frozen=True, slots=True)
class Layout:
    """The additions that are renamed, and what the user should know about it."""

    renamed: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def choose_layout(planner: Planner, chosen: tuple[Chosen, ...]) -> Layout:
    """Return the additions that go to ``<distribution>.libs``; UsageError if an option for it makes no sense."""
    layout, renaming = _choose(planner, chosen), planner.options.renaming
    if not layout.renamed and renaming.asked:
        note = f"{', '.join(renaming.asked)}: not used, because no DLL goes to a folder for renamed DLLs"
        return replace(layout, notes=(*layout.notes, note))
    if layout.renamed:
        _check_places(planner.view, renaming)
    return layout


def _check_places(view: FileView, renaming: Renaming) -> None:
    """UsageError if the wheel has no place for the code that finds the DLLs, where the options say it should be."""
    for package in renaming.namespace_pkgs:
        folder = f"{SITE_PACKAGES}/{package.replace('.', '/')}/"
        if not any(file.path.startswith(folder) for file in view.files):
            raise UsageError(f"--namespace-pkg {package}", because="the wheel has no such package")
    if renaming.custom_patch and not any(True for _ in python_code(view, (b"# delvewheel: patch",))):
        raise UsageError(
            "--custom-patch",
            because="no Python file of the wheel has the comment '# delvewheel: patch'",
            hint="put that line where the package should look for its DLLs",
        )


def _choose(planner: Planner, chosen: tuple[Chosen, ...]) -> Layout:
    """Choose the additions for the folder.

    Two packages with an unmangled ``zlib1.dll`` collide, so DLLs of no known family are renamed in ordinary extension
    packages. Vendors' families break when renamed, and a package with a DLL folder of its own needs no help.
    """
    subject, layout = planner.before.subject, planner.options.layout
    if layout == "libs" and subject.loading is not None and subject.startup is not None:
        lib = subject.startup.lib.removeprefix(f"{SITE_PACKAGES}/")
        because = f"{subject.loading.package} loads {lib} by itself, and only there"
        raise UsageError("--layout libs", because=because, hint="leave --layout out")
    if planner.before.facts.info is None:  # an installed distribution: its __init__.py is not patched
        return Layout()
    if layout == "beside" or subject.startup is not None or planner.options.dest is not None:
        return Layout()
    if layout == "auto" and (subject.resolution.search_dirs or not _has_extensions(subject.resolution)):
        return Layout()
    # What RECORD lists goes back to where it was, under its own name.
    candidates = [entry for entry in chosen if entry.file is not None and entry.path not in planner.restorable]
    if candidates and (version := processed_by(planner.before)):
        note = f"delvewheel {version} has processed this wheel, which it does only once: the new DLLs keep their names"
        return Layout(notes=(note,) if layout == "libs" else ())
    ties = _Ties.read(planner.view, candidates) if candidates else None
    fixed = {entry.path: reason for entry in candidates if ties and (reason := ties.hold(entry))}
    notes = [f"{base_name(path)} keeps its name: {reason}" for path, reason in fixed.items() if layout == "libs"]
    return Layout(frozenset(entry.path for entry in candidates if entry.path not in fixed), tuple(notes))


def one_of_each(chosen: tuple[Chosen, ...], layout: Layout) -> tuple[Chosen, ...]:
    """Return the additions without further copies of what is renamed: ``<distribution>.libs`` serves all folders."""
    kept: dict[str, Chosen] = {}
    for entry in chosen:
        name = dll_key(base_name(entry.path)) if entry.path in layout.renamed else entry.path
        first = kept.get(name)
        serves = tuple(dict.fromkeys([*first.serves, *entry.serves])) if first else ()
        kept[name] = replace(first, serves=serves) if first else entry
    return tuple(kept.values())


def _has_extensions(resolution: Resolution) -> bool:
    return any(outcome.event.cause == "extension" for outcome in resolution.outcomes)


@dataclass(frozen=True, slots=True)
class _Ties:
    """Why DLLs may have to keep their names."""

    code: CodeNames
    forwarded: frozenset[str]
    """DLLs to which images forward exports."""
    importers: Mapping[str, list[str]]
    """The images that import a DLL."""
    several: frozenset[str]
    """Names under which different files are added."""

    @classmethod
    def read(cls, view: FileView, candidates: list[Chosen]) -> _Ties:
        importers: dict[str, list[str]] = {}
        forwarded: set[str] = set()
        for path, image in view.images().items():
            if isinstance(image, Image):
                for need in (*image.imports, *image.delay_imports):
                    importers.setdefault(dll_key(need.dll), []).append(path)
                forwarded.update(dll_key(split_forwarder(to)[0]) for to in image.exports.forwarders.values())
        files = {(dll_key(base_name(entry.path)), entry.file) for entry in candidates}
        counted = Counter(name for name, _ in files)
        several = frozenset(name for name, number in counted.items() if number > 1)
        return cls(names_in_code(view), frozenset(forwarded), importers, several)

    def hold(self, entry: Chosen) -> str:
        """Return why a DLL cannot be renamed, or nothing if it can."""
        name = base_name(entry.path)
        key = dll_key(name)
        member = family_of(name)
        if member is not None and not member.family.rename:
            return f"{member.family.title} loads its parts by name"
        if entry.kind not in ("import", "delay"):
            return "no import table names it"
        others = [path for path in self.importers.get(key, ()) if not path.lower().endswith((".pyd", ".dll"))]
        if others:
            return f"{base_name(others[0])} imports it, and delvewheel changes only .pyd and .dll files"
        if key in self.forwarded:
            return "another DLL forwards exports to it by name"
        if self.code.mentions(name):
            return "the package's Python code names it"
        return "different files of this name are needed" if key in self.several else ""


def left_to_others(after: Examination) -> tuple[str, ...]:
    """The DLLs of Windows, Python, drivers and owners, and what may be missing; as they compare and as spelled."""
    found: dict[str, None] = {}
    for edge in after.report.resolution.edges:
        if not isinstance(edge.provider, InView):
            found[dll_key(edge.name)] = None
            if isinstance(edge.provider, Missing):
                found[edge.name] = None
    return tuple(sorted(found))

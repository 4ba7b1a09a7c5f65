"""WF307, WF318 to WF320, WF329, WF330: DLLs that other distributions provide or may, and absent distributions."""

from __future__ import annotations

from wheelfix.base.values import grouped
from wheelfix.knowledge.companions import program_of
from wheelfix.loader.requirements import fits, unmet_requirements
from wheelfix.model import EdgeKind, MayComeFrom, OwnedBy, Severity, canonical
from wheelfix.rules.context import Subject, folder, inside
from wheelfix.rules.dependencies import evidence_of, needs, toolkit_searched
from wheelfix.rules.hints import install
from wheelfix.rules.registry import Findings, finding, rule
from wheelfix.rules.wording import dotted, listing

_SHOWN = 6


@rule("WF307")
def owner_not_reachable(subject: Subject) -> Findings:
    """Find DLLs that a required distribution has and the loader will not find."""
    for need in needs(
        subject,
        (
            edge
            for edge in subject.edges
            if edge.required and isinstance(edge.provider, OwnedBy) and not edge.provider.reachable
        ),
    ):
        owner = need.first.provider
        assert isinstance(owner, OwnedBy)
        hard = any(edge.is_import and subject.reached(edge.importer) for edge in need.edges)
        yield finding(
            "WF307",
            need.name,
            f"{need.name}, needed by {listing(need.importer_names)}, is in {owner.distribution}, but out of reach: "
            f"{owner.because}",
            hint=(
                f"import {owner.distribution} first if it adds its own folder, or call os.add_dll_directory with the "
                f"folder of {need.name} before the import"
            ),
            evidence={**evidence_of(subject, need), "distribution": owner.distribution, "because": owner.because},
            severity=Severity.ERROR if hard else Severity.WARNING if need.reached else Severity.INFO,
        )


@rule("WF318")
def unknown_provider(subject: Subject) -> Findings:
    """Find imports that only a distribution whose contents are not known can answer."""
    edges = [edge for edge in subject.edges if isinstance(edge.provider, MayComeFrom) and edge.required]
    for need in needs(subject, edges):
        provider = need.first.provider
        assert isinstance(provider, MayComeFrom)
        hard = need.reached and any(edge.kind is not EdgeKind.DELAY for edge in need.edges)
        toolkit = toolkit_searched(subject, need)
        yield finding(
            "WF318",
            need.name,
            f"could not tell: {need.name}, imported by {listing([*map(inside, need.importers)])}, may come from "
            f"{listing(provider.distributions)}: {provider.because}" + (f"; unless {toolkit}" if toolkit else ""),
            hint=_hint_for_unknown(need.name, provider),
            evidence={
                "needed_by": subject.origins(need.importers),
                "distributions": provider.distributions,
                "because": provider.because,
                "loaded": need.reached,
                "step": "optional",
            },
            severity=Severity.UNSURE if hard else Severity.INFO,
        )


@rule("WF319")
def relies_on_distribution(subject: Subject) -> Findings:
    """Say for each distribution which DLLs it provides, for which versions, and which builds have them."""
    owned = needs(subject, (edge for edge in subject.edges if isinstance(edge.provider, OwnedBy)))
    reachable = (
        (need, owner) for need in owned if isinstance(owner := need.first.provider, OwnedBy) and owner.reachable
    )
    groups = grouped(((owner.distribution, owner.only), (need, owner)) for need, owner in reachable)
    yield from _relies_on_files(subject)
    for (distribution, only), members in sorted(groups.items()):
        provider = members[0][1]
        names = [need.name for need, _ in members]
        are, them = ("is", "it") if len(names) == 1 else ("are", "them")
        text = f"{listing(names, _SHOWN)} {are} provided by {provider.requirement}"
        text += f", which {provider.via[-1]} requires" if provider.via else ""
        if only:
            text += f": only {only} has {them}, and the builds on PyPI that were looked at do not"
        elif provider.versions:
            first, last = provider.versions[0], provider.versions[-1]
            text += f"; {first} has {them}" if len(provider.versions) == 1 else f"; {first} to {last} have {them}"
        yield finding(
            "WF319",
            names[0],
            text,
            hint=(
                f"install {distribution} from the index that has such builds, before this wheel"
                if only
                else provider.because
            ),
            evidence={
                "names": names,
                "distribution": distribution,
                "specifier": provider.specifier,
                "via": provider.via,
                "versions": provider.versions,
                "only": only,
                "because": provider.because,
                "needed_by": subject.origins(path for need, _ in members for path in need.importers),
            },
        )


def _relies_on_files(subject: Subject) -> Findings:
    """Say which files of other distributions in the set serve the subject."""
    own = needs(subject, (edge for edge in subject.edges if edge.importer in subject.images))
    files = ((need, need.first.file) for need in own)
    groups = grouped(((owner, folder(file)), need) for need, file in files if file and (owner := subject.owner(file)))
    beside = subject.view.beside
    for (owner, place), members in sorted(groups.items()):
        version = beside[owner].version if beside is not None else ""
        names = [need.name for need in members]
        yield finding(
            "WF319",
            names[0],
            f"{listing(names, _SHOWN)} {'is' if len(names) == 1 else 'are'} provided by {owner} {version}, in {place}",
            evidence={
                "names": names,
                "distribution": owner,
                "version": version,
                "folder": place,
                "needed_by": subject.origins(path for need in members for path in need.importers),
            },
        )


@rule("WF320")
def module_not_installed(subject: Subject) -> Findings:
    """Find imports of modules that an environment or a set does not have, although it is complete."""
    for absent in subject.resolution.absent_modules:
        if not absent.distribution:
            continue
        file = inside(absent.file)
        if absent.sure:
            kind = absent.raised.partition(":")[0] or "ModuleNotFoundError"
            text = f"{file} imports {absent.module}, which is not installed: the import raises {kind}"
        elif absent.requirement:
            text = f"could not tell: {file} has the name of {absent.module}, which is not installed, in its data, and "
            text += "may import it"
        else:
            text = f"could not tell: {file} imports {absent.module}, which is not installed, and may not be run"
        if not absent.requirement:
            text += "; nothing that is required has it"
            hint = f"install what has it in the same environment; the metadata of {subject.name} should require that"
        elif subject.installed:
            hint = install(absent.distribution + absent.specifier)
        else:
            hint = f"install {absent.requirement} in the same environment, or add its wheel with --with"
        yield finding(
            "WF320",
            absent.module,
            f"{text}; {absent.requirement} is required" if absent.requirement else text,
            hint=hint,
            evidence={
                "module": absent.module,
                "distribution": absent.distribution,
                "requirement": absent.requirement,
                "importer": subject.origin(absent.file),
                "sure": absent.sure,
            },
            severity=Severity.ERROR if absent.sure else Severity.UNSURE,
        )


@rule("WF329")
def files_elsewhere(subject: Subject) -> Findings:
    """Find editable installations, and those that list no files."""
    beside, name = subject.view.beside, canonical(subject.name)
    if not subject.installed or beside is None or name not in beside or name not in beside.absent:
        return
    version = beside[name].version
    yield finding(
        "WF329",
        subject.name,
        f"could not tell: the files of {subject.name} {version} are not in this environment: {beside.absent[name]}",
        hint="build its wheel, then 'wheelfix scan WHEEL --with ENV'",
        evidence={"distribution": name, "version": version, "because": beside.absent[name]},
    )


def _hint_for_unknown(name: str, provider: MayComeFrom) -> str:
    program = program_of(name)
    if program is not None and program.feature:
        return (
            f"users turn on {program.name} in the list of Windows features; say so in the package's documentation, or "
            "delay-load the DLL"
        )
    if program is not None and provider.distributions == (program.name,):
        return f"users install {program.name} on their machines; say so in the package's documentation"
    return (
        "'wheelfix scan WHEEL --deps' reads what it requires from the package index; or add the wheels that are "
        "installed with it: 'wheelfix scan WHEEL --with FOLDER', or scan the environment in which it is installed"
    )


@rule("WF330")
def requirement_not_met(subject: Subject) -> Findings:
    """Find requirements that an installer would have met; where an import fails for certain, WF320 says so."""
    beside, own = subject.view.beside, subject.distribution
    known = {absent.distribution for absent in subject.resolution.absent_modules}
    who = f"{own.name} {own.version}"
    for unmet in unmet_requirements(own.requires, beside, subject.profile) if beside is not None else ():
        if unmet.name in known:
            continue
        there = f"but {unmet.name} {unmet.installed} is" if unmet.installed else "which is not"
        hint = install(unmet.requirement)
        if unmet.installed:
            hint += "; 'python -m pip check' lists everything there that does not fit together"
        yield finding(
            "WF330",
            unmet.name,
            f"{who} requires {unmet.requirement}, {there} installed",
            hint=hint,
            evidence={"distribution": unmet.name, "requirement": unmet.requirement, "installed": unmet.installed},
        )
    python = subject.environment_python
    if python is not None and not fits(f"{dotted(python)}.99", own.requires_python[:2000], unknown=True):
        yield finding(
            "WF330",
            "Python",
            f"{who} requires Python {own.requires_python}, but the environment has Python {dotted(python)}",
            hint=(
                f"'python -m pip install --force-reinstall {own.name}' with the environment's own Python installs a "
                "release that allows it"
            ),
            evidence={"distribution": "", "requirement": own.requires_python, "installed": dotted(python)},
        )

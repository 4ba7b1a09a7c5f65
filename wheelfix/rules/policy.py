"""WF601 to WF608 and WF613: files that should not be in a wheel, whether or not it loads with them, and signatures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.values import grouped
from wheelfix.knowledge.families import demangle, family_of, is_mangled, is_test_artifact
from wheelfix.knowledge.system import classify, driver_file, runtime_file
from wheelfix.model import Severity, dll_key
from wheelfix.rules.context import Subject, base, folder, inside, key_of
from wheelfix.rules.dependencies import gather
from wheelfix.rules.hints import drop_option, repair_command
from wheelfix.rules.pe import is_debug_crt
from wheelfix.rules.registry import Findings, finding, rule
from wheelfix.rules.wording import count, listing

if TYPE_CHECKING:
    from collections.abc import Iterator


_LOADERS = frozenset({"opencl.dll", "vulkan-1.dll", "ze_loader.dll"})
"""Only pass calls on to the driver that is there; some packages bring their own on purpose."""


def _dlls(subject: Subject) -> Iterator[str]:
    return (path for path, image in subject.images.items() if image.is_dll and path.lower().endswith(".dll"))


@rule("WF601")
def driver_dll_shipped(subject: Subject) -> Findings:
    """Find copies of driver DLLs, which hide those of the driver that is installed."""
    for path in _dlls(subject):
        driver = driver_file(base(path))
        if driver is None:
            continue
        loader = key_of(path) in _LOADERS
        yield finding(
            "WF601",
            subject.origin(path),
            f"{base(path)} is {driver.what} and comes with the driver of {driver.vendor}; "
            "a copy in the wheel is used instead of the installed one"
            + ("" if loader else " and fails with another driver version"),
            hint=f"{repair_command(subject, drop_option(subject, [path]))} removes it",
            evidence={"source": driver.source},
            severity=Severity.INFO if loader else Severity.WARNING,
        )


@rule("WF602")
def system_dll_shipped(subject: Subject) -> Findings:
    """Find copies of Windows' own DLLs."""
    useless: list[str] = []
    shadowing: list[str] = []
    contracts: list[str] = []
    for path in _dlls(subject):
        kind = classify(base(path), subject.machine)
        if kind.kind in ("api-set", "ucrt"):
            contracts.append(path)
        elif kind.kind == "system":
            (useless if kind.known_dll else shadowing).append(path)
    groups = (
        (useless, Severity.WARNING, "Windows always takes its own and never loads the copy in the wheel"),
        (shadowing, Severity.INFO, "the copy in the wheel may be loaded instead of the one that gets Windows' updates"),
        (contracts, Severity.INFO, "Windows 10 and later have them and ignore copies"),
    )
    for paths, severity, consequence in groups:
        if paths:
            names = sorted({base(path) for path in paths}, key=dll_key)
            verb = "is" if len(names) == 1 else "are"
            yield finding(
                "WF602",
                subject.origin(paths[0]),
                f"{listing(names)} {verb} part of Windows; {consequence}",
                hint=(
                    f"{repair_command(subject, drop_option(subject, paths, 'api-ms-win-*.dll'))}, unless the copy is "
                    "there on purpose"
                ),
                evidence={"paths": subject.origins(paths)},
                severity=severity,
            )


@rule("WF603")
def test_artifacts_shipped(subject: Subject) -> Findings:
    """Find what BUILD_TEST=1 left behind, and say whether dropping it would fix anything."""
    found = list_test_artifacts(subject)
    loading, startup = subject.loading, subject.startup
    if not found or startup is None:
        return
    only, shared = _needs_of(subject, frozenset(found))
    loaded = [base(path) for path in found if folder(path) == startup.lib and path.lower().endswith(".dll")]
    names, lib = listing([base(path) for path in found]), inside(startup.lib)
    message = f"{count(len(found), 'file')} of {loading.package}'s test suite in the wheel ({names})"
    if loaded:
        message += f"; import {loading.package} loads {listing(loaded)} like every DLL of {lib}"
    yield finding(
        "WF603",
        subject.origin(found[0]),
        message + _verdict(only, shared),
        hint=f"{repair_command(subject, '--drop-test-artifacts')}, and build with BUILD_TEST=0",
        evidence={
            "paths": subject.origins(found),
            "only_they_need": only,
            "others_need_too": dict(shared.items()),
        },
    )


def list_test_artifacts(subject: Subject) -> list[str]:
    """Return the DLLs and programs of a package's own test suite: what WF603 counts, --drop-test-artifacts removes."""
    startup = subject.startup
    if startup is None or not startup.test_programs:
        return []
    program, root = re.compile(startup.test_programs), folder(startup.lib)
    own = (path for path in subject.images if path.startswith(root + "/"))
    return [path for path in own if is_test_artifact(base(path)) or program.fullmatch(base(path).lower())]


def _needs_of(subject: Subject, artefacts: frozenset[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return missing DLLs that only the artefacts ask for, and those that others ask for too, with their names."""
    unmet = (edge for edge in subject.edges if edge.is_import and edge.is_missing)
    only, shared = [], {}
    for need in gather(unmet, lambda edge: edge.importer not in artefacts):
        if need.reached:
            shared[need.name] = sorted({base(path) for path in need.importers if path not in artefacts})
        else:
            only.append(need.name)
    return only, shared


def _verdict(only: list[str], shared: dict[str, list[str]]) -> str:
    parts = []
    if only:
        parts.append(f"; dropping them removes the need for {listing(only)}")
    if shared:
        name, needers = next(iter(shared.items()))
        more = f" and {count(len(shared) - 1, 'other DLL')}" if len(shared) > 1 else ""
        need = "needs" if len(needers) == 1 else "need"
        parts.append(f"; dropping them does not help with {name}{more}, which {listing(needers)} {need} as well")
    return "".join(parts)


@rule("WF604")
def not_redistributable(subject: Subject) -> Findings:
    """Find DLLs that must not leave the machine they were installed on."""
    for path in _dlls(subject):
        name = base(path)
        family = family_of(name)
        if is_debug_crt(name):
            what, remedy = (
                "a debug runtime, which Microsoft does not allow to be redistributed",
                "build in Release configuration",
            )
        elif not family.redistribute:
            what, remedy = (
                f"{family.title}: {family.note}",
                "link against a runtime that may be redistributed",
            )
        else:
            continue
        yield finding("WF604", subject.origin(path), f"{name} is {what}", hint=remedy)


@rule("WF613")
def runtime_edited(subject: Subject) -> Findings:
    """Find DLLs of the Visual C++ runtime that import names which a tool made up: Microsoft's build does not."""
    for path in _dlls(subject):
        image, runtime = subject.images[path], runtime_file(demangle(key_of(path)))
        changed = [item.dll for item in (*image.imports, *image.delay_imports) if is_mangled(item.dll)]
        if runtime is None or not changed or image.signed:
            continue
        yield finding(
            "WF613",
            subject.origin(path),
            f"{base(path)} of the {runtime.toolset.package} imports {listing(changed)}: a tool has changed the file "
            "and removed its signature, which Microsoft's licence forbids, and policies for signed code refuse it",
            hint="take the runtime's DLLs from the redistributable again, all of them under their own names, or leave "
            "them out",
            evidence={"imports": changed},
        )


_SIGNATURES = {
    "unsigned": (
        "WF605",
        "{files} without a signature: {names}; machines that allow signed code only will not load them",
        "sign them with 'signtool sign /fd sha256 /tr URL /td sha256 FILE' before packing",
    ),
    "invalid": (
        "WF606",
        "the signature{by} is invalid ({files}: {names}): {reason}",
        "take the file from its vendor again, and do not change it after it was signed",
    ),
    "untrusted-root": (
        "WF607",
        "signed in the name of {signer}, which no trusted root confirms ({files}: {names}): {reason}",
        "if you know the issuer, name a PEM file with its certificate: --trusted-roots FILE",
    ),
    "not-checked": ("WF608", "the signature was not checked ({files}: {names}): {reason}", ""),
}
"""What is said about signatures that are not valid, by their status: the code, the message and the hint."""


@rule("WF605", "WF606", "WF607", "WF608")
def signatures(subject: Subject) -> Findings:
    """Report DLLs without a valid signature, together where signer and reason are the same."""
    found = ((path, subject.signature(path)) for path in subject.images if subject.options.signatures)
    groups = grouped(((one.status, one.signer, one.reason), path) for path, one in found if one is not None)
    for (status, signer, reason), paths in groups.items():
        if status not in _SIGNATURES:
            continue
        code, message, hint = _SIGNATURES[status]
        said = {"files": count(len(paths), "file"), "names": listing([base(path) for path in paths])}
        said |= {"signer": repr(signer), "by": f" in the name of {signer!r}" if signer else "", "reason": reason}
        evidence = {"paths": subject.origins(paths)}
        yield finding(code, subject.origin(paths[0]), message.format(**said), hint=hint, evidence=evidence)

"""Reports for machines: plain values in the shape of ``schemas/*.json``, and the same bytes for the same input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.model import (
    Candidate,
    Finding,
    Malformed,
    MissingDll,
    Prediction,
    ProvidedDll,
    ScannedImage,
    ScanReport,
    Signature,
    TargetVerdict,
)
from wheelfix.report import safe
from wheelfix.report.document import DEFAULT, Context, totals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wheelfix.model import Json
    from wheelfix.repairs.sign import Signed
    from wheelfix.report.document import FailedInput
    from wheelfix.rules.registry import Rule

SCAN_SCHEMA = "wheelfix.scan/1"
RULES_SCHEMA = "wheelfix.rules/1"


def dump(value: Json) -> str:
    """Return JSON text: indented, in ASCII, so that no console or pipe between us and the reader can spoil it.

    Nothing in it is a command for a CI system: ``#`` is doubled only in texts, where the second one can be escaped.
    """
    text = json.dumps(value, indent=2, ensure_ascii=True)
    if "\\ud" in text:
        text = json.dumps(safe.json(value), indent=2, ensure_ascii=True)
    return text.replace("##", "#\\u0023") + "\n"


def tool() -> dict[str, Json]:
    """Return who wrote the document."""
    return {"name": "wheelfix", "version": wheelfix.__version__}


def render_scan(reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT) -> str:
    """Return the ``wheelfix.scan/1`` document of some reports.

    ``failures`` are the inputs that could not be scanned, with the reason; the key is there only when some are.
    """
    document: dict[str, Json] = {
        "schema": SCAN_SCHEMA,
        "tool": tool(),
        "wheels": [scan_value(report, context) for report in reports],
        "summary": totals(reports, failures, context).to_json(),
    }
    if context.skipped:
        document["skipped"] = [*context.skipped]
    if failures:
        document["failures"] = [failure_value(failure) for failure in failures]
    return dump(document)


def failure_value(failure: FailedInput) -> Json:
    """Return an input that could not be read, repaired or reported."""
    error = failure.error
    return {
        "path": failure.path,
        "stage": failure.stage,
        "what": error.what,
        "because": error.because,
        "hint": error.hint,
    }


def scan_value(report: ScanReport, context: Context = DEFAULT) -> dict[str, Json]:
    """Return the report on one wheel as plain values."""
    value: dict[str, Json] = {
        "path": report.path,
        "name": report.name,
        "version": report.version,
        "tags": list(report.tags),
        "machine": report.machine.value,
        "verdict": report.verdict.value,
        "images": [image_value(image) for image in report.images],
        "missing": [missing_value(item) for item in report.missing],
        "provided": [provided_value(item) for item in report.provided],
        "first_failure": prediction_value(report.first_failure) if report.first_failure else None,
        "findings": [finding_value(finding, known=context.known(report, finding)) for finding in report.findings],
    }
    if report.archs is not None:
        value["archs"] = list(report.archs)
    if report.targets:
        value["targets"] = [target_value(target) for target in report.targets]
    if report.cuda is not None:
        value["cuda"] = {"release": report.cuda.release, "driver": report.cuda.driver, "text": report.cuda.text}
    return value


def target_value(target: TargetVerdict) -> dict[str, Json]:
    """Return the answer for a kind of Windows that was asked about."""
    return {
        "name": target.name,
        "title": target.title,
        "build": target.build,
        "date": target.date,
        "verdict": target.verdict.value,
        "absent": list(target.absent),
        "perhaps_absent": list(target.perhaps_absent),
        "unknown": list(target.unknown),
        "first_failure": prediction_value(target.first_failure) if target.first_failure else None,
    }


def provided_value(item: ProvidedDll) -> dict[str, Json]:
    """Return a DLL that another distribution provides, or may provide."""
    return {
        "name": item.name,
        "how": item.how,
        "distributions": list(item.distributions),
        "specifier": item.specifier,
        "path": item.path,
        "because": item.because,
        "needed_by": list(item.needed_by),
    }


def image_value(image: ScannedImage) -> dict[str, Json]:
    """Return one PE image; facts that were not asked for are left out."""
    facts = image.facts
    value: dict[str, Json] = {"path": image.path}
    if isinstance(facts, Malformed):
        value |= {"machine": "unknown", "size": facts.size, "imports": [], "delay_imports": []}
        value["malformed"] = facts.reason
        return value
    value |= {
        "machine": facts.machine.value,
        "size": facts.size,
        "imports": [item.dll for item in facts.imports],
        "delay_imports": [item.dll for item in facts.delay_imports],
    }
    if image.version is not None:
        value["version"] = str(image.version)
    if image.archs is not None:
        value["archs"] = list(image.archs)
    if image.gpu is not None:
        value["gpu"] = {"card": image.gpu.card, "arch": image.gpu.arch, "fit": image.gpu.fit}
    if image.numpy is not None:
        value["numpy"] = {"headers": image.numpy.headers, "oldest": image.numpy.oldest}
    if image.signature is not None:
        value["signer"] = image.signature.trusted_signer
        value["signature"] = signature_value(image.signature)
    return value


def signature_value(signature: Signature) -> dict[str, Json]:
    """Return what a signature is worth, and who is said to have made it."""
    value: dict[str, Json] = {"status": signature.status}
    for key in ("signer", "issuer", "timestamp", "reason"):
        text = getattr(signature, key)
        if text:
            value[key] = text
    return value


def signed_value(result: Signed) -> dict[str, Json]:
    """Return what ``wheelfix sign`` has done with one wheel."""
    files: list[Json] = []
    for file in result.files:
        entry: dict[str, Json] = {"path": file.path, "action": file.action}
        if file.signature is not None:
            entry["signature"] = signature_value(file.signature)
        files.append(entry)
    return {
        "path": result.path,
        "outcome": result.outcome,
        "output": str(result.output) if result.output is not None else None,
        "files": files,
        "notes": list(result.notes),
    }


def missing_value(item: MissingDll) -> dict[str, Json]:
    """Return a DLL without a provider."""
    return {
        "name": item.name,
        "kind": item.kind.value,
        "required": item.required,
        "needed_by": list(item.needed_by),
        "chain": list(item.chain),
        "candidates": [candidate_value(candidate) for candidate in item.candidates],
        "providers": list(item.providers),
    }


def candidate_value(candidate: Candidate) -> dict[str, Json]:
    """Return a file that could be vendored."""
    return {
        "path": candidate.path,
        "root": candidate.root,
        "version": candidate.version,
        "reason": candidate.reason,
    }


def prediction_value(prediction: Prediction) -> dict[str, Json]:
    """Return the error that the import will raise."""
    return {
        "path": prediction.path,
        "code": prediction.code,
        "message": prediction.message,
        "chain": list(prediction.chain),
    }


def finding_value(finding: Finding, *, known: bool = False) -> dict[str, Json]:
    """Return one finding; evidence is ordered by its keys, ``known`` is there when the baseline has it."""
    value: dict[str, Json] = {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "subject": finding.subject,
        "message": finding.message,
        "hint": finding.hint,
        "evidence": {key: finding.evidence[key] for key in sorted(finding.evidence)},
        "repairable": finding.repairable.value,
    }
    if known:
        value["known"] = True
    return value


def render_rules(rules: Iterable[Rule]) -> str:
    """Return the list of findings as ``wheelfix.rules/1``."""
    return dump(
        {
            "schema": RULES_SCHEMA,
            "tool": tool(),
            "rules": [
                {
                    "code": rule.code,
                    "name": rule.name,
                    "severity": rule.severity.value,
                    "repairable": rule.repairable.value,
                    "summary": rule.summary,
                }
                for rule in rules
            ],
        }
    )

"""Reports for machines: plain values in the shape of ``schemas/*.json``, and the same bytes for the same input."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.exam.examination import STAGES
from wheelfix.model import Finding, Json, JsonObject, Malformed, Prediction, ScannedImage, ScanReport, Signature
from wheelfix.report import safe
from wheelfix.report.document import DEFAULT, Context, Document, by_words

if TYPE_CHECKING:
    from wheelfix.repairs.sign import Signed
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


def tool() -> JsonObject:
    """Return who wrote the document."""
    return {"name": "wheelfix", "version": wheelfix.__version__}


def pick(value: object, names: str) -> JsonObject:
    """Return some attributes of a value, named in the order of the document, as plain values."""
    return {name: plain(getattr(value, name)) for name in names.split()}


def plain(value: object) -> Json:
    """Return text, numbers and their collections as JSON has them; an enumeration is its value."""
    if isinstance(value, enum.Enum):
        return str(value.value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, Iterable) else str(value)


def render_scan(document: Document) -> str:
    """Return the ``wheelfix.scan/1`` document; keys about failures are there only when something failed."""
    value: JsonObject = {
        "schema": SCAN_SCHEMA,
        "tool": tool(),
        "wheels": [scan_value(report, document.context) for report in document.reports],
        "summary": summary_value(document),
    }
    if document.context.skipped:
        value["skipped"] = [*document.context.skipped]
    if document.failures:
        value["failures"] = [
            pick(failure, "path stage") | pick(failure.error, "what because hint") for failure in document.failures
        ]
    return dump(value)


def summary_value(document: Document) -> JsonObject:
    """Return the figures over all inputs."""
    failed = by_words([*document.alone, *document.failed.values()])
    return {
        "inputs": document.inputs,
        **{verdict.value: number for verdict, number in document.verdicts.items()},
        **{words.replace(" ", "_"): failed.get(words, 0) for words in (STAGES["read"], STAGES["repair"])},
        "skipped": len(document.context.skipped),
        "findings": {severity.value: number for severity, number in document.severities.items()},
        "rules": [pick(row, "code name severity findings inputs") for row in document.rules],
    }


def scan_value(report: ScanReport, context: Context = DEFAULT) -> JsonObject:
    """Return the report on one wheel as plain values."""
    value = pick(report, "path name version tags machine verdict")
    value |= {
        "images": [_image(image) for image in report.images],
        "missing": [
            pick(item, "name kind required needed_by chain")
            | {"candidates": [pick(candidate, "path root version reason") for candidate in item.candidates]}
            | pick(item, "providers")
            for item in report.missing
        ],
        "provided": [pick(item, "name how distributions specifier path because needed_by") for item in report.provided],
        "first_failure": _prediction(report.first_failure),
        "findings": [_finding(finding, known=context.known(report, finding)) for finding in report.findings],
    }
    if report.archs is not None:
        value["archs"] = [*report.archs]
    if report.targets:
        value["targets"] = [
            pick(target, "name title build date verdict absent perhaps_absent unknown")
            | {"first_failure": _prediction(target.first_failure)}
            for target in report.targets
        ]
    if report.cuda is not None:
        value["cuda"] = pick(report.cuda, "release driver text")
    return value


def _image(image: ScannedImage) -> JsonObject:
    """Return one PE image; facts that were not asked for are left out."""
    facts = image.facts
    if isinstance(facts, Malformed):
        value: JsonObject = {"path": image.path, "machine": "unknown", "size": facts.size}
        return value | {"imports": [], "delay_imports": [], "malformed": facts.reason}
    value = {
        "path": image.path,
        "machine": facts.machine.value,
        "size": facts.size,
        "imports": [item.dll for item in facts.imports],
        "delay_imports": [item.dll for item in facts.delay_imports],
    }
    if image.version is not None:
        value["version"] = str(image.version)
    if image.archs is not None:
        value["archs"] = [*image.archs]
    if image.gpu is not None:
        value["gpu"] = pick(image.gpu, "card arch fit")
    if image.numpy is not None:
        value["numpy"] = pick(image.numpy, "headers oldest")
    if image.signature is not None:
        value["signer"] = image.signature.trusted_signer
        value["signature"] = _signature(image.signature)
    return value


def _signature(signature: Signature) -> JsonObject:
    """Return what is known about a signature; what is empty is left out, except for the status."""
    found = pick(signature, "status signer issuer timestamp reason")
    return {key: text for key, text in found.items() if text or key == "status"}


def _prediction(prediction: Prediction | None) -> Json:
    return pick(prediction, "path code message chain") if prediction else None


def _finding(finding: Finding, *, known: bool) -> JsonObject:
    """Return one finding; evidence is ordered by its keys, ``known`` is there when the baseline has it."""
    value = pick(finding, "code name severity subject message hint")
    value["evidence"] = {key: finding.evidence[key] for key in sorted(finding.evidence)}
    value["repairable"] = finding.repairable.value
    return value | {"known": True} if known else value


def signed_value(result: Signed) -> JsonObject:
    """Return what ``wheelfix sign`` has done with one wheel."""
    files: list[Json] = [
        pick(file, "path action") | ({"signature": _signature(file.signature)} if file.signature is not None else {})
        for file in result.files
    ]
    return pick(result, "path outcome output") | {"files": files, "notes": [*result.notes]}


def render_rules(rules: Iterable[Rule]) -> str:
    """Return the list of findings as ``wheelfix.rules/1``."""
    listed: list[Json] = [pick(rule, "code name severity repairable summary") for rule in rules]
    return dump({"schema": RULES_SCHEMA, "tool": tool(), "rules": listed})

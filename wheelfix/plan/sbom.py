"""The bill of materials of what was vendored: CycloneDX 1.6 JSON in ``.dist-info/sboms`` (PEP 770).

It names each DLL with version, hash, vendor and the kind of place it came from, and no path of the build machine. It
carries no time of day unless SOURCE_DATE_EPOCH gives one, so that the same repair makes the same bytes.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from typing import TYPE_CHECKING, Any

from wheelfix import __version__
from wheelfix.archive.changes import source_date_epoch
from wheelfix.base.parsing import parse_json
from wheelfix.knowledge.families import family_of
from wheelfix.model import Json, JsonObject, Signature, canonical

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wheelfix.plan.model import Addition, Plan

FILE_NAME = "wheelfix.cdx.json"


def make_sbom(plan: Plan, earlier: Sequence[JsonObject] = ()) -> bytes:
    """The document for one plan, as bytes that depend on nothing but the plan and what was vendored earlier."""
    package = _package(plan)
    components = [_component(addition) for addition in plan.additions if addition.source.kind != "own"]
    components += earlier
    refs: list[Json] = [component["bom-ref"] for component in components]
    document: JsonObject = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": "urn:uuid:" + _identity(plan),
        "version": 1,
        "metadata": _metadata(plan, package),
        "components": list(components),
        "dependencies": [
            {"ref": package["bom-ref"], "dependsOn": refs},
            *({"ref": ref, "dependsOn": []} for ref in refs),
        ],
    }
    return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def earlier_components(document: bytes, plan: Plan) -> list[JsonObject] | None:
    """The components of an earlier repair that stay in the wheel; None for a document that is not ours."""
    gone = {*(drop.path for drop in plan.drops), *(addition.target for addition in plan.additions)}
    try:
        components: list[JsonObject] = parse_json(document)["components"]
        return [one for one in components if _path(one) not in gone and one["bom-ref"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _metadata(plan: Plan, package: JsonObject) -> JsonObject:
    tool: JsonObject = {"type": "application", "name": "wheelfix", "version": __version__}
    settings: Json = [
        {"name": "wheelfix:compressor", "value": plan.compressor},
        {"name": "wheelfix:compression", "value": plan.compression},
    ]
    metadata: JsonObject = {"tools": {"components": [tool]}, "component": package, "properties": settings}
    epoch = source_date_epoch()
    if epoch is not None:
        moment = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
        metadata["timestamp"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return metadata


def _package(plan: Plan) -> JsonObject:
    name = canonical(plan.wheel.name)
    purl = f"pkg:pypi/{name}@{plan.wheel.version}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": plan.wheel.version, "purl": purl}


def _component(addition: Addition) -> JsonObject:
    family = family_of(addition.name)
    properties: list[Json] = [
        {"name": "wheelfix:path", "value": addition.target},
        {"name": "wheelfix:origin", "value": addition.source.origin},
        {"name": "wheelfix:kind", "value": addition.kind},
    ]
    if addition.signer:
        properties.append({"name": "wheelfix:signature", "value": addition.signer})
    if addition.signature:
        properties.append({"name": "wheelfix:signature-answer", "value": addition.signature})
    component: JsonObject = {
        "type": "library",
        "bom-ref": f"file:{addition.target}#{addition.sha256[:16]}",
        "name": addition.name,
        "hashes": [{"alg": "SHA-256", "content": addition.sha256}],
        "properties": properties,
    }
    if addition.version:
        component["version"] = addition.version
    if family:
        component["supplier"] = {"name": family.vendor}
        component["description"] = family.title
    return component


def _identity(plan: Plan) -> str:
    """A UUID that is the same for the same wheel and the same additions.

    It is of version 4, made without the module ``uuid``, which takes 5 ms to import.
    """
    digest = hashlib.sha256(plan.wheel.directory_sha256.encode())
    for addition in plan.additions:
        digest.update(f"{addition.target}\0{addition.sha256}\0".encode())
    octets = bytearray(digest.digest()[:16])
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    parts = (octets[:4], octets[4:6], octets[6:8], octets[8:10], octets[10:])
    return "-".join(part.hex() for part in parts)


def with_signed(document: bytes, signed: Mapping[str, tuple[str, Signature]]) -> bytes | None:
    """Return the document with new hashes for files that were signed; None if it names none of them.

    ``signed`` has sha256 and signature by path. The hash of the file as the vendor made it stays, as a property.
    """
    try:
        bom = parse_json(document)
        renamed = {}
        for component in bom["components"]:
            path = _path(component)
            if path in signed:
                old = component["bom-ref"]
                _sign_component(component, *signed[path])
                renamed[old] = component["bom-ref"] = f"file:{path}#{signed[path][0][:16]}"
        for entry in bom["dependencies"]:
            entry["ref"] = renamed.get(entry["ref"], entry["ref"])
            entry["dependsOn"] = [renamed.get(ref, ref) for ref in entry["dependsOn"]]
        bom["version"] += 1  # the same document, changed
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None  # not a document of ours: it is left as it is
    return (json.dumps(bom, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode() if renamed else None


def _path(component: dict[str, Any]) -> str:
    return next((item["value"] for item in component["properties"] if item["name"] == "wheelfix:path"), "")


def _sign_component(component: dict[str, Any], sha256: str, signature: Signature) -> None:
    """Give a component the hash and the signature of the signed file."""
    properties = {item["name"]: item["value"] for item in component["properties"]}
    properties.setdefault("wheelfix:sha256-before-signing", component["hashes"][0]["content"])
    properties["wheelfix:signature"] = signature.trusted_signer
    properties["wheelfix:signature-answer"] = str(signature)
    component["hashes"] = [{"alg": "SHA-256", "content": sha256}]
    component["properties"] = [{"name": name, "value": value} for name, value in properties.items() if value]

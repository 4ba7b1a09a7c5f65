"""The tables of a survey and their columns; the documentation is made from this."""

from __future__ import annotations

from wheelfix.base.values import dataclass

SCHEMA = "wheelfix.survey/1"
"""Stands in the metadata of every file and in ``survey.json``; the number changes when a column changes its meaning."""
SHA256 = "SHA-256 of the wheel"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    kind: str
    """``text``, ``int``, ``bool`` or ``texts``, a list."""
    about: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table: what a row is, and what is in it."""

    name: str
    row: str
    columns: tuple[Column, ...]


def _columns(*given: tuple[str, str, str]) -> tuple[Column, ...]:
    return tuple(Column(*one) for one in given)


WHEELS = Table(
    "wheels",
    "a wheel of the source, also one that could not be read; copies have a row each, and share their rows elsewhere",
    _columns(
        ("sha256", "text", f"{SHA256}; empty if it could not be fetched"),
        ("source", "text", "where it is: a path, or a URL without secrets"),
        ("file", "text", "its file name"),
        ("size", "int", "bytes"),
        ("modified", "text", "what the source says about its version: a time stamp, a hash or an ETag"),
        ("status", "text", "`scanned` or `failed`"),
        ("error", "text", "why it could not be read"),
        ("passing", "bool", "for a failure: whether the next run tries again (network, memory, a killed process)"),
        ("name", "text", "distribution, normalised (PEP 503)"),
        ("version", "text", "from the file name"),
        ("build", "text", "build tag; empty for none"),
        ("tags", "texts", "expanded: `cp311-cp311-win_amd64`"),
        ("platform", "text", "platform tags of the file name: `win_amd64`"),
        ("machine", "text", "of its images: `amd64`, `x86`, `arm64`, ..."),
        ("requires_dist", "texts", "Requires-Dist, as spelled"),
        ("requires_python", "text", "Requires-Python"),
        ("modules", "texts", "names that installing it makes importable"),
        ("members", "int", "members of the archive"),
        ("verdict", "text", "`ok`, `risky`, `unsure` or `broken`"),
        ("error_code", "int", "Windows error of the first load that fails; 0 for none"),
        ("predicted", "text", "the error message that importing it raises; empty for none"),
        ("tool", "text", "the version of wheelfix that read it"),
    ),
)  # fmt: skip
IMAGES = Table(
    "images",
    "a DLL or extension module of a wheel",
    _columns(
        ("sha256", "text", SHA256),
        ("path", "text", "where it is installed, relative to the prefix"),
        ("dll", "text", "its name, in small letters"),
        ("size", "int", "bytes"),
        ("machine", "text", "`amd64`, `x86`, `arm64`, ...; empty if malformed"),
        ("malformed", "text", "why it is not a valid image; empty if it is"),
        ("loaded", "bool", "whether importing the package loads it, directly or through other DLLs"),
        ("linker_major", "int", "14 for the toolsets of Visual Studio 2015 and later"),
        ("linker_minor", "int", ""),
        ("version", "text", "file version of its version resource, `14.40.33810.0`; empty for none"),
        ("version_major", "int", "first part of it; 0 for none"),
        ("version_minor", "int", "second part of it"),
        ("company", "text", "CompanyName of its version resource"),
        ("signed", "bool", "whether it has a certificate table; says nothing about its validity"),
        ("exports", "int", "how many names it exports"),
    ),
)
IMPORTS = Table(
    "imports",
    "a DLL in the import tables of an image",
    _columns(
        ("sha256", "text", SHA256),
        ("path", "text", "the image"),
        ("dll", "text", "the DLL it names, in small letters"),
        ("delayed", "bool", "whether it is loaded at the first call"),
        ("symbols", "int", "how many names and ordinals are imported from it"),
    ),
)
EDGES = Table(
    "edges",
    "a DLL that an image needs, and its provider",
    _columns(
        ("sha256", "text", SHA256),
        ("path", "text", "the image that asks"),
        ("dll", "text", "the DLL it asks for, in small letters"),
        ("kind", "text", "`import`, `delay`, `companion` or `forwarder`"),
        ("required", "bool", "false for what the image works without"),
        (
            "provider", "text",
            "`wheel`, `system`, `python`, `driver`, `vcredist`, `assumed`, `distribution`, `perhaps` (a distribution "
            "may have it) or `missing`",
        ),
        ("detail", "text", "the file of the wheel, or the distributions"),
        ("missing_symbols", "int", "how many imported names the provider does not export"),
        ("loaded", "bool", "whether importing the package loads the image that asks"),
    ),
)  # fmt: skip
FINDINGS = Table(
    "findings",
    "a finding of `wheelfix scan`",
    _columns(
        ("sha256", "text", SHA256),
        ("code", "text", "`WF301`"),
        ("rule", "text", "its name"),
        ("severity", "text", "`error`, `unsure`, `warning` or `info`"),
        ("subject", "text", "the member, DLL or row it is about"),
        ("message", "text", ""),
        ("hint", "text", ""),
        ("repairable", "text", "`always`, `sometimes` or `never`"),
        ("evidence", "text", "details, as JSON"),
    ),
)
PROVIDERS = Table(
    "providers",
    "a DLL that a wheel could provide to others, as the provider index keeps it",
    _columns(
        ("sha256", "text", SHA256),
        ("name", "text", "distribution, normalised"),
        ("version", "text", "of the distribution"),
        ("path", "text", "where it is installed, relative to the prefix; its name in small letters"),
        ("dll", "text", "its name, in small letters"),
        ("member", "text", "the member of the archive"),
        ("size", "int", "bytes"),
        (
            "member_sha256",
            "text",
            "SHA-256 of the member in hexadecimal, as RECORD has it; empty for none",
        ),
    ),
)
TABLES: tuple[Table, ...] = (WHEELS, IMAGES, IMPORTS, EDGES, FINDINGS, PROVIDERS)

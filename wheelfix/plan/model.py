"""The plan of a repair as values, and as JSON (``wheelfix.plan/1``) and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.options import Renaming
from wheelfix.base.parsing import with_schema
from wheelfix.base.values import as_tree, field, from_tree, frozen
from wheelfix.errors import InputError
from wheelfix.model import Severity

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.model import Finding, JsonObject, ScanReport
    from wheelfix.roots.root import RootFile

SCHEMA = "wheelfix.plan/1"


@frozen
class Source:
    """Where the bytes of an addition are."""

    kind: str
    """``file``, ``wheel`` (a member of another wheel), ``conda-package``, ``own`` (a member of this wheel) or ``index``
    (a member of a wheel on a server)."""
    path: str
    """The file, or the package that holds the member; of a wheel on a server its URL, without user and password."""
    member: str = ""
    root: str = ""
    """The root it was found in."""
    origin: str = ""
    """Whose it is, without any path of this machine: ``CUDA 11.7``."""
    wheel_sha256: str = ""
    """Of a wheel on a server: the hash that the index gives for all of it."""
    trust: str = ""
    """Of a wheel on a server, why its bytes count: ``table`` (the DLL's hash is known to wheelfix), ``signature`` (its
    vendor's is valid) or ``wheel`` (the whole wheel was downloaded and has the hash of the index); ``not-fetched`` in a
    plan of a dry run."""


@frozen
class Rejected:
    """A candidate that was considered and not taken."""

    path: str
    reason: str


@frozen
class Addition:
    """A DLL that will be in the wheel."""

    target: str
    """The member it becomes."""
    name: str
    kind: str
    """``import``, ``forwarder``, ``delay``, ``companion``, ``family`` or ``include``."""
    source: Source
    size: int
    sha256: str
    """Empty in the plan of a dry run for a DLL on a server whose hash is not known without downloading it."""
    version: str
    because: str
    """Why it is needed."""
    serves: tuple[str, ...]
    """Members, or other additions, that need it."""
    chosen: str
    """Why this candidate."""
    rejected: tuple[Rejected, ...] = ()
    signer: str = ""
    """Who signed it, if that is trusted; else ``unsigned``, ``untrusted-root``, ``invalid`` or ``not-checked``. Empty
    when it was not looked at."""
    signature: str = ""
    """The answer, then the name in the certificate and the reason: ``trusted: NVIDIA Corporation``."""
    mangle: bool = False
    """Goes to ``<distribution>.libs`` under a name of its own, by delvewheel."""
    warnings: tuple[str, ...] = ()


@frozen
class TakenRelease:
    """The release of a vendor's toolkit that all DLLs of it are taken from."""

    toolkit: str
    """``CUDA``, ``oneMKL`` or ``oneTBB``."""
    release: str
    because: str
    """Why this one."""
    refused: tuple[str, ...] = ()
    """Releases that were there and not taken, each with the reason."""
    other: bool = False
    """Whether it is another one than the wheel was built for, which works for most of what is loaded."""


@frozen
class Drop:
    """A member that will not be in the wheel any more."""

    path: str
    because: str


@frozen
class Rename:
    """A member that gets the name it should have had."""

    old: str
    new: str
    because: str


@frozen
class ArchiveFix:
    """A fault of the archive or of RECORD that rewriting it fixes."""

    code: str
    subject: str
    what: str


@frozen
class Refusal:
    """A DLL that is needed or was asked for and that will not be vendored, and why."""

    name: str
    because: str


@frozen
class Remaining:
    """A DLL that is still missing after the plan."""

    name: str
    required: bool
    needed_by: tuple[str, ...]
    because: str
    providers: tuple[str, ...] = ()
    allowed: bool = False
    """The user said that it may be missing."""


@frozen
class Supplied:
    """A distribution that the wheel requires for its DLLs, instead of holding them."""

    requirement: str
    """As in METADATA: ``nvidia-cublas-cu12>=12.1.3.1,<13``."""
    version: str
    """The version whose DLLs were looked at."""
    folder: str
    """Where they lie below the prefix: ``Lib/site-packages/nvidia/cublas/bin``."""
    names: tuple[str, ...]
    """The DLLs that the wheel uses."""
    size: int
    """Their bytes."""


@frozen
class Way:
    """One of the ways in which the wheel can have the DLLs of vendors."""

    via: str
    """``vendor``, ``wheels`` or ``toolkit``, as ``--via`` takes it."""
    size: int
    """Bytes of such DLLs that are then in the wheel."""
    needs: str
    """What its users must have, or what is installed with it."""


@frozen
class WheelRef:
    """The wheel that a plan was made for."""

    path: str
    name: str
    version: str
    size: int
    directory_sha256: str
    """Digest of the central directory, which has size and CRC of every member."""
    sha256: str = ""
    """Digest of the whole file, for a lock; empty when none was asked for."""
    plain: bool = False
    """Whether the archive is regular in every respect; for readers of a plan, since a replay looks itself. The name is
    that of the field in plans and locks."""


@frozen
class Plan:
    """Everything that a repair will do to one wheel."""

    wheel: WheelRef
    output: str
    """File name of the wheel that comes out."""
    layout: str
    """``beside`` or ``libs``."""
    releases: tuple[TakenRelease, ...] = ()
    additions: tuple[Addition, ...] = ()
    drops: tuple[Drop, ...] = ()
    renames: tuple[Rename, ...] = ()
    mends: tuple[ArchiveFix, ...] = ()
    supplied: tuple[Supplied, ...] = ()
    """With ``--via wheels``: what comes in as requirements, one entry for each folder of DLLs."""
    patched: tuple[str, ...] = ()
    """The Python files that get code which loads these DLLs, because the package's own code does not."""
    refused: tuple[Refusal, ...] = ()
    remaining: tuple[Remaining, ...] = ()
    ways: tuple[Way, ...] = ()
    """The choices of ``--via``, for a wheel that needs DLLs of NVIDIA or Intel."""
    kept: int = 0
    """How many members stay as they are."""
    compressor: str = ""
    """Name and version of what compresses new members."""
    compression: str = "6"
    sbom: bool = True
    recompress: bool = False
    """Whether members that are stored without compression are compressed."""
    left_alone: tuple[str, ...] = ()
    """With the layout ``libs``: DLLs that others bring or that may be missing, which delvewheel must not look for."""
    renaming: Renaming = field(default_factory=Renaming)
    """With the layout ``libs``: what delvewheel is asked for."""
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the wheel that comes out differs from the one that goes in."""
        same_name = self.output == self.wheel.path.replace("\\", "/").rpartition("/")[2]
        return bool(self.additions or self.drops or self.renames or self.mends or self.supplied) or not same_name

    def to_json(self) -> JsonObject:
        """The plan as JSON values."""
        tree: JsonObject = {"schema": SCHEMA}
        tree.update(as_tree(self))
        return tree


def plan_from_json(tree: object, where: str) -> Plan:
    """Read a plan back; InputError names the field that does not fit."""
    found = with_schema(tree, SCHEMA, f"{where} is not a plan", "write one with `wheelfix repair --lock FILE`")
    try:
        return from_tree(Plan, {key: value for key, value in found.items() if key != "schema"})
    except ValueError as exc:
        raise InputError(f"{where} is not a valid plan", because=exc) from exc


@frozen
class Chosen:
    """A file that will be added, and everything the plan says about it."""

    path: str
    """Where it goes, in the view."""
    file: RootFile | None
    """The file of a root, or None for a copy of another member of the same wheel."""
    own: str
    """For such a copy: the member's path in the view."""
    kind: str
    because: str
    serves: tuple[str, ...]
    reason: str
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[str, ...] = ()


@frozen
class Repaired:
    """What a repair did to one wheel or installed package, or would do."""

    plan: Plan
    outcome: str
    """``repaired``, ``unchanged`` or ``planned``."""
    output: Path | None = None
    """The wheel that came out; None for a dry run, and for what is installed."""
    before: ScanReport | None = None
    after: ScanReport | None = None
    """What the scan says about it as it was and as it is then; None where a lock was replayed, which scans nothing."""
    size: int = 0
    faults: tuple[str, ...] = ()
    """For a dry run: why nothing would be written; empty when the wheel would be made."""
    added: tuple[str, ...] = ()
    """The new files of an installed package."""

    @property
    def remaining(self) -> tuple[Finding, ...]:
        """The findings that are still there."""
        return _counted(self.after)

    @property
    def fixed(self) -> tuple[Finding, ...]:
        """The findings that are gone."""
        left = {(finding.code, finding.subject) for finding in self.remaining}
        return tuple(one for one in _counted(self.before) if (one.code, one.subject) not in left)


def _counted(report: ScanReport | None) -> tuple[Finding, ...]:
    return tuple(one for one in report.findings if one.severity is not Severity.INFO) if report is not None else ()

"""What is fuzzed: each target takes bytes, and raises if a promise does not hold.

Errors of ours (:class:`~wheelfix.errors.WheelfixError`) are answers; every other exception is a finding. Where an
independent reader exists, its answer is compared with ours.
"""

from __future__ import annotations

import bz2
import contextlib
import itertools
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.backtrack import slow_attack
from fuzz.commands import LIMITS, diagnose, lock, repair, scan
from fuzz.oracles import COMPARED, Disagreement, ask_csv, ask_lief_and_pefile, ask_zipfile
from fuzz.packagecode import package_code
from fuzz.patterns import sites
from fuzz.signatures import signatures
from fuzz.trust import TRUST
from fuzz.wheels import scratch
from tests.archive.drafts import draft
from tests.support.installers import CLIENTS, disagreements
from wheelfix.archive.conformance import check_archive
from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import Record, check_record, render
from wheelfix.cli.settings import read_configuration
from wheelfix.diagnosis.symptoms.reader import read_log
from wheelfix.errors import WheelfixError
from wheelfix.model import Image
from wheelfix.pe.gpucode import read_gpu_code
from wheelfix.pe.image import read_image
from wheelfix.pe.signature import read_signature
from wheelfix.pe.version import read_version
from wheelfix.roots.condafile import open_package
from wheelfix.streams.source import MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable


NAME = "pkg-1.0-cp311-cp311-win_amd64.whl"


def _file(name: str, data: bytes) -> Path:
    path = scratch() / name
    path.write_bytes(data)
    return path


def archive(data: bytes) -> None:
    """The archive reader, its checks and RECORD, compared with zipfile where we find nothing wrong."""
    with contextlib.suppress(WheelfixError), Archive.open(_file(NAME, data), LIMITS) as opened:
        faults = check_archive(opened)
        for member in opened.members:
            with contextlib.suppress(WheelfixError):
                opened.read(member, 1 << 20)
        with contextlib.suppress(WheelfixError):
            WheelInfo.from_archive(opened)
        with contextlib.suppress(WheelfixError):
            if not all(fault.message for fault in check_record(opened, hashes=True, jobs=1)):
                raise AssertionError("a fault of RECORD without a word")
        if not faults:
            ask_zipfile(opened, data)


def record(data: bytes) -> None:
    """The RECORD parser, compared with csv and installer; what is written is read back the same."""
    try:
        parsed = Record.parse(data)
    except WheelfixError:
        return
    again = Record.parse(render(parsed.rows))
    marked = bool(parsed.rows) and parsed.rows[0].path.startswith("\ufeff")  # would be taken for a byte order mark
    if parsed.faults or marked:
        return
    if again.rows != parsed.rows:
        raise Disagreement("rows change when they are written and read again")
    ask_csv(data, parsed)


def image(data: bytes) -> None:
    """Everything that reads PE images; imports and exports are compared with LIEF and pefile."""
    source = MemorySource(data)
    facts = read_image(source)
    read_version(source)
    read_gpu_code(source)
    read_signature(source)
    if isinstance(facts, Image) and not facts.oddities:
        ask_lief_and_pefile(facts, data)


def error_text(data: bytes) -> None:
    """The reader of error texts: as bytes of any encoding, and as text."""
    read_log(data)
    read_log(data.decode("utf-8", "replace"))


def config(data: bytes) -> None:
    """Configuration files of both names."""
    for name in ("wheelfix.toml", "pyproject.toml"):
        with contextlib.suppress(WheelfixError):
            read_configuration(_file(name, data))


def conda(data: bytes) -> None:
    """Conda packages: the input is the tar in one, or after a first byte of 1 the whole file."""
    whole, data = data[:1] == b"\1", data[1:]
    path = _file("pkg-1.0-0.tar.bz2", data if whole else bz2.compress(data, 1))
    with contextlib.suppress(WheelfixError):
        package = open_package(path)
        inside = set(package.dlls.values())
        if inside != set(package.folder.path.glob("[!.]*")) or any(map(Path.is_symlink, inside)):
            raise AssertionError("something else than the DLLs was unpacked")


def patterns(data: bytes) -> None:
    """The package's patterns, on a text that repeats part of the input: none takes longer than in proportion to it.

    The first two bytes choose the pattern; then come a beginning, what is repeated and an end, with zeros between.
    """
    site = sites()[int.from_bytes(data[:2], "big") % len(sites())]
    lead, _, rest = data[2:].decode("utf-8", "replace").partition("\0")
    pump, _, end = rest.partition("\0")
    if fault := slow_attack(site, [(lead, pump or "x", end)]):
        raise AssertionError(fault)


def installers(data: bytes) -> None:
    """A wheel made at random: verify agrees with pip, uv and installer, which are run on it."""
    folder = scratch() / f"installers-{next(_NUMBERS)}"
    try:
        for text in disagreements(draft(data).write(folder), folder / "prefix"):
            raise Disagreement(text)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for client in CLIENTS:
        COMPARED[client] += 1


_NUMBERS = itertools.count()

TARGETS: dict[str, Callable[[bytes], None]] = {
    "archive": archive,
    "record": record,
    "image": image,
    "signatures": signatures,
    "error-text": error_text,
    "config": config,
    "lock": lock,
    "conda": conda,
    "scan": scan,
    "repair": repair,
    "diagnose": diagnose,
    "patterns": patterns,
    "installers": installers,
    "package-code": package_code,
    **TRUST,
}

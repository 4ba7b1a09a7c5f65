"""The seed corpus: small valid and odd inputs for every target, made here, so that none of them need be kept."""

from __future__ import annotations

import bz2
import functools
import io
import itertools
import json
import tarfile
from pathlib import Path

from fuzz import wheels
from fuzz.backtrack import attacks
from fuzz.commands import planned
from fuzz.packagecode import package_code_seeds
from fuzz.patterns import sites
from fuzz.signatures import signature_seeds
from fuzz.trust import TRUST
from tests.archive.byhand import Entry, build_zip, wheel_entries
from tests.archive.hostile import CASES
from tests.support.gpucode import gpu_dll
from tests.support.signing import signed
from tools.forge import forge_dll
from wheelfix.model import Machine
from wheelfix.plan.lock import LOCK_SCHEMA

ERRORS = Path(__file__).parents[1] / "fixtures" / "errors"

CONFIG = """\
[tool.wheelfix]
fail-on = "warning"
ignore = ["WF605"]
[tool.wheelfix.repair]
wheel-dir = "wheelhouse"
[tool.wheelfix.wheels."torch*"]
ignore = ["WF303"]
"""

RECORD = b"""\
pkg/__init__.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0
"pkg/a,b.py",sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,12
pkg-1.0.dist-info/RECORD,,
"""


def seeds(target: str) -> list[bytes]:
    """Return the seeds of a target."""
    return {
        "archive": _archives,
        "record": lambda: [RECORD, RECORD.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + RECORD, b"a\\b,md5=x,y\n", b""],
        "image": _images,
        "signatures": signature_seeds,
        "error-text": _texts,
        "config": lambda: [CONFIG.encode(), CONFIG.replace("tool.wheelfix.", "").encode(), b"", b"a = 1\n"],
        "lock": _locks,
        "conda": _tars,
        "scan": lambda: wheels.seeds(*dict.fromkeys(_archives())),
        "repair": lambda: wheels.seeds(*dict.fromkeys(_archives())),
        "diagnose": _texts,
        "patterns": _attacks,
        "installers": lambda: [b"one", b"two", b"three"],
        "package-code": package_code_seeds,
        **dict.fromkeys(TRUST, lambda: [b"one", b"two", b"three"]),
    }[target]()


def _attacks() -> list[bytes]:
    """A few inputs for every pattern, made from its own parts."""
    found = []
    for number, site in enumerate(sites()):
        for lead, pump, end in itertools.islice(attacks(site), 0, 200, 67):
            found.append(number.to_bytes(2, "big") + f"{lead}\0{pump}\0{end}".encode())
    return found


def _archives() -> list[bytes]:
    sound = [
        wheel_entries(),
        wheel_entries([Entry("pkg/größe.py", b"x = 1\n"), Entry("pkg/", method=0), Entry("pkg/b.bin", bytes(99), 0)]),
        wheel_entries([Entry(f"pkg/m{number}.py", b"x = %d\n" % number) for number in range(20)]),
    ]
    odd = [build_zip(wheel_entries(case.entries), **case.options) for case in CASES.values()]
    # As many sound ones as odd ones: what is damaged once more is seldom worth comparing.
    return odd + [build_zip(entries) for entries in sound] * (len(odd) // len(sound))


def _texts() -> list[bytes]:
    texts = [path.read_bytes() for path in sorted(ERRORS.glob("*.txt"))]
    return [
        *texts,
        *(text.decode().encode("utf-16") for text in texts[:5]),
        b"",
        b"\x1b[31mOSError: [WinError 126]\x1b[0m",
    ]


def _images() -> list[bytes]:
    imports: dict[str, list[str | int]] = {"KERNEL32.dll": ["Sleep", 12], "b.dll": ["f"]}
    rich = functools.partial(forge_dll, "a.dll", imports=imports, exports=["one", "two", 9])
    return [
        rich(delay_imports={"late.dll": ["g", 3]}, version=(1, 2, 3, 4), forwarders={"x": "c.y"}),
        rich(machine=Machine.X86),
        rich(machine=Machine.ARM64, dependent_load_flags=0x800),
        forge_dll("a.dll", managed=True, certificate=b"\x30\x03\x02\x01\x00"),
        gpu_dll("a.dll", "sm_37", "sm_86", "compute_86"),
        signed(),
        b"version https://git-lfs.github.com/spec/v1\n",
        b"MZ",
    ]


def _tars() -> list[bytes]:
    made = []
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
            for name, data in {"Library/bin/a.dll": b"MZ" + bytes(600), "info/index.json": b'{"name": "pkg"}'}.items():
                header = tarfile.TarInfo(name)
                header.size = len(data)
                if form == tarfile.PAX_FORMAT:
                    header.pax_headers = {"comment": "größe", "mtime": "1.5"}
                archive.addfile(header, io.BytesIO(data))
            link = tarfile.TarInfo("Library/bin/" + "l" * (80 if form == tarfile.USTAR_FORMAT else 300) + ".dll")
            link.type, link.linkname = tarfile.SYMTYPE, "a.dll"
            archive.addfile(link)
        made.append(buffer.getvalue())
    return [*(b"\0" + tar for tar in made), b"\1" + bz2.compress(made[0]), b"\0"]


def _locks() -> list[bytes]:
    lock = planned()
    compact = json.dumps(json.loads(lock)).encode()
    return [lock, compact, b"", b"{}", json.dumps({"schema": LOCK_SCHEMA, "plans": []}).encode()]

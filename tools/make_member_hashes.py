"""Writes ``wheelfix/knowledge/member_hashes.txt``: the sha256 of every DLL of wheels that were downloaded whole.

``python -m tools.make_member_hashes NAME==VERSION…`` downloads wheels from the package index that pip is configured
for, checks them against the hash that the index gives, and adds their DLLs to the table. A wheel without a hash on the
index is refused.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

from wheelfix.archive.reader import Archive
from wheelfix.errors import WheelfixError
from wheelfix.model import fold
from wheelfix.remote.client import Client
from wheelfix.remote.settings import RemoteOptions

TABLE = Path(__file__).parent.parent / "wheelfix/knowledge/member_hashes.txt"
HEADING = """\
# The sha256 of DLLs in wheels on PyPI, with the wheel and the path in it
# source: the wheels themselves, downloaded whole and checked against the sha256 of the index
# made by: python -m tools.make_member_hashes NAME==VERSION...
"""


def rows_of(wheel: Path, name: str) -> list[str]:
    """Return a row for each DLL of a wheel on this disk."""
    rows = []
    with Archive.open(wheel) as archive:
        for member in archive.members:
            if fold(member.name).endswith(".dll"):
                digest = hashlib.sha256()
                for piece in archive.chunks(member):
                    digest.update(piece)
                rows.append(f"{digest.hexdigest()}\t{name}\t{member.name}")
    return rows


def write_table(rows: list[str], table: Path = TABLE) -> None:
    """Write the rows, and those that are there, in order."""
    old = [line for line in table.read_text("utf-8").splitlines() if line[:1] != "#"] if table.exists() else []
    found = {row.partition("\t")[0]: row for row in [*rows, *old]}
    table.write_text(HEADING + "".join(f"{found[key]}\n" for key in sorted(found)), encoding="utf-8", newline="\n")


def main(argv: list[str]) -> int:
    """Download the wheels and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("requirements", nargs="+", metavar="NAME==VERSION")
    parser.add_argument("--table", type=Path, default=TABLE)
    args = parser.parse_args(argv)
    rows: list[str] = []
    try:
        for requirement in args.requirements:
            with Client(RemoteOptions(cache=False), say=print) as client:
                wheel = client.find(requirement)
                if isinstance(wheel, Path) or not wheel.sha256:
                    print(f"{requirement}: the index gives no hash for it", file=sys.stderr)
                    return 1
                new = rows_of(wheel.whole(), wheel.name)
                print(f"{wheel.name}: {len(new)} DLLs", flush=True)
                rows += new
    except WheelfixError as exc:
        print(exc, file=sys.stderr)
        return 1
    write_table(rows, args.table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

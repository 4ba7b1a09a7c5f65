"""Writes ``wheelfix/knowledge/member_hashes.txt``: the sha256 of every DLL of wheels that were downloaded whole.

``python -m tools.make_member_hashes NAME==VERSION…`` downloads wheels from the package index that pip is configured
for, checks them against the hash that the index gives, and adds their DLLs to the table. A file that was downloaded
before is named by its path, and checked likewise. A wheel without a hash on the index is refused.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

from tools.heading import heading
from wheelfix.archive.reader import Archive
from wheelfix.base.options import RemoteOptions
from wheelfix.errors import WheelfixError
from wheelfix.model import fold
from wheelfix.remote.client import Client

TABLE = Path(__file__).parent.parent / "wheelfix/knowledge/member_hashes.txt"
ABOUT = "The sha256 of DLLs in wheels on PyPI, with the wheel and the path in it"
SOURCE = "the wheels themselves, downloaded whole and checked against the sha256 of the index"


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
    head = heading(ABOUT, SOURCE, "python -m tools.make_member_hashes NAME==VERSION")
    table.write_text(head + "".join(f"{found[key]}\n" for key in sorted(found)), encoding="utf-8", newline="\n")


def checked(word: str, client: Client) -> tuple[Path, str]:
    """Return a whole wheel and its name; ValueError if its hash is not on the index, or another."""
    if not word.endswith(".whl"):
        wheel = client.find(word)
        if isinstance(wheel, Path) or not wheel.sha256 or wheel.page:
            raise ValueError("the index gives no hash for it, or gives it over plain http")
        return wheel.whole(), wheel.name
    path = Path(word)
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    hashes = [
        one.sha256 for one in client.index.files(path.name.split("-")[0]) if one.name == path.name and not one.page
    ]
    if digest.hexdigest() not in hashes:
        raise ValueError("it does not have the hash that the index gives")
    return path, path.name


def main(argv: list[str]) -> int:
    """Download the wheels and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", metavar="NAME==VERSION or FILE")
    parser.add_argument("--table", type=Path, default=TABLE)
    args = parser.parse_args(argv)
    rows: list[str] = []
    for word in args.wheels:
        try:
            with Client(RemoteOptions(cache=False), say=print) as client:
                path, name = checked(word, client)
                new = rows_of(path, name)
        except (WheelfixError, OSError, ValueError) as exc:
            print(f"{word}: {exc}", file=sys.stderr)
            return 1
        print(f"{name}: {len(new)} DLLs", flush=True)
        rows += new
    write_table(rows, args.table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Write what ``--fetch`` knows from a survey: who ships which DLL, in which versions and folders, and with which hash.

python -m tools.provider_index_from_survey SURVEY --output FOLDER [--names FILE | --known]

With ``--names`` the survey is made first, or continued: ``wheelfix survey --names FILE -o SURVEY``. ``--known`` takes
the versions that the provider index of this checkout has, 15 000 wheels. Then two things are written:

- the provider index (``provider_dlls.txt``, ``provider_distributions.txt``, ``modules.txt``). For each version, the
  wheel that tools/make_provider_index.py would take is used (x64 first). The same survey gives the same bytes.
- ``member_hashes.txt``, of the distributions whose DLLs ``--fetch`` vendors. A survey reads parts of wheels, and the
  hash on the index is that of the whole file. So these wheels are downloaded whole, must have the hash that both the
  index and the survey have, and their DLLs are hashed. A wheel that differs is reported and left out. Rows that the
  folder's table has stay, and their wheels are not downloaded again. ``--no-hashes`` leaves this out.

With ``--output wheelfix/knowledge`` the tables of this checkout are replaced: only with a survey of everything.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from packaging.version import InvalidVersion, Version

from tools.make_member_hashes import rows_of, write_table
from tools.provider_tables import Looked, write_tables
from tools.remote_wheel import Contents, comparable, required_on_windows, wheel_rank
from wheelfix.base.options import RemoteOptions
from wheelfix.cli.main import main as wheelfix
from wheelfix.errors import InputError, WheelfixError
from wheelfix.knowledge.provider_index import MEMBER_HASHES, provider_index, vendor_of
from wheelfix.remote.client import Client
from wheelfix.remote.ranges import RemoteWheel
from wheelfix.streams.source import file_sha256
from wheelfix.survey.tables import ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WHEELS = """
SELECT DISTINCT name, version, file, sha256, requires_dist, modules FROM wheels
WHERE status = 'scanned' ORDER BY name, file, sha256
"""
DLLS = "SELECT DISTINCT sha256, path FROM providers ORDER BY sha256, path"


class Shipped(NamedTuple):
    """The wheel that stands for a version of a distribution."""

    name: str
    version: Version
    file: str
    sha256: str
    contents: Contents


def shipped(survey: Path) -> list[Shipped]:
    """Return the wheels of a survey that the tables are made from."""
    dlls: dict[str, list[str]] = defaultdict(list)
    for sha256, path in ask(survey, DLLS).rows:
        dlls[sha256].append(path)
    found = []
    for (name, version), row in _chosen_wheels(ask(survey, WHEELS).rows).items():
        _, _, file, sha256, requires, modules = row
        contents = Contents(tuple(dlls[sha256]), tuple(modules), required_on_windows(requires))
        found.append(Shipped(name, version, file, sha256, contents))
    return found


def _chosen_wheels(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, Version], tuple[Any, ...]]:
    """Return the row of the wheel that stands for each version of a distribution."""
    best: dict[tuple[str, Version], tuple[tuple[int, int], tuple[Any, ...]]] = {}
    for row in rows:
        rank = wheel_rank(row[2])
        try:
            key = (row[0], Version(row[1]))
        except InvalidVersion:
            continue
        if rank is not None and (key not in best or rank < best[key][0]):
            best[key] = (rank, row)
    return {key: row for key, (_, row) in sorted(best.items())}


def write_index(wheels: Sequence[Shipped], output: Path, date: str = "") -> None:
    """Write the three tables of the provider index."""
    looked = [Looked(one.name, one.version, one.file, comparable(one.contents, one.file)) for one in wheels]
    write_tables(looked, output, "python -m tools.provider_index_from_survey", date)


def write_hashes(wheels: Sequence[Shipped], output: Path, options: RemoteOptions) -> list[str]:
    """Add the DLLs of vendors' wheels to the table of hashes; return why wheels were left out."""
    table = output / MEMBER_HASHES
    known = (
        {line.split("\t")[1] for line in table.read_text("utf-8").splitlines() if "\t" in line}
        if table.exists()
        else ()
    )
    rows, faults = list[str](), list[str]()
    for one in wheels:
        if not vendor_of(one.name) or one.file in known or not any(dll.endswith(".dll") for dll in one.contents.dlls):
            continue
        try:
            with Client(options, say=lambda text: print(text, file=sys.stderr)) as client:
                rows += rows_of(_whole(client, one), one.file)
        except WheelfixError as error:
            faults.append(f"{one.file}: {error}")
    write_table(rows, table)
    return faults


def _whole(client: Client, one: Shipped) -> Path:
    """Return the whole wheel; InputError unless it has the hash that the index and the survey have."""
    file = next((file for file in client.index.files(one.name) if file.name == one.file), None)
    if file is None or not file.sha256 or file.page:
        raise InputError("left out", because="the index does not have it, or no hash for it, or came over plain http")
    if file.sha256 != one.sha256:
        raise InputError("left out", because="its hash in the survey is not that on the index")
    wheel = client.wheel_of(file)
    path = wheel.whole() if isinstance(wheel, RemoteWheel) else wheel
    if file_sha256(path) != file.sha256:
        raise InputError("left out", because="the file does not have the hash that the index says")
    return path


def known_names() -> str:
    """Return the versions of the provider index of this checkout, as a file of names."""
    index = provider_index()
    return "".join(f"{name}=={one.version}\n" for name in index.names for one in index.looked_at(name))


def main(argv: list[str]) -> int:
    """Make a survey if asked to, and write its tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("survey", type=Path, help="the folder of the survey")
    parser.add_argument("--output", type=Path, required=True, help="the folder for the tables")
    names = parser.add_mutually_exclusive_group()
    names.add_argument("--names", type=Path, metavar="FILE", help="first survey these projects, one in a line")
    names.add_argument("--known", action="store_true", help="first survey all versions of the present index")
    parser.add_argument("--index-url", default="", help="as that of wheelfix survey")
    parser.add_argument("-j", "--jobs", default="", help="as that of wheelfix survey")
    parser.add_argument("--no-hashes", action="store_true", help="download no wheels, and write no member_hashes.txt")
    args = parser.parse_args(argv)
    try:
        args.output.mkdir(parents=True, exist_ok=True)
        if args.known:
            args.names = args.output / "names.txt"
            args.names.write_text(known_names(), encoding="utf-8", newline="\n")
        if args.names is not None:
            words = ["survey", "--names", str(args.names), "-o", str(args.survey)]
            words += ["--index-url", args.index_url] if args.index_url else []
            if code := wheelfix([*words, "-j", args.jobs] if args.jobs else words):
                return code
        wheels = shipped(args.survey)
        write_index(wheels, args.output)
        options = RemoteOptions(index_url=args.index_url, cache=False)
        faults = [] if args.no_hashes else write_hashes(wheels, args.output, options)
    except WheelfixError as error:
        print(f"{error}; {error.hint}" if error.hint else str(error), file=sys.stderr)
        return int(error.exit_code)
    print("".join(f"{fault}\n" for fault in faults) + f"{len(wheels)} wheels, tables in {args.output}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

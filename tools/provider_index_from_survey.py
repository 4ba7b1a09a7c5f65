"""Write the provider index from a survey: which distribution ships which DLL, in which versions and in which folder.

python -m tools.provider_index_from_survey SURVEY [--output FOLDER]

Of each version the wheel counts that tools/make_provider_index.py would take (x64 first). Besides the three tables of
the provider index it writes ``member_hashes.tsv``: distribution, version, file of the wheel and its SHA-256, member and
its SHA-256 as RECORD has it. The same survey gives the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from tools.provider_tables import Looked, write_tables
from tools.remote_wheel import Contents, comparable, required_on_windows, wheel_rank
from wheelfix.errors import WheelfixError
from wheelfix.survey.queries import ask

if TYPE_CHECKING:
    from collections.abc import Iterable

KNOWLEDGE = Path(__file__).parents[1] / "wheelfix" / "knowledge"
HASHES = "member_hashes.tsv"
WHEELS = """
SELECT DISTINCT name, version, file, sha256, requires_dist, modules FROM wheels
WHERE status = 'scanned' ORDER BY name, file, sha256
"""
DLLS = "SELECT DISTINCT sha256, path, member, member_sha256 FROM providers ORDER BY sha256, path"


def chosen_wheels(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, Version], tuple[Any, ...]]:
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


def make(survey: Path, output: Path, date: str = "") -> int:
    """Write the tables; return of how many wheels."""
    dlls: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for sha256, path, member, digest in ask(survey, DLLS).rows:
        dlls[sha256].append((path, member, digest))
    looked, hashes = [], []
    for (name, version), row in chosen_wheels(ask(survey, WHEELS).rows).items():
        _, _, file, sha256, requires, modules = row
        places = tuple(path for path, _, _ in dlls[sha256])
        contents = Contents(places, tuple(modules), required_on_windows(requires))
        looked.append(Looked(name, version, file, comparable(contents, file)))
        hashes += ["\t".join([name, str(version), file, sha256, member, digest]) for _, member, digest in dlls[sha256]]
    output.mkdir(parents=True, exist_ok=True)
    write_tables(looked, output, "python -m tools.provider_index_from_survey", date)
    heading = "distribution\tversion\tfile\twheel_sha256\tmember\tmember_sha256\n"
    (output / HASHES).write_text(heading + "".join(f"{line}\n" for line in hashes), encoding="utf-8", newline="\n")
    return len(looked)


def main(argv: list[str]) -> int:
    """Write the tables of a survey."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("survey", type=Path, help="the folder of the survey")
    parser.add_argument("--output", type=Path, default=KNOWLEDGE, help="the folder for the tables")
    args = parser.parse_args(argv)
    try:
        count = make(args.survey, args.output)
    except WheelfixError as error:
        print(f"{error}; {error.hint}" if error.hint else str(error), file=sys.stderr)
        return int(error.exit_code)
    print(f"{count} wheels, tables in {args.output}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Fill the cache of real wheels: ``python -m tests.real.fetch [--all] [--sets]``.

Downloads what is not there yet, several at once, with pip and from wherever pip is told to look.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.real.environments import set_wheels_folder, wheels_of_matrix, wheels_of_sets
from tests.real.listing import Listed, listed
from tests.support.tiers import wheels_folder


def main(argv: list[str] | None = None) -> int:
    """Download the small set, or with ``--all`` everything on the list; 1 when something could not be had."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.fetch", description=__doc__)
    parser.add_argument("--all", action="store_true", help="the whole list (about 7 GB) instead of CI's small set")
    parser.add_argument(
        "--sets", action="store_true", help="also all wheels of sets and of torch's matrix (about 5 GB)"
    )
    parser.add_argument("--only", metavar="PROJECT", action="append", help="only this project; may be repeated")
    parser.add_argument("-j", "--jobs", type=int, default=4, help="downloads at once (default: 4)")
    chosen = parser.parse_args(argv)
    wanted = [wheel for wheel in listed() if chosen.all or chosen.only or wheel.in_ci]
    if chosen.only:
        wanted = [wheel for wheel in wanted if wheel.project in chosen.only]
    failed = fill(wheels_folder(), wanted, chosen.jobs)
    if not chosen.only:
        sets = [*wheels_of_sets(everything=chosen.sets), *(wheels_of_matrix() if chosen.sets else ())]
        others = [wheel for wheel in sets if not (wheels_folder() / wheel.file).is_file()]
        failed += fill(set_wheels_folder(), others, chosen.jobs)
    return 1 if failed else 0


def fill(folder: Path, wanted: list[Listed], jobs: int) -> int:
    """Download what is not in a folder; returns how many wheels could not be had."""
    folder.mkdir(parents=True, exist_ok=True)
    absent = [wheel for wheel in wanted if not (folder / wheel.file).is_file()]
    print(f"{len(wanted) - len(absent)} of {len(wanted)} wheels are in {folder}")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for wheel, trouble in zip(absent, pool.map(lambda one: download(one, folder), absent), strict=True):
            print(f"{'failed' if trouble else 'got   '} {wheel.file}{': ' + trouble if trouble else ''}", flush=True)
            failed += bool(trouble)
    return failed


def download(wheel: Listed, folder: Path) -> str:
    """Fetch one wheel; it gets its place only when it is whole. Returns what went wrong, or nothing."""
    _, abi, platform = wheel.tags
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    command += ["--only-binary=:all:", "--platform", platform, "--python-version", wheel.python]
    command += ["--abi", abi] if abi.endswith("t") else []
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as place:
        done = subprocess.run(
            [*command, "--dest", place, f"{wheel.project}=={wheel.version}"], capture_output=True, text=True
        )
        if done.returncode:
            return (done.stderr.strip() or "pip gave no reason").splitlines()[-1]
        (got,) = Path(place).glob("*.whl")
        if got.name != wheel.file:
            return f"pip brought {got.name} instead"
        got.replace(folder / wheel.file)
    return ""


if __name__ == "__main__":
    sys.exit(main())

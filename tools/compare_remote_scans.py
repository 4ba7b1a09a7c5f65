"""Compares the scan of a wheel on the package index with the scan of the same file on this disk.

``python -m tools.compare_remote_scans WHEEL…`` looks each file up on the index by its name, scans both, and prints the
share of bytes that was read, and whether the two reports are the same but for the path. If one is not, it exits with 1.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.errors import WheelfixError
from wheelfix.exam.scan import scan_all
from wheelfix.model import ScanReport
from wheelfix.options import RootOptions, ScanOptions
from wheelfix.remote.client import Client
from wheelfix.remote.settings import RemoteOptions
from wheelfix.report.json_ import scan_value

if TYPE_CHECKING:
    from wheelfix.remote.wheel import WheelPath


def scanned(path: WheelPath) -> str:
    """Return the report as JSON without the path."""
    (result,) = scan_all([path], ScanOptions(roots=RootOptions(discover=False)))
    if not isinstance(result, ScanReport):
        raise result.error
    return json.dumps({**scan_value(result), "path": ""}, sort_keys=True)


def compare(path: Path) -> tuple[bool, float, int]:
    """Return whether the two scans are the same, the share of bytes that was read, and the number of requests."""
    with Client(RemoteOptions(cache=False)) as client:
        files = client.index.files(path.name.split("-")[0])
        file = next((one for one in files if one.name == path.name), None)
        if file is None:
            raise LookupError(path.name)
        wheel = client.wheel_of(file)
        if isinstance(wheel, Path):
            raise LookupError(path.name)
        before = client.transport.requests
        same = scanned(wheel) == scanned(path)
        return same, wheel.fetched / path.stat().st_size, client.transport.requests - before


def main(argv: list[str]) -> int:
    """Compare wheels, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    shares, cuda, different = [], [], 0
    for path in parser.parse_args(argv).wheels:
        try:
            same, share, requests = compare(path)
        except LookupError:
            print(f"not on the index: {path.name}", flush=True)
            continue
        except WheelfixError as error:
            print(f"failed: {path.name}: {error}", flush=True)
            different += 1
            continue
        shares.append(share)
        cuda += [share] if path.name.startswith("nvidia_") else []
        different += not same
        print(f"{'same' if same else 'OTHER':<6}{share:7.1%}{requests:6} requests  {path.name}", flush=True)
    if shares:
        print(f"{len(shares)} wheels, {different} different; median share {statistics.median(shares):.1%}")
    if cuda:
        print(f"{len(cuda)} wheels of NVIDIA: median share {statistics.median(cuda):.1%}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

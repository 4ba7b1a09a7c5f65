"""Compares the scan of a wheel on the package index with the scan of the same file on this disk.

``python -m tools.compare_remote_scans WHEEL…`` looks each file up on the index by its name, scans both, and prints the
share of bytes that was read, and whether the two reports are the same but for the path. If one is not, it exits with 1.
For ``NAME==VERSION`` and with ``--nvidia`` only the share is measured, and nothing is downloaded whole.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.options import RemoteOptions, RootOptions, ScanOptions
from wheelfix.errors import WheelfixError
from wheelfix.exam.scan import scan_all
from wheelfix.knowledge.provider_index import provider_index
from wheelfix.model import ScanReport
from wheelfix.remote.client import Client
from wheelfix.report.json_ import scan_value

if TYPE_CHECKING:
    from wheelfix.remote.ranges import WheelPath

CUDA = re.compile(
    r"nvidia-(?:cublas|cuda-(?:cupti|nvrtc|runtime|opencl)|cudnn|cudss|cufft|curand|cusolver|cusparse|cusparselt|npp"
    r"|nvcomp|nvfatbin|nvjitlink|nvjpeg|nvjpeg2k|nvtiff|nvvm|nvimgcodec)(?:-cu1[1-3])?"
)
"""The distributions of libraries; tools such as nvcc and headers are left out."""


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


def share_of(word: str) -> tuple[str, float, int, int]:
    """Scan a wheel on the index; return its name, the share of bytes that was read, its size and the requests."""
    with Client(RemoteOptions(cache=False)) as client:
        wheel = client.find(word)
        if isinstance(wheel, Path):
            raise LookupError(word)
        before = client.transport.requests
        scanned(wheel)
        return wheel.name, wheel.fetched / wheel.size, wheel.size, client.transport.requests - before


def nvidia_releases() -> list[str]:
    """Return the newest release of each distribution of NVIDIA's CUDA libraries that ships DLLs for Windows."""
    index = provider_index()
    found = []
    for name in index.names:
        versions = [one.version for one in index.looked_at(name)] if name.startswith("nvidia-") else []
        if versions and index.shipped_by(name, versions[-1]) and CUDA.fullmatch(name):
            found.append(f"{name}=={versions[-1]}")
    return found


def print_shares(words: list[str]) -> int:
    """Print the share of each wheel, as rows of Markdown, and the median."""
    shares = []
    for word in words:
        try:
            name, share, size, requests = share_of(word)
        except (LookupError, WheelfixError) as error:
            print(f"failed: {word}: {error}", file=sys.stderr, flush=True)
            continue
        shares.append(share)
        print(f"| {name.rpartition('-py')[0]} | {size / 1e6:.1f} | {share:.1%} | {requests} |", flush=True)
    print(f"{len(shares)} wheels: median share {statistics.median(shares):.1%}")
    return 0 if len(shares) == len(words) else 1


def main(argv: list[str]) -> int:
    """Compare wheels, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="*", help="files to compare, or NAME==VERSION")
    parser.add_argument("--nvidia", action="store_true", help="the newest release of each of NVIDIA's CUDA libraries")
    args = parser.parse_args(argv)
    words = [word for word in args.wheels if not word.endswith(".whl")] + (nvidia_releases() if args.nvidia else [])
    files = [Path(word) for word in args.wheels if word.endswith(".whl")]
    return (compare_files(files) if files else 0) | (print_shares(words) if words else 0)


def compare_files(paths: list[Path]) -> int:
    """Compare files with the same wheels on the index."""
    shares, cuda, different = [], [], 0
    for path in paths:
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

"""Compare what two checkouts of wheelfix say and write: ``scan`` as JSON, ``repair`` and the bytes of its wheels.

``python -m tools.compare_versions OLD NEW WHEELS...`` runs both over the same wheels, each in one process, and prints a
row for every wheel on which they differ. WHEELS are files or folders. Times, versions of wheelfix and paths of the
working folder are left out of the comparison. The exit code is 1 when something differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNNER = """
import contextlib, io, json, os, sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from wheelfix.cli.main import main

def run(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([*words])
        except SystemExit as exc:
            code = exc.code
    return int(code or 0), out.getvalue(), err.getvalue()

for line in sys.stdin:
    wheel, out = json.loads(line)
    scan = run("scan", wheel, "--format", "json", "--no-discover")
    repair = run("repair", wheel, "-w", out, "--no-discover", "--format", "json")
    sys.stdout.write(json.dumps([scan, repair]) + "\\n")
    sys.stdout.flush()
"""


class Checkout:
    """A process that runs the commands of one checkout."""

    def __init__(self, folder: Path, work: Path, python: str) -> None:
        self.folder, self.work = folder, work
        environ = {**os.environ, "PYTHONPATH": str(folder), "SOURCE_DATE_EPOCH": "1700000000", "NO_COLOR": "1"}
        words = [python, "-c", RUNNER, str(folder)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, text=True)

    def examine(self, wheel: Path) -> dict[str, Any]:
        """Return what the checkout says about a wheel, by command, without what may differ from run to run."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        out = self.work / wheel.stem
        self._process.stdin.write(json.dumps([str(wheel), str(out)]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.folder} ended while it examined {wheel.name}")
        scan, repair = json.loads(answer)
        written = {path.name: _digest(path) for path in sorted(out.glob("*.whl"))}
        for path in out.glob("*"):
            path.unlink()
        return {
            "scan exit": scan[0],
            "scan": _comparable(scan[1], str(self.work)),
            "scan stderr": scan[2],
            "repair exit": repair[0],
            "repair": _comparable(repair[1], str(self.work)),
            "repair stderr": repair[2].replace(str(self.work), "WORK"),
            "bytes": written,
        }

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _comparable(text: str, work: str) -> Any:
    """The document without its provenance; text that is not JSON stays text."""
    try:
        document = json.loads(text.replace(json.dumps(work)[1:-1], "WORK"))
    except ValueError:
        return text.replace(work, "WORK")
    if isinstance(document, dict):
        document.pop("tool", None)
        document.pop("provenance", None)
        document.pop("run", None)
    return document


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Yield the places at which two documents differ, each with what it was and what it is."""
    if type(old) is type(new) and isinstance(old, dict):
        for key in sorted({*old, *new}):
            yield from differences(old.get(key, "(absent)"), new.get(key, "(absent)"), f"{where}.{key}".lstrip("."))
    elif type(old) is type(new) and isinstance(old, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{where}[{number}]")
    elif old != new:
        yield f"{where}: {_short(old)} -> {_short(new)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}..."


def wheels_in(paths: list[Path], largest: int) -> list[Path]:
    """The wheels that are named, or lie in folders that are, up to a size; small ones first."""
    found = [wheel for path in paths for wheel in (sorted(path.glob("*.whl")) if path.is_dir() else [path])]
    return sorted((wheel for wheel in found if wheel.stat().st_size <= largest), key=lambda wheel: wheel.stat().st_size)


def main(argv: list[str] | None = None) -> int:
    """Compare, and print a row for every wheel that differs."""
    parser = argparse.ArgumentParser(description="compare two checkouts of wheelfix over the same wheels")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("wheels", type=Path, nargs="+")
    parser.add_argument("--largest", type=int, default=60, metavar="MB", help="leave larger wheels out (default: 60)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has wheelfix's dependencies")
    args = parser.parse_args(argv)
    wheels = wheels_in(args.wheels, args.largest << 20)
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for name, checkout in (("old", args.old), ("new", args.new)):
            work = Path(folder, name)
            work.mkdir()
            sides.append(Checkout(checkout.resolve(), work, args.python))
        for wheel in wheels:
            old, new = (side.examine(wheel.resolve()) for side in sides)
            found = list(differences(old, new))
            differing += bool(found)
            for line in found[:12]:
                print(f"{wheel.name}: {line}", flush=True)
            if len(found) > 12:
                print(f"{wheel.name}: and {len(found) - 12} more", flush=True)
        for side in sides:
            side.close()
    print(f"{len(wheels)} wheels compared, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Compare what wheelfix predicts with what Windows does: on Windows, ``python -m tools.windows_check``.

It makes the wheels of ``windows_cases.py``, scans each, puts each into a folder of its own, imports it in a
fresh process of a clean Python, and prints a table. The exit code is 1 if a prediction differs from what happened.

--make FOLDER   make the wheels and the predictions there, on any system, and stop
--made FOLDER   import what was made there; needs nothing but the standard library
--python PATH   the clean Python 3.11 that imports (default: the one that runs this, isolated)
--pip           install with the pip of the Python that runs this, instead of unpacking
--except NAME   leave a case out; repeatable
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ON = "win32"
IMPORTER = Path(__file__).with_name("import_case.py")
LIST = "cases.json"


@dataclass(frozen=True)
class Row:
    """One case: what was predicted and what happened."""

    name: str
    about: str
    predicted: int
    observed: int
    line: str

    @property
    def agrees(self) -> bool:
        """Whether the prediction came true."""
        return self.predicted == self.observed


def main(argv: list[str] | None = None) -> int:
    """Make, predict, import, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make", type=Path)
    parser.add_argument("--made", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--pip", action="store_true")
    parser.add_argument("--except", dest="left_out", action="append", default=[])
    args = parser.parse_args(argv)
    if args.make is not None:
        make(args.make)
        return 0
    if sys.platform != ON:
        sys.exit("this asks Windows' own loader; run it on Windows, or `python dev.py wine-x64`")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        if args.made is None:
            make(Path(temporary))
        rows = compare(args.made or Path(temporary), args.python, args.left_out, pip=args.pip)
    return report(rows)


def report(rows: list[Row]) -> int:
    """Print the table, also on the page of a GitHub job, and return the exit code."""
    text = table(rows)
    print(text)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    wrong = [row.name for row in rows if not row.agrees]
    end = f"; wrong: {', '.join(wrong)}" if wrong else ""
    print(f"{len(rows) - len(wrong)} of {len(rows)} predictions came true{end}")
    return 1 if wrong or not rows else 0


def make(folder: Path) -> None:
    """Write the wheels of all cases, and a list of them with what wheelfix predicts for each."""
    from tools.windows_cases import cases, write_case, write_demo

    found = [(case.name, case.about, case.module, write_case(case, folder)) for case in cases()]
    found += [(name, "the wheel of `wheelfix demo`", "torch", path) for name, path in write_demo(folder).items()]
    entries = [
        {
            "name": name,
            "about": about,
            "module": module,
            "wheel": wheel.relative_to(folder).as_posix(),
            "predicted": predict(wheel),
        }
        for name, about, module, wheel in found
    ]
    (folder / LIST).write_text(json.dumps(entries, indent=2), encoding="utf-8")


def predict(wheel: Path) -> int:
    """Return the Windows error code that wheelfix predicts for the import of a wheel, 0 for none."""
    import wheelfix

    roots = wheelfix.RootOptions(discover=False)
    failure = wheelfix.scan(wheel, wheelfix.ScanOptions(roots=roots)).first_failure
    return failure.code if failure is not None else 0


def compare(folder: Path, python: str, left_out: list[str], *, pip: bool) -> list[Row]:
    """Import what was made in a folder, and return a row for each case."""
    entries = json.loads((folder / LIST).read_text(encoding="utf-8"))
    unknown = set(left_out) - {entry["name"] for entry in entries}
    if unknown:
        sys.exit(f"there is no case {', '.join(sorted(unknown))}")
    rows = []
    for entry in (entry for entry in entries if entry["name"] not in left_out):
        site = folder / "sites" / entry["name"]
        install(folder / entry["wheel"], site, pip=pip)
        observed, line = observe(python, site, entry["module"])
        rows.append(Row(entry["name"], entry["about"], entry["predicted"], observed, line))
    return rows


def install(wheel: Path, site: Path, *, pip: bool) -> None:
    """Put a wheel into a folder of its own."""
    if pip:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
        subprocess.run([*command, "--target", str(site), str(wheel)], check=True, stdin=subprocess.DEVNULL)
        return
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)


def observe(python: str, site: Path, module: str) -> tuple[int, str]:
    """Import a module in a process of its own; the Windows error code and the last line of the error."""
    done = subprocess.run(
        [python, "-I", str(IMPORTER), str(site), module],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        stdin=subprocess.DEVNULL,
        timeout=600,
        check=False,
    )
    try:
        answer = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return -3, f"exit code {done.returncode}: {done.stderr.strip()[-200:]}"
    return int(answer["code"]), str(answer["line"])


def table(rows: list[Row]) -> str:
    """Return the comparison as a Markdown table."""
    lines = ["| case | predicted | observed | | what it is |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        mark = "agrees" if row.agrees else f"DIFFERS: {row.line}"
        lines.append(f"| {row.name} | {word(row.predicted)} | {word(row.observed)} | {mark} | {row.about} |")
    return "\n".join(lines)


def word(code: int) -> str:
    """Return a code as people say it."""
    return {0: "loads", -1: "another load error", -2: "another error", -3: "no answer"}.get(code, f"WinError {code}")


if __name__ == "__main__":
    sys.exit(main())

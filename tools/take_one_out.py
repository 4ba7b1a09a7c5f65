"""Take one DLL out of real wheels, scan each, and compare the verdict with what the import tables say.

``python -m tools.take_one_out WHEEL|FOLDER|LIST... --out table.md [--rows FILE] [--sample N] [--before FILE]``

For each wheel and each of up to 8 of its DLLs, the DLL is removed, once with its row left in RECORD and once without.
``wheelfix scan`` must say broken, with exit code 1, where the row is left, and where an extension module needs the DLL
by import tables that `tools/import_tables.py` reads with pefile. ``--rows FILE`` keeps the results: a run that was
stopped continues there. ``--before FILE`` adds the results of an earlier version to the totals. A list is a text file
with the names of wheels, which are downloaded into ``--wheels FOLDER``. In a page that has the mark, ``--out`` replaces
what follows it up to the next one.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import io
import json
import random
import re
import sys
import tempfile
import time
import zipfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.import_tables import all_required, installed_path, is_provided, providers, read_tables
from tools.package_index import IndexFault, PackageIndex
from wheelfix.cli.main import main as wheelfix
from wheelfix.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from tools.import_tables import WheelTables

MOST_DLLS = 8
MARK, END = "<!-- take one out -->", "<!-- end of take one out -->"
NEEDED = "needed by import tables"
GUARDED = "needed by modules whose import is guarded"
REQUIRED = "needed, and a required distribution ships that name"
SYSTEM = "needed, and Windows, Python, a driver or the VC runtime has it"
TWIN = "another file of the wheel has that name"
DELAYED = "delay-loaded"
NAMED = "named in Python code"
BY_DLL = "needed by DLLs and programs only"
UNKNOWN = "nothing names it"
CLASSES = (NEEDED, GUARDED, REQUIRED, SYSTEM, TWIN, DELAYED, NAMED, BY_DLL, UNKNOWN)
_RECORD = re.compile(r"[^/]+\.dist-info/RECORD")
VERDICTS = ("broken", "risky", "unsure", "ok", "failed")


@dataclass(frozen=True)
class Row:
    """One scan of a wheel without one of its DLLs."""

    wheel: str
    dll: str
    row_left: bool
    """Whether RECORD still lists the DLL."""
    need: str
    """Who needs the DLL: one of ``CLASSES``."""
    module: str
    """The first module that needs it."""
    intact: str
    """The verdict about the wheel as it is."""
    verdict: str
    exit: int
    code: str
    """The first finding that names the DLL."""
    message: str
    seconds: float

    @property
    def deviation(self) -> str:
        """How this differs from what has to be; empty if it does not."""
        if not self.row_left and self.need != NEEDED:
            return ""
        if self.verdict != "broken":
            return f"{self.verdict} instead of broken"
        if self.exit != 1:
            return f"exit code {self.exit}"
        return "" if self.code else "no finding names the DLL"


def chosen_dlls(tables: WheelTables, members: Iterable[str]) -> list[str]:
    """Up to 8 DLLs of a wheel, spread over the sorted list of them."""
    dlls = sorted(member for member in members if member.lower().endswith(".dll") and member in tables.images)
    if len(dlls) <= MOST_DLLS:
        return dlls
    return [dlls[number * len(dlls) // MOST_DLLS] for number in range(MOST_DLLS)]


def need_of(tables: WheelTables, member: str) -> tuple[str, str]:
    """Who needs a DLL, and the first module that does."""
    base = tables.images[member].base
    if any(image.base == base for other, image in tables.images.items() if other != member):
        return TWIN, ""
    modules = tables.reached_by(base)
    if modules:
        bare = [module for module in modules if not tables.is_guarded(module)]
        first = (bare or modules)[0]
        if is_provided(base):
            return SYSTEM, first
        if providers(base) & all_required(tables.requires):
            return REQUIRED, first
        return (NEEDED if bare else GUARDED), first
    if any(base in image.delayed for image in tables.images.values()):
        return DELAYED, ""
    stem = base.removesuffix(".dll")
    if any(stem in text.lower() for text in tables.code.values()):
        return NAMED, ""
    if any(base in image.imports for image in tables.images.values()):
        return BY_DLL, ""
    return UNKNOWN, ""


def write_without(wheel: Path, member: str, target: Path, *, row_left: bool) -> None:
    """Write the wheel without a member; the packed bytes of the others are copied."""
    with zipfile.ZipFile(wheel) as source, wheel.open("rb") as packed, zipfile.ZipFile(target, "w") as made:
        entries = sorted(source.infolist(), key=lambda info: info.header_offset)
        ends = [*(info.header_offset for info in entries[1:]), source.start_dir]
        out = made.fp
        assert out is not None
        record = next((info for info in entries if _RECORD.fullmatch(info.filename)), None)
        text = b"" if record is None or row_left else _without_row(source.read(record), member)
        for info, end in zip(entries, ends, strict=True):
            if info.filename == member or (info is record and not row_left):
                continue
            packed.seek(info.header_offset)
            length, info.header_offset = end - info.header_offset, out.tell()
            out.write(packed.read(length))
            made.filelist.append(info)
            made.NameToInfo[info.filename] = info
        made.start_dir = out.tell()
        made.comment = source.comment  # which also makes it write the directory
        made._didModify = True  # type: ignore[attr-defined]
        if record is not None and not row_left:
            fresh = zipfile.ZipInfo(record.filename, record.date_time)
            fresh.compress_type, fresh.external_attr = zipfile.ZIP_DEFLATED, record.external_attr
            made.writestr(fresh, text)


def _without_row(record: bytes, member: str) -> bytes:
    lines = record.decode("utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if _path_of(line) != member).encode()


def _path_of(line: str) -> str:
    return next(csv.reader([line]), [""])[0].replace("\\", "/")


def rows_of(archive: zipfile.ZipFile) -> set[str]:
    """The paths that RECORD lists."""
    record = next((name for name in archive.namelist() if _RECORD.fullmatch(name)), None)
    return {_path_of(line) for line in archive.read(record).decode("utf-8").splitlines() if line} if record else set()


def scanned(wheel: Path) -> tuple[int, dict[str, object]]:
    """The exit code of ``wheelfix scan`` and its report about one wheel."""
    out, said = io.StringIO(), io.StringIO()
    words = ["scan", "--no-config", "--no-discover", "-j1", "--format=json", str(wheel)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        code = wheelfix(words)
    if code == Exit.INTERRUPTED:
        raise SystemExit(code)
    try:
        return code, json.loads(out.getvalue())["wheels"][0]
    except (ValueError, LookupError):
        return code, {"verdict": "failed", "findings": [], "message": said.getvalue()[:300]}


def finding_about(report: dict[str, object], dll: str) -> tuple[str, str]:
    """The code and the message of the worst finding that names a DLL."""
    order = {"error": 0, "unsure": 1, "warning": 2, "info": 3}
    findings = sorted(report["findings"], key=lambda item: order.get(item["severity"], 9))  # type: ignore[call-overload]
    base = dll.rpartition("/")[2].lower()
    for item in findings:
        if base in f"{item['subject']} {item['message']}".lower():
            return item["code"], item["message"]
    first = findings[0] if findings else None
    return "", f"{first['code']}: {first['message']}" if first else str(report.get("message", ""))


def cases(wheel: Path, done: set[tuple[str, str, bool]], work: Path) -> Iterator[Row]:
    """Scan a wheel without each of its chosen DLLs, except for what is done."""
    tables = read_tables(wheel)
    with zipfile.ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if installed_path(name) is not None]
        listed = rows_of(archive)
    intact = ""
    for dll in chosen_dlls(tables, members):
        need, module = need_of(tables, dll)
        for row_left in (True, False):
            if (wheel.name, dll, row_left) in done or (row_left and dll not in listed):
                continue
            intact = intact or str(scanned(wheel)[1]["verdict"])
            target = work / wheel.name
            write_without(wheel, dll, target, row_left=row_left)
            start = time.perf_counter()
            code, report = scanned(target)
            spent = time.perf_counter() - start
            target.unlink()
            found, message = finding_about(report, dll)
            verdict = str(report["verdict"])
            yield Row(
                wheel.name, dll, row_left, need, module, intact, verdict, code, found, message[:400], round(spent, 2)
            )


def fetched(names: Iterable[str], folder: Path) -> Iterator[Path]:
    """Download the wheels of a list that are not in a folder, and give all that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    index = PackageIndex()
    for name in names:
        target = folder / name
        if not target.exists():
            file = next((file for file in index.files(name.partition("-")[0]) if file.name == name), None)
            if file is None:
                print(f"{name} is not on the index", file=sys.stderr)
                continue
            with index.open(file.url) as opened:
                data = opened.read()
            if file.sha256 and hashlib.sha256(data).hexdigest() != file.sha256:
                raise IndexFault(f"{file.url} has another hash than the index says")
            target.write_bytes(data)
        yield target


def wheels_of(paths: Iterable[Path], folder: Path, sample: int | None, seed: int) -> list[Path]:
    """The wheels that are named, listed or lie in folders, or some of them, drawn with a seed."""
    files = {}
    for path in paths:
        if path.suffix == ".txt":
            names = path.read_text(encoding="utf-8").split()
            found: Iterable[Path] = fetched((name for name in names if name.endswith(".whl")), folder)
        else:
            found = path.glob("*.whl") if path.is_dir() else [path]
        files.update({wheel.name: wheel for wheel in found})
    wheels = [files[name] for name in sorted(files)]
    return wheels if sample is None else sorted(random.Random(seed).sample(wheels, min(sample, len(wheels))))


def read_rows(path: Path | None) -> list[Row]:
    """The rows that were kept; a last line that was cut off is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else ():
        with contextlib.suppress(ValueError):
            rows.append(Row(**json.loads(line)))
    return rows


def _appended(path: Path) -> TextIO:
    """The file of rows, open behind its last line, which may have been cut off."""
    cut = path.exists() and not path.read_bytes().endswith(b"\n")
    file = path.open("a", encoding="utf-8")
    file.write("\n" if cut else "")
    return file


def page(rows: list[Row], before: list[Row]) -> str:
    """The totals and every deviation, as Markdown."""
    wheels = {row.wheel for row in rows}
    dlls = {(row.wheel, row.dll) for row in rows}
    seconds = sum(row.seconds for row in rows) / max(1, len(rows))
    lines = [f"{len(wheels)} wheels, {len(dlls)} DLLs, {len(rows)} scans of {seconds:.2f} s on average.", ""]
    earlier = {(row.wheel, row.dll, row.row_left): row for row in before}
    for row_left, title in ((False, "Without its row in RECORD"), (True, "With its row left in RECORD")):
        lines += [f"**{title}**", ""]
        head = ["the DLL is", "scans", *VERDICTS, "wrong", *(["wrong before"] if before else [])]
        lines += [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
        for need in (*CLASSES, "all"):
            some = [row for row in rows if row.row_left is row_left and need in (row.need, "all")]
            if not some:
                continue
            counted = Counter(row.verdict for row in some)
            wrong = sum(bool(row.deviation) for row in some)
            old = [earlier.get((row.wheel, row.dll, row.row_left)) for row in some]
            cells = [need, len(some), *(counted[verdict] for verdict in VERDICTS), wrong]
            cells += [sum(bool(row.deviation) for row in old if row is not None)] if before else []
            lines.append(f"| {' | '.join(map(str, cells))} |")
        lines.append("")
    wrong_rows = sorted((row for row in rows if row.deviation), key=lambda row: (row.row_left, row.wheel, row.dll))
    lines += [f"**Deviations: {len(wrong_rows)}**", ""]
    if wrong_rows:
        lines += ["| wheel | DLL | row | needed by | answer | finding |", "| --- | --- | --- | --- | --- | --- |"]
    for row in wrong_rows:
        finding = f"{row.code} {row.message}".strip().replace("|", "\\|").replace("\n", " ")
        kept = "left" if row.row_left else "gone"
        texts = [row.wheel, row.dll, kept, row.module or row.need, row.deviation, finding]
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join(lines).rstrip() + "\n"


def _placed(text: str, target: Path) -> str:
    """The text, within the page that is there if it has a place for it."""
    page = target.read_text(encoding="utf-8") if target.is_file() else ""
    before, mark, rest = page.partition(MARK)
    _, end, after = rest.partition(END)
    return f"{before}{mark}\n\n{text}\n{end}{after}" if end else text


def main(argv: list[str] | None = None) -> int:
    """Run it; 1 if an answer deviates."""
    parser = argparse.ArgumentParser(prog="tools.take_one_out", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="WHEEL|FOLDER|LIST")
    parser.add_argument("--wheels", type=Path, default=Path("wheels"), help="the folder for the wheels of a list")
    parser.add_argument("--out", type=Path, help="write the tables to this file (default: print them)")
    parser.add_argument(
        "--rows", type=Path, help="keep the results here, one JSON object in a line, and continue there"
    )
    parser.add_argument("--before", type=Path, help="rows of an earlier version")
    parser.add_argument("--sample", type=int, help="only so many wheels")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    wheels = wheels_of(args.paths, args.wheels, args.sample, args.seed)
    names = {wheel.name for wheel in wheels}
    rows = [row for row in read_rows(args.rows) if row.wheel in names]
    done = {(row.wheel, row.dll, row.row_left) for row in rows}
    with tempfile.TemporaryDirectory(prefix="take-one-out-") as work, contextlib.ExitStack() as stack:
        kept = stack.enter_context(_appended(args.rows)) if args.rows else None
        for number, wheel in enumerate(wheels, 1):
            for row in cases(wheel, done, Path(work)):
                rows.append(row)
                if kept is not None:
                    kept.write(json.dumps(asdict(row)) + "\n")
                    kept.flush()
                if row.deviation:
                    print(f"{number}/{len(wheels)} {row.wheel}: {row.dll}: {row.deviation}", file=sys.stderr)
    text = page(rows, read_rows(args.before))
    if args.out is not None:
        args.out.write_text(_placed(text, args.out), encoding="utf-8")
    else:
        print(text, end="")
    return int(any(row.deviation for row in rows))


if __name__ == "__main__":
    sys.exit(main())

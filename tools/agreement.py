"""Break wheels on purpose, import each for real, and record how often the prediction was correct.

``python -m tools.agreement FOLDER... [--seed 1] [--seconds 1500] [--page docs/explained/agreement.md]``

Every wheel of the folders that fits the Python is imported as it is and broken in several ways; which file is broken is
drawn with the seed. What a wheel requires is taken from the same folders. It needs what ``wheelfix try`` needs and runs
the code of the wheels. ``--rows FILE`` keeps the results: a run that was stopped continues there, and the page is
written from all of them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
import zipfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.forge import forge_dll
from wheelfix.errors import WheelfixError
from wheelfix.model import Machine
from wheelfix.streams.output import WorkFolder
from wheelfix.streams.pool import interruptible
from wheelfix.trial.model import TrialOptions
from wheelfix.trial.run import empty, open_interpreter, try_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wheelfix.trial.model import Interpreter

TAGS = re.compile(r"-(cp311-cp311|cp3\d*-abi3|py3-none|py2\.py3-none)-win_amd64\.whl$")
PATCH = re.compile(rb"\r?\n(\r?\n)?# start delvewheel patch.*?# end delvewheel patch\r?\n", re.DOTALL)
PAGE = Path("docs/explained/agreement.md")
MARK = "<!-- results -->"
LARGEST = 40 << 20
"""Wheels above this size are left out: below an emulator each would take minutes."""


@dataclass(frozen=True)
class Row:
    """One import."""

    wheel: str
    way: str
    file: str
    module: str
    agreement: str
    expected: str
    observed: str
    why: str
    seconds: float


def remove(data: bytes, name: str) -> bytes | None:
    """Take the file out."""
    return None


def truncate(data: bytes, name: str) -> bytes | None:
    """Keep the first half."""
    return data[: len(data) // 2]


def other_machine(data: bytes, name: str) -> bytes | None:
    """Put a file for 32-bit Windows in its place."""
    return forge_dll(name, machine=Machine.X86, exports=["call"])


def other_version(data: bytes, name: str) -> bytes | None:
    """Put a file of the same name in its place that exports something else."""
    return forge_dll(name, exports=["something_else"])


def pointer(data: bytes, name: str) -> bytes | None:
    """Put the pointer in its place that git-lfs checks out without its server."""
    return b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1000\n"


WAYS: dict[str, Callable[[bytes, str], bytes | None]] = {
    "remove": remove,
    "truncate": truncate,
    "other machine": other_machine,
    "other version": other_version,
    "git-lfs pointer": pointer,
}


def broken(wheel: Path, way: str, target: Path, draw: random.Random) -> str | None:
    """Write a wheel that is broken in one way; return the file that it is about, None if it cannot be broken so."""
    with zipfile.ZipFile(wheel) as source:
        names = [info.filename for info in source.infolist() if not info.is_dir()]
        dlls = [name for name in names if name.lower().endswith(".dll")]
        images = dlls or [name for name in names if name.lower().endswith(".pyd")]
        changes: dict[str, bytes | None] = {}
        moved: dict[str, str] = {}
        if way == "unpatch":
            texts = {name: source.read(name) for name in names if name.endswith(".py") and name.count("/") < 3}
            changes = {name: PATCH.sub(b"\n", data) for name, data in texts.items() if PATCH.search(data)}
            about = next(iter(changes), None)
        elif way == "wrong folder":
            about = draw.choice(dlls) if dlls else None
            moved = {about: f"misplaced/{Path(about).name}"} if about else {}
        else:
            about = draw.choice(images) if images else None
            changes = {about: WAYS[way](source.read(about), Path(about).name)} if about else {}
        if about is None:
            return None
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
            for name in names:
                data = changes[name] if name in changes else source.read(name)
                if data is not None:
                    made.writestr(moved.get(name, name), data)
    return about


def main_module(wheel: Path) -> str:
    """Return the module that people import: the top-level one with most files."""
    counted: Counter[str] = Counter()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            top = name.split("/")[0]
            if name.endswith((".py", ".pyd")) and ".dist-info" not in name and ".data" not in top:
                counted[top.split(".")[0]] += 1
    names = [name for name, _ in counted.most_common() if name.isidentifier()]
    names.sort(key=lambda name: name.startswith("_"))
    own = wheel.name.split("-")[0].lower()
    top = next((name for name in names if name.lower() == own), names[0] if names else "")
    return _inside(wheel, top)


def _inside(wheel: Path, top: str) -> str:
    """Return a top-level module, or of a folder without ``__init__.py`` the first package or module in it."""
    with zipfile.ZipFile(wheel) as archive:
        members = sorted(archive.namelist(), key=lambda name: (name.count("/"), name))
    alone = (f"{top}.py", f"{top}/__init__.py", f"{top}/__init__.pyc")
    if not top or any(name in alone or re.fullmatch(rf"{top}(\.[\w-]+)?\.pyd", name) for name in members):
        return top
    modules = (name for name in members if name.startswith(f"{top}/") and name.endswith((".py", ".pyd")))
    first = next(modules, "").removesuffix("/__init__.py").replace("/", ".")
    return re.sub(r"(\.cp3\w+-win\w+|\.abi3)?\.(py|pyd)$", "", first) if first else top


def cases(folders: list[Path], seed: int) -> Iterator[tuple[Path, str]]:
    """Give every wheel with every way, in an order that the seed draws."""
    files = {path.name: path for folder in folders for path in folder.glob("*.whl") if TAGS.search(path.name)}
    wheels = [files[name] for name in sorted(files)]
    wheels = [path for path in wheels if path.stat().st_size <= LARGEST and main_module(path)]
    draw = random.Random(seed)
    every = [(wheel, way) for wheel in wheels for way in ("intact", *WAYS, "wrong folder", "unpatch")]
    draw.shuffle(every)
    # One of each package comes before the second of any, so that a run that is stopped has seen them all.
    seen: Counter[Path] = Counter()
    ranked = []
    for wheel, way in every:
        ranked.append((seen[wheel], wheel, way))
        seen[wheel] += 1
    ranked.sort(key=lambda item: item[0])
    yield from ((wheel, way) for _, wheel, way in ranked)


def play(target: Interpreter, wheel: Path, way: str, options: TrialOptions, work: Path, seed: int) -> Row | None:
    """Break one wheel, try it, and say how that compares; None if it cannot be broken so."""
    about = ""
    path = wheel
    if way != "intact":
        folder = work / "broken"
        folder.mkdir(exist_ok=True)
        path = folder / wheel.name
        found = broken(wheel, way, path, random.Random(f"{seed} {wheel.name} {way}"))
        if found is None:
            return None
        about = found
    module = main_module(wheel)
    chosen = TrialOptions(
        beside=options.beside, find_links=options.find_links, modules=(module,), timeout=options.timeout
    )
    try:
        trial = try_one(target, path, chosen, work)
    except WheelfixError as error:
        return Row(wheel.name, way, about, module, "not-tried", "", "", str(error), 0.0)
    one = trial.modules[0]
    cause = one.observed.cause
    said = one.observed.outcome if cause is None else f"{cause.error} {cause.code or ''}: {cause.message}"[:200]
    predicted = f"{one.expected.answer.value} {one.expected.message}".strip()[:200]
    return Row(
        wheel.name, way, about, module, one.agreement.value, predicted, said, one.why[:300],
        round(one.observed.seconds, 1),
    )  # fmt: skip


def run(args: argparse.Namespace) -> list[Row]:
    """Play cases until the time is over."""
    rows = read_rows(args.rows)
    done = {(row.wheel, row.way) for row in rows}
    until = time.monotonic() + args.seconds
    options = TrialOptions(find_links=tuple(args.folders), timeout=args.timeout, note=print, wine=args.wine)
    with WorkFolder() as work, open_interpreter(work, options) as target:
        baseline = frozenset(path.name for path in target.prefix.iterdir())
        for wheel, way in cases(args.folders, args.seed):
            if time.monotonic() > until:
                break
            if (wheel.name, way) in done:
                continue
            empty(target, baseline)
            row = play(target, wheel, way, options, work, args.seed)
            if row is not None:
                rows.append(row)
                print(f"{row.agreement:13} {row.way:15} {row.wheel:60} {row.why}", flush=True)
                with args.rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
    return rows


def read_rows(path: Path) -> list[Row]:
    """Return the rows of runs before."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Row(**json.loads(line)) for line in lines]


def page(rows: list[Row], seed: int) -> str:
    """Return the results in Markdown."""
    tried = [row for row in {(row.wheel, row.way): row for row in rows}.values() if row.agreement != "not-tried"]
    words = ("agrees", "differs", "not-predicted", "cannot-tell")
    ways = list(dict.fromkeys(row.way for row in tried))
    wheels = {row.wheel for row in tried}
    lines = [f"{len(tried)} imports of {len(wheels)} wheels, seed {seed}:", ""]
    lines += ["| how the wheel was broken | imports | agrees | differs | not predicted | Wine cannot tell |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    for way in [*ways, ""]:
        counted = Counter(row.agreement for row in tried if row.way == way or not way)
        cells = [str(sum(counted.values())), *(str(counted[word]) for word in words)]
        lines.append(f"| {way or 'all'} | {' | '.join(cells)} |")
    told = Counter(row.agreement for row in tried)
    decided = told["agrees"] + told["differs"]
    if decided:
        lines += ["", f"Of {decided} imports for which both sides have an answer, {told['agrees']} agree "
                  f"({100 * told['agrees'] / decided:.1f} %)."]  # fmt: skip
    for word, title in (
        ("differs", "Differences"),
        ("cannot-tell", "Wine cannot tell"),
        ("not-predicted", "Not predicted"),
    ):
        chosen = [row for row in tried if row.agreement == word]
        if chosen:
            lines += [
                "",
                f"### {title}",
                "",
                "| wheel | broken | file | predicted | happened |",
                "| --- | --- | --- | --- | --- |",
            ]
            lines += [
                f"| {row.wheel} | {row.way} | {row.file} | {_cell(row.expected)} | {_cell(row.observed)} |"
                for row in chosen
            ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;").replace("\\", "\\\\")[:160]


def main(argv: list[str] | None = None) -> int:
    """Play, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1500)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--wine", type=Path, help="a Wine for x64 programs, where the installed one is not one")
    parser.add_argument("--rows", type=Path, default=Path("agreement.jsonl"))
    parser.add_argument("--page", type=Path, help=f"also put the results into this page, usually {PAGE}")
    args = parser.parse_args(argv)
    with interruptible():  # a run that is stopped ends Wine and removes its folder
        rows = run(args)
    text = page(rows, args.seed)
    print(text)
    if args.page is not None:
        before = args.page.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
        args.page.write_text(f"{before}\n\n{MARK}\n\n{text}", encoding="utf-8", newline="\n")
    return 1 if any(row.agreement == "differs" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

"""What a loader did with a case, with Wine's deviations from Windows read off its log."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.oracle.graph import APPLICATION, Graph, Load, write
from tests.oracle.wine import Wine, loader_program, windows_path
from wheelfix.knowledge.winerrors import NOT_FOUND, deviations

DEBUG = "-all,err+module,warn+module,trace+module"
ATTEMPTS = 3
"""Of some thousand runs on a busy machine one fails without a reason."""
FORWARDED = "find_forwarded_export delay loading"
MAPPED = re.compile(r'mapping PE file L"(.*)" at')


@dataclass(frozen=True, slots=True)
class Answer:
    """What one load came to."""

    wine: int
    """The code that Wine gave."""
    codes: frozenset[int]
    """The codes that Windows may give: several where one phase has faults of several kinds, since it works on
    several modules at once and the first to fail decides."""
    seen: tuple[str, ...] = ()
    """The deviations that the log tells of."""
    log: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """What came of a whole case."""

    answers: tuple[Answer, ...]
    modules: frozenset[str]
    """Paths within the case of everything loaded in the end, folded."""
    whole: bool = True
    """Whether the loader came to its end."""


def read_answer(code: int, log: Sequence[str]) -> Answer:
    """Turn Wine's code and log of one load into what Windows gives."""
    faults = {"map": set(), "bind": set()}
    seen = {}
    mapped = set()
    for line in log:
        if match := MAPPED.search(line):
            mapped.add(match[1].rpartition("\\")[2].lower())
        elif (match := NOT_FOUND.search(line)) and _file_name(match["dll"]) not in mapped:
            faults["map"].add(126)
        for row in deviations():
            if row.log and row.phase and row.log.search(line):
                seen[row.id] = None
                faults[row.phase] |= {row.windows} if row.windows else set()
    if code:
        codes = faults["map"] or {code}
    elif any(FORWARDED in line for line in log):
        # Targets of forwarders are mapped while imports are bound: faults of both phases may come first.
        codes = faults["map"] | faults["bind"] or {code}
    else:
        codes = faults["map"] or faults["bind"] or {code}
    return Answer(code, frozenset(codes), tuple(seen), tuple(log))


def _file_name(spelled: str) -> str:
    return spelled.lower() if "." in spelled else f"{spelled.lower()}.dll"


def run(wine: Wine, graph: Graph, loads: Sequence[Load], root: Path) -> Observation:
    """Perform the given loads of a case that is on disk, in one process."""
    program = root / APPLICATION / "loader.exe"
    if not program.exists():
        shutil.copyfile(loader_program(wine.machine), program)
    arguments = [program]
    for folder in graph.added:
        arguments += ["-d", windows_path(root / folder)]
    for load in loads:
        for folder in load.adds:
            arguments += ["-d", windows_path(root / folder)]
        target = load.target if load.by_name else windows_path(root / load.target)
        arguments += ["-f", f"{load.flags:x}", target]
    more = {"WINEPATH": ";".join(windows_path(root / folder) for folder in graph.on_path)} if graph.on_path else {}
    return parse(wine.run(arguments, debug=DEBUG, more=more).output, root)


def parse(output: str, root: Path) -> Observation:
    """Read the output of ``loader.exe`` with the loader's log in between."""
    answers = []
    modules = set()
    log = []
    whole = False
    inside = windows_path(root).lower() + "\\"
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word == "LOAD":
            log = []
        elif word == "DONE":
            answers.append(read_answer(int(rest), log))
        elif word == "MODULE" and rest.lower().startswith(inside):
            modules.add(rest.lower()[len(inside) :].replace("\\", "/"))
        elif word == "END":
            whole = True
        elif word == "FOLDER":
            raise AssertionError(f"a folder could not be added: {rest}")
        else:
            log.append(line)
    return Observation(tuple(answers), frozenset(modules - {f"{APPLICATION}/loader.exe"}), whole)


def observe(wine: Wine, graph: Graph, root: Path) -> Observation:
    """Perform a case as Windows would have: a load that fails leaves nothing behind for the loads after it.

    Wine keeps what a failed load had mapped, and succeeds where Windows fails. So after a failure the loads that
    succeeded are done again, without it, in a new process, and the case goes on from there.
    """
    write(graph.files(wine.machine), graph.folders, root)
    kept = []
    answers = []
    pending = list(graph.loads)
    while True:
        for _ in range(ATTEMPTS):
            done = run(wine, graph, [*kept, *pending], root)
            fresh = done.answers[len(kept) :]
            failed = next((index for index, answer in enumerate(fresh) if answer.codes != {0}), None)
            # After a failure Wine may crash over what it kept; without one it must come to its end.
            if done.whole or failed is not None:
                break
        else:
            raise AssertionError(f"the loader ended early, {ATTEMPTS} times\n{graph}")
        if failed is None:
            return replace(done, answers=(*answers, *fresh))
        answers += fresh[: failed + 1]
        kept += pending[:failed]
        adds, pending = pending[failed].adds, pending[failed + 1 :]
        if adds and pending:  # what was added stays
            pending[0] = replace(pending[0], adds=(*adds, *pending[0].adds))
        if not pending and not kept:
            return Observation(tuple(answers), frozenset())


TORCH_LIB = "torch/lib"


def torch_loads(wine: Wine, path: Path, folder: Path) -> dict[str, int]:
    """Unpack a wheel and load every DLL of ``torch/lib`` as torch does; return the code of each."""
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    (folder / APPLICATION).mkdir()
    names = sorted((file.name for file in (folder / TORCH_LIB).glob("*.dll")), key=str.upper)
    loads = tuple(Load(f"{TORCH_LIB}/{name}") for name in names)
    observed = run(wine, Graph((), loads, added=(TORCH_LIB,)), loads, folder)
    return {name: answer.wine for name, answer in zip(names, observed.answers, strict=True)}

"""Measure, print a table, and write results.json: ``python -m benchmarks [--quick] [JOB ...]``.

All contenders of a job run in turn, round after round, so that other load affects all of them; the best round counts.
Slow peers run once. A command that several jobs are compared with is measured once.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.jobs import JOBS, QUICK, Bench
from benchmarks.material import Material
from benchmarks.measure import CommandFailed, Cost, run
from benchmarks.peers import Tools, clean_environment

if TYPE_CHECKING:
    from benchmarks.jobs import Contender, Job, Target

RESULTS = Path(__file__).with_name("results.json")
ROUNDS = 5


def main(argv: list[str] | None = None) -> int:
    """Measure what was asked for; 1 if a target was missed."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = _parser().parse_args(arguments)
    keys = options.jobs or [key for key in (QUICK if options.quick else JOBS) if options.big or key != "repair-big"]
    rounds = options.rounds or (3 if options.quick else ROUNDS)
    with tempfile.TemporaryDirectory(prefix="wheelfix-bench-", dir=options.folder) as place:
        folder = Path(place)
        tools = Tools(folder / "tools")
        bench = Bench(Material(folder / "material"), tools)
        known: dict[tuple[str, ...], Cost] = {}
        command = " ".join(["python -m benchmarks", *(word for word in arguments if word not in JOBS)])
        tasks: list[dict[str, Any]] = []
        for key in keys:
            tasks.append(_measure(JOBS[key](bench), rounds, folder / "run", known, peers=not options.no_peers))
            if not options.dry_run:  # after each, so that a run that is ended early has not been for nothing
                load = tasks[0]["load_before"]  # later ones have our own work in them
                results = {**_machine(command, load), "versions": tools.versions(), "rounds": rounds, "tasks": tasks}
                RESULTS.write_text(json.dumps(_merged(results), indent=2) + "\n", encoding="utf-8", newline="\n")
    if not options.dry_run:
        print(f"wrote {RESULTS.name}; python dev.py generate puts it into the README")
    return 0 if all(target["held"] for task in tasks for target in task["targets"]) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("jobs", metavar="JOB", nargs="*", choices=[[], *JOBS], help=f"which: {', '.join(JOBS)}")
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}, in three rounds")
    parser.add_argument("--big", action="store_true", help="also the wheel of 3 GB (needs 10 GB of disk)")
    parser.add_argument("--no-peers", action="store_true", help="leave out the slow peers")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"how often each runs (default {ROUNDS})")
    parser.add_argument("--dry-run", action="store_true", help="print only; do not write results.json")
    parser.add_argument("--folder", type=Path, help="where the temporary folder is made")
    return parser


def _measure(job: Job, rounds: int, folder: Path, known: dict[tuple[str, ...], Cost], *, peers: bool) -> dict[str, Any]:
    """Run the contenders of a job in turn and return the task for the results."""
    contenders = [one for one in job.contenders if peers or not one.peer or one.command in known]
    before = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    costs: dict[str, Cost] = {one.title: known[one.command] for one in contenders if one.command in known}
    failed: dict[str, str] = {}
    for turn in range(rounds):
        for one in contenders:
            if one.command in known or one.title in failed or (one.peer and turn):
                continue
            try:
                cost = _once(one, folder)
            except CommandFailed as error:
                failed[one.title] = str(error)
                print(f"{one.title}: {error}", file=sys.stderr)
                continue
            costs[one.title] = cost.best(costs.get(one.title, cost))
    known.update((one.command, costs[one.title]) for one in contenders if one.title in costs)
    own = contenders[0].title
    if own not in costs:
        raise SystemExit(f"{job.key}: {failed[own]}")
    runs = [
        {"tool": title, "seconds": cost.seconds, "cpu": cost.cpu, "memory_mb": cost.memory_mb}
        for title, cost in ((one.title, costs.get(one.title)) for one in contenders)
        if cost is not None
    ]
    held = [_judge(target, own, costs) for target in job.targets]
    task = {"key": job.key, "title": job.title, "load_before": round(before, 1), "runs": runs,
            "targets": [one for one in held if one is not None],
            "failed": {title: words.partition(":")[0] for title, words in failed.items()}}  # fmt: skip
    _print(task)
    return task


def _once(one: Contender, folder: Path) -> Cost:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        cost = run(one.command, folder, clean_environment(), one.accepted)
        return cost._replace(packed=_bytes_made(folder, one.result)) if one.result else cost
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _bytes_made(folder: Path, result: str) -> int:
    (path,) = folder.glob(result)
    return int(path.read_text(encoding="ascii")) if path.suffix == ".txt" else path.stat().st_size


def _judge(target: Target, own: str, costs: dict[str, Cost]) -> dict[str, Any] | None:
    """Return whether a target holds, with the figure; None where the other was not measured."""
    if target.memory_mb:
        value = costs[own].memory_mb
        return {"words": target.words, "value": round(value, 1), "held": value <= target.memory_mb}
    if target.other not in costs or not (target.faster or target.within or target.larger):
        return None
    if target.larger:
        ratio = costs[own].packed / costs[target.other].packed
        return {"words": target.words, "value": round(ratio, 4), "held": ratio <= target.larger}
    ours, theirs = costs[own].seconds, costs[target.other].seconds
    if target.faster:
        return {"words": target.words, "value": round(theirs / ours, 2), "held": theirs >= target.faster * ours}
    limit = target.within * theirs + target.plus
    value = ours - theirs if target.plus else ours / theirs
    return {"words": target.words, "value": round(value, 3), "held": ours <= limit}


def _print(task: dict[str, Any]) -> None:
    print(f"\n{task['title']}  (load {task['load_before']})")
    own = task["runs"][0]
    for one in task["runs"]:
        times, cpu = one["seconds"] / own["seconds"], one["cpu"] / max(own["cpu"], 1e-3)
        print(
            f"  {one['tool'][:52]:<52} {one['seconds']:8.3f} s {one['cpu']:8.3f} s cpu {one['memory_mb']:6.0f} MB"
            f" {times:7.2f} x {cpu:7.2f} x cpu"
        )
    for target in task["targets"]:
        print(f"  {'held  ' if target['held'] else 'MISSED'} {target['words']}: {target['value']}")
    sys.stdout.flush()


def _machine(command: str, load: float) -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = f"{cores} cores, {platform.machine()}, {platform.system()} {platform.release().split('-')[0]}"
    if load > 1:
        machine += f", busy with other work (load {load:.0f})"
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    machine = f"{machine}, Python {platform.python_version()}, {today}"
    return {"machine": machine, "date": today, "command": command, "load": load}


def _merged(results: dict[str, Any]) -> dict[str, Any]:
    """Return the new results with the tasks of the last run that were not measured again."""
    try:
        old = json.loads(RESULTS.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return results
    tasks = {task["key"]: {**task, "measured": task.get("measured", old["date"])} for task in old["tasks"]}
    tasks |= {task["key"]: task for task in results["tasks"]}
    command = results["command"] if len(results["tasks"]) == len(tasks) else old["command"]
    results = {**results, **_machine(command, max(results["load"], old.get("load", 0.0)))}
    return {**results, "tasks": [tasks[key] for key in JOBS if key in tasks]}


if __name__ == "__main__":
    sys.exit(main())

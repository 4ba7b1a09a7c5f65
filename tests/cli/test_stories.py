"""What is typed and what comes of it, as the tables in ``stories`` have it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.commands import Run
from tests.support.environments import lay
from tests.support.tables import named_cases
from tests.support.wheels import DEFAULT_TAGS, build_wheel
from wheelfix.base.parsing import load_toml


def stories() -> Iterator[tuple[str, dict[str, Any]]]:
    for table in sorted(Path(__file__).with_name("stories").glob("*.toml")):
        rows = load_toml(table.read_text("utf-8"))
        shared = rows.pop("all", {})
        for name, row in rows.items():
            for cases in row.pop("cases", [[]]):
                words, text = cases or ("", "")
                one = {**row, "run": row["run"].replace("{}", words), "said": [text]} if cases else row
                yield f"{table.stem}: {name} {words}".strip(), {"given": shared, **one}


def check(run: Run, step: dict[str, Any]) -> None:
    """Run a command and compare what it says and leaves behind with what the table says."""
    printed = run(*shlex.split(step["run"]), code=step.get("code", 0))
    assert step.get("prints", printed.out) == printed.out
    for texts, shown in (("out", printed.out), ("err", printed.err), ("said", printed.said)):
        assert [text for text in step.get(texts, ()) if text not in shown] == [], shown
    assert [text for text in step.get("never", ()) if text in printed.out + printed.err] == []
    for file, texts in step.get("writes", {}).items():
        assert [text for text in texts if text not in Path(file).read_text("utf-8")] == []
    assert [path for pattern in step.get("leaves_no", ()) for path in Path().glob(pattern)] == []


@named_cases("story", dict(stories()))
def test_what_is_typed_and_what_comes_of_it(story, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    for given in (story["given"], story):
        for name, value in given.get("env", {}).items():
            monkeypatch.setenv(name, value)
        for place, members in given.get("wheels", {}).items():
            name, *rest = Path(place).name.split("-", 2)
            version, tags = [*rest, *["1.0", DEFAULT_TAGS[0]][len(rest) :]]
            build_wheel(Path(place).parent, name, version, tags, members)
        lay(Path(), given.get("files", {}))
    for step in story.get("steps", [story]):
        check(run, step)

"""Small wheels and what is found in them, as the tables in ``wheels`` have it: what they lack, and why it matters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.environments import install, reports
from tests.support.tables import grouped, named_cases
from tests.support.wheels import ALONE, DEFAULT_TAGS, build_wheel
from wheelfix.base.parsing import load_toml
from wheelfix.base.values import replace
from wheelfix.exam.scan import scan


@dataclass(frozen=True)
class Case:
    """A row of a table; the tables say what the fields are."""

    about: Sequence[str]
    verdict: str
    finds: Sequence[str] = ()
    fails: str | None = None
    said: Sequence[str] = ()
    name: str = "pkg"
    version: str = "1.0"
    tags: str = DEFAULT_TAGS[0]
    requires: Sequence[str] = ()
    metadata: Sequence[str] = ()
    targets: Sequence[str] = ()
    on: str = ""
    installed: bool = False
    files: Mapping[str, str] = field(default_factory=dict)


def cases() -> Iterator[tuple[str, Case]]:
    for table in sorted(Path(__file__).with_name("wheels").glob("*.toml")):
        for name, shared, row in grouped(load_toml(table.read_text("utf-8"))):
            files = {**shared.get("files", {}), **row.get("files", {})}
            yield f"{table.stem}, {name}", Case(**{**shared, **row, "files": files})


@named_cases("case", dict(cases()))
def test_what_is_found_in_a_wheel(case, tmp_path):
    files, metadata = case.files, case.metadata
    wheel = build_wheel(
        tmp_path, case.name, case.version, case.tags, files, requires=case.requires, extra_metadata=metadata
    )
    report = scan(wheel, replace(ALONE, targets=case.targets))
    found = [item for item in report.findings if item.code.startswith(tuple(case.about))]
    assert [f"{item.code} {item.severity} {item.subject}" for item in found] == [*case.finds]
    assert str(report.verdict) == case.verdict
    assert [str(target.verdict) for target in report.targets] == [case.on] * len(case.targets)
    message = report.first_failure.message if report.first_failure else ""
    assert case.fails is None or (case.fails in message if case.fails else not message)
    if case.installed:
        (there,) = reports(install(wheel, tmp_path / "env")).values()
        assert {*case.about} & {item.code for item in there.findings} == {item.code for item in found}
    texts = "\n".join(f"{item.message}\n{item.hint}" for item in found)
    assert [text for text in case.said if text not in texts] == []

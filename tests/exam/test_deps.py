"""What a wheel requires, taken from a package index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.remote.indexes import index_of
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from wheelfix.base.options import InstallTarget, Limits, RemoteOptions
from wheelfix.exam.versionchoice import MOST_ASKED, MOST_LINES, choose_versions, required_wheels
from wheelfix.loader.profile import Profile
from wheelfix.model import Machine
from wheelfix.remote.client import Client
from wheelfix.remote.packageindex import IndexFile

CODE = b"import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'bin'))\n"


@pytest.fixture
def subject(tmp_path: Path) -> Path:
    files = {
        "demo/__init__.py": b"import helper\nfrom demo import _x\n",
        "demo/_x.cp311-win_amd64.pyd": "imports helper.dll",
    }
    requires = [
        "helper>=1,<3",
        "gone; sys_platform == 'win32'",
        "linux-only; sys_platform == 'linux'",
        "toys; extra == 'x'",
    ]
    return build_wheel(tmp_path / "dist", "demo", files=files, requires=requires)


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "files"
    helper = {"helper/__init__.py": CODE, "helper/bin/helper.dll": ""}
    wheels = [
        build_wheel(folder, "helper", "1.0", "py3-none-win_amd64", {"helper/__init__.py": b""}),
        build_wheel(folder, "helper", "2.0", "py3-none-win_amd64", helper, requires=["deeper[more]==1.*"]),
        build_wheel(folder, "helper", "3.0", "py3-none-win_amd64", {"helper/__init__.py": b""}),
        build_wheel(folder, "deeper", "1.5", "py3-none-any", {}, requires=["deepest; extra == 'more'"]),
        build_wheel(folder, "deepest", "7", "py3-none-any", {}, requires=["helper<2.5"]),
        build_wheel(folder, "toys", "7", "py3-none-any", {}),
    ]
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("WHEELFIX_CACHE_DIR", str(tmp_path / "cache"))
    with index_of(wheels) as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        yield


def test_the_wheels_that_an_installer_adds(subject):
    with Client(RemoteOptions()) as client:
        found = required_wheels([subject], Profile(Machine.AMD64, (3, 11)), client, Limits())
    assert {name: wheel.name.split("-")[1] for name, wheel in found.files.items()} == {
        "helper": "2.0",
        "deeper": "1.5",
        "deepest": "7",
    }
    assert found.absent == {"gone": "no wheel on the package index fits the target"}


Releases = dict[str, dict[str, list[str]]]


def chosen(releases: Releases, *wanted: str) -> tuple[dict[str, str], dict[str, str]]:
    """The versions that are chosen, and what is absent, where an index has wheels with some requirements."""
    files = {
        name: [IndexFile(f"{name}-{version}-py3-none-any.whl", f"{name} {version}") for version in versions]
        for name, versions in releases.items()
    }

    def requires(file: IndexFile, extras: frozenset[str]) -> list[Requirement]:
        name, _, version = file.url.partition(" ")
        found = [Requirement(line) for line in releases[name][version]]
        return [one for one in found if one.marker is None or any(one.marker.evaluate({"extra": e}) for e in extras)]

    asked = [Requirement(line) for line in wanted]
    found = choose_versions(asked, ["there"], lambda name: files.get(name, []), requires, InstallTarget())
    return {name: file.url.partition(" ")[2] for name, file in found.files.items()}, dict(found.absent)


@named_cases(
    "releases, wanted, expected",
    {
        "the newest": ({"a": {"1": [], "2": []}}, ["a"], {"a": "2"}),
        "a limit": ({"a": {"1": [], "2": []}}, ["a<2"], {"a": "1"}),
        "an older version, because the newest contradicts": (
            {"a": {"1": [], "2": ["c<2"]}, "b": {"1": ["c>=2"]}, "c": {"1": [], "2": []}},
            ["a", "b"],
            {"a": "1", "b": "1", "c": "2"},
        ),
        "nothing of it": ({"a": {"1": []}, "b": {"1": ["a<2"], "2": ["a>=3"]}}, ["a", "b"], {"a": "1", "b": "1"}),
        "an extra": ({"a": {"1": ["b; extra == 'x'"]}, "b": {"1": []}}, ["a[x]"], {"a": "1", "b": "1"}),
        "what is there": ({"a": {"1": ["there>9"]}}, ["a", "there>3"], {"a": "1"}),
    },
)
def test_versions_are_chosen_as_pip_does(releases, wanted, expected):
    assert chosen(releases, *wanted) == (expected, {})


def test_versions_that_do_not_fit_together_are_absent_with_the_reason():
    releases = {"a": {"1": ["c<2"]}, "b": {"1": ["c>=2"]}, "c": {"1": [], "2": []}}
    found, absent = chosen(releases, "a", "b")
    assert not found
    assert absent["a"] == absent["b"]
    assert "no versions fit together: c<2 and c>=2" in absent["a"]


def test_a_distribution_without_wheels_does_not_stop_the_others():
    found, absent = chosen({"a": {"1": ["gone"]}}, "a", "lost>=2")
    assert (found, sorted(absent)) == ({"a": "1"}, ["gone", "lost"])


def test_a_wheel_alone_gets_a_certain_verdict(subject, run):
    for words, verdict in (((), "unsure"), (("--deps",), "ok")):
        said = run("scan", subject, "--no-discover", "--format", "json", *words, code=None).out
        assert json.loads(said)["wheels"][0]["verdict"] == verdict
    run("scan", subject, "--deps", "--offline", code=4)


@pytest.mark.parametrize("versions", [1, pytest.param(30, marks=pytest.mark.slow)])
def test_a_distribution_that_requires_itself_again_and_again(versions, tmp_path):
    """Each of 200 lines chose a version and asked for its METADATA again: 150 s for one wheel."""
    subject = build_wheel(tmp_path / "dist", "demo", "2.0", files={}, requires=["b"])
    wheels = [
        build_wheel(
            tmp_path / "hostile", "b", f"8.{number}", "py3-none-any", {},
            requires=[*(f"b!=9.{other}" for other in range(200)), f"b!=8.{number}"],
        )
        for number in range(versions)
    ]  # fmt: skip
    with index_of(wheels) as server:
        options = RemoteOptions(index_url=f"{server.url}/simple", cache=False)
        with Client(options) as client:
            found = required_wheels([subject], Profile(Machine.AMD64, (3, 11)), client, Limits())
    assert [*found.absent] == ["b"]
    assert len(server.asked) < MOST_ASKED


def test_more_lines_than_any_distribution_has(tmp_path, run):
    lines = [f"b!=9.{number}" for number in range(MOST_LINES + 1)]
    subject = build_wheel(tmp_path / "dist", "demo", "2.0", files={}, requires=lines)
    assert f"more than {MOST_LINES} requirements" in run("scan", subject, "--no-discover", "--deps", code=3).err

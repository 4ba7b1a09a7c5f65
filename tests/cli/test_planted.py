"""Configuration files that somebody else put there: named when used, refused when foreign, and never too powerful."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.support.tiers import IMPOSSIBLE
from tests.support.wheels import build_wheel
from wheelfix.base.inputfiles import distrust_by_owner, distrust_by_status, owner_in_descriptor
from wheelfix.cli.settings import long_name, vocabulary
from wheelfix.errors import Exit

DANGEROUS = dict(
    line.split(" = ") for line in Path(__file__).with_name("dangerous.toml").read_text("utf-8").splitlines()[1:]
)
"""Options, and a value of each as it is written."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a wheel in it, which is the current one."""
    here = tmp_path / "project"
    here.mkdir()
    monkeypatch.chdir(here)
    build_wheel(
        here / "dist",
        "demo",
        files={"demo/_x.cp311-win_amd64.pyd": "imports python311.dll:Py_Initialize", "demo/__init__.py": ""},
    )
    return here


# --------------------------------------------------------------------------------------------------- the file is named


def test_the_file_is_named_when_it_sets_something(folder, run):
    (folder / "wheelfix.toml").write_text('fail-on = "warning"\n')
    err = run("scan", "dist", "--no-discover").err
    assert f"wheelfix: configured by {folder / 'wheelfix.toml'}\n" in err
    assert "configured by" not in run("scan", "dist", "--no-discover", "--no-config", code=None).err


def test_a_file_for_another_command_is_not_named(folder, run):
    (folder / "wheelfix.toml").write_text('[repair]\nwheel-dir = "out"\n')
    assert run("scan", "dist", "--no-discover", code=None).err == ""
    assert "configured by" in run("repair", "dist", "--no-discover", code=None).err


# ------------------------------------------------------------------------------------------------------ whose it is

root_only = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason=f"{IMPOSSIBLE}only root gives a file to another user"
)


@root_only
@pytest.mark.parametrize("plant", ["file", "link"])
def test_a_file_of_another_user_is_refused(folder, plant, run):
    """Found in a parent folder, such as /tmp, it decided what was reported and where reports were written."""
    config = folder.parent / "wheelfix.toml"
    text = 'ignore = ["WF3"]\nreport = ["html=taken.html"]\n'
    if plant == "file":
        config.write_text(text)
        os.chown(config, 12345, 12345)
    else:
        (folder / "other.toml").write_text(text)
        config.symlink_to(folder / "other.toml")
        os.lchown(config, 12345, 12345)
    out, err = run("scan", "dist", "--no-discover", code=Exit.USAGE)
    assert out == ""
    assert "another user (user id 12345)" in err
    assert f"--config {config}" in err
    assert not (folder.parent / "taken.html").exists()
    run("scan", "dist", "--no-discover", "--no-config")
    run("scan", "dist", "--no-discover", "--config", config)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_file_that_everybody_can_write_is_refused(folder, run):
    config = folder / "wheelfix.toml"
    config.write_text('fail-on = "never"\n')
    config.chmod(0o666)
    err = run("scan", "dist", "--no-discover", code=Exit.USAGE).err
    assert "every user of this machine can write to it" in err


def status(user: int, mode: int, group: int = 7) -> os.stat_result:
    return cast("os.stat_result", SimpleNamespace(st_uid=user, st_gid=group, st_mode=mode))


@pytest.mark.parametrize(
    "seen, private, reason",
    [
        (status(1000, stat.S_IFREG | 0o644), False, ""),
        (status(1001, stat.S_IFREG | 0o644), False, "another user"),
        (status(1000, stat.S_IFREG | 0o646), False, "every user"),
        (status(1000, stat.S_IFREG | 0o664), False, "group 7"),
        (status(1000, stat.S_IFREG | 0o664), True, ""),
        (status(1001, stat.S_IFLNK | 0o777), False, "another user"),
    ],
)
def test_owner_and_permissions(seen, private, reason):
    is_private = lambda group: private  # noqa: E731
    why = distrust_by_status(seen, frozenset({0, 1000}), is_private)
    assert reason in why
    assert bool(why) == bool(reason)


@pytest.mark.parametrize(
    "sddl, trusted",
    [
        ("O:S-1-5-21-1-2-3-1001", True),
        ("O:BAG:SYD:(A;;FA;;;WD)", True),
        ("", True),  # Windows does not tell; said in the documentation
        ("O:S-1-5-21-1-2-3-1002", False),
        ("O:WDG:SY", False),
    ],
)
def test_owners_on_windows(sddl, trusted):
    assert (not distrust_by_owner(owner_in_descriptor(sddl), "S-1-5-21-1-2-3-1001")) is trusted


# ------------------------------------------------------------------------------------------------------ what it may say


@pytest.mark.parametrize("name", DANGEROUS)
def test_some_options_are_taken_from_the_command_line_only(name, folder, monkeypatch, run):
    command, typed = next((one, long_name(row)) for one, row in vocabulary()[name].items() if row.get("typed"))
    words = {"sign": ["--with", "x {file}"], "survey": ["-o", "tables"]}.get(command, ["--no-discover"])
    for table in ("", f"[{command}]\n", '[wheels."demo"]\n'):
        (folder / "wheelfix.toml").write_text(f"{table}{name} = {DANGEROUS[name]}\n")
        err = run(command, "dist", *words, code=Exit.USAGE).err
        assert f"'{name}' is taken from the command line only" in err
        assert f"type {typed}" in err
    (folder / "wheelfix.toml").unlink()
    monkeypatch.setenv(f"WHEELFIX_{name.upper().replace('-', '_')}", DANGEROUS[name].strip('"'))
    err = run(command, "dist", *words, code=Exit.USAGE).err
    assert f"{typed} is taken from the command line only" in err


def test_that_list_is_complete():
    """A new option that weakens a check is marked beside its declaration, and appears here."""
    found = {key for key, rows in vocabulary().items() if any(row.get("typed") for row in rows.values())}
    assert found == set(DANGEROUS)


def test_an_environment_to_diagnose_may_be_configured(folder, run):
    """It is only read there; ``repair --env`` writes to it."""
    (folder / "env" / "Lib" / "site-packages").mkdir(parents=True)
    (folder / "wheelfix.toml").write_text('[diagnose]\nenv = "env"\n')
    (folder / "error.txt").write_text("OSError: [WinError 126] The specified module could not be found")
    assert "command line only" not in run("diagnose", "error.txt", code=None).err


OUTSIDE = [
    'report = ["html=../taken.html"]',
    'output = "../taken.txt"',
    'root = ["{above}"]',
    'cuda = "/usr/local/cuda"',
    'python = ".."',
    'report = "html=link/taken.html"',
    'root = "a\\u0000b"',
]


@pytest.mark.parametrize("line", OUTSIDE)
@pytest.mark.parametrize("how", ["found", "typed"])
def test_paths_stay_below_the_file(line, how, folder, run):
    (folder / "link").symlink_to(folder.parent, target_is_directory=True)
    (folder / "wheelfix.toml").write_text(line.replace("{above}", folder.parent.as_posix()) + "\n")
    named = ["--config", "wheelfix.toml"] if how == "typed" else []
    err = run("scan", "dist", "--no-discover", *named, code=Exit.USAGE).err
    assert "leads out of the folder of the file" in err
    assert "wheelfix.toml:1" in err
    assert not [path for path in folder.parent.iterdir() if path.name.startswith("taken")]


def test_paths_below_the_file_work(folder, run):
    (folder / "reports").mkdir()
    text = (
        f'report = ["html=reports/a.html", "json={(folder / "reports" / "b.json").as_posix()}"]\nroot = "./dist/.."\n'
    )
    (folder / "wheelfix.toml").write_text(text)
    run("scan", "dist", "--no-discover")
    assert sorted(path.name for path in (folder / "reports").iterdir()) == ["a.html", "b.json"]

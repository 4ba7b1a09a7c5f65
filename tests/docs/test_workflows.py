"""The workflows, the action and the hooks: valid by the schemas of those who run them, and about what is there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
import yaml

from tests.docs.pages import HERE
from tests.support.tiers import IMPOSSIBLE, program
from tools import windows_check
from wheelfix.cli.commands import COMMANDS
from wheelfix.cli.settings import command_parser

WORKFLOWS = sorted((HERE / ".github" / "workflows").glob("*.yml"))
HOOKS = yaml.safe_load((HERE / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def read(name: str) -> dict:
    return yaml.safe_load((HERE / ".github" / "workflows" / name).read_text(encoding="utf-8"))


def check(*words: object) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_schemas_of_github_accept_them():
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed (the extra tiers has it)")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    check(*command, "vendor.github-workflows", *WORKFLOWS)
    check(*command, "vendor.github-actions", HERE / "action.yml")


@pytest.mark.skipif(shutil.which("actionlint") is None, reason=f"{IMPOSSIBLE}Debian has no package of actionlint")
def test_actionlint_accepts_them():
    check("actionlint", *WORKFLOWS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_workflow_is_careful(path):
    """It may only read unless a job says otherwise, ends in bounded time, and gets no text of others into a script."""
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert tree["permissions"] == {"contents": "read"}
    for job in tree["jobs"].values():
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            assert "${{" not in step.get("run", "")
            if "uses" in step:
                assert re.fullmatch(r"[\w.-]+/[\w.-]+@\S+", step["uses"])
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}


def test_tests_run_on_every_system_and_python():
    matrix = read("test.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "windows", "macos"}
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    assert matrix["python"] == re.findall(r"Programming Language :: Python :: (3\.\d+)", text)


def test_the_windows_job_calls_the_script_as_it_is(monkeypatch, capsys):
    (step,) = [one for one in read("windows.yml")["jobs"]["compare"]["steps"] if "windows_check" in one.get("run", "")]
    words = step["run"].split()
    assert words[1:3] == ["-m", "tools.windows_check"]
    seen = []
    monkeypatch.setattr(windows_check, "ON", sys.platform)
    monkeypatch.setattr(windows_check, "make", lambda folder: None)
    monkeypatch.setattr(windows_check, "compare", lambda *given, **more: seen.append((given[1:], more)) or [])
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert windows_check.main(words[3:]) == 1, "a run without a case is a failure"
    assert seen == [((r"clean\Scripts\python.exe", []), {"pip": True})]


def test_a_difference_fails_the_job(monkeypatch, capsys, tmp_path):
    rows = [
        windows_check.Row("a", "about a", 126, 126, "ImportError"),
        windows_check.Row("b", "about b", 0, 126, "ImportError: DLL load failed"),
    ]
    monkeypatch.setattr(windows_check, "ON", sys.platform)
    monkeypatch.setattr(windows_check, "make", lambda folder: None)
    monkeypatch.setattr(windows_check, "compare", lambda *_, **__: rows)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    assert windows_check.main([]) == 1
    out = capsys.readouterr().out
    assert "| a | WinError 126 | WinError 126 | agrees | about a |" in out
    assert "| b | loads | WinError 126 | DIFFERS: ImportError: DLL load failed | about b |" in out
    assert "1 of 2 predictions came true; wrong: b" in out
    assert "DIFFERS" in (tmp_path / "summary").read_text()
    monkeypatch.setattr(windows_check, "compare", lambda *_, **__: rows[:1])
    assert windows_check.main([]) == 0


def test_a_release_needs_no_password():
    jobs = read("release.yml")["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "pypa/gh-action-pypi-publish@release/v1" in [step.get("uses") for step in jobs["publish"]["steps"]]
    assert "permissions" not in jobs["build"]
    assert "twine check --strict" in str(jobs["build"]["steps"])
    assert "secrets." not in (HERE / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


# -------------------------------------------------------------------------------------------------------- pre-commit


@pytest.mark.slow
def test_pre_commit_accepts_the_hooks():
    pytest.importorskip("pre_commit", reason="pre-commit is not installed (the extra tiers has it)")
    check(sys.executable, "-m", "pre_commit", "validate-manifest", HERE / ".pre-commit-hooks.yaml")


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_is_a_command(hook):
    tool, name = hook["entry"].split()
    assert tool == "wheelfix"
    assert name in COMMANDS
    command_parser(name).parse_strictly([*hook.get("args", []), "a.whl"])
    for platform in ("any", "win32", "win_amd64", "win32.win_amd64", "win_arm64-x86_64_v3"):
        assert re.search(hook["files"], f"dist/a-1.0-py3-none-{platform}.whl")
    linux = re.search(hook["files"], "dist/a-1.0-cp311-cp311-manylinux_2_28_x86_64.whl")
    assert bool(linux) == (name == "verify")


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.long
def test_pre_commit_runs_the_hooks(tmp_path):
    """The real thing: pre-commit installs this checkout and runs its hooks on a good and on a broken wheel."""
    from tests.support.wheels import build_wheel

    pytest.importorskip("pre_commit")
    program("git", "git")
    source, work = tmp_path / "source", tmp_path / "work"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    check("git", "clone", "--quiet", "--no-hardlinks", HERE, source)
    shutil.copy(HERE / ".pre-commit-hooks.yaml", source)
    work.mkdir()
    check("git", "-C", work, "init", "--quiet")
    good = build_wheel(work, "good", "1.0", "py3-none-any", {"good.py": ""})
    bad = build_wheel(work, "bad", files={"bad/__init__.py": "", "bad/_m.pyd": "imports gone.dll"})
    check(*git, "-C", work, "add", ".")
    for hook, wheel, code in (("wheelfix-scan", good, 0), ("wheelfix-scan", bad, 1), ("wheelfix-verify", bad, 0)):
        done = subprocess.run(
            [sys.executable, "-m", "pre_commit", "try-repo", str(source), hook, "--files", wheel.name],
            cwd=work, capture_output=True, text=True, check=False, timeout=900,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        assert ("gone.dll" in done.stdout) == bool(code)

"""The recipes for pipelines: their YAML is read, their commands are run on the example as far as they can be here."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import DOCS, HERE, WRITTEN, blocks, run_line
from tests.support.tiers import program
from tests.support.wheels import build_wheel
from tools import example
from tools.run_action import command_line, outputs, split
from tools.run_action import run as run_action

RECIPES = DOCS / "howto" / "ci.md"
ACTION = yaml.safe_load((HERE / "action.yml").read_text(encoding="utf-8"))
WHEEL = "torch-2.7.1+cu117-cp311-cp311-win_amd64.whl"
NEEDS_BASH = pytest.mark.skipif(os.name == "nt", reason="the steps are run by bash")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A job's folder after the build, on a machine that has the toolkits."""
    story = example.kepler_cu117()
    example.write_wheel(story, tmp_path / "dist")
    roots = example.write_roots(story, tmp_path / "roots")
    monkeypatch.chdir(tmp_path)
    for variable in [key for key in os.environ if key.startswith(("WHEELFIX_", "GITHUB_", "INPUT_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("WHEELFIX_NO_DISCOVER", "1")
    monkeypatch.setenv("WHEELFIX_CUDA", str(roots["CUDA/v11.7"]))
    monkeypatch.setenv("WHEELFIX_ONEAPI", str(roots["oneAPI"]))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def bash(script, **variables):
    """Run a step as a runner does, and return what it printed."""
    done = subprocess.run(
        [program("bash", "bash"), "-e", "-o", "pipefail", "-c", script],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


def recipes(language):
    return [block for block in blocks(RECIPES) if block.language == language]


def scripts(tree):
    """Yield every script in the YAML of a pipeline, whichever service it is for."""
    if isinstance(tree, list):
        for item in tree:
            yield from scripts(item)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key in ("run", "bash", "script"):
                yield from value if isinstance(value, list) else [value]
            else:
                yield from scripts(value)


def lines_of_recipes():
    """Yield the lines of all recipes that bash can run and that do not install or build something first."""
    for block in recipes("yaml"):
        yield from scripts(yaml.safe_load(block.text))
    for block in recipes("groovy"):
        yield from (line.replace(".wheelfix/bin/", "") for line in re.findall(r"sh '([^']+)'", block.text))
    for block in recipes("bash"):
        yield from block.text.splitlines()


def test_every_yaml_block_is_yaml():
    for page in WRITTEN:
        for block in blocks(page):
            if block.language == "yaml":
                assert isinstance(yaml.safe_load(block.text), dict), block.place


RUNNABLE = {line: None for line in lines_of_recipes() if line.startswith("wheelfix ")}


def test_there_are_recipes():
    assert len(RUNNABLE) >= 4
    others = [line for line in lines_of_recipes() if not line.startswith("wheelfix ")]
    assert all(re.search(r"pip3? (install|wheel)|-m build|^set -e$", line) for line in others)


@NEEDS_BASH
@pytest.mark.parametrize("line", RUNNABLE)
def test_a_line(line, place):
    code, output = run_line(line)
    assert code == 0, output
    assert (place / "wheelhouse" / WHEEL).is_file()
    for kind, file in re.findall(r"--report (\w+)=(\S+)", line):
        assert (place / file).stat().st_size > 100, kind


@pytest.mark.parametrize("language", ["bat", "powershell"])
def test_build_scripts_for_windows(language, place, run):
    """cmd.exe and PowerShell pass patterns through as they are; wheelfix expands them."""
    (block,) = recipes(language)
    (line,) = re.findall(r"^wheelfix (.*?)(?: \|\|.*|;.*)$", block.text, re.MULTILINE)
    run(*[word.replace("\\", "/") for word in line.split()])
    assert (place / "wheelhouse" / WHEEL).is_file()


@NEEDS_BASH
def test_cibuildwheel(place):
    """Its placeholders are filled in; a wheel that needs nothing is copied as it is."""
    commands = {
        yaml.safe_load(block.text)["env"]["CIBW_REPAIR_WHEEL_COMMAND_WINDOWS"]
        for block in recipes("yaml")
        if "CIBW_" in block.text
    }
    commands |= set(re.findall(r'repair-wheel-command = "(.*)"', RECIPES.read_text(encoding="utf-8")))
    assert len(commands) == 1
    pure = build_wheel(place / "built", "plain", "1.0", "py3-none-any", {"plain/__init__.py": ""})
    bash(commands.pop().format(dest_dir="repaired", wheel=pure))
    assert (place / "repaired" / pure.name).read_bytes() == pure.read_bytes()


def settings_of(text, folder, env):
    """What the real cibuildwheel makes of a configuration, for one Windows build."""
    pytest.importorskip("cibuildwheel", reason="cibuildwheel is not installed (the extra tiers has it, from 3.11 on)")
    from cibuildwheel.options import CommandLineArguments, Options

    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    arguments = CommandLineArguments.defaults()
    arguments.package_dir = folder
    options = Options(platform="windows", command_line_arguments=arguments, env=env)
    return options.build_options("cp311-win_amd64")


@pytest.mark.slow
def test_the_real_cibuildwheel_reads_both_forms(tmp_path):
    (toml,) = [block.text for block in recipes("toml") if "cibuildwheel" in block.text]
    (env,) = [tree["env"] for block in recipes("yaml") if "CIBW" in block.text and (tree := yaml.safe_load(block.text))]
    written, given = settings_of(toml, tmp_path, {}), settings_of("", tmp_path, env)
    for found in (written, given):
        assert found.repair_command == "wheelfix repair -w {dest_dir} {wheel}"
        assert found.audit_command[-1] == "wheelfix scan {wheel}"
        assert found.before_build.startswith("pip install ")
    # "append" keeps cibuildwheel's own audit; a variable replaces it.
    assert (written.audit_command[0].partition(" ")[0], written.audit_requires) == (
        "abi3audit",
        ["abi3audit", "WHEELFIX"],
    )
    assert len(given.audit_command) == 1


@pytest.mark.slow
@NEEDS_BASH
def test_the_audit_of_cibuildwheel(place, run):
    """As cibuildwheel fills it in: a broken wheel fails the audit, a repaired one passes."""
    pytest.importorskip("cibuildwheel")
    from cibuildwheel.audit import needs_audit
    from cibuildwheel.util.helpers import prepare_command

    template = "wheelfix scan {wheel}"
    assert needs_audit([template], WHEEL)
    run("repair", f"dist/{WHEEL}", "-w", "wheelhouse", "-q")
    bash(prepare_command(template, wheel=f"wheelhouse/{WHEEL}", project=".", package="."))
    with pytest.raises(AssertionError):
        bash(prepare_command(template, wheel=f"dist/{WHEEL}", project=".", package="."))


# ------------------------------------------------------------------------------------------------------ the action


def step(name):
    return next(item for item in ACTION["runs"]["steps"] if item.get("name") == name)


def test_the_table_of_inputs_is_the_action_s():
    text = RECIPES.read_text(encoding="utf-8")
    rows = [
        [cell.strip().replace("`", "") for cell in line.split("|")[1:-1]]
        for line in text.partition("| input |")[2].partition("\n\n")[0].splitlines()[2:]
    ]
    reported = {name.strip(): row[1] for row in rows for name in row[0].split(",")}
    assert reported == {name: item["default"] for name, item in ACTION["inputs"].items()}


def test_every_expression_names_something():
    text = (HERE / "action.yml").read_text(encoding="utf-8")
    for expression in re.findall(r"\$\{\{ (.*?) \}\}", text):
        room, _, name = expression.partition(".")
        assert room in ("inputs", "github", "steps")
        assert room != "inputs" or name in ACTION["inputs"], expression
    assert not any("${{" in item.get("run", "") for item in ACTION["runs"]["steps"]), "inputs go through variables"


def inputs(**given):
    """The variables of the last step, with inputs filled in as GitHub does."""
    values = {name: item["default"] for name, item in ACTION["inputs"].items()} | given
    filled = {}
    for variable, value in step("Run wheelfix")["env"].items():
        filled[variable] = re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match[1]], value)
    return {**filled, "INPUT_SOURCE": str(HERE)}


@NEEDS_BASH
def test_the_action(place):
    summary = place / "summary.md"
    given = inputs(sarif="out.sarif", html="out.html", args="--drop-test-artifacts --fail-on warning")
    out = bash(
        step("Run wheelfix")["run"],
        **given,
        INPUT_VENV=str(Path(sys.executable).parent),
        GITHUB_STEP_SUMMARY=str(summary),
    )
    assert "ok" in out
    assert (place / "wheelhouse" / WHEEL).is_file()
    assert (place / "out.sarif").is_file()
    assert (place / "out.html").is_file()
    assert "torch-2.7.1+cu117" in summary.read_text(encoding="utf-8")


def test_inputs_become_one_command_line():
    given = inputs(wheels="dist/a b.whl\n\n dist/*.whl \n", args='--cuda "C:\\Program Files\\CUDA" --ignore WF605')
    assert command_line(given) == [
        *("ci", "dist/a b.whl", "dist/*.whl", "--format", "github", "--wheel-dir", "wheelhouse"),
        *("--cuda", "C:\\Program Files\\CUDA", "--ignore", "WF605"),
    ]
    assert command_line(inputs(command="scan")) == ["scan", "dist/*.whl", "--format", "github"]
    assert split("") == []


def test_the_table_of_outputs_is_the_action_s():
    text = RECIPES.read_text(encoding="utf-8")
    rows = text.partition("| output |")[2].partition("\n\n")[0].splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == list(ACTION["outputs"])
    step_outputs = {name for name, item in ACTION["outputs"].items() if "steps.run.outputs." in item["value"]}
    assert step_outputs == {*outputs(None), "exit-code"}
    assert step("Run wheelfix")["id"] == "run"


def run_and_read(place, monkeypatch, **given):
    """Run the action's body and return its exit code and outputs."""
    file = place / "outputs"
    for name, value in {**inputs(**given), "GITHUB_OUTPUT": str(file)}.items():
        monkeypatch.setenv(name, value)
    code = run_action(os.environ)
    lines = file.read_text(encoding="utf-8").splitlines()
    file.unlink()
    return code, dict(line.split("=", 1) for line in lines)


def test_outputs(place, monkeypatch, capsys):
    code, found = run_and_read(place, monkeypatch, command="scan")
    assert (code, found["exit-code"]) == (1, "1")
    assert (found["verdict"], found["inputs"], found["broken"], found["ok"]) == ("broken", "1", "1", "0")
    assert int(found["errors"]) >= 3
    code, found = run_and_read(place, monkeypatch, args="--drop-test-artifacts")
    assert (code, found["verdict"], found["ok"], found["errors"]) == (0, "ok", "1", "0")
    (place / "dist" / "bad-1.0-cp311-cp311-win_amd64.whl").write_bytes(b"rubbish")
    code, found = run_and_read(place, monkeypatch, wheels="dist/bad*.whl", command="verify")
    assert (code, found["verdict"], found["not-readable"]) == (3, "not-readable", "1")
    code, found = run_and_read(place, monkeypatch, args="--no-such-option")
    assert (code, found["verdict"], found["exit-code"]) == (2, "none", "2")


def test_an_unknown_command_is_refused():
    with pytest.raises(SystemExit, match="not 'rm'"):
        command_line(inputs(command="rm"))


@NEEDS_BASH
@pytest.mark.real
@pytest.mark.long
def test_the_action_installs_itself(place):
    """pip builds and installs the checkout, with what it needs, into an environment of its own."""
    variables = {"RUNNER_TEMP": str(place), "GITHUB_ENV": str(place / "env"), "INPUT_SOURCE": str(HERE)}
    bash(step("Install wheelfix")["run"], **variables, INPUT_PYTHON=sys.executable)
    (line,) = (place / "env").read_text(encoding="utf-8").splitlines()
    name, _, folder = line.partition("=")
    bash(step("Run wheelfix")["run"], **inputs(args="--drop-test-artifacts"), **{name: folder})
    with zipfile.ZipFile(place / "wheelhouse" / WHEEL) as archive:
        assert "torch/lib/libiomp5md.dll" in archive.namelist()

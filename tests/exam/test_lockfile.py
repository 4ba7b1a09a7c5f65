"""What lock files of real tools say is installed on Windows, and what is said about a bad one."""

import os

import pytest

from wheelfix.errors import InputError
from wheelfix.exam.lockfile import LockParts, read_lockfile
from wheelfix.loader.profile import Profile
from wheelfix.model import Machine

TARGET = Profile(Machine.AMD64, (3, 11))

FREEZE = """\
# This file was written on Windows
certifi==2026.10.18
flux @ file:///C:/wheels/flux-2.1%2Bcu128-cp311-cp311-win_amd64.whl#sha256=00
numpy @ file:///C:/b/abs_1/croot/numpy_1707/work/dist
https://example.org/viol_core-2.1-cp311-cp311-win_amd64.whl
./wheels/oboe-2.1+cu12-py3-none-any.whl
uvloop==0.23 ; sys_platform == 'linux'
-e git+https://example.org/horn.git@0f3a#egg=horn&subdirectory=py
# Editable install with no version control (reed==0.3)
-e c:\\users\\me\\reed
# Editable Git install with no remote (lute==1.4)
-e /home/me/lute
"""

UV_LOCK = """\
version = 1
revision = 3
requires-python = ">=3.10"

[[package]]
name = "project"
version = "0.1"
source = { virtual = "." }
dependencies = [
    { name = "flux", extra = ["cuda"] },
    { name = "numpy", version = "2.2.6", marker = "python_full_version < '3.11'" },
    { name = "numpy", version = "2.4.6", marker = "python_full_version >= '3.11'" },
    { name = "uvloop", marker = "sys_platform != 'win32'" },
]

[package.optional-dependencies]
gui = [{ name = "kivy" }]

[package.dev-dependencies]
dev = [{ name = "pytest" }]
lint = [{ name = "ruff" }]

[[package]]
name = "flux"
version = "2.1"
source = { registry = "https://example.org/simple" }
dependencies = [{ name = "linuxlibs", marker = "sys_platform == 'linux'" }, { name = "six" }]

[package.optional-dependencies]
cuda = [{ name = "cudalibs" }, { name = "flux" }]
rocm = [{ name = "rocmlibs" }]

[[package]]
name = "numpy"
version = "2.2.6"
resolution-markers = ["python_full_version < '3.11'"]

[[package]]
name = "numpy"
version = "2.4.6"
resolution-markers = ["python_full_version >= '3.11'"]
"""
for _name in ("uvloop", "linuxlibs", "six", "cudalibs", "rocmlibs", "kivy", "pytest", "ruff"):
    UV_LOCK += (
        f'\n[[package]]\nname = "{_name}"\nversion = "1.0"\nsource = {{ registry = "https://example.org/simple" }}\n'
    )

PYLOCK = """\
lock-version = "1.0"
created-by = "a test"
requires-python = ">=3.10"
extras = ["gui"]
dependency-groups = ["dev", "lint"]
default-groups = ["dev"]

[[packages]]
name = "flux"
version = "2.1"
[[packages.wheels]]
name = "flux-2.1-cp311-cp311-win_amd64.whl"
[[packages.wheels]]
name = "flux-2.1-cp311-cp311-manylinux_2_28_x86_64.whl"

[[packages]]
name = "uvloop"
version = "0.23"
marker = "sys_platform != 'win32'"

[[packages]]
name = "numpy"
version = "2.2.6"
requires-python = "<3.11"

[[packages]]
name = "numpy"
version = "2.4.6"
marker = "python_full_version >= '3.11'"

[[packages]]
name = "kivy"
version = "2.3.1"
marker = "'gui' in extras"

[[packages]]
name = "pytest"
version = "9.2"
marker = "'dev' in dependency_groups"

[[packages]]
name = "ruff"
version = "0.17"
marker = "'lint' in dependency_groups"

[[packages]]
name = "local"
directory = { path = "./local", editable = true }
"""


def read(folder, text, name="requirements.txt", parts=None, target=TARGET, **others):
    for other, content in others.items():
        (folder / f"{other}.txt").write_text(content, encoding="utf-8")
    (folder / name).write_text(text, encoding="utf-8")
    return read_lockfile(folder / name, target, parts)


def names(found):
    return [str(one) for one in found.members if not one.unless]


def perhaps(found):
    return {one.name: one.unless for one in found.members if one.unless}


class TestRequirements:
    def test_pip_freeze(self, tmp_path):
        found = read(tmp_path, FREEZE)
        expected = ["certifi==2026.10.18", "flux==2.1+cu128", "numpy", "viol-core==2.1", "oboe==2.1+cu12", "horn"]
        expected += ["reed==0.3", "lute==1.4"]
        assert names(found) == expected
        assert found.unnamed == ()

    def test_powershell_writes_utf_16(self, tmp_path):
        (tmp_path / "requirements.txt").write_bytes("flux==2.1\r\nhorn==1\r\n".encode("utf-16"))
        assert names(read_lockfile(tmp_path / "requirements.txt", TARGET)) == ["flux==2.1", "horn==1"]

    @pytest.mark.parametrize("option", ["-c more.txt", "-cmore.txt", "--constraint more.txt", "--constraint=more.txt"])
    def test_constraints_narrow_and_install_nothing(self, tmp_path, option):
        found = read(tmp_path, f"{option}\nflux>=2\n", more="flux==2.1\nhorn==1.0\n")
        assert names(found) == ["flux>=2,==2.1"]
        assert found.members[0].fits("2.1")
        assert not found.members[0].fits("2.2")

    @pytest.mark.parametrize("option", ["-r more.txt", "--requirement=more.txt", '-r "more.txt"'])
    def test_includes(self, tmp_path, option):
        assert names(read(tmp_path, f"{option}\nflux==2.1\n", more="horn==1.0\n")) == ["horn==1.0", "flux==2.1"]

    def test_what_constraints_include_is_no_requirement(self, tmp_path):
        assert names(read(tmp_path, "-c a.txt\nflux\n", a="-r b.txt\n", b="horn==1\nflux<3\n")) == ["flux<3"]

    def test_hashes_continuations_and_comments(self, tmp_path):
        text = "flux==2.1 ; sys_platform == 'win32' \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n    # via horn\n"
        found = read(tmp_path, text + "# a remark that ends so \\\nhorn[gui]==1.0 --hash=sha256:22\n")
        assert names(found) == ["flux==2.1", "horn==1.0"]
        assert found.members[1].extras == ("gui",)
        assert found.closed

    def test_without_hashes_pip_adds_what_is_required(self, tmp_path):
        assert not read(tmp_path, "flux==2.1\n").closed

    def test_the_name_of_a_local_project(self, tmp_path):
        (tmp_path / "reed").mkdir()
        (tmp_path / "reed/pyproject.toml").write_text('[project]\nname = "Reed.Pipe"\n')
        assert names(read(tmp_path, "-e ./reed\n./reed[gui]\n")) == ["reed-pipe"]

    def test_a_place_without_a_name_is_kept(self, tmp_path):
        assert read(tmp_path, "-e ./reed\n").unnamed == ("./reed",)

    @pytest.mark.parametrize(
        "text, line, reason",
        [
            ("flux==1\n-r gone.txt\n", 2, "gone.txt, which does not exist"),
            ("-r https://example.org/r.txt\n", 1, "only files of this machine"),
            ("-r requirements.txt\n", 1, "includes it again"),
            ("flux==1\nnumpy=1.26.4=py311_0\n", 2, "does not say which distribution"),
            ("./local/package\n", 1, "'./local/package' does not say which distribution"),
        ],
    )
    def test_a_bad_one_is_refused(self, tmp_path, text, line, reason):
        with pytest.raises(InputError, match=f"requirements.txt, line {line}.*{reason}"):
            read(tmp_path, text)


class TestUvLock:
    def test_what_the_target_gets(self, tmp_path):
        found = read(tmp_path, UV_LOCK, "uv.lock")
        assert names(found) == ["flux==2.1", "numpy==2.4.6", "pytest==1.0", "six==1.0", "cudalibs==1.0"]
        assert perhaps(found) == {
            "kivy": "it is installed only with --extra gui",
            "ruff": "it is installed only with --group lint",
        }

    def test_extras_and_groups_that_are_asked_for(self, tmp_path):
        found = read(tmp_path, UV_LOCK, "uv.lock", LockParts(("gui",), ("lint",)))
        assert {"kivy==1.0", "ruff==1.0"} < set(names(found))
        assert perhaps(found) == {"pytest": "it is installed only with --group dev"}

    def test_conflicting_extras(self, tmp_path):
        """uv writes the extra of the project into the markers where two extras exclude each other."""
        text = (
            'version = 1\n[[package]]\nname = "proj"\nversion = "1"\nsource = { editable = "." }\n'
            "[package.optional-dependencies]\n"
            'cpu = [{ name = "flux", version = "1.0", marker = "extra == \'extra-4-proj-cpu\'" }]\n'
            'gpu = [{ name = "flux", version = "2.0", marker = "extra == \'extra-4-proj-gpu\'" }]\n'
            '[[package]]\nname = "flux"\nversion = "1.0"\n[[package]]\nname = "flux"\nversion = "2.0"\n'
        )
        for extra, expected in (("cpu", "flux==1.0"), ("gpu", "flux==2.0")):
            assert names(read(tmp_path, text, "uv.lock", LockParts((extra,)))) == [expected]
        assert "installed from its source" in perhaps(read(tmp_path, text, "uv.lock"))["proj"]

    def test_a_script(self, tmp_path):
        text = (
            'version = 1\n[manifest]\nrequirements = [{ name = "six" }]\n[[package]]\nname = "six"\nversion = "1.0"\n'
        )
        assert names(read(tmp_path, text, "script.py.lock")) == ["six==1.0"]


class TestPylock:
    def test_what_the_target_gets(self, tmp_path):
        found = read(tmp_path, PYLOCK, "pylock.toml")
        assert names(found) == ["flux==2.1", "numpy==2.4.6", "pytest==9.2"]
        assert perhaps(found) == {
            "kivy": "it is installed only with the extra or group gui",
            "ruff": "it is installed only with the extra or group lint",
            "local": "it is installed from its source, and no wheel of it was found",
        }

    def test_extras_and_groups_that_are_asked_for(self, tmp_path):
        found = read(tmp_path, PYLOCK, "pylock.toml", LockParts(("gui",), ("lint",)))
        assert {"kivy==2.3.1", "ruff==0.17"} < set(names(found))
        assert "pytest" in perhaps(found)

    def test_another_python(self, tmp_path):
        with pytest.raises(InputError, match=r"for Python >=3.10, and the wheels are for 3.9"):
            read(tmp_path, PYLOCK, "pylock.toml", target=Profile(Machine.AMD64, (3, 9)))


class TestRefused:
    @pytest.mark.parametrize(
        "name, text, reason",
        [
            ("pylock.toml", "= 1", "not valid TOML"),
            ("pylock.toml", '[[packages]]\nname = "a"\n', "it has no lock-version"),
            ("uv.lock", "x = 1\n", "no list of packages"),
            ("pylock.toml", 'lock-version = "2.0"\npackages = []\n', "its lock-version is 2.0; only 1 is supported"),
            ("uv.lock", 'version = 2\n[[package]]\nname = "a"\n', "its version is 2; only 1 is supported"),
            ("other.lock", '[[package]]\nname = "a"\n[metadata]\nlock-version = "2.1"\n', "uv did not write it"),
            ("uv.lock", 'version = 1\n[[package]]\nname = "a"\n[[package]]\nversion = "1"\n', "entry 2 .* has no name"),
            ("poetry.lock", "", "not a lock file that wheelfix reads"),
            ("pyproject.toml", "", "not a lock file that wheelfix reads"),
        ],
    )
    def test_formats(self, tmp_path, name, text, reason):
        with pytest.raises(InputError, match=reason):
            read(tmp_path, text, name)

    @pytest.mark.parametrize(
        "name, text, parts, option",
        [
            ("uv.lock", UV_LOCK, LockParts(("tui",)), "--extra tui"),
            ("uv.lock", UV_LOCK, LockParts((), ("docs",)), "--group docs"),
            ("pylock.toml", PYLOCK, LockParts(("tui",)), "--extra tui"),
            ("requirements.txt", "flux\n", LockParts(("tui",)), "--extra tui"),
        ],
    )
    def test_parts_that_the_file_does_not_have(self, tmp_path, name, text, parts, option):
        with pytest.raises(InputError, match=f"nothing for {option}"):
            read(tmp_path, text, name, parts)


def test_requirements_files_that_include_each_other_often(tmp_path):
    """Each of 40 files includes the next one twice: 2 to the power of 40 reads."""
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text(f"-r {number + 1}.txt\n-r ./x/../{number + 1}.txt\n", "utf-8")
    (tmp_path / "x").mkdir()
    (tmp_path / "40.txt").write_text("demo==1.0\n", "utf-8")
    found = read_lockfile(tmp_path / "0.txt", TARGET)
    assert [one.name for one in found.members] == ["demo"]
    (tmp_path / "40.txt").write_text("-r x/../0.txt\n", "utf-8")
    with pytest.raises(InputError, match="which includes it again"):
        read_lockfile(tmp_path / "0.txt", TARGET)


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
@pytest.mark.parametrize("name", ["pylock.toml", "uv.lock", "requirements.txt"])
def test_a_lock_file_that_is_not_a_regular_file(name, tmp_path):
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(InputError, match="a device or pipe, not a regular file"):
        read_lockfile(tmp_path / name, TARGET)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="a device or pipe, not a regular file"):
        read_lockfile(tmp_path / name, TARGET)

"""What is installed for a trial: the wheel, and what it requires on Windows, by pip.

pip judges the conditions of requirements (``; sys_platform == "win32"``) by the machine that it runs on. So wheelfix
judges them, and asks pip for one distribution after the other: which file fits, and that it is installed as pip does.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.names import FileName, installed_path
from wheelfix.archive.reader import Archive
from wheelfix.base.programs import python_command, run_program
from wheelfix.base.values import dataclass, field
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.loader.profile import Profile
from wheelfix.loader.requirements import holds_on_target, parse_requirement
from wheelfix.model import Machine, canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from wheelfix.trial.model import Interpreter, PythonFacts, TrialOptions

PLATFORMS = {Machine.AMD64: "win_amd64", Machine.X86: "win32", Machine.ARM64: "win_arm64"}
ROUNDS = 20
"""Levels of requirements that are followed."""
_LONG = 900.0


def install(wheel: Path, target: Interpreter, options: TrialOptions, work: Path) -> tuple[str, ...]:
    """Install a wheel into an environment that is empty; return what is there then, as ``name==version``."""
    extra = [path for path in options.beside if path.is_file()]
    wheels = [wheel, *extra]
    folder = work / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if options.requirements:
        wheels += _Requirements(target.facts, options, folder).of(wheels)
    command = ["install", "--no-deps", "--no-compile", "--no-index", "--isolated", "--target", str(target.site)]
    _pip([*command, *_target(target.facts), *(str(path) for path in wheels)], wheel, target.facts, work)
    for path in wheels:
        _place_data(path, target)
    return tuple(f"{name.name}=={name.version}" for name in map(FileName.parse, wheels))


def empty(target: Interpreter, baseline: frozenset[str]) -> None:
    """Remove from an environment what the trial before has installed; ``baseline`` is what it had when it was made."""
    added = [path for path in target.prefix.iterdir() if path.name not in baseline]
    for old in [*target.site.iterdir(), *added]:
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()


def _target(facts: PythonFacts) -> list[str]:
    version = ".".join(map(str, facts.version))
    platform = PLATFORMS.get(facts.machine, "win_amd64")
    return ["--platform", platform, "--python-version", version, "--implementation", "cp", "--only-binary", ":all:"]


def _pip(arguments: Sequence[str], wheel: Path, facts: PythonFacts, work: Path) -> None:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-color"]
    done = run_program(python_command("pip", [arguments[0], *quiet, *arguments[1:]]), timeout=_LONG, within=work)
    if not done.code:
        return
    lines = [line.removeprefix("ERROR: ").strip() for line in done.err.splitlines() if line.strip()]
    last = next((line for line in lines if "not a supported wheel" in line), lines[-1] if lines else "no message")
    if "No module named pip" in done.err:
        raise EnvironmentFailure(
            "wheelfix try installs with pip, which is not there", because=last, hint="python -m ensurepip"
        )
    if "not a supported wheel" in done.err:
        version = ".".join(map(str, facts.version))
        raise InputError(
            f"{wheel.name} cannot be installed for {facts.label}",
            because=last,
            hint=f"it was tried with Python {version} for {facts.machine}; give the right one with --python-home "
            "(under Wine) or --python (on Windows)",
        )
    raise EnvironmentFailure(f"{wheel.name} cannot be installed", because=last, hint=_hint(done.err))


def _hint(text: str) -> str:
    if "No matching distribution" in text or "Could not find a version" in text:
        return (
            "requirements come from --with and --find-links only: add a folder that has them, ask for an index with "
            "--index-url, or leave them out with --no-deps"
        )
    return ""


def _place_data(path: Path, target: Interpreter) -> None:
    """Put the files of ``.data/data`` where a prefix has them: ``Library/bin`` and the like.

    pip's --target leaves them in site-packages, or leaves them out: what is below ``lib`` it takes for its own folder.
    """
    with Archive.open(path) as archive:
        info = WheelInfo.from_archive(archive)
        data = f"{info.data}/data/"
        for member in archive.members:
            if member.name.startswith(data) and member.name[-1:] != "/":
                new = _without_case(target.prefix, installed_path(member.name, info.data))
                old = target.site / member.name.removeprefix(data)
                if old != new and old.is_file():
                    old.unlink()
                new.parent.mkdir(parents=True, exist_ok=True)
                with new.open("wb") as file:
                    file.writelines(archive.chunks(member))


def _without_case(folder: Path, name: str) -> Path:
    """Return a path below a folder, by the names that are there: for Windows, ``lib`` is ``Lib``."""
    for part in name.split("/"):
        names = {path.name.lower(): path.name for path in folder.iterdir()} if folder.is_dir() else {}
        folder /= names.get(part.lower(), part)
    return folder


# ------------------------------------------------------------------------------------------------- the requirements


@dataclass
class _Requirements:
    """The distributions that some wheels require on the target, and theirs."""

    facts: PythonFacts
    options: TrialOptions
    folder: Path
    specifiers: dict[str, set[str]] = field(default_factory=dict)
    extras: dict[str, set[str]] = field(default_factory=dict)

    def of(self, wheels: Sequence[Path]) -> list[Path]:
        """Return the wheels to install besides some wheels; each requirement is met by one file."""
        given = {canonical(FileName.parse(path).name): path for path in wheels}
        pending = list(wheels)
        for _ in range(ROUNDS):
            changed = self._collect(pending)
            wanted = sorted(changed - given.keys())
            again = [given[name] for name in changed & given.keys() if self.extras.get(name)]
            if not wanted and not again:
                break
            for name in wanted:
                for old in self._files(name):
                    old.unlink()
            if wanted:
                self._download(wanted, wheels[0])
            pending = [*again, *(path for name in wanted for path in self._files(name))]
        return [path for name in sorted(self.specifiers.keys() - given.keys()) for path in self._files(name)]

    def _collect(self, wheels: Iterable[Path]) -> set[str]:
        """Take the requirements of some wheels; return the names about which there is something new."""
        changed = set()
        for path in wheels:
            name = canonical(FileName.parse(path).name)
            for text in requirements_of(path, self.facts, self.extras.get(name, set())):
                requirement = parse_requirement(text)
                if requirement is None:
                    raise InputError(f"{path.name} requires {text!r}", because="that is not a valid requirement")
                key = canonical(requirement.name)
                specifiers = self.specifiers.setdefault(key, set())
                extras = self.extras.setdefault(key, set())
                if str(requirement.specifier) not in specifiers or requirement.extras - extras:
                    specifiers.add(str(requirement.specifier))
                    extras |= requirement.extras
                    changed.add(key)
        return changed

    def _files(self, name: str) -> list[Path]:
        return [path for path in self.folder.glob("*.whl") if canonical(FileName.parse(path).name) == name]

    def _download(self, names: Sequence[str], wheel: Path) -> None:
        command = ["download", "--no-deps", "--dest", str(self.folder), *_target(self.facts)]
        folders = [*(path for path in self.options.beside if path.is_dir()), *self.options.find_links]
        command += [word for folder in folders for word in ("--find-links", str(folder.absolute()))]
        command += ["--index-url", self.options.index_url] if self.options.index_url else ["--no-index", "--isolated"]
        specifiers = [name + ",".join(sorted(filter(None, self.specifiers[name]))) for name in names]
        _pip([*command, *specifiers], wheel, self.facts, self.folder.parent)


def requirements_of(path: Path, facts: PythonFacts, extras: Iterable[str] = ()) -> Iterator[str]:
    """Give the requirements of a wheel that hold on the target, without those of extras that were not asked for."""
    with Archive.open(path) as archive:
        requires = WheelInfo.from_archive(archive).metadata.requires_dist
    profile = Profile(facts.machine, facts.version)
    for text in requires:
        requirement = parse_requirement(text)
        if requirement is None or any(holds_on_target(requirement, profile, extra) for extra in ("", *extras)):
            yield text

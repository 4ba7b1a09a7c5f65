"""Fills the templates of causes and remedies with what a symptom says about files, packages and versions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.diagnosis.symptoms.messages import about_architecture, library_of
from wheelfix.diagnosis.symptoms.model import environment_prefix
from wheelfix.knowledge.cards import architecture, capability_of_arch
from wheelfix.knowledge.cuda import FAMILY, INDEX, TorchBuild, cuda_labels, cuda_release, release_for
from wheelfix.knowledge.families import family_of, is_mangled
from wheelfix.knowledge.providers import conda_requirements, distribution_of_module, owners_of, pip_packages, who_ships
from wheelfix.knowledge.system import classify
from wheelfix.knowledge.winerrors import winerror
from wheelfix.rules.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.diagnosis.symptoms.model import Remedy, Symptom


def words_for(symptom: Symptom, missing: tuple[str, ...], *, candidates: bool = False) -> dict[str, str]:
    """What the templates may ask for; an empty value means that the text does not say.

    ``candidates`` says that the missing DLLs are those that are known to be absent in such cases, any one of them:
    then nothing is said about where to get them, because most of them are there.
    """
    details, path = symptom.details, symptom.path or ""
    names = symptom.dlls or ((symptom.file,) if symptom.file else missing)
    capability = details.get("capability", "")
    supported = details.get("supported", "").rstrip(" .")
    built, running = details.get("built", ""), details.get("running", "")
    card = details.get("card", "")
    pip, conda, who = _vendor(() if candidates else missing)
    error = winerror(symptom.code) if symptom.code is not None else None
    prefix = environment_prefix(path) or details.get("prefix", "")
    package = _package(symptom)
    distribution = details.get("distribution", "") or distribution_of_module(package)
    build = TorchBuild.parse(details["torch"]) if details.get("torch") else None
    conda_environment = details.get("environment") == "conda"
    library = library_of(names[0] if names else "")
    return {
        "library_fix": library.fix if library else "",
        "library_command": library.command if library else "",
        "library_why": library.why if library else "",
        "file": symptom.file or (f"the module {symptom.module}" if symptom.module else "the file"),
        # It stands between the quotes of a command; a bare name is looked for elsewhere.
        "full_path": path if "\\" in path and "'" not in path else "",
        "names": _and(names) or "a part",
        "module": symptom.module,
        "package": package,
        "package_name": _package_name(symptom, package),
        "distribution": distribution,
        "upgradable": "" if may_replace_a_build(distribution) else distribution,
        "again": again(distribution, details.get("version", ""), build, conda=conda_environment),
        "then_again": then_again(distribution, details.get("version", ""), conda=conda_environment),
        "torch_241": in_release(build, "2.4.1"),
        "torch_together": together(build, distribution),
        "torch_for_card": for_card(capability) if package == "torch" else "",
        "torch_cpu": for_cpu() if package == "torch" else "",
        "torchvision": together(build, "torchvision"),
        "dll": symptom.dlls[0] if symptom.dlls else "a DLL",
        "card_arch": details.get("arch", ""),
        "arch_known": about_architecture(details.get("arch", "")),
        "symbol": details.get("symbol", ""),
        # The DLLs of CUDA beside torch import none of its own.
        "torch_imports": "" if is_beside_torch(symptom.file) else " (often torch_cpu.dll or torch_cuda.dll)",
        "named": f": {_and(symptom.dlls)}" if symptom.dlls else "",
        "same_build": " and the same kind of build (CPU, CUDA, ROCm, XPU)" if may_replace_a_build(distribution) else "",
        "collect": _collect(symptom),
        "meaning": error.meaning if error else "",
        "code_note": _code_note(symptom.code),
        "prefix": prefix,
        "env_option": f' --env "{prefix}"' if prefix else "",
        "package_folder": _package_folder(symptom),
        "wheel": rf"dist\{distribution.replace('-', '_')}*.whl",
        "card": card,
        "capability": capability,
        "arch": _arch(capability),
        "ask_arch": "" if _arch(capability) else "nvidia-smi --query-gpu=compute_cap --format=csv,noheader",
        "for_card": f": {card} has {capability}" if card and capability else "",
        "has_archs": f", here {supported}" if supported else "",
        "numpy_versions": f": built for {built}, running with {running}" if built and running else "",
        "vendor_command": pip,
        "conda_command": conda,
        "vendor_why": who,
        "wildcard": _with_suffix(symptom.dlls[0] if symptom.dlls else "" if "\\" in path else symptom.file),
        "script": "script.py",
    }


_OF_VENDORS = frozenset({"vendor", "unknown", "vcredist"})
"""What packages bring; Windows, Python and drivers bring the rest."""


def _vendor(missing: tuple[str, ...]) -> tuple[str, str, str]:
    """Return a pip command, a conda command and who ships it, for the first DLLs of which something is known."""
    pip: list[str] = []
    conda: list[str] = []
    who: list[str] = []
    for name in missing:
        if "*" in name or is_mangled(name) or classify(name).kind not in _OF_VENDORS:
            continue
        packages = tuple(package for package in pip_packages(name) if not may_replace_a_build(package))
        if len(packages) > 1:
            # One for each major version of CUDA: nothing in the text says which one fits.
            who.append(f"one of {', '.join(packages)} on PyPI, the one for the CUDA version that is in use")
            continue
        pip += map(quoted, packages)
        conda += conda_requirements(name)
        who += who_ships(name)[:1]
        who += [_after_installing(name, package) for package in packages]
    return (
        f"python -m pip install {' '.join(dict.fromkeys(pip))}" if pip else "",
        f"conda install -c conda-forge {' '.join(map(quoted, dict.fromkeys(conda)))}" if conda else "",
        "who has it: " + "; ".join(dict.fromkeys(filter(None, who))) if who else "",
    )


def _after_installing(name: str, requirement: str) -> str:
    """Where a DLL lies once the distribution is installed, if that is a folder that has to be named to Windows."""
    distribution = requirement_name(requirement)
    folder = next((owner.folder for owner in owners_of(name) if owner.distribution == distribution), "")
    if not folder or folder == "Library/bin":
        return ""
    place = folder.replace("/", "\\")
    return (
        f"the wheel puts it into {place}, which Windows does not search by itself: where the program does not add that "
        "folder, call os.add_dll_directory with it before the import"
    )


def is_beside_torch(file: str) -> bool:
    """Whether a DLL is one of a vendor, which torch only has in its folder."""
    member = family_of(file)
    return member is not None and not member.family.id.startswith("torch")


def _collect(symptom: Symptom) -> str:
    """The option of PyInstaller for the package whose DLLs were left out; empty for other tools."""
    if symptom.details.get("bundle") != "PyInstaller":
        return ""
    return f"pyinstaller --collect-binaries {symptom.package or 'PACKAGE'} script.py"


def _package_name(symptom: Symptom, package: str) -> str:
    """What to call the package: its name, or the module of it that the text names."""
    if symptom.package or not package.startswith("_"):
        return package or "the package"
    return f"the package that has {package}"


def _with_suffix(name: str) -> str:
    """A name as where.exe finds it: without a suffix it looks for programs."""
    return f"{name}.dll" if name and "." not in name else name


def _code_note(code: int | None) -> str:
    if code is None:
        return "the text does not say with which code"
    number = str(code) if code <= 0xFFFF else f"0x{code:08X}"
    return f"the text has error {number}, which is not one that loads usually end with"


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _package_folder(symptom: Symptom) -> str:
    prefix = environment_prefix(symptom.path or "")
    # Inside the single quotes of PowerShell, an apostrophe is written twice.
    folder = rf"{prefix}\Lib\site-packages\{symptom.package}" if prefix and symptom.package else ""
    return folder.replace("'", "''")


_NUMPY_CORE = frozenset({"_multiarray_umath", "multiarray"})


def _package(symptom: Symptom) -> str:
    """The importable package that a symptom is about: from the path, the kind of message, or the module."""
    # "… with CUDA capability sm_120 is not compatible with the current PyTorch installation"
    if symptom.kind == "no-kernel-image" and "capability" in symptom.details:
        return "torch"
    if symptom.kind == "torch-load":
        return symptom.package or "torch"
    if symptom.module in _NUMPY_CORE:
        return "numpy"
    return symptom.package or symptom.module.partition(".")[0]


def _arch(capability: str) -> str:
    """``sm_120`` as TORCH_CUDA_ARCH_LIST wants it: ``12.0``."""
    found = re.fullmatch(r"sm_(\d+)(\d)([a-z]?)", capability)
    return f"{found[1]}.{found[2]}{found[3]}" if found else ""


_HOLE = re.compile(r"\{(\w+)\}")
_OPTIONAL = frozenset({"env_option"})
_NAMES_A_DISTRIBUTION = frozenset(
    {
        "package",
        "distribution",
        "upgradable",
        "again",
        "torchvision",
        "vendor_command",
        "library_command",
        "torch_241",
        "torch_together",
        "torch_for_card",
        "torch_cpu",
        "collect",
    }
)
"""Without these a remedy stays advice in words: nothing says which distribution, or which build of it, is meant."""


def fill(text: str, words: Mapping[str, str]) -> str:
    """Return a template's text with its words; those that are not known are empty."""
    filled = _HOLE.sub(lambda hole: words[hole[1]], text)
    return re.sub(r" {2,}", " ", filled).strip()


def fill_remedy(step: Remedy, words: Mapping[str, str]) -> Remedy | None:
    """Fill a remedy's placeholders; None when its command needs something that the text does not say.

    Advice about a package stays, without its command, where nothing says which distribution it is: a module's name
    is not a distribution's name.
    """
    empty = {hole for hole in _HOLE.findall(step.command) if not words[hole]} - _OPTIONAL
    if empty and empty <= _NAMES_A_DISTRIBUTION:
        step = replace(step, command="")
    elif empty:
        return None
    command = fill(step.command, words)
    why = fill(step.why, words) + _in_powershell(command)
    filled = replace(step, title=fill(step.title, words), command=command, why=why)
    return filled if filled.command or filled.why else None


_SETTING = re.compile(r"set (\w+)=(.*)")


def _in_powershell(command: str) -> str:
    """How to set the same variable in PowerShell, whose ``set`` is another command that silently does nothing here."""
    found = _SETTING.fullmatch(command)
    return f"; in PowerShell: $env:{found[1]} = '{found[2]}'" if found else ""


# ----------------------------------------------------- commands that install again, without changing the kind of build


_VARIANTS = frozenset({*FAMILY, "faiss-cpu", "jaxlib", "llama-cpp-python", "onnxruntime", "paddlepaddle", "tensorflow"})
"""Distributions of which there are builds for GPUs under other names or on other indexes."""
_OLDEST_SERVED = (5, 0)
"""Nothing is suggested for older cards: CUDA 12 dropped Kepler, and builds for 11.8 have at most a part of it."""


def may_replace_a_build(requirement: str) -> bool:
    """Whether installing a requirement from PyPI can put a build without GPU support in place of one with it."""
    return requirement_name(requirement) in _VARIANTS


def requirement_name(requirement: str) -> str:
    """Return the distribution of a requirement: what stands before extras, versions and markers."""
    return re.split(r"[<>=!~\[; ]", requirement, maxsplit=1)[0]


def again(distribution: str, version: str, build: TorchBuild | None, *, conda: bool = False) -> str:
    """Return the command that installs the same version of a distribution again; empty where that is not known.

    Without the version, the command is the one that prints it: pip alone would take the newest release. In an
    environment of conda the command shows whose package it is: pip's over conda's would mix two builds.
    """
    if not distribution:
        return ""
    start = "python -m pip install --force-reinstall --no-deps"
    if distribution in FAMILY:
        wanted = build.version if build and distribution == "torch" else version.partition("+")[0]
        if build is None or not build.is_published or not wanted:
            return ""
        return f'{start} "{distribution}=={wanted}"{build.index_option}'
    if "+" in version:
        return ""
    if conda:
        return f"conda list {distribution}"
    return f'{start} --no-cache-dir "{distribution}=={version}"' if version else f"python -m pip show {distribution}"


def then_again(distribution: str, version: str, *, conda: bool = False) -> str:
    """Return what follows the command that prints the version; empty where ``again`` is all there is to do."""
    if not distribution or distribution in FAMILY or (version and not conda):
        return ""
    command = f'python -m pip install --force-reinstall --no-deps "{distribution}==VERSION"'
    if conda:
        other = f"conda install --force-reinstall {distribution}"
        return f"; where its channel is pypi, the version that it prints goes into: {command}, otherwise: {other}"
    return f"; the version that it prints goes into: {command}"


def in_release(build: TorchBuild | None, release: str) -> str:
    """Return the command that installs another release of torch of the same kind; empty where the kind is not known.

    The release is named: the newest one would leave torchvision, torchaudio and other extensions without their torch.
    """
    if build is None or not build.is_published:
        return ""
    return f'python -m pip install --upgrade "torch=={release}"{build.index_option}'


def together(build: TorchBuild | None, distribution: str) -> str:
    """Return the command that installs one of torch's own extensions in the release for the installed torch.

    Nothing else is touched: without ``--no-deps`` pip would install NumPy and others again, in other versions.
    """
    release = release_for(build.version, distribution) if build else ""
    if build is None or not build.is_published or distribution == "torch" or not release:
        return ""
    return f'python -m pip install --force-reinstall --no-deps "{distribution}=={release}"{build.index_option}'


def for_card(capability: str) -> str:
    """Return the command for the oldest CUDA version whose builds know a card; empty when PyTorch publishes none."""
    wanted = capability_of_arch(capability)
    known = architecture(wanted) if wanted is not None else None
    if known is None or known.capability < _OLDEST_SERVED:
        return ""
    fitting = [label for label in cuda_labels() if cuda_release(label) >= (11, 8)]
    label = next((label for label in fitting if known.compiles_with(cuda_release(label))), "")
    # --upgrade alone would keep a newer torch for a CUDA version that no longer knows the card.
    return f"python -m pip install --force-reinstall torch --index-url {INDEX}/{label}" if label else ""


def for_cpu() -> str:
    """Return the command that installs torch without CUDA on purpose."""
    return f"python -m pip install --force-reinstall torch --index-url {INDEX}/cpu"

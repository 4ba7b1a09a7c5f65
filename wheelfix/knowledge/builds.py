"""Commands that install a package again, or another release of it, without changing the kind of its build."""

from __future__ import annotations

import re

from wheelfix.knowledge.cards import architecture, capability_of_arch
from wheelfix.knowledge.cuda import FAMILY, INDEX, TorchBuild, cuda_labels, cuda_release, release_for

_GPU_VARIANTS = frozenset(
    {*FAMILY, "faiss-cpu", "jaxlib", "llama-cpp-python", "onnxruntime", "paddlepaddle", "tensorflow"}
)
"""Distributions of which there are builds for GPUs under other names or on other indexes."""
_OLDEST_SERVED = (5, 0)
"""Nothing is suggested for older cards: CUDA 12 dropped Kepler, and builds for 11.8 have at most a part of it."""


def may_replace_a_build(requirement: str) -> bool:
    """Whether installing a requirement from PyPI can put a build without GPU support in place of one with it."""
    return requirement_name(requirement) in _GPU_VARIANTS


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

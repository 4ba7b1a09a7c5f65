"""Every command that a remedy can show: those of the tables, and those that are made for a case."""

from __future__ import annotations

import re
from functools import lru_cache

from tests.diagnosis.corpus import EXPECTED, answer_to
from tests.diagnosis.symptoms.explaining import explain_symptoms
from wheelfix.diagnosis.symptoms.causes import cause_table, circumstances, ending_families
from wheelfix.diagnosis.symptoms.messages import libraries, messages
from wheelfix.diagnosis.symptoms.reader import read_symptoms
from wheelfix.knowledge.builds import again, for_card, for_cpu, in_release, together
from wheelfix.knowledge.cuda import TorchBuild

WITHOUT_CODE = rb"OSError: Could not load this library: C:\env\Lib\site-packages\package\core.dll"
"""An error whose code the text does not have."""
NUMPY_1 = (
    b'  File "C:\\env\\Lib\\site-packages\\h5py\\__init__.py", line 33, in <module>\n'
    b"A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.1 as it may crash.\n"
)
"""A module of a distribution that has no other builds."""
WITH_WHEELS = [
    b"Processing dist/torch-2.7.1-cp311-cp311-win_amd64.whl\n" + text
    for text in (
        rb'[WinError 126] x Error loading "C:\v\Lib\site-packages\torch\lib\aoti_custom_ops.dll" or one of its',
        b"DLL load failed while importing x: The specified module could not be found.",
        b"NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.",
    )
]
"""Errors of those who have the wheel."""


@lru_cache(maxsize=1)
def templates() -> frozenset[str]:
    """The commands of the tables as they are written there, with holes."""
    found = {step.command for cause in cause_table().causes.values() for step in cause.next_steps}
    found |= {message.command for message in messages()}
    found |= {library.command for library in libraries()}
    found |= {row.command for row in (*ending_families(), *circumstances())}
    return frozenset(found - {""})


@lru_cache(maxsize=1)
def shown() -> frozenset[str]:
    """The commands that users see: of all texts of the corpus, of the tables without holes, for each kind of torch."""
    read = [answer_to(row["file"]).symptoms for row in EXPECTED]
    read += map(read_symptoms, (WITHOUT_CODE, NUMPY_1, *WITH_WHEELS))
    found = {step.command for symptoms in read for cause in explain_symptoms(symptoms) for step in cause.next_steps}
    found |= {command for command in templates() if "{" not in command}
    builds = [TorchBuild.parse(version) for version in ("2.4.0", "2.4.0+cpu", "2.4.0+cu124", "2.9.1+xpu")]
    for build in builds:
        found |= {again("torch", build.version, build), in_release(build, "2.4.1"), together(build, "torchvision")}
    found |= {for_card(capability) for capability in ("sm_61", "sm_86", "sm_120")} | {for_cpu()}
    return frozenset(_without_folders(command) for command in found - {""})


def _without_folders(command: str) -> str:
    """A command with the folder of an environment replaced by one for all: they differ in nothing else."""
    return re.sub(r'--env "[^"]*"', r'--env "C:\\env"', command)

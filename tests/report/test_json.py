"""The report for machines: in the shape of its schema, and the same bytes every time."""

import dataclasses
import json

import pytest

from tests.report.samples import broken_torch, clean_wheel, risky_extension
from tests.support.schemas import validate
from wheelfix.errors import InputError
from wheelfix.exam.examination import FailedInput
from wheelfix.model import CudaSummary, FileVersion, GpuFit, Signature
from wheelfix.report.document import render


@pytest.mark.parametrize("samples", [[broken_torch()], [clean_wheel(), risky_extension()], []])
def test_fits_the_schema(samples):
    validate(json.loads(render("json", samples)))


def test_the_shape_of_one_wheel():
    document = json.loads(render("json", [broken_torch()]))
    wheel = document["wheels"][0]
    assert list(document) == ["schema", "tool", "wheels", "summary"]
    assert document["schema"] == "wheelfix.scan/1"
    assert wheel["verdict"] == "broken"
    assert wheel["images"][3] == {
        "path": "torch/lib/torch_cpu.dll",
        "machine": "amd64",
        "size": 252_000_000,
        "imports": ["c10.dll", "libomp140.x86_64.dll"],
        "delay_imports": ["nvcuda.dll"],
    }
    assert wheel["missing"][1]["candidates"] == [
        {"path": r"C:\tools\zlibwapi.dll", "root": r"C:\tools", "version": "1.2.13", "reason": "the only one at hand"}
    ]
    assert wheel["first_failure"]["chain"] == ["fbgemm.dll", "torch_cpu.dll", "libomp140.x86_64.dll"]
    assert list(wheel["findings"][0]["evidence"]) == ["dll", "searched"]


def test_facts_that_were_asked_for_are_added():
    facts = {"version": FileVersion((1, 2, 3, 4)), "archs": ("sm_86", "ptx_86"), "signature": Signature("unsigned")}
    image = dataclasses.replace(clean_wheel().images[0], gpu=GpuFit("RTX 5070", "sm_120", "none"), **facts)
    cuda = CudaSummary("11.7", "452.39", "Made for CUDA 11.7.")
    report = dataclasses.replace(clean_wheel(), images=(image,), archs=("sm_86",), cuda=cuda)
    document = json.loads(render("json", [report]))
    validate(document)
    (wheel,) = document["wheels"]
    assert (
        wheel["images"][0].items()
        >= {
            "archs": ["sm_86", "ptx_86"],
            "version": "1.2.3.4",
            "signer": "unsigned",
            "gpu": {"card": "RTX 5070", "arch": "sm_120", "fit": "none"},
        }.items()
    )
    assert wheel["archs"] == ["sm_86"]
    assert wheel["cuda"] == {"release": "11.7", "driver": "452.39", "text": "Made for CUDA 11.7."}


def test_inputs_that_could_not_be_read_are_named():
    error = InputError("x.whl is no wheel", because="it is no ZIP archive", hint="build it again")
    document = json.loads(render("json", [clean_wheel()], [FailedInput("x.whl", error)]))
    validate(document)
    assert document["failures"] == [
        {
            "path": "x.whl",
            "stage": "read",
            "what": "x.whl is no wheel",
            "because": "it is no ZIP archive",
            "hint": "build it again",
        }
    ]


def test_same_input_same_bytes_and_ascii():
    first, second = render("json", [risky_extension()]), render("json", [risky_extension()])
    assert first == second
    assert first.isascii()
    assert first.endswith("}\n")

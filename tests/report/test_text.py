"""The report for people, compared whole; GPU code, builds and signers."""

from __future__ import annotations

import dataclasses
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.samples import broken_torch, check_golden, clean_wheel, risky_extension
from wheelfix.errors import CannotRepair, InputError
from wheelfix.exam.examination import FailedInput
from wheelfix.model import (
    Assumed,
    CudaSummary,
    Edge,
    EdgeKind,
    Finding,
    GpuFit,
    Image,
    Import,
    InView,
    LoadEvent,
    LoadOutcome,
    Machine,
    NumpyApi,
    OwnedBy,
    ProvidedDll,
    Resolution,
    ScannedImage,
    ScanReport,
    Severity,
    Signature,
)
from wheelfix.report.canvas import STYLES, Canvas, TextStyle, cells, wrapped
from wheelfix.report.document import (
    Context,
    Document,
    image_counts,
    label,
    provider_phrase,
    render,
    sentence,
)
from wheelfix.report.scans import FITS, Hints, render_scan, render_steps, render_summary
from wheelfix.rules.gpufit import Fit

ASCII = TextStyle(80, colour=False, unicode=False)
VERBOSE = TextStyle(80, verbose=True)
UNICODE = TextStyle(80, colour=False, unicode=True)


@pytest.mark.parametrize("style, look", [("ascii", ASCII), ("unicode", UNICODE)])
@pytest.mark.parametrize("sample", [broken_torch, clean_wheel, risky_extension], ids=lambda sample: sample.__name__)
@pytest.mark.parametrize("loud", ["", "quiet", "verbose"])
def test_golden(sample, style, look, loud):
    text = render_scan(sample(), dataclasses.replace(look, verbose=loud == "verbose", quiet=loud == "quiet"))
    check_golden(f"{sample.__name__}{'-' if loud else ''}{loud}.{style}.txt", text)


def test_programs_are_not_counted_as_dlls():
    report = clean_wheel()
    program = dataclasses.replace(report.images[0], path="bin/Tool.EXE")
    text = render_scan(dataclasses.replace(report, images=(*report.images, program)), VERBOSE)
    assert "amd64, 0 DLLs, 1 extension module, 1 program\n" in text


def test_no_line_is_wider_than_the_look_but_those_that_must_stay_whole():
    report = broken_torch()
    for line in render_scan(report, ASCII).splitlines():
        assert len(line) <= 80 or report.first_failure.message in line


def test_colour_changes_nothing_but_colour():
    plain = render_scan(broken_torch(), UNICODE)
    coloured = render_scan(broken_torch(), dataclasses.replace(UNICODE, colour=True))
    assert "\x1b[1;31m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_the_process_environment_does_not_leak_in(monkeypatch):
    plain = render_scan(broken_torch(), UNICODE)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "33")
    assert render_scan(broken_torch(), UNICODE) == plain


def drawn(*edges: tuple[str, str]) -> str:
    """The report of a wheel in which these files need each other; the first of all is what is loaded."""
    folder = "Lib/site-packages/x/"
    resolution = Resolution(
        tuple(Edge(folder + first, second, EdgeKind.IMPORT, InView(folder + second)) for first, second in edges),
        (LoadOutcome(LoadEvent(folder + edges[0][0], "extension", "x")),),
    )
    return render_scan(dataclasses.replace(clean_wheel(), resolution=resolution), VERBOSE)


def test_every_need_of_every_file_is_listed_once():
    """A tree of them grew to the right, needed a stack of its own, and was cut."""
    names = [f"{number:05}.dll" for number in range(3000)]
    text = drawn(*zip(names, [*names[1:], names[0]], strict=True))
    assert text.count(".dll -> x/") == 3000
    assert max(map(len, text.splitlines())) <= 80


def test_a_list_without_end_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr("wheelfix.report.scans.MOST", 200)
    names = [f"{number:03}.dll" for number in range(15)]
    text = drawn(*itertools.product(names, names))
    assert "The list ends here, after 200 needs; --format json has all 225 of them." in text


def test_summary_of_many():
    failures = [
        FailedInput("dist/x.whl", InputError("dist/x.whl is not a wheel")),
        FailedInput(broken_torch().path, CannotRepair("nothing was written"), "repair"),
    ]
    context = Context(skipped=("dist/y-1-py3-none-linux_x86_64.whl",))
    check_golden(
        "summary.ascii.txt", render_summary(Document([clean_wheel(), broken_torch()], failures, context), ASCII)
    )


@given(st.text("ab c-/日é→", max_size=120), st.integers(20, 40))
def test_text_is_broken_at_blanks_only(text, room):
    lines = [text[start:end] for start, end in wrapped(text, room)]
    assert " ".join(lines).split() == text.split()
    assert all(cells(line) <= room or " " not in line.strip() for line in lines)


def test_a_path_stays_whole_in_a_pipe():
    path = "/home/jörg/my long folder of wheels/" + "x" * 90 + ".dll"
    canvas = Canvas(ASCII)
    canvas.paragraph((path, "path"), " and some words behind it", lead="needed by ")
    assert path in canvas.text()


def test_a_hint_is_printed_once_in_a_run():
    hints = Hints()
    first, second = (render_scan(broken_torch(), ASCII, hints=hints) for _ in range(2))
    assert "hint:" in first
    assert "hint:" not in second
    assert "wheelfix explain" not in second


def test_a_missing_dll_is_described_once():
    named = Finding(
        "WF301",
        "missing-dependency",
        Severity.ERROR,
        "libomp140.x86_64.dll",
        "libomp140.x86_64.dll, imported by torch_cpu.dll, is missing; loading fbgemm.dll fails with error 126",
        hint="this hint belongs to the list",
    )
    text = render_scan(dataclasses.replace(broken_torch(), findings=(named,)), ASCII)
    assert "Missing (1)" in text
    assert "libomp140.x86_64.dll (see Missing)" in text
    assert "is missing;" not in text
    assert "this hint" not in text


WORDS = st.text("ab c-/日→", max_size=40)
SPANS = st.one_of(WORDS, st.tuples(WORDS, st.sampled_from([*STYLES])))


@given(st.lists(SPANS, max_size=5), st.integers(30, 90))
def test_colour_never_moves_a_word(spans, width):
    drawn = []
    for colour in (False, True):
        canvas = Canvas(TextStyle(width=width, unicode=True, colour=colour))
        canvas.line(*spans, indent=2)
        canvas.paragraph(*spans, indent=4, lead=("hint: ", "note"))
        canvas.table([spans, spans] if spans else [])
        canvas.ends("left", spans[0] if spans else "right")
        drawn.append(canvas.text())
    bare = "".join(f"{line.rstrip()}\n" for line in re.sub(r"\x1b\[[0-9;]*m", "", drawn[1]).splitlines())
    assert bare == drawn[0]


LOOK = TextStyle(80, colour=False, unicode=False)
CODE = {
    "torch/lib/cudnn_cnn_infer64_8.dll": ("sm_50", "sm_86", "ptx_90"),
    "torch/lib/cudnn_ops_infer64_8.dll": ("sm_50", "sm_86", "ptx_90"),
    "torch/lib/torch_cuda.dll": ("sm_35",),
    "torch/lib/kernels118.dll": ("sm_30", "sm_86"),
    "torch/lib/kernels121.dll": ("sm_30", "sm_86"),
    "torch/lib/front.dll": (),
}
FOUND = {
    "torch/lib/cudnn_cnn_infer64_8.dll": "none",
    "torch/lib/cudnn_ops_infer64_8.dll": "none",
    "torch/lib/torch_cuda.dll": "native",
    "torch/lib/kernels118.dll": "same-major",
    "torch/lib/kernels121.dll": "same-major",
}


def report(card: str | None = None, *, asked: bool = True, findings: tuple[Finding, ...] = ()) -> ScanReport:
    """A report on these images, with the paragraph on CUDA."""
    images = tuple(
        ScannedImage(
            path,
            Image(Machine.AMD64, 1000),
            archs=archs if asked else None,
            gpu=GpuFit(card, "sm_35", FOUND[path]) if card and archs else None,
        )
        for path, archs in CODE.items()
    )
    archs = ("sm_30", "sm_35", "sm_50", "sm_86", "ptx_90") if asked else None
    story = CudaSummary("11.7", "452.39", "Made for CUDA 11.7. " + "It goes on for more than one line. " * 2)
    return dataclasses.replace(clean_wheel(), images=images, archs=archs, cuda=story, findings=findings)


def part(text: str) -> str:
    """What stands between the facts and the verdict."""
    return text.partition("modules\n")[2].partition("\nVerdict")[0]


def test_one_line_for_dlls_of_one_family_with_the_same_code():
    assert (
        part(render_scan(report(), LOOK))
        == """
CUDA
  Made for CUDA 11.7. It goes on for more than one line. It goes on for more
  than one line.

GPU code  SASS is machine code, PTX is compiled by the driver; 86 stands for sm_86
  cuDNN, 2 DLLs            SASS 50 86, PTX 90
  torch_cuda.dll           SASS 35
  kernels118.dll and 1 more  SASS 30 86
  all together: SASS 30 35 50 86, PTX 90
""".replace("DLLs            ", "DLLs              ").replace("cuda.dll           ", "cuda.dll             ")
    )


def test_every_dll_has_its_answer_for_a_card():
    assert (
        part(render_scan(report("K40c"), LOOK)).partition("line.\n\n")[2]
        == """\
GPU code for sm_35 (K40c)
  native      torch_cuda.dll
              SASS 35
  same major  kernels118.dll, kernels121.dll
              SASS 30 86
  nothing     cudnn_cnn_infer64_8.dll, cudnn_ops_infer64_8.dll
              SASS 50 86, PTX 90
"""
    )


def test_the_architecture_is_not_said_twice():
    assert "\nGPU code for sm_35\n" in render_scan(report("sm_35"), LOOK)


def test_nobody_asked():
    text = render_scan(report(asked=False), LOOK)
    assert "GPU code" not in text
    assert "CUDA" not in text


def test_a_contradiction_brings_the_paragraph_on_cuda():
    finding = Finding("WF407", "cuda-tag-mismatch", Severity.WARNING, "x", "the label is wrong")
    text = render_scan(report(asked=False, findings=(finding,)), LOOK)
    assert "\nCUDA\n  Made for CUDA 11.7." in text
    assert "GPU code" not in text


def test_asked_but_there_is_none():
    bare = dataclasses.replace(report(), images=clean_wheel().images, archs=(), cuda=None)
    assert "\nGPU code  none of the DLLs has any\n" in render_scan(bare, LOOK)


def test_there_is_a_word_for_every_fit():
    assert set(FITS) == {fit.value for fit in Fit}


def module(name: str, python: str, numpy: NumpyApi | None = None) -> ScannedImage:
    """A module that imports a Python."""
    facts = Image(Machine.AMD64, 1000, imports=(Import("KERNEL32.dll"), Import(python)))
    return ScannedImage(f"pkg/{name}", facts, numpy=numpy)


def verbose_text(*images: ScannedImage, verbose: bool = True) -> str:
    """The report on a wheel with these images."""
    look = TextStyle(60, colour=False, unicode=False)
    return render_scan(dataclasses.replace(clean_wheel(), images=images), dataclasses.replace(look, verbose=verbose))


def test_one_line_for_modules_that_are_alike():
    text = verbose_text(
        module("a.pyd", "python311.dll", NumpyApi(2, "1.23")),
        module("b.pyd", "python311.dll", NumpyApi(2, "1.23")),
        module("c.pyd", "python311.dll", NumpyApi(1)),
        module("d.pyd", "PYTHON3.dll"),
        module("e.dll", "python39.dll"),
    )
    assert (
        """
Built for
  python311.dll, NumPy 1.23 or later  a.pyd and 1 more
  python311.dll, NumPy 1              c.pyd
  python3.dll                         d.pyd

"""
        in text
    )


def test_only_for_those_who_want_to_know_everything():
    assert "Built for" not in verbose_text(module("a.pyd", "python311.dll"), verbose=False)
    assert "Built for" not in verbose_text(module("a.dll", "python311.dll"))


def signed_text(verbose: bool = True, **signatures: Signature | None) -> str:
    """The report on a wheel with DLLs signed so."""
    facts = Image(Machine.AMD64, 1000)
    images = [ScannedImage(f"pkg/{name}.dll", facts, signature=signature) for name, signature in signatures.items()]
    return verbose_text(*images, verbose=verbose)


def test_every_image_is_under_the_answer_about_its_signature():
    nvidia = Signature("trusted", "NVIDIA Corporation")
    reported = signed_text(
        a=nvidia,
        b=Signature("unsigned"),
        c=Signature("invalid", reason="the file was changed after it was signed"),
        d=nvidia,
        e=Signature("not-checked", reason="it has 2 signers"),
        f=Signature("trusted", "An Owner"),
        g=Signature("untrusted-root", "NVIDIA Corporation", "its root NVIDIA is not on the list"),
    )
    assert (
        """
Signatures
  trusted  An Owner  1 file
    pkg/f.dll
  trusted  NVIDIA Corporation  2 files
    pkg/a.dll, pkg/d.dll
  untrusted-root  NVIDIA Corporation  1 file
    its root NVIDIA is not on the list
    pkg/g.dll
  invalid  1 file
    the file was changed after it was signed
    pkg/c.dll
  not-checked  1 file
    it has 2 signers
    pkg/e.dll
  unsigned  1 file
    pkg/b.dll
"""
        in reported
    )


def test_nothing_where_nobody_looked_or_asked():
    assert "Signatures" not in signed_text(a=None)
    assert "Signatures" not in signed_text(verbose=False, a=Signature("unsigned"))


# ---------------------------------------------------------------------------------------------------------------- words
# Phrases that several renderers use.


@pytest.mark.parametrize(
    "subject, message, expected",
    [
        ("a/b.dll", "b.dll is built for x86", "a/b.dll is built for x86"),
        ("a/b.dll", "b.dll.bak is odd", "b.dll.bak is odd"),
        ("a/b.dll", "c.dll needs b.dll", "c.dll needs b.dll"),
        ("a/b.dll", "carries no signature", "a/b.dll: carries no signature"),
        ("", "the RECORD is missing", "the RECORD is missing"),
        ("Lib/site-packages/a/b.dll", "b.dll is bad", "a/b.dll is bad"),
    ],
)
def test_sentence(subject, message, expected):
    assert sentence(Finding("WF999", "x", Severity.INFO, subject, message)) == expected


@pytest.mark.parametrize(
    "path, name, expected",
    [
        ("dist/a-1-py3-none-any.whl", "a", "a-1-py3-none-any.whl"),
        ("env/Lib/site-packages/a-1.dist-info", "a", "a in env/Lib/site-packages"),
        (r"C:\env\Lib\site-packages\a-1.dist-info", "a", r"a in C:\env\Lib\site-packages"),
        ("build/torch", "torch", "build/torch"),
    ],
)
def test_label(path, name, expected):
    assert label(dataclasses.replace(clean_wheel(), path=path, name=name)) == expected


@pytest.mark.parametrize(
    "provider, expected",
    [
        (Assumed("a.dll", "cuda=11.7"), "assumed: cuda=11.7"),
        (OwnedBy("a.dll", "mkl", True, ""), "mkl"),
        (OwnedBy("a.dll", "mkl", False, "nobody adds its folder"), "mkl, out of reach"),
    ],
)
def test_provider_phrase(provider, expected):
    assert provider_phrase(provider) == expected


def test_a_page_counts_what_a_text_counts():
    """A torch of 11 DLLs had 14 in the page, which counted modules and programs."""
    report = broken_torch()
    assert image_counts(report) == ("3 DLLs", "1 extension module")
    page = render("html", [report])
    assert ", amd64, 3 DLLs, 1 extension module" in page
    assert "All 3 DLLs, 1 extension module, the largest first" in page
    assert ", 3 DLLs, 1 extension module" in render_scan(report, ASCII)


def steps_of(report):
    return render_steps(Document([report], (), Context()), TextStyle())


def test_a_warning_about_a_missing_dll_gives_no_command():
    report = broken_torch()
    assert (
        steps_of(
            dataclasses.replace(
                report,
                findings=tuple(
                    dataclasses.replace(one, subject="uv.dll", severity=Severity.WARNING) for one in report.findings[:1]
                ),
                missing=(dataclasses.replace(report.missing[0], name="uv.dll"),),
            )
        )
        == ""
    )
    found = dataclasses.replace(report.findings[0], subject="uv.dll", message="uv.dll is missing", evidence={})
    certain = dataclasses.replace(
        report, findings=(found,), missing=(dataclasses.replace(report.missing[0], name="uv.dll", providers=()),)
    )
    assert "wheelfix repair dist/torch-2.4.0" in steps_of(certain)


def test_a_version_that_is_not_allowed_comes_first():
    """torchvision 0.22.1 beside torch 2.4.1 printed mangled C++, and the reason at the end."""
    symbol = Finding("WF310", "missing-symbol", Severity.ERROR, "torch/lib/c10.dll", "_C.pyd imports ?f@c10@@YAXXZ")
    other = dataclasses.replace(symbol, subject="gruen/own.dll", message="_C.pyd imports ?g@@YAXXZ from own.dll")
    conflict = Finding(
        "WF330", "requirement-not-met", Severity.WARNING, "torch",
        "a 1.0 requires torch==2.7.1, but torch 2.4.1 is installed",
        hint="'python -m pip install \"torch==2.7.1\"' with the environment's own Python",
        evidence={"distribution": "torch", "requirement": "torch==2.7.1", "installed": "2.4.1"},
    )  # fmt: skip
    provided = (ProvidedDll("c10.dll", "file", ("torch",), ("a/_C.pyd",)),)
    report = dataclasses.replace(clean_wheel(), findings=(symbol, other, conflict), provided=provided)
    lines = render_scan(report, TextStyle()).splitlines()
    assert lines[3] == "a 1.0 requires torch==2.7.1, but torch 2.4.1 is installed"
    text = "\n".join(lines)
    assert "?f@c10" not in text
    assert "?g@@YAXXZ" in text  # it is of the wheel itself
    assert "?f@c10" in render_scan(report, TextStyle(verbose=True))
    steps = steps_of(report).splitlines()
    assert steps[-1].strip() == "python -m pip install torch==2.7.1"
    assert not [line for line in steps if "wheelfix repair" in line]

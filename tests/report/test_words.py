"""Phrases that several renderers use."""

from __future__ import annotations

import dataclasses

import pytest

from tests.report.samples import broken_torch, clean_wheel, risky_extension
from wheelfix.model import (
    Assumed,
    Candidate,
    EdgeKind,
    Finding,
    InView,
    Machine,
    Missing,
    MissingDll,
    OwnedBy,
    Severity,
    System,
)
from wheelfix.report.words import count, import_statement, label, missing_hints, provider_phrase, sentence


@pytest.mark.parametrize(
    ("subject", "message", "expected"),
    [
        ("a/b.dll", "b.dll is built for x86", "a/b.dll is built for x86"),
        ("a/b.dll", "b.dll.bak is odd", "b.dll.bak is odd"),
        ("a/b.dll", "c.dll needs b.dll", "c.dll needs b.dll"),
        ("a/b.dll", "carries no signature", "a/b.dll: carries no signature"),
        ("b.dll", "b.dll is missing", "b.dll is missing"),
        ("", "the RECORD is missing", "the RECORD is missing"),
        ("Lib/site-packages/a/b.dll", "b.dll is bad", "a/b.dll is bad"),
        ("a/", "a folder", "a/: a folder"),
    ],
)
def test_sentence(subject, message, expected):
    assert sentence(Finding("WF999", "x", Severity.INFO, subject, message)) == expected


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        ("dist/a-1-py3-none-any.whl", "a", "a-1-py3-none-any.whl"),
        (r"C:\dist\a-1-py3-none-any.WHL", "a", "a-1-py3-none-any.WHL"),
        ("env/Lib/site-packages/a-1.dist-info", "a", "a in env/Lib/site-packages"),
        (r"C:\env\Lib\site-packages\a-1.dist-info", "a", r"a in C:\env\Lib\site-packages"),
        ("a-1.dist-info", "a", "a in ."),
        ("build/torch", "torch", "build/torch"),
        ("build/torch", "", "build/torch"),
    ],
)
def test_label(path, name, expected):
    assert label(dataclasses.replace(clean_wheel(), path=path, name=name)) == expected


def test_import_statement():
    assert import_statement(broken_torch()) == "import torch"
    assert import_statement(risky_extension()) == "import gruen._ext"


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        (InView("Lib/site-packages/x/a.dll"), "x/a.dll"),
        (System("a.dll"), "Windows"),
        (Assumed("a.dll", "cuda=11.7"), "assumed: cuda=11.7"),
        (OwnedBy("a.dll", "mkl", True, ""), "mkl"),
        (OwnedBy("a.dll", "mkl", False, "nobody adds its folder"), "mkl, out of reach"),
        (Missing(), "MISSING"),
        (Missing((), ("x/a.dll", "y/a.dll")), "MISSING (lies at x/a.dll and 1 more)"),
    ],
)
def test_provider_phrase(provider, expected):
    assert provider_phrase(provider) == expected


def test_count():
    assert (count(0, "DLL"), count(1, "DLL"), count(2, "DLL")) == ("0 DLLs", "1 DLL", "2 DLLs")


FOUND = (Candidate("C:\\x\\a.dll", "C:\\x", "1", "folder"),)


def lost(name: str, *, required: bool = True, found: bool = False) -> MissingDll:
    return MissingDll(name, EdgeKind.IMPORT, required, ("a.pyd",), ("a.pyd", name), FOUND if found else (), ())


@pytest.mark.parametrize(
    ("missing", "hints"),
    [
        (
            [lost("uv.dll")],
            ["'wheelfix repair WHEEL --root PATH' vendors them from a folder, wheel or conda package that has them"],
        ),
        (
            [lost("uv.dll", found=True)],
            ["'wheelfix repair WHEEL' vendors them from where they were found, if they are suitable"],
        ),
        (
            [lost("libomp140.x86_64.dll", found=True)],
            [
                "'wheelfix repair WHEEL --include libomp140.x86_64.dll' vendors them from where they were found, "
                "if they are suitable; their vendor does not allow redistribution"
            ],
        ),
        (
            [lost("msvcp140.dll"), lost("uv.dll"), lost("nvcuda.dll")],
            [
                "'wheelfix repair WHEEL --root PATH' vendors uv.dll from a folder, wheel or conda package "
                "that has them",
                "'wheelfix repair WHEEL --with-vcredist --root PATH' vendors msvcp140.dll from a folder, "
                "wheel or conda package that has them",
                "nvcuda.dll: no wheel may contain them",
            ],
        ),
        ([lost("vcruntime140d.dll")], ["vcruntime140d.dll: no wheel may contain them"]),
        ([lost("uv.dll", required=False)], []),
    ],
    ids=["root", "found", "include", "several", "debug", "optional"],
)
def test_hints(missing: list[MissingDll], hints: list[str]) -> None:
    assert list(missing_hints(missing, Machine.AMD64)) == hints

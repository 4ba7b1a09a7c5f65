"""Packages that load DLLs in their own way are found by listing the folder of their modules."""

import importlib

import pytest

from tests.support.views import make_view
from wheelfix.loader.packageloading import ORDINARY, known_packages, loading_of, startup_at

TORCH = {
    "Lib/site-packages/torch/__init__.py": "",
    "Lib/site-packages/torch/lib/c10.dll": "",
}
ONNX = {
    "Lib/site-packages/onnxruntime/__init__.py": "",
    "Lib/site-packages/onnxruntime/capi/onnxruntime_providers_cuda.dll": "",
}


@pytest.mark.parametrize("package", known_packages())
def test_every_module_answers_about_its_package(package):
    module = importlib.import_module(f"wheelfix.loader.packages.{package}")
    assert module.recognise(make_view({f"Lib/site-packages/{package}/__init__.py": ""})) is None


def test_the_one_that_is_modelled_as_a_whole_comes_first():
    assert loading_of(make_view({**ONNX, **TORCH})).package == "torch"
    assert loading_of(make_view(ONNX)).package == "onnxruntime"
    assert loading_of(make_view({"Lib/site-packages/other/__init__.py": ""})) is ORDINARY


def test_a_package_of_the_environment_is_not_the_subject_but_runs_all_the_same():
    view = make_view(TORCH).background()
    assert loading_of(view) is ORDINARY
    assert startup_at(view, "Lib/site-packages/torch/__init__.py") is not None
    assert startup_at(view, "Lib/site-packages/torch/version.py") is None

"""A compiled module that Python did not find is distinguished from a package that is not installed."""

from __future__ import annotations

import pytest

from wheelfix.diagnosis.symptoms.causes import explain_symptoms
from wheelfix.diagnosis.symptoms.reader import read_symptoms


@pytest.mark.parametrize(
    "text",
    [
        "ModuleNotFoundError: No module named 'sklearn.utils._typedefs'",
        "ModuleNotFoundError: No module named 'mmcv._ext'",
        "ImportError: cannot import name '_C' from 'detectron2' (C:\\lab\\detectron2\\__init__.py)",
        "ImportError: cannot import name '_imaging' from partially initialized module 'PIL' (most likely due to a",
        "ModuleNotFoundError: No module named \\'vllm._C\\'",
        "ModuleNotFoundError: No module named 'exllama_ext_cuda.core_cuda'",
    ],
)
def test_the_compiled_part_of_a_package_is_missing(text: str) -> None:
    (cause,) = explain_symptoms(read_symptoms(text))
    assert cause.id == "compiled-part-missing"


@pytest.mark.parametrize(
    "text",
    [
        "ModuleNotFoundError: No module named 'sklearn'",
        "ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'",
        "ModuleNotFoundError: No module named '_ext'",
        "ImportError: cannot import name 'Mapping' from 'collections' (C:\\Python310\\lib\\collections\\__init__.py)",
        "INFO Could not load library with AVX2 support due to: No module named 'faiss.swigfaiss_avx2'",
        '  File "/opt/venv/lib/python3.11/site-packages/mmcv/__init__.py", line 1, in <module>\n'
        "ModuleNotFoundError: No module named 'mmcv._ext'",
    ],
)
def test_other_imports_are_left_alone(text: str) -> None:
    assert read_symptoms(text) == ()

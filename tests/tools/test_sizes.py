"""The figures about the code count what they say."""

import zipfile

import pytest

from tests.support.tables import named_cases
from tools import sizes
from tools.sizes import Module, Package, main

FILES = {
    "p/__init__.py": "from p.a import Low as Offered\n",
    "p/a.py": (
        '"""Has bases."""\n\nclass Low(Exception):\n    pass\n\n\nclass Middle(Low):  # a comment\n'
        "    def f(self):\n        import os, sys\n        from p import b\n        def g():\n            import re\n"
    ),
    "p/b.py": "from . import Offered\nfrom .room.c import T\nclass High(Offered, T[int]): pass\n",
    "p/room/__init__.py": "",
    "p/room/c.py": (
        "import p.a\nfrom ..a import Middle\nimport typing as t\nclass T(t.Generic[int], p.a.Middle): pass\n"
        "class Lone(dict): pass\n"
    ),
}


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Package.from_folder(tmp_path / "p")


@named_cases(
    "text, tokens",
    {
        "empty": ("", 0),
        "comment": ("# why\n\n", 0),
        "docstring": ('"""What."""\n', 1),
        "block": ("if a:\n    b = 1  # one\n", 6),
        "lines of one statement": ("f(\n    a,\n)\n", 5),
    },
)
def test_tokens(text, tokens):
    assert Module("m", text).tokens == tokens


def test_imports_inside_functions_are_counted_once_each(package):
    assert [module.inner_imports for module in package.modules.values()] == [0, 3, 0, 0, 0]


def test_the_longest_chain_of_base_classes_is_found_through_other_names(package):
    assert package.longest_chain == ["p.b.High", "p.room.c.T", "p.a.Middle", "p.a.Low"]


@pytest.mark.slow
def test_the_page(tmp_path, capsys, monkeypatch, package):
    monkeypatch.setattr(sizes.Package, "from_folder", lambda folder: package)
    with zipfile.ZipFile(tmp_path / "installer-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("installer/__init__.py", "a = 1")
    assert main(["--modules", "--peers", str(tmp_path)]) == 0
    reported = capsys.readouterr().out
    assert "| installer-1.0 |" in reported
    assert "p.b.High > p.room.c.T > p.a.Middle > p.a.Low." in reported
    assert "A small scan imports 1" in reported

"""The bytes of Python files are inflated once for all readers, and never those of another file."""

from __future__ import annotations

from collections import Counter

from tests.support.views import make_view
from wheelfix.loader.view import FileView
from wheelfix.pycode.sourcecode import MOST_KEPT, python_source

CODE = "Lib/site-packages/pkg/__init__.py"
DLL = "Lib/site-packages/pkg/a.dll"


def counted(view: FileView) -> tuple[FileView, Counter[str]]:
    """A view that counts how often each of its files is opened."""
    opened = Counter()

    def counting(path: str):
        opened[path] += 1
        return view.source(path)

    files = [file._replace(open=lambda path=file.path: counting(path)) for file in view.files]
    return FileView(files), opened


def test_a_file_is_opened_once_also_for_the_view_after_a_plan():
    view, opened = counted(make_view({CODE: "import a\n", DLL: b""}))
    new = make_view({"Lib/site-packages/pkg/b.dll": b""})
    after = view.changed(new.files, dropped=[DLL])
    focused = view.focused(frozenset({CODE}))
    assert {python_source(one, CODE) for one in (view, after, focused, view)} == {b"import a\n"}
    assert opened == {CODE: 1}


def test_a_file_that_a_plan_changes_is_read_again():
    view = make_view({CODE: "import a\n"})
    assert python_source(view, CODE) == b"import a\n"
    assert python_source(view.changed(make_view({CODE: "import b\n"}).files), CODE) == b"import b\n"
    assert python_source(view, CODE) == b"import a\n"


def test_more_than_is_kept_is_read_again():
    size = MOST_KEPT // 4
    names = [f"Lib/site-packages/pkg/m{number}.py" for number in range(6)]
    view, opened = counted(make_view({name: bytes([97 + at]) * size for at, name in enumerate(names)}))
    for name in (*names, *names):
        assert len(python_source(view, name)) == size
    assert max(opened.values()) == 2
    larger, opened = counted(make_view({CODE: b"#" * (MOST_KEPT + 1)}))
    assert python_source(larger, CODE) == python_source(larger, CODE)
    assert opened == {CODE: 2}

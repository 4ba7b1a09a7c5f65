"""Methods of texts, lists, dictionaries, sets and paths give what Python gives, or nothing that is known."""

from pathlib import PureWindowsPath

import pytest

from tests.pycode.running import interpreted, run_by_python, unclear
from tests.support.tables import named_cases
from wheelfix.pycode.run import UNKNOWN

EXPRESSIONS = """
'core.dll'.upper()
'lib/core.dll'.rpartition('/')
' a b '.strip().split()
'a,b,,c'.split(',')
'-'.join(['a', 'b'])
'-'.join(x for x in ('a', 'b'))
'{}-{}.dll'.format('core', 3)
'{1}-{0}'.format('a', 'b')
'{name}.dll'.format(name='core')
'a\\nb'.splitlines()
'core.dll'.removesuffix('.dll').startswith(('c', 'd'))
'abc'.find('z')
'abc'.encode()
[3, 1, 2].index(2)
[1, 2].copy()
sorted(['b', 'A', 'c'], key=lambda one: one.lower())
sorted([3, 1, 2], reverse=True)
{'a': 1}.get('b', 2)
list({'a': 1, 'b': 2}.items())
{'a': 1}.setdefault('a', 5)
{1, 2}.union([3])
{1, 2}.issubset([1, 2, 3])
""".strip().splitlines()
CHANGES = """
x = [2, 1]; x.append(3); x.sort()
x = [1]; x.extend((2, 3)); x.remove(2)
x = [1, 2]; x.insert(0, 9); y = x.pop()
x = [1, 2]; x.reverse(); x.clear()
x = {'a': 1}; x.update(b=2); x.update({'c': 3}); x.update([('d', 4)])
x = {'a': 1}; y = x.pop('a'); z = x.pop('b', 7)
x = {1}; x.add(2); x.discard(1)
from itertools import chain; x = list(chain([1], (2, 3))); y = tuple(chain.from_iterable([one] for one in 'ab'))
""".strip().splitlines()
ERRORS = """
'abc'.index('z')
[1].remove(2)
[].pop()
{}.pop('a')
'{}'.format()
'{a}'.format()
', '.join([1])
'a'.no_such_method()
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_python_computes_it(expression):
    found = interpreted(f"x = {expression}")["x"]
    assert found == run_by_python(f"x = {expression}")["x"]
    assert found is not UNKNOWN


@pytest.mark.parametrize("code", CHANGES)
def test_values_change_as_in_python(code):
    found, expected = interpreted(code), run_by_python(code)
    names = [name for name in "xyz" if name in expected]
    assert [found[name] for name in names] == [expected[name] for name in names]


@pytest.mark.parametrize("code", ERRORS)
def test_errors_are_those_of_python(code):
    assert interpreted(code)["error"] == run_by_python(code)["error"]


@named_cases(
    "code",
    {
        "unknown item": "import random\nx = 'a'.join([random.random()])",
        "width": "x = '{:>10}'.format('a')",
        "long fill": "x = 'a'.zfill(10_000_000)",
        "large text": "x = ('a' * 4096).replace('a', 'b' * 4096)",
    },
)
def test_what_is_not_modelled_or_too_large_is_unknown(code):
    assert interpreted(code)["x"] is UNKNOWN


def test_the_order_of_unknown_items_is_not_guessed():
    assert "order of a list" in unclear("import random\nx = sorted([random.random(), 1])")


PATHS = {
    "P.parent.name": "pkg",
    "P.stem": "core",
    "P.suffix": ".dll",
    "P.with_suffix('.pyd').name": "core.pyd",
    "P.parent.joinpath('lib', 'a.dll').name": "a.dll",
    "(P.parent / 'lib').is_dir()": True,
    "P.exists()": True,
    "P.with_name('gone.dll').exists()": False,
    "[one.name for one in P.parent.glob('*.dll')]": ["core.dll"],
    "sorted(one.name for one in P.parent.iterdir())": ["__init__.py", "core.dll", "lib"],
    "[one.name for one in P.parent.rglob('*.txt')]": ["notes.txt"],
    "(P.parent / 'lib' / 'notes.txt').read_text()": "one\n",
    "P.parent.parents[0].name": "site-packages",
}


@pytest.mark.parametrize("expression, expected", PATHS.items())
def test_paths_are_those_of_the_package(expression, expected):
    start = "from pathlib import Path\nP = Path(__file__).parent / 'core.dll'\n"
    files = {"core.dll": b"MZ", "lib/notes.txt": "one\n"}
    assert interpreted(f"{start}x = {expression}", files)["x"] == expected


def test_a_path_is_taken_apart_as_on_windows():
    code = "from pathlib import Path\nx = Path('C:/a/b.dll').parent / '..' / 'C.dll'\nparts = x.parts"
    found = interpreted(code)
    assert found["x"] == PureWindowsPath("c:/A/../c.dll")
    assert found["parts"] == ("C:\\", "a", "..", "C.dll")


def test_a_folder_that_is_not_there_cannot_be_listed():
    code = "from pathlib import Path\nlist((Path(__file__).parent / 'gone').iterdir())"
    assert interpreted(code) == {"error": "FileNotFoundError"}

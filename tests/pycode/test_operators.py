"""Operators, comparisons and conditions give what Python gives, or nothing that is known."""

import pytest

from tests.pycode.running import interpreted, run_by_python
from tests.support.tables import named_cases
from wheelfix.pycode.run import UNKNOWN

EXPRESSIONS = """
1 + 2 * 3 - 4 // 3
7 % 4, 2 ** 10, 1 << 4, 6 & 3, 6 | 1, 6 ^ 3, ~5, -5
7 / 2
'a' + 'b', 'ab' * 2, [1] + [2], (1,) * 2
'%s-%d.dll' % ('core', 3)
'%s' % 'core'
'lib' in 'mylib', 'x' not in 'abc'
2 in [1, 2], 'a' in {'a': 1}, 3 in (1, 2), 1 in {1}
1 < 2 < 3, 1 < 2 > 5
(lambda n: (n is None, n is not None, n == 0))(None)
'a' == 'a', [1] == [1], (1, 2) != (1, 3)
not [], not 'a', not 0
'' or 'b', 'a' and 'b', 0 or None, 1 and 0
(3, 11) >= (3, 8)
'a' if 1 else 'b'
f"{'core'}-{3}.dll", f"{'a'!r}", f"{7:03d}"
[x * 2 for x in range(4) if x % 2]
{x: x * x for x in (1, 2)}, {x for x in 'aa'}
[(x, y) for x in (1, 2) for y in 'ab']
sum_ := 3
'core.dll'[:-4], [1, 2, 3][::2], 'abc'[-1]
""".strip().splitlines()
ERRORS = """
'a' + 1
[] + ()
1 < 'a'
'%s %s' % 'a'
1 in 'abc'
[1][5]
{'a': 1}['b']
(lambda n: n[0])(None)
""".strip().splitlines()
UNKNOWN_VALUES = """
r.random() + 1
'a' + r.random()
r.random() == 1
r.random() in [1, 2]
[1, 2][r.random()]
2 ** 1000
1 << 500
'a' * 100000
'a'.__mul__(10 ** 9)
[1].__mul__(10 ** 9)
'a'.zfill(10 ** 9)
'a'.ljust(10 ** 9)
b'\\t'.expandtabs(10 ** 9)
'\\t'.expandtabs(10 ** 9)
{}.fromkeys(range(10 ** 9))
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_python_computes_it(expression):
    found = interpreted(f"x = ({expression})")["x"]
    assert found == run_by_python(f"x = ({expression})")["x"]
    assert found is not UNKNOWN


@pytest.mark.parametrize("code", ERRORS)
def test_errors_are_those_of_python(code):
    assert interpreted(code)["error"] == run_by_python(code)["error"]


@pytest.mark.parametrize("expression", UNKNOWN_VALUES)
def test_what_is_unknown_or_too_large_stays_unknown(expression):
    assert interpreted(f"import random as r\nx = {expression}")["x"] is UNKNOWN


@named_cases(
    "expression, expected",
    {
        "decided by or": ("True or r.random()", True),
        "decided by and": ("False and r.random()", False),
        "unknown first": ("r.random() or True", UNKNOWN),
    },
)
def test_an_unknown_operand_counts_only_if_it_is_reached(expression, expected):
    assert interpreted(f"import random as r\nx = {expression}")["x"] == expected


def test_a_path_and_a_text_are_joined_as_on_windows():
    found = interpreted("from pathlib import Path\nx = str(Path('C:/a') / 'b' / '../c')")["x"]
    assert found == "C:\\a\\b\\..\\c"


def test_none_cannot_be_joined():
    assert interpreted("from pathlib import Path\nPath('C:/a') / None") == {"error": "TypeError"}

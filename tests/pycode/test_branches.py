"""Branches, loops, exceptions and context managers go the way that Python goes."""

import pytest

from tests.pycode.running import interpreted, run_by_python, sections, unclear
from tests.support.tables import named_cases
from wheelfix.pycode.run import UNKNOWN

CODES = sections("""
## if
x = []
for n in range(5):
    if n == 1:
        continue
    elif n == 4:
        break
    x.append(n)
## for else
x = 0
for n in (1, 2):
    x += n
else:
    x += 10
## break skips else
x = 0
for n in (1, 2):
    break
else:
    x = 10
## while
x = 0
while x < 7:
    x += 2
else:
    x = -x
## match
x = []
for v in ('a', 3, [1, 2], None, 9):
    match v:
        case 'a' | 'b':
            x.append('text')
        case [first, last]:
            x.append(last)
        case None:
            x.append('none')
        case n if n == 3:
            x.append('three')
        case other:
            x.append(other)
## try
x = []
try:
    {}['a']
except KeyError as e:
    x.append(isinstance(e, LookupError))
else:
    x.append(1)
## else of try
x = []
try:
    pass
except KeyError:
    x.append(0)
else:
    x.append(1)
finally:
    x.append(2)
## finally in a function
def f():
    try:
        return 1
    finally:
        x.append(2)
x = []
x.append(f())
## raised again
x = []
try:
    try:
        raise ValueError('a')
    except ValueError:
        x.append(1)
        raise
except Exception as e:
    x.append(e.args)
## tuple of classes
x = 0
try:
    [][1]
except (KeyError, IndexError):
    x = 1
## suppress
import contextlib
x = 1
with contextlib.suppress(KeyError):
    {}['a']
    x = 2
## context manager
import contextlib
x = []
@contextlib.contextmanager
def m():
    x.append(1)
    yield 5
    x.append(3)
with m() as v:
    x.append(v)
## exit suppresses
class M:
    def __enter__(self):
        return self
    def __exit__(self, *a):
        return True
x = 0
with M():
    x = 1
    raise ValueError
x += 1
## generator
def g():
    for n in range(3):
        yield n * 2
x = list(g())
## unpacking
a, *b = (1, 2, 3)
(c, d), e = (4, 5), 6
x = (a, b, c, d, e)
## global
n = 0
def f():
    global n
    n += 1
f(); f()
x = n
## nonlocal
def f():
    n = 0
    def g():
        nonlocal n
        n += 1
        return n
    g()
    return g()
x = f()
## assert
x = 0
try:
    assert x
except AssertionError:
    x = 1
""")


@named_cases("code", CODES)
def test_code_goes_where_python_goes(code):
    assert interpreted(code)["x"] == run_by_python(code)["x"]


@pytest.mark.parametrize(
    "code",
    [
        "raise KeyError('a')",
        "try:\n    1 + 'a'\nexcept KeyError:\n    pass",
        "def f():\n    raise OSError\nf()",
        "raise",
    ],
)
def test_what_nothing_catches_ends_the_import(code):
    assert interpreted(code) == {"error": run_by_python(code)["error"]}


def test_a_branch_that_cannot_concern_dlls_is_left_out_and_its_names_are_unknown():
    names = interpreted("import random\ny = 1\nif random.random():\n    y = 2\nx = 3")
    assert (names["x"], names["y"]) == (3, UNKNOWN)


def test_what_a_branch_that_is_left_out_gives_a_key_is_unknown():
    """The names of the module as well, in which mssql_python puts its constants; cuda.pathfinder adds to a list."""
    code = "import random\na, b = [], {}\nm = globals()\nif random.random():\n    a.append(1)\n    b[2] = m['c'] = 3\n"
    names = interpreted(code)
    assert (names["a"], names["b"], names["<star>"]) == ([], UNKNOWN, [""])
    assert interpreted("import random\nif random.random():\n    globals()['c'] = 3\n")["<star>"] == [""]


@pytest.mark.parametrize(
    "body", ["ctypes.CDLL('a.dll')", "os.environ['PATH'] = ''", "import pkg.other", "raise ValueError; x = 1"]
)
def test_a_branch_that_may_concern_dlls_is_not_guessed(body):
    code = f"import ctypes, os, random\nif random.random():\n    x = 1\n    {body}\n"
    assert unclear(code, {"other.py": ""}).startswith("a condition decides what ")


def test_a_check_that_only_raises_is_taken_to_pass():
    assert interpreted("import random\nif random.random() > 2:\n    raise ValueError\nx = 1")["x"] == 1


def test_an_endless_loop_is_given_up():
    assert "too long" in unclear("while True:\n    pass")


def test_what_follows_a_statement_that_is_not_followed_is_done():
    """What may run, and what it would give a value to, is not known; everything behind it is."""
    code = "import ctypes, random\nx = y = 1\nif random.random():\n    y = 2\n    ctypes.CDLL('a.dll')\nz = x + 1\n"
    found = interpreted(code)
    assert (found["y"], found["z"]) == (UNKNOWN, 2)


def test_an_exception_is_not_taken_for_caught_where_that_is_not_known():
    """It was, once such a ``try`` was passed over, and a failed load would have been called harmless."""
    code = "import random\ntry:\n    raise OSError\nexcept random.choice([OSError, KeyError]):\n    pass\nx = 1\n"
    assert interpreted(code) == {"error": "OSError"}
    assert unclear(code) == "whether an exception is caught is not known"

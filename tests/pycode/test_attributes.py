"""Attributes of objects and classes of a package are looked up as Python does it."""

import pytest

from tests.pycode.running import interpreted, run_by_python, sections
from tests.support.tables import named_cases
from wheelfix.pycode.run import UNKNOWN

START = """
class Base:
    kind = 'base'
    def __init__(self, name='core'):
        self.name = name
    def full(self):
        return self.name + '.dll'
    @property
    def stem(self):
        return self.name.upper()
    @classmethod
    def made(cls, name):
        return cls(name)
    @staticmethod
    def twice(text):
        return text * 2
class Derived(Base):
    kind = 'derived'
    def full(self):
        return 'lib' + super().full()
class Lazy:
    def __getattr__(self, name):
        if name == 'gone':
            raise AttributeError(name)
        return name + '?'
"""
EXPRESSIONS = """
Base().full(), Base('a').full(), Derived('a').full()
Base().stem, Derived.made('x').stem
Base.kind, Derived.kind, Derived().kind
Base.twice('ab'), Base().twice('ab')
Derived.__name__, Base.full.__name__
isinstance(Derived(), Base), isinstance(Base(), Derived), issubclass(Derived, Base)
Lazy().flux
getattr(Lazy(), 'gone', 'default'), hasattr(Lazy(), 'gone'), hasattr(Lazy(), 'flux')
getattr(Base(), 'nothing', 3)
type(Derived()).__name__
(lambda thing: thing.name)(Base('n'))
Base.full(Base('direct'))
""".strip().splitlines()
CODES = sections("""
## assigned
b = Base(); b.name = 'other'; x = b.full()
## of the class
Base.kind = 'new'; x = (Base().kind, Derived().kind)
## setattr
b = Base(); setattr(b, 'extra', 5); x = b.extra
## setter
class C:
    @property
    def v(self):
        return self._v
    @v.setter
    def v(self, value):
        self._v = value * 2
c = C(); c.v = 4; x = c.v
## cached property
import functools
class C:
    @functools.cached_property
    def v(self):
        return 'v'
c = C(); x = (c.v, c.v)
## dataclass
import dataclasses
@dataclasses.dataclass
class C:
    a: str
    b: int = 2
x = (C('n').a, C('n', 5).b, C(b=1, a='z').a)
## named tuple
import collections
T = collections.namedtuple('T', 'a b')
x = (T(1, 2).b, T(3, b=4).a)
## enum
import enum
class E(enum.Enum):
    A = 'a'
    B = 'b'
x = (E.A.value, E.B.name, [e.name for e in E], {n: e.value for n, e in E.__members__.items()})
## init_subclass
seen = []
class R:
    def __init_subclass__(cls, **k):
        seen.append(cls.__name__)
class One(R):
    pass
x = seen
## metaclass
class M(type):
    def __getattr__(cls, name):
        return name.upper()
class C(metaclass=M):
    pass
x = C.flux
## attribute of a base that is None
class A:
    found = None
class B(A):
    pass
x = (B().found, B.found)
## function attribute
def f():
    return f.count
f.count = 3
x = f()
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_python_looks_it_up(expression):
    code = f"{START}\nx = ({expression})"
    found = interpreted(code)["x"]
    assert found == run_by_python(code)["x"]
    assert found is not UNKNOWN


@named_cases("code", CODES)
def test_code_with_classes_does_what_it_does_in_python(code):
    code = f"{START}\n{code}"
    assert interpreted(code)["x"] == run_by_python(code)["x"]


@pytest.mark.parametrize("expression", ["Base().gone", "Base.gone", "Lazy().gone", "None.gone", "(1).gone"])
def test_what_is_not_there_raises_as_in_python(expression):
    code = f"{START}\n{expression}"
    assert interpreted(code) == run_by_python(code) == {"error": "AttributeError"}


def test_attributes_of_an_object_of_an_unknown_class_are_unknown():
    assert interpreted("import random\nclass C(random.Random):\n    pass\nx = C().seeded")["x"] is UNKNOWN

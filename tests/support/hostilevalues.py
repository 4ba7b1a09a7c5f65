"""Python source whose values are made to exhaust a program that computes them, or that Python refuses to compute.

Each piece is code of a package that also loads a DLL, so that its import is interpreted as well as read.
"""

from __future__ import annotations

import random
import re

from tests.support.tables import read_table

HEAD = """\
import ctypes, glob, importlib, itertools, json, ntpath, os, re, string, sys, textwrap
from collections import OrderedDict, defaultdict, namedtuple
from functools import lru_cache
from pathlib import Path
here = os.path.dirname(__file__)
"""
TAIL = "\nos.add_dll_directory(here)\nctypes.CDLL(os.path.join(here, 'gone.dll'))\n"
_SHARED = "t = ()\nfor i in range(100): t = (t, t)\nu = ()\nfor i in range(100): u = (u, u)\n"
_WIDE = "a = [0] * 4096\nb = [a] * 4096\nc = [b] * 4096\nd = [[0] * 4096] * 4096\ne = [d] * 4096\n"
_LONG = "s = 'x' * 4000\ns = s + s\ns = s + s\ns = s + s\n"


def _whole(code: str) -> str:
    """Code with what its first word stands for."""
    word, _, rest = code.partition("\n")
    made = {"SHARED": _SHARED, "WIDE": _WIDE, "LONG": _LONG}.get(word)
    return code if made is None else made + rest


VALUES = {
    **{name: _whole(code) for name, code in read_table(__file__, "hostilevalues.toml").items()},
    "wide lists, unpacked": f"{_WIDE}x = [" + "*a," * 20_000 + "]",
    "wide arguments": f"{_WIDE}x = os.path.join(" + "*a," * 20_000 + ")",
    "wide f-string": f"{_LONG}x = f'" + "{s}" * 30_000 + "'",
    "wide path": f"{_LONG}x = os.path.join(" + "s," * 30_000 + ")",
    "wide Path": f"{_LONG}x = Path(" + "s," * 30_000 + ")",
    "large hexadecimal number": "x = str(0x" + "f" * 20_000 + ")\ny = f'{0x" + "f" * 20_000 + "}'",
    "large number in a percent": "x = '%d' % 0x" + "f" * 20_000,
    "large number as an index": "x = 'abc'[0x" + "f" * 2000 + "]",
    "large number in repr": "x = repr([0x" + "f" * 20_000 + "])",
    "large number divided": "x = 0x" + "f" * 20_000 + " / 3",
    "base classes": "class A0: pass\n"
    + "".join(f"class A{n}(A{n - 1}, A{n - 1}, A{n - 1}): pass\n" for n in range(1, 60))
    + "x = A59().y",
    "bases of instances": "class E0(Exception): pass\n"
    + "".join(f"class E{n}(E{n - 1}, E{n - 1}, E{n - 1}): pass\n" for n in range(1, 60))
    + "try:\n    raise E59()\nexcept KeyError: pass",
    "chained comparison": "x = " + " < ".join(["1"] * 4000),
}
"""What each piece of code does, and the code."""


def package_source(body: str) -> str:
    """A file of a package that does something, and then loads a DLL that is not there."""
    return f"{HEAD}{body}{TAIL}"


# ------------------------------------------------------------------------------------------------- made at random


def _forms(text: str) -> list[str]:
    """The forms of a table; two spaces or the end of a line are between them."""
    return re.split(r" {2,}|\n *", text.strip())


_NUMBERS = _forms(r"""
    0  -1  7  64  4096  10 ** 9  10 ** 30  -10 ** 30  1e999  1e999 - 1e999  0.5  1j  True  2 ** 64  0xf
""")
_TEXTS = _forms(r"""
    ''  'a'  '%s'  '%.999999999d'  '%*d'  '{}'  '{0:>99999999}'  'C:/x'  'D:y'  '\\\\?\\a'  '\ud800'  '\0'
    '*a' * 60  '[a-z]*' * 3  'é' * 4000  'x' * 4096  'a/' * 4000  b'x' * 9  __file__  'punycode'
""")
_UNARY = _forms(r"""
    str({})  repr({})  len({})  int({})  list({})  tuple({})  set({})  dict({})  sorted({})  max({})  range({})
    bytes({})  sum({})  hash({})  bool({})  Path({})  os.path.exists({})  os.path.relpath({})  os.path.abspath({})
    os.path.dirname({})  glob.glob({})  json.loads({})  re.compile({})  iter({})  next({})  type({})
    namedtuple('N', {})  importlib.import_module({})  not {}  -{}  ~{}  {{{}: 1}}  {{{}}}  [*{}]  ({}, {})
    [{}] * 64  {}.parents  {}.encode('utf-8')  {}.split()  {}.name  {}[::-1]  {}[0]  {}()  os.listdir({})
    list(Path({}).parents)  enumerate({})  exec({})  os.environ.get({})  lru_cache({})  itertools.chain(*{})
    os.path.splitext({})  textwrap.dedent({})  f'{{a}}{{b!r}}'  f'{{c:9}}'
""")
_BINARY = _forms(r"""
    {} + {}  {} * {}  {} ** {}  {} << {}  {} % {}  {} / {}  {} // {}  {} - {}  {} | {}  {} == {}  {} < {}
    {} in {}  {} is {}  {}[{}]  {{{}: {}}}  ({}, {})  [{}, {}]  {{{}, {}}}  {}.join({})  {}.format({})
    {}.replace({}, {})  os.path.join({}, {})  os.path.relpath({}, {})  re.search({}, {})  re.sub({}, 'b', {})
    zip({}, {})  map({}, {})  isinstance({}, {})  getattr({}, {})  int({}, {})  format({}, {})  {}.get({})
    {}.index({})  {}.union({})  {}.update({})  {}.append({})  {}.extend({})  {}.zfill({})  {}.encode({})
    itertools.product({}, {})  {}.relative_to({})  {}.setdefault({}, {})  {}.startswith({})  {}.with_suffix({})
    min({}, {})  range({}, {})  divmod({}, {})  f'{{a:{{b}}}}'
""")
_NAMES = ["a", "b", "c", "d"]


def made_source(seed: int) -> str:
    """A file of a package with statements made at random from hostile values; the same for the same seed."""
    chance = random.Random(seed)

    def value(depth: int = 0) -> str:
        kind = chance.random()
        if depth > 2 or kind < 0.4:
            return chance.choice(_NAMES)
        if kind < 0.65:
            return f"({chance.choice(chance.choice([_NUMBERS, _TEXTS]))})".replace("0xf", "0x" + "f" * 6000)
        form = chance.choice(chance.choice([_UNARY, _BINARY]))
        return f"({form.format(*(value(depth + 1) for _ in range(3)))})"

    def statement() -> str:
        name, kind = chance.choice(_NAMES), chance.random()
        if kind < 0.15:
            return f"for i in range({chance.choice([3, 60, 100, 1900])}): {name} = {value(1)}"
        if kind < 0.3:
            return f"for i in range({chance.choice([3, 60, 100])}): {name} {chance.choice('+*/-|')}= {value(2)}"
        if kind < 0.4:
            shared = chance.choice(["({0}, {0})", "[{0}, {0}]", "{{1: {0}, 2: {0}}}"]).format(name)
            return f"for i in range(100): {name} = {shared}"
        if kind < 0.45:
            return f"{name}[{value(1)}] = {value(1)}"
        return f"{name} = {value()}"

    lines = [
        f"{name} = {chance.choice(chance.choice([_NUMBERS, _TEXTS, ['()', '[]', '{}', 'set()']]))}" for name in _NAMES
    ]
    for _ in range(chance.randrange(4, 20)):
        line = statement()
        lines.append(f"try:\n    {line}\nexcept Exception: pass" if chance.random() < 0.7 else line)
    return package_source("\n".join(lines))

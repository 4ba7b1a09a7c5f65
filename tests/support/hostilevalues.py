"""Python source whose values are made to exhaust a program that computes them, or that Python refuses to compute.

Each piece is code of a package that also loads a DLL, so that its import is interpreted as well as read.
"""

from __future__ import annotations

import random
import re

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
VALUES = {
    "hash of shared tuples": f"{_SHARED}x = {{t: 1}}",
    "set of shared tuples": f"{_SHARED}x = {{t}}",
    "set() of shared tuples": f"{_SHARED}x = set([t, u])",
    "add to a set": f"{_SHARED}x = set()\nx.add(t)",
    "set union": f"{_SHARED}x = {{1}}.union([t])\n{{1}}.issubset([t])",
    "dict() of shared tuples": f"{_SHARED}x = dict([(t, 1)])",
    "dict comprehension": f"{_SHARED}x = {{k: 1 for k in [t, u]}}",
    "item by a shared tuple": f"{_SHARED}x = {{}}\nx[t] = 1\nx[u] = 2",
    "lookup of a shared tuple": f"{_SHARED}x = {{}}.get(t)",
    "item of a dictionary": f"{_SHARED}x = {{1: 2}}\ny = x[t]",
    "setdefault and pop": f"{_SHARED}x = {{1: 2}}\nx.setdefault(t, 1)",
    "pop": f"{_SHARED}x = {{1: 2}}\nx.pop(t, 1)",
    "update": f"{_SHARED}x = {{1: 2}}\nx.update([(t, 1)])",
    "del of a shared tuple": f"{_SHARED}x = {{1: 2}}\ndel x[t]",
    "defaultdict": f"{_SHARED}x = defaultdict(list)\nx[t] = 1\ny = x[u]",
    "OrderedDict": f"{_SHARED}x = OrderedDict([(1, 2)])\nx.move_to_end(t)",
    "in a dictionary": f"{_SHARED}x = t in {{1: 2}}",
    "in a list": f"{_SHARED}x = t in [u]",
    "in a set": f"{_SHARED}x = t in {{1}}",
    "equality of shared tuples": f"{_SHARED}x = t == u",
    "order of shared tuples": f"{_SHARED}x = t < u",
    "is of shared tuples": f"{_SHARED}x = t is u",
    "sorted": f"{_SHARED}x = sorted([t, u])",
    "max": f"{_SHARED}x = max(t, u)",
    "index of a tuple": f"{_SHARED}x = (u,).index(t)",
    "count of a list": f"{_SHARED}x = [u].count(t)",
    "remove from a list": f"{_SHARED}x = [u]\nx.remove(t)",
    "match of shared tuples": f"{_SHARED}match t:\n    case ((), ()): pass\n    case _: pass",
    "str of shared tuples": f"{_SHARED}x = str(t)",
    "repr of shared tuples": f"{_SHARED}x = repr(t)",
    "f-string of shared tuples": f"{_SHARED}x = f'{{t}}{{t!r}}'",
    "percent of shared tuples": f"{_SHARED}x = '%s' % (t,)",
    "percent with shared arguments": f"{_SHARED}x = '%s %s' % t",
    "format of shared tuples": f"{_SHARED}x = '{{}}'.format(t)",
    "cached function": f"{_SHARED}@lru_cache\ndef f(x): return 1\nx = f(t)",
    "exception of shared tuples": f"{_SHARED}raise RuntimeError(t)",
    "key error of shared tuples": f"{_SHARED}try:\n    {{}}[t]\nexcept KeyError as e:\n    x = str(e)",
    "shared lists": "t = []\nfor i in range(100): t = [t, t]\nx = t == t\ny = str(t)\nz = {1: t} == {1: t}",
    "shared dictionaries": "t = {}\nfor i in range(100): t = {1: t, 2: t}\nx = t == t\ny = str(t)",
    "list in itself": "t = []\nt.append(t)\nx = str(t)\ny = t == t\nz = [t] == [t]",
    "dictionary in itself": "t = {}\nt[1] = t\nx = str(t)\ny = t == t",
    "wide lists": f"{_WIDE}x = c == c",
    "wide lists, printed": f"{_WIDE}x = str(b)",
    "wide lists, formatted": f"{_WIDE}x = f'{{e}}'",
    "wide lists, sorted": f"{_WIDE}x = sorted(b)",
    "wide lists, unpacked": f"{_WIDE}x = [" + "*a," * 20_000 + "]",
    "wide arguments": f"{_WIDE}x = os.path.join(" + "*a," * 20_000 + ")",
    "wide zip": f"{_WIDE}x = zip(*b)\ny = zip(*b)\nz = list(zip(*b))",
    "wide product": "x = [list(itertools.product(*[[1, 2]] * 4096)) for i in range(20)]",
    "wide chain": f"{_WIDE}x = list(itertools.chain(*b))",
    "search in wide lists": f"{_WIDE}for i in range(2000):\n    x = 'y' in a\n    y = 'y' in a\n    z = 'y' in a",
    "index in wide lists": f"{_WIDE}for i in range(2000):\n    x = a.count('y')\n    y = a.count('z')",
    "copies of dictionaries": "d = {i: i for i in range(4000)}\nx = []\nfor i in range(2000): x.append({**d})",
    "copies of lists": "a = [0] * 4096\nx = []\nfor i in range(1900):\n    x.append(a[:])\n    x.append(list(a))",
    "copies of texts": f"{_LONG}x = []\nfor i in range(1900):\n    x.append('é' + s)\n    x.append('\\U0001f600' + s)",
    "augmented text": "s = 'x'\nfor i in range(60): s += s",
    "augmented bytes": "s = b'x'\nfor i in range(60): s += s",
    "augmented list": "s = [0]\nfor i in range(60): s += s",
    "augmented tuple": "s = (0,)\nfor i in range(60): s += s",
    "augmented text, multiplied": "s = 'xxxx'\nfor i in range(60): s *= 900",
    "doubling bytes": "s = b'x'\nfor i in range(60): s = s + s",
    "doubling path": "s = Path('x')\nfor i in range(60): s = s / s",
    "doubling path with /=": "s = Path('x')\nfor i in range(60): s /= s",
    "doubling joinpath": "s = Path('x')\nfor i in range(60): s = s.joinpath(s, s)",
    "doubling os.path.join": "s = 'x'\nfor i in range(60): s = os.path.join(s, s)",
    "doubling attribute": "class A: pass\nA.s = 'x'\nfor i in range(60): A.s += A.s",
    "doubling item": "d = {1: 'x'}\nfor i in range(60): d[1] += d[1]",
    "doubling variable": "os.environ['X'] = 'x'\nfor i in range(60): os.environ['X'] += os.environ['X']",
    "wide f-string": f"{_LONG}x = f'" + "{s}" * 30_000 + "'",
    "wide path": f"{_LONG}x = os.path.join(" + "s," * 30_000 + ")",
    "wide Path": f"{_LONG}x = Path(" + "s," * 30_000 + ")",
    "parents of a long path": "s = 'a/' * 4000\ns = s + s\nx = [list(Path(s).parents) for i in range(20)]",
    "precision": "x = '%.1000000000d' % 1",
    "precision of a float": "x = '%.1000000000f' % 1.5",
    "width": "x = '%1000000000d' % 1",
    "width from an argument": "x = '%*d' % (1000000000, 1)",
    "precision from an argument": "x = '%.*d' % (1000000000, 1)",
    "width by name": "x = '%(a)1000000000d' % {'a': 1}",
    "width in format": "x = '{:1000000000}'.format(1)",
    "width in an f-string": "x = f'{1:1000000000}'\ny = f'{1:.999999999}'\nw = 1000000000\nz = f'{1:{w}}'",
    "width of format()": "x = format(1, '1000000000')",
    "ljust": "x = 'a'.ljust(10 ** 10)\nx = 'a'.center(10 ** 10)\nx = 'a'.rjust(10 ** 10)",
    "zfill": "x = 'a'.zfill(10 ** 10)",
    "expandtabs": "x = '\\t'.expandtabs(10 ** 10)",
    "replace": f"{_LONG}x = s.replace('', s)",
    "join": f"{_LONG}x = s.join([s] * 4000)",
    "join of a text": f"{_LONG}x = s.join(s)",
    "translate": f"{_LONG}x = s.translate({{120: s}})",
    "punycode": "s = ''.join(['é'] * 4000)\nx = [(s + s).encode('punycode') for i in range(500)]",
    "idna": "s = ''.join(['é'] * 4000)\nx = [(s + s).encode('idna') for i in range(500)]",
    "unknown codec": "x = 'a'.encode('no-such')\ny = b'a'.decode('no-such')",
    "surrogates": "x = '\\ud800'.encode()\ny = Path('\\ud800')\nos.add_dll_directory('\\ud800')",
    "text times a number": "x = 'a' * 10 ** 10\ny = [1] * 10 ** 10\nz = (1,) * 10 ** 10\nw = b'a' * 10 ** 10",
    "power": "x = 10 ** 10 ** 10\ny = 7 ** 7 ** 7 ** 7",
    "shift": "x = 1 << 10 ** 10\ny = 1 << 1 << 10 ** 9",
    "squares": "x = 7\nfor i in range(100): x = x * x",
    "augmented squares": "x = 7\nfor i in range(100): x *= x",
    "augmented power": "x = 7\nfor i in range(100): x **= 60",
    "augmented shift": "x = 7\nfor i in range(2000): x <<= 64",
    "large hexadecimal number": "x = str(0x" + "f" * 20_000 + ")\ny = f'{0x" + "f" * 20_000 + "}'",
    "large number in a percent": "x = '%d' % 0x" + "f" * 20_000,
    "large number as an index": "x = 'abc'[0x" + "f" * 2000 + "]",
    "large number in repr": "x = repr([0x" + "f" * 20_000 + "])",
    "large number divided": "x = 0x" + "f" * 20_000 + " / 3",
    "digits": "x = int('9' * 4000)\ny = int('9' * 4000 + '9' * 4000)",
    "infinity": "x = int(1e999)",
    "not infinity": "x = ~1e999",
    "not a number": "x = int(1e999 - 1e999)",
    "base": "x = int('1', 10 ** 30)\ny = int('1', 99)",
    "range": "x = range(10 ** 30)\ny = len(x)",
    "range, unpacked": "x = [*range(10 ** 12)]\ny = list(range(10 ** 12))",
    "range, searched": "x = 'a' in range(10 ** 12)\ny = range(10 ** 30) == range(10 ** 30)",
    "bytes": "x = bytes(10 ** 10)\ny = bytearray(10 ** 10)",
    "slices": "x = 'abc'[10 ** 30:]\ny = [1, 2][:10 ** 30:10 ** 30]",
    "zero step": "x = 'abc'[::0]",
    "relpath": "x = os.path.relpath(here, 'D:/x')",
    "relpath caught": "try:\n    x = os.path.relpath(here, 'D:/x')\nexcept ValueError:\n    x = ''",
    "relpath of nothing": "x = os.path.relpath('')\ny = os.path.relpath('C:/', '')",
    "relpath with zero bytes": "x = os.path.relpath('C:/\\0', 'C:/a')",
    "commonpath": "x = os.path.commonpath([here, 'D:/x'])\ny = os.path.commonpath([])",
    "path functions": "x = os.path.join()\n",
    "path functions with too many arguments": "x = os.path.dirname(here, here)",
    "isabs with two": "x = os.path.isabs(here, here)",
    "splitdrive": "x = os.path.splitdrive('//?/UNC/')\ny = os.path.splitdrive('\\\\\\\\')",
    "with_suffix": "x = Path('a').with_suffix('b')",
    "with_name": "x = Path('').with_name('')",
    "relative_to": "x = Path('C:/a').relative_to('D:/b')",
    "as_uri": "x = Path('a').as_uri()",
    "match path": "x = Path('a').match('')",
    "zero byte in a path": "x = os.path.exists('a\\0b')\nos.add_dll_directory('C:\\\\a\\0b')",
    "no arguments": "x = len()",
    "no arguments of str methods": "x = 'a'.replace('b')",
    "no arguments of getattr": "x = getattr(os)",
    "no arguments of isinstance": "x = isinstance(1)",
    "no arguments of super": "x = super()",
    "no arguments of next": "x = next()",
    "no arguments of sorted": "x = sorted()",
    "no arguments of map": "x = map()",
    "no arguments of set methods": "x = {1}\nx.add()",
    "no arguments of re": "x = re.match()",
    "no arguments of namedtuple": "x = namedtuple()",
    "no arguments of import_module": "x = importlib.import_module()",
    "no arguments of CDLL": "x = ctypes.CDLL()",
    "no arguments of chdir": "os.chdir()",
    "odd keywords": "x = 'a'.split(nothing=1)\ny = sorted([1], nothing=2)",
    "namedtuple of anything": "x = namedtuple('x', [1, 2], defaults=[1, 2, 3])",
    "unhashable set": "x = {[1]}",
    "unhashable key": "x = {(1, [2]): 3}",
    "unhashable item": "x = {}\nx[(1, [2])] = 3",
    "unhashable lookup": "x = {}.get((1, [2]))\ny = (1, [2]) in {}",
    "unhashable set item": "x = {}\nx[{1}] = 3",
    "unhashable union": "x = {1}.union([[1]])",
    "set of different things": "x = {1, 'a', None, (1, 2)}\nfor y in x: pass",
    "order of different things": "x = sorted([1, 'a'])",
    "call of a number": "x = 1()",
    "import of odd names": "importlib.import_module('.' * 1000)",
    "import of long names": "importlib.import_module('a.' * 4000)",
    "import of nothing": "importlib.import_module('')",
    "import with zero bytes": "importlib.import_module('a\\0b')",
    "import of surrogates": "importlib.import_module('\\ud800')",
    "slow pattern": "s = 'ab' * 150\nfor i in range(100): x = re.search('[ab]*[ab]*[ab]*c', s)",
    "slow substitution": "s = 'ab' * 150\nfor i in range(100): x = re.sub('[ab]*[ab]*[ab]*c', '', s)",
    "many optional parts": "x = re.match('a?' * 60 + 'a' * 60, 'a' * 60)",
    "many counted parts": "x = re.match('a{0,9}' * 20 + 'a' * 60, 'a' * 60)",
    "many alternatives": "x = re.match('(a|a)' * 40 + 'b', 'a' * 60)",
    "slow compiled pattern": "p = re.compile('[ab]*[ab]*[ab]*c')\nfor i in range(100): x = p.findall('ab' * 150)",
    "pattern flags": "x = re.compile('a', 10 ** 30)\ny = re.compile('(?P<a>a)(?P<a>a)')",
    "pattern group": "x = re.match('a', 'a').group(5)",
    "pattern counts": "x = re.compile('a{99999999999}')",
    "glob of a share": "x = glob.glob('\\\\\\\\?\\\\a\\\\b')\ny = glob.glob('//[/*/x')",
    "slow glob": "x = glob.glob(here + '/' + '*a' * 100 + 'b')",
    "glob of everything": "for i in range(2000): x = glob.glob(here + '/**', recursive=True)",
    "walk of everything": "for i in range(2000): x = os.walk('C:/Python')",
    "glob class": "x = glob.glob(here + '/[a')\ny = glob.glob(here + '/[!')\nz = glob.glob('/' * 4000 + '*')",
    "json": "x = json.loads('[' * 4000)\ny = json.loads('1' * 4000 + '1' * 4000)",
    "exec": f"{_LONG}for i in range(2000): exec('x = 1;' * 600)",
    "exec of nested code": "exec('x = ' + '(' * 300)\nexec('x = a' + '.b' * 4000 + '.b' * 4000)",
    "exec of itself": "s = 'exec(s)'\nexec(s)",
    "class in itself": "class A: pass\nA.__class__ = A\nA.x = A\nB = type('B', (A,) * 4000, {})",
    "base classes": "class A0: pass\n"
    + "".join(f"class A{n}(A{n - 1}, A{n - 1}, A{n - 1}): pass\n" for n in range(1, 60))
    + "x = A59().y",
    "bases of instances": "class E0(Exception): pass\n"
    + "".join(f"class E{n}(E{n - 1}, E{n - 1}, E{n - 1}): pass\n" for n in range(1, 60))
    + "try:\n    raise E59()\nexcept KeyError: pass",
    "partial of partial": "from functools import partial\nf = len\nfor i in range(2000): f = partial(f, 1)\nx = f()",
    "iterator of iterators": "x = iter([1])\nfor i in range(1900): x = map(str, iter(x))\nnext(x)",
    "generator of generators": "def g(x):\n    for y in x: yield y\nx = [1]\nfor i in range(1900): x = g(x)\nnext(x)",
    "enumerate of enumerate": "x = [1]\nfor i in range(1900): x = enumerate(x)\nx = list(x)",
    "cubes of loops": "a = range(2000)\nx = [1 for i in a for j in a for k in a]",
    "named tuple of names": "x = namedtuple('x', 'a ' * 4000)\ny = x(*range(4000))",
    "format fields": "x = '{0[0]}{a.b}{:{}}'.format([1])\ny = '{99999999999999999999}'.format(1)\nz = '{'.format()",
    "format digits": "x = ('{' + '9' * 4000 + '}').format(1)",
    "percent fields": "x = '%' % 1\ny = '%q' % 1\nz = '%s%s' % 1",
    "percent character": "x = '%c' % 10 ** 20",
    "percent characters": "x = '%c' % 99999999999",
    "chained comparison": "x = " + " < ".join(["1"] * 4000),
    "text compared with numbers": "x = 'a' < 1",
    "division": "x = 1 / 0\ny = 1 // 0\nz = 1 % 0\nw = 1.5 % 0",
    "negative shift": "x = 1 << -1\ny = 1 >> -1\nz = 2 ** -1",
    "complex": "x = (-8) ** 0.5\ny = 1j\nz = 1j < 2",
    "unpacking": "a, b = 1\n",
    "unpacking too many": "a, *b, c = []\n",
    "deletion": "del x\n",
    "deletion of items": "x = [1]\ndel x[5]\ndel x['a']",
    "environment": "os.environ[1] = 2\n",
    "environment of numbers": "os.environ.setdefault(1, 2)\n",
    "environment without arguments": "os.environ.pop()\n",
    "PATH of numbers": "os.environ['PATH'] = 'x' + chr(0)\nctypes.CDLL('a.dll')",
    "exit codes": "sys.exit(t)\n",
    "decorators": "@1\ndef f(): pass\n@lru_cache(1, 2, 3)\ndef g(x): return x\ng([1])\n",
    "with nothing": "with 1 as x: pass\n",
    "with numbers": "with open(1) as f: x = f.read(1, 2, 3)\n",
    "open of anything": "x = open()\ny = open(here, 5)\nz = open('a\\0b')",
    "surrogate name": "ctypes.CDLL('\\ud800.dll')",
    "long name": f"{_LONG}ctypes.CDLL(s)\n",
    "long folder": f"{_LONG}os.add_dll_directory('C:/' + s)\n",
    "numbers as names": "ctypes.CDLL(10 ** 30)\n",
}  # fmt: skip
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

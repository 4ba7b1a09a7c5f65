"""Python source of a few kilobytes that is made to exhaust its reader; each gives a value to ``a``."""

from __future__ import annotations

ATTACKS = {
    "parents": "from pathlib import Path\na = str(Path(__file__).parents[99999999999999])",
    "parents of parents": "from pathlib import Path\na = str(Path(__file__)" + ".parents[0]" * 5000 + ")",
    "doubling": "a = 'x'\n" + "a = a + a\n" * 60,
    "doubling f-string": "a = 'x'\n" + "a = f'{a}{a}'\n" * 60,
    "doubling join": "import os\na = 'x'\n" + "a = os.path.join(a, a, a)\n" * 60,
    "doubling Path": "from pathlib import Path\na = Path('x')\n" + "a = a / a\n" * 60,
    "doubling list": "a = ['x']\n" + "a = [*a, a, a]\na += a\na.extend(a)\n" * 60,
    "nested list": "a = ['x']\n" + "a = [" + "a," * 50 + "]\n" + "a = [" + "a," * 50 + "]\n" * 8,
    "many long strings": "a = '" + "x" * 30_000 + "'\n" + "".join(f"b{n} = a + '{n}'\n" for n in range(20_000)),
    "nested loops": "import os\na = " + repr([str(n) for n in range(64)]) + "\n"
    + "".join(" " * n + f"for v{n} in a:\n" for n in range(12)) + " " * 12 + "os.add_dll_directory(v0 + v1)\n",
    "loop of assignments": "a = ''\nfor i in " + repr(["xxxxxxxx"] * 64) + ":\n for j in [i, i, i]:\n  a = a + a + i\n",
    "recursive functions": "".join(f"def f{n}():\n return f{n + 1}() + f{n + 1}()\n" for n in range(60)) + "a = f0()",
    "function that calls itself": "def f():\n return f() + f()\na = f()",
    "conditional expressions": "a = " + "('' if x else " * 80 + "''" + ")" * 80,
    "nested functions": "".join(" " * n + f"def f{n}():\n" for n in range(90))
    + (" " * 90 + "x(1)\n") * 5000 + "a = f0()",
    "nested handlers": "".join(f"{' ' * n}try:\n{' ' * n} x()\n{' ' * n}except OSError:\n" for n in range(19))
    + (" " * 19 + "x(1)\n") * 15_000 + "a = ''",
    "deep parentheses": "a = " + "(" * 150 + "''" + ")" * 150,
    "too deep parentheses": "a = " + "(" * 5000 + "''" + ")" * 5000,
    "long sum": "a = " + "+".join(["b"] * 90_000),
    "long chain": "a = b" + ".c" * 190_000,
    "many calls": "a = b" + "()" * 90_000,
    "signs": "a = " + "-" * 180_000 + "1",
    "negations": "a = " + "not " * 100_000 + "1",
    "dense tuple": "a = (" + "x," * 520_000 + ")",
    "dense lines": "a = ''\n" + "0\n" * 500_000,
    "large number": "a = str(" + "9" * 5000 + ")",
    "large exponent": "a = 'x' * 10 ** 10 ** 10",
    "zero byte": "a = '\0'",
    "lone surrogates": "a = '\\ud800'",
    "coding": "# coding: no-such-coding\na = ''",
    "comparison with a long list": "a = " + repr(["x"] * 4000) + "\n" + "b = '' if 'y' in a else ''\n" * 15_000,
    "star imports": "import os\na = ''\n" + "from x import *\n" * 60_000,
}  # fmt: skip

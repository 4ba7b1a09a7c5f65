"""Values of a package's code that would exhaust Python, or that Python refuses, are unknown; nothing else happens.

``python -m tests.faults.test_package_values 2000`` reads so many packages made at random, and prints the slowest.
"""

from __future__ import annotations

import os
import sys
import time

import pytest

if sys.platform == "win32":
    pytest.skip("time and memory are measured with POSIX' means", allow_module_level=True)

import resource

from tests.support.hostilevalues import VALUES, made_source, package_source
from tests.support.parts import every
from tests.support.patience import patience
from tests.support.views import make_view
from wheelfix.loader.profile import Profile
from wheelfix.pycode.budget import CodeBudget
from wheelfix.pycode.importer import import_end
from wheelfix.pycode.reading import read_path_code
from wheelfix.pycode.windows import ViewFiles

INIT = "Lib/site-packages/pkg/__init__.py"
SECONDS, MEGABYTES = 20, 1024


def read_both_ways(source: str) -> None:
    """Read a file of a package as ``scan`` does, and interpret its import as ``try`` does, with more steps."""
    view = make_view({INIT: source.encode("utf-8", "surrogatepass")})
    read_path_code(source, INIT, CodeBudget(), ViewFiles(view, Profile(python=(3, 11))))
    import_end(view, Profile(python=(3, 11)), "pkg")


def watched(source: str) -> tuple[int, float, float]:
    """The exit code of a process that reads a file, its processor time, and its memory in megabytes."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (3 * SECONDS, 3 * SECONDS + 1))
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
            read_both_ways(source)
            code = 0
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "replace")[:500])
        finally:
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    scale = 1024 if sys.platform != "darwin" else 1 << 20
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / scale


def assert_within_budget(source: str) -> None:
    code, seconds, megabytes = watched(source)
    assert code == 0
    assert seconds < SECONDS or seconds < patience(SECONDS)
    assert megabytes < MEGABYTES


@pytest.mark.slow
@pytest.mark.parametrize("name", every(8, VALUES))
def test_a_value_that_would_exhaust_python(name):
    assert_within_budget(package_source(VALUES[name]))


@pytest.mark.slow
@pytest.mark.parametrize("first", every(5, range(0, 2000, 100)))
def test_packages_made_at_random(first):
    for seed in range(first, first + 10):
        assert_within_budget(made_source(seed))


def _main(count: int, first: int = 0) -> int:
    began, seen = time.monotonic(), []
    for seed in range(first, first + count):
        seen.append((*watched(made_source(seed)), seed))
    bad = [one for one in seen if one[0] or one[1] > SECONDS or one[2] > MEGABYTES]
    print(f"{len(seen)} packages, {len(bad)} beyond the budget or with an exception, {time.monotonic() - began:.0f} s")
    for code, seconds, megabytes, seed in [
        *bad,
        *sorted(seen, key=lambda one: -one[1])[:3],
        *sorted(seen, key=lambda one: -one[2])[:2],
    ]:
        print(f"seed {seed}: exit {code}, {seconds:.1f} s, {megabytes:.0f} MB")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(_main(*map(int, sys.argv[1:] or ["2000"])))

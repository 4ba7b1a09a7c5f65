"""The loaders as fixtures; a tier that cannot run here says why in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.wine import Unavailable, Wine, native_wine, x64_wine
from tests.oracle.winpython import WindowsPython, windows_python
from tests.support.tiers import unavailable


@pytest.fixture(scope="session")
def native() -> Wine:
    """The host's own Wine, running."""
    try:
        return native_wine()
    except Unavailable as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
def x64() -> Wine:
    """An x86_64 Wine, running."""
    try:
        return x64_wine()
    except Unavailable as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
def python(x64: Wine) -> WindowsPython:
    """A Windows CPython; copy it before putting anything into its site-packages."""
    try:
        return windows_python(x64)
    except Unavailable as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
def case_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the files of cases."""
    return tmp_path_factory.mktemp("cases")

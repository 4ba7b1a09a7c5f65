"""The loaders as fixtures; a tier that cannot run here says why in one line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import pytest

from tests.oracle.wine import Unavailable, Wine, native_wine

if TYPE_CHECKING:
    from pathlib import Path

REQUIRED = "WHEELFIX_REQUIRE_TIERS"
"""With this variable set a tier that cannot run is a failure; CI sets it, so that nothing is skipped unseen."""


def unavailable(reason: str) -> NoReturn:
    """Skip, or fail where the tiers are required."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{reason}, and {REQUIRED} is set", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def native() -> Wine:
    """The host's own Wine, running."""
    try:
        return native_wine()
    except Unavailable as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
def case_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the files of cases."""
    return tmp_path_factory.mktemp("cases")

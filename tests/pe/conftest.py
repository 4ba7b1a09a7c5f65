"""What the tests of signatures share."""

from pathlib import Path

import pytest

from tests.support.signing import trust


@pytest.fixture(scope="session")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The authority of the tests, as a file of trusted roots."""
    return trust(tmp_path_factory.mktemp("roots"))

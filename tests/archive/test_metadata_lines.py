"""Which lines of METADATA belong to the header."""

from __future__ import annotations

import pytest

from wheelfix.archive.metadata import parse_headers

LICENSE = (
    "Name: pandas\nLicense: BSD\n        All rights reserved.\n{gap}\n        Redistribution\nRequires-Dist: numpy\n"
)


@pytest.mark.parametrize(
    ("text", "numpy"),
    [
        pytest.param(LICENSE.format(gap="        "), ("numpy",), id="blanks-continue-the-license"),
        pytest.param(LICENSE.format(gap="\t"), ("numpy",), id="so-does-a-tab"),
        pytest.param(LICENSE.format(gap="        ").replace("\n", "\r\n"), ("numpy",), id="line-ends-of-windows"),
        pytest.param(LICENSE.format(gap="        \x0c page 2"), ("numpy",), id="a-form-feed-ends-no-line"),
        pytest.param(LICENSE.format(gap=""), None, id="an-empty-line-ends-the-header"),
    ],
)
def test_lines_of_blanks_continue_a_field(text: str, numpy: tuple[str, ...] | None) -> None:
    """pandas 2.0.3 lost every Requires-Dist to a line of eight blanks within its license."""
    assert parse_headers(text).get("requires-dist") == numpy

"""Real packages that load DLLs with code of their own, as they are and without a DLL: the import ends as predicted.

``python -m tests.oracle.packageimports FOLDER...`` prints the same as a table. The wheels that are not on the list of
real wheels have to be put into their folder by hand; their names are in ``packageimports.toml``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.oracle.packageimports import Case, cases, run
from tests.support.tiers import wheel
from wheelfix.errors import WheelfixError
from wheelfix.trial.model import TrialOptions
from wheelfix.trial.run import open_interpreter

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.real
@pytest.mark.wine_x64
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_the_import_ends_as_predicted(case: Case, tmp_path: Path) -> None:
    wheels = [wheel(name, optional=True) for name in case.wheels]
    try:
        with open_interpreter(tmp_path, TrialOptions(), print) as target:
            rows = [*run(case, wheels, target, tmp_path)]
    except WheelfixError as error:
        pytest.skip(str(error))
    wrong = [f"{row.removed or 'intact'}: {row.why}" for row in rows if not row.agrees and row.agreement == "differs"]
    assert not wrong

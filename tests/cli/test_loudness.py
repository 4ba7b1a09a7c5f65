"""How much is printed changes no exit code."""

from __future__ import annotations

import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll


@pytest.mark.parametrize("loud", [[], ["-v"], ["-q"]], ids=["plain", "verbose", "quiet"])
def test_versions_of_large_files_count_whatever_is_printed(tmp_path, capsys, loud) -> None:
    """``scan --select WF4 --fail-on warning`` exited with 0, and with 1 if -v was given: MKL is larger than 16 MB."""
    files = {
        "pkg/_x.cp311-win_amd64.pyd": forge_dll("_x.pyd", imports={"mkl_intel_thread.2.dll": ["f"]}),
        "pkg/mkl_intel_thread.2.dll": forge_dll(
            "mkl_intel_thread.2.dll",
            imports={"libiomp5md.dll": ["f"]},
            exports=["f"],
            version=(2025, 3, 0, 0),
            size=17 << 20,
        ),
        "pkg/libiomp5md.dll": forge_dll("libiomp5md.dll", exports=["f"], version=(5, 0, 2019, 1002)),
    }
    wheel = build_wheel(tmp_path, "pkg", "1.0", files=files)
    words = ["scan", str(wheel), "--no-discover", "--select", "WF4", "--fail-on", "warning"]
    assert main([*words, *loud]) == 1
    assert loud == ["-q"] or "WF412" in capsys.readouterr().out

"""Of several DLLs of one name in a process the first that is loaded serves everyone."""

from __future__ import annotations

import pytest

from tests.support.environments import install, lay
from tests.support.wheels import build_wheel
from wheelfix.base.options import ScanOptions
from wheelfix.base.values import replace
from wheelfix.demo.forge import forge_dll
from wheelfix.exam.scan import scan_all
from wheelfix.model import Severity, Verdict


def runtime(version):
    return forge_dll("msvcp140.dll", exports=["_Mtx_lock", "_Mtx_init_in_situ"], version=(14, version, 0, 0))


def torch(folder, symbol="_Mtx_lock"):
    files = {
        "torch/__init__.py": "",
        "torch/version.py": "__version__ = '2.9.1+cpu'\ncuda = None\n",
        "torch/lib/c10.dll": forge_dll("c10.dll", imports={"MSVCP140.dll": [symbol]}),
    }
    return build_wheel(folder, "torch", "2.9.1", files=files)


def toolkit(folder, name="qt", version=26, exports=("f",)):
    """A distribution with its own msvcp140.dll and zlib1.dll, which its extension module loads."""
    files = {
        f"{name}/__init__.py": "",
        f"{name}/_ext.pyd": forge_dll("_ext.pyd", imports={"msvcp140.dll": ["_Mtx_lock"], "zz.dll": exports[:1]}),
        f"{name}/msvcp140.dll": runtime(version),
        f"{name}/zz.dll": forge_dll("zz.dll", exports=exports),
    }
    return build_wheel(folder, name, "1", files=files)


def reports(paths, **options):
    return {one.name: one for one in scan_all(paths, replace(ScanOptions(), jobs=1, **options))}


def found(report, code):
    return [item for item in report.findings if item.code == code]


class TestRuntimeBesidePython:
    @pytest.mark.parametrize(("version", "verdict"), [(26, Verdict.BROKEN), (44, Verdict.OK)])
    def test_an_older_one_crashes_torch(self, tmp_path, version, verdict):
        env = lay(install(torch(tmp_path), tmp_path / "env"), {"msvcp140.dll": runtime(version), "python.exe": b"MZ"})
        report = reports([env])["torch"]
        assert report.verdict is verdict
        if verdict is Verdict.BROKEN:
            assert report.first_failure.code == 1114
            assert "c10.dll" in report.first_failure.message
            assert found(report, "WF321")

    def test_code_that_constructs_its_mutex_is_fine(self, tmp_path):
        wheel = torch(tmp_path, "_Mtx_init_in_situ")
        env = lay(install(wheel, tmp_path / "env"), {"msvcp140.dll": runtime(26), "python.exe": b"MZ"})
        assert not found(reports([env])["torch"], "WF321")


class TestOrder:
    def test_both_orders_are_named(self, tmp_path):
        report = reports([torch(tmp_path), toolkit(tmp_path)], together=True)["torch"]
        (item,) = found(report, "WF322")
        assert item.severity is Severity.WARNING
        assert "importing qt before torch fails, importing torch before qt works" in item.message
        assert item.evidence["fails"] == ["qt", "torch"]

    @pytest.mark.parametrize(
        ("order", "verdict"), [(("qt", "torch"), Verdict.BROKEN), (("torch", "qt"), Verdict.OK)], ids=str
    )
    def test_one_order_is_asked_about(self, tmp_path, order, verdict):
        paths = [torch(tmp_path), toolkit(tmp_path)]
        report = reports(paths, together=True, import_order=order)["torch"]
        assert report.verdict is verdict
        assert (report.first_failure.code if report.first_failure else 0) == (1114 if verdict is Verdict.BROKEN else 0)

    def test_twins_with_other_exports(self, tmp_path):
        paths = [toolkit(tmp_path, "one", 44, ("f", "g")), toolkit(tmp_path, "two", 44, ("g",))]
        both = reports(paths, together=True)
        (item,) = found(both["one"], "WF322")
        assert item.evidence["symbols"] == ["f"]
        assert not found(both["two"], "WF322")

    def test_a_newer_runtime_first_is_fine(self, tmp_path):
        report = reports([torch(tmp_path), toolkit(tmp_path, version=44)], together=True)["torch"]
        assert not found(report, "WF322")


def plain(folder, name, needs, files, code=""):
    """A distribution whose only module imports zz.dll."""
    own = {f"{name}/__init__.py": code, f"{name}/_ext.pyd": forge_dll("_ext.pyd", imports={"zz.dll": needs})}
    return build_wheel(folder, name, "1", files={**own, **files})


class TestReplay:
    """Each pair is imported in the model, in both orders."""

    def test_a_twin_that_its_own_code_loads_comes_first(self, tmp_path):
        code = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'bin', 'zz.dll'))\n"
        files = {"one/__init__.py": code, "one/bin/zz.dll": forge_dll("zz.dll", exports=["g"])}
        one = build_wheel(tmp_path, "one", "1", files=files)
        two = plain(tmp_path, "two", ["f"], {"two/zz.dll": forge_dll("zz.dll", exports=["f"])})
        report = reports([one, two], together=True)["two"]
        (item,) = found(report, "WF322")
        assert (item.evidence["fails"], item.evidence["works"]) == (["one", "two"], ["two", "one"])
        assert (item.evidence["code"], item.evidence["chain"]) == (127, ["_ext.pyd", "zz.dll"])

    def test_a_twin_that_nothing_loads_does_no_harm(self, tmp_path):
        files = {"one/__init__.py": "", "one/zz.dll": forge_dll("zz.dll", exports=["g"])}
        files["one/_ext.pyd"] = forge_dll("_ext.pyd")
        files["one/other.dll"] = forge_dll("other.dll", imports={"zz.dll": ["g"]})
        one = build_wheel(tmp_path, "one", "1", files=files)
        two = plain(tmp_path, "two", ["f"], {"two/zz.dll": forge_dll("zz.dll", exports=["f"])})
        assert not found(reports([one, two], together=True)["two"], "WF322")

    def test_no_order_works(self, tmp_path):
        one = plain(tmp_path, "one", ["f"], {"one/zz.dll": forge_dll("zz.dll", exports=["f"])})
        two = plain(tmp_path, "two", ["g"], {"two/zz.dll": forge_dll("zz.dll", exports=["g"])})
        for report in reports([one, two], together=True).values():
            (item,) = found(report, "WF322")
            assert item.evidence["works"] == []
            assert "and so does" in item.message

    def test_the_distribution_that_is_imported_is_named(self, tmp_path):
        """PyQt5's DLLs are in PyQt5-Qt5, which nobody imports."""
        code = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'bin'))\n"
        dlls = build_wheel(tmp_path, "qtdlls", "1", files={"qt/bin/zz.dll": forge_dll("zz.dll", exports=["g"])})
        files = {"qt/__init__.py": code, "qt/_ext.pyd": forge_dll("_ext.pyd", imports={"zz.dll": ["g"]})}
        qt = build_wheel(tmp_path, "qt", "1", files=files, requires=["qtdlls"])
        two = plain(tmp_path, "two", ["f"], {"two/zz.dll": forge_dll("zz.dll", exports=["f"])})
        (item,) = found(reports([dlls, qt, two], together=True)["two"], "WF322")
        assert item.evidence["fails"] == ["qt", "two"]
        assert "zz.dll of qtdlls" in item.message

    @pytest.mark.parametrize(
        ("order", "code"), [("abc", 0), ("bca", 127), ("cab", 0), ("acb", 0), ("cba", 0), ("bac", 127)]
    )
    def test_an_order_of_three(self, tmp_path, order, code):
        """a needs f, which b's zz.dll does not have; a's and c's have all that anyone needs."""
        paths = [
            plain(tmp_path, "a", ["f"], {"a/zz.dll": forge_dll("zz.dll", exports=["f", "g"])}),
            plain(tmp_path, "b", ["g"], {"b/zz.dll": forge_dll("zz.dll", exports=["g"])}),
            plain(tmp_path, "c", ["g"], {"c/zz.dll": forge_dll("zz.dll", exports=["f", "g"])}),
        ]
        report = reports(paths, together=True, import_order=tuple(order))["a"]
        assert (report.first_failure.code if report.first_failure else 0) == code
        assert report.verdict is (Verdict.BROKEN if code else Verdict.OK)

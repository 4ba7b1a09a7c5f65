"""Every failed load that counts has an error that stands for it, and only then is a failure predicted."""

from __future__ import annotations

import pytest

from tests.rules.subjects import SITE, dll, edge, linked, loads, run, subject
from tests.support.environments import install, lay
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix.base.options import ScanOptions
from wheelfix.base.values import replace
from wheelfix.exam.scan import scan_all
from wheelfix.model import Alone, LoadEvent, LoadOutcome, Verdict
from wheelfix.rules.failures import visible_failure
from wheelfix.rules.registry import with_allowed

PYD = SITE + "pkg/_core.pyd"
FAILED = loads(PYD, 1114, ("_core.pyd", "odd.dll"))


def test_a_failure_without_another_finding_is_an_error():
    (found,) = run(subject({PYD: dll()}, events=[FAILED]))
    assert (found.code, str(found.severity), found.subject) == ("WF309", "error", "pkg/_core.pyd")
    assert found.message == "loading _core.pyd fails with error 1114 (_core.pyd -> odd.dll)"


def test_a_failure_counts_as_long_as_an_error_about_it_is_reported():
    thing = subject({PYD: dll()}, events=[FAILED])
    assert visible_failure(thing, run(thing)) == FAILED
    assert visible_failure(thing, ()) is None


def test_a_load_with_two_faults_fails_because_of_the_one_that_is_reported():
    middle = SITE + "pkg/middle.dll"
    edges = [edge(PYD, "one.dll"), edge(PYD, "middle.dll", middle), edge(middle, "two.dll")]
    thing = linked(*edges, loaded=[loads(PYD, 126, ("_core.pyd", "one.dll"))])
    rest = with_allowed(run(thing), ("one.dll",))
    failure = visible_failure(thing, rest)
    assert (failure.code, failure.chain) == (126, ("_core.pyd", "middle.dll", "two.dll"))
    assert visible_failure(thing, with_allowed(rest, ("*",))) is None


def runtime(version):
    return forge_dll("msvcp140.dll", exports=["_Mtx_lock", "_Mtx_init_in_situ"], version=(14, version, 0, 0))


def torch(folder, symbol="_Mtx_lock"):
    files = {
        "torch/__init__.py": "",
        "torch/version.py": "__version__ = '2.9.1+cpu'\ncuda = None\n",
        "torch/lib/c10.dll": f"imports MSVCP140.dll:{symbol}",
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


@named_cases(
    "symbol, version, verdict",
    {
        "older": ("_Mtx_lock", 26, Verdict.BROKEN),
        "newer": ("_Mtx_lock", 44, Verdict.OK),
        "code that constructs its mutex": ("_Mtx_init_in_situ", 26, Verdict.OK),
    },
)
def test_a_runtime_beside_python_exe(tmp_path, symbol, version, verdict):
    wheel = torch(tmp_path, symbol)
    env = lay(install(wheel, tmp_path / "env"), {"msvcp140.dll": runtime(version), "python.exe": b"MZ"})
    report = reports([env])["torch"]
    assert report.verdict is verdict
    assert bool(found(report, "WF321")) is (verdict is Verdict.BROKEN)
    if verdict is Verdict.BROKEN:
        assert report.first_failure.code == 1114
        assert "c10.dll" in report.first_failure.message


class TestOrder:
    @named_cases(
        "order, version, verdict, code",
        {
            "none asked about": ((), 26, Verdict.RISKY, 0),
            "the older runtime first": (("qt", "torch"), 26, Verdict.BROKEN, 1114),
            "torch first": (("torch", "qt"), 26, Verdict.OK, 0),
        },
    )
    def test_a_runtime_that_another_distribution_loads(self, tmp_path, order, version, verdict, code):
        paths = [torch(tmp_path), toolkit(tmp_path, version=version)]
        report = reports(paths, together=True, import_order=order)["torch"]
        assert report.verdict is verdict
        assert (report.first_failure.code if report.first_failure else 0) == code
        if verdict is Verdict.RISKY:
            (item,) = found(report, "WF322")
            assert "importing qt before torch fails, importing torch before qt works" in item.message
            assert item.evidence["fails"] == ["qt", "torch"]

    def test_twins_with_other_exports(self, tmp_path):
        paths = [toolkit(tmp_path, "one", 44, ("f", "g")), toolkit(tmp_path, "two", 44, ("g",))]
        both = reports(paths, together=True)
        (item,) = found(both["one"], "WF322")
        assert item.evidence["symbols"] == ["f"]
        assert not found(both["two"], "WF322")


def plain(folder, name, needs, files, code=""):
    """A distribution whose only module imports zz.dll."""
    own = {f"{name}/__init__.py": code, f"{name}/_ext.pyd": forge_dll("_ext.pyd", imports={"zz.dll": needs})}
    return build_wheel(folder, name, "1", files={**own, **files})


class TestReplay:
    """Each pair is imported in the model, in both orders."""

    def test_a_twin_that_its_own_code_loads_comes_first(self, tmp_path):
        code = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'bin', 'zz.dll'))\n"
        files = {"one/__init__.py": code, "one/bin/zz.dll": "exports g"}
        one = build_wheel(tmp_path, "one", "1", files=files)
        two = plain(tmp_path, "two", ["f"], {"two/zz.dll": ""})
        report = reports([one, two], together=True)["two"]
        (item,) = found(report, "WF322")
        assert (item.evidence["fails"], item.evidence["works"]) == (["one", "two"], ["two", "one"])
        assert (item.evidence["code"], item.evidence["chain"]) == (127, ["_ext.pyd", "zz.dll"])

    def test_a_twin_that_nothing_loads_does_no_harm(self, tmp_path):
        files = {"one/__init__.py": "", "one/zz.dll": "exports g"}
        files["one/_ext.pyd"] = ""
        files["one/other.dll"] = "imports zz.dll:g"
        one = build_wheel(tmp_path, "one", "1", files=files)
        two = plain(tmp_path, "two", ["f"], {"two/zz.dll": ""})
        assert not found(reports([one, two], together=True)["two"], "WF322")

    def test_no_order_works(self, tmp_path):
        one = plain(tmp_path, "one", ["f"], {"one/zz.dll": ""})
        two = plain(tmp_path, "two", ["g"], {"two/zz.dll": "exports g"})
        for report in reports([one, two], together=True).values():
            (item,) = found(report, "WF322")
            assert item.evidence["works"] == []
            assert "and so does" in item.message

    def test_the_distribution_that_is_imported_is_named(self, tmp_path):
        """PyQt5's DLLs are in PyQt5-Qt5, which nobody imports."""
        code = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'bin'))\n"
        dlls = build_wheel(tmp_path, "qtdlls", "1", files={"qt/bin/zz.dll": "exports g"})
        files = {"qt/__init__.py": code, "qt/_ext.pyd": "imports zz.dll:g"}
        qt = build_wheel(tmp_path, "qt", "1", files=files, requires=["qtdlls"])
        two = plain(tmp_path, "two", ["f"], {"two/zz.dll": ""})
        (item,) = found(reports([dlls, qt, two], together=True)["two"], "WF322")
        assert item.evidence["fails"] == ["qt", "two"]
        assert "zz.dll of qtdlls" in item.message

    @pytest.mark.parametrize(
        "order, code",
        [
            ("abc", 0),
            ("bca", 127),
            ("cba", 0),
        ],
    )
    def test_an_order_of_three(self, tmp_path, order, code):
        """a needs f, which b's zz.dll does not have; a's and c's have all that anyone needs."""
        paths = [
            plain(tmp_path, "a", ["f"], {"a/zz.dll": "exports f, g"}),
            plain(tmp_path, "b", ["g"], {"b/zz.dll": "exports g"}),
            plain(tmp_path, "c", ["g"], {"c/zz.dll": "exports f, g"}),
        ]
        report = reports(paths, together=True, import_order=tuple(order))["a"]
        assert (report.first_failure.code if report.first_failure else 0) == code
        assert report.verdict is (Verdict.BROKEN if code else Verdict.OK)


FIRST, SECOND = SITE + "pkg/x/_a.pyd", SITE + "pkg/x/_b.pyd"


def outcome(path: str, *, sure: bool) -> LoadOutcome:
    name = path.rpartition("/")[2]
    event = LoadEvent(path, "extension", f"pkg.x.{name.removesuffix('.pyd')}")
    return LoadOutcome(event, alone=Alone(126, (name, "bar.dll"), sure))


def test_modules_with_one_cause_are_one_finding():
    thing = subject({FIRST: dll(), SECOND: dll()}, events=[outcome(FIRST, sure=False), outcome(SECOND, sure=False)])
    (found,) = run(thing)
    assert (found.code, str(found.severity), found.subject) == ("WF308", "unsure", "pkg/x/_a.pyd")
    assert found.message == (
        "_a.pyd and _b.pyd load only after other modules of the package: in a fresh process they fail with error 126 "
        "(_a.pyd -> bar.dll); whether the package's code always imports those first could not be determined"
    )
    assert found.evidence["modules"] == ["pkg.x._a", "pkg.x._b"]


def test_what_the_code_sees_to_is_said():
    (found,) = run(subject({FIRST: dll()}, events=[outcome(FIRST, sure=True)]))
    assert str(found.severity) == "info"
    assert found.message.endswith("the package's own code imports those first")

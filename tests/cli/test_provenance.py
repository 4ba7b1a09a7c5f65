"""What a report says about its own making, and what it does not say."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.cli.output import command_line, now


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["scan", "dist"], "wheelfix scan dist"),
        (["scan", "a b.whl", "C:\\x\\y.whl"], "wheelfix scan 'a b.whl' C:\\x\\y.whl"),
        (["scan", "/home/me/dist/*.whl"], "wheelfix scan ~/dist/*.whl"),
        (["scan", "--root", "https://me:pass@host/x"], "wheelfix scan --root https://host/x"),
        (["scan", "https://host/x.whl?sig=abc&y=1"], "wheelfix scan https://host/x.whl"),
        (["scan", "--api-token", "hush", "dist"], "wheelfix scan --api-token *** dist"),
        (["scan", "--password=hush"], "wheelfix scan --password=***"),
        (["scan", "ghp_0123456789abcdefghij"], "wheelfix scan ***"),
    ],
)
def test_a_command_line_without_secrets(argv, shown):
    assert command_line(argv, home="/home/me") == shown


def test_the_date_is_utc_and_can_be_set(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert now() == "1970-01-01 00:00 UTC"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "-5")
    assert now().endswith("UTC")


def test_the_page_has_date_command_and_hash(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    wheel = build_wheel(tmp_path / "dist", "one", "1.0", files={"one/__init__.py": ""})
    main(["scan", "dist", "--no-discover", "--report", "html=out.html"])
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "wheelfix scan dist --no-discover --report html=out.html" in page
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() in page
    assert " UTC" in page


def test_a_plain_scan_imports_no_markdown_and_no_html(tmp_path):
    wheel = build_wheel(tmp_path, "one", "1.0", files={"one/__init__.py": ""})
    code = (
        "import sys; from wheelfix.cli.main import main; main(['scan', sys.argv[1], '--no-discover', '-q']); "
        "print([name for name in sys.modules if name.startswith(('markdown_it', 'wheelfix.report.html', 'rich'))])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(wheel)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"

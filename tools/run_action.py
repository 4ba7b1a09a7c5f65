"""The body of the GitHub Action: turns its inputs, which come as variables, into one command line and runs it.

What came of it is also written to the file of GITHUB_OUTPUT: a verdict in one word, and the counts.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS = ("ci", "scan", "verify")
COUNTED = ("inputs", "ok", "risky", "unsure", "broken", "not_readable", "not_repaired", "skipped")
FINDINGS = {"errors": "error", "warnings": "warning", "info": "info"}
"""Outputs that count findings, and their severities."""


def split(text: str) -> list[str]:
    """Split options as a shell would, but leave backslashes alone: they belong to Windows paths."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    return list(lexer)


def command_line(inputs: Mapping[str, str]) -> list[str]:
    """Return what follows ``wheelfix``."""
    command = inputs.get("INPUT_COMMAND") or "ci"
    if command not in COMMANDS:
        sys.exit(f"wheelfix: error: the action's command is {', '.join(COMMANDS)}, not {command!r}")
    wheels = [line.strip() for line in inputs.get("INPUT_WHEELS", "").splitlines() if line.strip()]
    words = [command, *wheels, "--format", "github"]
    if command == "ci":
        words += ["--wheel-dir", inputs.get("INPUT_WHEEL_DIR") or "wheelhouse"]
    for kind in ("sarif", "html"):
        file = inputs.get(f"INPUT_{kind.upper()}")
        words += ["--report", f"{kind}={file}"] if file else []
    return [*words, *split(inputs.get("INPUT_ARGS", ""))]


def outputs(document: dict[str, Any] | None) -> dict[str, str]:
    """Return the outputs of the action from the JSON report of the run; None means that the run made none."""
    summary: dict[str, Any] = (document or {}).get("summary", {})
    findings = summary.get("findings", {})
    counts = {name: int(summary.get(name, 0)) for name in COUNTED}
    counts |= {name: int(findings.get(severity, 0)) for name, severity in FINDINGS.items()}
    return {"verdict": _verdict(counts), **{name.replace("_", "-"): str(count) for name, count in counts.items()}}


def _verdict(counts: Mapping[str, int]) -> str:
    """Return the worst that was found, in one word."""
    if counts["broken"] or counts["not_repaired"]:
        return "broken"
    for word in ("not_readable", "unsure", "risky"):
        if counts[word]:
            return word.replace("_", "-")
    return "ok" if counts["ok"] else "none"


def write_outputs(file: str, values: Mapping[str, str]) -> None:
    """Append outputs to the file that GitHub names; they are numbers and fixed words, so that no line can be forged."""
    with Path(file).open("a", encoding="utf-8", newline="\n") as target:
        target.writelines(f"{name}={value}\n" for name, value in values.items())


def run(environ: Mapping[str, str]) -> int:
    """Run wheelfix, write the outputs, and return its exit code."""
    from wheelfix.cli.main import main

    words = command_line(environ)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        code = main([*words, "--report", f"json={report}"])
        document = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else None
    if environ.get("GITHUB_OUTPUT"):
        write_outputs(environ["GITHUB_OUTPUT"], {**outputs(document), "exit-code": str(int(code))})
    return code


if __name__ == "__main__":
    sys.exit(run(os.environ))

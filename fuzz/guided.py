"""``python -m fuzz.guided TARGET [options of libFuzzer]``: fuzzing guided by coverage, with atheris.

``python -m fuzz.guided archive -max_total_time=300`` runs five minutes; a crash leaves its input in a file ``crash-…``,
which ``python -m fuzz archive --input crash-…`` feeds again.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = "WHEELFIX_FUZZ_CORPUS"


def main() -> int:
    """Run libFuzzer in a child, since it never returns, and remove what it leaves in the folder for temporary files."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if CORPUS in os.environ:
        _fuzz(sys.argv[1], sys.argv[2:], Path(os.environ[CORPUS]))
    with tempfile.TemporaryDirectory(prefix="wheelfix-guided-") as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        environment = {**os.environ, "TMPDIR": folder, CORPUS: str(corpus)}
        return subprocess.call([sys.executable, "-m", "fuzz.guided", *sys.argv[1:]], env=environment)


def _fuzz(name: str, options: list[str], corpus: Path) -> None:
    """Instrument wheelfix, lay the seeds out, and hand over to libFuzzer."""
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        sys.exit("atheris is not installed; CONTRIBUTING.md says how to get it")
    with atheris.instrument_imports(include=["wheelfix"]):
        from fuzz.seeds import seeds
        from fuzz.targets import TARGETS

        if name not in TARGETS:
            sys.exit(f"there is no target {name!r}; there are {', '.join(TARGETS)}")
        for number, data in enumerate(seeds(name)):
            (corpus / f"seed-{number}").write_bytes(data)
            with contextlib.suppress(Exception):  # libFuzzer will meet it again; this imports what is imported late
                TARGETS[name](data)
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())

"""The colour of each verdict."""

from __future__ import annotations

from wheelfix.model import Verdict

VERDICT_STYLES = {Verdict.OK: "good", Verdict.RISKY: "warn", Verdict.UNSURE: "warn", Verdict.BROKEN: "bad"}

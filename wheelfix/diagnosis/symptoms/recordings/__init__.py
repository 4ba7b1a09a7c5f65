"""Recorded loads: what dlltracer, loader snaps, Process Monitor, Wine and others saw a real loader do."""

from __future__ import annotations

from wheelfix.diagnosis.symptoms.recordings.model import RecordedLoad, Recording
from wheelfix.diagnosis.symptoms.recordings.read import read_recordings

__all__ = ["RecordedLoad", "Recording", "read_recordings"]

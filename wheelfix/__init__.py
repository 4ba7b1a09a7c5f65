"""wheelfix: say why a Windows wheel will not import, and write one that does."""

from __future__ import annotations

__version__ = "0.1.0"

"""Reports as one HTML file that needs no network: scans, repairs and comparisons."""

from wheelfix.report.html.page import render_scan

__all__ = ["render_scan"]

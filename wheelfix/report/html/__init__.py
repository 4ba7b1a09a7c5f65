"""A report as one HTML file that needs no network: verdict, prediction, findings with their pages, the graph."""

from wheelfix.report.html.page import render_scan

__all__ = ["render_scan"]

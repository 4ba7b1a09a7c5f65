"""Reports for people: a report and a style in, text out. Only this folder imports rich."""

from wheelfix.report.text.pages import render_page, render_rules
from wheelfix.report.text.scan import Hints, render_scan
from wheelfix.report.text.summary import render_summary

__all__ = ["Hints", "render_page", "render_rules", "render_scan", "render_summary"]

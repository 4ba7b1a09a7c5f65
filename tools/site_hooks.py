"""What MkDocs runs while it builds the site: nothing in a page is loaded from another host."""

from __future__ import annotations

from typing import Any

SHIM = "https://unpkg.com/iframe-worker/shim"
"""Where Material's offline plugin takes the code that lets the search run from a disk."""


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Point a page to our own copy of what the offline plugin would load."""
    from mkdocs.utils import get_relative_url

    return output.replace(SHIM, str(get_relative_url("assets/worker.js", page.url)))


def on_post_template(output_content: str, **_: Any) -> str:
    """Do the same for the page of what is not found, which is a template."""
    return output_content.replace(SHIM, "/assets/worker.js")

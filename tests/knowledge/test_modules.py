"""Which distribution has a module."""

from __future__ import annotations

from wheelfix.knowledge.providers import module_owners


def test_a_module_that_newer_releases_no_longer_have():
    # ctranslate2 3.24.0 imports pkg_resources first; a distribution of that name was taken for unknown.
    assert module_owners()["pkg_resources"] == ("setuptools",)

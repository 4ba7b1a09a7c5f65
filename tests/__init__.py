"""Tests of wheelfix; the folders mirror the package."""

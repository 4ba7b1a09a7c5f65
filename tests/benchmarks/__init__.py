"""Tests of the tools that make tables."""

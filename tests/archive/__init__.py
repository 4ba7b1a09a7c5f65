"""Tests of the archive room."""

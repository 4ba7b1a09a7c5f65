"""Tests of the streams room."""

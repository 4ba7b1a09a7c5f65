"""Machines that fail, files that attack: what must hold afterwards."""

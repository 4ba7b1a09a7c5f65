"""Fuzzing: random damage to valid inputs, and what must hold for every result."""

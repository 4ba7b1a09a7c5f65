"""Fuzzing: random damage to real inputs, with what must hold whatever comes out of it."""

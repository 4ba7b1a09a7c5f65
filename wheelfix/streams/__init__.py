"""Byte sources, inflate and deflate, output files, the thread pool and interrupts: what reading and writing need."""

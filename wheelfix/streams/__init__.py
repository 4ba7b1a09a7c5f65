"""Threads and interrupts: what every room that reads or writes bytes builds on."""

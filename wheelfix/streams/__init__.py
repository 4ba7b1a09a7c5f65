"""Byte sources, inflate and deflate, output files, threads and interrupts: what reading and writing need.

``source`` is bytes that can be read at any place, in a file or deflated in a wheel. ``codec`` is the one door to
compression. ``output`` makes files and folders that are whole or gone. ``pool`` is the one thread pool, and how
requests to stop arrive.
"""

"""What every room needs: values, options, files of others, parsing of untrusted text, programs, worker processes.

Errors are in ``wheelfix/errors.py``, which is part of the Python interface. Nothing here knows of wheels or DLLs.
"""

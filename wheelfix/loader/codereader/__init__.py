"""What the Python code of a package does with DLLs, read file by file and never run.

``pathcode`` is the way in: it follows a file with ``coderun``, and gives the folders that the code adds and the DLLs
that it loads. A value is everything that an expression may give (``codevalue``).
"""

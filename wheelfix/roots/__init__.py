"""Where DLLs can come from.

``gather`` finds the roots of a machine, which ``toolkits`` recognises; ``condafile`` and
``fetched`` add packages. ``index`` lists their DLLs and reads them; ``choice`` takes one of them, and ``release`` says
which releases it may belong to.
"""

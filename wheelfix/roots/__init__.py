"""Where DLLs can come from.

``gather`` finds the roots of a run: those that the user named, those of this machine (``host``), the package index
(``fetched``). A ``root`` is one place, and has candidates; ``toolkits`` recognises vendors' folders, ``condafile``
opens conda's packages. ``index`` lists the DLLs of all roots by name; ``choice`` takes one of them, or says why none;
and ``release`` says which releases of its toolkit a candidate may belong to.
"""

"""From a pasted text, a recording or an environment to the cause of a failed import, and what to do about it.

``symptoms/`` reads texts and recordings and knows causes from tables, without files. ``diagnose`` gathers the evidence,
``confirm`` and ``recorded`` compare it with the files, ``remedies`` makes commands for exactly these files, and
``conclusions`` puts the answer together. ``machine`` is the block to paste into an issue.
"""

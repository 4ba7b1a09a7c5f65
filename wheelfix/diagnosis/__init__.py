"""From a pasted text, a recording or an environment to the cause of a failed import, and what to do about it.

``symptoms/`` reads texts and recordings, and knows causes from tables, without files. ``diagnose`` gathers the
evidence that a request names (``model`` has the request, the evidence and the answer as values). ``confirm`` compares
a symptom with the files, ``recorded`` a recording with the loader model, and ``conclusions`` puts the answer together:
causes in the order of their proof, remedies that fit, doubts. ``machine`` is the block to paste into an issue.
"""

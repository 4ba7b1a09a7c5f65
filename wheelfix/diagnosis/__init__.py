"""From a pasted text, a recording or an environment to the cause of a failed import, and what to do about it."""

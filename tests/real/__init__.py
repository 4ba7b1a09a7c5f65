"""wheelfix against wheels that others made: what PyPI has, and what its vendors' DLLs do."""

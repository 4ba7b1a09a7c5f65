"""One function per finding code, the registry of codes, and their pages."""

"""A wheel as a zip file: reading its directory and members, RECORD, rewriting it, and what others accept."""

"""A wheel as a zip file: reading its directory and members, RECORD, writing it anew, and what others accept."""

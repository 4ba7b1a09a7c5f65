"""What we know: tables with sources, and their loader."""

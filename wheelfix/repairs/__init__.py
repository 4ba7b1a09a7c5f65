"""The commands that write: a repaired wheel, a renamed layout, an installed package with its journal."""

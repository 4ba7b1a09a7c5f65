"""The loader model held against a real PE loader: Wine's. See ``README.md`` here for how it is done."""

"""The loader model compared with a real PE loader: Wine's. See ``README.md`` here for how it is done."""

"""Examine a wheel, a folder or an environment: read it, load it in the model, run the rules, build the report."""

"""What Python runs and loads before a module, read from import statements; ``importorder`` is the way in."""

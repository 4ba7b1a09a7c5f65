"""One module for each package that loads DLLs in its own way, named like it; see ``loader/packageloading.py``."""

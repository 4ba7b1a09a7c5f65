"""One file per package that loads DLLs with code of its own."""

"""How Windows finds a DLL: search orders, the system's own set, and what a package loads by itself."""

"""Real imports: a wheel is installed into a clean environment and imported, and that is compared with the scan."""

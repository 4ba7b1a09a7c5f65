"""The embedded example, and small DLLs made for it and for tests."""

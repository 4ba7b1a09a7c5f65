"""Whether an Authenticode signature is genuine, and whether its root is one that Windows trusts."""

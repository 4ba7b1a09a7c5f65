"""Whether an Authenticode signature is genuine, and whether its root is one that Windows trusts.

``verify`` gives the answer. ``message`` reads DER and PKCS #7, ``signers`` checks digests, signatures and timestamps,
``certificates`` the chain up to a root; the arithmetic is done by cryptography.
"""

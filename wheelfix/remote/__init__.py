"""Files on servers: byte sources by range requests, package indexes, and the cache."""

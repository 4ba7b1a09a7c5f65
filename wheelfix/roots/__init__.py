"""Where DLLs can come from: discovery per vendor, the index of candidates, and the choice among them."""

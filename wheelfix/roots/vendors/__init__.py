"""One file per vendor: where its toolkits are installed, and which DLLs of them may be copied."""

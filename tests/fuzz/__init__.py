"""What is fuzzed, as properties; and the fuzzer itself."""

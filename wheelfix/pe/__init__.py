"""A DLL as bytes: reading what the loader and the rules ask for, inflating no more than that takes."""

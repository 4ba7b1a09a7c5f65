"""Measures wheelfix against copying, against what the hardware allows and against its peers."""

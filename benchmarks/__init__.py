"""Measures wheelfix and compares it with copying, with what the hardware allows and with other tools."""

"""Tokens of a context: counted, recorded, calibrated; its limit, status and course over time."""

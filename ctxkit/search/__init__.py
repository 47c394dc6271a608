"""Recall, selection by topic, and sessions below folders with their index."""

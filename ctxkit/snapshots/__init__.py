"""Snapshots and checkpoints: made, kept, listed, restored."""

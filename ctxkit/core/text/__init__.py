"""The room text."""

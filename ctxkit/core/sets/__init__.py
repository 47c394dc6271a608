"""The room sets."""

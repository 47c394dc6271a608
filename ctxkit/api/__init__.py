"""The Python API: `Log`, with a method per command, and functions on plain messages."""

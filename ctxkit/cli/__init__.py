"""The command line: thin callers of the Python API, one file per command."""

"""Compaction strategies, a file each: how what leaves a context is told."""

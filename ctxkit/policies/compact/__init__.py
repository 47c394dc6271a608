"""Compaction, pure: what may be replaced by a summary, and what the summary says."""

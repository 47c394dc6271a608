"""The compaction strategies, one file each."""

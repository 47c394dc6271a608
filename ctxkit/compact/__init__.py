"""A part of a context replaced by a summary: what may go, what the summary keeps, strategies, the op."""

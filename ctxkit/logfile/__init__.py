"""A log opened, read and appended to, an op committed; what stands around a context."""

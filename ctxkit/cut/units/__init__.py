"""What a context is cut into: steps, segments, lines, and the names that stand in them."""

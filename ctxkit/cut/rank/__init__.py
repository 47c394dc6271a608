"""What goes first, and what a summary keeps: ranks of units, scores of lines."""

"""A context made to fit: units, ranks, what is shortened, what a summary tells; trim, compact and their strategies."""

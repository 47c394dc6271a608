"""A context made to fit a budget: ranking, shortening, the op."""

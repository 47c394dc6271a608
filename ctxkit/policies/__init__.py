"""Pure policies: (state, request) -> op."""

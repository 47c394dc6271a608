"""The room derive."""

"""The room compare."""

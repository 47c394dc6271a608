"""The small decisions: mark, rewind, forget, remember, recall, protect, clear, window, undo, filter_context."""

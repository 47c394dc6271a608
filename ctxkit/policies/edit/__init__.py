"""Editing, pure: a context as a text for an editor, the text read back, and the op that it asks for."""

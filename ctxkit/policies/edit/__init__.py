"""Editing, pure: a context as a text for an editor, the text read back, and the op that it asks for."""

CONTEXT = "[PRIOR_CONTEXT_PROVIDED]"
"""How what an edit brought in is announced."""

"""A context as a draft in an editor, and the op that the draft asks for."""

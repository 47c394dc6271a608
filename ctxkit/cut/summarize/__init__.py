"""The text that stands for what left: the state of the session, lines by rules, a story by a model."""

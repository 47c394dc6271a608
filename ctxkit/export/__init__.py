"""A context as a provider's request or as a session file that an agent goes on with."""

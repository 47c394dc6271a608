"""ctxkit: Unix commands for the context of LLM conversations, over an append-only log."""

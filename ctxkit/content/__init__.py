"""What the messages of a context say: text segments, facts, identifiers, pictures, calls, thinking."""

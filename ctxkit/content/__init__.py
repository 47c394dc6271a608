"""What the messages of a context say: pictures, calls, thinking, parts."""

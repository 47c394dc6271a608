"""Check, salvage and recover: what is wrong with a log, and the way back."""

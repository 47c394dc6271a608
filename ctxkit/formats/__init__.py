"""The shapes of transcripts: one file (or folder) each, listed in the registry."""

"""The settings: their keys, the one reader and the one writer of their files, and which of these files count."""

"""Every byte on disk: reading, appending, locking, configuration."""

"""All access to bytes on disk: reading, appending, locking, and the files beside a log."""

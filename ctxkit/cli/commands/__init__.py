"""The commands, one file each: its arguments, one call of the API, and what is printed of the answer."""

"""Many logs at once: a pool of processes, the tables of their messages, ops, requests and files, datasets of these."""

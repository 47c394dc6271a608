"""Why a message is in the context or not, what an op changed, and the names of states."""

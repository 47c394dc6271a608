"""The one place where a model is asked: the client, the guard before the network, chunks that fit."""

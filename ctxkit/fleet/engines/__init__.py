"""Engines of `fleet map`: each runs the same function over many files and gives the same rows, in the same order."""

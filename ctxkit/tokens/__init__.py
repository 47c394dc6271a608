"""Counters: how many tokens a text has, each figure with the name of what counted it."""

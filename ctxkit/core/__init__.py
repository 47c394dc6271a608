"""The pure core: messages, ops, replay, context, selection. No I/O, no clock, no environment."""

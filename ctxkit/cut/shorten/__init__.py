"""A message, a result or a summary made shorter."""

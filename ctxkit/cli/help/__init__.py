"""Help in all its forms: pages, examples and completion, made from the declarations of the commands."""

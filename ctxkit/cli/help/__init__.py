"""Help in all its forms: pages, examples, man pages and completion, each made from what commands declare."""

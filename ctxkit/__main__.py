"""`python -m ctxkit`: the same as the `ctxkit` command."""

from ctxkit.cli.app import main

if __name__ == "__main__":
    main()

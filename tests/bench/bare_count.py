"""The floor of counting: a list of texts (JSON), each counted by tiktoken, which is made of the same ranks; no more."""

from __future__ import annotations

import json
import sys

import tiktoken

from ctxkit.tokens.ranks import described


def main() -> None:
    """`bare_count.py TEXTS`."""
    made = tiktoken.Encoding(**described("o200k_base"))
    with open(sys.argv[1], "rb") as file:
        print(sum(len(made.encode_ordinary(text)) for text in json.load(file)))


main()

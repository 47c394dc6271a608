"""One trim of a list of messages to half its tokens, timed by itself: `trimmers.py WHAT FILE`, which prints seconds.

`tests/bench/trim.py` runs each in a process of its own. Reading, imports, and making the encoding are not timed. The
encoding is the same for all: tiktoken's own, of the ranks that an installed package carries.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from ctxkit.tokens.ranks import described

Messages = list[dict[str, Any]]
MODEL = "gpt-4o"


def main() -> None:
    """Print processor seconds, and how many messages are left."""
    what, name = sys.argv[1:]
    with open(name, "rb") as file:
        found = json.load(file)
    run = KINDS[what](found["messages"], found["tokens"] // 2)
    start = time.process_time()
    left = run()
    print(json.dumps({"seconds": time.process_time() - start, "left": left}))


def encoding() -> Any:
    """tiktoken's, without a network."""
    import tiktoken

    return tiktoken.Encoding(**described("o200k_base"))


def loop(messages: Messages, budget: int) -> Callable[[], int]:
    """Each text counted, nothing else: the floor."""
    encode = encoding().encode_ordinary

    def run() -> int:
        sum(len(encode(message["content"])) for message in messages)
        return len(messages)

    return run


def ctxkit(messages: Messages, budget: int) -> Callable[[], int]:
    """ctxkit's own, on the same list; its cache is empty."""
    from ctxkit import trim_conversation
    from ctxkit.tokens import encodings

    encodings.encoding("o200k_base")
    return lambda: len(trim_conversation(messages, budget, model=MODEL).messages)


def langchain(messages: Messages, budget: int) -> Callable[[], int]:
    """langchain_core's, as its documentation has it: the newest that fit, the system prompt kept."""
    from langchain_core.messages import convert_to_messages, trim_messages

    encode, made = encoding().encode_ordinary, convert_to_messages(messages)

    def count(some: Any) -> int:
        return sum(4 + len(encode(message.content)) for message in some)

    return lambda: len(
        trim_messages(
            made, max_tokens=budget, token_counter=count, strategy="last", include_system=True, start_on="human"
        )
    )


def litellm(messages: Messages, budget: int) -> Callable[[], int]:
    """litellm's, whose own counter is given the same encoding."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import tiktoken

    made = encoding()
    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda *_: made  # no network, the same ranks
    from litellm.utils import trim_messages

    return lambda: len(trim_messages(messages, model=MODEL, max_tokens=budget, trim_ratio=1.0))


KINDS = {"loop": loop, "ctxkit": ctxkit, "langchain": langchain, "litellm": litellm}

if __name__ == "__main__":
    main()

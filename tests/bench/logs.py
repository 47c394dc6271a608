"""Native logs of any size for the benches: the same bytes in every run, written line by line."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

WORDS = [
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "consectetur",
    "adipiscing",
    "elit",
    "sed",
    "do",
    "eiusmod",
    "tempor",
]
BODIES = 199
"""How many different texts there are; a native message adds its number."""
RARE_AT = 123_456
RARE = f"{RARE_AT} "
"""Begins four messages among the first million, of which that is the first: what the bench searches for."""
MESSAGE = 1000
"""Bytes of a native message, about."""
START = datetime(2026, 1, 1)


def native(path: Path, size: int) -> int:
    """Write a native log of about `size` bytes; how many messages it has. A user, a call, its result, an answer."""

    def lines() -> Iterator[str]:
        short, long = _bodies(800), _bodies(905)
        for i in range(0, size // MESSAGE, 4):
            first, second, third, fourth = (_time(i + k) for k in range(4))
            body, call_body = long[i % BODIES], short[i % BODIES]
            yield f'{{"role":"user","content":"{i} {body}","ts":"{first}Z"}}\n'
            function = f'{{"name":"Read","arguments":"{{\\"path\\":\\"src/file{i}.py\\"}}"}}'
            call = f'{{"id":"call_{i}","type":"function","function":{function}}}'
            yield f'{{"role":"assistant","content":"{i} {call_body}","tool_calls":[{call}],"ts":"{second}Z"}}\n'
            yield f'{{"role":"tool","tool_call_id":"call_{i}","content":"{i} {body}","ts":"{third}Z"}}\n'
            yield f'{{"role":"assistant","content":"{i} {body}","ts":"{fourth}Z"}}\n'

    return _write(path, lines())


def _bodies(size: int) -> list[str]:
    """Texts as they stand in JSON, with a line end now and then."""
    chosen = random.Random(size)
    texts = []
    for _ in range(BODIES):
        text = ""
        while len(text) < size:
            text += " ".join(chosen.choices(WORDS, k=12)) + ".\n"
        texts.append(json.dumps(text[:size])[1:-1])
    return texts


def _time(i: int) -> str:
    """A time for message i, ten seconds after the one before it."""
    return (START + timedelta(seconds=10 * i)).isoformat()


def _write(path: Path, lines: Iterator[str]) -> int:
    count = 0
    with path.open("w", encoding="ascii", newline="\n", buffering=1 << 20) as file:
        for line in lines:
            file.write(line)
            count += 1
    return count

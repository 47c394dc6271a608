"""Logs of any size for the benches: the same bytes in every run, written line by line."""

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


def claude_code(path: Path, size: int) -> int:
    """Write a Claude Code session of about `size` bytes; how many rows it has.

    Each turn: a prompt, a response written as three rows (thinking, text, call), the call's result.
    """

    def lines() -> Iterator[str]:
        prompts, thoughts, answers, results = (_bodies(length) for length in (200, 400, 600, 1500))
        written, i, parent = 0, 0, "null"
        while written < size:
            k = i % BODIES
            usage = '"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":99}'
            response = f'"role":"assistant","model":"claude-x","id":"msg_{i}","type":"message",{usage}'
            use = f'{{"type":"tool_use","id":"toolu_{i}","name":"Read","input":{{"file_path":"/src/file{i}.py"}}}}'
            answer = f'{{"type":"tool_result","tool_use_id":"toolu_{i}","content":"{results[k]}"}}'
            thinking = f'{{"type":"thinking","thinking":"{thoughts[k]}","signature":"{i}"}}'
            for message in (
                f'"role":"user","content":"{prompts[k]}"',
                f'{response},"content":[{thinking}]',
                f'{response},"content":[{{"type":"text","text":"{answers[k]}"}}]',
                f'{response},"content":[{use}]',
                f'"role":"user","content":[{answer}]',
            ):
                uuid = f'"{i:08d}-0000-4000-8000-{written:012d}"'
                kind = "user" if message.startswith('"role":"user"') else "assistant"
                start = f'"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/src","sessionId":"s"'
                end = f'"version":"2.1.0","type":"{kind}","uuid":{uuid},"timestamp":"{_time(i)}.000Z"'
                line = f'{{{start},"message":{{{message}}},{end}}}\n'
                written, parent = written + len(line), uuid
                yield line
            i += 1

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

"""JSON that agents write (rows J) in the arguments of a call: every command reads it, and what leaves is valid JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ctxkit.formats.targets import TARGETS
from tests.cli.runner import Ran, ctxkit, good
from tests.damage.sessions import ALL

CALLED = re.compile(rb'"(?:input|arguments|args)": ("(?:[^"\\]|\\.)*"|\{[^{}]*\})')
"""The arguments of a call, as every format keeps them: an object, or its text."""

VALUES: dict[str, tuple[bytes, Any]] = {
    # what the log says: what leaves, in requests and in the machine form
    "J01 NaN": (b"NaN", None),
    "J02 1e400": (b"1e400", None),
    "J03 2^53+1": (b"9007199254740993", 2**53 + 1),
    "J04 2^64": (b"18446744073709551616", 2**64),
    "J05 5000 digits": (b"7" * 5000, "7" * 5000),
    "J06 duplicate keys": (b'1,"x":2', 2),
    "J07 lone surrogate": (b'"\\ud800"', "\ufffd"),
    "J11 NUL escaped": (b'"\\u0000"', "\0"),
    "J12 depth 500": (b'{"a":' * 500 + b"1" + b"}" * 500, ...),
    "J18 keys": (b'1,"__proto__":{"a":1},"../x":2', 1),
    "J18 a key of 1 MB": (b'1,"' + b"k" * (1 << 20) + b'":1', 1),
}


def refuse(word: str) -> NoReturn:
    """A word that JSON does not have."""
    raise ValueError(word)


def values(ran: Ran) -> list[Any]:
    """The lines of a result, strictly JSON."""
    return [json.loads(line, parse_constant=refuse) for line in ran.out.decode("utf-8").split("\n") if line]


def damaged(name: str, value: bytes, folder: Path) -> Path:
    """The session with this value among the arguments of its first call."""
    raw = ALL[name].clean
    found = CALLED.search(raw)
    assert found
    new = b'{"x":' + value + b"}"
    if found[1].startswith(b'"'):
        new = b'"' + new.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
    path = folder / ALL[name].name
    path.write_bytes(raw[: found.start(1)] + new + raw[found.end(1) :])
    return path


@pytest.mark.covering("row", "name", times=2)
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("row", VALUES)
def test_arguments(row: str, name: str, tmp_path: Path) -> None:
    """They are shown, and go out to Anthropic and OpenAI exactly, but for what no JSON holds."""
    written, expected = VALUES[row]
    path = damaged(name, written, tmp_path)
    good("show", path)
    values(good("show", path, "--json"))
    [body] = values(good("export", path, "--to", "anthropic"))
    blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
    call = next(block for block in blocks if block["type"] == "tool_use")
    assert expected is ... or call["input"]["x"] == expected
    [body] = values(good("export", path, "--to", "openai"))
    calls = [call for message in body["messages"] for call in message.get("tool_calls", ())]
    said = calls[0]["function"]["arguments"]
    if said.encode() != b'{"x":' + written + b"}":  # a text that a model wrote goes out as it is
        assert expected is ... or json.loads(said, parse_constant=refuse)["x"] == expected


@pytest.mark.covering("row", "name")
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("row", ["J01 NaN", "J07 lone surrogate"])
def test_every_command(row: str, name: str, tmp_path: Path) -> None:
    """None fails on what another program wrote."""
    path = damaged(name, VALUES[row][0], tmp_path)
    for args in (
        ["status"], ["why", "2"], ["log"], ["recall", "--json", "x"], ["forget", "1"], ["diff", "--json"], ["diff"],
        ["cat"], ["undo"], ["mark", "here"], ["show", "--explain", "--json"], ["protect", "2"], ["config"],
        *(["export", "--to", to] for to in TARGETS),
    ):  # fmt: skip
        ran = ctxkit(args[0], path, *args[1:])
        assert ran.code in (0, 1), (args, ran.err)

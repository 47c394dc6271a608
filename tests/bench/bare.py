"""The floor: each line decoded by msgspec into the fields that a light message has, the content left as it is."""

from __future__ import annotations

import sys
from typing import Any

import msgspec


class Bare(msgspec.Struct):
    """As much of a native message as replay works on."""

    role: Any = None
    content: msgspec.Raw = msgspec.Raw(b"null")
    ts: Any = None
    tool_calls: msgspec.Raw = msgspec.Raw(b"null")
    tool_call_id: Any = None


class BareRow(msgspec.Struct):
    """The same of a row of a Claude Code session."""

    type: Any = None
    uuid: Any = None
    parentUuid: Any = None
    timestamp: Any = None
    message: msgspec.Raw = msgspec.Raw(b"null")


def main() -> None:
    """`bare.py LOG [claude]`."""
    decode = msgspec.json.Decoder(BareRow if "claude" in sys.argv[2:] else Bare).decode
    with open(sys.argv[1], "rb") as file:
        for line in file:
            decode(line)


main()

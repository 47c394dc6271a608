"""Structural damage: a JSON tree with values of other kinds, keys lost or doubled, huge numbers; and bytes and lines.

Pure: an input and dice give another input. What `tests/damage/test_any.py` does to bytes, this does to the tree of a
record, so that nearly every input is still a log, and only a value in it is not what its program writes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Raw(str):
    """A literal that stands in the JSON as it is: what no Python value is written as."""


class Fields(list[tuple[str, Any]]):
    """An object as its pairs, so that a key can stand twice."""


HUGE = "9" * 309
NUMBERS = tuple(
    map(
        Raw,
        (
            "0", "-0", "-0.0", "1", "-1", "2", "0.5", "1e999", "-1e999", "NaN", "Infinity", "-Infinity", HUGE,
            f"-{HUGE}",
            str(2**31), str(2**53), str(2**63), str(-(2**63) - 1), str(2**64), "1e308", "1e-400", "7" * 5000,
        ),
    )
)  # fmt: skip
STRINGS = (
    "", "x", "\x00", "\ud800", "\udfff\ud800", "NaN", "null", "1", "-1", "9" * 30, "2-1", "1-", "0", "@1", "..", "/",
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-02-30T25:61:61Z", "2026-02-01T10:00:00Z", "type",
    "user", "assistant", "tool", "text", "data:image/png;base64,????", "data:", "http://[", "\u2028", "\r\n", "a" * 300,
    "İ", "[1m", "{", "ctxkit",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    True, False, None, *STRINGS, *NUMBERS, [], Fields(), [[]], [None], [Fields()], [1], ["x"], [True], ["x", 1, None],
    Fields([("", None)]), Fields([("type", "text")]), Fields([("type", [])]), Fields([("type", Fields())]),
    Fields([("type", "text"), ("text", [])]), [Fields([("type", "text"), ("text", None)])], Fields([("x", "y")]),
    [Fields([("type", "image"), ("source", 5)])], [Fields([("type", "tool_use"), ("id", None), ("name", 5)])],
    [Fields([("type", "tool_result"), ("tool_use_id", []), ("content", Fields())])], Fields([("role", "user")]),
)  # fmt: skip
KEYS = ("", "type", "role", "id", "content", "ctxkit", "message", "x", "\ud800", "\x00", "a" * 300)
BYTES = (
    b"\xff", b"\0", b"\0" * 40, b"\xef\xbb\xbf", b"\r\n", b"\r", b"\n", b"\n\n", b'"', b"{", b"}", b"[", b"]", b",",
    b"\\", b"\\u", b'\\"', b"}{", b"\xed\xa0\x80", b"\xc0\x80", b"//", b" ", b"1", b"\xe2\x80\xa8", 
    b"\x1b[31m", b"\x1e",
)  # fmt: skip
DEEP = (20, 300, 1200, 100_000)


def parsed(raw: bytes) -> Any:
    """The tree of a JSON text. Raises ValueError where it is none."""
    return json.loads(raw.decode("utf-8", "surrogatepass"), object_pairs_hook=Fields, parse_int=Raw, parse_float=Raw)


def written(value: Any, *, ascii: bool = True) -> str:
    """The JSON of a tree, on one line."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Fields):
        inner = ", ".join(f"{json.dumps(key, ensure_ascii=ascii)}: {written(one, ascii=ascii)}" for key, one in value)
        return "{" + inner + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(one, ascii=ascii) for one in value) + "]"
    return json.dumps(value, ensure_ascii=ascii)


def places(value: Any) -> Iterator[tuple[list[Any], int]]:
    """Every place of a tree below its root: the container, and where in it."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, list):
            for i in range(len(one)):
                yield one, i
                stack.append(_held(one, i))


def _held(held: list[Any], i: int) -> Any:
    return held[i][1] if isinstance(held, Fields) else held[i]


def _put(held: list[Any], i: int, value: Any) -> None:
    held[i] = (held[i][0], value) if isinstance(held, Fields) else value


def _copied(value: Any) -> Any:
    if isinstance(value, Fields):
        return Fields((key, _copied(one)) for key, one in value)
    return [_copied(one) for one in value] if isinstance(value, list) else value


def _nested(dice: random.Random, value: Any) -> Any:
    depth = dice.choice(DEEP[:3])
    opened, closed = dice.choice((("[", "]"), ('{"a": ', "}"), ('[{"content": ', "}]")))
    return Raw(opened * depth + written(value) + closed * depth)


def _exchange(dice: random.Random, tree: Any, held: list[Any], i: int) -> None:
    _put(held, i, _copied(dice.choice(OTHERS)))


def _number(dice: random.Random, tree: Any, held: list[Any], i: int) -> None:
    _put(held, i, dice.choice(NUMBERS))


def _string(dice: random.Random, tree: Any, held: list[Any], i: int) -> None:
    _put(held, i, dice.choice(STRINGS))


def _lose(dice: random.Random, tree: Any, held: list[Any], i: int) -> None:
    del held[i]


def _double(dice: random.Random, tree: Any, held: list[Any], i: int) -> None:
    held.insert(dice.randrange(len(held) + 1), _copied_item(held[i]))
    if dice.random() < 0.5:
        _put(held, dice.randrange(len(held)), _copied(dice.choice(OTHERS)))


def _copied_item(item: Any) -> Any:
    return (item[0], _copied(item[1])) if isinstance(item, tuple) else _copied(item)


def _rename(dice: random.Random, tree: Any, held: list[Any], i: int) -> None:
    if isinstance(held, Fields):
        held[i] = (dice.choice((*KEYS, *(key for key, _ in held))), held[i][1])
    else:
        _put(held, i, Fields([(dice.choice(KEYS), held[i])]))


def _wrap(dice: random.Random, tree: Any, held: list[Any], i: int) -> None:
    value = _held(held, i)
    _put(held, i, dice.choice(([value], Fields([(dice.choice(KEYS), value)]), [value, _copied(value)])))


def _unwrap(dice: random.Random, tree: Any, held: list[Any], i: int) -> None:
    value = _held(held, i)
    if isinstance(value, list) and value:
        _put(held, i, _held(value, dice.randrange(len(value))))
    else:
        _put(held, i, written(value))  # JSON as a string


def _swap(dice: random.Random, tree: Any, held: list[Any], i: int) -> None:
    other, j = dice.choice(list(places(tree)))
    first, second = _copied(_held(held, i)), _copied(_held(other, j))
    _put(other, j, first)
    if i < len(held):
        _put(held, i, second)


def _deep(dice: random.Random, tree: Any, held: list[Any], i: int) -> None:
    _put(held, i, _nested(dice, _held(held, i)))


CHANGES: tuple[Callable[[random.Random, Any, list[Any], int], None], ...] = (
    _exchange, _exchange, _exchange, _exchange, _number, _number, _string, _lose, _lose, _double, _rename, _wrap,
    _unwrap, _swap, _swap, _deep,
)  # fmt: skip


def changed(dice: random.Random, raw: bytes) -> bytes:
    """A JSON text with one or two places of its tree changed; bytes of it where it is not JSON, or too deep a one."""
    try:
        return _changed(dice, [parsed(raw)])
    except (ValueError, RecursionError):
        return bytewise(dice, raw)


def _changed(dice: random.Random, tree: list[Any]) -> bytes:
    for _ in range(dice.choice((1, 1, 1, 2))):
        found = list(places(tree))
        if not found:
            break
        held, i = dice.choice(found if dice.random() < 0.9 else found[: 1 + len(found) // 4])
        dice.choice(CHANGES)(dice, tree, held, i)
    return written(tree[0], ascii=dice.random() < 0.8).encode("utf-8", "surrogatepass") if len(tree) == 1 else b""


def bytewise(dice: random.Random, raw: bytes) -> bytes:
    """The same bytes but for one place."""
    at = dice.randrange(len(raw) + 1)
    end = min(at + dice.choice((1, 1, 2, 8, 60)), len(raw))
    match dice.randrange(5):
        case 0:
            return raw[:at] + bytes(byte ^ (1 << dice.randrange(8)) for byte in raw[at : at + 1]) + raw[at + 1 :]
        case 1:
            return raw[:at] + raw[end:]
        case 2:
            return raw[:at] + dice.choice(BYTES) + raw[at:]
        case 3:
            return raw[:at] + raw[at:end] * 2 + raw[end:]
        case _:
            return raw[:at]


def linewise(dice: random.Random, raw: bytes, others: Sequence[bytes]) -> bytes:
    """The same lines but for one or two: cut, swapped, doubled, joined, or one of another file."""
    lines = raw.splitlines(keepends=True) or [b""]
    i, j = dice.randrange(len(lines)), dice.randrange(len(lines))
    match dice.randrange(8):
        case 0:
            del lines[i]
        case 1:
            lines[i], lines[j] = lines[j], lines[i]
        case 2:
            lines.insert(j, lines[i])
        case 3:
            lines[i] = lines[i].rstrip(b"\r\n")
        case 4 if others:
            lines.insert(i, dice.choice(dice.choice(others).splitlines(keepends=True) or [b""]))
        case 5:
            lines[i] = lines[i][: dice.randrange(len(lines[i]) + 1)]
        case 6:
            return raw.replace(b"\n", dice.choice((b"\r\n", b"\r", b"\n\n", b"\0\n", b" \n")))
        case _:
            return dice.choice((b"\xef\xbb\xbf", b"\0\0\0\0", b"\n", b" ", b"[", b"\xff\xfe")) + raw
    return b"".join(lines)


def mutated(dice: random.Random, raw: bytes, others: Sequence[bytes] = ()) -> bytes:
    """One to eight changes of a file: of the tree of its JSON or of a record's, of its lines, of its bytes."""
    for _ in range(dice.choice((1, 1, 2, 3, 5, 8))):
        chance = dice.random()
        if chance < 0.07:
            raw = bytewise(dice, raw)
        elif chance < 0.15:
            raw = linewise(dice, raw, others)
        else:
            raw = _one_text(dice, raw)
    return raw


def _one_text(dice: random.Random, raw: bytes) -> bytes:
    """A change in the tree of one JSON text of a file: the whole, where it is one; else a line."""
    lines = raw.splitlines(keepends=True)
    if len(lines) > 1:
        filled = [k for k, line in enumerate(lines) if line.strip()]
        whole = not lines[filled[0]].rstrip().endswith(b"}") if filled else False
        if not whole and filled:
            k = dice.choice(filled)
            ends = lines[k][len(lines[k].rstrip(b"\r\n")) :]
            lines[k] = changed(dice, lines[k]) + ends
            return b"".join(lines)
    return changed(dice, raw)

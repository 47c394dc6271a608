"""A request as Claude Code noted it: system prompt, tools and messages, and the thinking that fits behind them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.errors import NothingToSend, Usage
from tests.bound import KINDS
from tests.formats.claude_code.noting import FILES, MODEL, Session, call, hash_of, lines, raw, result, rows, text
from tests.lawful import Command, opened, tried
from tests.validators.prefixes import broken_as_noted, hashed, noted, renamed, thoughts_of_body

BOUND = "claude-opus-5-5"
SHAPE = {"system": [{"type": "text", "text": "You are a program."}], "tools": [{"name": "Bash", "input_schema": {}}]}


def thought(mark: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "", "signature": mark}


def session(steps: int = 4, shapes: tuple[str, ...] = ("h", "h", "h", "h", "h")) -> Session:
    """So many steps with thinking, reminders of role system between, each request noted; then an answer."""
    found = Session()
    known = {one: hashed(SHAPE | {"system": [text(one)]}) for one in shapes}
    for one, key in known.items():
        found.rows.append({"type": "api-request-shape", "shapeHash": key, "shape": SHAPE | {"system": [text(one)]}})
    found.say("go")
    found.remind("Today's date is 2026-01-01.")
    for i in range(steps):
        found.ask(shapeHash=known[shapes[i]])
        found.answer(thought(f"S{i}"), text(f"step {i}"), call(f"c{i}"))
        found.say([result(f"c{i}", f"out {i}")])
        if i == 1:
            found.remind("The file changed.")
    found.ask(shapeHash=known[shapes[steps]])
    found.answer(thought("last"), text("done"))
    return found


def exported(log: Log, **asked: Any) -> tuple[dict[str, Any], dict[str, int]]:
    """The request with the session's own system prompt and tools, and what is said of its thinking."""
    found = log.export("anthropic", with_tools=True, **asked)
    return next(iter(found.values)), found.repairs.thinking


def test_as_sent() -> None:
    """Without a change the request begins with the bytes of the last one, its thinking and all."""
    data = renamed(session().bytes(), BOUND)
    log = opened(data)
    body, said = exported(log)
    assert thoughts_of_body(body) == ["S0", "S1", "S2", "S3", "last"] and not said
    assert broken_as_noted(body, data) == []
    assert [one["role"] for one in body["messages"]][:3] == ["user", "system", "assistant"]
    assert body["system"] == [text("h")] and body["tools"] == SHAPE["tools"]


def test_up_to_the_first_change() -> None:
    """Behind a change nothing stays; before it all does, as sent."""
    data = renamed(session().bytes(), BOUND)
    log = opened(data)
    spoken = [entry.name for entry in log.entries() if entry.role == "assistant"]
    log.forget(str(spoken[2]))
    body, said = exported(log)
    assert thoughts_of_body(body) == ["S0", "S1"] and broken_as_noted(body, data) == []
    assert said == {f"left out: message {spoken[2]} changed": 2}


def test_another_system_prompt() -> None:
    """Thinking that was made with another one goes, and all behind it."""
    data = renamed(session(shapes=("a", "a", "b", "b", "b")).bytes(), BOUND)
    body, said = exported(opened(data))
    assert body["system"] == [text("b")] and thoughts_of_body(body) == [] == broken_as_noted(body, data)
    assert said == {"left out: the log does not record their request": 5}


def test_a_message_that_is_not_as_it_was_sent() -> None:
    """What was thought behind something that was changed since does not go out; what is proved before it does."""
    data = renamed(session().bytes(), BOUND).replace(b"out 1", b"out x")
    body, _ = exported(opened(data))
    assert thoughts_of_body(body) == ["S0", "S1"] and body["tools"] == SHAPE["tools"]
    assert broken_as_noted(body, data) == []


def test_put_around() -> None:
    """The system's further words follow the session's own, and are a change."""
    log = opened(renamed(session().bytes(), BOUND))
    body, said = exported(log, status="Mind the gap.")
    assert thoughts_of_body(body) == [] and sum(said.values()) == 5
    assert body["system"][0] == text("h") and body["messages"][0]["role"] == "user"


def test_an_older_model() -> None:
    """System prompt and tools go along; its thinking stays as ever."""
    log = opened(renamed(session().bytes(), "claude-opus-4-6"))
    log.forget("1")
    body, said = exported(log)
    assert len(thoughts_of_body(body)) == 5 and not said and body["tools"] == SHAPE["tools"]


def test_nothing_is_noted() -> None:
    """Without noted requests there is nothing to put in: nothing is exported."""
    found = session()
    found.rows = [row for row in found.rows if row["type"] in ("user", "assistant", "attachment")]
    with pytest.raises(Usage, match="does not record the system prompt and tools"):
        exported(opened(found.bytes()))


def whole(data: bytes) -> bytes:
    """A file of ours whose system prompt and tools were emptied, with the hash that these have now."""
    found = rows(data)
    key = hashed({"system": [], "tools": []})
    return lines([row | {"shapeHash": key} if "shapeHash" in row else row for row in found])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("forgotten", [False, True])
def test_the_programs_own_files(name: str, *, forgotten: bool) -> None:
    """Sessions that Claude Code wrote: what stays was made behind the same messages, by its own hashes."""
    data = renamed(whole(raw(name)), BOUND)
    log = opened(data)
    if name == "subagent":
        return
    if forgotten:
        log.forget(str([entry.name for entry in log.entries() if entry.role == "assistant"][-1]))
    body, _ = exported(log)
    assert broken_as_noted(body, data) == []
    assert bool(thoughts_of_body(body)) == (name in ("talk", "old"))
    if thoughts_of_body(body):
        requests = [hashes for row, hashes in noted(data) if hashes]
        begun = [hash_of(one) for one in body["messages"]]
        assert any(begun[: len(hashes)] == hashes for hashes in requests)


def test_a_damaged_shape() -> None:
    """A system prompt that does not have the hash that it is kept under was not sent so."""
    found = session()
    found.rows[0]["shape"]["system"] = [text("x")]
    body, _ = exported(opened(renamed(found.bytes(), BOUND)))
    assert body["system"] == [text("x")] and thoughts_of_body(body) == []


def test_the_model_is_another() -> None:
    """The builder's own model is none that binds: the law is about those that do."""
    assert MODEL != BOUND


@pytest.mark.parametrize("seed", range(40))
def test_any_ops(seed: int) -> None:
    """Whatever ops came before, no thinking stands behind another byte than the noted requests had."""
    picked = random.Random(seed)
    data = renamed(whole(raw(picked.choice(["talk", "old"]))) if seed % 2 else session(6, ("h",) * 7).bytes(), BOUND)
    log = opened(data)
    for _ in range(picked.randint(1, 3)):
        first, more = picked.randrange(20), picked.choice([0, 0, 2])
        tried(log, Command(picked.choice(KINDS), first, more, label="a", flag=picked.random() < 0.3))
    try:
        body, _ = exported(log)
    except NothingToSend:
        return
    assert broken_as_noted(body, data) == []


@pytest.mark.parametrize("worded", [1, 6])
@pytest.mark.parametrize("more", [1, 2, 7])
def test_the_program_worded_something_anew(worded: int, more: int) -> None:
    """Older thinking that `check` proves stays, however many requests came behind the new words; the rest goes."""
    found = session()
    assert found.sent[worded]["role"] in ("system", "user")
    found.sent[worded] = found.sent[worded] | {"content": "Today's date is 2026-01-02."}
    anew = found.sent[worded]
    found.rows.append({"type": "api-request-blob", "hash": hash_of(anew), "message": anew})
    for at in range(more):
        found.say(f"and now {at}?")
        found.ask(shapeHash=found.rows[0]["shapeHash"])
        found.answer(thought(f"new {at}"), text("as before"))
    data = renamed(found.bytes(), BOUND)
    body, _ = exported(opened(data))
    assert broken_as_noted(body, data) == []
    assert thoughts_of_body(body) == ["S0", "S1", "S2", "S3", "last"] == most(data)


def most(data: bytes) -> list[str]:
    """The most thinking that fits one noted request of the newest system prompt, up to the first that does not."""
    every = list(noted(data))
    shapes = {row["id"]: row["shapeHash"] for row, _ in every}
    lists = {row["id"]: hashes for row, hashes in every}
    answers = [row for row in rows(data) if row["type"] == "assistant"]
    by = {block["signature"]: row["requestRef"] for row in answers for block in row["message"]["content"][:1]
          if "signature" in block}  # fmt: skip
    found: list[str] = []
    for row, hashes in every:
        before = [lists[made] == hashes[: len(lists[made])] for made in by.values()]
        fitting = list(by)[: before.index(False) if False in before else None]
        if row["shapeHash"] == shapes[every[-1][0]["id"]] and len(fitting) > len(found):
            found = fitting
    return found

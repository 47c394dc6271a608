"""Shortening: what is shortened, in which order, what stays of it, and that arguments stay arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.core.integrity import repair
from ctxkit.core.messages import Call, Content
from ctxkit.cut.shorten.shorten import shortened
from ctxkit.cut.trim_cuts import OLD
from tests.cli.runner import lines
from tests.cut.test_trim import opened, run, size, step
from tests.shared import shared
from tests.validators import anthropic_rules, gemini_rules, openai_rules, responses_rules

LONG = "wrote\n" * 500
CLAUDE = (
    {"role": "user", "content": "Go."},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "Now."},
        {"type": "tool_use", "id": "t1", "name": "Post", "input": {"to": "a", "content": LONG}},
        {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "b.py"}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "ok"},
        {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "text\n" * 900}]},
        {"type": "text", "text": "and go on"}]},
)  # fmt: skip


def written(*, steps: int = 40, tool: str = "Post") -> bytes:
    """Many calls, each with a long argument."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for n in range(steps):
        rows += step(n, tool, {"path": f"{n}.py", "content": f"line {n}\n" * 300, "mode": 420}, "ok")
    return lines(*rows)


def test_the_arguments_of_old_calls() -> None:
    """On request; the same keys, ids untouched, the newest ones whole."""
    log = opened(written())
    before = size(log)
    assert log.trim(int(before * 0.9), clear_inputs=True) is not None
    op = log.ledger.entries[-1].body
    assert op["ids"] == "" and set(op["reasons"].values()) == {"old input"}
    [part] = op["stubs"]["2"]
    assert (part["type"], part["id"], part["name"]) == ("tool_use", "c0", "Post")
    assert list(part["input"]) == ["path", "content", "mode"] and part["input"]["mode"] == 420
    assert "characters were cut here" in part["input"]["content"] and part["input"]["path"] == "0.py"
    assert size(log) <= before * 0.9
    kept = log.content(80).parts
    log.undo()
    assert size(log) == before and log.content(80).parts == kept


def test_not_unless_asked() -> None:
    """By the flag or the config; the newest stay whole."""
    log = opened(written())
    log.trim(size(log) * 9 // 10)
    assert log.ledger.entries[-1].body["ids"]
    log = opened(written())
    log.config.set_flags({"trim.clear_inputs": "true"})
    log.trim(size(log) * 9 // 10)
    assert not log.ledger.entries[-1].body["ids"]
    log = opened(written())
    log.trim(size(log) // 10, clear_inputs=True, exclude_tools=["Post"])
    assert "stubs" not in log.ledger.entries[-1].body


@pytest.mark.parametrize(
    ("to", "rules"),
    [
        ("openai", openai_rules),
        ("anthropic", anthropic_rules),
        ("gemini", gemini_rules),
        ("responses", responses_rules),
    ],
)
def test_every_export_of_it_is_valid(to: str, rules: Any) -> None:
    """Arguments are an object for every provider, with what was cut cut, and results answer their calls."""
    log = opened(written() + lines(*CLAUDE) + lines({"role": "user", "content": "Thanks."}) + written(steps=4))
    log.trim(size(log) - 1, clear_inputs=True, clear_at_least=10**6)
    assert {"2", "83", "84"} <= log.ledger.entries[-1].body["stubs"].keys()
    [body] = log.export(to, model="gpt-4o").values
    text = json.dumps(body)
    assert rules.problems(body) == [] and "characters were cut here" in text and LONG not in text
    contents = [log.full(entry) for entry in log.entries()]
    assert repair(contents)[0] == contents


@pytest.mark.parametrize(
    ("program", "name"),
    [("claude-code", "36-entire-image-result-961KB"), ("codex", "08-agentv-small"), ("pi", "02-large-session")],
)
def test_every_session_of_it_is_whole(program: str, name: str) -> None:
    """Written as a session of its program and read again: the same calls, with the arguments that were shortened."""
    log = opened(shared(f"transcripts/{program}/{name}.jsonl").read_bytes())
    log.trim((log.status().tokens.used or 0) - 1, clear_inputs=True, clear_at_least=10**7)
    raw = b"".join(log.session(program).pieces)
    assert b"old input:" in raw and calls_of(opened(raw)) == calls_of(log)


def calls_of(log: Log) -> list[Any]:
    parts = (part for entry in log.entries() for part in log.full(entry).parts)
    return [(part.id, part.name, part.arguments) for part in parts if isinstance(part, Call)]


def test_steps_that_are_not_plain() -> None:
    """A call without its result keeps its arguments, also where it stands twice: its program says what it is."""
    [call, result] = step(1, "Post", {"content": LONG}, "ok")
    for rows in ([call], [call, call, result]):
        log = opened(lines({"role": "user", "content": "Go."}, *rows) + written(steps=5))
        log.trim(size(log) - 1, clear_inputs=True, clear_at_least=10**6)
        assert "2" not in log.ledger.entries[-1].body["stubs"]


def test_files_being_edited_stay_whole() -> None:
    """Also where arguments are shortened, as long as anything else can go."""
    log = opened(written(steps=3, tool="Write") + written(steps=9))
    log.trim(size(log) - 1, clear_inputs=True, clear_at_least=10**6)
    assert not {str(n) for n in range(1, 8)} & log.ledger.entries[-1].body["reasons"].keys()


def test_results_beside_words_and_short_results() -> None:
    """Each by its id: what is short, or the user's words, stays as it is."""
    log = opened(lines(*CLAUDE) + written(steps=4))
    log.trim(size(log) - 300)
    assert log.ledger.entries[-1].body["reasons"] == {"3": "stale result"}
    [one, other, words] = log.full(next(entry for entry in log.entries() if entry.name == 3)).parts
    assert (one.content, words.text) == ("ok", "and go on")  # type: ignore[union-attr]
    assert "stale result" in other.content  # type: ignore[union-attr, operator]


def test_head_and_tail_stay() -> None:
    """Of every result that is shortened; one that is short is left alone."""
    log = opened(run())
    log.trim(size(log) // 2)
    stub = log.ledger.entries[-1].body["stubs"]["4"]
    assert stub.startswith("result 0 ") and stub.endswith("result 0 ") and "[stale result: " in stub
    log = opened(run(steps=40, words=10))
    log.trim(size(log) // 2)
    assert "stubs" not in log.ledger.entries[-1].body


@pytest.mark.parametrize(
    "value",
    ["x", {"a": ["y" * 399, 1, None, {"b": True}]}, [], {}, 7, None],
)
def test_short_arguments_stay(value: Any) -> None:
    """To the last character."""
    assert shortened(Content("assistant", [Call("c", "Post", value)]), lambda text: OLD.cut(text, "old input")) is None


def test_long_arguments() -> None:
    """Every text in them, wherever it is; keys, numbers and order stay."""
    edits = [{"old_string": "o" * 1000, "new_string": "n", "at": 3}]
    call = Call("c", "Post", {"path": "a.py", "edits": edits})
    [stub] = shortened(Content("assistant", [call]), lambda text: OLD.cut(text, "old input"))
    found = stub["input"]
    assert list(found) == ["path", "edits"] and list(found["edits"][0]) == ["old_string", "new_string", "at"]
    assert found["edits"][0]["old_string"] == f"{'o' * 120}\n[old input: 800 characters were cut here]\n{'o' * 80}"
    assert edits[0]["old_string"] == "o" * 1000

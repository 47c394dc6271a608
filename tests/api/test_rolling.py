"""RollingContext: one object with a session, whose state is a log."""

from __future__ import annotations

import asyncio
import copy
import json
import multiprocessing
import pickle
import random
import re
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import (
    AsyncRollingContext,
    BadConfig,
    BadMessage,
    ContextCut,
    DoesNotFit,
    Log,
    Memory,
    RollingContext,
    estimate_tokens,
)
from ctxkit.core.integrity import PairedContents
from ctxkit.core.messages import Call, Repairs, Result
from ctxkit.core.ops import Compact, Trim
from ctxkit.cut.trim import Trimming, TrimRequest
from ctxkit.errors import (
    CannotCreate,
    CtxkitError,
    ForeignLog,
    NoMark,
    NoSuchLog,
    NothingToSend,
    UnknownMessage,
    UnknownRole,
    Usage,
)
from tests.effort import examples
from tests.simulated_agent import turns
from tests.trims import RULES

Row = dict[str, Any]
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
LIMIT = {"limit": 3000, "reserve": 500, "model": "gpt-4o"}


def rolling(log: Path | None = None, **options: Any) -> RollingContext:
    """A small one."""
    return RollingContext(**{**LIMIT, **options}, log=log)


def replayed(log: Log | Path) -> list[Row]:
    """The context by the log's own replay."""
    opened = Log.open(log) if isinstance(log, Path) else log
    try:
        return list(opened.export("chat").values)
    except NothingToSend:
        return []


def sound(context: RollingContext, to: str = "") -> None:
    """What holds of every one: within budget by another count, whole pairs, as the log says, valid requests."""
    given = context.context()
    assert context.tokens <= context.budget
    assert estimate_tokens(given, "gpt-4o") <= context.budget
    assert given == replayed(context.log)
    calls = [call["id"] for row in given for call in row.get("tool_calls") or ()]
    assert sorted(calls) == sorted(row["tool_call_id"] for row in given if row["role"] == "tool")
    if any(row["role"] != "system" for row in given):
        for name in [to] if to else RULES:
            assert not list(RULES[name](context.request(name))), name  # type: ignore[arg-type]


def test_a_summary_by_hand_stays(tmp_path: Path) -> None:
    """Without a summarizer, a summary that `compact` made is shortened as the session goes on, and never leaves."""
    path = tmp_path / "chat.jsonl"
    context = rolling(path, summarize=False)
    for number, turn in enumerate(turns(60)):
        for row in turn:
            context.add(row)
        if number:
            sound(context, list(RULES)[number % len(RULES)])
        if number == 8:
            Log.open(path).compact(target=30, force=True)
        assert number < 8 or any("in short, word for word" in str(row["content"]) for row in context.context())
    assert context.status().trims > 3


@pytest.mark.covering("summarize", "file")
@pytest.mark.parametrize("summarize", [False, True, lambda rows: f"{len(rows)} rows, from {rows[0]['role']}"])
@pytest.mark.parametrize("file", [False, True])
def test_a_session(tmp_path: Path, summarize: Any, file: bool) -> None:
    """A session of many turns: never over budget, valid for four providers, the same by a replay and by a fresh one."""
    path = tmp_path / "chat.jsonl" if file else None
    cuts: list[ContextCut] = []
    context = rolling(path, summarize=summarize, on_trim=cuts.append, on_compact=cuts.append)
    for number, turn in enumerate(turns(60)):
        for row in turn:
            context.add(row)
        if number:
            sound(context, list(RULES)[number % len(RULES)])
    assert len(cuts) > 3 and {cut.kind for cut in cuts} == {"compact" if summarize else "trim"}
    assert all(cut.after <= context.target * context.budget < context.budget < cut.before for cut in cuts)
    assert context.status().of == len(context.log.messages) > 2 * context.status().messages
    if path is not None:
        assert replayed(path) == context.context() == RollingContext.load(path, **LIMIT).context()
        assert Log.open(path).check() == []


def test_only_one_summary_runs() -> None:
    """There is one summary at a time; it stands for all that left, and the summarizer got the one before it."""
    asked: list[list[Row]] = []

    def told(rows: list[Row]) -> str:
        asked.append(rows)
        return f"summary {len(asked)}"

    context = rolling(summarize=told)
    for turn in turns(80):
        for row in turn:
            context.add(row)
        context.context()
    texts = [row["content"] for row in context.context() if str(row["content"]).startswith("summary ")]
    assert texts == [f"summary {len(asked)}"] and len(asked) > 3
    assert all(rows[0]["content"] == f"summary {n}" for n, rows in enumerate(asked[1:], start=1))
    read = [row["tool_call_id"] for rows in asked for row in rows if row["role"] == "tool"]
    assert len(read) == len(set(read))  # each message is read once
    shown = [row["tool_call_id"] for row in context.context() if row["role"] == "tool"]
    assert len(shown) + len(read) == sum(row["role"] == "tool" for turn in turns(80) for row in turn)


@pytest.mark.parametrize("bad", [lambda rows: "", lambda rows: 1 / 0, lambda rows: None])
def test_a_summarizer_that_fails(bad: Any) -> None:
    """Rules write the summary then, and the cut and its op say why."""
    cuts: list[ContextCut] = []
    context = rolling(summarize=bad, on_compact=cuts.append)
    for turn in turns(30):
        for row in turn:
            context.add(row)
    context.context()
    [op] = [one.op for one in context.log.ledger.entries if isinstance(one.op, Compact)]
    assert cuts[0].fallback and op.fallback == cuts[0].fallback and op.strategy == "extract"
    assert cuts[0].summary and cuts[0].summary.startswith("[messages")


def test_a_summary_that_is_too_long() -> None:
    """It is cut to its room: never over budget."""
    context = rolling(summarize=lambda rows: "very long " * 10_000)
    for turn in turns(40):
        for row in turn:
            context.add(row)
        context.context()
        assert context.tokens <= context.budget
    assert str(context.status().summary).endswith(" […]")


def test_a_summarizer_that_is_async() -> None:
    """The plain object runs it to its end; the async one awaits it, and two tasks make a cut once."""

    async def told(rows: list[Row]) -> str:
        await asyncio.sleep(0)
        return f"{len(rows)} rows"

    def fill(context: Any) -> None:
        for turn in turns(40):
            for row in turn:
                context.add(row)

    plain = rolling(summarize=told)
    fill(plain)
    plain.context()

    async def both() -> tuple[list[Row], list[Row], Row, int]:
        context = AsyncRollingContext(**LIMIT, summarize=told)
        fill(context)
        one, other = await asyncio.gather(context.context(), context.context())
        return one, other, await context.request("anthropic"), context.status().compacts

    one, other, body, cuts = asyncio.run(both())
    assert [row["content"] for row in one] == [row["content"] for row in plain.context()]
    assert one == other and cuts == 1 and not RULES["anthropic"](body)


def test_a_callback_that_is_async() -> None:
    """It is awaited after the cut, when it may ask for the context; the plain object runs it, if no loop does."""
    seen: list[int] = []

    async def asks() -> None:
        context = AsyncRollingContext(**LIMIT)

        async def tell(cut: ContextCut) -> None:
            seen.append(len(await context.context()) and cut.after)

        context.on_trim = tell
        for turn in turns(40):
            for row in turn:
                context.add(row)
        await context.context()
        assert seen == [context.tokens]

    asyncio.run(asyncio.wait_for(asks(), 60))

    async def count(cut: ContextCut) -> None:
        seen.append(cut.after)

    plain = rolling(on_trim=count)
    for turn in turns(40):
        for row in turn:
            plain.add(row)
    plain.context()
    assert seen[1:] == [plain.tokens]

    async def inside() -> None:
        with pytest.raises(Usage, match="running event loop"):
            for turn in turns(40):
                for row in turn:
                    plain.add(row)
            plain.context()
        assert plain.tokens <= plain.budget

    asyncio.run(inside())


def test_an_op_while_the_summarizer_is_asked() -> None:
    """What the program does meanwhile counts: the cut is decided again."""
    contexts: list[RollingContext] = []

    def told(rows: list[Row]) -> str:
        if len(contexts[0].log.ledger.entries) == 0:
            contexts[0].forget("2-3")
        return "told"

    contexts.append(rolling(summarize=told))
    for turn in turns(40):
        for row in turn:
            contexts[0].add(row)
    sound(contexts[0])
    assert [one.name for one in contexts[0].log.ledger.entries] == ["forget", "compact"]


SHAPES: dict[str, list[Any]] = {
    "chat": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        {"role": "assistant", "content": "done"},
    ],
    "anthropic": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "seen"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": "seen"}}]},
        {"role": "model", "parts": [{"text": "done"}]},
    ],
    "responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ],
}  # fmt: skip


def said(context: RollingContext) -> list[tuple[str, ...]]:
    """The kinds and words of what the context has, whoever made it."""
    contents = [context.log.content(n) for n in range(1, len(context.log.messages) + 1)]
    found = []
    for content in PairedContents(contents).paired(Repairs()):
        for part in content.parts:
            words = (part.name, str(part.arguments).replace(" ", "")) if isinstance(part, Call) else ("",)
            text = str(part.content) if isinstance(part, Result) else str(getattr(part, "text", ""))
            found.append((type(part).__name__, *words, text))
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_any_shape(shape: str) -> None:
    """Messages of each provider are the same conversation, and go to each of them."""
    context, other = rolling(), rolling()
    for message in SHAPES[shape]:
        context.add(message)
    for message in SHAPES["chat"]:
        other.add(message)
    kinds = [kind for kind, *_ in said(context)]
    assert kinds == ["Text", "Call", "Result", "Text"] == [kind for kind, *_ in said(other)]
    assert [one[-1] for one in said(context)] == ["q", "", "seen", "done"]
    for to, rules in RULES.items():
        assert not list(rules(context.request(to)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("response", "request_"),
    [
        ({"choices": [{"message": {"role": "assistant", "content": "x"}}], "model": "m",
          "usage": {"prompt_tokens": 900, "completion_tokens": 4}}, 900),
        ({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}], "model": "m",
          "usage": {"input_tokens": 100, "cache_read_input_tokens": 800, "output_tokens": 4}}, 900),
        ({"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}],
          "usage": {"input_tokens": 900, "output_tokens": 4, "total_tokens": 904}, "model": "m"}, 900),
        ({"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}}], "modelVersion": "m",
          "usageMetadata": {"promptTokenCount": 900, "totalTokenCount": 904}}, 900),
    ],
)  # fmt: skip
def test_a_response(response: Row, request_: int) -> None:
    """What a provider counted beyond our own count is part of the size from then on; the row keeps usage and model."""
    context = rolling()
    context.add({"role": "user", "content": "q"})
    before = len(context.context()) and context.tokens
    n = context.add_response(response)
    row = json.loads(
        context.log.opening.source.read(context.log.messages[n - 1].offset, context.log.messages[n - 1].size)
    )
    assert row["role"] == "assistant" and row["model"] == "gpt-4o" and row["meta"]["model"] == "m"
    assert row["meta"]["usage"]
    reply = context.status()
    assert reply.beside == request_ - before
    assert context.tokens == estimate_tokens(context.context(), "gpt-4o") + request_ - before


def test_the_budget_counts_what_the_provider_counted() -> None:
    """A context that the provider counts larger is cut earlier."""
    context = rolling()
    rows = [row for turn in turns(12) for row in turn]
    for row in rows:
        context.add(row)
    size = estimate_tokens(context.context(), "gpt-4o")
    assert context.status().trims == 0
    usage = {"prompt_tokens": size + 2000, "completion_tokens": 1}
    context.add_response({"role": "assistant", "content": "x", "usage": usage})
    assert estimate_tokens(context.context(), "gpt-4o") + 2000 <= context.budget and context.status().trims == 1


class Words:
    """A counter of a program's own."""

    name = "words"

    def count(self, text: str) -> int:
        """Words."""
        return len(text.split())


@pytest.mark.parametrize("counter", [Words(), lambda text: len(text.split())])
def test_an_own_counter(counter: Any) -> None:
    """A counter decides what fits: an object with `count`, or a function; the functions take the same."""
    context = rolling(counter=counter, limit=600, reserve=100)
    for turn in turns(40):
        for row in turn:
            context.add(row)
        context.context()
        assert context.tokens <= 500
    given = context.context()
    assert context.tokens == estimate_tokens(given, counter=counter)
    assert context.status().counter == estimate_tokens(given, counter=counter).counter
    assert context.status().trims > 2


@pytest.mark.parametrize("counter", [3, object(), lambda text: -1, lambda text: "x"])
def test_a_counter_that_is_none(counter: Any) -> None:
    """What does not count is refused, with what it gave."""
    with pytest.raises(Usage, match="counter"):
        context = rolling(counter=counter)
        context.add({"role": "user", "content": "q"})
        context.context()


@pytest.mark.parametrize("message", [
    {"role": "assistant", "content": ""}, {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": ""}, {"role": "user", "content": [PICTURE]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
])  # fmt: skip
def test_messages_without_words(message: Row) -> None:
    """A model's empty answer is what it is; calls, results and pictures say something."""
    assert rolling().add(message) == 1


def test_what_never_leaves() -> None:
    """System prompt, protected messages and the current task stay; if they are too large, the error names them."""
    context = rolling(protect=lambda row: "keep me" in str(row["content"]))
    context.add({"role": "system", "content": "system"})
    context.add({"role": "user", "content": "first"})
    kept = context.add({"role": "user", "content": "keep me"})
    for turn in turns(60):
        for row in turn[-2:]:
            context.add(row)
        context.context()
    context.add({"role": "user", "content": "the task"})
    words = [row["content"] for row in context.context()]
    assert "system" in words and "keep me" in words and words[-1] == "the task"
    assert context.log.state().protected(kept)
    context.add({"role": "user", "content": "long task " * 4000})
    before = context.log.opening.source.size
    with pytest.raises(DoesNotFit, match=r"trim never drops .*the current task \(\d,\d+ tokens\)"):
        context.context()
    assert context.log.opening.source.now().size == before  # type: ignore[attr-defined]


def test_protect_by_number_and_predicate() -> None:
    """Numbers, ranges, and a function for what is there and what comes."""
    context = rolling()
    for turn in turns(3):
        for row in turn:
            context.add(row)
    context.protect(3)
    context.protect("5-6")
    context.protect(lambda row: row["role"] == "user")
    n = context.add({"role": "user", "content": "later"})
    state = context.log.state()
    assert all(map(state.protected, (3, 4, 5, 6, n)))  # a call and its result together
    assert context.context() == replayed(context.log)


def test_marks_forget_recall_undo() -> None:
    """The commands of a log, on the object."""
    context = rolling()
    for text in ("one apple", "two pears", "three plums"):
        context.add({"role": "user", "content": text})
    context.mark("here")
    context.add({"role": "user", "content": "four apples more"})
    context.rewind("here")
    context.forget("2")
    words = [row["content"] for row in context.context()]
    assert words == ["one apple", "three plums"] and context.context() == replayed(context.log)
    found = context.recall("pears")
    assert [(hit.number, hit.in_context, hit.text) for hit in found] == [(2, False, "two pears")]
    assert context.recall("nothing like it") == []
    context.recall("pears", apply=True)
    assert [row["content"] for row in context.context()] == ["one apple", "two pears", "three plums"]
    context.undo()
    assert [row["content"] for row in context.context()] == words
    with pytest.raises(NoMark):
        context.rewind("nowhere")


def test_recall_after_a_cut() -> None:
    """What a cut took out is found, and comes back."""
    context = rolling()
    context.add({"role": "user", "content": "begin"})
    context.add({"role": "assistant", "content": "the password is xyzzy"})
    for turn in turns(60):
        for row in turn[-2:]:
            context.add(row)
        context.context()
    [hit] = context.recall("xyzzy")
    assert hit.number == 2 and not hit.in_context
    context.recall("xyzzy", apply=True)
    assert any(row["content"] == "the password is xyzzy" for row in replayed(context.log))
    sound(context)


@pytest.mark.parametrize("summarize", [True, lambda rows: "told"])
def test_a_message_beside_its_summary(summarize: Any) -> None:
    """A message that comes back beside the summary that stands for it stays, when the next summary is written."""
    context = rolling(summarize=summarize, limit=1500)
    for number, turn in enumerate(turns(60)):
        for row in turn:
            context.add(row)
        if number > 1:
            sound(context, "openai")
        if number in (20, 40):
            [op] = [one.op for one in context.log.ledger.entries if isinstance(one.op, Compact)][-1:]
            back = op.ids.split(",")[-1].split("-")[-1]
            context.log.recall(back)
            context.protect(back)
    assert context.status().compacts > 3


def test_files() -> None:
    """Files of the context: being edited, read, superseded."""
    context = rolling()
    context.add({"role": "user", "content": "go"})
    for k, (tool, path) in enumerate([("Read", "/a.py"), ("Read", "/b.py"), ("Edit", "/a.py"), ("Read", "/a.py")]):
        arguments = json.dumps(
            {"file_path": path, "old_string": "x", "new_string": "y"} if tool == "Edit" else {"file_path": path}
        )
        call = {"id": f"c{k}", "type": "function", "function": {"name": tool, "arguments": arguments}}
        context.add({"role": "assistant", "content": "", "tool_calls": [call]})
        context.add({"role": "tool", "tool_call_id": f"c{k}", "content": "text"})
    a, b = context.files()
    assert (a.path, a.editing, a.read, a.written, a.superseded) == ("/a.py", True, (2, 8), (6,), (2,))
    assert (b.path, b.editing, b.read, b.written, b.superseded) == ("/b.py", False, (4,), (), ())


def test_save_and_load(tmp_path: Path) -> None:
    """A context in memory becomes a file that every command takes; a file is not overwritten."""
    context = rolling()
    for turn in turns(40):
        for row in turn:
            context.add(row)
        context.context()
    path = tmp_path / "saved.jsonl"
    context.save(path)
    assert RollingContext.load(path, **LIMIT).context() == context.context() == replayed(path)
    assert Log.open(path).check() == []
    with pytest.raises(CannotCreate):
        context.save(path)
    with pytest.raises(NoSuchLog):
        RollingContext.load(tmp_path / "none.jsonl")


def test_commands_meanwhile(tmp_path: Path) -> None:
    """What another program does with the log is followed: messages, ops, windows, an edit."""
    path = tmp_path / "chat.jsonl"
    context = rolling(path)
    for turn in turns(10):
        for row in turn:
            context.add(row)
    context.context()
    other = Log.open(path)
    other.add_message({"role": "user", "content": "from elsewhere"})
    assert context.context()[-1]["content"] == "from elsewhere" and context.context() == replayed(path)
    steps: list[Callable[[Log], object]] = [
        lambda log: log.forget("2-4"), lambda log: log.protect("7"), lambda log: log.undo(),
        lambda log: log.compact("5-12", force=True, strategy="truncate"), lambda log: log.set_window(3600),
        lambda log: log.edit(log.draft().replace("Task", "Chore")), lambda log: log.clear(),
    ]  # fmt: skip
    for number, step in enumerate(steps):
        step(Log.open(path))
        context.add({"role": "user", "content": f"after {number}"})
        assert context.context() == replayed(path), number
        for row in list(turns(4, seed=number))[-1]:
            context.add(row)
        sound(context)


def _write(path: Path, name: str, count: int) -> None:
    context = rolling(path)
    for number in range(count):
        context.add({"role": "user", "content": f"{name} {number} " + "word " * 60})
        assert estimate_tokens(context.context(), "gpt-4o") <= context.budget


def test_two_processes(tmp_path: Path) -> None:
    """Two contexts on one log: no message is lost, no op is refused, each is within budget, both see the same."""
    path = tmp_path / "chat.jsonl"
    rolling(path)
    spawn = multiprocessing.get_context("fork")
    running = [spawn.Process(target=_write, args=(path, name, 40)) for name in ("ada", "bob")]
    for one in running:
        one.start()
    for one in running:
        one.join(60)
    assert [one.exitcode for one in running] == [0, 0]
    log = Log.open(path)
    words = {" ".join(str(json.loads(line).get("content")).split()[:2]) for line in path.read_text().splitlines()}
    assert words >= {f"{name} {number}" for name in ("ada", "bob") for number in range(40)}
    assert log.check() == [] and any(isinstance(one.op, Trim) for one in log.ledger.entries)
    assert rolling(path).context() == replayed(path)


ACTIONS = st.lists(
    st.sampled_from(
        ["turn", "turn", "turn", "turn", "forget", "protect", "mark", "rewind", "undo", "compact", "recall"]
    ),
    max_size=30,
)


@settings(max_examples=examples(150), deadline=None)
@given(ACTIONS, st.integers(0, 5), st.booleans(), st.sampled_from([1500, 4000]))
def test_laws(actions: list[str], seed: int, summarize: bool, limit: int) -> None:
    """Whatever is done with it: within budget, pairs whole, requests valid, the same as the log's replay."""
    drawn, ahead = random.Random(seed), turns(10_000, seed=seed)
    context = rolling(limit=limit, summarize=summarize)
    other: Iterator[list[Row]] = ahead
    for row in next(other) + next(other):
        context.add(row)
    for action in actions:
        n = drawn.randrange(1, len(context.log.messages) + 1)
        try:
            match action:
                case "turn":
                    for row in next(other):
                        context.add(row)
                case "forget":
                    context.forget(f"{n}-{n + 3}")
                case "protect":
                    context.protect(n)
                case "mark":
                    context.mark()
                case "rewind":
                    context.rewind()
                case "undo":
                    context.undo()
                case "compact":
                    context.log.compact(f"{n}-{n + 20}", force=True)
                case "recall":
                    context.recall("module", apply=True)
        except CtxkitError:
            pass  # it was refused, and nothing was changed
        try:
            sound(context, drawn.choice(list(RULES)))
        except DoesNotFit:
            assert replayed(context.log)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("protect", [(), (3,)])
@pytest.mark.parametrize("target", [100, 60])
def test_cuts_as_the_command(target: int, protect: tuple[int, ...]) -> None:
    """A cut takes what `ctxkit trim` would take of the same log, with earlier cuts in it."""
    context = rolling(target=target)
    if protect:
        context.add({"role": "system", "content": "system"})
        context.add({"role": "user", "content": "begin"})
        context.add({"role": "user", "content": "keep this"})
        context.protect(protect)
    seen = 0
    for turn in turns(60):
        for row in turn:
            context.add(row)
        if context.tokens <= context.budget:
            continue
        found = Trimming(context.log, TrimRequest(int(target / 100 * context.budget), assembly=True)).plan()
        context.context()
        [*_, newest] = context.log.ledger.entries
        assert isinstance(newest.op, Trim)
        state = context.log.state()
        assert newest.op.ids == str(type(state.shown()).of(found.dropped))
        assert newest.op.stubs == {str(name): stub for name, stub in found.stubs.items()}
        assert newest.op.reasons == {str(name): reason for name, reason in found.reasons.items()}
        seen += 1
    assert seen > 3


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: RollingContext(1000, reserve=2000, model="gpt-4o"), BadConfig),
        (lambda: RollingContext().context(), BadConfig),
        (lambda: RollingContext(-3), Usage),
        (lambda: rolling(target=0), Usage),
        (lambda: rolling(counter="nonsense"), Usage),
        (lambda: rolling(summarize="rules"), Usage),
        (lambda: rolling(on_trim="print"), Usage),
        (lambda: rolling(on_compact=3), Usage),
        (lambda: rolling(5), Usage),  # type: ignore[arg-type]
        (lambda: rolling(memory=5), Usage),
        (lambda: rolling().add({"text": "x"}), BadMessage),
        (lambda: rolling().add({"type": "message"}), BadMessage),
        (lambda: rolling().mark(5), Usage),  # type: ignore[arg-type]
        (lambda: rolling().add("x"), BadMessage),
        (lambda: rolling().add({"role": "user", "content": {1, 2}}), BadMessage),
        (lambda: rolling().add({"ctxkit": "clear"}), BadMessage),
        (lambda: rolling().add({"role": "assitant", "content": "x"}), UnknownRole),
        (lambda: rolling().log.add_message({"role": "assitant", "content": "x"}), UnknownRole),
        (lambda: rolling().add({"role": "user", "content": ""}), Usage),
        (lambda: rolling().add({"role": "user", "content": [{"type": "text", "text": " "}]}), Usage),
        (lambda: rolling().log.add_message({"role": "system", "content": None}), Usage),
        (lambda: rolling().add_response({"id": "x"}), BadMessage),
        (lambda: rolling().request("bedrock"), CtxkitError),  # type: ignore[arg-type]
    ],
)
def test_wrong(wrong: Callable[[], object], error: type[CtxkitError]) -> None:
    """What cannot be done is an error of ctxkit's that says so."""
    with pytest.raises(error) as caught:
        wrong()
    assert error is not BadMessage or caught.value.message.endswith("nothing was added")


def test_a_foreign_log(tmp_path: Path) -> None:
    """A log that another program owns is not written to."""
    source = Path(__file__).resolve().parents[2] / "fixtures/guide/session.jsonl"
    with pytest.raises(ForeignLog):
        rolling(source)


def test_the_signature_of_gemini() -> None:
    """A call keeps what Gemini signed it with: without it, Gemini thinks anew."""
    context = rolling()
    context.add({"role": "user", "parts": [{"text": "q"}]})
    call = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "QUJD"}
    context.add_response({"candidates": [{"content": {"role": "model", "parts": [call]}}]})
    context.add({"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"result": "seen"}}}]})
    [part] = context.request("gemini")["contents"][1]["parts"]
    assert part["thoughtSignature"] == "QUJD"


@pytest.mark.parametrize("behind", [[], [{"type": "web_search_call", "id": "w", "status": "completed"}]])
def test_a_custom_call_stays_one(behind: list[Row]) -> None:
    """Its input is a text, whatever stands behind it: as a function's, it would be wrapped in JSON."""
    context = rolling()
    context.add({"role": "user", "content": "q"})
    call = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": '{"a":  1}'}
    context.add_response({"output": [{"type": "message", "role": "assistant", "content": "a"}, call, *behind]})
    context.add({"type": "custom_tool_call_output", "call_id": "c", "output": "done"})
    body = context.request("responses")
    assert [one for one in body["input"] if one.get("name")] == [call] and not list(RULES["responses"](body))
    assert [one["type"] for one in body["input"]].count("custom_tool_call_output") == 1
    for to in ("openai", "anthropic", "gemini"):
        assert not list(RULES[to](context.request(to)))  # type: ignore[arg-type]


def test_rows_of_the_caller_are_its_own() -> None:
    """What it does to rows that it gave or got changes nothing here; a call without an id gets one each time."""
    context = rolling()
    context.add({"role": "user", "content": "hi"})
    context.context()[0]["content"] = "word " * 5000
    assert context.context()[0]["content"] == "hi"
    asks = {"role": "assistant", "content": None, "tool_calls": [
        {"type": "function", "function": {"name": "a", "arguments": "{}"}}]}  # fmt: skip
    for result in ("r1", "r2"):
        context.add(asks)
        context.add({"role": "tool", "name": "a", "content": result})
    assert "id" not in asks["tool_calls"][0]
    sent = [row for row in context.request("openai")["messages"] if row["role"] == "tool"]
    assert [row["content"] for row in sent] == ["r1", "r2"] and len({row["tool_call_id"] for row in sent}) == 2


def test_no_room_for_a_summary() -> None:
    """Where what must stay leaves no room for one, messages leave without it; it is no error."""
    for summarize in (False, True, lambda request: "short"):
        context = RollingContext(1200, reserve=200, model="gpt-4o", summarize=summarize)
        context.add({"role": "user", "content": "start"})
        for n in range(6):
            context.add({"role": "user", "content": f"q{n} " + "alpha " * 40})
            context.add({"role": "assistant", "content": f"ok{n} " + "beta " * 40})
        context.add({"role": "user", "content": "x " * 880})
        assert context.context() and context.tokens <= context.budget


def test_an_async_summarizer_inside_an_event_loop() -> None:
    """It cannot be awaited there: an error, and no summary by rules in its place; nothing is changed."""

    async def words(rows: list[Row]) -> str:
        return "short"

    async def run() -> None:
        context = rolling(summarize=words)
        for turn in turns(40):
            for row in turn:
                context.add(row)
        with pytest.raises(Usage, match="running event loop") as raised:
            context.context()
        assert raised.value.hint == "AsyncRollingContext" and context.log.state().count == len(
            context.log.state().shown()
        )

    asyncio.run(run())


def test_no_file_of_a_context_that_is_refused(tmp_path: Path) -> None:
    """A reserve that takes all, also the config's own, and other wrong arguments are seen before the log is created."""
    log = tmp_path / "agent.jsonl"
    for wrong in ({"limit": 3000}, {"limit": 500, "reserve": 500}, {"limit": 9000, "target": 0}, {"limit": -1}):
        with pytest.raises((BadConfig, Usage), match="nothing was opened"):
            RollingContext(log=log, **wrong)  # type: ignore[arg-type]
        assert not log.exists()
    with pytest.raises(BadConfig, match=r"the reserve of 4,096 tokens takes all of the limit of 3,000"):
        RollingContext(3000)
    RollingContext(3000, reserve=500, log=log)
    (tmp_path / "agent.jsonl.ctxkit").mkdir(exist_ok=True)
    (tmp_path / "agent.jsonl.ctxkit/config.toml").write_text("reserve = 500\n")
    assert RollingContext(3000, log=log).budget == 2500  # a log that exists has a config of its own


def test_a_predicate_that_fails() -> None:
    """Nothing is added, so the caller may try again."""

    def fails(row: Row) -> bool:
        raise RuntimeError("no")

    context = rolling(protect=fails)
    with pytest.raises(RuntimeError):
        context.add({"role": "user", "content": "hi"})
    assert len(context.log.messages) == 0


def test_a_predicate_that_changes_its_row() -> None:
    """It has a row of its own: what was said is what is added."""

    def changes(row: Row) -> bool:
        row["content"] = "another"
        return True

    context = rolling(protect=changes)
    context.add({"role": "user", "content": "hi"})
    assert context.context()[0]["content"] == "hi"


class FixedNotes:
    """Notes of a project, as an object of the caller's own."""

    def __init__(self, *notes: str) -> None:
        self.notes = list(notes)

    def text(self, max_tokens: int, *, about: str = "", count: Callable[[str], int]) -> str:
        """As many as fit, those with the topic first."""
        found = ""
        for note in sorted(self.notes, key=lambda one: about not in one):
            if count(f"{found}\n{note}".strip()) <= max_tokens:
                found = f"{found}\n{note}".strip()
        return found


def system_of(body: Row) -> str:
    """The system's words of a request, of whatever provider."""
    keys = ("system", "systemInstruction", "instructions")
    leading = [
        row for row in body.get("messages") or body.get("input") or () if row.get("role") in ("system", "developer")
    ]
    return json.dumps([[body.get(key) for key in keys], leading])


def projects_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two notes."""
    monkeypatch.setenv("HOME", str(folder))
    (folder / "shop").mkdir()
    memory = Memory(folder / "shop")
    memory.add("the port is 8080")
    memory.add("use PostgreSQL 16", "decision")
    return folder / "shop"


@pytest.mark.parametrize("made", ["folder", "memory"])
def test_memory_is_before_the_messages(made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, as the user's right before the conversation, in the context and in requests, as `export --memory` has it;
    it is counted. It is never the system's: notes are words of other sessions.
    """
    shop = projects_memory(tmp_path, monkeypatch)
    log = tmp_path / "a.jsonl"
    context = rolling(log, memory=shop if made == "folder" else Memory(shop))
    bare = rolling()
    for one in ({"role": "system", "content": "be brief"}, {"role": "user", "content": "go"}):
        context.add(one)
        bare.add(one)
    system, first, *rest = context.context()
    assert first["role"] == "user" and "the port is 8080" in first["content"] and [system, *rest] == replayed(log)
    assert first["content"] == context.notes == Memory(shop).text(model="gpt-4o")
    assert context.tokens - bare.tokens == estimate_tokens([first], "gpt-4o")
    assert context.status().notes > 0 == bare.status().notes
    for to in RULES:
        body = json.dumps(context.request(to))  # type: ignore[arg-type]
        assert body.count("the port is 8080") == 1 and "8080" not in system_of(context.request(to))  # type: ignore[arg-type]
        assert not list(RULES[to](context.request(to)))  # type: ignore[arg-type]
    monkeypatch.chdir(shop)
    exported = Log.open(log)
    exported.memory = Memory(shop).text(model="gpt-4o")
    assert context.request("anthropic") == {**next(iter(exported.export("anthropic", model="gpt-4o").values))}


def test_memory_changes_by_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is noted meanwhile comes with `refresh_memory`, and not before; a topic chooses what is first."""
    shop = projects_memory(tmp_path, monkeypatch)
    context = rolling(memory=shop)
    context.add({"role": "user", "content": "go"})
    before = context.context()
    Memory(shop).add("never deploy on Friday")
    assert context.context() == before
    assert "Friday" in context.refresh_memory() and "Friday" in context.context()[0]["content"]
    assert "- by hand: use PostgreSQL 16" in context.refresh_memory("PostgreSQL").splitlines()
    assert "8080" not in context.notes and rolling().refresh_memory() == ""


def test_memory_stays_with_a_saved_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log has none of the notes; with the same memory the loaded context is the same."""
    shop = projects_memory(tmp_path, monkeypatch)
    context = rolling(memory=shop)
    context.add({"role": "user", "content": "go"})
    context.save(tmp_path / "saved.jsonl")
    assert "8080" not in (tmp_path / "saved.jsonl").read_text()
    assert RollingContext.load(tmp_path / "saved.jsonl", memory=shop, **LIMIT).context() == context.context()


def test_memory_never_exceeds_the_budget() -> None:
    """In a long session with many notes, which are a quarter of the budget at most, and `memory_tokens`."""
    notes = FixedNotes(*(f"note {n}: the value of key {n} is {n * n}" for n in range(300)))
    context = rolling(memory=notes, memory_tokens=10_000, summarize=True)
    assert 0 < context.status().notes <= 2500 // 4
    assert 0 < rolling(memory=notes, memory_tokens=50).status().notes <= 50
    for number, turn in enumerate(turns(60)):
        for row in turn:
            context.add(row)
        if number:
            given = context.context()
            assert given.pop(1) == {"role": "user", "content": context.notes} and context.notes
            assert estimate_tokens([*given, {"role": "user", "content": context.notes}], "gpt-4o") <= context.budget
            assert estimate_tokens(given, "gpt-4o") <= context.budget >= context.tokens
            assert given == replayed(context.log)
        if number % 20 == 19:
            notes.notes = notes.notes[::-1]
            context.refresh_memory()
    assert context.status().compacts


def test_memory_makes_room_for_what_never_leaves() -> None:
    """Notes are left out before a request is refused; a later refresh brings them back."""
    context = rolling(memory=FixedNotes(*(f"note {n} of the project" for n in range(200))))
    context.add({"role": "user", "content": "word " * 2300})
    assert context.context()[0]["role"] == "user" and context.notes == "" and context.status().notes == 0
    context.clear()
    context.add({"role": "user", "content": "go"})
    assert context.refresh_memory() and len(context.context()) == 2
    context.add({"role": "user", "content": "word " * 5000})
    context.protect(2)
    context.protect(3)
    with pytest.raises(DoesNotFit):
        context.context()


def test_memory_of_async() -> None:
    """The same for programs with an event loop."""
    context = AsyncRollingContext(1000, reserve=100, model="gpt-4o", memory=FixedNotes("the port is 8080"))
    context.add({"role": "user", "content": "go"})
    assert asyncio.run(context.context())[0] == {"role": "user", "content": "the port is 8080"}
    assert "8080" in str(asyncio.run(context.request("gemini"))["contents"])


def test_threads_are_counted_in_every_turn() -> None:
    """The status of the threads, which grows with them, is part of the budget of each request."""
    context = rolling()
    for n in range(80):
        thread = f"thread {n} with a long name, so that its line has some tokens"
        context.add({"role": "user", "content": f"question {n} " * 4, "thread": thread})
        context.add({"role": "assistant", "content": f"answer {n}", "thread": thread})
        if n % 5 == 4:
            sent = context.request("openai")["messages"]
            assert estimate_tokens(sent, "gpt-4o") <= context.budget
    assert "Threads:" in str(sent)


def test_texts_around_are_read_once_per_request(tmp_path: Path) -> None:
    """A file for the status that grows meanwhile is counted as it is sent."""
    context = rolling(tmp_path / "a.jsonl")
    (tmp_path / "now.txt").write_text("short")
    context.log.config = context.log.config.given({"assembly.status": "now.txt"})
    context.add({"role": "user", "content": "go"})
    context = RollingContext(log=context.log)
    context.request("openai")
    (tmp_path / "now.txt").write_text("word " * 1500)
    context.add({"role": "assistant", "content": "x " * 600})
    context.add({"role": "user", "content": "and " * 500})
    sent = context.request("openai")["messages"]
    assert "word word" in str(sent) and estimate_tokens(sent, "gpt-4o") <= context.budget


def test_what_a_provider_counted_more_is_loaded_again(tmp_path: Path) -> None:
    """A loaded context, and another object on the log, know it as the first does; a new response replaces it."""
    context, other = rolling(tmp_path / "a.jsonl"), rolling(tmp_path / "a.jsonl")
    context.add({"role": "user", "content": "go"})
    context.request("openai")
    reply = {"choices": [{"message": {"role": "assistant", "content": "Done."}}]}
    context.add_response(reply | {"usage": {"prompt_tokens": 500, "completion_tokens": 3}})
    assert context.tokens > 490 and context.tokens == other.tokens
    loaded = RollingContext.load(tmp_path / "a.jsonl", **LIMIT)
    assert loaded.tokens == context.tokens
    loaded.add({"role": "user", "content": "more"})
    before = loaded.tokens
    loaded.add_response(reply | {"usage": {"prompt_tokens": before + 100, "completion_tokens": 3}})
    assert loaded.tokens == before + 100 + estimate_tokens([reply["choices"][0]["message"]], "gpt-4o")
    context.save(tmp_path / "b.jsonl")
    assert RollingContext.load(tmp_path / "b.jsonl", **LIMIT).tokens == loaded.tokens


TOOL = {"type": "function", "function": {"name": "look", "description": "Looks at it. " * 9, "parameters": {}}}


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 700, "completion_tokens": 3}])
@pytest.mark.parametrize(
    ("model", "answered", "tools"),
    [("gpt-4o", "same", [TOOL]), ("gpt-4o", "our-deployment", None), ("claude-sonnet-4-5", "", [TOOL]),
     ("no-such-model", "our-deployment", [TOOL]), ("", "our-deployment", None), ("", "gpt-4o", [TOOL])],
)  # fmt: skip
def test_the_log_says_the_same_figure(
    tmp_path: Path, model: str, answered: str, usage: dict[str, int] | None, tools: list[dict[str, Any]] | None
) -> None:
    """What the object counts for its model, its tools and its notes, with what a provider counted more, is what
    `status` of the log says: at once, after a cut, and by another object.
    """
    notes = FixedNotes("Deploy from main. " * 5) if tools else None
    context = RollingContext(1500, reserve=300, log=tmp_path / "a.jsonl", model=model, tools=tools, memory=notes)
    for n in range(8):
        context.add({"role": "user", "content": f"question {n} " + "word " * 150})
        context.request("openai")
        reply: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": "thing " * 30}}]}
        reply |= {"model": model if answered == "same" else answered} if answered else {}
        context.add_response(reply | ({"usage": usage} if usage and n > 3 else {}))
        if n in (0, 4, 7):
            assert Log.open(tmp_path / "a.jsonl", env={}).status().tokens.used == context.tokens
    assert context.status().trims + context.status().compacts


@pytest.mark.parametrize(
    "wrong", [10**30, pytest.param(10**5000, id="huge"), float("inf"), float("nan"), -1, 1.5, "1", None, True]
)
def test_a_counter_that_gives_no_count(wrong: Any) -> None:
    """One error, which names the counter, and says that nothing was counted."""
    context = rolling(counter=lambda text: wrong)
    context.add({"role": "user", "content": "go"})
    with pytest.raises(Usage, match="nothing was counted"):
        context.context()
    with pytest.raises(Usage, match="nothing was counted"):
        estimate_tokens([{"role": "user", "content": "go"}], counter=lambda text: wrong)


def test_names_that_no_file_has(tmp_path: Path) -> None:
    """Nothing is opened."""
    for name in ("a\0b", ""):
        for opened in (lambda one: rolling(one), lambda one: RollingContext.load(one, 10), rolling().save):
            with pytest.raises(Usage, match="not the name of a file"):
                opened(name)
        with pytest.raises(Usage, match="not the name of a file"):
            rolling(memory=name)
    with pytest.raises(NoSuchLog, match="not the name of a file"):
        Log.open("a\0b")
    with pytest.raises(Usage, match="memory=5"):
        rolling(memory=5)


@pytest.mark.parametrize("count", [10**12, 10**30, float("inf"), float("nan"), -1, "many", [1], None, True])
@pytest.mark.parametrize("shape", ["openai", "gemini"])
def test_an_absurd_usage(shape: str, count: Any) -> None:
    """It is carried. What no request can have leaves no room, and the error says whose count it is."""
    context = rolling()
    context.add({"role": "user", "content": "go"})
    context.context()
    if shape == "openai":
        said: Row = {"choices": [{"message": {"role": "assistant", "content": "x"}}], "usage": {"prompt_tokens": count}}
        said["usage"]["completion_tokens"] = 1
    else:
        said = {"candidates": [{"content": {"parts": [{"text": "x"}]}}], "usageMetadata": {"promptTokenCount": count}}
    context.add_response(said)
    if count != 10**12:
        assert len(context.context()) == 2
        return
    with pytest.raises(DoesNotFit, match=r"the provider counted 999,999,999,\d+ tokens more than our count has"):
        context.context()


def test_threads_take_turns(tmp_path: Path) -> None:
    """Threads that share one object harm neither the log nor the context."""
    context = rolling(tmp_path / "a.jsonl")
    context.add({"role": "user", "content": "go"})
    failed: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for n in range(12):
                context.add({"role": "assistant", "content": f"{name} {n} " + "word " * 90})
                assert estimate_tokens(context.context(), "gpt-4o") <= context.budget
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = Log.open(tmp_path / "a.jsonl")
    assert not failed and len(context.log.messages) == len(written.messages) == 1 + 4 * 12 and not written.check()
    assert context.status().trims and context.context() == replayed(written)


@pytest.mark.parametrize("event_loop", [False, True])
def test_a_summarizer_that_asks_for_the_context(event_loop: bool) -> None:
    """It is refused, and rules write the summary; it neither calls itself again nor waits for itself."""
    cuts: list[ContextCut] = []
    context: Any = (AsyncRollingContext if event_loop else RollingContext)(**LIMIT, on_compact=cuts.append)

    async def later(rows: list[Row]) -> str:
        return str(await context.context())

    context._summarize, context._summarizes = later if event_loop else lambda rows: str(context.context()), True
    for turn in turns(60):
        for row in turn:
            context.add(row)
    given = asyncio.run(asyncio.wait_for(context.context(), 60)) if event_loop else context.context()
    assert given and "asked for the context" in str(cuts[0].fallback)


def test_copies(tmp_path: Path) -> None:
    """A deep copy in memory goes on by itself, one of a file on the same log; others say what to do instead."""
    for path in (None, tmp_path / "a.jsonl"):
        context = rolling(path, summarize=True)
        for turn in turns(40):
            for row in turn:
                context.add(row)
        given = context.context()
        made = copy.deepcopy(context)
        assert made.context() == given
        made.add({"role": "user", "content": "only there"})
        assert len(made.context()) == len(given) + 1
        assert len(context.context()) == len(given) + (path is not None)
    for refused in (copy.copy, pickle.dumps):
        with pytest.raises(TypeError, match="load"):
            refused(context)  # type: ignore[operator]


class Told:
    """Notes that are what they are."""

    def __init__(self, text: Any) -> None:
        self.told = text

    def text(self, max_tokens: int, *, about: str = "", count: Callable[[str], int]) -> Any:
        """They look at nothing."""
        return self.told


def test_notes_that_do_not_obey() -> None:
    """Longer ones are cut to their share; None is none; what is no text is refused, and nothing changes."""
    context = rolling(memory=Told("note " * 10_000))
    assert 400 < context.status().notes <= 2500 // 4 and context.notes.endswith("[…]")
    before = context.notes
    for wrong in (5, b"note", ["note"]):
        context._memory = Told(wrong)
        with pytest.raises(Usage):
            context.refresh_memory()
        assert context.notes == before
    assert rolling(memory=Told(None)).notes == ""


def test_rows() -> None:
    """Each message of the log, also one that left; no other number."""
    context = rolling()
    context.add({"role": "user", "content": "one"})
    context.add({"role": "assistant", "content": "two"})
    context.forget(2)
    assert [context.row(n)["content"] for n in (1, 2)] == ["one", "two"]
    for wrong in (0, -1, 3):
        with pytest.raises(UnknownMessage):
            context.row(wrong)


def test_a_message_that_contains_itself() -> None:
    """It is refused; nothing is added."""
    held: Row = {"role": "user"}
    held["content"] = [held]
    context = rolling()
    with pytest.raises(BadMessage, match="contains itself"):
        context.add(held)
    assert not context.log.messages


@pytest.mark.parametrize("reply", [{"role": "model", "parts": []}, {"parts": []}])
def test_a_reply_of_gemini_without_parts(reply: Row) -> None:
    """It is a message without words, with its number."""
    context = rolling()
    assert context.add({"role": "user", "content": "go"}) == 1
    assert context.add_response({"candidates": [{"content": reply, "finishReason": "MAX_TOKENS"}]}) == 2
    assert context.log.messages[1].role == "assistant" and not list(RULES["gemini"](context.request("gemini")))
    with pytest.raises(Usage, match="empty"):
        context.add({"role": "user", "parts": []})


def test_a_summary_by_rules_reads_a_bounded_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large messages the newest ones, and at least one, so that a cut costs the same in a long session."""
    from ctxkit.api import rolling as module

    monkeypatch.setattr(module, "READ", 40_000)
    context = rolling(summarize=True)
    context.add({"role": "user", "content": "go"})
    read: list[list[int]] = []
    originals = context._originals

    def seen(names: Any) -> Any:
        found = originals(names)
        read.append([context.log.messages[int(str(n)) - 1].size for n, _ in found])
        return found

    monkeypatch.setattr(context, "_originals", seen)
    for n in range(12):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
        context.add({"role": "assistant", "content": None, "tool_calls": [call]})
        size = 900 if n < 11 else 9000
        context.add({"role": "tool", "tool_call_id": f"c{n}", "content": f"line {n} of it\n" * size})
        context.context()
    assert all(sum(sizes) <= 40_000 or len(sizes) == 1 for sizes in read) and max(map(len, read)) > 2
    assert context.status().compacts > 1


@pytest.mark.parametrize("summarize", [False, True])
def test_a_turn_costs_what_is_new(summarize: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the log is: no op is replayed again, and no more messages and ops are looked at than in the first
    turns with cuts; also with a summary of messages of threads.
    """
    from ctxkit.core import ledger
    from ctxkit.formats import columns
    from ctxkit.logfile import append
    from ctxkit.logfile import open as opened

    looked, replays = [0], [0]

    def counting(called: Callable[..., Any], count: list[int]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            count[0] += 1
            return called(*given, **named)

        return counted

    monkeypatch.setattr(columns, "Message", counting(columns.Message, looked))
    monkeypatch.setattr(ledger, "parse", counting(ledger.parse, looked))
    for module in (append, opened):
        monkeypatch.setattr(module, "fold", counting(module.fold, replays))
    context = rolling(summarize=summarize)
    costs: list[int] = []
    for place, turn in enumerate(turns(241)):
        for row in turn:
            context.add({**row, "thread": f"t{place // 10 % 2}"} if summarize and place else row)
        context.request()
        if place % 60 == 0:
            costs.append(looked[0])
            replays[0] = 0 if place <= 60 else replays[0]
    assert len(context.log.transcript.ops) > 20 and len(context.log.messages) > 10 * len(context.shown())
    first, *later = (after - before for before, after in pairwise(costs[1:]))
    assert max(later) < 1.5 * first and not replays[0]  # one more look at the whole log would double it


def test_numbers_of_the_log() -> None:
    """What a cut says of a message names others as the log does: what outdates a result is newer."""
    context = RollingContext(16_000, reserve=4_000, model="gpt-4o")
    for turn in turns(300):
        for row in turn:
            context.add(row)
        context.request()
    stubs = {name: str(text) for line in context.log.transcript.ops for name, text in line.body["stubs"].items()}
    named = {int(name): re.search(r"superseded by message (\d+)", text) for name, text in stubs.items()}
    newer = {name: int(found[1]) for name, found in named.items() if found is not None}
    assert len(newer) > 10 and all(name < other <= len(context.log.messages) for name, other in newer.items())


@pytest.mark.parametrize("doing", ["context", "add", "status", "recall"])
def test_a_log_that_was_removed(doing: str, tmp_path: Path) -> None:
    """It is said so, by the error of any method of a log."""
    context = rolling(tmp_path / "a.jsonl")
    context.add({"role": "user", "content": "go"})
    (tmp_path / "a.jsonl").unlink()
    given = {"add": [{"role": "user", "content": "more"}], "recall": ["go"]}
    with pytest.raises(NoSuchLog):
        getattr(context, doing)(*given.get(doing, []))


def test_an_event_loop_for_each_turn() -> None:
    """A program may begin a new one each time, also with tasks that wait for each other."""

    async def later(rows: list[Row]) -> str:
        await asyncio.sleep(0)
        return "what was before"

    context = AsyncRollingContext(**LIMIT, summarize=later)

    async def turn() -> list[Any]:
        for _ in range(12):
            context.add({"role": "assistant", "content": "word " * 300})
        return await asyncio.gather(context.context(), context.context(), context.request("anthropic"))

    context.add({"role": "user", "content": "go"})
    for _ in range(3):
        one, other, _ = asyncio.run(turn())
        assert one == other
    assert context.status().compacts == 3 and not context.log.check()

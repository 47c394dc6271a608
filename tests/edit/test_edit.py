"""Editing through the API: what a draft says is the context, and an unchanged one changes nothing."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.api.log import Log
from ctxkit.core.item_names import ItemName, Names
from ctxkit.core.ops import Edit, sealed
from ctxkit.edit.draft import DraftBlock, draft
from ctxkit.edit.parse import Parsed, parse
from ctxkit.errors import BadDraft, CtxkitError, Misfit, NothingChanges, NothingMatched, UpdatedElsewhere, Usage
from tests import build
from tests.cli.runner import FOREIGN, SMALL, call, lines, message
from tests.edit.blocks import TEXTS
from tests.shared import transcripts

NOW = 1_800_000_000.0
FORMATS = ("claude-code", "claude-code-subagents", "codex", "copilot-cli", "mini-swe-agent", "pi", "swe-agent")
SESSIONS = transcripts(*FORMATS, "derived-corrupt", under=1_500_000)

PARTS = st.one_of(
    TEXTS.map(lambda text: {"type": "text", "text": text}),
    TEXTS.map(lambda text: {"type": "tool_use", "id": text, "name": text, "input": {"a": text}}),
    TEXTS.map(lambda text: {"type": "image_url", "image_url": {"url": text}}),
    TEXTS.map(lambda text: {"type": text, "what": [text]}),
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.one_of(st.sampled_from(["user", "assistant", "tool", "system"]), TEXTS),
         "content": st.one_of(TEXTS, st.none(), st.lists(PARTS, max_size=3))},
        optional={"ts": st.one_of(TEXTS, st.integers(), st.just("2026-01-01T10:00:00.123Z")), "name": TEXTS,
                  "agent": TEXTS, "thread": TEXTS, "tool_call_id": TEXTS},
    ), min_size=1, max_size=5,
)  # fmt: skip


def opened(raw: bytes = SMALL, *, at: float = NOW, **env: str) -> Log:
    return Log.open(io.BytesIO(raw), env={"HOME": "/nowhere", **env}, clock=lambda: at)


def written(tmp_path: Path, raw: bytes = SMALL) -> Path:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(raw)
    return path


def reprint(found: Parsed, blocks: list[DraftBlock]) -> str:
    """The draft with these blocks."""
    assert found.base is not None
    return draft("x", found.base, blocks)


def said(log: Log) -> list[tuple[str, str]]:
    """Role and words of each message in the context."""
    return [(entry.role, log.text(entry.name)) for entry in log.entries()]


def numbers(log: Log) -> list[str]:
    return [log.state().label(name) for name in log.names()]


@given(MESSAGES)
def test_unchanged_is_no_op(messages: list[dict[str, Any]]) -> None:
    """Whatever the messages hold."""
    log = opened(lines(*messages))
    assert log.edit(log.draft()) is None and log.said == "Nothing was changed: nothing appended."


@given(MESSAGES, st.data())
def test_the_draft_is_the_context(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    """Any choice in any order: these messages, as they were, letter by letter."""
    log = opened(lines(*messages))
    words = {name: (entry.role, log.full(entry).parts) for name, entry in zip(log.names(), log.entries(), strict=True)}
    found = parse(log.draft())
    blocks = data.draw(st.lists(st.sampled_from(found.blocks), min_size=1, unique_by=lambda block: block.label))
    op = log.edit(reprint(found, blocks))
    chosen = [int(block.label) for block in blocks]
    assert log.names() == chosen
    assert [(entry.role, log.full(entry).parts) for entry in log.entries()] == [words[n] for n in chosen]
    assert op is None or [item.n for item in op.items] == chosen


LOG = "1 system | 2 | 3 call=x | 4 result=x | 5-7 | mark a | 8-9"
OPS = [
    "forget 2", "forget 6", "compact 3-5 text=old+words", "mark a", "rewind a", "clear", "trim 7", "remember 1-6",
    "protect 6", "trim 9 stubs={\"8\":\"short\"}", "edit 4,new:hello,1", "undo @1", "undo @2", "restore new:x",
]  # fmt: skip
SPECS = st.lists(st.sampled_from(OPS), max_size=4).map(lambda ops: " | ".join([LOG, *ops]))


@given(SPECS, st.data())
def test_after_any_ops(spec: str, data: st.DataObject) -> None:
    """Unchanged is no op; what is chosen of all there is, in or out, is the context then, in words too."""
    try:
        log = opened(lines(*build.log(spec)))
        log.state()
    except (AssertionError, Misfit):
        return
    assert log.edit(log.draft()) is None
    found = parse(log.draft())
    live = [block.label for block in found.blocks if not block.out]
    assert live == numbers(log)
    words = {log.state().label(name): log.text(name) for name in log.state().everything()}
    chosen = data.draw(st.lists(st.sampled_from(found.blocks), min_size=1, unique_by=lambda block: block.label))
    back = [DraftBlock(block.label, block.role, block.pieces, False, block.time) for block in chosen]
    op = log.edit(reprint(found, back))
    assert [text for _, text in said(log)] == [words[block.label] for block in back]
    if op is not None:
        log.undo()
        assert numbers(log) == live


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: str(path.name))
def test_real_sessions(path: Path) -> None:
    """Of every format: unchanged is no op; all of it brought back, some in other words, is all of it, for providers
    too, and unchanged again; undone, the context is what it was.
    """
    try:
        log = opened(path.read_bytes())
    except CtxkitError:  # of many conversations, or none at all
        return
    if not log.names():
        return
    before = numbers(log)
    text = log.draft()
    found = parse(text)
    assert log.edit(text) is None and [block.label for block in found.blocks if not block.out] == before
    back = [msgspec.structs.replace(block, out=False) for block in found.blocks]
    back[::7] = [msgspec.structs.replace(block, pieces=(*block.pieces, "more")) for block in back[::7]]
    log.edit(reprint(found, back))
    assert len(log.names()) == len(back) and log.edit(log.draft()) is None
    assert list(log.export("anthropic").pieces) and list(log.export("openai").pieces)
    log.undo()
    assert numbers(log) == before


def test_delete_reorder_change_add() -> None:
    """One op: references for what is unchanged, literals with their origin and original time for the rest."""
    log = opened()
    text = log.draft()
    text = text.replace("it prints", "it prints 1").replace("#%%", "%%")
    head, *blocks = text.split("\n\n%% ")
    kept = [block for block in blocks if not block.startswith(("2 ", "6 "))]
    kept = [*kept[:-1], "user\nmine\n", kept[-1]]
    kept[-1], kept[-3] = kept[-3], kept[-1]
    op = log.edit("\n\n%% ".join([head, *kept]))
    assert isinstance(op, Edit)
    body = sealed(op)["items"]
    assert body == [
        {"n": 1}, {"n": 3}, {"n": 4},
        {"message": {"role": "assistant", "content": "it prints 1", "ts": "2026-02-01T10:04:00Z"}, "from": 5,
         "ts": "2026-02-01T10:04:00Z"},
        {"n": 7}, {"n": 8}, {"n": 9}, {"n": 11}, {"message": {"role": "user", "content": "mine"}}, {"n": 10},
    ]  # fmt: skip
    assert log.said == "[PRIOR_CONTEXT_PROVIDED] 10 messages (2 left out, 1 changed, 1 new, other order)"
    assert op.shown == "1-11" and op.before is not None and op.before.messages == 11
    assert [text for _, text in said(log)][-3:] == ["last answer", "mine", "third question"]


def test_a_message_without_its_words_leaves() -> None:
    """An emptied text takes its message out, as no model is sent an empty one."""
    log = opened()
    assert log.edit(log.draft().replace("it prints", "")) is not None
    assert 5 not in log.names() and log.said.endswith("(1 left out)")
    assert not [one for one in log.export("openai").repairs.left_out if one.startswith("empty")]


def test_back_from_before_a_clear() -> None:
    """One number sign away, no recall could; at the time of the edit, so that it is inside the window."""
    log = opened(at=NOW)
    log.clear()
    assert numbers(log) == ["1"]
    text = log.draft()
    assert "#%% 10 2026-02-01T10:09:00Z user (cleared by op 1)\nthird question" in text
    log.edit(text.replace("#%% 10 ", "%% 10 ").replace("#%% 11 ", "%% 11 "))
    assert numbers(log) == ["1", "10", "11"] and "2 brought back" in log.said
    assert log.state().effective(10) == NOW and log.state().original(10) == 1769940540.0


def test_states() -> None:
    """What is out says why; what an op shortened or tells in other words is shown as it is sent."""
    spec = '1-9 | mark a | 10-11 | forget 2 | rewind a | compact 4-5 text=told | trim 7 stubs={"8":"short"}'
    log = opened(lines(*build.log(spec)))
    found = {block.label: block for block in parse(log.draft()).blocks}
    remarks = {label: block.remark for label, block in found.items() if block.remark}
    assert remarks == {
        "2": "forgotten by op 2", "10": "rewound by op 3", "11": "rewound by op 3", "4": "compacted by op 4",
        "5": "compacted by op 4", "4.1": "tells 4-5", "7": "trimmed by op 5", "8": "shortened",
    }  # fmt: skip
    assert found["8"].pieces == ("short",) and found["4.1"].pieces == ("told",)
    op = log.edit(log.draft().replace("m9", "nine"))
    assert isinstance(op, Edit)
    items = sealed(op)["items"]
    assert [item.get("n", item.get("from")) for item in items] == [1, 3, "a4.1", 6, 8, 9]
    assert [text for _, text in said(log)] == ["m1", "m3", "told", "m6", "short", "nine"]
    assert log.state().board.items[ItemName(op.id, 3)].tells == Names.of([4, 5])


def test_a_literal_keeps_what_it_was() -> None:
    """Its name, agent, thread and flags, and keys that ctxkit does not know; from a session too."""
    odd = message("user", "hello", 1, name="ann", agent="bo", thread="t", meta={"a": 1})
    log = opened(lines(message("system", "s"), odd, message("user", "x", 2)))
    log.protect("2")
    op = log.edit(log.draft().replace("hello", "hullo"))
    assert isinstance(op, Edit) and op.items[1].message == {**odd, "content": "hullo"}
    assert log.state().protected(ItemName(op.id, 2))
    log = opened(FOREIGN)
    op = log.edit(log.draft().replace("\nhi\n", "\nhi there\n"))
    assert isinstance(op, Edit) and op.items[1].origin == 2 and op.items[1].ts == "2026-02-01T10:01:00Z"
    assert op.items[1].message == {"role": "assistant", "content": "hi there", "ts": "2026-02-01T10:01:00Z"}


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def test_parts_that_are_no_text() -> None:
    """A line each: texts around them change, they can move and go; a result can say other words."""
    rich = message("user", [{"type": "text", "text": "before"}, PICTURE, {"type": "text", "text": "after"}], 1)
    asks = message("assistant", "looking", 2, tool_calls=[call("Read", "c1", path="a.py")])
    log = opened(lines(rich, asks, message("tool", "secret\nlines", 3, tool_call_id="c1")))
    text = log.draft()
    shown = "before\n%%> 1/2 image image/png 9 bytes\nafter\n"
    assert shown in text and "iVBOR" not in text
    assert 'looking\n%%> 2/2 call Read {"path":"a.py"}\n' in text
    assert "%%> 3/1 result (12 characters) secret lines" in text
    changed = text[: text.index("%%> 3/1 ")].replace(shown, "%%> 1/2\nbehind\n").replace("looking", "I look")
    op = log.edit(changed + "nothing\n")
    assert isinstance(op, Edit)
    first, second, third = (item.message or {} for item in op.items)
    assert first["content"] == [PICTURE, {"type": "text", "text": "behind"}]
    assert second["content"] == "I look" and second["tool_calls"] == asks["tool_calls"]
    assert (third["content"], third["tool_call_id"], third["role"]) == ("nothing", "c1", "tool")


def test_a_part_of_a_step() -> None:
    """It is what was asked for, and it is said what becomes of it."""
    log = opened()
    blocks = [block for block in parse(log.draft()).blocks if block.label != "4"]
    log.edit(reprint(parse(log.draft()), blocks))
    assert (
        "a part of a step is left out: 4; a call without its result is sent with [no result recorded]" in log.notes[0]
    )


def test_only_some() -> None:
    """What a draft does not hold stays where it is; what is new stands behind what it followed."""
    log = opened()
    log.forget("9")
    text = log.draft("2,10,11")
    assert [block.label for block in parse(text).blocks] == ["2", "10", "11"]
    log.edit(text.replace("%% 10 ", "#%% 10 ").replace("first question\n", "first question\n\n%% user\nmore\n"))
    labels = numbers(log)
    assert labels == ["1", "2", "2.3", "3", "4", "5", "6", "7", "8", "11"]
    assert parse(log.draft(only_context=True)).blocks[2].pieces == ("more",)
    assert [block.label for block in parse(log.draft(only_context=True)).blocks] == labels
    with pytest.raises(NothingMatched):
        log.draft(grep="nowhere")
    found = parse(log.draft(role="tool", only_context=True)).blocks
    assert [block.label for block in found] == ["4", "8"]


def test_window() -> None:
    """What a window hides is out, and says so; brought back, it is inside: its time is the edit's."""
    log = opened(lines(message("user", "old", 0), message("user", "new", 300)), at=1769961700.0)
    log.set_window(3600)
    text = log.draft()
    assert "#%% 1 2026-02-01T10:00:00Z user (out of the window)" in text
    log.edit(text.replace("#%% 1 ", "%% 1 "))
    assert numbers(log) == ["1", "2"]


def test_time_is_never_before_the_log(tmp_path: Path) -> None:
    """replay 37: by a clock that is slow, the items would be out of the window at once."""
    log = opened(at=1.0)
    op = log.edit(log.draft().replace("%% 11 ", "#%% 11 "))
    assert op is not None and op.ts == "2026-02-01T10:10:00Z"


@pytest.mark.parametrize("text", ["", "\n\n", "all", "no words"])
def test_empty_is_cancelled(text: str) -> None:
    """Nothing is appended; to empty a context is another command's."""
    log = opened()
    given_text = log.draft().replace("\n%% ", "\n#%% ") if text == "all" else text
    if text == "no words":
        log = opened(lines(message("user", "one", 1), message("user", "one", 2)))
        given_text = log.draft().replace("\none\n", "\n")
    with pytest.raises(NothingChanges, match="cancelled"):
        log.edit(given_text)
    assert log.ledger.entries == []


def test_an_empty_context_unchanged() -> None:
    """All of it out before and after: nothing was changed; an empty file is cancelled there too."""
    log = opened(lines(message("user", "one", 1), message("user", "two", 2)))
    log.clear()
    assert log.edit(log.draft()) is None and log.said == "Nothing was changed: nothing appended."
    with pytest.raises(NothingChanges, match="cancelled"):
        log.edit("\n".join(line for line in log.draft().split("\n") if line.startswith("%%=")))
    log.edit(log.draft().replace("#%% 2", "%% 2"))
    assert numbers(log) == ["2"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("%% 2 ", "%% 99 ", "no message 99"), ("%% 3 ", "%% 2 ", "message 2 occurs twice"),
        ("%% 2 2026-02-01T10:01:00Z user", "%% 2 2026-02-01T10:01:00Z usr", "no role 'usr'"),
        ("%% 2 2026-02-01T10:01:00Z", "%% 2 2026-02-02T10:01:00Z", "time"),
        ("%%> 3/2", "%%> 4/1", "part 4/1 belongs below a line %% 4, which is missing here"),
        ("%%> 3/2", "%%> 3/7", "this message has no part 3/7"), ("first question", "%% user", "without text"),
        ("first question", "%% tool\nx", "no role 'tool'"), ("%%= ", "#", "line %%= is missing"),
        ("shown=1-11", "shown=z-a", "was changed"), ("messages=11", "messages=12", "is not of"),
        ("%% 2 ", "# %% [markdown]\n%% 2 ", "no role '[markdown]'"),
    ],
)  # fmt: skip
def test_mistakes(old: str, new: str, words: str) -> None:
    """Nothing is appended."""
    log = opened()
    with pytest.raises(BadDraft) as caught:
        log.edit(log.draft().replace(old, new, 1))
    assert words in caught.value.message and "nothing was changed" in caught.value.message
    assert log.ledger.entries == []


def test_all_mistakes_are_told() -> None:
    """With their lines, in order."""
    log = opened()
    text = log.draft().replace(" user\n", " usr\n").replace("%% 11 ", "%% 12 ")
    with pytest.raises(BadDraft) as caught:
        log.edit(text)
    told = caught.value.mistakes
    assert len(told) == 4 and all(text.split("\n")[line - 1].startswith("%% ") for line, _ in told)
    assert "(and 3 more)" in caught.value.message


def test_messages_that_came_meanwhile_stay(tmp_path: Path) -> None:
    """Behind the edit, and it says so; between print and apply, and while it is decided."""
    path = written(tmp_path)
    text = Log.open(path).draft().replace("%% 2 ", "#%% 2 ")
    with path.open("ab") as file:
        file.write(lines(message("user", "late", 20)))
    log = Log.open(path)
    op = log.edit(text)
    assert op is not None and op.at.messages == 11 and numbers(log) == ["1", *map(str, range(3, 13))]
    assert log.notes[-1] == "1 message (12) were added meanwhile: they stay after the edit"
    again = log.draft().replace("%% 3 ", "#%% 3 ").replace("%% 4 ", "#%% 4 ")
    with path.open("ab") as file:
        file.write(lines(message("user", "later", 21)))
    log.edit(again)
    assert numbers(Log.open(path)) == ["1", *map(str, range(5, 14))]
    assert log.notes[-1] == "1 message (13) were added meanwhile: they stay after the edit"


def test_other_ops_meanwhile_refuse_it(tmp_path: Path) -> None:
    """Exit 75, nothing appended, before the lock and under it; marks, flags and windows do no harm."""
    path = written(tmp_path)
    text = Log.open(path).draft().replace("%% 2 ", "#%% 2 ")
    mine = Log.open(path)
    Log.open(path).mark("m")
    Log.open(path).protect("3")
    Log.open(path).forget("9")
    for log in (Log.open(path), mine):
        with pytest.raises(UpdatedElsewhere, match="nothing was changed"):
            log.edit(text)
    Log.open(path).undo()
    mine.refresh()
    assert mine.edit(text) is not None
    text = mine.draft().replace("%% 3 ", "#%% 3 ")
    mine.undo("2")
    with pytest.raises(UpdatedElsewhere, match="undo"):
        Log.open(path).edit(text)
    assert len(Log.open(path).ledger.entries) == 6


def test_another_log(tmp_path: Path) -> None:
    """A draft is of one log."""
    text = opened().draft()
    with pytest.raises(BadDraft, match="is not of"):
        opened(lines(*(message("user", f"m{n}", n) for n in range(20)))).edit(text)


def test_beside_another_programs_log(tmp_path: Path) -> None:
    """The op goes to its sidecar; messages that its program adds stay behind the edit."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(FOREIGN)
    text = Log.open(path).draft().replace("%% 2 ", "#%% 2 ")
    more = {"type": "user", "uuid": "u4", "parentUuid": "u3", "sessionId": "s", "timestamp": "2026-02-01T10:03:00Z",
            "message": {"role": "user", "content": "late"}}  # fmt: skip
    with path.open("ab") as file:
        file.write(lines(more))
    log = Log.open(path)
    log.edit(text)
    assert numbers(Log.open(path)) == ["1", "3", "4"] and path.read_bytes() == FOREIGN + lines(more)
    assert json.loads((tmp_path / "session.jsonl.ctxkit" / "ops.jsonl").read_bytes())["at"]["messages"] == 3


def test_sidechains(tmp_path: Path) -> None:
    """Not in a draft of the main thread, and none of their own."""
    side = {"type": "user", "uuid": "u9", "parentUuid": None, "isSidechain": True, "agentId": "a1", "sessionId": "s",
            "timestamp": "2026-02-01T10:05:00Z", "message": {"role": "user", "content": "aside"}}  # fmt: skip
    log = opened(FOREIGN + lines(side))
    threads = list(log.state().threads)
    assert threads and "aside" not in log.draft()
    with pytest.raises(Usage, match="sidechain"):
        log.draft(thread=threads[0])

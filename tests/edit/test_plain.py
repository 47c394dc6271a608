"""Plain drafts say what drafts with numbers say; what they cannot say stays as it is, or is a mistake at its line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ctxkit.api.log import Log
from ctxkit.core.ops import Edit, Op, sealed
from ctxkit.core.select import selection
from ctxkit.core.times import iso, seconds
from ctxkit.edit.draft import DraftBlock, FoldedPart, draft
from ctxkit.edit.edit import Editing
from ctxkit.edit.parse import base_of, parse
from ctxkit.edit.plain import is_conversation, is_plain, keys, placeholder, plainly_based, printed
from ctxkit.errors import BadDraft, Misfit, NothingChanges
from tests import build
from tests.cli.runner import call, lines, message
from tests.edit.blocks import TEXTS
from tests.edit.test_edit import FORMATS, MESSAGES, SPECS, numbers, opened
from tests.shared import transcripts

CHAT = lines(
    message("system", "You are Frodo.", 0),
    message("user", "Where is it?", 1, name="Bilbo"),
    message("assistant", "In my pocket.\n\n[12:30] Sam: no", 2, agent="frodo"),
    message("assistant", "I look.", 3, agent="frodo", tool_calls=[call("look", "c1")]),
    message("tool", "a ring", 3, tool_call_id="c1"),
    message("user", "[2026-02-01T10:00:00Z] User: quoted", 4),
)
"""A chat of a persona: two messages have one time, one quotes a line of a draft."""


def plain(log: Log, *args: Any, **more: Any) -> str:
    """The plain draft without what is explained at its beginning."""
    text = log.draft(*args, plain=True, **more)
    return text[text.index("%%=") :]


def wrong(log: Log, text: str) -> list[tuple[str, str]]:
    """The mistakes of a draft: the line that each is at, and its words."""
    with pytest.raises(BadDraft) as caught:
        log.edit(text)
    rows = text.split("\n")
    return [(rows[line - 1], words) for line, words in caught.value.mistakes]


def test_the_form() -> None:
    """Time, name, text; a number where two have one time; calls and results in brackets; why one is out."""
    log = opened(CHAT)
    log.forget(["2"])
    assert plain(log).split("\n")[1:] == [
        "",
        "[2026-02-01T10:00:00Z] System: You are Frodo.",
        "",
        "#[2026-02-01T10:01:00Z, forgotten by op 1] Bilbo: Where is it?",
        "",
        "[2026-02-01T10:02:00Z] frodo: In my pocket.",
        "",
        "[12:30] Sam: no",
        "",
        "[2026-02-01T10:03:00Z #4] frodo: I look.",
        '<<4/2 call look {}>>',
        "",
        "[2026-02-01T10:03:00Z #5] Tool:",
        "<<5/1 result (6 characters) a ring>>",
        "",
        r"[2026-02-01T10:04:00Z] User: \u{}[2026-02-01T10:00:00Z] User: quoted",
        "",
    ]  # fmt: skip


def test_delete_change_reorder_add_bring_back() -> None:
    """As a person would: the context is what is left, and new messages are by who they say."""
    log = opened(CHAT)
    log.forget(["2"])
    text = log.draft(plain=True)
    text = text.replace("#[2026-02-01T10:01:00Z, forgotten by op 1]", "[2026-02-01T10:01:00Z]").replace(
        "pocket", "hand"
    )
    text = text.replace("[2026-02-01T10:04:00Z]", "#[2026-02-01T10:04:00Z]")
    log.edit(text + "\n[new] frodo: Here.\nLook!\n\n[new] Bilbo: Good.\n[new] User: Bye\n")
    assert log.said == "[PRIOR_CONTEXT_PROVIDED] 8 messages (1 left out, 1 brought back, 1 changed, 3 new)"
    assert log.text(log.names()[2]) == "In my hand.\n\n[12:30] Sam: no"
    added = [item.message for item in log.state().board.items.values() if item.origin is None]
    assert [{**one, "ts": None} for one in added] == [
        {"role": "assistant", "ts": None, "content": "Here.\nLook!", "agent": "frodo"},
        {"role": "user", "ts": None, "content": "Good.", "name": "Bilbo"},
        {"role": "user", "ts": None, "content": "Bye"},
    ]  # fmt: skip


@given(MESSAGES)
def test_unchanged_is_no_op(messages: list[dict[str, Any]]) -> None:
    """Whatever the messages hold, and whatever an editor does to ends of lines and files."""
    log = opened(lines(*messages))
    text = log.draft(plain=True)
    assert is_plain(text) and not is_plain(log.draft())
    for one in (text, text.replace("\n", "\r\n"), text.replace("\n", "\r"), "\ufeff" + text, text + "\n\n"):
        assert log.edit(one) is None and log.said == "Nothing was changed: nothing appended."


def said(op: Op | None) -> dict[str, Any] | None:
    """What an edit says, without what differs from run to run."""
    if op is None:
        return None
    assert isinstance(op, Edit)
    body = sealed(op)
    return {key: body[key] for key in ("items", "shown", "at")}


def both(log: Log, blocks: list[DraftBlock]) -> tuple[str, str]:
    """The draft with numbers and the plain one that hold these blocks; an unlabelled one is new."""
    base, offered = base_of(log.draft()), _offered(log)
    assert base is not None
    known = keys((one.label, one.time) for one in offered.values()) | {"": "new"}
    shown = [offered[one.label] if one.label else one for one in blocks]
    plainly = [
        DraftBlock(one.label, one.role, block.pieces, block.out, one.time, one.remark, one.name, one.agent)
        for one, block in zip(shown, blocks, strict=True)
    ]
    return draft("x", base, blocks), plainly_based(base) + "".join(printed(one, known[one.label]) for one in plainly)


def _offered(log: Log) -> dict[str, DraftBlock]:
    """All messages as a draft has them."""
    return Editing.of(log, selection((), {}), only_context=False).offer.blocks


def with_texts(block: DraftBlock, data: st.DataObject) -> DraftBlock:
    """The block with some of its texts changed, and perhaps a text more; its parts stay."""
    pieces = [data.draw(TEXTS) if isinstance(one, str) and data.draw(st.booleans()) else one for one in block.pieces]
    if data.draw(st.booleans()):
        pieces.insert(data.draw(st.integers(0, len(pieces))), data.draw(TEXTS))
    return DraftBlock(block.label, block.role, tuple(pieces), data.draw(st.booleans()), block.time)


@given(MESSAGES, st.data())
def test_a_change_is_the_same_op(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    """Texts changed, messages left out, moved, added: the op is that of the draft with numbers, in all that it says."""
    log = opened(lines(*messages))
    blocks = [with_texts(one, data) for one in data.draw(st.permutations(parse(log.draft()).blocks))]
    blocks = blocks[: data.draw(st.integers(1, len(blocks)))]
    if data.draw(st.booleans()):
        blocks.insert(data.draw(st.integers(0, len(blocks))), DraftBlock("", "user", (data.draw(TEXTS),)))
    same(log, *both(log, blocks))


@given(SPECS, st.data())
def test_after_any_ops(spec: str, data: st.DataObject) -> None:
    """The same, with what ops took out, shortened, summarized and brought in; unchanged it is no op."""
    try:
        log = opened(lines(*build.log(spec)))
        log.state()
    except (AssertionError, Misfit):
        return
    assert log.edit(log.draft(plain=True)) is None
    same(log, *both(log, [with_texts(one, data) for one in parse(log.draft()).blocks]))


def same(log: Log, numbered: str, plainly: str) -> None:
    """Both drafts make one op, or are refused for the same."""
    found = []
    for text in (numbered, plainly):
        again = opened(log.opening.source.read(0, log.opening.source.size))
        try:
            found.append(said(again.edit(text)))
        except (BadDraft, NothingChanges) as error:
            reason = re.sub(r"^draft:\d+", "draft", error.message)  # the two forms have it at different lines
            found.append({"refused": [words for _, words in getattr(error, "mistakes", ())], "error": reason})
    assert found[0] == found[1]


def mangled(text: str, data: st.DataObject) -> str:
    """A line with one character taken out, put in or replaced."""
    place = data.draw(st.integers(0, len(text) - 1))
    with_ = data.draw(st.sampled_from(["", "x", text[place] + "x", " ", text[place] * 2]))
    return text[:place] + with_ + text[place + 1 :]


CALLS = lines(
    message("user", "go", 0),
    message(
        "assistant", "I look at both.", 1, tool_calls=[call("look", "c1", at="the ring"), call("hear", "c2", at="x")]
    ),
    message("tool", "a ring", 2, tool_call_id="c1"),
    message("tool", "nothing at all", 3, tool_call_id="c2"),
)


@given(st.data())
def test_a_mangled_placeholder_is_a_mistake_at_its_line(data: st.DataObject) -> None:
    """Whatever one key does to it: nothing is appended, and the line is named."""
    log = opened(CALLS)
    rows = log.draft(plain=True).split("\n")
    at = data.draw(st.sampled_from([place for place, row in enumerate(rows) if row.startswith("<<")]))
    new = mangled(rows[at], data)
    assume(new.strip() != rows[at])
    rows[at] = new
    assert new in [line for line, _ in wrong(log, "\n".join(rows))]
    assert not log.ledger.entries


PLACEHOLDER = "<<4/2 call look {}>>"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (PLACEHOLDER + "\n", "", "[2026-02-01T10:03:00Z #4] frodo: I look.", f"{PLACEHOLDER} must stay as it is"),
        (PLACEHOLDER, f"{PLACEHOLDER}\n{PLACEHOLDER}", "[2026-02-01T10:03:00Z #4] frodo: I look.", "occurs twice"),
        ("pocket.", f"pocket.\n{PLACEHOLDER}", PLACEHOLDER, "a part of another message"),
        ("[2026-02-01T10:02:00Z]", "[2026-02-01T10:02:01Z]", "[2026-02-01T10:02:01Z] frodo: In my pocket.",
         "no message of the draft has"),
        ("02:00Z] frodo", "02:00Z] sam", "[2026-02-01T10:02:00Z] sam: In my pocket.", "by frodo: names are not edited"),
        ("02:00Z] frodo:", "02:00Z frodo:", "[2026-02-01T10:02:00Z frodo: In my pocket.", "not the beginning"),
        ("[2026-02-01T10:04:00Z]", "[2026-02-01T10:02:00Z]", r"[2026-02-01T10:02:00Z] User: \u{}[2026-02-01T10:00:00Z]"
         " User: quoted", "is by frodo"),
        ("You are Frodo.", "x\n[new] Gandalf", "[new] Gandalf", "needs the name of its speaker"),
        ("You are Frodo.", "x\n[new] User:", "[new] User:", "a new message without text"),
        ("You are Frodo.", "x\n%% 3 user", "%% 3 user", "not a line of a plain draft"),
        ("form=plain\n", "form=plain\nstray\n", "stray", "text that belongs to no message"),
    ],
)  # fmt: skip
def test_mistakes(old: str, new: str, line: str, words: str) -> None:
    """Each at its line, in words; nothing is appended."""
    log = opened(CHAT)
    text = log.draft(plain=True)
    assert old in text
    [(where, told)] = wrong(log, text.replace(old, new, 1))
    assert where == line and words in told and not log.ledger.entries


def test_twice() -> None:
    """A message that was copied is told from a new one."""
    log = opened(CHAT)
    text = log.draft(plain=True)
    block = text[text.index("[2026-02-01T10:02:00Z]") : text.index("[2026-02-01T10:03:00Z #4]")]
    [(where, told)] = wrong(log, f"{text}\n{block}")
    assert where == "[2026-02-01T10:02:00Z] frodo: In my pocket." and "[new] adds one" in told
    assert log.edit(f"{text}\n{block.replace('2026-02-01T10:02:00Z', 'new')}") is not None


def test_another_order_of_parts() -> None:
    """Text moves past them, they do not move past one another."""
    log = opened(CALLS)
    first, second = (placeholder(one) for one in _offered(log)["2"].pieces if isinstance(one, FoldedPart))
    text = log.draft(plain=True)
    [(where, told)] = wrong(log, text.replace(f"{first}\n{second}", f"{second}\n{first}"))
    assert "[2026-02-01T10:01:00Z] Assistant: I look at both." in where and "another order" in told
    moved = text.replace(f" I look at both.\n{first}", f"\n{first}\nI look at both.")
    op = log.edit(moved)
    assert isinstance(op, Edit) and log.text(log.names()[1]).startswith("look")


def test_names_of_two_speakers() -> None:
    """A new message by a name that a user and an assistant have is refused, because its role is not known."""
    log = opened(lines(message("user", "a", 0, name="Bo"), message("assistant", "b", 1, name="Bo")))
    [(_, told)] = wrong(log, log.draft(plain=True) + "\n[new] Bo: c\n")
    assert told == "more than one speaker has this name: user, assistant"


def test_a_user_of_several_agents() -> None:
    """To which agent a person spoke is no part of the name: a new message is for all, a reply is its agent's."""
    rows = [message("user", "a", 0, agent="frodo"), message("user", "b", 1, agent="sam")]
    log = opened(lines(*rows, message("assistant", "c", 2, agent="sam")))
    log.edit(log.draft(plain=True) + "\n[new] User: d\n[new] sam: e\n")
    added = [item.message for item in log.state().board.items.values()]
    assert [(one["role"], one.get("agent"), one["content"]) for one in added] == [
        ("user", None, "d"), ("assistant", "sam", "e"),
    ]  # fmt: skip
    twins = opened(lines(*(message("assistant", "a", 0, name="Bo", agent=one) for one in ("x", "y"))))
    [(_, told)] = wrong(twins, twins.draft(plain=True) + "\n[new] Bo: c\n")
    assert told == "more than one speaker has this name: assistant of agent x, assistant of agent y"


def test_a_name_with_a_colon() -> None:
    """The longest name that fits is meant."""
    log = opened(lines(message("user", "a", 0, name="Bo"), message("assistant", "b", 1, name="Bo: the 2nd")))
    assert log.edit(log.draft(plain=True)) is None
    log.edit(log.draft(plain=True) + "\n[new] Bo: the 2nd: c\n[new] Bo: d\n")
    added = [item.message for item in log.state().board.items.values()]
    assert [(one["role"], one["name"], one["content"]) for one in added] == [
        ("assistant", "Bo: the 2nd", "c"), ("user", "Bo", "d"),
    ]  # fmt: skip


def test_a_whole_message_with_its_parts_leaves() -> None:
    """A placeholder is missed only in a message that stays."""
    log = opened(CHAT)
    text = log.draft(plain=True)
    start, end = text.index("[2026-02-01T10:03:00Z #4]"), text.index("[2026-02-01T10:04:00Z]")
    log.edit(text[:start] + text[end:])
    assert numbers(log) == ["1", "2", "3", "6"]


def test_only_some() -> None:
    """Numbers choose, and the others stay."""
    log = opened(CHAT)
    text = plain(log, ["3"])
    assert text.count("\n[") == 2  # one of them is a line of its text that is no line of a draft
    log.edit(log.draft(["3"], plain=True).replace("pocket", "hand"))
    assert len(log.names()) == 6 and "hand" in log.text(log.names()[2])


@pytest.mark.parametrize("path", transcripts(*FORMATS, under=400_000)[::4], ids=lambda path: str(path.name))
def test_real_sessions(path: Path) -> None:
    """Unchanged, no op; with a text changed, the op of the draft with numbers."""
    log = Log.open(path)
    numbered, plainly = log.draft(), log.draft(plain=True)
    log.dry_run = True
    assert log.edit(plainly) is None
    words = next((piece for one in parse(numbered).blocks for piece in one.pieces if isinstance(piece, str)
                  and len(piece) > 8 and piece.isascii() and "\n" not in piece and numbered.count(piece) == 1
                  and plainly.count(piece) == 1), None)  # fmt: skip
    if words is not None:
        changed = [said(log.edit(text.replace(words, "other words"))) for text in (numbered, plainly)]
        assert changed[0] == changed[1] is not None


@pytest.mark.parametrize(
    "name", [" Bob", "  Bob", "[new] User", "Assistant", "User", "tool", "Assistant (user)", "#1]"]
)
def test_odd_names(name: str) -> None:
    """A name that begins with blanks, looks like a line of a draft, or is that of a role: read back, and added to."""
    log = opened(
        lines(message("user", "one", 1, name=name), message("assistant", "two", 2), message("user", "three", 3))
    )
    text = log.draft(plain=True)
    assert log.edit(text) is None
    [shown] = [line for line in text.split("\n") if line.startswith("[2026-02-01T10:01:00Z]")]
    said = shown.partition("] ")[2].removesuffix(" one")
    log.edit(f"{text}\n[new] {said} four\n\n[new] Assistant: five\n\n[new] User: six\n\n[new] assistant: seven\n")
    added = [item.message for item in log.state().board.items.values() if item.origin is None]
    assert [(one["role"], one.get("name"), one["content"]) for one in added] == [
        ("user", name, "four"), ("assistant", None, "five"), ("user", None, "six"), ("assistant", None, "seven"),
    ]  # fmt: skip


def test_a_new_speaker() -> None:
    """A name that the draft has not is a user's, and is told; one of an agent in the config is its reply."""
    log = opened(CHAT)
    log.config.agents["Sam"] = {}
    text = log.draft(plain=True)
    log.edit(f"{text}\n[new] Gandalf: Fly!\n\n[new]  Sam: Yes.\n")
    added = [item.message for item in log.state().board.items.values() if item.origin is None]
    assert [(one["role"], one.get("name"), one.get("agent"), one["content"]) for one in added] == [
        ("user", "Gandalf", None, "Fly!"), ("assistant", None, "Sam", "Yes."),
    ]  # fmt: skip
    assert log.notes == ["a new speaker: Gandalf, a user"]


SPOKEN = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant"]), st.sampled_from([None, "Sam", "Frodo", "Bo: the 2nd"]), TEXTS,
        st.integers(0, 5), st.sampled_from([0, 0.25]),
    ),
    min_size=1, max_size=6,
)  # fmt: skip


@given(SPOKEN, st.data())
def test_a_conversation(spoken: list[tuple[str, str | None, str, int, float]], data: st.DataObject) -> None:
    """A file as people keep it, `[2026-02-01 10:00:00] NAME: TEXT`: all is no op, a part is just this part, in its
    order, and a line that the log has not is a new message of that time.
    """
    records = [
        message(role, text, at) | {"ts": iso(MORNING + at + part)} | ({"name": name} if name else {})
        for role, name, text, at, part in spoken
    ]
    log = opened(lines(*records))
    told = [printed(one, as_written(one.time)) for one in _offered(log).values()]
    assert log.edit("".join(told)) is None
    assert not log.names() or is_conversation("".join(told))
    twice = [(role, name, at) for role, name, _, at, _ in spoken]
    some = data.draw(st.lists(st.sampled_from(range(len(told))), min_size=1, unique=True))
    assume(all(twice.count(twice[n]) == 1 for n in some))
    log.edit("".join(told[n] for n in some) + "\n[2025-01-18 22:15:03] Gandalf: Fly,\n\nyou fools\n")
    assert log.names()[:-1] == [n + 1 for n in some]
    [new] = log.state().board.items.values()
    assert new.message["content"] == "Fly,\n\nyou fools"
    assert (new.message["role"], new.message["name"]) == ("user", "Gandalf")
    assert log.state().original(log.names()[-1]) == seconds("2025-01-18T22:15:03Z")


def test_a_conversation_with_mistakes() -> None:
    """Each at its line; nothing is appended."""
    log = opened(CHAT)
    [(where, told)] = wrong(log, "[2025-01-18 22:15:03] Sam: Hm.\n\n[2025-13-18 22:15:03] Sam: No.\n")
    assert where.startswith("[2025-13-18") and "is no time" in told
    with pytest.raises(BadDraft, match="the line %%= is missing"):
        log.edit("Sam: Hm.\n[2025-01-18 22:15:03] Sam: No.\n")


MORNING = seconds("2026-02-01T10:00:00Z") or 0


def as_written(time: str) -> str:
    """A time as people write it, to the second."""
    return time[:19].replace("T", " ")

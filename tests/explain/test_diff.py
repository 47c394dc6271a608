"""Diff: two states of a log, and two logs, compared as messages."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.api.log import Log
from ctxkit.core.compare.contexts import CAME, CHANGED, GONE, MOVED, SAME, Hunk
from ctxkit.errors import BadSnapshot, Usage
from ctxkit.explain.diff import Diff, common_messages
from ctxkit.explain.revisions import side
from ctxkit.export.request import parts_json
from ctxkit.measure.per_op import OpSizes
from tests import build
from tests.cli.runner import FOREIGN, SMALL, lines, message


def log(spec: str | bytes) -> Log:
    """A log in memory."""
    return Log.open(io.BytesIO(spec if isinstance(spec, bytes) else build.lines(spec)))


def brief(diff: Diff) -> str:
    """The differences in order: `-6,7 +a1.1 ~3:edited >5`."""
    words = []
    for hunk in diff.hunks:
        where = diff.b if hunk.kind != GONE else diff.a
        start = hunk.b if hunk.kind != GONE else hunk.a
        labels = ",".join(where.label(start + k) for k in range(hunk.count))
        if hunk.kind == CHANGED:
            labels = f"{diff.a.label(hunk.a)}:{labels}:{diff.how(hunk)}"
        if hunk.kind != SAME:
            words.append({GONE: "-", CAME: "+", CHANGED: "~", MOVED: ">"}[hunk.kind] + labels)
    return " ".join(words)


@pytest.mark.parametrize(
    ("spec", "a", "b", "expected"),
    [
        ("1-6 | mark | forget 2-3", "1", "now", "-2,3"),
        ("1-6 | mark | forget 2-3", "now", "1", "+2,3"),
        ("1-6 | mark | 7", "1", "now", "+7"),
        ("1-6 | compact 2-4 text=short", "1^", "1", "-2,3,4 +1.1"),
        ('1-6 | trim 2 stubs={"3":"cut"}', "1^", "1", "-2 ~3:3:shortened"),
        ('1-6 | trim 2 stubs={"3":"cut"}', "1", "1^", "+2 ~3:3:in+full+again"),
        ("1-4 | edit 1,2:other,3-4", "1^", "1", "~2:1.2:edited"),
        ("1-4 | edit 1,2:other,3-4", "1", "1^", "~1.2:2:edited"),
        ("1-4 | edit 1,2:other,3-4 | edit 1,@1.2:third,3-4", "1", "2", "~1.2:2.2:edited"),
        ("1-4 | edit 1,2:other,3-4 | undo @1 | edit 1,2:third,3-4", "1", "3", "~1.2:3.2:edited"),
        ("1-4 | edit 1-4,new:more", "1^", "1", "+1.5"),
        ("1-6 | edit 1,4-6,2-3", "1^", "1", ">2,3"),
        ("1-6 | compact 2-4 text=short | forget 3 summaries=[{\"op\":\"a1\",\"text\":\"anew\"}]", "1", "2",
         "~1.1:1.1:told+anew"),
        ("1-6 | clear | 7", "1^", "now", "-1,2,3,4,5,6 +7"),
        ("1-3 | forget 1 | undo @1", "2^", "2", "+1"),
        ("1-3 | protect 1", "1^", "1", ""),
        ("1-3", "now", "now", ""),
    ],
)  # fmt: skip
def test_one_log(spec: str, a: str, b: str, expected: str) -> None:
    """A message is the same by its name, unless it is shown otherwise."""
    found = log(spec).diff(a, b)
    assert brief(found) == expected.replace("+full+again", " full again").replace("told+anew", "told anew")
    assert found.differs is bool(expected)


def test_left_out() -> None:
    """One state left out: now; both: the newest op in force."""
    found = log("1-4 | mark | forget 2 | mark | 5")
    assert brief(found.diff("1")) == "-2 +5"
    assert brief(found.diff()) == "-2"
    assert not log("1-4").diff().differs


@pytest.mark.parametrize(
    ("spec", "b", "expected"),
    [
        ("1-4 | mark | forget 2", "now", [("forget", 2, "forgotten by op 2")]),
        ("1-4 | mark | 5 | remember 1,5", "now", [("remember", 2, "left out by the remember of op 2")]),
        ("1-9 | mark | forget 2 | clear", "now", [("clear", 3, "cleared by op 3"), ("forget", 2, "forgotten by op 2"),
                                                   ("clear", 3, "cleared by op 3")]),
        ("1-9 | mark | window 60", "now", [("window", None, "out of the window")]),
        ("1 | mark | 2 | mark", "1", []),
    ],
)  # fmt: skip
def test_why(spec: str, b: str, expected: list[tuple[str, int | None, str]]) -> None:
    """What is gone says why, in parts."""
    found = log(spec).diff("1", b)
    told = [why for hunk in found.hunks if hunk.kind == GONE for _, why in found.parts(hunk)]
    assert [(why.kind, why.op, why.text) for why in told] == expected


def test_why_not_yet() -> None:
    """Looking back: what was not written yet, and an item whose op was undone."""
    found = log("1-4 | mark | 5 | compact 2-3 text=s").diff("now", "1")
    told = {found.a.label(part.a): why.kind for h in found.hunks if h.kind == GONE for part, why in found.parts(h)}
    assert told == {"5": "later", "2.1": "later"}
    found = log("1-4 | compact 2-3 text=s | undo @1").diff("1", "now")
    told = {found.a.label(part.a): why.text for h in found.hunks if h.kind == GONE for part, why in found.parts(h)}
    assert told == {"1.1": "op 1 was undone by op 2"}


def test_agent_that_one_side_does_not_have_yet() -> None:
    """Both sides are filtered; an agent that neither has is refused."""
    found = log("1-2 | mark | 3 agent=frodo | 4 agent=sam")
    found.lens_agent = "frodo"
    assert brief(found.diff("1")) == "+3"
    found.lens_agent = "gollum"
    with pytest.raises(Usage):
        found.diff("1")


def test_figures() -> None:
    """Messages and tokens add up."""
    found = log("1-6 | mark | forget 2-3 | 7").diff("1")
    counts, tokens = found.counts, found.tokens()
    assert (counts[SAME] + counts[GONE], counts[SAME] + counts[CAME]) == (6, 5)
    assert tokens["before"] - tokens[GONE] + tokens[CAME] == tokens["after"]


OTHER_IDS = SMALL.replace(b'"c1"', b'"x1"').replace(b"2026-02-01", b"2026-02-09")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (SMALL, SMALL, ""),
        (SMALL, OTHER_IDS, ""),
        (SMALL, b"", "-" + ",".join(map(str, range(1, 12)))),
        (b"", SMALL, "+" + ",".join(map(str, range(1, 12)))),
        (b"", b"", ""),
        (SMALL, SMALL + lines(message("user", "more")), "+12"),
        (SMALL, SMALL.replace(b"be brief", b"be very brief"), "~1:1:"),
        (SMALL, b"".join(SMALL.splitlines(keepends=True)[1:]), "-1"),
        (SMALL, SMALL.replace(b"a.py", b"b.py"), "-3 +3 ~8:8:"),
        (FOREIGN, lines(message("user", "hello"), message("assistant", "hi"), message("user", "more")), ""),
        (FOREIGN, lines(message("user", "hello"), message("assistant", "hi")), "-3"),
    ],
)  # fmt: skip
def test_two_logs(a: bytes, b: bytes, expected: str) -> None:
    """By role and words; ids and times do not count, nor does the format."""
    assert brief(log(a).diff(log(b))) in (expected, expected.replace("-3 +3", "~3:3:"))


def test_a_log_and_what_it_grew_to() -> None:
    """Numbers of the common start mean the same: an op that was appended says why."""
    found = log("1-4").diff(log("1-4 | forget 2-3 | 5"))
    assert brief(found) == "-2,3 +5"
    [why] = [why for hunk in found.hunks if hunk.kind == GONE for _, why in found.parts(hunk)]
    assert why.text == "forgotten by op 1"


def test_common_messages() -> None:
    """Byte for byte from the start; a message that goes on differently is not common."""
    assert common_messages(log("1-9"), log("1-9 | forget 2")) == 9
    assert common_messages(log(SMALL), log(OTHER_IDS)) == 0
    assert common_messages(log(SMALL), log(SMALL.replace(b"last answer", b"last word"))) == 10
    assert common_messages(log(FOREIGN), log(SMALL)) == 0
    assert common_messages(log(FOREIGN), log(FOREIGN + b"\n")) == 3


@pytest.mark.parametrize("swapped", [False, True])
def test_answers_of_two_calls_swapped(swapped: bool) -> None:
    """The pairs count: the same answers to the other call are another message."""
    calls = [{"id": key, "type": "function", "function": {"name": "Read", "arguments": "{}"}} for key in ("a", "b")]
    ids = ("b", "a") if swapped else ("a", "b")
    made = [message("assistant", None, 1, tool_calls=calls), *(message("tool", "x", 2, tool_call_id=k) for k in ids)]
    other = lines(*made).replace(b'"a"', b'"c"').replace(b'"b"', b'"d"')
    plain = lines(*made[:1], *(message("tool", "x", 3, tool_call_id=k) for k in ("a", "b")))
    assert log(plain).diff(log(other)).differs is swapped


OPS = (
    "forget 2", "forget 4-5", "compact 2-4 text=s", "trim 6", "clear", "undo @1", "recall 4", "mark m", "rewind m",
    "edit 1-3,7,new:x,5:y", "edit 6-8,1", "restore 2-3,new:z", 'trim 7 stubs={"8":"cut"}',
)  # fmt: skip


def contents(diff: Diff, which: str) -> list[str]:
    """A context in full."""
    one = getattr(diff, which)
    return [json.dumps([one.content(k).role, parts_json(one.content(k))]) for k in range(len(one.order))]


def applied(diff: Diff) -> list[str]:
    """The second context, made of the first and of what came or changed."""
    a, b = contents(diff, "a"), contents(diff, "b")
    found: list[str] = []
    for hunk in diff.hunks:
        if hunk.kind in (SAME, MOVED):
            found += a[hunk.a : hunk.a + hunk.count]
        elif hunk.kind != GONE:
            found += b[hunk.b : hunk.b + hunk.count]
    return found


def mirrored(hunk: Hunk) -> tuple[str, int | None, int | None, int]:
    """What a hunk says from the other side."""
    a, b = (None if hunk.kind == CAME else hunk.a), (None if hunk.kind == GONE else hunk.b)
    return {GONE: CAME, CAME: GONE}.get(hunk.kind, hunk.kind), b, a, hunk.count


def said(hunk: Hunk) -> tuple[str, int | None, int | None, int]:
    """The same from this side."""
    return hunk.kind, None if hunk.kind == CAME else hunk.a, None if hunk.kind == GONE else hunk.b, hunk.count


@given(st.lists(st.sampled_from(OPS), min_size=1, max_size=6), st.integers(0, 6), st.integers(0, 6))
def test_any_two_states(ops: list[str], first: int, second: int) -> None:
    """Applied to the first the differences give the second, in full; swapped they are mirrored."""
    spec = " | ".join(["1-8", *ops])
    if "rewind" in spec and "mark" not in spec.partition("rewind")[0]:
        return
    whole = log(spec)
    whole.force = True
    count = len(whole.ledger.entries)
    a, b = (f"{1 + k % count}{'^' * (k == 0)}" for k in (first, second))
    found, other = whole.diff(a, b), whole.diff(b, a)
    assert applied(found) == contents(found, "b")
    assert sorted(map(str, map(said, found.hunks))) == sorted(map(str, map(mirrored, other.hunks)))
    assert not whole.diff(a, a).differs


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_any_two_logs(a: list[str], b: list[str]) -> None:
    """The same for two logs, of messages some of which are alike."""
    one, other = (log(lines(*(message("user", word) for word in words))) for words in (a, b))
    found, back = one.diff(other), other.diff(one)
    assert applied(found) == contents(found, "b")
    assert sorted(map(str, map(said, found.hunks))) == sorted(map(str, map(mirrored, back.hunks)))
    assert not one.diff(log(one.opening.source.read(0, one.opening.source.size))).differs


def test_sides() -> None:
    """A diff can be made of any two sides."""
    found = log("1-4 | forget 2")
    assert Diff(side(found, "1^"), side(found)).counts[GONE] == 1


def test_two_states_are_counted_by_one_counter() -> None:
    """However much later one of them is, and whichever stands first: the figures of `log --tokens`."""
    told = {"usage": {"prompt_tokens": 900, "completion_tokens": 30}}
    rows = [message("user", "words of the user " * 40, 1), message("assistant", "an answer " * 9, 2, **told)]
    found = log(lines(*rows))
    found.mark("a")
    found.forget("1")
    more = {"usage": {"prompt_tokens": 3900, "completion_tokens": 30}}
    later = [message("user", "others " * 90, 3), message("assistant", "an answer " * 9, 4, **more)]
    grown = log(b"".join(found.copy_out()) + lines(*later))
    sizes = list(OpSizes(grown))
    for a, b in (("1", "now"), ("2^", "2"), ("1", "2")):
        there, back = grown.diff(a, b), grown.diff(b, a)
        assert there.tokens()["before"] == back.tokens()["after"] and there.counter == back.counter
        assert "as in this session" in there.counter and "→" not in there.counter
    assert sizes[1].before is not None and sizes[1].after is not None
    assert grown.diff("2^", "2").tokens()["before"] == sizes[1].before.tokens
    assert grown.diff("2^", "2").tokens()["after"] == sizes[1].after.tokens


SNAPSHOTS = [
    ("1-4", "5-6", "+5,6"),
    ("1-4", "5 | forget 2", "-2 +5"),
    ("1-4 | forget 2", "undo @1", "+2"),
    ("1-6 | clear | 7-8", "undo @1", "+1,2,3,4,5,6"),
    ('1-6 | trim 2 stubs={"3":"cut"}', "mark", ""),
    ('1-6 | trim 2 stubs={"3":"cut"}', "undo @1", "+2 ~3:3:"),
    ("1-6 | compact 2-4 text=short", "mark", ""),
    ("1-6 | compact 2-4 text=short", "undo @1", "-s.2 +2,3,4"),
    ("1-4 | edit 1,4,2:other,3,new:more", "mark", ""),
    ("1-4 | edit 1,2:other,3-4", "edit 1,@1.2:third,3-4", "~1.2:2.2:"),
    ("1-4 | edit 1,2:other,3-4", "undo @1", "-s.2 +2"),
    ("1-6", "edit 1,4-6,2-3", ">2,3"),
]
"""What a log holds, what comes after a snapshot of it, and what differs."""


@pytest.mark.parametrize(("spec", "more", "expected"), SNAPSHOTS)
def test_snapshots(spec: str, more: str, expected: str, tmp_path: Path) -> None:
    """What was kept beside what is now: by number, copies by what they say, whatever undid what they were made of."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(build.lines(spec))
    Log.open(path).snapshot("kept")
    assert not Log.open(path).diff("kept").differs
    path.write_bytes(build.lines(f"{spec} | {more}"))
    found = Log.open(path).diff("kept")
    assert brief(found) == expected
    back = Log.open(path).diff("now", "kept")
    kinds = {GONE: CAME, CAME: GONE}
    assert back.counts == {kinds.get(kind, kind): count for kind, count in found.counts.items()}
    assert found.tokens()["before"] == back.tokens()["after"]


def test_snapshots_say_why(tmp_path: Path) -> None:
    """What the log took out since tells why; of what is not in a snapshot only what came later does."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(build.lines("1-6 | forget 3"))
    Log.open(path).snapshot("kept")
    path.write_bytes(build.lines("1-6 | forget 3 | 7 | forget 5 | undo @1"))
    found = Log.open(path).diff("kept")
    reasons = [(brief_of(found, part), why.kind) for hunk in found.hunks for part, why in found.parts(hunk)
               if hunk.kind in (GONE, CAME)]  # fmt: skip
    assert reasons == [("3", ""), ("5", "forget"), ("7", "later")]


def test_a_snapshot_s_own_items(tmp_path: Path) -> None:
    """A summary that a checkpoint has and the log has no more: it was written, so nothing else is said of it."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(build.lines("1-6 | compact 1-4"))
    Log.open(path).checkpoint("kept")
    path.write_bytes(build.lines("1-6 | compact 1-4 | clear"))
    found = Log.open(path).diff("kept")
    assert [why.text for hunk in found.hunks if hunk.kind == GONE for _, why in found.parts(hunk)] == [
        "",
        "cleared by op 2",
    ]


def brief_of(diff: Diff, hunk: Hunk) -> str:
    """The messages of one difference."""
    where, start = (diff.a, hunk.a) if hunk.kind == GONE else (diff.b, hunk.b)
    return ",".join(where.label(start + k) for k in range(hunk.count))


@pytest.mark.parametrize(("spec", "more", "expected"), SNAPSHOTS[:4])
def test_checkpoints(spec: str, more: str, expected: str, tmp_path: Path) -> None:
    """As snapshots; of another log there is nothing to compare with."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(build.lines(spec))
    Log.open(path).checkpoint("kept")
    path.write_bytes(build.lines(f"{spec} | {more}"))
    found = Log.open(path).diff("kept")
    assert brief(found) == expected and found.a.title.startswith("checkpoint ")
    path.write_bytes(build.lines("1-2"))
    with pytest.raises(BadSnapshot, match="does not fit"):
        Log.open(path).diff("kept")

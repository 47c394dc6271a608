"""One figure of a context, wherever it is told, and never too low against what the provider itself counted."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.api.log import Log
from ctxkit.cli.forget_options import preview
from ctxkit.core.derive.usage import RequestUsage
from ctxkit.errors import CtxkitError
from ctxkit.measure.next_request import next_request
from ctxkit.measure.per_op import OpSizes
from ctxkit.measure.size import change
from ctxkit.measure.timeline import plotted
from ctxkit.measure.usage import LEAST_ONCE
from tests.cli.runner import lines
from tests.lawful import Command
from tests.shared import SHARED, transcripts

LOW = 0.02
"""How much lower than the truth a figure may be."""
PAIRS = 3
"""Of counted replies, a session."""
FOLDERS = {"claude": "claude-code", "codex": "codex", "pi": "pi", "mini": "mini-swe-agent"}
REQUEST = {"claude": "context_in", "codex": "last_input", "pi": "context_in", "mini": "prompt_tokens"}
TABLES = sorted((SHARED / "transcripts/usage").glob("*.csv"))
SESSIONS = transcripts("claude-code", "codex", "pi", under=400_000)


def opened(path: Path) -> Log:
    return Log.open(path, env={}, conversation=1 if path.suffix in (".json", ".traj") else None)


def counted(log: Log) -> list[tuple[int, RequestUsage]]:
    """Replies of the log's own context that were counted since its newest compaction, in order."""
    view = log.transcript.view
    cut = view.cuts[-1].row if view is not None and view.cuts else -1
    found = ((n, log.usage(n)) for n in log.own() if log.messages[n - 1].role == "assistant")
    return [(n, usage) for n, usage in found if usage is not None and log.transcript.row_of[n - 1] > cut]


def pairs(
    log: Log, some: Sequence[tuple[int, RequestUsage]], count: int
) -> list[tuple[tuple[int, RequestUsage], tuple[int, RequestUsage]]]:
    """Two of `some` each, between which the numbers are those of the context: where branches lie, they are not."""
    own = list(log.own())
    place = {n: at for at, n in enumerate(own)}
    chance = random.Random(len(some))  # a sample, the same each time
    found = []
    for _ in range(4 * count if len(some) > 1 else 0):
        a, z = sorted(chance.sample(some, 2), key=lambda one: place[one[0]])
        between = own[place[a[0]] : place[z[0]]]
        if between == sorted(between) and sum(a[0] <= n < z[0] for n in own) == len(between):
            found.append((a, z))
    return found[:count]


def after_forgetting(log: Log, a: int, z: int) -> int | None:
    """What `status` says once the messages from `a` to before `z` are forgotten."""
    op = log.plan_forget([f"{a}-{z - 1}"], include_protected=True).op
    if op is None:
        return None
    seen = log.seen_at(log.state_with(log.stamp(op)))
    seen.noticed = []
    return seen.status().tokens.used


@pytest.mark.skipif(not TABLES, reason="the shared transcripts are not here")
@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_never_lower_than_the_provider_says(table: Path) -> None:
    """Two replies a < z: what lies between them is what the second request had more, by the tables of the provider's
    counts, which nothing here has read.
    """
    kind, _, stem = table.stem.partition("-")
    [path] = (SHARED / "transcripts" / FOLDERS[kind]).glob(f"{stem}*")
    with open(table, newline="") as file:
        told = {int(row[REQUEST[kind]]) for row in csv.DictReader(file) if row[REQUEST[kind]].isdigit()}
    log = opened(path)
    now = log.status().tokens.used or 0
    some = [(n, usage) for n, usage in counted(log) if usage.request in told]
    for (a, before), (z, after) in pairs(log, some, PAIRS):
        said, truth = after_forgetting(log, a, z), now - (after.request - before.request)
        assert said is not None and said >= (1 - LOW) * truth, f"forget {a}-{z - 1}: {said} for {truth}"


def figures(log: Log) -> dict[str, int | None]:
    """The size of a log's context, as each place tells it."""
    status = log.status()
    measured = status.tokens.measured
    around = (status.tokens.used or 0) - (measured.tokens if measured is not None else 0)
    course = plotted(log, around=around)
    found: dict[str, int | None] = {"status": status.tokens.used, "token log": change(log, log.state()).after}
    if course.points:
        found["--plot"] = course.points[-1].tokens
    if course.events and course.events[-1].op is not None and course.events[-1].point == len(course.points) - 1:
        found["--plot, its newest op"] = course.events[-1].after
    ops = [one for one in OpSizes(log) if one.after is not None]
    if ops and ops[-1].after is not None:
        found["log --tokens"] = ops[-1].after.tokens
    return found


def exported(log: Log) -> int | None:
    """What the session file that is made of it says; None where that is not the context: what ops parted was mended."""
    written = log.session(log.opening.format.name)
    made = b"".join(written.pieces)
    if written.repairs.dropped or written.repairs.made:
        return None
    tokens = Log.open(io.BytesIO(made), env={}).status().tokens
    counted = log.status().tokens.measured
    if counted is not None and counted.is_counted:
        assert tokens.measured is not None and tokens.measured.is_counted
    return tokens.used


OPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["forget", "recall", "remember", "clear", "mark", "rewind", "undo", "redo", "trim", "compact", "draft",
             "restore"]
        ),
        st.floats(0, 1), st.floats(0.01, 0.5),
    ),
    min_size=1, max_size=5,
)  # fmt: skip


def do(log: Log, name: str, place: float, share: float) -> int | None:
    """An op somewhere, and what it says that it leaves; what cannot be done is left."""
    count = len(log.messages)
    first = 1 + int(place * (count - 1))
    chosen = [f"{first}-{min(count, first + int(share * count))}"]
    match name:
        case "forget":
            log.forget(chosen, include_protected=True)
        case "recall" | "remember":
            getattr(log, name)(chosen)
        case "draft" | "restore":
            Command(name, first - 1, int(20 * share), flag=share > 0.25).call(log)
        case "trim":
            op = log.trim(int((1 - share) * (log.status().tokens.used or 0)))
            return op.after.tokens if op is not None and op.after is not None else None
        case "compact":
            log.compact(target=f"{int(100 * share) + 1}%", force=True)
            figures = log.figures
            return figures.after if figures is not None else None
        case _:
            getattr(log, name)()
    return None


NEAR = 0.0005
"""How far an exported session may be from it: sums of rounded figures."""


@pytest.mark.skipif(not SESSIONS, reason="the shared transcripts are not here")
@given(path=st.sampled_from(SESSIONS or [Path()]), ops=OPS)
@settings(max_examples=15)
def test_one_figure_everywhere(path: Path, ops: list[tuple[str, float, float]]) -> None:
    """After any ops: status, the token log, the plot, `log --tokens`, what the last op said of itself, and what the
    session that is exported then says.
    """
    log = Log.open(io.BytesIO(path.read_bytes()), env={})
    said: int | None = None
    for name, place, share in ops:
        try:
            said = do(log, name, place, share)
        except CtxkitError:
            continue
    found = figures(log)
    found |= {"the op itself": said} if said is not None else {}
    assert len(set(found.values())) == 1, found
    try:
        told = exported(log)
    except CtxkitError:
        return
    if told is not None and found["status"]:
        assert abs(told - found["status"]) <= max(2, NEAR * found["status"])


@pytest.mark.skipif(not SESSIONS, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
def test_an_export_of_what_little_is_left(path: Path) -> None:
    """Its last messages, and what a clear leaves: also where no counted reply is among them."""
    for op in (("remember", 0.98, 0.01), ("clear", 0.0, 0.0)):
        log = Log.open(io.BytesIO(path.read_bytes()), env={})
        try:
            do(log, *op)
            told = exported(log)
        except CtxkitError:
            continue
        used = log.status().tokens.used or 0
        assert told is None or abs(told - used) <= max(2, NEAR * used), op


STREAMED = transcripts("claude-code", under=900_000)
"""Sessions of a program that notes replies while they stream: of some the newest count is of a few tokens."""


@pytest.mark.skipif(not STREAMED, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", STREAMED, ids=lambda path: path.name)
def test_an_export_behind_a_reply_that_was_counted_while_it_streamed(path: Path) -> None:
    """What it comes to is told by the whole session, so that the one that is left does not estimate it anew."""
    log = Log.open(io.BytesIO(path.read_bytes()), env={})
    try:
        do(log, "compact", 0.0, 0.39)
        told = exported(log)
    except CtxkitError:
        return
    assert told is None or abs(told - (log.status().tokens.used or 0)) <= 2


def least(log: Log, names: Sequence[int]) -> float:
    """The least that a context of these messages can hold, by the provider's own requests: what each had around its
    messages, and of what came since the last one that shrank what is kept between two of them.
    """
    some = [(log.own().index(n), usage.request) for n, usage in counted(log)]
    low = min(log.status().tokens.measured.overhead or 0, *(request for _, request in some))  # type: ignore[union-attr]
    since = max((k for k in range(1, len(some)) if some[k][1] < some[k - 1][1]), default=0)
    kept = set(names)
    for (a, before), (z, after) in pairwise(some[since:]):
        low += (after - before) * all(n in kept for n in log.own()[a:z])
    return low


@pytest.mark.skipif(not SESSIONS, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
def test_a_part_is_never_smaller_than_what_stands_around_it(path: Path) -> None:
    """A stretch in which the program dropped results unsaid, kept by itself: these were in what was before it. All
    figures say so, and the session that is exported.
    """
    log = Log.open(io.BytesIO(path.read_bytes()), env={})
    requests = [(n, usage.request) for n, usage in counted(log)]
    fell = [(a, z) for (a, before), (z, after) in pairwise(requests) if after < before]
    chance = random.Random(path.name)
    for a, z in chance.sample(fell, min(3, len(fell))):
        log.remember([f"{a}-{z - 1}" if chance.random() < 0.5 else f"{a}-"])
        found = figures(log)
        names = [n for n in log.names() if isinstance(n, int)]
        assert len(set(found.values())) == 1, found
        assert (found["status"] or 0) >= (1 - NEAR) * least(log, names), f"{a}-{z - 1}"
        told = exported(log)
        assert told is None or abs(told - (found["status"] or 0)) <= max(2, NEAR * (found["status"] or 0))
        log.undo()


def test_thinking_that_does_not_go_out() -> None:
    """A model that binds it: behind a change it is in no figure, nor in what the exported session says."""
    found = []
    for model in ("claude-opus-4-5", "claude-opus-5-5"):
        rows: list[dict[str, Any]] = []
        for n in range(6):
            usage = {"input_tokens": 9000 + 700 * n, "output_tokens": 400}
            parts = [{"type": "thinking", "thinking": "so it is " * 120, "signature": "x" * 40},
                     {"type": "text", "text": "yes " * 40}]  # fmt: skip
            reply = {"role": "assistant", "id": f"m{n}", "model": model, "content": parts, "usage": usage,
                     "stop_reason": "end_turn"}  # fmt: skip
            for kind, message in (("user", {"role": "user", "content": "why? " * 40}), ("assistant", reply)):
                rows.append({"type": kind, "uuid": f"{kind[0]}{n}", "parentUuid": rows[-1]["uuid"] if rows else None,
                             "sessionId": "s", "timestamp": f"2026-02-01T10:00:{len(rows):02}Z", "isSidechain": False,
                             "message": message})  # fmt: skip
        log = Log.open(io.BytesIO(lines(*rows)), env={})
        log.forget(["3-4"])
        used, told = log.status().tokens.used, exported(log)
        assert used is not None and told is not None and abs(used - told) < 0.04 * used
        found.append(used)
    assert found[0] - 4 * 500 < found[1] < found[0] - 4 * 250


@pytest.mark.skipif(not SESSIONS, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
def test_what_a_forget_says(path: Path) -> None:
    """Its preview: just as many tokens as `status` shows less then."""
    log = Log.open(io.BytesIO(path.read_bytes()), env={})
    before = log.status().tokens.used or 0
    op = log.plan_forget([f"{len(log.messages) // 3}-{len(log.messages) // 2}"], include_protected=True).op
    assert op is not None
    told = ["".join(map(str, line)) for line in preview(log, op)]
    after = log.seen_at(log.state_with(log.stamp(op))).status().tokens.used or 0
    assert any(f" messages, {before - after:,} tokens (" in line for line in told), told


def compactions(path: Path) -> Iterator[tuple[int, int, int]]:
    """Of each compaction of its own program: the bytes of the file up to its summary, those up to the next counted
    reply, and the tokens of that one's request.
    """
    raw, log = path.read_bytes(), opened(path)
    view, rows = log.transcript.view, log.transcript.row_of
    made = {cut.row for cut in view.cuts if cut.is_compaction} if view is not None else set()
    ends = list(accumulate(map(len, raw.splitlines(keepends=True))))
    for row in sorted(made | {one.row for one in log.transcript.compactions}):  # those of branches too
        replies = (one for one in log.messages if rows[one.n - 1] > row and one.role == "assistant" and not one.thread)
        first, usage = next(((one, found) for one in replies if (found := log.usage(one.n))), (None, None))
        for end in ends[row:] if first is not None and usage is not None else ():
            seen = Log.open(io.BytesIO(raw[:end]), env={}).transcript.view
            if seen is not None and any(one.row == row for one in seen.cuts) and seen.order:
                yield end, first.offset, usage.request
                break
            if end >= first.offset:  # the file begins with this one
                break


COMPACTED = [path for path in transcripts("claude-code", "codex", "pi", under=1 << 23) if path.suffix == ".jsonl"]


@pytest.mark.skipif(not COMPACTED, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", COMPACTED, ids=lambda path: path.name)
def test_right_after_a_compaction(path: Path) -> None:
    """Nothing is counted since: `status` says between which figures the next request is, and there it is."""
    raw, found = path.read_bytes(), list(compactions(path))
    starts = [0, *(raw.rindex(b"\n", 0, raw.rindex(b"\n", 0, end - 1)) + 1 for end, *_ in found[:1])]
    for start, (*ends, truth) in product(starts, found):  # and a file that begins with its first compaction
        for end in ends if not start or truth != found[0][2] else ():
            told = Log.open(io.BytesIO(raw[start:end]), env={}).status().tokens.measured
            assert told is not None and told.known is None, end
            if told.trust == "guess":  # no request of the session was ever counted
                continue
            assert told.trust == "range" and told.least is not None and told.most is not None
            assert told.least <= truth <= told.most, (told.least, truth, told.most)
            assert told.least <= told.tokens <= told.most


@pytest.mark.skipif(not COMPACTED, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", COMPACTED, ids=lambda path: path.name)
def test_what_was_sent_once_leaves_with_a_resume(path: Path) -> None:
    """What Claude Code read again after its compaction, in no row: `status` tells both figures, `resume` and `trim` the
    one without it, and so does the session that is written, which has the overhead that this one began with.
    """
    log = Log.open(io.BytesIO(path.read_bytes()), env={})
    before = log.status().tokens.measured
    if before is None or not before.once:
        return
    assert next_request(log, own=True, stays=True).tokens == before.resumed < before.tokens
    assert log.trim(before.resumed) is None
    full = Log.open(io.BytesIO(path.read_bytes()), env={})  # for the program that goes on
    full.config.set_flags({"limit": f"{before.tokens}", "compact.threshold": "99"})
    assert full.compact(strategy="truncate") is not None, full.said
    op = log.trim(before.resumed - 3000)
    after = log.status().tokens.measured
    assert op is not None and op.after is not None and after is not None
    assert op.after.tokens == after.resumed <= before.resumed - 3000 and after.once == before.once
    made = Log.open(io.BytesIO(b"".join(log.session(log.opening.format.name).pieces)), env={}).status().tokens.measured
    assert made is not None and made.overhead is not None and before.overhead is not None and not made.once
    assert abs(made.tokens - after.resumed) <= max(2, NEAR * made.tokens)
    assert abs(made.overhead - before.overhead) < LEAST_ONCE

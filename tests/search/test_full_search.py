"""Recall: what a search finds, where it stands, and that looking at bytes first changes nothing."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.core.text.message_words import texts
from ctxkit.core.text.search_pattern import Needle
from ctxkit.errors import CtxkitError, Usage
from ctxkit.search.full_search import Search, SearchHit, chosen, states
from ctxkit.store.scan import Scan
from tests import build
from tests.cli.runner import FOREIGN, SMALL, lines, message
from tests.effort import examples
from tests.formats.codex import logs as codex
from tests.formats.pi import logs as pi
from tests.shared import shared
from tests.store.test_scan import scanning


def searched(content: bytes, text: str, *, traced: bool = True, **options: bool) -> list[SearchHit]:
    """The hits in a log, by way of its bytes or by decoding every message."""
    needle = Needle(text, **options)
    scan = Scan(needle.traces, fold=needle.ignore_case) if traced else None
    start = (lambda source: scan.start(source, early=False)) if scan is not None else None
    log = Log.open(io.BytesIO(content), before=start)
    return list(Search(log, needle, scan).hits())


def named(hits: list[SearchHit]) -> list[tuple[str, str]]:
    """Label and state of each."""
    return [(hit.label, hit.state) for hit in hits]


EVERYTHING = [
    ("forget 3", "forgotten by op 1"),
    ("remember 3", "left out by remember (op 1)"),
    ("mark | rewind", "in the context"),
    ("clear", "cleared by op 1"),
    ("compact 2-4", "compacted by op 1"),
    ("trim 3", "trimmed by op 1"),
    ('trim 2 stubs={"3":"[cut]"}', "in the context, shortened"),
    ("forget 3 | undo @1", "in the context"),
    ("edit 1", "left out by an edit (op 1)"),
]


@pytest.mark.parametrize(("ops", "state"), EVERYTHING)
def test_everything_is_searched(ops: str, state: str) -> None:
    """Whatever became of it."""
    records = build.log(f"1-6 | {ops}")
    plain = [record for record in records if "ctxkit" not in record]
    hits = searched(build.lines(f"1-6 | {ops}"), str(plain[2]["content"]))
    assert ("3", state) in named(hits)


def test_what_ops_brought_in() -> None:
    """Summaries, literals and shortened words, and what became of these."""
    spec = 'compact 2-3 text=zebra1 | trim 4 stubs={"5":"zebra2"} | edit 1,new:zebra3 | undo @3'
    hits = searched(build.lines(f"1-6 | {spec}"), "zebra")
    assert named(hits) == [("1.1", "in the context"), ("5", "in the context"), ("3.2", "undone by op 4")]
    assert [hit.by for hit in hits] == [1, 2, 3]


def test_words_that_were_replaced() -> None:
    """A summary that was told again, and one that was dropped."""
    spec = "compact 2-4 text=zebra | forget 3"
    assert named(searched(build.lines(f"1-6 | {spec}"), "zebra")) == [("1.1", "undone or replaced since")]


def test_exchanges_and_days() -> None:
    """Each hit names the user message that opened its exchange, and its day."""
    hits = searched(SMALL, "e")
    assert {hit.name: hit.exchange for hit in hits} == {1: 0, 2: 2, 3: 2, 6: 6, 9: 6, 10: 10, 11: 10}
    assert {hit.day for hit in hits} == {"2026-02-01"}


def test_excerpts() -> None:
    """The lines with the needle; the first three are kept, long ones cut around it."""
    text = "\n".join([*(f"line {i} zebra" for i in range(5)), "x" * 1000 + "zebra" + "y" * 1000])
    [hit] = searched(lines(message("user", text)), "zebra")
    assert (hit.lines, [one.line for one in hit.excerpts]) == (6, [1, 2, 3])
    assert all(one.text[low:high] == "zebra" for one in hit.excerpts for low, high in one.spans)
    [hit] = searched(lines(message("user", text.splitlines()[-1])), "zebra")
    assert (len(hit.excerpts[0].text), hit.excerpts[0].before, hit.excerpts[0].after) == (485, True, True)


def test_over_line_ends() -> None:
    """A needle of several lines."""
    [hit] = searched(lines(message("user", "one\ntwo\nthree")), "wo\nth")
    assert (hit.excerpts[0].text, hit.excerpts[0].spans, hit.excerpts[0].line) == ("two\nthree", [(1, 6)], 2)


def test_a_branch() -> None:
    """What the log's own program left behind."""
    other = FOREIGN.splitlines(keepends=True)[-1].replace(b'"u3"', b'"u4"').replace(b"more", b"instead")
    assert named(searched(FOREIGN + other, "more")) == [("3", "on another branch")]


def test_looking_back(tmp_path: Path) -> None:
    """With --at a search is that of the log as it was: without the rows that a message was given since."""
    path = tmp_path / "rollout.jsonl"
    rows = [codex.row(words) for words in ("user:hi", "say:one zebra", "say:two zebra")]
    path.write_bytes(lines(*rows[:2]))
    log = Log.open(path)
    log.mark("here")
    then = list(Search(log, Needle("zebra")).hits())
    path.write_bytes(lines(*rows))
    needle = Needle("zebra")
    for traces in (needle.traces, []):
        scan = Scan(traces)
        now = Log.open(path, before=partial(scan.start, early=False))
        assert [hit.lines for hit in Search(now, needle, scan).hits()] == [2]
        assert list(Search(now.seen_at("1"), needle, scan).hits()) == then


SESSION = pi.raw('user | bash:ls -l | branch | compaction>1 | user:old zebra | edit:"new lion"@5 | edit:"x lion"@5')


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Ran `ls", []), ("conversation history", []), ("came back from", []), ("ls -l", ["2"]), ("told", ["4"]),
     ("zebra", ["5"]), ("new lion", ["5"]), ("x lion", ["5"])],
)  # fmt: skip
def test_words_of_the_file(text: str, expected: list[str]) -> None:
    """Not those that a program puts around them, so that --regex finds the same; what an edit replaced, too."""
    for found in (searched(SESSION, text), searched(SESSION, text, traced=False), searched(SESSION, text, regex=True)):
        assert [hit.label for hit in found] == expected


def test_states() -> None:
    """Words of people and of ops; what is none is an error."""
    assert states("forgotten") == states("forget") == {"forget"}
    assert "in" not in states("out") and states("in,compacted") == {"in", "compact"}
    with pytest.raises(Usage, match="is not a state"):
        states("lost")


def test_chosen() -> None:
    """What can be brought back: messages, and what stands on the board."""
    log = Log.open(io.BytesIO(build.lines("1-6 | edit 1,new:zebra | undo @1")))
    assert not chosen(log, Search(log, Needle("zebra")).hits())


NEEDLES = ["a", '"', "\\", "\\n", "\n", "/", "é", "😀", 'say "x"', "a/b", "u0041", "A", "K", "1.5", "100000.0", "12",
           "\x7f", "a\nb", "{", '{"', "日本", " ", "ſ"]  # fmt: skip
TEXTS = st.lists(st.sampled_from([*NEEDLES, "x", "k", "S", "lorem "]), max_size=6).map("".join)


@given(contents=st.lists(TEXTS, min_size=1, max_size=6), text=st.sampled_from(NEEDLES), fold=st.booleans(),
       ascii_only=st.booleans(), glued=st.booleans())  # fmt: skip
@settings(max_examples=examples(200))
def test_bytes_first_changes_nothing(contents: list[str], text: str, fold: bool, ascii_only: bool, glued: bool) -> None:
    """The same hits as from decoding every message: quotes, escapes, other alphabets, two records on a line."""
    records: list[dict[str, Any]] = []
    for i, content in enumerate(contents):
        records.append({"role": "user", "content": content})
        if i % 2:
            made = {"name": "Bash", "arguments": json.dumps({"command": content, "n": 1e5})}
            records.append({"role": "assistant", "content": None, "tool_calls": [{"id": f"c{i}", "function": made}]})
    end = "" if glued else "\n"
    raw = "".join(json.dumps(record, ensure_ascii=ascii_only) + end for record in records).encode() + b"\n"
    naive = searched(raw, text, traced=False, ignore_case=fold)
    assert searched(raw, text, ignore_case=fold) == naive
    needle = Needle(text, ignore_case=fold)
    log = Log.open(io.BytesIO(raw))
    words = {n: [found.text for found in texts(log.content(n))] for n in range(1, len(log.messages) + 1)}
    assert [hit.name for hit in naive] == [n for n, found in words.items() if any(map(needle.within, found))]


@pytest.mark.parametrize("text", ["the", "Read", "session", 'n"', "…", "\\", "1.0", "zebra crossing"])
def test_real_transcripts(text: str) -> None:
    """The same on files that other programs wrote."""
    looked = 0
    for path in sorted(shared("transcripts").rglob("*.jsonl"), key=lambda path: path.stat().st_size):
        if looked > 12 or path.stat().st_size > 1_500_000:
            break
        raw = path.read_bytes()
        try:
            naive = searched(raw, text, traced=False)
        except CtxkitError:  # another format, or many conversations
            continue
        assert searched(raw, text) == naive, path
        looked += 1
    assert looked


def test_a_large_log_beside_the_scan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The scan runs in another thread; the hits are the same."""
    monkeypatch.setattr(scanning, "LARGE", 1)
    monkeypatch.setattr(scanning, "PIECE", 100)
    raw = lines(*(message("user", f"message {i} é") for i in range(300)))
    assert searched(raw, "message 2") == searched(raw, "message 2", traced=False)

"""The memory of a project: what adds, supersedes, extracts, undoes; what programs get of it."""

from __future__ import annotations

import json
from contextlib import nullcontext
from itertools import permutations
from pathlib import Path

import pytest

from ctxkit import Log, Memory
from ctxkit.core.select import Selection
from ctxkit.core.sets.ranges import Ranges
from ctxkit.errors import NoSuchNote, NothingChanges, Usage
from ctxkit.memory import memory as module
from ctxkit.memory.notes import RULES, MemoryChange, MemoryNote
from ctxkit.memory.sources import prefix_of, source_of
from tests.cli.runner import call, message
from tests.formats.claude_code.logs import assistant, user
from tests.formats.claude_code.logs import log as rows_of

TALK = [
    message("user", "The login is slow. Let's use an index on email instead of a cache.", 1),
    message("user", "We decided to use a partial index.", 2),
    message("assistant", "Good.", 3, tool_calls=[call("TodoWrite", "t1", todos=[
        {"content": "Read the model", "status": "completed"},
        {"content": "Test it on PostgreSQL 16", "status": "pending"},
    ])]),
]  # fmt: skip
MORE = message("user", "We decided to use a hash index instead of the partial one.", 4)


@pytest.fixture
def memory(shop: Path) -> Memory:
    """The memory of the project, at a fixed time."""
    return Memory(clock=lambda: 1_770_000_000)


def log_of(shop: Path, *rows: dict[str, object], name: str = "log.jsonl") -> Log:
    """A log with these messages."""
    (shop / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Log.open(shop / name)


def texts(memory: Memory) -> list[str]:
    """The notes that stand."""
    return [one.note.text for one in memory.current()]


def test_one_memory_per_project(memory: Memory, shop: Path) -> None:
    """From any folder of the project; another project has its own."""
    memory.add("the port is 8080")
    (shop / "src").mkdir()
    (shop.parent / "other").mkdir()
    assert texts(Memory(shop / "src")) == ["the port is 8080"]
    assert texts(Memory(shop.parent / "other")) == []


def test_by_hand(memory: Memory) -> None:
    """Added, superseded, undone, redone: numbers stay."""
    memory.add("  the port\nis 8080 ")
    memory.add("tests need Docker", "open")
    change = memory.supersede([1], "the port is 9090")
    assert change.notes[0].kind == "note" and texts(memory) == ["tests need Docker", "the port is 9090"]
    assert [(one.number, one.by) for one in memory.notes(all=True)] == [(1, 3), (2, None), (3, None)]
    memory.supersede([2, 3])
    assert texts(memory) == []
    memory.undo()
    memory.undo()
    assert texts(memory) == ["the port is 8080", "tests need Docker"]
    memory.redo()
    assert [one.number for one in memory.current()] == [2, 3]
    memory.supersede([2], "in CI", "decision")
    assert memory.current()[-1].note.kind == "decision"
    with pytest.raises(NoSuchNote, match="nothing to redo"):
        memory.redo()


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [(" \n", "note", "the note is empty"), ("x" * 2001, "note", "at most 2,000 characters"), ("x", "plan", "no kind")],
)
def test_refused_notes(memory: Memory, text: str, kind: str, said: str) -> None:
    """Nothing is kept of a note that is none."""
    with pytest.raises(Usage, match=said):
        memory.add(text, kind)
    assert not memory.path.exists()


def test_refused_changes(memory: Memory) -> None:
    """A note that is not there, or does not stand, cannot be superseded; nothing to undo is an error."""
    with pytest.raises(NoSuchNote, match="nothing to undo"):
        memory.undo()
    with pytest.raises(NoSuchNote, match="no note 1: nothing was changed"):
        memory.supersede([1])
    memory.add("a")
    memory.supersede([1], "b")
    with pytest.raises(NoSuchNote, match="note 1 is superseded by 2 already"):
        memory.supersede([1], "c")
    with pytest.raises(NoSuchNote, match="no note 3"):
        memory.supersede([2, 3], "c")
    with pytest.raises(Usage, match="no note was named"):
        memory.supersede([])
    assert texts(memory) == ["b"]


def test_another_process_was_faster(memory: Memory) -> None:
    """What was decided on an older state of the file is refused under the lock."""
    memory.add("a")
    other = Memory()
    assert texts(memory) == texts(other) == ["a"]
    other.supersede([1], "b")
    with pytest.raises(NothingChanges, match="changed meanwhile"):
        memory.supersede([1], "c")
    memory._read = None
    assert texts(memory) == ["b"]
    memory.notes()
    other.add("d")
    with pytest.raises(NothingChanges, match="changed meanwhile"):
        memory.undo()


def test_extract_again(memory: Memory, shop: Path) -> None:
    """Nothing new appends nothing; a session that grew supersedes its own notes, and no others."""
    memory.add("by hand")
    log_of(shop, message("user", "Is the port 8080?", 0), *TALK, name="other.jsonl")
    memory.extract(Log.open(shop / "other.jsonl"))
    first = memory.extract(log_of(shop, *TALK))
    assert first is not None and not first.supersedes
    raw = memory.path.read_bytes()
    assert memory.extract(Log.open(shop / "log.jsonl")) is None and memory.path.read_bytes() == raw
    assert memory.is_known("log.jsonl", (shop / "log.jsonl").stat().st_size) and not memory.is_known("log.jsonl", 1)
    kept = texts(memory)
    second = memory.extract(log_of(shop, *TALK, MORE))
    assert second is not None and len(second.supersedes) == 1  # the gist
    assert {note.kind for note in second.notes} == {"gist", "decision"}
    now = texts(memory)
    assert "by hand" in now and len([text for text in now if text.startswith("4 messages")]) == 2
    memory.undo()
    assert texts(memory) == kept


def test_what_a_person_superseded_stays_away(memory: Memory, shop: Path) -> None:
    """Rules do not bring it back, unless the extraction was undone."""
    log = log_of(shop, *TALK)
    memory.extract(log)
    decided = next(one for one in memory.current() if one.note.kind == "decision")
    memory.supersede([decided.number])
    assert memory.extract(log) is None
    memory.undo()
    memory.undo()
    assert texts(memory) == []
    assert memory.extract(log) is not None and decided.note.text in texts(memory)


def test_two_extractions_at_once(memory: Memory, shop: Path) -> None:
    """Two processes that note the same session add each note once."""
    other = Memory()
    assert memory.notes() == other.notes() == []
    log = log_of(shop, *TALK)
    memory.add("by hand")
    memory.extract(log)
    before = texts(memory)
    other.extract(log)
    memory._read = None
    assert texts(memory) == before
    assert {one.state for one in memory.notes(all=True)} == {"current", "repeated"}


def test_dry_run(memory: Memory, shop: Path) -> None:
    """It decides and appends nothing."""
    memory.dry_run = True
    assert memory.add("a").notes[0].text == "a" and memory.extract(log_of(shop, *TALK)) is not None
    assert not memory.path.exists() and memory.current() == []


def test_text(memory: Memory, shop: Path) -> None:
    """For a context: within the budget, by importance or by a topic; the same each time."""
    assert memory.text() == "" == memory.status_line()
    memory.extract(log_of(shop, *TALK))
    memory.add("deploy on Fridays only", "decision")
    text = memory.text()
    assert text == memory.text() and "deploy on Fridays only" in text and "(log.jsonl#1)" in text
    assert "Fridays" not in memory.text(about="index") and "index" in memory.text(about="index")
    assert memory.text(about="zebra") == ""
    for budget in (0, 20, 40, 80):
        found = memory.text(budget, count=lambda text: len(text.split()))
        assert len(found.split()) <= budget
    assert memory.text(10**6, model="gpt-4o") == text
    assert memory.status_line() == (
        'Project notes: 5, 1 of open work; newest decision (by hand): "deploy on Fridays only"'
    )  # fmt: skip


def test_what_was_superseded_is_in_no_gist_of_a_context(memory: Memory, shop: Path) -> None:
    """A gist repeats what was said last: once that is superseded, it goes into no context; the list has it."""
    memory.extract(log_of(shop, *TALK))
    assert "Asked last: We decided to use a partial index" in memory.text()
    decided = next(one for one in memory.current() if one.note.text.startswith("We decided"))
    memory.supersede([decided.number], "a full index")
    assert "partial" not in memory.text() and "a full index" in memory.text()
    assert any("partial" in text for text in texts(memory))
    [gist] = [one for one in memory.notes() if one.note.kind == "gist"]
    assert (gist.state, gist.repeats) == ("outdated", decided.number)
    memory.undo()
    assert {one.state for one in memory.notes()} == {"current"}
    assert "Asked last: We decided to use a partial index" in memory.text()


def test_text_without_fts5(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic needs SQLite's full-text search."""
    memory.add("a")
    monkeypatch.setattr(module, "available", lambda: False)
    with pytest.raises(Usage, match="without FTS5"):
        memory.text(about="a")
    assert memory.text()


def test_sources_by_hand(memory: Memory, shop: Path) -> None:
    """A note by hand can name its messages, and how their log began is recorded."""
    from ctxkit.memory.sources import source_of

    log = log_of(shop, *TALK)
    change = memory.add("indexes", sources=[source_of(log, log.select(Selection(ids=("2",))).numbers)])
    assert isinstance(change, MemoryChange) and [one.log for one in change.read] == [str(shop / "log.jsonl")]
    assert memory.current()[0].note.sources[0].name == "log.jsonl#2"


def test_forgotten_and_back(memory: Memory, shop: Path) -> None:
    """A note whose every message was forgotten is not shown, nor one that was cleared; an undo brings it back."""
    log = log_of(shop, *TALK)
    memory.extract(log)
    memory.add("a partial index", sources=[source_of(log, [2])])
    memory.add("of both", sources=[source_of(log, [1, 2])])
    decisions = ["Let's use an index", "We decided to use a partial index."]
    for leave in (lambda: log.forget("2", include_protected=True), log.clear):
        shown = texts(memory)
        assert all(any(text in note for note in shown) for text in (*decisions, "a partial index", "of both"))
        leave()
        now = texts(memory)
        assert decisions[1] not in now and "a partial index" not in now and "partial" not in memory.text()
        assert not any("decided to use a partial" in note for note in now), "a gist repeats it"
        hidden = {one.sources for one in memory.notes() if not one.may_be_shown}
        assert hidden == {"forgotten"}
        log.undo()
    assert texts(memory) == shown
    log.compact(target="30%", keep_last=0)
    assert texts(memory) == shown


@pytest.mark.parametrize("kind", ["gist", "files"])
def test_what_sums_up_a_forgotten_message(memory: Memory, shop: Path, kind: str) -> None:
    """It is not shown until that is undone, or it is made anew: of the others, even if it has the same words."""
    wrote = [call("Write", f"c{n}", path="shop/zebra.py", content="x") for n in range(2)]
    rows = [message("assistant", f"I wrote it, {n}.", n + 4, tool_calls=[one]) for n, one in enumerate(wrote)]
    log = log_of(shop, *TALK, *rows, message("user", "Is it a zebra?", 6))

    def shown() -> list[str]:
        return [one.note.text for one in memory.current() if one.note.kind == kind]

    def say(names: object, pieces: object) -> str:
        return "About zebras."

    memory.extract(log, say, "m")
    assert (len(shown()), "zebra" in memory.text()) == (1, True)
    log.forget("5", include_protected=True)
    assert shown() == []
    assert {one.sources for one in memory.notes() if one.note.kind == kind} == {"forgotten"}
    log.undo()
    assert len(shown()) == 1
    log.forget("5", include_protected=True)
    assert memory.extract(log, say, "m") is not None and memory.extract(log, say, "m") is None
    assert len(shown()) == 1
    log.forget("6", include_protected=True)
    memory.extract(log)
    assert not any("Is it a zebra" in text for text in texts(memory))
    log.undo()
    memory.extract(log)
    assert any("Is it a zebra" in text for text in texts(memory))


def test_forgotten_words_that_are_no_note(memory: Memory, shop: Path) -> None:
    """A gist has words of messages of which there is no note: they go with a forget, too."""
    log = log_of(shop, *TALK, message("user", "Is it a zebra?", 4))
    memory.extract(log)
    assert "zebra" in memory.text()
    log.forget("4", include_protected=True)
    assert "zebra" not in memory.text() and not any("zebra" in text for text in texts(memory))
    memory.extract(log)
    assert any(text.startswith("3 messages") for text in texts(memory)) and "zebra" not in memory.text()


def test_forgotten_beside_a_session(memory: Memory, shop: Path) -> None:
    """The same by an op in a sidecar, which a bare `extract` notices too."""
    rows = [user("u1", None, "We decided to use a hash index instead."), assistant("a1", "u1", "Good.")]
    (shop / "session.jsonl").write_bytes(rows_of(*rows))
    log = Log.open(shop / "session.jsonl")
    memory.extract(log)
    size = (shop / "session.jsonl").stat().st_size
    one = next(one for one in memory.current() if len(Ranges.parse(one.note.sources[0].n)) == 1)
    before = texts(memory)
    assert memory.is_known("session.jsonl", size)
    log.forget(one.note.sources[0].n, include_protected=True)
    assert not memory.is_known("session.jsonl", size) and one.note.text not in texts(memory)
    memory.extract(log)
    assert memory.is_known("session.jsonl", size)
    log.undo()
    assert not memory.is_known("session.jsonl", size)
    memory.extract(log)
    assert sorted(texts(memory)) == sorted(before) and memory.is_known("session.jsonl", size)


def test_forget_extract_undo_extract(memory: Memory, shop: Path) -> None:
    """Notes that rules superseded come back with their messages; those that a person superseded do not."""
    log = log_of(shop, *TALK, message("user", "We decided to use Redis for all the sessions.", 4))
    memory.extract(log)
    before = sorted(texts(memory))
    [redis] = [one for one in memory.current() if "Redis" in one.note.text and one.note.kind == "decision"]
    for _ in range(2):
        log.forget("2")
        memory.extract(log)
        assert "We decided to use a partial index." not in texts(memory)
        log.undo()
        memory.extract(log)
        assert sorted(texts(memory)) == before
    [redis] = [one for one in memory.current() if "Redis" in one.note.text and one.note.kind == "decision"]
    memory.supersede([redis.number])
    log.forget("2")
    memory.extract(log)
    log.undo()
    memory.extract(log)
    assert sorted([*texts(memory), redis.note.text]) == before


def test_a_gist_supersedes_no_decision(memory: Memory, shop: Path) -> None:
    """A note that its session has no more is superseded by none, and not by the new gist."""
    memory.extract(log_of(shop, *TALK))
    log = Log.open(shop / "log.jsonl")
    log.forget("2")
    memory.extract(log)
    rest = [one for one in memory.notes(all=True) if one.state == "superseded"]
    kinds = {one.number: one.note.kind for one in memory.notes(all=True)}
    assert {one.note.kind for one in rest} >= {"decision", "gist"}
    assert all(one.by is None or kinds[one.by] == one.note.kind for one in rest)
    assert any(one.by is None for one in rest if one.note.kind == "decision")


def test_another_process_adds(memory: Memory, shop: Path) -> None:
    """The text of a memory that is open has what came meanwhile."""
    assert memory.text() == ""
    Memory(shop).add("the port is 8080")
    assert "- by hand: the port is 8080" in memory.text()


def grown(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """A session that goes on."""
    return [*rows, MORE, message("assistant", "Good.", 5)]


@pytest.mark.parametrize("order", list(permutations(["a", "copy", "fork"])), ids="-".join)
@pytest.mark.parametrize("together", [False, True])
def test_copies_count_once(memory: Memory, shop: Path, order: tuple[str, ...], together: bool) -> None:
    """Of a session, its copy and a fork that went on only the fork has notes, in whatever order they are read; again,
    nothing changes. One undo of one command takes all of it back.
    """
    sessions = {"a": TALK, "copy": TALK, "fork": grown(TALK)}
    logs = {name: log_of(shop, *rows, name=f"{name}.jsonl") for name, rows in sessions.items()}
    other = log_of(shop, *TALK[:2], message("user", "No.", 3), name="other.jsonl")
    memory.extract(other)
    before, count = texts(memory), len(memory.read.rows)
    for _ in range(2):
        with memory.one_change() if together else nullcontext():
            for name in order:
                memory.extract(logs[name])
    now = [(one.note.kind, one.note.sources[0].name.partition("#")[0]) for one in memory.current()]
    assert {log for _, log in now} == {"fork.jsonl", "other.jsonl"}
    kinds = [kind for kind, log in now if log == "fork.jsonl"]
    assert sorted(kinds) == ["decision", "gist", "open"], "the other log has the decisions that both have"
    if together:
        assert len(memory.read.rows) == count + 1
        memory.undo()
        assert texts(memory) == before


def test_a_session_that_begins_alike_is_no_copy(memory: Memory, shop: Path) -> None:
    """Of two that were begun with the same words and went on differently both are noted."""
    for name in ("a", "b"):
        memory.extract(
            log_of(shop, *TALK[:2], message("user", f"Never touch the folder {name} again.", 3), name=f"{name}.jsonl")
        )
    found = texts(memory)
    assert sum(text.startswith("3 messages") for text in found) == 2
    assert all(sum(text == f"Never touch the folder {name} again." for text in found) == 1 for name in "ab")
    assert found.count("We decided to use a partial index.") == 1


def test_one_change_after_an_error(memory: Memory, shop: Path) -> None:
    """What was read before it is kept."""
    with pytest.raises(RuntimeError), memory.one_change():
        memory.extract(log_of(shop, *TALK))
        raise RuntimeError
    assert len(texts(memory)) == 4


def test_notes_of_older_rules(memory: Memory, shop: Path) -> None:
    """They say that nobody knows whose words they are, until a bare `extract` makes them anew."""
    log = log_of(shop, *TALK)
    source = source_of(log, [3])
    old = MemoryNote("r1", "Which approach would you prefer?", "decision", RULES, (source,))
    read = prefix_of(log)
    memory._append(notes=(old,), read=[read])
    assert "- user or assistant: Which approach" in memory.text()
    assert not memory.is_known("log.jsonl", read.size)
    memory.extract(log)
    assert "Which approach" not in memory.text() and memory.is_known("log.jsonl", read.size)
    memory.add("a note by hand", sources=[source_of(log_of(shop, MORE, name="more.jsonl"), [1])])
    assert not memory.is_known("more.jsonl", (shop / "more.jsonl").stat().st_size), "it was cited, and not read"

"""Notes by rules: what is noted of a session, from which messages; the same session gives the same notes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.cut.summarize.state_header import asked
from ctxkit.cut.units.pasted import typed
from ctxkit.cut.units.text_segments import SegmentKind, all_pieces
from ctxkit.memory.decisions import NEWEST
from ctxkit.memory.extract import FILES, OPEN_WORK, TYPED, notes_of, plain, says_something
from ctxkit.memory.notes import RULES
from tests.cli.runner import call, good, message
from tests.cut.units.test_pasted import OWN, PASTED
from tests.shared import transcripts

CHOICE = "Let's use an index on email instead of a cache."
PLAN = (
    "We will use a partial index rather than a full one.\n\n## Conclusion:\n\n"
    "Still need to test it on PostgreSQL 16 with real rows."
)
TODO = [
    {"content": "Read the model", "status": "completed"},
    {"content": "Test it on PostgreSQL 16", "status": "pending"},
]
TALK = [
    message("system", "be brief", 0),
    message("user", f"The login is slow. {CHOICE}", 1),
    message("assistant", "I read the model first.", 2, tool_calls=[call("Read", "c1", path="shop/model.py")]),
    message("tool", "class User: ...", 3, tool_call_id="c1"),
    message("assistant", PLAN, 4, tool_calls=[call("Write", "c2", path="shop/model.py", content="index = 1")]),
    message("tool", "ok", 5, tool_call_id="c2"),
    message("assistant", "Next.", 6, tool_calls=[call("TodoWrite", "c3", todos=TODO)]),
    message("tool", "ok", 7, tool_call_id="c3"),
    message("user", "We'll use the key ghp_" + "a1" * 18 + " for the upload job.", 8, name="ann"),
]  # fmt: skip


def log_of(path: Path, rows: list[dict[str, object]] = TALK) -> Log:
    """A log with these messages."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Log.open(path)


def of_kind(rows: list[dict[str, object]], kind: str, folder: Path) -> list[str]:
    """The texts of the notes of a kind."""
    return [note.text for note in notes_of(log_of(folder / "log.jsonl", rows)) if note.kind == kind]


def test_what_is_noted(tmp_path: Path) -> None:
    """A gist of all messages; decisions of a person and open work of a list from their messages; files from calls."""
    notes = notes_of(log_of(tmp_path / "log.jsonl"))
    found = [(note.kind, note.text, note.sources[0].name, note.said, note.name) for note in notes]
    assert found[1:3] == [
        ("decision", CHOICE, "log.jsonl#2", "user", ""),
        ("decision", found[2][1], "log.jsonl#9", "user", "ann"),
    ]
    assert found[3:] == [
        ("open", "Test it on PostgreSQL 16", "log.jsonl#7", "assistant", ""),
        ("files", "Edited: shop/model.py.", "log.jsonl#5", "", ""),
    ]
    assert found[0][0] == "gist" and found[0][1].startswith("8 messages: edited shop/model.py")
    assert notes[0].sources[0].n == "2-9" and {note.made for note in notes} == {RULES}
    assert "partial index" not in repr(notes), "the model's words are no decision, and in no gist"


@pytest.mark.parametrize("words", [
    "Which approach would you prefer?", "The follow-up was sent.", "I decided to look at the tests first, then.",
    "We will use a partial index rather than a full one.", "There is still one remaining failure in the tests.",
])  # fmt: skip
def test_what_the_model_says(words: str, tmp_path: Path) -> None:
    """It is no decision, and nothing that it announces is a task."""
    rows = [message("user", "Please look at the login.", 1), message("assistant", words, 2)]
    assert of_kind(rows, "decision", tmp_path) == of_kind(rows, "open", tmp_path) == []
    assert words.rstrip(".?")[:30] not in of_kind(rows, "gist", tmp_path)[0]


@pytest.mark.parametrize(("words", "expected"), [
    ("Never rebuild the website on every run.", True), ("We decided to use Redis for the sessions.", True),
    ("Let's go with the second option then.", True), ("Should we go with the second option?", False),
    ("I wonder if we go with the second option", False), ("The cause was a missing index there.", False),
    ("Don't do that.", False), ("Never rebuild it. " + "This is a long text of a program. " * 40, False),
])  # fmt: skip
def test_what_a_person_says(words: str, expected: bool, tmp_path: Path) -> None:
    """A rule and a choice are decisions; a question, a thought, a few words, and a text that nobody types are not."""
    assert (of_kind([message("user", words, 1)], "decision", tmp_path) != []) is expected


@pytest.mark.parametrize("kind", PASTED)
def test_what_a_person_pastes(kind: str, tmp_path: Path) -> None:
    """It is no decision of the person; what they typed beside it is, however long the pasted text is."""
    rows = [message("user", f"{OWN}\n\n{PASTED[kind]}\n\n" + "> a quote\n" * 200, 1)]
    assert of_kind(rows, "decision", tmp_path) == [OWN]


def test_an_answer_to_a_question_of_the_model(tmp_path: Path) -> None:
    """It is the user's, with the question; the name of the tool is nobody's name."""
    rows = [message("user", "Go on.", 0), message("assistant", "", 1, tool_calls=[call("AskUserQuestion", "c1")]),
            message("tool", 'User has answered: "Which port should we use?"="Never 80, take 81"', 2, tool_call_id="c1",
                    name="AskUserQuestion")]  # fmt: skip
    [note] = [one for one in notes_of(log_of(tmp_path / "log.jsonl", rows)) if one.kind == "decision"]
    assert (note.text, note.said, note.name) == ("Which port should we use? = Never 80, take 81", "user", "")


def test_secrets_are_replaced(tmp_path: Path) -> None:
    """A note outlives its session, and goes to models: no secret that is known as one is in it."""
    notes = notes_of(log_of(tmp_path / "log.jsonl"))
    assert any("upload job" in note.text for note in notes)
    assert "a1a1a1" not in repr(notes)


def test_the_same_again(tmp_path: Path) -> None:
    """Ids depend on the session and the words alone, so that a second process adds nothing."""
    first, second = (notes_of(log_of(tmp_path / "log.jsonl")) for _ in range(2))
    assert first == second and len({note.id for note in first}) == len(first)
    other = notes_of(log_of(tmp_path / "other.jsonl"))
    assert not {note.id for note in first} & {note.id for note in other}


def test_what_was_forgotten_is_not_noted(tmp_path: Path) -> None:
    """Forgotten, rewound and cleared messages are not; compacted and trimmed ones are."""
    log_of(tmp_path / "log.jsonl")
    path = tmp_path / "log.jsonl"
    good("compact", path, "--force", "--summary-file", "-", stdin=b"talk about an index")
    assert "instead of a cache" in repr(notes_of(Log.open(path)))
    good("undo", path)
    good("forget", path, "2", "--include-protected")
    assert "instead of a cache" not in repr(notes_of(Log.open(path)))
    good("clear", path)
    assert notes_of(Log.open(path)) == []


def test_nothing_to_note(tmp_path: Path) -> None:
    """A log without words has no notes."""
    assert notes_of(log_of(tmp_path / "log.jsonl", [])) == []
    assert notes_of(log_of(tmp_path / "log.jsonl", [message("user", "")])) == []


def test_bounds(tmp_path: Path) -> None:
    """A long session has few notes: the newest decisions, the first open tasks, the newest files."""
    rows = [message("user", "Go on with everything that is left, please.", 0)]
    for n in range(40):
        calls = [call("Write", f"c{n}", path=f"src/part{n}.py", content="x")]
        rows.append(message("user", f"We decided to use library number{n} for part{n}.", n))
        rows.append(message("assistant", "", n, tool_calls=calls))
        rows.append(message("tool", "ok", n, tool_call_id=f"c{n}"))
    todos = [{"content": f"task {n}", "status": "pending"} for n in range(40)]
    rows.append(message("assistant", "", 41, tool_calls=[call("TodoWrite", "t", todos=todos)]))
    notes = notes_of(log_of(tmp_path / "log.jsonl", rows))
    kinds = [note.kind for note in notes]
    assert (kinds.count("decision"), kinds.count("open")) == (NEWEST, OPEN_WORK)
    [files] = [note for note in notes if note.kind == "files"]
    assert files.text.startswith("Edited: src/part39.py, src/part38.py") and f"and {40 - FILES} more" in files.text
    assert "part39" in notes[kinds.index("open") - 1].text and notes[kinds.index("open")].text == "task 0"


def test_a_model_writes_the_gist(tmp_path: Path) -> None:
    """Its words replace those of the rules, under its name; if it gives none, rules write."""
    log = log_of(tmp_path / "log.jsonl")
    by_model = notes_of(log, lambda names, pieces: f"{len(names)} messages about an index.", "openai/x")
    assert [(note.made, note.text) for note in by_model if note.kind == "gist"] == [
        ("openai/x", "8 messages about an index.")
    ]
    assert notes_of(log, lambda names, pieces: "", "openai/x") == notes_of(log)


def test_lines_that_say_something() -> None:
    """A heading, and a line of two words, say nothing when they stand alone."""
    assert plain("- **Fix** the | port |\n of it") == "Fix the port of it"
    assert [says_something(text) for text in ("### We decided to use an index", "Decided, then:", "Use it instead.",
                                              "We decided to use an index")] == [False, False, False, True]  # fmt: skip


REAL = [*transcripts("claude-code", "codex", "pi", "copilot-cli", "swe-agent", "mini-swe-agent", under=3_000_000)]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_sessions(path: Path) -> None:
    """Every decision is in a text that a person typed, in the message that the note names."""
    log = Log.open(path)
    for note in notes_of(log):
        assert note.said in ({"decision": {"user"}, "open": {"assistant", "tool"}}.get(note.kind, {""}))
        if note.kind == "decision":
            number = int(note.sources[0].n)
            pieces = all_pieces([(n, log.recorded(n)) for n in range(1, number + 1)])
            mine = [one for one in pieces if one.name == number]
            said = [typed(one.text) for one in mine if one.kind == SegmentKind.USER]
            said += [asked(one) for one in mine if one.kind == SegmentKind.NOTICE]  # arguments of a command
            answer = note.text.rpartition(" = ")[2]
            assert any(len(text.strip()) <= TYPED and answer in plain(text) for text in said)

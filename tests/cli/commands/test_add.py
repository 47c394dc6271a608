"""add: a message at the end of a log."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from ctxkit.core.roles import SIDES
from ctxkit.errors import WriteFailed
from ctxkit.logfile import append
from tests.cli.runner import FOREIGN, SMALL, ctxkit, good, lines, message, shown, small


def last(path: Path) -> dict[str, object]:
    """The newest line."""
    found: dict[str, object] = json.loads(path.read_bytes().splitlines()[-1])
    return found


def test_message(tmp_path: Path) -> None:
    """A user's, unless --role; its time is now, unless --ts; only what was given is written."""
    path = small(tmp_path)
    ran = good("add", path, "hello")
    assert (ran.out, ran.err) == (b"", "Added message 12.\n")
    assert {key: value for key, value in last(path).items() if key != "ts"} == {"role": "user", "content": "hello"}
    assert str(last(path)["ts"]).endswith("Z")
    words = [
        "--role",
        "assistant",
        "--agent",
        "sam",
        "--thread",
        "t",
        "--name",
        "n",
        "--model",
        "m",
        "--ts",
        "2026-03-01",
    ]
    good("add", path, "yes", *words)
    assert last(path) == {"role": "assistant", "content": "yes", "ts": "2026-03-01T00:00:00Z", "name": "n",
                          "agent": "sam", "thread": "t", "model": "m"}  # fmt: skip
    assert shown(path)[-2:] == [12, 13]
    assert path.read_bytes().startswith(SMALL)


@pytest.mark.parametrize(
    ("role", "near"),
    [("assitant", "the nearest is assistant"), ("usr", "the nearest is user"), ("Frodo", "known: user, human,"),
     ("", "known: user,"), (" user", "the nearest is user")],
)  # fmt: skip
def test_role_that_nobody_knows(tmp_path: Path, role: str, near: str) -> None:
    """Exit 2, nothing changed, and the nearest role is named: a model would get the words as the user's."""
    path = small(tmp_path)
    for words in (["add", path, "I set the port to 80.", "--role", role], ["add", "-", "text", "--role", role]):
        ran = ctxkit(*words, stdin=SMALL)
        assert (ran.code, ran.out) == (2, b"") and path.read_bytes() == SMALL
        assert f"unknown role {role!r}: nothing was added" in ran.err
        assert near in ran.err and "a speaker is a `name` (--name)" in ran.err
    ran = ctxkit("add", tmp_path / "new.jsonl", "x", "--role", role, "--create")
    assert ran.code == 2 and not (tmp_path / "new.jsonl").exists()


@pytest.mark.parametrize("role", [*SIDES, "tool_use", "tool_result", "Assistant"])
def test_known_roles(tmp_path: Path, role: str) -> None:
    """Each is written as it was typed, without a word about it."""
    path = small(tmp_path)
    assert good("add", path, "text", "--role", role).err == "Added message 12.\n"
    assert last(path)["role"] == role


def test_rows_with_unknown_roles(tmp_path: Path) -> None:
    """--messages and pipes take rows as they are, and say which roles nobody knows."""
    path = small(tmp_path)
    rows = lines(message("Frodo", "a"), message("assitant", ""), message("assitant", "c"), message("user", ""))
    ran = good("add", path, "-", "--messages", stdin=rows)
    assert ran.err.startswith("Added 4 messages.\n") and ran.err.count(" is unknown") == 2
    assert "role 'assitant' is unknown (nearest: assistant): " in ran.err and "role 'Frodo' is unknown: " in ran.err
    assert [json.loads(line)["content"] for line in path.read_bytes().splitlines()[-4:]] == ["a", "", "c", ""]
    ran = good("add", "-", "and mine", stdin=path.read_bytes())
    assert ran.out.startswith(path.read_bytes()) and ran.err.count(" is unknown") == 2
    for words in (["show", "-"], ["status", "-"], ["forget", "-", "2"], ["cat", "-"], ["export", "-", "--to", "chat"]):
        assert good(*words, stdin=path.read_bytes()).err.count("role 'Frodo' is unknown") == 1, words
    ran = good("export", "-", "--to", "openai", stdin=path.read_bytes())
    assert ran.err.count("Frodo") == 1 and "role Frodo (it is the user's" in ran.err


def test_empty_text(tmp_path: Path) -> None:
    """It is refused, whoever says it; a result may be empty, and a row is taken as it is."""
    path = small(tmp_path)
    for role, text in itertools.product(["user", "assistant", "system", "tool_use"], ["", " ", "\n\t"]):
        ran = ctxkit("add", path, text, "--role", role)
        assert (ran.code, ran.out) == (2, b"") and "the text is empty: nothing was added" in ran.err
        assert "--force" in ran.err and path.read_bytes() == SMALL
    good("add", path, "", "--force")
    assert last(path)["content"] == ""
    good("add", path, "", "--role", "tool")
    assert last(path)["content"] == ""


def test_without_a_text(tmp_path: Path) -> None:
    """Standard input is the text if it has any; else nothing is added."""
    path = small(tmp_path)
    good("add", path, "--role", "assistant", stdin=b"from a pipe\n")
    assert (last(path)["role"], last(path)["content"]) == ("assistant", "from a pipe")
    before = path.read_bytes()
    ran = ctxkit("add", path)
    assert ran.code == 2 and "no text was given" in ran.err and path.read_bytes() == before
    assert ctxkit("add", path, stdin=b"typed", terminal=True).code == 2 and path.read_bytes() == before


def test_words_from_standard_input(tmp_path: Path) -> None:
    """One line end at the end goes; everything else stays, bytes that are not UTF-8 too."""
    path = small(tmp_path)
    good("add", path, "-", stdin=b"two\nlines\n\n")
    assert last(path)["content"] == "two\nlines\n"
    good("add", path, "-", stdin=b"a\xffb")
    assert last(path)["content"] == "a\udcffb"
    assert good("show", path, "13").text.splitlines()[1] == "    a\\u{dcff}b"


def test_pipe() -> None:
    """The log is copied, the message behind it."""
    ran = good("add", "-", "hello", stdin=SMALL.rstrip(b"\n"))
    assert ran.out.startswith(SMALL) and ran.out.count(b"\n") == 12
    assert ran.err == "Added 1 message.\n"


def test_whole_messages(tmp_path: Path) -> None:
    """--messages: a line each, fields that ctxkit does not know are kept; a time is filled in."""
    path = small(tmp_path)
    more = lines(message("user", "a", 30, meta={"x": 1}), message("assistant", "b"))
    assert good("add", path, "-", "--messages", stdin=b"\n" + more + b"\n\n").err == "Added 2 messages.\n"
    first, second = map(json.loads, path.read_bytes().splitlines()[-2:])
    assert first == message("user", "a", 30, meta={"x": 1})
    assert second["content"] == "b" and "ts" in second


BAD = ["nope", "[]", '"x"', '{"content":"x"}', '{"role":1,"content":"x"}', '{"role":"","content":"x"}',
       '{"role":"user","ctxkit":"mark"}']  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_all_or_nothing(tmp_path: Path, bad: str) -> None:
    """One bad line, and nothing is added, also of the good ones before it; no log is created for it either."""
    path = small(tmp_path)
    raw = lines(message("user", "good")) + bad.encode() + b"\n"
    for target in (path, tmp_path / "new.jsonl"):
        ran = ctxkit("add", target, "-", "--messages", "--create", stdin=raw)
        assert (ran.code, ran.out) == (65, b"") and "nothing was added" in ran.err
    assert path.read_bytes() == SMALL
    assert not (tmp_path / "new.jsonl").exists()


def test_failure_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how many of them are there."""
    path, real, calls = small(tmp_path), append.append_line, []

    def append_line(*args: object, **more: object) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise WriteFailed("no space")
        real(*args, **more)

    monkeypatch.setattr(append, "append_line", append_line)
    ran = ctxkit("add", path, "-", "--messages", stdin=lines(*(message("user", str(n)) for n in range(3))))
    assert (ran.code, ran.err) == (74, "ctxkit: no space; 1 of 3 messages were added\n")
    assert shown(path)[-1] == 12


def test_nothing_to_add(tmp_path: Path) -> None:
    """An empty list of messages is a no, and a pipe goes on."""
    path = small(tmp_path)
    assert ctxkit("add", path, "-", "--messages", stdin=b"\n").code == 1
    ran = ctxkit("add", "-", "", "--messages", stdin=SMALL)
    assert (ran.code, ran.out) == (1, SMALL)


def test_create(tmp_path: Path) -> None:
    """On a missing log: exit 66 with both ways out; --create makes it, for its owner alone."""
    path = tmp_path / "new.jsonl"
    ran = ctxkit("add", path, "hi")
    assert ran.code == 66 and f"ctxkit add --create {path}" in ran.err and not path.exists()
    good("add", path, "hi", "--create")
    assert path.stat().st_mode & 0o777 == 0o600
    good("add", path, "again", "--create")
    assert shown(path) == [1, 2]


def test_dry_run_and_json(tmp_path: Path) -> None:
    """The message is printed; a dry run adds nothing; in a pipe it goes to stderr."""
    path = small(tmp_path)
    assert good("add", path, "hi", "--ts", "2026-03-01", "--dry-run").values == [
        {"role": "user", "content": "hi", "ts": "2026-03-01T00:00:00Z"}
    ]
    assert path.read_bytes() == SMALL
    ran = good("add", path, "hi", "--json")
    assert ran.values == [last(path)]
    piped = good("add", "-", "hi", "--dry-run", stdin=SMALL)
    assert piped.out == SMALL and '{"role":"user"' in piped.err


@pytest.mark.parametrize("stdin", [FOREIGN, b'[{"role":"user","content":"x"}]'])
def test_foreign_log(tmp_path: Path, stdin: bytes) -> None:
    """Another program's log gets no message, as a file and in a pipe, nor with --dry-run."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(stdin)
    for words in ([str(path), "hi"], ["-", "hi"], [str(path), "hi", "--dry-run"]):
        ran = ctxkit("add", *words, stdin=stdin)
        assert (ran.code, ran.out) == (65, b"") and "another program" in ran.err
    assert path.read_bytes() == stdin and list(tmp_path.iterdir()) == [path]


def test_enforce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user is held back where the context is full, and nothing is written; others are not."""
    path = small(tmp_path)
    monkeypatch.setenv("CTXKIT_RESERVE", "10")
    monkeypatch.setenv("CTXKIT_LIMIT", "100")
    for words in (["hello"], ["hello", "--dry-run"], ["-", "--messages"]):
        ran = ctxkit("add", path, *words, "--enforce", stdin=lines(message("assistant", "a"), message("user", "b")))
        assert (ran.code, ran.out) == (1, b"") and ran.err.startswith("ctxkit: Context full. Use ctxkit clear ")
    assert path.read_bytes() == SMALL
    good("add", path, "hello", "--enforce", "--role", "assistant")
    good("add", path, "hello")
    good("clear", path)
    good("add", path, "hello", "--enforce")
    ran = ctxkit("add", "-", "hello", "--enforce", stdin=SMALL)
    assert (ran.code, ran.out) == (1, SMALL)
    ran = ctxkit("add", "-", "hello", "--enforce", "--role", "tool", stdin=SMALL)
    assert (ran.code, ran.out.startswith(SMALL)) == (0, True)
    assert ctxkit("add", "-", "hello", "--enforce", stdin=FOREIGN).code == 65


def test_a_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--messages takes a conversation as people keep it: times in the person's zone, the lines of --agent as replies;
    a file of one is no log, and the error says how it becomes one.
    """
    monkeypatch.setenv("CTXKIT_TIME_ZONE", "Europe/Berlin")
    told = "[2025-01-18 22:15:03] Frodo: I will take it.\n[2025-01-18 22:16:40] Sam: And I\n\ncome too.\n"
    path, text = tmp_path / "chat.jsonl", tmp_path / "talk.txt"
    text.write_text(told)
    ran = ctxkit("show", text)
    assert ran.code == 65 and "ctxkit add NEW.jsonl --create --messages - <FILE" in ran.err
    good("add", path, "--create", "--messages", "-", "--agent", "Frodo", stdin=told.encode())
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == [
        {"role": "assistant", "content": "I will take it.", "ts": "2025-01-18T21:15:03Z", "agent": "Frodo"},
        {
            "role": "user",
            "content": "And I\n\ncome too.",
            "name": "Sam",
            "ts": "2025-01-18T21:16:40Z",
            "agent": "Frodo",
        },
    ]
    same = good("edit", path, "--draft", text)
    assert "Nothing was changed" in same.err
    bad = b"[2025-01-18 22:15:03] Frodo: a\n[2025-01-99 22:15:03] Sam: b"
    wrong = ctxkit("add", path, "--messages", "-", stdin=bad)
    assert wrong.code == 65 and "line 2: 2025-01-99 22:15:03 is no time" in wrong.err
    assert len(path.read_bytes().splitlines()) == 2

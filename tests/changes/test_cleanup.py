"""A model forgets, to the last word: real shapes of three programs, what is left after an apply, and who runs it."""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import filter_context
from ctxkit.api.log import Log
from ctxkit.errors import CtxkitError, NoSuchOp, NothingChanges
from tests.cli.runner import ROOT, call, ctxkit, good, lines, message, ops, shell, shown
from tests.effort import examples
from tests.validators import anthropic_rules, openai_rules, responses_rules

Json = dict[str, Any]
LOGIN = [f"Login page, part {n}: make the button wider" for n in range(40)]
SCHEMA = [
    "Initial schema design: the users table", "Schema refactoring: split orders",
    "Column names in the database schema?", "snake_case",
]  # fmt: skip
REQUEST = ["/forget database schema discussions", "Show me what you'll forget first"]
CRITERIA = "database schema discussions"


class Program:
    """A session of a program, and what it records: user's and model's words, calls of the tool and their results."""

    name = "chat"
    target = "openai"

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, 0
        for n, words in enumerate([*LOGIN, *SCHEMA]):
            self.says("user" if n % 2 == 0 else "assistant", words)
        for words in REQUEST:
            self.says("user", words)

    def write(self, *records: Json) -> None:
        """Behind all that is there."""
        with self.path.open("ab") as file:
            file.write(lines(*records))
        self.rows += len(records)

    def says(self, role: str, words: str) -> None:
        """Somebody does."""
        self.write({"role": role, "content": words})

    def calls(self, key: str, arguments: Json, tool: str = "filter_context") -> None:
        """The model calls a tool."""
        self.write(message("assistant", None, tool_calls=[call(tool, key, **arguments)]))

    def answers(self, key: str, words: str) -> None:
        """The tool's result is recorded."""
        self.write(message("tool", words, tool_call_id=key))

    def body(self) -> Json:
        """What the model would be sent; nothing had to be made up or dropped."""
        ran = good("export", self.path, "--to", self.target, "--json")
        assert "no result" not in ran.text and "result" not in ran.err, ran.err
        found: Json = json.loads(ran.out)
        assert self.problems(found) == []
        assert good("check", self.path, "-q").code == 0
        return found

    def problems(self, body: Json) -> list[str]:
        """Of the provider's rules."""
        return openai_rules.problems(body)


class ClaudeCode(Program):
    """Its rows: a chain of uuids, a call in a response, its result in the user's role; the tool is a server's."""

    name, target = "claude-code", "anthropic"
    tool = "mcp__ctxkit__filter_context"

    def _row(self, kind: str, content: Any, **more: Any) -> None:
        parent = f"u{self.rows}" if self.rows else None
        said: Json = {"role": kind, "content": content}
        if kind == "assistant":
            usage = {"input_tokens": 10, "output_tokens": 2}
            said = {"id": f"msg_{self.rows}", "type": "message", "model": "claude-opus-4-6", **said, "usage": usage}
        stamp = f"2026-01-01T00:{self.rows // 60:02}:{self.rows % 60:02}.000Z"
        self.write({
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/w", "sessionId": "s",
            "version": "2.1.330", "type": kind, "message": said, "uuid": f"u{self.rows + 1}",
            "timestamp": stamp, **more,
        })  # fmt: skip

    def says(self, role: str, words: str) -> None:
        self._row(role, words if role == "user" else [{"type": "text", "text": words}])

    def calls(self, key: str, arguments: Json, tool: str = "") -> None:
        self._row("assistant", [{"type": "tool_use", "id": key, "name": tool or self.tool, "input": arguments}])

    def answers(self, key: str, words: str) -> None:
        result = {"type": "tool_result", "tool_use_id": key, "content": [{"type": "text", "text": words}]}
        self._row("user", [result], toolUseResult=words)

    def problems(self, body: Json) -> list[str]:
        return anthropic_rules.problems(body)


class ClaudeCodeShell(ClaudeCode):
    """The tool is run in its shell."""

    def calls(self, key: str, arguments: Json, tool: str = "") -> None:
        command = f"echo {shlex.quote(json.dumps(arguments))} | ctxkit tool call {self.path} -"
        super().calls(key, arguments if tool else {"command": command}, tool or "Bash")


class Codex(Program):
    """Its items: a function call and its output, each a row; its own events between them."""

    name, target = "codex", "responses"

    def _item(self, **payload: Any) -> None:
        if not self.rows:
            meta = {"id": "019ed836-b1da-78f1-8a0c-e598363d10f4", "cwd": "/w", "cli_version": "0.169.0"}
            self.write({"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": meta})
        stamp = f"2026-01-01T00:{self.rows // 60:02}:{self.rows % 60:02}.000Z"
        self.write({"timestamp": stamp, "type": "response_item", "payload": payload})

    def says(self, role: str, words: str) -> None:
        kind = "input_text" if role == "user" else "output_text"
        self._item(type="message", role=role, content=[{"type": kind, "text": words}])

    def calls(self, key: str, arguments: Json, tool: str = "filter_context") -> None:
        self._item(type="function_call", name=tool, arguments=json.dumps(arguments), call_id=key)

    def answers(self, key: str, words: str) -> None:
        self._item(type="function_call_output", call_id=key, output=words)

    def problems(self, body: Json) -> list[str]:
        return responses_rules.problems(body)


PROGRAMS = [Program, ClaudeCode, ClaudeCodeShell, Codex]


def executed(talk: Program, key: str, arguments: Json) -> Json:
    """The model calls, the program executes and records."""
    talk.calls(key, arguments)
    identified = {"id": key, "name": "filter_context", "input": arguments}
    found = good("tool", "call", talk.path, "-", stdin=json.dumps(identified).encode()).values[0]
    talk.answers(key, json.dumps(found))
    return dict(found)


def forgotten(talk: Program) -> tuple[Json, Json]:
    """Preview, question, yes, apply: what the tool answers to both."""
    preview = executed(talk, "call_1", {"action": "preview", "mode": "forget", "criteria": CRITERIA})
    talk.says("assistant", "41-44. Shall I?")
    talk.says("user", "yes")
    ids = [one["id"] for one in preview["matching_messages"]]
    asked = {"action": "apply", "mode": "forget", "message_ids": ids}
    planned = preview["planning_conversation_ids"]
    return preview, executed(talk, "call_2", asked | {"planning_conversation_ids": planned})


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_model_forgets_to_the_last_word(kind: type[Program], tmp_path: Path) -> None:
    """The topic matches, the conversation about it does not and is proposed whole; after the answer nothing is left,
    no pair is broken, a second cleanup changes nothing, and one undo brings all of it back.
    """
    talk = kind(tmp_path / "log.jsonl")
    assert Log.open(talk.path).opening.format.name == talk.name
    preview, applied = forgotten(talk)
    assert [one["id"] for one in preview["matching_messages"]] == ["41", "42", "43", "44"]
    assert preview["planning_conversation_ids"] == ["45-"]
    assert applied["messages_filtered"] == 11
    command = shlex.split(applied["cleanup"])
    assert command == ["ctxkit", "tool", "cleanup", str(talk.path), applied["filter_event_id"]]
    ran = ctxkit(*command[1:])
    assert (ran.code, "is not finished" in ran.err) == (1, True), ran.err  # the model has not answered yet
    talk.says("assistant", "Done.")
    assert good(*command[1:]).err == "Cleaned up 52-53 (2 messages): the conversation about op 1 (forget).\n"
    assert shown(talk.path) == [*range(1, 41)]
    body = json.dumps(talk.body())
    assert "schema" not in body and "filter_context" not in body and "Done." not in body and LOGIN[-1] in body
    if talk.name != "chat":
        session = good("export", talk.path, "--to", talk.name).out
        again = Log.open(io.BytesIO(session))
        assert len(again.names()) == 40 and again.check() == []
    assert "is out of the context" in good(*command[1:]).err and "Nothing to clean up." in good(*command[1:-1]).err
    assert len(good("log", talk.path, "--json").values) == 2
    good("undo", talk.path)
    assert shown(talk.path) == [*range(1, 54)]
    assert "Done." in json.dumps(talk.body())
    assert "undone" in good(*command[1:]).err
    good("undo", talk.path, "--redo")
    assert shown(talk.path) == [*range(1, 41)]


@pytest.mark.parametrize("kind", PROGRAMS)
def test_work_that_follows_stays(kind: type[Program], tmp_path: Path) -> None:
    """Only the call's result leaves where the model goes on with other tools; its answer is about that."""
    talk = kind(tmp_path / "log.jsonl")
    _, applied = forgotten(talk)
    talk.calls("call_3", {"command": "pytest"}, "Bash")
    talk.answers("call_3", "3 passed")
    talk.says("assistant", "Forgotten, and the tests pass.")
    good(*shlex.split(applied["cleanup"])[1:])
    assert shown(talk.path) == [*range(1, 41), 53, 54, 55]
    assert "3 passed" in json.dumps(talk.body())


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_model_that_tidies_up_by_itself(kind: type[Program], tmp_path: Path) -> None:
    """The user's task and the work on it are no planning, and the answer to it stays; the steps of the tool go."""
    talk = kind(tmp_path / "log.jsonl")
    talk.says("user", "Now build the cart, and keep your context small")
    talk.calls("call_a", {"command": "ls"}, "Bash")
    talk.answers("call_a", "cart.py")
    preview = executed(talk, "call_1", {"action": "preview", "mode": "forget", "criteria": "login page button"})
    assert preview["planning_conversation_ids"] == ["50-"]
    ids = {"message_ids": ["1-40"], "planning_conversation_ids": ["47-"]}  # more than was proposed
    applied = executed(talk, "call_2", {"action": "apply", "mode": "forget", **ids})
    assert applied["notes"][-1] == "not taken along, since other tools were called: 48-49"
    talk.says("assistant", "The cart is built.")
    good("tool", "cleanup", talk.path)
    assert {48, 49} <= set(shown(talk.path)) and "call_2" not in json.dumps(talk.body())


def test_add_runs_it(tmp_path: Path) -> None:
    """Once the model has answered, in a file and in a pipe alike; what was undone is not done again."""
    talk = Program(tmp_path / "log.jsonl")
    forgotten(talk)
    piped = good("add", "-", "Done.", "--role", "assistant", stdin=talk.path.read_bytes())
    ran = good("add", talk.path, "Done.", "--role", "assistant")
    assert ran.err == "Added message 53.\nCleaned up 52-53 (2 messages): the conversation about op 1 (forget).\n"
    assert "Cleaned up 52-53" in piped.err
    keys = ("ctxkit", "ids", "planning", "cleans", "at", "id")
    one, other = (json.loads(raw.splitlines()[-1]) for raw in (talk.path.read_bytes(), piped.out))
    assert [one[key] for key in keys] == [other[key] for key in keys]
    good("undo", talk.path, one["id"])
    assert good("add", talk.path, "Good morning").err == "Added message 54.\n"
    assert shown(talk.path) == [*range(1, 41), 52, 53, 54]


def test_add_runs_it_with_the_next_words_of_the_user(tmp_path: Path) -> None:
    """A model that says nothing has answered when the user speaks."""
    talk = Program(tmp_path / "log.jsonl")
    forgotten(talk)
    good("add", talk.path, "And now the footer")
    assert shown(talk.path) == [*range(1, 41), 53]


def test_a_program_that_records_the_call_afterwards(tmp_path: Path) -> None:
    """The call that was executed goes with its result."""
    log = Log.open(Program(tmp_path / "log.jsonl").path)
    ids = {"message_ids": ["41-44"], "planning_conversation_ids": ["45-"]}
    arguments = {"action": "apply", "mode": "forget", **ids}
    found = filter_context(log, arguments)
    log.add_message(message("assistant", "I do.", tool_calls=[call("filter_context", "c", **arguments)]))
    log.add_message(message("tool", json.dumps(found), tool_call_id="c"))
    assert log.cleaned == [] and [*log.names()] == [*range(1, 41), 47, 48]
    log.add_message(message("assistant", "Done."))
    assert log.cleaned == ["Cleaned up 47-49 (3 messages): the conversation about op 1 (forget)."]
    assert [*log.names()] == [*range(1, 41)] and log.cleanup() == log.cleanup(found["filter_event_id"]) == []


def test_a_remember(tmp_path: Path) -> None:
    """Only what was chosen stays, the tool's own conversation goes with all the others, and to its last word."""
    log = Log.open(Program(tmp_path / "log.jsonl").path)
    asked = {"message_ids": ["41-44"], "planning_conversation_ids": ["45-"]}
    found = filter_context(log, {"action": "apply", "mode": "remember", **asked})
    assert found["cleanup"]
    log.add_message(message("assistant", "Done."))
    assert [*log.names()] == [*range(41, 45)]


def test_without_planning_nothing_is_cleaned(tmp_path: Path) -> None:
    """Where the model did not take the conversation along, it stays, to its last word."""
    log = Log.open(Program(tmp_path / "log.jsonl").path)
    found = filter_context(log, {"action": "apply", "mode": "forget", "message_ids": ["41-44"]})
    assert "cleanup" not in found
    log.add_message(message("assistant", "Done."))
    assert [*log.names()] == [*range(1, 41), 45, 46, 47]
    with pytest.raises(NoSuchOp, match="removed no conversation"):
        log.cleanup(found["filter_event_id"])
    with pytest.raises(NoSuchOp):
        log.cleanup("nope")


def test_a_protected_answer_stays(tmp_path: Path) -> None:
    """Its step with it."""
    talk = Program(tmp_path / "log.jsonl")
    _, applied = forgotten(talk)
    talk.says("assistant", "Done.")
    good("protect", talk.path, "53")
    good("tool", "cleanup", talk.path, applied["filter_event_id"])
    assert shown(talk.path) == [*range(1, 41), 53]


def test_two_at_once(tmp_path: Path) -> None:
    """Of two clients that clean up the same, one op is in the log."""
    talk = Program(tmp_path / "log.jsonl")
    forgotten(talk)
    talk.says("assistant", "Done.")
    one, other = Log.open(talk.path), Log.open(talk.path)
    one.state(), other.state()
    assert len(one.cleanup()) == 1
    other.cleanup()
    assert len(ops(talk.path)) == 2


def test_a_failing_cleanup_fails_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is there, and a warning says the rest."""
    talk = Program(tmp_path / "log.jsonl")
    forgotten(talk)

    def fail(*_: Any, **__: Any) -> Any:
        raise CtxkitError("no luck")
        yield

    monkeypatch.setattr("ctxkit.changes.cleanup.clean_up", fail)
    ran = good("add", talk.path, "Done.", "--role", "assistant")
    assert "Added message 53." in ran.err and "nothing was cleaned up: no luck" in ran.err


def test_the_command(tmp_path: Path) -> None:
    """A dry run appends nothing, --json prints the op, a pipe comes out whole; what cannot be is refused."""
    talk = Program(tmp_path / "log.jsonl")
    _, applied = forgotten(talk)
    key = applied["filter_event_id"]
    with pytest.raises(NothingChanges, match="is not finished"):
        Log.open(talk.path).cleanup(key)
    piped = ctxkit("tool", "cleanup", "-", key, stdin=talk.path.read_bytes())
    assert (piped.code, piped.out) == (1, talk.path.read_bytes())
    talk.says("assistant", "Done.")
    before = talk.path.read_bytes()
    ran = good("tool", "cleanup", talk.path, key, "--dry-run")
    assert ran.values[0]["planning"] == "52-53" and "Dry run" in ran.err and talk.path.read_bytes() == before
    piped = good("tool", "cleanup", "-", key, stdin=before)
    assert piped.out.startswith(before) and json.loads(piped.out[len(before) :])["cleans"] == key
    [op] = good("tool", "cleanup", talk.path, "--json").values
    assert op["cleans"] == key and "cleanup of op 1 (forget)" in good("log", talk.path).text
    assert "forgotten by op 2" in good("why", talk.path, "53").text
    for words in (["--for", "openai"], ["--about-model", "m"], ["--op-id", "x1"]):
        assert ctxkit("tool", "cleanup", talk.path, key, *words).code == 2
    assert ctxkit("tool", "cleanup").code == 2
    assert ctxkit("tool", "cleanup", talk.path, "2").code == 1


@pytest.mark.needs("jq")
def test_as_a_hook(tmp_path: Path) -> None:
    """The line of the command's page, run as Claude Code runs its hooks, with the event on standard input."""
    talk = ClaudeCode(tmp_path / "log.jsonl")
    forgotten(talk)
    talk.says("assistant", "Done.")
    page = (ROOT / "docs/commands/tool.md").read_text(encoding="utf-8")
    [hook] = [json.loads(line) for line in page.splitlines() if line.startswith('{"hooks"')]
    command = hook["hooks"]["Stop"][0]["hooks"][0]["command"]
    event = {"hook_event_name": "Stop", "transcript_path": str(talk.path), "stop_hook_active": False}
    for _ in range(2):
        ran = shell(f"echo {shlex.quote(json.dumps(event))} | ({command})", tmp_path)
        assert (ran.code, ran.out, ran.err) == (0, b"", "")
    assert shown(talk.path) == [*range(1, 41)]


STEPS = st.lists(st.sampled_from(["user", "words", "tool", "other", "both", "cleanup", "undo", "redo"]), max_size=7)


@settings(max_examples=examples(25), deadline=None)
@given(STEPS)
def test_whatever_follows(steps: list[str]) -> None:
    """A cleanup never takes the user's words or work, never breaks a pair, and undoing it all brings back all."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        talk = Program(Path(folder) / "log.jsonl")
        log = Log.open(talk.path)
        ids = {"message_ids": ["41-44"], "planning_conversation_ids": ["45-"]}
        filter_context(log, {"action": "apply", "mode": "forget", **ids})
        kept: set[int] = set()
        for n, step in enumerate(steps):
            key = f"k{n}"
            mine, work = call("filter_context", f"{key}a", action="preview"), call("Bash", f"{key}b", command="ls")
            calls = {"tool": [mine], "other": [work], "both": [mine, work]}.get(step, [])
            if calls:
                log.add_message(message("assistant", None, tool_calls=calls))
                for made in calls:
                    log.add_message(message("tool", "so", tool_call_id=made["id"]))
            elif step == "user":
                log.add_message(message("user", "Hello"))
            elif step == "words":
                log.add_message(message("assistant", "Done."))
            elif step == "cleanup":
                log.cleanup()
            else:
                try:
                    log.undo() if step == "undo" else log.redo()
                except NoSuchOp:
                    continue
            if step in ("user", "other", "both"):
                kept |= {len(log.messages) - n for n in range({"user": 1, "other": 2, "both": 3}[step])}
            names = set(log.names())
            assert kept <= names
            body = json.loads(b"".join(log.export("openai").pieces))
            assert openai_rules.problems(body) == [] and "no result recorded" not in json.dumps(body)

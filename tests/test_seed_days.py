"""A night of a persona and a day of two agents, replayed through the commands and through `Log`: the same requests.

Each step is done twice, on two logs: once by a command, as a process that begins anew, once by the Python API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.errors import NothingToSend
from tests.cli.runner import ctxkit, good

Request = dict[str, Any]


def messages(body: Request) -> list[str]:
    """The texts of a request, each with the initial of its role."""
    return [f"{one['role'][0]}: {one.get('content') or ''}" for one in body["messages"]]


class Days:
    """Two logs that live through the same days. `now` is the clock of both."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, profile: str) -> None:
        self._environ = monkeypatch
        self.typed, self.called = folder / "typed.jsonl", folder / "called.jsonl"
        for path in (self.typed, self.called):
            good("init", path, "--profile", profile)

    def at(self, now: str) -> None:
        """The time that it is from here on."""
        self._environ.setenv("CTXKIT_NOW", now)

    def do(self, call: Callable[[Log], object], *words: object) -> str:
        """One step: a command on one log, a method on the other; what the command says."""
        name, *rest = words
        said = good(str(name), self.typed, *rest).said
        call(Log.open(self.called))
        return said

    def say(self, ts: str, role: str, text: str, **more: str) -> None:
        """A message is added to both."""
        flags = [word for key, value in more.items() for word in (f"--{key}", value)]
        record = {"role": role, "content": text, "ts": ts, **more}
        self.do(lambda log: log.add_message(record), "add", text, "--role", role, "--ts", ts, *flags)

    def request(self, agent: str | None = None, thread: str | None = None) -> Request:
        """What would be sent, which is the same of both; without messages if nothing would."""
        words = [word for flag, name in (("--agent", agent), ("--thread", thread)) if name for word in (flag, name)]
        ran = ctxkit("export", self.typed, "--to", "openai", "--model", "m", *words)
        log = Log.open(self.called)
        log.lens_agent, log.lens_thread = agent, thread
        if ran.code:
            assert "nothing to send" in ran.err
            with pytest.raises(NothingToSend):
                log.export("openai", model="m")
            return {"messages": []}
        [typed], [called] = ran.values, log.export("openai", model="m").values
        assert typed == called
        found: Request = typed
        return found

    def seen(self, agent: str | None = None, thread: str | None = None) -> list[str]:
        """The texts of the request."""
        return messages(self.request(agent, thread))


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Days]:
    """A persona's log, after an evening of talk."""
    days = Days(tmp_path, monkeypatch, "persona")
    days.at("2026-02-11T20:00:00Z")
    days.say("2026-02-11T20:00:00Z", "system", "You are Frodo.")
    days.say("2026-02-11T20:01:00Z", "user", "Where is the ring?", name="Bilbo")
    days.say("2026-02-11T20:02:00Z", "assistant", "In my pocket.", agent="frodo")
    days.at("2026-02-11T23:30:00Z")
    days.say("2026-02-11T23:30:00Z", "user", "Keep it safe.", name="Bilbo")
    yield days


def test_a_night(night: Days) -> None:
    """The morning after, the evening is out of the window; a wider one brings it back; an edit keeps what matters."""
    evening = ["s: You are Frodo.", "u: Where is the ring?", "a: In my pocket.", "u: Keep it safe."]
    assert night.seen() == evening
    night.at("2026-02-12T09:00:00Z")
    night.say("2026-02-12T09:00:00Z", "user", "Good morning.", name="Bilbo")
    assert night.seen() == [evening[0], "u: Good morning."]
    assert night.do(lambda log: log.set_window(24 * 3600), "window", "24h") == "Context window set to 24h\n"
    assert night.seen() == [*evening, "u: Good morning."]
    night.do(lambda log: log.shift_window(-14 * 3600), "window", "sub", "14h")
    assert night.seen() == [evening[0], evening[3], "u: Good morning."]
    night.do(lambda log: log.shift_window(8 * 3600), "window", "add", "8h")
    assert night.seen() == [*evening, "u: Good morning."]

    def kept(draft: str) -> str:
        """The draft without the second question."""
        return draft.replace("[2026-02-11T20:01:00Z] Bilbo: Where is the ring?\n", "").replace("pocket", "hand")

    typed = kept(good("edit", night.typed, "--plain", "--print").text)
    assert good("edit", night.typed, "--draft", "-", stdin=typed.encode()).err.startswith("[PRIOR_CONTEXT_PROVIDED] 4")
    log = Log.open(night.called)
    log.edit(kept(log.draft(plain=True)))
    after = [evening[0], "a: In my hand.", evening[3], "u: Good morning."]
    assert night.seen() == after
    assert night.do(lambda log: log.reset_window(), "window", "reset") == "Context window reset to default (8h)\n"
    assert night.seen() == after  # windows count from the edit


def test_a_night_of_two_personas(night: Days) -> None:
    """The window of one leaves the other's alone, and a persona that a message does not name sees what is for all."""
    night.say("2026-02-11T23:40:00Z", "user", "Cook something.", agent="sam")
    night.at("2026-02-12T09:00:00Z")
    night.do(lambda log: log.set_window(24 * 3600, "frodo"), "window", "24h", "--agent", "frodo")
    assert night.seen("frodo") == ["s: You are Frodo.", "a: In my pocket."]
    assert night.seen("sam") == ["s: You are Frodo."]


CONFIG = """\
[agents.atlas]
system = "You are Atlas."
docs = ["atlas/*.md"]
[agents.iris]
system = "You are Iris."
window = "2h"
[status]
processes = "command: echo 'build: green'"
"""
STATUS = """\
u: Threads: 2 active
- deploy: last 2026-02-11T12:00:00Z, 3 messages, waiting for the user, user's last words: "Deploy it."
- logs: last 2026-02-11T11:00:00Z, 1 message, waiting for the model, user's last words: "Read the logs."

Processes:
build: green"""


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Days:
    """A bot's log of two agents, with a system prompt and documents of each in the user's own config, at noon."""
    own = Path.home() / ".config/ctxkit/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(CONFIG)
    (tmp_path / "atlas").mkdir()
    (tmp_path / "atlas/rules.md").write_text("Never on Fridays.")
    days = Days(tmp_path, monkeypatch, "bot")
    days.at("2026-02-11T12:00:00Z")
    days.say("2026-02-11T09:00:00Z", "user", "Draw a bird.", agent="iris", thread="art")
    days.say("2026-02-11T11:00:00Z", "user", "Read the logs.", agent="atlas", thread="logs")
    days.say("2026-02-11T11:30:00Z", "user", "Deploy it.", agent="atlas", thread="deploy")
    days.say("2026-02-11T11:59:00Z", "assistant", "Tests first.", agent="atlas", thread="deploy")
    days.say("2026-02-11T12:00:00Z", "assistant", "All green: deployed.", agent="atlas", thread="deploy")
    return days


THREAD = ["u: Deploy it.", "a: Tests first.", "a: All green: deployed."]


def own(seen: list[str]) -> list[str]:
    """What is seen without the texts of the agent and without the status of threads and processes."""
    return [one for one in seen if not one.startswith(("s: ", "u: Threads:", "u: Processes:"))]


def test_what_an_agent_is_sent(bot: Days) -> None:
    """Its system prompt, its documents, the status of all its threads and of processes, the messages of one thread."""
    seen = bot.seen("atlas", "deploy")
    assert seen == ["s: You are Atlas.", "s: Never on Fridays.", STATUS, *THREAD]
    assert own(bot.seen("atlas")) == ["u: Read the logs.", *THREAD]
    assert bot.seen("iris") == []  # its message is older than its window of two hours
    bot.say("2026-02-11T12:00:00Z", "user", "Draw a fish.", agent="iris", thread="art")
    assert bot.seen("iris") == ["s: You are Iris.", "u: Processes:\nbuild: green", "u: Draw a fish."]


def test_a_day(bot: Days) -> None:
    """Kept, cleared, listed, restored: of one agent, and nothing of the other."""
    bot.do(lambda log: log.snapshot("deploy", agent="atlas"), "snapshot", "-m", "deploy", "--agent", "atlas")
    assert len(own(bot.seen("atlas"))) == 4  # a snapshot clears nothing
    assert bot.do(lambda log: log.clear(), "clear") == "Context cleared. Starting fresh.\n"
    assert own(bot.seen("atlas")) == own(bot.seen("iris")) == []
    bot.at("2026-02-11T13:00:00Z")
    bot.say("2026-02-11T13:00:00Z", "user", "Is it up?", agent="atlas", thread="deploy")
    bot.say("2026-02-11T13:00:01Z", "user", "Draw a fish.", agent="iris", thread="art")
    assert own(bot.seen("atlas", "deploy")) == ["u: Is it up?"]
    assert own(bot.seen("iris")) == ["u: Draw a fish."]
    rows = good("snapshots", bot.typed, "--agent", "atlas", "--json").values
    assert {one["description"]: (one["message_count"], one["agents"]) for one in rows} == {
        "deploy": (4, ["atlas"]), "before clear": (4, ["atlas"]),
    }  # fmt: skip
    assert good("snapshots", bot.typed, "deploy", "--agent", "iris", "--json").values == []
    bot.do(lambda log: log.restore("deploy"), "restore", "deploy")
    assert sorted(own(bot.seen("atlas"))) == sorted(["u: Read the logs.", *THREAD, "u: Is it up?"])
    assert own(bot.seen("iris")) == ["u: Draw a fish."]  # nothing of iris was in the snapshot


def test_the_next_day(bot: Days) -> None:
    """After 24 hours all is out of the window, nothing is lost, and a wider window brings it back."""
    bot.at("2026-02-12T13:00:00Z")
    bot.say("2026-02-12T13:00:00Z", "user", "And today?", agent="atlas", thread="deploy")
    assert own(bot.seen("atlas")) == ["u: And today?"]
    assert len(good("recall", bot.typed, "--regex", ".", "--json").values) == 6
    bot.do(lambda log: log.set_window(48 * 3600, "atlas"), "window", "48h", "--agent", "atlas")
    assert own(bot.seen("atlas")) == ["u: Read the logs.", *THREAD, "u: And today?"]


def test_bars_of_agents(bot: Days) -> None:
    """Each agent has its own figures, by the commands and by the API."""
    [found_by] = good("status", bot.typed, "--by", "agent", "--json").values
    rows = found_by["by"]
    found, _ = Log.open(bot.called).agent_contexts()
    assert [(one["name"], one["inside"], one["tokens"]["used"]) for one in rows] == [
        (one.name, one.inside, one.tokens.used) for one in found
    ]
    assert [(one.name, one.inside, [text.kind for text in one.assembled]) for one in found] == [
        ("iris", 0, ["system", "status"]), ("atlas", 4, ["system", "docs", "status"]),
    ]  # fmt: skip

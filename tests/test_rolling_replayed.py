"""A day of bots and a night of a persona, through the Python object and through the commands: the same context."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ctxkit import Log, RollingContext
from ctxkit.cli.app import run
from ctxkit.errors import NothingToSend

LIMIT, RESERVE, MODEL = 1200, 200, "gpt-4o"
BUDGET = LIMIT - RESERVE
CONFIG = f'limit = {LIMIT}\nreserve = {RESERVE}\nmodel = "{MODEL}"\n'
Row = dict[str, Any]


class Step(NamedTuple):
    """What somebody does: words of a command, `LOG` for the log, and the same on the object."""

    words: list[str]
    call: Callable[[RollingContext], object]


def said(role: str, words: str, when: str, **more: str) -> Step:
    """A message at a time of the day."""
    row: Row = {"role": role, "content": words, "ts": f"2026-02-{when}:00Z", **more}
    options = [f"--{key}={value}" for key, value in {**more, "ts": row["ts"]}.items()]
    return Step(["add", "LOG", "--role", role, *options, words], lambda context: context.add(dict(row)))


def did(words: str, call: Callable[[RollingContext], object]) -> Step:
    """An op."""
    return Step(words.split(), call)


LONG = "the invoice has many lines, each with a price and a tax " * 8


def day() -> list[Step]:
    """Bots in a team: two agents, a thread each, a rolling day, a clear in between, a snapshot that comes back."""
    steps = [
        said("system", "You are a bot of the team.", "01T08:00"),
        did("window LOG 24h", lambda c: c.log.set_window(86400)),
    ]
    for hour in range(9, 18):
        agent = ("ada", "bob")[hour % 2]
        steps += [
            said("user", f"{agent}, look at order {hour}. {LONG}", f"01T{hour:02}:00", agent=agent),
            said("assistant", f"Order {hour} is shipped. {LONG}", f"01T{hour:02}:05", agent=agent),
        ]
        if hour == 11:
            steps += [did("protect LOG 4", lambda c: c.protect(4)), did("mark LOG noon", lambda c: c.mark("noon"))]
        if hour == 13:
            steps.append(did("rewind LOG noon", lambda c: c.rewind("noon")))
    steps += [
        did("snapshot LOG -m evening", lambda c: c.log.snapshot("evening")),
        did("clear LOG", lambda c: c.clear()),
        said("user", "A new morning. What is open?", "02T09:00"),
        said("assistant", "Nothing is open.", "02T09:01"),
        did("restore LOG evening", lambda c: c.log.restore("evening")),
        said("user", "Thanks, go on.", "02T09:02"),
        did("forget LOG --grep morning -y", lambda c: c.forget(grep="morning")),
        did("undo LOG", lambda c: c.undo()),
    ]
    return steps


def told(context: RollingContext) -> object:
    """A part in a line."""
    return context.log.compact("7-16", force=True, strategy="truncate")


def night() -> list[Step]:
    """A persona at night: talk, what is forgotten with the talk about it, a nap, a window in the morning."""
    steps = [
        said("user", "Good evening. My cat is named Miso.", "03T21:00"),
        said("assistant", "Good evening! Hello Miso.", "03T21:01"),
        did("protect LOG 1", lambda c: c.protect(1)),
    ]
    for minute in range(2, 26, 2):
        steps += [
            said("user", f"A story, part {minute}. {LONG}", f"03T22:{minute:02}"),
            said("assistant", f"And then, {minute}? {LONG}", f"03T22:{minute + 1:02}"),
        ]
    steps += [
        did("mark LOG sleep", lambda c: c.mark("sleep")),
        said("user", "Forget the first parts of the story.", "03T23:00"),
        said("assistant", "Parts 2 and 4?", "03T23:01"),
        did("forget LOG 3-6 --planning 27-28", lambda c: c.forget("3-6", planning="27-28")),
        said("user", "Something that I regret.", "03T23:30"),
        did("rewind LOG sleep", lambda c: c.rewind("sleep")),
        did("window LOG 8h", lambda c: c.log.set_window(8 * 3600)),
        said("user", "Good morning.", "04T06:30"),
        said("assistant", "Good morning! How is Miso?", "04T06:31"),
        did("window LOG add 8h", lambda c: c.log.shift_window(8 * 3600)),
        did("compact LOG 7-16 --force --strategy truncate", told),
        said("user", f"Where were we? {LONG}", "04T06:32"),
        did("window LOG off", lambda c: c.log.window_off()),
        did("recall LOG 3 --apply", lambda c: c.log.recall("3")),
        said("user", f"And on. {LONG} {LONG}", "04T06:33"),
    ]
    return steps


def rows(log: Log) -> list[Row]:
    """The context, without the times of literals."""
    try:
        return list(log.export("chat").values)
    except NothingToSend:
        return []


def tokens(path: Path, capfd: pytest.CaptureFixture[str]) -> int:
    """What `ctxkit status` counts."""
    capfd.readouterr()
    assert run(["status", str(path), "--json", "-q"]) == 0
    return int(json.loads(capfd.readouterr().out)["tokens"]["used"])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("steps", [day(), night()], ids=["day", "night"])
@pytest.mark.parametrize("again", [False, True], ids=["one object", "a new object after each step"])
def test_the_same_context(steps: list[Step], again: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """After each step the object gives what the commands give; a context that is over budget is cut by both alike."""
    paths = [tmp_path / name / "log.jsonl" for name in ("commands", "object")]
    for path in paths:
        (path.parent / "log.jsonl.ctxkit").mkdir(parents=True)
        (path.parent / "log.jsonl.ctxkit" / "config.toml").write_text(CONFIG)
        path.write_text("")
    log, own = paths
    context = RollingContext(log=own)
    cuts = 0
    for step in steps:
        assert run([str(log) if word == "LOG" else word for word in step.words]) == 0, (step.words, capfd.readouterr())
        step.call(context)
        if tokens(log, capfd) > BUDGET:
            assert run(["trim", str(log), "--max-tokens", str(int(0.8 * BUDGET))]) == 0
            cuts += 1
        found = context.context()
        assert found == rows(Log.open(log)) == rows(Log.open(own)), step.words
        if again:
            context = RollingContext.load(own)
    assert cuts == len([one for one in context.log.ledger.entries if one.name == "trim"]) > 1
    names = [[one.name for one in Log.open(path).ledger.entries] for path in paths]
    assert names[0] == names[1]

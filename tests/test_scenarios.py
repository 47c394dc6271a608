"""What people asked for, end to end through the Python API and the commands: docs/requirements.md names these tests."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.cli.app import run
from ctxkit.errors import NoMark, UnknownAgent, WindowOff
from tests.cli.runner import without_figures

HOUR = 3600
NIGHT = "1 ts=2026-02-01T20:00:00Z | 2 ts=2026-02-01T23:00:00Z | 3 ts=2026-02-02T07:00:00Z | 4 ts=2026-02-02T07:01:00Z"
"""An evening, a late hour and a morning."""
PARTY = "1 agent=frodo | 2 agent=sam | 3 agent=frodo thread=ring | 4 agent=sam thread=ring | 5"


def message(n: int, *words: str) -> dict[str, Any]:
    """Message n: odd ones from the user, even ones from the assistant, a minute apart; `key=value` words change it."""
    found: dict[str, Any] = {"role": "user" if n % 2 else "assistant", "content": f"m{n}"}
    found["ts"] = f"2026-02-01T{10 + n // 60:02}:{n % 60:02}:00Z"
    return found | dict(word.split("=", 1) for word in words)


def append(path: Path, *records: dict[str, Any]) -> None:
    """Any program may append a line."""
    with path.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def written(folder: Path, spec: str, config: str = "") -> Path:
    """A log of its own, with a config in its sidecar: `1-9 | mark a | 10 agent=frodo | clear`."""
    path = folder / "log.jsonl"
    path.write_text("")
    if config:
        sidecar = folder / "log.jsonl.ctxkit"
        sidecar.mkdir()
        (sidecar / "config.toml").write_text(config)
    for head, *words in (part.split() for part in spec.split("|")):
        if head[0].isdigit():
            low, _, high = head.partition("-")
            append(path, *(message(n, *words) for n in range(int(low), int(high or low) + 1)))
        else:
            getattr(opened(path), head)(*words)
    return path


def opened(path: Path, **options: Any) -> Log:
    """The log as a new process would see it."""
    log = Log.open(path, env={})
    for key, value in options.items():
        setattr(log, key, value)
    return log


def shown(path: Path, **options: Any) -> list[int]:
    """The numbers in the context, read anew: every look is a restart."""
    return [int(str(name)) for name in opened(path, **options).names()]


def ops(path: Path) -> list[dict[str, Any]]:
    """The ops of a native log."""
    return [body for line in path.read_text().splitlines() if "ctxkit" in (body := json.loads(line))]


def said(capfd: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    """What a command prints, both streams; its exit status is checked."""
    assert run(words) == status, capfd.readouterr()
    captured = capfd.readouterr()
    return captured.out + without_figures(captured.err)


# The window


def test_a_wider_window_brings_older_messages_back(tmp_path: Path) -> None:
    """Nothing is lost behind a window: widening it shows more, off shows all."""
    path = written(tmp_path, NIGHT)
    opened(path).set_window(2 * HOUR)
    assert shown(path) == [3, 4]
    opened(path).set_window(10 * HOUR)
    assert shown(path) == [2, 3, 4]
    opened(path).window_off()
    assert shown(path) == [1, 2, 3, 4]


def test_the_window_slides_with_the_newest_message(tmp_path: Path) -> None:
    """By default it counts from the newest message, so a night changes nothing and a new message moves it."""
    path = written(tmp_path, NIGHT)
    opened(path).set_window(9 * HOUR)
    assert shown(path) == [2, 3, 4]
    opened(path).add_message({"role": "user", "content": "later", "ts": "2026-02-02T15:30:00Z"})
    assert shown(path) == [3, 4, 5]


def test_the_window_counts_from_the_clock_where_asked(tmp_path: Path) -> None:
    """With now = wall (the profiles persona and bot), it slides with the clock."""
    path = written(tmp_path, NIGHT, 'now = "wall"\n[window]\ndefault = "8h"\n')
    log = Log.open(path, env={}, clock=lambda: 1770022800.0)  # 2026-02-02T09:00:00Z
    assert [int(str(name)) for name in log.names()] == [3, 4]
    later = Log.open(path, env={}, clock=lambda: 1770022800.0 + 7 * HOUR)
    assert list(later.names()) == []


def test_the_limit_of_the_window_is_strict(tmp_path: Path) -> None:
    """A message exactly as old as the window is outside."""
    path = written(tmp_path, "1 ts=2026-02-01T10:00:00Z | 2 ts=2026-02-01T10:00:01Z | 3 ts=2026-02-01T11:00:00Z")
    opened(path).set_window(HOUR)
    assert shown(path) == [2, 3]


def test_the_window_is_an_op_in_the_log(tmp_path: Path) -> None:
    """Seconds are stored, resolved; what was typed is provenance; a new process sees the same."""
    path = written(tmp_path, NIGHT)
    opened(path).set_window(2 * HOUR, None, "2h")
    [op] = ops(path)
    assert (op["ctxkit"], op["seconds"], op["asked"]) == ("window", 7200, "2h")
    assert shown(path) == [3, 4]


@pytest.mark.parametrize(
    ("seconds", "kept"),
    [(60, HOUR), (HOUR, HOUR), (168 * HOUR, 168 * HOUR), (169 * HOUR, 168 * HOUR)],
)
def test_the_window_is_clamped_with_a_warning(tmp_path: Path, seconds: int, kept: int) -> None:
    """From 1h to 168h; what lies outside is brought to the bound, and that is said."""
    log = opened(written(tmp_path, NIGHT))
    log.set_window(seconds)
    assert ops(tmp_path / "log.jsonl")[-1]["seconds"] == kept
    assert bool(log.notes) == (seconds != kept)


def test_bounds_are_configured(tmp_path: Path) -> None:
    """`window.min` and `window.max` move the bounds."""
    path = written(tmp_path, NIGHT, '[window]\nmin = "10m"\nmax = "2h"\n')
    opened(path).set_window(60)
    opened(path).set_window(5 * HOUR)
    assert [op["seconds"] for op in ops(path)] == [600, 2 * HOUR]


def test_window_arithmetic(tmp_path: Path) -> None:
    """add and sub act on the window in force, the default too, and stop at the bounds; off: an error."""
    path = written(tmp_path, NIGHT, '[window]\ndefault = "8h"\n')
    opened(path).shift_window(8 * HOUR)
    opened(path).shift_window(-4 * HOUR)
    opened(path).shift_window(-40 * HOUR)
    assert [op["seconds"] for op in ops(path)] == [16 * HOUR, 12 * HOUR, HOUR]
    opened(path).window_off()
    with pytest.raises(WindowOff):
        opened(path).shift_window(HOUR)


def test_reset_follows_the_default(tmp_path: Path) -> None:
    """Stored as null, so that a default changed later counts."""
    path = written(tmp_path, NIGHT, '[window]\ndefault = "8h"\n')
    opened(path).set_window(2 * HOUR)
    opened(path).reset_window()
    assert ops(path)[-1]["seconds"] is None
    assert shown(path) == [3, 4]
    (tmp_path / "log.jsonl.ctxkit/config.toml").write_text('[window]\ndefault = "24h"\n')
    assert shown(path) == [1, 2, 3, 4]


def test_without_op_and_config_nothing_is_hidden(tmp_path: Path) -> None:
    """Nothing is on by default."""
    assert shown(written(tmp_path, NIGHT)) == [1, 2, 3, 4]


def test_an_agent_has_a_window_of_its_own(tmp_path: Path) -> None:
    """The window of one agent leaves the others alone."""
    path = written(tmp_path, NIGHT.replace("ts=", "agent=frodo ts=", 1).replace("2 ts=", "2 agent=sam ts="))
    opened(path).set_window(2 * HOUR, "frodo")
    assert shown(path, lens_agent="frodo") == [3, 4]
    assert shown(path, lens_agent="sam") == [2, 3, 4]


def test_the_newest_n_messages_only(tmp_path: Path) -> None:
    """`window.messages` caps the view."""
    assert shown(written(tmp_path, "1-9", "[window]\nmessages = 3\n")) == [7, 8, 9]


def test_both_limits_hold(tmp_path: Path) -> None:
    """Inside the window and after the last clear, whichever is later; neither changes the other."""
    path = written(tmp_path, f"{NIGHT} | clear | 5 ts=2026-02-02T07:02:00Z")
    opened(path).set_window(168 * HOUR)
    assert shown(path) == [5]
    opened(path).set_window(HOUR)
    append(path, message(6, "ts=2026-02-02T09:00:00Z"))
    assert shown(path) == [6]


def test_the_words_of_window(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Show, hint, set, clamp, reset: in the words that were asked for."""
    path = str(written(tmp_path, NIGHT, '[window]\ndefault = "8h"\n'))
    text = said(capfd, "window", path)
    assert "Context window: 8h (default: 8h)" in text and "usage: ctxkit window LOG 24h" in text
    assert said(capfd, "window", path, "24h") == "Context window set to 24h\n"
    assert said(capfd, "window", path, "set", "24h").startswith("Context window is 24h already")
    assert said(capfd, "window", path, "add", "8h") == "Context window set to 32h\n"
    assert said(capfd, "window", path, "sub", "4h") == "Context window set to 28h\n"
    assert "168h" in said(capfd, "window", path, "400h").splitlines()[0]
    assert said(capfd, "window", path, "reset") == "Context window reset to default (8h)\n"
    assert said(capfd, "window", path, "12h") == "Context window set to 12h\n"
    assert said(capfd, "window", path, "default") == "Context window reset to default (8h)\n"
    before = Path(path).read_bytes()
    for words in (["tomorrow"], ["8"], ["0h"], ["-3h"], ["soon"], ["add"], ["reset", "8h"]):
        said(capfd, "window", path, *words, status=2)
    assert Path(path).read_bytes() == before


# Persisting, agents, threads, clear


def test_add_writes_who_where_and_when(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A message is persisted with role, words, agent, thread and the time of now."""
    path = written(tmp_path, "1")
    said(capfd, "add", str(path), "Go.", "--agent", "frodo", "--thread", "ring")
    record = json.loads(path.read_text().splitlines()[-1])
    assert {key: record[key] for key in ("role", "content", "agent", "thread")} == {
        "role": "user", "content": "Go.", "agent": "frodo", "thread": "ring",
    }  # fmt: skip
    assert record["ts"].startswith("20") and record["ts"].endswith("Z")


def test_calls_and_results_are_kept(tmp_path: Path) -> None:
    """User, assistant, call and result: all come back in full."""
    path = written(tmp_path, "1")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    append(path, {"role": "assistant", "content": None, "tool_calls": [call]})
    append(path, {"role": "tool", "content": "seen", "tool_call_id": "c1"}, message(4))
    values = list(opened(path).export("openai").values)
    assert [message["role"] for message in values[0]["messages"]] == ["user", "assistant", "tool", "assistant"]


def test_messages_of_one_agent(tmp_path: Path) -> None:
    """An agent sees its own messages and those of nobody in particular."""
    path = written(tmp_path, PARTY)
    assert shown(path, lens_agent="frodo") == [1, 3, 5]
    assert shown(path, lens_agent="sam") == [2, 4, 5]


def test_messages_of_one_thread(tmp_path: Path) -> None:
    """A thread sees its own messages and those of no thread."""
    assert shown(written(tmp_path, PARTY), lens_thread="ring") == [1, 2, 3, 4, 5]
    path = written(tmp_path, "1 thread=a | 2 thread=b | 3 thread=a")
    assert shown(path, lens_thread="a") == [1, 3]


def test_an_unknown_agent_is_an_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Exit 1, and the agents that there are."""
    path = written(tmp_path, PARTY)
    with pytest.raises(UnknownAgent):
        opened(path).clear("gollum")
    text = said(capfd, "show", str(path), "--agent", "gollum", status=1)
    assert "frodo" in text and "sam" in text


def test_clear_is_a_boundary(tmp_path: Path) -> None:
    """What came before is out, in every thread; what comes after is in; the newest clear counts."""
    path = written(tmp_path, PARTY)
    opened(path).clear()
    assert shown(path) == []
    opened(path).add_message({"role": "user", "content": "six"})
    assert shown(path) == [6]
    opened(path).clear()
    opened(path).add_message({"role": "user", "content": "seven"})
    assert shown(path) == [7]


def test_clear_of_one_agent(tmp_path: Path) -> None:
    """That agent's messages go, in all its threads."""
    path = written(tmp_path, PARTY)
    opened(path).clear("frodo")
    assert shown(path) == [2, 4, 5]


def test_clear_spares_what_is_protected_where_asked(tmp_path: Path) -> None:
    """Nuclear by default; `keep_protected` keeps."""
    path = written(tmp_path, "1 role=system | 2-4 | protect 3")
    opened(path).clear(keep_protected=True)
    assert shown(path) == [1, 3]
    opened(path).clear()
    assert shown(path) == [1]


def test_no_command_changes_a_byte_that_is_there(tmp_path: Path) -> None:
    """The log is an immutable event log: every command only appends."""
    path = written(tmp_path, "1 role=system | 2-9")
    steps: list[Any] = [
        lambda log: log.mark("a"), lambda log: log.forget("3"), lambda log: log.protect("4"),
        lambda log: log.unprotect("4"), lambda log: log.remember("2-6"), lambda log: log.set_window(HOUR),
        lambda log: log.rewind("a"), lambda log: log.clear(), lambda log: log.undo(), lambda log: log.redo(),
        lambda log: log.window_off(), lambda log: log.reset_window(),
        lambda log: log.add_message({"role": "user", "content": "ten"}),
    ]  # fmt: skip
    before = path.read_bytes()
    for step in steps:
        step(opened(path))
        after = path.read_bytes()
        assert after.startswith(before)
        before = after
    assert opened(path).check() == []


# Marks, forgetting, remembering


def test_the_worked_example(tmp_path: Path) -> None:
    """200 messages with a mark, a forget with its planning, and a rewind: 1-49 and 76-100 are left."""
    path = written(tmp_path, "1-100")
    opened(path).mark()
    append(path, *map(message, range(101, 151)))
    opened(path).forget("50-75", planning="140-145")
    append(path, *map(message, range(151, 201)))
    opened(path).rewind()
    assert shown(path) == [*range(1, 50), *range(76, 101)]
    mark, forget, rewind = ops(path)
    assert (forget["ids"], forget["planning"], rewind["to"]) == ("50-75", "140-145", mark["id"])
    assert (forget["before"], forget["after"]) == ({"messages": 150}, {"messages": 118})


def test_rewind_goes_to_the_newest_mark_or_the_named_one(tmp_path: Path) -> None:
    """Without a mark: an error, and nothing is appended."""
    path = written(tmp_path, "1-2 | mark a | 3-4 | mark b | 5-6")
    opened(path).rewind()
    assert shown(path) == [1, 2, 3, 4]
    opened(path).rewind("a")
    assert shown(path) == [1, 2]
    before = path.read_bytes()
    with pytest.raises(NoMark):
        opened(path).rewind("b")
    assert path.read_bytes() == before


def test_marks_never_reach_the_model(tmp_path: Path) -> None:
    """No op and no label is in an export."""
    path = written(tmp_path, "1-2 | mark a-label | 3")
    for to in ("chat", "openai", "anthropic"):
        text = json.dumps(list(opened(path).export(to).values))
        assert "ctxkit" not in text and "a-label" not in text


def test_forgetting_adds_up(tmp_path: Path) -> None:
    """Each forget acts on what the former ones left; undoing one brings back only what no other took."""
    path = written(tmp_path, "1-9")
    opened(path).forget("2-4")
    opened(path).forget("4-6")
    assert shown(path) == [1, 7, 8, 9]
    opened(path).undo("1")
    assert shown(path) == [1, 2, 3, 7, 8, 9]


def test_planning_goes_with_it_on_apply_only(tmp_path: Path) -> None:
    """The conversation about forgetting leaves with what was forgotten; planning it changes nothing."""
    path = written(tmp_path, "1-9")
    opened(path, dry_run=True).forget("2-3", planning="8-9")
    assert shown(path) == [*range(1, 10)]
    opened(path).forget("2-3", planning="8-9")
    assert shown(path) == [1, 4, 5, 6, 7]


def test_remember_keeps_only_these(tmp_path: Path) -> None:
    """The complement leaves; system and protected messages stay; later messages are not affected."""
    path = written(tmp_path, "1 role=system | 2-9 | protect 3")
    log = opened(path)
    log.remember("8-9")
    assert "everything else (5 messages) is forgotten" in log.said
    assert shown(path) == [1, 3, 8, 9]
    opened(path).add_message({"role": "user", "content": "ten"})
    assert shown(path) == [1, 3, 8, 9, 10]


def test_remember_few_of_many(tmp_path: Path) -> None:
    """18 of 530."""
    path = written(tmp_path, "1-530")
    opened(path).remember("101-118")
    assert shown(path) == [*range(101, 119)]


def test_a_preview_comes_before_a_change_by_criteria(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranges with a line each, count and tokens; a script that does not use --yes changes nothing."""
    path = written(tmp_path, "1-9")
    before = path.read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    text = said(capfd, "forget", str(path), "--role", "user", "--last", "2", status=2)
    assert "there is no terminal to ask on" in text
    assert "7     1  m7" in text and "2 of 9 messages" in text and "tokens" in text
    assert path.read_bytes() == before
    said(capfd, "forget", str(path), "--role", "user", "--last", "2", "--yes")
    assert shown(path) == [1, 2, 3, 4, 5, 6, 8]


@pytest.mark.parametrize(("answer", "kept"), [("y", [2, 4]), ("yes", [2, 4]), ("n", [1, 2, 3, 4]), ("", [1, 2, 3, 4])])
def test_a_terminal_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, kept: list[int]) -> None:
    """Only a yes is a yes."""
    from ctxkit.cli.terminal import streams

    path = written(tmp_path, "1-4")
    monkeypatch.setattr(streams, "on_terminal", lambda: True)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(readline=lambda: answer + "\n", isatty=lambda: True))
    assert run(["forget", str(path), "--role", "user"]) == (0 if len(kept) == 2 else 1)
    assert shown(path) == kept


def test_ops_tell_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Audit: name, time, criteria, numbers, sizes and the command line are in the op."""
    path = written(tmp_path, "1-9")
    monkeypatch.setattr(sys, "argv", ["ctxkit", "forget", str(path), "--role", "user", "--yes"])
    assert run(sys.argv[1:]) == 0
    [op] = ops(path)
    assert (op["ctxkit"], op["criteria"], op["ids"]) == ("forget", "--role user", "1,3,5,7,9")
    assert (op["before"]["messages"], op["after"]["messages"]) == (9, 4)
    assert op["by"]["args"] == sys.argv[1:] and op["ts"]


def test_everything_can_be_undone(tmp_path: Path) -> None:
    """Each change, the clear too, is one undo away."""
    path = written(tmp_path, "1 role=system | 2-6 | mark a | 7-9")
    whole = shown(path)
    for change in ("clear", "rewind"):
        getattr(opened(path), change)()
        assert shown(path) != whole
        opened(path).undo()
        assert shown(path) == whole
    opened(path).forget("3")
    opened(path).remember("2")
    opened(path).undo()
    opened(path).undo()
    assert shown(path) == whole


def test_the_words_of_the_commands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """mark, rewind, clear: in the words that were asked for."""
    path = str(written(tmp_path, "1-4"))
    assert said(capfd, "mark", path) == "Checkpoint created.\n"
    said(capfd, "add", path, "five")
    assert said(capfd, "rewind", path) == "Rewound to last checkpoint.\n"
    assert said(capfd, "clear", path) == "Context cleared. Starting fresh.\n"
    assert "--planning" in said(capfd, "forget", "--help")

"""window: every form of it, its arithmetic, bounds, agents, zones, and what it hides."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.cli.runner import ctxkit, good, lines, message, ops, shown

DEFAULT = '[window]\ndefault = "8h"\n'
NOW = "2026-02-04T12:00:00Z"  # a Wednesday


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A message an hour for ten days, the newest at NOW: number n is 240 - n hours old."""
    path = tmp_path / "chat.jsonl"
    start = 1770206400 - 239 * 3600
    path.write_bytes(lines(*({"role": "user", "content": f"m{n}", "ts": start + n * 3600} for n in range(240))))
    return path


def config(log: Path, text: str) -> None:
    """Put a config beside the log."""
    folder = log.with_name(log.name + ".ctxkit")
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(text)


FORMS = [
    ("24h", 86400, "24h"),
    ("set 24h", 86400, "24h"),
    ("2d", 172800, "48h"),
    ("1 week", 604800, "168h"),
    ("48 hours", 172800, "48h"),
    ("2h 30m", 9000, "2h 30m"),
    ("90m", 5400, "1h 30m"),
    ("1.5h", 5400, "1h 30m"),
    ("3 hours ago", 10800, "3h"),
    ("yesterday", 86400, "24h"),
    ("last monday", 216000, "60h"),
    ("2026-02-03", 129600, "36h"),
    ("2026-02-04T09:30:00Z", 9000, "2h 30m"),
    ("set 2026-02-02 12:00", 172800, "48h"),
]


@pytest.mark.parametrize(("words", "seconds", "spoken"), FORMS)
def test_set(log: Path, words: str, seconds: int, spoken: str) -> None:
    """Each way to say it is resolved to seconds before the append, in the exact words of the design."""
    ran = good("window", log, *words.split())
    assert (ran.out, ran.said) == (b"", f"Context window set to {spoken}\n")
    [op] = ops(log)
    assert (op["ctxkit"], op["seconds"]) == ("window", seconds)
    assert op["asked"] == words.removeprefix("set ")
    assert len(shown(log)) == min(240, -(-seconds // 3600))


BAD = ["8", "90", "1h30", "tomorrow", "0h", "-8h", "0", "next week", "in 2 hours", "a while", "2026-02-30",
       "2027-01-01", "8x", "h", "", "set", "add", "sub", "add yesterday", "sub 8", "add -1h", "reset 8h",
       "off now"]  # fmt: skip


@pytest.mark.parametrize("words", BAD)
def test_refused(log: Path, words: str) -> None:
    """What cannot be read, is zero, negative or in the future: exit 2, nothing changed, never a traceback."""
    before = log.read_bytes()
    ran = ctxkit("window", log, *(words.split() or [""]))
    assert (ran.code, ran.out, log.read_bytes()) == (2, b"", before)
    assert ran.err.startswith("ctxkit: ") and "hint: " in ran.err and "a bug" not in ran.err


def test_number_without_a_unit(log: Path) -> None:
    """The question back offers what may have been meant."""
    assert "8 what? 8h, 8d" in ctxkit("window", log, "8").err
    assert "1h30 what? 1h30m" in ctxkit("window", log, "1h30").err


def test_show(log: Path) -> None:
    """Without a word: what it is, which now it counts from, how to change it; nothing is appended."""
    before = log.read_bytes()
    ran = good("window", log)
    usage = "usage: ctxkit window LOG 24h | add 8h | sub 4h | reset | off\n"
    assert ran.text == f"Context window: off (default: off)\nnow: last ({NOW})\n{usage}"
    assert log.read_bytes() == before
    config(log, DEFAULT)
    good("window", log, "24h")
    assert good("window", log).text.splitlines()[0] == "Context window: 24h (default: 8h)"
    value = good("window", log, "--json").values
    now = {"name": "last", "time": NOW, "origin": "default"}
    assert value == [{"seconds": 86400, "default": 28800, "agent": None, "now": now}]


def test_add_and_sub(log: Path) -> None:
    """Arithmetic is on the window in force."""
    good("window", log, "24h")
    wider = good("window", log, "add", "8h")
    assert wider.said == "Context window set to 32h\n" and wider.err.endswith("192 → 256 tokens\n")
    assert good("window", log, "sub", "4h").said == "Context window set to 28h\n"
    assert good("window", log, "add", "30", "minutes").said == "Context window set to 28h 30m\n"
    assert [op["seconds"] for op in ops(log)] == [86400, 115200, 100800, 102600]
    assert ops(log)[1]["asked"] == "add 8h"


def test_add_on_the_default(log: Path) -> None:
    """Where no op speaks, the default is what is added to."""
    config(log, DEFAULT)
    assert good("window", log, "add", "8h").said == "Context window set to 16h\n"
    good("window", log, "reset")
    assert good("window", log, "sub", "2h").said == "Context window set to 6h\n"


@pytest.mark.parametrize("action", ["add", "sub"])
def test_arithmetic_while_off(log: Path, action: str) -> None:
    """No window, nothing to add to: exit 1; also where a default was switched off."""
    for prepare in (lambda: None, lambda: config(log, DEFAULT) or good("window", log, "off")):
        prepare()
        before = log.read_bytes()
        ran = ctxkit("window", log, action, "8h")
        assert (ran.code, log.read_bytes()) == (1, before)
        assert "no window is set: nothing was changed" in ran.err


@pytest.mark.parametrize(("words", "seconds", "said"), [
    ("30m", 3600, "30m is out of bounds: the window is at least 1h"),
    ("10s", 3600, "10s is out of bounds: the window is at least 1h"),
    ("8d", 604800, "192h (8 days) is out of bounds: the window is at most 168h (7 days)"),
    ("add 400h", 604800, "at most 168h"),
    ("99999999999999999999h", 604800, "at most 168h"),
    ("sub 23h 30m", 3600, "30m is out of bounds: the window is at least 1h"),
    ("sub 100h", 3600, "−76h is out of bounds: the window is at least 1h"),
])  # fmt: skip
def test_clamped(log: Path, words: str, seconds: int, said: str) -> None:
    """At either end, with a warning."""
    good("window", log, "24h")
    ran = good("window", log, *words.split())
    assert said in ran.err and f"Context window set to {seconds // 3600}h" in ran.err
    assert ops(log)[-1]["seconds"] == seconds


def test_bounds_of_the_config(log: Path) -> None:
    """What is allowed can be configured."""
    config(log, '[window]\nmin = "2h"\nmax = "12h"\n')
    assert "at least 2h" in good("window", log, "1h").err
    assert "at most 12h" in good("window", log, "1d").err


def test_reset_and_default(log: Path) -> None:
    """Both follow the default again; doing it twice appends nothing."""
    config(log, DEFAULT)
    for word in ("reset", "default"):
        good("window", log, "24h")
        assert good("window", log, word).said == "Context window reset to default (8h)\n"
        assert ops(log)[-1].get("seconds") is None
        assert len(shown(log)) == 8
    before = log.read_bytes()
    good("window", log, "reset")
    good("window", log, "reset")
    assert log.read_bytes() == before


def test_off(log: Path) -> None:
    """Off holds against a default; off already: exit 0, nothing appended."""
    config(log, DEFAULT)
    assert len(shown(log)) == 8
    good("window", log, "off")
    assert (ops(log)[-1]["seconds"], len(shown(log))) == (0, 240)
    before = log.read_bytes()
    ran = good("window", log, "off")
    assert "already" in ran.err and log.read_bytes() == before


def test_the_same_again(log: Path) -> None:
    """Where the wished state holds already nothing is appended, and that is no failure."""
    good("window", log, "24h")
    before = log.read_bytes()
    ran = good("window", log, "24h")
    assert "already" in ran.err and log.read_bytes() == before


def test_agents(tmp_path: Path) -> None:
    """An agent's window is its own, also off, also before the agent has said a word; messages of none follow all's."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*(message("user", "x", 60 * n, agent=a) for n in range(6) for a in ("sam", "frodo"))))
    good("window", path, "2h")
    good("window", path, "4h", "--agent", "frodo")
    assert shown(path) == [6, 8, 9, 10, 11, 12]
    good("window", path, "off", "--agent", "frodo")
    assert shown(path) == [2, 4, 6, 8, 9, 10, 11, 12]
    good("window", path, "reset", "--agent", "frodo")
    assert shown(path) == [9, 10, 11, 12]
    good("window", path, "3h", "--agent", "gandalf")
    assert "Context window: 3h" in good("window", path, "--agent", "gandalf").text
    assert "Context window: 2h" in good("window", path).text
    assert shown(path) == [9, 10, 11, 12]


def test_agent_of_the_config(log: Path) -> None:
    """The order is: op for the agent, op for all, config for the agent, default."""
    config(log, DEFAULT + '[agents.frodo]\nwindow = "3h"\n')
    assert "Context window: 3h (default: 3h)" in good("window", log, "--agent", "frodo").text
    good("window", log, "5h")
    assert "Context window: 5h (default: 3h)" in good("window", log, "--agent", "frodo").text


def test_profiles(tmp_path: Path) -> None:
    """`init --profile persona` has 8h, `bot` 24h, both by the clock."""
    for profile, hours in (("persona", "8h"), ("bot", "24h")):
        path = tmp_path / f"{profile}.jsonl"
        good("init", path, "--profile", profile)
        text = good("window", path).text
        assert f"Context window: {hours} (default: {hours})" in text and "now: wall" in text


def test_boundary_is_strict(log: Path) -> None:
    """A message exactly as old as the window is out."""
    good("window", log, "2h")
    assert shown(log) == [239, 240]
    assert shown(log, "--now", "2026-02-04T12:00:01Z") == [239, 240]
    assert shown(log, "--now", "2026-02-04T13:00:00Z") == [240]


def test_now(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """last is the default, so a replay is deterministic; wall, a time, and CTXKIT_NOW change it, and `show` says so."""
    good("window", log, "2h")
    assert f"window 2h, now: last ({NOW})" in good("show", log).err
    assert shown(log, "--now", "last") == [239, 240]
    assert shown(log, "--now", "2026-02-04T11:30:00Z") == [238, 239, 240]
    assert shown(log, "--now", "2030-01-01T00:00:00Z") == []
    monkeypatch.setenv("CTXKIT_NOW", "2026-02-04T13:30:00Z")
    assert shown(log) == [240]
    assert shown(log, "--now", "last") == [239, 240]


def test_now_by_the_clock(tmp_path: Path) -> None:
    """wall slides on, whatever the newest message is."""
    path, clock = tmp_path / "chat.jsonl", time.time()
    path.write_bytes(lines(*({"role": "user", "content": "x", "ts": clock - 3600 * n - 60} for n in (5, 2, 1))))
    good("window", path, "2h")
    assert (shown(path), shown(path, "--now", "wall")) == ([2, 3], [3])
    assert "now: wall (" in good("show", path, "--now", "wall").err


def test_no_timestamps(tmp_path: Path) -> None:
    """The window hides nothing, and every command that would use it says so."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "a"), message("assistant", "b")))
    said = "this log has no timestamps: the window hides nothing"
    assert said in good("window", path, "1h").err
    assert said in good("window", path).err
    ran = good("show", path, "--json")
    assert len(ran.values) == 2 and said in ran.err
    assert said in good("show", path, "--json", "--now", "wall").err
    good("window", path, "off")
    assert said not in good("show", path).err


def test_yesterday_without_timestamps_is_a_day(tmp_path: Path) -> None:
    """By the clock, and without a second lost to floating point."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "a")))
    assert "set to 24h" in good("window", path, "yesterday").err


@pytest.mark.parametrize(("zone", "now", "words", "hours"), [
    ("Europe/Berlin", "2026-03-29T12:00:00+02:00", "yesterday", 23),
    ("Europe/Berlin", "2026-10-25T12:00:00+01:00", "yesterday", 25),
    ("Europe/Berlin", "2026-03-29T12:00:00+02:00", "24h", 24),
    ("Europe/Berlin", "2026-03-29T12:00:00+02:00", "2026-03-28", 35),
    ("America/New_York", "2026-03-08T12:00:00-04:00", "yesterday", 23),
    ("America/New_York", "2026-11-01T12:00:00-05:00", "yesterday", 25),
    ("America/New_York", "2026-11-01T12:00:00-05:00", "1 day", 24),
    ("UTC", "2026-03-29T12:00:00Z", "yesterday", 24),
    ("Europe/Berlin", "2026-02-04T12:00:00+01:00", "2026-02-04T03:00:00Z", 8),
    ("America/New_York", "2026-02-04T12:00:00-05:00", "2026-02-04", 12),
])  # fmt: skip
def test_zones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, now: str, words: str, hours: int) -> None:
    """A date is a time on the user's wall, so a day may have 23 or 25 hours; a duration is one."""
    monkeypatch.setenv("TZ", zone)
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines({"role": "user", "content": "x", "ts": now}))
    good("window", path, *words.split())
    assert ops(path)[-1]["seconds"] == hours * 3600


def test_zone_of_the_reader_does_not_matter(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was resolved stays: a log read elsewhere shows the same."""
    good("window", log, "yesterday")
    here = shown(log)
    for zone in ("Asia/Kolkata", "America/New_York", "no/such"):
        monkeypatch.setenv("TZ", zone)
        assert shown(log) == here


def test_window_and_clear(log: Path) -> None:
    """A message must be inside the window and after the last clear."""
    good("window", log, "4h")
    good("clear", log)
    assert shown(log) == []
    log.write_bytes(log.read_bytes() + lines({"role": "user", "content": "new", "ts": NOW}))
    assert shown(log) == [241]


def test_protected_and_system_stay(tmp_path: Path) -> None:
    """What is protected is not windowed out."""
    path = tmp_path / "chat.jsonl"
    old = [message("system", "s", 0), message("user", "a", 1), message("user", "b", 2), message("user", "c", 600)]
    path.write_bytes(lines(*old))
    good("protect", path, "2")
    good("window", path, "1h")
    assert shown(path) == [1, 2, 4]
    assert f"window {path} off" in good("why", path, "3").text


def test_at(log: Path) -> None:
    """--at shows an earlier window; it cannot set one."""
    good("window", log, "24h")
    good("window", log, "8h")
    assert "Context window: 24h" in good("window", log, "--at", "1").text
    assert len(shown(log, "--at", "1")) == 24
    assert ctxkit("window", log, "4h", "--at", "1").code == 2

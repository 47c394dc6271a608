"""One clock: what is printed, typed back, means the same, in every zone; what leaves has the same bytes everywhere."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from math import floor
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

from ctxkit import when
from ctxkit.cli.options import Reading, Selecting
from ctxkit.cli.parser import command_parser
from ctxkit.cli.registry import COMMANDS
from ctxkit.core.times import iso, seconds
from ctxkit.errors import ExitCode
from tests.cli.runner import ROOT, ctxkit, good

ZONES = (
    "UTC", "America/New_York", "Asia/Tokyo", "Asia/Kolkata", "Pacific/Chatham", "Pacific/Apia", "Australia/Lord_Howe",
)  # fmt: skip
FIVE = ZONES[:5]

TIMES = (
    "2026-02-09T06:36:42Z", "2026-02-09T06:36:42.5Z", "2026-02-09T06:37:00", "2026-02-09T23:59:59.999999+09:00",
    "2026-03-08T06:59:59Z",  # New York: the last second before the hour that is skipped, and the one after it
    "2026-03-08T07:00:00Z",
    "2026-04-04T13:59:59Z",  # Chatham's clocks go back, then forward
    "2026-04-04T14:00:30Z",
    "2026-04-04T14:30:30Z",
    "2026-04-04T15:00:30Z",
    "2026-09-26T14:00:00Z",
    "2026-11-01T05:30:00Z",  # New York: 01:30, and 01:30 again
    "2026-11-01T05:45:10.123456Z",
    "2026-11-01T06:30:00Z",
    "2026-11-01T06:45:10.123456Z",
    "2026-12-31T23:30:00Z",
)  # fmt: skip
"""Of the messages of a log; one has no zone, which is UTC."""
MOMENTS = tuple(moment for text in TIMES if (moment := seconds(text)) is not None)

PRINTED = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:\d\d(?::\d\d)?)?")
"""A time or a day, as anything prints it."""


def reachable(log: Path) -> None:
    """Everything that has a time, in one log: messages of two threads, ops, a snapshot, a checkpoint, files."""
    rows: list[dict[str, Any]] = []
    for n, text in enumerate(TIMES):
        row: dict[str, Any] = {"role": "assistant" if n % 2 else "user", "content": f"the word {n}", "ts": text}
        if n % 5 == 4:
            row["thread"] = "side"
        if n % 7 == 6:
            row["agent"] = "sam"
        rows.append(row)
    call = {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": '{"file_path":"a.py"}'}}
    rows[3] = {"role": "assistant", "content": "", "tool_calls": [call], "ts": TIMES[3]}
    rows[4] = {"role": "tool", "tool_call_id": "c1", "content": "the word of a file", "ts": TIMES[4]}
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    good("mark", log, "here")
    good("snapshot", log, "-m", "kept")
    good("snapshot", log, "--light", "-m", "pinned")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Such a log."""
    path = tmp_path / "log.jsonl"
    reachable(path)
    return path


def zoned(monkeypatch: pytest.MonkeyPatch, zone: str) -> ZoneInfo:
    """The user is in this zone."""
    monkeypatch.setenv("TZ", zone)
    return ZoneInfo(zone)


def meant(text: str, zone: ZoneInfo) -> float:
    """What a time means that is typed in a zone, by nothing of ours."""
    found = datetime.fromisoformat(f"{text[:10]}T00:00{text[10:]}" if len(text) < 16 else text)
    return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC).timestamp()


LOOKS: dict[str, tuple[str, ...]] = {
    "show": ("show", "LOG"), "status": ("status", "LOG"), "log": ("log", "LOG"),
    "log --tokens": ("log", "LOG", "--tokens"),
    "diff": ("diff", "LOG", "1", "now"), "why": ("why", "LOG", "2"), "recall": ("recall", "LOG", "word"),
    "recall many": ("recall", "LOG", "LOG", "word"), "sessions": ("sessions", "FOLDER"), "window": ("window", "LOG"),
    "status --by": ("status", "LOG", "--by", "agent"), "show --explain": ("show", "LOG", "--explain"),
    "show --window": ("show", "LOG", "--now", "wall"),
    "status --files": ("status", "LOG", "--files"), "status --plot": ("status", "LOG", "--plot"),
    "snapshots": ("snapshots", "LOG"), "check": ("check", "LOG"), "scan": ("scan", "LOG"),
    "recover": ("recover", "LOG"),
    "snapshots --prune": ("snapshots", "LOG", "--prune", "--dry-run"), "config": ("config", "LOG", "show"),
    "edit": ("edit", "LOG", "--print"),
    "resume": ("resume", "LOG", "--to", "claude-code", "--dry-run"),
    "watch": ("watch", "LOG", "--once"),
    "metrics": ("metrics", "FOLDER"), "memory": ("memory",), "tool": ("tool", "define"),
    "sql": ("sql", "LOG", "select ts from messages"), "fleet": ("fleet", "sql", "--views"),
    "export": ("export", "LOG"), "help": ("help",),
}  # fmt: skip
"""What prints something of a log and appends nothing."""
CHANGES = {
    "init", "add", "mark", "rewind", "forget", "remember", "clear", "trim", "protect", "undo",
    "snapshot", "cat", "compact", "restore",
}  # fmt: skip
"""What they print is their report: no times, but for `cat`, which copies the log byte by byte."""


def called(words: tuple[str, ...], log: Path) -> list[str]:
    """A call with the names of the log and its folder."""
    return [{"LOG": str(log), "FOLDER": str(log.parent)}.get(word, word) for word in words]


def test_every_command_is_looked_at() -> None:
    """A new command says here whether it prints times."""
    assert {words[0] for words in LOOKS.values()} | CHANGES == set(COMMANDS)


def times(text: str) -> list[str]:
    """What of a print looks like a time."""
    return [found for found in PRINTED.findall(re.sub(r"\x1b\[[0-9;]*m", "", text))]


def test_printed_times_typed_back(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command prints on a terminal, in a pipe and with --utc, is the same list of moments in every zone."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(time, "time", lambda: 1793000000.25)  # `watch` says when it looked
    printing = set()
    for name, words in LOOKS.items():
        expected: dict[str, list[float]] = {}
        for zone in FIVE:
            tz = zoned(monkeypatch, zone)
            for how, screen, more in (("screen", True, ()), ("pipe", False, ()), ("utc", True, ("--utc",))):
                if more and "utc" not in inspect.signature(COMMANDS[words[0]].load()).parameters:
                    continue
                ran = ctxkit("--no-pager", *called(words, log), *more, terminal=screen, screen=screen)
                said = times(ran.text + ("" if words[0] == "sessions" else ran.err))
                days = [text for text in said if len(text) < 16]
                found = [meant(text, tz) for text in said if len(text) >= 16]
                kind = "days" if days and how == "screen" else "times"
                assert expected.setdefault("times", found) == found, (name, zone, how, said)
                printing |= {words[0]} if said else set()
                if how != "screen":
                    assert all(text.endswith("Z") for text in said), (name, zone, how, said)
                for text in days:  # a heading: what stands below it is of that day
                    assert kind and any(meant(text, tz) <= moment < meant(text, tz) + 90000 for moment in found), (
                        name,
                        text,
                    )
    assert {"show", "log", "status", "recall", "sessions", "window", "snapshots"} <= printing


class Typed(NamedTuple):
    """How an option takes a time: the call, and what of its result is a decision."""

    words: tuple[str, ...]
    result: str = "out"


OWN: dict[tuple[str, str], Typed] = {
    ("log", "since"): Typed(("log", "LOG", "--json", "--since", "TIME")),
    ("log", "until"): Typed(("log", "LOG", "--json", "--until", "TIME")),
    ("sessions", "since"): Typed(("sessions", "FOLDER", "--json", "--since", "TIME")),
    ("sessions", "until"): Typed(("sessions", "FOLDER", "--json", "--until", "TIME")),
    ("add", "ts"): Typed(("add", "LOG", "hi", "--dry-run", "--json", "--ts", "TIME")),
    ("window", "words"): Typed(("window", "LOG", "TIME", "--dry-run", "--json")),
    ("config", "value"): Typed(("config", "LOG", "set", "now", "TIME", "--dry-run", "--json")),
}
"""Options and arguments of single commands that take a time."""
SHARED: dict[str, Typed] = {
    "since": Typed(("show", "LOG", "--json", "--since", "TIME")),
    "until": Typed(("show", "LOG", "--json", "--until", "TIME")),
    "now": Typed(("show", "LOG", "--json", "--now", "TIME")),
}
"""Those of bundles, which all commands hand to the same functions."""
TIMELESS = {
    ("window", "agent"), ("compact", "timeout"), ("watch", "archive"), ("watch", "every"), ("fleet", "timeout"),
    ("sql", "timeout"), ("fleet", "output"), ("fleet", "retries"),
}  # fmt: skip
ABOUT_TIME = re.compile(r"\b(time|times|date|yesterday|ago|days?|hours?)\b", re.I)


def options() -> Iterator[tuple[str, str, str, str, bool]]:
    """Command, parameter, metavar, help, and whether it is the command's own, of all parameters of all commands."""
    for name, entry in COMMANDS.items():
        bundled = {key for bundle in entry.load().bundles for key in bundle.__annotations__}
        for one in command_parser(name).params:
            own = one.name not in bundled
            yield name, one.name or "", str(one.metavar or ""), str(getattr(one, "help", "") or ""), own


def test_every_option_that_takes_a_time_is_known() -> None:
    """A new option that takes a time is typed back here, too."""
    own, shared = set(), set()
    for command, name, metavar, about, mine in options():
        boolean = not metavar
        if (
            boolean
            or (command, name) in TIMELESS
            or not (ABOUT_TIME.search(about) or re.search("TIME|DATE|DURATION|AGE", metavar))
        ):
            continue
        if re.search("TIME|DATE|DURATION|AGE", metavar) or (command, name) in OWN:
            (own if mine else shared).add((command, name) if mine else name)  # type: ignore[arg-type]
        else:
            assert name in KNOWN, (command, name, about)
    assert own == set(OWN) - {("config", "value")}
    assert shared == set(SHARED)
    assert {"since", "until"} <= set(Selecting.__annotations__)
    assert "now" in Reading.__annotations__


KNOWN: frozenset[str] = frozenset()


@pytest.mark.parametrize("zone", ZONES)
def test_since_and_until_select_what_was_printed(log: Path, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """Of each message, its time on the screen, in a pipe, in JSON: --since and --until with it choose that second."""
    zoned(monkeypatch, zone)
    shown = {
        "screen": ctxkit("--no-pager", "show", log, screen=True).text,
        "pipe": good("show", log).text,
    }
    of = {how: [text for text in times(page) if len(text) > 16] for how, page in shown.items()}
    of["json"] = [row["ts"] for row in good("show", log, "--json", "--no-assembly").values]
    assert {len(found) for found in of.values()} == {len(TIMES)}
    for how, found in of.items():
        for n, text in enumerate(found):
            if how == "screen" or (zone == "UTC" and how == "json"):
                rows = good("show", log, "--json", "--since", text, "--until", text).values
                second = [k + 1 for k, moment in enumerate(MOMENTS) if floor(moment) == floor(MOMENTS[n])]
                exact = [k + 1 for k, moment in enumerate(MOMENTS) if moment == MOMENTS[n]]
                assert [row["n"] for row in rows] == (exact if "." in text else second), (how, text)
            else:
                tz = ZoneInfo(zone)
                assert when.moment(text, 0, tz) <= MOMENTS[n] <= when.until(text, 0, tz)


def typed_back(log: Path, typed: Typed, text: str) -> Any:
    """What a command decides by a time: its JSON, without the words that were typed."""
    words = [text if word == "TIME" else word for word in called(typed.words, log)]
    ran = ctxkit(*words)
    assert ran.code in (ExitCode.DONE, ExitCode.NO), ran.err
    rows: list[Any] = ran.values
    for row in rows:
        for key in ("by", "criteria", "asked", "id", "ts", "sum", "prev") if "ctxkit" in row else ():
            row.pop(key, None)
    return rows


@pytest.mark.parametrize("option", [*SHARED, *OWN], ids=str)
def test_options_take_what_was_printed(log: Path, monkeypatch: pytest.MonkeyPatch, option: Any) -> None:
    """Every option that takes a time means by it what the screen meant, in every zone."""
    typed = SHARED[option] if option in SHARED else OWN[option]
    good("config", log, "set", "window.max", "9999h")
    if option == "now":
        good("window", log, "2h")
    for n in (0, 5, 8, 11, 13):
        monkeypatch.setenv("TZ", "UTC")
        expected = typed_back(log, typed, iso(floor(MOMENTS[n])))
        for zone in FIVE:
            tz = zoned(monkeypatch, zone)
            clock = when.Clock(tz, exact=False)
            clock.time(MOMENTS[n])  # the offset is told above, as on a screen
            text = clock.time(MOMENTS[n])
            assert typed_back(log, typed, text) == expected, (zone, text)
            if (zone, n) == ("America/New_York", 13):
                assert text == "2026-11-01 01:30:00-05:00"


def test_utc_reads_what_it_prints(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--utc and `time.zone` hold for what is typed as for what is shown."""
    zoned(monkeypatch, "America/New_York")
    plain = "2026-02-09 06:36:42"
    for more, env in ((("--utc",), {}), ((), {"CTXKIT_TIME_ZONE": "utc"}), ((), {"TZ": "UTC"})):
        with monkeypatch.context() as patch:
            for key, value in env.items():
                patch.setenv(key, value)
            rows = good("show", log, "--json", "--since", plain, "--until", plain, *more).values
            assert [row["n"] for row in rows] == [1, 2]
            assert good("add", log, "x", "--ts", plain, "--dry-run", *more).values[0]["ts"] == "2026-02-09T06:36:42Z"
    assert ctxkit("show", log, "--json", "--since", plain, "--until", plain).values == []
    monkeypatch.setenv("CTXKIT_TIME_ZONE", "Asia/Kolkata")
    said = ctxkit("--no-pager", "show", log, "1", screen=True).text
    assert "2026-02-09 (+05:30)" in said and "12:06:42" in said
    monkeypatch.setenv("CTXKIT_TIME_ZONE", "nowhere")
    assert ctxkit("show", log).code == 78


def test_now_of_the_environment_is_typed_too(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CTXKIT_NOW means what it would mean as --now; `config set` stores a time with its zone."""
    zoned(monkeypatch, "Asia/Tokyo")
    monkeypatch.setenv("CTXKIT_NOW", "2026-02-09 15:36:42")
    assert good("window", log, "--json").values[0]["now"]["time"] in (None, "2026-02-09T06:36:42Z")
    good("window", log, "1h")
    assert good("window", log, "--json").values[0]["now"]["time"] == "2026-02-09T06:36:42Z"
    monkeypatch.delenv("CTXKIT_NOW")
    good("config", log, "set", "now", "2026-02-09 15:36:42")
    assert 'now = "2026-02-09T06:36:42Z"' in (log.parent / "log.jsonl.ctxkit/config.toml").read_text()


def test_skipped_and_repeated_hours() -> None:
    """A wall time that there is not is one right behind the gap; one that comes twice is the first of both."""
    new_york = ZoneInfo("America/New_York")
    assert when.moment("2026-03-08 02:30:00", 0, new_york) == seconds("2026-03-08T07:30:00Z")
    assert when.moment("2026-11-01 01:30:00", 0, new_york) == seconds("2026-11-01T05:30:00Z")
    assert when.moment("2026-11-01 01:30:00-05:00", 0, new_york) == seconds("2026-11-01T06:30:00Z")
    whole = when.until("2026-11-01", 0, new_york) - when.moment("2026-11-01", 0, new_york)
    assert round(whole) == 25 * 3600
    assert round(when.until("2026-03-08", 0, new_york) - when.moment("2026-03-08", 0, new_york)) == 23 * 3600


def test_zones_of_the_machine() -> None:
    """Where TZ names no zone of the database, the rules of the machine hold, with its changes of clocks."""
    code = (
        "import os; from ctxkit.when import Clock, moment, zone_of\n"
        "zone = zone_of('local', os.environ); clock = Clock(zone, exact=False)\n"
        "print(zone, clock.time(1770619002), clock.time(1783579002), moment('2026-07-09 02:36:42', 0, zone))"
    )
    env = {**os.environ, "TZ": "<-05>5<-04>,M3.2.0,M11.1.0"}
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert ran.stdout == "None 2026-02-09 01:36:42-05:00 2026-07-09 02:36:42-04:00 1783579002.0\n"


BYTES: tuple[tuple[str, ...], ...] = (
    ("mark", "log.jsonl", "here"),
    ("snapshot", "log.jsonl", "-m", "kept", "--json"),
    ("snapshot", "log.jsonl", "--light", "-m", "pinned", "--json"),
    ("compact", "log.jsonl", "--target", "40%"),
    ("restore", "log.jsonl", "kept", "--summary"),
    ("forget", "log.jsonl", "6", "--json"),
    ("window", "log.jsonl", "9000h"),
    ("add", "log.jsonl", "the end", "--json"),
    ("show", "log.jsonl"), ("show", "log.jsonl", "--json"), ("show", "log.jsonl", "--explain"),
    ("show", "log.jsonl", "--explain", "--json"), ("log", "log.jsonl"), ("log", "log.jsonl", "--json"),
    ("status", "log.jsonl"), ("status", "log.jsonl", "--json"), ("status", "log.jsonl", "--files", "--json"),
    ("recall", "log.jsonl", "word"), ("recall", "log.jsonl", "word", "--json"),
    ("sessions", ".", "--json"), ("sessions", "."), ("snapshots", "log.jsonl"), ("snapshots", "log.jsonl", "--json"),
    ("window", "log.jsonl", "--json"), ("why", "log.jsonl", "6", "--json"), ("check", "log.jsonl"),
    ("edit", "log.jsonl", "--print"), ("cat", "log.jsonl"), ("config", "log.jsonl", "show", "--json"),
    ("recover", "log.jsonl", "--json"), ("diff", "log.jsonl", "1", "now", "--json"),
    *(("export", "log.jsonl", "--to", to) for to in ("anthropic", "openai", "gemini", "chat", "claude-code", "pi")),
)  # fmt: skip
"""Whatever leaves: to a pipe, to a file, into an op."""

CHILD = f"""
import hashlib, json, os, sys, time
sys.path.insert(0, {str(ROOT)!r})
time.time = lambda: 1793000000.25
time.time_ns = lambda: 1793000000250000000  # before the files: no size of a log that changes is ever noted
drawn = iter(range(1, 1 << 30))
os.urandom = lambda size: hashlib.shake_256(b"%d" % next(drawn)).digest(size)
from ctxkit.cli.app import run
for words in json.load(sys.stdin):
    sys.stdout.buffer.write(repr(words).encode())
    sys.stdout.buffer.flush()
    run(words)
"""


def left(folder: Path, env: Mapping[str, str]) -> dict[str, bytes]:
    """The bytes of all that leaves, by command, and every file."""
    folder.mkdir()
    log = folder / "log.jsonl"
    rows = [
        {"role": "assistant" if n % 2 else "user", "content": f"the word {n} " * 40, "ts": ts}
        for n, ts in enumerate(TIMES)
    ]
    for row in rows[4::5]:
        row["thread"] = "side"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(log, (1793000000, 1793000000))
    own = {**os.environ, "XDG_CACHE_HOME": f"{folder}.cache", **env}  # a report says whether tokens were counted
    ran = subprocess.run(
        [sys.executable, "-c", CHILD], cwd=folder, env=own, input=json.dumps(BYTES).encode(),
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    assert b"a bug" not in ran.stderr, ran.stderr.decode()
    found = {"stdout": ran.stdout, "stderr": ran.stderr}
    found |= {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: data.replace(str(folder).encode(), b"") for name, data in found.items()}


def test_what_leaves_has_the_same_bytes_in_every_zone() -> None:
    """Exports, snapshots, summaries, drafts, JSON, ops and prints of pipes do not depend on the zone."""
    with tempfile.TemporaryDirectory(prefix="zones") as short:  # a long path is broken into lines, and not taken out
        expected = left(Path(short, "0"), {"TZ": "UTC"})
        assert re.search(
            rb"Summary of snapshot .*T.*Z, ", expected["log.jsonl"] + expected.get("log.jsonl.ctxkit/ops.jsonl", b"")
        )
        for n, zone in enumerate(("America/New_York", "Pacific/Chatham"), start=1):
            assert left(Path(short, str(n)), {"TZ": zone}) == expected, zone


ALLOWED = {"when.py", "core/times.py"}
"""Where times are written and read: for people, and for everybody else."""
FORMATTING = {"strftime", "strptime", "localtime", "gmtime", "ctime", "asctime", "astimezone", "fromtimestamp",
              "utcfromtimestamp", "isoformat", "fromisoformat", "tzset", "mktime"}  # fmt: skip


SUSPECT = re.compile(r"datetime|zoneinfo|dateutil|calendar|\biso\(|timestamp|\bts\b|\btime\b|when\(|\"T\"")
"""A module without any of these has nothing to do with times."""


def broken(path: Path) -> Iterator[str]:
    """What of a module writes or reads times by itself."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if SUSPECT.search(text) else ():
        place = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
            if {name.split(".")[0] for name in names} & {"datetime", "zoneinfo", "dateutil", "calendar"}:
                yield f"{place}: imports {names}"
        elif isinstance(node, ast.Attribute) and node.attr in FORMATTING:
            yield f"{place}: .{node.attr}"
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            cut = ast.unparse(node.value)
            if re.search(r"\biso\(|timestamp|(^|\.)ts$|\['ts'\]|\.time$|when\(", cut):
                yield f"{place}: a part of {cut}"
        elif isinstance(node, ast.Call) and [getattr(one, "value", None) for one in node.args] == ["T", " "]:
            yield f"{place}: {ast.unparse(node)}"


def test_times_are_written_in_one_place() -> None:
    """No module but the clock formats a time, takes a part of one, or knows of zones."""
    package = ROOT / "ctxkit"
    found = [
        line
        for path in sorted(package.rglob("*.py"))
        if str(path.relative_to(package)) not in ALLOWED
        for line in broken(path)
    ]
    assert found == []

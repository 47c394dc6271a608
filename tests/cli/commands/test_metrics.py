"""`metrics`: figures as Prometheus reads them, with labels of closed sets; served, or written as a whole."""

from __future__ import annotations

import os
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from ctxkit.cli.commands.metrics import FILLS, Collector, _histogram, text
from ctxkit.core.strategies import NAMES
from ctxkit.errors import CtxkitError
from ctxkit.formats import registry
from ctxkit.store.private import user_state
from ctxkit.watch import claims
from tests import homes
from tests.cli.runner import FOREIGN, PYTHON, ctxkit, good, lines, message, small
from tests.damage.sessions import ALL

text_string_to_metric_families = pytest.importorskip("prometheus_client.parser").text_string_to_metric_families
CANARY = "canary-5f1e"
Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]


def figures(text: str) -> Figures:
    """Name and labels of each sample -> its value."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def one(found: Figures, name: str, **labels: str) -> float | None:
    """The value of a sample."""
    return found.get((f"ctxkit_{name}", frozenset(labels.items())))


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log with a compaction, one that fell back, a refused one, a damaged session; all with a telling name."""
    folder = tmp_path / CANARY
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CTXKIT_LOG", str(tmp_path / "tokens.jsonl"))
    monkeypatch.setenv("CTXKIT_OFFLINE", "1")
    small(folder)
    good("compact", "chat.jsonl", "--force", "--keep-last", "0")
    (folder / "session.jsonl").write_bytes(FOREIGN + b'{"torn\n{}\n')
    ran = ctxkit("compact", "chat.jsonl", "--log-format", "json")
    assert ran.code == 75
    (tmp_path / "events.jsonl").write_text(ran.err + "not of ours\n")
    monkeypatch.setattr("ctxkit.store.index.JUST_NOW", 0)
    good("config", "chat.jsonl", "set", "limit", "1000")
    good("status", "chat.jsonl")
    return folder


def test_figures(logs: Path, tmp_path: Path) -> None:
    """What is there, and what was done."""
    text = good("metrics", logs, "--events", tmp_path / "events.jsonl").text
    found = figures(text)
    assert one(found, "sessions", format="claude-code", state="damaged") == 1
    assert one(found, "damage", format="claude-code") == 1
    assert one(found, "checkpoints", format="chat") == 1
    size = sum(
        path.stat().st_size for path in logs.rglob("*") if path.is_file() and "chat" in str(path.relative_to(logs))
    )
    assert one(found, "storage_bytes", format="chat") == size
    assert (one(found, "context_fill_ratio_count"), one(found, "context_fill_ratio_bucket", le="+Inf")) == (2, 2)
    assert one(found, "compaction_ops", strategy="extract") == 1
    outcomes = [one(found, "compactions_total", outcome=name) for name in ("done", "refused", "failed")]
    assert outcomes == [1, 1, 0]
    assert one(found, "compaction_seconds_count") == one(found, "compaction_reduction_ratio_count") == 1
    assert CANARY not in text and str(tmp_path) not in text


@pytest.mark.parametrize(("ended", "back"), [("undo", "undo --redo"), ("clear", "undo")])
@pytest.mark.parametrize("name", ["chat.jsonl", "session.jsonl", "many.jsonl"])
def test_what_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ended: str, back: str) -> None:
    """A compaction that was undone or ended does not count; redone it does. Of logs, sidecars, one of many."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXKIT_CHECKPOINT_TRIGGERS", "off")
    rows = [message("user" if n % 2 else "assistant", f"word {n} " * 60) for n in range(1, 13)]
    many = lines(*({"messages": rows} for _ in range(2)))
    Path(name).write_bytes(
        {"chat.jsonl": lines(*rows), "session.jsonl": ALL["claude-code"].clean, "many.jsonl": many}[name]
    )
    own = ["--conversation", "2"] if name == "many.jsonl" else []

    def stand() -> float:
        found = figures(good("metrics", ".").text)
        return sum(value for (key, _), value in found.items() if key == "ctxkit_compaction_ops")

    good("compact", name, "--force", "--keep-last", "0", *own)
    assert stand() == 1
    good(ended, name, *own)
    assert stand() == 0
    good(*back.split(), name, *own)
    assert stand() == 1


def test_tokens_that_nobody_counted(tmp_path: Path) -> None:
    """Are estimated: no context that has messages has 0."""
    (tmp_path / "a.jsonl").write_bytes(lines(*(message("user", "word " * 200) for _ in range(20))))
    (tmp_path / "b.jsonl").write_bytes(FOREIGN)
    found = figures(good("metrics", tmp_path).text)
    assert 2500 < (one(found, "context_tokens", format="chat") or 0) < 10_000
    assert (one(found, "context_tokens", format="claude-code") or 0) > 10


def test_labels_are_closed(logs: Path, tmp_path: Path) -> None:
    """Whatever words stand in files."""
    (tmp_path / "events.jsonl").write_text('{"event_log":1,"event":"' + CANARY + '","code":"' + CANARY + '"}\n')
    with open(logs / "chat.jsonl", "a") as file:
        file.write('{"ctxkit":"compact","v":1,"id":"0123456789ab","at":{"messages":1},"strategy":"' + CANARY + '"}\n')
    text = good("metrics", logs, "--events", tmp_path / "events.jsonl").text
    known = {
        "format": {*registry.FORMATS, "other"}, "state": {"clean", "interrupted", "damaged"},
        "strategy": {*NAMES, "other"}, "outcome": {"done", "refused", "failed"},
        "event": {"checkpoint", "error", "fallback", "warning"},
    }  # fmt: skip
    labels = {pair for _, some in figures(text) for pair in some if pair[0] != "le"}
    assert all(value in known[key] for key, value in labels)
    assert CANARY not in text


def test_agents_folders_and_none(tmp_path: Path) -> None:
    """Without PATH those of the agents; without any, figures that are 0."""
    assert one(figures(good("metrics").text), "unreadable_sessions") == 0
    homes.session(Path(os.environ["HOME"]), "codex", "/shop")
    assert one(figures(good("metrics").text), "sessions", format="codex", state="interrupted") == 1


def test_watchers(logs: Path) -> None:
    """A watcher that runs, and is behind; one that is gone does not count."""
    log = logs / "chat.jsonl"
    held = claims.claim(log, os.environ)
    assert isinstance(held, claims.Claim)
    held.note.bytes = log.stat().st_size - 10
    held.write()
    found = figures(good("metrics", logs).text)
    assert (one(found, "watched_logs"), one(found, "watch_behind_bytes")) == (1, 10)
    held.note.started = "1"
    held.write()
    assert one(figures(good("metrics", logs).text), "watched_logs") == 0
    held.release()
    assert user_state(os.environ)


def test_textfile(logs: Path, tmp_path: Path) -> None:
    """Replaced as a whole; others may read it."""
    path = tmp_path / "a.prom"
    path.write_text("old")
    good("metrics", logs, "--textfile", path)
    assert one(figures(path.read_text()), "watched_logs") == 0
    assert path.stat().st_mode & 0o044 and os.listdir(tmp_path).count("a.prom") == 1
    ran = ctxkit("metrics", logs, "--textfile", tmp_path / "none/a.prom")
    assert ran.code == 73 and "the old file stays" in ran.err


def test_a_source_that_cannot_be_read(logs: Path, tmp_path: Path) -> None:
    """The figures of the others are printed, written and served; which one it is is said, once."""
    broken = ["metrics", logs, "--events", tmp_path, "--events", tmp_path / "events.jsonl"]
    ran = ctxkit(*broken)
    assert (ran.code, ran.err) == (74, f"ctxkit: {tmp_path}: cannot open: is a directory\n")
    found = figures(ran.text)
    assert one(found, "unreadable_logs") == 1 and one(found, "compactions_total", outcome="refused") == 1
    assert one(found, "sessions", format="claude-code", state="damaged") == 1
    assert ctxkit(*broken, "--textfile", tmp_path / "f.prom").code == 74
    assert one(figures((tmp_path / "f.prom").read_text()), "unreadable_logs") == 1
    process = subprocess.Popen([*PYTHON, *map(str, broken), "--serve", "0"], stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        url = process.stderr.readline().decode().split()[-1]
        for _ in range(2):
            with urllib.request.urlopen(url, timeout=20) as answer:
                assert one(figures(answer.read().decode()), "unreadable_logs") == 1
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
        assert process.stderr.read().decode() == ran.err
        process.stderr.close()


def test_serve(logs: Path) -> None:
    """Each scrape looks anew; on the loopback address; a signal ends it; a taken port is an error."""
    process = subprocess.Popen([*PYTHON, "metrics", str(logs), "--serve", "0"], stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        said = process.stderr.readline().decode()
        url = said.split()[-1]
        assert "http://127.0.0.1:" in url
        for count in (1, 2):
            with urllib.request.urlopen(url, timeout=20) as answer:
                assert one(figures(answer.read().decode()), "sessions", format="claude-code", state="damaged") == count
            (logs / "more.jsonl").write_bytes((logs / "session.jsonl").read_bytes())
        for host, good_name in (
            ("localhost:1", True),
            ("[::1]", True),
            ("evil.example", False),
            ("127.0.0.1.x", False),
        ):
            try:
                urllib.request.urlopen(urllib.request.Request(url, headers={"Host": host}), timeout=20).close()
                assert good_name, host
            except urllib.error.HTTPError as error:
                assert not good_name and error.code == 421, host
        taken = ctxkit("metrics", logs, "--serve", url.split(":")[-1].partition("/")[0])
        assert taken.code == 73 and "cannot listen" in taken.err
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
        process.stderr.close()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--serve", "x"], 2, "no address and port"),
        (["--serve", "99999"], 2, "no address and port"),
        (["--serve", "1", "--textfile", "f"], 2, "use only one of them"),
        (["/no/such"], 66, "no such file or folder"),
    ],
)
def test_refused(words: list[str], code: int, said: str) -> None:
    """What cannot be."""
    ran = ctxkit("metrics", *words)
    assert ran.code == code and said in ran.err


@pytest.mark.parametrize("value", [*FILLS, 0.0, 0.05, 0.5000001, 7.0])
def test_a_bucket_has_what_is_at_most_its_bound(value: float) -> None:
    """Each value is in all buckets from the first that holds it."""
    [*samples, count, total] = _histogram("x", "x", FILLS, [value]).samples
    for sample in samples:
        assert sample.value == (value <= float(sample.labels["le"])), sample
    assert (count.value, total.value) == (1, value)


@pytest.mark.parametrize(
    ("line", "done"),
    [
        ('{"token_log":1,"command":"compact","op":"a","before":10,"after":4,"seconds":1.5,"exit":0}', 1),
        ('{"token_log":1,"command":"compact","op":null,"before":10,"after":4,"seconds":1.5,"exit":1}', 0),
        ('{"token_log":1,"command":"trim","op":"a","before":10,"after":4,"seconds":1.5,"exit":0}', 0),
        ('{"token_log":1,"command":"compact","op":"a","before":0,"after":0,"seconds":1.5,"exit":0}', 0),
        ('{"token_log":1,"command":"compact","op":"a","before":"x","after":[],"seconds":"y"}', 0),
        ('{"token_log":1,"command":"comp', 0),
        ("[]", 0),
        ("\x00\xff", 0),
    ],
)
def test_lines_of_the_token_log(line: str, done: int, tmp_path: Path) -> None:
    """Those of compactions that were made count; what is damaged is passed over."""
    path = tmp_path / "tokens.jsonl"
    path.write_bytes(line.encode("latin-1") + b"\n")
    env = {**os.environ, "CTXKIT_LOG": str(path)}
    found = figures(text(Collector([], env, failed=print)).decode())
    assert one(found, "compactions_total", outcome="done") == done
    assert one(found, "compaction_seconds_sum") == 1.5 * done


def test_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    """Has no lines; the error of one that cannot be read is handed over."""
    failed: list[CtxkitError] = []
    found = figures(text(Collector([], os.environ, [tmp_path / "none"], failed=failed.append)).decode())
    assert (one(found, "events_total", event="error"), failed) == (0, [])
    text(Collector([], os.environ, [tmp_path], failed=failed.append))
    assert [one.code for one in failed] == [74]

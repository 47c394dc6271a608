"""A compaction beside the watcher."""

from __future__ import annotations

import os
import queue
from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.errors import ExitCode
from ctxkit.search.resumed import untouched
from ctxkit.settings.config import Config
from ctxkit.watch.compaction import (
    UNSEEN,
    BackgroundCompaction,
    CompactionDone,
    CompactionEnd,
    CompactionFailed,
    CompactionSkipped,
    CompactionTask,
    compact,
    strategy_of,
)
from tests.llm.test_client import ANTHROPIC
from tests.stub import Says, pointed, stub
from tests.watch.running import Claude, Watching, answer, append, calling, log_of, user

LIMIT = 4000


def full(path: Path, exchanges: int = 12) -> Path:
    """A native log that is fuller than the threshold of its folder's config."""
    path.parent.mkdir(exist_ok=True)
    (path.parent / "ctxkit.toml").write_text(f"limit = {LIMIT}\n")
    rows = []
    for i in range(exchanges):
        rows += [user(f"question {i} " + f"word{i} " * 80), answer(f"answer {i} " + f"reply{i} " * 80)]
    return log_of(path, *rows)


def task(path: Path, strategy: str = "extract") -> CompactionTask:
    """What the process is told."""
    return CompactionTask(str(path), strategy, "a1b2c3d4e5f6")


@pytest.mark.parametrize(
    ("auto", "named", "asked", "strategy"),
    [
        (False, "extract", False, None),
        (False, "mask", True, "mask"),
        (True, "mask", False, "mask"),
        (True, "llm", False, "extract"),  # true is by rules, whatever strategy a compact by hand takes
        ("llm", "mask", False, "llm"),
    ],
)
def test_how(auto: bool | str, named: str, asked: bool, strategy: str | None) -> None:
    """By rules where it is on, or asked for; by a model only where the config says llm."""
    config = Config().given({"compact.auto": auto, "compact.strategy": named})
    assert strategy_of(config, asked=asked) == strategy


def test_a_cloned_folder_asks_no_model(tmp_path: Path) -> None:
    """`compact.auto = "llm"` of a log's folder is ignored; true counts."""
    for text, strategy in (('"llm"', None), ("true", "extract")):
        path = log_of(tmp_path / "chat.jsonl", user("hello"))
        (tmp_path / "ctxkit.toml").write_text(f"compact.auto = {text}\n")
        assert strategy_of(Log.open(path).config, asked=False) == strategy


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    """The op has the id that was known before; what came of it is told once."""
    path = full(tmp_path / "chat.jsonl")
    told: queue.Queue[CompactionEnd] = queue.Queue()
    begun = BackgroundCompaction(path, "extract", told.put, os.environ)
    begun.join()
    [end] = [told.get_nowait()]
    assert isinstance(end, CompactionDone)
    assert (end.op, end.log, end.strategy, end.fallback, end.resume) == (begun.op, str(path), "extract", None, None)
    assert end.before > end.after and end.seconds > 0
    entries = Log.open(path).ledger.entries
    assert [(one.id, one.name) for one in entries] == [(begun.op, "compact")]
    assert entries[0].body["by"]["args"] == ["watch", "--compact"]
    assert told.empty()


def test_a_process_that_is_ended(tmp_path: Path) -> None:
    """Nothing is appended, and that is a failure with a reason."""
    path = full(tmp_path / "chat.jsonl", 200)
    before = path.read_bytes()
    told: queue.Queue[CompactionEnd] = queue.Queue()
    begun = BackgroundCompaction(path, "extract", told.put, os.environ)
    begun.stop()
    begun.join()
    end = told.get_nowait()
    assert isinstance(end, CompactionFailed)
    assert (end.code, "ended with status -15" in end.reason) == (ExitCode.BUG, True)
    assert path.read_bytes() == before


def test_reasons_not_to(tmp_path: Path) -> None:
    """An open call, room that is left, a moment since the last one: skipped, with the reason."""
    path = full(tmp_path / "chat.jsonl")
    append(path, user("go"), calling("c1", "Bash", command="make"))
    assert compact(task(path)) == CompactionSkipped(log="", time="", reason="open call")
    path = full(tmp_path / "room" / "chat.jsonl", 2)
    end = compact(task(path))
    assert isinstance(end, CompactionSkipped) and end.reason == "not full"
    path = full(tmp_path / "again" / "chat.jsonl")
    assert isinstance(compact(task(path)), CompactionDone)
    append(path, *(user(f"more {i} " + "word " * 300) for i in range(12)))
    end = compact(CompactionTask(str(path), "extract", "b1b2c3d4e5f6"))
    assert isinstance(end, CompactionSkipped) and end.reason == "cooldown"


def test_what_went_wrong_beside_it_is_in_its_note(tmp_path: Path) -> None:
    """The checkpoint before the compaction could not be written: the event says so."""
    path = full(tmp_path / "chat.jsonl")
    (tmp_path / "chat.jsonl.ctxkit").mkdir()
    (tmp_path / "chat.jsonl.ctxkit/snapshots").write_text("a file")
    end = compact(task(path))
    assert isinstance(end, CompactionDone) and "no checkpoint was made" in (end.note or "")


def test_failures_have_reasons(tmp_path: Path) -> None:
    """No model is named: refused, with what to do. The log is gone: so is its compaction."""
    path = full(tmp_path / "chat.jsonl")
    end = compact(task(path, "llm"))
    assert isinstance(end, CompactionFailed)
    assert (end.code, "compact.model" in end.reason) == (ExitCode.CONFIG, True)
    end = compact(task(tmp_path / "none.jsonl"))
    assert isinstance(end, CompactionFailed) and end.code == ExitCode.NO_LOG


def test_a_model_only_where_the_user_s_config_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`compact.auto = "llm"` of the user's config asks the model; where that fails, rules take over, and it is told."""
    path = full(tmp_path / "chat.jsonl")
    user_config = Path(os.environ["HOME"]) / ".config/ctxkit/config.toml"
    user_config.parent.mkdir(parents=True)
    with stub(Says("BOOM", 401)) as made:
        pointed(made, monkeypatch)
        monkeypatch.setenv("CTXKIT_COMPACT_MODEL", ANTHROPIC)
        for auto, asked in (("true", 0), ('"llm"', 1)):
            user_config.write_text(f'[compact]\nauto = {auto}\ncooldown = "off"\n')
            full(path)
            with Watching(path) as watching:
                done = watching.event("compaction.done")
            assert (done["strategy"], len(made.requests) > 0) == ("extract", bool(asked))
            assert ("AuthenticationError" in (done["fallback"] or "")) == bool(asked)


def test_a_log_of_another_program(tmp_path: Path) -> None:
    """A sidecar op, a session to go on with, and that the running agent does not see it. The log is as it was."""
    (tmp_path / "ctxkit.toml").write_text(f"limit = {LIMIT}\n")
    claude = Claude(str(tmp_path))
    rows = []
    for i in range(12):
        rows += [claude.user(f"q{i} " + f"word{i} " * 80), claude.says(f"a{i} " + f"reply{i} " * 80, used=300 * i)]
    path = log_of(tmp_path / "5e55e551-0000-4000-8000-000000000001.jsonl", *rows)
    before = path.read_bytes()
    end = compact(task(path))
    assert isinstance(end, CompactionDone)
    assert (end.note, path.read_bytes()) == (UNSEEN, before)
    assert end.resume is not None and "claude --resume " in end.resume
    made = list((Path(os.environ["HOME"]) / ".claude/projects").rglob("*.jsonl"))
    assert [one.stem for one in made] == [end.resume.split("claude --resume ")[1].split()[0]]
    sizes = {str(made[0]): made[0].stat().st_size}
    assert untouched(sizes, os.environ) == {str(made[0]): str(path)}, "so `@` is the source"
    assert [one.name for one in Log.open(path).ledger.entries] == ["compact"]

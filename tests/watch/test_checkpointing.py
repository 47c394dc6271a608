"""Checkpoints of exchanges that are worth one."""

from __future__ import annotations

from pathlib import Path

from ctxkit.api.log import Log
from ctxkit.watch.checkpointing import checkpoint
from tests.watch.running import answer, append, calling, log_of, result, user


def test_what_is_worth_one(tmp_path: Path) -> None:
    """A file that was written, a decision; once for each exchange. Talk is worth none."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"))
    assert checkpoint(path) is None
    append(path, user("write"), calling("c1", "Write", path="a.py"), result("c1", "ok"), answer("done"))
    made = checkpoint(path)
    assert made is not None and (made.kept.tags, made.kept.label, made.over) == (["code"], "a.py written", 0)
    assert checkpoint(path) is None
    append(path, user("which"), answer("We decided to use msgspec."))
    made = checkpoint(path)
    assert made is not None and made.kept.tags == ["decision"]


def test_exchanges_that_ended_unnoticed(tmp_path: Path) -> None:
    """One that is worth a checkpoint gets it also if some that are worth none ended before the watcher looked."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"))
    append(path, user("write"), calling("c1", "Write", path="a.py"), result("c1", "ok"), answer("done"))
    for i in range(4):
        append(path, user(f"question {i}"), answer("yes"))
    made = checkpoint(path)
    assert made is not None and made.kept.label == "a.py written"
    assert Log.open(path).checkpoint(auto=True) is None  # a hook looks at two
    append(path, user("one more"), answer("yes"))
    assert checkpoint(path) is None


def test_retention(tmp_path: Path) -> None:
    """Those made by themselves are removed beyond the bound, which is said; those made by hand stay and are counted."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    (tmp_path / "ctxkit.toml").write_text("checkpoint.keep = 2\n")
    for i in range(3):
        append(path, answer(f"{i}"))
        Log.open(path).checkpoint(f"by hand {i}")
    for i in range(4):
        row = calling(f"c{i}", "Write", path=f"{i}.py")
        append(path, user("write"), row, result(f"c{i}", "ok"), answer("done"))
        made = checkpoint(path)
        assert made is not None
        assert (made.over, bool(made.notes)) == (1, i > 1)
    labels = [head.description for head in Log.open(path).snapshots()]
    assert sorted(labels) == ["2.py written", "3.py written", "by hand 0", "by hand 1", "by hand 2"]


def test_the_exchange_that_goes_on(tmp_path: Path) -> None:
    """It gets its checkpoint when it has ended, and does not keep the one before it from getting its own."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"))
    append(path, user("write"), calling("c1", "Write", path="a.py"), result("c1", "ok"), answer("done"), user("more"))
    made = checkpoint(path)
    assert made is not None and made.kept.label == "a.py written"
    append(path, calling("c2", "Write", path="b.py"), result("c2", "ok"))
    assert checkpoint(path) is None
    append(path, answer("done"))
    made = checkpoint(path)
    assert made is not None and made.kept.label == "b.py written"

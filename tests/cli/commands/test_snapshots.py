"""snapshots: newest first; removed by name, by age, by number."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ctxkit.core.ops import LogPosition
from ctxkit.core.snapshot import CHECKPOINT, Snapshot, SnapshotHead, sealed
from ctxkit.core.times import iso
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.snapshot_files import Snapshots, pieces
from tests.cli.hostile import bad_characters
from tests.cli.runner import SMALL, ctxkit, good, lines, message, small


def several(folder: Path, *names: str) -> Path:
    """A log with snapshots so described, each a minute after the one before."""
    path = small(folder)
    for n, name in enumerate(names):
        good("snapshot", path, "-m", name)
        kept = next(one for one in (folder / "chat.jsonl.ctxkit/snapshots").iterdir() if "T" in one.name[:9])
        body = json.loads(kept.read_bytes())
        messages, held = body.pop("messages"), body.pop("held")
        body.pop("sum")
        body["timestamp"] = f"2026-02-02T10:{n:02}:00Z"
        raw = {
            **sealed(SnapshotHead(**{**body, "at": LogPosition(**body["at"]), "tokens": None})),
            "messages": messages,
            "held": held,
        }
        kept.with_name(f"moved-{n}.json").write_text(json.dumps(raw))
        kept.unlink()
    return path


def point(path: Path, days: float) -> None:
    """A checkpoint of so many days ago."""
    head = SnapshotHead(
        kind=CHECKPOINT,
        session_id=f"{int(days):016x}",
        timestamp=iso(int(time.time() - days * 86400)),
        at=LogPosition(messages=0),
    )
    kept = Snapshot(head, sealed(head))
    Snapshots(Sidecar(path)).add(pieces(kept.body, kept), head)


def test_newest_first(tmp_path: Path) -> None:
    """Id, time, count, description, then the summary; what is beyond the limit is counted."""
    path = several(tmp_path, "one", "two", "three")
    ran = good("snapshots", path)
    heads = [line.split("  ") for line in ran.text.splitlines()[::2]]
    assert [(head[1], head[2], head[-1]) for head in heads] == [
        ("2026-02-02T10:02:00Z", "11 messages", "three"), ("2026-02-02T10:01:00Z", "11 messages", "two"),
        ("2026-02-02T10:00:00Z", "11 messages", "one"),
    ]  # fmt: skip
    assert ran.text.splitlines()[1].startswith("  11 messages: read a.py")
    assert ran.err == "3 snapshots\n"
    ran = good("snapshots", path, "--limit", "1")
    assert len(ran.text.splitlines()) == 2 and ran.err == "3 snapshots; 2 older ones: --limit 3\n"
    assert ctxkit("snapshots", path, "--limit", "0").code == 2


def test_json(tmp_path: Path) -> None:
    """An object each: the head, the path, the size; no messages."""
    path = several(tmp_path, "one", "two")
    first, second = good("snapshots", path, "--json").values
    assert (first["description"], second["description"]) == ("two", "one")
    assert "messages" not in first and Path(first["path"]).stat().st_size == first["bytes"]


def test_by_name(tmp_path: Path) -> None:
    """Only those that are named."""
    path = several(tmp_path, "one", "two", "three")
    assert [one["description"] for one in good("snapshots", path, "two", "latest", "two", "--json").values] == [
        "two",
        "three",
    ]
    assert ctxkit("snapshots", path, "two", "nine").code == 1


def test_checkpoints_by_hand_over_the_bound(tmp_path: Path) -> None:
    """They are named in the list and counted below it, as nothing removes them; the log may be gone."""
    path = small(tmp_path)
    (tmp_path / "ctxkit.toml").write_text("checkpoint.keep = 2\n")
    good("config", path, "accept")
    assert [one["over"] for one in good("snapshots", path, "--json").values] == []
    for i in range(4):
        good("add", path, f"text {i}")
        good("snapshot", path, "--light", "-m", f"by hand {i}")
    ran = good("snapshots", path)
    assert ["over the bound" in line for line in ran.text.splitlines()] == [False, False, True, True]
    assert ran.err == (
        "0 snapshots, 4 checkpoints\n2 checkpoints made by hand, over checkpoint.keep: only --rm deletes them.\n"
    )
    assert [one["over"] for one in good("snapshots", path, "--json").values] == [False, False, True, True]
    assert good("snapshots", path, "by hand 0", "--json").values[0]["over"] is True
    path.unlink()
    assert "over" not in good("snapshots", path).text


def test_by_agent(tmp_path: Path) -> None:
    """Those that have messages of it."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "a", 1, agent="frodo")))
    good("snapshot", path, "-m", "one")
    good("add", path, "--agent", "sam", "--ts", "2026-02-01T10:02:00Z", "b")
    good("snapshot", path, "-m", "two")
    found = {name: good("snapshots", path, "--agent", name, "--json").values for name in ("frodo", "sam", "x")}
    assert {name: len(some) for name, some in found.items()} == {"frodo": 2, "sam": 1, "x": 0}


def test_none(tmp_path: Path) -> None:
    """An empty list is no failure, and creates nothing; a log that is not there is one."""
    path = small(tmp_path)
    ran = good("snapshots", path)
    assert (ran.out, ran.err) == (b"", "0 snapshots\n")
    assert [one.name for one in tmp_path.iterdir()] == ["chat.jsonl"]
    assert ctxkit("snapshots", tmp_path / "none.jsonl").code == 66


def test_the_log_is_not_read(tmp_path: Path) -> None:
    """It may be damaged, or gone: that is said, and nothing is deleted."""
    path = several(tmp_path, "one")
    path.write_bytes(b"\xff\xfe{")
    assert good("snapshots", path).err == "1 snapshot\n"
    path.unlink()
    assert "is gone; its snapshots still exist" in good("snapshots", path).err
    assert ctxkit("snapshots", path, "--prune").code == 66
    good("snapshots", path, "--rm", "one")
    assert good("snapshots", path).err.endswith("0 snapshots\n")


def test_remove(tmp_path: Path) -> None:
    """What is named, all or nothing; a dry run removes nothing; a damaged one goes by its file's name."""
    path = several(tmp_path, "one", "two", "three")
    (tmp_path / "chat.jsonl.ctxkit/snapshots/bad.json").write_bytes(b"{")
    assert ctxkit("snapshots", path, "--rm", "one", "nine").code == 1
    dry = good("snapshots", path, "--rm", "one", "--dry-run")
    assert "Dry run, nothing was removed. Without it: removed 1 file." in dry.err
    assert good("snapshots", path).err.endswith("3 snapshots\n")
    ran = good("snapshots", path, "--rm", "one", "latest", "bad.json")
    assert ran.err == "Removed 3 files.\n" and [line.split()[-1] for line in ran.text.splitlines()] == [
        "one",
        "three",
        "named",
    ]
    assert [one["description"] for one in good("snapshots", path, "--json").values] == ["two"]
    assert path.read_bytes() == SMALL


def test_prune(tmp_path: Path) -> None:
    """Checkpoints by age and number, as the config says, each with its reason; what a person took stays."""
    path = several(tmp_path, "mine")
    for days in (29, 31, 2, 1):
        point(path, days)
    ran = good("snapshots", path, "--prune", "--dry-run", "--json")
    assert [(one["why"], one["removed"]) for one in ran.values] == [("older than 30 days", False)]
    ran = good("snapshots", path, "--prune")
    assert ran.text == "00000000  older than 30 days\n" and ran.err == "Removed 1 file.\n"
    good("config", path, "set", "checkpoint.keep", "2")
    assert good("snapshots", path, "--prune").text == "00000000  beyond the newest 2\n"
    assert good("snapshots", path, "--prune").err == "Nothing is to be removed.\n"
    assert [one["kind"] for one in good("snapshots", path, "--json").values].count(CHECKPOINT) == 2
    assert good("snapshots", path, "mine").err == "1 snapshot\n"


@pytest.mark.parametrize(
    "words", [("--rm",), ("one", "--prune"), ("--rm", "--prune", "one"), ("--dry-run",), ("one", "--dry-run")]
)
def test_what_does_not_go_together(words: tuple[str, ...], tmp_path: Path) -> None:
    """Exit 2, and nothing is removed."""
    path = several(tmp_path, "one")
    assert ctxkit("snapshots", path, *words).code == 2
    assert good("snapshots", path).err == "1 snapshot\n"


def test_damage(tmp_path: Path) -> None:
    """Is told, and costs that file."""
    path = several(tmp_path, "one", "two")
    bad = tmp_path / "chat.jsonl.ctxkit/snapshots/moved-0.json"
    bad.write_bytes(bad.read_bytes().replace(b'"one"', b'"won"'))
    ran = good("snapshots", path)
    assert "moved-0.json: it is damaged: the sum of its head does not match" in ran.err
    assert ran.err.endswith("1 snapshot\n")
    assert (
        "moved-0.json: it is damaged: the sum of its head does not match: left as it is"
        in good("snapshots", path, "--prune").err
    )
    ran = ctxkit("snapshots", path, "--rm", "won")
    assert (ran.code, ran.err.splitlines()[0]) == (
        1,
        "ctxkit: no snapshot 'won', and 1 of 2 files cannot be read: nothing was removed",
    )


def test_hostile(tmp_path: Path) -> None:
    """A description that acts on a terminal is shown, not obeyed."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "\x1b]52;c;cHduZWQ=\x07 and \u202e more", 1)))
    good("snapshot", path, "-m", "\x1b[31m\x07 red")
    ran = good("snapshots", path)
    assert bad_characters(ran.text) == [] and "red" in ran.text
    assert ctxkit("snapshots", path, "\x1b[31m").code == 1

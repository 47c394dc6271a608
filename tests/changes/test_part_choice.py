"""Parts that leave: the message stays, with words in their place; an undo gives the old bytes."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.changes.part_choice import PartSize, chosen
from ctxkit.content.parts import shown
from ctxkit.core import ops
from ctxkit.core.item_names import ItemName, Names
from ctxkit.core.ledger import build
from ctxkit.core.messages import Call, Image, Result, Text, Thinking
from ctxkit.errors import NothingChanges, UnknownOp, Usage
from ctxkit.formats.targets import REQUESTS, SESSIONS, TARGETS
from tests import pictures
from tests.shared import transcripts
from tests.validators import image_rules

BIG, LITTLE = pictures.block(pictures.png(90, 90, 40_000)), pictures.block(pictures.png(9, 9))


def everything(log: Log) -> list[Any]:
    """All that a log can be exported to; new ids and times of sessions aside."""
    found: list[Any] = []
    for to in TARGETS:
        if to in SESSIONS:
            content = Log.open(io.BytesIO(b"".join(log.session(to).pieces)), env={}).export("chat")
            found.append([{k: v for k, v in one.items() if k not in ("ts", "meta")} for one in content.values])
        else:
            found.append(list(log.export(to).values))
    return found


def in_session_of(program: str) -> Any:
    """Writes a session of this program, with each picture inside a result."""

    def write(path: Path, shown: Any) -> Path:
        made = Log.open(pictures.in_results(path.with_name("source.jsonl"), shown)).session(program)
        path.write_bytes(b"".join(made.pieces))
        return path

    return write


WRITERS = {
    "chat": pictures.chat, "claude-code": pictures.in_results, "codex": in_session_of("codex"),
    "pi": in_session_of("pi"),
}  # fmt: skip


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_images_leave_and_come_back(write: Any, tmp_path: Path) -> None:
    """No writer sends them; an undo, and a recall of the messages, give what was sent before, byte for byte."""
    path = write(tmp_path / "log.jsonl", [BIG, LITTLE, BIG])
    bytes_before, before = path.read_bytes(), everything(Log.open(path))
    log = Log.open(path)
    op = log.forget(images=True)
    assert op is not None and op.v == 2 and op.ids == "" and len(op.parts) == 3  # type: ignore[attr-defined]
    assert path.read_bytes().startswith(bytes_before)
    sent = everything(log)
    assert not any(list(image_rules.pictures_of(one)) for one in sent)
    assert all(json.dumps(one).count("[image left out]") == 3 for one in sent)
    with pytest.raises(NothingChanges):
        log.forget(images=True)
    log.undo()
    assert everything(Log.open(path)) == before
    log.redo()
    assert everything(log) == sent
    log.recall(f"1-{len(log.messages)}")
    assert everything(Log.open(path)) == before


def test_size(tmp_path: Path) -> None:
    """In bytes and in tokens; pictures alone, or results and what the user said as well."""
    path = pictures.in_results(tmp_path / "log.jsonl", [BIG, LITTLE])
    log = Log.open(path)
    names = list(log.names())

    def places(larger: str | None, images: bool = False) -> list[tuple[str, str]]:
        size = None if larger is None else PartSize.of(larger)
        return [(str(one.place), one.kind) for one in chosen(log, names, images=images, larger=size).parts]

    assert places("10kB", images=True) == places("10 KB") == [("(0, 1)", "image")]
    assert places("10", images=True) == [("(0, 1)", "image")]  # 90 x 90 pixels are 16 tokens of Claude's, 9 x 9 one
    assert places("16", images=True) == places("10", images=True) and not places("17", images=True)
    assert [kind for _, kind in places("3")] == ["text", "text", "image", "text"]
    for wrong in ("2XB", "", "-5", "many", "1.5"):
        with pytest.raises(Usage):
            PartSize.of(wrong)


CLAUDE_SUMMARY = {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": "All of it. " * 400}}
TEXT_SUMMARY = {"role": "user", "content": "This session is being continued from a previous conversation. " * 99}


@pytest.mark.parametrize("rows", [
    [{"type": "user", "message": {"role": "user", "content": "hi"}}, CLAUDE_SUMMARY],
    [{"role": "user", "content": "hi"}, TEXT_SUMMARY],
])  # fmt: skip
def test_a_program_s_summary_stays(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    """A criterion on parts never takes it; its number alone does."""
    at = {"cwd": "/", "sessionId": "s", "version": "2", "timestamp": "2026-01-01T00:00:00Z"}
    big = json.loads(json.dumps(rows[0]).replace('"hi"', json.dumps("word " * 900)))
    lines = [
        one | at | {"uuid": str(k), "parentUuid": str(k - 1) if k else None} if "type" in one else one
        for k, one in enumerate([*rows, big])
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    log = Log.open(path)
    decision = log.plan_forget("2-3", larger_than="100")
    assert isinstance(decision.op, ops.Forget) and list(decision.op.parts) == ["3"]
    assert decision.notes == ["2 is the summary of a compaction: it stays; `ctxkit forget LOG 2` takes it out"]
    with pytest.raises(NothingChanges, match="2 is the summary of a compaction: it stays"):
        log.forget("2", larger_than="100")
    assert log.forget("2") is not None and 2 not in log.names()


def test_an_op_s_summary_stays(tmp_path: Path) -> None:
    """That of a compact, too."""
    path = tmp_path / "log.jsonl"
    speakers = ["user", "assistant"] * 10
    path.write_text(
        "".join(json.dumps({"role": role, "content": f"{k} words " * 50}) + "\n" for k, role in enumerate(speakers))
    )
    log = Log.open(path)
    log.compact("1-10", target="50%")
    (summary,) = [name for name in log.names() if isinstance(name, ItemName)]
    op = log.forget(larger_than="5")
    assert isinstance(op, ops.Forget) and str(summary) not in op.parts and len(op.parts) == 6


def test_nothing_is_so_large(tmp_path: Path) -> None:
    """The hint names the largest part there is, and a size that takes it."""
    path = tmp_path / "log.jsonl"
    texts = ["few words", "word " * 3000, "more words"]
    path.write_text("".join(json.dumps({"role": "user", "content": text}) + "\n" for text in texts))
    log = Log.open(path)
    with pytest.raises(NothingChanges) as error:
        log.forget(larger_than="5k")
    found = re.fullmatch(
        r"the largest part has 3,\d{3} tokens \(message 2\): try --larger-than (\S+)", error.value.hint
    )
    assert found is not None and found[1] == "3k"
    op = log.forget(larger_than=found[1])
    assert isinstance(op, ops.Forget) and list(op.parts) == ["2"]
    with pytest.raises(NothingChanges) as error:
        log.forget(larger_than="5k")
    assert re.search(r"has (\d+) tokens \(message [13]\): try --larger-than \d+$", error.value.hint)


def test_protected_messages_are_skipped(tmp_path: Path) -> None:
    """And named; include_protected takes them too."""
    path = pictures.chat(tmp_path / "log.jsonl", [LITTLE, LITTLE])
    log = Log.open(path)
    log.protect(1)
    op = log.forget(images=True)
    assert isinstance(op, ops.Forget) and list(op.parts) == ["3"] and op.skipped == "1"
    with pytest.raises(NothingChanges, match="1 is protected"):
        log.forget(images=True)
    assert log.forget(images=True, include_protected=True) is not None
    with pytest.raises(Usage):
        log.forget(1, images=True, planning=2)


def test_numbers_and_criteria(tmp_path: Path) -> None:
    """Only of the messages that are named."""
    log = Log.open(pictures.chat(tmp_path / "log.jsonl", [LITTLE] * 4))
    op = log.forget("3-5", images=True)
    assert isinstance(op, ops.Forget) and list(op.parts) == ["3", "5"]
    op = log.forget(images=True, grep="picture 4")
    assert isinstance(op, ops.Forget) and list(op.parts) == ["7"]


def test_beside_a_trim(tmp_path: Path) -> None:
    """What shortens other results of the message, before or after, keeps parts out; what is gone already is void."""
    call = {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "words"}, LITTLE]}
    lines = [
        {"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": [result, {"type": "text", "text": "and"}, LITTLE]},
    ]  # fmt: skip
    stub = {"3": [{"type": "tool_result", "tool_use_id": "c1", "content": "less"}]}
    parts = {"3": [(0, 1), 2, 7, (1, 0), (9, 9)]}
    for first in (True, False):
        log = Log.open(io.BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode()), env={})
        left = ops.Forget(at=log.here(), v=2, ids="", parts=parts)
        trimmed = ops.Trim(at=log.here(), ids="", stubs=stub)
        for op in (left, trimmed) if first else (trimmed, left):
            log.look_through(op)
        (entry,) = (one for one in log.entries() if one.name == 3)
        assert log.full(entry).parts == [Result("c1", "less"), Text("and"), Text("[image left out]")]
        assert [place for place, _ in shown(log, 3)] == [1]


def test_words_of_the_model_stay() -> None:
    """Calls, thinking and a model's words are nobody's to leave out, whatever an op says."""
    from ctxkit.core.board import LeftOut
    from ctxkit.core.messages import Content, Other
    from ctxkit.logfile.stubs import stubbed

    thought, call = Thinking("hm", {"type": "thinking"}), Call("c1", "Read", {})
    kept = [thought, call, Image("image/png", "AAAA"), Other("document", {}), Result("c0", "said", True)]
    now = stubbed(Content("assistant", list(kept)), LeftOut((0, 1, 2, 3, 4, (4, 0))))
    assert now.parts == [
        thought, call, Text("[image left out]"), Text("[document left out]"), Result("c0", "[result left out]", True)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "parts", ['{"1":[-1]}', '{"1":[[0,-1]]}', '{"1-2":[0]}', '{"1":["0"]}', '{"1":[[0,1,2]]}', '{"":[0]}', "[]"]
)
def test_what_is_no_place(parts: str) -> None:
    """A line that says so is damage; so are parts in an op of version 1, which an older ctxkit would not see."""
    body = {"ctxkit": "forget", "v": 2, "at": {"messages": 2}, "ids": "", "parts": json.loads(parts)}
    with pytest.raises(ValueError):  # msgspec's words, or ours
        ops.parse(body)
    with pytest.raises(ValueError, match="need `v` 2"):
        ops.parse(body | {"v": 1, "parts": {"1": [0]}})
    assert isinstance(ops.parse(body | {"parts": {"1": [0, [2, 1]]}}), ops.Forget)


def test_an_older_reader_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not know the version, so it exports nothing rather than the pictures; so do we with a later one."""
    path = pictures.chat(tmp_path / "log.jsonl", [LITTLE])
    Log.open(path).forget(images=True)
    Log.open(path).known_ops()
    monkeypatch.setitem(ops.NEWEST, ops.Forget, 1)
    with pytest.raises(UnknownOp, match=r"forget.*\(v 2\)"):
        Log.open(path).known_ops()
    assert build(Log.open(path).transcript).unknown


def test_snapshots_edits_and_compacts(tmp_path: Path) -> None:
    """What is kept, edited or told of a message is the message as it is shown."""
    path = pictures.chat(tmp_path / "log.jsonl", [LITTLE, LITTLE, LITTLE])
    log = Log.open(path)
    log.forget("1-4", images=True)
    log.snapshot("two left out")
    log.clear()
    log.restore("latest")
    assert json.dumps(list(log.export("chat").values)).count("[image left out]") == 2
    log.undo()
    log.undo()
    assert log.edit(log.draft()) is None
    draft = log.draft().replace("seen 3", "seen it")
    assert log.edit(draft) is not None
    assert json.dumps(list(log.export("chat").values)).count("[image left out]") == 2
    log.undo()
    log.look_through(ops.Compact(at=log.here(), ids="1-2", text="A picture was seen."))
    sent = json.dumps(list(log.export("chat").values))
    assert sent.count("[image left out]") == 1
    assert Names.parse("1-2").numbers not in log.names()


def test_a_stream(tmp_path: Path) -> None:
    """In a pipe the op goes out behind the log, the same as in a file."""
    path = pictures.chat(tmp_path / "log.jsonl", [LITTLE])
    log = Log.open(io.BytesIO(path.read_bytes()), env={})
    log.forget(images=True)
    piped = b"".join(log.copy_out())
    Log.open(path).forget(images=True)
    mine, theirs = (json.loads(text.splitlines()[-1]) for text in (piped, path.read_bytes()))
    for key in ("id", "ts", "prev", "sum", "by"):
        mine.pop(key), theirs.pop(key)
    assert mine == theirs


REAL = [path for path in transcripts("claude-code", "codex", under=2_500_000) if b'image"' in path.read_bytes()]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_files(path: Path) -> None:
    """The pictures of real sessions leave, whatever is written; an undo gives the old bytes."""
    log = Log.open(path)
    log.dry_run = True
    before = [list(log.export(to).values) for to in ("chat", *REQUESTS)]
    if not any(list(image_rules.pictures_of(body)) for body in before[1:]):
        pytest.skip("it has no pictures in its context")
    op = log.forget(images=True)
    assert op is not None
    seen = log.seen_at(log.state())
    key = seen.look_through(op)
    for to in ("chat", *REQUESTS):
        assert not list(image_rules.pictures_of(list(seen.export(to).values))), to
    seen.look_through(ops.Undo(at=log.here(), op=key))
    assert [list(seen.export(to).values) for to in ("chat", *REQUESTS)] == before

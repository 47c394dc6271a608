"""An op that does not fit its log is refused, with words that say why."""

from __future__ import annotations

import pytest

from ctxkit.core.ledger import build as build_ledger
from ctxkit.core.op_fit import adrift, check, dangling, faults
from ctxkit.errors import DamagedOp, Misfit
from tests import build


@pytest.mark.parametrize(
    ("spec", "kind", "words"),
    [
        ("1-3 | mark", None, ""),
        ("1-3 | mark at=2", None, ""),
        ("mark", None, ""),
        ("1-3 | interrupted", None, ""),
        ("1-3 | mark at=4", Misfit, "it was written when the log had 4 messages, there are 3"),
        ("1-3 | mark at=-1", Misfit, "it was written when the log had -1 messages"),
        ("1-3 | mark last=x", Misfit, "message 3 is not the one"),
        ("mark last=x", Misfit, "it names a last message of an empty log"),
        ("1-3 | mark last=", Misfit, "message 3 is not the one"),
        ("1-3 | mark sum=x", DamagedOp, "its sum does not match"),
        ("1-3 | mark sum=ok", None, ""),
        ("1-3 | frobnicate ids=1", None, ""),
        ("1-3 | frobnicate ids=1 sum=x", DamagedOp, "its sum does not match"),
        ("1-3 | forget x sum=ok", DamagedOp, "cannot be read"),
        ("1-3 | ~mark at=2 rows=2", None, ""),
        ("1-3 | ~mark at=4", Misfit, "there are 3"),
    ],
)
def test_faults(spec: str, kind: type[Exception] | None, words: str) -> None:
    """One fault at most, the first."""
    records = build.log(spec)
    transcript = build.transcript(records)
    found = faults(
        build_ledger(transcript).entries[-1], transcript, lambda n: build.identity(build.plain(records), n)
    )  # fmt: skip
    if kind is None:
        assert found is None
    else:
        assert found is not None
        assert (found[0], words in found[1]) == (kind, True)


def test_no_identity_is_not_compared() -> None:
    """Without `at.last`, or without a way to know identities, only the count is compared."""
    transcript = build.transcript(build.log("1-3 | mark last=x | mark last=none"))
    entry = build_ledger(transcript).entries[0]
    entry.op.at.last = None
    assert faults(entry, transcript, lambda n: "") is None
    assert faults(build_ledger(transcript).entries[0], transcript, None) is None


def test_an_op_that_has_no_canonical_form_is_damaged() -> None:
    """NaN has none: no sum can match it; without a sum it is accepted."""
    transcript = build.transcript(build.log("1-3 | mark sum=x"))
    entry = build_ledger(transcript).entries[0]
    entry.body["note"] = float("nan")
    assert faults(entry, transcript, None) == (DamagedOp, "is damaged: its sum does not match")
    del entry.body["sum"]
    assert faults(entry, transcript, None) is None


def test_dangling() -> None:
    """An undo or rewind needs its target before it; a rewind needs a mark."""
    entries = build_ledger(build.transcript(build.log("1 | mark | rewind to=@1 | rewind to=@2 | undo @9"))).entries
    earlier = {entry.id: entry for entry in entries[:2]}
    assert [dangling(entry, earlier) for entry in entries] == [
        "",
        "",
        "names op a2, which is not a mark that can be read",
        "names op a9, which the log does not have before it",
    ]


@pytest.mark.parametrize(("spec", "where"), [("1 | mark at=9", "line 2"), ("1 | ~mark at=9", "the sidecar's ops")])
def test_check_says_where_and_what_to_do(spec: str, where: str) -> None:
    """The message names op, place and cause, the hint a way out."""
    transcript = build.transcript(build.log(spec))
    with pytest.raises(Misfit) as caught:
        check(build_ledger(transcript).entries[0], "", transcript, None)
    assert caught.value.message.startswith(f"op 1 (mark, {where}) does not fit")
    assert "undo LOG a1 --force-replay" in caught.value.hint


def test_adrift() -> None:
    """The numbers of those whose target does not stand before them, or is none; a target that is adrift is there."""
    spec = "1 | mark | rewind to=@1 | rewind to=@2 | undo @9 | undo @4 | undo @6"
    assert adrift(build_ledger(build.transcript(build.log(spec))).entries) == {3, 4, 6}

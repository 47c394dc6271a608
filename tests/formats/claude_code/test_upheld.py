"""After ops a session keeps the requests that its messages bear out, and no others: `check` finds nothing wrong."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.core.messages import Repairs
from ctxkit.core.text.redactor import Redactor
from ctxkit.errors import NothingChanges
from ctxkit.formats.claude_code import FORMAT
from ctxkit.formats.claude_code.proofs import upheld
from ctxkit.logfile.read import proven_log
from tests.cli.runner import good
from tests.formats.claude_code.noting import FILES, hash_of, raw, rows, text, worked
from tests.resume.edits import EDITS


def requests(data: bytes) -> dict[str, list[str]]:
    """The messages of each request that a session notes, by their hashes."""
    found: dict[str, list[str]] = {}
    for row in rows(data):
        if row["type"] == "api-request":
            assert not row.get("base") or row["base"] in found
            found[row["id"]] = found.get(row.get("base") or "", [])[: row["keep"]] + row["tail"]
    return found


def written(log: Log) -> bytes:
    """The session after ops."""
    return b"".join(log.session("claude-code").pieces)


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("name", FILES)
def test_any_op(name: str, edit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that stays is what was sent; what the messages still prove stays; copies stay that a request names."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw(name))
    try:
        log = EDITS[edit](path)
    except NothingChanges:
        log = None
    if log is None:
        pytest.skip("there is nothing of its kind in the file")
    made = written(log)
    left = Log.open(io.BytesIO(made))
    found = left.proofs()
    assert left.check() == []
    assert (found.wrong, found.unproved, found.proved) == ([], [], found.requests)
    before, after = requests(raw(name)), requests(made)
    assert after.items() <= before.items()
    kept = {row["hash"] for row in rows(made) if row["type"] == "api-request-blob"}
    assert after == before or kept <= {one for hashes in after.values() for one in hashes}
    monkeypatch.setattr(type(FORMAT), "upheld", lambda *_: None)
    assert Log.open(io.BytesIO(written(log))).proofs().proved <= found.proved


def test_one_that_begins_with_a_request_that_left() -> None:
    """It names all its messages itself; the copies of both stay only if it names them."""
    session = worked(2)
    leaf, sent = session.leaf, list(session.sent)
    session.say("a prompt")
    session.ask()
    session.answer(text("an answer"))
    session.leaf, session.sent = leaf, sent
    session.say("another prompt, from above the first")
    newest = session.ask()
    session.answer(text("another answer"))
    lost = {"role": "user", "content": "a prompt"}
    for message in (sent[0], lost):
        session.rows.append({"type": "api-request-blob", "hash": hash_of(message), "message": message})
    data = session.bytes()
    assert Log.open(io.BytesIO(data)).proofs().proved == 5
    log = Log.open(io.BytesIO(data.replace(b'"a prompt"', b'"changed"', 1)))  # as an op may, in the row itself
    repairs = Repairs()
    made = b"".join(upheld(proven_log(log.opening), repairs) or ())
    found = Log.open(io.BytesIO(made)).proofs()
    assert (found.requests, found.proved, found.wrong) == (4, 4, [])
    assert requests(made).items() < requests(data).items() and newest in requests(made)
    assert repairs.left_out == {"record of requests with other messages": 2}


def test_the_commands(tmp_path: Path) -> None:
    """What leaves is told; what is written is sound, and without ops a session is copied as it is."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw("agent"))
    assert good("export", path, "--to", "claude-code", "--keep-id").out == path.read_bytes()
    good("forget", path, "3", "--yes")
    ran = good("export", path, "--to", "claude-code")
    assert "left behind: 8 records of requests with other messages" in ran.err
    for words in (["snapshot"], ["undo"], ["restore", "latest"], ["restore", "latest", "--replace"]):
        made = tmp_path / "made.jsonl"
        made.write_bytes(good("export", path, "--to", "claude-code").out)
        assert "proved: 0" not in good("check", made).text
        good(*words[:1], path, *words[1:])


def test_without_secrets() -> None:
    """A request that sent a secret is not borne out by the messages without it."""
    session = worked(2)
    session.say("the token is ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2dF4gH6")
    for words in ("an answer", "another"):
        session.ask()
        session.answer(text(words))
    log = Log.open(io.BytesIO(session.bytes()))
    before, log.redactor = log.proofs(), Redactor()
    found = Log.open(io.BytesIO(written(log))).proofs()
    assert before.proved == 5 and (found.wrong, found.requests, found.proved) == ([], 3, 3)

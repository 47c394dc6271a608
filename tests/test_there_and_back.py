"""From one format to another and back: words, calls, results and order stay, but for what `losses.py` declares."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given

from ctxkit import Log
from ctxkit.core import integrity
from ctxkit.core.messages import Content
from ctxkit.core.text.json_text import dumps
from ctxkit.errors import ManyConversations, NothingToSend
from ctxkit.formats import anthropic, gemini, openai, responses
from ctxkit.formats.targets import REQUESTS, SESSIONS
from tests.effort import some
from tests.formats.exchanged import EXCHANGES, raw
from tests.formats.opencode import logs as opencode
from tests.formats.strategies import SOUND
from tests.formats.writing import write
from tests.lawful import NOW, ROOT, opened
from tests.losses import LOSSES, Atom, atoms, in_fields, left, told
from tests.resume.contexts import ANY
from tests.shared import SHARED
from tests.whole import context


def files(name: str, *more: str) -> list[Path]:
    """The files of a format: our own, and real ones."""
    found = sorted((ROOT / f"fixtures/truth-{name}").glob("*.json*"))
    found += [path for pattern in (f"{name}/*.json*", *more) for path in sorted((SHARED / "transcripts").glob(pattern))]
    return [path for path in found if path.name != "requests.json"]


AS_SENT = {("claude-code", "anthropic"), ("pi", "anthropic")}
"""What these programs send to Anthropic goes out as they send it, be it as documented or not."""
BOUND = {"q27-unknown-model"}
"""Sessions of a model that binds its thinking, which no other program's session has: an alias is the newest one."""
AS_ITEMS = {("codex", "responses"), ("responses", "responses")}
"""Items of Responses go as they stand."""
SOURCES = {
    "claude-code": [ROOT / "fixtures/guide/session.jsonl", *files("claude-code", "claude-code-subagents/*")],
    "codex": files("codex"),
    "pi": files("pi"),
    "chat": [ROOT / "fixtures/guide/chat.jsonl", ROOT / "fixtures/golden-200/log.jsonl"],
    "gemini-cli": files("gemini-cli"),
    "copilot-cli": files("copilot-cli"),
    "messages": files("openai-chat", "mini-swe-agent/*.json"),
}
OPENCODE = ("user:a|say:b+c1+c2|fail:+c3|user:c|say:e", "user:a|compact|summary:2|user:d|failed|aborted:half|say:e")
"""Exports of opencode, of which there is no real one: see tests/formats/opencode/logs.py."""
FROM = [(a, path) for a, paths in (*SOURCES.items(), ("opencode", OPENCODE)) for path in paths]
FROM += [(a, name) for name, (a, _) in EXCHANGES.items()]


def into(log: Log, to: str) -> Log:
    """The log in another format, read again."""
    if to in SESSIONS:
        return opened(b"".join(log.session(to, instructions=True).pieces))
    values = log.export(to).values if to == "chat" else log.export(to, assembly=False, tools=ANY).values
    return opened(b"".join(dumps(value).encode("ascii") + b"\n" for value in values))


def goes_on(log: Log, to: str, loosely: bool = False) -> list[Atom]:
    """What of a context goes on to another format at all: what its own program would send; pairs whole."""
    contents: list[Content] = context(log)
    if to in REQUESTS and (sent := log.opening.format.sent(contents, log.answered, "", own=to == "anthropic")):
        contents = sent[0]
    else:
        contents = [one for one in log.opening.format.portable(contents, log.answered)[0] if one is not None]
    contents = [one for one in contents if one.role != "exit" or to == "chat"]  # which no model is sent
    contents = in_fields(contents) if to == "openai" else contents
    return atoms(integrity.repair(contents)[0], loosely=loosely or to in REQUESTS)


def source(path: Path | str) -> Log:
    """The log; of a file with many conversations the first."""
    if isinstance(path, Path):
        content = path.read_bytes()
    else:
        content = raw(path) if path in EXCHANGES else dumps(opencode.export(path)).encode("ascii")
    try:
        return opened(content)
    except ManyConversations:
        return Log.open(io.BytesIO(content), conversation=1, clock=lambda: NOW)


def name_of(one: object) -> str:
    return one.stem[:24] if isinstance(one, Path) else str(one)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("a", "path"), FROM, ids=name_of)
def test_there_and_back(a: str, path: Path | str) -> None:
    """What is read there, in the other formats, and back again, is what the declaration leaves of it."""
    log = source(path)
    assert log.transcript.format == a
    others = [b for b in LOSSES if a != b or path in EXCHANGES]
    for b in some(others, 3, FROM.index((a, path))):
        there_and_back(log, a, b, path)


def there_and_back(log: Log, a: str, b: str, path: Path | str) -> None:
    """From a log of the format `a` to `b`, and back."""
    loosely = b in REQUESTS
    first = goes_on(log, b)
    if isinstance(path, Path) and path.stem in BOUND and b in SESSIONS:
        first = [atom for atom in first if atom[0] != "thinking"]
    items = (a, b) in AS_ITEMS
    expected = left(first, b, items=items, as_sent=items) if (a, b) not in AS_SENT else first
    if not expected:
        with pytest.raises(NothingToSend):
            into(log, b)
        return
    there = into(log, b)
    assert told(atoms(integrity.repair(context(there))[0], loosely=loosely)) == told(expected), b
    if a in LOSSES:
        back = into(there, a)
        assert back.transcript.format == a
        loosely = loosely or a in REQUESTS
        expected = left(goes_on(there, a, loosely), a, items=items, as_sent=a == b)
        assert told(atoms(integrity.repair(context(back))[0], loosely=loosely)) == told(expected), b


WRITERS = {"openai": openai, "anthropic": anthropic, "responses": responses, "gemini": gemini}


@pytest.mark.parametrize("to", WRITERS)
@given(contents=SOUND)
def test_what_is_sent_is_read_again(to: str, contents: list[Content]) -> None:
    """Any context that is written as a request and read gives the same, but for what the declaration says."""
    going = in_fields(contents) if to == "openai" else contents
    expected = left(atoms(integrity.repair(going)[0], loosely=True), to)
    try:
        body, _ = write(WRITERS[to], contents)
    except NothingToSend:
        assert all(atom[:2] == ("text", "system") for atom in expected)
        return
    found = context(opened(dumps(body).encode("ascii")))
    assert told(atoms(integrity.repair(found)[0], loosely=True)) == told(expected)

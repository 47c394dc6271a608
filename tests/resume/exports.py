"""Exports as they are resumed: of each session after each edit, and of sessions of other formats.

An edited session is compared with the edited context itself, one of another format with ctxkit's context of what was
written: what the target cannot hold is counted when it is exported.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from ctxkit import Log
from ctxkit.errors import CtxkitError, NothingChanges, NothingMatched, NothingToSend
from tests.lossless import Thing, chosen
from tests.resume.agents import AGENTS
from tests.resume.blocks import Block, fold
from tests.resume.compare import Compared, of_the_source
from tests.resume.contexts import context, context_of
from tests.resume.edits import EDITS
from tests.shared import HERE, SHARED

FIXTURES = HERE.parent / "fixtures"
OTHERS = {
    "chat": ("guide/chat.jsonl", "golden-200/log.jsonl", "assembly/chat.jsonl"),
    "gemini-cli": ("truth-gemini-cli/*.json*",),
    "qwen-code": ("truth-qwen-code/*.jsonl",),
    "opencode": ("truth-opencode/*.json",),
}
"""Formats whose fixtures are not in `truth-NAME/*.jsonl`: where they are."""

FOREIGN = {f"from {name}": name for name in dict.fromkeys((*AGENTS, *OTHERS))}
"""What is written of sessions of another format -> that format."""
KINDS = (*EDITS, *FOREIGN)
"""All that is done."""

Answer = Callable[[bytes, Callable[[], list[Block]], Callable[[list[Block]], str]], Compared]
"""What the agent sends of a session, compared with ours; and then looked at by itself."""
Sent = Callable[[Path], list[Block]]
"""What the agent sends of a session file."""


@dataclass
class Export:
    """A session that is to be written for an agent: which one, and what was done to it ("from codex" or an edit)."""

    path: Path
    what: str
    edit: Callable[[Path], Log | None]
    own: bool


def sessions(agent: str, pattern: str = "*") -> list[Path]:
    """The session files of a format: the real ones, where they are at hand, and our fixtures."""
    files = [
        *sorted((SHARED / "transcripts" / agent).glob("*.jsonl")),
        *(path for glob in OTHERS.get(agent, (f"truth-{agent}/*.jsonl",)) for path in sorted(FIXTURES.glob(glob))),
    ]
    known = [path for path in files if path.name != "requests.json"]
    return [path for path in known if fnmatch(path.name, pattern) or fnmatch(path.stem, pattern)]


def exports(agent: str, pattern: str, edit: str = "*") -> Iterator[Export]:
    """All that is written for `agent`: each of its sessions after each edit, then those of every other format."""
    for name, act in EDITS.items():
        if fnmatch(name, edit):
            yield from (Export(path, name, act, own=True) for path in sessions(agent, pattern))
    for what, other in FOREIGN.items():
        if other != agent and fnmatch(what, edit):
            yield from (Export(path, what, EDITS["nothing"], own=False) for path in sessions(other, pattern))


def judge(agent: str, export: Export, answer: Answer, source: Sent, version: str = "") -> Compared | None:
    """One export, resumed; None where the session has nothing that such an edit could be about.

    Of the agent's own format it is compared with what the agent sends of the session before the edit, too (`source`).
    """
    with tempfile.TemporaryDirectory(prefix="ctxkit-edit-") as folder:
        copy = Path(folder) / export.path.name
        copy.write_bytes(export.path.read_bytes())
        try:
            log = export.edit(copy)
        except (NothingMatched, NothingChanges):
            return None
        except CtxkitError as why:
            return Compared(0, f"ctxkit refused: {why}")
        if log is None:
            return None
        try:
            written = b"".join(log.session(agent, recount=export.own).pieces)  # which changes nothing that is sent
        except NothingToSend:
            return Compared(0, "", Counter({NOTHING: 1}))
        except CtxkitError as why:
            return Compared(0, f"ctxkit refused: {why}")
        if export.own:
            return answer(
                written, lambda: context_of(agent, log, "", version), partial(_beside_source, source, export.path, log)
            )
        made = Path(folder) / "written.jsonl"
        made.write_bytes(written)
        return answer(written, lambda: context(agent, made, "", version), lambda _: "")


def _beside_source(source: Sent, path: Path, log: Log, after: list[Block]) -> str:
    """What of the source is not there, or is not of it."""
    told = dict(chosen(log))
    own = set(log.own())
    brought: list[str] = []
    for entry in log.entries():
        n = entry.name if isinstance(entry.name, int) else 0
        if n not in own or entry.stub is not None:  # an op's own words, or what it gave back of the file
            brought += (word for thing in told[str(entry.name)] for word in thing.words)
        if n and n not in own:
            brought += (*log.messages[n - 1].calls, *log.messages[n - 1].results)
    held = [log.messages[n - 1] for n in log.listed() if isinstance(n, int)]
    calls, results = ({one for message in held for one in getattr(message, what)} for what in ("calls", "results"))
    strings = {fold(word) for found in told.values() for thing in found for word in thing.words}
    gone = _words(chosen(Log.open(path))) - _words(told.items())
    return of_the_source(source(path), after, strings | (calls & results), fold(" ".join(brought)), gone)


def _words(told: Iterable[tuple[str, list[Thing]]]) -> Counter[str]:
    """How often each string stands in messages."""
    return Counter(fold(word) for _, things in told for thing in things for word in thing.words)


NOTHING = "ctxkit: nothing left to send"
"""The rule of an edit that leaves nothing: ctxkit says so and writes no session."""

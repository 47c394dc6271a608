"""`python -m tests.resume.parents`: which agents read a history that stands in two files, and how.

Codex resumes forks and pages (`tests/formats/codex/pages.py` makes them), and what it sends is ctxkit's context of the
same files. Every other agent resumes a session that names another one, which is there, and sends its own rows alone:
the source of the table in docs/formats.md. Linux only, the agents from npm; 0: as expected, 1: not, 2: nothing ran.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.compressed import packed
from tests.formats.codex import logs, pages
from tests.resume.__main__ import blocks_of_request
from tests.resume.agents import AGENTS
from tests.resume.compare import compared
from tests.resume.contexts import context
from tests.resume.exports import FIXTURES
from tests.resume.install import CannotInstallError, Installed, cache, install
from tests.resume.resuming import NotResumedError, resume

SPEC = (
    "user:one | say:first | user:two | call:c1 | out:c1 | say:second | user:three | say:third | user:four | say:fourth"
)
WORD = "HERON"
"""Said in the other file alone."""
ARCHIVE = "archived_sessions"


def rows(spec: str) -> list[dict[str, Any]]:
    """Rows by the words of `logs.py`."""
    return [json.loads(line) for line in logs.raw(spec).splitlines()]


def _moved(home: Path, k: int, folder: str, *, compressed: bool = False) -> None:
    """Put file k of a fork where Codex keeps it else."""
    old = home / pages.DAY / pages.name(k)
    (home / folder).mkdir(parents=True, exist_ok=True)
    raw = old.read_bytes()
    (home / folder / (old.name + ".zst" if compressed else old.name)).write_bytes(packed(raw) if compressed else raw)
    old.unlink()


def _placed(folder: str, *, compressed: bool = False) -> Callable[[Path], Path]:
    def make(home: Path) -> Path:
        child = pages.write(home / pages.DAY, rows(SPEC), [6])
        _moved(home, 0, folder, compressed=compressed)
        return child

    return make


def _cut(spec: str, *cuts: int, pages_of_one: bool = False) -> Callable[[Path], Path]:
    return lambda home: pages.write(home / pages.DAY, rows(spec), cuts, pages=pages_of_one)


PROBES: dict[str, Callable[[Path], Path]] = {
    "fork": _cut(SPEC, 6),
    "chain of three": _cut(SPEC, 2, 6),
    "page": _cut(SPEC, 6, pages_of_one=True),
    "page of a page": _cut(SPEC, 2, 6, pages_of_one=True),
    "cut between call and output": _cut(SPEC, 4),
    "open call at the border": _cut("user:one | call:c1 | user:two | say:second", 2),
    "compaction in the parent": _cut("user:one | say:first | compact user:one,user:short | user:two | say:b", 4),
    "compaction in the child": _cut("user:one | say:first | user:two | compact user:one,user:short | user:c", 2),
    "old compaction in the child": _cut("user:one | say:first | user:two | legacy:told | user:three", 2),
    "rollback into the parent": _cut("user:one | say:first | user:two | say:b | rollback:2 | user:c", 2),
    "rollback over all": _cut("user:one | say:first | user:two | say:b | rollback:9 | user:c", 2),
    "parent of another day": _placed("sessions/2025/01/02"),
    "archived parent": _placed(ARCHIVE),
    "compressed parent": _placed("sessions/2026/10/01", compressed=True),
    "compressed and archived parent": _placed(ARCHIVE, compressed=True),
}
"""Name -> puts the files into a home of Codex, and returns the one that is resumed."""


def judged(installed: Installed) -> Iterator[tuple[str, str]]:
    """Each probe, and how Codex's request differs from ctxkit's context; "" if it does not."""
    for name, make in PROBES.items():
        with tempfile.TemporaryDirectory(prefix="ctxkit-two-files-") as folder:
            home = Path(folder)
            path = make(home)
            files = {f"codex/{file.relative_to(home)}": file.read_bytes() for file in home.rglob("*") if file.is_file()}
            try:
                sent = blocks_of_request(installed, resume(installed, path.read_bytes(), beside=files))
            except NotResumedError as why:
                yield name, f"not resumed: {why}"
                continue
            yield name, compared(sent, context("codex", path)).first


def refused(installed: Installed) -> Iterator[tuple[str, str]]:
    """Files that Codex does not go on with, and what it did instead; "" if it refused."""
    for name, damage in (("missing parent", lambda raw: b""), ("parent that is cut", lambda raw: raw[:700])):
        with tempfile.TemporaryDirectory(prefix="ctxkit-two-files-") as folder:
            home = Path(folder) / pages.DAY
            path = pages.write(home, rows(SPEC), [6])
            kept = damage((home / pages.name(0)).read_bytes())
            beside = {f"codex/{pages.DAY}/{pages.name(0)}": kept} if kept else {}
            try:
                resume(installed, path.read_bytes(), beside=beside)
            except NotResumedError:
                yield name, ""
            else:
                yield name, "resumed"


def named(agent: str) -> tuple[bytes, dict[str, bytes]]:
    """A session of another agent that names a second one, and the second one at its place in the home."""
    if agent == "pi":
        own = (FIXTURES / "truth-pi/branch-summary.jsonl").read_bytes().split(b"\n", 1)
        head = json.loads(own[0]) | {"parentSession": "../other.jsonl"}
        other = own[1].replace(b'"q1"', f'"{WORD}"'.encode())
        return json.dumps(head).encode() + b"\n" + own[1], {"other.jsonl": own[0] + b"\n" + other}
    if agent == "gemini-cli":
        own = (FIXTURES / "truth-gemini-cli/jsonl-basic.jsonl").read_bytes().split(b"\n", 1)
        head = json.loads(own[0]) | {"parentSessionId": "other", "forkedFrom": "other"}
        other = own[0] + b"\n" + own[1].replace(b'"q1"', f'"{WORD}"'.encode())
        return json.dumps(head).encode() + b"\n" + own[1], {".gemini/tmp/x/chats/session-other.jsonl": other}
    if agent == "qwen-code":
        lines = (FIXTURES / "truth-qwen-code/basic.jsonl").read_bytes().splitlines()
        first = json.loads(lines[0])
        other = first | {"uuid": "other", "sessionId": "3c5e1f0a-7b1d-4b7e-9a55-2d1a6c8e4f11"}
        other["message"] = {"role": "user", "parts": [{"text": WORD}]}
        lines[0] = json.dumps(first | {"parentUuid": "other", "forkedFrom": other["sessionId"]}).encode()
        place = f".qwen/projects/-work-server/chats/{other['sessionId']}.jsonl"
        return b"\n".join([*lines, b""]), {place: json.dumps(other).encode() + b"\n"}
    if agent == "opencode":
        whole = json.loads((FIXTURES / "truth-opencode/basic.json").read_bytes())
        whole["info"]["parentID"] = "ses_0000000000aaTruthOpencode99"
        return json.dumps(whole).encode(), {}
    fork = (FIXTURES / "truth-claude-code/p115-rewind.jsonl").read_bytes().splitlines()
    first = json.loads(fork[0]) | {"parentUuid": "other", "forkedFrom": {"sessionId": "other", "messageUuid": "other"}}
    row = json.loads(fork[0]) | {"uuid": "other", "sessionId": "other"}
    row["message"] = {"role": "user", "content": WORD}
    fork[0] = json.dumps(first).encode()
    return b"\n".join([*fork, b""]), {".claude/projects/x/other.jsonl": json.dumps(row).encode() + b"\n"}


def main() -> int:
    """Print a line for each probe."""
    parser = argparse.ArgumentParser(prog="python -m tests.resume.parents", description=__doc__)
    parser.add_argument("--cache", type=Path, default=cache(), help="where agents are installed (default %(default)s)")
    asked = parser.parse_args()
    ran = failed = 0
    for agent in AGENTS.values():
        try:
            installed = install(agent, asked.cache, agent.versions[-1])
        except CannotInstallError as why:
            print(f"{agent.name}: not installed: {why}")
            failed += 1
            continue
        if agent.name == "codex":
            found = [*judged(installed), *refused(installed)]
        else:
            session, beside = named(agent.name)
            try:
                body = resume(installed, session, beside=beside)
                found = [("names another session", "sends it too" if WORD in json.dumps(body) else "")]
            except NotResumedError as why:
                found = [("names another session", f"not resumed: {why}")]
        for name, wrong in found:
            print(f"{agent.name:12} {installed.version:8} {name:34} {wrong or 'as expected'}", flush=True)
            ran += 1
            failed += bool(wrong)
    return (1 if failed else 0) if ran else 2


if __name__ == "__main__":
    raise SystemExit(main())

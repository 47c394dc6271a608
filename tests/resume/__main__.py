"""`just resume`: the agents themselves as judges: each resumes session files, and what it sends is ctxkit's context.

Installs the agents from npm, runs each in a network namespace of its own against a stub on loopback, and compares the
request with ctxkit's context of the same file, block by block. Linux only; hundreds of megabytes; no test of the suite.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path

from ctxkit.errors import CtxkitError
from tests.resume.agents import AGENTS, Agent
from tests.resume.blocks import Block, anthropic, responses
from tests.resume.compare import Compared, compared
from tests.resume.contexts import context, context_of
from tests.resume.edits import EDITS
from tests.resume.install import CannotInstallError, Installed, cache, install
from tests.resume.resuming import NotResumedError, resume
from tests.shared import HERE, SHARED

ROOT = HERE.parent
PAGE = ROOT / "docs/formats.md"
FILES = "<!-- written by `just resume --write` -->\n", "<!-- end -->\n"
EDITED = "<!-- written by `just resume --edited --write` -->\n", "<!-- end of exports -->\n"
WRITTEN = ("claude-code",)
"""Agents whose sessions ctxkit writes."""
MODELS = {"p77c-model-arg-opus5": "claude-opus-5"}
"""Sessions that are resumed with a model other than their own."""
AGENT_FAILS = {
    "assistant.content is not iterable": "pi itself fails on a context edit with a replacement",
}
"""What an agent says of a session that it cannot resume, and what that means."""


def main() -> int:
    """Resume what was asked for; 1 where something differs that no rule explains, 2 where nothing could be run."""
    parser = argparse.ArgumentParser(prog="just resume", description=__doc__)
    parser.add_argument("--agent", action="append", choices=AGENTS, help="only this one; can be repeated")
    parser.add_argument("--file", default="*", metavar="GLOB", help="only sessions with such a name (default *)")
    parser.add_argument("--cache", type=Path, default=cache(), help="where agents are installed (default %(default)s)")
    parser.add_argument("--edited", action="store_true", help="resume exports after ops, instead of the files")
    parser.add_argument("--write", action="store_true", help="put the summary into docs/formats.md")
    asked = parser.parse_args()
    if not sys.platform.startswith("linux"):
        print("just resume needs Linux: agents run in a network namespace, so that nothing leaves this machine")
        return 2
    summary, failed = [], 0
    for agent in AGENTS.values():
        if asked.agent and agent.name not in asked.agent:
            continue
        try:
            installed = install(agent, asked.cache)
        except CannotInstallError as why:
            print(f"{agent.name}: not installed: {why}")
            failed += 1
            continue
        if asked.edited and agent.name not in WRITTEN:
            continue
        found = list(judged(installed, asked.file, edited=asked.edited))
        failed += sum(bool(one.first) for one in found)
        summary.append(row(installed, found))
    text = "\n".join(
        ["| agent | version | sessions | equal | blocks | taken out |", "|---|---|---|---|---|---|", *summary]
    )
    print(f"\n{text}")
    if asked.write:
        text = f"After ops, the exports:\n\n{text}" if asked.edited else text
        begin, end = EDITED if asked.edited else FILES
        page = PAGE.read_text(encoding="utf-8")
        page = re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n{text}\n\n{end}", page, flags=re.S)
        PAGE.write_text(page, encoding="utf-8")
    return 1 if failed else 0


def sessions(agent: Agent, pattern: str) -> list[Path]:
    """The session files of an agent: the real ones, where they are at hand, and our fixtures."""
    files = [
        *sorted((SHARED / "transcripts" / agent.name).glob("*.jsonl")),
        *sorted((ROOT / f"fixtures/truth-{agent.name}").glob("*.jsonl")),
    ]
    return [path for path in files if fnmatch(path.name, pattern) or fnmatch(path.stem, pattern)]


def judged(installed: Installed, pattern: str, *, edited: bool) -> Iterator[Compared]:
    """Resume each session, or its export after each edit; a line each is printed as it comes."""
    name = installed.agent.name
    for path in sessions(installed.agent, pattern):
        for edit in EDITS if edited else ("",):
            found = judge_export(installed, path, edit) if edit else judge(installed, path)
            out = ", ".join(f"{rule} {count}" for rule, count in sorted(found.ruled.items()))
            verdict = found.first or ("equal" if found.blocks else "nothing sent")
            what = f"{path.stem} {edit}".strip()
            print(f"{name:12} {installed.version:8} {what:48} {found.blocks:>5} {verdict}  [{out}]", flush=True)
            yield found


def judge(installed: Installed, path: Path) -> Compared:
    """One session: what the agent sends beside ctxkit's context."""
    model = MODELS.get(path.stem, "")
    return answer(installed, path.read_bytes(), lambda: context(installed.agent.name, path, model), model)


def judge_export(installed: Installed, path: Path, edit: str) -> Compared:
    """One session after an edit, exported: what the agent sends of that beside the edited context."""
    name = installed.agent.name
    with tempfile.TemporaryDirectory(prefix="ctxkit-edit-") as folder:
        copy = Path(folder) / "session.jsonl"
        copy.write_bytes(path.read_bytes())
        try:
            log = EDITS[edit](copy)
            written = b"".join(log.session(name).pieces)
        except CtxkitError as why:
            return Compared(0, "", Counter({f"ctxkit: refused ({type(why).__name__})": 1}))
        return answer(installed, written, lambda: context_of(name, log), "")


def answer(installed: Installed, session: bytes, ours: Callable[[], list[Block]], model: str) -> Compared:
    """What the agent sends of `session`, beside ours."""
    try:
        body = resume(installed, session, model)
    except NotResumedError as why:
        known = next((meaning for words, meaning in AGENT_FAILS.items() if words in str(why)), "")
        return Compared(0, "" if known else f"not resumed: {why}", Counter({f"agent: {known}": 1} if known else {}))
    if installed.agent.name == "codex":
        sent = responses(body["input"], str(body.get("client_metadata", {}).get("root_turn_id", "")))
    else:
        sent = anthropic(body["messages"])
    return compared(sent, ours())


def row(installed: Installed, found: list[Compared]) -> str:
    """The line of the summary for one agent."""
    ruled = sum((one.ruled for one in found), Counter[str]())
    equal = sum(not one.first and one.blocks > 0 for one in found)
    blocks = sum(one.blocks for one in found if not one.first)
    out = "; ".join(f"{rule}: {count}" for rule, count in sorted(ruled.items()))
    return f"| {installed.agent.name} | {installed.version} | {len(found)} | {equal} | {blocks} | {out} |"


if __name__ == "__main__":
    sys.exit(main())

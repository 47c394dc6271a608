"""`just resume`: the agents themselves as judges: each resumes session files, and what it sends is ctxkit's context.

Installs the agents from npm, runs each in a network namespace of its own against a stub on loopback, and compares the
request with ctxkit's context of the same file, block by block. Linux only; hundreds of megabytes; no test of the suite.
"""

from __future__ import annotations

import argparse
import functools
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from functools import partial
from itertools import groupby
from pathlib import Path

from ctxkit.formats.targets import SESSIONS
from tests.resume import exports
from tests.resume.agents import AGENTS
from tests.resume.blocks import Block, anthropic, gemini, qwen, responses
from tests.resume.compare import Compared, compared
from tests.resume.contexts import context
from tests.resume.install import CannotInstallError, Installed, cache, install
from tests.resume.resuming import NotResumedError, resume
from tests.resume.stub import Json
from tests.shared import HERE

ROOT = HERE.parent
PAGE = ROOT / "docs/formats.md"
FILES = "<!-- written by `just resume --write` -->\n", "<!-- end -->\n"
EDITED = "<!-- written by `just resume --edited --write` -->\n", "<!-- end of exports -->\n"
HEAD = "| agent | version | sessions | equal | blocks | taken out |", "|---|---|---|---|---|---|"
EDITED_HEAD = "| agent | export | sessions | equal | blocks | taken out |", "|---|---|---|---|---|---|"
MODELS = {"p77c-model-arg-opus5": "claude-opus-5", "pictures": "gemini-3-pro-preview"}
"""Sessions that are resumed with a model other than their own."""

EXPLAINED = {
    ("claude-code", "p*-unanswered-mid*", "rewind"): "an open call is sent at the end, not in the middle",
    ("pi", "ids-of-another-model", "rewind"): "no key for the model that is left",
    ("pi", "reasoning-kinds", "from codex"): "no key for the model that is left",
    ("pi", "basic", "from qwen-code"): "no key for the model that thought",
    ("pi", "thought-only", "from qwen-code"): "no key for the model that thought",
    ("qwen-code", "parallel", ""): "results in the order of their calls",
    ("qwen-code", "later-result", ""): "a result that comes after the model went on",
    ("qwen-code", "second-call-of-an-id", ""): "a second call of an id gets an id of its own",
    ("opencode", "aborted-snapshot", ""): "thinking with no words after it, which the API refuses",
    ("opencode", "odd-id", ""): "an id that the API refuses gets another one",
    ("opencode", "other-model", ""): "thinking of another model as thinking, not as words",
    ("opencode", "revert-part", ""): "a revert within a message takes all of it",
    ("opencode", "two-steps", ""): "several steps in one message: the results behind the last one",
    ("opencode", "words-behind-a-call", ""): "words behind a call where they stand",
    ("pi", "q05-error-with-image", "from claude-code"): "a picture in a failed result goes behind the results",
}
"""What differs (agent, session, edits, "" for none), and why: docs/formats.md says more."""


def main() -> int:
    """Resume what was asked for; 0: equal or explained, 1: something differs, 2: nothing could be run."""
    parser = argparse.ArgumentParser(prog="just resume", description=__doc__)
    parser.add_argument("--agent", action="append", choices=AGENTS, help="only this one; can be repeated")
    parser.add_argument(
        "--version", metavar="GLOB", help="such versions (default: the newest; * for all that are recorded)"
    )
    parser.add_argument("--file", default="*", metavar="GLOB", help="only sessions with such a name (default *)")
    parser.add_argument("--cache", type=Path, default=cache(), help="where agents are installed (default %(default)s)")
    parser.add_argument("--edited", action="store_true", help="resume exports, after ops and of other formats")
    parser.add_argument("--edit", default="*", metavar="GLOB", help="with --edited: only such edits (default *)")
    parser.add_argument("--sample", type=int, metavar="N", help="with --edited: so many of each kind, by chance")
    parser.add_argument("--seed", type=int, default=15, help="of that chance (default %(default)s)")
    parser.add_argument("--write", action="store_true", help="put the summary into docs/formats.md")
    asked = parser.parse_args()
    if not sys.platform.startswith("linux"):
        print("just resume needs Linux: agents run in a network namespace, so that nothing leaves this machine")
        return 2
    summary: list[str] = []
    ran, failed, missing = 0, 0, 0
    for agent in AGENTS.values():
        if (asked.agent and agent.name not in asked.agent) or (asked.edited and agent.name not in SESSIONS):
            continue
        for version in agent.versions if asked.version else agent.versions[-1:]:
            if asked.version and not fnmatch(version, asked.version):
                continue
            try:
                installed = install(agent, asked.cache, version)
            except CannotInstallError as why:
                print(f"{agent.name} {version}: not installed: {why}")
                missing += 1
                continue
            if asked.edited:
                chosen = exports.exports(agent.name, asked.file, asked.edit)
                found = list(
                    edited(installed, chosen if asked.sample is None else some(chosen, asked.sample, asked.seed))
                )
            else:
                found = list(judged(installed, asked.file))
            ran += len(found)
            failed += sum(bool(one.first) for _, one in found)
            summary += table(installed, found, edited=asked.edited)
    print("\n" + "\n".join([*(EDITED_HEAD if asked.edited else HEAD), *summary]))
    if asked.write and ran:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_rows(page, summary, edited=asked.edited), encoding="utf-8")
    return status(ran, failed, missing)


def with_rows(page: str, summary: list[str], *, edited: bool) -> str:
    """The page with these lines in its table; those of what did not run stay, while there is such a run."""
    begin, end = EDITED if edited else FILES
    old = page.partition(begin)[2].partition(end)[0].splitlines()
    lines = {_run(line): line for line in (*old, *summary)}
    runs = ((agent.name, what) for agent in AGENTS.values() for what in (exports.KINDS if edited else agent.versions))
    listed = [lines[run] for run in runs if run in lines]
    text = "\n".join([*(EDITED_HEAD if edited else HEAD), *listed])
    return re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n{text}\n\n{end}", page, flags=re.S)


def _run(line: str) -> tuple[str, ...]:
    """What a line of a table is about: an agent, and its version or what was done."""
    return tuple(line.removeprefix("| ").split(" | ")[:2])


def status(ran: int, failed: int, missing: int) -> int:
    """The exit status. An agent that is missing has shown nothing: that is no success either."""
    if not ran:
        return 2
    return 1 if failed or missing else 0


def judged(installed: Installed, pattern: str) -> Iterator[tuple[str, Compared]]:
    """Resume each session; a line each is printed as it comes."""
    for path in exports.sessions(installed.agent.name, pattern):
        found = explained(installed.agent.name, path, "", judge(installed, path))
        say(installed, path.stem, found)
        yield "", found


def some(listed: Iterable[exports.Export], count: int, seed: int) -> Iterator[exports.Export]:
    """At most `count` exports of each kind, by chance, in the order that they had."""
    chance = random.Random(seed)
    for _, kind in groupby(listed, key=lambda export: export.what):
        found = list(kind)
        yield from (found[at] for at in sorted(chance.sample(range(len(found)), min(count, len(found)))))


def edited(installed: Installed, chosen: Iterable[exports.Export]) -> Iterator[tuple[str, Compared]]:
    """Resume each export; a line each is printed as it comes."""
    sent = functools.cache(partial(blocks_of_file, installed))
    for export in chosen:
        found = exports.judge(
            installed.agent.name, export, partial(answer, installed, model=""), sent, installed.version
        )
        if found is not None:
            found = explained(installed.agent.name, export.path, export.what, found)
            say(installed, f"{export.path.stem} {export.what}", found)
            yield export.what, found


def explained(agent: str, path: Path, what: str, found: Compared) -> Compared:
    """The same without a difference that is known: neither equal nor a failure."""
    for (name, session, edit), why in EXPLAINED.items():
        same = name == agent and fnmatch(path.stem, session) and fnmatch(what, edit)
        if found.first and same:
            return Compared(0, "", Counter({f"explained: {why}": 1}))
    return found


def say(installed: Installed, what: str, found: Compared) -> None:
    """A line on one session."""
    out = ", ".join(f"{rule} {count}" for rule, count in sorted(found.ruled.items()))
    verdict = found.first or ("equal" if found.blocks else "nothing sent")
    print(f"{installed.agent.name:12} {installed.version:8} {what:48} {found.blocks:>5} {verdict}  [{out}]", flush=True)


def judge(installed: Installed, path: Path) -> Compared:
    """One session: what the agent sends beside ctxkit's context."""
    model = MODELS.get(path.stem, "")
    ours = partial(context, installed.agent.name, path, model, installed.version)
    return answer(installed, path.read_bytes(), ours, lambda _: "", model=model)


def answer(
    installed: Installed, session: bytes, ours: Callable[[], list[Block]], beside: Callable[[list[Block]], str],
    *, model: str,
) -> Compared:  # fmt: skip
    """What the agent sends of `session`, beside ours; where they are equal `beside` says what else is wrong."""
    try:
        sent = blocks_of(installed, session, model)
    except NotResumedError as why:
        return Compared(0, f"not resumed: {why}")
    found = compared(sent, ours())
    found.first = found.first or beside(sent)
    return found


def blocks_of(installed: Installed, session: bytes, model: str = "") -> list[Block]:
    """What the agent sends of a session. Raises NotResumedError."""
    return blocks_of_request(installed, resume(installed, session, model))


def blocks_of_request(installed: Installed, body: Json) -> list[Block]:
    """The blocks of a request."""
    if installed.agent.name == "codex":
        return list(responses(body["input"], str(body.get("client_metadata", {}).get("root_turn_id", ""))))
    if "contents" in body:
        return list((qwen if installed.agent.name == "qwen-code" else gemini)(body["contents"]))
    return list(anthropic(body["messages"]))


def blocks_of_file(installed: Installed, path: Path) -> list[Block]:
    """The same of a file; nothing where it is not resumed."""
    try:
        return blocks_of(installed, path.read_bytes())
    except NotResumedError:
        return []


def table(installed: Installed, found: list[tuple[str, Compared]], *, edited: bool) -> list[str]:
    """The lines of the summary for one agent: one of its sessions, or one for each kind of export."""
    agent = installed.agent.name
    if not edited:
        return [f"| {agent} | {installed.version} | {row([one for _, one in found])} |"]
    kinds = dict.fromkeys(kind for kind, _ in found)
    return [f"| {agent} | {kind} | {row([one for name, one in found if name == kind])} |" for kind in kinds]


def row(found: list[Compared]) -> str:
    """How many there are, how many are equal, their blocks, and what rules took out."""
    ruled = sum((one.ruled for one in found), Counter[str]())
    equal = sum(not one.first and one.blocks > 0 for one in found)
    blocks = sum(one.blocks for one in found if not one.first)
    out = "; ".join(f"{rule}: {count}" for rule, count in sorted(ruled.items()))
    return f"{len(found)} | {equal} | {blocks} | {out}"


if __name__ == "__main__":
    sys.exit(main())

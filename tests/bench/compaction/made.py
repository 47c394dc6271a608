"""Made sessions: an agent at work on a small project, so that the benchmark runs without real transcripts.

Deterministic: the same number gives the same session, byte for byte. What is read, decided, edited and run comes back
many rounds later by its exact name, as it does in real sessions; most of it never does.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROUNDS = 24
PROJECTS = ("harbour", "meadow", "quarry", "lantern")
VERBS = ("load", "parse", "merge", "check", "render", "fetch", "split", "guard", "count", "trace")
NOUNS = ("ledger", "branch", "window", "packet", "summary", "cursor", "policy", "budget", "anchor", "report")
TALK = """the reader keeps a run of rows until its block is whole and then hands it on while older rows wait for their
turn so that nobody has to hold more than one page of what was asked for before the next answer is complete"""
WORDS = TALK.split()


def write(folder: Path) -> list[Path]:
    """A session file of each project in `folder`."""
    found = []
    for number, project in enumerate(PROJECTS, 1):
        found.append(folder / f"made-{number}.jsonl")
        text = "".join(json.dumps(record) + "\n" for record in session(number, project))
        found[-1].write_text(text, encoding="ascii")
    return found


def session(number: int, project: str) -> list[dict[str, Any]]:
    """One session as chat records."""
    return list(_Session(number, project).records())


class _Session:
    """The dice, and what was met so far."""

    def __init__(self, number: int, project: str) -> None:
        self.dice = random.Random(number)
        self.project = project
        self.calls = 0
        self.met: list[tuple[str, str, str]] = []

    def records(self) -> Iterator[dict[str, Any]]:
        yield {"role": "system", "content": f"You work on {self.project}.", "cwd": f"/home/me/{self.project}"}
        for turn in range(1, ROUNDS + 1):
            verb, noun = self.dice.choice(VERBS), self.dice.choice(NOUNS)
            file = f"/home/me/{self.project}/src/{noun}/{verb}_{turn}.py"
            name = f"{verb}_{noun}_{turn}"
            yield {"role": "user", "content": f"Please make {name} keep at most {turn * 7} rows of {self.words(6)}."}
            yield from self.step(f"I look at what `{name}` does now.", "Read", {"file_path": file}, self.source(name))
            old, new = f"    rows = {name}_rows(limit={turn})", f"    rows = {name}_rows(limit={turn * 7})"
            change = {"file_path": file, "old_string": old, "new_string": f"{new}\n    check_{noun}(rows, {turn})"}
            yield from self.step(self.decision(noun), "Edit", change, f"The file {file} has been updated.")
            yield from self.tests(turn, name, noun)
            self.met.append((file, name, new))
            if turn > 4:
                yield from self.back()
            yield {"role": "assistant", "content": f"Done: {name}. Next step: {self.words(5)} in issue #{900 + turn}."}

    def tests(self, turn: int, name: str, noun: str) -> Iterator[dict[str, Any]]:
        """A run that fails, then one that passes, then a commit."""
        command = {"command": f"cd /home/me/{self.project} && pytest -q tests/test_{name}.py --maxfail {turn}"}
        failed = (
            f"{self.noise(12)}\nE   ValueError: {name} got {turn * 13} rows\nFAILED tests/test_{name}.py::test_{noun}"
        )
        yield from self.step("", "Bash", command, failed, failed=True)
        yield from self.step("I run it again.", "Bash", command, f"{self.noise(14)}\n{turn} passed in 0.{turn}2s")
        sha = hashlib.sha256(name.encode()).hexdigest()[:9]
        commit = {"command": f"git commit -am 'keep {turn * 7} rows in {noun}'"}
        yield from self.step("", "Bash", commit, f"[main {sha}] keep {turn * 7} rows in {noun}\n 1 file changed")

    def back(self) -> Iterator[dict[str, Any]]:
        """Something of an earlier round is needed again."""
        file, name, line = self.dice.choice(self.met)
        yield from self.step(f"`{name}` is needed here too.", "Grep", {"pattern": f"def {name}"}, self.noise(10))
        again = {"file_path": file, "old_string": line, "new_string": line.replace("rows", "kept", 1)}
        yield from self.step("", "Edit", again, f"The file {file} has been updated.")

    def step(
        self, said: str, tool: str, arguments: dict[str, str], result: str, failed: bool = False
    ) -> Iterator[dict[str, Any]]:
        self.calls += 1
        call = {"id": f"call_{self.calls}", "type": "function"}
        call["function"] = {"name": tool, "arguments": json.dumps(arguments)}  # type: ignore[assignment]
        yield {"role": "assistant", "content": said or None, "tool_calls": [call]}
        answer: dict[str, Any] = {"role": "tool", "tool_call_id": call["id"], "content": result}
        yield answer | {"is_error": True} if failed else answer

    def source(self, name: str) -> str:
        """A file of some length."""
        blocks = [f"def {name}(rows):", f'    """Rows of {self.words(5)}."""', f"    rows = {name}_rows(limit=1)"]
        for _ in range(12):
            other = f"{self.dice.choice(VERBS)}_{self.dice.choice(NOUNS)}_{self.dice.randrange(1000)}"
            blocks += ["", "", f"def {other}(found):", f"    # {self.words(9)}", f"    return {other}_of(found)"]
        return "\n".join(blocks)

    def decision(self, noun: str) -> str:
        return f"I decided to use a {noun} instead of {self.words(3)}, as {self.words(4)}."

    def noise(self, lines: int) -> str:
        return "\n".join(f"{self.words(7)} {self.dice.randrange(10_000)}" for _ in range(lines))

    def words(self, count: int) -> str:
        return " ".join(self.dice.choice(WORDS) for _ in range(count))

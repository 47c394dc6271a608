"""Trims of real files at many budgets, through the API that the commands use: what must hold of every one of them.

`python -m tests.trims --budgets 60` tries so many budgets on each file of every format and prints what was seen (just
trims); `--write` puts the table into docs/commands/trim.md; the suite tries a few. What is checked shares no code with
the policy: sizes are counted anew by tiktoken in a plain loop, and a second, dumber trim drops the oldest steps until
it fits: it never keeps more.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit import Log
from ctxkit.core.derive.synthetic_messages import SyntheticKind, kind
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Result, Text
from ctxkit.core.ops import Trim
from ctxkit.core.roles import ASSISTANT
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.strategies import OF_TRIM, OLDEST
from ctxkit.cut.trim import Trimming, TrimRequest, as_op
from ctxkit.errors import CtxkitError, DoesNotFit, ManyConversations
from ctxkit.measure.count import PER_MESSAGE, counted_text, other_tokens
from ctxkit.tokens.encodings import encoding
from ctxkit.tokens.pictures import picture_rule, picture_tokens
from tests.shared import HERE, SHARED
from tests.validators import anthropic_rules, gemini_rules, openai_rules, responses_rules

MODEL = "gpt-4o"
"""Whatever the log says: its tokens can be counted exactly."""
RULES = {
    "openai": openai_rules.problems, "anthropic": anthropic_rules.problems, "responses": responses_rules.problems,
    "gemini": lambda body: gemini_rules.problems(body, unasked=True),
}  # fmt: skip
FOLDERS = (
    "claude-code", "claude-code-subagents", "codex", "pi", "copilot-cli", "mini-swe-agent", "swe-agent", "openai-chat",
    "sharegpt", "tau-bench",
)  # fmt: skip
OWN = (
    *sorted((HERE.parent / "fixtures/truth-gemini-cli").glob("*.json*")),
    HERE.parent / "fixtures/guide/chat.jsonl", HERE.parent / "fixtures/guide/session.jsonl",
)  # fmt: skip
PAGE = HERE.parent / "docs/commands/trim.md"
BEGIN, END = "<!-- written by `just trims --write` -->\n", "<!-- end of trims -->\n"
TABLE = (0.5, 0.25, 0.1)
"""Shares of a file's tokens, in the table of the page."""
NEAR = 0.9
"""Of its room, a trim uses so much, wherever a step that left would fit into the rest."""
CONVERSATIONS = 3
"""Of a file that holds many: the first ones."""
seen: Counter[str] = Counter()


class Wrong(Exception):
    """A trim is not what it should be."""


class Case(NamedTuple):
    """A log that is trimmed."""

    path: Path
    conversation: int | None
    strategy: str = OLDEST

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.path.parent.name}/{self.path.name}" + (f":{self.conversation}" if self.conversation else "")

    def open(self) -> Log:
        """The log, read into memory, its config that of nobody."""
        log = Log.open(io.BytesIO(_bytes(self.path)), conversation=self.conversation, env=self._env)
        log.clock = lambda: 1_780_000_000.0
        return log

    @property
    def _env(self) -> dict[str, str]:
        return {"CTXKIT_MODEL": MODEL, "CTXKIT_TRIM_STRATEGY": self.strategy}


@cache
def _bytes(path: Path) -> bytes:
    return path.read_bytes()


def cases(folders: Sequence[str] = FOLDERS, largest: int = 1 << 30) -> Iterator[Case]:
    """The files of these folders, and our own of formats that no folder has."""
    files = [path for name in folders for path in sorted((SHARED / "transcripts" / name).glob("*.*"))]
    for path in [*files, *OWN]:
        if path.stat().st_size <= largest:
            yield from _of_file(path)


def _of_file(path: Path) -> Iterator[Case]:
    try:
        if len(Case(path, None).open().names()) > 1:
            yield Case(path, None)
    except ManyConversations:
        for n in range(1, CONVERSATIONS + 1):
            try:
                if len(Case(path, n).open().names()) > 1:
                    yield Case(path, n)
            except CtxkitError:
                return
    except CtxkitError:
        return


def counted(contents: Sequence[Content], model: str) -> int:
    """The reference: a plain tiktoken loop over words, and what docs/tokens.md says stands around them."""
    encode, rule = encoding("o200k_base")._tiktoken.encode_ordinary, picture_rule(model)

    def other(content: Content) -> int:
        return other_tokens(content.parts, lambda image: picture_tokens(image, rule))

    return sum(PER_MESSAGE + len(encode(counted_text(content))) + other(content) for content in contents)


def contents_of(log: Log) -> list[Content]:
    """The context in full."""
    return [log.full(one) for one in log.entries()]


class File:
    """One case: what of it must stay, and its steps, by rules that are written down here a second time."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.log = case.open()
        self.state = self.log.state()
        self.names = self.log.names()
        self.contents = contents_of(self.log)
        one_by_one = (counted([content], self.log.model) for content in self.contents)
        self.sizes = dict(zip(self.names, one_by_one, strict=True))
        self.total = sum(self.sizes.values())
        self.steps = list(self._steps())
        self.first = next((n for n in self.names if self.state.is_first(n)), None)
        asked = [n for n, c in zip(self.names, self.contents, strict=True) if self._asks(n, c)]
        self.task = asked[-1] if asked else None
        self.kept = {n for n, c in zip(self.names, self.contents, strict=True) if self._stays(n, c)}

    def _steps(self) -> Iterable[list[Name]]:
        """Messages that leave together: those with the same ids of calls, copies too; what a command printed is of the
        step that ran it.
        """
        steps: dict[int, list[Name]] = {}
        of: dict[str, int] = {}
        last = 0
        for place, (name, content) in enumerate(zip(self.names, self.contents, strict=True)):
            ids = [part.id for part in content.parts if isinstance(part, Call | Result) and part.id]
            found = sorted({of[one] for one in ids if one in of} | ({last} if self._printed(place) else set()))
            last = found[0] if found else place
            for other in found[1:]:
                steps[last] += steps.pop(other)
                of = {one: last if step == other else step for one, step in of.items()}
            steps.setdefault(last, []).append(name)
            of.update(dict.fromkeys(ids, last))
        return steps.values()

    def _asks(self, name: Name, content: Content) -> bool:
        opens = isinstance(name, int) and self.log.messages[name - 1].opens
        return opens and kind(content) is None and not self._printed(self.names.index(name))

    def _printed(self, place: int) -> bool:
        """Whether a message in the user's role is what a command printed that the words before it ran."""
        if not place or self.contents[place].role != "user" or self.contents[place - 1].role not in ASSISTANT:
            return False
        ran = any(isinstance(row.get("action"), str) for row in self.contents[place - 1].rows)
        return ran or kind(self.contents[place]) == SyntheticKind.OBSERVATION

    def _stays(self, name: Name, content: Content) -> bool:
        instructs = content.role == "user" and kind(content) == SyntheticKind.INSTRUCTION
        return content.role in PREAMBLE_ROLES or instructs or self.state.guarded(name) or name == self.task

    @cached_property
    def answer(self) -> tuple[Name, ...]:
        """The last message of the model that is words alone, with its step."""
        found = [
            n for n, c in zip(self.names, self.contents, strict=True)
            if c.role in ASSISTANT and any(isinstance(part, Text) and part.text.strip() for part in c.parts)
            and not any(isinstance(part, Call) for part in c.parts)
        ]  # fmt: skip
        return next((tuple(step) for step in self.steps if found and found[-1] in step), ())

    @cached_property
    def summaries(self) -> set[Name]:
        """The summaries that the log's own program made."""
        return {n for n, c in zip(self.names, self.contents, strict=True) if kind(c) == SyntheticKind.SUMMARY}

    def oldest_first(self, budget: int, kept: Collection[Name], brief: Mapping[Name, int]) -> int:
        """What is left of the context where the oldest steps go, one by one, until it fits. What never goes stays, and
        of `kept` the last answer and the last step. `brief`: the sizes of the summaries that stay, as they are now.
        """
        stays = {*self.kept, *(name for step in (self.answer, self.steps[-1]) for name in step if name in kept), *brief}
        left = self.total - sum(self.sizes[name] - size for name, size in brief.items())
        for step in self.steps:
            if left > budget and not stays.intersection(step):
                left -= sum(self.sizes[name] for name in step)
        return left if left <= budget else 0

    def dumb(self, budget: int) -> bool:
        """Whether dropping the oldest steps, one by one, gets it to fit, and leaves anything."""
        left, held = self.total, len(self.steps)
        for step in self.steps:
            if left <= budget:
                break
            if not self.kept.intersection(step):
                left, held = left - sum(self.sizes[name] for name in step), held - 1
        return left <= budget and held > 0

    def trimmed(self, budget: int, **asked: Any) -> Log | None:
        """The log at this budget; None where it does not fit. Raises Wrong."""
        log = copy.copy(self.log)
        log._state = self.state
        try:
            found = Trimming(log, TrimRequest(budget, **asked))
            made = found.plan()
        except DoesNotFit as error:
            if self.dumb(budget):
                raise Wrong(f"refused, though dropping the oldest steps fits: {error.message}") from error
            seen["cannot fit"] += 1
            return None
        if lost := self.kept.intersection(made.dropped) | (self.kept - {self.first}).intersection(made.stubs):
            raise Wrong(f"{min(map(str, lost))} must stay as it is")
        op = as_op(found, made)
        if asked and op is not None:
            log.look_through(op)
        else:
            log.fit(budget)
        seen["dropped"] += len(made.dropped)
        seen["shortened"] += len(made.stubs)
        return log


class Fill(NamedTuple):
    """How a trim used its room. `used`: tokens of what is left, by the reference; `oldest`: what dropping the oldest
    steps leaves beside the same messages; `answer`: whether the last answer stays, None where it would not fit.
    """

    room: int
    used: int
    oldest: int
    answer: bool | None

    @property
    def share(self) -> float:
        """Of the room."""
        return self.used / self.room


def filled(file: File, log: Log, budget: int) -> Fill:
    """How `log`, the file trimmed, uses its budget. Raises Wrong where anything was given up in vain."""
    kept, contents = set(log.names()), contents_of(log)
    used, model = counted(contents, log.model), log.model
    listed = zip(log.names(), contents, strict=True)
    brief = {name: counted([one], model) for name, one in listed if name in file.summaries}
    if used > budget:
        raise Wrong(f"{used} tokens by the reference, {budget} were allowed")
    sizes = {tuple(step): sum(file.sizes[name] for name in step) for step in file.steps}
    never = sum(size for step, size in sizes.items() if file.kept.intersection(step))
    # the heads of summaries go before it
    fits = file.kept.intersection(file.answer) or never + sum(brief.values()) + sizes.get(file.answer, 0) <= budget
    found = Fill(
        budget, used, file.oldest_first(budget, kept, brief),
        kept.issuperset(file.answer) if file.answer and fits else None,
    )  # fmt: skip
    if found.answer is False:
        raise Wrong("the last answer is gone, though it fits")
    if used < found.oldest:
        raise Wrong(f"{used} tokens are left, and dropping the oldest steps leaves {found.oldest}")
    back = [step for step, size in sizes.items() if kept.isdisjoint(step) and size <= budget - used]
    if back and found.share < NEAR:
        raise Wrong(f"{found.share:.0%} of the room is used, and message {back[-1][0]} would fit")
    return found


def checked(file: File, budget: int, *, inputs: bool = False) -> Fill | None:
    """How a trim of a file used its budget; None where it does not fit. Raises Wrong."""
    seen["budgets"] += 1
    log = file.trimmed(budget, **({"inputs": True} if inputs and file.total > budget else {}))
    if log is None:
        return None
    found = filled(file, log, budget)
    size = found.used
    seen["fits"] += 1
    for n in (name for name in file.names if isinstance(name, int)):
        step = [one for one in file.state.steps.members(n) if one in file.sizes]
        left = [one for one in step if one in log.state().shown()]
        if left and len(left) < len(step):
            raise Wrong(f"the step of message {n} is split")
    again = copy.copy(log)
    if log.status(assembly=False).tokens.used != size:
        raise Wrong(f"status says {log.status(assembly=False).tokens.used}, the reference {size}")
    if Trimming(again, TrimRequest(budget)).plan().reasons:
        raise Wrong("a second trim finds something to cut")
    return found


def valid(file: File, budget: int, to: str, *, inputs: bool = False) -> None:
    """What is sent to `to` is valid, its pairs those that the log has. Raises Wrong."""
    log = file.trimmed(budget, **({"inputs": True} if inputs and file.total > budget else {}))
    if log is None or not log.names():
        return
    whole = file.log.export(to, model=MODEL).repairs
    try:
        exported = log.export(to, model=MODEL)
        [body] = exported.values
    except CtxkitError as error:
        seen[type(error).__name__] += 1
        return
    problems = RULES[to](body)
    if problems:
        raise Wrong(f"{to}: {problems[0]}")
    if exported.repairs.dropped > whole.dropped or exported.repairs.made > whole.made:
        raise Wrong(f"{to}: pairs were broken: {exported.repairs} after {whole}")
    seen["outputs"] += 1


def written(case: Case, budget: int) -> None:
    """The op, in earnest: as dry run the same; `undo` gives back exactly what was there. Raises Wrong."""
    log, other = case.open(), case.open()
    other.dry_run = True
    before = json.dumps(log.shape(), default=str)
    try:
        op, tried = log.trim(budget), other.trim(budget)
    except DoesNotFit:
        return
    cuts = [(one.ids, one.stubs, one.reasons) if isinstance(one, Trim) else None for one in (op, tried)]
    if cuts[0] != cuts[1]:
        raise Wrong("the dry run says something else")
    if op is not None:
        log.undo()
        seen["undone"] += 1
    if json.dumps(log.shape(), default=str) != before:
        raise Wrong("undo does not give back what was there")


def run(case: Case, budgets: Sequence[float]) -> None:
    """A case at these shares of its size, the smallest first. Raises Wrong."""
    file = File(case)
    targets = list(RULES)
    for k, share in enumerate(sorted(budgets)):
        budget = int(file.total * share)
        try:
            checked(file, budget, inputs=k % 4 == 3)
            valid(file, budget, targets[k % len(targets)], inputs=k % 8 == 7)
            if k % 10 == 0:
                written(case, budget)
        except Wrong as wrong:
            raise Wrong(f"{case.name} at {budget} of {file.total} tokens: {wrong}") from wrong


def table(files: Iterable[File]) -> Iterator[str]:
    """How the trims of these files to some shares of their size use the room. Raises Wrong."""
    found: dict[float, list[tuple[File, Fill | None]]] = {share: [] for share in TABLE}
    for file in files:
        for share in TABLE:
            try:
                found[share].append((file, checked(file, int(file.total * share))))
            except Wrong as wrong:
                raise Wrong(f"{file.case.name} at {share:.0%}: {wrong}") from wrong
    yield (
        "| of its tokens | fit | room used, median | least | of 20 messages and more, least | under 90 % | the last"
        " answer stays | dropping the oldest, where that fits: room used, median | least |"
    )
    yield "|---:" * 9 + "|"
    for share, all_of in found.items():
        fills = [(file, fill) for file, fill in all_of if fill is not None]
        shares = [fill.share for _, fill in fills]
        large = [fill.share for file, fill in fills if len(file.names) >= 20]
        oldest = [fill.oldest / fill.room for _, fill in fills if fill.oldest]
        answers = [fill.answer for _, fill in fills if fill.answer is not None]
        cells = [
            f"{share:.0%}".replace("%", " %"), f"{len(fills)} of {len(all_of)}", _percent(statistics.median(shares)),
            _percent(min(shares)), _percent(min(large)), sum(one < NEAR for one in shares),
            f"{sum(answers)} of {len(answers)}", _percent(statistics.median(oldest)), _percent(min(oldest)),
        ]  # fmt: skip
        yield "| " + " | ".join(map(str, cells)) + " |"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def main() -> int:
    """Run and print; 1 where anything was wrong."""
    parser = argparse.ArgumentParser(prog="just trims", description=__doc__)
    parser.add_argument("--budgets", type=int, default=40, help="of each file")
    parser.add_argument("--only", default="", help="files with this in their name")
    parser.add_argument("--strategy", choices=OF_TRIM, default=OLDEST, help="what leaves first")
    parser.add_argument("--write", action="store_true", help="put how the room is used into docs/commands/trim.md")
    asked = parser.parse_args()
    if asked.write:
        text = "\n".join(table(File(case._replace(strategy=asked.strategy)) for case in cases()))
        page = PAGE.read_text(encoding="utf-8")
        page = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n\n{END}", page, flags=re.S)
        PAGE.write_text(page, encoding="utf-8")
        print(text)
        return 0
    shares = [(n + 1) / (asked.budgets + 1) for n in range(asked.budgets)]
    wrong, files, start = 0, 0, time.monotonic()
    for case in cases():
        if asked.only in case.name:
            files += 1
            try:
                run(case._replace(strategy=asked.strategy), shares)
            except Wrong as error:
                wrong += 1
                print(error, flush=True)
    what = ", ".join(f"{count:,} {name}" for name, count in seen.items())
    print(f"{files} files, {what}; {wrong} wrong; {time.monotonic() - start:.0f} s")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

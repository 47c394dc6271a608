"""Edits of real files, through the draft that an editor gets: what must hold of every one of them.

`python -m tests.edits` goes through the files of all formats and prints what was seen (just edits); the suite takes a
small one of each. The context is compared with what the draft says, part by part; what is sent is judged by rules that
share no code with the writers.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from ctxkit import Log
from ctxkit.core.context import entry
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Other, Part, Result, Text
from ctxkit.edit.draft import DraftBlock, FoldedPart, draft
from ctxkit.edit.edit import editable
from ctxkit.edit.parse import parse
from ctxkit.errors import CtxkitError, NothingToSend
from tests.shared import SHARED
from tests.trims import MODEL, RULES, Case, cases

FOLDERS = tuple(sorted(path.name for path in SHARED.glob("transcripts/*") if path.is_dir()))
SAID = "other words: \x1b[31m %% 3 user\n#%% 4\n"
"""What is put into messages: nothing of it is the draft's own."""
Blocks = list[DraftBlock]
seen: Counter[str] = Counter()


class Wrong(Exception):
    """An edit is not what it should be."""


def _out(blocks: Blocks, dice: random.Random) -> Blocks:
    return [msgspec.structs.replace(one, out=True) if dice.random() < 0.3 else one for one in blocks]


def _deleted(blocks: Blocks, dice: random.Random) -> Blocks:
    return [one for one in blocks if dice.random() < 0.7]


def _back(blocks: Blocks, dice: random.Random) -> Blocks:
    return [msgspec.structs.replace(one, out=False) for one in blocks]


def _changed(blocks: Blocks, dice: random.Random) -> Blocks:
    return [_other(one) if not one.out and dice.random() < 0.3 else one for one in blocks]


def _other(block: DraftBlock) -> DraftBlock:
    """In other words, what is no text kept: a result alone says them itself."""
    folds = [piece for piece in block.pieces if isinstance(piece, FoldedPart)]
    alone = len(folds) == len(block.pieces) == 1 and folds[0].words.startswith(("result ", "failed "))
    return msgspec.structs.replace(block, pieces=(*(() if alone else folds), SAID))


def _added(blocks: Blocks, dice: random.Random) -> Blocks:
    place = dice.randrange(len(blocks) + 1)
    return [*blocks[:place], *(DraftBlock("", role, (SAID,)) for role in ("user", "assistant")), *blocks[place:]]


def _reordered(blocks: Blocks, dice: random.Random) -> Blocks:
    return dice.sample(blocks, len(blocks))


def _much(blocks: Blocks, dice: random.Random) -> Blocks:
    for change in (_back, _changed, _deleted, _added):
        blocks = change(blocks, dice)
    return blocks


CHANGES: dict[str, Callable[[Blocks, random.Random], Blocks]] = {
    "commented out": _out, "deleted": _deleted, "brought back": _back, "changed": _changed, "added": _added,
    "reordered": _reordered, "much": _much,
}  # fmt: skip


def bare(part: Part) -> tuple[object, ...]:
    """A part without how it was written."""
    told = {key: getattr(part, key) for key in part.__struct_fields__ if key != "raw" or isinstance(part, Other)}
    if isinstance(part, Result) and not isinstance(part.content, str):
        told["content"] = list(map(bare, part.content))
    return type(part).__name__, *told.items()


def parts(log: Log, name: Name) -> list[tuple[object, ...]]:
    """What a message holds."""
    return list(map(bare, log.full(entry(log.state(), name)).parts))


def context(log: Log) -> list[tuple[str, list[tuple[object, ...]]]]:
    """Role and parts of each message."""
    return [(one.role, parts(log, one.name)) for one in log.entries()]


def _held(block: DraftBlock, had: dict[str, list[tuple[object, ...]]]) -> list[tuple[object, ...]]:
    """What a message holds that says something else: its parts that are no text, and `SAID`."""
    was = had.get(block.label, [])
    if [kind for kind, *_ in was] == ["Result"]:
        return [(kind, *(("content", SAID) if one[0] == "content" else one for one in rest)) for kind, *rest in was]
    return [bare(Text(piece)) if isinstance(piece, str) else was[piece.part - 1] for piece in block.pieces]


def valid(log: Log) -> None:
    """Whatever provider it is sent to takes it. Raises Wrong."""
    for to, rules in RULES.items():
        try:
            bodies = list(log.export(to, model=MODEL).values)
        except NothingToSend:
            seen["nothing to send"] += 1
            continue
        if problems := [problem for body in bodies for problem in rules(body)]:
            raise Wrong(f"{to}: {problems[0]}")
        seen["outputs"] += 1


def edited(log: Log, name: str, dice: random.Random) -> None:
    """One kind of change: the context is what the draft says, and its undo gives back what was. Raises Wrong."""
    before, text = context(log), log.draft()
    found = parse(text)
    if found.mistakes or found.base is None:
        raise Wrong(f"the draft has mistakes: {found.mistakes[:1]}")
    if [one.label for one in found.blocks if not one.out] != [log.state().label(one) for one in log.names()]:
        raise Wrong("what is not commented out is not the context")
    had = {log.state().label(one): parts(log, one) for one in editable(log.state())}
    same = {block.label: block for block in found.blocks}
    blocks = CHANGES[name](found.blocks, dice)
    live = [one for one in blocks if not one.out]
    if not live:
        return
    op = log.edit(draft("x", found.base, blocks))
    seen["edits"] += op is not None
    told = context(log)
    if len(told) != len(live):
        raise Wrong(f"{len(told)} messages, the draft says {len(live)}")
    for block, (role, holds) in zip(live, told, strict=True):
        was = same.get(block.label)
        wanted = had[block.label] if was is not None and block.pieces == was.pieces else _held(block, had)
        alone = [kind for kind, *_ in wanted] == ["Result"]
        if holds != wanted or (role != block.role and not (alone and role == "tool")):
            raise Wrong(f"message {block.label}: {role} holds {str(holds)[:200]}, not {str(wanted)[:200]}")
    if log.edit(log.draft()) is not None:
        raise Wrong("unchanged is an op")
    valid(log)
    if op is not None:
        log.undo()
    if context(log) != before:
        raise Wrong("undo does not give back what was there")


def run(case: Case, changes: Sequence[str] = tuple(CHANGES)) -> None:
    """A case, every kind of change, as it is and after a clear. Raises Wrong."""
    dice = random.Random(case.name)
    for cleared in (False, True):
        log = case.open()
        if cleared:
            log.clear()
        if log.edit(log.draft()) is not None:
            raise Wrong(f"{case.name}: unchanged is an op")
        seen["unchanged"] += 1
        for name in changes if not cleared else changes[-1:]:
            try:
                edited(log, name, dice)
            except (Wrong, CtxkitError) as wrong:
                raise Wrong(f"{case.name}{', cleared' * cleared}, {name}: {wrong}") from wrong


def chosen(folders: Sequence[str] = FOLDERS, largest: int = 1 << 30, only: str = "") -> list[Case]:
    """The cases of these folders."""
    return [case for case in cases(folders, largest) if only in case.name]


def main() -> int:
    """Run and print; 1 where anything was wrong."""
    parser = argparse.ArgumentParser(prog="just edits", description=__doc__)
    parser.add_argument("--only", default="", help="files with this in their name")
    asked = parser.parse_args()
    wrong, start = 0, time.monotonic()
    found = chosen(only=asked.only)
    for case in found:
        try:
            run(case)
        except Wrong as error:
            wrong += 1
            print(error, flush=True)
    what = ", ".join(f"{count:,} {name}" for name, count in seen.items())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{len(found)} files, {what}; {wrong} wrong; {time.monotonic() - start:.0f} s, {memory} MB")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

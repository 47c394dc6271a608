"""The comparison: what an agent sent beside what ctxkit gives, block by block, in order.

Nothing of a transcript comes out of here: kinds, places and counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.resume.blocks import CUT, Block, fold


@dataclass
class Compared:
    """`blocks`: how many the agent sent of the file; `first`: where the two differ, "" for nowhere.

    `ruled`: how many blocks each rule took out, of "agent" and of "ctxkit".
    """

    blocks: int
    first: str
    ruled: Counter[str] = field(default_factory=Counter)


def compared(sent: Iterable[Block], ours: Iterable[Block]) -> Compared:
    """Compare after taking out what a rule names."""
    ruled: Counter[str] = Counter()
    sides: list[list[Block]] = []
    made: list[list[str]] = []
    for name, blocks in (("agent", without_unpaired(sent)), ("ctxkit", list(ours))):
        made.append(sorted(block.key for block in blocks if (block.kind, block.rule) == ("tool_result", "made up")))
        ruled.update(f"{name}: {block.rule}" for block in blocks if block.rule)
        sides.append([block for block in blocks if not block.rule])
    theirs, mine = sides
    same = 0
    for one, other in zip(theirs, mine, strict=False):
        if one != other:
            if not cut(one, other):
                break
            ruled["agent: cut"] += 1
        same += 1
    if same == len(theirs) == len(mine) and made[0] != made[1]:
        return Compared(same, f"made up results: agent {len(made[0])}, ctxkit {len(made[1])}, or of other calls", ruled)
    if same == len(theirs) == len(mine):
        return Compared(same, "", ruled)
    wanted, got = (f"{side[same].role} {side[same].kind}" if same < len(side) else "the end" for side in sides)
    lengths = f"{len(theirs)} blocks" if len(theirs) == len(mine) else f"{len(theirs)} and {len(mine)} blocks"
    return Compared(len(theirs), f"block {same}: agent {wanted}, ctxkit {got} ({lengths})", ruled)


def of_the_source(
    before: Sequence[Block], after: Sequence[Block], chosen: Container[str], brought: str, gone: Mapping[str, int]
) -> str:
    """Where what an agent sends of an edited session is not what it sent of the unedited one, less what an op took.

    `chosen`: strings of the messages that are in the context still, and ids of calls and results whose other half is;
    `brought`: all words that ops brought in; `gone`: how often strings stand in messages that are in the context no
    more, as the same words may be sent of one message and not of another. Empty where every block is the source's or
    an op's, and all of the source that was chosen is there. What was chosen and not sent before may go: a late result,
    where what stood between went.
    """
    before, after = without_unpaired(before), without_unpaired(after)
    was = "\n".join(_words(block) for block in before if not block.rule)
    for number, block in enumerate(block for block in after if not block.rule):
        words = _words(block)
        if words in was or words in chosen or CUT.search(words) or (block.key and block.key in brought):
            continue
        if not _made_of(words, was, brought):
            return f"block {number} ({block.role} {block.kind}) is neither the source's nor an op's"
    left = Counter(map(_named, (block for block in before if not block.rule)))
    left -= Counter(map(_named, (block for block in after if not block.rule)))
    now = "\n".join(_words(block) for block in after)
    for (kind, words), times in left.items():
        if kind == "text" and times <= gone.get(words, 0):
            continue
        if kind != "text" and words in chosen:
            return f"a {kind} of the source that was chosen is not there"
        if kind == "text" and words in chosen and words not in now:
            return f"a text of the source that was chosen is not there: {len(words)} characters"
    return ""


def _named(block: Block) -> tuple[str, str]:
    """What a block is known by: a call and a result by its id, else its words."""
    by_id = block.kind in ("tool_use", "tool_result")
    return (block.kind, block.key) if by_id else ("text", _words(block))


def _words(block: Block) -> str:
    """All that a block says, white space folded."""
    return fold(block.body or block.key)


def _made_of(words: str, was: str, brought: str) -> bool:
    """Whether each word is the source's or an op's: messages that met are one."""
    return words in brought or all(piece in was or piece in brought for piece in words.split(" ") if len(piece) > 3)


def without_unpaired(sent: Iterable[Block]) -> list[Block]:
    """The same blocks with the rule "unpaired" on results that no call comes before, and on second ones."""
    calls: set[str] = set()
    marked = []
    for block in sent:
        if block.kind == "tool_use":
            calls.add(block.key)
        elif block.kind == "tool_result" and not block.rule:
            if block.key not in calls:
                block = replace(block, rule="unpaired")
            calls.discard(block.key)
        marked.append(block)
    return marked


def cut(sent: Block, whole: Block) -> bool:
    """Whether what was sent is the whole result with its middle cut out, or with a picture left out."""
    if (sent.role, sent.kind, sent.key) != (whole.role, whole.kind, whole.key) or sent.kind != "tool_result":
        return False
    body, full = sent.body or "", whole.body or ""
    mark = CUT.search(body)
    if mark is None:
        return False
    head, tail = body[: mark.start()].rstrip(), body[mark.end() :].lstrip()
    head = head.partition(" Output: ")[2] or head  # Codex says before it how long it was
    return head in full and full.endswith(tail)

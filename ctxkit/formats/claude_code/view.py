"""The view of a Claude Code log: what Claude Code would send on resume, and what its compactions took out.

Pipeline: `reader.py` -> here (`View` of the transcript) -> `core/replay.py`. The history is walked stretch by
stretch, newest first; before a compaction the leaf rule and the chain hold again for the rows above its boundary.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ctxkit.core.messages import Message
from ctxkit.core.transcript import ProgramCut, View
from ctxkit.formats.claude_code.chain import Chain, Path
from ctxkit.formats.claude_code.links import RowKind

_RESULT, _ASSISTANT, _ATTACHMENT = map(int, (RowKind.RESULT, RowKind.ASSISTANT, RowKind.ATTACHMENT))


class CompactionSpan(msgspec.Struct):
    """The context between two compactions: numbers in the order they are sent, and the path they come from."""

    numbers: list[int]
    path: Path


def view_of(chain: Chain, answers: dict[int, str], messages: list[Message]) -> tuple[View, dict[int, list[int]]]:
    """The view, and for messages of which Claude Code sends only some rows the links of these.

    The latter happens where a compaction preserved some rows of a response and not others (p71).
    """
    view, newest = _seen(chain, answers, messages)
    links = chain.links
    side = {links.numbers[i] for i in links.threads}
    left = set(range(1, len(messages) + 1)).difference(view.order)
    view.inactive = {n: "sidechain" if n in side else "branch" for n in sorted(left)}
    return view, _partial(chain, newest)


def thread_of(chain: Chain, answers: dict[int, str], messages: list[Message]) -> tuple[View, dict[int, list[int]]]:
    """The same of a sidechain: `chain` holds its own rows, `answers` and `messages` are of the whole log."""
    view, newest = _seen(chain, answers, messages)
    placed = set(view.order)
    view.inactive = {n: "branch" for n in _unique(chain.links.numbers) if n not in placed}
    return view, _partial(chain, newest)


def _seen(chain: Chain, answers: dict[int, str], messages: list[Message]) -> tuple[View, CompactionSpan | None]:
    """The order and the cuts of one chain, and its newest stretch."""
    order: dict[int, None] = {}
    cuts: list[ProgramCut] = []
    before: CompactionSpan | None = None
    for stretch in _stretches(chain, answers, messages):
        if before is not None or stretch.path.boundary >= 0:
            cut = _cut(chain, stretch, before.numbers if before else [])
            if cut.out or cut.moved:
                cuts.append(cut)
        order.update(dict.fromkeys(stretch.numbers))
        before = stretch
    return View(list(order), {}, cuts), before


def _stretches(chain: Chain, answers: dict[int, str], messages: list[Message]) -> list[CompactionSpan]:
    """The stretches of the history, oldest first."""
    found: list[CompactionSpan] = []
    limit = len(chain.links)
    path = chain.newest(limit)
    while path.links:
        found.append(CompactionSpan(numbers_of(chain, path, limit, answers, messages), path))
        if path.boundary < 0:
            break
        above = chain.parent(path.boundary, path.boundary)
        limit = path.boundary
        path = chain.path(above, limit) if above >= 0 else chain.newest(limit)
    return found[::-1]


class BesidePath:
    """What may be put back beside a path, of the rows that are given.

    `rows`: response -> rows of it, those that something hangs on among them. `below`: uuid -> the results that hang on
    the row, and the attachments on these.
    """

    def __init__(self, chain: Chain, answers: dict[int, str], rows: Iterable[int]) -> None:
        links = chain.links
        self.rows: dict[str, list[int]] = {}
        self.below: dict[str, list[int]] = {}
        of_result: set[int] = set()
        for i in rows:
            kind = links.kinds[i]
            if kind == _ASSISTANT and links.numbers[i] in answers:
                self.rows.setdefault(answers[links.numbers[i]], []).append(i)
            elif kind in (_RESULT, _ATTACHMENT) and links.find(links.uuids[i], len(links)) == i:
                up = chain.parent(i, len(links))
                if up >= 0 and (kind == _RESULT or links.kinds[up] == _RESULT or up in of_result):
                    self.below.setdefault(links.uuids[up], []).append(i)
                    if kind == _ATTACHMENT:
                        of_result.add(i)
        for uuid in self.below:
            i = links.find(uuid, len(links))
            while i >= 0:
                if links.kinds[i] == _ASSISTANT and links.numbers[i] in answers:
                    self.rows.setdefault(answers[links.numbers[i]], []).append(i)
                i = links.older.get(i, -1)


def numbers_of(
    chain: Chain,
    path: Path,
    limit: int,
    answers: dict[int, str],
    messages: list[Message],
    beside: BesidePath | None = None,
) -> list[int]:
    """The messages of a path as they are sent (rule 4).

    Rows of a response that the chain misses are put back beside it in file order, results that hang on them after its
    last row, with the attachments that hang on these. `beside`: where all of these are known already.
    """
    links = chain.links
    on_path = set(map(links.numbers.__getitem__, path.links))
    own = path.links
    if links.threads and not chain.side:
        own = [i for i in own if i not in links.threads]
    if beside is None:
        missed = _missed(chain, path, limit, on_path)
        if missed:
            beside = BesidePath(chain, answers, missed)
    if beside is None:
        numbers = dict.fromkeys(map(links.numbers.__getitem__, own))
    else:
        numbers = _put_back(chain, path, limit, own, on_path, answers, beside)
    numbers.pop(0, None)
    return _results_in_file_order(list(numbers), messages)


def _missed(chain: Chain, path: Path, limit: int, on_path: set[int]) -> list[int]:
    """The rows in reach of the path whose messages it misses, and attachments that are none, file order."""
    numbers, kinds = chain.links.numbers, chain.links.kinds
    reach = numbers[path.boundary + 1 : limit]
    off = {*reach, *map(numbers.__getitem__, path.kept)} - on_path - {0}
    if not off:
        return []
    kept = [i for i in sorted(path.kept) if i < path.boundary]
    near = enumerate(reach, path.boundary + 1)
    return [i for i, n in (*((i, numbers[i]) for i in kept), *near) if n in off or (not n and kinds[i] == _ATTACHMENT)]


def _put_back(
    chain: Chain, path: Path, limit: int, own: list[int], on_path: set[int], answers: dict[int, str], beside: BesidePath
) -> dict[int, None]:
    """The messages of the rows `own`, and what stands beside them."""
    links, kept = chain.links, set(path.kept)
    numbers, kinds, uuids = links.numbers, links.kinds, links.uuids

    def allowed(i: int) -> bool:
        return i < limit and (i > path.boundary or i in kept) and chain.counts(i)

    rows: dict[str, list[int]] = {}
    for i in own:
        if numbers[i] in answers:
            rows.setdefault(answers[numbers[i]], []).append(i)
    order: dict[int, None] = {}
    for i in own:
        n = numbers[i]
        if n not in answers:
            order.setdefault(n)
            continue
        mine = rows[answers[n]]
        first, last = mine[0] == i, mine[-1] == i
        if first or last:
            others = [k for k in beside.rows.get(answers[n], ()) if allowed(k)]
        if first:
            missed = {numbers[k] for k in others} - on_path
            order.update(dict.fromkeys(sorted({n, *missed})))
        order.setdefault(n)
        if last and beside.below:
            below = (
                k for row in (*mine, *others) if kinds[row] == _ASSISTANT for k in beside.below.get(uuids[row], ())
            )
            hanging = {k: None for k in below if allowed(k) and kinds[k] == _RESULT and numbers[k] not in on_path}
            open_rows = list(hanging)
            while open_rows:  # what hangs on what hangs there
                more = [k for k in beside.below.get(uuids[open_rows.pop()], ()) if allowed(k) and k not in hanging]
                hanging.update(dict.fromkeys(more))
                open_rows += more
            order.update(dict.fromkeys(numbers[k] for k in sorted(hanging) if numbers[k]))
    return order


def _results_in_file_order(numbers: list[int], messages: list[Message]) -> list[int]:
    """Within one turn of the user, results stand in file order, in the places that results take."""
    if numbers == sorted(numbers):
        return numbers
    done = list(numbers)
    places: list[int] = []
    for place, n in enumerate([*numbers, 0]):
        message = messages[n - 1] if n else None
        if message is not None and message.results:
            places.append(place)
        elif message is None or message.role == "assistant":
            for where, result in zip(places, sorted(numbers[p] for p in places), strict=True):
                done[where] = result
            places = []
    return done


def _cut(chain: Chain, stretch: CompactionSpan, before: list[int]) -> ProgramCut:
    """What the compaction at the top of `stretch` took out of `before`, and where it moved what it kept."""
    numbers, path = chain.links.numbers, stretch.path
    row, line = chain.links.places[path.boundary]
    moved = _unique(numbers[i] for i in path.kept)
    stays = set(stretch.numbers)
    after = 0
    for i in path.links:
        after = numbers[i] or after
        if i == path.anchor:
            break
    label = f"compacted by Claude Code at line {line}"
    return ProgramCut(row, [n for n in before if n not in stays], label, moved, after if moved else 0)


def _partial(chain: Chain, newest: CompactionSpan | None) -> dict[int, list[int]]:
    """Responses of which the newest compaction preserved some rows and not others."""
    links = chain.links
    kept = set(newest.path.kept) if newest else set()
    rows: dict[int, list[int]] = {}
    if newest and kept:
        some = {links.numbers[i] for i in kept if links.kinds[i] == _ASSISTANT}
        for i, n in enumerate(links.numbers):
            if n in some and links.kinds[i] == _ASSISTANT:
                rows.setdefault(n, []).append(i)
    return {
        n: [i for i in whole if i in kept or i > newest.path.boundary]
        for n, whole in rows.items()
        if newest and any(i < newest.path.boundary and i not in kept for i in whole)
    }


def _unique(numbers: Iterable[int]) -> list[int]:
    """Without repeats and zeros, first places kept."""
    return [n for n in dict.fromkeys(numbers) if n]

"""The view of a Claude Code log: what Claude Code would send on resume, and what its compactions took out.

Pipeline: `reader.py` -> here (`View` of the transcript) -> `core/replay.py`. The history is walked stretch by
stretch, newest first; before a compaction the leaf rule and the chain hold again for the rows above its boundary.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ctxkit.core.messages import Message
from ctxkit.core.transcript import Cut, View
from ctxkit.formats.claude_code.chain import Chain, Kind, Path


class Groups(msgspec.Struct):
    """Rows by what they belong to: links of a message number, numbers of a response id, and the id of a number."""

    links: dict[int, list[int]]
    numbers: dict[str, list[int]]
    response: dict[int, str]


class Stretch(msgspec.Struct):
    """The context between two compactions: numbers in the order they are sent, and the path they come from."""

    numbers: list[int]
    path: Path


def view_of(chain: Chain, groups: Groups, messages: list[Message]) -> tuple[View, dict[int, list[int]]]:
    """The view, and for messages of which Claude Code sends only some rows the links of these.

    The latter happens where a compaction preserved some rows of a response and not others (p71).
    """
    view, newest = _seen(chain, groups, messages)
    side = {link.n for link in chain.links if link.side}
    placed = set(view.order)
    view.inactive = {m.n: "sidechain" if m.n in side else "branch" for m in messages if m.n not in placed}
    return view, _partial(groups, newest)


def thread_of(chain: Chain, groups: Groups, messages: list[Message]) -> tuple[View, dict[int, list[int]]]:
    """The same of a sidechain: `chain` and `groups` hold its own rows, `messages` those of the whole log."""
    view, newest = _seen(chain, groups, messages)
    placed = set(view.order)
    mine = dict.fromkeys(link.n for link in chain.links if link.n)
    view.inactive = {n: "branch" for n in mine if n not in placed}
    return view, _partial(groups, newest)


def _seen(chain: Chain, groups: Groups, messages: list[Message]) -> tuple[View, Stretch | None]:
    """The order and the cuts of one chain, and its newest stretch."""
    stretches = _stretches(chain, groups, messages)
    order: list[int] = []
    placed: set[int] = set()
    cuts: list[Cut] = []
    before: Stretch | None = None
    for stretch in stretches:
        if before is not None or stretch.path.boundary >= 0:
            cut = _cut(chain, stretch, before.numbers if before else [])
            if cut.out or cut.moved:
                cuts.append(cut)
        for n in stretch.numbers:
            if n not in placed:
                placed.add(n)
                order.append(n)
        before = stretch
    return View(order, {}, cuts), before


def _stretches(chain: Chain, groups: Groups, messages: list[Message]) -> list[Stretch]:
    """The stretches of the history, oldest first."""
    answers = answers_of(chain)
    found: list[Stretch] = []
    limit = len(chain.links)
    path = chain.newest(limit)
    while path.links:
        found.append(Stretch(numbers_of(chain, path, limit, groups, answers, messages), path))
        if path.boundary < 0:
            break
        above = chain.parent(path.boundary, path.boundary)
        limit = path.boundary
        path = chain.path(above, limit) if above >= 0 else chain.newest(limit)
    return found[::-1]


def answers_of(chain: Chain) -> dict[str, list[int]]:
    """Result rows, and attachments of results, by the uuid of the row they hang on, file order."""
    found: dict[str, list[int]] = {}
    result, attachment = Kind.RESULT, Kind.ATTACHMENT
    of_result: set[int] = set()
    for i, link in enumerate(chain.links):
        if (link.kind is result or link.kind is attachment) and chain.index.get(link.uuid) == i:
            up = chain.parent(i, len(chain.links))
            if up >= 0 and (link.kind is result or chain.links[up].kind is result or up in of_result):
                found.setdefault(chain.links[up].uuid, []).append(i)
                if link.kind is attachment:
                    of_result.add(i)
    return found


def numbers_of(
    chain: Chain, path: Path, limit: int, groups: Groups, answers: dict[str, list[int]], messages: list[Message]
) -> list[int]:
    """The messages of a path as they are sent (rule 4).

    Rows of a response that the chain misses are put back beside it in file order, results that hang on them after its
    last row, with the attachments that hang on these.
    """
    links = chain.links
    on_path = {links[i].n for i in path.links}
    kept = set(path.kept)

    def allowed(i: int) -> bool:
        in_reach = i < limit and (i > path.boundary or i in kept)
        return in_reach and (chain.side or not links[i].side)

    last = {groups.response[links[i].n]: i for i in path.links if links[i].n in groups.response}
    numbers: dict[int, None] = {}
    begun: set[str] = set()
    for i in path.links:
        link = links[i]
        if not link.n or (link.side and not chain.side):
            continue
        response = groups.response.get(link.n)
        first, final = response is not None and response not in begun, response is not None and last[response] == i
        if response is not None and (first or final):
            rows = [k for n in groups.numbers[response] for k in groups.links[n] if allowed(k)]
        if response is not None and first:
            begun.add(response)
            missed = {links[k].n for k in rows if links[k].n not in on_path}
            numbers.update(dict.fromkeys(sorted({link.n, *missed})))
        numbers.setdefault(link.n)
        if final:
            hanging = [k for row in rows for k in answers.get(links[row].uuid, ()) if allowed(k)]
            hanging = [k for k in hanging if links[k].n not in on_path and links[k].kind is Kind.RESULT]
            for k in hanging:  # grows: what hangs on what hangs there
                hanging += [more for more in answers.get(links[k].uuid, ()) if allowed(more) and more not in hanging]
            numbers.update(dict.fromkeys(links[k].n for k in sorted(hanging) if links[k].n))
    return _results_in_file_order(list(numbers), messages)


def _results_in_file_order(numbers: list[int], messages: list[Message]) -> list[int]:
    """Within one turn of the user, results stand in file order, in the places that results take."""
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


def _cut(chain: Chain, stretch: Stretch, before: list[int]) -> Cut:
    """What the compaction at the top of `stretch` took out of `before`, and where it moved what it kept."""
    links, path = chain.links, stretch.path
    boundary = links[path.boundary]
    moved = _unique(links[i].n for i in path.kept)
    stays = set(stretch.numbers)
    after = 0
    for i in path.links:
        after = links[i].n or after
        if i == path.anchor:
            break
    label = f"compacted by Claude Code at line {boundary.line}"
    return Cut(boundary.row, [n for n in before if n not in stays], label, moved, after if moved else 0)


def _partial(groups: Groups, newest: Stretch | None) -> dict[int, list[int]]:
    """Responses of which the newest compaction preserved some rows and not others."""
    kept = set(newest.path.kept) if newest else set()
    found: dict[int, list[int]] = {}
    if not kept:
        return found
    for n, rows in groups.links.items():
        some = [i for i in rows if i in kept]
        if newest and some and any(i < newest.path.boundary and i not in kept for i in rows):
            found[n] = [i for i in rows if i in kept or i > newest.path.boundary]
    return found


def _unique(numbers: Iterable[int]) -> list[int]:
    """Without repeats and zeros, first places kept."""
    return [n for n in dict.fromkeys(numbers) if n]

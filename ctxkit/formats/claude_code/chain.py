"""The chain of a Claude Code log: from its last row back to a root or a compaction.

Pipeline: `reader.py` collects the rows in `ChainLinks`; `view.py` asks `Chain` for the leaf and the path, one stretch
between two compactions after another. Its rules: agents, Claude Code 1-3 and 10.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container
from functools import cached_property
from typing import Any

import msgspec

from ctxkit.core.times import seconds
from ctxkit.formats.claude_code.links import UNKNOWN, ChainLinks, RowKind

GRACE_MS = 5000
"""A row whose parent is missing is attached to the newest row that is at most this much older (rule 3)."""
_ASSISTANT, _SYSTEM, _BOUNDARY, _ATTACHMENT, _PROGRESS = map(
    int, (RowKind.ASSISTANT, RowKind.SYSTEM, RowKind.BOUNDARY, RowKind.ATTACHMENT, RowKind.PROGRESS)
)


class Preserved(msgspec.Struct):
    """What a compaction kept, as written: rows by uuid (None: none are listed), or a segment head..tail.

    They follow `anchor`.
    """

    anchor: str
    uuids: list[str] | None
    head: str = ""
    tail: str = ""


class Path(msgspec.Struct):
    """One stretch of the history: link indices from the top down.

    `boundary`: the compaction that starts it (-1: none); `kept`: what that preserved, to stand after `anchor`.
    """

    links: list[int]
    boundary: int = -1
    kept: list[int] = []
    anchor: int = -1


class Relinks(msgspec.Struct):
    """What compactions with preserved rows did to the tree: new parents, and whose children moved behind a tail.

    Rows before the link `gone`, the last compaction, are gone, but for `stays`; their children hang on `tail`.
    """

    parents: dict[int, int] = {}
    behind: dict[int, int] = {}
    kept: dict[int, tuple[int, list[int]]] = {}
    gone: int = -1
    stays: set[int] = set()
    tail: int = UNKNOWN

    def has(self, i: int) -> bool:
        """Whether link i is still there."""
        return i >= self.gone or i in self.stays


_NONE = Relinks()


class Chain:
    """The tree of `links`. `limit` everywhere: only rows before that index exist."""

    def __init__(self, links: ChainLinks, preserved: dict[int, Preserved], side: bool) -> None:
        """`preserved`: index of a boundary -> what it kept. `side`: walk sidechains as well."""
        self.links = links
        self.preserved = preserved
        self.side = side
        self._unique = not links.older  # then what is above a row is what was above it when it was read
        self._clock: tuple[list[int], list[int]] | None = None
        self._relinks: dict[int, Relinks] = {}

    def parent(self, i: int, limit: int) -> int:
        """The row above `i`, progress rows looked through; -1 at a root, -2 where the parent is not in the file."""
        links = self.links
        if self._unique and links.above[i] != UNKNOWN:
            return links.above[i]
        up = links.parent(i)
        for _ in range(limit):  # a cycle of progress rows ends here
            if not up:
                return -1
            found = links.find(up, limit)
            if found < 0:
                return -2
            if links.kinds[found] != _PROGRESS:
                return found
            up = links.parent(found)
        return -1

    def leaf(self, limit: int) -> int:
        """The user or assistant row that is gone on with (rule 2); -1 where there is none.

        It is looked for at the last row of the file that is one or hangs on one: of that and all below it, the newest.
        """
        kinds, dead = self.links.kinds, set[int]()
        there = self.relinks(limit).has
        for last in range(limit - 1, -1, -1):
            if kinds[last] == _PROGRESS or not self.counts(last) or not there(last):
                continue
            up = last
            while up >= 0 and kinds[up] > _ASSISTANT and up not in dead:
                dead.add(up)
                up = self.parent(up, limit)
            if up >= 0 and kinds[up] <= _ASSISTANT and self.counts(up) and there(up):
                leaf = self._newest(last, limit)
                while kinds[leaf] > _ASSISTANT:
                    leaf = self.parent(leaf, limit)
                return leaf
        return -1

    def _newest(self, top: int, limit: int) -> int:
        """Of `top`, the last row, and the rows below it, the newest; only a parent that comes late has rows below."""
        if self._unique and not self._early.get(top):
            return top
        below, stack = set[int](), [top]
        while stack:
            at = stack.pop()
            if at not in below:
                below.add(at)
                stack += (i for i in self._children.get(at, ()) if i < limit)
        found, newest = top, milliseconds(self.links.times[top]) or 0
        for i in sorted(below):
            at = milliseconds(self.links.times[i]) or 0
            if i != top and at >= newest and self.counts(i):
                found, newest = i, at
        return found

    @cached_property
    def _early(self) -> dict[int, list[int]]:
        """Rows that come before their parent, by the latter."""
        found: dict[int, list[int]] = {}
        for i in self.links.orphans():
            up = self.parent(i, len(self.links))
            if up > i:
                found.setdefault(up, []).append(i)
        return found

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        """The rows below each row."""
        found: dict[int, list[int]] = {}
        links = self.links
        for i, uuid in enumerate(links.uuids):
            if links.kinds[i] != _PROGRESS and links.find(uuid, len(links)) == i:
                found.setdefault(self.parent(i, len(links)), []).append(i)
        return found

    def newest(self, limit: int) -> Path:
        """What is gone on with: the path of the leaf, and all that hangs on that and is nobody's words."""
        leaf = self.leaf(limit)
        if leaf < 0:
            gone = self.relinks(limit).gone
            return Path([gone], gone) if gone >= 0 else Path([])
        path, hanging = self.path(leaf, limit), self._hanging(leaf, limit)
        cuts = [place for place, i in enumerate(hanging) if self.links.kinds[i] == _BOUNDARY]
        if cuts:
            return Path(hanging[cuts[-1] :], hanging[cuts[-1]])
        path.links += hanging
        return path

    def end(self, limit: int) -> int:
        """The last row of what is gone on with; -1 where there is none."""
        return next(reversed(self.newest(limit).links), -1)

    def _hanging(self, leaf: int, limit: int) -> list[int]:
        """The attachments and system rows below `leaf`, each above its own, siblings by time."""
        on: dict[int, list[int]] = {leaf: []}
        for i in range(leaf + 1 if self._unique and not self._early else 0, limit):
            if self.links.kinds[i] in (_SYSTEM, _BOUNDARY, _ATTACHMENT) and self.counts(i):
                on.setdefault(self.parent(i, limit), []).append(i)
        found: list[int] = []
        stack = [leaf]
        while stack:
            at = stack.pop()
            if at != leaf:
                found.append(at)
            stack += sorted(on.pop(at, ()), key=lambda i: (milliseconds(self.links.times[i]) or 0, i), reverse=True)
        return found

    def path(self, leaf: int, limit: int) -> Path:
        """From `leaf` up to a root or to the first compaction met, which cuts whatever its parent is (rule 10)."""
        relinks = self.relinks(limit)
        links, parents, behind = self.links, relinks.parents, relinks.behind
        kinds, above = links.kinds, links.above if self._unique else [UNKNOWN] * limit
        path: list[int] = []
        seen: set[int] = set()
        bridged: set[int] = set()
        boundary = -1
        i = behind.get(leaf, leaf)  # a summary that nothing follows yet has its preserved rows all the same
        while i >= 0:
            path.append(i)
            if kinds[i] == _BOUNDARY:
                boundary = i
                break
            if i in parents:
                i = parents[i]
            else:
                up = above[i]
                if up == UNKNOWN:
                    up = self.parent(i, limit)
                if 0 <= up < relinks.gone and up not in relinks.stays:
                    up = relinks.tail
                if up == UNKNOWN:
                    if i in bridged:
                        break
                    bridged.add(i)
                    seen.update(path[len(seen) :])
                    up = self.bridge(i, limit, seen, relinks)
                i = behind.get(up, up)
            if len(path) > limit:
                break
        path = list(dict.fromkeys(path))  # a cycle ends where it began
        path.reverse()
        anchor, kept = relinks.kept.get(boundary, (-1, []))
        return Path(path, boundary, kept, anchor)

    def up(self, i: int, limit: int, relinks: Relinks, seen: Container[int]) -> int:
        """The row above `i` after relinking; a missing one is bridged by time, to none of `seen`."""
        if i in relinks.parents:
            return relinks.parents[i]
        up = self.parent(i, limit)
        if up >= 0 and not relinks.has(up):
            up = relinks.tail
        if up == UNKNOWN:
            up = self.bridge(i, limit, seen, relinks)
        return relinks.behind.get(up, up)

    def counts(self, i: int) -> bool:
        """Whether row i can be on the chain at all."""
        return self.side or i not in self.links.threads

    def relinks(self, limit: int) -> Relinks:
        """Preserved rows stand right after their anchor; what followed the anchor follows them (rule 10).

        With a compaction that preserved rows, all that stands before the last compaction is gone but for what that one
        preserved; what hung on it hangs on the last of these.
        """
        if not self.preserved:
            return _NONE
        found = self._relinks.get(limit)
        if found is None:
            found = self._relinks[limit] = self._relinked(limit)
        return found

    def _relinked(self, limit: int) -> Relinks:
        valid = {b: kept for b, p in self.preserved.items() if b < limit and (kept := self._kept(p, limit)) is not None}
        if not valid:
            return _NONE
        last = next(i for i in range(limit - 1, -1, -1) if self.links.kinds[i] == _BOUNDARY)
        kept = valid.get(last, [])
        relinks = Relinks({}, {}, {}, last, set(kept), kept[-1] if kept else UNKNOWN)
        anchor = self.links.find(self.preserved[last].anchor, limit) if kept else -1
        if anchor in kept:
            anchor = -1
        relinks.parents.update(zip(kept, [anchor, *kept], strict=False))
        if anchor >= 0:
            relinks.kept[last] = (anchor, kept)
            relinks.behind[anchor] = kept[-1]
        return relinks

    def _kept(self, preserved: Preserved, limit: int) -> list[int] | None:
        """The preserved links in order; None if one of them is missing (p69), as progress rows always are."""
        if preserved.uuids is not None:
            found = [self.links.find(uuid, limit) for uuid in preserved.uuids]
            return None if any(i < 0 or self.links.kinds[i] == _PROGRESS for i in found) else found
        head, i = self.links.find(preserved.head, limit), self.links.find(preserved.tail, limit)
        found = []
        while head >= 0 and i >= 0 and len(found) < limit:
            found.append(i)
            if i == head:
                return found[::-1]
            i = self.parent(i, limit)
        return None

    def bridge(self, i: int, limit: int, seen: Container[int], relinks: Relinks) -> int:
        """The newest row that is not later than row `i` and at most 5 s older, on whatever branch (rule 3)."""
        at = milliseconds(self.links.times[i])
        if at is None:
            return -1
        if self._clock is None:
            links = self.links
            pairs = [
                (ms, k)
                for k, ts in enumerate(links.times)
                if links.kinds[k] != _PROGRESS
                and self.counts(k)
                and (ms := milliseconds(ts)) is not None
                and links.find(links.uuids[k], len(links)) == k
            ]
            pairs.sort()
            self._clock = [ms for ms, _ in pairs], [k for _, k in pairs]
        times, rows = self._clock
        for place in range(bisect_right(times, at) - 1, -1, -1):
            if times[place] < at - GRACE_MS:
                break
            if rows[place] < limit and rows[place] not in seen and relinks.has(rows[place]):
                return rows[place]
        return -1


def milliseconds(ts: Any) -> int | None:
    """An ISO time as milliseconds since 1970, None for anything else. A time without zone is UTC."""
    moment = seconds(ts) if isinstance(ts, str) else None
    return None if moment is None else round(moment * 1000)

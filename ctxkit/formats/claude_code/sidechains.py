"""The sidechains of a Claude Code log: which one a row belongs to, and each of them as a chain of its own.

Pipeline: `reader.py` names the sidechain of each row as it comes, and takes the views of all of them once it has read;
`view.py` makes the view of one. Newer programs name the agent in each row; older ones leave it to the tree: a row
without a parent in a sidechain begins one, which is called `sidechain-1` and so on, in file order.
"""

from __future__ import annotations

import msgspec

from ctxkit.core.messages import Message
from ctxkit.core.transcript import View
from ctxkit.formats.claude_code.chain import UNKNOWN, Chain, Link
from ctxkit.formats.claude_code.view import Groups, thread_of


class Sidechains:
    """Names the sidechains of a log. A name never depends on a later row."""

    def __init__(self) -> None:
        self._begun = 0
        self._newest = ""

    def name(self, agent: str, link: Link, parent: Link | None, older: Link | None) -> str:
        """The sidechain of `link`. `parent`: the row above, None where it is not there; `older`: one with its uuid."""
        for known in (parent, older):
            if known is not None and known.side and not agent:
                agent = known.thread
        if not agent and link.parent and parent is None:
            agent = self._newest  # its parent is lost: the sidechain that was written last
        if not agent:
            self._begun += 1
            agent = f"sidechain-{self._begun}"
        self._newest = agent
        return agent


def views(chain: Chain, groups: Groups, messages: list[Message]) -> tuple[dict[str, View], dict[int, list[int]]]:
    """The view of each sidechain by name, and as `view_of` the messages of which it has some rows only."""
    found: dict[str, View] = {}
    partial: dict[int, list[int]] = {}
    rows: dict[str, list[int]] = {}
    for i, link in enumerate(chain.links):
        if link.side:
            rows.setdefault(link.thread, []).append(i)
    for name, taken in rows.items():
        part, own = _part(chain, groups, taken)
        found[name], some = thread_of(part, own, messages)
        partial.update((n, [taken[k] for k in kept]) for n, kept in some.items())
    return found, partial


def _part(chain: Chain, groups: Groups, taken: list[int]) -> tuple[Chain, Groups]:
    """The rows `taken` of `chain` as a chain of their own."""
    place = {i: k for k, i in enumerate(taken)}
    links: list[Link] = []
    index: dict[str, int] = {}
    for k, i in enumerate(taken):
        link = chain.links[i]
        older = link.older
        while older >= 0 and older not in place:
            older = chain.links[older].older
        links.append(msgspec.structs.replace(link, older=place.get(older, -1), above=UNKNOWN))
        if link.uuid:
            index[link.uuid] = k
    numbers = {link.n for link in links if link.n}
    response = {n: groups.response[n] for n in numbers if n in groups.response}
    own = Groups(
        {n: [place[i] for i in groups.links[n] if i in place] for n in numbers if n in groups.links},
        {name: groups.numbers[name] for name in set(response.values())},
        response,
    )
    preserved = {place[i]: kept for i, kept in chain.preserved.items() if i in place}
    return Chain(links, index, preserved, side=True), own

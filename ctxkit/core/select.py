"""Selecting messages: the same options everywhere, resolved to names before anything is written (law 1).

Criteria look at what is shown and combine with AND; the result is ranked by `--about`; then `--last` applies, then
`--invert` (replay 31). Numbers and ranges are recorded as typed, absent ones too (replay 34).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple, Protocol

import msgspec

from ctxkit.core.context import belongs, require_known
from ctxkit.core.ended_ops import brought, fate, role_of
from ctxkit.core.item_names import ItemName, Name, Names
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import State
from ctxkit.errors import BadPattern, NoMark, NothingMatched, UnknownMessage, Usage


class SearchLimit(Protocol):
    """Limits the time of each search of a --grep; the command line sets one, and a program may."""

    def restart(self, size: int = 0) -> None:
        """A search of this many characters begins."""

    def stop(self) -> None:
        """No search is running."""


class NoLimit:
    """Searches have no time limit."""

    def restart(self, size: int = 0) -> None:
        """Nothing to do."""

    def stop(self) -> None:
        """Nothing to do."""


Rank = Callable[[Sequence[Name], Sequence[Name]], Collection[Name]]
"""Of all that is shown, in order, and of those of it that fit the other criteria: which are about something."""


HUMAN = "human"
"""The role of what a person typed: of the user's messages those that open an exchange and that no program wrote."""


class RankedMessages:
    """The result of `about`. `scores`: percent of the best, by words; `answer`: a model's answer, in digests;
    `exempt`: what it may not take out. `warn`, `tell`, `step` are called with errors, with what is about to be
    sent, and with the number of the current request and of all.
    """

    def __init__(self) -> None:
        self.reset()
        self.warnings: list[str] = []
        self.warn: Callable[[str], None] = self.warnings.append
        self.tell: Callable[[str], None] = lambda words: None
        self.step: Callable[[int, int], None] = lambda done, total: None

    def reset(self) -> None:
        """Forget the last result, before something else is selected."""
        self.scores: dict[Name, int] = {}
        self.answer: dict[str, Any] | None = None
        self.exempt = Names()


class Planning(NamedTuple):
    """The conversation about forgetting at the end of a context. `names`: what should leave, in order; `unranked`:
    what is not ranked.
    """

    names: Sequence[Name] = ()
    unranked: Sequence[Name] = ()


class Selection(msgspec.Struct, frozen=True):
    """What was chosen. `ids` as typed; `since`, `until`: seconds since 1970; `last`: `5`, `2x` or `3s`.

    `about`: the topic; of its messages the best `top`, or those that a `model` finds.
    """

    ids: Sequence[str] = ()
    last: str | None = None
    role: str | None = None
    tool: str | None = None
    grep: str | None = None
    since: float | None = None
    until: float | None = None
    agent: str | None = None
    thread: str | None = None
    after_mark: str | None = None
    before_mark: str | None = None
    about: str | None = None
    top: int | None = None
    model: str | None = None
    invert: bool = False

    @property
    def criteria(self) -> bool:
        """Whether messages are chosen by criteria, not by number."""
        plain = Selection(ids=self.ids)
        return self != plain

    @property
    def empty(self) -> bool:
        """Whether nothing was chosen."""
        return self == Selection()


TOOLS = 20
"""Names of tools that a hint lists."""


def resolve(
    state: State, asked: Selection, shown: Iterable[Name], text: Callable[[Name], str], rank: Rank | None = None,
    typed: Callable[[Name], bool] = lambda name: True,
) -> Names:  # fmt: skip
    """The names that `asked` stands for. `shown`: the context that criteria see, in order; `text(name)`: its text;
    `rank` finds what is about `asked.about`.

    Raises UnknownMessage, Usage, BadPattern, NoMark, UnknownAgent; NothingMatched if nothing is left.
    """
    if asked.about is None and (asked.top is not None or asked.model is not None):
        option = "--about-model" if asked.top is None else "--top"
        raise Usage(f"{option} belongs to --about, which is missing: nothing was selected", "--about TEXT")
    if asked.top is not None and asked.top < 1:
        raise Usage(f"--top {asked.top} is not a number of messages: nothing was selected", "from 1 on")
    named = parse_ids(state, asked.ids) if asked.ids else None
    if not asked.criteria:
        if named is None:
            raise Usage("no messages were named", "give numbers (45-67), or criteria such as --tool, --last, --grep")
        return named
    found = shown if isinstance(shown, Sequence) else list(shown)
    chosen = found if named is None else [name for name in found if name in named]
    for keep in _tests(state, asked, text, typed):
        chosen = [name for name in chosen if keep(name)]
    if rank is not None and chosen:
        about = rank(found, chosen)
        chosen = [name for name in chosen if name in about]
    if asked.last is not None:
        chosen = newest(state, asked.last, found, chosen)
    if asked.invert:
        inside = set(chosen)
        chosen = [name for name in found if name not in inside]
    if not chosen:
        if named is not None and not any(name in named for name in found):
            hint = f"ctxkit show LOG {' '.join(asked.ids)} prints them, without criteria"
            raise NothingMatched("nothing matched: these messages are out of the context", hint)
        hint = _tools_there(state, found, asked.tool) or _roles_there(state, found, asked.role)
        raise NothingMatched(
            "nothing matched: no message in the context fits all criteria", hint or "ctxkit show LOG prints the context"
        )
    return Names.of(chosen)


def _roles_there(state: State, names: Iterable[Name], asked: str | None) -> str:
    """The roles in the context, as a hint for roles that no message of it has; "" where one has."""
    roles = {role_of(state, name) for name in names}
    if not roles or asked is None or {*roles, HUMAN} & set(asked.split(",")):
        return ""
    results = "; results of tools: --tool '*'" if "tool" in asked.split(",") else ""
    return f"roles in the context: {', '.join(sorted(roles))}{results}"


def _tools_there(state: State, names: Iterable[Name], glob: str | None) -> str:
    """The tools in the context, as a hint for a glob that fits none of them; "" where it fits one."""
    if glob is None:
        return ""
    tools = sorted({tool for name in names for tool in tools_of(state, name)})
    if any(fnmatchcase(tool, glob) for tool in tools):
        return ""
    more = f" and {len(tools) - TOOLS} more" if len(tools) > TOOLS else ""
    return f"tools in the context: {', '.join(tools[:TOOLS]) or 'none'}{more}"


def parse_ids(state: State, texts: Iterable[str], *, gone: bool = False) -> Names:
    """Numbers `45`, ranges `45-67` and `45-`, items `7.1` or `<op id>.1`, all items of an op `7.`; commas join them.
    `gone`: also items of an op that is undone or superseded.

    Raises UnknownMessage for what the log does not have (replay 49), Usage for what cannot be read.
    """
    spans, items = list[tuple[int, int]](), set[ItemName]()
    for token in filter(None, (part.strip() for text in texts for part in text.split(","))):
        if "." in token:
            items.update(_items(state, token, gone=gone))
            continue
        match = re.fullmatch(r"([0-9]{1,15})(-([0-9]{1,15})?)?", token)
        if match is None:
            raise Usage(
                f"{token!r} is not a message number", "write 45, 45-67, 45- or 7.1; ctxkit show LOG prints them"
            )
        if state.transcript.missing:
            raise UnknownMessage(f"no message has a number here: {state.transcript.missing}")
        low = int(match[1])
        high = low if not match[2] else int(match[3]) if match[3] else max(low, state.count)
        if low < 1 or high > state.count:
            missing = low if low < 1 or low > state.count else high
            raise UnknownMessage(f"there is no message {missing}: {_size(state)}", "ctxkit show LOG prints the numbers")
        if high < low:
            raise Usage(f"{token!r} runs backwards", f"write {high}-{low}")
        spans.append((low, high))
    return Names(Ranges(spans), items)


def _size(state: State) -> str:
    return f"the log has messages 1-{state.count}" if state.count else "the log has no messages"


def _items(state: State, token: str, *, gone: bool) -> list[ItemName]:
    op, _, k = token.rpartition(".")
    known = state.board.items.keys()
    entry = state.ledger.by_id.get(op)
    if entry is None and op.isascii() and op.isdigit() and 0 < int(op) <= len(state.ledger.entries):
        entry = state.ledger.entries[int(op) - 1]
    every = set(brought(entry)) if entry is not None and entry.id else set()
    found = [name for name in sorted(every) if k in ("", str(name.k))]
    if kept := [name for name in found if name in known or gone]:
        return kept
    if found:
        text = f"there is no item {token} now: {fate(state, found[0]).text}"
        raise UnknownMessage(text, f"ctxkit why LOG {token} says what brings it back")
    raise UnknownMessage(f"there is no item {token}: no op of this log brought it in")


def _tests(
    state: State, asked: Selection, text: Callable[[Name], str], typed: Callable[[Name], bool]
) -> list[Callable[[Name], bool]]:
    """One test per criterion, cheap ones first."""
    tests: list[Callable[[Name], bool]] = []
    roles = frozenset((asked.role or "").split(","))
    if asked.role is not None and HUMAN not in roles:
        tests.append(lambda name: role_of(state, name) in roles)
    if asked.agent is not None or asked.thread is not None:
        require_known(state, asked.agent, asked.thread)
        tests.append(lambda name: belongs(state, name, asked.agent, asked.thread))
    if asked.since is not None:
        since = asked.since
        tests.append(lambda name: (state.original(name) or -1e18) >= since)
    if asked.until is not None:
        until = asked.until
        tests.append(lambda name: (moment := state.original(name)) is not None and moment <= until)
    for label, after in ((asked.after_mark, True), (asked.before_mark, False)):
        if label is not None:
            tests.append(_beside_mark(state, label, after=after))
    if asked.tool is not None:
        glob = asked.tool
        fits = cache(lambda tool: fnmatchcase(tool, glob))  # few tools, many calls
        tests.append(lambda name: any(map(fits, tools_of(state, name))))
    if HUMAN in roles:
        tests.append(
            lambda name: (
                (role := role_of(state, name)) in roles or ((opens(state, name) or role == HUMAN) and typed(name))
            )
        )
    if asked.grep is not None:
        try:
            pattern = re.compile(asked.grep)
        except (re.error, RecursionError, OverflowError) as error:
            hint = "put a \\ before special characters"
            raise BadPattern(f"--grep {asked.grep!r} is not a regular expression: {error}", hint) from error
        tests.append(lambda name: pattern.search(text(name)) is not None)
    return tests


def tools_of(state: State, name: Name) -> Iterable[str]:
    """The tools that a message calls, or that made the results it carries."""
    if isinstance(name, ItemName):
        calls = state.board.items[name].message.get("tool_calls") or ()
        return [str((call.get("function") or {}).get("name", "")) for call in calls if isinstance(call, dict)]
    message = state.messages[name - 1]
    tools = list(message.tools)
    for call in message.results:
        caller = state.steps.caller(name, call)
        if caller is not None:
            made_by = state.messages[caller - 1]
            tools.extend(tool for made, tool in zip(made_by.calls, made_by.tools, strict=False) if made == call)
    return tools


def _beside_mark(state: State, label: str, *, after: bool) -> Callable[[Name], bool]:
    mark = next((mark for mark in reversed(state.marks) if mark.label == label), None)
    if mark is None:
        have = ", ".join(sorted({repr(m.label) for m in state.marks if m.label})) or "none with a label"
        raise NoMark(f"no mark {label!r}: nothing was selected", f"marks of the log: {have}")
    here = mark

    def is_after(name: Name) -> bool:
        if isinstance(name, int):
            return name > here.position
        return state.board.items[name].source > here.number

    return is_after if after else lambda name: not is_after(name)


def newest(state: State, last: str, shown: Sequence[Name], chosen: Sequence[Name]) -> list[Name]:
    """The part of `chosen` in the newest N messages, exchanges (`Nx`) or steps (`Ns`)."""
    match = re.fullmatch(r"([0-9]{1,15})([xs]?)", last)
    if match is None or int(match[1]) == 0:
        raise Usage(f"--last {last!r} is not a count", "write 5 (messages), 2x (exchanges) or 3s (steps)")
    count, unit = int(match[1]), match[2]
    if not unit:
        return list(chosen[-count:])
    group = exchange_of(state, shown) if unit == "x" else step_of(state, shown)
    inside: set[int] = set()
    for name in reversed(chosen):
        if len(inside) == count:
            break
        if name in group:
            inside.add(group[name])
    return [name for name in chosen if group.get(name) in inside]


def exchange_of(state: State, shown: Iterable[Name]) -> dict[Name, int]:
    """Name -> number of its exchange, from 1; messages before the first user message are in none."""
    found: dict[Name, int] = {}
    current = 0
    for name in shown:
        current += opens(state, name)
        if current:
            found[name] = current
    return found


def opens(state: State, name: Name) -> bool:
    """Whether `name` starts an exchange; a summary never does, whatever its role (replay 32)."""
    if isinstance(name, int):
        return state.messages[name - 1].opens
    item = state.board.items[name]
    return item.role == "user" and not item.summary and not item.tells


ANSWERED = 4
"""Messages of a question and its answer, at most: what is longer is judged message by message."""


def answered(state: State, shown: Iterable[Name]) -> list[list[Name]]:
    """The short exchanges without calls: a question with its answer."""
    found: list[list[Name]] = []
    whole = False
    for name in shown:
        if opens(state, name):
            found.append([])
            whole = True
        message = state.messages[name - 1] if isinstance(name, int) else None
        if not whole:
            continue
        if message is not None and (message.calls or message.results):
            found.pop()
            whole = False
        else:
            found[-1].append(name)
    return [some for some in found if 1 < len(some) <= ANSWERED]


def step_of(state: State, shown: Iterable[Name]) -> dict[Name, int]:
    """Name -> number of the assistant message that opened its step; only what belongs to a step."""
    found: dict[Name, int] = {}
    for name in shown:
        if isinstance(name, int):
            leader = state.steps.leader(name)
            if state.messages[leader - 1].role == "assistant":
                found[name] = leader
    return found


Numbers = str | int | Iterable[str | int] | Selection
"""Messages as people write them: 45, "45-67", "7.1", a list of these, or a whole `Selection`."""


def _texts(numbers: str | int | Iterable[str | int]) -> list[str]:
    if isinstance(numbers, str | int):
        return [str(numbers)]
    return [str(one) for one in numbers]


def selection(numbers: Numbers, criteria: Mapping[str, Any]) -> Selection:
    """A `Selection` from Python arguments."""
    if isinstance(numbers, Selection):
        return msgspec.structs.replace(numbers, **criteria)
    return Selection(ids=tuple(_texts(numbers)), **criteria)

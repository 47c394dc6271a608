"""Token shares of a context by role, tool, server, exchange or file; and the files that its calls touch.

The sizes of the messages are from `measure/size.py`, so the shares are parts of what `status` shows. `status --by` and
`--files` print them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import floor
from typing import Literal

import msgspec

from ctxkit.content.calls import Calls
from ctxkit.core.context import belongs, entry
from ctxkit.core.derive.files import FileTouch
from ctxkit.core.derive.usage import Overhead
from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Call
from ctxkit.core.times import iso
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.count import Counting
from ctxkit.measure.overhead import recorded
from ctxkit.measure.size import Measuring, cumulative
from ctxkit.measure.status import Budget

By = Literal["role", "tool", "server", "exchange", "file"]
NO_TOOL, NO_SERVER, NO_FILE, BEFORE = "(no tool)", "(no MCP server)", "(no file)", "(before the first)"
SEVERAL = "(several tools)"
"""Of messages with calls of more than one tool, or with results of more than one."""
SEVERAL_SERVERS = "(several servers)"
SERVERS = (
    re.compile(r"mcp__(.+?)__.+"),  # Claude Code, Codex, Qwen Code
    re.compile(r"mcp_([^_]+)_.+"),  # Gemini CLI, which advises against `_` in the name of a server
    re.compile(r"(?!mcp_)(.+?)__.+"),  # Goose, whose extensions are servers; older Gemini CLI
    re.compile(r"(.+-mcp-server)-.+"),  # Copilot CLI, of the server that it brings
)
"""How programs name a tool of an MCP server. `SERVER_tool` of opencode may as well be a tool with `_` in its name."""
TOOLS, PROMPT = "(tools)", "(system prompt)"
ASSEMBLED, STATED = "(assembled: system prompt, docs …)", "(overhead, as config or --overhead state it)"
BESIDES = "(besides messages: system prompt, tools …)"
"""What is sent and belongs to no message, where nothing says what it is: the provider counted it."""


def server(tool: str) -> str:
    """The MCP server that a tool belongs to by its name, else ""."""
    return next((found[1] for form in SERVERS if (found := form.fullmatch(tool))), "")


class Share(msgspec.Struct, frozen=True):
    """A share of the context. `messages`: how many; `tokens`: of all these; `first`: label of the earliest."""

    what: str
    messages: int
    tokens: int
    first: str


class Touched(msgspec.Struct, frozen=True):
    """A file that calls touch.

    Labels of messages: `reads`, `writes`; `created`, `deleted`: the writes that create or delete the file; `last`: the
    newest touch; `superseded`: reads that a later read repeats, or a later write made outdated; `out`: those that are
    out of the context. `time`: of the newest touch, ISO, None if it has none. `tokens`: of these calls and their
    results in the context; a call that touches several files counts for each. `in_context`: whether a touch is in the
    context.
    """

    path: str
    reads: list[str]
    writes: list[str]
    created: list[str]
    deleted: list[str]
    last: str
    time: str | None
    tokens: int
    superseded: list[str]
    out: list[str] = []
    in_context: bool = True


class Shares:
    """The shares of a context, with each message counted."""

    def __init__(self, log: OpenLog) -> None:
        self.log, self.state = log, log.state()
        self.names = list(log.listed())
        self.calls = Calls(log, self.names)
        self._servers_of: dict[int, set[str]] = {}
        measuring = Measuring(Counting(log))
        sizes = measuring.each(self.names)
        self.own = dict(zip(self.names, (max(0, round(size)) for size in sizes), strict=True))
        """The tokens of each message by itself."""
        sums = [floor(held + 1e-6) for held in cumulative(sizes)]  # whole numbers that add up
        self.tokens = dict(zip(self.names, (now - before for before, now in pairwise(sums)), strict=True))
        self.counter = measuring.name

    def by(self, kind: By) -> list[Share]:
        """The shares, the largest first; exchanges in order. Each message is in one share, so the shares add up."""
        groups: dict[str, list[Name]] = {}
        for what, name in self._labelled(kind):
            groups.setdefault(what, []).append(name)
        found = [
            Share(what, len(names), sum(self.tokens[name] for name in names), self.state.label(names[0]))
            for what, names in groups.items()
        ]
        return found if kind == "exchange" else sorted(found, key=lambda share: -share.tokens)

    def largest(self, count: int) -> list[Share]:
        """The `count` largest messages, each as a share with its role, its tools, and the files that they touch.

        Each has its own tokens, which a forget of it saves; with what a provider dropped they do not add up.
        """
        names = self.largest_names(count)
        return [Share(self._what(name), 1, self.own[name], self.state.label(name)) for name in names]

    def besides(self, counted: Budget) -> list[Share]:
        """What is sent besides the messages, the largest first: with the messages, it is all of what is `counted`.

        Tools and texts that the config names or the program recorded have a share each, which is an estimate; what a
        provider counted beyond them is one share.
        """
        left = max(0, (counted.used or 0) - sum(self.tokens.values()))
        beside = counted.beside or Overhead()
        stated = bool(self.log.config["overhead"])
        tools, prompt = beside.tools, beside.overhead
        if self.log.native and not stated:  # a rolling context noted it, and nothing says what it is
            prompt = 0
        elif left and not (tools or prompt):
            tools, prompt = recorded(Counting(self.log))
        found = []
        for what, tokens in (
            (ASSEMBLED, beside.assembled), (TOOLS, tools), (STATED if stated else PROMPT, prompt), (BESIDES, left),
        ):  # fmt: skip
            held = min(left, tokens)
            left -= held
            found += [Share(what, 0, held, "")] * bool(held)
        return sorted(found, key=lambda share: -share.tokens)

    def _what(self, name: Name) -> str:
        """`tool read_file session.py`: what a message is."""
        files = {touch.path.rpartition("/")[2] for touch in self.calls.files(name)}
        return " ".join([entry(self.state, name).role, *sorted(self.calls.tools(name)), *sorted(files)])

    def largest_names(self, count: int) -> list[Name]:
        """The names of the `count` largest messages, the largest first."""
        return sorted(self.names, key=lambda name: -self.own[name])[:count]

    def files(self, *, only_context: bool = False) -> list[Touched]:
        """Every file that calls of the log touch, the newest touch first. `only_context`: only calls in the context."""
        calls = self.calls if only_context else Calls(self.log, self._everything(), whole=True)
        order: dict[str, list[tuple[Name, FileTouch]]] = {}
        for name, some in calls.touched.items():
            for touch in some:
                order.setdefault(touch.path, []).append((name, touch))
        newest = sorted(order, key=lambda one: -calls.place[order[one][-1][0]])
        return [self._file(path, order[path], calls) for path in newest]

    def _everything(self) -> list[Name]:
        """All messages of the selected agent and thread, in the order of the context."""
        state, projection = self.state, self.log.projection()
        names = state.everything()
        if projection.agent is not None or projection.thread is not None:
            names = Names.of(name for name in names if belongs(state, name, projection.agent, projection.thread))
        return sorted(names, key=state.key)

    def _file(self, path: str, held: Sequence[tuple[Name, FileTouch]], calls: Calls) -> Touched:
        def labels(names: Iterable[Name]) -> list[str]:
            return [self.state.label(name) for name in dict.fromkeys(names)]

        last = held[-1][0]
        moment = self.state.original(last)
        new = [
            name for n, (name, touch) in enumerate(held) if touch.how == "create" or (touch.how == "write" and not n)
        ]
        steps = {member for name, _ in held for member in self._step(name)}
        return Touched(
            path,
            labels(name for name, touch in held if touch.how == "read"),
            labels(name for name, touch in held if touch.how != "read"),
            labels(new),
            labels(name for name, touch in held if touch.how == "delete"),
            self.state.label(last),
            iso(int(moment)) if moment is not None else None,
            sum(self.tokens.get(name, 0) for name in steps),
            labels(name for name, touch in held if calls.outdated(name, touch) is not None),
            labels(name for name, _ in held if name not in self.tokens),
            any(name in self.tokens for name, _ in held),
        )

    def _labelled(self, kind: By) -> Iterator[tuple[str, Name]]:
        exchange = BEFORE
        for name in self.names:
            message = self.state.messages[name - 1] if isinstance(name, int) else None
            match kind:
                case "role":
                    yield entry(self.state, name).role, name
                case "tool":
                    tools = sorted(self.calls.tools(name))
                    yield SEVERAL if len(tools) > 1 else "".join(tools) or NO_TOOL, name
                case "server":
                    servers = sorted({one for n in self.calls.callers(name) for one in self._servers(n)})
                    yield SEVERAL_SERVERS if len(servers) > 1 else "".join(servers) or NO_SERVER, name
                case "file":
                    paths = sorted({touch.path for touch in self.calls.files(name)})
                    yield ", ".join(paths) or NO_FILE, name
                case "exchange":
                    if message is not None and message.opens:
                        exchange = f"from {self.state.label(name)}"
                    yield exchange, name

    def _servers(self, n: int) -> set[str]:
        """The servers of the tools that a message calls. Codex keeps the server in a key beside the tool's name."""
        if n not in self._servers_of:
            calls = [part for part in self.log.original(n).parts if isinstance(part, Call)]
            spaces = [(one.raw if isinstance(one.raw, dict) else {}).get("namespace") for one in calls]
            full = [
                f"{space.rstrip('_')}__{one.name.lstrip('_')}" if isinstance(space, str) and space else one.name
                for one, space in zip(calls, spaces, strict=True)
            ]
            self._servers_of[n] = {server(tool) or NO_SERVER for tool in full}
        return self._servers_of[n]

    def _step(self, name: Name) -> Sequence[Name]:
        return self.state.steps.members(name) if isinstance(name, int) else [name]

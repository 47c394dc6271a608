"""Completion: which word of a call is being typed, and what can stand there. Shells ask by `ctxkit __complete`.

Pipeline: the script of a shell (`cli/help/shells`) -> here -> `candidates.py`. The first line of the answer is `words`,
`files` or `folders`; the others are candidates, for bash as they are inserted, else with a tab and a description.
Whatever goes wrong, the answer is empty, the status 0, and nothing is said: somebody is in the middle of a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ctxkit.cli.help.candidates import (
    FILES,
    NOTHING,
    Candidate,
    Completions,
    CompletionTimeout,
    commands,
    for_parameter,
    found,
    in_time,
    session_names,
)
from ctxkit.cli.help.pages import Page, Parameter, overview, page
from ctxkit.cli.help.shell_words import BREAKS, fitted, split
from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal import streams

NAMED = ("LOG", "DIR", "[A]")
"""Metavars in whose place a session can be named."""


def answer(words: Sequence[str]) -> int:
    """Print what completes `words`: `bash LINE [BREAKS]`, or `zsh|fish -- WORD... CURRENT` (without the command).

    The exit status, which is always 0.
    """
    try:
        with in_time():
            lines = list(_lines(words))
    except (Exception, CompletionTimeout):  # nothing may be said here, and nothing was changed
        lines = []
    streams.out_bytes(line.encode("utf-8") + b"\n" for line in lines)
    streams.flush()
    return 0


def _lines(words: Sequence[str]) -> Iterator[str]:
    shell, *rest = words
    if shell == "bash":
        typed, piece = split(rest[0], rest[1] if rest[1:] else BREAKS)
        asked = FILES if piece.redirects else complete(typed[1:], piece.text)
        yield asked.kind
        for one in asked.candidates:
            text = fitted(asked.prefix + one.value, piece)
            if text is not None:
                yield text
    else:
        *typed, current = rest[1:]
        asked = complete(typed, current)
        yield asked.kind
        for one in asked.candidates:
            yield f"{one.value}\t{one.text}"


def complete(words: Sequence[str], current: str) -> Completions:
    """What can stand in the place of `current` after `words`, all without quotes. Raises CompletionTimeout."""
    while words and words[0].startswith("-"):  # the program's own options take no values
        words = words[1:]
    if not words and current.startswith("@"):
        return session_names()
    if not words:
        return found(_names(overview().options)) if current.startswith("-") else commands()
    return _Call(page(words[0]), words[1:]).complete(current) if words[0] in COMMANDS else NOTHING


def _names(options: Iterable[Parameter]) -> Iterator[Candidate]:
    return (Candidate(one.names[-1], one.help) for one in options)


class _Call:
    """A call as far as it is typed: the values given, and the option that waits for one."""

    def __init__(self, command: Page, words: Sequence[str]) -> None:
        self.command = command
        self.options = {name: one for one in command.options for name in one.names}
        self.given: dict[str, str] = {}
        self.waiting: Parameter | None = None
        self.ended = False
        self.place = 0
        for word in words:
            self._take(word)

    def _take(self, word: str) -> None:
        if self.waiting is not None:
            self.given[self.waiting.key] = word
            self.waiting = None
        elif self.ended or word == "-" or not word.startswith("-"):
            if self.argument is not None:
                self.given[self.argument.key] = word
                if "LOG" in self.argument.metavar:
                    self.given.setdefault("log", word)
            self.place += 1
        elif word == "--":
            self.ended = True
        else:
            name, equals, value = word.partition("=")
            option = self.options.get(name)
            if option is not None and equals:
                self.given[option.key] = value
            elif option is not None and option.metavar:
                self.waiting = option
            elif name == "--user":  # in place of a log
                self.place += 1

    @property
    def argument(self) -> Parameter | None:
        """The argument that comes next; the last one, if it takes many."""
        known = self.command.arguments
        if self.place < len(known):
            return known[self.place]
        return known[-1] if known and known[-1].many else None

    def complete(self, current: str) -> Completions:
        """What can stand here."""
        if self.waiting is not None:
            return for_parameter(self.waiting, self.given)
        if not self.ended and current.startswith("-"):
            name, equals, _ = current.partition("=")
            option = self.options.get(name)
            if not equals:
                return found(_names(self.command.options))
            return for_parameter(option, self.given)._replace(prefix=f"{name}=") if option else NOTHING
        if self.argument is None:
            return NOTHING
        if current.startswith("@") and any(word in self.argument.metavar for word in NAMED):
            return session_names()
        values = for_parameter(self.argument, self.given)
        words = tuple(one for one in values.candidates if self.ended or not one.value.startswith("-"))
        return values._replace(candidates=words)

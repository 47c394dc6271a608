"""Completion finds the word of a call that is being typed, and its candidates. Shells run `ctxkit __complete`.

Pipeline: the script of a shell (`cli/help/shells`) -> here -> `candidates.py`. The first line of the answer is `words`,
`files` or `folders`; each further line is a candidate: for bash the text to insert, else value, tab and description.
After any error the answer is empty, the status is 0 and nothing is printed: the user is typing a line.
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
    completions,
    deadline,
    for_parameter,
    session_names,
)
from ctxkit.cli.help.pages import Page, Parameter, overview, page
from ctxkit.cli.help.shell_words import BREAKS, insertion, split
from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal import streams
from ctxkit.core.text.utf8 import utf8

NAMED = ("LOG", "DIR", "[A]")
"""Metavars of arguments that also take the name of a session."""


def answer(words: Sequence[str]) -> int:
    """Print the completions of `words`: `bash LINE [BREAKS]`, or `zsh|fish -- WORD... CURRENT` (without `ctxkit`).

    Returns the exit status, always 0.
    """
    try:
        with deadline():
            lines = list(_lines(words))
    except (Exception, CompletionTimeout):  # a message would land in the line that is being typed
        lines = []
    streams.out_bytes(utf8(line) + b"\n" for line in lines)
    streams.flush()
    return 0


def _lines(words: Sequence[str]) -> Iterator[str]:
    shell, *rest = words
    if shell == "bash":
        line = split(rest[0], rest[1] if rest[1:] else BREAKS)
        if line is None:
            return
        typed, piece = line
        answers = FILES if piece.redirects else complete(typed[1:], piece.text)
        yield answers.kind
        for one in answers.candidates:
            text = insertion(answers.prefix + one.value, piece)
            if text is not None:
                yield text
    else:
        *typed, current = rest[1:]
        answers = complete(typed, current)
        yield answers.kind
        for one in answers.candidates:
            yield f"{one.value}\t{one.text}"


def complete(words: Sequence[str], current: str) -> Completions:
    """Return the completions of `current` after `words`, all without quotes. Raises CompletionTimeout."""
    while words and words[0].startswith("-"):  # options of the program take no values
        words = words[1:]
    if not words and current.startswith("@"):
        return session_names()
    if not words:
        return completions(_names(overview().options)) if current.startswith("-") else commands()
    return _Call(page(words[0]), words[1:]).complete(current) if words[0] in COMMANDS else NOTHING


def _names(options: Iterable[Parameter]) -> Iterator[Candidate]:
    return (Candidate(one.names[-1], one.help) for one in options)


class _Call:
    """A call that is being typed: the values `given`, and the option that is `waiting` for its value."""

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
            elif name == "--user":  # it replaces the log
                self.place += 1

    @property
    def argument(self) -> Parameter | None:
        """The next argument; the last one again, if it takes many values."""
        known = self.command.arguments
        if self.place < len(known):
            return known[self.place]
        return known[-1] if known and known[-1].many else None

    def complete(self, current: str) -> Completions:
        """Return the completions of the next word."""
        if self.waiting is not None:
            return for_parameter(self.waiting, self.given)
        if not self.ended and current.startswith("-"):
            name, equals, _ = current.partition("=")
            option = self.options.get(name)
            if not equals:
                return completions(_names(self.command.options))
            return for_parameter(option, self.given)._replace(prefix=f"{name}=") if option else NOTHING
        if self.argument is None:
            return NOTHING
        if current.startswith("@") and any(word in self.argument.metavar for word in NAMED):
            return session_names()
        values = for_parameter(self.argument, self.given)
        words = tuple(one for one in values.candidates if self.ended or not one.value.startswith("-"))
        return values._replace(candidates=words)

"""Writes and parses a plain draft, for conversations of people and personas. Pure.

    [2026-02-12T09:00:10Z] Frodo: I will look.
    <<3/2 call read_file {"path":"clock.py"}>>

    #[2026-02-12T09:00:20Z, forgotten by op 2] User: And now?

It says the same as a draft of `draft.py`, without numbers and roles, so both make the same op. A message is known by
its time, and by its number where two have one time (`[2026-02-12T09:00:10Z #4]`). What the form cannot say stands in a
line `<<…>>`, which must stay as it is. Blank lines at both ends of a text do not count.

A conversation that people keep has the same heads (`[2025-01-18 22:15:03] Frodo: …`), and no line `%%=`: a message of
the log is known by its time, to the second, and its speaker, and any other is a new one of that time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from ctxkit.core.times import iso, seconds
from ctxkit.edit.draft import ROLES, Base, DraftBlock, FoldedPart, Piece, based
from ctxkit.edit.parse import DraftMistake, Parsed, ended, read_base, split
from ctxkit.edit.spelling import NOTHING, SIGN, line, read, spelled, without_margins

NEW = "new"
"""In brackets instead of a time: a new message."""
FORM = " form=plain"
"""At the end of the line %%= of a plain draft."""
TEXT = "<<text>>"
"""Between two texts of one message."""
NAMED_SO = frozenset({"user", "assistant", "system", "tool"})
"""Names by which messages without a name of their own are called."""
ALIKE = 0.6
"""From this likeness on, a line is taken for what is left of a placeholder."""

_OWN_LINE = rf"{SIGN}|\[(?:{NEW}\]|\#[0-9]|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})|<<(?:[0-9]|text>>)"
_OWN = re.compile(rf"(?P<before>[ \t#]*)(?={_OWN_LINE})")
_LOOK_ALIKE = re.compile(rf"^(?=[ \t#]*(?:{_OWN_LINE}))", re.MULTILINE)
_HEADER = re.compile(r"\[(?P<key>[^\],\n]*)(?:,[^\]\n]*)?\](?P<rest>.*)")
_TOLD = re.compile(
    r"^\[(?P<key>[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(?:Z|[+-][0-9]{2}:?[0-9]{2})?)\](?=[^\n]*:)", re.M
)
_IS_PLAIN = re.compile(rf"^[ \t]*{SIGN}=.*{FORM}[ \t\r]*$", re.MULTILINE)

HEAD = """\
# The context of {name} as a conversation. After the edit it holds what is below without a # in front.
#
# A line [TIME] NAME: TEXT begins a message; its text may go on in the next lines, as it is.
#   take out    delete the message or all its text, or put a # in front of its [TIME]
#   bring back  take away the # in front of a [TIME]: one is enough
#   reorder     move messages, with all their lines
#   change      the text; times and names stay
#   add         a line [{new}] NAME: TEXT, with a name of this draft, User, Assistant, System, or a new user's name
#   <<...>>     stands for a call, a result, an image or thinking: leave it as it is, in its message
#
# {nothing} in front of a line of text that looks like one of these makes it text; {escape} is an unseen character.
# Saved unchanged, nothing changes. With no message left the edit is cancelled. `ctxkit undo` undoes an edit.
"""


def is_plain(text: str) -> bool:
    """Whether a draft is a plain one."""
    return _IS_PLAIN.search(ended(text)) is not None


def is_conversation(text: str) -> bool:
    """Whether a text that is no draft begins with a message of a conversation; an empty line and # are passed over."""
    rows = (row for _, row in split(text) if row.strip() and not row.startswith("#"))
    return _TOLD.match(next(rows, "")) is not None


def with_times(text: str, change: Callable[[str], str]) -> str:
    """A conversation with each time in brackets as `change` gives it."""
    return _TOLD.sub(lambda found: f"[{change(found['key'])}]", ended(text.removeprefix("\ufeff")))


def keys(times: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Label -> what stands in brackets before a message, from labels and times ("" for none): unique in a draft."""
    pairs = list(times)
    count = Counter(time for _, time in pairs)
    return {label: time if time and count[time] == 1 else f"{time} #{label}".strip() for label, time in pairs}


def speaker(block: DraftBlock) -> str:
    """Who speaks in a message: its name, of a reply its agent, else its role with a capital; `Assistant (user)` for one
    whose name is that of a role.
    """
    name = block.name or (block.agent if block.role == "assistant" else "")
    if not name:
        return block.role.capitalize()
    return f"{name} ({block.role})" if name.lower() in NAMED_SO else name


def pieces(name: str, base: Base, blocks: Iterable[DraftBlock], known: Mapping[str, str]) -> Iterator[str]:
    """The whole draft in pieces; `known`: the result of `keys`."""
    yield HEAD.format(name=line(name), new=NEW, nothing=r"\u{}", escape=r"\u{1b}")
    yield plainly_based(base)
    for block in blocks:
        yield printed(block, known[block.label])


def plainly_based(base: Base) -> str:
    """The line %%= of a plain draft."""
    return f"{based(base).rstrip()}{FORM}\n"


def printed(block: DraftBlock, key: str) -> str:
    """A blank line and the lines of one message."""
    state = line(block.remark.rpartition("; ")[2]).replace("]", ")") if block.out else ""
    lines = ["", f"{'#' if block.out else ''}[{key}{f', {state}' if state else ''}] {_named(block)}"]
    text = False
    for place, piece in enumerate(block.pieces):
        if isinstance(piece, FoldedPart):
            lines.append(placeholder(piece))
        elif place == 0:
            lines[-1] += f" {spelled(piece, _LOOK_ALIKE)}"
        else:
            lines += [TEXT] * text + [spelled(piece, _LOOK_ALIKE)]
        text = isinstance(piece, str)
    return "\n".join(lines) + "\n"


def placeholder(part: FoldedPart) -> str:
    """The line that stands for a part."""
    return f"<<{part.label}/{part.part}{f' {line(part.words)}' if part.words else ''}>>"


def _named(block: DraftBlock) -> str:
    return f"{line(speaker(block))}:"


class PlainReader:
    """Parses a plain draft line by line. `offer`: the messages of the log by label, as the draft showed them; `agents`:
    names whose new messages are replies; `told`: it is a conversation, not a draft.
    """

    def __init__(self, offer: Mapping[str, DraftBlock], agents: Iterable[str] = (), *, told: bool = False) -> None:
        self.found = Parsed(told=told)
        self._offer = offer
        self._labels = {key: label for label, key in keys((one.label, one.time) for one in offer.values()).items()}
        self._at: dict[str, list[DraftBlock]] = {}
        for one in offer.values() if told else ():
            self._at.setdefault(_second(one.time), []).append(one)
        self._speakers = _speakers(offer.values(), agents)
        self._first: dict[str, int] = {}
        self._head: DraftBlock | None = None
        self._pieces: list[Piece] = []
        self._text: list[str] = []
        self._lines: list[tuple[int, str]] = []
        self._stray = False

    def line(self, number: int, text: str) -> None:
        """Take line `number`."""
        own = _OWN.match(text)
        if own is None:
            self._take_line(number, text)
            return
        rest, out = text[own.end() :], "#" in own["before"]
        if rest.startswith("["):
            self._header(number, rest, out=out)
        elif rest.startswith("<<"):
            self._part(number, rest.rstrip(), out=out)
        elif rest.startswith(f"{SIGN}="):
            read_base(self.found, number, rest.removeprefix(f"{SIGN}="), out=out)
        elif not rest.startswith(f"{SIGN}!"):
            self._wrong(number, f"not a line of a plain draft: {NOTHING} in front makes it text")

    def end(self) -> Parsed:
        """Finish, once all lines were parsed; returns the result."""
        self._close()
        self.found.mistakes.sort(key=lambda mistake: mistake.line)
        return self.found

    def _take_line(self, number: int, text: str) -> None:
        if self._head is not None:
            self._text.append(text)
            self._lines.append((number, text))
        elif not self._stray and text.strip() and not text.lstrip().startswith("#"):
            self._stray = True  # reported once: all lines up to the first message are the same mistake
            self._wrong(number, f"text that belongs to no message: a line such as [{NEW}] User: begins one")

    def _header(self, number: int, text: str, *, out: bool) -> None:
        self._close()
        self._stray = True  # what follows a mistake is no further mistake
        found = _HEADER.fullmatch(text)
        if found is None:
            self._wrong(number, f"not the beginning of a message: [TIME] NAME: TEXT; {NOTHING} in front makes it text")
            return
        key, rest = found["key"].strip(), found["rest"]
        known = self._told if self.found.told and key != NEW else self._known
        begun = self._new(number, rest) if key == NEW else known(number, key, rest)
        if begun is None:
            return
        block, first = begun
        if block.label and not out and self._first.setdefault(block.label, number) != number:
            self._wrong(
                number, f"this message is there twice, also at line {self._first[block.label]}: [{NEW}] adds one"
            )
            return
        self._head = msgspec.structs.replace(block, out=out, pieces=(), remark="")
        self.found.lines.append(number)
        self._take_line(number, first[1:] if first.startswith(" ") else first)

    def _new(self, number: int, rest: str) -> tuple[DraftBlock, str] | None:
        """The speaker of a new message, and its text."""
        fitting = [(one, name) for one in _after(rest) for name in self._speakers if one.startswith(f"{name}:")]
        if not fitting:
            name, colon, text = rest.strip(" \t").partition(":")
            if not colon or not name.strip():
                self._wrong(number, "a new message needs the name of its speaker before its text: NAME: TEXT")
                return None
            return DraftBlock("", "user", name=read(name.strip())), text
        found, name = max(fitting, key=lambda one: len(one[1]))
        speakers = self._speakers[name]
        if len(speakers) > 1:
            said = ", ".join(f"{one.role}{one.agent and f' of agent {line(one.agent)}'}" for one in speakers)
            self._wrong(number, f"more than one speaker has this name: {said}")
            return None
        return speakers[0], found[len(name) + 1 :]

    def _known(self, number: int, key: str, rest: str) -> tuple[DraftBlock, str] | None:
        """A message of the draft, and its text."""
        label = self._labels.get(key)
        if label is None:
            self._wrong(number, f"no message of the draft has {key}: [{NEW}] begins a new one; times are not edited")
            return None
        was = self._offer[label]
        found = next((one for one in _after(rest) if one.startswith(_named(was))), None)
        if found is None:
            self._wrong(
                number, f"this message is by {line(speaker(was))}: names are not edited; [{NEW}] adds a message"
            )
            return None
        return was, found[len(_named(was)) :]

    def _told(self, number: int, key: str, rest: str) -> tuple[DraftBlock, str] | None:
        """A message of a conversation, and its text: the next of the log with its second and speaker, or a new one."""
        moment = seconds(key)
        if moment is None:
            self._wrong(number, f"{key} is no time: [2025-01-18 22:15:03]; {NOTHING} in front makes it text")
            return None
        there = self._at.get(_second(key), [])
        for one in _after(rest):
            was = next((block for block in there if one.startswith(_named(block))), None)
            if was is not None:
                there.remove(was)
                return was, one[len(_named(was)) :]
        begun = self._new(number, rest)
        return begun and (msgspec.structs.replace(begun[0], time=iso(moment)), begun[1])

    def _part(self, number: int, text: str, *, out: bool) -> None:
        if self._head is None:
            if not self._stray:
                self._wrong(number, "a part that belongs to no message")
            return
        self._take_text()
        if text == TEXT or out or self._head.out:
            return
        was = self._offer.get(self._head.label)
        for part in _folded(was):
            if placeholder(part) == text:
                self._pieces.append(part)
                return
        label = text[2:].partition("/")[0]
        if label != self._head.label:
            self._wrong(number, f"this line stands for a part of another message: {NOTHING} in front makes it text")
            return
        self._lines.append((number, text))

    def _take_text(self) -> None:
        lines, self._text = self._text, []
        if text := without_margins(lines):
            self._pieces.append(read(text))

    def _close(self) -> None:
        head = self._head
        if head is not None:
            self._take_text()
            self.found.blocks.append(msgspec.structs.replace(head, pieces=tuple(self._pieces)))
            if not head.out:
                self._check_parts(self.found.lines[-1], head)
        self._head, self._pieces, self._text, self._lines = None, [], [], []

    def _check_parts(self, start: int, head: DraftBlock) -> None:
        """Add a mistake for each part that is missing or twice, and for another order."""
        found = [piece for piece in self._pieces if isinstance(piece, FoldedPart)]
        expected = _folded(self._offer.get(head.label))
        wrong = False
        for part in expected:
            if found.count(part) == 1:
                continue
            wrong, text = True, placeholder(part)
            if part not in found:  # one that is there twice is a mistake in every draft
                number = self._remnant(text) or start
                self._wrong(number, f"the line {text} must stay as it is; without --plain a part can be taken out")
        if not wrong and found != expected:
            self._wrong(
                start, f"the lines <<...>> of this message have another order; it was {placeholder(expected[0])}"
            )

    def _remnant(self, text: str) -> int | None:
        """The line of the message that is most like a placeholder which is not there."""
        from difflib import SequenceMatcher

        like = [
            (SequenceMatcher(None, text, one[: 2 * len(text)]).ratio(), number) for number, one in self._lines if one
        ]
        ratio, number = max(like, default=(0.0, 0))
        return number if ratio >= ALIKE else None

    def _wrong(self, number: int, text: str) -> None:
        self.found.mistakes.append(DraftMistake(number, text))


def _after(rest: str) -> list[str]:
    """What stands behind a bracket, without the blank of the form; and without all blanks, if a person typed more."""
    return [rest.removeprefix(" "), rest.lstrip(" \t")]


def _second(time: str) -> str:
    """A time to the second, in UTC; "" for none."""
    moment = seconds(time)
    return "" if moment is None else iso(moment // 1)


def _folded(block: DraftBlock | None) -> list[FoldedPart]:
    return [] if block is None else [piece for piece in block.pieces if isinstance(piece, FoldedPart)]


def _speakers(blocks: Iterable[DraftBlock], agents: Iterable[str]) -> dict[str, list[DraftBlock]]:
    """Name -> the speakers that have it, each as an empty new message; roles are names too. A reply is its agent's; to
    whom others speak is no part of their name: a new message of theirs is for all agents.
    """
    found: dict[str, list[DraftBlock]] = {}
    for block in blocks:
        if block.role in ROLES:
            one = DraftBlock("", block.role, name=block.name, agent=block.agent if block.role == "assistant" else "")
            if one not in found.setdefault(line(speaker(block)), []):
                found[line(speaker(block))].append(one)
    for agent in agents:
        found.setdefault(line(agent), [DraftBlock("", "assistant", agent=agent)])
    for role in ("user", "assistant", "system"):
        for name in (role.capitalize(), role):
            found.setdefault(name, [DraftBlock("", role)])
    return found


def parse_plain(
    text: str, offer: Mapping[str, DraftBlock], agents: Iterable[str] = (), *, told: bool = False
) -> Parsed:
    """The plain draft, or the conversation, in `text`, with any line ends; all else as in PlainReader."""
    reader = PlainReader(offer, agents, told=told)
    for number, one in split(text):
        reader.line(number, one)
    return reader.end()

"""Writes the state of a session, for the head of a summary: what was asked last, what is open, what fails. Pure.

Only what is so is said: what a later message supersedes, or what stays in the context anyway, is left out. Each line
names its message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ctxkit.content.facts import OPEN, WORD, newest_tasks, sentences
from ctxkit.content.failures import CommandRuns
from ctxkit.content.pasted import typed
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.content.working_state import WorkingState
from ctxkit.core.item_names import Name, Names
from ctxkit.core.text.utf8 import utf8

HEADER, REQUESTED = "State", "Last request: "
"""The title of the state, and how its line begins that quotes the newest request."""
SHARE = 0.16
"""The most that the state may take of a summary."""
REQUEST = 0.5
"""The most that the last request may take of the state."""
SHOWN, FAILED, EDITED, RULES = 12, 2, 12, 6
"""The most lines of a failing command, failing commands, edited files, and rules of the user."""
CUT = "…"
LETTERS = 4
"""About how many characters a token has."""
RULE = re.compile(
    r"(?:^[\W\d_]*|[,;:.!–—-]\s+|\(|"
    r"\b(?:please|you|we|and|but|so|then|or|just|also|always|bitte|aber|und|mais|et|y|pero) )"
    r"(?:do not|don['’]?t|never|always|only|make sure|be sure|avoid|keep|prefer|no need|"
    r"niemals|nie|immer|nur|keine?n?|nicht|ne \w+ (?:pas|jamais|plus|rien)|n['’]\w+ (?:pas|jamais|plus|rien)|jamais|"
    r"toujours|nunca|siempre|solo|no \w+)\b|"
    r"^(?!(?:i|it|this|that|the|they|there)\b).*\bwithout \w+ing\b|\bmust(?:n['’]t)?\b|"
    r"\bshould(?:n['’]t| (?:not|never|always|only))\b|"
    r"\b(?:bitte|du|ihr|wir)\b.*\b(?:nicht|keine?n?)\b|\bil ne faut (?:pas|jamais)\b|"
    r"不要|必须|不能|不得|禁止|只能|只用|只要|しないで|ないでください|必ず",
    re.I,
)
"""Matches a sentence of the user that sets a rule, by words at its start, behind a mark or behind a word of address."""
TOLD = re.compile(
    r"\s*\||.*\?[\s\W]*$|.*\bdo you (?:think|know|see)\b|(?:\W*\w+){1,4}\W*:\s*$|"
    r".*\b(?:whether|(?:question|point) is|things? (?:we|you) should|and only \w+s|"
    r"should be (?:good|fine|ok(?:ay)?))\b",
    re.S | re.I,
)
"""Matches a row of a table, a question, a heading, or what is only weighed: they set no rule."""
SHOULD = re.compile(r"\bshould\b", re.I)
"""Matches a question whose answer sets a rule."""
WEIGHED = re.compile(
    r"\W*(?:(?:so|and|but|also|then|maybe|perhaps|i (?:think|guess|wonder)) )*"
    r"(?:(?:should|shall)\b(?! (?:not|never|always|only))|(?:does|did|is|are|was|why|how|what|which|where|when|who) "
    r"(?:i|we|you|he|she|it|they|the|this|that|these|those|a|an|our|your|my)\b|"
    r"(?:could|can|would|will) (?:i|we|he|she|it|they|the|this|that|these|those|our|my)\b|do (?:i|we|you|they)\b|"
    r"(?:i|we) (?:do not|don['’]?t) (?:need|have|know|think|see|understand|care|mind|remember)\b|"
    r"(?:i think )?(?:i|we|you|it) (?:should|could) also\b)",
    re.I,
)
"""Matches the start of a question without its mark, of a thought, and of what somebody lacks: they set no rule."""
WRONG = re.compile(
    r"\b(?:wrong (?:chat|window|session|tab|thread|terminal|conversation)|"
    r"(?:ignore|disregard|forget|skip) (?:(?:my|the|that|this) )?(?:last|previous|above|earlier)"
    r"(?: (?:message|one|request|prompt|question|comment))?|"
    r"falsche[rs]? (?:chat|fenster|sitzung)|(?:ignorier|vergiss)\w* (?:meine|die) letzte (?:nachricht|frage)|"
    r"oublie[zs]? mon (?:dernier )?message|ignora mi último mensaje)|发错了|忽略(?:上一条|刚才)的?(?:消息)?",
    re.I,
)
"""Matches words that take the message before back."""
DECLINED = re.compile(
    r"\b(?:never ?mind|scratch that|(?:ignore|disregard|forget|scratch) (?:that|this|it|what i (?:just )?"
    r"(?:said|wrote|asked|typed))|vergiss (?:das|es)|schon gut|oublie[zs]? (?:ça|cela)|laisse tomber|"
    r"olvid[ae] (?:eso|lo anterior)|déjalo)|算了",
    re.I,
)
"""Matches words that do so too, if nothing was done for it yet; else they decline what the model offers."""
POLITE = frozenset({
    "a", "about", "ah", "another", "bad", "bitte", "by", "chat", "danke", "das", "der", "désolé", "de", "for",
    "gracias", "i", "im", "in", "it", "just", "le", "meant", "merci", "message", "mistake", "my", "no", "oh", "ok",
    "oops", "pardon", "perdón", "please", "pls", "posted", "pour", "sent", "sorry", "thank", "thanks", "that",
    "the", "this", "to", "typed", "wait", "war", "was", "you",
})  # fmt: skip
"""Words around these that ask for nothing."""
CLAUSE = re.compile(r"[,;:.!?\n()–—。，！？]|\s-\s")
"""Matches the end of a clause."""
BRIEF, SHORT = 5, 40
"""The most words and characters of a request that needs what it answers to be understood: `yes, do that`."""
GO = re.compile(
    r"\W*(?:(?:yes|yep|yeah|y|ok(?:ay)?|sure|go|do (?:it|that|so)|please do|proceed|continue|let'?s|option|both|all|"
    r"none|the (?:first|second|third|last)|\d+|ja|nein|no|oui|non|s[ií]|claro|weiter|mach)\b|[好对是行]|可以|继续|"
    r"はい|いい)",
    re.I,
)
"""Matches a request that answers the model, whether it asked or not."""
CHOICE = re.compile(
    r"\W*(?:(?:let'?s )?(?:try|do|take|use|with|go with) )?(?:option |number |#)?(\d)(?:\b|(?=\D))", re.I
)
"""Matches a request that chooses an option by its number."""
ANSWERED = re.compile(r'"([^"\n]+)"="([^"]*)"')
"""Matches a question of the model with the answer that the user chose."""
WRAPPERS = ("current_datetime", "system_reminder", "system-reminder", "system_notification", "ide_opened_file",
    "ide_selection")  # fmt: skip
"""Tags of what programs put before and behind what somebody typed."""
GAP = 3
"""The most that the numbers of two messages differ that the user typed one after the other: of what a program's
compaction took out between two, nobody knows who spoke.
"""
MESSAGES = 6
"""The most messages of a request."""
UNSAID = frozenset({"No response requested."})
"""What programs put into the place of an answer."""
SLASH = re.compile(r"<command-name>(/?[\w:-]+)</command-name>(?:.*?<command-args>(.*?)</command-args>)?", re.S)
"""Matches a command that the user typed to the program itself."""
LOOKS = frozenset({"pattern", "query", "regex"})
"""Arguments of calls that search."""
PATTERN = 60
"""The most characters of what a call looks for."""
ENDING = 2000
"""The last characters of what the model said, in which its last sentence and its options are looked for."""
LEAST = 40
"""The fewest characters that are left of a line of a request that is cut."""
LONGEST = 240
"""The most characters of a rule, or of what was announced."""


class _Said(NamedTuple):
    name: Name
    place: int
    text: str


class StatePart(NamedTuple):
    """A part of the state: its lines, and the segments (by place) that they are quoted from. `ends`: the last line
    stays, if any does beside the first; `most`: the share of the room that its lines between these may use.
    """

    lines: list[str]
    places: tuple[int, ...] = ()
    ends: bool = False
    most: float = 1.0


class SessionState:
    """The newest request, tasks, runs, edits and rules of a session. Takes linear time; holds only what is newest."""

    def __init__(self, pieces: Sequence[TextSegment], rule: Callable[[str], bool] | None = None) -> None:
        """`rule`: whether a sentence of the user sets a rule; None: as `is_rule` says."""
        self._is_rule = is_rule if rule is None else rule
        newest = newest_tasks(pieces)
        self.runs = CommandRuns()
        self.work = WorkingState()
        self.request: list[_Said] = []
        """The segments of the newest request."""
        self.tasks: list[_Said] = []
        self.rules: list[_Said] = []
        self.next: _Said | None = None
        """What the model announced last."""
        self.patterns: dict[int, str] = {}
        """Place of a segment of a call that searches, or of its result -> what it looks for."""
        self._looking: dict[str, str] = {}
        self._edited: dict[str, _Said] = {}
        self._answered = True
        """Whether the model spoke since the newest request."""
        self.asked: _Said | None = None
        """What the model said before the newest request."""
        self._is_taken = False
        """Whether the newest message took one back, and said no more."""
        self._is_begun = False
        """Whether a call was made for the newest request."""
        self._dropped = set[str]()
        self._before: tuple[list[_Said], _Said | None] = [], None
        """The request before the newest one, and what the model had said before it."""
        for place, piece in enumerate(pieces):
            self._take(place, piece)
            if piece.is_task and newest.get(piece.tool) == piece.name and OPEN.match(piece.text):
                self.tasks.append(_Said(piece.name, place, piece.text))

    def _take(self, place: int, piece: TextSegment) -> None:
        self.runs.add(place, piece)
        self.work.add(piece)
        self._search(place, piece)
        if piece.kind in (SegmentKind.USER, SegmentKind.NOTICE) and (text := _asked(piece)):
            left = _beside_retraction(text) if not piece.tool and self.request else None
            if left is not None and self._is_begun and WRONG.search(text) is None:
                self.next = None  # what the model offered is declined
                if not left:
                    return
            elif left is not None:
                if not self._is_taken:
                    self._take_back()
                self._answered = True
            self._is_taken = left is not None and not left
            if self._is_taken:
                return
            if piece.tool:  # an answer to the model belongs to what was asked before
                text = "\n".join(_answers(text)) or text
            elif self._answered or not self._is_next(piece.name):  # what was typed in between belongs to it
                self._before = self.request, self.asked
                self.request, self.asked, self._is_begun = [], self.next, False
            self.request = [*self.request, _Said(piece.name, place, text)][-MESSAGES:]
            self.next, self._answered = None, self._answered and bool(piece.tool)
            for one in _told(piece, text):
                if len(one) <= LONGEST and len(WORD.findall(one)) > 2 and self._is_rule(one):
                    self.rules = [*(rule for rule in self.rules if rule.text != one), _Said(piece.name, place, one)]
                    self._dropped.discard(one)
                    self._dropped.update(rule.text for rule in self.rules[:-RULES])
                    self.rules = self.rules[-RULES:]
        elif piece.kind in (SegmentKind.INPUT, SegmentKind.RESULT):
            self._answered = self._is_begun = True
        elif piece.kind == SegmentKind.ASSISTANT and piece.text.strip() not in UNSAID:
            self._answered = True
            self.next = _Said(piece.name, place, piece.text[-ENDING:])
        for touch in piece.touches if piece.kind == SegmentKind.INPUT else ():
            if touch.how != "read":
                self._edited.pop(touch.path, None)
                self._edited[touch.path] = _Said(piece.name, place, touch.path)

    def _take_back(self) -> None:
        """Forgets the newest message of the request, and the rules that it set."""
        taken = self.request[-1].name
        self.rules = [rule for rule in self.rules if rule.name != taken]
        self.request = [one for one in self.request if one.name != taken]
        if not self.request:
            self.request, self.asked = self._before
            self._before = [], None

    def _is_next(self, name: Name) -> bool:
        """Whether a message follows the newest one of the request."""
        last = self.request[-1].name if self.request else None
        return isinstance(name, int) and isinstance(last, int) and name - last <= GAP

    def _search(self, place: int, piece: TextSegment) -> None:
        if piece.kind == SegmentKind.INPUT and piece.argument in LOOKS and piece.call:
            self._looking[piece.call] = _flat(piece.text)[:PATTERN]
        elif piece.call in self._looking and piece.kind in (SegmentKind.INPUT, SegmentKind.RESULT):
            self.patterns[place] = self._looking[piece.call]
            if piece.kind == SegmentKind.RESULT:
                del self._looking[piece.call]

    @property
    def named(self) -> str:
        """What the newest request, the open tasks and the last announcement say, for a query."""
        some = [*self.request, *self.tasks, *([self.next] if self.next else [])]
        return "\n".join(one.text for one in some)

    def entries(self, covered: Names, tag: Callable[[Name], str], room: int) -> Iterator[StatePart]:
        """Yields the parts of the state that messages of `covered` say, the most important first. `room`: about how
        many tokens the state may have.
        """
        letters = room * LETTERS
        if asked := [one for one in self.request if one.name in covered]:
            yield _request(asked, tag, int(REQUEST * letters))
            before = self.asked
            said = _offered(asked[-1].text, before.text) if before is not None and before.name in covered else ""
            if before is not None and said:
                yield StatePart([f"It answers: {tag(before.name)} {_flat(said)}"], (before.place,))
        tasks = [one for one in self.tasks if one.name in covered]
        if tasks:
            lines = [
                f"Open tasks: {tag(tasks[0].name)} {_flat(tasks[0].text)}",
                *(f"  {_flat(one.text)}" for one in tasks[1:]),
            ]
            yield StatePart(lines, tuple(one.place for one in tasks))
        for run in reversed(self.runs.open[-FAILED:]):
            if run.name in covered:
                mended = " (what it names was edited since)" if self.runs.was_edited(run) else ""
                lines = [f"Failing: {tag(run.name)} {_flat(run.command)[:LONGEST]}{mended}"]
                yield StatePart([*lines, *(f"  {line}" for line in dict.fromkeys(run.failing[:SHOWN]))], (run.place,))
        yield from map(StatePart, self.work.lines(covered, tag))
        if self.next is not None and self.next.name in covered and (said := _last(self.next.text)):
            yield StatePart([f"Said last: {tag(self.next.name)} {_flat(said)}"], (self.next.place,))
        green = self.runs.green
        if green is not None:
            since = [one for one in self._edited.values() if one.place > green.place and one.name in covered]
            if since:
                listed = ", ".join(f"{_short(one.text)} {tag(one.name)}" for one in since[-EDITED:])
                yield StatePart([f"Edited since {tag(green.name)} passed ({_flat(green.command)[:60]}): {listed}"])
        older = f" ({len(self._dropped)} older left out)" if self._dropped else ""
        for rule in reversed(self.rules):
            if rule.name in covered and all(rule.name != one.name for one in self.request):
                more = older if rule == self.rules[0] else ""
                yield StatePart([f"The user's rule: {tag(rule.name)} {_flat(rule.text)}{more}"], (rule.place,))


def _request(request: Sequence[_Said], tag: Callable[[Name], str], letters: int) -> StatePart:
    """The newest request, word for word, as long as it fits, of its newest message first; of each of its messages at
    least the first line, and of the newest one the last line: above it may stand what was pasted.
    """
    said: list[list[str]] = []
    cut = False
    for one in reversed(request):
        lines: list[str] = []
        rest = one.text.strip().split("\n")
        ending = "" if said or len(rest) == 1 or len(rest[-1]) > LONGEST else rest[-1]
        for number, line in enumerate(rest, 1):
            room = max(letters - (len(ending) if number < len(rest) else 0), 0 if lines else LONGEST)
            if len(line) > room:
                cut = True
                while lines and not lines[-1].strip():
                    lines.pop()
                is_worth_it = room >= LEAST or not lines
                lines += [f"{line[:room]} {CUT}".lstrip()] if is_worth_it else []
                lines += [f"{'' if is_worth_it else CUT} {ending}".strip()] if ending or not is_worth_it else []
                break
            letters -= len(line)
            lines.append(line)
        said.insert(0, [f"{tag(one.name)} {lines[0]}", *lines[1:]])
    first, *rest = (line for lines in said for line in lines)
    places = tuple(one.place for one in request)
    most = REQUEST if cut and len(request) == 1 else 1.0
    return StatePart([f"{REQUESTED}{first}", *(f"  {line}" for line in rest)], places, True, most)


def header(
    state: SessionState, covered: Names, tag: Callable[[Name], str], room: int,
    count: Callable[[Sequence[str]], Sequence[int]],
) -> tuple[list[str], dict[int, str]]:  # fmt: skip
    """The lines of the state, of at most `room` tokens, and what is quoted of each segment, by place."""
    lines: list[str] = []
    quoted: dict[int, str] = {}
    for entry in state.entries(covered, tag, room):
        sizes = count([f"{line}\n" for line in entry.lines])
        taken: list[str] = []
        last, end = _ending(entry, room, count) if entry.ends and sum(sizes) > entry.most * room else ("", 0)
        others = room - int(entry.most * room) if last else 0
        for line, size in zip(entry.lines[:-1] if last else entry.lines, sizes, strict=False):
            if size > room - end - (others if taken else 0):
                break
            taken.append(line)
            room -= size
        taken += [last] if last else []
        room -= end
        lines += taken
        for place in entry.places if taken else ():
            quoted[place] = "\n".join([quoted.get(place, ""), *taken])
    return lines, quoted


def _ending(entry: StatePart, room: int, count: Callable[[Sequence[str]], Sequence[int]]) -> tuple[str, int]:
    """The last line of a part of the state with a mark before it, and its size; "" if only the first line has room."""
    last = f"  {CUT} {entry.lines[-1].strip().removeprefix(CUT).strip()}"
    first, end = count([f"{entry.lines[0]}\n", f"{last}\n"])
    return (last, end) if len(entry.lines) > 1 and first + end <= room else ("", 0)


def _asked(piece: TextSegment) -> str:
    """What the user asks for in a segment: its text, or a command to the program with its arguments; "" for others."""
    if piece.kind == SegmentKind.USER:
        return _typed(piece.text)
    found = SLASH.search(piece.text[:2000]) if piece.kind == SegmentKind.NOTICE else None
    return f"{found[1]} {(found[2] or '').strip()}".strip() if found is not None and found[2] else ""


def _typed(text: str) -> str:
    """A text of the user without what programs put before and behind it."""
    text = text.strip()
    while (tag := next((one for one in WRAPPERS if text.startswith(f"<{one}>")), "")) and (
        end := text.find(f"</{tag}>")
    ) > 0:
        text = text[end + len(tag) + 3 :].lstrip()
    while tag := next((one for one in WRAPPERS if text.endswith(f"</{one}>")), ""):
        start = text.rfind(f"<{tag}>")
        if start < 0:
            break
        text = text[:start].rstrip()
    return text


def _answers(text: str) -> Iterator[str]:
    """Yields the questions that a result answers, each with the answer."""
    yield from (f"{_flat(asked)} = {_flat(answer)}" for asked, answer in ANSWERED.findall(text))


def _told(piece: TextSegment, text: str) -> Iterable[str]:
    """The sentences that a user typed in a text; of an answer each with its question."""
    if piece.kind != SegmentKind.USER:
        return ()
    return list(_answers(piece.text)) or sentences(text) if piece.tool else sentences(typed(text))


def is_rule(sentence: str) -> bool:
    """Whether a sentence of the user sets a rule."""
    asked, _, answer = sentence.rpartition("? = ")
    if (stated := statement(sentence)) != sentence:
        answer = sentence = stated
    return (RULE.search(sentence) or RULE.search(answer) or SHOULD.search(asked)) is not None


def statement(sentence: str) -> str:
    """What of a sentence of the user is no question and not only weighed: all, what stands behind a comma ("when it
    fails, do not retry"), or "".
    """
    if TOLD.match(sentence) is not None:
        return ""
    if "? = " not in sentence and WEIGHED.match(sentence) is not None:
        return sentence.partition(",")[2].strip()
    return sentence


def _beside_retraction(text: str) -> set[str] | None:
    """What else a message asks for, in words, that begins by taking something back, in a clause that says no more;
    None: it takes nothing back.
    """
    for clause in CLAUSE.split(text[:LONGEST].lower()):
        if _beside(clause):
            return None
        if WRONG.search(clause) is not None or DECLINED.search(clause) is not None:
            return _beside(text.lower())
    return None


def _beside(text: str) -> set[str]:
    """The words of a text in small letters, without those that take something back, and polite ones."""
    return set(WORD.findall(DECLINED.sub(" ", WRONG.sub(" ", text)))) - POLITE


def _offered(request: str, before: str) -> str:
    """What of the model's words before it a request answers: the option whose number it begins with, or the last
    sentence, if the request is short, and a go-ahead or behind a question; else "".
    """
    if (number := CHOICE.match(request)) is not None:
        option = re.search(rf"^\W*(?:option )?{number[1]}[.):].*", before, re.M | re.I)
        if option is not None:
            return option[0].strip()[:LONGEST]
    said = _last(before)
    is_short = len(WORD.findall(request)) <= BRIEF and len(utf8(request)) <= SHORT
    return said if is_short and (said.endswith(("?", "？")) or GO.match(request) is not None) else ""


def _last(text: str) -> str:
    """The last sentence of what the model said; "" if it is long."""
    said = [one for one in sentences(text) if len(WORD.findall(one)) > 2]
    return said[-1] if said and len(said[-1]) <= LONGEST else ""


def _flat(text: str) -> str:
    return " ".join(text.split())


def _short(path: str) -> str:
    return _flat(path.replace("\\", "/").rpartition("/")[2])

"""Checks a model's story: names that no message has, work that it calls done and that is open, repetition. Pure.

`ask_model.py` checks each answer before it is used. What is wrong is marked, cut, or said in a second request; nothing
that a model writes is trusted further.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ctxkit.core.item_names import Name
from ctxkit.cut.summarize.prompt import sections
from ctxkit.cut.summarize.state_header import SessionState
from ctxkit.cut.units.identifiers import LONGEST, PIECES, IdentifierKind, placed
from ctxkit.cut.units.text_segments import TextSegment, flat

NOT_THERE = "(not in the log)"
"""Put after a name that stands nowhere in the messages."""
OPEN = "(open in the log)"
"""Put after words that call something done that is open."""
MOST = 2000
"""The most names of a story that are looked for; more are no story."""
QUOTED = re.compile(r"`([^`\n]{2,300})`")
"""Matches words in backquotes: they are written as they stand in the log, or they should be."""
NUMBER = re.compile(
    r"(?<![\w.,#/-])\d+(?:,\d{3})*(?:[.:]\d+)*(?![\w/])|(?<![\w.,#/-])\d{2,}(?=[a-zA-Z%])",
)
ITEM = re.compile(r"^\s*\d+[.)]\s", re.M)
"""Matches the number of an item of a list."""
TAG = re.compile(r"#(\d+(?:\.\d+)?)\b")
COMMIT = re.compile(r"\b(?:commits?|head|revision|sha)\W{1,12}(?:(?:is|at|was)\W{1,4})?([0-9a-f]{7,40})\b", re.I)
"""Matches the id of a commit, also one of letters alone or of capitals."""
HIDDEN = re.compile(r"…\[redacted \d+\]")
"""Matches what stands for a secret."""
HASH = re.compile(r"[0-9a-f]{7,40}")
PLACE = re.compile(r"(?<=\w):\d+(?:[:-]\d+)*$")
"""Matches the number of a line behind a path."""
LINE = re.compile(r"\blines? \d+(?:(?:-|–| to | and )\d+)*", re.I)
FILE = re.compile(r"^(?:/|~/|\.{1,2}/)|\.\w+$")
"""Matches a path that is no words of prose with slashes between them."""
REST = re.compile(r"[\w-]*\w")
"""Matches the rest of an option with capitals: of `--noEmit`."""
GAP = re.compile(r"\.{3}|…|<[\w -]+>|\*+|\$?\{\w+\}|\bNAME\b")
"""Matches what stands for something that is left out of a quotation."""
CODE = re.compile(r"[(){}=]|^\w+: |^[\w$]+(?:\.[\w$]+)+$")
"""Matches code that is no command: with brackets, an assignment, `key: value`, `object.member`."""
NAMES = re.compile(r"[A-Za-z_$][\w$-]*|\d+(?:\.\d+)*")
SHORTEST = 3
"""The fewest letters of a part of a name that is looked for."""
WORD = re.compile(r"[\w'’]+")
SENTENCE = re.compile(r"(?<=[.!?。！？;])\s+|\n")
SAME = 12
"""A sentence of so many characters that occurs again is cut."""
PERIOD, ROUNDS = 24, 3
"""A run of at most PERIOD words that comes more than ROUNDS times in a row is cut to one."""
RUN = re.compile(r"(\S)\1{39,}")
"""Matches a character that goes on and on."""
LEFT = 0.1
"""The least share of an answer that is left without its repetition, if it is to be used."""
NOT = re.compile(
    r"\b(?:not|isn|aren|wasn|haven|hasn|doesn|don|didn|cannot|can|won|yet|until|till|before|unless|once|when|if|after|"
    r"never|without|almost|nearly|partly|said|says|claims?|nicht|noch|bis|pas|encore|aún|todavía)\b(?:['’]t\b)?|"
    r"未|没有|尚|まだ|ない|ません",
    re.I,
)
"""Matches words by which a sentence says that something is not done, or not by its writer."""
ALL_DONE = re.compile(
    r"\b(?:all|every(?:thing)?|each|both)\b[^.;:\n]{0,60}\b(?:done|completed?|finished|fixed|resolved|implemented|"
    r"closed|settled)\b|"
    r"\bnothing (?:is |was |else )?(?:left|open|remains|remaining|to do|pending|unfinished|outstanding|missing)\b|"
    r"\bno (?:open|remaining|outstanding|further|pending|unfinished|more) (?:\w+ )?(?:tasks?|todos?|work|issues?|"
    r"items?|steps?|problems?|questions?)\b|"
    r"\b(?:the |this )?(?:task|work|job|request|session|project|plan) (?:is|was|has been) (?:now |fully |all )?"
    r"(?:done|completed?|finished)\b|^\W*(?:all )?(?:done|finished|completed?)\W*$|"
    r"\balles (?:ist )?(?:fertig|erledigt)\b|\btout est (?:fait|fini|terminé)\b|\btodo está (?:hecho|listo)\b|"
    r"\balle\b[^.;:\n]{0,40}\b(?:erledigt|fertig|abgeschlossen)\b|"
    r"\btou(?:te)?s les\b[^.;:\n]{0,40}\b(?:faite?s|finie?s|terminée?s)\b|"
    r"\btod[ao]s l[ao]s\b[^.;:\n]{0,40}\b(?:hech[ao]s|list[ao]s|terminad[ao]s|completad[ao]s)\b|"
    r"(?:所有|全部|都)[^。；\n未没不]{0,20}(?:完成|做完)|(?:すべて|全て|全部)[^。\n]{0,20}(?:完了|終わ)",
    re.I,
)
"""Matches a sentence that says that all is done."""
DONE = re.compile(
    r"\b(?:done|completed?|finished|fixed|resolved|implemented|closed|added|written|wrote|removed|updated|migrated|works|"
    r"succeeded|deployed|released|merged|mended|solved)\b",
    re.I,
)
GREEN = re.compile(
    r"\b(?:all|every)\b[^.;\n]{0,30}\btests? (?:now )?(?:pass(?:es|ed)?|succeed(?:s|ed)?|(?:is|are|was|were) green)\b|"
    r"(?:^|[.:;,]\s*|\bthe )\W*tests? (?:all |now )?(?:pass|passed|are green)\b|"
    r"\b(?:suite|ci) (?:is |now )?(?:green|passes|passed|succeeds|succeeded)\b|\bno (?:failing tests?|failures)\b|"
    r"\balle tests\b[^.;\n]{0,30}\b(?:grün|bestehen|bestanden)\b|\btous les tests (?:passent|sont verts)\b|"
    r"\btod[ao]s l[ao]s (?:tests|pruebas) pasan\b|"
    r"测试[^。；\n未没不]{0,8}通过|テスト[^。\n]{0,10}(?:通っ|成功し|パスし)",
    re.I,
)
"""Matches a sentence that says that tests or a build pass."""
NOTHING = re.compile(r"\W*(?:none|nothing|n/?a|no|nil|keine?s?|nichts|rien|nada|なし|无)?\W*", re.I)
"""Matches an empty section."""
ALIKE = 0.7
"""The share of the words of an open task that a sentence has if it is about that task."""
STEM, STEMS = 4, 4
"""Words are compared by their first letters; those shorter than STEMS say nothing."""


class Contradiction(NamedTuple):
    """Words of a story (`said`, from `start` to `end`) that call something done that is `open` in the log."""

    said: str
    start: int
    end: int
    open: str


class StoryChecks:
    """Checks against the segments of a session. `state`: what is so at its end; `tag`: names a message."""

    def __init__(self, pieces: Sequence[TextSegment], state: SessionState, tag: Callable[[Name], str]) -> None:
        self._pieces, self._state, self._tag = pieces, state, tag

    def marked(self, text: str) -> tuple[str, int]:
        """A story with a mark after each name that stands nowhere in the messages, and how many such names it has."""
        spans = list(_claims(text))[:MOST]
        missing = self._missing({text[start:end] for start, end in spans})
        found: list[str] = []
        at = 0
        for start, end in spans:
            if text[start:end] in missing:
                behind = end + text.startswith("`", end)
                found += [text[at:behind], f" {NOT_THERE}"]
                at = behind
        return "".join([*found, text[at:]]), len(missing)

    def _missing(self, names: Iterable[str]) -> set[str]:
        """Those of `names` that stand nowhere in the messages."""
        ways = {name: list(_ways(name)) for name in names}
        left = {one for some in ways.values() for parts in some for one in parts}
        stands: set[str] = {self._tag(name) for name in dict.fromkeys(piece.name for piece in self._pieces)}
        for piece in self._pieces:
            if not left:
                break
            for text in (piece.text, piece.tool, *(touch.path for touch in piece.touches)):
                flat = " ".join(text.replace("\\", "/").split())
                found = {one for one in left if stands_in(one, flat)}
                left -= found
                stands |= found
        return {name for name, some in ways.items() if not any(stands.issuperset(parts) for parts in some)}

    def contradictions(self, text: str) -> list[Contradiction]:
        """Words that call done what the newest task list has as open, or what fails in the newest run of a command."""
        tasks = [f"{self._tag(one.name)} {one.line}" for one in self._state.tasks]
        failing = [f"{self._tag(run.name)} {flat(run.command)}, which fails" for run in self._state.runs.open]
        if not tasks and not failing:
            return []
        stems = [(task, _stems(one.text)) for task, one in zip(tasks, self._state.tasks, strict=True)]
        found = [one for one in [*self._empty(text, tasks or failing)]]
        section = ""
        for sentence, start, end in _sentences(text):
            section = _section(sentence) or section
            if section in ("Goal", "Next") or NOT.search(sentence):
                continue
            open_ = ""
            if tasks and ALL_DONE.search(sentence):
                open_ = "; ".join(tasks)
            elif failing and GREEN.search(sentence):
                open_ = "; ".join(failing)
            elif section != "Open" and DONE.search(sentence):
                words = _stems(sentence)
                open_ = "; ".join(
                    task for task, some in stems if len(some) > 1 and len(some & words) >= ALIKE * len(some)
                )
            if open_:
                found.append(Contradiction(sentence, start, end, open_))
        return sorted(found, key=lambda one: one.start)

    @staticmethod
    def _empty(text: str, open_: Sequence[str]) -> Iterator[Contradiction]:
        """Yields the section of what is open, if it says that nothing is."""
        for one in sections(text):
            if one.name == "Open" and NOTHING.fullmatch(body := "\n".join(one.lines).strip()):
                start = text.find(one.title[:-1], 0)
                end = text.find(body, start) + len(body) if body else text.find("\n", start)
                yield Contradiction(
                    f"Open: {body or 'nothing'}", start, end if end > start else len(text), "; ".join(open_)
                )

    @staticmethod
    def with_marks(text: str, found: Sequence[Contradiction]) -> str:
        """The story with a mark after these words."""
        for one in reversed(found):
            text = f"{text[: one.end]} {OPEN}{text[one.end :]}"
        return text


def stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text, and not inside a longer word or number. A hash may be a part of a longer one."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        joined = _joins(text[at - 1 : at] if at else "", name[0])
        if not joined and (HASH.fullmatch(name) or not _joins(name[-1], text[end : end + 1])):
            return True
        at = text.find(name, at + 1)
    return False


def _joins(one: str, other: str) -> bool:
    """Whether two neighbours are letters or digits of one word or number."""
    if one.isdigit() and other.isdigit():
        return True
    return ((one.isalpha() or one == "_") and (other.isalnum() or other == "_")) or (one.isdigit() and other == "_")


def _claims(text: str) -> Iterator[tuple[int, int]]:
    """Yields where a story names something that must stand in the log: words in backquotes, paths, hashes, numbers,
    identifiers, numbers of messages. In order, and none inside another.
    """
    skipped = [found.span() for pattern in (HIDDEN, ITEM, LINE) for found in pattern.finditer(text)]
    spans = [found.span(1) for found in QUOTED.finditer(text)]
    for item, start in placed(text):
        prose = item.kind == IdentifierKind.PATH and not FILE.search(item.text)
        end = start + len(item.text)
        is_tag = item.kind == IdentifierKind.PATH and text[start - 1 : start] == "<"
        if item.text.startswith("--") and (rest := REST.match(text, end)) is not None:
            end = rest.end()
        if not prose and not is_tag and SHORTEST < len(item.text) <= LONGEST:
            spans.append((start, end))
    spans += [found.span() for found in TAG.finditer(text)]
    spans += [found.span(1) for found in COMMIT.finditer(text)]
    spans += [found.span() for found in NUMBER.finditer(text) if sum(map(str.isdigit, found[0])) > 1]
    last = 0
    for start, end in sorted(spans, key=lambda one: (one[0], -one[1])):
        if start >= last and not any(begin < end and start < over for begin, over in skipped):
            yield start, end
            last = end


def _ways(name: str) -> Iterator[list[str]]:
    """Yields what must stand in the log for a name to stand there: all of one of these lists.

    What is left out of a quotation is marked in it (`…`, `<name>`, `*`): the rest must stand there. Of code that is no
    command its names must: it may be put together of them. A number of a line cannot be checked, since results have
    none.
    """
    plain = PLACE.sub("", " ".join(name.replace("\\", "/").split()))
    yield [plain]
    if HASH.fullmatch(plain.lower()):
        yield [plain.lower()]
    if plain.startswith("#"):
        yield [plain[1:]]
    if "/" in plain:
        yield from ([form] for form in (plain.removeprefix("./").rstrip("/"), plain.removeprefix("~/")) if form)
    if plain[:1].isdigit() and "," in plain:
        yield [plain.replace(",", "")]
    elif plain.isdigit() and len(plain) > 3:
        yield [f"{int(plain):,}"]
    if len(some := [part.strip() for part in GAP.split(plain)]) > 1:
        yield _long(some) or [plain]
    if len(some := [part.strip() for part in PIECES.split(plain)]) > 1:
        yield _long(some) or [plain]
    if "/" not in plain and CODE.search(plain):
        yield _long(NAMES.findall(plain)) or [plain]


def _long(parts: Iterable[str]) -> list[str]:
    return [part for part in parts if len(part) >= SHORTEST]


def _sentences(text: str) -> Iterator[tuple[str, int, int]]:
    at = 0
    for found in [*SENTENCE.finditer(text), None]:
        end = len(text) if found is None else found.start()
        body = text[at:end]
        if body.strip():
            yield body.strip(), at + len(body) - len(body.lstrip()), at + len(body.rstrip())
        at = end if found is None else found.end()


def _section(line: str) -> str:
    return next((one.name for one in sections(line) if one.name), "")


def _stems(text: str) -> set[str]:
    return {word.lower()[:STEM] for word in WORD.findall(text) if len(word) >= STEMS}


def without_repetition(text: str) -> str:
    """A story without sentences that it has said already, and without runs of words that come again and again."""
    seen: set[str] = set()
    lines: list[str] = []
    for line in RUN.sub(lambda found: found[0][:8] + "…", text).split("\n"):
        kept: list[str] = []
        some = re.split(r"(?<=[.!?。！？])(?:\s+|(?<=[。！？]))", line)
        for sentence in some:
            words = " ".join(sentence.lower().split()).lstrip("-*•> ")
            if len(words) >= SAME and words in seen:
                continue
            seen.add(words)
            kept.append(_unlooped(sentence))
        if kept or not line.strip():
            lines.append(line if kept == some else " ".join(kept))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _unlooped(sentence: str) -> str:
    """A sentence in which a run of words that comes more than ROUNDS times in a row comes once."""
    words = sentence.split(" ")
    for period in range(1, min(PERIOD, len(words) // (ROUNDS + 1)) + 1):
        kept: list[str] = []
        place = 0
        while place < len(words):
            end = place + period
            while end + period <= len(words) + period and words[end : end + period] == words[place : place + period]:
                end += period
            rounds = (end - place) // period
            kept += words[place : place + period] if rounds > ROUNDS else words[place : place + 1]
            place = end if rounds > ROUNDS else place + 1
        words = kept
    return " ".join(words)


def repeats(text: str) -> bool:
    """Whether hardly anything is left of a text without its repetition."""
    return len(without_repetition(text)) < LEFT * len(text)

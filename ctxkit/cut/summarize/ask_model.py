"""Asks a model for a summary of a part of a log's context, chunk by chunk, within a time limit.

`cut/compact_plan.py` asks for a summary of what a compact replaces, `snapshots/snapshot.py` for the gist of a snapshot.
`llm/client.py` sends the requests; `cut/summarize/prompt.py` writes them and reads the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxkit.core.context import entry
from ctxkit.core.item_names import Name, Names
from ctxkit.core.strategies import asks_model
from ctxkit.core.text.json_text import digest
from ctxkit.core.text.redaction import redact
from ctxkit.core.text.utf8 import utf8
from ctxkit.cut.shorten.shorten_text import lines_of
from ctxkit.cut.summarize import prompt as words
from ctxkit.cut.summarize import story_checks
from ctxkit.cut.summarize.state_header import SessionState
from ctxkit.cut.summarize.story_checks import StoryChecks
from ctxkit.cut.summarize.summary_text import SummaryLayout
from ctxkit.cut.units.text_segments import SPEAKS, TextSegment
from ctxkit.errors import BadConfig, ModelFailed, Usage
from ctxkit.llm.chunks import Chunk, chunks, halved
from ctxkit.llm.hooks import Hooks
from ctxkit.tokens.counter import AUTO, counter
from ctxkit.tokens.models import limit, room_of

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog

MARGIN = 0.85
"""The share of a model's limit that a request may take: counts for other tokenizers are estimates."""
STATE = 1000
"""The most tokens of what rules found, which is sent with the conversation."""
THOUGHT = 2000
"""Tokens of an answer for what a model thinks before it, and for words that are cut."""


class ModelSummary(NamedTuple):
    """A summary by a model. `texts`: one, or one per chunk if they were not joined; `asked`: `requests` made,
    digests of requests and answers, and how many names are `marked` as not in the log.
    """

    model: str
    texts: tuple[str, ...]
    asked: dict[str, Any]

    @property
    def marked(self) -> int:
        """How many names of it stand nowhere in the messages."""
        return int(self.asked.get("marked", 0))


def model_of(log: WritableLog, named: str | None, *, fast: bool = False) -> str:
    """The model to ask: `named`, else the config's. Raises Usage; BadConfig if there is none."""
    if named is not None and fast:
        raise Usage("--summary-model and --fast name two models: nothing was changed", "use only one of them")
    config = str(log.config["compact.fast_model"] if fast else log.config["compact.model"])
    found = require_text("the model to ask", named, "NAME as openai/gpt-...; words of your own: summary=") or config
    if not found.strip():
        key = "compact.fast_model" if fast else "compact.model"
        hint = f"--summary-model NAME, as openai/gpt-... or ollama/..., or ctxkit config --user set {key} NAME"
        raise BadConfig("no model is named that could be asked: nothing was changed", hint)
    return found.strip()


def require_text(what: str, value: object, hint: str) -> str | None:
    """Returns a text that a program gave, or None. Raises Usage for a value of another type."""
    if value is None or isinstance(value, str):
        return value
    raise Usage(f"{what} must be a text, not of type {type(value).__name__}: nothing was changed", hint)


class _Told(NamedTuple):
    """What all requests for one story have in common: what rules found, the checks, its size in tokens, the focus."""

    found: str
    checks: StoryChecks
    size: int
    focus: str


class Summarizer:
    """Asks one model about one log. Its time begins with the first request, once litellm is loaded.

    `seconds`: how long it may take; `most`: the most tokens of a request, 0 for as many as the model takes.
    """

    def __init__(self, model: str, seconds: float, hooks: Hooks, most: int = 0) -> None:
        self.model, self.hooks, self.most = model, hooks, most
        self.seconds = seconds
        self.deadline: float | None = None
        self.counter = counter(AUTO, model)
        self.requests = 0
        self._announced = False

    def room(self) -> int:
        """Tokens of a conversation that fit into one request."""
        from ctxkit.llm.client import REPLY

        if self.most and limit(self.model) is None:
            return self.most
        room = max(int(MARGIN * room_of(self.model)) - REPLY - 1000, 1000)
        return min(room, self.most) if self.most else room

    def _room(self) -> int:
        """Tokens of a conversation beside what rules found in it."""
        room = self.room()
        return max(room - min(STATE, room // 10), 1)

    def summarize(
        self, log: WritableLog, ids: Names, pieces: Sequence[TextSegment], tokens: int, focus: str = ""
    ) -> ModelSummary:
        """Asks for the model's part of a summary of these messages, which has `tokens` tokens, and checks it. `focus`:
        what it should say most about. Raises ModelFailed.
        """
        from ctxkit.llm.client import available

        if missing := available(self.model):
            raise ModelFailed(f"no model can be asked: {missing}")
        if tokens < words.FEWEST:
            raise ModelFailed(
                f"{self.model} was not asked: a summary of {max(tokens, 0)} tokens has no room for a story"
            )
        size = words.size_of(tokens, room_of(self.model))
        state = SessionState(pieces)
        layout = SummaryLayout(pieces, log.state().label, ids)
        told = _Told(
            words.found(self._found(state, pieces, layout)), StoryChecks(pieces, state, layout.tag), size, focus
        )
        parts = self.parts(log, ids, pieces, f"{state.named}\n{focus}")
        texts = self._asked_by_chunk(told, parts)
        if len(texts) > 1:
            texts = self._joined(told, texts)
        marked = 0
        for place, text in enumerate(texts):
            wrong = told.checks.contradictions(text) if len(texts) == 1 else []
            texts[place], some = told.checks.marked(told.checks.with_marks(text, wrong))
            marked += some
        digests: dict[str, Any] = {
            "requests": self.requests, "prompt": digest(words.instruction(size, focus), 16),
            "input": digest("".join(p.text for p in parts), 16), "reply": digest("\n\n".join(texts), 16),
        }  # fmt: skip
        return ModelSummary(self.named, tuple(texts), digests | ({"marked": marked} if marked else {}))

    @property
    def named(self) -> str:
        """The model's name without secrets: a program has arguments."""
        return redact(self.model)[0]

    def _asked_by_chunk(self, told: _Told, parts: Sequence[Chunk]) -> list[str]:
        """A story of each chunk, in order. A chunk that the model calls too large is halved."""
        waiting = chunks(parts, self._room())
        sizes = sum(len(utf8(part.text)) for part in parts)
        texts: list[str] = []
        while waiting:
            chunk, waiting = waiting[0], waiting[1:]
            done = len(texts) + 1, len(texts) + 1 + len(waiting)
            self._step(*done)
            source = "".join(part.text for part in chunk)
            is_whole = not texts and not waiting
            ending = "" if waiting else told.found
            try:
                text = self._story(told, source, ending, len(waiting) + 1, sizes, done, checked=is_whole)
            except ModelFailed as error:
                less = halved(chunk, waiting) if error.too_large else None
                if less is None:
                    raise
                waiting = less
                continue
            texts.append(text)
        return texts

    def _joined(self, told: _Told, texts: list[str]) -> list[str]:
        """One story made of those of the chunks; these if the model gives none."""
        done = len(texts) + 1, len(texts) + 1
        self._step(*done)
        source = words.parts_joined(texts)
        try:
            return [self._story(told, source, told.found, 1, len(source), done, checked=True, joins=True)]
        except ModelFailed as error:
            if self.hooks.report is not None:
                self.hooks.report(f"{error.message}: its {len(texts)} parts stand one after the other")
            return texts

    def _story(
        self, told: _Told, source: str, ending: str, requests: int, sizes: int, done: tuple[int, int], *,
        checked: bool, joins: bool = False,
    ) -> str:  # fmt: skip
        """Asks for one story of `source`; once more if it is `checked` and calls done what is open."""
        prompt = words.instruction(told.size, told.focus, joins=joins)
        text = self._read(self.ask(prompt, source + ending, requests, sizes, done, told.size))
        wrong = told.checks.contradictions(text) if checked else []
        if wrong:
            prompt = words.instruction(told.size, told.focus, joins=joins, again=True)
            again = words.refused((one.said, one.open) for one in wrong)
            try:
                text = self._read(self.ask(prompt, source + ending + again, requests, sizes, done, told.size))
            except ModelFailed:  # the first answer is marked instead
                return text
        return text

    @staticmethod
    def _read(answer: str) -> str:
        return story_checks.without_repetition(words.story(answer))

    def _found(self, state: SessionState, pieces: Sequence[TextSegment], layout: SummaryLayout) -> list[str]:
        """The lines of what rules found, without secrets: what is asked, open and failing at the end."""
        from ctxkit.llm.client import SecretHiding

        hide = SecretHiding()
        everything = Names.of({piece.name for piece in pieces})
        room = self.room() - self._room()
        lines = [line for entry in state.entries(everything, layout.tag, room) for line in entry.lines]
        found: list[str] = []
        for line, size in zip(lines, self._counts(lines), strict=True):
            room -= size
            if room < 0:
                break
            found.append(hide(line))
        return found

    def gist(self, log: WritableLog, ids: Sequence[Name], pieces: Sequence[TextSegment]) -> str:
        """Asks for a few sentences on these messages, or on the newest if they are too many. Raises ModelFailed."""
        waiting = chunks(self.parts(log, Names.of(ids), pieces), self.room())[-1:]
        while waiting:
            source = "".join(part.text for part in waiting[-1])
            self._step(1, 1)
            try:
                return words.taken(self.ask(words.BRIEF, source, 1, len(utf8(source)), (1, 1)))
            except ModelFailed as error:
                less = halved(waiting[-1], ()) if error.too_large else None
                if less is None:
                    raise
                waiting = less
        raise ModelFailed(f"{self.model} was not asked: the messages have no text")

    def ask(self, prompt: str, source: str, requests: int, size: int, done: tuple[int, int], tokens: int = 0) -> str:
        """Asks for one usable summary of `source`, of `tokens` tokens. Raises ModelFailed."""
        from ctxkit.llm.client import REPLY, ask, load

        if self.deadline is None:
            load(lambda: self._step(*done), self.model)
            self.deadline = self.hooks.clock() + self.seconds
        self.requests += 1
        return ask(
            self.model, words.request(prompt, source), deadline=self.deadline,
            check=lambda answer: _faulty(answer, source), tell=lambda sending: self._tell(sending, requests, size),
            tick=lambda: self._step(*done), clock=self.hooks.clock, sleep=self.hooks.sleep,
            most=max(REPLY, 2 * tokens + THOUGHT),
        )  # fmt: skip

    def parts(self, log: WritableLog, ids: Names, pieces: Sequence[TextSegment], query: str = "") -> list[Chunk]:
        """What is sent of these messages: a chunk per step, without secrets. Of long results and arguments those lines
        are sent that `extract` would choose; `query`: words of lines that count more.
        """
        from ctxkit.llm.client import SecretHiding

        hide, state = SecretHiding(), log.state()
        hide.look_into(log.full(entry(state, name)) for name in ids)
        layout = SummaryLayout(pieces, log.state().label, ids)
        some = [piece._replace(text=hide(piece.text)) for piece in pieces if piece.name in ids]
        sizes = self._counts([piece.text for piece in some])
        limits = words.limits([piece.kind for piece in some], sizes, self._room())
        texts = [
            self._shortened(piece, limit, size, query) for piece, limit, size in zip(some, limits, sizes, strict=True)
        ]
        steps = list(_steps(log, [piece._replace(text=text) for piece, text in zip(some, texts, strict=True)]))
        texts = [hide(words.rendered(step, layout, [piece.text for piece in step])) for _, step in steps]
        self.redactions = hide.count
        tokens = self.counter.all(self.counter.counts(texts))
        return [
            Chunk(text, max(size, 1), exchange)
            for (exchange, _), text, size in zip(steps, texts, tokens, strict=True) if text
        ]  # fmt: skip

    def _counts(self, texts: Sequence[str]) -> list[int]:
        return list(self.counter.all(self.counter.counts(texts)))

    def _shortened(self, piece: TextSegment, tokens: int, size: int, query: str) -> str:
        if size <= tokens:
            return piece.text
        if piece.kind in words.SHORTENED and not piece.is_script:
            chosen = lines_of(
                piece.text, tokens, self._counts, tool=piece.tool,
                failed=piece.failed, query=query,
            )  # fmt: skip
            if chosen is not None:
                return chosen
        return words.shortened(piece.text, tokens, size)

    def _step(self, done: int, total: int) -> None:
        if self.hooks.step is not None:
            self.hooks.step(done, total)

    def _tell(self, sending: Any, requests: int, size: int) -> None:
        """Reports, once, before anything is sent: model, host, size, and how many secrets were taken out."""
        if self._announced or self.hooks.report is None:
            return
        self._announced = True
        many = f" in {requests} requests" if requests > 1 else ""
        total = size if requests > 1 else sending.bytes
        secrets = f"{self.redactions} secret{'s' * (self.redactions != 1)} taken out"
        self.hooks.report(f"sending {total:,} bytes{many} to {sending.model} at {sending.host}, {secrets}")


def summarizer(log: WritableLog, model: str, hooks: Hooks) -> Summarizer:
    """What asks this model, within the limits of the log's config."""
    from ctxkit.llm.client import time_limit

    return Summarizer(model, time_limit(log.config, model), hooks, int(log.config["compact.input"] or 0))


def _faulty(answer: str, source: str) -> str | None:
    """Says why an answer cannot be used; None if it can."""
    return words.faulty(answer, source) or ("it repeats itself" if story_checks.repeats(words.clean(answer)) else None)


def gist_by_model(
    log: WritableLog, named: str | None, *, fast: bool, given: bool, hooks: Hooks | None,
    after: str = "the snapshot was taken, and its summary says so",
) -> Callable[[Sequence[Name], Sequence[TextSegment]], str] | None:  # fmt: skip
    """Makes a function that asks a model for a few sentences on messages; None if no model is to be asked.

    A model is asked if one is named, or if the config's strategy asks one. `given`: the caller has the sentences
    already. If the model fails, the function returns "", and adds the reason to `log.noticed`; `after`: what happened
    then. Raises Usage, BadConfig.
    """
    if given and (named is not None or fast):
        raise Usage("a given summary needs no model: nothing was kept", "use only one of them")
    if given or not (named is not None or fast or asks_model(log.config["compact.strategy"])):
        return None
    model = model_of(log, named, fast=fast)

    def ask(names: Sequence[Name], pieces: Sequence[TextSegment]) -> str:
        try:
            return summarizer(log, model, hooks or Hooks()).gist(log, names, pieces)
        except ModelFailed as error:
            log.noticed.append(f"{error.message}: {after}")
            return ""

    return ask


def _steps(log: WritableLog, pieces: Sequence[TextSegment]) -> Iterator[tuple[int, list[TextSegment]]]:
    """Groups the segments by steps, each with the number of its exchange."""
    state = log.state()
    exchange, some = 0, list[TextSegment]()
    last: Name | None = None
    for piece in pieces:
        if piece.name != last:
            if isinstance(piece.name, int):
                message = state.messages[piece.name - 1]
                role, typed = message.role, message.role == "user" and not message.results
            else:
                role = state.board.items[piece.name].role
                typed = role == "user"
            if (typed or role in SPEAKS) and some:
                yield exchange, some
                some = []
            exchange += typed
            last = piece.name
        some.append(piece)
    if some:
        yield exchange, some

"""Asks a model which messages of a log are about a text (`--about TEXT --about-model NAME`).

`search/meaning_prompt.py` makes the requests and validates the answers, `llm/client.py` sends them. If there is no
valid answer, `search/about.py` ranks by words instead, and a warning says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from ctxkit.core.context import entry
from ctxkit.core.ended_ops import role_of
from ctxkit.core.item_names import Name, Names
from ctxkit.core.select import Selection, exchange_of, step_of
from ctxkit.core.text.json_text import digest
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import ModelFailed, NothingChanges, NothingMatched
from ctxkit.measure.limit import context_limit
from ctxkit.search import meaning_prompt
from ctxkit.search.meaning_prompt import OfferedMessage
from ctxkit.tokens.models import room_of

if TYPE_CHECKING:
    from ctxkit.llm.client import PendingRequest
    from ctxkit.logfile.open import OpenLog

SHARE = 0.6
"""The share of a model's limit for messages; the rest is for the prompt, the answer, and wrong counts."""
CHARACTERS = 2
"""The fewest characters of a token, in any language."""


class MeaningModel:
    """One model, asked about one log. `leaves`: the messages that it chooses will leave the context."""

    def __init__(self, log: OpenLog, asked: Selection, *, leaves: bool) -> None:
        self.log, self.text, self.model, self.leaves = log, asked.about or "", asked.model or "", leaves
        self.replies: list[str] = []
        self._announced = False
        from ctxkit.llm.client import SecretHiding

        self._hide = SecretHiding()

    def offered(self, shown: Sequence[Name], chosen: Sequence[Name]) -> list[Name]:
        """Those of `chosen` that the model may choose. Raises NothingMatched if there are none."""
        state = self.log.state()
        guard = meaning_prompt.guarded(state, shown)
        self.log.ranked.exempt = guard
        names = meaning_prompt.may_choose(state, chosen, guard)
        if not names:
            raise NothingMatched("nothing matched: a model chooses no protected message, and none of the last exchange")
        return names

    def chosen(self, shown: Sequence[Name], names: Sequence[Name]) -> list[Name]:
        """Those of `names` that the model says are about the text. Raises ModelFailed; NothingMatched for none."""
        from ctxkit.llm.client import load, time_limit

        offers = [self._offer(place, name) for place, name in enumerate(names, start=1)]
        waiting = self._parts(shown, offers)
        load(model=self.model)
        deadline = time.monotonic() + time_limit(self.log.config, self.model)
        found = meaning_prompt.union(self._answers(waiting, deadline))
        if why := self._too_much(shown, found):
            raise ModelFailed(f"{self.model} gave no answer that can be used: {why}")
        if not found:
            raise NothingMatched(f"no message is about {self.text!r}, says {self.model}")
        handles = {one.name: one.handle for one in offers}
        label = self.log.state().label
        self.log.ranked.answer = {
            "model": self.model,
            "prompt": digest([meaning_prompt.INSTRUCTION, self.text], 16),
            "input": digest([one.text for one in offers], 16),
            "reply": digest(self.replies, 16),
            "handles": {handles[name]: label(name) for name in found},
        }
        return found

    def bounded(self, shown: Sequence[Name], found: Sequence[Name]) -> None:
        """Raises NothingChanges if the messages that were chosen by words instead are too many to leave at once."""
        if why := self._too_much(shown, found):
            hint = "fewer: --top N; or name them: ctxkit forget LOG N..."
            raise NothingChanges(f"{why} where a model is asked: nothing was changed", hint)

    def _too_much(self, shown: Sequence[Name], found: Sequence[Name]) -> str | None:
        if not self.leaves or not found:
            return None
        state = self.log.state()
        leaving = state.steps.close(Names.of(found))
        for name in leaving.items & state.board.telling.keys():
            leaving = leaving | state.board.telling[name].tells
        went = [name in leaving for name in shown]
        tokens = self._tokens(shown)
        gone = sum(size for size, goes in zip(tokens, went, strict=True) if goes)
        return meaning_prompt.too_much(sum(went), len(shown), gone, sum(tokens))

    def _offer(self, place: int, name: Name) -> OfferedMessage:
        state = self.log.state()
        self._hide.look_into([self.log.full(entry(state, name))])
        role = role_of(state, name)
        return OfferedMessage(f"m{place}", name, role, meaning_prompt.shortened(self.log.text(name), self._hide))

    def _parts(self, shown: Sequence[Name], offers: Sequence[OfferedMessage]) -> list[list[OfferedMessage]]:
        """The offers in parts, one per request: more for a fuller context, and as many as the model's limit needs."""
        percent = self._percent(shown)
        count = meaning_prompt.how_many(percent)
        if percent is not None and count == meaning_prompt.FULL:
            self.log.ranked.warn(f"the context is {percent:.0f} % full: ctxkit clear LOG starts afresh")
        room = int(SHARE * room_of(self.model)) * CHARACTERS
        size = sum(len(one.text) for one in offers)
        count = max(count, -(-size // room))
        exchanges = exchange_of(self.log.state(), shown)
        groups = [list(some) for _, some in groupby(offers, key=lambda one: exchanges.get(one.name, 0))]
        if count > 1 and any(sum(len(one.text) for one in some) * count > 2 * size for some in groups):
            steps = step_of(self.log.state(), shown)  # one exchange is most of the context
            groups = [
                list(some)
                for _, some in groupby(offers, key=lambda one: (exchanges.get(one.name), steps.get(one.name)))
            ]
        return meaning_prompt.parts(groups, [sum(len(one.text) for one in some) for some in groups], count)

    def _percent(self, shown: Sequence[Name]) -> float | None:
        most = context_limit(self.log).tokens
        return 100 * sum(self._tokens(shown)) / most if most else None

    def _tokens(self, shown: Sequence[Name]) -> Sequence[float]:
        from ctxkit.measure.count import Counting
        from ctxkit.measure.size import Measuring

        return Measuring(Counting(self.log)).each(list(shown))

    def _answers(
        self, waiting: list[list[OfferedMessage]], deadline: float
    ) -> Iterator[tuple[Sequence[OfferedMessage], str]]:
        from ctxkit.llm import client

        done, announce = 0, partial(self._announce, waiting)
        while waiting:
            some, *waiting = waiting
            self.log.ranked.step(done + 1, done + 1 + len(waiting))
            try:
                reply = client.ask(
                    self.model, meaning_prompt.request(self.text, some), deadline=deadline,
                    schema=meaning_prompt.SCHEMA,
                    check=partial(meaning_prompt.faulty, offered=some), tell=announce,
                )  # fmt: skip
            except ModelFailed as error:
                if not error.too_large or len(some) < 2:
                    raise
                half = len(some) // 2
                waiting = [some[:half], some[half:], *waiting]
                continue
            done += 1
            self.replies.append(str(reply))
            yield some, reply

    def _announce(self, waiting: Sequence[Sequence[OfferedMessage]], sending: PendingRequest) -> None:
        """Report what will be sent in all requests, once, before the first byte is sent."""
        if self._announced:
            return
        self._announced = True
        if len(waiting) > 1:
            from ctxkit.llm.client import cleaned

            bodies = [cleaned(meaning_prompt.request(self.text, some)) for some in waiting]
            size = sum(len(utf8(one["content"])) for body, _ in bodies for one in body)
            sending = sending._replace(bytes=size, redactions=sum(count for _, count in bodies))
        sending = sending._replace(redactions=sending.redactions + self._hide.count)
        many = f" in {len(waiting)} requests" if len(waiting) > 1 else ""
        secrets = f"{sending.redactions} secret{'s' * (sending.redactions != 1)} taken out"
        self.log.ranked.tell(f"sending {sending.bytes:,} bytes{many} to {sending.model} at {sending.host}, {secrets}")

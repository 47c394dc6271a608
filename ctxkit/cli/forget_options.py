"""Options, preview and question of `forget` and `remember`.

If messages were chosen by criteria, a preview comes first: a line per range, counts, tokens with the name of their
counter, and the tokens of the cached prefix that would be sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ctxkit.api.log import Log
from ctxkit.cli.log_access import criteria_text, selection_of, write
from ctxkit.cli.options import Reading, Selecting, Writing
from ctxkit.cli.terminal import layout, message_view, streams
from ctxkit.cli.terminal.style import Styled
from ctxkit.core.context import entry
from ctxkit.core.decision import Decision
from ctxkit.core.item_names import Name, Names
from ctxkit.core.ops import Forget, Remember
from ctxkit.errors import NothingChanges, Usage

SHOWN = 20
"""Ranges that are printed; the others are only counted."""


class ForgetOptions:
    """Leaving the context."""

    planning: str | None = None
    include_protected: bool = False
    keep_summary: bool = False


class Parts(NamedTuple):
    """Which parts of messages leave the context. If none is named, whole messages leave."""

    images: bool = False
    larger_than: str | None = None


WHOLE = Parts()


def leave(
    name: str, log: str, numbers: Sequence[str] | None, forget_options: ForgetOptions, reading: Reading,
    writing: Writing, selecting: Selecting, parts: Parts = WHOLE,
) -> None:  # fmt: skip
    """Run `forget` or `remember`."""

    def decide(target: Log) -> Decision:
        wanted = selection_of(target, numbers, selecting)
        plan = target.plan_forget if name == "forget" else target.plan_remember
        of_parts = {"images": parts.images, "larger_than": parts.larger_than} if parts != WHOLE else {}
        decision = plan(
            wanted, planning=forget_options.planning or (), criteria=_criteria(selecting, parts),
            include_protected=forget_options.include_protected, keep_summary=forget_options.keep_summary, **of_parts,
        )  # fmt: skip
        by_model = wanted.model is not None
        chosen = wanted.criteria or (bool(of_parts) and wanted.empty)
        if chosen and (by_model or target.opening.path is not None) and isinstance(decision.op, Forget):
            asks = not by_model or name == "forget"
            decision.settled = _consent(target, decision.op, reading, yes=writing.yes, asks=asks) or by_model
        return decision

    write(
        log, reading, writing, name, lambda target: target.commit(name, lambda: decide(target)), thread=selecting.thread
    )  # fmt: skip


def _criteria(selecting: Selecting, parts: Parts) -> str | None:
    """The criteria as typed, for the op's provenance."""
    size = () if parts.larger_than is None else (f"--larger-than {parts.larger_than}",)
    return " ".join(filter(None, (criteria_text(selecting), "--images" * parts.images, *size))) or None


def _consent(log: Log, op: Forget, reading: Reading, *, yes: bool, asks: bool) -> bool:
    lines = preview_parts if op.parts else preview
    return consent(log, lambda: lines(log, op), "Take these out of the context?", reading, yes=yes, asks=asks)


def consent(
    log: Log, preview: Callable[[], Iterable[list[str | Styled]]], question: str, reading: Reading, *, yes: bool,
    asks: bool = True,
) -> bool:  # fmt: skip
    """Print the preview and ask on a terminal; whether a person was asked and agreed.

    `asks`: an answer is enough; otherwise --yes is needed. A preview counts tokens and so reads content: it is only
    made if it is printed. Raises NothingChanges on a no, and Usage if --yes is needed or nobody can be asked.
    """
    ends = yes or log.dry_run
    if not ends or not (reading.quiet or reading.json or streams.Streams.among):
        tell = streams.say if ends else streams.say_always  # --quiet does not hide what a question is about
        for line in preview():
            tell(*line)
    if ends:
        return False
    if not asks:
        raise Usage("a model chose what stays, and everything else would leave: nothing was changed", "use --yes")
    if not streams.on_terminal():
        raise Usage(
            "messages were chosen by criteria, and there is no terminal to ask on: nothing was changed", "use --yes"
        )
    if not streams.ask(question):
        raise NothingChanges("not confirmed: nothing was changed")
    return True


def preview(log: Log, op: Forget) -> Iterator[list[str | Styled]]:
    """The lines of the preview, as spans for `streams.say`."""
    state = log.state()
    leaving = (Names.parse(op.ids) | Names.parse(op.planning)) & state.present()
    from ctxkit.measure.count import Counting  # brings sqlite3: only where tokens are counted
    from ctxkit.measure.size import Measuring, uncached, uncached_line

    log.weigh(log.state_with(op))  # the token log also has figures for a refusal
    yield [f"Leaving the context{', with how well each fits in % of the best' if log.ranked.scores else ''}:"]
    shown = log.names()
    measuring = Measuring(Counting(log))
    yield from listing(log, [name for name in shown if name in leaving])
    stays = [name for name in shown if name not in leaving]
    tokens = measuring.of(shown).tokens - measuring.of(stays).tokens
    hidden = len(leaving - Names.of(shown))  # in a summary, or hidden by the window: not in the context
    beside = f", and {hidden:,} that are not shown" if hidden else ""
    yield [f"{len(shown) - len(stays)} of {len(shown)} messages{beside}, {tokens:,} tokens ({measuring.name})"]
    if isinstance(op, Remember):
        yield [f"Staying in the context: {state.brief(Names.of(stays))} ({layout.count(len(stays), 'message')})"]
    if (lost := uncached(measuring, log, log.with_op(op))) is not None:
        yield [uncached_line(log, lost)]


def preview_parts(log: Log, op: Forget) -> Iterator[list[str | Styled]]:
    """The lines of the preview if only parts of messages leave."""
    from ctxkit.measure.count import Counting
    from ctxkit.measure.size import Measuring

    log.weigh(log.state_with(op))
    yield ["Parts of these messages leave the context:"]
    names = [name for text in op.parts for name in Names.parse(text)]
    yield from listing(log, names)
    measuring, then = Measuring(Counting(log)), Measuring(Counting(log.with_op(op)))
    tokens = round(sum(measuring.each(names)) - sum(then.each(names)))
    count = sum(map(len, op.parts.values()))
    yield [f"{count:,} parts of {len(names):,} messages, {tokens:,} tokens ({measuring.name})"]


def listing(log: Log, names: list[Name]) -> Iterator[list[str | Styled]]:
    """A line for each run of `names`; after --about with the best score in it."""
    columns = streams.Streams.err_columns or layout.width()
    roomy = columns >= layout.ROOMY
    state = log.state()
    runs = list(_runs(names))
    for run in runs[:SHOWN]:
        label = state.label(run[0]) if len(run) == 1 else f"{state.label(run[0])}-{state.label(run[-1])}"
        ids, size = (f"{label:>9}", f"  {len(run):>4}  ") if roomy else (label, f" {len(run)} ")
        if log.ranked.scores:
            best = max((log.ranked.scores[name] for name in run if name in log.ranked.scores), default=None)
            score = "" if best is None else f"{best} %"
            size += f"{score:>5}  " if roomy else f"{score} " if score else ""
        room = columns - len(ids) - len(size)
        yield [Styled(ids, "bold"), size, message_view.one_line(log.full(entry(state, run[0])), max(0, room))]
    if len(runs) > SHOWN:
        yield [f"… {len(runs) - SHOWN} more ranges"]


def _runs(names: list[Name]) -> Iterator[list[Name]]:
    run: list[Name] = []
    for name in names:
        last = run[-1] if run else None
        if run and not (isinstance(name, int) and isinstance(last, int) and name == last + 1):
            yield run
            run = []
        run.append(name)
    if run:
        yield run

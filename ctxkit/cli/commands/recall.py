"""ctxkit recall: search everything that logs hold, and bring messages back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from ctxkit.api.log import Log
from ctxkit.changes.recall import recall
from ctxkit.cli.forget_options import consent, listing
from ctxkit.cli.log_access import selection_of, write
from ctxkit.cli.log_search import LogSearch, Searching, criteria, needle, set_view, time_limit
from ctxkit.cli.options import NUMBER, Looking, Reading, Selecting, Writing, session_path, takes
from ctxkit.cli.ranked_search import RankedSearch
from ctxkit.cli.session_names import project_names
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.style import Styled
from ctxkit.core.decision import Decision
from ctxkit.core.item_names import Names
from ctxkit.core.ops import Recall
from ctxkit.core.select import Selection
from ctxkit.core.visibility import Visibilities
from ctxkit.errors import NothingMatched, Usage
from ctxkit.search.full_search import Search, chosen, states
from ctxkit.store.folder import without_sidecars

SENTENCE = 3
"""Words of a text from which it is searched by its words, where it is nowhere as it stands."""


@takes(Searching, Selecting, Writing, Looking, Reading)
def command(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="LOG... TEXT", help="Logs, - or folders; then the text.")
    ] = None,
    *,
    apply: bool = False,
    here: bool = False,
    files_from: str | None = None,
    redact: bool = False,
    searching: Searching,
    selecting: Selecting,
    writing: Writing,
    looking: Looking,
    reading: Reading,
) -> int | None:
    """Search the whole log, also what is out of the context, and bring messages back.

    It finds messages that were forgotten, rewound, cleared, compacted or trimmed, messages on a branch or in a
    sidechain, and text that ops brought in. TEXT is literal unless --regex; a sentence that is nowhere is searched by
    its words. In a folder, every log below it is searched. Each hit says whether it is in the context. Criteria narrow
    the hits: recall LOG --about TOPIC searches by topic alone. In folders, in several logs and with --here, --about
    ranks the messages of all logs together and lists the best by day and topic. --here searches the agents' sessions of
    this folder's project. Exit 1 if nothing is found.

    With --apply the hits come back into the context as an op: recall LOG TEXT --apply, or recall LOG 45-47 --apply for
    messages by number (-e 45 for the text 45). No recall crosses a clear or an edit. With criteria, a file is previewed
    first and a script needs --yes; numbers and pipes never ask.
    """
    given = list(words or ())
    if apply and files_from is not None:
        raise Usage(
            "--apply takes one log, and --files-from is for many: nothing was changed", "recall LOG TEXT --apply"
        )
    if here and apply:
        raise Usage("--apply takes one log, and --here names many: nothing was changed", "recall LOG TEXT --apply")
    if apply and redact:
        text = "--apply changes the context, and --redact only what is printed: nothing was changed"
        raise Usage(text, "use only one of them")
    if apply:
        _apply(given, searching, selecting, writing, looking, reading)
        return None
    if writing.dry_run or writing.op_id is not None or writing.yes:
        raise Usage("--dry-run, --op-id and --yes belong to --apply", "without --apply nothing is written")
    listed: list[str] = []
    if files_from is not None:
        from ctxkit.cli.many_logs import listed_names

        listed = listed_names(files_from)
        if not listed:
            raise NothingMatched(f"the list {files_from} is empty: nothing was searched")
    alone = here or bool(listed)
    if searching.text is None and selecting.about is not None and _logs_alone(given, alone=alone):
        _by_topic(searching, selecting.about)
    if searching.text is None:
        if len(given) < (1 if alone else 2):
            what = f"which text is searched in {given[0]}?" if given else "which log is searched, and which text?"
            what = "which text is searched?" if alone else what
            raise Usage(what, "ctxkit recall LOG TEXT; --here TEXT searches all sessions of this project")
        searching.text = [given.pop()]
    if here and (given or listed):
        raise Usage("--here searches this project's sessions, and a log was named too", "use only one of them")
    names = project_names() if here else {}
    places = list(names) if here else [*(session_path(one) for one in given), *listed] or ["-"]
    names |= {path: word for path, word in zip(places, given, strict=False) if word != path}
    places = [*without_sidecars(places)]

    def search() -> int:
        kind = RankedSearch if RankedSearch.fits(places, searching, selecting, here=here) else LogSearch
        return kind(places, searching, selecting, looking, reading, [*given, *listed], names, many=alone).run()

    try:
        return search()
    except NothingMatched as nowhere:
        question = _sentence(searching, selecting, places)
        if not question:
            raise
        streams.say(f"{question!r} is nowhere as it stands: searched by its words, as with --about")
        selecting.about = question
        _by_topic(searching, question)
        try:
            return search()
        except NothingMatched:
            nowhere.hint = "; ".join(way for way in nowhere.hint.split("; ") if not way.startswith("--about"))
            raise nowhere from None


def _by_topic(searching: Searching, topic: str) -> None:
    """Search what is about a topic, instead of a text."""
    from ctxkit.core.derive.topic import traces

    searching.text, searching.regex, searching.topic = [traces(topic)], True, True


def _sentence(searching: Searching, selecting: Selecting, places: Sequence[str]) -> str:
    """The text that is searched, if it is a sentence, and may be meant as a topic; else ""."""
    texts = searching.text or []
    exact = searching.regex or selecting.about is not None
    few = len(texts) != 1 or len(texts[0].split()) < SENTENCE
    return "" if exact or few or "-" in places else texts[0]


def _logs_alone(given: list[str], *, alone: bool) -> bool:
    """Whether all words are logs, and none is the text: then --about is what is searched. `alone`: logs are named
    otherwise.
    """
    if alone and not given:
        return True
    return len(given) < 2 or all(word == "-" or word.startswith("@") or os.path.lexists(word) for word in given)


def _apply(
    given: list[str],
    searching: Searching,
    selecting: Selecting,
    writing: Writing,
    looking: Looking,
    reading: Reading,
) -> None:
    """Bring messages back."""
    if searching.limit:
        raise Usage("--apply brings back all hits: it cannot be combined with --limit", "leave it out")
    if looking.at is not None:
        raise Usage("--apply works on the log as it is now: it cannot be combined with --at", "leave --at out")
    place, *rest = given or ["-"]
    place = session_path(place, writes=True)
    numbers = [word for word in rest if NUMBER.fullmatch(word)]
    if searching.text is None and rest and not numbers:
        searching.text = [rest.pop()]
    if len(numbers) < len(rest):
        raise Usage("--apply takes one log, and a text or numbers: nothing was changed", "recall LOG TEXT --apply")
    if not (rest or searching.text or searching.state or criteria(selecting)):
        raise Usage("nothing was named to bring back: nothing was changed", "recall LOG TEXT --apply, or numbers")

    def decide(log: Log) -> Decision:
        set_view(log, selecting)
        wanted = selection_of(log, numbers, selecting)
        if not wanted.criteria and searching.text is None and searching.state is None:
            return log.plan_recall(wanted)
        decision = recall(log.state(), log.here(), _found(log, wanted, searching), log.projection(), named=False)
        if log.opening.path is not None and isinstance(decision.op, Recall):
            back = Names.parse(decision.op.ids) - log.state().shown()
            decision.settled = consent(log, lambda: _preview(log, back), "Bring these back?", reading, yes=writing.yes)
        return decision

    write(place, reading, writing, "recall", lambda log: log.commit("recall", lambda: decide(log)))


def _preview(log: Log, back: Names) -> Iterator[list[str | Styled]]:
    """The lines of the preview: what comes back, and its tokens."""
    from ctxkit.measure.count import Counting  # brings sqlite3: only where tokens are counted
    from ctxkit.measure.size import Measuring

    names, measuring = sorted(back, key=log.state().key), Measuring(Counting(log))
    tokens = f"{round(sum(measuring.each(names))):,} tokens ({measuring.name})"
    yield ["Coming back into the context:"]
    yield from listing(log, names)
    yield [f"{layout.count(len(back), 'message')}, {tokens}"]


def _found(log: Log, wanted: Selection, searching: Searching) -> Names:
    """The messages that fit the text, the numbers, the criteria and the state."""
    state = log.state()
    names = state.everything()
    if searching.text is not None:
        log.limit = time_limit(searching) or log.limit
        try:
            names = chosen(log, Search(log, needle(searching)).hits())
        finally:
            log.limit.stop()
    if searching.state is not None:
        kinds, visibilities = states(searching.state), Visibilities(state, log.projection())
        names = Names.of(name for name in names if visibilities.of(name).kind in kinds)
    if not names:
        raise NothingMatched("nothing found: nothing was changed")
    if wanted.ids or wanted.criteria:
        names = log.select(wanted, list(names)) & names
    return names

"""The history of a Gemini CLI session, without a file."""

from __future__ import annotations

from ctxkit.formats.gemini_cli.history import GeminiHistory


def test_what_is_gone_stands_where_it_was() -> None:
    """The order holds every message but the commands; a cut those that stayed away."""
    history = GeminiHistory()
    for n, key in enumerate("abcd", 1):
        history.put(key, n)
    history.put("note", 0)
    history.rewind(7, 8, "c")
    history.put("e", 5)
    view = history.view(5, {1})
    assert (view.order, view.inactive) == ([2, 3, 4, 5], {1: "excluded"})
    assert [(cut.row, cut.out) for cut in view.cuts] == [(7, [3, 4])]


def test_an_event_that_takes_nothing_is_none() -> None:
    """An update that lists what is there, and a rewind of nothing."""
    history = GeminiHistory()
    history.rewind(0, 1, "x")
    history.put("a", 1)
    history.replace(2, 3, [("a", 1)])
    assert history.view(1, set()).cuts == []

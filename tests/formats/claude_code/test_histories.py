"""The history of each request: the path moves on without being walked again, and is cut into turns."""

from __future__ import annotations

from ctxkit.formats.claude_code.blocks import SentPiece
from ctxkit.formats.claude_code.histories import AnsweredTurn, SentMismatch, ThreadHistory, Tree, turns_of
from tests.formats.claude_code.noting import MODEL, text, worked
from tests.formats.claude_code.test_requests import records


def said(pieces: list[SentPiece]) -> list[str]:
    """The words of pieces, or the kind of what they are."""
    return [str(piece.blocks[0].get("text", piece.blocks[0]["type"])) for piece in pieces]


def test_a_path_moves_on() -> None:
    """What is new at each request; on another branch what is shared stays."""
    session = worked(2)
    leaf = session.rows[4]["uuid"]
    session.leaf = leaf
    session.say("otherwise")
    session.ask(anew=True)
    session.answer(text("so"))
    found = records(session.rows)
    history = ThreadHistory(Tree(found), found.reader.tree, MODEL)
    seen, opened = [], []
    for request in found.requests:
        history.move(request)
        seen.append(list(history.path))
        opened.append(said(history.open()))
        start = history.turns[-1].end if history.turns else 0
        history.turns.append(AnsweredTurn(start, len(history.path), 0))
    assert seen == [[0], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 8]]
    assert opened == [
        ["go"], ["step 0", "tool_use", "tool_result"], ["step 1", "tool_use", "tool_result"],
        ["step 0", "tool_use", "tool_result", "otherwise"],
    ]  # fmt: skip
    assert [turn.end for turn in history.turns] == [1, 5]


def test_keep() -> None:
    """Turns beyond a place of the path, or beyond a message, are forgotten."""
    found = records(worked(1).rows)
    history = ThreadHistory(Tree(found), found.reader.tree, MODEL)
    turns = [AnsweredTurn(0, 1, 1), AnsweredTurn(1, 4, 3), AnsweredTurn(4, 7, 5)]
    history.turns = list(turns)
    history.keep(7, 4)
    assert history.turns == turns[:2]
    history.keep(3, 9)
    assert history.turns == turns[:1]
    assert (
        turns[0].good
        and not AnsweredTurn(0, 1, 1, missing="x").good
        and not AnsweredTurn(0, 1, 1, wrong=SentMismatch("k", "x")).good
    )


def test_turns() -> None:
    """A new one with each answer; rows of one answer come together, until the user says something."""

    def row(who: str, words: str, response: str = "") -> SentPiece:
        return SentPiece(who, [{"type": "text", "text": words}], "row", response)

    def out(words: str) -> SentPiece:
        return SentPiece("user", [{"type": "tool_result", "tool_use_id": words}])

    go, again = row("user", "go"), row("assistant", "3", "m")
    one, two = row("assistant", "1", "m"), row("assistant", "2", "n")
    assert turns_of([go, one, again, two]) == [[go], [one, again], [two]]
    result = out("c")
    assert turns_of([one, result, two, result, again]) == [[one, result, again], [two, result]]
    assert turns_of([one, go, again]) == [[one, go], [again]]
    nameless = row("assistant", "x")
    assert turns_of([nameless, nameless]) == [[nameless], [nameless]]
    assert turns_of([]) == []

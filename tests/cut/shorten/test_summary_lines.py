"""The lines of a summary, the most useful first, and the text with some of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.core.board import is_of
from ctxkit.core.context import entry
from ctxkit.core.derive import synthetic_messages
from ctxkit.core.messages import Call, Content, Result, Text
from ctxkit.cut.shorten.summary_lines import LEFT_OUT, LONGEST, STATED, SummaryLines
from ctxkit.cut.shorten.summary_lines import STORY as TOLD
from ctxkit.cut.summarize.extraction import extract
from ctxkit.cut.summarize.state_header import SHARE
from ctxkit.cut.units.text_segments import all_pieces
from tests.shared import transcripts

RULES = """\
[messages 1-9 in short, word for word; #N is message N, … marks what is left out]

State:
Last request: #7 Mend the cart.
  And its tests.
Failing: #8 make test
  KeyError: 'user' in login

Files edited:
/work/app/src/a.py #2
/work/app/src/b.py #3

Decisions: #2 I decided to use a lock here.

Messages:
#1 user: Please fix the login. Thanks.
#2 assistant:
I decided to use a lock here.
It was raining on that day, as on most of them.
The tests in /work/app/tests/test_a.py still need work.
#3 Bash $ make test
#4 Bash failed →
running
running on and on, with many words of no use to anybody at all
…
KeyError: 'user' in login
#7 user:
Mend the cart.
And its tests."""
STORY = (
    """\
[Summary of messages 2-40, in the words of the model m: a report, no instructions]
Last request: #39 Go on.
  With all of it.
> Goal: mend the cart
> The lock of /work/app/src/a.py was chosen.

"""
    + RULES
)
PLAIN = "The work so far.\n\n" + "\n\n".join(
    f"{n}. In /src/m{n}.py the total is {n * 7}.\nThis went well." for n in range(40)
)
SENTENCES = " ".join(f"The file /src/m{n}.py was changed, and total {n * 7} was set." for n in range(40))
BULLETS = "State:\n" + "\n".join(f"- In /src/m{n}.py the total is {n * 7}, and it went well." for n in range(80))
REQUEST = "By hand.\nLast request: " + BULLETS.replace("\n", "\n  ")
TEXTS = [RULES, STORY, PLAIN, SENTENCES, BULLETS, REQUEST, "one line", "a\n\n\nb\n", "Messages:\n#1 user: hi"]


@pytest.mark.parametrize("text", TEXTS)
def test_all_of_it_and_its_head(text: str) -> None:
    """With all lines it is the text, but for blank lines; with none it has a head, which is not all of a long one."""
    lines = SummaryLines(text)
    assert lines.best(10 * len(text)) == text.replace("\n\n\n", "\n\n").strip()
    head = lines.best(0)
    assert head and (len(head) < len(text) / 2 or len(text) < 100)


@given(st.sampled_from(TEXTS), st.floats(0, 1), st.floats(0, 1))
def test_lines_leave_one_by_one(text: str, share: float, more: float) -> None:
    """What is left is of the text, in its order; with more room no line leaves."""
    lines = SummaryLines(text)
    low, high = (lines.best(int(one * len(text))) for one in sorted((share, more)))
    assert is_of(low, text) and is_of(high, text)
    kept = {line for line in low.split("\n") if LEFT_OUT not in line and line}
    assert kept <= {*high.split("\n")} or text == SENTENCES


def test_the_head_is_the_request_and_the_state() -> None:
    head = SummaryLines(RULES).best(0)
    assert head == RULES.partition("\n\nFiles edited:")[0]
    assert SummaryLines(STORY).best(0).startswith(STORY.partition("\n> Goal")[0])
    assert "  KeyError: 'user' in login" in SummaryLines(STORY).best(0)


@given(
    st.sampled_from(["State:\n", "Last request: ", "[messages ", "By hand.\n\nState:\n", "By hand.\nLast request: "]),
    st.lists(st.tuples(st.sampled_from(["", "- ", "  ", "[messages "]), st.integers(1, 900)), max_size=40),
)
def test_a_head_is_no_longer_than_the_share_of_a_state(start: str, rows: list[tuple[str, int]]) -> None:
    """However much a text calls its request or its state; the lines beyond are ranked as all others."""
    text = start + "\n".join(f"{mark}{n} " + "word " * (size // 5) for n, (mark, size) in enumerate(rows))
    assert len(SummaryLines(text).best(0)) <= 2 * LONGEST + STATED * len(text)


def test_the_ranks_are_those_of_compact() -> None:
    """The state leaves last, from its end; before it a model's words, before these what rules quote; edited files last
    of that.
    """
    story = [f"> {name}: this is one sentence of the model's own, in its words" for name in ("Goal", "Open", "Next")]
    quiet = [f"It was quiet on day {n}, as it was said on some other day before." for n in range(40)]
    lines = [f"[Summary of messages 2-40{TOLD}m: a report, no instructions]", *story, "", RULES, *quiet]
    some = SummaryLines("\n".join(lines))
    texts = [some.best(size, whole_head=False).split("\n") for size in range(len("\n".join(lines)), 0, -1)]

    def gone(*lines: str) -> list[int]:
        return [next((n for n, text in enumerate(texts) if line not in text), len(texts)) for line in lines]

    _, state, files, _, quoted = (part.split("\n") for part in RULES.split("\n\n"))
    assert gone(*state[1:]) == sorted(gone(*state[1:]), reverse=True)
    assert max(gone(*story)) < min(gone(*state)) and max(gone(*quoted, *quiet, *files)) < min(gone(*story))
    assert max(gone(*files)) > max(gone(*quoted, *quiet))


def first_to_go(text: str) -> list[str]:
    """Lines of the state that leave before the last line below it, or not from the end of the state."""
    rows = text.partition("\n\nState:\n")[2].partition("\n\n")[0].split("\n")
    state = [row for row in rows if text.split("\n").count(row) == 1 and row.strip()]
    some = SummaryLines(text)
    found: list[str] = []
    for size in range(0, len(text), max(1, len(text) // 100)):
        kept = some.best(size, whole_head=False).split("\n")
        gone = [row for row in state if row not in kept]
        found += gone if "Messages:" in kept else [row for row in gone if state.index(row) < len(state) - len(gone)]
    return found


LINES = [
    "",
    " ",
    "\r",
    "Mend it.",
    "…",
    "Messages:",
    "State:",
    "Files edited:",
    "> so",
    "#1 user: hi",
    "[messages 1-2 of",
]


@given(st.lists(st.sampled_from(LINES), max_size=8), st.sampled_from([250, 500, 900]))
def test_the_state_that_compact_writes_leaves_last(asked: list[str], budget: int) -> None:
    """Whatever the request says; with all that stands below it in the state."""
    failed = "\n".join(f"FAILED tests/test_{n}.py::test" for n in range(400))
    calls = [
        Content("assistant", [Call("a", "Bash", {"command": "make test"})]),
        Content("tool", [Result("a", failed)]),
    ]
    todo = Call("b", "TodoWrite", {"todos": [{"content": "Write the page", "status": "pending"}]})
    request = Content("user", [Text("\n".join(["Do this.", *asked, "Thanks for it."]))])
    pieces = all_pieces([*enumerate([request, *calls, Content("assistant", [todo])], start=1)])
    text = extract(pieces, budget, lambda texts: [len(one) // 4 for one in texts])
    assert text is not None and first_to_go(text) == []


@pytest.mark.parametrize(
    "path", transcripts("claude-code", "swe-agent", "pi", under=120_000), ids=lambda path: path.name
)
def test_the_state_leaves_last_on_real_files(path: Path) -> None:
    log = Log.open(path)
    pieces = all_pieces([(name, log.full(entry(log.state(), name))) for name in log.names()])
    for budget in (500, 3000):
        text = extract(pieces, budget, lambda texts: [len(one) // 4 for one in texts])
        assert first_to_go(text or "") == []


def test_without_a_state_the_best_lines_are_the_head() -> None:
    for text in (PLAIN, SENTENCES):
        assert 0 < len(SummaryLines(text).best(0)) < 2 * SHARE * len(text)


def test_headings_go_with_their_lines() -> None:
    """What is useless leaves first; a heading and a title stand only above something, gaps are marked in a message."""
    lines = SummaryLines(RULES)
    sizes = [lines.best(size) for size in range(len(lines.best(0)), len(RULES))]
    some = next(text for text in sizes if "still need work" in text)
    assert "raining" not in some and "running on" not in some
    assert "#2 assistant:\n" in some and "Messages:\n" in some
    for text in sizes:
        rows = text.split("\n")
        assert not any(row.endswith(("assistant:", "user:", "Messages:", "edited:")) and below in ("", LEFT_OUT)
                       for row, below in zip(rows, [*rows[1:], ""], strict=True))  # fmt: skip
    gap = next(text for text in sizes if "I decided to use a lock here.\n" in text and "still need work" in text)
    assert "lock here.\n…\nThe tests" in gap


def test_a_repeated_line_leaves_before_the_one_that_says_it() -> None:
    text = "[messages 1-9 in short]\n\nMessages:\n" + "\n".join(
        f"#{n} Bash →\nKeyError: 'user' in /src/login.py\nValueError: {n} in /src/part{n}.py" for n in range(1, 20)
    )
    half = SummaryLines(text).best(len(text) // 2)
    assert half.count("KeyError") == 1 < half.count("ValueError")


@pytest.mark.parametrize(
    ("start", "end"),
    [(row.start, row.end) for row in synthetic_messages._TABLE if row.kind == synthetic_messages.SyntheticKind.SUMMARY],
)
def test_a_summary_of_a_program_is_known_as_one(start: str, end: str) -> None:
    """However short: else its words would be those of the user, and the current task."""
    text = f"{start} of the work:\n\n<summary>\n{PLAIN}\n</summary>\n{end}"
    for share in (0, 0.2, 0.4):
        brief = SummaryLines(text.strip()).best(int(share * len(text)), whole_head=share > 0)
        kind = synthetic_messages.kind(Content("user", [Text(brief)]))
        assert kind == synthetic_messages.SyntheticKind.SUMMARY and len(brief) < len(text) * 0.8

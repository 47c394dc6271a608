"""How messages are laid out on a terminal: wrapped with their indent, Markdown and code by rich, dividers between them.

`show` asks for it where a person looks; in a pipe `message_view.py` prints lines as they are. Every text passes
`safe()` here, before it is laid out, and again in `streams.out`. A message is laid out by itself, so that the end of a
session can be shown before its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ctxkit.cli.terminal.message_view import LOCK, ROLES, described
from ctxkit.cli.terminal.safe_text import cells, clip, safe, uncoloured
from ctxkit.cli.terminal.style import Styled
from ctxkit.cli.terminal.wrap import folded, wrapped
from ctxkit.content.call_words import CAME, GONE, SAME, told
from ctxkit.core.derive.outcome import outcome
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.roles import side

Spans = list[str | Styled]

RESULT_LINES, CALL_LINES = 3, 12
"""Lines of a result, and of a call, that are shown unless --full."""
ROWS, CALL_ROWS = 3, 8
"""Rows of the screen that one of these lines takes at most, and the first line of a call."""
SHORT = 0.05
"""Seconds below which nobody asks how long a call took."""
WIDEST = 1000
"""Columns that are used of a terminal, however wide it says it is."""
ROOMY = 40
"""Columns from which on bodies are indented by four."""
SIGNS = {GONE: "red", CAME: "green", SAME: "dim"}
FENCE = "```"


class MessageLayout:
    """For a terminal of `width` columns. `rich`: Markdown and code are coloured; `full`: nothing is cut."""

    def __init__(self, width: int, *, rich: bool, full: bool) -> None:
        self.width, self.rich, self.full = min(width, WIDEST), rich, full
        self.indent = " " * (4 if width >= ROOMY else 2)
        self._room = self.width - len(self.indent)

    def header(
        self, label: str, role: str, time: str, *, name: str | None, protected: bool, notes: str
    ) -> Iterator[Spans]:
        """`45  user  10:45:00  🔒  shortened`."""
        speaker = Styled(f"{role} ({name})" if name else role, ROLES.get(role, ""))
        spans: Spans = []
        for span in (
            Styled(label, "bold"),
            speaker,
            Styled(time, "dim"),
            LOCK if protected else "",
            Styled(notes, "dim"),
        ):
            text = safe(span if isinstance(span, str) else span.text, keep_newlines=False)
            if text:
                spans += ["  "] if spans else []
                spans.append(text if isinstance(span, str) else Styled(text, span.style))
        yield from _wrapped(spans, self.width, len(self.indent))

    def divider(self, text: str, style: str) -> Spans:
        """A rule with words in it, as wide as the terminal."""
        words = clip(f"── {safe(text, keep_newlines=False)} ", self.width)
        return [Styled(words + "─" * (self.width - cells(words)), style)]

    def body(self, content: Content, *, markdown: bool = False) -> Iterator[Spans]:
        """The parts of a message, indented. `markdown`: its texts are."""
        markdown = markdown or side(content.role) == "assistant"
        for part in content.parts:
            for line in self._part(part, markdown=markdown):
                yield [self.indent, *line] if line else []

    def _part(self, part: Part, *, markdown: bool) -> Iterator[Spans]:
        match part:
            case Text(text=text):
                yield from self._text(safe(uncoloured(text)), markdown=markdown)
            case Thinking(text=text):
                said = safe(uncoloured(text or "[thinking, not stored as text]"))
                yield from self._lead("~ ", said.split("\n"), "dim")
            case Call():
                yield from self._call(part)
            case Result():
                yield from self._result(part)
            case Image() | Other():
                for line in self._folded(safe(described(part, full=self.full), keep_newlines=False)):
                    yield [Styled(_plain(line), "dim")]

    def _text(self, text: str, *, markdown: bool) -> Iterator[Spans]:
        if not self.rich:
            for line in text.split("\n"):
                yield from self._folded(line)
        elif markdown:
            from ctxkit.cli.terminal.markdown_view import lines

            for spans in lines(text, self._room):
                yield _stripped(spans)
        else:
            yield from self._as_written(text)

    def _as_written(self, text: str) -> Iterator[Spans]:
        """What is no Markdown, or not sure to be: its lines stay, headings and code between fences are recognisable."""
        lines = iter(text.split("\n"))
        for line in lines:
            bare = line.lstrip()
            if bare.startswith(FENCE):
                inside = list[str]()
                closed = ""
                for held in lines:
                    if held.strip() == FENCE:
                        closed = held
                        break
                    inside.append(held)
                for one in self._folded(line):
                    yield [Styled(_plain(one), "dim")]
                if inside:
                    from ctxkit.cli.terminal.markdown_view import code

                    yield from code("\n".join(inside), bare[len(FENCE) :].strip(), self._room)
                if closed:
                    yield [Styled(closed, "dim")]
            elif bare.startswith("#") and bare.lstrip("#").startswith(" "):
                for one in self._folded(line):
                    yield [Styled(_plain(one), "bold")]
            else:
                yield from self._folded(line)

    def _call(self, call: Call) -> Iterator[Spans]:
        words = told(call, full=self.full)
        name = safe(call.name, keep_newlines=False)
        target = self._shortened(words.target, CALL_ROWS)
        first: Spans = ["→ ", Styled(name, "magenta"), *([f" {target}"] if target else [])]
        yield from self._cut(_wrapped(first, self._room, 4), CALL_ROWS)
        shown = words.lines if self.full else words.lines[:CALL_LINES]
        for sign, text in shown:
            style = SIGNS.get(sign, "")
            lead = f"  {sign} " if sign else "  "
            yield from self._cut(self._styled(lead, self._shortened(text), style))
        if len(shown) < len(words.lines):
            yield self._left(len(words.lines) - len(shown), "  ")

    def _result(self, result: Result) -> Iterator[Spans]:
        parts: list[Part] = [Text(result.content)] if isinstance(result.content, str) else result.content
        text = "\n".join(part.text if isinstance(part, Text) else described(part, full=self.full) for part in parts)
        found = outcome(text)
        failed = result.is_error or bool(found.status)
        style, lead = ("red", "✗ ") if failed else ("dim", "← ")
        said = ["" if found.status is None else f"exit {found.status}"]
        said += [] if found.seconds is None or found.seconds < SHORT else [f"{found.seconds:.1f} s"]
        heading = ", ".join(filter(None, said))
        if heading:
            yield [Styled(lead + heading, style)]
            lead = "  "
        if found.text.strip() or not heading:
            lines = uncoloured(found.text).strip("\n").split("\n")
            shown = lines if self.full else [line for line in lines if line.strip()][:RESULT_LINES] or [""]
            for line in shown:
                yield from self._cut(self._styled(lead, self._shortened(line), style))
                lead = "  "
            if len(shown) < len(lines):
                yield self._left(len(lines) - len(shown), "  ")

    def _left(self, count: int, lead: str) -> Spans:
        return [Styled(clip(f"{lead}… {count:,} more line{'s' * (count != 1)} (--full)", self._room), "dim")]

    def _shortened(self, line: str, rows: int = ROWS) -> str:
        """What of a line can be seen, so that a long one is not laid out."""
        line = uncoloured(line).replace("\n", "␊")
        return safe(line if self.full else line[: (rows + 1) * self.width])

    def _lead(self, lead: str, lines: Sequence[str], style: str) -> Iterator[Spans]:
        """Lines in one style, the first behind a sign, the others below it."""
        for line in lines:
            yield from self._styled(lead, line, style)
            lead = "  "

    def _styled(self, lead: str, line: str, style: str) -> Iterator[Spans]:
        hang = len(lead)
        for row, spans in enumerate(folded(line, max(8, self._room - hang))):
            text = (lead if not row else " " * hang) + _plain(spans)
            yield [Styled(text, style) if style else text] if text.strip() else []

    def _cut(self, rows: Iterator[Spans], most: int = ROWS) -> Iterator[Spans]:
        """A line on so many rows at most, unless --full."""
        if self.full:
            yield from rows
            return
        held = list(islice(rows, most + 1))
        yield from held[:most]
        if len(held) > most:
            yield [Styled("  … (--full)", "dim")]

    def _folded(self, line: str) -> Iterator[Spans]:
        return folded(line, self._room)


def _wrapped(spans: Spans, width: int, hang: int) -> Iterator[Spans]:
    return iter([spans]) if cells(_plain(spans)) <= width else wrapped(spans, width, hang, hard=True)


def _plain(spans: Spans) -> str:
    return "".join(span if isinstance(span, str) else span.text for span in spans)


def _stripped(spans: Spans) -> Spans:
    """Without blanks at the end."""
    while spans:
        last = spans[-1]
        text = (last if isinstance(last, str) else last.text).rstrip(" ")
        if text:
            spans[-1] = text if isinstance(last, str) else Styled(text, last.style)
            break
        spans.pop()
    return spans

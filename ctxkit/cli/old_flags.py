"""Old spellings of flags. They work until 0.3, and a line on standard error names the new one.

Help and completion leave them out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ctxkit.cli.terminal import streams
from ctxkit.core.strategies import asks_model
from ctxkit.errors import CtxkitError, Usage

GONE_WITH = "0.3"
"""The version that no longer takes them."""


SHARES = 100
"""The largest number that --target takes as a percentage."""
LARGEST = 32 << 20
"""Most bytes of a file of tool definitions."""
CHOOSING = ("show", "recall", "forget", "remember", "edit", "protect")
"""Commands that choose messages, except compact."""


def notice(old: str, new: str) -> str:
    """The line that names the new spelling."""
    return f"{old} is now {new}; the old name goes with {GONE_WITH}"


class OldFlag(NamedTuple):
    """An old spelling of the flag `new` on these commands. `read`: converts its value for the new flag."""

    name: str
    new: str
    commands: tuple[str, ...]
    read: Callable[[Any], Any] | None = None

    @property
    def parameter(self) -> str:
        """Its name in the command's parser."""
        return f"old_{self.name[2:].replace('-', '_')}"

    @property
    def key(self) -> str:
        """The key of the new flag in FLAGS."""
        return self.new[2:].replace("-", "_")

    def apply(self, given: dict[str, Any], parameter: str, value: Any) -> str:
        """Give `value` to the new flag; the line that names it. Raises Usage if both were typed."""
        if given[parameter]:
            raise Usage(
                f"{self.name} is the old name of {self.new}, and both were given: nothing was done",
                f"use {self.new} alone",
            )
        given[parameter] = value if self.read is None else self.read(value)
        return notice(self.name, self.new)


def _in_tokens(text: str) -> str:
    """A number of tokens for --target, which takes numbers up to 100 as percentages."""
    return f"0.{int(text):03}k" if text.isascii() and text.isdigit() and int(text) <= SHARES else text


class CompactModel(OldFlag):
    """`compact --model`: with --about it chose the messages, and it wrote the summary if the strategy asks a model."""

    __slots__ = ()

    def apply(self, given: dict[str, Any], parameter: str, value: Any) -> str:
        """Give `value` to --about-model, --summary-model, or both. Raises Usage if the new one was typed too."""
        about, strategy = given["about"] is not None, given["strategy"]
        writes = not about or strategy is None or asks_model(strategy)
        if about:
            super().apply(given, "about_model", value)
        if writes:
            super().apply(given, parameter, value)
        return notice(self.name, " and ".join(["--about-model"] * about + [self.new] * writes))


OLD_FLAGS = (
    OldFlag("--apply", "--draft", ("edit",)),
    OldFlag("--archetype", "--agent-config", ("init",)),
    OldFlag("--budget", "--target", ("compact",), read=_in_tokens),
    OldFlag("--calls", "--tools", ("show",)),
    OldFlag("--copy", "--force", ("resume",)),
    OldFlag("--keep", "--keep-last", ("trim",)),
    OldFlag("--limit", "--context-limit", ("status",)),
    OldFlag("--model", "--about-model", (*CHOOSING, "tool")),
    CompactModel("--model", "--summary-model", ("compact",)),
    OldFlag("--model", "--summary-model", ("snapshot",)),
    OldFlag("--summary", "--summary-file", ("compact", "snapshot")),
    OldFlag("--to", "--point", ("recover",)),
    OldFlag("--tools", "--tools-file", ("status", "trim", "export")),
)
SHOW_TOOLS = OldFlag("--tools", "--tools-file", ())
"""On `show`, where --tools is now another flag: `with_file` finds the old one."""


def with_file(words: list[str]) -> list[str]:
    """The words of `show`, with --tools-file instead of --tools if that names a file of tool definitions.

    The old flag had a meaning only with --max-tokens.
    """
    last = words.index("--") if "--" in words else len(words)
    fits = any(word.partition("=")[0] == "--max-tokens" for word in words[:last])
    for i, word in enumerate(words[:last]):
        name, equals, _ = word.partition("=")
        if name != SHOW_TOOLS.name or not (equals or (fits and i + 1 < last and _defines_tools(words[i + 1]))):
            continue
        if not {"-q", "--quiet"} & set(words[:last]):
            streams.warn(notice(SHOW_TOOLS.name, SHOW_TOOLS.new))
        return [*words[:i], SHOW_TOOLS.new + word[len(name) :], *words[i + 1 :]]
    return words


def _defines_tools(word: str) -> bool:
    """Whether a word names a file of tool definitions, or standard input."""
    if word == "-":
        return True
    from ctxkit.logfile.assembly_sources import tools_in, words_of

    try:
        tools_in(words_of(word, SHOW_TOOLS.name, "", Usage, LARGEST), word, "")
    except CtxkitError:
        return False
    return True

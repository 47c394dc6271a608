"""ctxkit trim: make the context fit a budget."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.api.log import Log
from ctxkit.cli.amounts import room, tokens
from ctxkit.cli.log_access import CHANGED, send, words_given, write
from ctxkit.cli.options import LogArgument, MaxTokens, Reading, RequestOptions, Writing, takes
from ctxkit.core.ops import Op


@takes(RequestOptions, Writing, Reading)
def command(
    log: LogArgument = "-",
    *,
    max_tokens: MaxTokens = None,
    keep: Annotated[int | None, typer.Option(metavar="N", min=0, help="Drop the newest N exchanges last.")] = None,
    keep_results: Annotated[
        int | None,
        typer.Option("--keep-results", metavar="N", min=0, help="Do not shorten the newest N results for their age."),
    ] = None,
    exclude_tool: Annotated[
        list[str] | None,
        typer.Option("--exclude-tool", metavar="NAME", help="Do not shorten results of this tool; can be repeated."),
    ] = None,
    clear_at_least: Annotated[
        str | None,
        typer.Option("--clear-at-least", metavar="N", help="If anything is cut, save at least N tokens (20k)."),
    ] = None,
    clear_inputs: Annotated[
        bool, typer.Option("--clear-inputs", help="Also shorten long arguments of old calls.")
    ] = False,
    overflow: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The provider's error message, for its figures; - for stdin."),
    ] = None,
    no_assembly: Annotated[
        bool, typer.Option("--no-assembly", help="Do not count system prompt, docs and thread status.")
    ] = False,
    fit_images: Annotated[
        bool,
        typer.Option("--fit-images/--no-fit-images", help="Leave out images beyond the provider's limits."),
    ] = True,
    request_options: RequestOptions,
    reading: Reading,
    writing: Writing,
) -> None:
    """Make the context fit: shorten old results, then drop the oldest exchanges and steps.

    The budget is --max-tokens (30%: of the limit), else the limit (of the config, or of the model) minus the reserve.
    Superseded and old results are shortened first. Then the oldest exchanges and steps go, after them files being
    edited, and last the newest step and the last answer; something large is shortened, or goes alone. The system
    prompt, instructions, protected messages and the current task never go. A step is never split, and each cut has its
    reason: `ctxkit why LOG N`. If it fits already, nothing is appended. If it cannot fit: exit 1, and a pipe prints
    nothing, so that nothing too large is passed on.

    Images beyond the provider's limits are left out, oldest first; their messages stay.
    """

    def action(target: Log) -> Op | None:
        send(target, request_options, after=CHANGED)
        told = None if overflow is None else words_given(target, "--overflow", overflow, after=CHANGED)
        return target.trim(
            room("--max-tokens", max_tokens), keep=keep, keep_results=keep_results, exclude_tools=exclude_tool or (),
            clear_at_least=tokens("--clear-at-least", clear_at_least) or 0, clear_inputs=clear_inputs or None,
            overflow=told, assembly=not no_assembly, fit_images=fit_images,
        )  # fmt: skip

    write(log, reading, writing, "trim", action)

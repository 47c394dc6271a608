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
    keep: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Newest exchanges that go after all older ones.")
    ] = None,
    keep_results: Annotated[
        int | None,
        typer.Option("--keep-results", metavar="N", min=0, help="Newest results that are not shortened for age."),
    ] = None,
    exclude_tool: Annotated[
        list[str] | None,
        typer.Option("--exclude-tool", metavar="NAME", help="A tool whose results are not shortened; can be repeated."),
    ] = None,
    clear_at_least: Annotated[
        str | None,
        typer.Option("--clear-at-least", metavar="N", help="Tokens to save at least, once anything is cut (20k)."),
    ] = None,
    clear_inputs: Annotated[
        bool, typer.Option("--clear-inputs", help="Shorten long arguments of old calls too, such as a file written.")
    ] = False,
    overflow: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What the provider said when it refused; its figures count. - for stdin."),
    ] = None,
    no_assembly: Annotated[
        bool, typer.Option("--no-assembly", help="No room for system prompt, docs and thread status of the config.")
    ] = False,
    fit_images: Annotated[
        bool,
        typer.Option("--fit-images/--no-fit-images", help="Whether images beyond the provider's limits are left out."),
    ] = True,
    request_options: RequestOptions,
    reading: Reading,
    writing: Writing,
) -> None:
    """Make the context fit: shorten old results, then let the oldest exchanges and steps go.

    The budget is --max-tokens (30%: of the limit), else the limit (of the config, or of the model) less the reserve.
    Superseded and stale results are shortened first. Then the oldest exchanges and steps go, files being edited after
    them, the newest step and the last answer at the end; what is large is shortened, or goes alone. The system prompt,
    instructions, protected messages and the current task never go. A step is never split, and each cut has its reason:
    `ctxkit why LOG N`. Where it fits already nothing is appended; where it cannot fit: exit 1, and in a pipe nothing
    comes out, so that nothing too large goes on.

    Images for which the provider would refuse the context are left out, the oldest first; their messages stay.
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

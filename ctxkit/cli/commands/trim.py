"""ctxkit trim: make the context fit a budget."""

from __future__ import annotations

from ctxkit.api.log import Log
from ctxkit.cli.amounts import room, tokens
from ctxkit.cli.log_access import CHANGED, set_overhead, words_given, write
from ctxkit.cli.options import LogArgument, ManyLogs, Reading, RequestOptions, Writing, takes
from ctxkit.core.ops import Op


@takes(ManyLogs, RequestOptions, Writing, Reading)
def command(
    log: LogArgument = "-",
    *,
    max_tokens: str | None = None,
    model: str | None = None,
    keep_last: int | None = None,
    keep_results: int | None = None,
    exclude_tool: list[str] | None = None,
    clear_at_least: str | None = None,
    clear_inputs: bool = False,
    strategy: str | None = None,
    overflow: str | None = None,
    no_assembly: bool = False,
    fit_images: bool = True,
    request_options: RequestOptions,
    reading: Reading,
    writing: Writing,
) -> None:
    """Make the context fit: shorten old results, then drop the oldest exchanges and steps.

    The budget is --max-tokens (30%: of the limit), else the limit (of the config, or of the model) minus the reserve.
    Superseded and old results are shortened first. Then the oldest exchanges and steps go, in turn with the least
    useful lines of summaries, after them files being edited, and last the newest step, the last answer and the head
    of a summary; something large is shortened, or goes alone. The system prompt, instructions, protected messages and
    the current task never go. A step is never split, and each cut has its reason: `ctxkit why LOG N`. If it fits
    already, nothing is appended. If it cannot fit: exit 1, and a pipe prints nothing, so that nothing too large is
    passed on.

    With --strategy episodes, steps that are done with leave before anything else: those of exchanges and runs of calls
    whose edits were written over later or were followed by a run that passed, with no failure and no task left open,
    the oldest first; then calls that were made again later.

    Images beyond the provider's limits are left out, oldest first; their messages stay.
    """

    def action(target: Log) -> Op | None:
        if model:
            target.config.set_flags({"model": model})
        set_overhead(target, request_options, after=CHANGED)
        overflow_text = None if overflow is None else words_given(target, "--overflow", overflow, after=CHANGED)
        return target.trim(
            room("--max-tokens", max_tokens), keep=keep_last, keep_results=keep_results,
            exclude_tools=exclude_tool or (),
            clear_at_least=tokens("--clear-at-least", clear_at_least) or 0, clear_inputs=clear_inputs or None,
            overflow=overflow_text, assembly=not no_assembly, fit_images=fit_images, strategy=strategy,
        )  # fmt: skip

    write(log, reading, writing, "trim", action)

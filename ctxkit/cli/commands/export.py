"""ctxkit export: the context in the shape of a provider's request."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ctxkit.api.log import Log
from ctxkit.cli.log_access import assembly_of, finish_reading, fitting, opened, warn_of_roles
from ctxkit.cli.options import Assembling, LogArgument, Looking, ManyLogs, Reading, RequestOptions, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.errors import CannotCreate, Usage
from ctxkit.export.request import Exported, outdated, repair_notes
from ctxkit.formats.base import Written
from ctxkit.formats.targets import OWN_PREFIX, REQUESTS, SESSIONS, TARGETS, described
from ctxkit.store.atomic import create

if TYPE_CHECKING:
    ExportTarget: TypeAlias = StrEnum
else:  # typer reads the choices from an enum; mypy needs them spelled out
    ExportTarget = StrEnum("ExportTarget", [(name, name) for name in TARGETS])


@takes(ManyLogs, Assembling, RequestOptions, Looking, Reading)
def command(
    log: LogArgument = "-",
    *,
    to: ExportTarget,
    model: str = "",
    output: str | None = None,
    max_tokens: str | None = None,
    keep_id: bool = False,
    recount: bool | None = None,
    keep_thinking: bool = False,
    fit_images: bool | None = None,
    with_tools: bool = False,
    with_instructions: bool = False,
    agent: str | None = None,
    thread: str | None = None,
    skip_unknown: bool = False,
    redact: bool = False,
    assembling: Assembling,
    request_options: RequestOptions,
    looking: Looking,
    reading: Reading,
) -> None:
    """Print the context as a request that the provider accepts, or as a session file that an agent can resume.

    {lines}. {requests}: one JSON object in the shape of the request body. A call without its result gets a result that
    says so, a result without its call is left out; stderr counts what is left out or added.

    {sessions}: a session file that the program can resume. If the log has the same format, every record that stays
    keeps its bytes, except for ids; otherwise the session is written anew. It has a new id, and no file is ever
    overwritten. Programs decide when to compact by the token figures in replies: after ops these are corrected to what
    `status` says; --no-recount keeps the old figures. The instructions of the log's own program (system prompt,
    sandbox, tools) are left out and counted, because the next program has its own: --with-instructions keeps them.

    Thinking goes along as its model's provider has it: always where calls are refused without (DeepSeek, Kimi), with
    --keep-thinking where it is taken but not needed, never where there is no field for it. Of an unknown model what the
    log has is sent, and stderr says so. The table: docs/formats.md.

    From Fable and Mythos 5.1, and Opus, Sonnet and Haiku 5.5 on, thinking is bound to everything before it: system
    prompt, tools, messages. The provider refuses it if any of that changed. So a request for such a model has no
    thinking, and a session has none after the first changed message; stderr says how much was left out. With
    --keep-thinking a request keeps the thinking before the first change: send the system prompt and tools with which it
    was made. --with-tools adds these, if the session records them (Claude Code from 2.1.329 on), and the messages as
    sent. With the beta "thinking-binding-controls" (-2026-08-01 behind it, in the header anthropic-beta) and
    "block_binding": {{"prefix_mismatch_behavior": "drop_block"}} in "thinking" the provider drops what does not fit
    instead of refusing. From GPT-6.2 on OpenAI drops reasoning behind a change unseen: a request keeps what stands
    before the first one.

    --max-tokens: trimmed to fit, as by `ctxkit trim`, for this export only; `budget.enforce` in the config always does
    so, to limit minus reserve. stderr says what was left out.

    --memory puts the notes of this folder's project (`ctxkit memory`) before the conversation, as a message of the
    user's, at most memory.tokens of the config.

    --redact leaves out all that looks like a secret, as `ctxkit scan` finds it. The first message with one counts as
    changed, so thinking that is bound to it is left out too.

    If the provider would refuse the request for its pictures or its size, a warning says so. --fit-images leaves out
    the oldest until it fits, with [image left out] in their place; --max-tokens does so too.
    """
    aim = TARGETS[to.value]
    if assembling.status is not None and not aim.takes_system:
        raise Usage(f"--status is for a provider's request, not for {aim.name}", "leave it out")
    if assembling.memory and not aim.takes_system:
        raise Usage(f"--memory is for a provider's request, not for {aim.name}", "leave it out")
    if output == "-":
        output = None
    if output == "":
        raise Usage("-o needs the name of a file or a folder")
    target = opened(log, reading, looking, command="export", thread=thread)
    target.opening.reader.release()  # nothing is appended
    if output is None and streams.same_as_stdout(target.opening.path):
        text = f"standard output is {target.opening.name} itself: nothing was written"
        raise CannotCreate(text, "write to another file; >> would append the export to the log itself")
    target.lens_agent, target.lens_thread = agent, thread
    if not skip_unknown:
        target.known_ops()
    assembly, status = assembly_of(target, assembling, agent)
    if model:
        target.config.set_flags({"model": model})
    flags = (("--keep-id", keep_id), ("--recount", recount), ("--with-instructions", with_instructions))
    for flag, given in flags:
        if given and aim.kind != "session":
            raise Usage(f"{flag} is for sessions, not for {aim.name}", f"one of: {', '.join(sorted(SESSIONS))}")
    for flag, given, fits_to in (
        ("--keep-thinking", keep_thinking, REQUESTS), ("--with-tools", with_tools, OWN_PREFIX)
    ):  # fmt: skip
        if given and aim.name not in fits_to:
            raise Usage(f"{flag} is for a request of {' or '.join(fits_to)}, not for {aim.name}", "leave it out")

    own = target.opening.format.name == aim.name and aim.kind == "session"

    def made(log: Log) -> Exported | Written:
        with streams.progress(f"exporting {log.opening.name}", "messages") as step:
            if aim.kind == "session":
                return log.session(
                    aim.name, keep_id=keep_id, recount=recount, model=model, instructions=with_instructions,
                    fit_images=fits, progress=step,
                )  # fmt: skip
            return log.export(
                aim.name, model=model, assembly=assembly, status=status, keep_thinking=keep_thinking,
                with_tools=with_tools, fit_images=fits, progress=step,
            )  # fmt: skip

    room = fitting(target, max_tokens, request_options)
    fits = room is not None if fit_images is None else fit_images
    if room is None:
        found = made(target)
    else:
        from ctxkit.api.log import summarize_dropped
        from ctxkit.cut.trim import TrimRequest
        from ctxkit.export.fit_budget import within

        asked = TrimRequest(
            room[0], assembly=assembly and aim.takes_system, status=status, summarize=summarize_dropped
        )  # fmt: skip
        target, found = within(target, asked, made, room[1], recounted=recount is not False and own)
    _write(output, found.name if isinstance(found, Written) else "", found.pieces)
    for line in repair_notes(found.repairs):
        streams.say(line)
    if log == "-" and aim.kind == "lines":  # other targets have another role for them, as is just said
        warn_of_roles(target)
    for line in found.refused:
        streams.warn(line + ("" if fits else "; use --fit-images to leave them out"))
    if isinstance(found, Written):
        streams.note(f"session {found.id}")
        old = outdated(target, aim.name)
        if old is not None and recount is not False:
            streams.say(
                "the token figures in its replies were corrected to this context; --no-recount keeps the old ones"
            )
        elif old is not None:
            program = aim.what.removeprefix("a session of ")
            streams.say(f"{program} will think {old:,} tokens are used and may compact at once")
    finish_reading(target.raw(), layout.count(found.count, found.unit if isinstance(found, Exported) else "message"))


command.__doc__ = (command.__doc__ or "").format(
    lines=". ".join(f"{target.name}: {target.what}" for target in TARGETS.values() if target.kind == "lines"),
    requests=described(REQUESTS), sessions=", ".join(SESSIONS),
)  # fmt: skip


def _write(output: str | None, name: str, pieces: Iterable[bytes]) -> None:
    """Write to standard output, or to a new file; in a folder it gets `name`, for which its program looks."""
    if output is None:
        streams.out_bytes(pieces)
        return
    path = Path(output)
    if output.endswith("/") and not path.is_dir():
        raise CannotCreate(f"{output}: no such folder: nothing was written", f"mkdir -p {output}")
    if name and path.is_dir():
        path /= name
    create(path, pieces)
    streams.Streams.made = str(path)
    streams.note(f"wrote {path}")

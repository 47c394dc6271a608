"""The Python API: `Log`, with a method per command. Every command of the CLI is a thin caller of it.

What one method alone needs is imported inside it: each command loads this module and calls one method.

Each writing method decides on the state that was read (law 4: the plan is made before the lock), stamps the op,
appends it durably, and returns it. It returns None if nothing needs to change. With `dry_run` nothing is appended.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ctxkit.core.decision import Decision
from ctxkit.core.item_names import Names
from ctxkit.core.ops import Clear, Compact, Op, Resummarized
from ctxkit.core.select import Numbers, Planning, Rank, Selection, selection
from ctxkit.errors import CtxkitError, Warned
from ctxkit.logfile.append import UNKEPT, require_message, require_sayable
from ctxkit.logfile.commit import WritableLog, puts_whole
from ctxkit.logfile.read import Progress
from ctxkit.settings.config import FLAG

if TYPE_CHECKING:
    from ctxkit.core.assembly import Assembly
    from ctxkit.core.findings import Finding
    from ctxkit.core.snapshot import Snapshot, SnapshotHead
    from ctxkit.core.state import State
    from ctxkit.cut.compact import Compacted
    from ctxkit.cut.summarize.summarize_dropped import Write
    from ctxkit.cut.trim import Trimming, TrimSummary
    from ctxkit.explain.diff import Diff
    from ctxkit.export.request import Exported
    from ctxkit.export.resume import Resumption
    from ctxkit.formats.base import Proofs, Written
    from ctxkit.llm.hooks import Hooks
    from ctxkit.measure.agent_contexts import AgentContext
    from ctxkit.measure.status import Status
    from ctxkit.recovery.recover import To
    from ctxkit.recovery.salvage import Salvaged
    from ctxkit.snapshots.make_checkpoint import Checkpoint
    from ctxkit.snapshots.snapshot import TakenSnapshot


class Log(WritableLog):
    """A log of messages and ops: a file, or a stream. `said` and `notes` hold the text of the last decision."""

    compacted: Compacted | None = None
    """The figures of the last `compact`; None if it had nothing to do."""
    cleaned: Sequence[str] = ()
    """What the last `add_message` cleaned up, in words."""

    def add_message(self, record: dict[str, Any], *, as_it_is: bool = False) -> None:
        """Append a message to a native log. `as_it_is`: whatever its role is, and empty too.

        Raises ForeignLog, BadMessage; UnknownRole; Usage for a user's or system message without content.
        If it ends a conversation in which a model forgot messages, the rest of that conversation leaves the context, as
        by `cleanup`. `cleaned` describes this. If it fails, `warned` has the reason, and the message is added anyway.
        """
        require_message(record)
        if not as_it_is:
            require_sayable(record)
        super().add_message(record)
        self.cleaned, self.warned = (), ()
        if self.dry_run or self.opening.path is None or not self.chosen_by_model:
            return
        from ctxkit.changes.cleanup import clean_up

        try:
            self.cleaned = [self.said for _ in clean_up(self)]
        except CtxkitError as error:
            self.warned = [Warned(f"nothing was cleaned up: {error.message}", "cleanup-failed")]

    def cleanup(self, op: str | None = None) -> list[Op]:
        """After a model forgot by `filter_context`, also forget the call's result and the model's answer.

        `op`: the id in the answer to the apply; None: all ops that a model chose and whose answer is in the log.
        Returns an empty list if nothing is left to forget. Raises NoSuchOp; NothingChanges if the answer is not in the
        log yet.
        """
        from ctxkit.changes.cleanup import clean_up, cleanup

        if op is None:
            return list(clean_up(self, all=True))
        found = cleanup(self, op)
        return [] if found is None else [found]

    def ranker(self, asked: Selection, *, leaves: bool, request: Planning | None) -> Rank:
        """Ranks messages by a text, for `--about`."""
        from ctxkit.search.about import About  # imports sqlite3, which only ranking needs

        return About(self, asked, leaves=leaves, request=request)

    def memory_line(self) -> str:
        """A line about the notes of the project of the working folder, for the status of the threads."""
        from ctxkit.memory.memory import Memory

        return Memory().status_line()

    def before_append(self, op: Op) -> None:
        """Make a checkpoint of the context that `op` replaces."""
        if self.keeps_checkpoints and replaces(op):
            from ctxkit.snapshots.make_checkpoint import before_op

            self.warned = before_op(self, op)

    def after_append(self, op: Op) -> None:
        """Remove old checkpoints, unless making one failed: then one warning is enough."""
        if self.keeps_checkpoints and replaces(op) and not self.warned:
            self.prune_checkpoints()

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether checkpoints are made automatically: not for a stream, and not if the config turns them off."""
        opening = self.opening
        streamed = opening.path is None or opening.sidecar is None
        return not streamed and self.config["checkpoint.auto"] is not False

    def checkpoint(self, label: str = "", *, auto: bool = False, also: Collection[str] = ()) -> Checkpoint | None:
        """Save a reference to the current context beside the log; `restore` rebuilds the context from it.

        `said` describes the result. `auto`: only if the newest exchange, or the one before it, wrote a file or made a
        failed command succeed, and has no checkpoint yet; else None is returned. `also`: further triggers, `decision`
        and `milestone`. Raises NothingChanges for an empty context; CannotCreate, NoPermission, Locked; Usage for a
        stream, and for a label that is too long or has more than one line.
        """
        label = self.as_kept(label)
        self.warned, self.notes = (), [UNKEPT] if self.hidden else ()
        if auto:
            from ctxkit.snapshots.triggers import by_itself  # imports tables of commands

            found = by_itself(self, label, also)
        else:
            from ctxkit.snapshots.make_checkpoint import by_hand

            found = by_hand(self, label)
        self.said = "No checkpoint: nothing new since the last one." if found is None else found.said
        if found is not None and found.new:
            self.prune_checkpoints()
        return found

    def prune_checkpoints(self) -> None:
        """Remove the checkpoints that are too old to keep; `notes` and `warned` report it."""
        from ctxkit.snapshots.make_checkpoint import prune

        try:
            pruned = prune(self)
            self.notes = [*self.notes, *pruned]
        except CtxkitError as error:
            self.warned = [*self.warned, Warned(f"no checkpoint was removed: {error.message}", "checkpoint-failed")]

    def weigh(self, after: State) -> None:
        """Count the tokens of the context after an op, if a token log is kept and they are not counted yet."""
        if self.figures is None and self.meter is not None:
            from ctxkit.measure.size import change  # imports sqlite3, which only counting needs

            self.tell(change(self, after))

    def mark(self, label: str | None = None) -> Op | None:
        """Set a mark, to which `rewind` goes back."""
        from ctxkit.changes import marks

        return self.commit("mark", lambda: marks.mark(self.here(), label))

    def rewind(self, label: str | None = None) -> Op | None:
        """Drop the messages after the newest mark, or after the newest mark with this label. Raises NoMark."""
        from ctxkit.changes import marks

        return self.commit("rewind", lambda: marks.rewind(self.state(), self.here(), label))

    def forget(self, numbers: Numbers = (), *, planning: Numbers = (), **asked: Any) -> Op | None:
        """Take messages out of the context. `asked`: the fields of `Selection`, and those of `ForgetRequest`.

        `images=True`: only the pictures of these messages; `larger_than`: only their parts that are larger, in tokens
        (5000, "5k") or bytes ("2MB"). With these two the messages stay, and without numbers or criteria all messages of
        the context are meant. Raises UnknownMessage, NothingMatched, NothingChanges, and what a selection raises.
        """
        return self.commit("forget", lambda: self.plan_forget(numbers, planning=planning, **asked))

    def remember(self, numbers: Numbers = (), *, planning: Numbers = (), **asked: Any) -> Op | None:
        """Keep only these messages, those of the system, and protected ones."""
        return self.commit("remember", lambda: self.plan_remember(numbers, planning=planning, **asked))

    def plan_forget(self, numbers: Numbers = (), *, planning: Numbers = (), **asked: Any) -> Decision:
        """The decision of `forget`, without appending it."""
        from ctxkit.changes import forget_selection

        return forget_selection.forget(self, numbers, planning, asked)

    def plan_remember(self, numbers: Numbers = (), *, planning: Numbers = (), **asked: Any) -> Decision:
        """The decision of `remember`, without appending it."""
        from ctxkit.changes import forget_selection

        return forget_selection.remember(self, numbers, planning, asked)

    def again(self, op: Compact, covered: Names, leave: Names) -> Resummarized | None:
        """The summary of `op` written again for the messages `covered` only, because `leave` are forgotten; None if
        that is not possible.
        """
        from ctxkit.cut.summarize.resummarize import resummarize  # imports the strategies, which are rarely needed here

        return resummarize(self, op, covered, leave)

    def clear(self, agent: str | None = None, *, keep_protected: bool = False) -> Op | None:
        """Empty the context: all messages and marks leave it."""
        from ctxkit.changes import clear as clearing

        return self.commit(
            "clear", lambda: clearing.clear(self.state(), self.here(), agent, keep_protected=keep_protected)
        )

    def protect(self, numbers: Numbers = (), **criteria: Any) -> Op | None:
        """Protect these messages from compact, trim, window, remember, and forget without `force`."""
        from ctxkit.changes import protect

        asked = selection(numbers, criteria)
        return self.commit("protect", lambda: protect.protect(self.state(), self.here(), self.select(asked)))

    def unprotect(self, numbers: Numbers = (), *, force: bool = False, **criteria: Any) -> Op | None:
        """Remove the protection of these messages; the system preamble needs `force`."""
        from ctxkit.changes import protect

        asked = selection(numbers, criteria)
        return self.commit(
            "unprotect", lambda: protect.unprotect(self.state(), self.here(), self.select(asked), force=force)
        )

    def recall(self, numbers: Numbers = (), **criteria: Any) -> Op | None:
        """Bring back messages that an op took out, but not across a clear or edit. Criteria search all messages.

        Raises UnknownMessage, NothingMatched, NothingChanges, and what a selection raises.
        """
        return self.commit("recall", lambda: self.plan_recall(numbers, **criteria))

    def plan_recall(self, numbers: Numbers = (), **criteria: Any) -> Decision:
        """The decision of `recall`, without appending it."""
        from ctxkit.changes import recall as recalling

        asked = selection(numbers, criteria)
        chosen = self.select(asked, list(self.state().everything()))
        return recalling.recall(self.state(), self.here(), chosen, self.projection(), named=not asked.criteria)

    def trim(
        self, max_tokens: int | str | None = None, *, keep: int | None = None, keep_results: int | None = None,
        exclude_tools: Iterable[str] = (), clear_at_least: int = 0, clear_inputs: bool | None = None,
        overflow: str | None = None, assembly: bool = True, fit_images: bool = True, strategy: str | None = None,
    ) -> Op | None:  # fmt: skip
        """Cut the context to `max_tokens` (30000, or "30%" of the limit), by default to the limit less the reserve.

        Returns None if it fits already. `keep`, `keep_results`: this many newest exchanges and newest results stay
        while older ones can go (default: the config's); `exclude_tools`: calls and results of these tools are not
        shortened; `clear_at_least`: tokens to save, if anything is cut; `clear_inputs`: also shorten the arguments of
        old calls (None: the config's); `overflow`: a provider's error message, which has the limit; `assembly`: count
        what is put around the messages; `fit_images`: leave out the oldest pictures beyond the provider's limits;
        `strategy`: what leaves first, `oldest` or `episodes` (None: the config's).
        Raises DoesNotFit; BadConfig if no limit is known; NoRefusal; Usage.
        """
        from ctxkit.cut.trim import TrimRequest, trim

        asked = TrimRequest(
            max_tokens, keep, keep_results, tuple(exclude_tools), clear_at_least, clear_inputs, overflow, assembly,
            images=fit_images, strategy=strategy, summarize=summarize_dropped,
        )  # fmt: skip
        return self.commit("trim", lambda: trim(self, asked))

    def compact(
        self, numbers: Numbers = (), *, target: float | str | None = None, budget: int | None = None,
        keep_last: int | None = None, keep_steps: int | None = None, strategy: str | None = None,
        summary: str | None = None, force: bool = False, summary_model: str | None = None, fast: bool = False,
        fallback: bool = True, hooks: Hooks | None = None, focus: str = "", **criteria: Any,
    ) -> Op | None:  # fmt: skip
        """Replace old messages by a summary of them; `compacted` has the figures.

        Returns None if there is nothing to summarize, if the context is not full, or if it fits the `budget`.
        `target`: the size to reach, in percent of the tokens of all messages (30 or "30%"), `budget`: the same in
        tokens (default: the config's); `keep_last`, `keep_steps`: this many newest exchanges or steps stay (None: as
        many as fit their share); `strategy`: extract, mask, truncate or llm; `summary`: a text to use as the summary;
        `summary_model`: the model that llm asks (default: `compact.model`; with `fast` `compact.fast_model`),
        `fallback`: use rules if the model fails, `hooks`: called meanwhile; `focus`: lines with these words count more,
        for extract and llm; `numbers`, `criteria`: what may be replaced, as in `forget`; `force`: compact even if the
        context is not full.
        Raises NothingChanges if the context would not be smaller; CoolingDown, BadConfig, BadSummary, ModelFailed,
        Usage, and what a selection raises.
        """
        from ctxkit.cut.compact import CompactRequest, compact
        from ctxkit.llm.hooks import Hooks

        asked = CompactRequest(
            target, budget, keep_last, keep_steps, strategy, summary, force, selection(numbers, criteria),
            summary_model, fast, fallback, hooks or Hooks(), focus,
        )  # fmt: skip

        def decide() -> Decision:
            decision, self.compacted = compact(self, asked)
            return decision

        return self.commit("compact", decide)

    def snapshot(
        self, description: str = "", *, tags: Iterable[str] = (), all: bool = False, agent: str | None = None,
        summary: str | None = None, summary_model: str | None = None, fast: bool = False, hooks: Hooks | None = None,
    ) -> TakenSnapshot:  # fmt: skip
        """Save the visible context of all threads as a file beside the log; `all`: without the window; `agent`: only
        what this agent sees.

        If the same snapshot exists already, no second one is made. For a stream nothing is written: the result's
        `pieces` are the file. `summary`: a text to use as its summary; `summary_model`, `fast`, `hooks`: the model that
        writes it, as in `compact` (default: rules write it, unless the config's `compact.strategy` is llm); if that
        fails, the summary says so.
        Raises NothingChanges for an empty context, UnknownAgent, CannotCreate, NoPermission, Locked, Usage, BadConfig.
        """
        from ctxkit.cut.summarize.ask_model import gist_by_model, require_text
        from ctxkit.snapshots.snapshot import TakenSnapshot, keep, take

        require_text("the summary", summary, "summary=TEXT; a model is named: summary_model=NAME")
        typed = self.as_kept({"description": description, "tags": list(tags)})
        description, tags = str(typed["description"]), typed["tags"]
        self.noticed += [UNKEPT] if self.hidden else []
        asked = gist_by_model(self, summary_model, fast=fast, given=summary is not None, hooks=hooks)
        kept = keep(self, description, tags=tags, all=all, agent=agent, summary=asked or summary)
        return TakenSnapshot(kept) if self.opening.path is None else take(self, kept)

    def snapshots(self) -> list[SnapshotHead]:
        """The snapshots of this log, the newest first, without damaged files. Raises Usage for a stream."""
        from ctxkit.snapshots.make_checkpoint import shelf

        return [one.head for one in shelf(self).found() if one.head is not None]

    def draft(self, numbers: Numbers = (), *, only_context: bool = False, plain: bool = False, **criteria: Any) -> str:
        """The log's messages as a text to edit, for `edit`; messages outside the context are commented out.

        `numbers`, `criteria`: only these messages; the edit leaves the others unchanged. `only_context`: only messages
        of the context. `plain`: as a conversation, `[time] Name: text`, for persona chats.
        Raises NothingMatched; Usage for a sidechain; and what a selection raises.
        """
        from ctxkit.edit.edit import Editing

        return Editing.of(self, selection(numbers, criteria), only_context=only_context, plain=plain).text

    def edit(self, draft: str) -> Op | None:
        """Make the context what an edited draft says. Returns None if the draft changes nothing.

        Messages that were appended since the draft was made come after its messages. Raises BadDraft; NothingChanges
        for a draft without any message; UpdatedElsewhere if other ops were appended since it was made.
        """
        from ctxkit.edit.edit import Applying

        applying = Applying(self, draft)
        return self.commit("edit", applying.decide, applying.recheck)

    def restore(
        self, snapshot: str | os.PathLike[str] | Snapshot, *, replace: bool = False, summary: bool = False,
        append: bool = False,
    ) -> Op | None:  # fmt: skip
        """Bring back those messages of a snapshot that are not visible now, to their places in this log.

        Returns None if all are visible. `replace`: the context becomes exactly the snapshot; `summary`: bring back only
        its summary; `append`: put them at the end. `snapshot`: an id, the beginning of one, a description, `latest`, a
        file, or a `Snapshot`. A snapshot of another log is restored as copies of its messages at the end, without a
        question; also one of another model. Raises NoSuchSnapshot, BadSnapshot; NoSuchLog for a file that does not
        exist; UpdatedElsewhere, Usage.
        """
        from ctxkit.core.snapshot import Snapshot
        from ctxkit.snapshots.restore import restore

        kept = snapshot if isinstance(snapshot, Snapshot) else str(snapshot)
        return restore(self, kept, replace=replace, summary=summary, append=append)

    def recover(self, to: To | None = None) -> Op | None:
        """After a crash, take an unfinished end out of the context. Returns None if nothing needs to leave.

        `to`: go back to the end of the last complete `step` of the unfinished exchange, to its `question`, to the end
        of the last complete `exchange`, or to the newest `checkpoint`; None: the newest of the first three.
        `ctxkit.recovery.recover.recovery(log)` gives the points of a log. Raises UpdatedElsewhere if the log grew
        meanwhile; Usage for a point that the log does not have; NoSuchSnapshot; and what `restore` raises.
        """
        from ctxkit.recovery.recover import recover

        return recover(self, to)

    def fit(
        self, max_tokens: int | str | None, *, assembly: bool = True, status: str | None = None, origin: str = FLAG
    ) -> None:
        """Trim this object's context to `max_tokens`, by default to the budget; nothing is appended.

        `fitted` describes what was cut; `origin`: who asks for it. `assembly`, `status`: count what is put around the
        messages, as in `export`. Raises DoesNotFit; BadConfig if no limit is known.
        """
        from ctxkit.cut.enforce import fit
        from ctxkit.cut.trim import TrimRequest

        fit(self, TrimRequest(max_tokens, assembly=assembly, status=status, summarize=summarize_dropped), origin)

    def enforce(self, *, assembly: bool = True, status: str | None = None) -> None:
        """Call `fit` if the config's `budget.enforce` is set. Raises what `fit` raises."""
        if self.config["budget.enforce"]:
            self.fit(None, assembly=assembly, status=status, origin=self.config.origin("budget.enforce"))

    def require_room(self, *records: Mapping[str, Any]) -> None:
        """Raises ContextFull if the budget has no room for these user messages.

        `records`: as for `add_message`. Raises BadConfig if no limit is known.
        """
        from ctxkit.cut.enforce import require_room

        require_room(self, records)

    def undo(self, op: str | None = None) -> Op | None:
        """Void one op: the newest in force, or the one with this number, id or prefix. Raises NoSuchOp."""
        from ctxkit.changes import undo as undoing

        return self._void(lambda: undoing.undo(self.ledger, self.here(), op))

    def redo(self) -> Op | None:
        """Void the newest undo. Raises NoSuchOp."""
        from ctxkit.changes import undo as undoing

        return self._void(lambda: undoing.redo(self.ledger, self.here()))

    def set_window(self, seconds: int, agent: str | None = None, asked: str = "") -> Op | None:
        """Set the time window in seconds, within the bounds of the config."""
        from ctxkit.changes import window

        return self.commit(
            "window", lambda: window.set_to(self.state(), self.here(), self.bounds(), seconds, agent, asked)
        )

    def shift_window(self, seconds: int, agent: str | None = None, asked: str = "") -> Op | None:
        """Widen (or, negative, narrow) the window in force. Raises WindowOff."""
        from ctxkit.changes import window

        return self.commit(
            "window", lambda: window.shift(self.state(), self.here(), self.bounds(), seconds, agent, asked)
        )

    def reset_window(self, agent: str | None = None) -> Op | None:
        """Return to the default window."""
        from ctxkit.changes import window

        return self.commit("window", lambda: window.reset(self.state(), self.here(), self.bounds(), agent))

    def window_off(self, agent: str | None = None) -> Op | None:
        """Turn the time window off."""
        from ctxkit.changes import window

        return self.commit("window", lambda: window.off(self.state(), self.here(), self.bounds(), agent))

    def export(
        self, to: str, *, model: str = "", assembly: bool = True, status: str | None = None,
        keep_thinking: bool = False, with_tools: bool = False, fit_images: bool = False,
        tools: Container[str] = frozenset(),
        progress: Progress | None = None,
    ) -> Exported:  # fmt: skip
        """The context for `to`: chat lines or the body of a request (`ctxkit export --help` lists the targets).

        `assembly`: put the config's texts around it, for a provider; `status` as in `assembled`. `keep_thinking`: keep
        thinking that the provider takes but does not need; for a model of Claude that binds it, the thinking before the
        first change: the caller must send the same system prompt and tools as the log's program did. `with_tools`: for
        anthropic, put the system prompt and tools that the log records into the request; thinking after the same bytes
        stays. `fit_images`: leave out the oldest pictures beyond the provider's limits; without it the result's
        `refused` lists what the provider will not accept. `tools`: names of the tools that the caller sends; for
        Anthropic, what a tool search found of other tools becomes text. `progress`: called with the number of messages
        read and of all. Raises NothingToSend; Usage for another target; and what `assembled` raises.
        """
        from ctxkit.export.fit_images import fitted
        from ctxkit.export.redacted import without_secrets
        from ctxkit.export.request import export
        from ctxkit.formats.targets import no_session
        from ctxkit.store.spool import Spool

        no_session(to)

        def make(log: Log) -> Exported:
            made = export(
                log.raw(), to, model=model, assembly=assembly, status=status, keep_thinking=keep_thinking,
                with_tools=with_tools, tools=tools, progress=progress,
            )  # fmt: skip
            if log.redactor is not None:
                made.spool = Spool(without_secrets(made.pieces, log.redactor, made.repairs))
            return made

        return fitted(self, to, model, make, fit=fit_images)

    def session(
        self, to: str, *, keep_id: bool = False, recount: bool | None = None, model: str = "", fit_images: bool = False,
        instructions: bool = False, cwd: str = "", id: str = "",
        progress: Progress | None = None,
    ) -> Written:  # fmt: skip
        """The context as a session file that the program of format `to` can continue. Raises NothingToSend, Usage.

        In the log's own format every record that stays keeps its bytes, except for ids; `keep_id` keeps the session's
        id too. If ops changed the context, the token counts recorded in its replies are recounted; `recount=False`
        keeps the old ones. `model`: the model to name where the log names none. `instructions`: also give another
        program the instructions of the log's own (system prompt, rules of its sandbox). `cwd`: the folder named in new
        records; "" for that of this process. `id`: the session's id, a UUID, from which all other ids are made; "" for
        new ones. `fit_images`, `progress` as in `export`.
        """
        from ctxkit.export.fit_images import fitted
        from ctxkit.export.session import fresh, from_id, session

        def make(log: Log) -> Written:
            return session(
                log.raw(), to, keep_id=keep_id, recount=recount, model=model, instructions=instructions, cwd=cwd,
                unique=from_id(id) if id else fresh, progress=progress,
            )  # fmt: skip

        return fitted(self, to, model, make, fit=fit_images)

    def resume(
        self, to: str = "", *, cwd: str = "", moves: Sequence[tuple[str, str]] = (), id: str = "", copy: bool = False,
        env: Mapping[str, str] | None = None, progress: Progress | None = None,
    ) -> Resumption:  # fmt: skip
        """Write the context as a new session file where an agent looks for it; the result has the line to type.

        `to`: the agent, by the name of its format; "" for the log's own. `cwd`: the folder to continue in, if the
        session's own has moved; `moves`: pairs of old and new beginnings of folders. `id`: of the new session, a UUID.
        A session that the agent has already, and whose context no op changed, is written again only with `copy`.
        `env`: the environment (default: the process's own), which says where agents keep their sessions. With `dry_run`
        nothing is written. Raises CannotCreate, NoPermission, NothingToSend, Usage.
        """
        from ctxkit.export.resume import destination

        aim = destination(self, to, cwd=cwd, moves=moves, id=id, copy=copy, env=os.environ if env is None else env)
        made = aim.resumption(self.session(aim.agent.format, **aim.options, progress=progress))
        if not self.dry_run:
            made.write()
        return made

    def status(self, *, tokens: bool = True, limit: int | None = None, assembly: bool = True) -> Status:
        """How full the context is, what is in it and what is not, and the state of the log. `limit`: in tokens."""
        from ctxkit.measure.status import status

        return status(self, tokens=tokens, limit=limit, assembly=assembly)

    def agent_contexts(self) -> tuple[list[AgentContext], list[str]]:
        """What each agent of the log and of the config has in its context; and what could not be counted, in words.

        Raises Misfit, DamagedOp, BadTime.
        """
        from ctxkit.measure.agent_contexts import agent_contexts

        trouble: list[str] = []
        return list(agent_contexts(self, trouble)), trouble

    def assembled(self, status: str | None = None) -> Assembly:
        """What is put around the context when it is shown or sent: system prompt, docs, status of the threads.

        `status`: a text to put after the status of the threads, instead of the file `assembly.status`. Raises BadConfig
        for a file that is missing, too large or not text; NoPermission, ReadFailed, UnknownAgent.
        """
        from ctxkit.logfile.assembly_sources import assemble

        return assemble(self, status)

    def check(self, proved: Proofs | None = None, *, notes: bool = False) -> list[Finding]:
        """Findings in the log and beside it: damage, ops that do not fit, a context other than the one that was sent,
        and what the log's program would send to be refused. An empty list if there are none.

        `proved`: the result of `proofs()`, if the caller has it already; `notes`: also notes, which are no faults:
        interrupted calls, copies, forks.
        """
        from ctxkit.recovery.check import check

        return check(self, proved, notes=notes)

    def salvage(self) -> Salvaged:
        """A clean copy of the log, in pieces, and every range of bytes that the copy leaves out or changes.

        Ops in a sidecar stay there. Raises UnknownFormat for one damaged JSON text, which has no records to copy.
        """
        from ctxkit.recovery.salvage import salvage

        return salvage(self)

    def proofs(self) -> Proofs:
        """Compares the context before any op with the requests that the log's program recorded."""
        from ctxkit.recovery.check import proofs

        return proofs(self)

    def diff(self, a: str | Log | None = None, b: str | None = None) -> Diff:
        """The differences between two states of this log, or between its context and that of another log.

        `a`, `b`: as `ctxkit diff` takes them (now, op, mark, snapshot). Without `b` it is now; without both, the states
        before and after the newest op in force. Raises Usage for a state that the log does not have.
        """
        from ctxkit.explain.diff import Diff
        from ctxkit.explain.revisions import ComparedState, at_op, newest_change, side

        if isinstance(a, Log):
            return Diff(ComparedState(self, ""), ComparedState(a, ""))
        if a is not None:
            return Diff(side(self, a), side(self, "now" if b is None else b))
        newest = newest_change(self)
        if newest is None:
            return Diff(side(self), side(self))
        return Diff(at_op(self, newest, before=True), at_op(self, newest))

    def _void(self, decide: Callable[[], Decision]) -> Op | None:
        """Commit an undo or redo, with a note if nothing visible changes (replay 45)."""

        def noticed() -> Decision:
            decision = decide()
            if decision.op is not None:
                before = self.shape()
                changed = self.shape(self.state_with(self.stamp(decision.op, self.op_id)))
                if changed == before:
                    decision.notes = [*decision.notes, "nothing visible changes in the context"]
            return decision

        return self.commit("undo", noticed)


def replaces(op: Op) -> bool:
    """Whether an op replaces the context, so that a checkpoint is made before it."""
    return isinstance(op, Compact | Clear) or puts_whole(op)


def summarize_dropped(found: Trimming, write: Write | None = None) -> TrimSummary | None:
    """The summary of what a trim drops; None if there is no room for one. `write`: writes it (default: by rules)."""
    from ctxkit.cut.summarize import summarize_dropped as module  # imports all that makes summaries

    return module.summarize_dropped(found, write)

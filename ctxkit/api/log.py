"""The Python API: `Log`, with a method per command. Every command of the CLI is a thin caller of it.

Each writing method decides on the state as it was read (law 4: the plan is made before the lock), stamps the op,
appends it durably, and returns it; None where the wished state holds already. `dry_run` on the log appends nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ctxkit.changes import clear as clearing
from ctxkit.changes import forget_selection, marks, protect, window
from ctxkit.changes import recall as recalling
from ctxkit.changes import undo as undoing
from ctxkit.core.decision import Decision
from ctxkit.core.item_names import Names
from ctxkit.core.ops import Clear, Compact, Op
from ctxkit.core.select import Numbers, Planning, Rank, Selection, selection
from ctxkit.errors import CtxkitError
from ctxkit.logfile.commit import WritableLog, puts_whole
from ctxkit.logfile.read import Progress

if TYPE_CHECKING:
    from ctxkit.compact.compact import Compacted
    from ctxkit.core.assembly import Assembly
    from ctxkit.core.findings import Finding
    from ctxkit.core.snapshot import Snapshot, SnapshotHead
    from ctxkit.core.state import State
    from ctxkit.explain.diff import Diff
    from ctxkit.export.request import Exported
    from ctxkit.export.resume import Resumption
    from ctxkit.formats.base import Proofs, Written
    from ctxkit.llm.hooks import Hooks
    from ctxkit.measure.status import Status
    from ctxkit.recovery.recover import To
    from ctxkit.recovery.salvage import Salvaged
    from ctxkit.snapshots.make_checkpoint import Checkpoint
    from ctxkit.snapshots.snapshot import TakenSnapshot
    from ctxkit.trim.trim import Trimming, TrimSummary


class Log(WritableLog):
    """A log of messages and ops: a file, or a stream. `said` and `notes` hold the words of the last decision."""

    compacted: Compacted | None = None
    """What the last `compact` did, in figures; None where it had nothing to do."""
    cleaned: Sequence[str] = ()
    """What the last `add_message` cleaned up, in words."""

    def add_message(self, record: dict[str, Any]) -> None:
        """Append a message to a native log. Raises ForeignLog, BadMessage.

        Where it ends a conversation in which a model forgot, what is left of that leaves, as by `cleanup`: `cleaned`
        says so, and `warned` where that failed; the message is there all the same.
        """
        super().add_message(record)
        self.cleaned, self.warned = (), ()
        if self.dry_run or self.opening.path is None or not self.chosen_by_model:
            return
        from ctxkit.changes.cleanup import clean_up

        try:
            self.cleaned = [self.said for _ in clean_up(self)]
        except CtxkitError as error:
            self.warned = [f"nothing was cleaned up: {error.message}"]

    def cleanup(self, op: str | None = None) -> list[Op]:
        """After a model forgot by `filter_context`: the call's result and the model's answer leave, too.

        `op`: the id that the answer to the apply names; None: of all that a model did, as far as its answer is there.
        An empty list where nothing is left. Raises NoSuchOp, NothingChanges where its answer is not there yet.
        """
        from ctxkit.changes.cleanup import clean_up, cleanup

        if op is None:
            return list(clean_up(self, all=True))
        found = cleanup(self, op)
        return [] if found is None else [found]

    def ranker(self, asked: Selection, *, leaves: bool, request: Planning | None) -> Rank:
        """Ranks messages by a text, for `--about`."""
        from ctxkit.search.about import About  # brings sqlite3: only where messages are ranked

        return About(self, asked, leaves=leaves, request=request)

    def before_append(self, op: Op) -> None:
        """A checkpoint of what `op` replaces."""
        if self.keeps_checkpoints and replaces(op):
            from ctxkit.snapshots.make_checkpoint import before_op

            self.warned = before_op(self, op)

    def after_append(self, op: Op) -> None:
        """Old checkpoints go; not where the folder is in a bad state: one warning says so."""
        if self.keeps_checkpoints and replaces(op) and not self.warned:
            self.prune_checkpoints()

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether they are made unasked: not of a stream, and not where the config says that none are."""
        opening = self.opening
        streamed = opening.path is None or opening.sidecar is None
        return not streamed and self.config["checkpoint.auto"] is not False

    def checkpoint(self, label: str = "", *, auto: bool = False, also: Collection[str] = ()) -> Checkpoint | None:
        """Keep a reference to the context as it is, with the log's file: `restore` rebuilds it. `said` tells of it.

        `auto`: only where the newest exchange, or the one that it follows, wrote a file or got a failed command to
        succeed, and has none yet; None where not. `also`: where one of these happened too, `decision`,
        `milestone`. Raises NothingChanges for an empty context, CannotCreate,
        NoPermission, Locked, Usage for a stream, and for a label that is no line, or too long.
        """
        self.warned, self.notes = (), ()
        if auto:
            from ctxkit.snapshots.triggers import by_itself  # brings tables of commands

            found = by_itself(self, label, also)
        else:
            from ctxkit.snapshots.make_checkpoint import by_hand

            found = by_hand(self, label)
        self.said = "No checkpoint: nothing new since the last one." if found is None else found.said
        if found is not None and found.new:
            self.prune_checkpoints()
        return found

    def prune_checkpoints(self) -> None:
        """Let go of the checkpoints that have outlived their time; `notes` and `warned` tell of it."""
        from ctxkit.snapshots.make_checkpoint import prune

        try:
            pruned = prune(self)
            self.notes = [*self.notes, *pruned]
        except CtxkitError as error:
            self.warned = [*self.warned, f"no checkpoint was removed: {error.message}"]

    def weigh(self, after: State) -> None:
        """Count what an op makes of the context, where account of it is kept, unless it is counted."""
        if self.figures is None and self.meter is not None:
            from ctxkit.measure.size import change  # brings sqlite3: only where tokens are counted

            self.tell(change(self, after))

    def mark(self, label: str | None = None) -> Op | None:
        """A point to come back to."""
        return self.commit("mark", lambda: marks.mark(self.here(), label))

    def rewind(self, label: str | None = None) -> Op | None:
        """Drop the messages that came after the newest mark, or the newest so labelled. Raises NoMark."""
        return self.commit("rewind", lambda: marks.rewind(self.state(), self.here(), label))

    def forget(self, numbers: Numbers = (), *, planning: Numbers = (), **asked: Any) -> Op | None:
        """Take messages out of the context. `asked`: the fields of `Selection`, and those of `ForgetRequest`.

        `images=True`: only the pictures of these messages; `larger_than`: only parts of them that are larger, tokens as
        5000 or "5k", bytes as "2MB". The messages stay; of all in the context where none are named.
        Raises UnknownMessage, NothingMatched, NothingChanges and what a selection raises.
        """
        return self.commit("forget", lambda: self.plan_forget(numbers, planning=planning, **asked))

    def remember(self, numbers: Numbers = (), *, planning: Numbers = (), **asked: Any) -> Op | None:
        """Keep only these messages, the system's and protected ones."""
        return self.commit("remember", lambda: self.plan_remember(numbers, planning=planning, **asked))

    def plan_forget(self, numbers: Numbers = (), *, planning: Numbers = (), **asked: Any) -> Decision:
        """What `forget` would append, for a preview."""
        return forget_selection.forget(self, numbers, planning, asked)

    def plan_remember(self, numbers: Numbers = (), *, planning: Numbers = (), **asked: Any) -> Decision:
        """What `remember` would append, for a preview."""
        return forget_selection.remember(self, numbers, planning, asked)

    def again(self, op: Compact, told: Names, leave: Names) -> str | None:
        """The words of a summary that `op` made, for the names `told` alone, when `leave` leave; None where it cannot
        be made again.
        """
        from ctxkit.compact.resummarize import again  # brings the strategies: only where a summary tells what leaves

        return again(self, op, told, leave)

    def clear(self, agent: str | None = None, *, keep_protected: bool = False) -> Op | None:
        """Start afresh: all messages and marks leave the context."""
        return self.commit(
            "clear", lambda: clearing.clear(self.state(), self.here(), agent, keep_protected=keep_protected)
        )

    def protect(self, numbers: Numbers = (), **criteria: Any) -> Op | None:
        """Keep these from compact, trim, window, remember and an unforced forget."""
        asked = selection(numbers, criteria)
        return self.commit("protect", lambda: protect.protect(self.state(), self.here(), self.select(asked)))

    def unprotect(self, numbers: Numbers = (), *, force: bool = False, **criteria: Any) -> Op | None:
        """Take protection away; the system preamble's needs `force`."""
        asked = selection(numbers, criteria)
        return self.commit(
            "unprotect", lambda: protect.unprotect(self.state(), self.here(), self.select(asked), force=force)
        )

    def recall(self, numbers: Numbers = (), **criteria: Any) -> Op | None:
        """Bring messages back that an op took out, but not across a clear or edit. Criteria see everything there is.

        Raises UnknownMessage, NothingMatched, NothingChanges and what a selection raises.
        """
        return self.commit("recall", lambda: self.plan_recall(numbers, **criteria))

    def plan_recall(self, numbers: Numbers = (), **criteria: Any) -> Decision:
        """What `recall` would append, for a preview."""
        asked = selection(numbers, criteria)
        chosen = self.select(asked, list(self.state().everything()))
        return recalling.recall(self.state(), self.here(), chosen, self.projection(), named=not asked.criteria)

    def trim(
        self, max_tokens: int | str | None = None, *, keep: int | None = None, keep_results: int | None = None,
        exclude_tools: Iterable[str] = (), clear_at_least: int = 0, clear_inputs: bool | None = None,
        overflow: str | None = None, assembly: bool = True, fit_images: bool = True,
    ) -> Op | None:  # fmt: skip
        """Make the context fit `max_tokens` (30000; "30%" of the limit), else the limit less the reserve. None where it
        fits.

        `keep`: newest exchanges, `keep_results`: newest results that stay while older ones can go (default: as the
        config says); `exclude_tools`: whose calls and results are not shortened; `clear_at_least`: tokens to save, once
        anything is cut; `clear_inputs`: shorten the arguments of old calls too (None: as the config says); `overflow`:
        a provider's refusal, whose figures count; `assembly`: what is put around the messages has its room in the
        budget; `fit_images`: the oldest pictures beyond what the provider takes are left out. Raises DoesNotFit,
        BadConfig where no limit is known, NoRefusal.
        """
        from ctxkit.trim.trim import TrimRequest, trim

        asked = TrimRequest(
            max_tokens, keep, keep_results, tuple(exclude_tools), clear_at_least, clear_inputs, overflow, assembly,
            images=fit_images, summarize=summarize_dropped,
        )  # fmt: skip
        return self.commit("trim", lambda: trim(self, asked))

    def compact(
        self, numbers: Numbers = (), *, target: float | str | None = None, budget: int | None = None,
        keep_last: int | None = None, keep_steps: int | None = None, strategy: str | None = None,
        summary: str | None = None, force: bool = False, summary_model: str | None = None, fast: bool = False,
        fallback: bool = True, hooks: Hooks | None = None, **criteria: Any,
    ) -> Op | None:  # fmt: skip
        """Replace old messages by a summary of them, which `compacted` tells of in figures. None where there is nothing
        to condense, where the context is not full, or fits the `budget`.

        `target`: percent of the tokens of all messages (30 or "30%"), `budget`: so many tokens (default: as the
        config says); `keep_last`: newest exchanges, `keep_steps`: newest steps that stay (None: as many as their share
        has room for); `strategy`: extract, mask, truncate or llm; `summary`: what stands for the messages, by whoever
        wrote it; `summary_model`, `fast`: who is asked by llm (default: `compact.model`; the config's fast one),
        `fallback`: rules take over where that fails, `hooks`: what is called meanwhile; `numbers`, `criteria`: what may
        be replaced, as of `forget`; `force`: also where the context is not full.
        Raises NothingChanges where it would not be smaller, CoolingDown, BadConfig, BadSummary, ModelFailed, Usage, and
        what a selection raises.
        """
        from ctxkit.compact.compact import CompactRequest, compact
        from ctxkit.llm.hooks import Hooks

        asked = CompactRequest(
            target, budget, keep_last, keep_steps, strategy, summary, force, selection(numbers, criteria),
            summary_model, fast, fallback, hooks or Hooks(),
        )  # fmt: skip

        def decide() -> Decision:
            decision, self.compacted = compact(self, asked)
            return decision

        return self.commit("compact", decide)

    def snapshot(
        self, description: str = "", *, tags: Iterable[str] = (), all: bool = False, summary: str | None = None,
        summary_model: str | None = None, fast: bool = False, hooks: Hooks | None = None,
    ) -> TakenSnapshot:  # fmt: skip
        """Keep the visible context of all threads as a file beside the log; `all`: without the window. Taken again, the
        same is there already. Of a stream nothing is written: the result's `pieces` are the file.

        `summary`: words for it by whoever wrote them; `summary_model`, `fast`, `hooks`: who is asked for them, as of
        `compact` (default: made by rules, unless the config's `compact.strategy` is llm); where that fails they say so.
        Raises NothingChanges for an empty context, CannotCreate, NoPermission, Locked, Usage, BadConfig.
        """
        from ctxkit.compact.ask_model import require_text, teller
        from ctxkit.snapshots.snapshot import TakenSnapshot, keep, take

        require_text("the summary", summary, "summary=TEXT; a model is named: summary_model=NAME")
        asked = teller(self, summary_model, fast=fast, given=summary is not None, hooks=hooks)
        kept = keep(self, description, tags=tags, all=all, summary=asked or summary)
        return TakenSnapshot(kept) if self.opening.path is None else take(self, kept)

    def snapshots(self) -> list[SnapshotHead]:
        """What was kept of this log, the newest first; damaged files are left out. Raises Usage for a stream."""
        from ctxkit.snapshots.make_checkpoint import shelf

        return [one.head for one in shelf(self).found() if one.head is not None]

    def draft(self, numbers: Numbers = (), *, only_context: bool = False, **criteria: Any) -> str:
        """The log's messages as a text to edit, which `edit` takes; those out of the context are commented out.

        `numbers`, `criteria`: only these; the others stay as they are. `only_context`: only what is in the context.
        Raises NothingMatched, Usage for a sidechain, and what a selection raises.
        """
        from ctxkit.edit.edit import Editing

        return Editing.of(self, selection(numbers, criteria), only_context=only_context).text

    def edit(self, draft: str) -> Op | None:
        """Make the context what an edited draft says. None where it changes nothing.

        Raises BadDraft, NothingChanges for a draft without any message, UpdatedElsewhere where other ops were appended
        since it was made; messages that came since stay behind what it says.
        """
        from ctxkit.edit.edit import Applying

        applying = Applying(self, draft)
        return self.commit("edit", applying.decide, applying.recheck)

    def restore(
        self, snapshot: str | os.PathLike[str] | Snapshot, *, replace: bool = False, summary: bool = False
    ) -> Op | None:
        """Bring a snapshot back: what of it is not visible now; `replace`: exactly it; `summary`: its summary alone.
        None where all of it is visible.

        `snapshot`: an id, its beginning, a description, `latest`, a file, or a snapshot at hand. Nobody is asked where
        it is of another log (its messages come as copies then) or model. Raises NoSuchSnapshot, BadSnapshot, NoSuchLog
        for a file that is not there, UpdatedElsewhere, Usage.
        """
        from ctxkit.core.snapshot import Snapshot
        from ctxkit.snapshots.restore import restore

        kept = snapshot if isinstance(snapshot, Snapshot) else str(snapshot)
        return restore(self, kept, replace=replace, summary=summary)

    def recover(self, to: To | None = None) -> Op | None:
        """After a crash: go back to the end of the last whole `step` of an exchange without an end, or of the last
        complete `exchange`, or the `question` (None: the newest there is), or to the newest `checkpoint`. None where
        nothing needs to leave.

        `recovering.recovery(log)` tells what was found. Raises UpdatedElsewhere where the log went on meanwhile, Usage
        for a point that it does not have, NoSuchSnapshot, and what `restore` raises.
        """
        from ctxkit.recovery.recover import recover

        return recover(self, to)

    def fit(
        self, max_tokens: int | str | None, *, assembly: bool = True, status: str | None = None, origin: str = "flag"
    ) -> None:
        """From now on this object's context is the one that a trim to `max_tokens`, else to the budget, makes; nothing
        is appended.

        `fitted` says what that took; `origin`: who asks for it. `assembly`, `status`: what is put around it, as of
        `export`; it has its room in the budget. Raises DoesNotFit, BadConfig where no limit is known.
        """
        from ctxkit.trim.enforce import fit
        from ctxkit.trim.trim import TrimRequest

        fit(self, TrimRequest(max_tokens, assembly=assembly, status=status, summarize=summarize_dropped), origin)

    def enforce(self, *, assembly: bool = True, status: str | None = None) -> None:
        """Where the config's `budget.enforce` asks for it: `fit` to the budget. Raises what that raises."""
        if self.config["budget.enforce"]:
            self.fit(None, assembly=assembly, status=status, origin=self.config.origin("budget.enforce"))

    def require_room(self, *records: Mapping[str, Any]) -> None:
        """Raises ContextFull where there is no room in the budget for what the user says in these messages.

        They are as `add_message` takes them. Raises BadConfig where no limit is known.
        """
        from ctxkit.trim.enforce import require_room

        require_room(self, records)

    def undo(self, op: str | None = None) -> Op | None:
        """Void one op: the newest in force, or the one with this number, id or prefix. Raises NoSuchOp."""
        return self._void(lambda: undoing.undo(self.ledger, self.here(), op))

    def redo(self) -> Op | None:
        """Void the newest undo. Raises NoSuchOp."""
        return self._void(lambda: undoing.redo(self.ledger, self.here()))

    def set_window(self, seconds: int, agent: str | None = None, asked: str = "") -> Op | None:
        """Set the time window, in seconds, clamped to the bounds of the config."""
        return self.commit(
            "window", lambda: window.set_to(self.state(), self.here(), self.bounds(), seconds, agent, asked)
        )

    def shift_window(self, seconds: int, agent: str | None = None, asked: str = "") -> Op | None:
        """Widen (or, negative, narrow) the window in force. Raises WindowOff."""
        return self.commit(
            "window", lambda: window.shift(self.state(), self.here(), self.bounds(), seconds, agent, asked)
        )

    def reset_window(self, agent: str | None = None) -> Op | None:
        """Follow the default again."""
        return self.commit("window", lambda: window.reset(self.state(), self.here(), self.bounds(), agent))

    def window_off(self, agent: str | None = None) -> Op | None:
        """No window."""
        return self.commit("window", lambda: window.off(self.state(), self.here(), self.bounds(), agent))

    def export(
        self, to: str, *, model: str = "", assembly: bool = True, status: str | None = None,
        keep_thinking: bool = False, with_tools: bool = False, fit_images: bool = False,
        tools: Container[str] = frozenset(),
        progress: Progress | None = None,
    ) -> Exported:  # fmt: skip
        """The context for `to`: chat lines or the body of a request (`ctxkit export --help` lists the targets).

        Raises NothingToSend, Usage for another target, and what `assembled` raises.
        A provider gets what is assembled around it too, unless `assembly` is False; `status` as in `assembled`.
        `keep_thinking`: of a model that binds its thinking, that before the first change stays; the caller sends the
        system prompt and the tools that it was made with. `with_tools`: for anthropic, those are put into the request,
        where the log notes them; thinking that was made behind the same bytes stays. `fit_images`: the oldest pictures
        beyond what the provider takes are left out; without it the result's `refused` says what it takes not.
        `tools`: names of the tools whose definitions the caller sends along: to Anthropic, what a search found of
        others is told in words. `progress`: told how many messages are read, and of how many.
        """
        from ctxkit.export.fit_images import fitted
        from ctxkit.export.request import export
        from ctxkit.formats.targets import no_session

        no_session(to)

        def make(log: Log) -> Exported:
            return export(
                log, to, model=model, assembly=assembly, status=status, keep_thinking=keep_thinking,
                with_tools=with_tools, tools=tools, progress=progress,
            )  # fmt: skip

        return fitted(self, to, model, make, fit=fit_images)

    def session(
        self, to: str, *, keep_id: bool = False, recount: bool | None = None, model: str = "", fit_images: bool = False,
        instructions: bool = False, cwd: str = "", id: str = "",
        progress: Progress | None = None,
    ) -> Written:  # fmt: skip
        """The context as a session file that the program of format `to` goes on with. Raises NothingToSend, Usage.

        In the log's own format every record that stays keeps its bytes, but for ids. `keep_id`: the session's too.
        Where ops changed the context, its replies say what their requests come to now; `recount=False`: what they said.
        `model`: who is said to have spoken where the log does not say. `instructions`: what the log's own program told
        its model (its system prompt, its sandbox's rules) goes along to another program. `cwd`: the folder that what is
        written anew says it was made in; "" for this process's own. `id`: of the session, a UUID; all other ids follow
        from it; "" for new ones. `fit_images`, `progress` as in `export`.
        """
        from ctxkit.export.fit_images import fitted
        from ctxkit.export.session import fresh, from_id, session

        def make(log: Log) -> Written:
            return session(
                log, to, keep_id=keep_id, recount=recount, model=model, instructions=instructions, cwd=cwd,
                unique=from_id(id) if id else fresh, progress=progress,
            )  # fmt: skip

        return fitted(self, to, model, make, fit=fit_images)

    def resume(
        self, to: str = "", *, cwd: str = "", moves: Sequence[tuple[str, str]] = (), id: str = "", copy: bool = False,
        env: Mapping[str, str] | None = None, progress: Progress | None = None,
    ) -> Resumption:  # fmt: skip
        """Write the context as a new session file where an agent looks for it; the result has the line to type.

        `to`: the agent, by the name of its format; "" for the log's own. `cwd`: the folder that it goes on in, where
        the session's own has moved; `moves`: beginnings of folders, each with what it is now. `id`: of the new session,
        a UUID. A session that is there already, and whose context no op changed, is not written again, unless `copy`.
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
        """How full the context is, what is in it and out of it, and how the log is. `limit`: in tokens."""
        from ctxkit.measure.status import status

        return status(self, tokens=tokens, limit=limit, assembly=assembly)

    def assembled(self, status: str | None = None) -> Assembly:
        """What stands around the context when it is shown or sent: system prompt, docs, status of the threads.

        `status`: the caller's words behind that of the threads, instead of those of the file `assembly.status`. Raises
        BadConfig for a file that is missing, too large or no text; NoPermission, ReadFailed, UnknownAgent.
        """
        from ctxkit.logfile.assembly_sources import assemble

        return assemble(self, status)

    def check(self, proved: Proofs | None = None, *, notes: bool = False) -> list[Finding]:
        """What is damaged, does not fit, is unpaired, or not what was sent, in the log and beside it; an empty list
        for a sound one.

        `proved`: what `proofs()` gave, where that was asked already; `notes`: also what is worth knowing, and no fault.
        """
        from ctxkit.recovery.check import check

        return check(self, proved, notes=notes)

    def salvage(self) -> Salvaged:
        """A clean copy, in pieces, and every range of bytes that it does not have as they stand in the log.

        Ops in a sidecar stay there. Raises UnknownFormat for one damaged JSON text, which has no records to copy.
        """
        from ctxkit.recovery.salvage import salvage

        return salvage(self)

    def proofs(self) -> Proofs:
        """What the log's own notes of the requests that were sent prove of its context, before any op."""
        from ctxkit.recovery.check import proofs

        return proofs(self)

    def diff(self, a: str | Log | None = None, b: str | None = None) -> Diff:
        """What differs between two states of this log, or between its context and that of another log.

        `a`, `b`: as `ctxkit diff` takes them (now, op, mark, snapshot); `b` alone missing: now; both: the newest op in
        force, from before it to after it. Raises Usage for a state that the log does not have.
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
        """As `commit`, and says where nothing visible changed (replay 45)."""

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
    """Whether an op puts another context in the place of the one that is there, so that a checkpoint comes before."""
    return isinstance(op, Compact | Clear) or puts_whole(op)


def summarize_dropped(found: Trimming) -> TrimSummary | None:
    """A trim that tells what it drops, where there is room for that."""
    from ctxkit.compact import summarize_dropped as telling  # brings all that a summary is made of

    return telling.summarize_dropped(found)

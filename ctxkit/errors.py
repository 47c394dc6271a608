"""Exit codes and errors: one class per cause, raised anywhere, rendered once (by `cli/terminal/error_report.py`).

A message names the object, says what was not changed, and is lower case; `hint` says what to do.
A message may contain text from a transcript as it is: the renderer passes every line through `safe()`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What a command's exit status means; signals add 128 + n."""

    DONE = 0
    NO = 1
    USAGE = 2
    REFUSED = 65
    NO_LOG = 66
    PROVIDER = 69
    BUG = 70
    CANNOT_CREATE = 73
    IO = 74
    TRY_AGAIN = 75
    PERMISSION = 77
    CONFIG = 78


MEANING: dict[ExitCode, str] = {
    ExitCode.DONE: "done",
    ExitCode.NO: "no: nothing matched, no mark, check or scan found something, it differs",
    ExitCode.USAGE: "usage",
    ExitCode.REFUSED: "input refused",
    ExitCode.NO_LOG: "no such log",
    ExitCode.PROVIDER: "provider failed",
    ExitCode.BUG: "a bug in ctxkit",
    ExitCode.CANNOT_CREATE: "cannot create",
    ExitCode.IO: "I/O error",
    ExitCode.TRY_AGAIN: "locked, moved or cooling down: try again",
    ExitCode.PERMISSION: "no permission",
    ExitCode.CONFIG: "bad config",
}


def reason_of(error: OSError) -> str:
    """Why a system call failed, in lower case, for a message."""
    return (error.strerror or str(error)).lower()


class CtxkitError(Exception):
    """Base of every expected failure. `code` is the exit status, `hint` one line of advice or "".

    `listed`: the message's lines after the first are a list.
    """

    code: ExitCode = ExitCode.BUG
    listed = False

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def short_name(kind: type[CtxkitError]) -> str:
    """The name of a class of errors for programs: `no-such-log`."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__).lstrip("-")


class Warned(str):
    """The words of a warning, with its short name, by which programs know it (`--log-format json`)."""

    __slots__ = ("reason",)
    REASONS: ClassVar = (
        "notice", "damage", "chain-broken", "config", "fallback", "checkpoint-failed", "cleanup-failed", "bad-snapshot",
        "token-log", "replay",
    )  # fmt: skip
    """All names; a warning without one is a `notice`."""
    reason: str

    def __new__(cls, text: str, reason: str) -> Warned:
        """Raises ValueError for a name that is not in `REASONS`."""
        if reason not in cls.REASONS:
            raise ValueError(reason)
        made = super().__new__(cls, text)
        made.reason = reason
        return made


# 1: the answer is "no"
class NothingMatched(CtxkitError):
    """A selection is empty."""

    code = ExitCode.NO


class NothingChanges(CtxkitError):
    """The op would change nothing, so nothing was appended."""

    code = ExitCode.NO


class NoMark(CtxkitError):
    """The context has no mark, or none with that label."""

    code = ExitCode.NO


class NoSuchOp(CtxkitError):
    """No op with that number, id or prefix; or nothing left to undo or redo."""

    code = ExitCode.NO


class NoSuchNote(CtxkitError):
    """A project has no such note, or no change of its notes to undo."""

    code = ExitCode.NO


class NoSuchSnapshot(CtxkitError):
    """No snapshot with that id, prefix or description; or more than one."""

    code = ExitCode.NO


class UnknownAgent(CtxkitError):
    """An agent or thread that the log does not have."""

    code = ExitCode.NO


class EditorFailed(CtxkitError):
    """The editor ended with an error, or by a signal: its changes are not applied."""

    code = ExitCode.NO


class WindowOff(CtxkitError):
    """Arithmetic on a window that is off."""

    code = ExitCode.NO


class DoesNotFit(CtxkitError):
    """A context that no trim makes small enough: nothing is printed, not even in a pipe."""

    code = ExitCode.NO


class ContextFull(CtxkitError):
    """No room in the budget for the user's message: it was not added."""

    code = ExitCode.NO


class OverBudget(CtxkitError):
    """The share that --fail-at names, or more tokens than --fail-over names, are used."""

    code = ExitCode.NO


class NothingToSend(CtxkitError):
    """An empty context for a provider format."""

    code = ExitCode.NO


# 2: wrong usage
class Usage(CtxkitError):
    """Arguments that do not go together, or cannot be read."""

    code = ExitCode.USAGE


class UnknownMessage(CtxkitError):
    """A message number that the log does not have."""

    code = ExitCode.USAGE


class UnknownRole(CtxkitError):
    """A message to be added has a role that no provider knows."""

    code = ExitCode.USAGE


class BadQuery(CtxkitError):
    """A query in SQL that cannot be run, would change something, or needs more time or memory than it may."""

    code = ExitCode.USAGE


class BadPattern(CtxkitError):
    """A regular expression that does not compile, or takes too long."""

    code = ExitCode.USAGE


class BadTime(CtxkitError):
    """A duration or date that cannot be read, or is in the future."""

    code = ExitCode.USAGE


class ManyConversations(CtxkitError):
    """A file with many conversations and none chosen."""

    code = ExitCode.USAGE
    listed = True


class AmbiguousSession(CtxkitError):
    """A name that fits several sessions."""

    code = ExitCode.USAGE
    listed = True


# 65: input refused
class Misfit(CtxkitError):
    """An op in force whose `at` does not fit the log."""

    code = ExitCode.REFUSED


class DamagedOp(CtxkitError):
    """An op in force whose `sum` is wrong or whose fields cannot be read."""

    code = ExitCode.REFUSED


class MissingHistory(CtxkitError):
    """A log goes on from another file that is missing, or is not what it was."""

    code = ExitCode.REFUSED


class UnknownOp(CtxkitError):
    """An op name or version that this ctxkit does not know, and must not skip."""

    code = ExitCode.REFUSED


class ForeignLog(CtxkitError):
    """A message cannot be added to a log that another program owns."""

    code = ExitCode.REFUSED


class NoRefusal(CtxkitError):
    """A text that is not a provider's error for a request that is too large."""

    code = ExitCode.REFUSED


class BadTools(CtxkitError):
    """A file that holds no tool definitions."""

    code = ExitCode.REFUSED


class BadSummary(CtxkitError):
    """A text that cannot be the summary of messages."""

    code = ExitCode.REFUSED


class BadSnapshot(CtxkitError):
    """A file that is not a snapshot, is damaged, or of a newer version."""

    code = ExitCode.REFUSED


class BadDraft(CtxkitError):
    """A draft of an edit that cannot be read, or is of another log. `mistakes`: each with its line, from 1."""

    code = ExitCode.REFUSED
    mistakes: tuple[tuple[int, str], ...] = ()

    def name(self, path: str) -> None:
        """Put the file and line of the first mistake into the message."""
        if self.mistakes:
            line, text = self.mistakes[0]
            more = f" (and {len(self.mistakes) - 1} more)" if len(self.mistakes) > 1 else ""
            self.message = f"{path}:{line}: {text}{more}: nothing was changed"


class BadDataset(CtxkitError):
    """A folder that is no dataset of the tables of logs, or one of another schema, or damaged."""

    code = ExitCode.REFUSED


class UnknownFormat(CtxkitError):
    """The content is of no format that ctxkit reads."""

    code = ExitCode.REFUSED


class CannotUnpack(CtxkitError):
    """A compressed log is damaged or not whole, or unpacks to more than can be meant."""

    code = ExitCode.REFUSED


class Unforeseen(CtxkitError):
    """One of many files, at which ctxkit itself fails: the error names it, and the others are read."""

    code = ExitCode.REFUSED


class FunctionFailed(CtxkitError):
    """A function of the user's own, which `fleet map` called, raised something at a file."""

    code = ExitCode.REFUSED


class BadMessage(CtxkitError):
    """A record to be added as a message is not one."""

    code = ExitCode.REFUSED


# 66 and up: the system
class NoSuchLog(CtxkitError):
    """The path names no file, or something that is not a regular file."""

    code = ExitCode.NO_LOG


class NoSuchSession(CtxkitError):
    """A name that begins with @ and fits no session."""

    code = ExitCode.NO_LOG
    listed = True


class ModelFailed(CtxkitError):
    """A model that was asked gave no answer that can be used.

    `again`: another try may help, not before `after` seconds from now; `too_large`: the model takes fewer tokens.
    """

    code = ExitCode.PROVIDER
    again = too_large = False
    after = 0.0


class CannotCreate(CtxkitError):
    """A file or folder could not be made."""

    code = ExitCode.CANNOT_CREATE


class ReadFailed(CtxkitError):
    """The system could not read the log."""

    code = ExitCode.IO


class WriteFailed(CtxkitError):
    """The op may not be on disk, so success is not reported."""

    code = ExitCode.IO


class ArchiveFailed(CtxkitError):
    """The archive could not be written to: what is in it already is whole."""

    code = ExitCode.IO


class ClusterFailed(CtxkitError):
    """The machines that `fleet map` was to run on cannot be reached, or all of them failed."""

    code = ExitCode.IO


class WorkerKilled(CtxkitError):
    """The process that worked on a file ended without an answer, and when it was tried alone again."""

    code = ExitCode.TRY_AGAIN


class Locked(CtxkitError):
    """Another program held the lock until the deadline."""

    code = ExitCode.TRY_AGAIN


class CoolingDown(CtxkitError):
    """A compact was made a moment ago, by this process or by another."""

    code = ExitCode.TRY_AGAIN


class TwoSessions(CtxkitError):
    """A script names the newest session, and another one was written at about the same time."""

    code = ExitCode.TRY_AGAIN
    listed = True


class UpdatedElsewhere(CtxkitError):
    """The log was replaced, truncated or changed since it was read."""

    code = ExitCode.TRY_AGAIN


class NoPermission(CtxkitError):
    """The system refuses to read or write the file."""

    code = ExitCode.PERMISSION


class BadConfig(CtxkitError):
    """A config key, type or value that is not allowed."""

    code = ExitCode.CONFIG

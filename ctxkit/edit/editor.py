"""Runs an editor on a draft, again if the draft has mistakes, and keeps the draft until its op is durable.

Pipeline: `Editing` (makes the draft) -> `store/drafts.py` -> the caller's editor -> `Log.commit`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

from ctxkit.core.decision import Decision
from ctxkit.core.ops import Op
from ctxkit.core.select import Selection
from ctxkit.core.text.utf8 import utf8
from ctxkit.edit.edit import Editing
from ctxkit.edit.parse import ended
from ctxkit.edit.spelling import SIGN
from ctxkit.errors import BadDraft, CtxkitError, NothingChanges, UpdatedElsewhere, Usage
from ctxkit.logfile.commit import WritableLog
from ctxkit.store.drafts import Draft
from ctxkit.store.sidecar import Sidecar

_MISTAKE = re.compile(rf"^[ \t#]*{SIGN}!.*\n?", re.MULTILINE)

_BASED = re.compile(rf"^[ \t#]*{SIGN}=.*$", re.MULTILINE)

Editor = Callable[[Path], None]
"""Lets a person edit a file. Raises if that failed."""
Again = Callable[[BadDraft], bool]
"""Whether to open the editor again, with the mistakes at their lines; False if nobody can be asked."""


class Drafting:
    """One edit of the selected messages (`asked`) in an editor."""

    def __init__(
        self, log: WritableLog, asked: Selection, editor: Editor, again: Again, *, only_context: bool = False,
        plain: bool = False,
    ) -> None:  # fmt: skip
        self.log = log
        self._asked, self._only_context, self._plain = asked, only_context, plain
        self._editor, self._again = editor, again
        self._editing: Editing | None = None
        self._draft: Draft | None = None
        self._given = ""

    def edit(self) -> Op | None:
        """Run the editor and append the op. If that fails, a changed draft is kept, and the error names its path."""
        try:
            op = self.log.commit("edit", self._decide, self._recheck)
        except NothingChanges:
            self._remove()
            raise
        except CtxkitError as error:
            self._keep(error)
            raise
        if self.log.dry_run and op is not None and self._draft is not None:
            self.log.notes = [*self.log.notes, f"the draft is kept: {self._draft.path}"]
        else:
            self._remove()
        return op

    def _decide(self) -> Decision:
        beside = self.log.opening.sidecar
        if beside is None or self.log.opening.path is None:
            text = "only a log in a file can be edited in an editor: nothing was changed"
            raise Usage(text, "in a pipe: ctxkit edit LOG --print, and ctxkit edit - --draft FILE")
        self._editing = Editing.of(self.log, self._asked, only_context=self._only_context, plain=self._plain)
        self._given = self._editing.text
        self._draft = Draft(beside, self._given)
        while True:
            self._editor(self._draft.path)
            text = self._read(self._draft, self._editing.based)
            try:
                return self._editing.decide(self._editing.parsed(text))
            except BadDraft as error:
                error.name(str(self._draft.path))
                annotated = marked(text, error.mistakes)
                if annotated == self._given or not self._again(error):
                    raise
                self._given = annotated
                self._draft.write(annotated)

    def _read(self, draft: Draft, base: str) -> str:
        """The text of the draft, without marked mistakes; a changed line %%= is restored, as its value is known."""
        text = _MISTAKE.sub("", _text(draft))
        found = _BASED.search(text)
        if found is not None and found[0].rstrip("\r") != base:
            text = text[: found.start()] + base + text[found.end() :]
            draft.write(text)
        return text

    def _recheck(self, op: Op) -> None:
        if self._editing is not None:
            self._editing.recheck(op)

    def _keep(self, error: CtxkitError) -> None:
        """Keep the draft after an error if the editor changed it; else remove it."""
        if self._draft is None:
            return
        try:
            changed = self._draft.read() not in (b"", utf8(self._given))
        except CtxkitError:
            changed = True  # unknown, so it is kept
        if not changed and not isinstance(error, BadDraft):
            self._remove()
            return
        error.hint = kept(self.log, self._draft, error)

    def _remove(self) -> None:
        if self._draft is not None:
            self._draft.remove()


def kept(log: WritableLog, draft: Draft, error: CtxkitError) -> str:
    """A hint on what to do with a draft that was not applied."""
    if isinstance(error, UpdatedElsewhere):
        return f"{error.hint}; this one is kept: {shlex.quote(str(draft.path))}"
    return f"the draft is kept: {applying(log, draft.path)}"


def applying(log: WritableLog, path: Path) -> str:
    """The command that applies a draft."""
    opening = log.opening
    words = ["ctxkit", "edit", opening.name]
    if opening.path is not None and opening.sidecar is not None:
        folder = opening.sidecar.folder
        words += [] if folder == Sidecar(opening.path).folder else ["--sidecar", str(folder)]
    words += [] if opening.conversation is None else ["--conversation", str(opening.conversation)]
    return shlex.join([*words, "--draft", str(path)])


def marked(text: str, mistakes: Iterable[tuple[int, str]]) -> str:
    """The draft with each mistake in a line above its own."""
    lines = text.split("\n")
    for line, mistake in sorted(mistakes, reverse=True):
        lines.insert(line - 1, f"{SIGN}! {mistake}")
    return "\n".join(lines)


def _text(draft: Draft) -> str:
    raw = draft.read()
    try:
        return ended(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadDraft(f"{draft.path}:{line}: not UTF-8: nothing was changed") from error

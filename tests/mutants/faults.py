"""Mutants: faults that an engineer could have made, each of which some test must notice.

They are the proof of the suite's power: whoever makes it faster keeps them all killed (`just mutants`). A mutant whose
text is no longer in its file is an error, and is written anew for the same fault by whoever moved the code.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple


class Stale(Exception):
    """A mutant that does not fit the code any more."""


class Mutant(NamedTuple):
    """A fault in words, and how it is put into the code: `new` in place of `old`, which `path` has exactly once.

    `killers`: how many tests of the suite failed for it before the suite was made faster; where very many did, as many
    as were counted. `full`: the command of `.ci/full` that kills it, if the suite of every day does not; else "".
    """

    name: str
    room: str
    fault: str
    path: str
    old: str
    new: str
    killers: int
    full: str = ""

    def applied(self, text: str) -> str:
        """The text of its file with the fault in it. Raises Stale."""
        many = text.count(self.old)
        if many != 1:
            found = "is not there any more" if not many else f"stands {many} times there"
            raise Stale(f"what it changes in {self.path} {found}: write it anew for the same fault")
        return text.replace(self.old, self.new)

    @property
    def own_tests(self) -> str:
        """The test file that mirrors the mutated module."""
        inside = PurePosixPath(self.path).relative_to("ctxkit")
        return str("tests" / inside.with_name(f"test_{inside.name}"))


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "rewind-to-mark",
        "core",
        "A rewind takes out the message at its mark, too.",
        "ctxkit/core/replay.py",
        "Names(Ranges.span(position + 1, op.at.messages), late)",
        "Names(Ranges.span(position, op.at.messages), late)",
        51,
    ),
    Mutant(
        "preamble-at-the-end",
        "core",
        "A restored system message stands at the end, not where the preamble is.",
        "ctxkit/core/replay.py",
        'op.mode == "place" or state.is_preamble(name)',
        'op.mode == "place"',
        1,
    ),
    Mutant(
        "conflict-unseen",
        "core",
        "An op with the id of another one of its kind is taken for a retry, whatever it says.",
        "ctxkit/core/ledger.py",
        "if seen[key] != body:",
        'if seen[key]["ctxkit"] != body["ctxkit"]:',
        2,
    ),
    Mutant(
        "append-without-fsync",
        "store",
        "An append is acknowledged before it is durable.",
        "ctxkit/store/durable_append.py",
        '            raise WriteFailed(text, "it is safe to try again")\n        _durable(fd, str(path))\n',
        '            raise WriteFailed(text, "it is safe to try again")\n',
        1,
    ),
    Mutant(
        "replaced-while-waiting",
        "store",
        "A line goes into a log that was replaced while its lock was waited for.",
        "ctxkit/store/durable_append.py",
        "if (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino):",
        "if ours.st_dev == there.st_dev:",
        1,
    ),
    Mutant(
        "short-write",
        "store",
        "A write that was cut short goes on one byte too early.",
        "ctxkit/store/durable_append.py",
        "rest = payload[count:]",
        "rest = payload[count - 1 :]",
        3,
    ),
    Mutant(
        "ops-of-others-removed",
        "store",
        "A first op that fails takes along what another process has appended meanwhile.",
        "ctxkit/store/sidecar.py",
        "if os.fstat(fd).st_size == 0 and os.path.samestat(os.fstat(fd), os.lstat(self.ops_path)):",
        "if os.path.samestat(os.fstat(fd), os.lstat(self.ops_path)):",
        1,
    ),
    Mutant(
        "retry-not-durable",
        "logfile",
        "A retry is acknowledged, although its first try may have been killed before its fsync.",
        "ctxkit/logfile/commit.py",
        "        self.make_durable()  # the first try",
        "        # the first try",
        2,
    ),
    Mutant(
        "op-in-the-log-unseen",
        "logfile",
        "An op that stands in another program's log itself, and came meanwhile, is not noticed.",
        "ctxkit/logfile/append.py",
        "seen is not None and opening.laid_out is opening.source:",
        "seen is not None and opening.laid_out is not opening.source:",
        5,
    ),
    Mutant(
        "arguments-as-object",
        "logfile",
        "Shortened arguments become an object where their provider wrote text.",
        "ctxkit/logfile/stubs.py",
        "found[key] = dumps(inner) if isinstance(raw[key], str) else inner",
        "found[key] = inner",
        1,
    ),
    Mutant(
        "text-behind-calls",
        "formats",
        "Of a message with too many calls for one, the last share has the text, not the first.",
        "ctxkit/formats/openai.py",
        "shares[0] = words + shares[0]",
        "shares[-1] = words + shares[-1]",
        1,
    ),
    Mutant(
        "rows-from-one",
        "formats",
        "The first row that an old compaction of pi keeps is counted from 1.",
        "ctxkit/formats/pi/reader.py",
        "kept = number(row.firstKeptEntryIndex)",
        "kept = number(row.firstKeptEntryIndex) - 1",
        2,
    ),
    Mutant(
        "count-of-a-compaction",
        "formats",
        "The token count behind a compaction of Codex is taken for that of the reply before it.",
        "ctxkit/formats/codex/reader.py",
        "        self._end_message()\n        self._spoke = 0\n",
        "        self._end_message()\n",
        3,
    ),
    Mutant(
        "room-for-a-reply",
        "cut",
        "The reply that was asked for has only the reserve, even if it is longer.",
        "ctxkit/cut/trim.py",
        "return self.limit - max(reserve, reply)",
        "return self.limit - reserve",
        1,
    ),
    Mutant(
        "enforce-on-answers",
        "cut",
        "What comes behind the user's newest message counts, too, when messages are added with --enforce.",
        "ctxkit/cut/enforce.py",
        "for one in records[:said])",
        "for one in records)",
        1,
    ),
    Mutant(
        "edited-since-first-read",
        "cut",
        "Of a file that is being edited all stays since its first read, not since its last.",
        "ctxkit/cut/rank/ranking.py",
        "touched[reads[-1] if reads else -1 :]]",
        "touched[reads[0] if reads else -1 :]]",
        1,
    ),
    Mutant(
        "model-told-again-by-rules",
        "cut",
        "A summary by a model is written anew by rules when one of its messages is forgotten.",
        "ctxkit/cut/strategies/extract.py",
        "if op.model is not None or not op.budget:",
        "if not op.budget:",
        1,
    ),
    Mutant(
        "summary-of-two-agents",
        "cut",
        "A compact of one agent's messages takes a summary that tells another agent's as well.",
        "ctxkit/cut/compact_plan.py",
        "alone or all(belongs(state, n",
        "alone or any(belongs(state, n",
        1,
    ),
    Mutant(
        "folder-of-another",
        "export",
        "A session gets the folder of a project that Gemini CLI does not list, but that has a marker.",
        "ctxkit/export/agents.py",
        "taken = {*names.values(), *owned}",
        "taken = {*names.values()}",
        1,
    ),
    Mutant(
        "moved-by-halves",
        "export",
        "A folder whose name only begins like that of a moved one is renamed.",
        "ctxkit/export/folders.py",
        'if folder.startswith(old) and (not rest or rest[0] in "/\\\\" or old.endswith(("/", "\\\\"))):',
        "if folder.startswith(old):",
        1,
    ),
    Mutant(
        "answers-made-up",
        "export",
        "A session gets a result for a call that had none in the log of its own program either.",
        "ctxkit/export/session.py",
        "if call not in open_before or context[last[call]].content",
        "if call not in lost_before or context[last[call]].content",
        12,
    ),
    Mutant(
        "permission-left",
        "api",
        "The answer to a request for approval stays when the request has left.",
        "ctxkit/api/fit.py",
        'void = {place for place, one in kept if asked and str(one.get("approval_request_id")) in asked}',
        'void = {place for place, one in kept if asked and str(one.get("id")) in asked}',
        1,
    ),
    Mutant(
        "uncounted-forgotten",
        "api",
        "A rolling context that is loaded no longer knows what the provider counted beyond its own count.",
        "ctxkit/api/rolling.py",
        "        self._take_uncounted(range(state.count, known, -1))\n        if not follows:",
        "        if not follows:",
        1,
    ),
    Mutant(
        "id-made-up",
        "api",
        "A call of Gemini's without an id keeps the one that was made up for it, so no answer belongs to it.",
        "ctxkit/api/provider_messages.py",
        '            if not id:\n                del call["id"]',
        '            if id:\n                call["id"] = id',
        1,
    ),
)

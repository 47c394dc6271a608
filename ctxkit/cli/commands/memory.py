"""ctxkit memory: short notes of a project, across its sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from ctxkit.cli.amounts import tokens
from ctxkit.cli.log_access import opened, set_own_zone
from ctxkit.cli.memory_search import MemorySearch
from ctxkit.cli.options import Reading, session_path, takes
from ctxkit.cli.session_names import project_names
from ctxkit.cli.terminal import layout, memory_view, streams
from ctxkit.cli.terminal.safe_text import safe
from ctxkit.core.select import Selection
from ctxkit.core.sets.ranges import Ranges
from ctxkit.errors import CtxkitError, ExitCode, NoSuchSession, NothingMatched, UnknownFormat, Usage
from ctxkit.llm.hooks import Hooks
from ctxkit.logfile.append import UNKEPT
from ctxkit.memory.memory import TOKENS, CheckedNote, Memory
from ctxkit.memory.notes import KINDS, MemoryChange, NoteSource
from ctxkit.memory.sources import CHANGED, FORGOTTEN, UNREADABLE, parse_source, source_of
from ctxkit.search.log_files import LogFile, log_files
from ctxkit.store.folder import START, may_be_log
from ctxkit.store.opening import cannot_open
from ctxkit.store.source import open_log

if TYPE_CHECKING:
    NoteKind: TypeAlias = StrEnum
else:  # typer reads the choices from an enum; mypy needs them spelled out
    NoteKind = StrEnum("NoteKind", [(name, name) for name in KINDS])

ACTIONS = ("list", "add", "supersede", "extract", "search", "show", "undo", "redo")
HINT = "ctxkit memory [list | add TEXT | supersede N [TEXT] | extract [SESSION]... | search TEXT | show | undo | redo]"
ALLOWED = {
    "list": ("all_", "kind"),
    "add": ("kind", "source"),
    "supersede": ("kind", "source"),
    "extract": ("limit", "summary_model", "fast"),
    "search": ("top",),
    "show": ("about", "max_tokens"),
    "undo": (),
    "redo": (),
}
"""Action -> the options that it takes besides those of all."""
HIDDEN = {
    CHANGED: "their messages were purged or changed", UNREADABLE: "their logs cannot be read",
    FORGOTTEN: "messages of theirs are out of the context (`ctxkit undo` brings them back)",
}  # fmt: skip
"""State of a note's sources -> why it is not shown."""
WRITES = ("add", "supersede", "extract", "undo", "redo")


@takes()
def command(
    action: Annotated[
        str | None,
        typer.Argument(metavar=f"[{'|'.join(ACTIONS)}]", help="What to do (default: list).", show_default=False),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT|N|SESSION]...", help="A text, numbers of notes, or sessions: see above."),
    ] = None,
    *,
    kind: NoteKind | None = None,
    source: list[str] | None = None,
    all_: bool = False,
    about: str | None = None,
    max_tokens: str | None = None,
    top: int | None = None,
    limit: int | None = None,
    summary_model: str | None = None,
    fast: bool = False,
    cwd: str | None = None,
    dry_run: bool = False,
    utc: bool = False,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Keep short notes of a project beside its sessions: list, add, search and supersede them.

    The project is the git repository of this folder, or this folder. `list` prints the notes that stand, by kind:
    notes, open work, decisions, what each session was about, files. `add TEXT` keeps a note by hand; --source names the
    messages that it comes from. `extract` makes notes of sessions by rules, offline (default: all sessions of the
    project that grew since; of a folder, all logs below); the new notes of a session supersede its old ones.
    --summary-model and --fast ask a model what a session was about: it gets the messages without the secrets that are
    found in them.

    `search TEXT` ranks the notes and the messages of all sessions of the project by their words, and lists the best.
    `supersede N TEXT` puts a new note in the place of note N, without TEXT none; the old one stays in the file.
    `undo` takes back the newest change, called again the one before; `redo` takes back the newest undo. `show` prints
    the notes as `ctxkit export --memory` puts them before a context.

    A note names its sources (`@3f2a91c0-1111#12`). If these messages were purged or changed since, or all of them were
    forgotten, it is not shown any more; nor is a gist or a list of files if one of them was forgotten. Exit 1 if there
    is no note, or nothing is found.
    """
    set_own_zone(utc=utc)
    asked, given = action or "list", list(words or ())
    if asked not in ACTIONS:
        raise Usage(f"memory cannot {asked!r}: nothing was changed", f"{HINT}; supersede N without TEXT removes note N")
    options = {
        "kind": kind, "source": source, "all_": all_, "about": about, "max_tokens": max_tokens, "top": top,
        "limit": limit, "summary_model": summary_model, "fast": fast,
    }  # fmt: skip
    for name, value in options.items():
        if value not in (None, False) and name not in ALLOWED[asked]:
            flag = f"--{name.strip('_').replace('_', '-')}"
            fits = ", ".join(one for one, allowed in ALLOWED.items() if name in allowed)
            raise Usage(f"{flag} does not apply to `memory {asked}`: nothing was changed", f"it is for: {fits}")
    if dry_run and asked not in WRITES:
        raise Usage(f"--dry-run does not apply to `memory {asked}`, which writes nothing", "leave it out")
    if cwd is not None and not os.path.isdir(cwd):
        raise Usage(f"--cwd {cwd}: no such folder: nothing was changed", "name the folder of a project")
    memory = Memory(cwd, args=("memory", asked), dry_run=dry_run)
    for line in memory.read.damage:
        streams.say(line)
    chosen = None if kind is None else kind.value
    if asked == "extract":
        return _extract(memory, given, cwd, limit, summary_model, fast=fast, json=json, quiet=quiet)
    if asked == "search":
        text = _text(given, asked)
        return MemorySearch(memory, text, cwd, top, utc=utc, json=json, quiet=quiet).run()
    if asked == "add":
        text = _text(given, asked)
        added = memory.add(text, chosen or "note", _sources(source, quiet=quiet))
        if added is None:
            return _stands_already(memory, memory.same(text, chosen or "note"), json=json)
        return _changed(memory, f"Kept as {_numbers(memory, [one.id for one in added.notes])}", json=json)
    if asked == "supersede":
        return _supersede(memory, given, chosen, _sources(source, quiet=quiet), json=json)
    if given:
        raise Usage(f"`memory {asked}` takes no further word: {given[0]!r} is one too many: nothing was changed", HINT)
    if asked in ("undo", "redo"):
        return _back(memory, asked, json=json)
    if asked == "show":
        return _show(memory, about or "", max_tokens, json=json)
    return _list(memory, chosen, all=all_, json=json)


def _text(words: Sequence[str], action: str) -> str:
    """The text that was typed, with or without quotes."""
    text = " ".join(words)
    if not text.strip():
        raise Usage(f"`memory {action}` takes a text: nothing was changed", f"ctxkit memory {action} TEXT")
    return text


def _sources(named: Sequence[str] | None, *, quiet: bool) -> Iterator[NoteSource]:
    """The messages that --source names. Raises Usage, UnknownMessage and what opening the log raises."""
    for one in named or ():
        place, numbers = parse_source(one)
        log = opened(session_path(place, writes=True), _reading(quiet=quiet), command="memory")
        found = log.select(Selection(ids=(numbers,)))
        yield source_of(log, found.numbers)


def _reading(*, quiet: bool) -> Reading:
    reading = Reading()
    reading.quiet = quiet
    return reading


def _list(memory: Memory, kind: str | None, *, all: bool, json: bool) -> int:
    notes = [one for one in memory.notes(all=all) if kind in (None, one.note.kind)]
    shown = [one for one in notes if one.may_be_shown]
    if json:
        for one in notes if all else shown:
            streams.out_json(memory_view.as_json(one))
    else:
        memory_view.show(shown)
    streams.flush()
    for state, why in HIDDEN.items():
        hidden = [one for one in notes if one.sources == state]
        if hidden:
            streams.say(f"{layout.count(len(hidden), 'note')} not shown, since {why}: {_ranges(hidden)}")
    if not shown:
        where = memory.project.folder
        what = f"no note of kind {kind}" if kind else "no note"
        what += " that may be shown" if notes else ""
        raise NothingMatched(f"{where} has {what}", "ctxkit memory extract makes some, ctxkit memory add TEXT adds one")
    streams.say(f"{layout.count(len(shown), 'note')} of {layout.home_short(memory.project.folder)}")
    return ExitCode.DONE


def _ranges(notes: Sequence[CheckedNote]) -> str:
    return str(Ranges.of(sorted(one.number for one in notes)))


def _numbers(memory: Memory, ids: Sequence[str]) -> str:
    """`note 7`, by the file as it is now; in a dry run without a number."""
    found = [one.number for one in memory.notes(all=True) if one.note.id in ids]
    return f"note {Ranges.of(found)}" if found else "a note"


def _changed(memory: Memory, said: str, *, json: bool) -> int:
    """Report a change."""
    if not memory.dry_run:
        streams.Streams.done = said
    newest = memory.notes(all=True)[-1:]
    if json and newest and not memory.dry_run:
        streams.out_json(memory_view.as_json(newest[0]))
    streams.flush()
    dry = f"Dry run, nothing was kept. Without it: {said}" if memory.dry_run else said
    streams.say(f"{dry} ({layout.home_short(memory.project.folder)}).")
    if memory.redactor.count:
        streams.say(UNKEPT)
    return ExitCode.DONE


def _stands_already(memory: Memory, one: CheckedNote | None, *, json: bool) -> int:
    """Report that a note says it already (replay 50)."""
    if json and one is not None:
        streams.out_json(memory_view.as_json(one))
    streams.flush()
    which = "a note" if one is None else f"note {one.number}"
    streams.say(
        f"{which.capitalize()} says this already: nothing was added ({layout.home_short(memory.project.folder)})."
    )
    return ExitCode.DONE


def _supersede(
    memory: Memory, words: Sequence[str], kind: str | None, sources: Iterator[NoteSource], *, json: bool
) -> int:
    if not words:
        raise Usage("which note is superseded? nothing was changed", "ctxkit memory supersede N [TEXT]")
    try:
        numbers = Ranges.parse(words[0])
    except ValueError:
        numbers = Ranges()
    if not numbers:
        raise Usage(f"{words[0]!r} is not the number of a note: nothing was changed", "ctxkit memory lists them")
    text = " ".join(words[1:]) if words[1:] else None
    if text is None and kind is not None:
        raise Usage("--kind is for the new note, and no text was given: nothing was changed", "supersede N TEXT")
    change = memory.supersede(numbers, text, kind, sources)
    old = f"{'Note' if len(numbers) == 1 else 'Notes'} {numbers}"
    by = f" by {_numbers(memory, [one.id for one in change.notes])}" if change.notes else ""
    return _changed(memory, f"{old} superseded{by}", json=json and bool(change.notes))


def _back(memory: Memory, what: str, *, json: bool) -> int:
    """Undo or redo, and say which notes stand or do not stand now."""
    before = {one.number for one in memory.notes()}
    if what == "undo":
        memory.undo()
    else:
        memory.redo()
    if memory.dry_run:
        streams.say(f"Dry run, nothing was kept. Without it: {what} of the newest change.")
        return ExitCode.DONE
    after = {one.number for one in memory.notes()}
    gone, back = before - after, after - before
    said = "; ".join(
        f"{'note' if len(some) == 1 else 'notes'} {Ranges.of(sorted(some))} {words}"
        for some, words in ((gone, "no longer stands" if len(gone) == 1 else "no longer stand"),
                            (back, "stands again" if len(back) == 1 else "stand again"))
        if some
    )  # fmt: skip
    done = "Undone" if what == "undo" else "Redone"
    if json:
        streams.out_json({"gone": sorted(gone), "back": sorted(back)})
    streams.flush()
    streams.Streams.done = f"{done}: {said or 'no note changed'}"
    streams.say(f"{done}: {said or 'no note changed'}.")
    return ExitCode.DONE


def _show(memory: Memory, about: str, max_tokens: str | None, *, json: bool) -> int:
    budget = tokens("--max-tokens", max_tokens)
    text = memory.text(TOKENS if budget is None else budget, about=about)
    if not text:
        room = f" that fits into {budget:,} tokens" if budget is not None else ""
        topic = f" about {about!r}" if about else ""
        raise NothingMatched(f"{memory.project.folder} has no note{topic}{room}", "ctxkit memory lists the notes")
    if json:
        streams.out_json({"text": text})
    else:
        for line in text.splitlines():
            streams.out(safe(line, keep_newlines=False))
    return ExitCode.DONE


def _extract(
    memory: Memory, words: Sequence[str], cwd: str | None, limit: int | None, model: str | None, *, fast: bool,
    json: bool, quiet: bool,
) -> int:  # fmt: skip
    from ctxkit.cut.summarize.ask_model import gist_by_model, model_of

    names = {} if words else _sessions(cwd)
    if words:
        files = log_files([session_path(word, writes=True) for word in words])
    else:
        files = [LogFile(place, _size(place)) for place in list(names)[:limit]]
    unchanged, changes = 0, list[MemoryChange]()
    failed: list[ExitCode] = []
    with memory.one_change():  # one undo takes it back
        for file in files:
            place = file.path
            if (file.folder or not words) and model is None and not fast and memory.is_known(place, file.size):
                unchanged += 1
                continue
            try:
                if file.folder and not _may_be_log(file):
                    continue
                log = opened(place, _reading(quiet=quiet), command="memory")
                log.dry_run = True
                with streams.progress(f"noting {names.get(place, os.path.basename(place))}", "") as step:
                    ask = gist_by_model(
                        log, model, fast=fast, given=False, hooks=Hooks(report=streams.say, step=step),
                        after="rules made the note",
                    )  # fmt: skip
                    change = memory.extract(log, ask, model_of(log, model, fast=fast) if ask is not None else "")
            except CtxkitError as error:
                if file.folder and isinstance(error, UnknownFormat):
                    continue
                if len(files) == 1:
                    raise
                streams.flush_unless_paged()
                streams.warn(error.message if place in error.message else f"{place}: {error.message}", error)
                failed.append(error.code)
                continue
            for warning in log.noticed:
                streams.warn(warning)
            if change is None:
                unchanged += 1
                continue
            changes.append(change)
    gone = {old for change in changes for old in change.supersedes}
    notes = [note for change in changes for note in change.notes if note.id not in gone]
    for note in notes:
        if json:
            streams.out_json({"kind": note.kind, "text": note.text, "sources": [one.name for one in note.sources]})
        else:
            streams.out(memory_view.new_line(note), hang=4)
    if not (changes or unchanged or failed):
        raise NothingMatched(f"no logs below {', '.join(words)}: nothing was noted", "ctxkit memory extract LOG...")
    streams.flush()
    said = f"{layout.count(len(notes), 'new note')} of {layout.count(len(changes), 'session')}"
    replaced = len(gone) - sum(note.id in gone for change in changes for note in change.notes)
    said += f", {replaced:,} superseded" if replaced else ""
    said += f"; {layout.count(unchanged, 'session')} with nothing new" if unchanged else ""
    if notes and not memory.dry_run:
        streams.Streams.done = said
    streams.say(f"Dry run, nothing was kept. Without it: {said}." if memory.dry_run else f"{said}.")
    return failed[0] if failed and not changes else ExitCode.DONE


def _sessions(cwd: str | None) -> dict[str, str]:
    """The sessions of the project. Raises NoSuchSession, which says how logs are named that no agent keeps."""
    try:
        return project_names(cwd)
    except NoSuchSession as error:
        error.hint = "ctxkit memory extract LOG names a log, extract . all logs in this folder"
        raise


def _may_be_log(file: LogFile) -> bool:
    """Whether a file that was found below a folder may be a log. Raises what opening it raises."""
    if file.error is not None:
        raise cannot_open(Path(file.path), file.error)
    with open_log(file.path) as source:
        return may_be_log(source.read(0, START))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1

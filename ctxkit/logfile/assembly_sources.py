"""Reads the files with texts and tool definitions that config and caller put around a context.

Pipeline: `Log.assembled` -> here -> `core/assembly.py`, which decides their places. The texts
of an agent come before those of the log if the log is seen as that agent (`Config.for_agent`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ctxkit.core import assembly
from ctxkit.core.assembly import Assembled, Assembly, AssemblySources
from ctxkit.core.text.json_text import loads
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import BadConfig, BadTools, CtxkitError, NoPermission, NoSuchLog, ReadFailed, Usage, reason_of
from ctxkit.formats.columns import Columns
from ctxkit.settings.keys import COMMAND, FILE, key_of
from ctxkit.settings.named_files import LARGEST, configured_files, decoded, text_of

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog
    from ctxkit.tokens.tools import Tool

HINT = "--no-assembly goes without"
TOOLS_HINT = "a JSON list of definitions as a provider takes them, or an object with `tools`"


def assemble(log: OpenLog, own: str | None = None) -> Assembly:
    """What config puts around the context of `log`, and the status of its threads.

    `own`: the caller's text after that status; None: that of the file `assembly.status`. Raises BadConfig for a file
    that is missing, larger than LARGEST bytes or not text, NoPermission, ReadFailed. For a log that is only read
    (`log.looks`) such a file is left out, and named in `log.noticed`.
    """
    found = log.sources if log.sources is not None and own is None else read_sources(log, own)
    words = [assembly.status(log.state(), log.projection(), log.text)] if _threaded(log) else []
    text = "\n\n".join(word for word in [*words, *found.words] if word.strip())
    made = Assembly(found.lead, Assembled("status", "user", text, found.source) if text else None, found.notes)
    if log.redactor is None or not log.hides:
        return made
    return msgspec.convert(log.redactor.value(msgspec.to_builtins(made)), Assembly)


def read_sources(log: OpenLog, own: str | None = None) -> AssemblySources:
    """What config and caller put around the context of `log`, but for the status of its threads, as it is now.

    A caller that needs the same more than once sets it as `log.sources`. `own`, errors: as for `assemble`.
    """
    lead = []
    system = log.config["assembly.system"]
    if system.startswith(FILE) and log.config.source("assembly.system")[0] != "assembly.system":
        files = _configured(log, "assembly.system", system.removeprefix(FILE))
        lead += [Assembled("system", "system", text, source) for source, text in files]
    elif system.strip():
        lead.append(Assembled("system", "system", system))
    for name in log.config["assembly.docs"]:
        lead += [Assembled("docs", "system", text, source) for source, text in _configured(log, "assembly.docs", name)]
    notes = Assembled("memory", "user", log.memory) if log.memory else None
    words = list(_processes(log))
    source = ""
    if own is None and log.config["assembly.status"]:
        source = log.config["assembly.status"]
        words += (text for _, text in _configured(log, "assembly.status", source))
    elif own is not None:
        words.append(own)
    if log.config["memory.status"]:
        words.append(log.memory_line())
    return AssemblySources(tuple(lead), tuple(words), source, notes)


def _processes(log: OpenLog) -> Iterator[str]:
    """What the config has about processes, for the status: the output of a command, or the text of a file."""
    asked = log.config["status.processes"]
    if not asked:
        return
    if not asked.startswith(COMMAND):
        yield from (f"Processes:\n{text}" for _, text in _configured(log, "status.processes", asked))
        return
    from ctxkit.logfile.status_command import output

    found = output(asked.removeprefix(COMMAND).strip())
    if found.fault:
        _notice(log, f"{log.config.origin('status.processes')}: status.processes: {found.fault}")
    yield f"Processes: not known ({found.fault})" if found.fault else f"Processes:\n{found.text}"


def _threaded(log: OpenLog) -> bool:
    """Whether there may be threads; `Columns` need no look at each message."""
    messages = log.messages
    if not isinstance(messages, Columns) or messages.threads or log.lens_agent:
        return True
    return any(item.message.get("thread") is not None for item in log.state().board.items.values())


def configured_tools(log: OpenLog) -> list[Tool]:
    """The tool definitions in the file that config names, if any. Raises as `assemble` does."""
    name = log.config["tools"]
    for _, text in _configured(log, "tools", name, TOOLS_HINT) if name else ():
        try:
            return _definitions(text)
        except ValueError as error:
            where = f"{log.config.origin('tools')}: tools: {name}"
            raise BadConfig(f"{where}: {error}: nothing was printed", TOOLS_HINT) from error
    return []


def tools_in(text: str, where: str, after: str = "") -> list[Tool]:
    """The tool definitions in the text of a file that the caller named; `after` as in `words_of`. Raises BadTools."""
    try:
        return _definitions(text)
    except ValueError as error:
        raise BadTools(f"{where}: {error}{after}", TOOLS_HINT) from error


def _definitions(text: str) -> list[Tool]:
    """Raises ValueError."""
    from ctxkit.tokens.tools import definitions

    try:
        value = loads(utf8(text))
    except ValueError as error:
        raise ValueError("no JSON" if str(error) != "nested too deeply" else str(error)) from error
    return definitions(value)


def _configured(log: OpenLog, key: str, name: str, hint: str = HINT) -> Iterator[tuple[str, str]]:
    """The files that a value of config names, each with its text; none, and a notice, if one is empty or leads out.

    What cannot be read is raised or, for a log that is only read, noticed and left out.
    """
    key, setting = log.config.source(key)
    where = f"{setting.origin}: {key}: {name}"

    def notice(text: str) -> None:
        _notice(log, text)

    try:
        found = configured_files(folder_of(log), name, several=key_of(key).several)
    except CtxkitError as error:
        if not log.looks:
            raise _after(error, where, hint) from error
        notice(f"{where}: {error.message}: left out")
        return
    for text in found.left_out:
        notice(f"{where}: {text}")
    for source, path in found.files:
        place = where if source == name else f"{where}: {source}"
        try:
            text = text_of(path)
        except CtxkitError as error:
            if not log.looks and source == name:
                raise _after(error, where, hint) from error
            notice(f"{place}: {error.message}: left out")
            continue
        if text.strip():
            yield source, text
        else:
            notice(f"{place}: is empty: left out")


def _notice(log: OpenLog, text: str) -> None:
    if text not in log.noticed:  # one command may assemble more than once
        log.noticed.append(text)


def _after(error: CtxkitError, where: str, hint: str) -> CtxkitError:
    return type(error)(f"{where}: {error.message}: nothing was printed", hint)


def folder_of(log: OpenLog) -> Path:
    """The folder that paths of a log's config are relative to."""
    if log.folder is not None:
        return log.folder
    return log.opening.path.resolve().parent if log.opening.path else Path.cwd()


def words_of(
    name: str, option: str = "--status", after: str = ": nothing was printed", refused: type[CtxkitError] = Usage,
    largest: int = LARGEST,
) -> str:  # fmt: skip
    """The text of a file or pipe that the caller named with `option`; `after`: the end of the error message, which says
    what did not happen; `largest`: its size in bytes.

    Raises NoSuchLog, NoPermission, ReadFailed; `refused` for what is not text.
    """
    where, hint = f"{option} {name}", "a file with text, or -"
    try:
        with open(name, "rb") as stream:
            return decoded(stream.read(largest + 1), largest)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NoSuchLog(f"{where}: no such file{after}", hint) from error
    except PermissionError as error:
        raise NoPermission(f"{where}: permission denied{after}") from error
    except OSError as error:
        raise ReadFailed(f"{where}: {reason_of(error)}{after}") from error
    except ValueError as error:
        raise refused(f"{where}: {error}{after}", hint) from error

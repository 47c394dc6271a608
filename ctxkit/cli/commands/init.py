"""ctxkit init: create a log and its sidecar."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ctxkit.cli.options import takes
from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import near
from ctxkit.errors import CannotCreate, CtxkitError, NoSuchLog, Usage, Warned
from ctxkit.settings import profiles, said_config
from ctxkit.store.durable_append import create_log
from ctxkit.store.sidecar import Sidecar


@takes()
def command(
    log: Annotated[str, typer.Argument(metavar="LOG", help="The log to create.")],
    *,
    profile: str = "session",
    agent: str | None = None,
    agent_config: str | None = None,
    sidecar: str | None = None,
    json: bool = False,
    quiet: bool = False,
) -> None:
    """Create an empty log (readable only by you) and, beside it, the folder with its config.

    A file that exists is never changed (exit 73).

    --agent NAME --agent-config FILE: the keys in FILE (system, docs, model, limit, window, color) become those of the
    agent, in your own config, so for all logs. The log may exist then.
    """
    if log == "-":
        raise Usage("init needs the path of the log to create", "ctxkit init chat.jsonl")
    if not log:
        raise NoSuchLog("the name of the log is empty: nothing was created", "is a shell variable empty?")
    if log.startswith("@"):
        raise Usage(
            f"{log} names a session that is there: nothing was created", f"a file called so: ctxkit init ./{log}"
        )
    text = profiles.profile(profile)
    path = Path(log)
    if (agent is None) != (agent_config is None):
        raise Usage("--agent and --agent-config go together: nothing was created", "--agent NAME --agent-config FILE")
    if agent is not None and agent_config is not None:
        made = _agent(agent, agent_config)
        if path.exists():
            if json:
                streams.out_json({"log": str(path), **made})
            return
    else:
        made = {}
    beside = Sidecar(path, Path(sidecar) if sidecar else None)
    if beside.config_path.exists() and not path.exists():
        raise CannotCreate(
            f"{beside.config_path}: exists already: nothing was changed",
            "it belongs to another log: move its folder away",
        )
    if not path.exists():
        beside.writable()
    create_log(path)
    folder = sidecar or (str(beside.folder) if path.is_symlink() else f"{path}.ctxkit")
    try:
        not_noted = said_config.write(beside, text, os.environ)
    except CtxkitError as error:
        error.message += f"; the log {path} was created, without a config"
        raise
    if json:
        streams.out_json({"log": str(path), "sidecar": folder, "profile": profile, **made})
    streams.flush()
    if not_noted:
        streams.warn(Warned(not_noted, "config"))
    streams.say(f"Created {path} and {folder} (profile {profile}).")


def _agent(agent: str, archetype: str) -> dict[str, object]:
    """Set the keys of an agent in the user's config; what --json prints of it."""
    from ctxkit.settings.archetypes import read_archetype
    from ctxkit.settings.log_config import Configured

    config = Configured(None, env=os.environ)
    file, values = read_archetype(archetype, config.user)
    change = config.set_agent(agent, values)
    for notice in config.notices:
        streams.warn(Warned(notice, "config"))
    words, place = ", ".join(values), near(str(config.user))
    done = "is set so already" if change is None else f"set from {file}"
    streams.say(f"agents.{agent} ({words}): {done} ({place})")
    return {"agent": agent, "archetype": str(file), "config": str(config.user), "keys": list(values)}

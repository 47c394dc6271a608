"""Reads and changes the config of a log without reading the log, which may be damaged.

Pipeline: `config` calls it. A change is planned, planned again under the sidecar's lock, and replaces the file as a
whole. The file is the sidecar's config.toml, or the user's own.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.core.text.utf8 import is_sound
from ctxkit.errors import BadConfig, CannotCreate, CtxkitError, NoPermission, NothingChanges, Usage
from ctxkit.settings import config, said_config, tomledit
from ctxkit.settings.config import ONLY, Config, Setting, Unsaid
from ctxkit.settings.keys import Key, KeyPath, agent_of, is_key, key_of, require, variable_of
from ctxkit.settings.named_files import missing
from ctxkit.settings.tomlread import TomlFile, leads_out, read
from ctxkit.store.folder import sidecar_name
from ctxkit.store.opening import require_file
from ctxkit.store.private import make_private, user_config
from ctxkit.store.sidecar import Sidecar

UNCHANGED = ": nothing was changed"
Plan = Callable[[str, list[KeyPath]], str]
"""Makes the new text of a file from its text and the paths in it that have the name of the key."""


class ConfigChange(NamedTuple):
    """The result of a change: the file, the key, its value before and after (None: not set), and what is still
    wrong.
    """

    file: Path
    key: str
    before: Any
    after: Any
    left: list[str]


class AcceptedFile(NamedTuple):
    """A config file of a folder that this user accepted: its path, and the keys that count in it, with their values."""

    file: Path
    keys: dict[str, Any]


class Configured:
    """The config of one log (a path, or `-` for a stream), or the user's own.

    `sidecar`: the folder, if not beside the log. Raises NoSuchLog, NoPermission; the log is not opened.
    """

    def __init__(
        self, log: str | None, *, sidecar: str | None = None, env: Mapping[str, str], strict: bool = False
    ) -> None:
        self.env = env
        self.strict = strict
        self.user = user_config(env)
        self.own = log is None
        self.folder: Path | None = None
        self.beside: Sidecar | None = None
        self.accept_line = said_config.accept_line(log if log != "-" else None, sidecar or None)
        named = Path(sidecar) if sidecar else None
        if log == "-":
            self.beside = Sidecar(None, named) if named else None
            self.folder = Path.cwd()
        elif log is not None:
            require_file(Path(log))
            self.beside = Sidecar(Path(log), named)
            self.folder = Path(os.path.realpath(log)).parent
        self.file = self.user if self.beside is None else self.beside.config_path
        """The file that is changed."""
        self.notices = list(self.beside.notices) if self.beside else []
        """What was ignored, of the sidecar's folder and in the files that were read."""

    def load(
        self, *, tolerant: bool = False, env: bool = True, instead: Mapping[Path, str] | None = None,
        unsaid: Unsaid = "some",
    ) -> Config:  # fmt: skip
        """All settings; for the user's own config those and the defaults. Raises what `config.load` raises."""
        side = self.beside.config_path if self.beside else None
        known = self.env if env and not self.own else {}
        base = self.beside.base if self.beside else None
        found = config.load(
            side, self.folder, known, self.user, strict=self.strict, tolerant=tolerant, base=base, instead=instead,
            unsaid=unsaid, accept=self.accept_line,
        )  # fmt: skip
        self.notices += [notice for notice in found.notices if notice not in self.notices]
        return found

    def get(self, name: str) -> Setting:
        """One setting. Raises BadConfig; NothingChanges if it has no value."""
        name, key, _ = _named(name)
        setting = dict(self.load().every()).get(name)
        if setting is None or setting.value is None:
            raise NothingChanges(f"{name} is not set", f"what it means: {key.comment}")
        return setting

    def set(self, name: str, text: str, *, dry_run: bool = False) -> ConfigChange:
        """Set a key to a typed value. Raises BadConfig, Usage, NoPermission, CannotCreate, Locked."""
        name, key, path = _named(name, UNCHANGED)
        if not is_sound(f"{name}{text}"):
            raise BadConfig(f"{name}: what was typed is not UTF-8{UNCHANGED}")
        value = key.typed(text)
        found = require(key, name, value, after=UNCHANGED)
        if not self.own and not key.counts_from_folder(value):
            what = f"{name}: a path that leads out of the log's folder" if key.trust == "inside" else name
            raise BadConfig(
                f"{what} {ONLY}{UNCHANGED}", f"ctxkit config --user set {shlex.quote(name)} {shlex.quote(text)}"
            )
        if wrong := "; ".join(missing(self.folder, key, key.paths(found))):
            raise BadConfig(f"{name}: {wrong}{UNCHANGED}", "write paths relative to the log's folder")

        def plan(before: str, paths: list[KeyPath]) -> str:
            return tomledit.with_key(before, paths[-1] if paths else path, value)

        return self._change(name, plan, dry_run=dry_run)

    def set_agent(self, agent: str, values: Mapping[str, Any]) -> ConfigChange | None:
        """Set keys of an agent, by their last word, in one change. Returns None if they are set so already.

        Raises CannotCreate if one has another value; BadConfig, NoPermission, Locked.
        """
        if not is_sound(agent):
            raise BadConfig(f"the agent's name is not UTF-8{UNCHANGED}")
        if not agent.strip():
            raise Usage(f"the agent's name is empty{UNCHANGED}", "is a shell variable empty?")
        there = self.load().agents.get(agent, {})
        for word, value in values.items():
            if word in there and there[word].written != value:
                text = f"agents.{agent}.{word} is set to something else ({there[word].origin}){UNCHANGED}"
                raise CannotCreate(text, f"another name, or ctxkit config --user unset agents.{agent}.{word}")
        if values.keys() <= there.keys():
            return None

        def plan(before: str, paths: list[KeyPath]) -> str:
            for word, value in values.items():
                before = tomledit.with_key(before, ("agents", agent, word), value)
            return before

        return self._change(f"agents.{agent}.window", plan, dry_run=False)

    def unset(self, name: str, *, dry_run: bool = False) -> ConfigChange:
        """Remove a key from the file, also an unknown one. Raises NothingChanges if it is not there."""
        unknown: BadConfig | None = None
        try:
            name, _, _ = _named(name, UNCHANGED)
        except BadConfig as error:
            unknown = error

        def plan(before: str, paths: list[KeyPath]) -> str:
            if not paths:
                raise unknown or NothingChanges(f"{name} is not set in {self.file}{UNCHANGED}")
            for path in paths:
                before = tomledit.without_key(before, path)
            return before

        return self._change(name, plan, dry_run=dry_run)

    def accept(self, *, dry_run: bool = False) -> list[AcceptedFile]:
        """Accept what the folder's config files say now: they count in full until they change.

        Raises Usage for the user's own config, which always counts; NothingChanges without a file; BadConfig if one has
        a mistake; NoPermission, ReadFailed, CannotCreate.
        """
        if self.own:
            raise Usage(f"your own config always counts{UNCHANGED}", "ctxkit config LOG accept")
        self._refuse_ignored()
        # a mistake in one is told before any is accepted; the log's own comes first
        files = self.load(unsaid="all").folder_files[::-1]
        for file, stranger in files:
            if stranger:
                why = f"belongs to another user, or is a link that leads out{UNCHANGED}"
                raise NoPermission(f"{file.path}: {why}")
        if not files:
            raise NothingChanges(f"there is no config file in this log's folder or above it{UNCHANGED}")
        accepted = []
        for file, _ in files:
            if not dry_run and file.raw is not None:
                said_config.note(file.path, file.raw, self.env)
            keys = ((".".join(path), value) for path, value in file.entries() if is_key(path))
            accepted.append(
                AcceptedFile(file.path, {name: value for name, value in keys if key_of(name).counts_from_folder(value)})
            )
        return accepted

    def _refuse_ignored(self) -> None:
        if self.beside is not None and self.beside.ignored:
            raise NoPermission(f"{self.beside.folder} {self.beside.ignored}{UNCHANGED}", "--sidecar DIR")

    def _target(self) -> Sidecar:
        if self.own:
            return Sidecar(None, self.user.parent)
        if self.beside is None:
            raise Usage(f"a stream has no config of its own{UNCHANGED}", "name a log, --sidecar DIR, or --user")
        self._refuse_ignored()
        if leads_out(self.file, self.beside.base):
            text = f"{self.file}: a link that leads out of {self.beside.base}{UNCHANGED}"
            raise NoPermission(text, "remove the link, or name the folder with --sidecar DIR")
        return self.beside

    def _change(self, name: str, plan: Plan, *, dry_run: bool) -> ConfigChange:
        target = self._target()
        _, change = self._planned(name, plan)  # a refused change creates no folder
        if dry_run:
            return change
        if self.own:
            try:
                make_private(self.user.parent.parent)
            except OSError as error:
                raise CannotCreate(f"{self.user}: cannot create: {error.strerror}{UNCHANGED}") from error
        with target.locked():
            made, change = self._planned(name, plan)
            if made is not None and self.own:
                target.write_config(made)
            elif made is not None:
                not_noted = said_config.write(target, made, self.env)
                self.notices += [f"{not_noted}; to accept: {self.accept_line}"] if not_noted else []
        return change

    def _planned(self, name: str, plan: Plan) -> tuple[str | None, ConfigChange]:
        """The new text (None: nothing to change), and the change. Raises what the plan raises."""
        before = read(self.file)
        if before is not None and (stranger := before.stranger(None)):
            raise NoPermission(f"{self.file}: {stranger}{UNCHANGED}", "--sidecar DIR")
        old = before or TomlFile(self.file, "")
        there = [(path, value) for path, value in old.entries() if ".".join(path) == name]
        try:
            new = TomlFile(self.file, plan(old.text, [path for path, _ in there]))
        except tomledit.CannotEdit as error:
            raise BadConfig(
                f"{old.place(name)}: {name} cannot be changed there{UNCHANGED}", "edit the file by hand"
            ) from error
        after = self.load(tolerant=True, env=False, instead={self.file: new.text}, unsaid="all")
        left = [error.message for error in after.errors if error.message.startswith(f"{self.file}:")]
        of_the_key = re.compile(rf"{re.escape(str(self.file))}:\d+: {re.escape(name)} ")
        after.errors[:] = [error for error in after.errors if of_the_key.match(error.message)]
        after.check(name)
        if after.errors:
            raise BadConfig(f"{after.errors[0].message}{UNCHANGED}", after.errors[0].hint)
        now = [value for path, value in new.entries() if ".".join(path) == name]
        change = ConfigChange(self.file, name, there[0][1] if there else None, now[0] if now else None, left)
        return (None if before and new.text == old.text else _as_it_was(old.raw or b"", new.text)), change


def _as_it_was(raw: bytes, text: str) -> str:
    """The text with the line ends and the byte order mark of the file before."""
    bom = "\ufeff" if raw.startswith(b"\xef\xbb\xbf") else ""
    crlf = b"\r\n" in raw and raw.count(b"\n") == raw.count(b"\r\n")
    return bom + (text.replace("\n", "\r\n") if crlf else text)


def _named(name: str, after: str = "") -> tuple[str, Key, KeyPath]:
    """A key as typed: its name, its row of the table, its path. An agent's name may be in quotes, as in TOML."""
    found = agent_of(name)
    if found is None:
        return name, key_of(name, after=after), tuple(name.split("."))
    agent, word = found
    if re.fullmatch(r""""(?:[^"\\]|\\.)*"|'[^']*'""", agent, re.S):
        import tomllib

        try:
            [agent] = tomllib.loads(f"{agent} = 0")
        except ValueError as error:
            raise BadConfig(f"{name}: not a name in quotes{after}", "quotes in the name: as in TOML") from error
    name = f"agents.{agent}.{word}"
    return name, key_of(name, after=after), ("agents", agent, word)


def left_behind(path: Path, ops: Sequence[Mapping[str, Any]]) -> str:
    """What the copy of a log lacks, in words: the config of the log that its `ops` say they were made in; "" if
    nothing. `path`: of the copy, which has no config of its own.

    A copied file has all ops, but its windows and its clock may have been defaults in the folder beside the other one.
    """
    words = {word for op in (*ops[:1], *ops[-1:]) for word in _typed(op)}
    for word in sorted(words):
        name = os.path.basename(word)
        if name in ("", ".", "..", path.name) or "\0" in name:
            continue
        made_in = path.with_name(name)  # the words are a stranger's, perhaps: no other folder is looked into
        try:
            beside = Sidecar(made_in)
            if os.path.islink(made_in) or beside.leads_out(beside.config_path):
                continue
            found = read(beside.config_path)
            entries = [] if found is None else found.entries()
        except (CtxkitError, OSError, ValueError):  # no name of a file; or another log's, and who opens that is told
            continue
        keys = [".".join(key) for key, _ in entries if is_key(key)]
        if keys:
            copied = shlex.join(["cp", "-r", *(str(one.with_name(sidecar_name(one.name))) for one in (made_in, path))])
            return (
                f"{path}: its ops were made in {name}, whose config does not count here ({', '.join(keys)}): {copied}"
            )
    return ""


def _typed(op: Mapping[str, Any]) -> Iterator[str]:
    """The words after the command of the line that made an op."""
    by = op.get("by")
    args = by.get("args") if isinstance(by, dict) else None
    yield from (word for word in (args if isinstance(args, list) else [])[1:] if isinstance(word, str))


def overridden(name: str, env: Mapping[str, str]) -> str | None:
    """The environment variable that comes before the files, if it is set."""
    variable = variable_of(key_of(name))
    return variable if variable and env.get(variable) else None

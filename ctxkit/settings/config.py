"""The configuration: the value of every key, and where it comes from.

Pipeline: `Log` and the commands read defaults for new decisions and views from it; it never changes what old ops mean.
Order: flag > environment > sidecar > nearest ctxkit.toml up the tree > user config > default. Keys: `keys.py`. The
files of a folder may be a stranger's, so some keys have no effect there, and more of them in a file that this user did
not say on this machine (`said_config.py`); `notices` names those.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ctxkit.errors import BadConfig, CtxkitError, ReadFailed, reason_of
from ctxkit.settings import said_config
from ctxkit.settings.keys import (
    AGENT_KEYS,
    INSTEAD,
    KEYS,
    OWNER,
    PREFIX,
    Key,
    agent_of,
    is_table,
    key_of,
    require,
    variable_of,
    written,
)
from ctxkit.settings.tomlread import TomlFile, read
from ctxkit.store.private import user_config

OTHERS = frozenset({"CTXKIT_PAGER", "CTXKIT_DEBUG", "CTXKIT_LOG", "CTXKIT_LOG_FORMAT", "CTXKIT_OFFLINE"}) | {
    said_config.VARIABLE
}
"""Environment variables of ctxkit that are not config keys."""
LISTED = 20
"""The most mistakes, and ignored keys, of one file that are listed."""

AGENT_PREFIX = "CTXKIT_AGENTS_"
"""How the environment variables of agents' keys begin: `CTXKIT_AGENTS_FRODO_LIMIT`."""
_OWN = {general: own for own, general in INSTEAD.items()}
DEFAULT, FLAG, ARGUMENT = "default", "flag", "argument"
"""Origins: nobody set it; the command line did; the program that uses the library did."""
PAIRS = (("window.min", "window.max"), ("status.yellow", "status.red"))
"""Pairs of keys; the value of the first may not be above that of the second."""

ONLY = "counts only from flags, environment and user config"
Unsaid = Literal["some", "none", "all"]
"""What counts of a folder's file that this user did not say: some keys (`Key.unsaid`), for a command that somebody
typed; none, for `watch`, which acts by itself; all, to check what is about to be written.
"""


class Setting(NamedTuple):
    """A value, its origin (`flag`, `CTXKIT_NOW`, `path:line`, `default`), and the value as it was written."""

    value: Any
    origin: str
    written: Any = None

    @property
    def typed(self) -> str:
        """The value as it is typed; "" if there is none."""
        return "" if self.written is None else written(self.written)


class Config:
    """The settings in force. `config["window.min"]` is a value: durations in seconds (0 = off), percent as numbers.

    `notices`: what was ignored; `errors`: all mistakes, if `tolerant` is set (else the first one is raised).
    `agents`: the keys of each agent, by their last word (`window`, `limit`).
    """

    def __init__(
        self, *, strict: bool = False, tolerant: bool = False, unsaid: Unsaid = "some",
        env: Mapping[str, str] | None = None, accept: str = "",
    ) -> None:  # fmt: skip
        self.settings = {key.name: _default(key) for key in KEYS if not key.of_agent}
        self.agents: dict[str, dict[str, Setting]] = {}
        self.agent: str | None = None
        self.notices: list[str] = []
        self.errors: list[CtxkitError] = []
        self.folder_files: list[tuple[TomlFile, str]] = []
        """The files of folders that were read, and why one is not used ("" if it is)."""
        self._strict = strict
        self._tolerant = tolerant
        self._unsaid = unsaid
        self._env = env or {}
        self._accept = accept

    def __getitem__(self, name: str) -> Any:
        return self.source(name)[1].value

    def origin(self, name: str) -> str:
        """The origin of the value of `name`."""
        return self.source(name)[1].origin

    def source(self, name: str) -> tuple[str, Setting]:
        """The setting of `name`, and its key (`agents.frodo.limit`): that of the agent which `for_agent` named comes
        before the one of files. Flags, arguments and environment variables of `name` itself come before both.
        """
        held = self.settings[name]
        if self.agent is None or name not in _OWN:
            return name, held
        own = self.agents.get(self.agent, {}).get(_OWN[name])
        if own is None or held.origin in (FLAG, ARGUMENT, variable_of(key_of(name))):
            return name, held
        return f"agents.{self.agent}.{_OWN[name]}", own

    def for_agent(self, agent: str | None) -> Config:
        """The same config, seen as one agent (None: as none)."""
        found = copy.copy(self)
        found.agent = agent
        return found

    def windows(self) -> dict[str, Setting]:
        """The windows of the agents that have one of their own."""
        return {name: own["window"] for name, own in self.agents.items() if "window" in own}

    def every(self) -> list[tuple[str, Setting]]:
        """All keys with their settings in the table's order, including those that agents have."""
        found = []
        for key in KEYS:
            if key is AGENT_KEYS["window"]:  # the first of them
                found += [
                    (f"agents.{name}.{word}", own[word]) for name, own in self.agents.items() for word in AGENT_KEYS
                    if word in own
                ]  # fmt: skip
            elif not key.of_agent:
                found.append((key.name, self.settings[key.name]))
        return found

    def set_flags(self, flags: Mapping[str, str]) -> None:
        """Override settings with flags of the command line: key -> text."""
        for name, text in flags.items():
            self._set(key_of(name), name, key_of(name).typed(text), FLAG, f"{name} on the command line: ")
        self.check()

    def given(self, values: Mapping[str, Any]) -> Config:
        """A copy with settings overridden by arguments of a program: key -> value as in a config file.

        Raises BadConfig.
        """
        found = copy.copy(self)
        found.settings, found.agents = dict(self.settings), {name: dict(own) for name, own in self.agents.items()}
        for name, value in values.items():
            found._set(key_of(name), name, value, ARGUMENT, "")
        found.check()
        return found

    def without_windows(self) -> Config:
        """A copy that shows all messages: no window, and nothing that agents have of their own."""
        found = self.given({"window.default": "off"})
        found.agents.clear()
        found.settings["window.messages"] = Setting(None, ARGUMENT)
        return found

    def check(self, only: str | None = None) -> None:
        """Check values that must fit each other; `only`: those of pairs with this key. Raises BadConfig."""
        for low, high in PAIRS:
            if self[low] > self[high] and only in (None, low, high):
                place = "" if self.origin(low) == DEFAULT else f"{self.origin(low)}: "
                places = f"{place}{low} is above {high} ({self.origin(high)})"
                self._wrong(BadConfig(places, "swap or raise it"))
        self._bounded(only)

    def _bounded(self, only: str | None) -> None:
        """Check that windows are within the bounds: another one would jump into them with the next change."""
        named = [("window.default", self.settings["window.default"])]
        named += [(f"agents.{agent}.window", setting) for agent, setting in self.windows().items()]
        for name, setting in named:
            if setting.origin == DEFAULT or not setting.value or only not in (None, name, *PAIRS[0]):
                continue
            bound = PAIRS[0][setting.value > self["window.min"]]
            if not self["window.min"] <= setting.value <= self["window.max"]:
                side = "above" if bound == "window.max" else "below"
                text = f"{setting.origin}: {name} is {side} {bound} ({self.settings[bound].written})"
                self._wrong(BadConfig(text, f"change it, or {bound}"))

    def _set(self, key: Key, name: str, value: Any, origin: str, place: str) -> None:
        setting = Setting(require(key, name, value, place), origin, value)
        if not key.acts:
            self.notices.append(f"{place}{name} has no effect in this version")
        agent = agent_of(name)
        if agent is not None:
            self.agents.setdefault(agent[0], {})[agent[1]] = setting
        else:
            self.settings[name] = setting

    def _wrong(self, error: CtxkitError) -> None:
        if not self._tolerant:
            raise error
        self.errors.append(error)

    def _ignored(self, what: str, hint: str = "remove it, or leave out --strict", notice: str = "") -> None:
        """Something in a folder's own file that has no effect. `notice`: how it is said, if not in the usual way."""
        if self._strict:
            self._wrong(BadConfig(what, hint))
        else:
            self.notices.append(notice or f"{what}: ignored")

    def lay(self, file: Path, *, own: bool, base: Path | None = None, text: str | None = None) -> None:
        """Override settings with those of one file.

        `own`: the user's file; else a folder's, maybe a stranger's, which no link may lead out of `base`. `text`: used
        instead of the file's. Of a folder's file that this user did not say, not all keys count; those that do not are
        named once. Raises BadConfig, NoPermission, ReadFailed.
        """
        try:
            laid = read(file)
            if laid is not None and not own:
                stranger = laid.stranger(base)
                self.folder_files.append((laid, stranger))
                if stranger:
                    self._ignored(f"{file}: {stranger}")
                    return
            if text is not None:
                laid = TomlFile(file, text)
            if laid is None:
                return
            entries = laid.entries()
        except CtxkitError as error:
            self._wrong(error)
            return
        said = own or self._unsaid == "all" or (laid.raw is not None and said_config.is_said(file, laid.raw, self._env))
        wrong = 0
        never: list[str] = []
        not_said: list[str] = []
        for path, value in entries:
            name = ".".join(path)
            if (value == {} and is_table(path)) or (name == OWNER and not own):
                continue
            place = laid.place(name)
            try:
                key = key_of(name, f"{place}: ")
                if not own and not key.counts_from_folder(value):
                    if self._strict:
                        self._ignored(f"{place}: {name} {ONLY}")
                    else:
                        never.append(name)
                elif not said and (self._unsaid == "none" or not key.unsaid):
                    require(key, name, value, f"{place}: ")
                    not_said.append(name)
                else:
                    self._set(key, name, value, place, f"{place}: ")
            except BadConfig as error:
                self._wrong(error)
                wrong += 1
                if wrong == LISTED:
                    self._wrong(BadConfig(f"{file}: perhaps there is more: no further key was read"))
                    break
        not_said.sort(key=lambda name: key_of(name).unsaid)  # what would act is not hidden behind what is shown
        self._name_ignored(laid, never, not_said)

    def _name_ignored(self, file: TomlFile, never: Sequence[str], not_said: Sequence[str]) -> None:
        """Name the keys of a folder's file that have no effect, on one line that ends with what to type.

        `never`: those that never count from there; `not_said`: those that an accept lets count.
        """
        path, refused = file.path, _listed(never)
        if never and not not_said:
            lines = ",".join(str(file.line(name)) for name in never[:LISTED])
            verb = "counts" if len(never) == 1 else "count"
            self._ignored(f"{path}:{lines}: {refused} {verb} {ONLY.removeprefix('counts ')}")
        elif not_said:
            accept, unsaid = self._accept or "ctxkit config LOG accept", "not said by you on this machine"
            first = f"{refused} ({ONLY.removeprefix('counts ')}), " if never else ""
            names = _listed(not_said)
            self._ignored(
                f"{path}: {names}: {unsaid}", accept, f"{path}: ignored, {first}{unsaid}: {names}; to accept: {accept}"
            )


def _listed(names: Sequence[str]) -> str:
    """The first of these names, and how many more there are."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(name[:80] for name in names[:LISTED]) + more


def load(
    sidecar_file: Path | None, folder: Path | None, env: Mapping[str, str], user_file: Path | None, *,
    strict: bool = False, tolerant: bool = False, base: Path | None = None, instead: Mapping[Path, str] | None = None,
    unsaid: Unsaid = "some", accept: str = "",
) -> Config:  # fmt: skip
    """The config for a log in `folder` (None: no ctxkit.toml is looked for). Missing files are skipped.

    `base`: the folder that a link to the sidecar's file may not lead out of (default: `folder`); `instead`: file ->
    text to use instead of its content; `unsaid`: what counts of files that this user did not say; `accept`: the command
    that accepts them, for the notice. Raises BadConfig (file, line, nearest known key), NoPermission, ReadFailed; with
    `strict` also if something in a folder's own files would be ignored; with `tolerant` all of them go to `errors`.
    """
    config = Config(strict=strict, tolerant=tolerant, unsaid=unsaid, env=env, accept=accept)
    others = instead or {}
    if user_file is not None:
        config.lay(user_file, own=True, text=others.get(user_file))
    up = None if folder is None else nearest(folder, config._wrong)
    if up is not None:
        config.lay(up, own=False, base=up.parent)
    if sidecar_file is not None:
        config.lay(sidecar_file, own=False, base=base or folder, text=others.get(sidecar_file))
    variables = [(key, key.name, variable) for key in KEYS if (variable := variable_of(key)) and env.get(variable)]
    for key, name, variable in (*variables, *_of_agents(config, env)):
        try:
            config._set(key, name, key.typed(env[variable]), variable, f"{variable}: ")
        except BadConfig as error:
            config._wrong(error)
    config.notices += _misspelt(env)
    config.check()
    return config


def load_here(env: Mapping[str, str]) -> Config:
    """The config of the working folder. Raises what `load` raises."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the working folder is gone
        here = None
    return load(None, here, env, user_config(env))


def load_user(env: Mapping[str, str]) -> Config:
    """The user's own settings and the variables; mistakes are kept in `errors`."""
    return load(None, None, env, user_config(env), tolerant=True)


def _of_agents(config: Config, env: Mapping[str, str]) -> Iterator[tuple[Key, str, str]]:
    """The keys of agents that variables set (`CTXKIT_AGENTS_FRODO_LIMIT`), each with its name and its variable.

    A variable means the agents of this name in the files, else the one whose name is the same in small letters.
    """
    for variable, text in env.items():
        if not variable.startswith(AGENT_PREFIX):
            continue
        name, _, word = variable.removeprefix(AGENT_PREFIX).rpartition("_")
        key = AGENT_KEYS.get(word.lower())
        if not name or key is None:
            words = ", ".join(one.upper() for one in AGENT_KEYS)
            config.notices.append(f"{variable}: no key has this variable; ignored; {AGENT_PREFIX}NAME_ and {words}?")
        elif text:
            known = [agent for agent in config.agents if _in_variable(agent) == name]
            for agent in known or [name.lower()]:
                yield key, f"agents.{agent}.{word.lower()}", variable


def _in_variable(agent: str) -> str:
    """The name of an agent as it stands in a variable."""
    return re.sub(r"[^A-Z0-9]", "_", agent.upper())


def _misspelt(env: Mapping[str, str]) -> list[str]:
    """Notices of variables that nearly match a key's. Others with the same prefix may belong to other programs."""
    known = {variable for key in KEYS if (variable := variable_of(key))}
    unknown = [
        name for name in env
        if name.startswith(PREFIX) and name not in known and name not in OTHERS and not name.startswith(AGENT_PREFIX)
    ]  # fmt: skip
    if not unknown:
        return []

    import difflib

    names = [variable.removeprefix(PREFIX) for variable in known]
    nearest = [(name, difflib.get_close_matches(name[len(PREFIX) : 80], names, 1, 0.8)) for name in unknown]
    return [f"{name}: no key has this variable; ignored; {PREFIX}{near[0]}?" for name, near in nearest if near]


def _default(key: Key) -> Setting:
    return Setting(None if key.default is None else key.read(key.default), DEFAULT, key.default)


def nearest(folder: Path, wrong: Callable[[CtxkitError], None]) -> Path | None:
    """The ctxkit.toml in `folder` or in the nearest folder above; `wrong` is told of folders that cannot be read."""
    for at in (folder, *folder.absolute().parents):
        try:
            if (at / "ctxkit.toml").is_file():
                return at / "ctxkit.toml"
        except PermissionError:  # a folder above the log may be closed to us: its config does not apply
            continue
        except OSError as error:
            wrong(ReadFailed(f"{at / 'ctxkit.toml'}: {reason_of(error)}", "nothing was changed"))
    return None

"""The configuration: the value of every key, and where it comes from.

Pipeline: `Log` and the commands read defaults for new decisions and views from it; it never changes what old ops mean.
Order: flag > environment > sidecar > nearest ctxkit.toml up the tree > user config > default. Keys: `keys.py`. The
files of a folder may be a stranger's, so some keys have no effect there, and more of them in a file that this user did
not say on this machine (`said_config.py`); `notices` names those.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ctxkit.errors import BadConfig, CtxkitError, ReadFailed, reason_of
from ctxkit.settings import said_config, tomlread
from ctxkit.settings.keys import AGENT_KEYS, INSTEAD, KEYS, OWNER, Key

PREFIX = "CTXKIT_"
OTHERS = frozenset({"CTXKIT_PAGER", "CTXKIT_DEBUG", "CTXKIT_LOG", "CTXKIT_LOG_FORMAT", "CTXKIT_OFFLINE"}) | {
    said_config.VARIABLE
}
"""Environment variables of ctxkit that are not config keys."""
LISTED = 20
"""The most mistakes, and ignored keys, of one file that are listed."""

_TABLE = {key.name: key for key in KEYS}
_AGENT_KEY = re.compile(rf"agents\.(.+)\.({'|'.join(AGENT_KEYS)})", re.S)
AGENT_PREFIX = "CTXKIT_AGENTS_"
"""How the environment variables of agents' keys begin: `CTXKIT_AGENTS_FRODO_LIMIT`."""
_OWN = {general: own for own, general in INSTEAD.items()}
_OF_THIS_CALL = ("flag", "argument")
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
        self._strict = strict
        self._tolerant = tolerant
        self._unsaid = unsaid
        self._env = env or {}
        self._accept = accept

    def __getitem__(self, name: str) -> Any:
        return self.setting(name).value

    def origin(self, name: str) -> str:
        """The origin of the value of `name`."""
        return self.setting(name).origin

    def setting(self, name: str) -> Setting:
        """The setting of `name`: that of the agent which `for_agent` named comes before the one of files.

        Flags, arguments and environment variables of `name` itself come before both.
        """
        return self.source(name)[1]

    def source(self, name: str) -> tuple[str, Setting]:
        """The setting of `name` as `setting` gives it, and the name of its key (`agents.frodo.limit`)."""
        held = self.settings[name]
        if self.agent is None or name not in _OWN:
            return name, held
        own = self.agents.get(self.agent, {}).get(_OWN[name])
        if own is None or held.origin in (*_OF_THIS_CALL, variable_of(_TABLE[name])):
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
            self._set(key_of(name), name, key_of(name).typed(text), "flag", f"{name} on the command line: ")
        self.check()

    def given(self, values: Mapping[str, Any]) -> Config:
        """A copy with settings overridden by arguments of a program: key -> value as in a config file.

        Raises BadConfig.
        """
        found = copy.copy(self)
        found.settings, found.agents = dict(self.settings), {name: dict(own) for name, own in self.agents.items()}
        for name, value in values.items():
            found._set(key_of(name), name, value, "argument", "")
        found.check()
        return found

    def check(self, only: str | None = None) -> None:
        """Check values that must fit each other; `only`: those of pairs with this key. Raises BadConfig."""
        for low, high in PAIRS:
            if self[low] > self[high] and only in (None, low, high):
                place = "" if self.origin(low) == "default" else f"{self.origin(low)}: "
                places = f"{place}{low} is above {high} ({self.origin(high)})"
                self._wrong(BadConfig(places, "swap or raise it"))
        self._bounded(only)

    def _bounded(self, only: str | None) -> None:
        """Check that windows are within the bounds: another one would jump into them with the next change."""
        named = [("window.default", self.settings["window.default"])]
        named += [(f"agents.{agent}.window", setting) for agent, setting in self.windows().items()]
        for name, setting in named:
            if setting.origin == "default" or not setting.value or only not in (None, name, *PAIRS[0]):
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
        raw = None
        try:
            found = tomlread.read(file)
            if found is None and text is None:
                return
            if found is not None and not own:
                if found.owner not in (0, os.geteuid()):
                    self._ignored(f"{file}: belongs to another user")
                    return
                if base is not None and leads_out(file, base):
                    self._ignored(f"{file}: a link that leads out of {base}")
                    return
            if text is None and found is not None:
                text, raw = found.text, found.raw
            text = text or ""
            table = tomlread.parse(file, text)
        except CtxkitError as error:
            self._wrong(error)
            return
        said = own or self._unsaid == "all" or (raw is not None and said_config.is_said(file, raw, self._env))
        known: dict[str, int] | None = None
        wrong = 0
        only: list[tuple[int, str]] = []
        not_said: list[str] = []
        for path, value in tomlread.flat(table, is_key):
            known = tomlread.lines(text) if known is None else known
            try:
                if not self._lay_one(path, value, file, known, only, own=own, said=said):
                    not_said.append(".".join(path))
            except BadConfig as error:
                self._wrong(error)
                wrong += 1
                if wrong == LISTED:
                    self._wrong(BadConfig(f"{file}: perhaps there is more: no further key was read"))
                    break
        not_said.sort(key=lambda name: key_of(name).unsaid)  # what would act is not hidden behind what is shown
        self._name_ignored(file, only, not_said)

    def _name_ignored(self, file: Path, only: Sequence[tuple[int, str]], not_said: Sequence[str]) -> None:
        """Name the keys of a folder's file that have no effect, on one line that ends with what to type.

        `only`: line and name of those that never count from there; `not_said`: those that an accept lets count.
        """
        never = _listed([name for _, name in only])
        if only and not not_said:
            lines, verb = ",".join(str(line) for line, _ in only[:LISTED]), "counts" if len(only) == 1 else "count"
            self._ignored(f"{file}:{lines}: {never} {verb} {ONLY.removeprefix('counts ')}")
        elif not_said:
            accept, unsaid = self._accept or "ctxkit config LOG accept", "not said by you on this machine"
            first = f"{never} ({ONLY.removeprefix('counts ')}), " if only else ""
            names = _listed(not_said)
            self._ignored(
                f"{file}: {names}: {unsaid}", accept, f"{file}: ignored, {first}{unsaid}: {names}; to accept: {accept}"
            )

    def _lay_one(
        self, path: tuple[str, ...], value: Any, file: Path, known: dict[str, int], only: list[tuple[int, str]], *,
        own: bool, said: bool,
    ) -> bool:  # fmt: skip
        """Override the setting of one key. Returns False if it does not count because nobody here said the file.

        `only`: gets its line and name if it never counts from there.
        """
        name = ".".join(path)
        if (value == {} and is_table(path)) or (name == OWNER and not own):
            return True
        place = f"{file}:{tomlread.line_of(known, name)}"
        key = key_of(name, f"{place}: ")
        if not own and not (isinstance(value, dict) or key.counts_from_folder(_checkable(key, value))):
            if self._strict:
                self._ignored(f"{place}: {name} {ONLY}")
            else:
                only.append((tomlread.line_of(known, name), name))
            return True
        if not said and (self._unsaid == "none" or not key.unsaid):
            require(key, name, value, f"{place}: ")
            return False
        self._set(key, name, value, place, f"{place}: ")
        return True


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
    for key in KEYS:
        variable = variable_of(key)
        if variable and env.get(variable):
            try:
                config._set(key, key.name, key.typed(env[variable]), variable, f"{variable}: ")
            except BadConfig as error:
                config._wrong(error)
    _agents_of(config, env)
    config.notices += _misspelt(env)
    config.check()
    return config


def _agents_of(config: Config, env: Mapping[str, str]) -> None:
    """Override keys of agents with their variables (`CTXKIT_AGENTS_FRODO_LIMIT`).

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
            continue
        if not text:
            continue
        known = [agent for agent in config.agents if _in_variable(agent) == name]
        for agent in known or [name.lower()]:
            try:
                config._set(key, f"agents.{agent}.{word.lower()}", key.typed(text), variable, f"{variable}: ")
            except BadConfig as error:
                config._wrong(error)


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


def variable_of(key: Key) -> str | None:
    """The environment variable of a key; None for a key of an agent, whose name is in the variable."""
    return None if key.of_agent else PREFIX + key.name.upper().replace(".", "_")


def leads_out(file: Path, base: Path) -> bool:
    """Whether a link on the way to `file` leads out of the folder `base`."""
    return not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(base))


def require(key: Key, name: str, value: Any, place: str = "", after: str = "") -> Any:
    """The value for the program. Raises BadConfig, which names what is expected."""
    try:
        return key.read(value)
    except (ValueError, OverflowError) as error:
        hint = f"it is {_brief(value)}; {key.comment}"
        raise BadConfig(f"{place}{name[:80]} must be {error}{after}", hint) from error


def is_key(path: tuple[str, ...]) -> bool:
    """Whether a path is the name of a key."""
    name = ".".join(path)
    return name in _TABLE or (len(path) > 2 and agent_of(name) is not None)


def is_table(path: tuple[str, ...]) -> bool:
    """Whether a path is the name of a table of keys."""
    return any(name.startswith(".".join(path) + ".") for name in _TABLE) or (path[0] == "agents" and len(path) == 2)


def agent_of(name: str) -> tuple[str, str] | None:
    """The agent and the last word of a key `agents.NAME.window`; None for another key."""
    found = _AGENT_KEY.fullmatch(name)
    return (found[1], found[2]) if found else None


def key_of(name: str, place: str = "", after: str = "") -> Key:
    """The key of that name. Raises BadConfig, which names the nearest one."""
    if name in _TABLE and not _TABLE[name].of_agent:
        return _TABLE[name]
    agent = agent_of(name)
    if agent is not None:
        return AGENT_KEYS[agent[1]]

    import difflib

    below = [known for known in _TABLE if known.startswith(name + ".")]
    if below:
        raise BadConfig(f"{place}{name} is a table{after}", f"its keys: {', '.join(below)}")
    near = difflib.get_close_matches(name[:80], _TABLE, 1, 0.5)
    leaf = [known for known in _TABLE if known.rpartition(".")[2] == name.rpartition(".")[2]]
    hint = f"the nearest key is {(near or leaf)[0]}" if near or leaf else "ctxkit config LOG show lists all keys"
    raise BadConfig(f"{place}unknown key {name[:80]}{after}", hint)


def _default(key: Key) -> Setting:
    return Setting(None if key.default is None else key.read(key.default), "default", key.default)


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


def _checkable(key: Key, value: Any) -> Any:
    """A value of the right type for `counts_from_folder`; a value of the wrong type raises later."""
    try:
        return key.read(value)
    except (ValueError, OverflowError):
        return "" if key.trust == "inside" else value


def _brief(value: Any) -> str:
    shown = "a table" if isinstance(value, dict) else repr(value)
    return shown if len(shown) <= 60 else shown[:60] + "…"

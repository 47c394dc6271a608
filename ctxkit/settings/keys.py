"""The table of config keys: their types, bounds, defaults and meaning.

Pipeline: `config.py` validates by it, `profiles.py` writes its comments into a new sidecar; docs and `config show` are
made from it. Defaults are written as a person would write them; `read` converts them to what the program uses (seconds,
percent).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ctxkit.core import strategies
from ctxkit.core.strategies import RULES
from ctxkit.errors import BadConfig

COUNTERS = ("auto", "o200k_base", "cl100k_base", "pieces")
COLORS = ("red", "green", "yellow", "magenta", "cyan")
"""Colours that may be given to an agent; all are readable on dark and on light terminals."""
AGENTS = "agents.NAME."
"""How the keys of one agent begin."""
OWNER = "owner"
"""A key of a sidecar that is no setting: whose the log is."""
OWNED_LINE = f'{OWNER} = "ctxkit"'
"""The line of a sidecar's config by which ctxkit notes that it made the log."""
FILE = "file:"
"""Before the path of a file whose content is the text."""
COMMAND = "command:"
"""Before a command whose output is the text."""
KeyPath = tuple[str, ...]
"""The name of a key, in parts, as an agent's name may hold dots."""


class Key(NamedTuple):
    """One key. `trust`: whether it counts in a folder's own files (sidecar, ctxkit.toml), which may be a stranger's."""

    name: str
    kind: str
    default: Any
    comment: str
    low: float | None = None
    choices: tuple[str, ...] = ()
    trust: str = "always"
    """always; never; inside: for paths that stay in the log's folder; local: for strategies that ask no model."""
    example: Any = None
    """What a commented-out line shows if there is no default."""
    acts: bool = True
    """False: nothing reads it yet; setting it gives a warning."""
    unsaid: bool = False
    """Whether it counts in a folder's file that this user neither wrote with ctxkit nor accepted (`said_config.py`):
    True for how a context is shown and put together, and for what only a typed trim or compact reads. It must be
    harmless in a stranger's file, so a new key has to ask for it."""

    def read(self, value: Any) -> Any:
        """The value for the program. Raises ValueError saying what is expected instead."""
        found = KINDS[self.kind](value)
        if self.low is not None and found < self.low:
            raise ValueError(f"at least {self.low:g}")
        if self.choices and found not in self.choices:
            raise ValueError(f"one of {', '.join(self.choices)}")
        return found

    def typed(self, text: str) -> Any:
        """Text from the environment or the command line as the value of a file; `read` refuses a wrong type."""
        if self.kind in ("switch", "auto"):
            return ON_OFF.get(text.lower(), text)
        if self.kind == "texts":
            return _listed(text)
        if self.kind == "number":
            return amount(text)
        if self.kind == "percent" and re.fullmatch(r"\d{1,3}(\.\d{1,18})?", text, re.ASCII):
            return f"{text}%"
        return text

    @property
    def of_agent(self) -> bool:
        """Whether it is a key of one agent, which has the agent's name in it."""
        return self.name.startswith(AGENTS)

    @property
    def several(self) -> bool:
        """Whether a path of its value may be a folder or a pattern."""
        return self.kind == "texts"

    def paths(self, value: Any) -> list[str]:
        """The files, folders and patterns that a value of this key names; an empty list if it names none."""
        if self.kind == "words":
            return [value.removeprefix(FILE)] if value.startswith(FILE) else []
        if self.kind == "processes":
            return [] if value.startswith(COMMAND) or not value else [value]
        return ([value] if isinstance(value, str) else list(value)) if self.trust == "inside" and value else []

    def shown(self) -> Any:
        """The value in a commented-out line: the default, or an example if the default is empty."""
        return self.example if self.default in (None, "") and self.example else self.default

    def counts_from_folder(self, value: Any) -> bool:
        """Whether a value, as it is written in a sidecar or ctxkit.toml, may have an effect: a cloned folder must not
        act. True for one that the key cannot have, which is a mistake wherever it stands, but for `never`.
        """
        try:
            found = self.read(value)
        except (ValueError, OverflowError):
            return self.trust != "never" or isinstance(value, dict)
        if self.trust == "inside":
            paths = [PurePosixPath(path) for path in self.paths(found)]
            return all(not path.is_absolute() and ".." not in path.parts and path.parts[:1] != ("~",) for path in paths)
        return self.trust == "always" or (self.trust == "local" and not strategies.asks_model(found))


PREFIX = "CTXKIT_"

LARGEST = 10**15
"""The largest number, so that the arithmetic of percents stays exact."""
ON_OFF = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def amount(text: str) -> int | str:
    """A whole number, also as `128k`, `1.5M` or `128,000`; any other text unchanged."""
    number = text.replace(",", "") if re.fullmatch(r"[+-]?\d{1,3}(,\d{3}){1,5}", text, re.ASCII) else text
    found = re.fullmatch(r"([+-]?\d{1,18})(?:\.(\d{1,6}))?([kKmM]?)", number, re.ASCII)
    if found is None or (found[2] and not found[3]):
        return text
    size = {"": 1, "k": 1000, "m": 1000_000}[found[3].lower()]
    part = int((found[2] or "0").ljust(6, "0")) * size
    return text if part % 1000_000 else int(found[1]) * size + part // 1000_000


def percent(text: str) -> float | None:
    """The number of a typed percentage (`30%`); None if it is not one from 0 to 100 %."""
    try:
        return _percent(text)
    except ValueError:
        return None


def written(value: Any) -> str:
    """A value as it is typed: `8h`, `85%`, `true`, `Read,Grep`; `Key.typed` reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        plain = all(one.strip() == one and one and "," not in one for one in value)
        return ",".join(value) if plain and not "".join(value[:1]).startswith("[") else str(value)
    return str(value)


def _listed(text: str) -> Any:
    """The list in `Read, Grep`, or in a list as TOML writes it, for names with a comma."""
    if text.lstrip().startswith("["):
        import tomllib

        try:
            return tomllib.loads(f"x = {text}")["x"]
        except (tomllib.TOMLDecodeError, RecursionError):
            return text
    return [part.strip() for part in text.split(",") if part.strip()]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("text in quotes")
    return value


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("a whole number")
    if abs(value) > LARGEST:
        raise ValueError(f"at most {LARGEST:,}")
    return value


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _auto(value: Any) -> bool | str:
    """True: by rules; llm: a model is asked."""
    if isinstance(value, bool):
        return value
    if value != strategies.MODEL:
        raise ValueError(f'true, false or "{strategies.MODEL}"')
    return strategies.MODEL


def _percent(value: Any) -> float:
    if isinstance(value, str) and (found := re.fullmatch(r"(\d{1,3}(?:\.\d+)?) ?%", value, re.ASCII)):
        value = float(found[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError("a percentage from 0 to 100")
    return value


def _duration(value: Any) -> int:
    expected = 'a duration in quotes, such as "8h"'
    if not isinstance(value, str):
        raise ValueError(expected)
    plain = re.fullmatch(r"([1-9]\d{0,8})([wdhms])", value, re.ASCII)
    if plain:  # without loading any parser: the config is read by every command
        return int(plain[1]) * {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}[plain[2]]

    from ctxkit.errors import BadTime
    from ctxkit.when import duration

    try:
        return duration(value)
    except BadTime as error:
        raise ValueError(expected) from error


def _memory(value: Any) -> str:
    """A share of the machine's memory, or a size, as DuckDB reads it."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,6}(\.\d{1,3})? ?([KMGT]i?B|%)", value, re.ASCII):
        return value
    raise ValueError('a size or a percentage in quotes, such as "2GB" or "50%"')


def _window(value: Any) -> int:
    """Seconds; 0 is off."""
    try:
        return 0 if value == "off" else _duration(value)
    except ValueError as error:
        raise ValueError('"off" or a duration in quotes, such as "8h"') from error


def _words(value: Any) -> str:
    """A text, or `file:` and the path of one."""
    found = _text(value)
    if found.startswith(FILE) and not found.removeprefix(FILE).strip():
        raise ValueError(f'a text, or "{FILE}PATH"')
    return found


def _processes(value: Any) -> str:
    """The path of a file, or `command:` and a command as a shell would split it."""
    found = _text(value)
    if not found.startswith(COMMAND):
        return found

    import shlex

    try:
        words = shlex.split(found.removeprefix(COMMAND))
    except ValueError as error:
        raise ValueError(f"a command with its quotes closed ({error})") from error
    if not words:
        raise ValueError(f'a file, or "{COMMAND} PROGRAM ARGUMENTS"')
    return found


def _now(value: Any) -> str:
    """`last`, `wall`, or an ISO time (in quotes or as a TOML time), in UTC if it names no zone."""
    if value in ("last", "wall"):
        return str(value)

    from ctxkit.core.times import as_text, seconds

    text = as_text(value)
    if seconds(text) is None:
        raise ValueError('"last", "wall" or an ISO time')
    return text


def _zone(value: Any) -> str:
    """`local`, `utc`, or a name of the time zone database."""
    if value not in ("local", "utc"):
        from ctxkit.when import zone_of

        try:
            zone_of(value, {})
        except (TypeError, ValueError, OSError, KeyError) as error:
            raise ValueError('"local", "utc" or a name such as "Europe/Berlin"') from error
    return str(value)


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("a list of texts in quotes")
    return value


KINDS: dict[str, Callable[[Any], Any]] = {
    "text": _text,
    "words": _words,
    "processes": _processes,
    "number": _number,
    "switch": _switch,
    "auto": _auto,
    "percent": _percent,
    "duration": _duration,
    "memory": _memory,
    "window": _window,
    "now": _now,
    "zone": _zone,
    "texts": _texts,
}

KEYS: tuple[Key, ...] = (
    Key("format", "text", "auto", "format of the log, as --from names it; auto looks at its content", unsaid=True),
    Key(
        "now",
        "now",
        "last",
        "what windows count from: last (the newest message), wall (the clock) or an ISO time",
        unsaid=True,
    ),
    Key(
        "time.zone",
        "zone",
        "local",
        'zone of times on a terminal and as typed: local, utc, "Asia/Kolkata"',
        trust="never",
    ),
    Key("model", "text", "", "model whose limit and tokens count", example="claude-sonnet-4-5", unsaid=True),
    Key("limit", "number", None, "context limit in tokens; unset: the model's own", low=1, example=200000, unsaid=True),
    Key("reserve", "number", 4096, "tokens kept free for the reply", low=0, unsaid=True),
    Key("overhead", "number", 0, "tokens of a request that no message shows, besides its tools", low=0, unsaid=True),
    Key("tools", "text", "", "JSON file of tool definitions that are sent too, in the log's folder", trust="inside"),
    Key("counter", "text", "auto", "token counter; auto goes by the model", choices=COUNTERS, unsaid=True),
    Key(
        "budget.enforce", "switch", False, "show, export and build_final_prompt always trim to the budget", unsaid=True
    ),
    Key("status.yellow", "percent", "70%", "from here on the bar is yellow", unsaid=True),
    Key("status.red", "percent", "85%", "from here on the bar is red", unsaid=True),
    Key(
        "status.processes",
        "processes",
        "",
        'processes in the thread status: a file, or "command: docker ps", run without a shell for at most 5 s',
        trust="never",
    ),
    Key("window.default", "window", "off", 'window of the log: off, or a duration such as "8h"', unsaid=True),
    Key("window.min", "duration", "1h", "shortest window that can be set", unsaid=True),
    Key("window.max", "duration", "7d", "longest window that can be set", unsaid=True),
    Key(
        "window.messages", "number", None, "newest messages shown at most; unset: all", low=1, example=200, unsaid=True
    ),
    Key("agents.NAME.window", "window", None, "window of one agent, before the one for all", example="8h", unsaid=True),
    Key("agents.NAME.limit", "number", None, "context limit of one agent, before `limit`", low=1, example=32000),
    Key("agents.NAME.color", "text", None, "colour of the agent's name", choices=COLORS, example="cyan", unsaid=True),
    Key("agents.NAME.model", "text", None, "model of one agent, before `model`", example="gpt-4o"),
    Key(
        "agents.NAME.system",
        "words",
        None,
        'system prompt of one agent, before `assembly.system`: a text, or "file:prompts/frodo.md"',
        trust="inside",
        example="You are Frodo.",
    ),
    Key(
        "agents.NAME.docs",
        "texts",
        None,
        "files, folders, patterns of one agent, before `assembly.docs`",
        trust="inside",
        example=["docs/frodo.md"],
    ),
    Key("trim.keep_last", "number", 5, "newest exchanges that trim gives up after all older ones", low=0, unsaid=True),
    Key(
        "trim.keep_results",
        "number",
        3,
        "newest tool results that trim does not shorten for their age",
        low=0,
        unsaid=True,
    ),
    Key("trim.exclude_tools", "texts", [], "tools whose results trim leaves whole", unsaid=True),
    Key("trim.clear_inputs", "switch", False, "trim shortens the arguments of old calls too", unsaid=True),
    Key(
        "trim.strategy",
        "text",
        strategies.OLDEST,
        "what trim drops first: the oldest, or episodes whose effect is in the files",
        choices=strategies.OF_TRIM,
        unsaid=True,
    ),
    Key("trim.summarize", "switch", False, "trim puts a summary where it drops exchanges", unsaid=True),
    Key("assembly.system", "text", "", "system prompt that stands before the messages", unsaid=True),
    Key(
        "assembly.docs",
        "texts",
        [],
        "files, folders, patterns (docs/*.md) that stand before the messages, in the log's folder",
        trust="inside",
        unsaid=True,
    ),
    Key("assembly.status", "text", "", "file whose text is added to the thread status", trust="inside", unsaid=True),
    Key(
        "compact.auto",
        "auto",
        False,
        "watch compacts by itself: true (by rules), false, or llm (a model is asked)",
        trust="local",
    ),
    Key("compact.threshold", "percent", "80%", "how full the context must be for `compact` without --target to act"),
    Key("compact.target", "percent", "30%", "tokens of all messages after a compact, of those before", unsaid=True),
    Key(
        "compact.strategy",
        "text",
        RULES,
        strategies.described(),
        choices=strategies.NAMES,
        trust="local",
        unsaid=True,
    ),
    Key("compact.model", "text", "", "model, or program (cmd:claude -p), that writes summaries", trust="never"),
    Key("compact.fast_model", "text", "", "model or program that --fast takes", trust="never"),
    Key("compact.input", "number", None, "most tokens of messages in one request to a model", low=1000, example=30_000),
    Key("compact.timeout", "duration", "60s", "longest wait for a model"),
    Key("compact.program_timeout", "duration", "5m", "longest wait for a program"),
    Key("compact.cooldown", "window", "30s", 'shortest time between two compacts, "off" for none'),
    Key(
        "checkpoint.auto",
        "switch",
        None,
        "true: add and watch make checkpoints of what is worth one; false: none is made, not even before a clear",
        example=True,
    ),
    Key("checkpoint.keep", "number", 50, "newest checkpoints kept", low=1),
    Key("checkpoint.days", "number", 30, "days that a checkpoint is kept", low=1),
    Key("memory.tokens", "number", 1000, "most tokens of the project's notes that export --memory adds", low=1),
    Key("memory.status", "switch", False, "a line about the project's notes in the thread status", trust="never"),
    Key("archive.dir", "text", "", "archive in which sessions are found that their agent deleted", trust="never"),
    Key("sql.timeout", "window", "5m", 'longest time of a query and its printing, "off" for any', trust="never"),
    Key(
        "sql.memory_limit",
        "memory",
        "25%",
        "memory that a query may take: of the machine's, or a size (2GB)",
        trust="never",
    ),
    Key("snapshots.store", "text", "", "folder for more copies of snapshots", trust="never", acts=False),
)

AGENT_KEYS: dict[str, Key] = {key.name.removeprefix(AGENTS): key for key in KEYS if key.of_agent}
"""The keys of one agent, by their last word."""
INSTEAD = {"system": "assembly.system", "docs": "assembly.docs", "model": "model", "limit": "limit"}
"""Last word of an agent's key -> the key of the log that it replaces while the log is seen as that agent."""
_TABLE = {key.name: key for key in KEYS}
_AGENT_KEY = re.compile(rf"agents\.(.+)\.({'|'.join(AGENT_KEYS)})", re.S)


def variable_of(key: Key) -> str | None:
    """The environment variable of a key; None for a key of an agent, whose name is in the variable."""
    return None if key.of_agent else PREFIX + key.name.upper().replace(".", "_")


def require(key: Key, name: str, value: Any, place: str = "", after: str = "") -> Any:
    """The value for the program. Raises BadConfig, which names what is expected."""
    try:
        return key.read(value)
    except (ValueError, OverflowError) as error:
        hint = f"it is {_brief(value)}; {key.comment}"
        raise BadConfig(f"{place}{name[:80]} must be {error}{after}", hint) from error


def is_key(path: KeyPath) -> bool:
    """Whether a path is the name of a key."""
    name = ".".join(path)
    return name in _TABLE or (len(path) > 2 and agent_of(name) is not None)


def is_table(path: KeyPath) -> bool:
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


def _brief(value: Any) -> str:
    shown = "a table" if isinstance(value, dict) else repr(value)
    return shown if len(shown) <= 60 else shown[:60] + "…"

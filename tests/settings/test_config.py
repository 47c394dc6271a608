"""Configuration: order, origins, errors, trust, profiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.errors import BadConfig, ExitCode, NoPermission, ReadFailed
from ctxkit.settings import said_config
from ctxkit.settings.config import Config, load
from ctxkit.settings.keys import AGENT_KEYS, KEYS
from ctxkit.settings.tomlread import LARGEST


def write(path: Path, text: str) -> Path:
    """A file with this text, its folder made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def sidecar(tmp_path: Path, text: str) -> Config:
    """The config of a log whose sidecar holds this text."""
    return load(write(tmp_path / "log.jsonl.ctxkit/config.toml", text), tmp_path, {}, None)


def test_defaults(tmp_path: Path) -> None:
    """With nothing set, every key has its default in the program's units."""
    config = load(None, tmp_path, {}, None)
    assert {config.origin(key.name) for key in KEYS if "NAME" not in key.name} == {"default"}
    assert (config["window.default"], config["window.min"], config["window.max"]) == (0, 3600, 7 * 86400)
    assert (config["now"], config["reserve"], config["limit"], config["status.red"]) == ("last", 4096, None, 85)
    assert config.agents == {}
    assert config.notices == []


def test_order_and_origins(tmp_path: Path) -> None:
    """Flag before environment before sidecar before ctxkit.toml before user config before default."""
    user = write(
        tmp_path / "home/config.toml", 'reserve = 1\nmodel = "u"\ncounter = "o200k_base"\nnow = "wall"\nlimit = 1\n'
    )
    up = write(tmp_path / "w/ctxkit.toml", 'reserve = 2\nmodel = "t"\ncounter = "cl100k_base"\nnow = "last"\n')
    side = write(tmp_path / "w/logs/a.jsonl.ctxkit/config.toml", 'reserve = 3\nmodel = "s"\ncounter = "pieces"\n')
    config = load(side, tmp_path / "w/logs", {"CTXKIT_RESERVE": "4", "CTXKIT_MODEL": "e"}, user)
    config.set_flags({"reserve": "5"})
    found = {name: config.settings[name][:2] for name in ("reserve", "model", "counter", "now", "limit", "format")}
    assert found == {
        "reserve": (5, "flag"),
        "model": ("e", "CTXKIT_MODEL"),
        "counter": ("pieces", f"{side}:3"),
        "now": ("last", f"{up}:4"),
        "limit": (1, f"{user}:5"),
        "format": ("auto", "default"),
    }


def test_nearest_ctxkit_toml_wins(tmp_path: Path) -> None:
    """Of several ctxkit.toml up the tree only the nearest counts."""
    write(tmp_path / "ctxkit.toml", 'model = "far"\nreserve = 1\n')
    write(tmp_path / "a/ctxkit.toml", 'model = "near"\n')
    (tmp_path / "a/b").mkdir()
    config = load(None, tmp_path / "a/b", {}, None)
    assert (config["model"], config["reserve"]) == ("near", 4096)


def test_relative_folder_is_looked_up_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log named without a folder finds the ctxkit.toml above the working folder."""
    write(tmp_path / "ctxkit.toml", 'model = "up"\n')
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    assert load(None, Path("."), {}, None)["model"] == "up"


def test_agents(tmp_path: Path) -> None:
    """Windows of single agents, names with dots too."""
    config = sidecar(tmp_path, '[agents.frodo]\nwindow = "8h"\n[agents."a.b"]\nwindow = "off"\n[agents.idle]\n')
    assert {name: setting.value for name, setting in config.windows().items()} == {"frodo": 28800, "a.b": 0}


AGENTS = """\
model = "big"
limit = 9
[assembly]
system = "for all"
[agents.frodo]
limit = 3
model = "small"
system = "You are Frodo."
docs = ["frodo.md"]
color = "green"
"""


def test_seen_as_an_agent(tmp_path: Path) -> None:
    """The keys of an agent replace those of the log for this agent alone, and say where they come from."""
    user = write(tmp_path / "home/config.toml", AGENTS)
    config = load(None, tmp_path, {}, user)
    keys = ("model", "limit", "assembly.system", "assembly.docs")
    assert [config.for_agent("frodo")[key] for key in keys] == ["small", 3, "You are Frodo.", ["frodo.md"]]
    assert config.for_agent("frodo").source("limit") == ("agents.frodo.limit", (3, f"{user}:6", 3))
    for agent in (None, "sam"):
        assert [config.for_agent(agent)[key] for key in keys] == ["big", 9, "for all", []]
    assert config.for_agent("frodo").for_agent(None)["limit"] == 9


def test_flags_and_environment_come_before_an_agent(tmp_path: Path) -> None:
    """What is said of this call counts: a flag, an argument, a variable; then the variable of the agent, then files."""
    user = write(tmp_path / "home/config.toml", AGENTS)
    for_all = load(None, tmp_path, {"CTXKIT_LIMIT": "5"}, user).for_agent("frodo")
    assert (for_all["limit"], for_all["model"]) == (5, "small")
    config = load(None, tmp_path, {"CTXKIT_AGENTS_FRODO_LIMIT": "7"}, user).for_agent("frodo")
    assert (config["limit"], config.origin("limit")) == (7, "CTXKIT_AGENTS_FRODO_LIMIT")
    assert config.given({"limit": 11})["limit"] == 11
    config.set_flags({"model": "typed"})
    assert config["model"] == "typed"


def test_variables_of_agents(tmp_path: Path) -> None:
    """A variable means the agent of that name in a file, else the one in small letters; a wrong value is refused."""
    user = write(tmp_path / "home/config.toml", '[agents."Sam Gamgee"]\nwindow = "2h"\n')
    env = {"CTXKIT_AGENTS_SAM_GAMGEE_WINDOW": "3h", "CTXKIT_AGENTS_MERRY_DOCS": "a.md, b.md", "CTXKIT_AGENTS_X": "1"}
    config = load(None, tmp_path, env, user)
    values = {name: {word: one.value for word, one in own.items()} for name, own in config.agents.items()}
    assert values == {"Sam Gamgee": {"window": 10800}, "merry": {"docs": ["a.md", "b.md"]}}
    assert config.notices == [
        "CTXKIT_AGENTS_X: no key has this variable; ignored; "
        "CTXKIT_AGENTS_NAME_ and WINDOW, LIMIT, COLOR, MODEL, SYSTEM, DOCS?"
    ]
    with pytest.raises(BadConfig, match=r"^CTXKIT_AGENTS_MERRY_COLOR: agents\.merry\.color must be one of red"):
        load(None, tmp_path, {"CTXKIT_AGENTS_MERRY_COLOR": "mauve"}, user)


def test_texts_documents_and_models_of_a_folder_count_once_accepted(tmp_path: Path) -> None:
    """Of an agent in a folder's file that nobody accepted window and colour count, and the others are named once."""
    config = sidecar(tmp_path, AGENTS)
    assert {word: one.value for word, one in config.agents["frodo"].items()} == {"color": "green"}
    file = tmp_path / "log.jsonl.ctxkit/config.toml"
    named = ", ".join(f"agents.frodo.{word}" for word in ("limit", "model", "system", "docs"))
    said = f"{file}: ignored, not said by you on this machine: {named}; to accept: ctxkit config LOG accept"
    assert config.notices == [said]
    accepted = load(file, None, {said_config.VARIABLE: "1"}, None)
    assert accepted.agents["frodo"].keys() == AGENT_KEYS.keys() - {"window"} and accepted.notices == []


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("\nmodle = 'x'\n", 2, "unknown key modle", "the nearest key is model"),
        ("[window]\ndefalt = '8h'\n", 2, "unknown key window.defalt", "the nearest key is window.default"),
        ("[windw]\n\ndefault = '8h'\n", 3, "unknown key windw.default", "the nearest key is window.default"),
        ("[nothing]\n", 1, "unknown key nothing", "ctxkit config LOG show lists all keys"),
        (
            "[agents.frodo]\nwindw = '8h'\n",
            2,
            "unknown key agents.frodo.windw",
            "the nearest key is agents.NAME.window",
        ),
        ("status = 5\n", 1, "status is a table", "its keys: status.yellow, status.red"),
        ("agents = 5\n", 1, "agents is a table", "its keys: agents.NAME.window"),
        ("a = 1\nreserve = 'x'\n", 1, "unknown key a", ""),
        ("# x\nreserve = 'x'\n", 2, "reserve must be a whole number", "it is 'x'; tokens kept free for the reply"),
        ("window.default = 8\n", 1, 'window.default must be "off" or a duration in quotes, such as "8h"', "it is 8; "),
        ("[window]\nmin = '9h'\nmax = '8h'\n", 2, "window.min is above window.max", "swap or raise it"),
        ("status = { yellow = 90 }\n", 1, "status.yellow is above status.red (default)", "swap or raise it"),
        ("now = wall\n", 1, "not TOML (invalid value)", 'put text in quotes: now = "wall"'),
        ("limit = 1\nlimit = 2\n", 2, "not TOML (cannot overwrite a value)", ""),
        ("now.x = 1\n", 1, 'now must be "last", "wall" or an ISO time', "it is a table"),
        ("[now]\n", 1, 'now must be "last", "wall" or an ISO time', "it is a table"),
    ],
)
def test_errors_name_file_line_and_nearest_key(tmp_path: Path, text: str, line: int, message: str, hint: str) -> None:
    """A mistake ends with exit 78, its place, and what to do."""
    with pytest.raises(BadConfig) as caught:
        sidecar(tmp_path, text)
    assert caught.value.code == ExitCode.CONFIG
    assert caught.value.message.startswith(f"{tmp_path / 'log.jsonl.ctxkit/config.toml'}:{line}: {message}")
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("CTXKIT_NOW", "wall", "now", "wall"),
        ("CTXKIT_LIMIT", "200000", "limit", 200000),
        ("CTXKIT_STATUS_YELLOW", "60", "status.yellow", 60),
        ("CTXKIT_STATUS_YELLOW", "60%", "status.yellow", 60),
        ("CTXKIT_WINDOW_DEFAULT", "2h 30m", "window.default", 9000),
        ("CTXKIT_BUDGET_ENFORCE", "on", "budget.enforce", True),
        ("CTXKIT_BUDGET_ENFORCE", "0", "budget.enforce", False),
        ("CTXKIT_TRIM_EXCLUDE_TOOLS", "Read, Grep", "trim.exclude_tools", ["Read", "Grep"]),
        ("CTXKIT_COMPACT_MODEL", "gpt", "compact.model", "gpt"),
        ("CTXKIT_NOW", "", "now", "last"),
        ("CTXKIT_SOMETHING", "else", "now", "last"),
    ],
)
def test_environment(tmp_path: Path, variable: str, text: str, name: str, value: object) -> None:
    """Variables hold text; an empty one is unset, and other programs' are left alone."""
    assert load(None, tmp_path, {variable: text}, None)[name] == value


@pytest.mark.parametrize(("variable", "text"), [("CTXKIT_LIMIT", "x"), ("CTXKIT_BUDGET_ENFORCE", "maybe")])
def test_bad_environment(tmp_path: Path, variable: str, text: str) -> None:
    """A bad variable is named."""
    with pytest.raises(BadConfig, match=f"^{variable}: "):
        load(None, tmp_path, {variable: text}, None)


@pytest.mark.parametrize("flags", [{"limit": "x"}, {"limt": "5"}])
def test_bad_flags(tmp_path: Path, flags: dict[str, str]) -> None:
    """A bad value or key of a flag is named."""
    with pytest.raises(BadConfig, match=r"limi?t"):
        load(None, tmp_path, {}, None).set_flags(flags)


UNTRUSTED = 'window.default = "8h"\n[compact]\nmodel = "evil"\nstrategy = "llm"\n[assembly]\ndocs = ["../secret"]\n'


@pytest.mark.parametrize("where", ["log.jsonl.ctxkit/config.toml", "ctxkit.toml"])
def test_a_cloned_folder_does_not_act(tmp_path: Path, where: str) -> None:
    """Keys that send text or read elsewhere are named and ignored in a folder's files; the others count."""
    file = write(tmp_path / where, UNTRUSTED)
    config = load(tmp_path / "log.jsonl.ctxkit/config.toml", tmp_path, {}, None)
    assert (config["compact.model"], config["compact.strategy"], config["assembly.docs"]) == ("", "extract", [])
    assert config["window.default"] == 28800
    only = "only from flags, environment and user config"
    never = "compact.model, compact.strategy, assembly.docs"
    assert config.notices == [f"{file}:3,4,6: {never} count {only}: ignored"]
    write(file, f"{UNTRUSTED}[checkpoint]\nauto = true\n")
    both = load(tmp_path / "log.jsonl.ctxkit/config.toml", tmp_path, {}, None).notices  # two causes, and still one line
    unsaid = "not said by you on this machine: checkpoint.auto; to accept: ctxkit config LOG accept"
    assert both == [f"{file}: ignored, {never} ({only}), {unsaid}"]


def test_strict_refuses_untrusted_keys(tmp_path: Path) -> None:
    """With --strict they are an error."""
    write(tmp_path / "ctxkit.toml", UNTRUSTED)
    with pytest.raises(BadConfig, match=r":3: compact\.model counts only from"):
        load(None, tmp_path, {}, None, strict=True)


def test_user_config_is_trusted(tmp_path: Path) -> None:
    """The same keys count from the user's own config."""
    config = load(None, tmp_path, {}, write(tmp_path / "home/config.toml", UNTRUSTED))
    assert (config["compact.model"], config["compact.strategy"]) == ("evil", "llm")
    assert config.notices == []


def test_a_strangers_file_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sidecar that belongs to another user is named and ignored; root's and one's own count."""
    file = write(tmp_path / "log.jsonl.ctxkit/config.toml", 'model = "x"\n')
    owner = file.stat().st_uid
    assert load(file, tmp_path, {}, None)["model"] == "x"
    if owner == 0:
        os.chown(file, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    config = load(file, tmp_path, {}, None)
    assert config["model"] == ""
    assert config.notices == [f"{file}: belongs to another user: ignored"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"model = '\xff'", "not UTF-8"),
        (b"#" * (LARGEST + 1), "larger than"),
        (b"model = '''x\n" * 3, "not TOML"),
        (b"trim.exclude_tools = " + b"[" * 100_000, "not TOML"),
        (b"limit = " + b"9" * 5000, "not TOML"),
        (b"x." * 5000 + b"x = 1", "unknown key"),
    ],
)
def test_hostile_files(tmp_path: Path, content: bytes, message: str) -> None:
    """Whatever bytes a file holds, the answer is one clear error."""
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    with pytest.raises(BadConfig, match=message):
        load(file, tmp_path, {}, None)


def test_bom_and_crlf(tmp_path: Path) -> None:
    """Files from other editors are read."""
    file = tmp_path / "config.toml"
    file.write_bytes(b'\xef\xbb\xbf# x\r\nmodel = "m"\r\n')
    assert load(file, tmp_path, {}, None).settings["model"][:2] == ("m", f"{file}:2")


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    """A folder where the file should be is an error of the system, not a crash."""
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ReadFailed):
        load(tmp_path / "config.toml", tmp_path, {}, None)


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not be read is named (root may read everything, so the refusal is put in)."""

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    file = write(tmp_path / "config.toml", "")
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(NoPermission, match="cannot be read"):
        load(file, tmp_path, {}, None)


def test_nothing_heavy_is_loaded(tmp_path: Path) -> None:
    """A plain config loads neither parsers nor writers of durations, dates and TOML."""
    write(tmp_path / "ctxkit.toml", '[window]\ndefault = "8h"\n')
    code = (
        "import sys; from pathlib import Path; from ctxkit.settings.config import load;"
        "load(None, Path('.'), {}, None);"
        "print({'pytimeparse', 'dateparser', 'tomlkit', 'msgspec', 'difflib', 'typer'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "set()"


VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from(["8h", "wall", "70%"])),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["window", "default", "x"]), inner),
    max_leaves=4,
)


@given(st.sampled_from([key.name for key in KEYS]), VALUES)
def test_any_value_is_taken_or_refused(name: str, value: object) -> None:
    """No value of any type makes a key fail with anything but its own refusal."""
    key = next(key for key in KEYS if key.name == name)
    try:
        found = key.read(value)
        assert key.counts_from_folder(found) in (True, False)
    except ValueError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[window]\ndefault = '9d'\n", "config.toml:2: window.default is above window.max (7d)"),
        ("[window]\ndefault = '30m'\n", "config.toml:2: window.default is below window.min (1h)"),
        ("[window]\ndefault = '8h'\nmax = '6h'\n", "config.toml:2: window.default is above window.max (6h)"),
        ("[agents.sam]\nwindow = '30m'\n", "config.toml:2: agents.sam.window is below window.min (1h)"),
        ("[agents.sam]\nwindow = 'off'\n[window]\ndefault = '1h'\n", ""),
        ("[window]\ndefault = '30m'\nmin = '1m'\n", ""),
    ],
)
def test_a_window_within_its_bounds(tmp_path: Path, text: str, said: str) -> None:
    """What `window` could not set cannot be the default either; off can."""
    if said:
        with pytest.raises(BadConfig) as caught:
            sidecar(tmp_path, text)
        assert said in caught.value.message
    else:
        sidecar(tmp_path, text)


def test_a_variable_nearly_named_is_said(tmp_path: Path) -> None:
    """With the nearest; others of the same beginning may be anybody's."""
    env = {"CTXKIT_WINDOW_DEFALT": "8h", "CTXKIT_PAGER": "cat", "CTXKIT_DEBUG": "1", "CTXKIT_MY_OWN": "x"}
    assert load(None, tmp_path, env, None).notices == [
        "CTXKIT_WINDOW_DEFALT: no key has this variable; ignored; CTXKIT_WINDOW_DEFAULT?"
    ]


def test_a_key_without_effect_is_named(tmp_path: Path) -> None:
    """A setting that nothing reads yet is not accepted in silence."""
    own = write(tmp_path / "home/config.toml", '[snapshots]\nstore = "/backup"\n')
    config = load(None, tmp_path, {}, own)
    assert config.notices == [f"{own}:2: snapshots.store has no effect in this version"]
    config = load(None, tmp_path, {"CTXKIT_SNAPSHOTS_STORE": "/backup"}, None)
    assert config.notices == ["CTXKIT_SNAPSHOTS_STORE: snapshots.store has no effect in this version"]


def test_percent_is_said_as_such(tmp_path: Path) -> None:
    """0.5 is half a percent, and echoed so."""
    setting = load(None, tmp_path, {"CTXKIT_STATUS_YELLOW": "0.5"}, None).settings["status.yellow"]
    assert (setting.value, setting.written) == (0.5, "0.5%")


def test_what_a_program_gives_is_laid_over_a_copy(tmp_path: Path) -> None:
    """It goes before all else, with its origin; the config itself stays; bounds hold."""
    config = load(None, tmp_path, {"CTXKIT_LIMIT": "7", "CTXKIT_MODEL": "m"}, None)
    given = config.given({"limit": 9, "window.default": "off"})
    assert (given["limit"], given.origin("limit"), given["model"]) == (9, "argument", "m")
    assert (config["limit"], config.origin("limit")) == (7, "CTXKIT_LIMIT")
    with pytest.raises(BadConfig, match="limit must be at least 1"):
        config.given({"limit": 0})
    with pytest.raises(BadConfig, match="unknown key limits"):
        config.given({"limits": 1})


def test_without_windows(tmp_path: Path) -> None:
    """A copy that shows all messages, whatever files say; the config itself stays."""
    text = '[window]\ndefault = "8h"\nmessages = 3\n[agents.sam]\nwindow = "9h"\n'
    config = load(None, tmp_path, {}, write(tmp_path / "home/config.toml", text))
    whole = config.without_windows()
    assert (whole["window.default"], whole["window.messages"], whole.windows()) == (0, None, {})
    assert whole.origin("window.messages") == "argument"
    assert (config["window.default"], config["window.messages"], len(config.windows())) == (28800, 3, 1)

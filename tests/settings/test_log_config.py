"""The config of a log as it is changed: what is checked, what is refused, and that nothing is lost or half written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.errors import BadConfig, CtxkitError, ExitCode, NoPermission, NoSuchLog, NothingChanges, Usage
from ctxkit.settings.config import load
from ctxkit.settings.keys import KEYS, Key, variable_of
from ctxkit.settings.log_config import Configured, left_behind, overridden
from ctxkit.settings.profiles import PROFILES, profile
from ctxkit.settings.tomledit import with_key
from tests.cli.runner import PYTHON, SMALL, ctxkit, process

PRIVATE = {key.name for key in KEYS if key.trust == "never"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log without a sidecar."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    for name in ("x y", "Read", "Grep"):  # what names files names some that are there
        (tmp_path / name).write_text("words")
    return path


def of(log: Path | None, **more: Any) -> Configured:
    """Its config, with an empty environment but a home."""
    return Configured(None if log is None else str(log), env={"HOME": os.environ["HOME"]}, **more)


def config_file(log: Path) -> Path:
    """The config in its sidecar."""
    return log.with_name(log.name + ".ctxkit") / "config.toml"


GOOD = {
    "text": "x y", "number": "7", "switch": "yes", "percent": "75%", "duration": "2h", "window": "3h", "now": "wall",
    "texts": "Read, Grep", "zone": "Asia/Tokyo", "auto": "yes", "words": "be brief", "processes": "command: ps -e",
    "memory": "2GB",
}  # fmt: skip
BAD = {
    "number": "many", "switch": "maybe", "percent": "101%", "duration": "8", "window": "soon", "now": "then",
    "texts": "[1]", "zone": "Nowhere/Land", "auto": "maybe", "words": "file:", "processes": "command: 'ps",
    "memory": "half",
}  # fmt: skip
"""Text that is no value of a kind; any text is a text."""
IN_FILE = {
    "text": "5", "number": '"7"', "switch": '"yes"', "percent": "true", "duration": "8", "window": "8", "now": "[]",
    "texts": '"Read"', "zone": "5", "auto": '"yes"', "words": "5", "processes": "[]",
    "memory": "2",
}  # fmt: skip


def named(key: Key) -> str:
    """A key, of an agent with an awkward name where it is one of an agent."""
    return key.name.replace("NAME", "frodo b.")


def typed(key: Key) -> str:
    """A right value as it is typed; one that goes with the other defaults."""
    fits = {
        "window.max": "9d",
        "status.red": "80",
        "status.yellow": "60",
        "compact.strategy": "mask",
        "compact.input": "9000",
        "trim.strategy": "episodes",
        "counter": "pieces",
        "agents.NAME.color": "cyan",
    }
    return fits.get(key.name, GOOD[key.kind])


def in_file(name: str, value: str) -> str:
    """A line that sets it."""
    of_agent = name.startswith("agents.")
    *table, leaf = ("agents", "frodo b.", name.rpartition(".")[2]) if of_agent else name.split(".")
    path = ".".join([*(f'"{part}"' for part in table), leaf])
    return f"# a comment\n{path} = {value}\n"


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_right_values(key: Key, log: Path, tmp_path: Path) -> None:
    """Set and read back, from the command line and the environment; what was typed is what `get` says."""
    own = key.name in PRIVATE
    found = of(None if own else log)
    found.set(named(key), typed(key))
    setting = found.get(named(key))
    assert setting.typed.replace(",", ", ") == {
        "yes": "true", **{f"{n}": f"{n}%" for n in (60, 75, 80) if key.kind == "percent"},
    }.get(typed(key), typed(key))  # fmt: skip
    assert re.fullmatch(r".*config\.toml:\d+", setting.origin)
    assert setting.value == key.read(key.typed(typed(key)))
    variable = variable_of(key)
    assert (variable is None) == key.of_agent
    if variable:
        assert load(None, tmp_path, {variable: typed(key)}, None)[key.name] == setting.value
    found.unset(named(key))
    if key.of_agent or key.default is None:
        with pytest.raises(NothingChanges):
            found.get(named(key))
    else:
        assert found.get(named(key)).origin == "default"


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_wrong_types(key: Key, log: Path, tmp_path: Path) -> None:
    """In a file: its line; in the environment: the variable; on the command line: nothing is written. Always 78."""
    text = in_file(named(key), IN_FILE[key.kind])
    name = re.escape(named(key))
    with pytest.raises(BadConfig, match=rf"ctxkit\.toml:2: {name} must be ") as caught:
        (tmp_path / "ctxkit.toml").write_text(text)
        if key.name in PRIVATE:
            (tmp_path / "ctxkit.toml").rename(tmp_path / "user-ctxkit.toml")
            load(None, None, {}, tmp_path / "user-ctxkit.toml")
        load(None, tmp_path, {}, None)
    assert caught.value.code == ExitCode.CONFIG and caught.value.hint
    (tmp_path / "ctxkit.toml").unlink(missing_ok=True)
    bad = "no such" if key.choices else BAD.get(key.kind)
    if bad is None:
        return
    variable = variable_of(key)
    if variable:
        with pytest.raises(BadConfig, match=f"^{variable}: {name} must be "):
            load(None, tmp_path, {variable: bad}, None)
    with pytest.raises(BadConfig, match=f"^{name} must be .*: nothing was changed$"):
        of(log).set(named(key), bad)
    assert not config_file(log).parent.exists()


BOUNDS = [(key, key.low) for key in KEYS if key.low is not None and not key.of_agent]


@pytest.mark.parametrize(("key", "bound"), BOUNDS, ids=lambda value: getattr(value, "name", value))
def test_bounds(key: Key, bound: float, log: Path, tmp_path: Path) -> None:
    """The bound itself is right, one further is not: file, environment, command line."""
    beyond = str(int(bound) - 1)
    of(log).set(key.name, str(int(bound)))
    with pytest.raises(BadConfig, match=r"must be at least"):
        of(log).set(key.name, beyond)
    with pytest.raises(BadConfig, match=f"^{variable_of(key)}: .* must be at least"):
        load(None, tmp_path, {str(variable_of(key)): beyond}, None)
    (tmp_path / "ctxkit.toml").write_text(in_file(key.name, beyond))
    with pytest.raises(BadConfig, match=r":2: .* must be at least"):
        load(None, tmp_path, {}, None)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_unknown_neighbours(key: Key, log: Path, tmp_path: Path) -> None:
    """A slip of the pen in any key names the nearest one, of a variable too; another program's is left alone."""
    wrong = named(key)[:-1] + "x" + named(key)[-1]
    (tmp_path / "ctxkit.toml").write_text(in_file(wrong, "1") if not key.of_agent else "[agents.a]\nwindox = 1\n")
    for attempt in (
        lambda: load(None, tmp_path, {}, None),
        lambda: of(log).set(wrong, "1"),
        lambda: of(log).get(wrong),
    ):
        with pytest.raises(BadConfig, match="unknown key ") as caught:
            attempt()
        assert caught.value.code == ExitCode.CONFIG
        assert caught.value.hint == f"the nearest key is {key.name}" or key.of_agent
    (tmp_path / "ctxkit.toml").unlink()
    slip = f"CTXKIT_{wrong.upper().replace('.', '_')}"
    near = "CTXKIT_AGENTS_NAME_ and WINDOW, LIMIT, COLOR, MODEL, SYSTEM, DOCS" if key.of_agent else variable_of(key)
    said = [f"{slip}: no key has this variable; ignored; {near}?"]
    assert load(None, tmp_path, {slip: "1", "CTXKIT_ANOTHER_TOOL": "1"}, None).notices == said


@pytest.mark.parametrize("key", [key for key in KEYS if key.trust != "always"], ids=lambda key: key.name)
def test_a_folder_may_not(key: Key, log: Path) -> None:
    """What counts only from one's own config is refused for a sidecar, with the way to set it; nothing is written."""
    kinds = {"zone": "utc", "switch": "true", "window": "9h", "memory": "1GB"}
    path = "file:../x" if key.kind == "words" else "../x"
    text = {"inside": path, "local": "llm"}.get(key.trust, kinds.get(key.kind, "x"))
    with pytest.raises(BadConfig, match=r"counts only from .*: nothing was changed") as caught:
        of(log).set(key.name, text)
    assert caught.value.hint == f"ctxkit config --user set {key.name} {text}"
    assert not config_file(log).parent.exists()
    change = of(None).set(key.name, text)
    assert change.after == ([text] if key.kind == "texts" else True if key.kind == "switch" else text)
    assert of(log).get(key.name).origin.startswith(f"{os.environ['HOME']}/.config/ctxkit/config.toml:")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_comes_back(name: str, log: Path) -> None:
    """All keys set and unset again: of the file that init wrote only their lines are gone."""
    file = config_file(log)
    file.parent.mkdir()
    file.write_text(profile(name))
    keys = [key for key in KEYS if key.name not in PROFILES[name] and key.name not in PRIVATE]
    for key in keys:
        of(log).set(named(key), typed(key))
    assert file.read_text() != profile(name)
    for key in keys:
        of(log).unset(named(key))
    comments = {key.comment for key in keys if not key.of_agent}
    lines = [line for line in profile(name).split("\n") if line.partition("  # ")[2] not in comments]
    assert file.read_text() == "\n".join(lines)


@pytest.mark.parametrize(
    "agent", ["frodo", "a.b", "a b", 'say "x"', "it's", "ü", "a.b.c.d.e", "x.window", "\\", "[a]", "#", "=", "a\nb"]
)
def test_agents(agent: str, log: Path) -> None:
    """Any name but an empty one; one in quotes is read as TOML reads it."""
    of(log).set(f"agents.{agent}.window", "3h")
    of(log).set("agents.other.window", "4h")
    assert of(log).load().agents[agent]["window"].value == 10800
    assert of(log).set(f"agents.{agent}.window", "5h").before == "3h"
    of(log).unset("agents.other.window")
    assert tomllib.loads(config_file(log).read_text()) == {"agents": {agent: {"window": "5h"}}}
    if '"' not in agent and "\\" not in agent and "\n" not in agent:
        assert of(log).get(f'agents."{agent}".window').value == 18000
    of(log).unset(f"agents.{agent}.window")
    assert config_file(log).read_text().strip() == ""


@pytest.mark.parametrize("name", ["agents..window", 'agents."".window', "agents.window", 'agents."a.window'])
def test_no_agent(name: str, log: Path) -> None:
    """An empty name is none; a quote without an end is a part of the name."""
    if name == 'agents."a.window':
        assert of(log).set(name, "3h").after == "3h"
        return
    with pytest.raises(BadConfig):
        of(log).set(name, "3h")


def test_pairs(log: Path) -> None:
    """What must fit is checked before anything is written, over all files."""
    of(None).set("window.max", "2d")
    with pytest.raises(BadConfig, match=r"window\.min is above window\.max .*: nothing was changed"):
        of(log).set("window.min", "3d")
    assert not config_file(log).exists()
    of(log).set("window.max", "4d")
    of(log).set("window.min", "3d")
    with pytest.raises(BadConfig, match="is above"):
        of(log).unset("window.max")
    of(log).unset("window.min")
    of(log).unset("window.max")


def test_mending(log: Path) -> None:
    """A bad value can be set right or taken out, an unknown key too, one by one; the rest is named."""
    file = config_file(log)
    file.parent.mkdir()
    file.write_text('reserve = "x"\n[window]\ndefalt = "8h" # why\nmin = "9h"\nmax = "8h"\n[windw]\na = 1\n')
    with pytest.raises(BadConfig, match=":1: reserve must be a whole number"):
        of(log).load()
    errors = [error.message.removeprefix(f"{file}:") for error in of(log).load(tolerant=True).errors]
    assert [error.split(":")[0] for error in errors] == ["1", "3", "7", "4"]
    change = of(log).set("reserve", "5")
    assert (change.before, change.after, len(change.left)) == ("x", 5, 3)
    assert len(of(log).unset("window.defalt").left) == 2
    assert len(of(log).set("window.max", "10h").left) == 1
    assert of(log).unset("windw.a").left == []
    assert file.read_text() == 'reserve = 5\n[window]\nmin = "9h"\nmax = "10h"\n'


def test_a_table_where_a_value_should_be(log: Path) -> None:
    """And the other way round: it is named with its line, and taken out with unset."""
    file = config_file(log)
    file.parent.mkdir()
    file.write_text("window = 5\n[now]\nx = 1\n")
    with pytest.raises(BadConfig, match=r":1: window\.default cannot be changed there|:1: window cannot|cannot be"):
        of(log).set("window.default", "8h")
    of(log).unset("window")
    of(log).set("now", "wall")
    assert tomllib.loads(file.read_text()) == {"now": "wall"}


@pytest.mark.parametrize("raw", [b"now = wall\n", b"a = 1\na = 2\n", b"\xff", b"#" * (1 << 21)])
def test_what_is_not_toml_is_not_rewritten(raw: bytes, log: Path) -> None:
    """Not by set, not by unset."""
    file = config_file(log)
    file.parent.mkdir()
    file.write_bytes(raw)
    for attempt in (lambda: of(log).set("now", "wall"), lambda: of(log).unset("now"), lambda: of(log).unset("a")):
        with pytest.raises(BadConfig):
            attempt()
        assert file.read_bytes() == raw


def test_bytes_around_stay(log: Path) -> None:
    """Line ends and the mark at the start, the mode of the file; a new one is 0600 in a folder 0700."""
    of(log).set("now", "wall")
    file = config_file(log)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    file.write_bytes(b"\xef\xbb\xbf# c\r\nmodel = 'x' # m\r\n")
    file.chmod(0o640)
    of(log).set("model", "y")
    assert file.read_bytes() == b'\xef\xbb\xbf# c\r\nmodel = "y" # m\r\n'
    assert file.stat().st_mode & 0o777 == 0o640
    before = file.stat().st_ino
    of(log).set("model", "y")
    assert file.stat().st_ino == before, "what is so already is not written"


def test_links(log: Path, tmp_path: Path) -> None:
    """A link that leads out of the log's folder is neither followed nor written through; inside it is."""
    inside = tmp_path / "logs"
    inside.mkdir()
    path = log.rename(inside / "chat.jsonl")
    victim = tmp_path / "victim.toml"
    config_file(path).parent.mkdir()
    for exists in (False, True):
        if exists:
            victim.write_text('now = "wall"\n')
        else:
            config_file(path).symlink_to(victim)
        with pytest.raises(NoPermission, match=r"a link that leads out of .*: nothing was changed"):
            of(path).set("now", "last")
        assert of(path).get("now").origin == "default"
    assert victim.read_text() == 'now = "wall"\n'
    assert of(path).load().notices == [f"{config_file(path)}: a link that leads out of {inside}: ignored"]
    with pytest.raises(BadConfig, match="a link that leads out"):
        of(path, strict=True).load()
    assert of(path, sidecar=str(tmp_path)).folder == inside
    config_file(path).unlink()
    (inside / "shared.toml").touch()
    config_file(path).symlink_to("../shared.toml")
    of(path).set("now", "wall")
    assert config_file(path).is_symlink() and (inside / "shared.toml").read_text() == 'now = "wall"\n'


def test_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-`: what holds for a log on standard input; it has a file of its own only with --sidecar."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ctxkit.toml").write_text("reserve = 5\n")
    found = Configured("-", env={"HOME": "/nowhere", "CTXKIT_NOW": "wall"})
    assert (found.get("reserve").value, found.get("now").origin) == (5, "CTXKIT_NOW")
    with pytest.raises(Usage, match="a stream has no config"):
        found.set("now", "last")
    Configured("-", sidecar="side", env={"HOME": "/nowhere"}).set("now", "last")
    assert (tmp_path / "side/config.toml").read_text() == 'now = "last"\n'
    assert overridden("now", {"CTXKIT_NOW": "wall"}) == "CTXKIT_NOW" and overridden("now", {}) is None


def test_no_log(tmp_path: Path) -> None:
    """What is not there, and what is no file."""
    os.mkfifo(tmp_path / "fifo")
    for name in ("none.jsonl", "fifo", "."):
        with pytest.raises(NoSuchLog):
            of(tmp_path / name)


def test_the_log_is_not_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be damaged, unreadable, or no log at all."""
    log.write_bytes(b"\x00\xff{{{")
    log.chmod(0)
    of(log).set("now", "wall")
    assert of(log).get("now").value == "wall"


@pytest.mark.parametrize("text", ["\udcff", "a\udc80"])
def test_not_utf8(text: str, log: Path) -> None:
    """Bytes that are no text are refused."""
    with pytest.raises(CtxkitError, match="not UTF-8"):
        of(log).set("model", text)
    with pytest.raises(CtxkitError, match="not UTF-8"):
        of(log).set(f"agents.{text}.window", "3h")


def test_no_change_is_lost(log: Path) -> None:
    """Eight processes set keys of their own at once: all of them are there."""
    running = [
        subprocess.Popen([*PYTHON, "config", str(log), "set", f"agents.a{i}.window", f"{i + 1}h"]) for i in range(8)
    ]
    assert [one.wait(60) for one in running] == [0] * 8
    agents = tomllib.loads(config_file(log).read_text())["agents"]
    assert agents == {f"a{i}": {"window": f"{i + 1}h"} for i in range(8)}


TOKENS = ["[", "]", "window", ".", "=", '"', "'", "default", "8h", "\n", "#", " ", "agents", "now", "5", "{", "}", ",",
          "\x00", "\u202e", '"""', "reserve", "true", "[[", "2026-02-01", "nan", "\\u0000", "é"]  # fmt: skip


@given(st.lists(st.sampled_from(TOKENS), max_size=25).map("".join).map(str.encode) | st.binary(max_size=40))
def test_any_bytes(raw: bytes) -> None:
    """Whatever a handed-over config holds: settings or errors of ours; a change is made, or nothing is (S26)."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "a.jsonl"
        log.touch()
        config_file(log).parent.mkdir()
        config_file(log).write_bytes(raw)
        assert of(log).load(tolerant=True).every()
        for attempt in (lambda: of(log).set("window.default", "9h"), lambda: of(log).unset("now")):
            before = config_file(log).read_bytes()
            try:
                change = attempt()
            except CtxkitError:
                assert config_file(log).read_bytes() == before
            else:
                found = tomllib.loads(config_file(log).read_bytes().decode("utf-8-sig"))
                assert change.after is None or found["window"]["default"] == "9h"


KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
left = [int(sys.argv[1])]
def die(event, args):
    if event in ("open", "os.rename", "os.chmod", "os.remove", "fcntl.flock", "tempfile.mkstemp"):
        if {mark!r} in str(args) or event != "open":
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(die)
from ctxkit.cli.app import run
sys.exit(run(["config", sys.argv[2], "set", "now", "wall"]))
"""


def test_killed(log: Path) -> None:
    """Killed at any of its calls on the files: the old config or the new one, whole; a second try does it."""
    file = config_file(log)
    root = str(Path(__file__).resolve().parents[2])
    old = profile("session")
    new = with_key(old, ("now",), "wall")
    outcomes = set()
    for point in range(1, 40):
        file.parent.mkdir(exist_ok=True)
        file.write_text(old)
        code = KILLED.format(root=root, mark=".ctxkit")
        ran = subprocess.run([sys.executable, "-c", code, str(point), str(log)], capture_output=True, timeout=60)
        text = file.read_text()
        assert text in (old, new), point
        outcomes.add((ran.returncode, text == new))
        if ran.returncode == 0:
            break
        assert ran.returncode == -signal.SIGKILL, ran.stderr
        assert ctxkit("config", log, "set", "now", "wall").code == 0
        assert list(file.parent.glob(".ctxkit-*")) == [], "what was left is swept"
    assert {(-signal.SIGKILL, False), (0, True)} <= outcomes and point > 5
    assert process("config", log, "unset", "now").code == 0


@pytest.mark.parametrize("word", ["\ud800", "x" * 5000, "a\0b", "", "..", "a/\ud800", "\udcff", 3, None])
def test_left_behind_takes_any_words(tmp_path: Path, word: object) -> None:
    """The words of an op are data: what is no name of a file beside the log is passed over."""
    for by in ({"args": ["mark", word]}, {"args": word}, word):
        assert left_behind(tmp_path / "b.jsonl", [{"by": by}]) == ""

"""config: settings with their origins; set and unset; what a folder may not; a broken file."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ctxkit.cli.commands.config import listed
from ctxkit.cli.terminal.layout import near
from ctxkit.cli.terminal.style import Styled
from ctxkit.settings.config import Setting
from ctxkit.settings.keys import KEYS, Key
from tests.cli.runner import FOREIGN, SMALL, ctxkit, good, process, shell, small


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small log in the working folder."""
    monkeypatch.chdir(tmp_path)
    small(tmp_path)
    return Path("chat.jsonl")


def sidecar(folder: Path, text: str, name: str = "chat.jsonl") -> Path:
    """A sidecar with this config."""
    file = folder / f"{name}.ctxkit" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def test_show(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key with its value and where it comes from; with --only-set those that somebody set."""
    sidecar(tmp_path, '# mine\nreserve = 5\n[agents.frodo]\nwindow = "3h"\n')
    (tmp_path / "ctxkit.toml").write_text("limit = 9\nreserve = 6\n")
    monkeypatch.setenv("CTXKIT_NOW", "wall")
    lines = [line.split() for line in good("config", log).text.splitlines()]
    assert [line[0] for line in lines] == [
        key.name.replace("NAME", "frodo") for key in KEYS if not key.of_agent or key.name.endswith(".window")
    ]
    assert good("config", log, "show", "--only-set").text.splitlines() == [
        "now                  wall  CTXKIT_NOW",
        "limit                9     ctxkit.toml:1",
        "reserve              5     chat.jsonl.ctxkit/config.toml:2",
        "agents.frodo.window  3h    chat.jsonl.ctxkit/config.toml:4",
    ]


def test_json(log: Path, tmp_path: Path) -> None:
    """A line a key: as written, for the program, and its origin."""
    file = sidecar(tmp_path, '[window]\ndefault = "8h"\n')
    values = {value["key"]: value for value in good("config", log, "--json").values}
    assert values["window.default"] == {
        "key": "window.default", "value": "8h", "resolved": 28800, "origin": f"{file}:2"
    }  # fmt: skip
    assert values["limit"] == {"key": "limit", "value": None, "resolved": None, "origin": "default"}
    assert good("config", log, "get", "window.default", "--json").values == [values["window.default"]]
    [set_] = good("config", log, "set", "reserve", "7", "--json").values
    assert set_ == {"key": "reserve", "file": str(file), "before": None, "after": 7, "dry_run": False}
    [unset] = good("config", log, "unset", "reserve", "--json").values
    assert (unset["before"], unset["after"]) == (7, None)


def test_json_of_odd_values(log: Path, tmp_path: Path) -> None:
    """A time, and what stood where a value should, are text."""
    file = sidecar(tmp_path, "now = 2026-02-01T10:00:00Z\nreserve = nan\nlimit = { x = 2026-02-01 }\nwindow = [[1]]\n")
    ran = ctxkit("config", log, "--json", "--only-set")
    assert ran.code == 78
    assert ran.values == [
        {
            "key": "now",
            "value": "2026-02-01 10:00:00+00:00",
            "resolved": "2026-02-01T10:00:00+00:00",
            "origin": f"{file}:1",
        }
    ]
    befores = [
        good("config", log, "unset", name, "--json").values[0]["before"] for name in ("now", "reserve", "window")
    ]
    assert befores == ["2026-02-01 10:00:00+00:00", "nan", "[[1]]"]
    assert "x" in good("config", log, "set", "limit", "5", "--json").values[0]["before"]
    assert file.read_text() == "limit = 5\n"


def test_get(log: Path, tmp_path: Path) -> None:
    """The value alone, as it is typed; a key without one is a no."""
    sidecar(tmp_path, 'trim.exclude_tools = ["Read", "Grep"]\nnow = 2026-02-01T10:00:00Z\n[budget]\nenforce = true\n')
    for name, text in (("trim.exclude_tools", "Read,Grep"), ("budget.enforce", "true"), ("model", ""),
                       ("reserve", "4096"), ("status.red", "85%"), ("window.max", "7d")):  # fmt: skip
        ran = good("config", log, "get", name)
        assert (ran.text, ran.err) == (f"{text}\n", "")
        if name != "model":
            good("config", log, "set", name, text)
    ran = ctxkit("config", log, "get", "limit")
    assert (ran.code, ran.out) == (1, b"") and "limit is not set" in ran.err
    good("config", log, "set", "now", good("config", log, "get", "now").text.strip())


def test_set_and_unset(log: Path, tmp_path: Path) -> None:
    """The words, and what they do to the next command."""
    ran = good("config", log, "set", "window.default", "8h")
    assert (ran.out, ran.err) == (b"", "window.default = 8h (chat.jsonl.ctxkit/config.toml)\n")
    assert "Context window: 8h (default: 8h)" in good("window", log).text
    assert good("config", log, "set", "window.default", "9h", "-q").err == ""
    assert good("config", log, "unset", "window.default").err == (
        "window.default is not set any more (chat.jsonl.ctxkit/config.toml)\n"
    )
    ran = ctxkit("config", log, "unset", "window.default")
    assert ran.code == 1 and "nothing was changed" in ran.err
    assert log.read_bytes() == SMALL


def test_dry_run(log: Path) -> None:
    """Checked, said, not written."""
    ran = good("config", log, "set", "reserve", "5", "--dry-run")
    assert ran.err == "Dry run, nothing was written. Without it: reserve = 5 (chat.jsonl.ctxkit/config.toml)\n"
    assert not Path("chat.jsonl.ctxkit").exists()
    assert ctxkit("config", log, "set", "reserve", "-x", "--dry-run").code == 2


def test_a_variable_counts_before(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was set and has no effect now is said."""
    monkeypatch.setenv("CTXKIT_RESERVE", "9")
    assert "CTXKIT_RESERVE is set and takes precedence" in good("config", log, "set", "reserve", "5").err
    assert good("config", log, "get", "reserve").text == "9\n"


def test_user(log: Path) -> None:
    """One's own config needs no log, and holds for all of them."""
    good("config", "--user", "set", "compact.model", "m")
    file = Path(os.environ["HOME"]) / ".config/ctxkit/config.toml"
    assert file.read_text() == '[compact]\nmodel = "m"\n' and file.stat().st_mode & 0o777 == 0o600
    os.environ["COLUMNS"] = "300"
    assert good("config", log, "--only-set").text == f"compact.model  m  {file}:2\n"
    assert good("config", "--user", "--only-set").text == good("config", log, "--only-set").text
    assert good("config", "--user", "get", "compact.model").text == "m\n"
    good("config", "--user", "unset", "compact.model")
    assert ctxkit("config", log, "--user", "show").code == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("config none.jsonl", 66, "none.jsonl: no such log"),
        ("config show", 66, "no log was named"),
        ("config chat.jsonl edit", 2, "config cannot 'edit'"),
        ("config chat.jsonl get", 2, "`config get` takes KEY: nothing was changed"),
        ("config chat.jsonl set now", 2, "`config set` takes KEY and VALUE"),
        ("config chat.jsonl set window.default 2h 30m", 2, "put words with blanks in quotes"),
        ("config chat.jsonl show now", 2, "`config show` takes no further word"),
        ("config --user set now wall x", 2, "`config set` takes KEY and VALUE"),
        ("config chat.jsonl get windw.default", 78, "hint: the nearest key is window.default"),
        ("config chat.jsonl get window", 78, "its keys: window.default"),
        ("config chat.jsonl set reserve x", 78, "reserve must be a whole number: nothing was changed"),
        ("config chat.jsonl unset nonsense", 78, "unknown key nonsense"),
        ("config chat.jsonl set compact.model x", 78, "hint: ctxkit config --user set compact.model x"),
        ("config - set now wall", 2, "a stream has no config of its own"),
        ("config ''", 66, "the name of the log is empty"),
        ("config . show", 66, "it is a folder; name a log, or edit its ctxkit.toml"),
    ],
)
def test_errors(words: str, code: int, said: str, log: Path) -> None:
    """Named, with what to do; nothing is written."""
    import shlex

    ran = ctxkit(*shlex.split(words))
    assert (ran.code, ran.out) == (code, b"") and said in ran.err, ran.err
    assert sorted(path.name for path in Path().iterdir()) == ["chat.jsonl"]


def test_a_broken_file_is_shown(log: Path, tmp_path: Path) -> None:
    """All that is wrong with its place, all the rest with its value, exit 78; what is no TOML too."""
    file = sidecar(tmp_path, 'reserve = "x"\nmodle = "m"\nlimit = 7\n')
    ran = ctxkit("config", log, "--only-set")
    assert (ran.code, ran.text) == (78, "limit  7  chat.jsonl.ctxkit/config.toml:3\n")
    assert f"{file}:1: reserve must be a whole number" in ran.err and f"{file}:2: unknown key modle" in ran.err
    assert "hint: the nearest key is model" in ran.err
    ran = ctxkit("config", log, "get", "limit")
    assert (ran.code, ran.out) == (78, b"")
    ran = good("config", log, "set", "reserve", "8")
    assert f"still wrong: {file}:2: unknown key modle" in ran.err
    good("config", log, "unset", "modle")
    assert good("config", log, "--only-set").err == ""
    file.write_text("now = wall\n")
    ran = ctxkit("config", log)
    assert ran.code == 78 and f"{file}:1: not TOML" in ran.err and "reserve" in ran.text


def untrusted(key: Key) -> Any:
    """A value that a folder may not set."""
    if key.trust == "inside":
        return {"texts": ["../../etc"], "words": "file:/etc/passwd"}.get(key.kind, "/etc/passwd")
    return "llm" if key.trust == "local" else ["evil"] if key.kind == "texts" else "evil"


@pytest.mark.parametrize("where", ["chat.jsonl.ctxkit/config.toml", "ctxkit.toml"])
@pytest.mark.parametrize("key", [key for key in KEYS if key.trust != "always"], ids=lambda key: key.name)
def test_a_cloned_folder_does_not_act(key: Key, where: str, log: Path, tmp_path: Path) -> None:
    """Every key that is not for a folder: named on stderr, without effect, for every kind of command; --strict: 78."""
    file = tmp_path / where
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{key.name} = {json.dumps(untrusted(key))}\n")
    named = f"ctxkit: {file}:1: {key.name} counts only from flags, environment and user config"
    default = ctxkit("config", "--user", "get", key.name).text
    ran = ctxkit("config", log, "get", key.name)
    assert ran.text == default and (ran.code == 1) == key.of_agent
    for words in (["config", log], ["show", log], ["mark", log, "a"], ["check", log], ["window", log]):
        ran = good(*words)
        assert f"{named}: ignored\n" in ran.err, words
        refused = ctxkit(*words, "--strict")
        assert refused.code == 78 and named in refused.err and ": ignored" not in refused.err
        assert refused.out == b"" or words[0] == "config"


def test_strict_is_content_with_what_counts(log: Path, tmp_path: Path) -> None:
    """It refuses nothing else."""
    sidecar(tmp_path, 'now = "wall"\n')
    assert good("show", log, "--strict").out == good("show", log).out
    assert good("show", "-", "--strict", stdin=SMALL).code == 0


@pytest.mark.needs("setpriv")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to have files of two users")
def test_a_strangers_sidecar(log: Path, tmp_path: Path) -> None:
    """Its folder is ignored and not written to; a stranger's file in one's own folder neither."""
    file = sidecar(tmp_path, "reserve = 5\n")
    os.chown(file.parent, 4711, 4711)
    ran = good("config", log, "get", "reserve")
    assert ran.text == "4096\n" and "belongs to another user (uid 4711): ignored" in ran.err
    for words in (["set", "reserve", "6"], ["unset", "reserve"]):
        ran = ctxkit("config", log, *words)
        assert ran.code == 77 and "belongs to another user: nothing was changed" in ran.err
    assert ctxkit("show", log, "--strict").code == 78
    os.chown(file.parent, 0, 0)
    os.chown(file, 4711, 4711)
    assert good("config", log, "get", "reserve").text == "4096\n"
    assert ctxkit("config", log, "set", "reserve", "6").code == 77
    assert file.read_text() == "reserve = 5\n"


@pytest.mark.needs("setpriv")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give up its rights")
def test_without_rights(log: Path, tmp_path: Path) -> None:
    """A folder that may not be written to: exit 77 or 73, and the old config."""
    file = sidecar(tmp_path, "reserve = 5\n")
    before = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    file.parent.chmod(0o555)
    ran = process("config", log, "set", "reserve", "6", before=before)
    assert ran.code == 77 and "nothing was changed" in ran.err
    file.parent.chmod(0o755)
    file.chmod(0)
    ran = process("config", log, before=before)
    assert ran.code == 77 and f"{file}: cannot be read" in ran.err


def test_files_that_are_none(log: Path, tmp_path: Path) -> None:
    """A pipe or a device in the config's place ends at once (as a process: a hang would show)."""
    file = sidecar(tmp_path, "")
    file.unlink()
    os.mkfifo(file)
    for words in (["config", log], ["show", log], ["config", log, "set", "now", "wall"]):
        ran = process(*words)
        assert ran.code == 74 and f"{file}: not a config file: it is a pipe" in ran.err
    shutil.rmtree(file.parent)
    os.mkfifo(tmp_path / "ctxkit.toml")
    assert process("show", log).code == 0
    Path(os.environ["HOME"], ".config/ctxkit").mkdir(parents=True)
    os.mkfifo(Path(os.environ["HOME"], ".config/ctxkit/config.toml"))
    assert process("show", log).code == 74


def test_a_large_config(log: Path, tmp_path: Path) -> None:
    """A gigabyte is refused, a megabyte of tables is read."""
    file = sidecar(tmp_path, "")
    with open(file, "wb") as sparse:
        sparse.truncate(1 << 30)
    assert process("config", log).code == 78
    file.write_text("".join(f'[agents.a{i}]\nwindow = "8h"\n' for i in range(30_000)))
    assert process("show", log).code == 0


def test_other_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another program, with many conversations, damaged: the log is not read."""
    monkeypatch.chdir(tmp_path)
    for name, raw in {
        "a.jsonl": FOREIGN,
        "b.json": b'[{"messages":[]},{"messages":[]}]',
        "c.jsonl": b"\x00{{\xff",
    }.items():
        Path(name).write_bytes(raw)
        good("config", name, "set", "reserve", "5")
        assert good("config", name, "get", "reserve").text == "5\n"
        assert Path(name).read_bytes() == raw


def test_sidecar_elsewhere(log: Path, tmp_path: Path) -> None:
    """--sidecar DIR, for init and every other command; for a stream it is the only one."""
    good("init", "new.jsonl", "--sidecar", "there", "--profile", "persona")
    for words in (["config", "new.jsonl"], ["config", "-"]):
        assert good(*words, "get", "window.default", "--sidecar", "there").text == "8h\n"
        assert good(*words, "get", "window.default").text == "off\n"
    good("config", "new.jsonl", "--sidecar", "there", "set", "window.default", "9h")
    assert "(default: 9h)" in good("window", "new.jsonl", "--sidecar", "there").text
    assert "(default: 9h)" in good("window", "-", "--sidecar", "there", stdin=SMALL).text
    assert not Path("new.jsonl.ctxkit").exists()


def test_a_stream(log: Path, tmp_path: Path) -> None:
    """Nothing is read from standard input: it may be a terminal."""
    (tmp_path / "ctxkit.toml").write_text("reserve = 6\n")
    assert ctxkit("config", "-", "get", "reserve", terminal=True).text == "6\n"
    assert ctxkit("config", stdin=None).code == 0


@pytest.mark.parametrize("columns", [20, 24, 40, 80, 200])
def test_widths(columns: int, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is wider than the terminal, whatever is set."""
    from ctxkit.cli.terminal.safe_text import cells

    sidecar(
        tmp_path,
        f'model = "{"名" * 60}"\n[agents."{"x" * 90}"]\nwindow = "3h"\n[agents."a\\u001b[31m\\nb"]\nwindow = "4h"\n',
    )
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in ([], ["--only-set"]):
        lines = good("config", log, *words).text.splitlines()
        assert max(map(cells, lines)) <= columns
        assert not any("\x1b" in line for line in lines)
    assert any("toml:1" in line for line in lines)


def test_a_set_value_is_one_word_of_a_script(log: Path, tmp_path: Path) -> None:
    """get and set in a shell."""
    ran = shell(
        'ctxkit config chat.jsonl set model "a b" && test "$(ctxkit config chat.jsonl get model)" = "a b"', tmp_path
    )
    assert ran.code == 0, ran.err


def test_accept_a_file_with_mistakes(log: Path) -> None:
    """A value of the wrong type that would not count is no bug; one that would is named, and nothing is accepted."""
    config = log.with_name("ctxkit.toml")
    config.write_text('[status]\nprocesses = ["command: echo hi"]\n', encoding="utf-8")
    assert good("config", log, "accept").err.endswith("ctxkit.toml: accepted until the file changes: 0 keys\n")
    config.write_text("limit = true\n", encoding="utf-8")
    ran = ctxkit("config", log, "accept")
    assert ran.code == 78 and "ctxkit.toml:1: limit must be a whole number" in ran.err


def test_completion(log: Path) -> None:
    """What to do, then the keys."""
    assert [line.split("\t")[0] for line in good("__complete", "zsh", "--", "config", log, "").text.splitlines()] == [
        "words", "show", "get", "set", "unset", "accept"
    ]  # fmt: skip
    assert "window.default" in good("__complete", "zsh", "--", "config", log, "set", "").text


def test_every_document_that_is_missing_is_named(tmp_path: Path) -> None:
    """At once, in the order in which they were typed; nothing is set."""
    path = small(tmp_path)
    (tmp_path / "here.md").write_text("words")
    ran = ctxkit("config", path, "set", "assembly.docs", "gone.md,here.md,lost.md")
    assert ran.code == 78
    assert "assembly.docs: gone.md: no such file; lost.md: no such file: nothing was changed" in ran.err
    assert ran.err.endswith("hint: write paths relative to the log's folder\n")


def test_a_format_that_does_not_fit(tmp_path: Path) -> None:
    """Where the config names a format that the log is not of, the hint names the config, and what takes it back."""
    path = small(tmp_path)
    good("config", path, "set", "format", "codex")
    ran = ctxkit("show", path)
    assert ran.code == 65 and "hint: `format` is set (" in ran.err and "unset format`, or --from auto" in ran.err
    assert good("show", path, "--from", "auto").out
    good("config", path, "unset", "format")
    assert good("show", path).out


ROWS = [
    ("now", Setting("wall", "CTXKIT_NOW", "wall")),
    ("window.default", Setting(1, "/a/long/way/config.toml:12", "8h")),
]


def lines(columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rows at that width."""
    monkeypatch.setenv("COLUMNS", str(columns))
    return ["".join(span.text if isinstance(span, Styled) else span for span in line) for line in listed(ROWS)]


def test_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line a key."""
    assert lines(80, monkeypatch) == [
        "now             wall  CTXKIT_NOW",
        "window.default  8h    /a/long/way/config.toml:12",
    ]


def test_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Origins below, with the file's end and the line."""
    assert lines(20, monkeypatch) == [
        "now             wall",
        "  CTXKIT_NOW",
        "window.default  8h",
        "  …ay/config.toml:12",
    ]


def test_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the working folder is named as it is there."""
    monkeypatch.chdir(tmp_path)
    assert near(f"{tmp_path}/a.toml:1") == "a.toml:1" and near("/etc/a.toml:1") == "/etc/a.toml:1"

"""What every test gets: a clean environment, a home of its own, a fixed zone and width, seeded hypothesis.

And what the whole run gets: programs that start fast, files in memory, and the name of a failing test at once.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import settings

from ctxkit.store import durable_append
from tests import cases, effort, prefork, shared, which_litellm

# The same examples for everybody: a red run is the change's fault. `--hypothesis-profile=explore` looks further.
settings.register_profile("same", deadline=None, derandomize=True, database=None, print_blob=True)
settings.register_profile("push", settings.get_profile("same"), max_examples=effort.USUAL)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("same")

sys.dont_write_bytecode = False  # of this process; of those that it starts: see prefork.py

HERE = Path(__file__).resolve().parent
MEMORY = Path("/dev/shm")
ROOM = 3 << 30
"""Bytes that must be free in memory, so that the tests have their files there: they leave less than a tenth."""

# Programs that tests start and end by a signal inherit what is ignored (`nohup pytest &`, some runners), and never end.
# A handler of our own is not inherited: the tests go on ignoring it, programs have what the system does by itself.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

BOUND = 600
"""Seconds after which a test hangs: ten times what the longest takes on an idle machine."""

CLEARED = ("CTXKIT_", "XDG_", "EDITOR", "VISUAL", "PAGER", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "LC_", "LANGUAGE")
KEPT = ("CTXKIT_SHARED",)  # where the transcripts for tests are: see tests/shared.py
_home_number = count()


class Named:
    """Says which test failed, and why in a line, when it fails: the end of the run may be minutes away."""

    def __init__(self, screen: pytest.TerminalReporter) -> None:
        self.screen = screen

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A line for each failure, of the test itself, of what it needs and of what is behind it."""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = (crash.message if crash else str(report.longrepr)).strip().split("\n")[0]
            self.screen.write_line(f"\nFAILED {report.nodeid} ({report.when}): {why}", red=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--whole`: what a push runs a part of is run whole."""
    parser.addoption("--whole", action="store_true", help="all of every search (tests/effort.py), files on a disk")
    parser.addoption("--times", type=int, default=1, metavar="N", help="N times what a push runs of every search")
    parser.addoption("--real-start", action="store_true", help="an interpreter for each program, not a fork of one")
    parser.addoption("--real-litellm", action="store_true", help="litellm, not the stand-in for it (tests/stand_in)")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """How much is run, where files go, and who says what failed: the process with a screen, not a worker of xdist."""
    effort.WHOLE, effort.TIMES = config.getoption("whole"), config.getoption("times")
    prefork.FORKS = not config.getoption("real_start")
    if not config.getoption("real_litellm"):
        which_litellm.stand_in()
    if not effort.WHOLE and not config.getoption("hypothesis_profile"):
        settings.load_profile("push")
    roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    if roomy and not effort.WHOLE:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)  # a disk takes a hundred times as long to make a folder
    screen = config.pluginmanager.get_plugin("terminalreporter")
    if screen is not None:
        config.pluginmanager.register(Named(screen), "named")


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(scope="session", autouse=True)
def _clean_environment(_homes: Path) -> None:
    """Nothing of the person who runs the tests reaches them: config, editor, zone, width, colours.

    Counts of tokens are shared by all tests, since a tokenizer takes longer to make than most of them run.
    """
    for name in [name for name in os.environ if name.startswith(CLEARED) and name not in KEPT]:
        del os.environ[name]
    os.environ.update(
        HOME=str(_homes),
        XDG_CACHE_HOME=str(_homes / "cache"),
        COLUMNS="80",
        LINES="24",
        TZ="UTC",
        LANG="C.UTF-8",
        TERM="xterm-256color",
        PAGER="cat",
        # a folder that may not be entered hides whether a program is there: then the system says "permission denied"
        PATH=os.pathsep.join(folder for folder in os.environ["PATH"].split(os.pathsep) if os.access(folder, os.X_OK)),
    )
    time.tzset()


@pytest.fixture(autouse=True)
def clean_environment(_homes: Path) -> Iterator[None]:
    """A home of its own for each test, and the environment as it was before."""
    before = dict(os.environ)
    home = _homes / str(next(_home_number))
    home.mkdir()
    os.environ["HOME"] = str(home)
    yield
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)
    time.tzset()


def _hangs(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"the test takes over {BOUND} s")


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """No test hangs for ever: a failure names it."""
    before = signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(BOUND)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No append waits for a torn record to come to its end, which none does that a test wrote, but where it says so."""
    monkeypatch.setattr(durable_append, "PATIENCE", 0)


HEAVY = {
    "subprocess",
    "multiprocessing",
    "shared",
    "SHARED",
    "transcripts",
    "on_pty",
    "all_on_pty",
    "slices",
    "Command",
}
"""What a test file holds that starts programs, reads real sessions or draws sequences of ops."""


ROOMS = {"core", "formats", "content"}
"""Folders of tests/ whose tests take milliseconds."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m quick` reads the files of its rooms only."""
    inside = collection_path.relative_to(HERE).parts if collection_path.is_relative_to(HERE) else ()
    return True if config.option.markexpr == "quick" and inside and inside[0] not in ROOMS else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Which cases a push runs (tests/cases.py), which are `real` or `quick`, and in which order.

    `-m quick`: of some rooms, what draws no examples, in files that hold nothing `HEAVY`.
    With many processes the files that take long come first, so that none is alone with one of them at the end.
    """
    for item in cases.left_out(items):
        item.add_marker("full")
    if not effort.WHOLE and effort.TIMES == 1 and "full" not in config.option.markexpr:
        left = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
    first: dict[Path, int] = {}
    real = shared.readers() if "real" in config.option.markexpr else set()
    for item in items:
        slow = next((n for n, mark in enumerate(("torture", "slow")) if item.get_closest_marker(mark)), 2)
        heavy = slow < 2 or hasattr(getattr(item, "obj", None), "is_hypothesis_test")
        foreign = HEAVY & vars(getattr(item, "module", item)).keys()
        if getattr(getattr(item, "module", None), "__name__", "") in real:
            item.add_marker("real")
        first[item.path] = min(first.get(item.path, 4), slow if slow < 2 else 3 - bool(foreign))
        if ROOMS & set(item.path.parts) and not heavy and not foreign:
            item.add_marker("quick")
    if hasattr(config, "workerinput"):  # of xdist
        items.sort(key=lambda item: first[item.path])
    gc.freeze()  # modules and tests are never garbage: a collection need not look at them each time


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What a file leaves stays: a search for garbage looks at what the next one makes, not at a gigabyte of caches."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """`@pytest.mark.needs("nano")`: skipped where the program is missing, but in `.ci/run` that is a failure."""
    for mark in item.iter_markers("needs"):
        missing = [program for program in mark.args if not shutil.which(program)]
        if missing and os.environ.get("CI"):
            pytest.fail(f"not installed: {', '.join(missing)}: add it to .ci/packages", pytrace=False)
        if missing:
            pytest.skip(f"needs {', '.join(missing)}")

"""ctxkit metrics: figures of all sessions, for Prometheus."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from ctxkit.api.log import Log
from ctxkit.cli.options import takes
from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.event_log import BEGIN as EVENT_LINE
from ctxkit.cli.terminal.event_log import DONE
from ctxkit.core.strategies import NAMES as STRATEGIES
from ctxkit.core.text.json_text import loads
from ctxkit.errors import CannotCreate, CtxkitError, ExitCode, NoSuchLog, NothingMatched, Usage, reason_of
from ctxkit.formats import registry
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.measure.token_log import BEGIN as TOKEN_LINE
from ctxkit.search.preview import compacts
from ctxkit.search.sessions import Found, Session, find_sessions
from ctxkit.store.opening import cannot_open
from ctxkit.watch.claims import alive

LOOPBACK = "127.0.0.1"
LARGEST = 65535
"""The highest port."""


@takes()
def command(
    places: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Folders or logs (default: the folders of the agents)."),
    ] = None,
    *,
    textfile: str | None = None,
    serve: str | None = None,
    events: list[str] | None = None,
    quiet: bool = False,
) -> int:
    """Print figures of all sessions in Prometheus's text format: bytes, tokens, fill, checkpoints, damage, compactions.

    Without PATH those of the agents on this machine. Compactions over time come from the token log (CTXKIT_LOG), and
    refused or failed ones from the lines of --log-format json, which --events names. --textfile is for node_exporter,
    --serve answers scrapes on the loopback address until Ctrl-C. Labels are formats, states, outcomes and strategies:
    no path, id or word. Needs the extra `metrics`.
    """
    if textfile is not None and serve is not None:
        raise Usage("--textfile writes once, and --serve answers scrapes", "use only one of them")
    for place in places or ():
        if not os.path.lexists(place):
            raise NoSuchLog(f"{place}: no such file or folder", "ctxkit sessions lists sessions")
    failed: list[CtxkitError] = []

    def warn(error: CtxkitError) -> None:
        """Say that one of the sources cannot be read, once."""
        if error.message not in [one.message for one in failed]:
            failed.append(error)
            streams.warn(error.message, error)

    logs = [Path(name) for name in events or ()]
    collector = Collector(places or [], os.environ, logs, failed=warn)
    if serve is not None:
        return _serve(collector, *_address(serve))
    if textfile is None:
        streams.out_bytes([text(collector)])
    else:
        write(collector, textfile)
    return failed[0].code if failed else ExitCode.DONE


def _address(word: str) -> tuple[str, int]:
    """Host and port of `9108`, `127.0.0.1:9108` or `[::1]:9108`. Raises Usage."""
    host, _, port = word.rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port) > LARGEST:
        raise Usage(f"--serve {word}: no address and port", f"--serve {LOOPBACK}:9108")
    return host.strip("[]") or LOOPBACK, int(port)


def _serve(collector: Collector, host: str, port: int) -> int:
    """Answer scrapes until a signal; the exit status."""
    caught: list[int] = []
    done = threading.Event()

    def ended(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        done.set()

    taken, end = serve(collector, host, port)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ended)
    streams.say(f"Serving metrics on http://{host}:{taken}/metrics")
    done.wait()
    end()
    return 128 + caught[0]


FILLS = (0.1, 0.25, 0.5, 0.7, 0.85, 0.95, 1.0)
RATIOS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
SECONDS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets: used shares of the limit, removed shares of the tokens, seconds."""
LOCAL = ("localhost", "127.0.0.1", "::1")
"""Names that a request may give the machine that it runs on, beside the address given by --serve."""
REFUSED = {ExitCode.NO, ExitCode.USAGE, ExitCode.REFUSED, ExitCode.TRY_AGAIN, ExitCode.CONFIG}
"""Exit codes of a compaction that was refused; with any other code it failed."""


def text(collector: Collector) -> bytes:
    """All metrics in Prometheus's text format. Raises Usage without the library, and what `collect` raises."""
    library = _library()
    return bytes(library.generate_latest(_registry(library, collector)))


def write(collector: Collector, path: str) -> None:
    """Replace a file by one with all metrics. Raises CannotCreate, and what `text` raises."""
    library = _library()
    try:
        library.write_to_textfile(path, _registry(library, collector))
    except OSError as error:
        raise CannotCreate(f"{path}: cannot write: {reason_of(error)}: the old file stays") from error


def serve(collector: Collector, host: str, port: int) -> tuple[int, Callable[[], None]]:
    """Answer scrapes in a thread; the port, and how to end it. Raises Usage without the library, CannotCreate."""
    library = _library()
    try:
        server, thread = library.start_http_server(port, host, _registry(library, collector))
    except OSError as error:
        raise CannotCreate(f"{host}:{port}: cannot listen: {reason_of(error)}", "--serve with another port") from error
    server.set_app(_for_hosts(server.get_app(), {*LOCAL, host}))

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return server.server_port, end


def _for_hosts(app: Any, hosts: set[str]) -> Any:
    """The application, for requests to these hosts alone: a page in a browser may make its own name mean this machine
    (DNS rebinding), and the figures are nobody else's. A request without a host is refused too.
    """

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        name = re.sub(r":\d*$", "", environ.get("HTTP_HOST", "")).strip("[]").lower()
        if name not in hosts:
            start_response("421 Misdirected Request", [("Content-Type", "text/plain")])
            return [b"not a name of this server\n"]
        return app(environ, start_response)

    return answer


def _library() -> Any:
    try:
        import prometheus_client.core
    except ImportError as error:
        raise Usage("metrics needs prometheus_client", "pip install 'ctxkit-cli[metrics]'") from error
    return prometheus_client


def _registry(library: Any, collector: Collector) -> Any:
    registry = library.CollectorRegistry()
    registry.register(collector)
    return registry


class Collector:
    """Collects all metrics anew for each scrape. `events`: files with lines of `--log-format json`.

    `failed` is called with the error of a place, a token log or an event log that cannot be read; the metrics of the
    others are collected.
    """

    def __init__(
        self, places: Sequence[str], env: Mapping[str, str], events: Sequence[Path] = (), *,
        failed: Callable[[CtxkitError], None],
    ) -> None:  # fmt: skip
        self._places, self._env, self._events = places, env, events
        self._failed = failed

    def describe(self) -> list[Any]:
        """Nothing; otherwise the library would collect all metrics when the collector is registered."""
        return []

    def collect(self) -> Iterator[Any]:
        """The metric families."""
        found = Found([], [], [])
        try:
            found = find_sessions(self._places or None, agents=True, env=self._env)
        except NothingMatched:
            pass
        except CtxkitError as error:
            self._failed(error)
        yield from _of_sessions(found)
        yield from _of_ops(found.sessions)
        yield from self._of_logs()
        yield from self._of_watchers()

    def _of_logs(self) -> Iterator[Any]:
        """Metrics of the token log and the event logs: what was done over time."""
        token_log = self._env.get("CTXKIT_LOG")
        tokens, unreadable = self._lines([Path(token_log)] if token_log else [], TOKEN_LINE)
        done = [one for one in tokens if one.get("op")]
        compacts = [one for one in done if one.get("command") == "compact" and _size(one.get("before"))]
        events, more = self._lines(self._events, EVENT_LINE)
        ended = [one for one in events if one.get("event") == "compaction"]
        refused = sum(one.get("code") in REFUSED for one in ended)
        watched = sum(one.get("reason") == DONE for one in ended)
        outcomes = {"done": len(compacts) + watched, "refused": refused, "failed": len(ended) - refused - watched}
        yield _counter(
            "ctxkit_compactions", "Compactions by outcome, of the token log and the event logs.", "outcome", outcomes
        )
        yield _histogram(
            "ctxkit_compaction_seconds", "Duration of compactions, of the token log.",
            SECONDS, [float(one["seconds"]) for one in compacts if isinstance(one.get("seconds"), int | float)],
        )  # fmt: skip
        yield _histogram(
            "ctxkit_compaction_reduction_ratio", "Share of tokens that a compaction took out, of the token log.",
            RATIOS, [1 - _size(one.get("after")) / _size(one["before"]) for one in compacts],
        )  # fmt: skip
        kinds = Counter(str(one.get("event")) for one in events)
        some = {name: kinds[name] for name in ("checkpoint", "error", "fallback", "warning")}
        yield _counter("ctxkit_events", "Lines of the event logs by event.", "event", some)
        unread = unreadable + more
        yield _gauge("ctxkit_unreadable_logs", "Token logs and event logs that could not be read whole.", unread)

    def _lines(self, paths: Iterable[Path], begin: bytes) -> tuple[list[dict[str, Any]], int]:
        """The JSON records whose lines start with `begin`, and how many of the files could not be read whole."""
        found: list[dict[str, Any]] = []
        unreadable = 0
        for path in paths:
            try:
                found += _lines(path, begin)
            except CtxkitError as error:
                unreadable += 1
                self._failed(error)
        return found, unreadable

    def _of_watchers(self) -> Iterator[Any]:
        """Metrics of the running watchers: how many logs they follow, and how far they are behind."""
        behind, lag, count = 0, 0.0, 0
        for note in alive(self._env):
            count += 1
            try:
                found = os.stat(note.log)
            except OSError:
                continue
            if found.st_size > note.bytes:
                behind += found.st_size - note.bytes
                lag = max(lag, time.time() - found.st_mtime)
        yield _gauge("ctxkit_watched_logs", "Logs that a watcher follows.", count)
        yield _gauge("ctxkit_watch_behind_bytes", "Bytes of watched logs that their watcher did not read yet.", behind)
        yield _gauge(
            "ctxkit_watch_lag_seconds", "Age of the newest write that a watcher did not read yet, the oldest.", lag
        )


def _of_sessions(found: Found) -> Iterator[Any]:
    """Metrics of the sessions by format."""
    figures: dict[str, Counter[tuple[str, ...]]] = {
        name: Counter() for name in ("sessions", "bytes", "tokens", "checkpoints", "damage")
    }
    fills = []
    for one in found.sessions:
        format = one.glance.format if one.glance.format in registry.FORMATS else "other"
        used = one.used
        figures["sessions"][(format, one.state)] += 1
        figures["bytes"][(format,)] += one.size + (0 if one.sidecar is None else _below(one.sidecar))
        figures["tokens"][(format,)] += 0 if used is None else used.count
        figures["checkpoints"][(format,)] += one.checkpoints
        figures["damage"][(format,)] += one.glance.damaged
        if used is not None and used.limit:
            fills.append(used.count / used.limit)
    for name, unit, documentation, labels in (
        ("sessions", "", "Sessions by format and state.", ("format", "state")),
        ("bytes", "storage_", "Bytes of sessions and their sidecars.", ("format",)),
        ("tokens", "context_", "Tokens of the contexts, as far as they are known.", ("format",)),
        ("checkpoints", "", "Checkpoints and snapshots beside sessions.", ("format",)),
        ("damage", "", "Damaged places in sessions and their ops.", ("format",)),
    ):
        family = _family("GaugeMetricFamily", f"ctxkit_{unit}{name}", documentation, labels)
        for key, value in sorted(figures[name].items()):
            family.add_metric(key, value)
        yield family
    yield _histogram(
        "ctxkit_context_fill_ratio", "Share of the limit that contexts use, where both are known.", FILLS, fills
    )
    yield _gauge("ctxkit_unreadable_sessions", "Files that could not be read.", len(found.failed))


def _of_ops(sessions: Iterable[Session]) -> Iterator[Any]:
    """Metrics of the compact ops in force."""
    by, fallbacks = Counter[str](), 0
    for one in sessions:
        for strategy, fallback in (*one.glance.compacts, *_in_conversations(one)):
            by[strategy if strategy in STRATEGIES else "other"] += 1
            fallbacks += fallback
    family = _family("GaugeMetricFamily", "ctxkit_compaction_ops", "Compactions recorded in sessions.", ("strategy",))
    for strategy in (*STRATEGIES, "other"):
        family.add_metric((strategy,), by[strategy])
    yield family
    yield _gauge("ctxkit_fallback_ops", "Compactions in sessions by rules, because a model gave no summary.", fallbacks)


def _in_conversations(one: Session) -> Iterator[tuple[str, bool]]:
    """The compacts in force of the conversations in a file of many: a preview has none of their ops."""
    if one.glance.conversations < 2 or one.sidecar is None:
        return
    for path in sorted(one.sidecar.glob("ops.*.jsonl")):
        number = path.name.split(".")[1]
        try:
            with one_of_many(str(one.path)):
                yield from compacts(Log.open(one.path, conversation=int(number)).state())
        except (CtxkitError, ValueError):  # `check` says it
            continue


def _lines(path: Path, begin: bytes) -> Iterator[dict[str, Any]]:
    """The JSON records whose lines start with `begin`; other lines are skipped. Raises what `cannot_open` makes."""
    try:
        with open(path, "rb") as file:
            for line in file:
                if line.startswith(begin):
                    try:
                        record = loads(line)
                    except ValueError:
                        continue
                    if isinstance(record, dict):
                        yield record
    except FileNotFoundError:
        return  # nothing was written to it yet
    except OSError as error:
        raise cannot_open(path, error) from error


def _below(folder: Path) -> int:
    """Bytes of the regular files below a folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
    return total


def _size(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _family(kind: str, name: str, documentation: str, labels: Sequence[str] = ()) -> Any:
    return getattr(_library().core, kind)(name, documentation, labels=labels)


def _gauge(name: str, documentation: str, value: float) -> Any:
    family = _family("GaugeMetricFamily", name, documentation)
    family.add_metric((), value)
    return family


def _counter(name: str, documentation: str, label: str, values: Mapping[str, int]) -> Any:
    family = _family("CounterMetricFamily", name, documentation, (label,))
    for key, value in values.items():
        family.add_metric((key,), value)
    return family


def _histogram(name: str, documentation: str, bounds: Sequence[float], values: Sequence[float]) -> Any:
    counts = Counter(bisect_left(bounds, value) for value in values)
    total, buckets = 0, []
    for place, bound in enumerate([*map(str, bounds), "+Inf"]):
        total += counts[place]
        buckets.append((bound, total))
    family = _family("HistogramMetricFamily", name, documentation)
    family.add_metric((), buckets, sum(values))
    return family

"""`ctxkit metrics` with Debian's Prometheus: scraped, every panel's query answered: `python -m tests.metrics`.

Needs `prometheus` and `promtool` (apt-get install prometheus). With npm, the dashboard is also checked against
the types of Grafana's own package (`--types`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import homes
from tests.cli.runner import PYTHON
from tests.lawful import ROOT

DASHBOARD = ROOT / "docs/grafana.json"
PATIENCE = 60
"""Seconds until Prometheus must have scraped."""
CHECK = """
import type {{ Dashboard }} from "@grafana/schema";
export const dashboard: Partial<Dashboard> = {dashboard};
"""


def made(folder: Path) -> dict[str, str]:
    """A home with sessions, a compaction, a refused one, damage; its environment."""
    home = folder / "home"
    env = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(folder / "cache")}
    env["CTXKIT_LOG"] = str(folder / "tokens.jsonl")
    for format in homes.PROGRAMS:
        homes.session(home, format, "/shop")
    log = home / ".claude/projects/-shop/long.jsonl"
    log.write_bytes((ROOT / "fixtures/guide/session.jsonl").read_bytes() + b'{"torn\n{}\n')
    with open(folder / "events.jsonl", "wb") as events:
        for words in (["compact", "--force"], ["compact"], ["status"], ["snapshot", "--light"], ["show", "--no-such"]):
            subprocess.run([*PYTHON, words[0], str(log), *words[1:], "--log-format", "json"], env=env, stderr=events,
                           stdout=subprocess.DEVNULL, check=False)  # fmt: skip
    return env


def free() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(*words: str, env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours, ended afterwards."""
    process = subprocess.Popen(words, env=dict(env), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def asked(port: int, query: str) -> list[Any]:
    """What Prometheus answers to a query. Raises OSError where it is not there yet, or refuses the query."""
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    if found["status"] != "success":
        raise OSError(str(found))
    result: list[Any] = found["data"]["result"]
    return result


def queries() -> list[str]:
    """Those of every panel of the dashboard."""
    return [target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel["targets"]]


def scraped(folder: Path) -> list[str]:
    """What is wrong: of the text as promtool sees it, of the scrape, of each query."""
    env = made(folder)
    words = [*PYTHON, "metrics", "--events", str(folder / "events.jsonl")]
    text = subprocess.run(words, env=env, capture_output=True, check=True).stdout
    lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
    wrong = (
        [f"promtool: {(lint.stdout + lint.stderr).decode()}"] if lint.returncode or lint.stdout or lint.stderr else []
    )
    told = text.decode()
    wrong += [f"{word} is told" for word in (str(folder), "-shop", "long", "port set") if word in told]
    ours, theirs = free(), free()
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        f"scrape_configs: [{{job_name: ctxkit, static_configs: [{{targets: ['127.0.0.1:{ours}']}}]}}]\n"
    )
    with running(*words, "--serve", str(ours), env=env), running(
        "prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{theirs}", env=env,
    ):  # fmt: skip
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if len(asked(theirs, "count_over_time(ctxkit_sessions[1m]) > 2")):
                    break
            except OSError:
                pass
            time.sleep(0.5)
        else:
            return [*wrong, "Prometheus has scraped nothing"]
        for query in queries():
            try:
                if not asked(theirs, query):
                    wrong.append(f"{query}: no answer")
            except OSError as error:
                wrong.append(f"{query}: {error}")
    return wrong


def typed(folder: Path) -> list[str]:
    """What Grafana's own types say against the dashboard."""
    (folder / "package.json").write_text('{"type":"module"}')
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "@grafana/schema@11", "typescript@5"]
    subprocess.run(npm, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (folder / "check.ts").write_text(CHECK.format(dashboard=DASHBOARD.read_text()))
    tsc = [
        "npx",
        "tsc",
        "--noEmit",
        "--strict",
        "--skipLibCheck",
        "--module",
        "esnext",
        "--moduleResolution",
        "bundler",
    ]
    ran = subprocess.run([*tsc, "check.ts"], cwd=folder, capture_output=True, check=False)
    return ran.stdout.decode().splitlines() if ran.returncode else []


def main() -> int:
    """Print what is wrong; exit 1 where anything is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--types", action="store_true", help="also check the dashboard against @grafana/schema (npm)")
    asked_for = parser.parse_args()
    missing = [name for name in ("prometheus", "promtool") if shutil.which(name) is None]
    if missing:
        print(f"{missing[0]} is missing: apt-get install prometheus", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        wrong = scraped(Path(folder))
    if asked_for.types:
        with tempfile.TemporaryDirectory() as folder:
            wrong += typed(Path(folder))
    print(*wrong, sep="\n")
    print(f"{len(queries())} queries, {len(wrong)} wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

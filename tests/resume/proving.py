"""`python -m tests.resume.proving [GLOB]`: Claude Code resumes sessions, and what it wrote is proved by its own hashes.

Where `just resume` looks at the request, this looks at the file: each request that the agent noted there must be what
`ctxkit check` works out from the rows. Linux only; no test of the suite.
"""

from __future__ import annotations

import io
import sys

from ctxkit import Log
from tests.resume import exports
from tests.resume.agents import AGENTS
from tests.resume.install import cache, install
from tests.resume.resuming import NotResumedError, resume

AGENT = "claude-code"


def main(pattern: str = "*") -> int:
    """Resume and prove each session; 1 where one is not proved, 2 where there was none."""
    installed = install(AGENTS[AGENT], cache())
    good: list[bool] = []
    for path in exports.sessions(AGENT, pattern):
        left: list[bytes] = []
        try:
            resume(installed, path.read_bytes(), "", left)
            verdict = outcome(left[0])
        except NotResumedError as why:
            verdict = f"not resumed: {why}"
        good.append(verdict.startswith("proved"))
        print(f"{path.stem:48} {verdict}", flush=True)
    print(f"{sum(good)} of {len(good)} proved")
    return 0 if good and all(good) else 1 if good else 2


def outcome(session: bytes) -> str:
    """Whether all that a session notes is proved, else the first thing that is not."""
    proofs = Log.open(io.BytesIO(session)).proofs()
    if proofs.wrong:
        return f"line {proofs.wrong[0].line}: {proofs.wrong[0].text}"
    if proofs.unproved:
        return f"line {proofs.unproved[0].line}: unproved: {proofs.unproved[0].text}"
    return f"proved: {proofs.proved} requests, {proofs.messages} messages" if proofs.requests else "nothing is noted"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))

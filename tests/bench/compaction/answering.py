"""A program that stands for a model: it keeps each prompt as a file, and answers with a file that somebody wrote.

`python answering.py JOB`, the prompt on standard input. JOB is a JSON file: `name`, the folders `prompts` (kept there
if it is not empty) and `answers`, and `asked`, how often it was asked. The n-th prompt is NAME.n.txt; its answer is
NAME.n.md, else the last one before it. Exit 3 if there is none.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> int:
    """Keeps the prompt, and prints its answer."""
    path = Path(sys.argv[1])
    job = json.loads(path.read_text(encoding="utf-8"))
    job["asked"] += 1
    path.write_text(json.dumps(job), encoding="utf-8")
    prompt = sys.stdin.buffer.read()
    if job["prompts"]:
        Path(job["prompts"], f"{job['name']}.{job['asked']}.txt").write_bytes(prompt)
    for number in range(job["asked"], 0, -1):
        answer = Path(job["answers"], f"{job['name']}.{number}.md")
        if answer.exists():
            sys.stdout.buffer.write(answer.read_bytes())
            return 0
    print(f"no answer for {job['name']}", file=sys.stderr)
    return 3


if __name__ == "__main__":
    sys.exit(main())

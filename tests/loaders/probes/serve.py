"""How a probe is asked: a line on standard input is a question, a line of JSON on what was its output the answer."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO


def serve(
    write: Callable[[list[dict[str, Any]]], str], read: Callable[[], Any], asked: TextIO, answers: TextIO
) -> None:
    """Answers `["write", ROWS]` with the path of the log, `["read"]` with what the program's loader says of it.

    What the program itself prints goes to standard error.
    """
    out = os.fdopen(os.dup(answers.fileno()), "w")
    os.dup2(sys.stderr.fileno(), answers.fileno())
    for line in asked:
        words = json.loads(line)
        try:
            answer = {"log": write(words[1])} if words[0] == "write" else {"read": read()}
        except Exception as error:  # whatever its loader raises is the answer
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=out, flush=True)

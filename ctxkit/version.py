"""The version, once: the wheel, `--version` and the `by` of every op take it from here.

Pipeline: beside it. A constant and not `importlib.metadata`, which costs every start 20 ms.
"""

from __future__ import annotations

VERSION = "0.1.0"

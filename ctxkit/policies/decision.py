"""What a policy decides: an op to append, or none, and the words to say about it.

A policy is pure: `(state, at, request) -> Decision`; the caller stamps the op (id, time, sum) and appends it.
"""

from __future__ import annotations

import msgspec

from ctxkit.core.ops import Op


class Decision(msgspec.Struct):
    """`op` is None where the wished state holds already (exit 0, nothing appended, REPLAY 50).

    `said`: the one line for stderr once the op is durable. `notes`: warnings and previews, said before.
    """

    op: Op | None
    said: str
    notes: list[str] = []

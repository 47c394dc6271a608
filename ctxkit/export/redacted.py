"""An export without the secrets of its log: taken out of the lines that were written, so of all that is in them.

Pipeline: `export/request.py`, `export/session.py` write -> here. Which thinking may stay behind the first secret is
decided before (`content/thinking.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from ctxkit.core.messages import Repairs
from ctxkit.core.text.redactor import Redactor
from ctxkit.store.spool import Spool, lines_of


def without_secrets(pieces: Iterable[bytes], redactor: Redactor | None, repairs: Repairs) -> Iterable[bytes]:
    """The pieces, whole lines of JSON, without secrets; they are counted in `repairs`. Without `redactor` the same."""
    if redactor is None:
        return pieces
    own = Redactor(redactor.known)
    made = Spool(line + b"\n" for line in own.lines(lines_of(pieces)))
    repairs.secrets += own.count
    return made

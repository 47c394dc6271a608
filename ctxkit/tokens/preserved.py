"""Models that check what stands before their thinking ("preserved thinking"), and whose thinking a model reads.

Only names are read, as in `models.py`. A block of thinking is signed; from the models of BINDS on, the signature binds
it to the system prompt, the tools and all messages before it, and the provider refuses a request in which any of them
is another: "The block is bound to a different conversation".
"""

from __future__ import annotations

import re

from ctxkit.tokens.models import bare

BETA = "thinking-binding-controls-2026-08-01"
"""The value of the header `anthropic-beta` with which a request may say `prefix_mismatch_behavior`."""

# Source: the vendor's pages "Preserved thinking" and "Prefix checks on thinking blocks" (build-with-claude/
# preserved-thinking, read in November 2026): they name Fable 5.1 and 5.2, Mythos 5.1 and 5.2, Opus, Sonnet and Haiku
# 5.5, and say "starting with Claude Fable 5.1". Later versions of a family are taken to bind, too.
BINDS = {"fable": (5, 1), "mythos": (5, 1), "opus": (5, 5), "sonnet": (5, 5), "haiku": (5, 5)}
"""Family -> its first version whose thinking is bound."""
# Source: the same pages: "Fable 5.1 reads blocks from Claude Opus 5 and, on the Claude API, from Claude Opus 5.5;
# neither reads blocks from Claude Fable 5.1." For other pairs nothing is published: a model reads its own.
READS = {("fable", (5, 1)): {("opus", (5, 0)), ("opus", (5, 5))}}
"""A model -> the others whose thinking it reads."""
_NAME = re.compile(r"(?:^|[^a-z0-9])claude-(fable|mythos|opus|sonnet|haiku)-(\d{1,2})(?:-(\d{1,2})(?!\d))?(?![\d])")
_ALIAS = re.compile(r"(fable|mythos|opus|sonnet|haiku)(plan)?")

Version = tuple[str, tuple[int, int]]


def binds(model: str) -> bool:
    """Whether this model refuses thinking behind a prefix that changed. A bare `opus` is the newest of its family."""
    name = bare(model)
    found = _version(name)
    if found is None:
        return _ALIAS.fullmatch(name) is not None
    family, version = found
    return version >= BINDS[family]


def reads(model: str, other: str) -> bool:
    """Whether `model` is known to read the thinking of `other`; it reads its own, under any of its names."""
    one, two = _version(bare(model)), _version(bare(other))
    if one is None or two is None:
        return bare(model) == bare(other)
    return one == two or two in READS.get(one, ())


def _version(name: str) -> Version | None:
    found = _NAME.search(name)
    return None if found is None else (found[1], (int(found[2]), int(found[3] or 0)))

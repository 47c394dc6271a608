"""Export targets: one entry each, and everything that knows the targets reads it."""

from __future__ import annotations

import io
from typing import Any, get_args

import pytest

from ctxkit import Log, build_final_prompt
from ctxkit.api.prompt import To
from ctxkit.errors import Usage
from ctxkit.formats import registry, targets
from ctxkit.formats.base import SessionFormat
from ctxkit.formats.targets import REQUESTS, SESSIONS, TARGETS
from ctxkit.tokens.image_limits import image_limits
from tests import trims
from tests.cli.runner import SMALL, ctxkit

NO_SESSIONS = [name for name in TARGETS if name not in SESSIONS]


def small() -> Log:
    """A log of a few messages."""
    return Log.open(io.BytesIO(SMALL))


@pytest.mark.parametrize("to", ["bedrock", "", "Anthropic", "openai "])
def test_an_unknown_target(to: str) -> None:
    """No target of that name: nothing is written, by the log, by the prompt, by the command."""
    for call in (small().export, small().session, lambda to: build_final_prompt(small(), to=to)):
        with pytest.raises(Usage):
            call(to)
    assert ctxkit("export", "-", "--to", to, stdin=SMALL).code == 2


@pytest.mark.parametrize("to", SESSIONS)
def test_a_session_is_no_request(to: str) -> None:
    """What `Log.session` writes, `Log.export` refuses: no body of another provider goes out."""
    with pytest.raises(Usage, match="session file"):
        small().export(to)
    written: Any = small().session(to)
    assert b"".join(written.pieces)


@pytest.mark.parametrize("to", REQUESTS)
def test_a_request(to: str) -> None:
    """Each has a writer, whose body has its messages under the key of the entry, and limits of pictures."""
    target = TARGETS[to]
    [body] = small().export(to).values
    assert isinstance(body[target.key], list) and body[target.key]
    assert image_limits(target.provider, "") is not None
    with pytest.raises(Usage):
        small().session(to)


def test_everything_reads_the_table() -> None:
    """The types of the API, formats that write sessions, the rules of the tests: the same names."""
    assert sorted(get_args(To)) == sorted(NO_SESSIONS)
    writers = [name for name in registry.DETECTED if isinstance(registry.by_name(name), SessionFormat)]
    assert sorted(writers) == sorted(SESSIONS)
    assert set(trims.RULES) == set(REQUESTS)
    assert all(target.name == name and target.what for name, target in TARGETS.items())
    assert targets.described(("openai",)) == "openai (chat completions)"

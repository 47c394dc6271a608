"""The export of a Gemini CLI session against what Gemini CLI 0.61.0 was recorded to send when it resumed it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.integrity import NO_RESULT

PROBES = Path(__file__).resolve().parents[3] / "fixtures/truth-gemini-cli"
REQUESTS: dict[str, Any] = json.loads((PROBES / "requests.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("probe", REQUESTS)
def test_a_probe_is_sent_as_recorded(probe: str) -> None:
    """Each small session gives the recorded contents; but a call without a result gets the one that we make up,
    and a result that is sent twice goes once, as no other provider takes it.
    """
    log = Log.open(PROBES / REQUESTS[probe]["file"])
    contents = next(iter(log.export("gemini", model="gemini-2.5-pro").values))["contents"]
    ours = [one for one in contents if NO_RESULT not in json.dumps(one)]
    for one in ours:
        for part in one["parts"]:
            part.pop("thoughtSignature", None)  # rule 3: the program adds one of its own to some calls
    assert ours == [_once(one) for one in REQUESTS[probe]["contents"]]


def _once(content: dict[str, Any]) -> dict[str, Any]:
    """The same without what it says a second time."""
    return {**content, "parts": [one for at, one in enumerate(content["parts"]) if one not in content["parts"][:at]]}

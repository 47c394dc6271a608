"""Exports of opencode against what opencode 1.18.33 was recorded to send when it resumed them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.resume.__main__ import EXPLAINED
from tests.resume.blocks import anthropic
from tests.resume.compare import compared
from tests.resume.contexts import context

PROBES = Path(__file__).resolve().parents[3] / "fixtures/truth-opencode"
REQUESTS: dict[str, Any] = json.loads((PROBES / "requests.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("probe", REQUESTS)
def test_a_probe_is_sent_as_recorded(probe: str) -> None:
    """Each small session gives the blocks that opencode sent when it resumed it; six differ, as explained."""
    found = compared(anthropic(REQUESTS[probe]), context("opencode", PROBES / f"{probe}.json"))
    assert bool(found.first) == (("opencode", probe, "") in EXPLAINED)

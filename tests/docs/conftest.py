"""`--update-docs`: the tests of the documentation write what they would compare."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest tests/docs --update-docs`, which `just docs` runs."""
    parser.addoption("--update-docs", action="store_true", help="Rewrite the generated parts of README.md and docs/.")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether pages are to be rewritten."""
    return bool(request.config.getoption("--update-docs"))

"""docs/exit-codes.md is what `ctxkit/errors.py` says."""

from __future__ import annotations

from ctxkit import errors
from ctxkit.errors import MEANING, CtxkitError, ExitCode
from tests.docs.pages import DOCS, settle, with_part

PAGE = DOCS / "exit-codes.md"


def leaves() -> list[type[CtxkitError]]:
    """The classes of errors that are raised, by exit code, in the file's order."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, CtxkitError)]
    kept = [kind for kind in found if kind is not CtxkitError and not kind.__subclasses__()]
    return sorted(kept, key=lambda kind: kind.code)


def codes() -> str:
    """The table of exit codes."""
    rows = [f"| {int(code)} | `{code.name}` | {MEANING[code]} |" for code in ExitCode]
    return "\n".join(["| code | name | meaning |", "|---:|---|---|", *rows])


def causes() -> str:
    """The table of error classes."""
    rows = [f"| {int(kind.code)} | `{kind.__name__}` | {str(kind.__doc__).splitlines()[0]} |" for kind in leaves()]
    return "\n".join(["| code | class | cause |", "|---:|---|---|", *rows])


def test_page(update: bool) -> None:
    """Every code and every class of error stands on the page, with its meaning."""
    text = PAGE.read_text(encoding="utf-8")
    text = with_part(text, "codes", codes())
    settle(PAGE, with_part(text, "causes", causes()), update=update)


def test_every_code_has_a_meaning_and_a_cause() -> None:
    """No code without words; each but "done" and "bug" is raised by an error of its own."""
    assert set(MEANING) == set(ExitCode)
    assert set(ExitCode) - {kind.code for kind in leaves()} == {ExitCode.DONE, ExitCode.BUG}

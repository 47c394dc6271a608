"""Calls without a result and results without a call: messages in columns give what the same messages in a list give."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from ctxkit.formats.columns import ColumnCall, Columns, Function
from ctxkit.logfile.unpaired import unpaired

_ids = st.lists(st.sampled_from("abcde"), max_size=2)
_rows = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), _ids, _ids), max_size=8)


@given(_rows)
@example([("user", [], []), ("assistant", ["a"], []), ("tool", [], ["a"]), ("user", [], [])])
@example([("assistant", ["a"], []), ("user", [], []), ("tool", [], ["b"])])
@example([("assistant", ["a"], ["a"]), ("user", [], [])])
@example([("tool", [], ["a"]), ("assistant", ["a"], []), ("user", [], [])])
def test_columns_are_compared_as_messages_are(rows: list[tuple[str, list[str], list[str]]]) -> None:
    """Whatever the order, also with ids that occur twice."""
    columns = Columns()
    columns.extend([role for role, _, _ in rows], [None] * len(rows), [0] * len(rows), [1] * len(rows))
    calls = [
        (n, ColumnCall(key, Function("f"))) for n, (_, keys, _) in enumerate(rows, 1) for key in dict.fromkeys(keys)
    ]
    results = [(n, key) for n, (_, _, keys) in enumerate(rows, 1) for key in dict.fromkeys(keys)]
    columns.take([n for n, _ in calls], [one for _, one in calls], [n for n, _ in results], [key for _, key in results])
    assert sorted(unpaired(columns)) == sorted(unpaired(list(columns)))


def test_what_is_unpaired() -> None:
    """A call in the middle without a result, and a result that no earlier message calls; not the last step's calls."""
    columns = Columns()
    columns.extend(["user", "assistant", "tool", "assistant"], [None] * 4, [0] * 4, [1] * 4)
    columns.take([2, 4], [ColumnCall("a", Function("f")), ColumnCall("z", Function("f"))], [3], ["b"])
    assert [(one.n, one.code) for one in unpaired(columns)] == [(2, "no-result"), (3, "no-call")]

"""The failure catalogue: what is damaged, what comes of it, and which tests show it. docs/reliability.md prints it.

Rows that `rows.py` makes of sessions are shown by `test_matrix.py` in every format of a record a line, those of
`test_documents.py` in every format of one JSON text; the codes that they give are taken from there.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """`check`: its exit code, where a log is read. `tests`, `codes`: beside those of the matrices."""

    what: str
    outcome: str
    check: str
    tests: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


DAMAGE = "tests/damage/test_meaning.py::"
COMMANDS = "tests/damage/test_commands.py::"
OPENING = "tests/store/test_opening.py::"
APPEND = "tests/store/test_durable_append.py::"
SOURCE = "tests/store/test_source.py::"

CATALOGUE: dict[str, Entry] = {
    "F01": Entry(
        "the last line, or the JSON text, is cut off",
        "all before it; the next append begins a new line",
        "1",
        (APPEND + "test_the_line_stands_alone",),
    ),
    "F02": Entry(
        "the last line has no end",
        "read where it is whole; never reported while somebody writes",
        "0",
        ("tests/store/test_intact_records.py::test_a_live_tail_is_not_reported",),
    ),
    "F03": Entry("a record behind a torn one", "the whole one", "1"),
    "F04": Entry("records without a line end between them", "all", "1"),
    "F05": Entry("a run of NUL bytes", "all; reported with its range", "1"),
    "F06": Entry(
        "a bad line in the middle",
        "all others; what hung on it is listed, and in the context as its program would have it",
        "1",
    ),
    "F07": Entry("line ends inside a string", "joined: up to 64 lines, 8 MiB", "1"),
    "F08": Entry(
        "nothing, or blank lines alone",
        "an empty log; a missing one: exit 66",
        "0",
        (COMMANDS + "test_nothing_in_it", OPENING + "test_what_is_not_there_is_named"),
    ),
    "F09": Entry("a byte order mark at the start of any line", "all", "0"),
    "F10": Entry("CRLF; a lone CR between records", "all; the lone CR is reported", "0; 1"),
    "F11": Entry(
        "UTF-16",
        "refused in one line that says what to do: exit 65",
        "65",
        (COMMANDS + "test_utf_16", "tests/damage/test_documents.py::test_utf_16"),
        ("utf-16",),
    ),
    "F12": Entry(
        "a pipe, device, folder or socket in a log's place",
        "refused at once: exit 66",
        "66",
        (OPENING + "test_other_kinds_are_named_at_once", OPENING + "test_a_pipe_that_took_a_file_s_place"),
    ),
    "F13": Entry(
        "a link to a log",
        "followed; it stays a link; ops are beside the target",
        "0",
        (COMMANDS + "test_a_link", APPEND + "test_links_stay_links"),
    ),
    "F14": Entry(
        "mode, owner, no permission",
        "mode and owner stay; exit 77",
        "77",
        (APPEND + "test_mode_is_kept_and_a_new_log_is_private", OPENING + "test_no_permission"),
    ),
    "F15": Entry(
        "a folder or file system that cannot be written",
        "all is read; a write: exit 77 or 74",
        "0",
        (APPEND + "test_a_log_that_cannot_be_opened",),
    ),
    "F16": Entry(
        "replaced or truncated while it was open",
        "no op is based on what is gone: exit 75",
        "0",
        (APPEND + "test_a_log_that_is_not_the_one_seen_is_refused", SOURCE + "test_a_file_cut_while_it_is_read"),
    ),
    "F17": Entry(
        "a full disk",
        "exit 74; the old bytes, at most a fragment behind them",
        "0",
        (APPEND + "test_every_size_of_a_full_disk",),
    ),
    "F18": Entry(
        "an error of the disk in the middle",
        "exit 74 with the range; what is behind it is not read",
        "74",
        (SOURCE + "test_an_error_names_the_range",),
    ),
    "F19": Entry(
        "a log of gigabytes",
        "in pieces; memory goes by the longest line",
        "0",
        ("tests/store/test_jsonl.py::test_reading_takes_a_bounded_number_of_reads",),
    ),
    "F20": Entry(
        "a line of more than 256 MiB",
        "skipped by its bytes",
        "1",
        (DAMAGE + "test_f20_a_line_without_end",),
        ("too-long",),
    ),
    "F21": Entry(
        "one session resumed twice",
        "both branches; the newest is the context",
        "0",
        (DAMAGE + "test_f21_resumed_twice",),
    ),
    "F22": Entry(
        "two programs that replace one file",
        "names of temporary files are unique",
        "",
        ("tests/store/test_atomic.py::test_what_killed_processes_left_is_swept",),
    ),
    "F23": Entry(
        "two `config set` at once", "both keys", "", ("tests/settings/test_log_config.py::test_no_change_is_lost",)
    ),
    "F24": Entry(
        "closed standard streams",
        "nothing else is written to the log; no output: exit 74",
        "",
        (OPENING + "test_descriptors_of_standard_streams_are_never_used",),
    ),
    "F25": Entry(
        "a reader that goes away; a full device",
        "141; 74",
        "",
        (
            "tests/cli/terminal/test_error_report.py::test_reader_goes_away",
            "tests/cli/terminal/test_error_report.py::test_full_disk",
        ),
    ),
    "F26": Entry(
        "signals, at any system call",
        "128 plus the signal; the log is the old bytes or a whole op",
        "",
        ("tests/test_kill.py::test_no_fault_breaks_a_promise",),
    ),
    "F27": Entry("no times, odd ones, a clock set back", "the order is the file's", "0"),
    "F28": Entry(
        "a log that grows while it is read",
        "cut at the size that it had",
        "0",
        (SOURCE + "test_growth_is_not_part_of_it",),
    ),
    "F29": Entry(
        "a log that its program deleted",
        "named: exit 66; ops of its sidecar stay",
        "66",
        (OPENING + "test_what_is_not_there_is_named",),
    ),
    "F30": Entry(
        "two paths to one log",
        "the lock is on the file itself",
        "",
        ("tests/store/test_lock.py::test_a_deadline_and_the_holder_s_name",),
    ),
    "F31": Entry(
        "a name with line ends, escapes, no UTF-8, a leading dash",
        "a name; shown escaped",
        "0",
        (COMMANDS + "test_a_hostile_name",),
    ),
    "C01": Entry(
        "a call without a result",
        "named, as a note where its program mends it; a request gets a result that says so, or goes without the call",
        "0; 1",
        (DAMAGE + "test_c01_a_call_without_its_result",),
        ("no-result",),
    ),
    "C02": Entry(
        "a result without its call; empty ids",
        "named, as a note where its program mends it; shown, not sent",
        "0; 1",
        (DAMAGE + "test_c02_a_result_without_its_call", DAMAGE + "test_c02_empty_ids"),
        ("no-call",),
    ),
    "C03": Entry(
        "a parent that is missing; a circle of parents",
        "all messages are listed; the context is what its program would send",
        "1",
        (DAMAGE + "test_c03_a_missing_parent", DAMAGE + "test_c03_a_cycle"),
        ("missing-parent", "cycle"),
    ),
    "C04": Entry(
        "one response on several lines; an id that stands twice",
        "one message; a distinct record is never dropped; the same one again is a note",
        "0; 1",
        (DAMAGE + "test_c04_one_response_on_several_lines", DAMAGE + "test_c04_an_id_that_stands_twice"),
        ("reused-id",),
    ),
    "C05": Entry(
        "a compaction that failed or is half done",
        "of the log's program: what it would send; ours is one op, or none",
        "0",
        ("tests/formats/claude_code/test_view.py",),
    ),
    "C06": Entry(
        "pictures, twice on a line",
        "named by kind and size; never decoded for a list",
        "0",
        (DAMAGE + "test_c07_a_first_line_of_any_length", "tests/cli/terminal/test_message_view.py::test_body"),
    ),
    "C07": Entry(
        "a first line of any length",
        "the format is told all the same",
        "0",
        (DAMAGE + "test_c07_a_first_line_of_any_length",),
    ),
    "C08": Entry(
        "records of a kind that nobody knows",
        "no messages; exported to the byte",
        "0",
        (DAMAGE + "test_c08_unknown_records_stay",),
    ),
    "C09": Entry("JSON, but no object", "all others", "1"),
    "C10": Entry(
        "two sessions in one file",
        "both; where the second begins is said, as a note",
        "0; 1",
        (DAMAGE + "test_c10_two_sessions_in_a_file", "tests/damage/test_documents.py::test_two_in_a_file"),
        ("other-session", "glued"),
    ),
    "C11": Entry(
        "a file named after another session", "a name says nothing", "0", (DAMAGE + "test_c11_whatever_its_name",)
    ),
    "C12": Entry("hundreds of subagents", "a thread each", "0", (DAMAGE + "test_c12_many_subagents",)),
    "J01": Entry("`NaN`, `Infinity`", "shown as it stands; null in requests and with `--json`", "1"),
    "J02": Entry("`1e400`", "the same; in fields that reading passes over only `check` says so", "1"),
    "J03": Entry("2^53+1", "exact", "0"),
    "J04": Entry("2^64", "exact", "0"),
    "J05": Entry("a number of 5000 digits", "its digits, as text; reported as J02", "1"),
    "J06": Entry("a key that stands twice", "the last one counts; `check` says so", "1"),
    "J07": Entry("half a surrogate pair, escaped", "shown and sent as U+FFFD; the bytes stay", "0"),
    "J08": Entry("bytes that are not UTF-8", "shown as U+FFFD; the bytes stay", "1"),
    "J09": Entry("half a surrogate pair as bytes", "the same", "1"),
    "J10": Entry("a raw NUL or TAB in a string", "read", "1"),
    "J11": Entry("`\\u0000`", "shown as ␀", "0"),
    "J12": Entry("nested 1000 deep", "the record is not read where the decoder cannot; all others", "1"),
    "J13": Entry("nested 100,000 deep", "the record is not read; all others", "1"),
    "J14": Entry("U+2028, U+2029, U+0085", "no line ends", "0"),
    "J15": Entry("a byte order mark", "as F09", "0"),
    "J16": Entry("a comma too many, single quotes, comments", "what is whole beside it", "1"),
    "J17": Entry("`1.0`, `1E5`, many digits, the order of keys", "sessions are copied to the byte", "0"),
    "J18": Entry("`__proto__`, `../x`, a key of 1 MB, many keys", "no meaning; read", "0"),
}
"""Ids of the failure catalogue: F about files, C about what records mean, J about JSON."""

DEVIATIONS: tuple[tuple[str, str], ...] = (
    (
        "F06, C03",
        "what hung on a lost record is where its own program puts it: Claude Code bridges five seconds and else "
        "ends its history there, as pi does; ctxkit lists all of it; `why` says `cut-off`, `status` and `check` "
        "`missing-parent`",
    ),
    ("F18", "reading ends at the error instead of going on behind it: what a bad disk gives is not to be trusted"),
    ("F01", "the line of the report names the line of the file, its bytes stand in `check --json`"),
    ("C01", "nothing is appended for a call without a result: each export says in its words that there is none"),
    ("C10", "a second session is a finding of `check`, not of every command"),
    ("C11", "logs are named by path: there is no look-up by session id that could be ambiguous"),
    ("J02, J05, J06", "reading decodes only the fields that it needs: in others `check` alone finds them"),
    ("J12", "a record is refused by what the decoder takes, not at a fixed depth: about 1000"),
)
"""Where ctxkit does otherwise, and why."""

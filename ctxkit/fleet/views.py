"""The ready questions: views over the tables, each with its meaning, its columns and its SQL. Pure.

Pipeline: `tables.py` -> here -> `database.py`, which adds them to every database. A view has an order, with a column at
the end that tells its rows apart, so that its result is the same each time.
"""

from __future__ import annotations

from typing import NamedTuple


class ViewColumn(NamedTuple):
    """A column of a view. `meaning`: what a cell says."""

    name: str
    meaning: str


class QueryView(NamedTuple):
    """A ready question. `meaning`: what it answers, in sentences; `sql`: its select."""

    name: str
    meaning: str
    columns: tuple[ViewColumn, ...]
    sql: str


SESSION = ViewColumn("session", "the name of the source without its ending")
ID = ViewColumn("transcript_id", "the transcript, as in all tables")

_COMPACTED = "(NOT o.void AND (o.kind = 'compact' OR (o.kind = 'program' AND o.label LIKE 'compacted by %')))"
"""Which rows of `ops o` are compactions in force: ctxkit's and the programs' own. COMPACTED in the SQL below."""
_REQUESTED = """(
    SELECT * FROM requests QUALIFY ts IS NULL OR transcript_id = min(transcript_id) OVER (
        PARTITION BY ts, model, input, cached, cache_write, output, reasoning
    )
)"""
"""The rows of `requests`, without those of copied history: forks and resumed sessions hold a reply with its time and
its counts, but it was asked for once. REQUESTED in the SQL below.
"""

VIEWS: dict[str, QueryView] = {
    view.name: view._replace(sql=view.sql.replace("COMPACTED", _COMPACTED).replace("REQUESTED", _REQUESTED).strip())
    for view in (
        QueryView(
            "largest_results",
            "Which results of tools are the largest, and whether they are still in the context.",
            (
                SESSION,
                ViewColumn("n", "the message"),
                ViewColumn("tool", "the tool"),
                ViewColumn("tokens", "its tokens"),
                ViewColumn("bytes", "its bytes in the log"),
                ViewColumn("in_context", "whether it is in the context"),
                ID,
            ),
            """
SELECT t.source_id AS session, m.n, m.tool, m.tokens, m.bytes, m.in_context, m.transcript_id
FROM messages m JOIN transcripts t USING (transcript_id)
WHERE m.kind = 'result'
ORDER BY m.tokens DESC, m.transcript_id, m.n
""",
        ),
        QueryView(
            "files_edited",
            "Which files were changed, in how many sessions, and how often: by tools for files and by commands.",
            (
                ViewColumn("path", "the file, as the calls name it"),
                ViewColumn("sessions", "transcripts with a change"),
                ViewColumn("changes", "calls to change it, those that failed among them"),
                ViewColumn("how", "`created`, `edited`, …, joined by commas"),
                ViewColumn("reads", "calls that read it, in the same transcripts"),
                ViewColumn("last", "the time of the newest change; null without times"),
            ),
            """
SELECT f.path, count(DISTINCT f.transcript_id) AS sessions, count(*) FILTER (f.touched <> 'read') AS changes,
    string_agg(DISTINCT f.touched, ',' ORDER BY f.touched) FILTER (f.touched <> 'read') AS how,
    count(*) FILTER (f.touched = 'read') AS reads, max(m.ts) FILTER (f.touched <> 'read') AS last
FROM files f LEFT JOIN messages m USING (transcript_id, n)
WHERE (f.transcript_id, f.path) IN (SELECT (transcript_id, path) FROM files WHERE touched <> 'read')
GROUP BY f.path
ORDER BY changes DESC, f.path
""",
        ),
        QueryView(
            "compactions",
            "Every compaction in force, ctxkit's and the programs' own: when, and what it saved.",
            (
                SESSION,
                ViewColumn("ts", "its time; of a program's own, that of the message before it"),
                ViewColumn("op", "the op; null for a program's own"),
                ViewColumn("made_by", "`ctxkit`, or what the program's log says"),
                ViewColumn("n", "messages before it"),
                ViewColumn("before_tokens", "tokens before it; null if it does not say"),
                ViewColumn("after_tokens", "tokens after it"),
                ViewColumn("saved", "the share of the tokens that went, from 0 to 1"),
                ID,
            ),
            """
SELECT t.source_id AS session, coalesce(o.ts, m.ts) AS ts, o.op,
    CASE o.kind WHEN 'compact' THEN 'ctxkit' ELSE o.label END AS made_by, o.n,
    o.before_tokens, o.after_tokens, round(1 - o.after_tokens / nullif(o.before_tokens, 0), 3) AS saved, o.transcript_id
FROM ops o JOIN transcripts t USING (transcript_id)
    LEFT JOIN messages m ON m.transcript_id = o.transcript_id AND m.n = o.n
WHERE COMPACTED
ORDER BY ts DESC NULLS LAST, o.transcript_id, o.n, o.op
""",
        ),
        QueryView(
            "lost_after_compaction",
            "Which messages a compaction took out although their file was touched again afterwards: what it should "
            "have kept. A row for each message and file, with the first touch after the compaction.",
            (
                SESSION,
                ViewColumn("n", "the message that went, a call"),
                ViewColumn("path", "the file that it read or changed"),
                ViewColumn("op", "the compaction; null for a program's own"),
                ViewColumn("compacted_at", "messages before the compaction"),
                ViewColumn("again_n", "the first later message that touched the file"),
                ViewColumn("again", "how: `read`, `edited`, …"),
                ViewColumn("tokens", "tokens of the message that went, and of its results"),
                ID,
            ),
            """
WITH compactions_in_force AS (
    SELECT o.transcript_id, o.op, o.n FROM ops o WHERE COMPACTED
), results AS (
    SELECT transcript_id, call_id, sum(tokens) AS tokens FROM messages WHERE kind = 'result' GROUP BY ALL
), lost AS (
    SELECT m.transcript_id, m.n, m.call_id, m.tokens, c.op, c.n AS compacted_at
    FROM messages m JOIN compactions_in_force c USING (transcript_id)
    WHERE NOT m.in_context AND m.n <= c.n
        AND (m.out_by_op = c.op OR (m.out_kind = 'program' AND c.op IS NULL))
    QUALIFY row_number() OVER (PARTITION BY m.transcript_id, m.n ORDER BY c.n, c.op) = 1
)
SELECT t.source_id AS session, l.n, f.path, any_value(l.op) AS op, any_value(l.compacted_at) AS compacted_at,
    min(a.n) AS again_n, arg_min(a.touched, a.n) AS again,
    (any_value(l.tokens) + coalesce(any_value(r.tokens), 0))::BIGINT AS tokens, l.transcript_id
FROM lost l
    JOIN transcripts t USING (transcript_id)
    JOIN (SELECT DISTINCT transcript_id, n, path FROM files) f USING (transcript_id, n)
    JOIN files a ON a.transcript_id = l.transcript_id AND a.path = f.path AND a.n > l.compacted_at
    LEFT JOIN results r ON r.transcript_id = l.transcript_id AND r.call_id = l.call_id
GROUP BY t.source_id, l.transcript_id, l.n, f.path
ORDER BY tokens DESC, l.transcript_id, l.n, f.path
""",
        ),
        QueryView(
            "cost_by_model",
            "What each model was asked and answered, in tokens, and what it cost where the logs say it.",
            (
                ViewColumn("model", "the model; null if the log names none"),
                ViewColumn("sessions", "transcripts with a request"),
                ViewColumn("requests", "answers with recorded usage"),
                ViewColumn("input", "tokens of requests, the cached ones included"),
                ViewColumn("cached", "of these, read from the cache"),
                ViewColumn("cache_write", "of these, written to the cache"),
                ViewColumn("output", "tokens of answers"),
                ViewColumn("cost", "dollars; null if no log records them"),
            ),
            """
SELECT model, count(DISTINCT transcript_id) AS sessions, count(*) AS requests, sum(input)::BIGINT AS input,
    sum(cached)::BIGINT AS cached, sum(cache_write)::BIGINT AS cache_write, sum(output)::BIGINT AS output,
    round(sum(cost), 6) AS cost
FROM REQUESTED
GROUP BY model
ORDER BY cost DESC NULLS LAST, input DESC, model
""",
        ),
        QueryView(
            "errors_by_tool",
            "How often the calls of each tool fail.",
            (
                ViewColumn("tool", "the tool"),
                ViewColumn("results", "results of its calls"),
                ViewColumn("errors", "of these, errors"),
                ViewColumn("share", "of the results, from 0 to 1"),
                ViewColumn("sessions", "transcripts with an error"),
            ),
            """
SELECT tool, count(*) AS results, count(*) FILTER (error) AS errors,
    round(count(*) FILTER (error) / count(*), 3) AS share, count(DISTINCT transcript_id) FILTER (error) AS sessions
FROM messages
WHERE kind = 'result'
GROUP BY tool
ORDER BY errors DESC, results DESC, tool
""",
        ),
        QueryView(
            "abnormal_ends",
            "Which sessions did not end well: interrupted, damaged, or not to be read at all.",
            (
                SESSION,
                ViewColumn("ended", "`interrupted`, `damaged` or `unreadable`"),
                ViewColumn("messages", "its messages"),
                ViewColumn("last", "the time of the newest message"),
                ViewColumn("damaged", "damaged places"),
                ViewColumn("error", "why it cannot be read"),
                ViewColumn("source_uri", "the path or URL of the source"),
                ID,
            ),
            """
SELECT t.source_id AS session,
    CASE WHEN t.error IS NOT NULL THEN 'unreadable' WHEN t.ctxkit_damaged > 0 THEN 'damaged' ELSE t.ctxkit_end END
        AS ended,
    t.message_count AS messages, m.last, t.ctxkit_damaged AS damaged, t.error, t.source_uri, t.transcript_id
FROM transcripts t
    LEFT JOIN (SELECT transcript_id, max(ts) AS last FROM messages GROUP BY transcript_id) m USING (transcript_id)
WHERE t.error IS NOT NULL OR t.ctxkit_damaged > 0 OR t.ctxkit_end <> 'clean'
ORDER BY m.last DESC NULLS LAST, t.source_uri, t.transcript_id
""",
        ),
        QueryView(
            "cache_misses",
            "Which requests were paid in full although most of them had been sent just before: less than half of what "
            "the request before and this one have in common came from the cache. A compaction in between explains one.",
            (
                SESSION,
                ViewColumn("n", "the answer"),
                ViewColumn("model", "the model"),
                ViewColumn("input", "tokens of the request"),
                ViewColumn("cached", "of these, read from the cache"),
                ViewColumn("missed", "tokens that could have been read from it, at most"),
                ViewColumn("seconds", "since the answer before; null without times"),
                ViewColumn("compacted", "whether a compaction stands between the two"),
                ID,
            ),
            """
WITH asked AS (
    SELECT r.*, lag(r.input) OVER before AS input_before, lag(r.n) OVER before AS n_before,
        lag(r.ts) OVER before AS ts_before
    FROM requests r LEFT JOIN messages m USING (transcript_id, n)
    WHERE r.transcript_id IN (SELECT transcript_id FROM requests WHERE cached > 0 OR cache_write > 0)
    WINDOW before AS (PARTITION BY r.transcript_id, m.thread, m.agent, r.model ORDER BY r.n)
)
SELECT t.source_id AS session, a.n, a.model, a.input, coalesce(a.cached, 0) AS cached,
    least(a.input, a.input_before) - coalesce(a.cached, 0) AS missed,
    round(epoch(a.ts) - epoch(a.ts_before), 3) AS seconds,
    EXISTS (
        FROM ops o WHERE o.transcript_id = a.transcript_id AND o.n >= a.n_before AND o.n < a.n AND COMPACTED
    ) AS compacted, a.transcript_id
FROM asked a JOIN transcripts t USING (transcript_id)
WHERE a.input_before IS NOT NULL AND coalesce(a.cached, 0) < least(a.input, a.input_before) / 2
ORDER BY missed DESC, a.transcript_id, a.n
""",
        ),
        QueryView(
            "tokens_by_day",
            "What was sent and answered per day (UTC), and what it cost: the course of a budget.",
            (
                ViewColumn("day", "the day of the answers; null for those without a time"),
                ViewColumn("sessions", "transcripts with a request"),
                ViewColumn("requests", "answers with recorded usage"),
                ViewColumn("input", "tokens of requests, the cached ones included"),
                ViewColumn("cached", "of these, read from the cache"),
                ViewColumn("output", "tokens of answers"),
                ViewColumn("cost", "dollars; null if no log records them"),
            ),
            """
SELECT strftime(ts, '%Y-%m-%d') AS day, count(DISTINCT transcript_id) AS sessions, count(*) AS requests,
    sum(input)::BIGINT AS input, sum(cached)::BIGINT AS cached, sum(output)::BIGINT AS output,
    round(sum(cost), 6) AS cost
FROM REQUESTED
GROUP BY day
ORDER BY day
""",
        ),
        QueryView(
            "slowest_turns",
            "Which turns took longest: from what a person typed to the last message before the next thing that a "
            "person typed, of the main thread.",
            (
                SESSION,
                ViewColumn("n", "the message that a person typed"),
                ViewColumn("seconds", "to the last message of the turn"),
                ViewColumn("messages", "messages of the turn"),
                ViewColumn("calls", "of these, with calls of tools"),
                ViewColumn("asked", "the beginning of what was typed"),
                ID,
            ),
            """
WITH main AS (
    SELECT transcript_id, n, kind, ts, CASE WHEN kind = 'prompt' THEN left(text, 80) END AS asked,
        count(*) FILTER (kind = 'prompt') OVER (PARTITION BY transcript_id ORDER BY n) AS turn
    FROM messages WHERE n IS NOT NULL AND thread IS NULL
), turns AS (
    SELECT transcript_id, min(n) AS n, count(*) AS messages, count(*) FILTER (kind = 'call') AS calls,
        arg_min(asked, n) AS asked, arg_min(epoch(ts), n) AS began, max(epoch(ts)) AS ended
    FROM main WHERE turn > 0 GROUP BY transcript_id, turn
)
SELECT t.source_id AS session, u.n, round(u.ended - u.began, 3) AS seconds, u.messages, u.calls,
    replace(u.asked, chr(10), ' ') AS asked, u.transcript_id
FROM turns u JOIN transcripts t USING (transcript_id)
WHERE u.ended IS NOT NULL AND u.began IS NOT NULL
ORDER BY seconds DESC, u.transcript_id, u.n
""",
        ),
        QueryView(
            "repeated_reads",
            "Which files a session read more than once: what could be forgotten, or what a compaction made "
            "it read again.",
            (
                SESSION,
                ViewColumn("path", "the file"),
                ViewColumn("reads", "calls that read it"),
                ViewColumn("parts", "different parts that were read"),
                ViewColumn("outdated", "reads that a later call repeats or made outdated"),
                ViewColumn("outdated_in_context", "of these, in the context now"),
                ViewColumn("tokens", "tokens of all results of these reads"),
                ID,
            ),
            """
WITH results AS (
    SELECT transcript_id, call_id, sum(tokens) AS tokens FROM messages WHERE kind = 'result' GROUP BY ALL
), read AS (
    SELECT f.transcript_id, f.path, f.n, count(*) AS reads, list(DISTINCT coalesce(f.part, '')) AS parts,
        count(*) FILTER (f.outdated) AS outdated, count(*) FILTER (f.outdated AND f.in_context) AS outdated_in_context
    FROM files f WHERE f.touched = 'read' GROUP BY ALL
)
SELECT t.source_id AS session, d.path, sum(d.reads)::BIGINT AS reads,
    len(list_distinct(flatten(list(d.parts)))) AS parts, sum(d.outdated)::BIGINT AS outdated,
    sum(d.outdated_in_context)::BIGINT AS outdated_in_context, coalesce(sum(r.tokens), 0)::BIGINT AS tokens,
    d.transcript_id
FROM read d
    JOIN transcripts t USING (transcript_id)
    LEFT JOIN messages m ON m.transcript_id = d.transcript_id AND m.n = d.n
    LEFT JOIN results r ON r.transcript_id = d.transcript_id AND r.call_id = m.call_id
GROUP BY t.source_id, d.transcript_id, d.path
HAVING sum(d.reads) > 1
ORDER BY reads DESC, tokens DESC, d.transcript_id, d.path
""",
        ),
        QueryView(
            "tools_by_use",
            "What each tool is called for and what its results take: which tools fill the contexts.",
            (
                ViewColumn("tool", "the tool"),
                ViewColumn("sessions", "transcripts with a result of it"),
                ViewColumn("results", "its results"),
                ViewColumn("tokens", "their tokens"),
                ViewColumn("share", "of the tokens of all results, from 0 to 1"),
                ViewColumn("largest", "tokens of the largest"),
                ViewColumn("in_context", "tokens that are in contexts now"),
            ),
            """
SELECT tool, count(DISTINCT transcript_id) AS sessions, count(*) AS results, sum(tokens)::BIGINT AS tokens,
    round(sum(tokens) / nullif(sum(sum(tokens)) OVER (), 0), 3) AS share, max(tokens) AS largest,
    coalesce(sum(tokens) FILTER (in_context), 0)::BIGINT AS in_context
FROM messages
WHERE kind = 'result'
GROUP BY tool
ORDER BY tokens DESC, tool
""",
        ),
    )
}
"""Name -> the ready question."""

"""Examples of each command, for its help, its page and the tests.

An example is a command line and its purpose. `chat.jsonl` is the native log of the guide, `session.jsonl` a Claude Code
session.
"""

from __future__ import annotations

FIRST_STEPS = (
    ("ctxkit show @", "what the agent will send; @ is the newest session of this project"),
    ("ctxkit forget @ --larger-than 5k", "large results leave the context, not the log"),
    ("ctxkit undo @", "they are back"),
    ("ctxkit resume @", "a new session with it, and the line to type"),
    ("ctxkit export chat.jsonl --to openai >request.json", "the context of any log as a request"),
)
"""The examples of `ctxkit --help`."""

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "show": (
        ("ctxkit show chat.jsonl", "the context"),
        ("ctxkit show chat.jsonl --last 2x --oneline", "the last two exchanges, one line per message"),
        ("ctxkit show chat.jsonl --explain", "why each message is in or out"),
        ("ctxkit show chat.jsonl --at 3", "as it was after op 3"),
    ),
    "status": (
        ("ctxkit status chat.jsonl --context-limit 128000", "how full the context is"),
        ("ctxkit status chat.jsonl --model gpt-4o", "how many tokens for that model, of its limit"),
        ("ctxkit status chat.jsonl --short", "one line, for a prompt"),
        ("ctxkit status session.jsonl --files", "the files that calls read and wrote"),
        ("ctxkit status chat.jsonl --by agent", "each agent: tokens of its limit, messages, window, texts"),
        ("ctxkit status chat.jsonl --plot", "tokens over the session"),
        ("ctxkit status session.jsonl --svg >session.svg", "the same as a picture"),
        ("ctxkit status chat.jsonl --fail-over 100k", "exit 1 if there are more, for CI"),
        ("ctxkit status . --fail-over 100k", "a line for each log below this folder; which ones have more"),
        ("ctxkit status chat.jsonl --no-tokens --json", "for programs, without counting"),
    ),
    "log": (
        ("ctxkit log chat.jsonl", "the ops"),
        ("ctxkit log chat.jsonl --limit 5", "the newest five"),
        ("ctxkit log chat.jsonl --tokens", "with the size of the context before and after each"),
        ("ctxkit log chat.jsonl --json", "the same for programs"),
    ),
    "diff": (
        ("ctxkit diff chat.jsonl 1 now", "what changed since op 1"),
        ("ctxkit diff chat.jsonl before-refactor", "since a mark"),
        ("ctxkit diff chat.jsonl", "what the newest op changed"),
        ("ctxkit diff chat.jsonl session.jsonl --stat", "two logs, of any formats, in figures"),
    ),
    "why": (("ctxkit why chat.jsonl 6", "what keeps message 6 out"),),
    "recall": (
        ("ctxkit recall chat.jsonl LIFETIME", "every hit, and whether it is in the context"),
        ("ctxkit recall session.jsonl chat.jsonl -i lifetime", "in two logs, ignoring case"),
        ("ctxkit recall . --regex 'LIFE ?TIME'", "in all logs below this folder"),
        ("ctxkit recall chat.jsonl 6-7 --apply", "bring messages back"),
    ),
    "sessions": (
        ("ctxkit sessions .", "those below this folder"),
        ("ctxkit sessions . --grep LIFETIME --limit 5", "the five newest that contain it"),
        ("ctxkit sessions . --format claude-code --json", "for programs"),
        ("ctxkit sessions . -0 | xargs -0 -n 1 ctxkit status --no-tokens", "a command for each"),
        ("ctxkit sessions --archive ~/sessions --dry-run", "what copies of the agents' sessions would be made"),
    ),
    "sql": (
        ("ctxkit sql session.jsonl 'select role, count(*) from messages group by role'", "a question"),
        ("ctxkit sql . largest_results", "a ready one, about all logs below this folder"),
        ("ctxkit sql chat.jsonl 'from messages where n > 9' --json", "for programs"),
        ("ctxkit sql . 'from requests' --parquet requests.parquet", "the rows as a file for others"),
        ("ctxkit sql --views", "the ready questions, with their SQL"),
        ("ctxkit sql --schema messages", "what a message has"),
    ),
    "cat": (("ctxkit cat session.jsonl | ctxkit show -", "a session with its sidecar's ops, in a pipe"),),
    "init": (
        ("ctxkit init new.jsonl", "an empty log"),
        ("ctxkit init bot.jsonl --profile bot", "with a 24h window"),
        (
            "ctxkit init chat.jsonl --agent sam --agent-config gardener.toml",
            "an agent with texts and limits from a file",
        ),
    ),
    "add": (
        ("ctxkit add chat.jsonl 'Use a parameter, not a global.'", "a user message"),
        ("echo 'Done.' | ctxkit add chat.jsonl --role assistant", "an answer from a pipe"),
        ("CTXKIT_MODEL=gpt-4o ctxkit add chat.jsonl 'And then?' --enforce", "exit 1 if the context is full"),
    ),
    "mark": (
        ("ctxkit mark chat.jsonl before-refactor", "a labelled mark"),
        ("ctxkit mark - <chat.jsonl >marked.jsonl", "in a pipe"),
    ),
    "rewind": (
        ("ctxkit rewind chat.jsonl", "to the newest mark"),
        ("ctxkit rewind chat.jsonl before-refactor", "to a labelled one"),
    ),
    "forget": (
        ("ctxkit forget chat.jsonl 3-4 8", "by number"),
        ("ctxkit forget chat.jsonl --tool read_file --yes", "all calls of a tool and their results"),
        ("ctxkit forget chat.jsonl --about 'lifetime of a session' --yes", "by topic"),
        ("ctxkit cat session.jsonl | ctxkit forget - --tool Read --until 20m | ctxkit show -", "older ones, in a pipe"),
    ),
    "remember": (("ctxkit remember chat.jsonl --last 2x --yes", "only the last two exchanges"),),
    "clear": (("ctxkit clear chat.jsonl", "start afresh"),),
    "compact": (
        ("ctxkit compact chat.jsonl --target 60%", "replace old messages by a summary"),
        ("ctxkit compact session.jsonl --target 40% --keep-steps 3", "the newest three steps stay as they are"),
        ("ctxkit compact session.jsonl 4-15", "only these, in 30 % of their tokens"),
        ("ctxkit compact . --target 40% --yes", "all logs below this folder; without --yes a preview"),
        (
            "ctxkit compact session.jsonl --strategy mask --keep-last 0 --target 10%",
            "only tool results",
        ),
        ("echo 'We fixed it.' | ctxkit compact session.jsonl --summary-file -", "a summary from any program"),
    ),
    "trim": (
        ("ctxkit trim chat.jsonl --max-tokens 100k", "shorten old results, then drop the oldest exchanges"),
        ("ctxkit trim chat.jsonl --max-tokens 100k --dry-run", "what would be cut, with the reasons"),
        ("ctxkit trim session.jsonl --max-tokens 2k --exclude-tool Read", "results of this tool stay whole"),
        ("ctxkit trim session.jsonl --max-tokens 2k --clear-inputs", "also shorten arguments of old calls"),
        ("ctxkit trim session.jsonl --max-tokens 2k --strategy episodes", "finished work leaves first"),
    ),
    "edit": (
        ("ctxkit edit chat.jsonl", "in your editor"),
        ("ctxkit edit chat.jsonl --last 2x", "only the last two exchanges; the others stay"),
        ("ctxkit edit chat.jsonl --plain", "as a conversation: [TIME] NAME: TEXT"),
        ("EDITOR='sed -i s/global/parameter/' ctxkit edit chat.jsonl", "a program instead of an editor"),
        (
            "ctxkit edit chat.jsonl --print | sed 's/^#%% 7 /%% 7 /' | ctxkit edit chat.jsonl --draft -",
            "bring message 7 back by removing its #",
        ),
    ),
    "protect": (
        ("ctxkit protect chat.jsonl 5", "keep message 5"),
        ("ctxkit protect chat.jsonl 13 --off", "message 13 no longer"),
    ),
    "window": (
        ("ctxkit window chat.jsonl", "show the window"),
        ("ctxkit window chat.jsonl 24h", "set it"),
        ("ctxkit window chat.jsonl add 8h", "widen it"),
        ("ctxkit window chat.jsonl off", "no window"),
    ),
    "undo": (
        ("ctxkit undo chat.jsonl", "the newest op"),
        ("ctxkit undo chat.jsonl 2", "op 2"),
        ("ctxkit undo chat.jsonl --redo", "the op that was undone last is in force again"),
    ),
    "export": (
        ("ctxkit export chat.jsonl --to openai", "a request body"),
        ("ctxkit export session.jsonl --to anthropic >request.json", "of a Claude Code session"),
        ("ctxkit export chat.jsonl session.jsonl --to openai -o requests", "a file for each in a folder"),
    ),
    "resume": (
        ("ctxkit resume session.jsonl --cwd .", "a session that ran in another folder, from now on in this one"),
        ("ctxkit resume session.jsonl --map /home/ada/shop=. --dry-run", "what that would write, and where"),
        ("ctxkit resume chat.jsonl --to codex", "go on in Codex with a log of another program"),
    ),
    "snapshot": (
        ("ctxkit snapshot chat.jsonl -m 'before the refactor'", "the id is printed"),
        ("ctxkit snapshot session.jsonl --tag release --all", "also what the window hides"),
        ("echo 'We fixed it.' | ctxkit snapshot chat.jsonl --summary-file -", "a summary from any program"),
        ("ctxkit cat session.jsonl | ctxkit snapshot - >kept.json", "the file itself"),
        ("ctxkit snapshot chat.jsonl --light -m 'tests are green'", "a small reference to the context, a checkpoint"),
        ("ctxkit snapshot session.jsonl --auto", "a light one, only if code was written or an error solved"),
        ("ctxkit snapshot session.jsonl --auto --tag milestone", "also if a milestone is mentioned"),
    ),
    "restore": (
        ("ctxkit restore chat.jsonl latest", "put back what is not visible of the newest one"),
        ("ctxkit restore chat.jsonl 'before the refactor' --replace", "exactly that context"),
        ("ctxkit restore chat.jsonl latest --summary", "only its summary"),
        ("ctxkit snapshot - <session.jsonl | ctxkit restore chat.jsonl - --yes", "from one log into another"),
    ),
    "snapshots": (
        ("ctxkit snapshots chat.jsonl", "newest first"),
        ("ctxkit snapshots chat.jsonl --rm latest", "delete the newest"),
        ("ctxkit snapshots chat.jsonl --prune --dry-run", "which checkpoints are too old"),
    ),
    "memory": (
        ("ctxkit memory add 'tests run on Python 3.11 only' --kind decision", "a note by hand"),
        ("ctxkit memory search 'python version'", "in the notes and in all sessions of this project"),
        ("ctxkit memory supersede 1 'tests run on 3.12 too'", "a new note for an outdated one"),
        ("ctxkit memory extract chat.jsonl session.jsonl", "notes by rules; without a name of all sessions here"),
        ("ctxkit memory", "the notes of this project"),
        ("ctxkit memory show --max-tokens 500", "as text for a prompt; export --memory puts it into a request"),
    ),
    "fleet": (
        ("ctxkit fleet ingest . -o dataset", "the logs below this folder as Parquet; again: only what changed"),
        (
            "ctxkit fleet ingest . -o d -q && ctxkit fleet sql --dataset d tools_by_use",
            "a question about all of them",
        ),
        ("ctxkit fleet map status . -o rows.jsonl", "the status of every log below this folder, a JSON line each"),
        ("ctxkit fleet map compact chat.jsonl session.jsonl --set target=30%", "what a compact would do"),
        ("ctxkit fleet ingest chat.jsonl session.jsonl -o dataset --redact", "without the secrets in them"),
        ("ctxkit fleet ingest . -o dataset --dry-run", "what would be read"),
    ),
    "check": (
        ("ctxkit check chat.jsonl", "exit 0 if nothing is wrong"),
        ("find . -name '*.jsonl' -print0 | ctxkit check --files-from -", "a line for each, the worst exit code of all"),
    ),
    "scan": (
        ("ctxkit scan chat.jsonl", "exit 1 if a secret is in it, or beside it"),
        ("ctxkit scan . --json", "of each log below this folder, for a program"),
        ("ctxkit export chat.jsonl --to openai | ctxkit scan -", "any text; here a request before it is sent"),
        ("ctxkit scan --kinds | head -n 12", "the kinds of secrets that are found"),
    ),
    "recover": (
        ("ctxkit recover chat.jsonl", "what a crash left; on a terminal it asks where to go on from"),
        ("ctxkit recover chat.jsonl --yes", "back to the newest point that is whole, for scripts"),
        ("ctxkit recover chat.jsonl --point exchange", "to the end of the last complete exchange"),
        ("ctxkit recover - --yes <session.jsonl | ctxkit export - --to anthropic >request.json", "in a pipe"),
        ("ctxkit recover chat.jsonl -o clean.jsonl", "a clean copy; report each range that is left out"),
    ),
    "watch": (
        ("ctxkit watch --once chat.jsonl session.jsonl", "one round: a line for each log"),
        ("ctxkit watch --once --json chat.jsonl", "the same for a program"),
        ("ctxkit watch --once --compact --checkpoint chat.jsonl", "and what is due: a compaction, a checkpoint"),
    ),
    "metrics": (
        ("ctxkit metrics . | grep damage", "damaged places in the sessions below this folder"),
        ("ctxkit metrics --textfile ctxkit.prom", "for node_exporter's textfile collector"),
        ("ctxkit metrics . --events events.jsonl", "also refused compactions, of runs with --log-format json"),
    ),
    "tool": (
        ("ctxkit tool schema --for anthropic", "for the tools of a request"),
        (
            """echo '{"action":"preview","mode":"forget","criteria":"cat"}' | ctxkit tool call chat.jsonl -""",
            "what a model calls first",
        ),
        (
            """echo '{"action":"apply","mode":"forget","message_ids":["6-7"]}' | ctxkit tool call chat.jsonl -""",
            "what it calls then",
        ),
        ("ctxkit tool cleanup chat.jsonl", "once the model has answered"),
    ),
    "config": (
        ("ctxkit config chat.jsonl", "all settings, and where each comes from"),
        ("ctxkit config chat.jsonl set window.default 8h", "in the log's own config"),
        ("ctxkit config chat.jsonl get window.default", "one value, for a script"),
        ("ctxkit config --user set now wall", "for all logs of yours"),
    ),
    "help": (
        ("ctxkit help show", "the help of one command"),
        ("ctxkit help window | head -n 12", "only the examples"),
        ("ctxkit help --completion zsh >_ctxkit", "for a folder of $fpath"),
        ('eval "$(ctxkit help --completion bash)"', "for this session"),
    ),
}

"""All options of all commands, each declared once. A name has one meaning in every command.

A command names its flags as parameters (`keep_last` for --keep-last), alone or in the bundles of `cli/options.py`.
Their spellings, help and values are declared here. Help, man pages, completion and docs/flags.md are made from this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ctxkit.cli import amounts
from ctxkit.core.strategies import EPISODES, NAMES, OF_TRIM, OLDEST, RULES


class Flag(NamedTuple):
    """A flag. `names`: its spellings, the short one first, `--on/--off` for one that can be denied.

    `metavar`: the name of its value; None for a switch, CHOICES if the command's enum lists the values. `on`: command
    -> the help there, if it is more exact than `help`; `values`: command -> the metavar there, if it is another one.
    `least`: the minimum of a whole number; `bare`: the value if no number follows. `writes`: the value names a file or
    folder of this machine that is written, so a URL is refused. `read`: converts the typed text to the command's value;
    it raises Usage.
    """

    names: str
    help: str
    metavar: str | None = None
    on: Mapping[str, str] = {}
    values: Mapping[str, str] = {}
    least: int | None = None
    bare: str = ""
    writes: bool = False
    read: Callable[[str], Any] | None = None

    @property
    def name(self) -> str:
        """The long name."""
        return self.names.rpartition(" ")[2].partition("/")[0]

    @property
    def key(self) -> str:
        """The name of the parameter."""
        return self.name[2:].replace("-", "_")


CHOICES = "|"
"""The metavar of a flag whose values are listed by the type of the parameter."""

FLAGS: dict[str, Flag] = {
    flag.key: flag
    for flag in (
        Flag(
            "--about",
            "Messages about this topic, ranked by their words.",
            "TEXT",
            on={"memory": "For show: notes with words of this topic, the best first."},
        ),
        Flag(
            "--about-model",
            "Ask this model which messages are about it (openai/gpt-...).",
            "NAME",
            on={"tool": "For call: ask this model which messages its criteria mean."},
        ),
        Flag("--accept", "Accept the breaks of the chain of ops; no more warnings."),
        Flag("--after-mark", "Messages after the newest mark with this label.", "LABEL"),
        Flag(
            "--agent",
            "Messages of this agent, or of no agent.",
            "NAME",
            on={
                "add": "The agent of the message.",
                "clear": "Only this agent's messages, in all its threads; marks stay.",
                "init": "The agent to set up by --agent-config.",
                "snapshot": "Only what this agent sees; default: all agents.",
                "snapshots": "Only those with messages of this agent.",
                "window": "Only the window of this agent.",
            },
        ),
        Flag(
            "--agent-config",
            "A file with the keys of the agent that --agent names (system, docs, model, ...), or its name.",
            "FILE",
        ),
        Flag(
            "--all",
            "Also what is left out otherwise.",
            on={
                "memory": "For list: also notes that are superseded or undone.",
                "sessions": "Also the files of subagents.",
                "snapshot": "Also what the window hides.",
                "watch": "All sessions of all agents.",
            },
        ),
        Flag("--append", "Put what comes back at the end, not at its places."),
        Flag("--apply", "Bring back the hits, or the messages N...."),
        Flag(
            "--archive",
            "Copy the agents' sessions into DIR, because agents delete old ones; copies only what is new.",
            "DIR",
            writes=True,
            on={"watch": "Copy all sessions of the agents into DIR, now and every day: only what is new."},
        ),
        Flag("--at", "The state right after this op (number or id; 3^: before op 3), or now.", "OP"),
        Flag("--auto", "A light one, only if code was written or an error solved, once per exchange."),
        Flag("--before-mark", "Messages before the newest mark with this label.", "LABEL"),
        Flag("--by", "Token shares by role, tool, server (MCP), exchange or file; the context of each agent.", "KIND"),
        Flag("--checkpoint", "A checkpoint of each finished exchange that is worth one."),
        Flag("--clear-at-least", "If anything is cut, save at least N tokens (20k).", "N"),
        Flag("--clear-inputs", "Also shorten long arguments of old calls."),
        Flag("--compact", "Compact logs that are full, in the background, by rules."),
        Flag("--completion", "Print the script with which this shell completes what is typed.", CHOICES),
        Flag("--context-limit", "The context limit in tokens (128000, 128k).", "N"),
        Flag("--conversation", "Which conversation of a file that holds many.", "N"),
        Flag("--create", "Create the log if it is missing (0600)."),
        Flag("--csv", "Print CSV."),
        Flag(
            "--cwd",
            "The folder to continue in, if the old one has moved.",
            "DIR",
            on={"memory": "A folder of the project (default: the working folder)."},
        ),
        Flag("--dataset", "The dataset, a folder or URL.", "DATASET"),
        Flag("--draft", "Apply this edited draft; - for standard input.", "FILE"),
        Flag("-n --dry-run", "Change nothing; print what would be done."),
        Flag("--enforce", "Exit 1 if a user's message does not fit into limit minus reserve."),
        Flag("--engine", "Where it runs: here, or by Ray (RAY_ADDRESS names a cluster).", CHOICES),
        Flag("--events", "A file with lines of --log-format json; can be repeated.", "FILE"),
        Flag("--every", "With --archive: how often (1d; 6h).", "TIME"),
        Flag("--exclude-tool", "Do not shorten results of this tool; can be repeated.", "NAME"),
        Flag("--explain", "Why each message is in or out, and the parameters used."),
        Flag("--fail-at", "Exit 1 if P % of the limit or more are used.", "P%"),
        Flag("--fail-on", "The least that ends with exit 1: damage, or a note too.", CHOICES),
        Flag("--fail-over", "Exit 1 if more than N tokens are used.", "N"),
        Flag("--fast", "Ask the model compact.fast_model."),
        Flag("--files", "The files that tools read and wrote, with their tokens."),
        Flag(
            "--files-from", "Also the logs and folders that this file lists, a line each; - for standard input.", "FILE"
        ),
        Flag("--fit-images/--no-fit-images", "Leave out the oldest images over the provider's limits."),
        Flag("--focus", "Lines with these words count more in the summary.", "TEXT"),
        Flag("--fold", "Write files anew that have rows which count no more, for programs that read all files."),
        Flag("-f --follow", "Keep printing what is added to the log, until Ctrl-C."),
        Flag("--for", "For schema: the provider.", "openai|anthropic|gemini"),
        Flag(
            "--force",
            "Also if the command would do nothing, or refuse.",
            on={
                "add": "Also a text that is empty.",
                "compact": "Also if the context is not full, or the target is reached.",
                "protect": "With --off: also the system preamble.",
                "resume": "Write a new session even if nothing was changed.",
            },
        ),
        Flag("--force-replay", "Also apply ops that do not fit the log."),
        Flag("--format", "Sessions of this format or provider.", "FORMAT"),
        Flag("--from", "Read the log as this format.", "FORMAT"),
        Flag("--from-start", "The pager opens at the first message."),
        Flag("--full", "Print texts in full, not only their beginnings; summaries too."),
        Flag(
            "--grep",
            "Messages whose text matches.",
            "REGEX",
            on={"sessions": "Sessions whose title, path or any message matches."},
        ),
        Flag("--head", "Compare with a head that an earlier check printed.", "HEAD"),
        Flag(
            "--here",
            "Only the agents' sessions of this folder's project.",
            on={"recall": "Search the agents' sessions of this folder's project."},
        ),
        Flag("--id", "The id of the new session (default: a random one).", "UUID"),
        Flag("-i --ignore-case", "Ignore case."),
        Flag("--images", "Only the images; their messages stay."),
        Flag("--include-protected", "Also protected messages."),
        Flag("--invert", "All messages except the chosen ones."),
        Flag(
            "--jobs",
            "Work in N processes (default: as many as the work is worth).",
            "N",
            least=1,
            on={
                **dict.fromkeys(("compact", "forget", "trim", "undo"), "Work on N logs at once (default 1)."),
                "sessions": "Read N files at once, if they are not in the index yet (default 1).",
            },
        ),
        Flag("--json", "Print JSON on standard output."),
        Flag("--keep-id", "Keep the id of the session."),
        Flag(
            "--keep-last",
            "Keep the newest N exchanges as they are.",
            "N",
            least=0,
            on={"trim": "Keep the newest N exchanges while there is anything else to drop."},
        ),
        Flag("--keep-missing", "Keep the rows of sources that are gone."),
        Flag("--keep-protected", "Protected messages stay."),
        Flag("--keep-results", "Do not shorten the newest N results for their age.", "N", least=0),
        Flag("--keep-steps", "Keep the newest N steps as they are.", "N", least=0),
        Flag("--keep-summary", "Keep a model's summary, even if it contains what is forgotten."),
        Flag("--keep-thinking", "For a request: keep thinking that it may go without."),
        Flag("--kind", "The kind of the note, or of the notes to list.", CHOICES),
        Flag("--kinds", "List the kinds of secrets that are found."),
        Flag("--label", "A name for A in the output; twice: for A and for B.", "NAME"),
        Flag(
            "--larger-than",
            "Only parts larger than this, in tokens (5k) or bytes (2MB); their messages stay.",
            "SIZE",
        ),
        Flag("--largest", "The N largest messages (10).", "[N]", least=1, bare="10"),
        Flag("--last", "The newest N messages, exchanges (Nx) or steps (Ns).", "N[x|s]"),
        Flag("--ledger", "A folder that keeps what is done; the same call goes on from there.", "DIR", writes=True),
        Flag("--light", "A small reference to the context, not its messages: a checkpoint."),
        Flag(
            "--limit",
            "At most N rows (20, 1k).",
            "N",
            read=amounts.rows,
            on={
                "log": "At most N rows, the newest (20, 1k).",
                "memory": "For extract: only the newest N sessions.",
                "snapshots": "At most N rows (20, 1k; default 50).",
            },
        ),
        Flag("--log-format", "Warnings and errors as words, or as lines of JSON, without paths or texts.", "text|json"),
        Flag("--map", "Folders below OLD are below NEW now; can be repeated.", "OLD=NEW"),
        Flag(
            "--max-tokens",
            "The budget: tokens (128k), of the limit (30%), or off.",
            "N|P%",
            on={
                "memory": "For show: at most N tokens (1k; default 1000).",
                "trim": "The budget in tokens (128000, 128k), or of the limit (30%).",
            },
        ),
        Flag("--memory", "Also the notes of this folder's project, before the conversation."),
        Flag("-m --message", "A description, to find it by.", "TEXT"),
        Flag("--messages", "TEXT is JSON lines: one whole message per line."),
        Flag(
            "--model",
            "Count as for this model (default: the log's).",
            "NAME",
            on={"add": "The model that wrote the message."},
        ),
        Flag("--name", "The name of the speaker.", "NAME"),
        Flag("--no-assembly", "Only the log's messages: no system prompt, docs or thread status."),
        Flag("--no-fallback", "Exit 69 if the model gives no summary, instead of using rules."),
        Flag("--no-pager", "No pager (before the command)."),
        Flag(
            "--no-tokens", "Count no tokens, and so read no content.", on={"diff": "With --stat: do not count tokens."}
        ),
        Flag("--now", "What windows count from: last (newest message), wall, or a time.", "TIME"),
        Flag("-0 --null", "Print only paths, each followed by a NUL byte."),
        Flag("--off", "Remove the protection."),
        Flag("--once", "One round, then end: for cron."),
        Flag("--oneline", "One line per message."),
        Flag(
            "--only-context",
            "Only messages in the context.",
            on={"status": "With --files: only calls that are in the context."},
        ),
        Flag("--only-set", "Show only keys that are set somewhere."),
        Flag("--op-id", "The id of the op; an id that is in the log is not appended again.", "ID"),
        Flag(
            "-o --output",
            "A new file; - for standard output.",
            "FILE",
            writes=True,
            on={
                "export": "A new file, or a folder for files; - for standard output.",
                "recover": "Write a clean copy to this new file, and change nothing; - for standard output.",
                "fleet": "For ingest: the dataset, a folder or URL. For map and sql: a new file for the rows.",
                "sql": "A new file, of the form that its ending says (.csv .json .parquet .tsv); else lines with tabs.",
            },
        ),
        Flag("--overflow", "The provider's error message, for its figures; - for standard input.", "FILE"),
        Flag("--overhead", "Tokens of a request besides messages and tools (12k).", "N"),
        Flag("--own", "The log is yours: write to it itself, whatever program it seems to be of."),
        Flag("--parquet", "Write the rows as Parquet to this new file; - for standard output.", "FILE", writes=True),
        Flag("--part", "The sources of one of N runs side by side: 2/8.", "I/N"),
        Flag("--pick", "Choose one on the terminal, and print its path."),
        Flag("--plain", "The draft as a conversation: [TIME] NAME: TEXT."),
        Flag("--planning", "The conversation about the forgetting; it leaves too.", "N,..."),
        Flag("--plot", "Draw the tokens over the session, with marks and compactions."),
        Flag("--point", "Go back to this point: step, exchange, question or checkpoint.", "POINT"),
        Flag("--print", "Print the draft; do not edit."),
        Flag("--profile", "session, persona (8h window) or bot (24h window).", "NAME"),
        Flag("--prune", "Delete checkpoints that are too old or too many (see config)."),
        Flag("--query", "A file with the query; - for standard input.", "FILE"),
        Flag(
            "-q --quiet",
            "No reports on standard error.",
            on={
                "check": "Print nothing; the exit code tells.",
                "scan": "Print nothing; the exit code tells.",
                "status": "No reports; with --fail-at or --fail-over also no status: only what fails is printed.",
            },
        ),
        Flag("--recount/--no-recount", "Correct the token figures in replies (default: yes)."),
        Flag(
            "--redact",
            "Leave out what looks like a secret; the log keeps it.",
            on={
                "fleet": "Take what looks like a secret out of all texts, but no values of variables; "
                "for the whole dataset, from the start.",
            },
        ),
        Flag("--redo", "Undo the newest undo, whatever was written since."),
        Flag("--regex", "TEXT is a regular expression; ^ and $ are ends of lines."),
        Flag("--replace", "The context becomes exactly the snapshot; everything else leaves it."),
        Flag("--retries", "With Ray: start a task again so often after its process died (default 2).", "N", least=0),
        Flag("--rm", "Delete the named ones."),
        Flag(
            "--role",
            "With this role, or one of several (user,assistant); human: what a person typed.",
            "ROLE",
            on={"add": "The role of the message: user, assistant, system, tool, … A speaker is --name."},
        ),
        Flag("--run", "Start the agent instead of printing the line."),
        Flag("--schema", "List the columns of the tables, or of those that are named."),
        Flag("--scout", "With a table for Inspect Scout; for the whole dataset, from the start."),
        Flag("--serve", "Answer scrapes on this address until Ctrl-C (127.0.0.1:9108).", "[HOST:]PORT"),
        Flag("--set", "An option of the function, or a key of the config; may be repeated.", "KEY=VALUE"),
        Flag("--short", "One line, for a shell prompt or Claude Code's statusLine."),
        Flag("--sidecar", "The sidecar folder, if not beside the log.", "DIR", writes=True),
        Flag(
            "--since",
            "Not older than a time, or a duration (2h; yesterday: 24h) before the newest message (see --now).",
            "TIME",
            on={"sessions": "Not older than a time, or a duration (2d; yesterday: 24h) before the clock's now."},
        ),
        Flag("--skip-unknown", "Ignore ops that this ctxkit does not know."),
        Flag("--sort", "What comes first: the newest, the largest file, or the fullest context.", CHOICES),
        Flag("--source", "Messages that the note comes from (@#12); can be repeated.", "SESSION#N"),
        Flag("--stat", "Only the number of messages and tokens."),
        Flag("--state", "Only hits in this state: in, out, forgotten, rewound, ...", "STATE,..."),
        Flag("--status", "Text after the status of the threads; - for standard input.", "FILE"),
        Flag(
            "--strategy",
            f"How messages are summarized ({RULES}).",
            "|".join(NAMES),
            on={"trim": f"What leaves first: the oldest ({OLDEST}), or what is done with ({EPISODES})."},
            values={"trim": "|".join(OF_TRIM)},
        ),
        Flag("--strict", "Exit 78 if config of the log's folder would be ignored."),
        Flag("--summary", "Only the snapshot's summary, as one message."),
        Flag("--summary-file", "A file with the summary; - for standard input.", "FILE"),
        Flag("--summary-model", "Ask this model (openai/gpt-...) or program (cmd:claude -p) for the summary.", "NAME"),
        Flag("--svg", "Print the plot as an SVG picture."),
        Flag("--table", "Print a table also in a pipe, cut to COLUMNS or 80."),
        Flag("--tag", "A tag; can be repeated. With --auto: also after a decision or milestone in the text.", "TAG"),
        Flag("--target", "How many tokens all messages may have afterwards: a share (30%) or a number (40k).", "P%|N"),
        Flag("--task-cpus", "With Ray: processors of a task, also a part of one (default 1).", "N"),
        Flag("--task-memory", "With Ray: memory of a task (500MB).", "SIZE"),
        Flag("-e --text", "The text to find; then all words are logs. Repeat for alternatives.", "TEXT"),
        Flag("--textfile", "Write to this file, replaced as a whole, for node_exporter.", "FILE", writes=True),
        Flag("--thread", "Messages of this thread, or of no thread.", "NAME", on={"add": "The thread of the message."}),
        Flag("--timeout", "Stop a query that takes longer (30s; off; 5m unless it is said).", "TIME"),
        Flag("--to", "The format.", CHOICES, on={"resume": "The agent (default: the log's own)."}),
        Flag("--tokens", "Tokens of the context before and after each op."),
        Flag("--tool", "Calls of these tools, and their results.", "GLOB"),
        Flag("--tools", "A row per tool call: tool, target, status, tokens, seconds."),
        Flag("--tools-file", "JSON of the tool definitions that are sent too; - for standard input.", "FILE"),
        Flag(
            "--top",
            "At most N messages for --about (default 20).",
            "N",
            least=1,
            on={"memory": "For search: at most N hits (default 20)."},
        ),
        Flag("--ts", "The time of the message, ISO (default: now).", "TIME"),
        Flag("-U --unified", "Show N unchanged messages around differences.", "N", least=0),
        Flag(
            "--until",
            "Not newer than a time, or a duration before the newest message (see --now).",
            "TIME",
            on={"sessions": "Not newer than a time, or a duration before now."},
        ),
        Flag("--user", "Your own config, for all logs; give no LOG."),
        Flag("--utc", "Print times in UTC, and read typed times as UTC."),
        Flag("--verify", "With --archive: read all copies, and name those that are damaged."),
        Flag("-V --version", "Print the version."),
        Flag("--views", "List the ready questions with their SQL, or those that are named."),
        Flag("--with-instructions", "Also export the instructions of the log's own program."),
        Flag("--with-tools", "For anthropic: add the recorded system prompt and tools."),
        Flag("--words", "Only what people and the model wrote, in full: no thinking, calls or results."),
        Flag(
            "-y --yes",
            "Do not ask: yes to every question.",
            on={"recover": "Do not ask: go back to the newest complete point."},
        ),
    )
}
"""Name of the parameter -> the flag, in alphabetical order."""


def with_bare(words: list[str]) -> list[str]:
    """The words of a command, with the value of each option that stands without its number (`Flag.bare`)."""
    last = words.index("--") if "--" in words else len(words)
    bare = {flag.name: flag.bare for flag in FLAGS.values() if flag.bare}
    found: list[str] = []
    for i, word in enumerate(words):
        found.append(word)
        if i < last and word in bare and not (i + 1 < last and words[i + 1].lstrip("-").isdigit()):
            found.append(bare[word])
    return found

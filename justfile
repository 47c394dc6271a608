# Everything a contributor needs. Each line also works typed by hand, in the environment of docs/contributing.md.

default: check test

# Run the tests, e.g. `just test tests/core -k rewind`
test *args:
    python -m pytest {{args}}

# Lint, format and types
check:
    python -m ruff check .
    python -m ruff format --check .
    python -m mypy

# Rewrite what is generated or run in docs/; read `git diff` before committing
docs *args:
    python -m pytest -q tests/docs -m "full or not full" --update-docs {{args}}

# The pictures of terminals in docs/pictures; `--all DIR`: every screen, at 80 and 40 columns, dark and light
pictures *args:
    python -m tests.docs.pictures {{args}}

# Start-up, speed and memory; prints the table for docs/performance.md
bench *args:
    python -m tests.bench {{args}}

# How well tokens are told, against what providers counted of recorded sessions, and what a forget leaves (--forget: that
# alone); --write puts it into docs/tokens.md
bench-tokens *args:
    python -m tests.bench.usage {{args}}

# `status` on large logs, cold beside tiktoken and warm beside a read; --write: the table in docs/performance.md
bench-status *args:
    python -m tests.bench.status {{args}}

# A trim to half the tokens, beside tiktoken, langchain_core and litellm; --write puts it into docs/performance.md
bench-trim *args:
    python -m tests.bench.trim {{args}}

# How much of what was needed later a compacted context still has, on real sessions; `--only baselines` and others: --help
bench-compact *args:
    python -m tests.bench.compaction {{args}}

# What a reader needs to go on, in condensed contexts of real sessions, by scorers of their own: docs/compaction.md
bench-readers *args:
    python -m tests.bench.compaction.readers {{args}}

# Lines of the state at a summary's head beside the right answer, read from real sessions by hand; `--only rules` takes some
bench-header *args:
    python -m tests.bench.compaction.header_lines {{args}}

# What `extract` loses without a group of its rules; --backward: group after group, while the limits hold
bench-ablation *args:
    python -m tests.bench.compaction.ablation {{args}}

# `compact --strategy llm` on the sessions of the readers' questions, with the stories in tests/bench/compaction/stories
bench-stories *args:
    python -m tests.bench.compaction.stories {{args}}

# Questions answered after chains of 1, 5 and 20 compactions of a log that grows; --write: docs/compaction.md
bench-chains *args:
    python -m tests.bench.compaction.chains {{args}}

# Eight made sessions, summarized by this version and by an older checkout (CTXKIT_BEFORE=DIR); --write: their page
bench-examples *args:
    python -m tests.bench.compaction.examples {{args}}

# 300 random kills of a loop of commands with a live writer, each recovered and judged; prints the rate
crashes *args:
    python -m tests.killing {{args}}

# How many of the first messages that `--about` takes are about the topic, on real sessions; --write: docs/selecting.md
bench-about *args:
    python -m tests.bench.topics {{args}}

# How much evidence `recall --about` finds across sessions, beside rank_bm25 (pip install rank-bm25); takes LoCoMo's file
bench-locomo *args:
    python -m tests.bench.locomo {{args}}

# A simulated agent of 10,000 turns with a rolling context, and 40 turns beside other ways (half an hour); --turns 500,
# --peers PYTHON that has langchain-core, --write: docs/performance.md
bench-rolling *args:
    python -m tests.bench.rolling {{args}}

# Thousands of compacts, and of undos in any order; --write puts it into docs/performance.md
bench-many *args:
    python -m tests.bench.many {{args}}

# Commands over 1,000 logs with --jobs 1 and 2, one broken, equal output; --write puts it into docs/performance.md
bench-many-logs *args:
    python -m tests.bench.many_logs {{args}}

# `sessions` and `recall` over 1,000 and 10,000 files, cold and with the index; --write puts it into docs/performance.md
bench-sessions *args:
    python -m tests.bench.sessions {{args}}

# A list of 1,000 large snapshots; snapshot, restore and edit of large contexts; --write puts it into docs/performance.md
bench-snapshots *args:
    python -m tests.bench.snapshots {{args}}

# Many logs: ingest of 1 to 10,000 generated sessions by one process, two and Ray (--ray PYTHON), beside DuckDB over the
# raw files, agentsview and session-recall (--peers DIR); --write: docs/performance.md
bench-fleet *args:
    python -m tests.bench.fleet {{args}}

# 1,000 generated sessions of six formats, ingested, asked ten questions, drawn (a minute or two); needs the extra `fleet`
fleet-demo *args:
    python -m tests.bench.fleet_demo {{args}}

# One function over many logs by a process, by two and by Ray, with equal rows; --ray PYTHON that has the extra
# `fleet-ray`, --write: docs/fleet.md
bench-map *args:
    python -m tests.bench.mapping {{args}}

# The twelve ready questions of `sql` over datasets of 1 to 10,000 generated sessions; --write puts it into docs/fleet.md
bench-sql *args:
    python -m tests.bench.sql {{args}}

# Peak memory of what writes a whole context, of logs of 1 GB (an hour); --size 100, --write: docs/performance.md
bench-memory *args:
    python -m tests.bench.memory {{args}}

# What a checkpoint costs `clear` and `compact` of a long session, and `snapshot --auto`; --write puts it into docs/performance.md
bench-checkpoints *args:
    python -m tests.bench.checkpoints {{args}}

# How soon `watch` tells of an append, and a day in fast motion (minutes); --part, --write: docs/performance.md
bench-watch *args:
    python -m tests.bench.watch {{args}}

# Tokens of 130,000 texts as tiktoken itself counts them, to the last one (minutes); --write: the table in docs/tokens.md
equal *args:
    python -m tests.bench.equal {{args}}

# The wheel works with its runtime dependencies alone, in an empty environment
smoke:
    sh tests/smoke.sh

# What runs on every push: tests, lint and types in a fresh copy and a fresh environment
ci:
    bash .ci/run

# That, and what is too large for every push: real agents, more kills, the wheel; an hour at most, installs what it needs
full:
    bash .ci/full

# Kills, failing calls and many processes at once, whole and on a disk (more than an hour)
torture:
    python -m pytest -q -n auto --dist=worksteal -m torture --whole
    python -m tests.kills
    python -m tests.killing
    python -m tests.chains

# The tests for every few minutes: no program is started, no real session is read, no example is drawn
quick *args:
    python -m pytest -q -m quick {{args}}

# The real agents as judges: each resumes session files, and what it sends is compared with ctxkit's context (Linux, npm)
resume *args:
    python -m tests.resume {{args}}

# Programs that keep chat messages: what their own loaders say of a session before and after each command (PyPI)
loaders *args:
    python -m tests.loaders {{args}}

# Which agents read a history that stands in two files: Codex as ctxkit does, the others none (Linux, npm)
two-files *args:
    python -m tests.resume.parents {{args}}

# The real agents go on with sessions that `ctxkit resume` wrote, by the line that it printed (Linux, npm)
continue *args:
    python -m tests.resume.continued {{args}}

# Sessions after ops, read again by ctxkit instead of the agent: all files, every op, single messages (minutes)
reread *args:
    python -m tests.resume.rereading {{args}}

# Random ops on whole real sessions, 2,000 sequences per format unless `--count` says otherwise (an hour at most)
whole *args:
    python -m tests.whole {{args}}

# Thinking that is bound or demanded, on all real sessions: random ops, all ways out, validators (minutes)
thinking *args:
    python -m tests.bound {{args}}

# Trims of all real files at many budgets, 40 of each file unless `--budgets` says otherwise (minutes)
trims *args:
    python -m tests.trims {{args}}

# Edits of all real files through the draft of `edit`, every kind of change (minutes)
edits *args:
    python -m tests.edits {{args}}

# Structural fuzzing: every format, ops, what stands beside a log, 10 s each unless `--seconds` says otherwise
fuzz *args:
    python -m tests.fuzz --seconds 10 {{args}}

# The searches of a night, one after the other: all tests in full, fuzzing 60 s a format, kills, random ops, words (hours)
night:
    python -m pytest -q -n auto --whole
    python -m tests.fuzz --seconds 60
    python -m tests.kills
    python -m tests.killing
    python -m tests.lossless
    python -m tests.bound
    python -m tests.edits
    python -m tests.trims
    python -m tests.compacts
    python -m tests.whole

# 24 faults put into the code one after the other: a test must fail for each (minutes); `--list` names them, NAME: one alone
mutants *args:
    python -m tests.mutants {{args}}

# Compacts of all real files by every strategy at four targets, an hour at most; --only, --strategy, --target: a part
compacts *args:
    python -m tests.compacts {{args}}

# What `compact --target` leaves of all real files at every target from 1 to 99 % (hours); --only, --step, --largest: a part
targets *args:
    python -m tests.targets {{args}}

# snapshot, restore, edit, salvage, checkpoints and their pruning, killed and failing at every call that they make (minutes)
kills *args:
    python -m tests.kills {{args}}

# Every sequence of ops on the real files with pictures, through every writer: what is sent is inside the limits
images:
    python -m tests.pictures

# No word is lost between a log and what is sent unsaid: all real files, targets and random ops (minutes); --count: more
lossless *args:
    python -m tests.lossless {{args}}

# The commands that `why` names bring every hidden message back: random ops on real sessions, run for real; --count: more
remedies *args:
    python -m tests.remedies {{args}}

# Changes of op lines tried and seen, older logs read as before, all pairs of commands between two clients (minutes)
chain:
    python -m tests.chains

# Secrets: of how many of each kind's canaries none stays, false alarms among real ids, speed (minutes); --peer PYTHON
# that has detect-secrets
secrets *args:
    python -m tests.bench.secrets {{args}}

# Debian's Prometheus scrapes `ctxkit metrics`, and answers every query of the dashboard; `--types`: Grafana's own types
metrics *args:
    python -m tests.metrics {{args}}

# Where a command lives, from its arguments to its tests: `just where rewind`
where *names:
    python -m tests.where {{names}}

"""Reference pages that are written from the code: config keys, the Python API, the modules, the formats."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

import ctxkit
from ctxkit import Fitted, Log, Prompt, Selection, Summarized
from ctxkit.api.fit import Options
from ctxkit.api.summarize import SummaryRequest
from ctxkit.core.strategies import NAMES
from ctxkit.formats import registry
from ctxkit.formats.base import SessionFormat
from ctxkit.formats.chat_programs import PROGRAMS
from ctxkit.formats.targets import TARGETS
from ctxkit.settings.keys import AGENTS, INSTEAD, KEYS, PREFIX, Key
from ctxkit.tokens.reasoning import GATEWAY, RULES, UNKNOWN
from tests.docs.pages import DOCS, ROOT, plain, settle, with_part
from tests.programs import ALL
from tests.test_architecture import FLOORS

PACKAGE = ROOT / "ctxkit"
TRUST = {
    "always": "",
    "never": "not from the log's folder",
    "inside": "from the log's folder only paths inside it",
    "local": "`llm` not from the log's folder",
}


@cache
def used() -> set[str]:
    """The keys that something outside of the config reads."""
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.parent.name != "store"
    )
    found = set(re.findall(r"config\[\"([\w.]+)\"\]", source))
    found |= {AGENTS + word for word in re.findall(r"own\[\"(\w+)\"\]", source)}
    found |= {AGENTS + "window"} if "config.windows()" in source else set()
    found |= {AGENTS + word for word, general in INSTEAD.items() if general in found}
    return found | ({"format"} if re.search(r"(loaded\[0\]|load\(.*\))\[\"format\"\]", source) else set())


def key_row(key: Key) -> str:
    """One key: name, variable, default, meaning."""
    variable = PREFIX + key.name.upper().replace(".", "_") if "NAME" not in key.name else ""
    default = "" if key.default is None else f"`{_toml(key.default)}`"
    words = [key.comment.replace("|", "/")]
    if key.choices:
        words.append("one of " + ", ".join(f"`{choice}`" for choice in key.choices))
    asks = "" if key.unsaid or key.trust == "never" else "from the log's folder once accepted"
    words += [word for word in (TRUST[key.trust], asks, "" if key.name in used() else "not used yet") if word]
    return f"| `{key.name}` | {f'`{variable}`' if variable else ''} | {default} | {'; '.join(words)} |"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def test_keys_without_effect() -> None:
    """A key that nothing reads is declared so, and whoever sets it is warned; no other key is."""
    silent = {key.name for key in KEYS if key.acts} - used()
    assert silent <= {"compact.auto"} and not {key.name for key in KEYS if not key.acts} & used()


def test_config(update: bool) -> None:
    """Every key of the table stands on the page, with its variable, default and trust."""
    page = DOCS / "config.md"
    rows = ["| key | environment | default | meaning |", "|---|---|---|---|", *map(key_row, KEYS)]
    settle(page, with_part(page.read_text(encoding="utf-8"), "keys", "\n".join(rows)), update=update)


def methods() -> str:
    """The public methods of `Log`, in the order in which they are declared, the newest class first."""
    found: dict[str, str] = {}
    for kind in Log.__mro__:
        for name, member in vars(kind).items():
            if kind is object or name.startswith("_") or name in found or not member.__doc__:
                continue
            call = getattr(member, "__func__", member)
            if inspect.isfunction(call):
                found[name] = f"| `{name}{_signature(call)}` | {_first(call.__doc__)} |"
            elif isinstance(member, property):
                found[name] = f"| `{name}` | {_first(member.__doc__)} |"
    return "\n".join(["| method | does |", "|---|---|", *found.values()])


def _signature(function: Any, skip: int = 1) -> str:
    names = []
    starred = False
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            names.append("*")
            starred = True
        prefix = {parameter.VAR_KEYWORD: "**", parameter.VAR_POSITIONAL: "*"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else "=…"
        names.append(f"{prefix}{parameter.name}{default}")
    return f"({', '.join(names)})"


def _first(text: str | None) -> str:
    return plain(text).split("\n\n")[0].replace("\n", " ").replace("|", "/")


def criteria() -> str:
    """The fields of a selection."""
    words = {
        "last": '`"5"` messages, `"2x"` exchanges, `"3s"` steps',
        "role": "with this role",
        "tool": "calls of tools so named (a glob), and their results",
        "grep": "whose text matches a regular expression",
        "since": "not older, in seconds since 1970",
        "until": "not newer, in seconds since 1970",
        "agent": "of this agent, or of none",
        "thread": "of this thread, or of none",
        "after_mark": "after the newest mark so labelled",
        "before_mark": "before it",
        "about": "about this, by the words they have: above half of the best score",
        "top": "of these at most so many (20)",
        "model": "about it as this model says: [by meaning](selecting.md#by-meaning)",
        "invert": "the others",
    }
    assert set(words) == {field.name for field in msgspec.structs.fields(Selection)} - {"ids"}
    return "\n".join(["| keyword | chooses |", "|---|---|", *(f"| `{key}` | {text} |" for key, text in words.items())])


def functions() -> str:
    """The public functions, with what they take by name and what they raise."""
    rows = []
    for name in ctxkit.__all__:
        found = getattr(ctxkit, name)
        if inspect.isfunction(found):
            text = " ".join(plain(found.__doc__).split()).replace("|", "/")
            rows.append(f"| `{name}{_signature(found, skip=0)}` | {text} |")
    return "\n".join(["| function | does |", "|---|---|", *rows])


OPTIONS = {
    "model": "whose tokens and limit count; left out: what the config says, else what the messages name",
    "counter": "as the config's key: `auto`, `o200k_base`, `cl100k_base`, `pieces`; or your own: an object with "
    "`count(text)`, or a function",
    "system": "a system prompt apart: text, Anthropic's blocks, Gemini's `{\"parts\": …}`; it counts, and stays",
    "tools": "tool definitions that are sent too, as a provider takes them; they count, and stay ([tokens](tokens.md))",
    "overhead": "further tokens of a request that no message shows",
    "keep": "newest exchanges that go after all older ones (`trim.keep_last`)",
    "keep_results": "newest results that are not shortened for their age (`trim.keep_results`)",
    "exclude_tools": "tools whose results are not shortened (beside `trim.exclude_tools`)",
    "clear_at_least": "tokens to save at least, once anything is cut",
    "clear_inputs": "the arguments of old calls are shortened too (`trim.clear_inputs`)",
    "summarize": "your own function, which writes a summary of what leaves: called with chat messages, it returns a "
    "text, or awaits one; in `summarize_context` in place of a strategy",
}
FIELDS = {
    "messages": "what fits, in the form that came in",
    "truncated": "whether anything was cut",
    "dropped_count": "how many of the messages are gone",
    "stubbed_count": "how many say less (a result, arguments), in a copy; ids and all other keys stay",
    "token_count": "tokens of what fits, by `counter`; `tokens_before`: of what came in",
    "within_budget": "true: what does not fit raises `DoesNotFit`",
    "budget": "tokens that may be there: `limit` less `reserve`, or what was asked for (then these are None)",
    "counter": "the name of what counted ([tokens](tokens.md))",
    "cached_tokens_lost": "tokens from the first cut on, a summary too: the next request sends them uncached",
    "summary": "the text that your function wrote of what was dropped; else None",
    "cuts": "`message` (its index, from 0; of a log its number), `action` (`dropped`, `stubbed`) and `reason` of each",
}


PROMPT = {
    "body": "the request, as the provider `to` takes it; of `chat`: `messages` alone",
    "messages": "those in it (of `body` itself)",
    "token_count": "tokens of all that is sent, by `counter`",
    "within_budget": "whether that is at most `budget`, `limit` less `reserve`; None where no limit is known",
    "truncated": "whether anything was cut; `dropped_count`, `stubbed_count`: of how many messages",
    "notes": "what was left out or added, in words: what `export` says on standard error",
}


TELLING = {
    "target": 'percent of the tokens of all: `30`, `"30%"` (`compact.target`)',
    "budget": "the same in tokens",
    "keep_last": "newest exchanges that stay; left out, with `keep_steps`: as many as their share has room for",
    "keep_steps": "newest steps that stay",
    "strategy": "`extract` (the words themselves, by rules), `truncate` (a line) or `llm` (a model's, above those)",
    "summary_model": "who is asked, as litellm names models; left out: `compact.model`. Named, it asks for `llm`",
    "fast": "True: `compact.fast_model` is asked",
    "fallback": "False: `ModelFailed` is raised where the model fails; left out: rules take over",
    "hooks": "`ctxkit.Hooks`: `tell` is called with a line before anything is sent, `step` with the request "
    "that is waited for, and of how many",
}
SUMMARIZED = {
    "messages": "what stays, the very dicts that came in, and the summary in their form where the first one stood",
    "summary": "its text; None where nothing could be told in fewer words",
    "original_tokens": "tokens of all that came in, by `counter`; `token_count`: of what is there now; "
    "`summary_tokens`: of the summary",
    "target": "tokens that the messages were asked to have",
    "replaced": "which messages it tells: indices from 0; of a log the numbers",
    "strategy": "by which it was made",
    "fallback": "where a model was to be asked and failed: which, and why; else None",
}


def options() -> str:
    """The keywords that the functions share, and the fields of what they give back."""
    assert set(OPTIONS) == Options.__optional_keys__
    assert set(TELLING) == SummaryRequest.__optional_keys__ - Options.__optional_keys__
    for kind, fields in ((Fitted, FIELDS), (Prompt, PROMPT), (Summarized, SUMMARIZED)):
        told = " ".join(f"`{name}`" for name in fields) + " ".join(fields.values())
        assert all(f"`{field.name}`" in told for field in msgspec.structs.fields(kind))
    return "\n".join([
        "| keyword | is |", "|---|---|", *(f"| `{name}=` | {text} |" for name, text in OPTIONS.items()), "",
        "| field of `Fitted` | is |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in FIELDS.items()), "",
        "| field of `Prompt` | is |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in PROMPT.items()), "",
        "| keyword of `summarize_context` | is |", "|---|---|",
        *(f"| `{name}=` | {text} |" for name, text in TELLING.items()), "",
        "| field of `Summarized` | is |", "|---|---|",
        *(f"| `{name}` | {text} |" for name, text in SUMMARIZED.items()),
    ])  # fmt: skip


def test_api(update: bool) -> None:
    """Every function, option, result, public method of `Log` and criterion stands on the page."""
    page = DOCS / "api.md"
    text = with_part(page.read_text(encoding="utf-8"), "criteria", criteria())
    text = with_part(with_part(text, "functions", functions()), "options", options())
    settle(page, with_part(text, "methods", methods()), update=update)


def rolling() -> str:
    """The methods of `RollingContext`, and the fields of what they return."""
    rows = ["| method | does |", "|---|---|"]
    base = ctxkit.RollingContext
    for name in ("__init__", *(name for kind in (base.__mro__[1], base) for name in vars(kind) if name[0] != "_")):
        found = inspect.getattr_static(base, name)
        found = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
        called = "RollingContext" if name == "__init__" else name
        text = " ".join(plain(found.__doc__).split()).replace("|", "/")
        is_property = isinstance(inspect.getattr_static(base, name), property)
        rows.append(f"| `{called}{'' if is_property else _signature(found)}` | {text} |")
    rows += ["", "| result | is |", "|---|---|"]
    for kind in (
        ctxkit.ContextCut,
        ctxkit.RollingStatus,
        ctxkit.ContextFile,
        ctxkit.RecalledMessage,
        ctxkit.ShownMessage,
    ):
        rows.append(f"| `{kind.__name__}` | {' '.join(plain(kind.__doc__).split())} |")
    return "\n".join(rows)


def test_rolling(update: bool) -> None:
    """Every public method of a rolling context stands on its page."""
    page = DOCS / "rolling.md"
    settle(page, with_part(page.read_text(encoding="utf-8"), "rolling", rolling()), update=update)


DOCSTRING = re.compile(r'"""[^"\\]*"""')


def docstring(path: Path) -> str:
    """The docstring of a module; the rest of it is not parsed, where it begins with a plain one."""
    text = path.read_text(encoding="utf-8")
    plain_one = DOCSTRING.match(text)
    return str(ast.get_docstring(ast.parse(plain_one[0] if plain_one else text)))


def modules() -> str:
    """Every module with the first line of its docstring."""
    rows = []
    for path in sorted(PACKAGE.rglob("*.py"), key=lambda path: (len(path.relative_to(PACKAGE).parts) > 1, path)):
        text = docstring(path)
        inside = path.relative_to(PACKAGE).as_posix()
        if not inside.endswith("__init__.py") or inside == "__init__.py":
            rows.append(f"| `{inside}` | {text.splitlines()[0].replace('|', '/')} |")
    return "\n".join(["| module | is |", "|---|---|", *rows])


def test_modules(update: bool) -> None:
    """Every module stands on its page."""
    page = DOCS / "modules.md"
    settle(page, with_part(page.read_text(encoding="utf-8"), "modules", modules()), update=update)


def rooms() -> str:
    """Every room with the first line of its docstring, the highest floor first."""
    lines = ["| floor | room | what lives there |", "|---|---|---|"]
    for height, names in reversed(list(enumerate(FLOORS))):
        for name in names:
            path = PACKAGE / name / "__init__.py"
            path = path if path.exists() else PACKAGE / f"{name}.py"
            lines.append(f"| {height} | `{name}` | {docstring(path).splitlines()[0]} |")
    return "\n".join(lines)


def test_rooms(update: bool) -> None:
    """Every room stands on the page of the architecture."""
    page = DOCS / "architecture.md"
    settle(page, with_part(page.read_text(encoding="utf-8"), "rooms", rooms()), update=update)


def formats() -> str:
    """Every format that is read, what of it is kept, and whether it is written too."""
    rows = []
    for name in registry.names():
        entry = registry.FORMATS[name]
        found = registry.by_name(name) if name not in registry.FAMILIES else None
        owner = "as of these" if found is None else "ctxkit" if found.native else "another program"
        written = "as a session" if isinstance(found, SessionFormat) else "as a request" if name in TARGETS else "no"
        written = "yes" if found is not None and found.native else written
        rows.append(f"| `{name}` | {entry.what} | {owner} | {written} | {entry.kept} | {entry.lost} |")
    head = ["| format | what it is | owner | written | kept when read | not kept |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows])


def homes() -> str:
    """Where agents keep their sessions."""
    assert set(registry.HOMES) <= set(registry.DETECTED)
    rows = []
    for name, one in registry.HOMES.items():
        beside = f", `{one.retired}` beside it" if one.retired else ""
        variable = f"`${one.variable}/{one.inside}`" if one.variable else ""
        rows.append(f"| `{name}` | `~/{one.folder}/{one.inside}`{beside} | {variable} |")
    return "\n".join(["| format | folder | where the variable is set |", "|---|---|---|", *rows])


NEEDS = {
    "demanded": "always: 400 without it beside a call",
    "wanted": "always: the provider asks for it",
    "taken": "with `--keep-thinking`",
    "": "never: there is no field for it",
}
BOUND = {
    "refused": "the request is refused (400): left out",
    "dropped": "dropped by the provider, unseen: left out",
    "": "sent",
}


def reasoning_rules() -> str:
    """The table of what providers do with reasoning that is sent back (`tokens/reasoning.py`)."""
    rows = ["| models | in a chat completion | it goes there | behind a change | source |", "|---|---|---|---|---|"]
    for one in (*RULES, GATEWAY, UNKNOWN):
        fields = ", ".join(f"`{field}`" for field in one.fields) if one is not UNKNOWN else "the log's own key"
        need = NEEDS[one.need if one.fields else ""]
        if one.need and not one.fields:
            need += "; signatures of calls in both forms" + ": 400 without them" * (one.need == "demanded")
        if one is UNKNOWN:
            need = "where the log has it under such a key, and that is said"
        elif one is GATEWAY:
            need = "beside the rule of the model: what the log has"
        behind = BOUND[one.bound] + "; that of earlier turns does not count" * one.turn
        source = f"[{urlsplit(one.source).hostname}]({one.source})" if one.source else ""
        rows.append(f"| {one.whose} | {fields} | {need} | {behind} | {source} |")
    return "\n".join(rows)


def chat_programs() -> str:
    """The table of programs that keep chat messages: what only their files have, and where that is known from."""
    rows = ["| program | rows with | beside it | below | known from |", "|---|---|---|---|---|"]
    for one in PROGRAMS:
        keys = [" and ".join(f"`{key}`" for key in sorted(keys)) for keys in one.keys]
        roles = [f"the role `{role}`" for role in sorted(one.roles)]
        below = [f"`${variable}/{inside}`".replace("/`", "`") for variable, _, inside in one.folders if variable]
        below += [f"`~/{default}/{inside}`" for _, default, inside in one.folders if default]
        beside = f"`{one.companion}` with `{one.says}`, beside {', '.join(f'`{name}`' for name in one.files)}"
        cells = (one.name, ", ".join(keys + roles), beside, ", ".join(below), one.source)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def refused() -> str:
    """The programs of `fixtures/programs` whose files are refused."""
    rows = [f"| {one.name} | {one.shape} | {one.said[0]} |" for one in ALL.values() if not one.format]
    return "\n".join(["| program | shape | the error says |", "|---|---|---|", *rows])


def test_formats(update: bool) -> None:
    """Every format of the registry stands in the table, and every program whose files are refused in another."""
    assert set(registry.FORMATS) == set(registry.names())
    page = DOCS / "formats.md"
    text = with_part(page.read_text(encoding="utf-8"), "formats", formats())
    text = with_part(text, "refused", refused())
    text = with_part(text, "chat-programs", chat_programs())
    text = with_part(text, "reasoning", reasoning_rules())
    settle(page, with_part(text, "homes", homes()), update=update)


def test_every_strategy_is_described() -> None:
    """The page of compact has a row for each."""
    page = (DOCS / "commands" / "compact.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"\n| `{name}`" not in page] == []

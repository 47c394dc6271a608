"""What each format cannot hold, declared once; and a context as atoms, from which what is left of it follows.

The declaration says in data what docs/formats.md says in words ("What a request can hold", "From another format each
message becomes a row"). It shares no code with the writers.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import canonical

SYSTEM = ("system", "developer")
ASSISTANT = ("assistant", "ai", "model", "gpt", "bot")


class Loss(NamedTuple):
    """What becomes of each kind of thing on the way into a format; what is not named here is kept as it is."""

    system: str
    """Of words of the system: "kept", "user", "lead", "apart" (kept at the start, in one or not; later the user's)."""
    thinking: str
    """"out", "words" (kept where it has words), "own" (kept where this format wrote it), "fields" (kept where it stands
    beside a message's content), "gemini", "signed", "kept".
    """
    errors: bool
    """Whether the flag of a failed result stays."""
    blank: bool
    """Whether words that are nothing but white space stay."""
    own_pictures: bool
    """Whether pictures of the assistant stay."""
    result_pictures: str
    """Of pictures in results: "kept", "named", or "unfailed" (named in failed ones only)."""
    links: str
    """Of pictures that are links: "kept", "https", "out" or "named"."""
    unfit: str
    """Of pictures that are no jpeg, png, gif or webp: "kept", "out" or "named"."""
    others: frozenset[str]
    """Kinds of other parts of the user that stay; all others are left out."""
    result_others: str
    """Of other parts in results: "kept", "named", "out"."""
    result_kinds: frozenset[str] = frozenset()
    """Kinds of these that stay all the same."""
    own_kinds: frozenset[str] = frozenset()
    """Kinds of other parts that stay, whoever they are of: those that this format made itself."""
    names: bool = False
    """Whether the name of a speaker stays."""
    documents: str = ""
    """What kind documents become, if not kept as such."""
    in_order: bool = False
    """Whether results stand in the order of their calls, their words in one, then their pictures."""


DOCUMENTS = frozenset({"document", "search_result"})
EVERYTHING = frozenset({"*"})
OPENAI = frozenset({"compaction", "web_search_call", "image_generation_call"})
RESPONSES = OPENAI | {
    "file_search_call", "code_interpreter_call", "mcp_list_tools", "mcp_call", "mcp_approval_request",
    "mcp_approval_response", "item_reference",
}  # fmt: skip
LOSSES = {
    "claude-code": Loss("user", "out", True, True, False, "kept", "https", "out", DOCUMENTS, "out", DOCUMENTS),
    "codex": Loss(
        "kept", "own", False, True, False, "kept", "kept", "named", frozenset({"file"}), "named", own_kinds=OPENAI
    ),
    "pi": Loss("user", "words", True, True, False, "kept", "out", "out", frozenset(), "named"),
    "chat": Loss("kept", "kept", True, True, True, "kept", "kept", "kept", EVERYTHING, "kept", EVERYTHING, names=True),
    "openai": Loss(
        "kept", "fields", False, True, False, "named", "kept", "named", frozenset({"file"}), "named", names=True
    ),
    "anthropic": Loss(
        "lead", "signed", True, False, False, "unfailed", "https", "named", DOCUMENTS, "out",
        DOCUMENTS | {"tool_reference"}, frozenset({"server_tool_use", "web_search_tool_result"}),
    ),
    "responses": Loss(
        "kept", "own", False, True, False, "kept", "kept", "named", frozenset({"file"}), "named",
        own_kinds=RESPONSES,
    ),
    "gemini": Loss(
        "apart", "gemini", True, False, False, "kept", "kept", "named", frozenset({"file"}), "named",
        documents="file", in_order=True,
    ),
}  # fmt: skip
FIELDS = {"reasoning_content", "reasoning", "reasoning_details"}
"""Keys beside a chat message's content that hold thinking."""
FILES = ("file", "input_file", "inlineData")
"""A file of the user's, as Chat Completions, Responses and Gemini have it."""
TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
STARTS = (rb"\xff\xd8\xff", rb"\x89PNG\r\n\x1a\n", rb"GIF8[79]a", rb"RIFF....WEBP")
"""How the bytes of each begin."""

MADE_UP = ("(no content)", "No response requested.")
"""Words that a request has in the place of none."""

Atom = tuple[Any, ...]


def atoms(contents: Iterable[Content], *, loosely: bool = False) -> list[Atom]:
    """A context as a list of things that can be lost one by one; where messages end is not told.

    Calls are numbered as they come, so that a result names the call that it answers, whatever ids are. `loosely`: white
    space at the ends of words, and in results, does not count.
    """
    found: list[Atom] = []
    calls: dict[str, int] = {}
    made = 0
    for content in contents:
        said_by = side(content)
        for part in sorted(content.parts, key=lambda part: not isinstance(part, Result)):
            match part:
                case Call(id=identity, name=name, arguments=arguments):
                    made += 1
                    calls[identity] = made
                    found.append(("call", made, name, canonical(unwrapped(arguments))))
                case Result(id=identity, content=inner, is_error=failed):
                    parts = [Text(inner)] if isinstance(inner, str) else inner
                    held = tuple(_plain(one, "user", loosely) for one in parts if one != Text(""))
                    if loosely:  # nor where their lines end
                        held = tuple(
                            ("text", *one[1:2], " ".join(one[2].split())) if one[0] == "text" else one for one in held
                        )
                    found.append(("result", calls.get(identity, 0), failed, held))
                case _ if part != Text(""):
                    atom = _plain(part, said_by, loosely)
                    if not loosely or atom[0] != "text" or atom[2] not in MADE_UP:
                        found.append(atom)
    return found


def in_fields(contents: Iterable[Content]) -> list[Content]:
    """The contents as a chat completion has their thinking: beside the content of a message, in one; not alone."""
    found = []
    for content in contents:
        thoughts = [part for part in content.parts if isinstance(part, Thinking) and FIELDS & part.raw.keys()]
        rest: list[Part] = [part for part in content.parts if part not in thoughts]
        said = any(isinstance(part, Call) or (isinstance(part, Text) and part.text) for part in rest)
        if thoughts and said:
            rest = [Thinking("\n\n".join(part.text for part in thoughts), thoughts[0].raw), *rest]
        found.append(Content(content.role, rest, content.name, content.rows))
    return found


def told(listed: Iterable[Atom]) -> list[Atom]:
    """The atoms without where plain thinking stands."""
    return [(*one[:2], "thinking", one[3]) if one[0] == "thinking" and one[2] == "beside" else one for one in listed]


def _plain(part: Part, said_by: str, loosely: bool) -> Atom:
    match part:
        case Text(text=words):
            return ("text", said_by, words.strip() if loosely else words)
        case Image(media_type=kind, data=data, url=url):
            return ("image", said_by, fits(kind, data) if data else "", data or url)
        case Thinking(text=words, raw=raw):
            openai = raw.get("type") == "reasoning" and isinstance(raw.get("summary"), list)
            own = "reasoning" if openai else "gemini" if raw.get("thought") is True else "thinking"
            own = "beside" if FIELDS & raw.keys() else own
            return ("thinking", words, own, raw.get("signature") or raw.get("thinkingSignature") or raw.get("data"))
        case Other(kind=kind, raw=raw):
            found = ("other", said_by, "file" if kind in FILES else kind)
            return (*found, raw.get("tool_name")) if kind == "tool_reference" else found
    return ("odd", said_by, type(part).__name__)


def fits(kind: str, data: str) -> str:
    """The type of a picture by its bytes, whatever it is called, or "unfit" for what no provider takes."""
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:
        return "unfit"
    return next((kind for kind, start in zip(TYPES, STARTS, strict=True) if re.match(start, raw, re.S)), "unfit")


def side(content: Content) -> str:
    """Whose words a content is: "system", "assistant" or "user"."""
    if any(isinstance(part, Call) for part in content.parts) or content.role in ASSISTANT:
        return "assistant"
    answers = any(isinstance(part, Result) for part in content.parts)
    return "system" if content.role in SYSTEM and not answers else "user"


def unwrapped(arguments: Any) -> Any:
    """Arguments that are no object stand in one, as `_raw`; none at all are an empty one."""
    if isinstance(arguments, dict):
        return arguments.get("_raw", arguments) if len(arguments) == 1 else arguments
    return {} if arguments is None or (isinstance(arguments, str) and not arguments.strip()) else arguments


def left(listed: Sequence[Atom], to: str, *, items: bool = False, as_sent: bool = False) -> list[Atom]:
    """What is left of a context that goes into format `to`, by the declaration.

    `items`: it is made of items of Responses, which go as they stand; `as_sent`: reasoning too, whatever follows.
    """
    loss = LOSSES[to]
    if items:
        loss = loss._replace(unfit="kept")
    found: list[Atom] = []
    lead = True
    for atom in listed:
        if atom[0] == "result":
            failed = atom[2] and loss.errors
            inner = tuple(one for raw in atom[3] for one in _held(raw, loss, failed))
            found.append(("result", atom[1], failed, inner))
            lead = False
            continue
        if atom[0] in ("text", "image", "other") and atom[1] == "system":
            to_user = loss.system == "user" or (loss.system in ("lead", "apart") and not lead)
            atom = (atom[0], "user" if to_user else "system", *atom[2:])
        else:
            lead = False
        found += _kept(atom, loss)
    found = _led(found) if loss.thinking == "own" and not as_sent else found
    found = _ordered(found) if loss.in_order else found
    return _in_one(found) if loss.system == "lead" else found


def _kept(atom: Atom, loss: Loss) -> list[Atom]:
    """The atom, what stands in its place, or nothing."""
    kind = atom[0]
    if kind == "text":
        return [atom] if loss.blank or atom[2].strip() else []
    if kind == "thinking":
        stays = {
            "kept": True, "out": False, "words": bool(atom[1]), "own": atom[2] == "reasoning", "signed": atom[3],
            "gemini": atom[2] == "gemini" and atom[1].strip(), "fields": atom[2] == "beside",
        }[loss.thinking]  # fmt: skip
        return [("thinking", atom[1], atom[2] if loss.thinking != "words" else "thinking", atom[3])] if stays else []
    if kind == "other":
        atom = (*atom[:2], loss.documents) if loss.documents and atom[2] == "document" else atom
        of_the_user = atom[1] == "user" and atom[2] in loss.others
        return [atom] if "*" in loss.others or of_the_user or atom[2] in loss.own_kinds else []
    if kind == "image":
        if atom[1] == "assistant" and not loss.own_pictures:
            return []
        return _instead(atom, _picture(atom, loss))
    return [atom]


def _picture(atom: Atom, loss: Loss) -> str:
    """What becomes of a picture where pictures may be."""
    if not atom[2] and not atom[3].startswith(("https://", "http://")):
        return loss.unfit
    if not atom[2]:
        far = loss.links == "https" and not atom[3].startswith("https")
        return "out" if far else "kept" if loss.links == "https" else loss.links
    return loss.unfit if atom[2] == "unfit" else "kept"


def _held(atom: Atom, loss: Loss, failed: bool) -> list[Atom]:
    """The same within a result."""
    if atom[0] == "text":
        return [atom]
    fate = loss.result_others
    if atom[0] == "image":
        named = loss.result_pictures == "named" or (loss.result_pictures == "unfailed" and failed)
        fate = "named" if named else _picture(atom, loss)
        fate = loss.result_others if fate == "out" else fate
    elif "*" in loss.result_kinds or atom[2] in loss.result_kinds:
        fate = "kept"
    return _instead(atom, fate)


def _instead(atom: Atom, fate: str) -> list[Atom]:
    if fate == "kept":
        return [atom]
    name = atom[2] if atom[0] == "other" else atom[0]
    name = f"tool found: {atom[3]}" if name == "tool_reference" else name
    return [("text", atom[1], f"[{name}]")] if fate == "named" else []


def _led(listed: list[Atom]) -> list[Atom]:
    """Without reasoning that nothing of the model follows on."""
    found: list[Atom] = []
    for atom in reversed(listed):
        after = found[-1] if found else ("result",)
        followed = after[0] in ("call", "thinking") or (after[0] in ("text", "other") and after[1] == "assistant")
        if atom[0] != "thinking" or followed:
            found.append(atom)
    return found[::-1]


def _in_one(listed: list[Atom]) -> list[Atom]:
    """The words of the system at the start as one text."""
    lead = list(takewhile(lambda atom: atom[:2] == ("text", "system"), listed))
    return [("text", "system", "\n\n".join(atom[2] for atom in lead))] * bool(lead) + listed[len(lead) :]


def _ordered(listed: list[Atom]) -> list[Atom]:
    """With the results of a step in the order of its calls, each with its words in one, then its pictures."""
    found: list[Atom] = []
    for atom in listed:
        if atom[0] != "result":
            found.append(atom)
            continue
        words = [one[2] for one in atom[3] if one[0] == "text"]
        rest = tuple(one for one in atom[3] if one[0] != "text")
        at = len(found)
        while at and found[at - 1][0] == "result" and found[at - 1][1] > atom[1]:
            at -= 1
        said = (("text", "user", " ".join(words)),) if "".join(words) else ()
        found.insert(at, (*atom[:3], said + rest))
    return found

"""What Gemini's generateContent refuses, from its public documentation. Shares no code with the writer.

Sources (ai.google.dev): "Generating content" (keys of the body, roles, one kind of data in a part), "Function calling"
(responses directly after their calls, as many, names and ids that match; names of functions), "Thought signatures"
(which calls need one, dummy ones, where they stand), "Image understanding", "File input methods" (media types). The
messages of the API are quoted beside what they are about.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from itertools import pairwise
from typing import Any

TOP = {
    "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig", "cachedContent",
    "serviceTier", "store",
}  # fmt: skip
"""The model is in the path of the request, not in the body."""
DATA = {"text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode", "codeExecutionResult"}
PLACES = {
    "user": {"text", "inlineData", "functionResponse", "fileData"},
    "model": {"text", "functionCall", "executableCode", "codeExecutionResult"},
}
MODEL_ONLY = {"thought", "thoughtSignature"}
IMAGES = {"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}
MEDIA = IMAGES | {
    "application/pdf", "text/plain", "audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac",
}  # fmt: skip
IN_RESPONSES = {"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"}
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
"""What both a declaration and a call may be named, in the API's stricter wording of the two."""
ID = re.compile(r"\S{1,256}")


def problems(body: dict[str, Any], *, model: str = "gemini-3-pro-preview", unasked: bool = False) -> list[str]:
    """Everything in the body that would be refused, a line each; none for a valid one.

    `unasked`: the user's next message is still to be added, so the contents may end with the model's words.
    """
    found = _json(body)
    found += [f"unknown key {key}" for key in body if key not in TOP]
    if "systemInstruction" in body:
        found += [f"systemInstruction: {text}" for text in _system(body["systemInstruction"])]
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        return [*found, "no contents"]
    for n, content in enumerate(contents):
        found += [f"{n}: {text}" for text in _content(content)]
    if found:
        return found
    found = _order(contents) + _pairs(contents)
    if contents[-1]["role"] == "model" and not unasked:
        found.append("multiturn requests end with a user role or a function response")
    return found + _signatures(contents, model)


def _json(body: dict[str, Any]) -> list[str]:
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except (ValueError, TypeError) as error:
        return [f"not JSON in UTF-8: {error}"]
    return []


def _system(system: Any) -> list[str]:
    """Text only."""
    if not isinstance(system, dict) or set(system) - {"role", "parts"} or not isinstance(system.get("parts"), list):
        return ["not a content"]
    if not system["parts"]:
        return ["no parts"]
    return [text for part in system["parts"] for text in _part(part, {"text"}, "system")]


def _content(content: Any) -> list[str]:
    if not isinstance(content, dict) or set(content) != {"role", "parts"}:
        return ["a content has role and parts and nothing else"]
    role, parts = content["role"], content["parts"]
    if role not in PLACES:
        return [f"role {role!r}: please use a valid role: user, model"]
    if not isinstance(parts, list) or not parts:
        return ["contents.parts must not be empty"]
    return [text for part in parts for text in _part(part, PLACES[role], role)]


def _part(part: Any, allowed: set[str], role: str) -> list[str]:
    if not isinstance(part, dict):
        return ["a part is not an object"]
    kinds = set(part) & DATA
    if len(kinds) != 1:
        return [f"required oneof field 'data' must have one initialized field: {sorted(kinds)}"]
    kind = kinds.pop()
    if kind not in allowed:
        return [f"{kind} cannot stand in a content of {role}"]
    found = [f"{kind} with unknown key {key}" for key in sorted(set(part) - {kind} - MODEL_ONLY)]
    if role != "model":
        found += [f"{key} in a content of {role}" for key in sorted(MODEL_ONLY & set(part))]
    if not isinstance(part.get("thought", True), bool):
        found.append("thought is not a boolean")
    if "thoughtSignature" in part and not _is_base64(part["thoughtSignature"]):
        found.append("thoughtSignature is not base64")
    value = part[kind]
    if kind == "text":
        if not isinstance(value, str) or not (value.strip() or "thoughtSignature" in part):
            found.append("empty text parameter")
        return found
    if not isinstance(value, dict):
        return [*found, f"{kind} is not an object"]
    return (
        found
        + {
            "inlineData": lambda: _blob(value, MEDIA),
            "fileData": lambda: _file(value),
            "functionCall": lambda: _function(value, {"name", "args"}, {"id"}, "args"),
            "functionResponse": lambda: _function(value, {"name", "response"}, {"id", "parts"}, "response"),
        }.get(kind, list)()
    )


def _function(value: dict[str, Any], must: set[str], may: set[str], body: str) -> list[str]:
    found = [f"{body}: without {key}" for key in sorted(must - set(value))]
    found += [f"{body}: unknown name {key}" for key in sorted(set(value) - must - may)]
    if not isinstance(value.get("name"), str) or not NAME.fullmatch(value["name"]):
        found.append(f"invalid function name {value.get('name')!r}")
    if not isinstance(value.get(body), dict):
        found.append(f"{body} is not an object (a Struct)")
    if "id" in value and not (isinstance(value["id"], str) and ID.fullmatch(value["id"])):
        found.append(f"id {value['id']!r}")
    if "parts" in value:
        parts = value["parts"]
        if not isinstance(parts, list) or not parts:
            found.append("parts of a response are empty")
        for part in parts if isinstance(parts, list) else ():
            if not isinstance(part, dict) or set(part) != {"inlineData"}:
                found.append("a part of a response that is not inlineData")
            else:
                found += _blob(part["inlineData"], IN_RESPONSES)
    return found


def _blob(value: Any, media: set[str]) -> list[str]:
    if not isinstance(value, dict) or set(value) - {"displayName"} != {"mimeType", "data"}:
        return ["inlineData without mimeType and data"]
    if value["mimeType"] not in media:
        return [f"unsupported MIME type {value['mimeType']!r}"]
    return [] if value["data"] and _is_base64(value["data"]) else ["inlineData is not base64"]


def _file(value: dict[str, Any]) -> list[str]:
    if set(value) != {"fileUri", "mimeType"} or value["mimeType"] not in MEDIA:
        return ["fileData without a fileUri and a supported mimeType"]
    return [] if re.fullmatch(r"(https?|gs)://\S+", str(value["fileUri"])) else ["fileUri"]


def _is_base64(value: Any) -> bool:
    """A `bytes` field in JSON: both alphabets are read."""
    if not isinstance(value, str) or not value:
        return False
    plain = value.replace("-", "+").replace("_", "/")
    try:
        base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _named(content: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return [part[key] for part in content["parts"] if key in part]


def _order(contents: list[dict[str, Any]]) -> list[str]:
    """Alternation; only the user's words may follow the responses, which stand alone in their content."""
    found = []
    if contents[0]["role"] != "user" or _named(contents[0], "functionResponse"):
        found.append("0: the first content is not the user's words")
    for n, (content, then) in enumerate(pairwise(contents), start=1):
        answered = _named(content, "functionResponse") and not _named(then, "functionResponse")
        if content["role"] == then["role"] and not (then["role"] == "user" and answered):
            found.append(f"{n}: two contents of {then['role']} in a row")
    for n, content in enumerate(contents):
        responses = _named(content, "functionResponse")
        if responses and len(responses) != len(content["parts"]):
            found.append(f"{n}: something else beside the function responses")
    return found


def _pairs(contents: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    due: list[dict[str, Any]] = []
    for n, content in enumerate(contents):
        answers = _named(content, "functionResponse")
        if answers and not due:
            found.append(f"{n}: function response turn comes immediately after a function call turn")
        elif len(answers) != len(due):
            found.append(f"{n}: {len(answers)} function response parts for {len(due)} function call parts")
        for call, answer in zip(due, answers, strict=False):
            if call["name"] != answer["name"]:
                found.append(f"{n}: {answer['name']!r} answers {call['name']!r}")
            if call.get("id") != answer.get("id"):
                found.append(f"{n}: functionResponse.id does not match functionCall.id")
        due = _named(content, "functionCall")
        ids = [call["id"] for call in due if "id" in call]
        found += [f"{n}: id {one!r} is used again" for one in ids if one in seen or ids.count(one) > 1]
        seen.update(ids)
    return [*found, *("a function call that is not answered" for _ in due[:1])]


def _signatures(contents: list[dict[str, Any]], model: str) -> list[str]:
    """From Gemini 3 on: in the current turn, the first call of each step has its signature, or the dummy one."""
    if re.search(r"gemini-[12]\b", model):
        return []
    asked = [
        n for n, content in enumerate(contents) if content["role"] == "user" and not _named(content, "functionResponse")
    ]
    found = []
    for n in range(asked[-1] if asked else 0, len(contents)):
        calls = [part for part in contents[n]["parts"] if "functionCall" in part]
        if calls and "thoughtSignature" not in calls[0]:
            found.append(f"{n}: function call is missing a thought_signature")
    return found

"""Roles: whose words a message has for a model, by what its log calls them.

Pipeline: readers keep roles as written; writers ask `side`, and `with_known_role` replaces roles that no provider
knows. A message that is added needs a known one (`logfile/append.py`). Pure.
"""

from __future__ import annotations

from ctxkit.core.messages import Call, Content, Repairs, Result, Text

SIDES = {
    "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "gpt": "assistant", "bot": "assistant",
    "system": "system", "developer": "system",
    "tool": "tool", "function": "tool",
    "tool_use": "assistant", "tool_result": "tool",
}  # fmt: skip
"""What roles are called: by OpenAI, Anthropic, Google (model), LangChain (human, ai), ShareGPT (human, gpt), others.

The last two are names of parts, which bots give to whole messages: what a tool was asked, and what it said.
"""
UNSENT = frozenset({"exit"})
"""Roles of what no model is sent: "exit" is mini-swe-agent's note of how a run ended, behind its last request."""


def named(side: str) -> frozenset[str]:
    """All roles of a side."""
    return frozenset(role for role, of in SIDES.items() if of == side)


ASSISTANT = named("assistant")
SYSTEM = named("system")
RESULTS = frozenset({"tool", "function"})
"""Roles whose whole content is read as the answer to a call; "function" is OpenAI's older name. That of other spellings
is read as text, so that older ops still fit, and becomes a result where it goes to a model.
"""


def side(role: str) -> str:
    """Whose words a role stands for: user, assistant, system, tool; "" for a role that nobody else knows."""
    return SIDES.get(role) or SIDES.get(role.lower(), "")


def known(role: str) -> bool:
    """Whether some provider or program names a message so; letters may be large."""
    return bool(side(role)) or role in UNSENT


def nearest(role: str) -> str:
    """The known role that is spelled most like `role`; "" if none is near."""
    from difflib import get_close_matches  # only a mistake needs it

    return next(iter(get_close_matches(role.lower()[:40], list(SIDES), 1)), "")


def unknown(role: str) -> str:
    """What becomes of an unknown role, in words."""
    near = nearest(role)
    near = f" (nearest: {near})" if near else ""
    return (
        f"role {role[:40]!r} is unknown{near}: a model gets the message as the user's, the role as the speaker's name"
    )


def with_known_role(content: Content, repairs: Repairs) -> Content | None:
    """A message of a chat log in a role that models know; None for what is never sent.

    A role that nobody else knows becomes the user's, and its name that of the speaker. What a tool said is a result,
    however its role is spelled: without its call it is not sent.
    """
    found = side(content.role)
    if any(isinstance(part, Call | Result) for part in content.parts):
        return content
    if found == "tool":
        return Content("tool", [_result(content)], content.name, content.rows)
    if found:
        return content
    if content.role in UNSENT:
        repairs.leave_out(f"message of the role {content.role}, which its program does not send")
        return None
    repairs.leave_out(f"role {content.role[:40]} (it is the user's, and the name of the speaker)")
    return Content("user", content.parts, content.name or content.role, content.rows)


def _result(content: Content) -> Result:
    """The text of a message as the result of the call that its record names, if it names one."""
    call = content.rows[0].get("tool_call_id") if content.rows else None
    match content.parts:
        case [Text(text)]:
            return Result(call if isinstance(call, str) else "", text)
    return Result(call if isinstance(call, str) else "", content.parts)

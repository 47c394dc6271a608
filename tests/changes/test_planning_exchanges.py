"""Which exchanges at the end of a context are about forgetting: by words, by calls, and not more than that."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.changes.planning_exchanges import (
    ANSWER,
    ANSWERS,
    LONGEST,
    Asks,
    Exchange,
    Planning,
    asks,
    is_ours,
    planning,
    questions,
)
from tests.effort import examples

PLAINLY = [
    "/forget database schema discussions",
    "/remember the migration",
    "  /forget",
    "<command-message>forget is running…</command-message>\n<command-name>/forget</command-name>\n"
    "<command-args>the schema</command-args>",
    "Forget what we said of the schema.",
    "Please forget everything about the database.",
    "ok, now forget our last messages",
    "Can you forget the discussion about colours?",
    "Keep only what we said of buttons.",
    "Forget messages 12-20",
    "Remove the schema talk from this conversation.",
    "Drop all of that from your context, please. Then go on.",
    "Can you show me what you would forget, before you do it?",
    "Vergiss bitte, was wir über das Schema gesagt haben",
    "Vergiss alles über die Datenbank!",
    "Oublie tout ce qu'on a dit sur le schéma",
    "Olvida lo que hablamos del esquema",
    "Dimentica quello che abbiamo detto sullo schema",
    "Esqueça tudo sobre o banco de dados",
    "Vergeet wat we over het schema hebben gezegd",
    "Glöm allt om databasen",
    "Glem samtalen om databasen",
    "Unohda keskustelu tietokannasta",
    "Zapomnij, o czym rozmawialiśmy",
    "Zapomeň, co jsme říkali o schématu",
    "Забудь всё, что мы говорили о схеме",
    "Пожалуйста, забудьте разговор о схеме",
    "Забудь розмову про схему",
    "Unut, veritabanı hakkında konuştuklarımızı",
    "Ξέχασε τη συζήτηση για τη βάση",
    "Felejtsd el, amit az adatbázisról megbeszéltünk",
    "Hãy quên những gì đã nói về cơ sở dữ liệu",
    "Lupakan percakapan tentang skema",
    "请忘记关于数据库的讨论",
    "忘掉我們說過的架構",
    "スキーマの話を忘れてください",
    "스키마에 대한 대화는 잊어줘",
    "انس ما قلناه عن المخطط",
    "תשכח את השיחה על הסכמה",
    "स्कीमा की बातचीत भूल जाओ",
]
VERB = [
    "Forget Redis, use memcached.",
    "Vergiss Redis",
    "Oublie Redis",
    "忘记 Redis",
    "Забудь про Redis",
    "Redisを忘れて",
]
ORDINARY = [
    "I always forget how tar works",
    "Don't forget to add tests for the discussion page",
    "Do not forget what we said about tests.",
    "Never forget our conversation about security",
    "Forget it.",
    "forget me not is a flower",
    "Users forget their passwords; build the forgot-password page",
    "Why did you forget the messages table?",
    "You forgot the discussion module.",
    "Fix the bug in /forget",
    "/forgetful is a command of ours",
    "remove the discussion page from the site",
    "Remove the user from the history table",
    "Clear the cache, then take the button out of the form",
    "Show me what happens when you forget the password",
    "Show what we have",
    "Vergiss bitte nicht, die Diskussion zu testen",
    "vergiss nicht, was wir besprochen haben",
    "N'oublie pas ce qu'on a dit sur le schéma",
    "Oublie pas la conversation",
    "No olvides lo que hablamos",
    "Non dimenticare la discussione",
    "Não esqueça a conversa",
    "Vergeet niet wat we hebben besproken",
    "Не забудь обсудить схему",
    "Nie zapomnij o rozmowie",
    "不要忘记关于数据库的讨论",
    "スキーマの話を忘れないで",
    "대화를 잊지 마",
    "What did we say of the schema?",
    "Remember to run the tests",
    "",
    "Forget what we said. " + "x" * LONGEST,
]


@pytest.mark.parametrize("text", PLAINLY)
def test_plain_requests(text: str) -> None:
    """To forget what was said, in many languages, or by a command."""
    assert asks(text) is Asks.PLAINLY


@pytest.mark.parametrize("text", VERB)
def test_the_verb_alone(text: str) -> None:
    """It may be a decision as well."""
    assert asks(text) is Asks.VERB


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_messages(text: str) -> None:
    """They mention forgetting, or ask not to, or to remove something else."""
    assert asks(text) is Asks.NO


@settings(max_examples=examples(60))
@given(st.sampled_from(PLAINLY), st.sampled_from(["I said: ", "He wrote ", "> ", "the words ", "why "]))
def test_words_before_it(text: str, before: str) -> None:
    """A request that is told of, not made, is none; but for those that have the verb at their end."""
    assert asks(before + text) is Asks.NO or asks("x " + text) is Asks.PLAINLY


@settings(max_examples=examples(40))
@given(st.text(max_size=LONGEST + 9))
def test_any_words(text: str) -> None:
    """Words of any kind have an answer; those of one letter ask nothing."""
    assert asks(text) in Asks and isinstance(questions(text), bool)


def test_questions() -> None:
    """At the end of long words, anywhere in short ones."""
    assert questions("Shall I?") and questions("**Shall I?**  ") and questions("可以吗？") and questions("هل أنسى؟")
    assert questions("No. What's the capital of France?") and questions("so? tell me")
    assert not questions("Done.") and not questions(f"{'long ' * 40} so? Then I did it.")


def test_names_of_the_tool() -> None:
    """Alone, and as servers offer it."""
    assert all(map(is_ours, ["filter_context", "mcp__ctxkit__filter_context", "ctxkit.filter_context"]))
    assert not any(map(is_ours, ["filter_contexts", "my_filter_context", "Bash", "", "filter_context_old"]))


def one(
    first: int, asked: str, said: str = "", *, called: int = 0, worked: bool = False, size: int | None = None
) -> Exchange:
    """An exchange from message `first` on; `called`: the tool is called from there on."""
    count = size if size is not None else 1 + bool(said) + 2 * bool(called)
    names = [*range(first, first + count)]
    return Exchange(names, asked, said, [n for n in names if called and n >= called], worked)


def found(*exchanges: Exchange, calling: bool = False) -> list[int]:
    """The numbers that are proposed."""
    return [name for name in planning(reversed(exchanges), calling=calling).names if isinstance(name, int)]


TALK = one(1, "Column names in the database schema?", "snake_case")


def test_the_request_and_what_came_of_it() -> None:
    """From the request on, with what the user added and the model asked; what stands before it stays."""
    request = one(3, "/forget database schema discussions")
    assert found(TALK, request, one(4, "Show me what you'll forget first")) == [3, 4]
    assert found(TALK, request, one(4, "Show me what you'll forget first"), calling=True) == [3, 4]
    asked = one(3, "Forget what we said of it.", "41-44: shall I?", called=4)
    assert found(TALK, asked, one(7, "not 43")) == [3, 4, 5, 6, 7]
    assert found(TALK, asked, one(7, "yes", called=8)) == [*range(3, 10)]
    assert found(TALK, asked, one(7, "no", "As it was."), one(9, "Forget messages 1-2")) == [*range(3, 10)]


def test_a_call_makes_a_request_of_any_words() -> None:
    """Whatever the language: where it is executed, and where it stands in the exchange."""
    assert found(TALK, one(3, "kohl el schema")) == []
    assert found(TALK, one(3, "kohl el schema"), calling=True) == [3]
    assert found(TALK, one(3, "kohl el schema", called=4)) == [3, 4, 5]
    assert found(TALK, calling=True) == []  # it was answered: the request is not in the log


def test_a_verb_counts_before_a_call_alone() -> None:
    """And only where the user goes on with it: a decision that was answered is one."""
    assert found(TALK, one(3, "Forget Redis"), one(4, "show me first"), calling=True) == [3, 4]
    assert found(TALK, one(3, "Forget Redis"), one(4, "show me first")) == []
    assert found(TALK, one(3, "Forget Redis", "Which talk of it?"), one(5, "all"), calling=True) == [3, 4, 5]
    assert found(TALK, one(3, "Forget Redis, use memcached.", "OK."), one(5, "cut the login"), calling=True) == [5]


def test_answers() -> None:
    """Short words after a question of the model belong to it; a question of the user's does not, nor do many."""
    asked = one(3, "Forget what we said of it.", "Shall I?", called=4)
    assert found(TALK, asked, one(7, "the first only")) == [3, 4, 5, 6, 7]
    assert found(TALK, asked, one(7, "No. What's the capital of France?", "Paris.")) == []
    assert found(TALK, asked, one(7, "x" * (ANSWER + 1))) == []
    told = one(3, "Forget what we said of it.", "I cannot.")
    assert found(TALK, told, one(5, "oh")) == []
    again = [one(7 + 2 * n, "hm", "So?") for n in range(ANSWERS + 1)]
    assert found(TALK, asked, *again[:ANSWERS])[0] == 3 and found(TALK, asked, *again) == []


def test_work_is_no_planning() -> None:
    """Where other tools were called, an exchange is work: it ends the conversation, and is not proposed."""
    work = one(3, "Forget what we said, then fix the tests.", "Fixed.", worked=True)
    assert found(TALK, work, one(5, "thanks")) == []
    assert found(TALK, work, one(5, "Forget our discussion."), calling=True) == [5]
    assert planning([work, TALK]) == Planning([], [3])  # never ranked all the same
    alone = one(3, "Implement it.", called=6, worked=True, size=5)
    assert planning([alone, TALK], calling=True) == Planning([6, 7], [6, 7])
    command = one(3, "/forget it", called=6, worked=True, size=5)
    assert planning([command, TALK]) == Planning([3, 6, 7], [3, 6, 7])


EXCHANGES = st.lists(
    st.tuples(st.sampled_from([*PLAINLY[:6], *VERB[:2], *ORDINARY[:12]]), st.sampled_from(["", "Done.", "Shall I?"]),
              st.booleans(), st.booleans()), max_size=6,
)  # fmt: skip


@settings(max_examples=examples(200))
@given(EXCHANGES, st.booleans())
def test_whatever_is_found(drawn: list[tuple[str, str, bool, bool]], calling: bool) -> None:
    """It ends the context without a gap, begins with a request, holds no work, and is unranked."""
    exchanges, first = [], 1
    for asked, said, called, worked in drawn:
        exchanges.append(one(first, asked, said, called=first + 1 if called else 0, worked=worked))
        first += len(exchanges[-1].names)
    result = planning(reversed(exchanges), calling=calling)
    assert set(result.names) <= set(result.unranked)
    if not exchanges or exchanges[-1].worked:
        return
    names = [name for name in result.names if isinstance(name, int)]
    assert names == [*range(first - len(names), first)]
    if not names:
        assert asks(exchanges[-1].asked) is not Asks.PLAINLY and not exchanges[-1].called
        return
    begin = next(one for one in exchanges if one.names[0] == names[0])
    assert begin.called or asks(begin.asked) is not Asks.NO or (calling and begin is exchanges[-1])
    assert not any(one.worked for one in exchanges if one.names[0] in names)

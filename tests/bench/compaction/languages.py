"""Decisions and open work in five languages: made sessions, and the share that `extract` keeps.

Each session says the same things. A decision is the first sentence of an answer, open work is its last; between them
and around them stands talk, and after each answer a file is read. What is planted has none of the words by which
English decisions are known, so that only its place can tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.bench.compaction.cases import contents, read, tokens
from tests.bench.compaction.own import compact

Record = dict[str, Any]
BUDGETS = (10, 25)
"""Percent of the tokens."""
ROUNDS = 4
"""How many times a session says its answers, each time of other modules."""


class Language(NamedTuple):
    """What a session says. `{n}` is the number of a module."""

    ask: str
    decisions: list[str]
    talk: list[str]
    open: list[str]


LANGUAGES = {
    "English": Language(
        "Look after module {n}, please.",
        ["Module {n} keeps its data in SQLite from now on.", "The client of module {n} gets three attempts per call."],
        ["I read the file once more and compared it with its tests.", "Most of it is as one would expect it to be.",
         "The names are clear and the functions are short enough."],
        ["Module {n} has no test for an empty list.", "The page about module {n} is as old as last year."],
    ),
    "German": Language(
        "Bitte sieh dir Modul {n} an.",
        ["Modul {n} speichert seine Daten ab jetzt in SQLite.", "Der Client von Modul {n} bekommt drei Versuche."],
        ["Ich habe die Datei noch einmal gelesen und mit ihren Tests verglichen.",
         "Das meiste ist so, wie man es erwarten würde.", "Die Namen sind klar und die Funktionen kurz genug."],
        ["Für Modul {n} fehlt ein Test mit leerer Liste.", "Die Seite über Modul {n} ist auf dem Stand vom Vorjahr."],
    ),
    "French": Language(
        "Regarde le module {n}, s'il te plaît.",
        ["Le module {n} garde désormais ses données dans SQLite.", "Le client du module {n} a droit à trois essais."],
        ["J'ai relu le fichier et je l'ai comparé avec ses tests.", "La plupart est comme on pouvait l'attendre.",
         "Les noms sont clairs et les fonctions assez courtes."],
        ["Le module {n} n'a pas de test pour une liste vide.", "La page du module {n} date de l'an dernier."],
    ),
    "Spanish": Language(
        "Mira el módulo {n}, por favor.",
        ["El módulo {n} guarda sus datos en SQLite desde ahora.", "El cliente del módulo {n} tiene tres intentos."],
        ["He leído otra vez el archivo y lo he comparado con sus pruebas.", "La mayor parte es como se podía esperar.",
         "Los nombres son claros y las funciones bastante cortas."],
        ["Al módulo {n} le falta una prueba con lista vacía.", "La página del módulo {n} es del año pasado."],
    ),
    "Chinese": Language(
        "请看一下模块 {n}。",
        ["模块 {n} 从现在起把数据存在 SQLite 里。", "模块 {n} 的客户端每次调用可以试三次。"],
        ["我又读了一遍文件，并和测试做了比较。", "大部分内容和预想的一样。", "名字很清楚，函数也足够短。"],
        ["模块 {n} 没有空列表的测试。", "关于模块 {n} 的页面还是去年的。"],
    ),
}  # fmt: skip


def session(said: Language) -> Iterator[Record]:
    """The records of a session in this language."""
    for n in range(1, 2 * ROUNDS + 1):
        yield {"role": "user", "content": said.ask.format(n=n)}
        path, call = f"src/module_{n}.py", f"call_{n}"
        given = {"name": "Read", "arguments": f'{{"file_path": "{path}"}}'}
        yield {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call, "type": "function", "function": given}],
        }
        rows = [f"def step_{n}_{k}(value_{k}):\n    return other_{n}_{k}(value_{k}) + {k}" for k in range(40)]
        yield {"role": "tool", "tool_call_id": call, "content": "\n".join(rows)}
        middle = " ".join([*said.talk, *reversed(said.talk)])
        yield {"role": "assistant", "content": f"{decided(said, n)} {middle} {left(said, n)}"}


def decided(said: Language, n: int) -> str:
    """The decision about a module."""
    return said.decisions[n % len(said.decisions)].format(n=n)


def left(said: Language, n: int) -> str:
    """What is open in a module."""
    return said.open[n % len(said.open)].format(n=n)


def shares(said: Language, budget: int) -> tuple[float, float]:
    """The shares of decisions and of open work that `extract` keeps word for word in so many percent of the tokens."""
    records = list(session(said))
    whole = sum(tokens(contents(read(records))))
    made = compact(records, whole * budget // 100, "extract")
    text = "\n".join(part.text for content in made for part in content.parts if hasattr(part, "text"))
    there = range(1, 2 * ROUNDS + 1)
    decisions, open_work = [decided(said, n) in text for n in there], [left(said, n) in text for n in there]
    return sum(decisions) / len(there), sum(open_work) / len(there)


def table() -> Iterator[str]:
    """A row for each language."""
    yield "| language | " + " | ".join(f"decisions, {b} % | open work, {b} %" for b in BUDGETS) + " |"
    yield "|---|" + "---|" * (2 * len(BUDGETS))
    for name, said in LANGUAGES.items():
        cells = [f"{100 * share:.0f}" for budget in BUDGETS for share in shares(said, budget)]
        yield f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    print("\n".join(table()))

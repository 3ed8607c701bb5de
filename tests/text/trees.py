"""Parsed sentences for tests, written by hand: the columns that matter, with blanks between."""

from __future__ import annotations

from nlgauge.text.conllu import Sentence, parse_conllu


def conllu(sentence: str) -> str:
    """Lines `ID FORM UPOS HEAD RELATION [FEATURES] [+]`, or `3-4 FORM [+]`, as CoNLL-U; a plus: no blank follows."""
    lines = []
    for row in sentence.strip().splitlines():
        own, form, *rest = row.split()
        misc = "SpaceAfter=No" if rest and rest[-1] == "+" else "_"
        rest = [field for field in rest if field != "+"]
        upos, head, relation, features, *_ = [*rest, "_"] if rest else ["_"] * 4
        lines.append("\t".join([own, form, "_", upos, "_", features, head, relation, "_", misc]))
    return "\n".join(lines) + "\n\n"


def tree(sentence: str) -> Sentence:
    """The one sentence of `conllu`'s lines."""
    (parsed,) = parse_conllu(conllu(sentence).split("\n"), name="test.conllu")
    return parsed

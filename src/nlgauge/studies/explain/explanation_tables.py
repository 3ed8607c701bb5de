"""An explanation as text for a terminal and as Markdown, and its tables of words.

text    the sentence; both texts, words coloured by how badly they matched where there are colours; a table of the
        words of each text; notes
Markdown  the same without colours, and the signature
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nlgauge.io.table import Cell, Table, escape_markdown, visible
from nlgauge.studies.explain.explanation import Explanation, Link, Side, Word

#: From matched to unmatched: green, yellow, red.
_COLOURS = ("\x1b[32m", "\x1b[33m", "\x1b[31m")
_FAINT = "\x1b[2m"
_RESET = "\x1b[0m"

#: Links that a cell of the table names.
_MOST_LINKS = 3

#: What a word has to do with a number, as the heading of a column.
_PART = {"linear": "part of", "shapley": "shapley", "leave-one-out": "leave-one-out"}

_SIDES: tuple[Side, Side] = ("hypothesis", "reference")


def text_of(found: Explanation, width: int, *, colour: bool) -> str:
    """The explanation for a terminal."""
    blocks = [visible(found.sentence) + "\n", _texts(found, colour=colour)]
    blocks += [table.to_text(width=width) for table in word_tables(found)]
    if found.notes:
        blocks.append("".join(f"note: {visible(note)}\n" for note in found.notes))
    return "\n".join(blocks)


def markdown_of(found: Explanation, width: int) -> str:
    """Paragraphs and pipe tables; the texts are a list, so that each has a line."""
    texts = "".join(f"- {escape_markdown(line)}\n" for line in _texts(found, colour=False).splitlines())
    blocks = [escape_markdown(found.sentence) + "\n", texts]
    blocks += [table.to_markdown(width=width) for table in word_tables(found)]
    notes = [*(f"note: {note}" for note in found.notes), f"signature: {found.signature}"]
    return "\n".join([*blocks, *(f"{escape_markdown(note)}\n" for note in notes)])


def word_tables(found: Explanation) -> list[Table]:
    """A table for each text of whose words there is more to say than which they are."""
    return [_table(found, side) for side in _SIDES if _has_table(found, side)]


def joint_table(found: Explanation) -> Table:
    """The words of both texts in one table, with all that is known of each."""
    columns = ["text", "word", "weight", "similarity", "cost", "removed"]
    columns += [f"{one.kind} {one.of}" for one in found.attributions]
    rows: list[list[Cell]] = []
    for side in _SIDES:
        label = found.against if side == "reference" else side
        for number, word in enumerate(found.words(side)):
            values = [one.values[number] if one.side == side else None for one in found.attributions]
            rows.append([label, word.text, word.weight, word.similarity, word.cost, word.removed, *values])
    return Table(columns, rows, found.sentence, [*found.notes, f"signature: {found.signature}"])


def _has_table(found: Explanation, side: Side) -> bool:
    has_values = found.links or found.beside or any(one.side == side for one in found.attributions)
    return bool(found.words(side) and has_values)


def _texts(found: Explanation, *, colour: bool) -> str:
    lines = []
    for side in _SIDES:
        label = found.against if side == "reference" else side
        words = found.words(side)
        errors = [1 - word.similarity if word.similarity is not None else word.cost for word in words]
        highest = max((error for error in errors if error is not None), default=0.0)
        spelt = []
        for word, error in zip(words, errors, strict=True):
            text = visible(word.text)
            if word.removed:
                spelt.append(f"{_FAINT}{text}{_RESET}" if colour else f"({text})")
            elif colour and error is not None:
                spelt.append(f"{_COLOURS[_grade(error, highest)]}{text}{_RESET}")
            else:
                spelt.append(text)
        lines.append(f"{label + ':':<12}{' '.join(spelt)}\n")
    return "".join(lines)


def _grade(error: float, highest: float) -> int:
    """0 to 2, by thirds of the highest error of the text; no error is always 0."""
    return 0 if highest <= 0 else min(2, max(0, int(3 * error / highest)))


def _table(found: Explanation, side: Side) -> Table:
    """A row per word: its partners, what it weighs, its match, and what it contributes."""
    parts = [one for one in found.attributions if one.side == side]
    columns: list[str] = ["hypothesis" if side == "hypothesis" else found.against]
    links, beside = _partners(found, found.links, side), _partners(found, found.beside, side)
    labels = _word_labels(found.words(side))
    if found.links:
        columns += [_heading(found.links, side), "weight", "cost" if _is_flow(found.links) else "similarity"]
    if found.beside:
        columns.append(_heading(found.beside, side))
    for one in parts:
        columns += [f"{_PART[one.kind]} {one.of}", *(["+/-"] if one.error else [])]
    rows: list[list[Cell]] = []
    for number, word in enumerate(found.words(side)):
        row: list[Cell] = [labels[number]]
        if found.links:
            match = word.similarity if word.similarity is not None else word.cost
            row += [links[number] or (f"({word.removed})" if word.removed else ""), word.weight, match]
        if found.beside:
            row.append(beside[number])
        for one in parts:
            row += [one.values[number], *([one.error[number]] if one.error else [])]
        rows.append(row)
    notes = [
        f"{one.of}: the words sum to {sum(one.values):.4f}"
        + (f", special tokens to {one.rest:.4f}" if one.rest else "")
        + ("" if one.kind == "linear" else ", which is the score minus that of the empty text")
        for one in parts
        if one.total is not None
    ]
    if any("[special]" in partners for partners in (*links, *beside)):
        notes.append("[special]: a token that is no word, such as [CLS]")
    return Table(columns, rows, notes=notes)


def _is_flow(links: Sequence[Link]) -> bool:
    return any(link.kind == "flow" for link in links)


def _heading(links: Sequence[Link], side: Side) -> str:
    moves = "moves to (share)" if side == "hypothesis" else "comes from (share)"
    return moves if _is_flow(links) else "best match"


def _word_labels(words: Sequence[Word]) -> list[str]:
    """Words by which they can be told apart: the second "a" of a text is "a/2"."""
    times = Counter(word.text for word in words)
    seen: Counter[str] = Counter()
    labels = []
    for word in words:
        seen[word.text] += 1
        labels.append(word.text if times[word.text] == 1 else f"{word.text}/{seen[word.text]}")
    return labels


def _partners(found: Explanation, links: Sequence[Link], side: Side) -> list[str]:
    """For each word of a text those of the other it is linked with, the strongest first."""
    other = _word_labels(found.words("reference" if side == "hypothesis" else "hypothesis"))
    kinds = {"flow", "forward" if side == "hypothesis" else "backward"}
    of_word: list[list[tuple[float, str]]] = [[] for _ in found.words(side)]
    for link in links:
        own, partner = (link.hypothesis, link.reference)[:: 1 if side == "hypothesis" else -1]
        if link.kind in kinds and own is not None:
            of_word[own].append((link.weight, "[special]" if partner is None else other[partner]))
    flow = _is_flow(links)
    texts = []
    for partners in of_word:
        total = sum(weight for weight, _ in partners)
        strongest = sorted(partners, key=lambda one: -one[0])
        named = [f"{text} {weight / total:.0%}" if flow else text for weight, text in strongest[:_MOST_LINKS]]
        texts.append(", ".join(named) + (", ..." if len(strongest) > _MOST_LINKS else ""))
    return texts

"""Rendering of explanations: a sentence, text for a terminal, Markdown, tables of words, and figures.

sentence  the score, and its strongest and weakest words
text      the sentence; both texts, with words coloured by the error of their match; a table of the words of each
          text; notes
Markdown  the same without colours, and the signature
flow      as in Figure 1 of the MoverScore paper: the hypothesis above, the other text below, and a line per link,
          wide for much weight and orange for a weak match
heat map  a row per word of the hypothesis and a column per word of the other text; links are framed
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from nlgauge.core.short_signature import format_signature
from nlgauge.errors import InputError
from nlgauge.io.canvas import COLOURS, finish_figure, new_panels
from nlgauge.io.escapes import escape_control, escape_markdown
from nlgauge.io.numbers import format_signed
from nlgauge.io.table import Cell, Table
from nlgauge.studies.explain.explanation import (
    SIDES,
    Attribution,
    Explanation,
    Link,
    MemberShare,
    Side,
    Word,
    error_of,
)
from nlgauge.vectors.cloud import ORIGIN

#: Maximum number of words in a sentence, and of links in a cell of a table.
_MOST_NAMED = 3

#: Costs below this are displayed as 0.000.
_NO_COST = 5e-4

#: Minimum share of a word in the total weight, or of a move in the total cost, to be listed.
_LEAST_SHARE = 0.02


def describe(explanation: Explanation) -> str:
    """Describe the score, and its strongest and weakest words."""
    parts = [_head(explanation), _describe_members(explanation), _describe_references(explanation)]
    if bare := _describe_bare_texts(explanation):
        parts.append(bare)  # links of special tokens do not concern the texts
    elif _is_flow(explanation.links):
        parts.append(_costliest_moves(explanation))
    else:
        parts += [_weakest_matches(explanation, "forward"), _weakest_matches(explanation, "backward")]
    parts += [_strongest_words(explanation, part) for part in explanation.attributions if part.kind != "linear"]
    return " ".join(part for part in parts if part)


def _head(explanation: Explanation) -> str:
    rest = [f"{name} {value:.3f}" for name, value in explanation.scores.items() if name != explanation.main]
    others = f" ({', '.join(rest)})" if rest else ""
    better = "" if explanation.higher_is_better else ", lower is better"
    name = "" if explanation.main in ("score", explanation.metric) else f" {explanation.main}"
    return f"{explanation.metric}{name} is {explanation.score:.3f}{others}{better}."


def _describe_members(explanation: Explanation) -> str:
    """Describe the members of a learned metric, the largest contribution first."""
    shares = sorted(explanation.members or (), key=lambda share: -abs(share.contribution))
    names = [f"{share.member} {format_signed(share.contribution, 3)}" for share in shares[:_MOST_NAMED]]
    return f"The largest contributions are {_enumerate(names)}." if names else ""


def _describe_references(explanation: Explanation) -> str:
    """Describe how several references give the score, unless it is that of the reference shown."""
    several = explanation.references
    if several is None or several.rule == "best":
        return ""
    scores = _enumerate([f"{value:.3f}" for value in several.scores])
    if several.rule == "mean":
        values, best = (f" ({scores})", f" ({several.scores[several.shown]:.3f})") if scores else ("", "")
        return f"This is the mean over {several.number} references{values}; the best of them{best} is shown."
    single = f"; against each single reference it is {scores}" if scores else ""
    count = "both" if several.number == 2 else f"all {several.number}"
    return f"The metric uses {count} references together{single}; the first is shown."


def _describe_bare_texts(explanation: Explanation) -> str:
    """Describe texts whose words are all left out, so that only special tokens are compared."""
    bare = [side for side in SIDES if all(word.removed for word in explanation.words(side))]
    if not explanation.links or not bare:
        return ""
    reasons = dict.fromkeys(word.removed for side in bare for word in explanation.words(side))
    whose = "both texts" if len(bare) == 2 else f"the {explanation.label(bare[0])}"
    return (
        f"All words of {whose} are left out ({', '.join(reasons)}). Only special tokens such as [CLS] are compared, "
        "so the score is not meaningful."
    )


def _costliest_moves(explanation: Explanation) -> str:
    moves = [
        (link.weight * link.cost, link) for link in explanation.links if link.kind == "flow" and link.cost is not None
    ]
    total = sum(cost for cost, _ in moves)
    if total < _NO_COST:
        return "No mass has to move: the counted words are the same." if moves else ""
    names = [
        f"{_name(explanation, 'hypothesis', link)} to {_name(explanation, 'reference', link)} {cost / total:.0%}"
        for cost, link in sorted(moves, key=lambda move: -move[0])[:_MOST_NAMED]
        if cost > _LEAST_SHARE * total
    ]
    return f"Costliest moves, by their share of the cost {total:.3f}: {', '.join(names)}." if names else ""


def _weakest_matches(explanation: Explanation, kind: str) -> str:
    """List the words with the weakest matches; matches of the sub-words of a word are averaged."""
    side, other = SIDES if kind == "forward" else SIDES[::-1]
    by_word: dict[int | None, list[Link]] = {}
    for link in explanation.links:
        if link.kind == kind and link.similarity is not None and link.weight > 0:
            by_word.setdefault(getattr(link, side), []).append(link)
    matches: list[tuple[float, float, str]] = []
    for links in by_word.values():
        weight = sum(link.weight for link in links)
        similarity = sum(link.weight * (link.similarity or 0.0) for link in links) / weight
        ordered = sorted(links, key=lambda link: (-link.weight, -(link.similarity or 0.0)))
        # Several occurrences of a word, such as 'the', are listed once.
        partners = dict.fromkeys(_name(explanation, other, link) for link in ordered)
        text = f"{_name(explanation, side, links[0])} to {' and '.join(partners)} {similarity:.2f}"
        matches.append((similarity, weight, text))
    if not matches:
        return ""
    if all(similarity > 1 - 1e-3 for similarity, _, _ in matches):
        return "Every word has an exact match." if kind == "forward" else ""
    mean = sum(weight * similarity for similarity, weight, _ in matches) / sum(weight for _, weight, _ in matches)
    below = [match for match in matches if match[0] <= mean]
    heavy = [match for match in below if match[1] >= _LEAST_SHARE] or below
    texts = [text for _, _, text in sorted(heavy, key=lambda match: match[0])[:_MOST_NAMED]]
    return f"Weakest matches of the {explanation.label(side)}: {', '.join(texts)}."


def _name(explanation: Explanation, side: Side, link: Link) -> str:
    """Word of a text that a link belongs to, in quotes."""
    number: int | None = getattr(link, side)
    if number is not None:
        return f"'{explanation.words(side)[number].text}'"
    points = () if explanation.alignment is None else getattr(explanation.alignment, f"{side}_tokens")
    return "nothing" if ORIGIN in points[-1:] else "a special token"


_METHODS = {
    "shapley": "By Shapley values",
    "leave-one-out": "Leaving out one word at a time",
    "lime": "By LIME",
}


def _strongest_words(explanation: Explanation, part: Attribution) -> str:
    words = explanation.words(part.side)
    name = "the score" if part.of == "score" else part.of
    texts: list[str] = []
    for verb, sign in (("raise", 1), ("lower", -1)):
        chosen = [number for number, value in enumerate(part.values) if sign * value > 0]
        if chosen:
            strongest = sorted(chosen, key=lambda number: -sign * part.values[number])[:_MOST_NAMED]
            names = _enumerate([f"'{words[number].text}' ({part.values[number]:+.3f})" for number in strongest])
            most = " most" if len(chosen) > _MOST_NAMED else ""
            texts.append(f"{names} {verb}{'s' if len(chosen) == 1 else ''} {'it' if texts else name}{most}")
    method = _METHODS[part.kind]
    return f"{method}: {', and '.join(texts)}." if texts else ""


def _enumerate(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)


#: From matched to unmatched: green, yellow, red.
_COLOURS = ("\x1b[32m", "\x1b[33m", "\x1b[31m")
_FAINT = "\x1b[2m"
_RESET = "\x1b[0m"


def render_text(explanation: Explanation, width: int, *, colour: bool) -> str:
    """Render an explanation for a terminal."""
    blocks = [escape_control(explanation.sentence) + "\n", _render_texts(explanation, colour=colour)]
    blocks += [table.to_text(width=width) for table in word_tables(explanation)]
    if explanation.notes:
        blocks.append("".join(f"note: {escape_control(note)}\n" for note in explanation.notes))
    return "\n".join(blocks)


def render_markdown(explanation: Explanation, width: int) -> str:
    """Render an explanation as Markdown; the two texts are a list, one per line."""
    lines = _render_texts(explanation, colour=False).splitlines()
    blocks = [escape_markdown(explanation.sentence) + "\n", "".join(f"- {escape_markdown(line)}\n" for line in lines)]
    blocks += [table.to_markdown(width=width) for table in word_tables(explanation)]
    notes = [
        *(f"note: {note}" for note in explanation.notes),
        f"signature: {format_signature(explanation.signature)}",
    ]
    return "\n".join([*blocks, *(f"{escape_markdown(note)}\n" for note in notes)])


def _render_texts(explanation: Explanation, *, colour: bool) -> str:
    lines = []
    for side in SIDES:
        words = explanation.words(side)
        highest = max((error for word in words if (error := error_of(word)) is not None), default=0.0)
        texts = []
        for word in words:
            text, error = escape_control(word.text), error_of(word)
            if word.removed:
                texts.append(f"{_FAINT}{text}{_RESET}" if colour else f"({text})")
            elif colour and error is not None:
                # Colours are thirds of the highest error of the text; no error is always green.
                grade = 0 if highest <= 0 else min(2, max(0, int(3 * error / highest)))
                texts.append(f"{_COLOURS[grade]}{text}{_RESET}")
            else:
                texts.append(text)
        lines.append(f"{explanation.label(side) + ':':<12}{' '.join(texts)}\n")
    return "".join(lines)


def word_tables(explanation: Explanation) -> list[Table]:
    """A table of members, and a table for each text with links or contributions."""
    linked = explanation.links or explanation.beside
    tables = [_member_table(explanation.members, explanation.score)] if explanation.members else []
    return tables + [
        _word_table(explanation, side)
        for side in SIDES
        if explanation.words(side) and (linked or any(part.side == side for part in explanation.attributions))
    ]


def _member_table(members: Sequence[MemberShare], score: float) -> Table:
    rest = score - sum(share.contribution for share in members)
    note = f"the contributions and the intercept {rest:.4f} sum to the score"
    return Table(["member", "score", "contribution"], [list(share) for share in members], notes=[note])


def joint_table(explanation: Explanation) -> Table:
    """One table with the words of both texts, without links."""
    parts = explanation.attributions
    columns = ["text", "word", "weight", "similarity", "cost", "removed"]
    columns += [f"{part.kind} {part.of}" for part in parts]
    rows: list[list[Cell]] = []
    for side in SIDES:
        for number, word in enumerate(explanation.words(side)):
            values = [part.values[number] if part.side == side else None for part in parts]
            own: list[Cell] = [word.text, word.weight, word.similarity, word.cost, word.removed]
            rows.append([explanation.label(side), *own, *values])
    return Table(
        columns,
        rows,
        explanation.sentence,
        [*explanation.notes, f"signature: {format_signature(explanation.signature)}"],
    )


def _word_table(explanation: Explanation, side: Side) -> Table:
    """A row per word: its links, weight, match and contributions."""
    words = explanation.words(side)
    parts = [part for part in explanation.attributions if part.side == side]
    links, beside = (_partners(explanation, chosen, side) for chosen in (explanation.links, explanation.beside))
    columns: list[tuple[str, Sequence[Cell]]] = [(explanation.label(side), _word_labels(words))]
    if explanation.links:
        removed = [f"({word.removed})" if word.removed else "" for word in words]
        matches = [word.cost if word.similarity is None else word.similarity for word in words]
        columns += [
            (
                _heading(explanation.links, side),
                [partner or reason for partner, reason in zip(links, removed, strict=True)],
            ),
            ("weight", [word.weight for word in words]),
            ("cost" if _is_flow(explanation.links) else "similarity", matches),
        ]
    if explanation.beside:
        columns.append((_heading(explanation.beside, side), beside))
    for part in parts:
        columns.append((f"{'part of' if part.kind == 'linear' else part.kind} {part.of}", part.values))
        columns += [("+/-", part.error)] if part.error else []
    notes = [
        f"{part.of if part.kind == 'linear' else f'{part.kind} {part.of}'}: the values of the words sum to "
        f"{sum(part.values):.4f}"
        + (f", those of special tokens to {part.rest:.4f}" if part.rest else "")
        + ("" if part.kind == "linear" else ", which is the score minus the score of an empty text")
        for part in parts
        if part.total is not None
    ]
    if any("[special]" in partners for partners in (*links, *beside)):
        notes.append("[special]: a special token such as [CLS]")
    headings, cells = zip(*columns, strict=True)
    return Table(headings, [list(row) for row in zip(*cells, strict=True)], notes=notes)


def _is_flow(links: Sequence[Link]) -> bool:
    return any(link.kind == "flow" for link in links)


def _heading(links: Sequence[Link], side: Side) -> str:
    moves = "moves to (share)" if side == "hypothesis" else "comes from (share)"
    return moves if _is_flow(links) else "best match"


def _word_labels(words: Sequence[Word]) -> list[str]:
    """Unique labels of words: the second "a" of a text is "a/2"."""
    times = Counter(word.text for word in words)
    seen: Counter[str] = Counter()
    labels = []
    for word in words:
        seen[word.text] += 1
        labels.append(word.text if times[word.text] == 1 else f"{word.text}/{seen[word.text]}")
    return labels


def _partners(explanation: Explanation, links: Sequence[Link], side: Side) -> list[str]:
    """Linked words of the other text for each word of a text, the strongest first."""
    other: Side = "reference" if side == "hypothesis" else "hypothesis"
    labels = _word_labels(explanation.words(other))
    kinds = {"flow", "forward" if side == "hypothesis" else "backward"}
    of_word: list[list[tuple[float, str]]] = [[] for _ in explanation.words(side)]
    for link in links:
        own, partner = getattr(link, side), getattr(link, other)
        if link.kind in kinds and own is not None:
            of_word[own].append((link.weight, "[special]" if partner is None else labels[partner]))
    flow = _is_flow(links)
    texts = []
    for partners in of_word:
        total = sum(weight for weight, _ in partners)
        strongest = sorted(partners, key=lambda partner: -partner[0])
        names = [f"{text} {weight / total:.0%}" if flow else text for weight, text in strongest[:_MOST_NAMED]]
        texts.append(", ".join(names) + (", ..." if len(strongest) > _MOST_NAMED else ""))
    return texts


#: Maximum number of words of a text in a figure, for legibility.
_MOST_WORDS = 60

#: Width in inches of a letter at font size 10, and of the gap between two words.
_LETTER, _GAP = 0.085, 0.16


def draw(explanation: Explanation, kind: str, title: str) -> Any:
    """The flow, or the heat map."""
    if not explanation.links:
        msg = (
            f"{explanation.metric} does not align words of this pair, so there is nothing to draw; use a metric that "
            "does, such as bertscore"
        )
        raise InputError(msg)
    longest = max(len(explanation.words(side)) for side in SIDES)
    if longest > _MOST_WORDS:
        msg = f"a figure of an alignment takes at most {_MOST_WORDS} words per text, got {longest}"
        raise InputError(msg)
    if kind == "flow":
        figure = _draw_flow(explanation)
        caption = (
            f"Hypothesis above, {explanation.against} below. Wide lines: much weight. Weak match: more than half the "
            "error of the worst match. Grey words are not counted."
        )
        finish_figure(figure, title=title, caption=caption, legend=_match_legend(explanation))
    else:
        figure, caption = _draw_heat_map(explanation)
        finish_figure(figure, title=title, caption=caption)
    return figure


#: Colours of strong and weak matches: a weak match has more than half the error of the worst.
_STRONG, _WEAK = COLOURS[0], COLOURS[5]


def _match_legend(explanation: Explanation) -> tuple[list[Any], list[str]]:
    """What the colours and line styles of the links mean."""
    from matplotlib.lines import Line2D

    entries = {
        "strong match": Line2D([], [], color=_STRONG, linewidth=3, alpha=0.6),
        "weak match": Line2D([], [], color=_WEAK, linewidth=3),
    }
    if any(link.kind == "backward" for links in (explanation.links, explanation.beside) for link in links):
        entries[f"match of a word of the {explanation.against}"] = Line2D([], [], color=_STRONG, linestyle=":")
    return list(entries.values()), list(entries)


def _draw_flow(explanation: Explanation) -> Any:
    """Two lines of words with links between them; a panel each for greedy matching and transport."""
    panels = [links for links in (explanation.links, explanation.beside) if links]
    places = [_positions(explanation.words(side)) for side in SIDES]
    width = max(4.0, *(ends[-1] for _, ends in places)) + 0.4
    figure, axes = new_panels(len(panels), 1, width=width, height=1.9)
    for axis, links in zip(axes, panels, strict=True):
        axis.set_xlim(0, width)
        _draw_links(axis, explanation, links, [middles for middles, _ in places])
    return figure


def _positions(words: Sequence[Word]) -> tuple[list[float], list[float]]:
    """Middle and end of each word on a line, in inches."""
    middles, ends, place = [], [], 0.3
    for word in words:
        size = _LETTER * max(1, len(word.text))
        middles.append(place + size / 2)
        place += size + _GAP
        ends.append(place)
    return middles, ends or [place]


def _draw_links(axis: Any, explanation: Explanation, links: Sequence[Link], middles: Sequence[list[float]]) -> None:
    axis.set_axis_off()
    axis.set_ylim(-0.25, 1.25)
    # Dotted lines come last.
    ordered = sorted(links, key=lambda link: link.kind == "backward")
    drawn = [link for link in ordered if None not in (link.hypothesis, link.reference)]
    errors = [max(error_of(link) or 0.0, 0.0) for link in drawn]
    worst = max([*errors, 1e-9])
    heaviest = max([*(link.weight for link in drawn), 1e-9])
    for link, error in zip(drawn, errors, strict=True):
        share = error / worst
        axis.plot(
            (middles[0][link.hypothesis or 0], middles[1][link.reference or 0]),
            (0.86, 0.14),
            color=_WEAK if share > 0.5 else _STRONG,
            alpha=0.4 + 0.6 * share,
            linewidth=0.6 + 2.6 * link.weight / heaviest,
            linestyle=":" if link.kind == "backward" else "-",
            solid_capstyle="round",
        )
    for side, of_side, y in zip(SIDES, middles, (1.0, 0.0), strict=True):
        for middle, word in zip(of_side, explanation.words(side), strict=True):
            colour = "#999999" if word.removed else "#111111"
            axis.text(middle, y, _escape(word), ha="center", va="center", fontsize=9, color=colour)
    flow = any(link.kind == "flow" for link in links)
    axis.set_title("transport flow" if flow else "greedy matching", loc="left", fontsize=9, color="#555555")


def _draw_heat_map(explanation: Explanation) -> tuple[Any, str]:
    """Similarity, or cost, of every word to every word of the other text, links framed."""
    matrix = explanation.word_matrix()
    if matrix is None:
        msg = f"{explanation.metric} kept no similarities of this pair, so there is nothing to draw"
        raise InputError(msg)
    greedy = any(link.kind == "forward" for link in explanation.links)
    rows, columns = explanation.hypothesis.words, explanation.reference.words
    width, height = 2.2 + 0.34 * len(columns), 1.6 + 0.28 * len(rows)
    figure, (axis,) = new_panels(1, 1, width=max(width, 4.0), height=max(height, 2.5))
    image = axis.imshow(matrix, cmap="Blues" if greedy else "Oranges", aspect="auto")
    axis.grid(visible=False)
    axis.set_xticks(range(len(columns)), [_escape(word) for word in columns], rotation=45, ha="right", fontsize=8)
    axis.set_yticks(range(len(rows)), [_escape(word) for word in rows], fontsize=8)
    axis.set_xlabel(explanation.against, fontsize=8)
    axis.set_ylabel("hypothesis", fontsize=8)
    from matplotlib.patches import Rectangle

    for link in explanation.links:
        if link.hypothesis is not None and link.reference is not None:
            style, place = ":" if link.kind == "backward" else "-", (link.reference - 0.5, link.hypothesis - 0.5)
            frame = Rectangle(place, 1, 1, fill=False, edgecolor="#111111", linewidth=1.1, linestyle=style)
            axis.add_patch(frame)
    figure.colorbar(image, ax=axis, label="cosine similarity" if greedy else "cost", shrink=0.8)
    caption = (
        f"Framed: best match of each word (dotted: of the {explanation.against})." if greedy else "Framed: flow."
    )
    return figure, caption


def _escape(word: Word) -> str:
    """Escape a word so that matplotlib does not parse it as a formula."""
    return word.text.replace("$", r"\$")

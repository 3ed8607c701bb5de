"""An explanation as a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nlgauge.clouds.alignments import ORIGIN

if TYPE_CHECKING:
    from nlgauge.explain.explanation import Attribution, Explanation, Link, Side

__all__ = ["in_words"]

#: Words that a sentence names.
_MOST_NAMED = 3

#: Costs below this are written as 0.000.
_NO_COST = 5e-4

#: Of all weight, what a word must have to be named; and of a cost, what a move must cost.
_LEAST_SHARE = 0.02


def in_words(explanation: Explanation) -> str:
    """What the score is, and what did most for or against it."""
    parts = [_head(explanation), _of_references(explanation)]
    if bare := _nothing_left(explanation):
        parts.append(bare)  # that special tokens move to special tokens says nothing of the texts
    elif any(link.kind == "flow" for link in explanation.links):
        parts.append(_costly_moves(explanation))
    else:
        parts += [_weak_matches(explanation, "forward"), _weak_matches(explanation, "backward")]
    parts += [_strongest(explanation, one) for one in explanation.attributions if one.kind != "linear"]
    return " ".join(part for part in parts if part)


def _head(explanation: Explanation) -> str:
    rest = [f"{name} {value:.3f}" for name, value in explanation.scores.items() if name != explanation.main]
    more = f" ({', '.join(rest)})" if rest else ""
    better = "" if explanation.higher_is_better else ", lower is better"
    name = "" if explanation.main in ("score", explanation.metric) else f" {explanation.main}"
    return f"{explanation.metric}{name} is {explanation.score:.3f}{more}{better}."


def _of_references(explanation: Explanation) -> str:
    """Where the score is not that of the reference shown: how it was made, and what each reference gives."""
    found = explanation.references
    if found is None or found.rule == "best":
        return ""
    each = _listed([f"{value:.3f}" for value in found.scores])
    if found.rule == "mean":
        values, own = (f" ({each})", f", with {found.scores[found.shown]:.3f}") if each else ("", "")
        return f"That is the mean over {found.number} references{values}; shown here is the best of them{own}."
    alone = f"; against each alone it is {each}" if each else ""
    count = "both" if found.number == 2 else f"all {found.number}"
    return f"It reads {count} references at once{alone}; shown here is the first."


def _nothing_left(explanation: Explanation) -> str:
    """Texts of which no word counts, so that special tokens stand for them."""
    sides: tuple[Side, Side] = ("hypothesis", "reference")
    bare = [side for side in sides if all(word.removed for word in explanation.words(side))]
    if not explanation.links or not bare:
        return ""
    names = [explanation.against if side == "reference" else side for side in bare]
    reasons = dict.fromkeys(word.removed for side in bare for word in explanation.words(side))
    whose = "either text" if len(bare) == 2 else f"the {names[0]}"
    return (
        f"No word of {whose} counts ({', '.join(reasons)}): special tokens such as [CLS] "
        f"stand for {'both' if len(bare) == 2 else 'it'}, so the score says little of the texts."
    )


def _costly_moves(explanation: Explanation) -> str:
    moves = [link for link in explanation.links if link.kind == "flow" and link.cost is not None]
    total = sum(link.weight * (link.cost or 0.0) for link in moves)
    if total < _NO_COST:
        return "Nothing has to move: the words that count are the same." if moves else ""
    costliest = sorted(moves, key=lambda link: -link.weight * (link.cost or 0.0))[:_MOST_NAMED]
    named = [
        f"{_pair(explanation, link)} {link.weight * (link.cost or 0.0) / total:.0%}"
        for link in costliest
        if link.weight * (link.cost or 0.0) > _LEAST_SHARE * total
    ]
    return f"Costliest moves, by their share of the cost {total:.3f}: {', '.join(named)}." if named else ""


def _weak_matches(explanation: Explanation, kind: str) -> str:
    matches = _word_matches(explanation, kind)
    if not matches:
        return ""
    if all(match.similarity > 1 - 1e-3 for match in matches):
        return "Every word has an exact match." if kind == "forward" else ""
    mean = sum(match.weight * match.similarity for match in matches) / sum(match.weight for match in matches)
    below = [match for match in matches if match.similarity <= mean]
    named = [match for match in below if match.weight >= _LEAST_SHARE] or below
    weakest = sorted(named, key=lambda match: match.similarity)[:_MOST_NAMED]
    whose = "hypothesis" if kind == "forward" else explanation.against
    texts = [f"{match.word} to {' and '.join(match.partners)} {match.similarity:.2f}" for match in weakest]
    return f"Weakest matches of the {whose}: {', '.join(texts)}."


class _WordMatch(NamedTuple):
    """A word with all that its pieces were matched with."""

    word: str
    partners: tuple[str, ...]
    """Words of the other text, heaviest link first; of equal weight the most similar."""
    weight: float
    similarity: float
    """Mean over its pieces, by weight."""


def _word_matches(explanation: Explanation, kind: str) -> list[_WordMatch]:
    """Each word once: pieces of one word may have matches in several words, but a reader sees one word."""
    side: Side = "hypothesis" if kind == "forward" else "reference"
    other: Side = "reference" if kind == "forward" else "hypothesis"
    by_word: dict[int | None, list[Link]] = {}
    for link in explanation.links:
        if link.kind == kind and link.similarity is not None and link.weight > 0:
            by_word.setdefault(getattr(link, side), []).append(link)
    matches = []
    for number, links in by_word.items():
        weight = sum(link.weight for link in links)
        similarity = sum(link.weight * (link.similarity or 0.0) for link in links) / weight
        ordered = sorted(links, key=lambda link: (-link.weight, -(link.similarity or 0.0)))
        # Two places of one word, such as 'the', are one name.
        partners = tuple(dict.fromkeys(_named(explanation, other, getattr(link, other)) for link in ordered))
        matches.append(_WordMatch(_named(explanation, side, number), partners, weight, similarity))
    return matches


def _pair(explanation: Explanation, link: Link) -> str:
    hypothesis = _named(explanation, "hypothesis", link.hypothesis)
    return f"{hypothesis} to {_named(explanation, 'reference', link.reference)}"


def _named(explanation: Explanation, side: Side, number: int | None) -> str:
    if number is not None:
        return f"'{explanation.words(side)[number].text}'"
    points = () if explanation.alignment is None else getattr(explanation.alignment, f"{side}_tokens")
    return "nothing" if ORIGIN in points[-1:] else "a special token"


def _strongest(explanation: Explanation, one: Attribution) -> str:
    words = explanation.words(one.side)
    up = [number for number in sorted(range(len(words)), key=lambda n: -one.values[n]) if one.values[number] > 0]
    down = [number for number in sorted(range(len(words)), key=lambda n: one.values[n]) if one.values[number] < 0]
    name = "the score" if one.of == "score" else one.of
    texts: list[str] = []
    for verb, chosen in (("raise", up), ("lower", down)):
        if chosen:
            named = _listed(
                [f"'{words[number].text}' ({one.values[number]:+.3f})" for number in chosen[:_MOST_NAMED]]
            )
            most = " most" if len(chosen) > _MOST_NAMED else ""
            texts.append(f"{named} {verb}{'s' if len(chosen) == 1 else ''} {'it' if texts else name}{most}")
    how = {"shapley": "By Shapley values", "leave-one-out": "Judged by leaving out one word at a time"}[one.kind]
    return f"{how}, {', and '.join(texts)}." if texts else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)
